/* SPDX-License-Identifier: BSD-3-Clause */
/* What the executors of opcodes share: making a message of a WQE, and sending it. */
#ifndef SOFTHCA_REQUESTER_H
#define SOFTHCA_REQUESTER_H

#include "carried.h"
#include "message.h"
#include "move.h"
#include "wqe.h"

/* address.c: who the WQE's address names, of transports that name somebody in each WQE. */
void message_address(const struct run *run, const struct wqe *wqe, struct message *m);

/* A message of the WQE's operation, without memory of the responder, operands and payload. */
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

/* The responder's memory, as the WQE's remote address segment names it. */
static inline void
message_memory(struct message *m, const struct run *run, const struct wqe *wqe)
{
	const uint8_t *raddr = wqe_seg(run, wqe, wqe->first);

	m->va = get_be64(raddr + RADDR_VA);
	m->rkey = get_be32(raddr + RADDR_RKEY);
}

/* sq_wait.c: keeps what the send queue needs of an answer that is no success. */
void requester_take_answer(struct run *run, unsigned int result, const struct answer *answer);

/* Sends a message with its payload, NULL of an atomic: the result is the executor's. */
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

/* A field of the WQE forbids it: the syndrome, with its vendor syndrome noted. */
static inline unsigned int
requester_refuse(struct run *run, enum wire_vendor why, enum wire_syndrome syndrome)
{
	run->use.vendor = why;
	return syndrome;
}

#endif
