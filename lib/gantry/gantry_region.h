/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registered regions: from an address to the keys of the region that covers it.
 *
 *   control thread                            a queue's owner thread
 *     gantry_region_add(), _remove()            gantry_region_refresh()  once a call
 *     makes a new table from the current one      load (acquire) the current table
 *     publishes it (store, release) ----------> gantry_region_hit()      the last hit
 *     rte_rcu_qsbr: frees an old table when     gantry_region_find()     binary search
 *     every online queue has refreshed
 *
 * A table never changes once it is published: readers need neither a lock nor a retry. A queue's
 * last hits point into the table that it holds, and are forgotten together with it.
 */
#ifndef GANTRY_REGION_H
#define GANTRY_REGION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_rcu_qsbr.h>

/* Queues of one engine: each is a reader of the table. */
#define GANTRY_MAX_QUEUES 1024

/* One region. len 0 covers nothing. */
struct gantry_region {
	uint64_t addr;
	uint64_t len;
	uint32_t lkey;
	uint32_t rkey;
};

/* Sorted by address; regions do not overlap. */
struct gantry_region_table {
	struct gantry_region_table *next; /* retired: the one that was retired before it */
	uint64_t token;                   /* retired: freed when every reader has passed it */
	uint32_t n;
	struct gantry_region region[];
};

/* The engine's side. Written by the control thread. */
struct gantry_region_dir {
	_Atomic(struct gantry_region_table *) table;
	struct rte_rcu_qsbr *rcu;
	struct gantry_region_table *retired; /* replaced, perhaps still in a reader's hands */
	uint64_t reader_used[GANTRY_MAX_QUEUES / 64];
};

/* A queue's side. Written by its owner. */
struct gantry_region_view {
	/* The last hits; after a reload, a region that covers nothing. */
	const struct gantry_region *src;
	const struct gantry_region *dst;
	const struct gantry_region_table *table;
	struct gantry_region_dir *dir;
	uint32_t reader;
	bool online; /* holds `table`: it is not freed before the next refresh */
};

/* 0 or a negative errno. */
int gantry_region_dir_init(struct gantry_region_dir *dir);
/* No views are left. */
void gantry_region_dir_fini(struct gantry_region_dir *dir);
bool gantry_region_dir_is_empty(const struct gantry_region_dir *dir);

/* True: [addr, addr + len) overlaps a region. len is not 0. Control thread. */
bool gantry_region_overlaps(const struct gantry_region_dir *dir, uint64_t addr, uint64_t len);
/* Publishes a table with r, which overlaps no other. 0 or -ENOMEM. Control thread. */
int gantry_region_add(struct gantry_region_dir *dir, const struct gantry_region *r);
/* Publishes a table without the region that begins at addr. 0 or -ENOMEM. Control thread. */
int gantry_region_remove(struct gantry_region_dir *dir, uint64_t addr);

/* A new reader, offline. 0, -ENOSPC, or a negative errno. Control thread. */
int gantry_region_view_init(struct gantry_region_view *v, struct gantry_region_dir *dir);
void gantry_region_view_fini(struct gantry_region_view *v);
/* Lets go of the table: no old table waits for this reader until its next refresh. */
void gantry_region_view_offline(struct gantry_region_view *v);
/* Goes online if offline, and takes the current table. */
void gantry_region_view_reload(struct gantry_region_view *v);

/* The region that covers [addr, addr + len) in one piece, or NULL. len is not 0. */
const struct gantry_region *gantry_region_find(const struct gantry_region_table *t, uint64_t addr,
	uint64_t len);

/*
 * Lets go of what earlier calls looked up, and takes the current table. The owner calls it once in
 * every call, before the first look-up.
 */
static inline void
gantry_region_refresh(struct gantry_region_view *v)
{
	if (likely(v->online)) {
		/* Pairs with rte_rcu_qsbr_start() in the control thread: a reader that has seen the
		 * token sees the table that was published before it. */
		rte_rcu_qsbr_quiescent(v->dir->rcu, v->reader);
		if (likely(v->table == atomic_load_explicit(&v->dir->table, memory_order_acquire)))
			return;
	}
	gantry_region_view_reload(v);
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

#endif
