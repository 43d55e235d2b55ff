/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From an address to the keys of the registration that covers it.
 *
 *   gantry_mem_register()                     a queue's owner thread
 *     copy of the table, one more region        gantry_mem_refresh()  once a call
 *     publish (release) ----------------------> load (acquire)
 *     rte_rcu: free the old table when          gantry_mem_hit()      the region that hit last
 *     every queue has moved on                  gantry_mem_find()     binary search
 *
 * A table never changes once it is published: a reader needs no lock, and no retry. The last hits
 * are pointers into the table a queue holds, so they fall with it.
 */
#ifndef GANTRY_MEM_H
#define GANTRY_MEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_rcu_qsbr.h>

struct gantry;
struct gantry_mem;

/* Queues of one engine: each is a reader of the table. */
#define GANTRY_MAX_QUEUES 1024

/* One registration, as the data path sees it: len 0 hits nothing. */
struct gantry_region {
	uint64_t addr;
	uint64_t len;
	uint32_t lkey;
	uint32_t rkey;
};

/* Sorted by address, without overlap. Never changes once published. */
struct gantry_mem_table {
	struct gantry_mem_table *next; /* while retired */
	uint64_t token;                /* while retired: free when every reader has passed it */
	uint32_t n;
	struct gantry_region region[];
};

/* The engine's side. Written by the control thread. */
struct gantry_mem_dir {
	_Atomic(struct gantry_mem_table *) table;
	struct rte_rcu_qsbr *rcu;
	struct gantry_mem_table *retired;
	uint64_t reader_used[GANTRY_MAX_QUEUES / 64];
};

/* A queue's side. Written by its owner. */
struct gantry_mem_view {
	const struct gantry_region *src; /* last hits; point at a region of len 0 at first */
	const struct gantry_region *dst;
	const struct gantry_mem_table *table;
	struct gantry_mem_dir *dir;
	uint32_t reader;
	bool online;
};

int gantry_mem_dir_init(struct gantry_mem_dir *dir);
void gantry_mem_dir_fini(struct gantry_mem_dir *dir);
bool gantry_mem_dir_is_empty(const struct gantry_mem_dir *dir);

int gantry_mem_view_init(struct gantry_mem_view *v, struct gantry_mem_dir *dir);
void gantry_mem_view_fini(struct gantry_mem_view *v);
/* The owner will not look anything up for a while: it no longer holds old tables back. */
void gantry_mem_view_offline(struct gantry_mem_view *v);
void gantry_mem_view_reload(struct gantry_mem_view *v);

/* Finds the region that covers [addr, addr + len), len not 0. NULL: there is none. */
const struct gantry_region *gantry_mem_find(const struct gantry_mem_table *t, uint64_t addr,
	uint64_t len);

/*
 * Says that no table of earlier calls is in use any more, and takes the newest. Once a call, before
 * the first look-up.
 */
static inline void
gantry_mem_refresh(struct gantry_mem_view *v)
{
	if (likely(v->online)) {
		/* Pairs with rte_rcu_qsbr_start() in the control thread: who has seen the token
		 * sees the table published before it. */
		rte_rcu_qsbr_quiescent(v->dir->rcu, v->reader);
		if (likely(v->table == atomic_load_explicit(&v->dir->table, memory_order_acquire)))
			return;
	}
	gantry_mem_view_reload(v);
}

/* True where r covers [addr, addr + len) in one piece and len is not 0. */
static inline bool
gantry_mem_hit(const struct gantry_region *r, uint64_t addr, uint64_t len)
{
	uint64_t off = addr - r->addr;

	/* Neither subtraction can pass for a hit when it wraps: both results are then huge. */
	return off < r->len && len - 1 < r->len - off;
}

#endif
