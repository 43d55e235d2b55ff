/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One step of a send queue: runs the WQE at the head. The caller holds the lock of the queue's UAR
 * page.
 */
#ifndef SOFTHCA_SQ_STEP_H
#define SOFTHCA_SQ_STEP_H

#include "wqe.h"

/* The result of a step for the WQE at the head. */
enum step {
	STEP_NEXT, /* the WQE is done; the next WQE may run */
	STEP_WAIT, /* the WQE stays at the head and is tried again in a later visit */
	STEP_STOP, /* the queue stops for this visit because of an error or SQD */
	STEP_MORE  /* only from sq_steps(): more WQEs may run, but other queues run first */
};

typedef enum step step_fn(struct run *run, uint16_t posted);

/* maximum of WQEs that run in one visit; the lane's other queues wait meanwhile */
#define VISIT_MAX 256

/*
 * Runs the WQE at the head. posted: the number of WQEBBs from the head to the counter in the
 * doorbell record.
 */
step_fn sq_step;
/*
 * As sq_step(), with the setting `reorder`: bytes may move, and the completion may be made, later.
 */
step_fn sq_step_reordered;
/*
 * Runs the WQEs that begin in the first `limit` posted WQEBBs. Returns STEP_NEXT if all of them
 * have run, otherwise the result for the WQE at the head.
 */
enum step sq_steps(struct run *run, uint16_t posted, uint16_t limit);

/* As sq_steps(), with the function `one` for each step. */
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
		/* A peer's request may have moved the QP to error meanwhile. */
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
