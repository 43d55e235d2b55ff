/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The head of a send queue: how many WQEs are posted from the head on, and how the head moves to
 * the next WQE. The caller holds the lock of the queue's UAR page.
 */
#ifndef SOFTHCA_SQ_HEAD_H
#define SOFTHCA_SQ_HEAD_H

#include "run.h"

/* The number of WQEBBs from the head to the counter in the doorbell record. */
static inline uint16_t
sq_posted(const struct softhca_qp *qp)
{
	/*
	 * Pairs with the program's store of the doorbell record. The program stores its WQEs before
	 * the record.
	 */
	uint16_t pi = (uint16_t)be32toh(atomic_load_explicit(qp->send_rec, memory_order_acquire));

	return (uint16_t)(pi - qp->sq_ci);
}

/* Moves the head past a WQE of bb WQEBBs, and clears the QP's flags about this WQE. */
static inline void
sq_advance(struct softhca_qp *qp, uint32_t bb)
{
	qp->sq_ci = (uint16_t)(qp->sq_ci + bb);
	qp->mute = false;
	qp->delayed = false;
	qp->wait = WAIT_NONE;
}

#endif
