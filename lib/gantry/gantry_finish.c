/* SPDX-License-Identifier: BSD-3-Clause */
/* Finishes completions that are not plain: failures, and those that hold something. */
#include "gantry_finish.h"

__rte_cold void
gantry_finish(struct gantry_queue *q, struct gantry_stream *s, uint32_t slot,
	struct gantry_comp *comp)
{
	RTE_SET_USED(s);
	RTE_SET_USED(slot);
	comp->zero = 0;
	gantry_counter_add(&q->stats.by_status[comp->status], 1);
	if (comp->status == GANTRY_OK)
		gantry_counter_add(&q->stats.bytes, comp->len);
}
