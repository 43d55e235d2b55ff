/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Submits descriptors to a queue. The inline code here issues a single plain descriptor;
 * gantry_issue.c issues all other descriptors.
 */
#ifndef GANTRY_SUBMIT_H
#define GANTRY_SUBMIT_H

#include "gantry_issue.h"
#include "gantry_run.h"

/* Returns true if gantry_submit_by_mmo() is possible for the queue. */
static __rte_always_inline bool
gantry_submit_is_usual(const struct gantry_queue *q)
{
	return likely(q->usual && !gantry_stream_waits(&q->stream));
}

/*
 * As gantry_submit_inside(), for one descriptor, if gantry_submit_by_mmo() is possible for the
 * queue.
 */
static __rte_always_inline uint32_t
gantry_submit_one_by_mmo(struct gantry_queue *q, const struct gantry_desc *desc)
{
	struct gantry_stream *s = &q->stream;

	if (unlikely(gantry_run(q, s, desc, 1, true, true) == 0))
		return gantry_submit_by_mmo(q, desc, 1);
	atomic_store_explicit(&s->head, s->issue, memory_order_relaxed);
	return 1;
}

/* The code of gantry_submit() between gantry_enter() and gantry_leave(). */
static __rte_always_inline uint32_t
gantry_submit_inside(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n)
{
	const struct gantry_stream *s = &q->stream;

	if (!gantry_submit_is_usual(q))
		return gantry_submit_any(q, desc, n);
	n = RTE_MIN(n, s->mask + 1 - gantry_stream_in_flight(s));
	return n == 1 ? gantry_submit_one_by_mmo(q, desc) : gantry_submit_by_mmo(q, desc, n);
}

#endif
