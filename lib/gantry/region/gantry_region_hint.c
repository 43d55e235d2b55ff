/* SPDX-License-Identifier: BSD-3-Clause */
/* Edits the table of hints: adds and removes hints, and enlarges the table. */
#include "gantry_region_hint.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include "gantry_alloc.h"

#define GROUP GANTRY_REGION_GROUP
/* log2 of the number of places of the first table, and of the largest table. */
#define LEAST_LOG 9
#define MOST_LOG  28
/*
 * The number of places that one edit copies while a table grows. An edit adds at most 17 hints. So
 * a table that was half full gets at most 17 hints for each 64 places that are copied.
 */
#define COPIED_AT_ONCE 64

const struct gantry_region gantry_region_none;

/* ------------------------------------------------------------------ granules */

static uint32_t
length_of(const struct gantry_region *r)
{
	uint32_t log = rte_fls_u64(r->len) - 1;

	return log < GANTRY_REGION_GRANULE_LOG
		       ? 0
		       : (log - GANTRY_REGION_GRANULE_LOG) / GANTRY_REGION_LENGTHS_LOG;
}

static uint64_t
first_granule(const struct gantry_region *r)
{
	return r->addr >> gantry_region_granule_shift(length_of(r));
}

static uint64_t
last_granule(const struct gantry_region *r)
{
	return (r->addr + (r->len - 1)) >> gantry_region_granule_shift(length_of(r));
}

/* ------------------------------------------------------------------ a table */

static struct gantry_region_table *
current_table(const struct gantry_region_hints *h)
{
	/* The load is relaxed, because only one thread edits. */
	return atomic_load_explicit(&h->table, memory_order_relaxed);
}

static uint32_t
log_of(const struct gantry_region_table *t)
{
	return 64 - t->places.shift;
}

/* Allocates a table. The caller writes its places. */
static struct gantry_region_table *
table_new(uint32_t log)
{
	struct gantry_region_table *t = gantry_alloc_libc(
		sizeof(*t) + RTE_CACHE_LINE_SIZE + (sizeof(*t->places.place) << log));

	/* A group of places is one cache line. */
	if (t != NULL)
		t->places = (struct gantry_region_places){
			.place = RTE_PTR_ALIGN((void *)(t + 1), RTE_CACHE_LINE_SIZE),
			.shift = 64 - log,
		};
	return t;
}

static void
place_set(struct gantry_region_table *t, uint64_t place, const struct gantry_region *r)
{
	/* Pairs with the acquire in gantry_region_hint(). */
	atomic_store_explicit(&t->places.place[place], r, memory_order_release);
}

static void
places_empty(struct gantry_region_table *t, uint32_t from, uint32_t n)
{
	uint32_t i;

	for (i = from; i < from + n; i++)
		place_set(t, i, &gantry_region_none);
}

/* Returns the first place of the granule's group that has r, or UINT64_MAX if no place has r. */
static uint64_t
place_of(const struct gantry_region_table *t, uint64_t granule, const struct gantry_region *r)
{
	uint64_t place = gantry_region_place(t->places, granule), i;

	for (i = 0; i < GROUP; i++)
		if (gantry_region_hint(t->places, place ^ i) == r)
			return place ^ i;
	return UINT64_MAX;
}

/* Returns true if the place has r, and a look-up of one of r's granules begins at this place. */
static bool
is_first_place(const struct gantry_region_table *t, uint64_t place, const struct gantry_region *r)
{
	uint64_t granule;

	for (granule = first_granule(r); granule <= last_granule(r); granule++)
		if (gantry_region_place(t->places, granule) == place)
			return true;
	return false;
}

static void
table_add(struct gantry_region_table *t, uint64_t granule, const struct gantry_region *r)
{
	const uint64_t first = gantry_region_place(t->places, granule);
	const struct gantry_region *there = gantry_region_hint(t->places, first);
	uint64_t place;

	/* The group may have r already, for another granule of r. */
	if (place_of(t, granule, r) != UINT64_MAX)
		return;
	place = place_of(t, granule, &gantry_region_none);
	if (place == UINT64_MAX)
		return;
	/*
	 * Most look-ups should end at the first place of a group. If the region at this place has
	 * another first place, it is moved to make room for r.
	 */
	if (place != first && !is_first_place(t, first, there)) {
		place_set(t, place, there);
		place = first;
	}
	place_set(t, place, r);
	t->n++;
}

static void
table_remove(struct gantry_region_table *t, uint64_t granule, const struct gantry_region *r)
{
	uint64_t place = place_of(t, granule, r);

	if (place == UINT64_MAX)
		return;
	place_set(t, place, &gantry_region_none);
	t->n--;
}

/* ------------------------------------------------------------------ growing */

/* Returns true if the granule's group has been copied to `next`. */
static bool
is_copied(const struct gantry_region_hints *h, uint64_t granule)
{
	return h->next != NULL &&
	       gantry_region_place(current_table(h)->places, granule) < h->copied;
}

/*
 * Copies the next group to two groups of `next`. No other group is copied to these two groups.
 */
static void
copy_group(struct gantry_region_hints *h)
{
	const struct gantry_region_table *t = current_table(h);
	uint32_t from = h->copied, i;
	uint64_t granule;

	places_empty(h->next, 2 * from, 2 * GROUP);
	for (i = from; i < from + GROUP; i++) {
		const struct gantry_region *r = gantry_region_hint(t->places, i);

		if (r == &gantry_region_none)
			continue;
		for (granule = first_granule(r); granule <= last_granule(r); granule++)
			if (gantry_region_place(t->places, granule) / GROUP == from / GROUP)
				table_add(h->next, granule, r);
	}
	h->copied += GROUP;
}

/*
 * Copies some groups, if the table has to grow. When the last group is copied, readers may take the
 * new table.
 */
static void
grow(struct gantry_region_hints *h)
{
	struct gantry_region_table *t = current_table(h);
	uint32_t log = log_of(t), end;

	if (h->next == NULL) {
		if (t->n < 1u << (log - 1) || log == MOST_LOG)
			return;
		h->next = table_new(log + 1);
		h->copied = 0;
	}
	if (h->next == NULL)
		return;
	for (end = h->copied + COPIED_AT_ONCE; h->copied != end;)
		copy_group(h);
	if (h->copied != 1u << log)
		return;
	h->next->older = t;
	atomic_store_explicit(&h->table, h->next, memory_order_release);
	h->next = NULL;
}

/* ------------------------------------------------------------------ the calls */

int
gantry_region_hints_init(struct gantry_region_hints *h)
{
	struct gantry_region_table *t = table_new(LEAST_LOG);

	if (t == NULL)
		return -ENOMEM;
	memset(h, 0, sizeof(*h));
	places_empty(t, 0, 1u << LEAST_LOG);
	atomic_init(&h->table, t);
	return 0;
}

void
gantry_region_hints_fini(struct gantry_region_hints *h)
{
	struct gantry_region_table *t = current_table(h), *older;

	gantry_free_libc(h->next);
	for (; t != NULL; t = older) {
		older = t->older;
		gantry_free_libc(t);
	}
}

void
gantry_region_hints_add(struct gantry_region_hints *h, const struct gantry_region *r)
{
	uint32_t length = length_of(r);
	uint64_t granule;

	grow(h);
	h->n_regions[length]++;
	atomic_fetch_or_explicit(&h->shifts, RTE_BIT64(gantry_region_granule_shift(length)),
		memory_order_relaxed);
	for (granule = first_granule(r); granule <= last_granule(r); granule++) {
		table_add(current_table(h), granule, r);
		if (is_copied(h, granule))
			table_add(h->next, granule, r);
	}
}

void
gantry_region_hints_remove(struct gantry_region_hints *h, const struct gantry_region *r)
{
	uint32_t length = length_of(r);
	uint64_t granule;

	if (--h->n_regions[length] == 0)
		atomic_fetch_and_explicit(&h->shifts,
			~RTE_BIT64(gantry_region_granule_shift(length)), memory_order_relaxed);
	for (granule = first_granule(r); granule <= last_granule(r); granule++) {
		table_remove(current_table(h), granule, r);
		if (is_copied(h, granule))
			table_remove(h->next, granule, r);
	}
}
