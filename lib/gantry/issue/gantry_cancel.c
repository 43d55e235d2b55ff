/* SPDX-License-Identifier: BSD-3-Clause */
/* Cancels descriptors that still wait in software: gantry_cancel(). */
#include "gantry_queue.h"

/* How many descriptors of a stream that wait and have this cookie are cancelled by this call. */
static uint32_t
cancel_in(struct gantry_stream *s, uint64_t cookie)
{
	uint64_t head = gantry_counter_get(&s->head), seq;
	uint32_t n = 0;

	/* One that is issued in part is no longer software's alone. */
	for (seq = s->issue + s->splitting; seq != head; seq++) {
		uint32_t slot = seq & s->mask;

		if (s->pend[slot].cookie != cookie || s->where[slot] == GANTRY_WHERE_CANCELLED)
			continue;
		s->where[slot] = GANTRY_WHERE_CANCELLED;
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
