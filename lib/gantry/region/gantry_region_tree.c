/* SPDX-License-Identifier: BSD-3-Clause */
/* Edits the tree of regions: makes new nodes from the root to one leaf. */
#include "gantry_region_tree.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "gantry_alloc.h"

#define FAN GANTRY_REGION_FAN
/* fewest entries of a node: a node with fewer is joined with a neighbour, unless it is the root */
#define MIN_ENTRIES (FAN / 4)
/*
 * most entries of a joined node: it must have room for later insertions
 */
#define JOINED_ENTRIES (FAN * 3 / 4)
/* The most spare nodes that are kept for later edits. */
#define SPARE_MAX 64

/* ------------------------------------------------------------------ nodes */

int
gantry_region_edit_reserve(struct gantry_region_edit *edit, const struct gantry_region_node *root,
	uint32_t n)
{
	/* On each level an edit makes at most three nodes, and an insertion may add a root. */
	uint32_t levels = (root == NULL ? 1 : root->height + 1) + (n - 1);
	uint32_t need = n * (3 * levels + 1);
	struct gantry_region_node *node;

	while (edit->n_spare < need) {
		node = gantry_alloc_libc(sizeof(*node));
		if (node == NULL)
			return -ENOMEM;
		node->next = edit->spare;
		edit->spare = node;
		edit->n_spare++;
	}
	return 0;
}

void
gantry_region_edit_give(struct gantry_region_edit *edit, struct gantry_region_node *node)
{
	if (edit->n_spare >= SPARE_MAX) {
		gantry_free_libc(node);
		return;
	}
	node->next = edit->spare;
	edit->spare = node;
	edit->n_spare++;
}

void
gantry_region_edit_fini(struct gantry_region_edit *edit)
{
	while (edit->spare != NULL) {
		struct gantry_region_node *node = edit->spare;

		edit->spare = node->next;
		gantry_free_libc(node);
	}
	edit->n_spare = 0;
}

static struct gantry_region_node *
node_take(struct gantry_region_edit *edit, uint32_t height)
{
	struct gantry_region_node *node = edit->spare;

	edit->spare = node->next;
	edit->n_spare--;
	node->n = 0;
	node->height = height;
	node->next = NULL;
	return node;
}

static void
node_retire(struct gantry_region_edit *edit, struct gantry_region_node *node)
{
	node->next = edit->retired;
	edit->retired = node;
}

/* ------------------------------------------------------------------ entries */

/* The entries of at most two nodes, and one entry more. */
struct entries {
	uint32_t n;
	uint64_t addr[2 * FAN + 1];
	const void *entry[2 * FAN + 1];
};

static void
entries_add(struct entries *e, uint64_t addr, const void *entry)
{
	e->addr[e->n] = addr;
	e->entry[e->n++] = entry;
}

/* Adds the entries [from, to) of a node. */
static void
entries_add_range(struct entries *e, const struct gantry_region_node *node, uint32_t from,
	uint32_t to)
{
	memcpy(&e->addr[e->n], &node->addr[from], (to - from) * sizeof(e->addr[0]));
	memcpy(&e->entry[e->n], &node->entry[from], (to - from) * sizeof(e->entry[0]));
	e->n += to - from;
}

/* Makes a node of the entries [from, to). */
static struct gantry_region_node *
node_make(struct gantry_region_edit *edit, const struct entries *e, uint32_t height, uint32_t from,
	uint32_t to)
{
	struct gantry_region_node *node = node_take(edit, height);
	uint32_t i;

	node->n = to - from;
	memcpy(node->addr, &e->addr[from], node->n * sizeof(node->addr[0]));
	memcpy(node->entry, &e->entry[from], node->n * sizeof(node->entry[0]));
	for (i = node->n; i < FAN; i++) {
		node->addr[i] = UINT64_MAX;
		node->entry[i] = node->entry[node->n - 1];
	}
	return node;
}

/*
 * Makes the nodes for all entries: no node if there are no entries, one node for up to `most`
 * entries, otherwise two nodes. Returns how many were made.
 */
static uint32_t
nodes_make(struct gantry_region_edit *edit, const struct entries *e, uint32_t height, uint32_t most,
	struct gantry_region_node *out[2])
{
	if (e->n == 0)
		return 0;
	if (e->n <= most) {
		out[0] = node_make(edit, e, height, 0, e->n);
		return 1;
	}
	out[0] = node_make(edit, e, height, 0, e->n / 2);
	out[1] = node_make(edit, e, height, e->n / 2, e->n);
	return 2;
}

/* Returns the number of entries whose address is not above addr. */
static uint32_t
upper_bound(const struct gantry_region_node *node, uint64_t addr)
{
	uint32_t i = 0;

	while (i < node->n && node->addr[i] <= addr)
		i++;
	return i;
}

/*
 * Makes the nodes that replace `old`. The new nodes have the entries of `old`, but made[0..n) in
 * place of the entries [from, from + drop). Returns how many nodes were made.
 */
static uint32_t
replace(struct gantry_region_edit *edit, struct gantry_region_node *old, uint32_t from,
	uint32_t drop, struct gantry_region_node *const *made, uint32_t n,
	struct gantry_region_node *out[2])
{
	struct entries e = {.n = 0};
	uint32_t i;

	entries_add_range(&e, old, 0, from);
	for (i = 0; i < n; i++)
		entries_add(&e, made[i]->addr[0], made[i]);
	entries_add_range(&e, old, from + drop, old->n);
	n = nodes_make(edit, &e, old->height, FAN, out);
	node_retire(edit, old);
	return n;
}

/* ------------------------------------------------------------------ insertion */

static uint32_t
node_add(struct gantry_region_edit *edit, struct gantry_region_node *old,
	const struct gantry_region *r, struct gantry_region_node *out[2])
{
	struct gantry_region_node *made[2];
	uint32_t i = upper_bound(old, r->addr), n;

	if (old->height == 0) {
		struct entries e = {.n = 0};

		entries_add_range(&e, old, 0, i);
		entries_add(&e, r->addr, r);
		entries_add_range(&e, old, i, old->n);
		n = nodes_make(edit, &e, 0, FAN, out);
		node_retire(edit, old);
		return n;
	}
	if (i > 0)
		i--;
	n = node_add(edit, (struct gantry_region_node *)old->entry[i], r, made);
	return replace(edit, old, i, 1, made, n, out);
}

struct gantry_region_node *
gantry_region_tree_add(struct gantry_region_edit *edit, struct gantry_region_node *root,
	const struct gantry_region *r)
{
	struct gantry_region_node *made[2];
	struct entries e = {.n = 0};

	if (root == NULL) {
		entries_add(&e, r->addr, r);
		return node_make(edit, &e, 0, 0, 1);
	}
	if (node_add(edit, root, r, made) == 1)
		return made[0];
	entries_add(&e, made[0]->addr[0], made[0]);
	entries_add(&e, made[1]->addr[0], made[1]);
	return node_make(edit, &e, root->height + 1, 0, 2);
}

/* ------------------------------------------------------------------ removal */

/*
 * Joins `small`, the new node for child i, with a neighbour of this child. The entries of these two
 * children become one or two nodes in out[]. Returns how many nodes. *from: the index of the first
 * of the two children.
 */
static uint32_t
join(struct gantry_region_edit *edit, const struct gantry_region_node *parent, uint32_t i,
	struct gantry_region_node *small, uint32_t *from, struct gantry_region_node *out[2])
{
	uint32_t side = i > 0 ? i - 1 : i + 1, n;
	struct gantry_region_node *near = (struct gantry_region_node *)parent->entry[side];
	struct entries e = {.n = 0};

	*from = side < i ? side : i;
	if (side < i)
		entries_add_range(&e, near, 0, near->n);
	entries_add_range(&e, small, 0, small->n);
	if (side > i)
		entries_add_range(&e, near, 0, near->n);
	n = nodes_make(edit, &e, small->height, JOINED_ENTRIES, out);
	node_retire(edit, near);
	/* `small` was never published, so no reader reads it. */
	gantry_region_edit_give(edit, small);
	return n;
}

/*
 * Makes the node that replaces `old`, without the region at addr. Returns 1, or 0 if no entry is
 * left.
 */
static uint32_t
node_remove(struct gantry_region_edit *edit, struct gantry_region_node *old, uint64_t addr,
	struct gantry_region_node *out[2])
{
	uint32_t i = upper_bound(old, addr) - 1, from, n;
	struct gantry_region_node *made[2], *joined[2];

	if (old->height == 0)
		return replace(edit, old, i, 1, NULL, 0, out);
	n = node_remove(edit, (struct gantry_region_node *)old->entry[i], addr, made);
	if (n == 0 || made[0]->n >= MIN_ENTRIES || old->n == 1)
		return replace(edit, old, i, 1, made, n, out);
	n = join(edit, old, i, made[0], &from, joined);
	return replace(edit, old, from, 2, joined, n, out);
}

struct gantry_region_node *
gantry_region_tree_remove(struct gantry_region_edit *edit, struct gantry_region_node *root,
	uint64_t addr)
{
	struct gantry_region_node *made[2];

	if (node_remove(edit, root, addr, made) == 0)
		return NULL;
	root = made[0];
	while (root->height > 0 && root->n == 1) {
		struct gantry_region_node *only = (struct gantry_region_node *)root->entry[0];

		/* This edit has made the node, so no reader reads it. */
		gantry_region_edit_give(edit, root);
		root = only;
	}
	return root;
}

void
gantry_region_tree_free(struct gantry_region_node *root)
{
	uint32_t i;

	if (root == NULL)
		return;
	for (i = 0; root->height > 0 && i < root->n; i++)
		gantry_region_tree_free((struct gantry_region_node *)root->entry[i]);
	gantry_free_libc(root);
}
