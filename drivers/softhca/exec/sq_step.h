/* SPDX-License-Identifier: BSD-3-Clause */
/* One step of a send queue: the WQE at its head. UAR held. */
#ifndef SOFTHCA_SQ_STEP_H
#define SOFTHCA_SQ_STEP_H

#include "opcode_table.h"
#include "wqe.h"

/* What became of the WQE at the head. */
enum step {
	STEP_NEXT, /* it is done: the next one may run */
	STEP_WAIT, /* it stays, and is tried again in a later visit */
	STEP_STOP  /* the queue does not go on in this visit: an error, or SQD */
};

/* The WQE at the head, with the row of its opcode. */
static inline struct wqe
sq_fetch(const struct softhca_qp *qp)
{
	return wqe_fetch(qp, opcode_find(wqe_opcode(qp)));
}

/* Runs the WQE at the head. posted: WQEBBs from it to the doorbell record. */
enum step sq_step(struct run *run, uint16_t posted);
/* sq_step() of an adapter that reorders: its bytes may move later, and its completion may come later. */
enum step sq_step_reordered(struct run *run, uint16_t posted);

#endif
