/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prefetches together the cache lines that a burst will touch, before the descriptors of the burst
 * are issued one by one. A prefetch changes no memory, so the descriptors need not be checked
 * before.
 */
#ifndef GANTRY_AHEAD_H
#define GANTRY_AHEAD_H

#include <rte_branch_prediction.h>

#include "gantry_desc.h"
#include "gantry_queue.h"

/*
 * The most descriptors for which one call prefetches. Their cache lines fit into a CPU's
 * first-level cache.
 */
#define GANTRY_AHEAD_MAX 64

/*
 * Prefetches the regions of the first n descriptors, unless the regions of the last hits cover the
 * descriptors' memory. Out of line, because only large tables need it.
 */
void gantry_ahead_fetch_regions(const struct gantry_queue *q, const struct gantry_desc *desc,
	uint32_t n);

/* Prefetches the regions of a burst if the table of regions is larger than a CPU's caches. */
static __rte_always_inline void
gantry_ahead_regions(const struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n)
{
	if (unlikely(gantry_region_are_many(&q->view)))
		gantry_ahead_fetch_regions(q, desc, n);
}

#endif
