/* SPDX-License-Identifier: BSD-3-Clause */
/* SEND, SEND with immediate, SEND with invalidate; and the receive that ends a write with immediate. */
#include "exec.h"

static bool
is_invalidate(const struct wqe *wqe)
{
	return wqe->opcode == OPC_SEND_INV;
}

/*
 * The rkey of a SEND with invalidate must be one that its owner allowed to be invalidated. What a
 * card answers otherwise is not public; the pair of syndromes here is assumed.
 */
static unsigned int
responder_invalidate(struct run *run, const struct wqe *wqe)
{
	if (key_invalidate(run->peer->dev->lanes, wqe->imm, responder_pdn(run), run->peer->number))
		return SYN_OK;
	run->use.vendor = VEN_KEY_ACCESS;
	responder_fail_receive(run, run->peer, SYN_REM_INV_REQ);
	return SYN_REM_OP;
}

/* The message into its receive. On demand, either end's memory may not be there. */
static unsigned int
receive_data(struct run *run, const struct sg *to, const struct sg *src)
{
	enum sg_end end;

	if (src->len > RUN_LONG_COPY)
		run_drop_cq(run);
	end = run_copy(run, to, src);
	if (end == SG_MOVED)
		return SYN_OK;
	if (end == SG_NO_SRC)
		return SYN_LOC_PROT;
	responder_fail_receive(run, run->peer, SYN_LOC_PROT);
	run->use.vendor = VEN_PEER_RECEIVE;
	return SYN_REM_OP;
}

unsigned int
responder_receive(struct run *run, const struct wqe *wqe, const struct sg *src, uint32_t byte_cnt)
{
	struct softhca_qp *peer = run->peer;
	struct recv_wqe recv;
	struct cqe cqe = {.opcode = wqe->op->recv,
		.solicited = wqe->solicited,
		.imm = wqe->imm,
		.byte_cnt = byte_cnt,
		.flags_rqpn = run->qp->type == SOFTHCA_QP_DCI ? run->qp->number : 0};
	enum wire_syndrome syn = rq_peek(run, peer, src == NULL ? 0 : src->len, &recv);
	unsigned int struck;

	if (syn == SYN_RNR)
		return EXEC_WAIT_RNR;
	if (syn != SYN_OK) {
		responder_fail_receive(run, peer, syn);
		run->use.vendor = VEN_PEER_RECEIVE;
		return syn == SYN_LOC_LEN ? SYN_REM_INV_REQ : SYN_REM_OP;
	}
	struck = responder_strike(run, peer);
	if (struck == EXEC_WAIT_TIME)
		return struck;
	if (struck != SYN_OK) {
		responder_fail_receive(run, peer, (enum wire_syndrome)struck);
		run->use.vendor = VEN_PEER_RECEIVE;
		return SYN_REM_OP;
	}
	if (src != NULL && src->len != 0) {
		unsigned int moved = receive_data(run, &recv.sg, src);

		if (moved != SYN_OK)
			return moved;
	}
	if (is_invalidate(wqe)) {
		syn = responder_invalidate(run, wqe);
		if (syn != SYN_OK)
			return syn;
	}
	rq_complete(run, peer, &cqe);
	return SYN_OK;
}

unsigned int
exec_send(struct run *run, const struct wqe *wqe)
{
	struct sg src;
	unsigned int syn;

	if (run->qp->type == SOFTHCA_QP_UD)
		return exec_ud_send(run, wqe);
	if (run->qp->type == SOFTHCA_QP_RAW)
		return exec_raw_send(run, wqe);
	syn = exec_gather(run, wqe, &src);
	if (syn == SYN_OK)
		syn = run_hold_peer(run, wqe);
	if (syn != SYN_OK)
		return syn;
	return responder_receive(run, wqe, &src, (uint32_t)src.len);
}
