/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Submitting: how descriptors enter a queue. One plain descriptor that comes alone is issued inline, in the caller;
 * all else by gantry_issue.c.
 */
#ifndef GANTRY_SUBMIT_H
#define GANTRY_SUBMIT_H

#include "gantry_issue.h"
#include "gantry_run.h"

/* gantry_submit_inside() for one descriptor, of a queue that gantry_submit_by_mmo() is for. */
static __rte_always_inline uint32_t
gantry_submit_one_by_mmo(struct gantry_queue *q, const struct gantry_desc *desc)
{
	struct gantry_stream *s = &q->stream;

	if (unlikely(gantry_run(q, s, desc, 1, true, true) == 0))
		return gantry_submit_not_plain(q, desc);
	atomic_store_explicit(&s->head, s->issue, memory_order_relaxed);
	return 1;
}

/* gantry_submit(), between gantry_enter() and gantry_leave(). */
static __rte_always_inline uint32_t
gantry_submit_inside(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n)
{
	struct gantry_stream *s = &q->stream;
	uint64_t head = gantry_counter_get(&s->head);

	if (unlikely(q->unordered || s->issue != head ||
		     q->conn[GANTRY_CONN_OWN].state != GANTRY_CONN_READY ||
		     q->choice.all != GANTRY_CARRIER_MMO))
		return gantry_submit_any(q, desc, n);
	n = RTE_MIN(n, s->mask + 1 - (uint32_t)(head - gantry_counter_get(&s->tail)));
	return n == 1 ? gantry_submit_one_by_mmo(q, desc) : gantry_submit_by_mmo(q, desc, n);
}

#endif
