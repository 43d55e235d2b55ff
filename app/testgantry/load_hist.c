/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Adds histograms, and computes percentiles.
 */
#include "load_hist.h"

#include <rte_common.h>

void
load_hist_merge(struct load_hist *h, const struct load_hist *other)
{
	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		h->bucket[i] += other->bucket[i];
	h->n += other->n;
	h->sum += other->sum;
	h->max = RTE_MAX(h->max, other->max);
}

/* Returns the largest sample that belongs to a bucket. */
static uint64_t
bucket_end(uint32_t i)
{
	uint32_t shift = i < HIST_SUB ? 0 : i / HIST_SUB - 1;

	return ((uint64_t)(i - shift * HIST_SUB + 1) << shift) - 1;
}

uint64_t
load_hist_percentile(const struct load_hist *h, double percent)
{
	/*
	 * The percentile is the smallest sample that `percent` of all samples do not exceed; `rank`
	 * is the rank of this sample, counted from 1. The last factor corrects rounding, because
	 * 99.9 is not exact in binary.
	 */
	double exact = h->n * percent / 100 * (1 - 1e-12);
	uint64_t rank = (uint64_t)exact + 1, seen = 0;

	rank = RTE_MIN(rank, RTE_MAX(h->n, UINT64_C(1)));
	for (uint32_t i = 0; i + 1 < HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			return RTE_MIN(bucket_end(i), h->max);
	}
	return h->max;
}
