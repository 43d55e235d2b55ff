/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The locks of the responder: one receive side, then perhaps an SRQ. responder_release() releases
 * both locks.
 */
#ifndef SOFTHCA_RESPONDER_HOLD_H
#define SOFTHCA_RESPONDER_HOLD_H

#include "run.h"

/*
 * Releases the receive side that the visit holds, and locks the receive side of qp. If qp is NULL,
 * only releases.
 */
void responder_hold(struct run *run, struct softhca_qp *qp);

/*
 * Locks the SRQ run->responder.from. If the visit holds a CQ, releases the CQ first, because an SRQ
 * must be locked before a CQ.
 */
static inline void
responder_hold_srq(struct run *run)
{
	struct responder *r = &run->responder;

	if (r->srq == r->from)
		return;
	run_drop_cq(run);
	if (r->srq != NULL)
		spin_unlock(&r->srq->lock);
	spin_lock(&r->from->lock);
	r->srq = r->from;
}

#endif
