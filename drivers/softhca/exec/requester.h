/* SPDX-License-Identifier: BSD-3-Clause */
/* For the executors of opcodes: makes the message of a WQE, and sends it. */
#ifndef SOFTHCA_REQUESTER_H
#define SOFTHCA_REQUESTER_H

#include "carried.h"
#include "message.h"
#include "move.h"
#include "wqe.h"

/* address.c: reads the address in the WQE, for transports whose WQEs have an address. */
void message_address(const struct run *run, const struct wqe *wqe, struct message *m);

/*
 * Makes the message of the WQE, but leaves out the responder's memory, the operands and the
 * payload.
 */
static inline void
message_init(struct message *m, const struct run *run, const struct wqe *wqe)
{
	const struct softhca_qp *qp = run->qp;

	m->op = wqe->op;
	m->type = qp->type;
	m->qpn = qp->number;
	m->dest_qpn = qp->attr.dest_qpn;
	m->imm = wqe_imm(wqe);
	m->solicited = wqe_solicited(wqe);
	m->delayed = qp->delayed;
	m->again = qp->wait == WAIT_PEER;
	if (qp->type != SOFTHCA_QP_RC)
		message_address(run, wqe, m);
}

/* Takes the address and key of the responder's memory from the WQE's remote address segment. */
static inline void
message_memory(struct message *m, const struct run *run, const struct wqe *wqe)
{
	const uint8_t *raddr = wqe_seg(run, wqe, wqe->first);

	m->va = get_be64(raddr + RADDR_VA);
	m->rkey = get_be32(raddr + RADDR_RKEY);
}

/*
 * sq_wait.c: called if the message was not executed. Stores the values of the answer that the send
 * queue then needs.
 */
void requester_take_answer(struct run *run, unsigned int result, const struct answer *answer);

/*
 * Sends a message with its payload. payload: NULL for an atomic, whose executor stores the result.
 */
static inline unsigned int
requester_ask(struct run *run, struct message *m, const struct sg *payload, struct answer *answer)
{
	unsigned int result;

	m->payload = payload;
	result = responder_ask(run, m, answer);
	if (__builtin_expect(result == SYN_OK, 1))
		carried_note(run, m, payload != NULL ? payload->len : 0);
	else
		requester_take_answer(run, result, answer);
	return result;
}

/*
 * Called if a field of the WQE forbids the operation: notes the failed check and returns the
 * syndrome.
 */
static inline unsigned int
requester_refuse(struct run *run, enum wire_vendor why, enum wire_syndrome syndrome)
{
	run->use.vendor = why;
	return syndrome;
}

#endif
