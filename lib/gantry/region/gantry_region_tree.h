/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A B-tree of regions, sorted by address, that never changes: an edit makes a new tree.
 *
 *        root                 an edit copies the nodes between the root and one leaf, and shares
 *       /    \                all others with the old tree. So it costs the logarithm of the number
 *    node    node  height 1   of regions, and readers of the old tree go on undisturbed.
 *    /  \    /  \
 *   leaf leaf leaf leaf  0    a leaf's entries are regions; the entry of an inner node is the first
 *                             address below it
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

/* Entries of a node. */
#define GANTRY_REGION_FAN 32

/* One region: immutable while a tree names it. len 0 covers nothing. */
struct gantry_region {
	alignas(RTE_CACHE_LINE_SIZE) uint64_t addr;
	uint64_t len;
	uint32_t lkey;
	uint32_t rkey;
	uint64_t bias; /* the device knows the byte at `a` as a - bias; 0 but for device memory */
	uint32_t read_only;     /* 1: no destination */
	uint32_t on_demand;     /* 1: it is all memory, whose pages the device looks up */
	struct gantry_mem *mem; /* the registration that it is part of */
	/* For plain copies; gantry_region_set_plain() sets them. */
	uint64_t plain_len; /* len; 0 if something hinders a plain copy to use the region */
	uint64_t key_word;  /* hwq_key_word() of lkey */
};

static_assert(sizeof(struct gantry_region) == RTE_CACHE_LINE_SIZE, "a region is one cache line");

/* Device memory: the CPU does not copy it. */
static inline bool
gantry_region_is_device(const struct gantry_region *r)
{
	return r->bias != 0;
}

/* True: only RDMA copies it. MMO and the CPU do not. */
static inline bool
gantry_region_is_rdma_s(const struct gantry_region *r)
{
	return (gantry_region_is_device(r) | r->on_demand) != 0;
}

/* The tree without regions is NULL. */
struct gantry_region_node {
	uint32_t n;
	uint32_t height;
	struct gantry_region_node *next; /* of a list: spare, or retired */
	uint64_t retired; /* the edit that took it out of the tree: the owner of the list says */
	/* Behind the n entries, the greatest address and the last entry: so each search is as long. */
	uint64_t addr[GANTRY_REGION_FAN];
	const void *entry[GANTRY_REGION_FAN]; /* a node; in a leaf, a struct gantry_region */
};

/* What an edit takes its nodes from, and where it puts those that only the old tree has. */
struct gantry_region_edit {
	struct gantry_region_node *spare;
	struct gantry_region_node *retired;
	uint32_t n_spare;
};

/* The region that begins last at addr or below it, or NULL. */
static inline const struct gantry_region *
gantry_region_tree_find(const struct gantry_region_node *node, uint64_t addr)
{
	while (node != NULL) {
		const uint64_t *first = node->addr;
		uint32_t half;

		/* The last entry that is not above addr, by halves without a branch. */
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

/* Gets the spare nodes that n edits, the first of the tree `root`, may need. 0 or -ENOMEM. */
int gantry_region_edit_reserve(struct gantry_region_edit *edit,
	const struct gantry_region_node *root, uint32_t n);
/* Adds a node to the spare ones; frees it if there are enough. */
void gantry_region_edit_give(struct gantry_region_edit *edit, struct gantry_region_node *node);
/* Frees the spare nodes. */
void gantry_region_edit_fini(struct gantry_region_edit *edit);

/* The tree with r, which overlaps no other. The nodes are reserved. */
struct gantry_region_node *gantry_region_tree_add(struct gantry_region_edit *edit,
	struct gantry_region_node *root, const struct gantry_region *r);
/* The tree without the region that begins at addr, which it has. The nodes are reserved. */
struct gantry_region_node *gantry_region_tree_remove(struct gantry_region_edit *edit,
	struct gantry_region_node *root, uint64_t addr);

/* Frees all nodes of a tree that nobody reads. */
void gantry_region_tree_free(struct gantry_region_node *root);

#endif
