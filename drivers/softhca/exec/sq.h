/* SPDX-License-Identifier: BSD-3-Clause */
/* Visits to send queues. */
#ifndef SOFTHCA_SQ_H
#define SOFTHCA_SQ_H

#include "run.h"

/*
 * Visits the send queue of run->qp. The caller holds the lock of the queue's UAR page. Returns true
 * if the queue asks for another visit.
 */
bool sq_visit(struct run *run);

#endif
