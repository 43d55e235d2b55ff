/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the send queue share: sq.c visits it, and calls the others. UAR held in all. */
#ifndef SOFTHCA_SQ_H
#define SOFTHCA_SQ_H

#include "message.h"
#include "wqe.h"

/* What became of the WQE at the head. */
enum step {
	STEP_NEXT, /* it is done: the next one may run */
	STEP_WAIT, /* it stays, and is tried again in a later visit */
	STEP_STOP  /* the queue does not go on in this visit: an error, or SQD */
};

/* WQEBBs from the head to the doorbell record. */
static inline uint16_t
sq_posted(const struct softhca_qp *qp)
{
	/* Pairs with the program's store of the record, after the WQEs before it were written. */
	uint16_t pi =
		(uint16_t)be32toh(atomic_load_explicit(&qp->dbrec[DB_SEND], memory_order_acquire));

	return (uint16_t)(pi - qp->sq_ci);
}

/* The WQE at the head, of bb WQEBBs, is over: so is what was noted of it. */
static inline void
sq_advance(struct softhca_qp *qp, uint32_t bb)
{
	uint16_t ahead = (uint16_t)(qp->announced - qp->sq_ci);

	qp->sq_ci = (uint16_t)(qp->sq_ci + bb);
	if (ahead < bb)
		qp->announced = qp->sq_ci;
	qp->bad_bf = false;
	qp->mute = false;
	qp->delayed = false;
	qp->wait = WAIT_NONE;
}

/* sq.c: one visit to the send queue of run->qp. True: it wants to be visited again. */
bool sq_visit(struct run *run);

/* sq_step.c: runs the WQE at the head. posted: WQEBBs from it to the doorbell record. */
enum step sq_step(struct run *run, uint16_t posted);
/* sq_watch.c: sq_step(), of an adapter with faults or timing: they may forbid it, or delay it. */
enum step sq_step_watched(struct run *run, uint16_t posted);

/* sq_complete.c: adds the completion of the WQE at the head. */
void sq_complete(struct run *run, const struct wqe *wqe, enum wire_syndrome syn);
/*
 * sq_complete.c: the WQE at the head completes with an error, and the QP fails with it. Returns true
 * where the queue goes on: only one stream of a DCI failed.
 */
bool sq_fail(struct run *run, const struct wqe *wqe, enum wire_syndrome syn);
/* sq_complete.c: the QP fails without a completion that tells: its queue or its CQ is unusable. */
void sq_fatal(struct run *run);
/*
 * sq_complete.c: takes the QP's own receive side, which guards its state. The responder's is let go
 * first, as only one may be held; so is a CQ, which is locked after it.
 */
void sq_lock_state(struct run *run);
/* sq_complete.c: completes everything posted as flushed. */
void sq_flush(struct run *run);
/* sq_complete.c: the queue stops behind the last WQE that ran: SQD, and an event tells. */
void sq_stop(struct run *run);

/* sq_wait.c: the head waits for a receive, or for its peer. True: it was tried often enough. */
bool wait_for_receive(struct run *run);
bool wait_for_peer(struct run *run);

/* stream.c: the WQE's stream is in error. */
bool stream_is_failed(const struct softhca_qp *qp, const struct wqe *wqe);
/* stream.c: puts the WQE's stream into error. True: the QP goes on with other streams. */
bool stream_fail(struct softhca_qp *qp, const struct wqe *wqe);

#endif
