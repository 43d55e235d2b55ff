/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hints: a hash table from addresses to regions, in front of the tree.
 *
 * The granules of a region are the pieces of the address space that it has bytes in: of 256 bytes, 4 KiB,
 * 64 KiB, 1 MiB and so on, the longest that are not longer than the region. So a region has at most 17, and one
 * look finds those of one length.
 *
 *   address >> granule's length --- hash ---> groups of 8 places, a cache line each ---> regions
 *
 * A hint may be missing, because its group is full or there was no memory; then the tree is searched. A
 * hint cannot mislead, because its reader compares the region's addresses. So edits change places
 * while readers read them: a region is in its places before the version with it is published, and out of
 * them before the version without it is.
 *
 * A table that is half full is copied to one of twice the size, some groups at each edit: no edit costs more
 * than the others. One thread edits at a time. Tables are freed at the end, because readers may read
 * old ones; all of them together are as large as two.
 */
#ifndef GANTRY_REGION_HINT_H
#define GANTRY_REGION_HINT_H

#include <stdatomic.h>
#include <stdint.h>

#include "gantry_region_tree.h"

#define GANTRY_REGION_GROUP 8

/* The shortest granule, and how many times longer the next one is, as logarithms. */
#define GANTRY_REGION_GRANULE_LOG 8
#define GANTRY_REGION_LENGTHS_LOG 4
#define GANTRY_REGION_LENGTHS     14

/* A place of a table. */
typedef _Atomic(const struct gantry_region *) gantry_region_cell;

/* What one look needs of a table; readers keep a copy. */
struct gantry_region_places {
	gantry_region_cell *place;
	uint32_t shift; /* hash >> shift is the place to look at first */
};

struct gantry_region_table {
	/* Constant. Behind the table; not NULL: a place without a region has gantry_region_none. */
	struct gantry_region_places places;
	uint32_t n; /* places that have a region */
	struct gantry_region_table *older;
};

struct gantry_region_hints {
	_Atomic(struct gantry_region_table *) table; /* what readers take */
	/* Bit n: there are regions with granules of 1 << n bytes, by gantry_region_granule_shift(). */
	_Atomic uint64_t shifts;
	struct gantry_region_table *next; /* of twice the size, being filled; NULL: none */
	uint32_t copied;                  /* places of `table` that `next` has */
	uint32_t n_regions[GANTRY_REGION_LENGTHS];
};

/* A region that covers nothing. */
extern const struct gantry_region gantry_region_none;

/* 0 or -ENOMEM. */
int gantry_region_hints_init(struct gantry_region_hints *h);
void gantry_region_hints_fini(struct gantry_region_hints *h);

/* By the thread that edits: before the version with the region is published ... */
void gantry_region_hints_add(struct gantry_region_hints *h, const struct gantry_region *r);
/* ... and before the version without it. */
void gantry_region_hints_remove(struct gantry_region_hints *h, const struct gantry_region *r);

static inline uint32_t
gantry_region_granule_shift(uint32_t length)
{
	return GANTRY_REGION_GRANULE_LOG + length * GANTRY_REGION_LENGTHS_LOG;
}

/*
 * Index of the place where the region of a granule is looked for first. The others of its group differ in the low
 * bits. granule: an address >> gantry_region_granule_shift().
 */
static inline uint64_t
gantry_region_place(struct gantry_region_places p, uint64_t granule)
{
	/* The upper bits spread neighbours evenly, and most granules of equal distances. */
	return granule * UINT64_C(0x9e3779b97f4a7c15) >> p.shift;
}

/* What is in a place. */
static inline const struct gantry_region *
gantry_region_hint(struct gantry_region_places p, uint64_t place)
{
	/* Pairs with the release in place_set(). */
	return atomic_load_explicit(&p.place[place], memory_order_acquire);
}

#endif
