/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A B-tree of regions, sorted by address. It never changes: an edit makes a new tree.
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

#include <rte_common.h>

/* The most entries of a node. */
#define GANTRY_REGION_FAN 32

/* One region. It is immutable while a tree has it. A region of length 0 covers nothing. */
struct gantry_region {
	alignas(RTE_CACHE_LINE_SIZE) uint64_t addr;
	uint64_t len;
	uint32_t lkey;
	uint32_t rkey;
	/* The device addresses byte `a` as a - bias. 0 except for device memory. */
	uint64_t bias;
	uint32_t read_only;     /* 1: copies may only read it */
	uint32_t on_demand;     /* 1: all memory on demand, whose pages the device looks up */
	struct gantry_mem *mem; /* the registration that the region is part of */
	/* For plain copies. gantry_region_set_plain() sets them. */
	uint64_t plain_len; /* len; 0 if plain copies may not use the region */
	uint64_t key_word;  /* hwq_key_word() of lkey */
};

static_assert(sizeof(struct gantry_region) == RTE_CACHE_LINE_SIZE, "a region is one cache line");

/* True: device memory, which the CPU does not copy. */
static inline bool
gantry_region_is_device(const struct gantry_region *r)
{
	return r->bias != 0;
}

/* True: only RDMA can copy it; MMO and the CPU cannot. */
static inline bool
gantry_region_is_rdma_s(const struct gantry_region *r)
{
	return (gantry_region_is_device(r) | r->on_demand) != 0;
}

/* NULL is the tree without regions. */
struct gantry_region_node {
	uint32_t n;
	uint32_t height;
	struct gantry_region_node *next; /* in a list of spare or retired nodes */
	uint64_t retired;                /* the first version without this node */
	/*
	 * Behind the n entries: the greatest address, and the last entry again. So all searches
	 * take equally many steps.
	 */
	uint64_t addr[GANTRY_REGION_FAN];
	const void *entry[GANTRY_REGION_FAN]; /* a node; in a leaf, a struct gantry_region */
};

/*
 * An edit takes new nodes from `spare`. It puts the nodes that only the old tree has into
 * `retired`.
 */
struct gantry_region_edit {
	struct gantry_region_node *spare;
	struct gantry_region_node *retired;
	uint32_t n_spare;
};

/* The region with the highest address that is not above addr, or NULL. */
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
 * Allocates the spare nodes that n edits may need, of which the first changes the tree `root`.
 * Returns 0 or -ENOMEM.
 */
int gantry_region_edit_reserve(struct gantry_region_edit *edit,
	const struct gantry_region_node *root, uint32_t n);
/* Adds a node to the spare nodes, or frees it if there are enough. */
void gantry_region_edit_give(struct gantry_region_edit *edit, struct gantry_region_node *node);
/* Frees the spare nodes. */
void gantry_region_edit_fini(struct gantry_region_edit *edit);

/* Returns the tree with r added, which overlaps no other region. The caller has reserved nodes. */
struct gantry_region_node *gantry_region_tree_add(struct gantry_region_edit *edit,
	struct gantry_region_node *root, const struct gantry_region *r);
/* Returns the tree without its region that begins at addr. The caller has reserved nodes. */
struct gantry_region_node *gantry_region_tree_remove(struct gantry_region_edit *edit,
	struct gantry_region_node *root, uint64_t addr);

/* Frees all nodes of a tree that has no readers. */
void gantry_region_tree_free(struct gantry_region_node *root);

#endif
