/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The responder of messages that use up a receive: SEND, SEND with immediate, SEND with invalidate,
 * and the end of a write with immediate. respond_ud.c has those of UD.
 */
#include "fault.h"
#include "responder.h"

/*
 * Faults on demand have their turn at a receive, once for each message however often it is tried.
 * SYN_OK: it may arrive; MESSAGE_LATER; or the syndrome that the receive shall fail with.
 */
static unsigned int
strike(struct run *run, const struct message *m, struct answer *answer)
{
	const struct softhca_qp *qp = run->responder.qp;
	struct fault_hit hit;

	run->responder.mute = false;
	if (!fault_watches(WATCH_WQES) || m->delayed)
		return SYN_OK;
	hit = fault_next_receive(qp->dev, qp->number);
	switch (hit.kind) {
	case FAULT_RECV_COMPLETE:
		run->use.vendor = (enum wire_vendor)hit.vendor;
		return hit.syndrome;
	case FAULT_RECV_LATE:
		answer->until = run_now(run) + hit.ns;
		return MESSAGE_LATER;
	case FAULT_RECV_DROP:
		run->responder.mute = true;
		return SYN_OK;
	default:
		return SYN_OK;
	}
}

/* The receive fails with a syndrome. The requester gets the returned one. */
static unsigned int
fail_receive(struct run *run, enum wire_syndrome syndrome, enum wire_syndrome nak)
{
	responder_fail_receive(run, syndrome);
	run->use.vendor = VEN_PEER_RECEIVE;
	return nak;
}

unsigned int
responder_peek(struct run *run, const struct message *m, uint64_t len, struct sg *sg,
	struct answer *answer)
{
	enum wire_syndrome syn = rq_peek(run, run->responder.qp, len, sg);
	unsigned int struck;

	if (syn == SYN_RNR)
		return MESSAGE_RNR;
	if (syn != SYN_OK)
		return fail_receive(run, syn, syn == SYN_LOC_LEN ? SYN_REM_INV_REQ : SYN_REM_OP);
	struck = strike(run, m, answer);
	if (struck == SYN_OK || struck == MESSAGE_LATER)
		return struck;
	return fail_receive(run, (enum wire_syndrome)struck, SYN_REM_OP);
}

/* Moves the message into its receive. Memory on demand may be missing at either end. */
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
	return fail_receive(run, SYN_LOC_PROT, SYN_REM_OP);
}

/*
 * The key that a SEND with invalidate names must be one that its owner allowed to be invalidated.
 * What a card answers otherwise is not public; the pair of syndromes here is assumed.
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

static void
complete(struct run *run, const struct message *m, uint64_t len)
{
	const struct cqe cqe = {.opcode = (enum wire_cqe_opcode)m->op->recv,
		.solicited = m->solicited,
		.imm = m->imm,
		.byte_cnt = (uint32_t)len,
		.flags_rqpn = m->type == SOFTHCA_QP_DCI ? m->qpn : 0};

	rq_complete(run, run->responder.qp, &cqe);
}

unsigned int
responder_end_write(struct run *run, const struct message *m, uint64_t len, struct answer *answer)
{
	struct sg none;
	unsigned int result = responder_peek(run, m, 0, &none, answer);

	if (result == SYN_OK)
		complete(run, m, len);
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
		complete(run, m, len);
	return result;
}
