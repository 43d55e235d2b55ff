/* SPDX-License-Identifier: BSD-3-Clause */
/* A QP goes into error from its receive side, by what its peer asked or because its CQ failed. */
#include "rq.h"
#include "uar.h"
#include "visit.h"

#define EVENT_QP_FATAL 1 /* IBV_EVENT_QP_FATAL */

void
qp_fail_receive_side(struct run *run, struct softhca_qp *qp)
{
	bool was_error =
		atomic_exchange_explicit(&qp->state, QP_ERR, memory_order_acq_rel) == QP_ERR;

	rq_flush(run, qp);
	if (!was_error)
		qp_tell_last_wqe(qp);
	if (qp->uar != NULL)
		uar_call_attention(
			qp->uar); /* the lane that holds the page flushes the send queue */
}

void
qp_fatal_receive_side(struct run *run, struct softhca_qp *qp)
{
	qp_fail_receive_side(run, qp);
	run_drop_cq(run);
	softhca_event_qp_async(qp->event, EVENT_QP_FATAL);
}

/* QPs that send are visited with their page, and fail then: sq_visit(). */
static void
fail_with_its_cq(struct run *run, struct softhca_qp *qp)
{
	if (qp->uar != NULL || qp->recv_cq == NULL || !cq_has_failed(qp->recv_cq))
		return;
	spin_lock(&qp->recv);
	if (qp_state(qp) == QP_RTR || qp_state(qp) == QP_RTS)
		qp_fatal_receive_side(run, qp);
	spin_unlock(&qp->recv);
}

bool
qps_fail_with_their_cqs(struct softhca_lanes *lanes)
{
	struct run run;

	if (!atomic_load_explicit(&lanes->cq_failed, memory_order_relaxed) ||
		!atomic_exchange_explicit(&lanes->cq_failed, false, memory_order_acquire))
		return false;
	run_init(&run, lanes);
	for (uint32_t number = 0; number < 1u << 24; number++) {
		struct softhca_qp *qp = table_get(&lanes->qps, number);

		if (qp != NULL)
			fail_with_its_cq(&run, qp);
		else if (table_leaf_is_absent(&lanes->qps, number))
			number |= TABLE_LEAF - 1;
	}
	return true;
}
