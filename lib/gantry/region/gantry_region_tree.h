/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A B-tree of regions, sorted by address. A tree never changes: an edit makes a new tree.
 *
 *        root                 An edit copies the nodes between the root and one leaf, and shares
 *       /    \                all other nodes with the old tree. So its cost is the logarithm of
 *    node    node  height 1   the number of regions, and readers of the old tree are undisturbed.
 *    /  \    /  \
 *   leaf leaf leaf leaf  0    The entries of a leaf are regions. The entries of an inner node are
 *                             nodes, each with the first address below it.
 *
 * One thread edits at a time. Regions belong to the caller, and do not overlap.
 */
#ifndef GANTRY_REGION_TREE_H
#define GANTRY_REGION_TREE_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

/* maximum number of entries of a node */
#define GANTRY_REGION_FAN 32

/* A region. It is not changed while a tree has it. A region of length 0 covers nothing. */
struct gantry_region {
	alignas(RTE_CACHE_LINE_SIZE) uint64_t addr;
	uint64_t len;
	uint32_t lkey;
	uint32_t rkey;
	/*
	 * The byte at address a of this process has the address a - bias for the device. The bias
	 * is 0 except for device memory and imported memory.
	 */
	uint64_t bias;
	uint32_t read_only; /* 1: copies may only read the region */
	/* 1: the region is all memory, on demand; the device looks up the pages. */
	uint16_t on_demand;
	/* 1: memory of another function of the card, and lkey is an alias of its key. */
	uint16_t imported;
	struct gantry_mem *mem; /* the registration that the region is part of */
	/* Used by plain copies; set by gantry_region_set_plain(). */
	uint64_t plain_len; /* len, or 0 if plain copies may not use the region */
	uint64_t key_word;  /* hwq_key_word() of lkey */
};

static_assert(sizeof(struct gantry_region) == RTE_CACHE_LINE_SIZE, "a region is one cache line");

/* Returns true if the region is device memory. The CPU does not copy device memory. */
static inline bool
gantry_region_is_device(const struct gantry_region *r)
{
	return r->bias != 0 && r->imported == 0;
}

/* Returns true if only RDMA can copy the region, and neither MMO nor the CPU. */
static inline bool
gantry_region_is_rdma_s(const struct gantry_region *r)
{
	/* Imported memory has a bias, so most regions need only the first comparison. */
	return (r->bias | r->on_demand) != 0 && r->imported == 0;
}

/* Which carriers cannot copy a region. */
enum {
	GANTRY_REGION_NO_CPU = 1 << 0,
	GANTRY_REGION_NO_MMO = 1 << 1,
};

/* Returns bits GANTRY_REGION_NO_*. */
static inline unsigned int
gantry_region_limits(const struct gantry_region *r)
{
	if (likely((r->bias | r->on_demand) == 0))
		return 0;
	return r->imported != 0 ? GANTRY_REGION_NO_CPU
				: GANTRY_REGION_NO_CPU | GANTRY_REGION_NO_MMO;
}

/* A node. A tree without regions has no node: its root is NULL. */
struct gantry_region_node {
	uint32_t n;
	uint32_t height;
	struct gantry_region_node *next; /* next node in a list of spare or retired nodes */
	uint64_t retired;                /* the first version without this node */
	/*
	 * The elements behind the n entries repeat the greatest address and the last entry, so that
	 * every search has the same number of steps.
	 */
	uint64_t addr[GANTRY_REGION_FAN];
	/* In a leaf, pointers to struct gantry_region; otherwise pointers to nodes. */
	const void *entry[GANTRY_REGION_FAN];
};

/*
 * The lists of an edit. It takes new nodes from `spare`, and puts the nodes that only the old tree
 * has into `retired`.
 */
struct gantry_region_edit {
	struct gantry_region_node *spare;
	struct gantry_region_node *retired;
	uint32_t n_spare;
};

/* Returns the region with the highest address that is not above addr, or NULL. */
static inline const struct gantry_region *
gantry_region_tree_find(const struct gantry_region_node *node, uint64_t addr)
{
	while (node != NULL) {
		const uint64_t *first = node->addr;
		uint32_t half;

		/* Finds the last entry that is not above addr, by bisection without a branch. */
		for (half = GANTRY_REGION_FAN / 2; half != 0; half /= 2)
			first += first[half] <= addr ? half : 0;
		if (*first > addr)
			return NULL;
		if (node->height == 0)
			return node->entry[first - node->addr];
		node = node->entry[first - node->addr];
	}
	return NULL;
}

/*
 * Allocates the spare nodes that n edits may need. The first edit changes the tree `root`. Returns
 * 0 or -ENOMEM.
 */
int gantry_region_edit_reserve(struct gantry_region_edit *edit,
	const struct gantry_region_node *root, uint32_t n);
/* Adds a node to the spare nodes, or frees it if there are enough. */
void gantry_region_edit_give(struct gantry_region_edit *edit, struct gantry_region_node *node);
/* Frees the spare nodes. */
void gantry_region_edit_fini(struct gantry_region_edit *edit);

/* Returns the tree with r added. r overlaps no other region, and the caller has reserved nodes. */
struct gantry_region_node *gantry_region_tree_add(struct gantry_region_edit *edit,
	struct gantry_region_node *root, const struct gantry_region *r);
/* Returns the tree without its region that begins at addr. The caller has reserved nodes. */
struct gantry_region_node *gantry_region_tree_remove(struct gantry_region_edit *edit,
	struct gantry_region_node *root, uint64_t addr);

/* Frees all nodes of a tree that has no readers. */
void gantry_region_tree_free(struct gantry_region_node *root);

#endif
