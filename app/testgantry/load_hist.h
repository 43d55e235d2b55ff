/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A histogram of latencies. Each power of two has 32 buckets, so a percentile is at most 1/32 too
 * large.
 */
#ifndef TESTGANTRY_LOAD_HIST_H
#define TESTGANTRY_LOAD_HIST_H

#include <stdint.h>

#define HIST_LOG_SUB 5
#define HIST_SUB     (1u << HIST_LOG_SUB) /**< buckets of a power of two */
#define HIST_BITS    48 /**< samples of more bits count as the largest number of HIST_BITS bits */
#define HIST_BUCKETS ((HIST_BITS - HIST_LOG_SUB + 1) * HIST_SUB)

/** The unit of time of the samples is the caller's. All zeros: no samples. */
struct load_hist {
	uint64_t n;
	uint64_t max;
	uint64_t sum;
	uint64_t bucket[HIST_BUCKETS];
};

/* Returns the bucket of a sample. Each of the first 32 buckets holds one value. */
static inline uint32_t
load_hist_bucket(uint64_t sample)
{
	uint32_t shift;

	if (sample < HIST_SUB)
		return sample;
	if (sample >> HIST_BITS != 0)
		return HIST_BUCKETS - 1;
	shift = 63 - __builtin_clzll(sample) - HIST_LOG_SUB;
	return shift * HIST_SUB + (sample >> shift);
}

static inline void
load_hist_add(struct load_hist *h, uint64_t sample)
{
	h->bucket[load_hist_bucket(sample)]++;
	h->n++;
	h->sum += sample;
	if (sample > h->max)
		h->max = sample;
}

/** Adds the samples of `other` to h. */
void load_hist_merge(struct load_hist *h, const struct load_hist *other);

/**
 * Returns the value that `percent` of the samples do not exceed: the end of a bucket, at most the
 * largest sample. Returns 0 if there are no samples.
 */
uint64_t load_hist_percentile(const struct load_hist *h, double percent);

#endif
