/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A histogram of numbers: 8 buckets for each power of two, so a bucket is at most an eighth of its numbers wide. One
 * thread adds, any thread reads.
 */
#ifndef GANTRY_HISTOGRAM_H
#define GANTRY_HISTOGRAM_H

#include <stdint.h>

#include "gantry_counter.h"

#define GANTRY_HISTOGRAM_LOG_SUB 3
#define GANTRY_HISTOGRAM_SUB     (1u << GANTRY_HISTOGRAM_LOG_SUB)
/* The numbers below SUB have a bucket each, and each power of two from there to 2^63 has SUB. */
#define GANTRY_HISTOGRAM_BUCKETS (GANTRY_HISTOGRAM_SUB * (65 - GANTRY_HISTOGRAM_LOG_SUB))

/* All zero: it is empty. */
struct gantry_histogram {
	gantry_counter max;
	gantry_counter bucket[GANTRY_HISTOGRAM_BUCKETS];
};

static inline uint32_t
gantry_histogram_bucket(uint64_t value)
{
	uint32_t shift;

	if (value < GANTRY_HISTOGRAM_SUB)
		return value;
	shift = 63 - GANTRY_HISTOGRAM_LOG_SUB - (uint32_t)__builtin_clzll(value);
	return (shift + 1) * GANTRY_HISTOGRAM_SUB + (uint32_t)(value >> shift) -
	       GANTRY_HISTOGRAM_SUB;
}

/* The greatest number of a bucket. */
static inline uint64_t
gantry_histogram_last(uint32_t bucket)
{
	uint32_t shift;

	if (bucket < GANTRY_HISTOGRAM_SUB)
		return bucket;
	shift = bucket / GANTRY_HISTOGRAM_SUB - 1;
	return ((bucket % GANTRY_HISTOGRAM_SUB + GANTRY_HISTOGRAM_SUB + UINT64_C(1)) << shift) - 1;
}

static inline void
gantry_histogram_add(struct gantry_histogram *h, uint64_t value)
{
	gantry_counter_add(&h->bucket[gantry_histogram_bucket(value)], 1);
	if (value > gantry_counter_get(&h->max))
		atomic_store_explicit(&h->max, value, memory_order_relaxed);
}

/* How many numbers it has. */
uint64_t gantry_histogram_count(const struct gantry_histogram *h);

/*
 * The number that `percent` of all numbers are not greater than; or up to an eighth more, but not more than the
 * greatest. 0: it is empty.
 */
uint64_t gantry_histogram_percentile(const struct gantry_histogram *h, unsigned int percent);

/* Makes it empty. The thread that adds. */
void gantry_histogram_clear(struct gantry_histogram *h);

#endif
