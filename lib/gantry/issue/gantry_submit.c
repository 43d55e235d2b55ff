/* SPDX-License-Identifier: BSD-3-Clause */
/* gantry_submit(), its variants, and gantry_cancel(). */
#include "gantry_submit.h"

#include "gantry_drain.h"

static __rte_noinline unsigned int
submit(struct gantry_queue *q, const struct gantry_desc *desc, unsigned int n)
{
	gantry_enter(q);
	n = gantry_submit_inside(q, desc, n);
	gantry_leave(q);
	return n;
}

/*
 * The path of gantry_submit() for one plain copy in a usual queue. It calls no function, so the
 * compiler has few registers to save. Returns false if the copy needs another path; the caller then
 * calls submit().
 */
static __rte_always_inline bool
submit_copy(struct gantry_queue *q, const struct gantry_desc *desc)
{
	struct gantry_stream *s = &q->stream;

	if (unlikely(gantry_desc_head(desc) != gantry_desc_head_of(GANTRY_OP_COPY, 0)) ||
		unlikely(gantry_region_enter(&q->view)) || !gantry_submit_is_usual(q) ||
		unlikely(s->issue - gantry_counter_get(&s->tail) > s->mask) ||
		unlikely(gantry_run_post_one(q, s, GANTRY_CONN_OWN, desc, GANTRY_RUN_MEMCPY,
				 true) == 0))
		return false;
	atomic_store_explicit(&s->head, s->issue, memory_order_relaxed);
	gantry_region_leave(&q->view, true);
	return true;
}

unsigned int
gantry_submit(struct gantry_queue *q, const struct gantry_desc *desc, unsigned int n)
{
	if (unlikely(n == 0))
		return 0;
	if (n != 1 || unlikely(!submit_copy(q, desc)))
		return submit(q, desc, n);
	return 1;
}

/* ------------------------------------------------------------------ cancelling */

/*
 * Cancels the waiting descriptors of a stream that have this cookie. Returns how many were
 * cancelled.
 */
static uint32_t
cancel_in(struct gantry_stream *s, uint64_t cookie)
{
	uint64_t head = gantry_counter_get(&s->head), seq;
	uint32_t n = 0;

	/*
	 * A descriptor that is issued in part is not cancelled, because the hardware already has
	 * WQEs of it.
	 */
	for (seq = s->issue + s->splitting; seq != head; seq++) {
		uint64_t *where = &s->where[seq & s->mask];

		if (gantry_stream_pend(s, seq)->cookie != cookie ||
			(*where & GANTRY_WHERE_CANCELLED) != 0)
			continue;
		*where |= GANTRY_WHERE_CANCELLED;
		n++;
	}
	s->n_cancelled += n;
	return n;
}

uint32_t
gantry_cancel(struct gantry_queue *q, uint64_t cookie)
{
	struct gantry_stream *s;
	uint32_t n = 0;

	if (!q->unordered)
		return cancel_in(&q->stream, cookie);
	TAILQ_FOREACH(s, &q->any_order.busy, next_busy)
		n += cancel_in(s, cookie);
	return n;
}
