/* SPDX-License-Identifier: BSD-3-Clause */
/* RDMA write, with immediate or without, and RDMA read. */
#include "exec.h"

unsigned int
responder_gather(struct run *run, uint32_t access, const uint8_t *raddr, uint64_t len,
	struct sg *out)
{
	struct softhca_qp *peer = run->peer;
	unsigned int nak = SYN_REM_ACCESS;

	sg_clear(out);
	/* A request of a kind that the QP does not accept is invalid, whatever its key says. */
	if ((peer->attr.access & access) == 0) {
		run->use.vendor = VEN_QP_ACCESS;
		nak = SYN_REM_INV_REQ;
	} else if (len == 0) {
		/* The key of a request without data is not looked at. */
		return SYN_OK;
	} else if (key_gather(&run->use, peer->dev->lanes, get_be32(raddr + RADDR_RKEY),
			   responder_pdn(run), access, get_be64(raddr + RADDR_VA), len, out)) {
		return SYN_OK;
	}
	/* An unreliable responder drops the request: nobody is told. */
	if (!qp_is_unreliable(run->qp))
		responder_fail(run, peer, nak);
	return nak;
}

unsigned int
responder_refuse_memory(struct run *run)
{
	if (!qp_is_unreliable(run->qp))
		responder_fail(run, run->peer, SYN_REM_ACCESS);
	return SYN_REM_ACCESS;
}

/* A copy between the two ends that found no memory. far: how it ends where that is the responder's. */
static unsigned int __attribute__((cold, noinline))
no_memory(struct run *run, enum sg_end end, enum sg_end far)
{
	return end == far ? responder_refuse_memory(run) : SYN_LOC_PROT;
}

/* Reads and atomics are answered from resources that both ends promised to have. */
unsigned int
responder_may_read(struct run *run)
{
	/* A DCT has them without a promise. */
	if (run->peer->attr.max_dest_rd_atomic != 0 || run->peer->type == SOFTHCA_QP_DCT)
		return SYN_OK;
	run->use.vendor = VEN_NO_RD_ATOMIC;
	responder_fail(run, run->peer, SYN_REM_INV_REQ);
	return SYN_REM_INV_REQ;
}

/* A receive must be there before the data move: a retried message then moves nothing twice. */
static bool
write_may_end(struct run *run, const struct wqe *wqe)
{
	if (wqe->op->recv == 0)
		return true;
	if (run->peer_srq == NULL)
		return rq_is_ready(run, run->peer);
	run_hold_srq(run, run->peer_srq);
	return srq_has_work(run->peer_srq);
}

unsigned int
exec_write(struct run *run, const struct wqe *wqe)
{
	struct sg src, dst;
	unsigned int syn = exec_gather(run, wqe, &src);
	enum sg_end end;

	if (syn != SYN_OK)
		return syn;
	syn = run_hold_peer(run, wqe);
	if (syn != SYN_OK)
		return syn;
	if (!write_may_end(run, wqe))
		return EXEC_WAIT_RNR;
	syn = responder_gather(run, wqe->op->remote_access, wqe_seg(run, wqe, wqe->first), src.len,
		&dst);
	if (syn != SYN_OK)
		return syn;
	if (src.len > RUN_LONG_COPY)
		run_drop_cq(run);
	end = run_copy(run, &dst, &src);
	if (end != SG_MOVED)
		return no_memory(run, end, SG_NO_DST);
	if (wqe->op->recv != 0)
		return responder_receive(run, wqe, NULL, (uint32_t)src.len);
	return SYN_OK;
}

unsigned int
exec_read(struct run *run, const struct wqe *wqe)
{
	struct sg dst, src;
	unsigned int syn = exec_gather(run, wqe, &dst);
	enum sg_end end;

	if (syn != SYN_OK)
		return syn;
	if (run->qp->attr.max_rd_atomic == 0) {
		run->use.vendor = VEN_NO_RD_ATOMIC;
		return SYN_QP_OP;
	}
	syn = run_hold_peer(run, wqe);
	if (syn != SYN_OK)
		return syn;
	syn = responder_gather(run, wqe->op->remote_access, wqe_seg(run, wqe, wqe->first), dst.len,
		&src);
	if (syn == SYN_OK)
		syn = responder_may_read(run);
	if (syn != SYN_OK)
		return syn;
	if (dst.len > RUN_LONG_COPY)
		run_drop_cq(run);
	end = run_copy(run, &dst, &src);
	if (end != SG_MOVED)
		return no_memory(run, end, SG_NO_SRC);
	run->byte_cnt = (uint32_t)dst.len;
	return SYN_OK;
}
