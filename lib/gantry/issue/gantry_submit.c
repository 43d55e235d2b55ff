/* SPDX-License-Identifier: BSD-3-Clause */
/* gantry_submit(). */
#include "gantry_submit.h"

#include "gantry_drain.h"

static __rte_noinline uint16_t
submit(struct gantry_queue *q, const struct gantry_desc *desc, uint16_t n)
{
	gantry_enter(q);
	n = gantry_submit_inside(q, desc, n);
	gantry_leave(q);
	return n;
}

/*
 * gantry_submit() for one plain copy in a usual queue. It calls no function, so a compiler has few registers to save.
 * False: it is for submit().
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

uint16_t
gantry_submit(struct gantry_queue *q, const struct gantry_desc *desc, uint16_t n)
{
	if (n != 1 || unlikely(!submit_copy(q, desc)))
		return submit(q, desc, n);
	return 1;
}
