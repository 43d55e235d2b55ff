/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The responder of SEND, SEND with immediate and SEND with invalidate. respond_ud.c is the
 * responder of UD.
 */
#include "move.h"
#include "responder_fail.h"
#include "responder_memory.h"
#include "responder_receive.h"

/*
 * Moves the message into its receive. If the message or the receive is in memory on demand, pages
 * may be missing.
 */
static unsigned int
receive_data(struct run *run, const struct sg *to, const struct sg *from)
{
	enum sg_end end;

	if (from->len > RUN_LONG_COPY)
		run_drop_cq(run);
	end = key_use_move(&run->use, to, from);
	if (end == SG_MOVED)
		return SYN_OK;
	if (end == SG_NO_SRC)
		return SYN_LOC_PROT;
	return responder_nak_receive(run, SYN_LOC_PROT, SYN_REM_OP);
}

/*
 * Invalidates the key in a SEND with invalidate, if the owner of the key has allowed this. If the
 * owner has not allowed it, the SEND fails. The syndromes of such a SEND are not public. Assumed:
 * send-inv-sender, send-inv-receiver.
 */
static unsigned int
invalidate(struct run *run, const struct message *m)
{
	const struct softhca_qp *qp = run->responder.qp;

	if (key_invalidate(qp->dev->lanes, m->imm, responder_pdn(run), qp->number))
		return SYN_OK;
	run->use.vendor = VEN_KEY_ACCESS;
	responder_fail_receive(run, SYN_REM_INV_REQ);
	return SYN_REM_OP;
}

unsigned int
respond_send_part(struct run *run, const struct message *m, const struct send_part *part,
	struct answer *answer)
{
	unsigned int result;
	struct sg to;

	result = responder_claim(run, part->sender, part->total, true, &to);
	if (result != SYN_OK)
		return result;
	if (m->payload->len > RUN_LONG_COPY)
		run_drop_cq(run);
	if (move_part(&run->use, &to, part->off, m->payload, 0, m->payload->len) != SG_MOVED)
		return responder_nak_receive(run, SYN_LOC_PROT, SYN_REM_OP);
	if (part->off + m->payload->len != part->total)
		return SYN_OK;
	result = responder_strike(run, m, answer);
	if (result == SYN_OK && m->op->recv == CQE_RESP_SEND_INV)
		result = invalidate(run, m);
	if (result == SYN_OK && run->responder.claim != NULL)
		responder_complete_claim(run, m, part->total);
	else if (result == SYN_OK)
		responder_complete(run, m, part->total);
	return result;
}

unsigned int
respond_send(struct run *run, const struct message *m, struct answer *answer)
{
	const uint64_t len = m->payload->len;
	struct sg to;
	unsigned int result;

	if (m->type == SOFTHCA_QP_UD)
		return respond_datagram(run, m, answer);
	result = responder_peek(run, m, len, &to, answer);
	if (result == SYN_OK && len != 0)
		result = receive_data(run, &to, m->payload);
	if (result == SYN_OK && m->op->recv == CQE_RESP_SEND_INV)
		result = invalidate(run, m);
	if (result == SYN_OK)
		responder_complete(run, m, len);
	return result;
}
