/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fails the QP that the responder holds, and releases the QP.
 *
 * A DCT has one connection for each initiator. A refused request ends only the connection of its
 * initiator. rdma-core's test_mlx5_dc.py requires this: after refused writes, the target still
 * receives SENDs. Confirmed: dct-no-event.
 */
#include "responder_fail.h"

#include "failure.h"
#include "message.h"
#include "qp_fail.h"
#include "rq_complete.h"

#define EVENT_QP_REQ_ERR    2 /* IBV_EVENT_QP_REQ_ERR */
#define EVENT_QP_ACCESS_ERR 3 /* IBV_EVENT_QP_ACCESS_ERR */

void
responder_fail_receive(struct run *run, enum wire_syndrome syndrome)
{
	struct softhca_qp *qp = run->responder.qp;
	const struct failure failure = {.qp = qp,
		.why = run->use.vendor,
		.syndrome = syndrome,
		.receives = true};
	const struct cqe failed = {.opcode = CQE_RESP_ERR,
		.syndrome = syndrome,
		.vendor = failure_vendor(&failure)};

	/* a fault hides completions of success, but no completions of failure */
	run->responder.mute = false;
	rq_complete(run, qp, &failed);
	if (qp->type != SOFTHCA_QP_DCT)
		qp_fail_receive_side(run, qp);
	run_drop_cq(run);
	responder_release(run);
}

unsigned int
responder_fail(struct run *run, enum wire_syndrome nak)
{
	struct softhca_qp *qp = run->responder.qp;

	if (qp->type != SOFTHCA_QP_DCT)
		qp_fail_receive_side(run, qp);
	run_drop_cq(run);
	if (qp->type != SOFTHCA_QP_DCT)
		softhca_event_qp_async(qp->event,
			nak == SYN_REM_ACCESS ? EVENT_QP_ACCESS_ERR : EVENT_QP_REQ_ERR);
	responder_release(run);
	return nak;
}
