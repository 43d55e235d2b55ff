/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finishes completions that are not plain: failures, and completions whose slots hold a cell or
 * another object.
 */
#include "gantry_finish.h"

#include "gantry_engine.h"

/*
 * Returns true if the descriptor broke a rule. The hardware has not seen such a descriptor, so its
 * status is the only report of the error.
 */
static bool
is_refused(enum gantry_status status)
{
	static_assert(GANTRY_BAD_PEER + 1 == GANTRY_SIG_ERROR,
		"the statuses of refusals are those between");
	return status > GANTRY_OK && status <= GANTRY_BAD_PEER;
}

static __rte_cold void
note_refusal(const struct gantry_queue *q, const struct gantry_comp *comp)
{
	const struct gantry_failure e = {
		.queue = q->id,
		.conn = GANTRY_FAILURE_NO_CONN,
		.status = comp->status,
		.op = comp->op,
		.cookie = comp->cookie,
	};

	gantry_failures_note(&q->g->failures, &e);
}

__rte_cold void
gantry_finish(struct gantry_queue *q, struct gantry_comp *comp)
{
	if ((comp->zero & GANTRY_FINISH_ATOMIC) != 0 && comp->status == GANTRY_OK) {
		gantry_finish_atomic(q, comp);
	} else if ((comp->zero & GANTRY_FINISH_ATOMIC) != 0) {
		/*
		 * The cell of a failed atomic is not read. It holds the result of an earlier
		 * atomic, and a lost device may be writing it.
		 */
		gantry_cell_put(&q->cells, (const uint64_t *)(uintptr_t)comp->result);
		comp->result = 0;
	}
	/*
	 * The status is not GANTRY_NOT_REGISTERED, because that status means that no byte was
	 * moved.
	 */
	if ((comp->zero & GANTRY_FINISH_MEMORY_GONE) != 0 && comp->status == GANTRY_OK)
		comp->status = GANTRY_LOCAL_ERROR;
	comp->zero = 0;
	if (comp->status == GANTRY_OK) {
		gantry_counter_add(&q->stats.bytes, comp->len);
		return;
	}
	gantry_counter_add(&q->rare.by_status[comp->status], 1);
	if (is_refused(comp->status))
		note_refusal(q, comp);
}
