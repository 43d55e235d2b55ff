/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that a message accesses at the responder, and the checks of this access. */
#ifndef SOFTHCA_RESPONDER_MEMORY_H
#define SOFTHCA_RESPONDER_MEMORY_H

#include "gather.h"
#include "message.h"
#include "run.h"

/* The PD that the message's keys must have: the PD of the XRC SRQ, or of the QP. */
static inline uint32_t
responder_pdn(const struct run *run)
{
	const struct responder *r = &run->responder;

	return r->qp->type == SOFTHCA_QP_XRC_RECV ? r->from->pdn : r->qp->pdn;
}

/*
 * Refuse a message: responder_refuse_memory() because its key does not grant the access,
 * responder_refuse_kind() because the QP accepts no requests of its kind. The QP fails, unless the
 * transport is unreliable or the QP is a DCT. Return the requester's syndrome.
 */
unsigned int responder_refuse_memory(struct run *run, const struct message *m);
unsigned int responder_refuse_kind(struct run *run, const struct message *m);

/*
 * Returns the message's memory of len bytes if it lies in the region that was found last. If it
 * returns NULL, call responder_gather().
 */
static inline void *
responder_seen(const struct run *run, const struct message *m, uint64_t len)
{
	const uint32_t access = m->op->remote_access;

	if (m->payload->n != 1 || m->payload->rare != 0 || run->use.after != NULL ||
		(run->responder.qp->attr.access & access) == 0)
		return NULL;
	return key_seen_memory(&run->responder.memory, m->rkey, responder_pdn(run), access, m->va,
		len);
}

/*
 * Finds the message's memory of len bytes. Returns SYN_OK, or the syndrome with which the message
 * is refused.
 */
static inline unsigned int
responder_gather(struct run *run, const struct message *m, uint64_t len, struct sg *out)
{
	struct softhca_qp *qp = run->responder.qp;
	const uint32_t access = m->op->remote_access;

	sg_clear(out);
	if ((qp->attr.access & access) == 0)
		return responder_refuse_kind(run, m);
	/* Without data, the key is not checked. */
	if (len == 0 || key_gather(&run->use, &run->responder.memory, qp->dev->lanes, m->rkey,
				responder_pdn(run), access, m->va, len, out))
		return SYN_OK;
	return responder_refuse_memory(run, m);
}

#endif
