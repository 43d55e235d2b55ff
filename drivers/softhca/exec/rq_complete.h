/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completes receive WQEs. The caller of each function holds qp->recv, unless a comment says
 * otherwise.
 */
#ifndef SOFTHCA_RQ_COMPLETE_H
#define SOFTHCA_RQ_COMPLETE_H

#include "run.h"

/*
 * The number of WQEs from the head of the QP's own receive queue to the counter in the doorbell
 * record. The caller needs no lock.
 */
static inline uint16_t
rq_posted(const struct softhca_qp *qp)
{
	/*
	 * Pairs with the program's store of the doorbell record. The program stores its WQEs before
	 * the record.
	 */
	uint16_t pi =
		(uint16_t)be32toh(atomic_load_explicit(&qp->dbrec[DB_RECV], memory_order_acquire));

	return (uint16_t)(pi - atomic_load_explicit(&qp->rq_ci, memory_order_relaxed));
}

/*
 * Uses up the receive that rq_peek() found, and completes it. Sets the QP number, the index and the
 * time of the completion.
 */
void rq_complete(struct run *run, struct softhca_qp *qp, const struct cqe *cqe);
/* Completes the receive run->responder.claim and forgets it: rq_claim.h. */
void rq_complete_claim(struct run *run, struct softhca_qp *qp, struct cqe *cqe);
/*
 * Completes as flushed: all posted WQEs of the QP's own queue, and the receives of an SRQ that long
 * messages have taken for the QP.
 */
void rq_flush(struct run *run, struct softhca_qp *qp);

#endif
