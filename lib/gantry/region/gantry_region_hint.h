/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hints: a hash table from addresses to regions, in front of the tree.
 *
 * A granule is an aligned piece of the address space. Its length is 256 bytes, 4 KiB, 64 KiB, 1 MiB
 * and so on. A region has granules of one length: the greatest of these lengths that is not greater
 * than the region's length. So at most 17 granules overlap the region. The table has places, each
 * with a hint or empty. A hint is a pointer to a region that overlaps a granule. An address is
 * looked up once for each granule length that occurs.
 *
 *   address >> log2 of the length --- hash ---> groups of 8 places, a cache line each ---> regions
 *
 * A hint may be missing, because its group is full or there was not enough memory. Then the tree is
 * searched. A wrong hint does no harm, because the reader compares the region's addresses. So an
 * edit may overwrite hints while readers read them. A region's hints are added before the version
 * with the region is published, and removed before the version without it is published.
 *
 * A table that is half full is copied to a table of twice the size. Each edit copies some groups,
 * so that all edits cost about the same. One thread edits at a time. Readers may still read old
 * tables, so old tables are freed only with the directory (struct gantry_region_dir). All tables
 * together are at most twice as large as the newest table.
 */
#ifndef GANTRY_REGION_HINT_H
#define GANTRY_REGION_HINT_H

#include <stdatomic.h>
#include <stdint.h>

#include "gantry_region_tree.h"

#define GANTRY_REGION_GROUP 8

/*
 * log2 of the least granule length; log2 of the ratio of a length to the next smaller length; the
 * number of lengths.
 */
#define GANTRY_REGION_GRANULE_LOG 8
#define GANTRY_REGION_LENGTHS_LOG 4
#define GANTRY_REGION_LENGTHS     14

/* The content of a place: a pointer to a region. An empty place points to gantry_region_none. */
typedef _Atomic(const struct gantry_region *) gantry_region_cell;

/* The fields of a table that a look-up needs. Readers keep a copy. */
struct gantry_region_places {
	gantry_region_cell *place;
	uint32_t shift; /* hash >> shift is the index of the place at which a look-up begins */
};

struct gantry_region_table {
	/*
	 * Constant. The array of places follows the struct in memory.
	 */
	struct gantry_region_places places;
	uint32_t n; /* number of places with a region */
	struct gantry_region_table *older;
};

struct gantry_region_hints {
	_Atomic(struct gantry_region_table *) table; /* the table that readers take */
	/* Bit n is set if a region has granules of 1 << n bytes. */
	_Atomic uint64_t shifts;
	/* The table of twice the size that is being filled, or NULL. */
	struct gantry_region_table *next;
	uint32_t copied; /* number of places of `table` that are copied to `next` */
	uint32_t n_regions[GANTRY_REGION_LENGTHS];
};

/* A region that covers no address. */
extern const struct gantry_region gantry_region_none;

/* Allocates the first table. Returns 0 or -ENOMEM. */
int gantry_region_hints_init(struct gantry_region_hints *h);
void gantry_region_hints_fini(struct gantry_region_hints *h);

/*
 * Adds the hints of r. The editing thread calls this function before the version with r is
 * published.
 */
void gantry_region_hints_add(struct gantry_region_hints *h, const struct gantry_region *r);
/*
 * Removes the hints of r. The editing thread calls this function before the version without r is
 * published.
 */
void gantry_region_hints_remove(struct gantry_region_hints *h, const struct gantry_region *r);

static inline uint32_t
gantry_region_granule_shift(uint32_t length)
{
	return GANTRY_REGION_GRANULE_LOG + length * GANTRY_REGION_LENGTHS_LOG;
}

/*
 * Returns the place at which the look-up of a granule begins. The other places of its group differ
 * in the low bits. granule: an address >> gantry_region_granule_shift().
 */
static inline uint64_t
gantry_region_place(struct gantry_region_places p, uint64_t granule)
{
	/*
	 * The upper bits of the product spread neighbouring granules evenly. They also do so for
	 * most series of granules with equal distances.
	 */
	return granule * UINT64_C(0x9e3779b97f4a7c15) >> p.shift;
}

/* Returns the region that is in a place. */
static inline const struct gantry_region *
gantry_region_hint(struct gantry_region_places p, uint64_t place)
{
	/* Pairs with the release in place_set(). */
	return atomic_load_explicit(&p.place[place], memory_order_acquire);
}

#endif
