/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a message from the fields of a record: request.h. */
#include <string.h>

#include "opcode_table.h"
#include "request.h"

#define UD_MAX_MESSAGE 4096

static void
take_path(struct message_path *path, const struct record_request *r)
{
	memcpy(path->dgid, r->dgid, sizeof(path->dgid));
	memcpy(path->dmac, r->dmac, sizeof(path->dmac));
	path->dlid = r->dlid;
	path->slid = r->slid;
	path->sl = r->sl;
	path->has_grh = (r->flags & RECORD_HAS_GRH) != 0;
	path->is_v2 = (r->flags & RECORD_IS_V2) != 0;
	path->sgid = r->sgid;
	path->flow = r->flow;
	path->tclass = r->tclass;
	path->hop_limit = r->hop_limit;
}

void
request_take(struct message *m, const struct record_request *r, const struct sg *payload)
{
	memset(m, 0, sizeof(*m));
	m->op = &opcodes[r->opcode];
	m->type = (enum softhca_qp_type)r->type;
	m->qpn = r->head.qpn;
	m->dest_qpn = r->dest_qpn;
	m->srqn = r->srqn;
	m->qkey = r->qkey;
	m->dc_key = r->dc_key;
	take_path(&m->path, r);
	m->va = r->va;
	m->rkey = r->rkey;
	m->imm = r->imm;
	m->solicited = (r->flags & RECORD_SOLICITED) != 0;
	m->delayed = (r->flags & RECORD_DELAYED) != 0;
	m->again = (r->flags & RECORD_AGAIN) != 0;
	m->swap_add = r->swap_add;
	m->compare = r->compare;
	m->payload = payload;
}

static bool
type_sends(uint16_t type)
{
	return type == SOFTHCA_QP_RC || type == SOFTHCA_QP_UC || type == SOFTHCA_QP_UD ||
	       type == SOFTHCA_QP_XRC_SEND || type == SOFTHCA_QP_DCI;
}

bool
request_is_possible(const struct record_request *r, uint64_t len)
{
	const struct opcode *op = &opcodes[r->opcode];

	if (op->respond == NULL || !type_sends(r->type) ||
		!opcode_runs_on(op, (enum softhca_qp_type)r->type))
		return false;
	if (op->kind == MESSAGE_ATOMIC)
		return r->head.total == 0 && len == 0;
	if (op->kind == MESSAGE_READ)
		return len == 0;
	if (r->type == SOFTHCA_QP_UD && (r->head.total > UD_MAX_MESSAGE || len != r->head.total))
		return false;
	return len <= r->head.total && len <= RECORD_DATA && (len != 0 || r->head.total == 0);
}
