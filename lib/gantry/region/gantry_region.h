/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registered regions: finds the region that covers an address, and so the region's keys.
 *
 *   any thread, one at a time                 a queue's owner thread
 *     gantry_region_add(), _remove()            gantry_region_enter()   begins a call
 *     makes a new tree from the current one       a new version: forget all hits, take its tree
 *     publishes it with a new version ------->  gantry_region_hit()     the last hits
 *     gantry_region_passed()                    gantry_region_lookup()  hints, the tree
 *     frees nodes that no call of an old        gantry_region_leave()   ends a call
 *     version can read any more
 *
 * A published tree never changes, so readers need neither a lock nor a retry. A reader reads trees
 * and regions only between gantry_region_enter() and gantry_region_leave(). It keeps no pointer to
 * a tree or region from one call to the next call.
 *
 * gantry_region_enter() is a store ("in a call") and a load (the version), which must not be
 * reordered. Otherwise the editing thread may not see that the reader is in a call, while the
 * reader does not see the new version. After each publication the editing thread makes all threads
 * of the process execute a barrier (membarrier(2)), so that gantry_region_enter() needs no barrier.
 * If the kernel refuses membarrier(2), gantry_region_enter() executes the barrier.
 *
 * WQEs that a queue has posted may have the keys of a removed region. `drained` is the version up
 * to which the queue has no such WQE (gantry_drain.h). `drained` only grows, so it need not be read
 * together with `state`.
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
 * log2 of the least number of places of a large table of hints. Such a table has 256 KiB, and the
 * regions of its 8,192 or more hints have up to 512 KiB. A CPU's second-level cache cannot hold
 * this together with other data.
 */
#define GANTRY_REGION_MANY_LOG 15

/* The part of an engine that registered regions need. */
struct gantry_region_dir {
	/* These fields are written by editing threads, and read by owners in each call. */
	_Atomic(struct gantry_region_node *) root;
	/* The region of all memory that is not in the tree (gantry_mem_any.c), or NULL. */
	_Atomic(const struct gantry_region *) any;
	_Atomic uint64_t version; /* 1 at first; grows with each publication */

	pthread_mutex_t lock; /* lock for edits, and for all fields below */
	bool fenced;          /* the kernel refuses membarrier(2), so readers execute a barrier */
	struct gantry_region_hints hints;
	struct gantry_region_edit edit;
	/* Nodes of old trees, sorted by version; the oldest nodes come first. */
	struct gantry_region_node *retired;
	struct gantry_region_node **retired_end;
	uint32_t n_retired;
	TAILQ_HEAD(, gantry_region_view) views;
};

/* The state of a reader. */
enum {
	GANTRY_REGION_IDLE = false, /* outside of calls of the owner; no WQE is outstanding */
	GANTRY_REGION_BUSY = true,  /* outside of calls of the owner; WQEs are outstanding */
	GANTRY_REGION_INSIDE = 2,   /* inside a call of the owner */
};

/*
 * The part of a queue that is a reader of the regions. The queue's owner writes all fields except
 * `next`.
 */
struct gantry_region_view {
	/*
	 * The last hits: the regions that were found last for plain copies, or gantry_region_none.
	 */
	const struct gantry_region *src;
	const struct gantry_region *dst;
	struct gantry_region_places hints; /* places of the table of hints, taken together with
					    * `root` */
	/* gantry_region_granule_shift() of the last hint that covered its address */
	uint32_t shift;
	_Atomic uint32_t state; /* GANTRY_REGION_IDLE, _BUSY or _INSIDE */
	/* All WQEs that the queue posted before this version have completed. */
	_Atomic uint64_t drained;
	/*
	 * Equal to `version`, or 0. If it is 0, gantry_region_enter() returns true in each call of
	 * the owner. It is 0 in three cases: readers execute the barrier, a version drains, or
	 * latencies are measured.
	 */
	uint64_t expect;
	struct gantry_region_dir *dir;
	uint64_t version; /* version of the tree; 0: no tree was taken yet */
	bool fenced;      /* as in gantry_region_dir */
	const struct gantry_region_node *root;
	const struct gantry_region *any; /* gantry_region_dir::any at the time of `root` */
	_Atomic uint64_t seen;           /* a copy of `version` for editing threads */
	TAILQ_ENTRY(gantry_region_view) next;
};

/* Prepares an empty directory. Returns 0 or a negative errno. */
int gantry_region_dir_init(struct gantry_region_dir *dir);
/* Frees the memory of a directory that has no views any more. */
void gantry_region_dir_fini(struct gantry_region_dir *dir);

/* The regions that one edit removes and adds. A pointer may be NULL. */
struct gantry_region_change {
	const struct gantry_region *gone[2];
	const struct gantry_region *come[2];
};

/*
 * The functions below edit the tree. The caller has dir->lock. Each edit is published as a whole.
 * An edit returns the new version. If there is not enough memory, it returns 0, and nothing has
 * changed.
 *
 * Regions belong to the caller. After the caller has removed a region, the caller keeps the struct
 * until every reader has passed the version of the removal.
 */
uint64_t gantry_region_replace(struct gantry_region_dir *dir, const struct gantry_region_change *c);
uint64_t gantry_region_add(struct gantry_region_dir *dir, const struct gantry_region *r);
uint64_t gantry_region_remove(struct gantry_region_dir *dir, const struct gantry_region *r);
/*
 * Sets the region for all memory that is not in the tree; r may be NULL. Returns the new version.
 */
uint64_t gantry_region_set_any(struct gantry_region_dir *dir, const struct gantry_region *r);
/*
 * Publishes a new version with the same regions, so that objects other than regions can be freed
 * when readers have passed this version. Returns the new version.
 */
uint64_t gantry_region_renew(struct gantry_region_dir *dir);
/*
 * Returns the last region (by address) that overlaps [addr, addr + len), or NULL if no region does.
 */
const struct gantry_region *gantry_region_overlap(const struct gantry_region_dir *dir,
	uint64_t addr, uint64_t len);
/*
 * Returns a version that all readers have passed. This means that no reader is in a call that began
 * before the version was published, and no WQE from before the publication is outstanding. version:
 * the result of gantry_region_barrier(); the result is at most this version. The caller has
 * dir->lock.
 */
uint64_t gantry_region_passed(const struct gantry_region_dir *dir, uint64_t version);
/*
 * After this function has returned, each new call of a reader sees all publications that were made
 * before. Returns the version of the last publication.
 */
uint64_t gantry_region_barrier(const struct gantry_region_dir *dir);

/* Adds a reader to the directory. Control thread. */
void gantry_region_view_init(struct gantry_region_view *v, struct gantry_region_dir *dir);
void gantry_region_view_fini(struct gantry_region_view *v);

/*
 * If there is a new version, takes its tree and forgets all hits. Called between
 * gantry_region_enter() and gantry_region_leave().
 */
void gantry_region_view_update(struct gantry_region_view *v);

/*
 * The second part of gantry_region_lookup(), for addresses that gantry_region_near() does not
 * cover.
 */
const struct gantry_region *gantry_region_look_on(struct gantry_region_view *v, uint64_t addr,
	uint64_t len);

/*
 * Begins a call of the owner. Returns true if there is a new version, or another reason to call
 * gantry_drain_update().
 */
static inline bool
gantry_region_enter(struct gantry_region_view *v)
{
	/*
	 * Pairs with gantry_region_barrier(), after which all threads see the store before the
	 * load.
	 */
	atomic_store_explicit(&v->state, GANTRY_REGION_INSIDE, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	return v->expect != atomic_load_explicit(&v->dir->version, memory_order_acquire);
}

/*
 * Ends a call of the owner. busy: true if a WQE may be outstanding, or a key is kept for a WQE that
 * is not posted yet.
 */
static inline void
gantry_region_leave(struct gantry_region_view *v, bool busy)
{
	/*
	 * Pairs with the acquire of editing threads, which may now free the nodes and regions that
	 * the call has read.
	 */
	atomic_store_explicit(&v->state, busy, memory_order_release);
}

/* Returns true if r covers [addr, addr + len), and len is not 0. */
static inline bool
gantry_region_hit(const struct gantry_region *r, uint64_t addr, uint64_t len)
{
	uint64_t off = addr - r->addr;

	/*
	 * If addr is below r, `off` wraps around to a very large number. If len is 0, `len - 1`
	 * does. The result is then false.
	 */
	return off < r->len && len - 1 < r->len - off;
}

/* As gantry_region_hit(), but the caller knows that len is not 0. */
static inline bool
gantry_region_covers(const struct gantry_region *r, uint64_t addr, uint64_t len)
{
	uint64_t end;

	return !__builtin_add_overflow(addr - r->addr, len, &end) && end <= r->len;
}

/*
 * Returns the region in one place of the table of hints: the first place for addr. For this,
 * granules are taken to have the length of the last right hint. The caller checks whether the
 * region covers addr.
 */
static inline const struct gantry_region *
gantry_region_near(const struct gantry_region_view *v, uint64_t addr)
{
	return gantry_region_hint(v->hints, gantry_region_place(v->hints, addr >> v->shift));
}

/*
 * Returns the region that covers [addr, addr + len), or NULL. len is not 0. Called between
 * gantry_region_enter() and gantry_region_leave(); the region is valid until gantry_region_leave().
 */
static inline const struct gantry_region *
gantry_region_lookup(struct gantry_region_view *v, uint64_t addr, uint64_t len)
{
	const struct gantry_region *r = gantry_region_near(v, addr);

	return likely(gantry_region_covers(r, addr, len)) ? r : gantry_region_look_on(v, addr, len);
}

/*
 * Returns true if the table of hints and its regions are too large for the CPU's first and second
 * cache.
 */
static inline bool
gantry_region_are_many(const struct gantry_region_view *v)
{
	return v->hints.shift <= 64 - GANTRY_REGION_MANY_LOG;
}

/*
 * Prefetches the place that gantry_region_near() would read. Returns this place, for
 * gantry_region_fetch().
 */
static inline const gantry_region_cell *
gantry_region_fetch_place(const struct gantry_region_view *v, uint64_t addr)
{
	const gantry_region_cell *cell =
		&v->hints.place[gantry_region_place(v->hints, addr >> v->shift)];

	__builtin_prefetch((const void *)cell);
	return cell;
}

/* Prefetches the region that is in the place. */
static inline void
gantry_region_fetch(const gantry_region_cell *cell)
{
	/* The load is relaxed, because no field of the region is read here. */
	__builtin_prefetch(atomic_load_explicit(cell, memory_order_relaxed));
}

/*
 * Returns true if a plain copy may use the region as source and as destination, and the region has
 * no bias. Only such regions become last hits.
 */
static inline bool
gantry_region_is_plain(const struct gantry_region *r)
{
	return (r->read_only | r->bias) == 0;
}

/*
 * Sets the fields that plain copies use; they are computed from the other fields. Called before the
 * region is added to the tree.
 */
static inline void
gantry_region_set_plain(struct gantry_region *r)
{
	r->plain_len = gantry_region_is_plain(r) ? r->len : 0;
	r->key_word = hwq_key_word(r->lkey);
}

/* Returns true if the region covers [addr, addr + len), and plain copies may use it. */
static inline bool
gantry_region_plain_hit(const struct gantry_region *r, uint64_t addr, uint64_t len)
{
	uint64_t end;

	/* If addr is below the region, the offset wraps around to a very large number. */
	return !__builtin_add_overflow(addr - r->addr, len, &end) && end <= r->plain_len;
}

/*
 * The second part of gantry_region_find_plain(), for callers that have tried gantry_region_near().
 * Returns NULL if no region for plain copies covers the addresses.
 */
static inline const struct gantry_region *
gantry_region_lookup_plain(struct gantry_region_view *v, uint64_t addr, uint64_t len)
{
	const struct gantry_region *r = gantry_region_look_on(v, addr, len);

	return r != NULL && gantry_region_is_plain(r) ? r : NULL;
}

/*
 * Makes *hit the region that covers [addr, addr + len), if plain copies may use this region. The
 * old *hit is tried first. Returns false if there is no such region.
 */
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

/*
 * Returns the region that covers [addr, addr + len), or NULL. *hit, a last hit of the view, is
 * tried first.
 */
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
