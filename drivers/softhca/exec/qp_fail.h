/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves a QP to error from its receive side. The caller holds the receive side. */
#ifndef SOFTHCA_QP_FAIL_H
#define SOFTHCA_QP_FAIL_H

#include "run.h"

/*
 * Moves the QP to error and flushes its receive queue. The QP's send queue is flushed later, by the
 * next lane that handles the QP's UAR page.
 */
void qp_fail_receive_side(struct run *run, struct softhca_qp *qp);
/* As qp_fail_receive_side(), with an event: the queue or its CQ is unusable. */
void qp_fatal_receive_side(struct run *run, struct softhca_qp *qp);

#endif
