/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A histogram of numbers. Each power of two is divided into 8 buckets, so the width of a bucket is
 * at most an eighth of its numbers. One thread adds numbers, and any thread reads.
 */
#ifndef GANTRY_HISTOGRAM_H
#define GANTRY_HISTOGRAM_H

#include <stdint.h>

#include "gantry_counter.h"

#define GANTRY_HISTOGRAM_LOG_SUB 3
#define GANTRY_HISTOGRAM_SUB     (1u << GANTRY_HISTOGRAM_LOG_SUB)
/*
 * The numbers below SUB have one bucket each. Each power of two from SUB to 2^63 has SUB buckets.
 */
#define GANTRY_HISTOGRAM_BUCKETS (GANTRY_HISTOGRAM_SUB * (65 - GANTRY_HISTOGRAM_LOG_SUB))

/* A histogram whose fields are all 0 is empty. */
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

/* Returns the greatest number that belongs to a bucket. */
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

/* Returns how many numbers were added. */
uint64_t gantry_histogram_count(const struct gantry_histogram *h);

/*
 * Returns a number such that `percent` % of all added numbers are not greater than this number. The
 * result may be too large by up to an eighth, but is at most the greatest added number. Returns 0
 * if the histogram is empty.
 */
uint64_t gantry_histogram_percentile(const struct gantry_histogram *h, unsigned int percent);

/* Makes the histogram empty. Called by the thread that adds numbers. */
void gantry_histogram_clear(struct gantry_histogram *h);

#endif
