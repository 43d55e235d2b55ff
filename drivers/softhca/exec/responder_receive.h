/* SPDX-License-Identifier: BSD-3-Clause */
/* The receive that a message uses up. */
#ifndef SOFTHCA_RESPONDER_RECEIVE_H
#define SOFTHCA_RESPONDER_RECEIVE_H

#include "message.h"
#include "run.h"

/*
 * The receive of a message of len bytes. Faults on demand have their turn at it. SYN_OK, or as
 * responder_ask(); a QP whose receive is unfit has failed.
 */
unsigned int responder_peek(struct run *run, const struct message *m, uint64_t len, struct sg *sg,
	struct answer *answer);
/* The receive completes as the message's opcode says, with len bytes. */
void responder_complete(struct run *run, const struct message *m, uint64_t len);
/* The receive and its QP fail with a syndrome. Returns the syndrome of the requester, `nak`. */
unsigned int responder_nak_receive(struct run *run, enum wire_syndrome syndrome,
	enum wire_syndrome nak);
/* Uses up a receive for a write whose data, of len bytes, have moved. */
unsigned int responder_end_write(struct run *run, const struct message *m, uint64_t len,
	struct answer *answer);

#endif
