/* SPDX-License-Identifier: BSD-3-Clause */
/* How the QP that the responder holds fails. */
#ifndef SOFTHCA_RESPONDER_FAIL_H
#define SOFTHCA_RESPONDER_FAIL_H

#include "run.h"

/*
 * Moves the QP to error and sends an event, because no completion of a receive reports the error.
 * Then releases the QP. A DCT is only released: it continues to serve other initiators. Returns
 * `nak`, the requester's syndrome.
 */
unsigned int responder_fail(struct run *run, enum wire_syndrome nak);
/*
 * Completes the receive that rq_peek() found with a syndrome, moves the QP to error, and releases
 * the QP. A DCT does not fail: its receive completes, and it is released.
 */
void responder_fail_receive(struct run *run, enum wire_syndrome syndrome);

#endif
