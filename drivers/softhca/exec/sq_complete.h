/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions of a send queue, and its ends. The caller holds the UAR. */
#ifndef SOFTHCA_SQ_COMPLETE_H
#define SOFTHCA_SQ_COMPLETE_H

#include "run.h"
#include "wqe.h"

/* Adds the completion of the WQE at the head. */
void sq_complete(struct run *run, const struct wqe *wqe, enum wire_syndrome syn);
/*
 * Completes the WQE at the head with an error, and fails the QP. True: only one stream of a DCI has
 * failed, and the queue continues.
 */
bool sq_fail(struct run *run, const struct wqe *wqe, enum wire_syndrome syn);
/* Fails the QP without a completion: its queue or its CQ is unusable. */
void sq_fatal(struct run *run);
/*
 * Takes the QP's own receive side, which protects the QP's state. Releases the responder's receive
 * side first, because only one may be held, and a CQ, because CQs are locked later.
 */
void sq_lock_state(struct run *run);
/* Completes all posted WQEs as flushed. */
void sq_flush(struct run *run);
/* Stops the queue after the last WQE that ran: state SQD, with an event. */
void sq_stop(struct run *run);

#endif
