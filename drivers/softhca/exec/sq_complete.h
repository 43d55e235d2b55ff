/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions of a send queue, and how it ends. UAR held. */
#ifndef SOFTHCA_SQ_COMPLETE_H
#define SOFTHCA_SQ_COMPLETE_H

#include "run.h"
#include "wqe.h"

/* Adds the completion of the WQE at the head. */
void sq_complete(struct run *run, const struct wqe *wqe, enum wire_syndrome syn);
/*
 * The WQE at the head completes with an error, and the QP fails with it. Returns true where the
 * queue goes on: only one stream of a DCI failed.
 */
bool sq_fail(struct run *run, const struct wqe *wqe, enum wire_syndrome syn);
/* The QP fails without a completion that tells: its queue or its CQ is unusable. */
void sq_fatal(struct run *run);
/*
 * Takes the QP's own receive side, which guards its state. The responder's is let go first, as only
 * one may be held; so is a CQ, which is locked after it.
 */
void sq_lock_state(struct run *run);
/* Completes everything posted as flushed. */
void sq_flush(struct run *run);
/* The queue stops behind the last WQE that ran: SQD, and an event tells. */
void sq_stop(struct run *run);

#endif
