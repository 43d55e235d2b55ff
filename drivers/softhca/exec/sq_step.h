/* SPDX-License-Identifier: BSD-3-Clause */
/* One step of a send queue: the WQE at its head. UAR held. */
#ifndef SOFTHCA_SQ_STEP_H
#define SOFTHCA_SQ_STEP_H

#include "wqe.h"

/* What became of the WQE at the head. */
enum step {
	STEP_NEXT, /* it is done: the next one may run */
	STEP_WAIT, /* it stays, and is tried again in a later visit */
	STEP_STOP, /* the queue does not go on in this visit: an error, or SQD */
	STEP_MORE  /* of several steps: it is the turn of other queues */
};

typedef enum step step_fn(struct run *run, uint16_t posted);

#define VISIT_MAX 256 /* WQEs of one visit: the other queues of the lane wait as long */

/* Runs the WQE at the head. posted: WQEBBs from it to the doorbell record. */
step_fn sq_step;
/*
 * sq_step() of an adapter that reorders: its bytes may move later, and its completion may come
 * later.
 */
step_fn sq_step_reordered;
/*
 * Runs the WQEs that begin in the first `limit` of the posted WQEBBs. STEP_NEXT: they have run;
 * else what became of the WQE at the head.
 */
enum step sq_steps(struct run *run, uint16_t posted, uint16_t limit);

/* sq_steps() by another step. */
static inline __attribute__((always_inline)) enum step
sq_steps_by(struct run *run, uint16_t posted, uint16_t limit, step_fn *one)
{
	const struct softhca_qp *qp = run->qp;
	const uint16_t end = (uint16_t)(qp->sq_ci + posted);
	const uint16_t beyond = (uint16_t)(posted - limit);

	for (unsigned int n = 0; posted > beyond; n++) {
		enum step step;

		if (n == VISIT_MAX)
			return STEP_MORE;
		/* A request from the peer may have put the QP into error meanwhile. */
		if (qp_state(qp) != QP_RTS)
			return STEP_STOP;
		step = one(run, posted);
		if (step != STEP_NEXT)
			return step;
		posted = (uint16_t)(end - qp->sq_ci);
	}
	return STEP_NEXT;
}

#endif
