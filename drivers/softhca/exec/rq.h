/* SPDX-License-Identifier: BSD-3-Clause */
/* The receive side of a QP. The caller holds qp->recv, unless a call says otherwise. */
#ifndef SOFTHCA_RQ_H
#define SOFTHCA_RQ_H

#include "run.h"
#include "sg.h"

/* Holds run->responder.from. A CQ that is held is let go first: an SRQ is locked before a CQ. */
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

/* Receives are posted. Needs no lock. */
bool rq_has_work(const struct softhca_qp *qp);
/* A receive is posted. If the record counts more of them than the queue holds, the QP fails. */
bool rq_is_ready(struct run *run, struct softhca_qp *qp);
/*
 * The memory of the oldest receive, as far as `need` bytes: of run->responder.from, which is held
 * from now on, or of the QP's own queue. SYN_RNR: there is none; SYN_LOC_PROT: it may not be written;
 * SYN_LOC_LEN: it is too small. The receive stays.
 */
enum wire_syndrome rq_peek(struct run *run, struct softhca_qp *qp, uint64_t need, struct sg *sg);
/* Uses up the receive that rq_peek() showed, and completes it. The QP, index and time are filled in. */
void rq_complete(struct run *run, struct softhca_qp *qp, const struct cqe *cqe);
/* Completes everything posted to the QP's own queue as flushed. */
void rq_flush(struct run *run, struct softhca_qp *qp);

/* qp_fail.c: puts the QP into error. Flushes its receive queue; its lane will flush its send queue. */
void qp_fail_receive_side(struct run *run, struct softhca_qp *qp);
/* qp_fail.c: qp_fail_receive_side(), told by an event: the queue or its CQ cannot be used any more. */
void qp_fatal_receive_side(struct run *run, struct softhca_qp *qp);

#endif
