/* SPDX-License-Identifier: BSD-3-Clause */
/* The head of a send queue: how much is posted from it, and its move to the next WQE. UAR held. */
#ifndef SOFTHCA_SQ_HEAD_H
#define SOFTHCA_SQ_HEAD_H

#include "run.h"

/* WQEBBs from the head to the last that is posted. */
static inline uint16_t
sq_posted(const struct softhca_qp *qp)
{
	/* Pairs with the program's store of the record, after the WQEs before it were written. */
	uint16_t pi = (uint16_t)be32toh(atomic_load_explicit(qp->send_rec, memory_order_acquire));

	return (uint16_t)(pi - qp->sq_ci);
}

/* The WQE at the head, of bb WQEBBs, is over: so is what was noted of it. */
static inline void
sq_advance(struct softhca_qp *qp, uint32_t bb)
{
	qp->sq_ci = (uint16_t)(qp->sq_ci + bb);
	qp->mute = false;
	qp->delayed = false;
	qp->wait = WAIT_NONE;
}

#endif
