/* SPDX-License-Identifier: BSD-3-Clause */
/* Completing receive WQEs. The caller holds qp->recv, unless a call says otherwise. */
#ifndef SOFTHCA_RQ_COMPLETE_H
#define SOFTHCA_RQ_COMPLETE_H

#include "run.h"

/* WQEs from the head of the QP's own receive queue to the doorbell record. Needs no lock. */
static inline uint16_t
rq_posted(const struct softhca_qp *qp)
{
	/* Pairs with the program's store of the record, after the WQEs before it were written. */
	uint16_t pi =
		(uint16_t)be32toh(atomic_load_explicit(&qp->dbrec[DB_RECV], memory_order_acquire));

	return (uint16_t)(pi - atomic_load_explicit(&qp->rq_ci, memory_order_relaxed));
}

/*
 * Uses up the receive that rq_peek() showed, and completes it. The QP, index and time are filled
 * in.
 */
void rq_complete(struct run *run, struct softhca_qp *qp, const struct cqe *cqe);
/* Completes everything posted to the QP's own queue as flushed. */
void rq_flush(struct run *run, struct softhca_qp *qp);

#endif
