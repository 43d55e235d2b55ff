/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registered regions: from an address to the keys of the region that covers it.
 *
 *   any thread, one at a time                 a queue's owner thread
 *     gantry_region_add(), _remove()            gantry_region_enter()   begins a call
 *     makes a new tree from the current one       a new version: forget all hits, take its tree
 *     publishes it with a new version ------->  gantry_region_hit()     the last hits
 *     gantry_region_passed()                    gantry_region_lookup()  hints, the tree
 *     frees nodes that no call of an old        gantry_region_leave()   ends a call
 *     version can read any more
 *
 * A tree never changes once it is published: readers need neither a lock nor a retry. A reader reads
 * trees and regions only between enter and leave. Between calls it holds nothing.
 *
 * Enter is a store ("in a call") and a load (the version), and they must not be swapped: else an
 * edit could overlook the reader, and the reader the edit. The editing thread makes every thread of
 * the process execute a barrier after each publication (membarrier(2)), so that enter needs none.
 * Where the kernel refuses membarrier(2), enter executes the barrier.
 *
 * A removed region may be in the keys of WQEs that a queue has posted. `drained` is the version up to which a queue
 * has no such WQE any more: gantry_drain.h. It only grows, so it need not be read together with the state.
 */
#ifndef GANTRY_REGION_H
#define GANTRY_REGION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <hwq_seg.h>
#include <rte_branch_prediction.h>

#include "gantry_region_hint.h"
#include "gantry_region_tree.h"

/*
 * A table of so many places, as a logarithm, has 256 KiB, and the regions of its 8,192 entries or more up to 512 KiB: a
 * CPU's second cache does not hold them beside all else.
 */
#define GANTRY_REGION_MANY_LOG 15

/* The engine's side. */
struct gantry_region_dir {
	/* Written by edits; read by owners in each call. */
	_Atomic(struct gantry_region_node *) root;
	_Atomic(const struct gantry_region *) any; /* all other memory: gantry_mem_any.c. Or NULL */
	_Atomic uint64_t version; /* 1 and up: how often one of them was replaced */

	pthread_mutex_t lock; /* over all below, and over edits */
	bool fenced;          /* readers execute the barrier: membarrier(2) is refused */
	struct gantry_region_hints hints;
	struct gantry_region_edit edit;
	/* Nodes of old trees, the oldest version first. */
	struct gantry_region_node *retired;
	struct gantry_region_node **retired_end;
	uint32_t n_retired;
	TAILQ_HEAD(, gantry_region_view) views;
};

/* What a reader is doing. */
enum {
	GANTRY_REGION_IDLE = false, /* in no call, and no WQE of it is outstanding */
	GANTRY_REGION_BUSY = true,  /* in no call; WQEs are outstanding */
	GANTRY_REGION_INSIDE = 2,   /* in a call */
};

/* A queue's side. Written by its owner, but for `next`. */
struct gantry_region_view {
	/* The last hits, which nothing hinders a plain copy to use; else regions that cover nothing. */
	const struct gantry_region *src;
	const struct gantry_region *dst;
	struct gantry_region_places hints; /* taken with the tree */
	uint32_t shift; /* gantry_region_granule_shift() of the last hint that was followed */
	_Atomic uint32_t state; /* what it is doing */
	_Atomic uint64_t
		drained; /* everything that the queue posted before this version has completed */
	uint64_t
		expect; /* `version`; 0 if each call has to look closer: fenced, draining, or latencies are measured */
	struct gantry_region_dir *dir;
	uint64_t version; /* of the tree; 0: none taken yet */
	bool fenced;      /* as in gantry_region_dir */
	const struct gantry_region_node *root;
	const struct gantry_region *any; /* taken with the tree */
	_Atomic uint64_t seen;           /* `version`, for editing threads */
	TAILQ_ENTRY(gantry_region_view) next;
};

/* 0 or a negative errno. */
int gantry_region_dir_init(struct gantry_region_dir *dir);
/* No views are left. */
void gantry_region_dir_fini(struct gantry_region_dir *dir);

/* Regions that leave the tree and regions that come into it, by one edit. NULL: none. */
struct gantry_region_change {
	const struct gantry_region *gone[2];
	const struct gantry_region *come[2];
};

/*
 * Edits, by the thread that has dir->lock. Each is one publication, in all or nothing, and returns
 * the new version, or 0: no memory, and nothing has changed.
 *
 * Regions stay the caller's, who keeps them until every reader has passed the version of their
 * removal.
 */
uint64_t gantry_region_replace(struct gantry_region_dir *dir, const struct gantry_region_change *c);
uint64_t gantry_region_add(struct gantry_region_dir *dir, const struct gantry_region *r);
uint64_t gantry_region_remove(struct gantry_region_dir *dir, const struct gantry_region *r);
/* The region of all memory that the tree does not have; NULL: there is none any more. Returns the new version. */
uint64_t gantry_region_set_any(struct gantry_region_dir *dir, const struct gantry_region *r);
/* A new version with the same regions, for what else owners give up with a version. Returns it. */
uint64_t gantry_region_renew(struct gantry_region_dir *dir);
/* The region that begins last below addr + len, and overlaps [addr, addr + len); or NULL. */
const struct gantry_region *gantry_region_overlap(const struct gantry_region_dir *dir,
	uint64_t addr, uint64_t len);
/*
 * A version that all readers have passed: none is in a call that began before it was published, and
 * no WQE is outstanding that was posted before. It is at most `version`, which
 * gantry_region_barrier() has returned. By the thread that has dir->lock.
 */
uint64_t gantry_region_passed(const struct gantry_region_dir *dir, uint64_t version);
/*
 * Every call of a reader that begins after it sees what was published before it. Returns the version
 * of that.
 */
uint64_t gantry_region_barrier(const struct gantry_region_dir *dir);

/* A new reader. Control thread. */
void gantry_region_view_init(struct gantry_region_view *v, struct gantry_region_dir *dir);
void gantry_region_view_fini(struct gantry_region_view *v);

/* Takes the current tree and forgets all hits, if there is a new version. Between enter and leave. */
void gantry_region_view_update(struct gantry_region_view *v);

/* gantry_region_lookup() where gantry_region_near() is not the right one. */
const struct gantry_region *gantry_region_look_on(struct gantry_region_view *v, uint64_t addr,
	uint64_t len);

/*
 * Begins a call of the owner. True: the caller has to look closer, above all by
 * gantry_region_view_update().
 */
static inline bool
gantry_region_enter(struct gantry_region_view *v)
{
	/* Pairs with gantry_region_barrier(): the store is before the load, for all threads. */
	atomic_store_explicit(&v->state, GANTRY_REGION_INSIDE, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	return v->expect != atomic_load_explicit(&v->dir->version, memory_order_acquire);
}

/* Ends it. busy: a WQE may be outstanding, or a key is kept for one that is not posted yet. */
static inline void
gantry_region_leave(struct gantry_region_view *v, bool busy)
{
	/* Pairs with the acquire of editing threads: what the call has read may be freed. */
	atomic_store_explicit(&v->state, busy, memory_order_release);
}

/* True where r covers [addr, addr + len) in one piece and len is not 0. */
static inline bool
gantry_region_hit(const struct gantry_region *r, uint64_t addr, uint64_t len)
{
	uint64_t off = addr - r->addr;

	/*
	 * An address below r makes `off` huge, and a len of 0 makes `len - 1` huge: neither is
	 * less.
	 */
	return off < r->len && len - 1 < r->len - off;
}

/* The same where len is known not to be 0. */
static inline bool
gantry_region_covers(const struct gantry_region *r, uint64_t addr, uint64_t len)
{
	uint64_t end;

	return !__builtin_add_overflow(addr - r->addr, len, &end) && end <= r->len;
}

/* What is in the first place to look at, with granules as long as those of the last hint that was followed. */
static inline const struct gantry_region *
gantry_region_near(const struct gantry_region_view *v, uint64_t addr)
{
	return gantry_region_hint(v->hints, gantry_region_place(v->hints, addr >> v->shift));
}

/*
 * The region that covers [addr, addr + len) in one piece, or NULL. len is not 0. Between enter and
 * leave; the region is valid until leave.
 */
static inline const struct gantry_region *
gantry_region_lookup(struct gantry_region_view *v, uint64_t addr, uint64_t len)
{
	const struct gantry_region *r = gantry_region_near(v, addr);

	return likely(gantry_region_covers(r, addr, len)) ? r : gantry_region_look_on(v, addr, len);
}

/* True: the table of hints and its regions do not fit in the CPU's first caches. */
static inline bool
gantry_region_are_many(const struct gantry_region_view *v)
{
	return v->hints.shift <= 64 - GANTRY_REGION_MANY_LOG;
}

/* Fetches the place that gantry_region_near() would look at. Returns it, for gantry_region_fetch(). */
static inline const gantry_region_cell *
gantry_region_fetch_place(const struct gantry_region_view *v, uint64_t addr)
{
	const gantry_region_cell *cell =
		&v->hints.place[gantry_region_place(v->hints, addr >> v->shift)];

	__builtin_prefetch((const void *)cell);
	return cell;
}

/* Fetches the region that is there. */
static inline void
gantry_region_fetch(const gantry_region_cell *cell)
{
	/* Relaxed: nothing is read there. */
	__builtin_prefetch(atomic_load_explicit(cell, memory_order_relaxed));
}

/* True: nothing hinders a plain copy to use the region, so it may be one of the last hits. */
static inline bool
gantry_region_is_plain(const struct gantry_region *r)
{
	return (r->read_only | r->bias) == 0;
}

/* Before the region gets into the tree, when its other fields are set. */
static inline void
gantry_region_set_plain(struct gantry_region *r)
{
	r->plain_len = gantry_region_is_plain(r) ? r->len : 0;
	r->key_word = hwq_key_word(r->lkey);
}

/* True: [addr, addr + len) is in the region, and nothing hinders a plain copy to use it. */
static inline bool
gantry_region_plain_hit(const struct gantry_region *r, uint64_t addr, uint64_t len)
{
	uint64_t end;

	/* An address below it is a huge offset. */
	return !__builtin_add_overflow(addr - r->addr, len, &end) && end <= r->plain_len;
}

/* The region for plain copies, where gantry_region_near() is not the right one; else NULL. */
static inline const struct gantry_region *
gantry_region_lookup_plain(struct gantry_region_view *v, uint64_t addr, uint64_t len)
{
	const struct gantry_region *r = gantry_region_look_on(v, addr, len);

	return r != NULL && gantry_region_is_plain(r) ? r : NULL;
}

/* False: no region for plain copies covers it. Else it is *hit, which is tried first. */
static inline bool
gantry_region_find_plain(struct gantry_region_view *v, const struct gantry_region **hit,
	uint64_t addr, uint64_t len)
{
	const struct gantry_region *r = *hit;

	if (likely(gantry_region_plain_hit(r, addr, len)))
		return true;
	r = gantry_region_lookup(v, addr, len);
	if (r == NULL || !gantry_region_is_plain(r))
		return false;
	*hit = r;
	return true;
}

/* The region that covers [addr, addr + len), or NULL. *hit is one of the view's last hits; it is tried first. */
static inline const struct gantry_region *
gantry_region_find(struct gantry_region_view *v, const struct gantry_region **hit, uint64_t addr,
	uint64_t len)
{
	const struct gantry_region *r = *hit;

	if (likely(gantry_region_hit(r, addr, len)))
		return r;
	r = gantry_region_lookup(v, addr, len);
	if (r != NULL && gantry_region_is_plain(r))
		*hit = r;
	return r;
}

#endif
