/* SPDX-License-Identifier: BSD-3-Clause */
/* The responder of UD: a network header and the payload into a receive. Nobody hears of a failure. */
#include "grh.h"
#include "move.h"
#include "responder_fail.h"
#include "responder_receive.h"
#include "rq_complete.h"

#define GRH_PRESENT 1

/* Who sent, in the completion: 29:28 which header, 27:24 service level, 23:0 QP number. */
static uint32_t
sender(const struct message *m)
{
	return (m->path.has_grh ? (uint32_t)GRH_PRESENT << 28 : 0) | (uint32_t)m->path.sl << 24 |
	       m->qpn;
}

/* The header and the payload as one list. False: too many pieces. */
static bool
join(struct run *run, uint8_t *header, const struct sg *payload, struct sg *whole)
{
	sg_set(whole, header, GRH_LEN);
	whole->odp = payload->odp;
	for (unsigned int i = 0; i < payload->n; i++)
		if (!sg_push(&run->use, whole, sg_pieces(payload)[i].p, sg_pieces(payload)[i].len))
			return false;
	return true;
}

unsigned int
respond_datagram(struct run *run, const struct message *m, struct answer *answer)
{
	const bool has_imm = m->op->recv == CQE_RESP_SEND_IMM;
	const uint64_t len = GRH_LEN + m->payload->len;
	const struct cqe cqe = {.opcode = (enum wire_cqe_opcode)m->op->recv,
		.solicited = m->solicited,
		.imm = has_imm ? m->imm : 0,
		.byte_cnt = (uint32_t)len,
		.slid = m->path.slid,
		.flags_rqpn = sender(m)};
	uint8_t header[GRH_LEN];
	struct sg to, whole;
	unsigned int result = responder_peek(run, m, len, &to, answer);

	if (result != SYN_OK)
		return result;
	grh_write(header, &m->path, m->payload->len, has_imm);
	if (!join(run, header, m->payload, &whole))
		return SYN_REM_OP;
	switch (key_use_move(&run->use, &to, &whole)) {
	case SG_NO_SRC:
		return SYN_LOC_PROT;
	case SG_NO_DST:
		responder_fail_receive(run, SYN_LOC_PROT);
		return SYN_REM_OP;
	default:
		rq_complete(run, run->responder.qp, &cqe);
		return SYN_OK;
	}
}
