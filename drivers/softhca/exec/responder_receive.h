/* SPDX-License-Identifier: BSD-3-Clause */
/* The receive that a message uses. */
#ifndef SOFTHCA_RESPONDER_RECEIVE_H
#define SOFTHCA_RESPONDER_RECEIVE_H

#include "message.h"
#include "run.h"

/*
 * Finds the receive for a message of len bytes, and applies faults on demand to it. Returns SYN_OK,
 * or a result of responder_ask(). If the receive is too short or its memory is not writable, the QP
 * has failed.
 */
unsigned int responder_peek(struct run *run, const struct message *m, uint64_t len, struct sg *sg,
	struct answer *answer);
/*
 * Completes the receive: len bytes have arrived. The kind of completion depends on the message's
 * opcode.
 */
void responder_complete(struct run *run, const struct message *m, uint64_t len);
/*
 * Completes the receive with the error `syndrome` and fails its QP. Returns `nak`, the requester's
 * syndrome.
 */
unsigned int responder_nak_receive(struct run *run, enum wire_syndrome syndrome,
	enum wire_syndrome nak);
/*
 * As responder_peek(), for a SEND of several records, without faults on demand. sender, take:
 * rq_claim().
 */
unsigned int responder_claim(struct run *run, uint64_t sender, uint64_t len, bool take,
	struct sg *sg);
/* Applies faults on demand to a receive that responder_claim() has found. */
unsigned int responder_strike(struct run *run, const struct message *m, struct answer *answer);
/* As responder_complete(), for the receive run->responder.claim. */
void responder_complete_claim(struct run *run, const struct message *m, uint64_t len);
/* respond_rdma.c: true if a receive is posted for a write with immediate data. */
bool responder_has_receive(struct run *run);
/* Completes a receive for a write with immediate data. The write's len bytes have already moved. */
unsigned int responder_end_write(struct run *run, const struct message *m, uint64_t len,
	struct answer *answer);

#endif
