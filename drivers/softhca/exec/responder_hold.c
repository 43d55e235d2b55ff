/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes and releases the receive side of a QP for the responder. */
#include "responder_hold.h"

#include "carried.h"

void
responder_release(struct run *run)
{
	struct responder *r = &run->responder;

	if (run->carried.from != NULL)
		carried_flush(run);
	if (r->srq != NULL)
		spin_unlock(&r->srq->lock);
	if (r->qp != NULL)
		spin_unlock(&r->qp->recv);
	*r = (struct responder){.qp = NULL};
}

void
responder_hold(struct run *run, struct softhca_qp *qp)
{
	struct responder *r = &run->responder;

	if (r->qp == qp)
		return;
	run_drop_cq(run);
	responder_release(run);
	if (qp == NULL)
		return;
	spin_lock(&qp->recv);
	r->qp = qp;
	run->use.peer_qpn = qp->number;
}
