/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completions of a send queue, and how the queue ends. The caller holds the lock of the queue's UAR
 * page.
 */
#ifndef SOFTHCA_SQ_COMPLETE_H
#define SOFTHCA_SQ_COMPLETE_H

#include "run.h"
#include "wqe.h"

/* Adds the completion of the WQE at the head to the CQ. */
void sq_complete(struct run *run, const struct wqe *wqe, enum wire_syndrome syn);
/*
 * Completes the WQE at the head with an error, and fails the QP. Returns true if only one stream of
 * a DCI has failed: then the queue continues.
 */
bool sq_fail(struct run *run, const struct wqe *wqe, enum wire_syndrome syn);
/* Fails the QP without a completion, because its queue or its CQ is unusable. */
void sq_fatal(struct run *run);
/*
 * Locks the QP's own receive side, which protects the QP's state. Before this, releases the receive
 * side of the responder, because only one receive side may be held. Also releases the CQ, because a
 * CQ must be locked after a receive side.
 */
void sq_lock_state(struct run *run);
/* Completes all posted WQEs as flushed. */
void sq_flush(struct run *run);
/* Stops the queue after the last WQE that ran: moves the QP to SQD and sends an event. */
void sq_stop(struct run *run);

#endif
