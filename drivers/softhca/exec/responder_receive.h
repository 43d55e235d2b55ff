/* SPDX-License-Identifier: BSD-3-Clause */
/* The receive that a message uses. */
#ifndef SOFTHCA_RESPONDER_RECEIVE_H
#define SOFTHCA_RESPONDER_RECEIVE_H

#include "message.h"
#include "run.h"

/*
 * Finds the receive for a message of len bytes, and applies faults on demand to it. SYN_OK, or as
 * responder_ask(). If the receive is unfit, its QP has failed.
 */
unsigned int responder_peek(struct run *run, const struct message *m, uint64_t len, struct sg *sg,
	struct answer *answer);
/* Completes the receive with len bytes, as the message's opcode says. */
void responder_complete(struct run *run, const struct message *m, uint64_t len);
/* Fails the receive and its QP with a syndrome. Returns `nak`, the requester's syndrome. */
unsigned int responder_nak_receive(struct run *run, enum wire_syndrome syndrome,
	enum wire_syndrome nak);
/* Uses up a receive for a write whose len bytes have moved. */
unsigned int responder_end_write(struct run *run, const struct message *m, uint64_t len,
	struct answer *answer);

#endif
