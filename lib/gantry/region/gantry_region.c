/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of registered regions: readers, searches, and the replacement by a new tree. */
#include "gantry_region.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_bitops.h>
#include <rte_common.h>

/* number of retired nodes from which on reclaim() runs */
#define RECLAIM_AT 128

/* ------------------------------------------------------------------ the readers */

static void
forget_hits(struct gantry_region_view *v)
{
	v->src = &gantry_region_none;
	v->dst = &gantry_region_none;
}

void
gantry_region_view_init(struct gantry_region_view *v, struct gantry_region_dir *dir)
{
	memset(v, 0, sizeof(*v));
	v->dir = dir;
	v->fenced = dir->fenced;
	forget_hits(v);
	pthread_mutex_lock(&dir->lock);
	TAILQ_INSERT_TAIL(&dir->views, v, next);
	pthread_mutex_unlock(&dir->lock);
}

void
gantry_region_view_fini(struct gantry_region_view *v)
{
	pthread_mutex_lock(&v->dir->lock);
	TAILQ_REMOVE(&v->dir->views, v, next);
	pthread_mutex_unlock(&v->dir->lock);
}

__rte_cold void
gantry_region_view_update(struct gantry_region_view *v)
{
	uint64_t version;

	/*
	 * Few kernels refuse membarrier(2). So the barrier is here, and not in
	 * gantry_region_enter(), which is on the fast path.
	 */
	if (v->fenced)
		atomic_exchange_explicit(&v->state, GANTRY_REGION_INSIDE, memory_order_seq_cst);
	version = atomic_load_explicit(&v->dir->version, memory_order_seq_cst);
	if (version == v->version)
		return;
	v->version = version;
	/*
	 * Pairs with the release in publish(). The root may belong to a later version of the tree
	 * than `version`. Then the owner's next call finds this version, and takes the root again.
	 */
	v->root = atomic_load_explicit(&v->dir->root, memory_order_acquire);
	v->any = atomic_load_explicit(&v->dir->any, memory_order_acquire);
	v->hints = atomic_load_explicit(&v->dir->hints.table, memory_order_acquire)->places;
	forget_hits(v);
	/* Pairs with the acquire in reader_floor(). */
	atomic_store_explicit(&v->seen, version, memory_order_release);
}

/*
 * Stores the granule length of a hint that was right, because the next look-up is likely to need
 * the same length.
 */
static inline const struct gantry_region *
follow(struct gantry_region_view *v, const struct gantry_region *r, uint32_t shift)
{
	v->shift = shift;
	return r;
}

/*
 * Searches the table of hints for addr, except for the first place of each group
 * (gantry_region_hint.h). shifts: bit n is set if the hints for granules of 1 << n bytes are
 * searched. Returns NULL if no region is found.
 */
static const struct gantry_region *
look_in_groups(struct gantry_region_view *v, uint64_t shifts, uint64_t addr, uint64_t len)
{
	uint32_t i;

	for (; shifts != 0; shifts &= shifts - 1) {
		uint32_t shift = rte_bsf64(shifts);
		uint64_t place = gantry_region_place(v->hints, addr >> shift);

		for (i = 1; i < GANTRY_REGION_GROUP; i++) {
			const struct gantry_region *r = gantry_region_hint(v->hints, place ^ i);

			if (gantry_region_covers(r, addr, len))
				return follow(v, r, shift);
		}
	}
	return NULL;
}

/*
 * Searches the other places of the groups (look_in_groups()), and then the tree. The caller has
 * searched the first place of each group.
 */
static __rte_noinline const struct gantry_region *
look_further(struct gantry_region_view *v, uint64_t shifts, uint64_t addr, uint64_t len)
{
	const struct gantry_region *r;

	/*
	 * If granules have several lengths, and the tree has at most three levels, a search of the
	 * tree takes less time than a search of the groups.
	 */
	if ((shifts & (shifts - 1)) == 0 || v->root == NULL || v->root->height > 2) {
		r = look_in_groups(v, shifts, addr, len);
		if (r != NULL)
			return r;
	}
	r = gantry_region_tree_find(v->root, addr);
	return r != NULL && gantry_region_covers(r, addr, len) ? r : NULL;
}

const struct gantry_region *
gantry_region_look_on(struct gantry_region_view *v, uint64_t addr, uint64_t len)
{
	const uint64_t shifts = atomic_load_explicit(&v->dir->hints.shifts, memory_order_relaxed);
	uint64_t left;

	/* In measurements, five of six look-ups by hints ended at the first place of a group. */
	for (left = shifts & ~RTE_BIT64(v->shift); left != 0; left &= left - 1) {
		uint32_t shift = rte_bsf64(left);
		const struct gantry_region *r =
			gantry_region_hint(v->hints, gantry_region_place(v->hints, addr >> shift));

		if (gantry_region_covers(r, addr, len))
			return follow(v, r, shift);
	}
	return look_further(v, shifts, addr, len);
}

/*
 * ------------------------------------------------------------------ versions that readers have
 * passed
 */

static int
membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

uint64_t
gantry_region_barrier(const struct gantry_region_dir *dir)
{
	uint64_t version = atomic_load_explicit(&dir->version, memory_order_seq_cst);

	/*
	 * If readers execute the barrier, the seq_cst order of `version` and `state` is enough
	 * here.
	 */
	if (!dir->fenced)
		membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	return version;
}

uint64_t
gantry_region_passed(const struct gantry_region_dir *dir, uint64_t version)
{
	const struct gantry_region_view *v;

	TAILQ_FOREACH(v, &dir->views, next) {
		/*
		 * Pairs with the release in gantry_region_leave(), and with the exchange in
		 * gantry_region_view_update().
		 */
		uint32_t state = atomic_load_explicit(&v->state, memory_order_seq_cst);

		/* Pairs with the release in gantry_drain.c. */
		if (state != GANTRY_REGION_IDLE)
			version = RTE_MIN(version,
				atomic_load_explicit(&v->drained, memory_order_acquire));
	}
	return version;
}

/*
 * Returns the oldest version that a reader may be reading. The caller has called
 * gantry_region_barrier().
 */
static uint64_t
reader_floor(const struct gantry_region_dir *dir)
{
	uint64_t floor = atomic_load_explicit(&dir->version, memory_order_relaxed);
	const struct gantry_region_view *v;

	TAILQ_FOREACH(v, &dir->views, next) {
		uint32_t state = atomic_load_explicit(&v->state, memory_order_seq_cst);

		if (state == GANTRY_REGION_INSIDE)
			floor = RTE_MIN(floor,
				atomic_load_explicit(&v->seen, memory_order_acquire));
	}
	return floor;
}

/* ------------------------------------------------------------------ edits */

static struct gantry_region_node *
current_root(const struct gantry_region_dir *dir)
{
	/* The load is relaxed, because the editing thread has the lock. */
	return atomic_load_explicit(&dir->root, memory_order_relaxed);
}

/* Moves retired nodes that no reader can read any more to the spare nodes. */
static void
reclaim(struct gantry_region_dir *dir)
{
	uint64_t floor;

	gantry_region_barrier(dir);
	floor = reader_floor(dir);
	while (dir->retired != NULL && dir->retired->retired <= floor) {
		struct gantry_region_node *node = dir->retired;

		dir->retired = node->next;
		dir->n_retired--;
		gantry_region_edit_give(&dir->edit, node);
	}
	if (dir->retired == NULL)
		dir->retired_end = &dir->retired;
}

/* Makes `root` the current tree, and retires the nodes that only the previous tree had. */
static uint64_t
publish(struct gantry_region_dir *dir, struct gantry_region_node *root)
{
	uint64_t version = atomic_load_explicit(&dir->version, memory_order_relaxed) + 1;

	/* Pairs with the acquire in gantry_region_view_update(). */
	atomic_store_explicit(&dir->root, root, memory_order_release);
	/* Pairs with the loads in gantry_region_enter() and gantry_region_view_update(). */
	atomic_store_explicit(&dir->version, version, memory_order_seq_cst);
	while (dir->edit.retired != NULL) {
		struct gantry_region_node *node = dir->edit.retired;

		dir->edit.retired = node->next;
		node->next = NULL;
		node->retired = version;
		*dir->retired_end = node;
		dir->retired_end = &node->next;
		dir->n_retired++;
	}
	if (dir->n_retired >= RECLAIM_AT)
		reclaim(dir);
	return version;
}

uint64_t
gantry_region_replace(struct gantry_region_dir *dir, const struct gantry_region_change *c)
{
	struct gantry_region_node *root = current_root(dir);
	uint32_t i;

	if (gantry_region_edit_reserve(&dir->edit, root, RTE_DIM(c->gone) + RTE_DIM(c->come)) != 0)
		return 0;
	for (i = 0; i < RTE_DIM(c->gone); i++) {
		if (c->gone[i] == NULL)
			continue;
		gantry_region_hints_remove(&dir->hints, c->gone[i]);
		root = gantry_region_tree_remove(&dir->edit, root, c->gone[i]->addr);
	}
	for (i = 0; i < RTE_DIM(c->come); i++) {
		if (c->come[i] == NULL)
			continue;
		gantry_region_hints_add(&dir->hints, c->come[i]);
		root = gantry_region_tree_add(&dir->edit, root, c->come[i]);
	}
	return publish(dir, root);
}

uint64_t
gantry_region_add(struct gantry_region_dir *dir, const struct gantry_region *r)
{
	return gantry_region_replace(dir, &(struct gantry_region_change){.come = {r}});
}

uint64_t
gantry_region_remove(struct gantry_region_dir *dir, const struct gantry_region *r)
{
	return gantry_region_replace(dir, &(struct gantry_region_change){.gone = {r}});
}

uint64_t
gantry_region_set_any(struct gantry_region_dir *dir, const struct gantry_region *r)
{
	/* Pairs with the acquire in gantry_region_view_update(). */
	atomic_store_explicit(&dir->any, r, memory_order_release);
	return publish(dir, current_root(dir));
}

uint64_t
gantry_region_renew(struct gantry_region_dir *dir)
{
	return publish(dir, current_root(dir));
}

const struct gantry_region *
gantry_region_overlap(const struct gantry_region_dir *dir, uint64_t addr, uint64_t len)
{
	/*
	 * Regions do not overlap. So among the regions that begin below the end of the range, the
	 * last region also has the last end.
	 */
	const struct gantry_region *r =
		gantry_region_tree_find(current_root(dir), addr + (len - 1));

	return r != NULL && r->addr + (r->len - 1) >= addr ? r : NULL;
}

/* ------------------------------------------------------------------ the directory */

int
gantry_region_dir_init(struct gantry_region_dir *dir)
{
	int ret;

	memset(dir, 0, sizeof(*dir));
	atomic_init(&dir->version, 1);
	dir->retired_end = &dir->retired;
	TAILQ_INIT(&dir->views);
	/*
	 * A process must register for membarrier(2) before its first barrier. Another registration
	 * costs little.
	 */
	dir->fenced = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0;
	ret = gantry_region_hints_init(&dir->hints);
	if (ret != 0)
		return ret;
	ret = -pthread_mutex_init(&dir->lock, NULL);
	if (ret != 0)
		gantry_region_hints_fini(&dir->hints);
	return ret;
}

void
gantry_region_dir_fini(struct gantry_region_dir *dir)
{
	reclaim(dir);
	gantry_region_tree_free(current_root(dir));
	gantry_region_edit_fini(&dir->edit);
	gantry_region_hints_fini(&dir->hints);
	pthread_mutex_destroy(&dir->lock);
}
