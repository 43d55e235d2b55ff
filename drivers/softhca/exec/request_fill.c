/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a message into the fields of a record: request.h. */
#include <string.h>

#include "qp.h"
#include "request.h"
#include "run.h"
#include "wire_adapter.h"

/* Sets the fields about the path between the ports. */
static void
fill_path(struct record_request *r, const struct softhca_qp *qp, const struct message *m)
{
	const struct message_path *path = &m->path;

	if (qp->dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET)
		r->flags |= RECORD_ETHERNET;
	if (m->type != SOFTHCA_QP_UD && m->type != SOFTHCA_QP_DCI) {
		/* Within a process, RC and UC need no address, also with wire = loop. */
		if (qp->attr.loopback || wire_is_own(m->dest_qpn))
			r->flags |= RECORD_LOOPBACK;
		memcpy(r->dgid, qp->attr.dgid, sizeof(r->dgid));
		r->dlid = qp->attr.dlid;
		return;
	}
	memcpy(r->dgid, path->dgid, sizeof(r->dgid));
	memcpy(r->dmac, path->dmac, sizeof(r->dmac));
	if (path->has_grh) {
		r->flags |= RECORD_HAS_GRH | (path->is_v2 ? RECORD_IS_V2 : 0);
		memcpy(r->sgid, path->sgid, sizeof(r->sgid));
	}
	r->dlid = path->dlid;
	r->slid = path->slid;
	r->sl = path->sl;
	r->tclass = path->tclass;
	r->hop_limit = path->hop_limit;
	r->flow = path->flow;
}

void
request_fill(struct record_request *r, const struct run *run, const struct message *m)
{
	memset(r, 0, sizeof(*r));
	r->dest_qpn = m->dest_qpn;
	r->type = (uint16_t)m->type;
	r->opcode = m->op->number;
	r->imm = m->imm;
	r->flags = (m->solicited ? RECORD_SOLICITED : 0) | (m->delayed ? RECORD_DELAYED : 0) |
		   (m->again ? RECORD_AGAIN : 0);
	if (m->type == SOFTHCA_QP_XRC_SEND)
		r->srqn = m->srqn;
	if (m->type == SOFTHCA_QP_UD)
		r->qkey = m->qkey;
	if (m->type == SOFTHCA_QP_DCI)
		r->dc_key = m->dc_key;
	if (m->op->remote_access != 0) {
		r->va = m->va;
		r->rkey = m->rkey;
	}
	if (m->op->kind == MESSAGE_ATOMIC) {
		r->swap_add = m->swap_add;
		r->compare = m->compare;
	}
	fill_path(r, run->qp, m);
}
