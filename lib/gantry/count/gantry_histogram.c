/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and clears histograms. */
#include "gantry_histogram.h"

uint64_t
gantry_histogram_count(const struct gantry_histogram *h)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < GANTRY_HISTOGRAM_BUCKETS; i++)
		n += gantry_counter_get(&h->bucket[i]);
	return n;
}

uint64_t
gantry_histogram_percentile(const struct gantry_histogram *h, unsigned int percent)
{
	uint64_t n = gantry_histogram_count(h), sum = 0, max = gantry_counter_get(&h->max), last;
	/* This is n * percent / 100, rounded up, without an overflow. */
	uint64_t wanted = n / 100 * percent + (n % 100 * percent + 99) / 100;
	uint32_t i;

	for (i = 0; i < GANTRY_HISTOGRAM_BUCKETS; i++) {
		sum += gantry_counter_get(&h->bucket[i]);
		if (sum != 0 && sum >= wanted) {
			last = gantry_histogram_last(i);
			return last < max ? last : max;
		}
	}
	return max;
}

void
gantry_histogram_clear(struct gantry_histogram *h)
{
	uint32_t i;

	for (i = 0; i < GANTRY_HISTOGRAM_BUCKETS; i++)
		atomic_store_explicit(&h->bucket[i], 0, memory_order_relaxed);
	atomic_store_explicit(&h->max, 0, memory_order_relaxed);
}
