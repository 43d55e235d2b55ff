/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A histogram of latencies: 32 buckets for each power of two, so a percentile is at most 1/32 too
 * long.
 */
#ifndef TESTGANTRY_LOAD_HIST_H
#define TESTGANTRY_LOAD_HIST_H

#include <stdint.h>

#define HIST_LOG_SUB 5
#define HIST_SUB     (1u << HIST_LOG_SUB) /**< buckets of a power of two */
#define HIST_BITS    48 /**< longer samples count as the longest of so many bits */
#define HIST_BUCKETS ((HIST_BITS - HIST_LOG_SUB + 1) * HIST_SUB)

/** Of any unit of time. All zeros is one without samples. */
struct load_hist {
	uint64_t n;
	uint64_t max;
	uint64_t sum;
	uint64_t bucket[HIST_BUCKETS];
};

/* The first 32 buckets are of one number each. */
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

/** Adds the samples of `other`. */
void load_hist_merge(struct load_hist *h, const struct load_hist *other);

/**
 * What so many percent of the samples do not exceed: the end of a bucket, at most the longest
 * sample. 0: there is none.
 */
uint64_t load_hist_percentile(const struct load_hist *h, double percent);

#endif
