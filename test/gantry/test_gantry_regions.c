/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree of regions, and the hints that are tried before the tree, compared with an array: random
 * additions and removals, look-ups of every kind, the cost of an edit, and old versions of the
 * tree, which must not change.
 */
#include <stdatomic.h>
#include <string.h>

#include "check.h"
#include "gantry_region.h"

/*
 * The address space is divided into slots of STRIDE bytes. A slot has at most one region, which
 * begins at the start of the slot.
 */
#define N_SLOTS 3000
#define STRIDE  4096
#define BASE    UINT64_C(0x7f0000000000)

static struct gantry_region regions[N_SLOTS];
static bool is_in[N_SLOTS];
static struct gantry_region_dir dir;

static struct gantry_region_node *
root(void)
{
	return atomic_load(&dir.root);
}

static void
toggle(uint32_t slot, uint64_t len)
{
	struct gantry_region *r = &regions[slot];

	if (is_in[slot]) {
		CHECK(gantry_region_remove(&dir, r) != 0);
	} else {
		*r = (struct gantry_region){.addr = BASE + slot * STRIDE, .len = len};
		CHECK(gantry_region_add(&dir, r) != 0);
	}
	is_in[slot] = !is_in[slot];
}

/* Returns the region with the greatest start address that is not above addr. Checks all slots. */
static const struct gantry_region *
model_find(uint64_t addr)
{
	const struct gantry_region *found = NULL;
	uint32_t i;

	for (i = 0; i < N_SLOTS; i++)
		if (is_in[i] && regions[i].addr <= addr)
			found = &regions[i];
	return found;
}

static const struct gantry_region *
model_overlap(uint64_t addr, uint64_t len)
{
	const struct gantry_region *found = NULL;
	uint32_t i;

	for (i = 0; i < N_SLOTS; i++)
		if (is_in[i] && regions[i].addr < addr + len &&
			addr < regions[i].addr + regions[i].len)
			found = &regions[i];
	return found;
}

/* Returns the number of regions below a node, and checks the node's order, filling and heights. */
static uint32_t
check_node(const struct gantry_region_node *node, bool is_root)
{
	uint32_t i, n = 0;

	CHECK(node->n <= GANTRY_REGION_FAN && node->n >= (is_root ? 1 + (node->height > 0) : 8));
	for (i = 0; i < node->n; i++) {
		const struct gantry_region_node *below = node->entry[i];
		const struct gantry_region *r = node->entry[i];

		CHECK(i == 0 || node->addr[i - 1] < node->addr[i]);
		if (node->height == 0) {
			CHECK_EQ(r->addr, node->addr[i]);
			n++;
		} else {
			CHECK_EQ(below->height, node->height - 1);
			CHECK_EQ(below->addr[0], node->addr[i]);
			n += check_node(below, false);
		}
	}
	return n;
}

static void
check_all(void)
{
	uint32_t i, n = 0;

	for (i = 0; i < N_SLOTS; i++)
		n += is_in[i];
	CHECK_EQ(root() == NULL ? 0 : check_node(root(), true), n);
}

/*
 * Makes one edit for two slots: adds a region to each empty slot, and removes the region of the
 * other slots.
 */
static void
toggle_two(uint32_t a, uint32_t b, uint64_t len)
{
	const uint32_t slot[2] = {a, b};
	struct gantry_region_change c = {{NULL}};
	uint64_t version = atomic_load(&dir.version);
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct gantry_region *r = &regions[slot[i]];

		if (is_in[slot[i]]) {
			c.gone[i] = r;
		} else {
			*r = (struct gantry_region){.addr = BASE + slot[i] * STRIDE, .len = len};
			c.come[i] = r;
		}
		is_in[slot[i]] = !is_in[slot[i]];
	}
	CHECK_EQ(gantry_region_replace(&dir, &c), version + 1);
	CHECK_EQ(atomic_load(&dir.version), version + 1);
}

/* A reader's look-up, as a call of its own. */
static const struct gantry_region *
reader_find(struct gantry_region_view *v, uint64_t addr, uint64_t len)
{
	const struct gantry_region *r;

	if (gantry_region_enter(v))
		gantry_region_view_update(v);
	r = gantry_region_lookup(v, addr, len);
	gantry_region_leave(v, false);
	return r;
}

static const struct gantry_region *
model_cover(uint64_t addr, uint64_t len)
{
	const struct gantry_region *r = model_find(addr);

	return r != NULL && addr - r->addr < r->len && len <= r->len - (addr - r->addr) ? r : NULL;
}

/* Grows, shrinks and grows the tree, so that nodes split and join at all heights. */
static void
the_tree_is_what_an_array_would_be(void)
{
	struct gantry_region_view v;
	uint64_t seed = 7;
	uint32_t i;

	CHECK_EQ(gantry_region_dir_init(&dir), 0);
	gantry_region_view_init(&v, &dir);
	for (i = 0; i < 30000; i++) {
		uint32_t slot = check_random(&seed) % N_SLOTS;
		uint64_t addr = BASE + check_random(&seed) % (N_SLOTS * STRIDE);
		uint64_t len = 1 + check_random(&seed) % (3 * STRIDE);
		bool grow = i / 6000 % 2 == 0;

		if (is_in[slot] != grow || check_random(&seed) % 4 == 0)
			toggle(slot, 1 + check_random(&seed) % STRIDE);
		if (i % 4 == 0)
			toggle_two(slot, (slot + 1 + check_random(&seed) % 8) % N_SLOTS, 1 + i % 9);
		if (i % 64 == 0) {
			CHECK(gantry_region_tree_find(root(), addr) == model_find(addr));
			CHECK(gantry_region_overlap(&dir, addr, len) == model_overlap(addr, len));
		}
		if (i % 4 == 1) {
			len = 1 + len % 300;
			CHECK(reader_find(&v, addr, len) == model_cover(addr, len));
			CHECK(reader_find(&v, regions[slot].addr, 1) ==
				model_cover(regions[slot].addr, 1));
		}
		if (i % 1000 == 0)
			check_all();
	}
	for (i = 0; i < N_SLOTS; i++)
		if (is_in[i])
			toggle(i, 0);
	CHECK(root() == NULL);
	CHECK(gantry_region_overlap(&dir, BASE, N_SLOTS * STRIDE) == NULL);
	gantry_region_view_fini(&v);
	gantry_region_dir_fini(&dir);
}

/*
 * Adds regions of 64 bytes to 512 GiB, each followed by a gap of one byte, and removes every third
 * region. A look-up must find exactly the regions that remain.
 */
static void
hints_find_regions_of_every_length(void)
{
	struct gantry_region_view v;
	uint64_t addr = 1000000007;
	uint32_t i, n_hints = 0;

	CHECK_EQ(gantry_region_dir_init(&dir), 0);
	gantry_region_view_init(&v, &dir);
	for (i = 0; i < N_SLOTS; i++) {
		regions[i] = (struct gantry_region){.addr = addr,
			.len = (UINT64_C(64) << i % 34) + i % 7 * (i % 34)};
		addr += regions[i].len + 1;
		CHECK(gantry_region_add(&dir, &regions[i]) != 0);
	}
	for (i = 0; i < N_SLOTS; i += 3)
		CHECK(gantry_region_remove(&dir, &regions[i]) != 0);
	CHECK(gantry_region_enter(&v));
	gantry_region_view_update(&v);
	for (i = 0; i < N_SLOTS; i++) {
		const struct gantry_region *r = &regions[i], *is = i % 3 == 0 ? NULL : r;
		uint64_t last = r->addr + r->len - 1;

		CHECK(gantry_region_lookup(&v, r->addr, r->len) == is);
		CHECK(gantry_region_lookup(&v, last, 1) == is);
		CHECK(gantry_region_lookup(&v, r->addr + r->len / 2, 1) == is);
		CHECK(gantry_region_lookup(&v, last, 2) == NULL);
		CHECK(gantry_region_lookup(&v, r->addr - 1, 2) == NULL);
	}
	/* The look-up must not use the tree. */
	v.root = NULL;
	for (i = 0; i < N_SLOTS; i++)
		n_hints +=
			gantry_region_lookup(&v, regions[i].addr + regions[i].len / 2, 1) != NULL;
	CHECK(n_hints >= N_SLOTS * 2 / 3 * 98 / 100, "%u", n_hints);
	gantry_region_leave(&v, false);
	gantry_region_view_fini(&v);
	for (i = 0; i < N_SLOTS; i++)
		if (i % 3 != 0)
			CHECK(gantry_region_remove(&dir, &regions[i]) != 0);
	gantry_region_dir_fini(&dir);
}

/*
 * 3000 pages need a table of 8192 entries: it starts with 512 entries and doubles four times. When
 * all entries are copied to the new table, it is at most half full. No edit copies more than 64
 * entries.
 */
static void
the_table_of_hints_grows_by_small_steps(void)
{
	const struct gantry_region_hints *h = &dir.hints;
	struct gantry_region_view v;
	uint32_t i, copied = 0, n_tables = 1;

	CHECK_EQ(gantry_region_dir_init(&dir), 0);
	gantry_region_view_init(&v, &dir);
	for (i = 0; i < N_SLOTS; i++) {
		const struct gantry_region_table *t = atomic_load(&h->table);

		toggle(i, STRIDE);
		CHECK(h->next == NULL || h->copied <= copied + 64);
		copied = h->next == NULL ? 0 : h->copied;
		n_tables += atomic_load(&h->table) != t;
		/* A reader that enters now finds each page without the tree. */
		if (i % 100 == 0) {
			uint32_t k;

			CHECK(gantry_region_enter(&v));
			gantry_region_view_update(&v);
			v.root = NULL;
			for (k = 0; k <= i; k++)
				CHECK(gantry_region_lookup(&v, regions[k].addr + 7, 9) ==
					&regions[k]);
			gantry_region_leave(&v, false);
		}
	}
	CHECK_EQ(n_tables, 5);
	for (i = 0; i < N_SLOTS; i++)
		toggle(i, 0);
	CHECK_EQ(atomic_load(&h->table)->n, 0);
	CHECK_EQ(atomic_load(&h->shifts), 0);
	gantry_region_view_fini(&v);
	gantry_region_dir_fini(&dir);
}

/*
 * While the table grows, some groups of entries are copied already. A region that is removed then
 * must be found in neither table.
 */
static void
a_region_that_is_removed_while_the_table_grows_is_gone(void)
{
	const struct gantry_region_hints *h = &dir.hints;
	struct gantry_region_view v;
	uint32_t n = 0, i;

	CHECK_EQ(gantry_region_dir_init(&dir), 0);
	gantry_region_view_init(&v, &dir);
	while (h->next == NULL || h->copied < 256)
		toggle(n++, STRIDE);
	for (i = 0; i < n; i += 3)
		toggle(i, 0);
	while (h->next != NULL)
		toggle(n++, STRIDE);
	CHECK(gantry_region_enter(&v));
	gantry_region_view_update(&v);
	v.root = NULL;
	for (i = 0; i < n; i++)
		CHECK(gantry_region_lookup(&v, regions[i].addr + 7, 9) ==
			(is_in[i] ? &regions[i] : NULL));
	gantry_region_leave(&v, false);
	for (i = 0; i < n; i++)
		if (is_in[i])
			toggle(i, 0);
	CHECK_EQ(atomic_load(&h->table)->n, 0);
	gantry_region_view_fini(&v);
	gantry_region_dir_fini(&dir);
}

static void
a_region_ends_at_its_last_byte(void)
{
	const struct gantry_region last = {.addr = UINT64_MAX - 99, .len = 100};
	struct gantry_region_view v;

	CHECK_EQ(gantry_region_dir_init(&dir), 0);
	toggle(1, 100);
	CHECK(gantry_region_add(&dir, &last) != 0);
	gantry_region_view_init(&v, &dir);
	CHECK(gantry_region_enter(&v));
	gantry_region_view_update(&v);
	CHECK(gantry_region_lookup(&v, BASE + STRIDE, 100) == &regions[1]);
	CHECK(gantry_region_lookup(&v, BASE + STRIDE + 99, 1) == &regions[1]);
	CHECK(gantry_region_lookup(&v, BASE + STRIDE, 101) == NULL);
	CHECK(gantry_region_lookup(&v, BASE + STRIDE + 100, 1) == NULL);
	CHECK(gantry_region_lookup(&v, BASE + STRIDE - 1, 2) == NULL);
	CHECK(gantry_region_lookup(&v, UINT64_MAX, 1) == &last);
	CHECK(gantry_region_overlap(&dir, BASE + STRIDE + 100, 1000) == NULL);
	CHECK(gantry_region_overlap(&dir, BASE + STRIDE - 10, 10) == NULL);
	CHECK(gantry_region_overlap(&dir, BASE + STRIDE - 10, 11) == &regions[1]);
	CHECK(gantry_region_overlap(&dir, UINT64_MAX - 150, 51) == NULL);
	CHECK(gantry_region_overlap(&dir, UINT64_MAX - 150, 52) == &last);
	gantry_region_leave(&v, false);
	gantry_region_view_fini(&v);
	toggle(1, 0);
	gantry_region_dir_fini(&dir);
}

/*
 * An edit may replace only the nodes of one path, and at most one neighbour at each level. 3000
 * regions in nodes with at least 8 entries need at most 4 levels.
 */
static void
an_edit_costs_the_logarithm_of_the_regions(void)
{
	uint32_t i, most = 0;

	CHECK_EQ(gantry_region_dir_init(&dir), 0);
	for (i = 0; i < 2 * N_SLOTS; i++) {
		uint32_t before;

		/* Edits until few nodes are retired, so that the edit below reclaims none. */
		while (dir.n_retired > 100)
			toggle(i * 7 % N_SLOTS, 1), toggle(i * 7 % N_SLOTS, 1);
		before = dir.n_retired;
		toggle(i * 7 % N_SLOTS, 1);
		if (dir.n_retired > before && dir.n_retired - before > most)
			most = dir.n_retired - before;
	}
	CHECK(most >= 2 && most <= 8, "%u", most);
	CHECK(root() == NULL);
	gantry_region_dir_fini(&dir);
}

/* Nodes that a reader may still read must be kept. All other retired nodes must be used again. */
static void
retired_nodes_wait_for_readers_inside_a_call_only(void)
{
	struct gantry_region_view v;
	uint64_t addr[GANTRY_REGION_FAN];
	const struct gantry_region_node *old;
	uint32_t i, n;

	CHECK_EQ(gantry_region_dir_init(&dir), 0);
	for (i = 0; i < 20; i++)
		toggle(i, 1);
	gantry_region_view_init(&v, &dir);
	CHECK(gantry_region_enter(&v));
	gantry_region_view_update(&v);
	old = v.root;
	n = old->n;
	memcpy(addr, old->addr, sizeof(addr));
	for (i = 0; i < 1000; i++)
		toggle(i % 20, 1);
	CHECK(dir.n_retired >= 900, "%u", dir.n_retired);
	CHECK_EQ(old->n, n);
	CHECK(memcmp(addr, old->addr, n * sizeof(addr[0])) == 0);
	CHECK(gantry_region_lookup(&v, BASE, 1) == &regions[0]);
	gantry_region_leave(&v, true); /* outstanding WQEs hold keys, not nodes */
	toggle(0, 1);
	CHECK_EQ(dir.n_retired, 0);
	CHECK(dir.edit.n_spare <= 100);
	/* A reader outside a call keeps no nodes in use. */
	for (i = 0; i < 10000; i++)
		toggle(i % 20, 1);
	CHECK(dir.n_retired < 200);
	gantry_region_view_fini(&v);
	for (i = 0; i < 20; i++)
		if (is_in[i])
			toggle(i, 1);
	gantry_region_dir_fini(&dir);
}

static const struct check_case cases[] = {
	{"the tree has the same regions as an array", the_tree_is_what_an_array_would_be},
	{"hints find regions of every length", hints_find_regions_of_every_length},
	{"the table of hints grows by small steps", the_table_of_hints_grows_by_small_steps},
	{"a region that is removed while the table grows is gone",
		a_region_that_is_removed_while_the_table_grows_is_gone},
	{"a region ends at its last byte", a_region_ends_at_its_last_byte},
	{"the cost of an edit is the logarithm of the number of regions",
		an_edit_costs_the_logarithm_of_the_regions},
	{"retired nodes wait only for readers inside a call",
		retired_nodes_wait_for_readers_inside_a_call_only},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
