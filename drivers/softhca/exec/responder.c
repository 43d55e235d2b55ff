/* SPDX-License-Identifier: BSD-3-Clause */
/* The responder: takes a message, has its opcode answer it, and fails the QP that must not go on. */
#include "responder.h"

#define EVENT_QP_REQ_ERR    2 /* IBV_EVENT_QP_REQ_ERR */
#define EVENT_QP_ACCESS_ERR 3 /* IBV_EVENT_QP_ACCESS_ERR */

static unsigned int __attribute__((cold, noinline))
responder_refuses(const struct run *run, unsigned int result, struct answer *answer)
{
	answer->vendor = run->use.vendor;
	if (result == MESSAGE_RNR)
		answer->rnr_timer = run->responder.qp->attr.min_rnr_timer;
	return result;
}

unsigned int
responder_ask(struct run *run, const struct message *m, struct answer *answer)
{
	unsigned int result = SYN_OK;

	if (run->responder.client != m->qpn)
		result = responder_find(run, m);
	if (result == SYN_OK)
		result = m->op->respond(run, m, answer);
	if (__builtin_expect(result == SYN_OK, 1))
		return SYN_OK;
	return responder_refuses(run, result, answer);
}

void
responder_release(struct run *run)
{
	struct responder *r = &run->responder;

	if (r->srq != NULL)
		spin_unlock(&r->srq->lock);
	if (r->qp != NULL)
		spin_unlock(&r->qp->recv);
	*r = (struct responder){.qp = NULL};
}

void
responder_fail_receive(struct run *run, enum wire_syndrome syndrome)
{
	struct softhca_qp *qp = run->responder.qp;
	const struct cqe failed = {.opcode = CQE_RESP_ERR,
		.syndrome = syndrome,
		.vendor = run->use.vendor};

	run->responder.mute = false; /* a fault that hides completions does not hide failures */
	rq_complete(run, qp, &failed);
	qp_fail_receive_side(run, qp);
	run_drop_cq(run);
	responder_release(run);
}

unsigned int
responder_fail(struct run *run, enum wire_syndrome nak)
{
	struct softhca_qp *qp = run->responder.qp;

	qp_fail_receive_side(run, qp);
	run_drop_cq(run);
	softhca_event_qp_async(qp->event,
		nak == SYN_REM_ACCESS ? EVENT_QP_ACCESS_ERR : EVENT_QP_REQ_ERR);
	responder_release(run);
	return nak;
}
