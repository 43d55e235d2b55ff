/* SPDX-License-Identifier: BSD-3-Clause */
/* Visits queue pairs: those of a UAR page, and those that have no page and whose CQ has failed. */
#include "visit.h"

#include "qp_fail.h"
#include "rq_complete.h"
#include "run_init.h"
#include "sq.h"
#include "sq_head.h"
#include "uar.h"

/*
 * True if the queue needs a visit. This does not cover a change of the QP's state or the failure of
 * a CQ: after such an event, all queues of the page are visited.
 */
static inline bool
qp_calls(const struct softhca_qp *qp)
{
	return sq_posted(qp) != 0 || qp->again || qp->rang;
}

unsigned int
qps_visit(struct softhca_uar *uar, bool all, bool *again)
{
	struct run run;

	run_init(&run, uar->dev->lanes);
	for (unsigned int i = 0; i < uar->n_qps; i++) {
		struct softhca_qp *qp = uar->qps[i];

		if (!all && !qp_calls(qp))
			continue;
		run.qp = qp;
		qp->again = sq_visit(&run);
		qp->rang = false;
		*again |= qp->again;
	}
	return run.work;
}

/*
 * Visits a QP that does not send. QPs that send are visited with their page, in sq_visit().
 * Assumed: cq-full-dct.
 */
static void
visit_pageless(struct run *run, struct softhca_qp *qp)
{
	const bool failed = qp->recv_cq != NULL && cq_has_failed(qp->recv_cq);

	spin_lock(&qp->recv);
	if (failed && (qp_state(qp) == QP_RTR || qp_state(qp) == QP_RTS))
		qp_fatal_receive_side(run, qp);
	if (qp_state(qp) == QP_ERR)
		rq_flush(run, qp);
	run_drop_cq(run);
	spin_unlock(&qp->recv);
}

bool
qps_visit_pageless(struct softhca_lanes *lanes)
{
	struct run run;

	if (!atomic_load_explicit(&lanes->pageless, memory_order_relaxed) ||
		!atomic_exchange_explicit(&lanes->pageless, false, memory_order_acquire))
		return false;
	run_init(&run, lanes);
	for (uint32_t number = 0; number < 1u << 24; number++) {
		struct softhca_qp *qp = table_get(&lanes->qps, number);

		if (qp != NULL && qp->uar == NULL)
			visit_pageless(&run, qp);
		else if (table_leaf_is_absent(&lanes->qps, number))
			number |= TABLE_LEAF - 1;
	}
	return true;
}
