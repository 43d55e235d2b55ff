/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looking ahead: cache lines that a burst is about to touch are fetched together, before its descriptors are issued one
 * by one. A fetch changes nothing, so a descriptor may be looked at that will be refused.
 */
#ifndef GANTRY_AHEAD_H
#define GANTRY_AHEAD_H

#include <rte_branch_prediction.h>

#include "gantry_desc.h"
#include "gantry_queue.h"

/* Descriptors that are looked at in advance: the lines of so many fit in a CPU's first cache. */
#define GANTRY_AHEAD_MAX 64

/*
 * Fetches the regions of the first of n descriptors, if the last hits do not have their memory. Out of
 * line, because only large tables need it.
 */
void gantry_ahead_fetch_regions(const struct gantry_queue *q, const struct gantry_desc *desc,
	uint32_t n);

/* Fetches the regions of a burst where they are so many that a CPU's caches do not hold them. */
static __rte_always_inline void
gantry_ahead_regions(const struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n)
{
	if (unlikely(gantry_region_are_many(&q->view)))
		gantry_ahead_fetch_regions(q, desc, n);
}

#endif
