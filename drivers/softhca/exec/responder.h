/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the responder share. message.h is what the requester sees of them. */
#ifndef SOFTHCA_RESPONDER_H
#define SOFTHCA_RESPONDER_H

#include "gather.h"
#include "message.h"
#include "move.h"
#include "rq.h"

static inline bool
message_is_unreliable(const struct message *m)
{
	return m->type == SOFTHCA_QP_UC || m->type == SOFTHCA_QP_UD;
}

/*
 * responder_find.c: holds the QP that a message is for, in run->responder. SYN_OK; MESSAGE_NO_PEER:
 * absent, or not ready; or the requester's syndrome where the QP refuses the message.
 */
unsigned int responder_find(struct run *run, const struct message *m);
/* The PD of keys that the message names: of an XRC SRQ, or of the QP. */
static inline uint32_t
responder_pdn(const struct run *run)
{
	const struct responder *r = &run->responder;

	return r->qp->type == SOFTHCA_QP_XRC_RECV ? r->from->pdn : r->qp->pdn;
}

/*
 * responder.c: the QP goes into error, and is let go. No receive was used up, so an event tells.
 * Returns the syndrome of the requester, `nak`.
 */
unsigned int responder_fail(struct run *run, enum wire_syndrome nak);
/* responder.c: the receive that rq_peek() showed completes with a syndrome, and its QP fails. */
void responder_fail_receive(struct run *run, enum wire_syndrome syndrome);

/*
 * respond_rdma.c: the message's key does not grant what it asks for; or the QP accepts no requests of
 * this kind, whatever the key says. The QP fails, unless the transport is unreliable. Returns the
 * requester's syndrome.
 */
unsigned int responder_refuse_memory(struct run *run, const struct message *m);
unsigned int responder_refuse_kind(struct run *run, const struct message *m);

/* The memory that the message names, of len bytes. SYN_OK, or the syndrome of a refusal. */
static inline unsigned int
responder_gather(struct run *run, const struct message *m, uint64_t len, struct sg *out)
{
	struct softhca_qp *qp = run->responder.qp;
	const uint32_t access = m->op->remote_access;

	sg_clear(out);
	if ((qp->attr.access & access) == 0)
		return responder_refuse_kind(run, m);
	/* Without data, the key is not looked at. */
	if (len == 0 || key_gather(&run->use, qp->dev->lanes, m->rkey, responder_pdn(run), access,
				m->va, len, out))
		return SYN_OK;
	return responder_refuse_memory(run, m);
}

/* respond_rdma.c: SYN_OK: the QP promised resources for reads and atomics. */
unsigned int responder_may_read(struct run *run);

/*
 * respond_send.c: the receive of a message of len bytes. Faults on demand have their turn at it.
 * SYN_OK, or as responder_ask(); a QP whose receive is unfit has failed.
 */
unsigned int responder_peek(struct run *run, const struct message *m, uint64_t len, struct sg *sg,
	struct answer *answer);
/* respond_send.c: uses up a receive for a write whose data, of len bytes, have moved. */
unsigned int responder_end_write(struct run *run, const struct message *m, uint64_t len,
	struct answer *answer);
/* respond_ud.c: a SEND over UD. */
respond_fn respond_datagram;

#endif
