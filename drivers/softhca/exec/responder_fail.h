/* SPDX-License-Identifier: BSD-3-Clause */
/* How the held QP of the responder fails. */
#ifndef SOFTHCA_RESPONDER_FAIL_H
#define SOFTHCA_RESPONDER_FAIL_H

#include "run.h"

/*
 * Moves the QP to error, with an event because no receive was used up, and releases it. A DCT is
 * only released: it goes on serving other initiators. Returns `nak`, the requester's syndrome.
 */
unsigned int responder_fail(struct run *run, enum wire_syndrome nak);
/*
 * Completes the receive that rq_peek() showed with a syndrome, fails its QP, and releases the QP. A
 * DCT is only released.
 */
void responder_fail_receive(struct run *run, enum wire_syndrome syndrome);

#endif
