/* SPDX-License-Identifier: BSD-3-Clause */
/* How the QP that the responder holds fails. */
#ifndef SOFTHCA_RESPONDER_FAIL_H
#define SOFTHCA_RESPONDER_FAIL_H

#include "run.h"

/*
 * The QP goes into error, and is let go. No receive was used up, so an event tells. A DCT is only
 * let go: it serves other initiators on. Returns the syndrome of the requester, `nak`.
 */
unsigned int responder_fail(struct run *run, enum wire_syndrome nak);
/*
 * The receive that rq_peek() showed completes with a syndrome, and its QP fails and is let go. A
 * DCT is only let go.
 */
void responder_fail_receive(struct run *run, enum wire_syndrome syndrome);

#endif
