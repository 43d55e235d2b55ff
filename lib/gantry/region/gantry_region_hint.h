/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hints: a hash table from addresses to regions, in front of the tree.
 *
 * A granule is an aligned piece of the address space. Its length is 256 bytes, 4 KiB, 64 KiB, 1 MiB
 * and so on. A region has granules of one length, the longest that is not longer than the region.
 * So at most 17 granules overlap the region. A hint is an entry of the table: from a granule to a
 * region. An address is looked up once for each length that any region has.
 *
 *   address >> log2 of the length --- hash ---> groups of 8 places, a cache line each ---> regions
 *
 * A hint may be missing, because its group is full or there was no memory. Then the tree is
 * searched. A hint cannot mislead, because its reader compares the region's addresses. So edits
 * change places while readers read them. A region's hints are added before the version with the
 * region is published, and removed before the version without it is published.
 *
 * A table that is half full is copied to one of twice the size. Each edit copies some groups, so
 * that no edit costs much more than another. One thread edits at a time. Old tables are freed at
 * the end only, because readers may read them; all tables together are as large as two.
 */
#ifndef GANTRY_REGION_HINT_H
#define GANTRY_REGION_HINT_H

#include <stdatomic.h>
#include <stdint.h>

#include "gantry_region_tree.h"

#define GANTRY_REGION_GROUP 8

/*
 * log2 of the shortest length of granules; log2 of the ratio of one length to the one before; and
 * the number of lengths.
 */
#define GANTRY_REGION_GRANULE_LOG 8
#define GANTRY_REGION_LENGTHS_LOG 4
#define GANTRY_REGION_LENGTHS     14

/* A place of a table. */
typedef _Atomic(const struct gantry_region *) gantry_region_cell;

/* What one look-up needs of a table. Readers keep a copy. */
struct gantry_region_places {
	gantry_region_cell *place;
	uint32_t shift; /* hash >> shift is the first place to look at */
};

struct gantry_region_table {
	/*
	 * Constant. The places lie behind the struct. A place without a region has
	 * gantry_region_none.
	 */
	struct gantry_region_places places;
	uint32_t n; /* places with a region */
	struct gantry_region_table *older;
};

struct gantry_region_hints {
	_Atomic(struct gantry_region_table *) table; /* the table that readers take */
	/* Bit n: some region has granules of 1 << n bytes. */
	_Atomic uint64_t shifts;
	/* the table of twice the size that is being filled; NULL: none */
	struct gantry_region_table *next;
	uint32_t copied; /* places of `table` that are copied to `next` */
	uint32_t n_regions[GANTRY_REGION_LENGTHS];
};

/* A region that covers nothing. */
extern const struct gantry_region gantry_region_none;

/* Returns 0 or -ENOMEM. */
int gantry_region_hints_init(struct gantry_region_hints *h);
void gantry_region_hints_fini(struct gantry_region_hints *h);

/* Adds the hints of r. The editing thread calls it before the version with r is published. */
void gantry_region_hints_add(struct gantry_region_hints *h, const struct gantry_region *r);
/* Removes the hints of r. The editing thread calls it before the version without r is published. */
void gantry_region_hints_remove(struct gantry_region_hints *h, const struct gantry_region *r);

static inline uint32_t
gantry_region_granule_shift(uint32_t length)
{
	return GANTRY_REGION_GRANULE_LOG + length * GANTRY_REGION_LENGTHS_LOG;
}

/*
 * The first place to look at for the region of a granule. The other places of the group differ in
 * the low bits. granule: an address >> gantry_region_granule_shift().
 */
static inline uint64_t
gantry_region_place(struct gantry_region_places p, uint64_t granule)
{
	/*
	 * The upper bits of the product spread neighbouring granules evenly, and most series of
	 * granules with equal distances.
	 */
	return granule * UINT64_C(0x9e3779b97f4a7c15) >> p.shift;
}

/* The region in a place. */
static inline const struct gantry_region *
gantry_region_hint(struct gantry_region_places p, uint64_t place)
{
	/* Pairs with the release in place_set(). */
	return atomic_load_explicit(&p.place[place], memory_order_acquire);
}

#endif
