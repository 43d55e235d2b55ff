/* SPDX-License-Identifier: BSD-3-Clause */
/* Prefetches cache lines for a burst. */
#include "gantry_ahead.h"

#include <rte_common.h>

/* The least number of descriptors for which prefetching saves time. */
#define LEAST 4

/* Returns true if src of a plain descriptor is registered memory of this process. */
static inline bool
has_src(const struct gantry_desc *d)
{
	return d->op == GANTRY_OP_COPY || d->op == GANTRY_OP_WRITE;
}

static inline bool
has_dst(const struct gantry_desc *d)
{
	return d->op == GANTRY_OP_COPY || d->op == GANTRY_OP_READ;
}

/* Returns true if the regions of the last hits do not cover the descriptor's memory. */
static bool
misses(const struct gantry_region_view *v, const struct gantry_desc *d)
{
	return (has_src(d) && !gantry_region_hit(v->src, d->src, d->len)) ||
	       (has_dst(d) && !gantry_region_hit(v->dst, d->dst, d->len));
}

/*
 * First prefetches the entries of the table of hints, then the regions. If the first and the last
 * descriptor of the burst are in the regions of the last hits, the whole burst probably is, and
 * nothing is prefetched.
 */
void
gantry_ahead_fetch_regions(const struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n)
{
	const struct gantry_region_view *v = &q->view;
	const gantry_region_cell *cell[2 * GANTRY_AHEAD_MAX];
	const struct gantry_desc *d, *end;
	uint32_t k = 0, i;

	if (n < LEAST || (!misses(v, &desc[0]) && !misses(v, &desc[n - 1])))
		return;
	for (d = desc, end = desc + RTE_MIN(n, GANTRY_AHEAD_MAX); d != end; d++) {
		if (has_src(d))
			cell[k++] = gantry_region_fetch_place(v, d->src);
		if (has_dst(d))
			cell[k++] = gantry_region_fetch_place(v, d->dst);
	}
	for (i = 0; i < k; i++)
		gantry_region_fetch(cell[i]);
}
