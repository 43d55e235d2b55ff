/* SPDX-License-Identifier: BSD-3-Clause */
/* A QP goes into error from its receive side, which the caller holds. */
#ifndef SOFTHCA_QP_FAIL_H
#define SOFTHCA_QP_FAIL_H

#include "run.h"

/* Puts the QP into error. Flushes its receive queue; its lane will flush its send queue. */
void qp_fail_receive_side(struct run *run, struct softhca_qp *qp);
/* qp_fail_receive_side(), told by an event: the queue or its CQ cannot be used any more. */
void qp_fatal_receive_side(struct run *run, struct softhca_qp *qp);

#endif
