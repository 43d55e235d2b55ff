/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves a QP to error from its receive side: after a peer's request, or after the failure of its
 * CQ.
 */
#include "qp_fail.h"

#include "rq_complete.h"
#include "uar.h"

#define EVENT_QP_FATAL 1 /* IBV_EVENT_QP_FATAL */

void
qp_fail_receive_side(struct run *run, struct softhca_qp *qp)
{
	bool was_error =
		atomic_exchange_explicit(&qp->state, QP_ERR, memory_order_acq_rel) == QP_ERR;

	qp_show_state(qp);
	rq_flush(run, qp);
	if (!was_error)
		qp_tell_last_wqe(qp);
	/* The lane that visits the page next flushes the send queue. */
	if (qp->uar != NULL)
		uar_call_attention(qp->uar);
}

void
qp_fatal_receive_side(struct run *run, struct softhca_qp *qp)
{
	qp_fail_receive_side(run, qp);
	run_drop_cq(run);
	softhca_event_qp_async(qp->event, EVENT_QP_FATAL);
}
