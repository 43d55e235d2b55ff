/* SPDX-License-Identifier: BSD-3-Clause */
/* The responder of RDMA writes and reads; and what guards its memory, of atomics too. */
#include "responder.h"

unsigned int
responder_refuse_memory(struct run *run, const struct message *m)
{
	/* An unreliable responder drops the request, and goes on. */
	if (message_is_unreliable(m))
		return SYN_REM_ACCESS;
	return responder_fail(run, SYN_REM_ACCESS);
}

unsigned int
responder_refuse_kind(struct run *run, const struct message *m)
{
	run->use.vendor = VEN_QP_ACCESS;
	if (message_is_unreliable(m))
		return SYN_REM_INV_REQ;
	return responder_fail(run, SYN_REM_INV_REQ);
}

unsigned int
responder_may_read(struct run *run)
{
	const struct softhca_qp *qp = run->responder.qp;

	/* A DCT has the resources without a promise. */
	if (qp->attr.max_dest_rd_atomic != 0 || qp->type == SOFTHCA_QP_DCT)
		return SYN_OK;
	run->use.vendor = VEN_NO_RD_ATOMIC;
	return responder_fail(run, SYN_REM_INV_REQ);
}

/* A copy found no memory at one end. mine: how it ends where that end is the responder. */
static unsigned int __attribute__((cold, noinline))
no_memory(struct run *run, const struct message *m, enum sg_end end, enum sg_end mine)
{
	return end == mine ? responder_refuse_memory(run, m) : SYN_LOC_PROT;
}

/* A receive must be there before the data move: then a retried message moves nothing twice. */
static bool
receive_is_there(struct run *run)
{
	struct responder *r = &run->responder;

	if (r->from == NULL)
		return rq_is_ready(run, r->qp);
	responder_hold_srq(run);
	return srq_has_work(r->srq);
}

unsigned int
respond_write(struct run *run, const struct message *m, struct answer *answer)
{
	const uint64_t len = m->payload->len;
	unsigned int syn;
	struct sg dst;
	enum sg_end end;

	if (m->op->recv != 0 && !receive_is_there(run))
		return MESSAGE_RNR;
	syn = responder_gather(run, m, len, &dst);
	if (syn != SYN_OK)
		return syn;
	if (len > RUN_LONG_COPY)
		run_drop_cq(run);
	end = key_use_move(&run->use, &dst, m->payload);
	if (end != SG_MOVED)
		return no_memory(run, m, end, SG_NO_DST);
	return m->op->recv != 0 ? responder_end_write(run, m, len, answer) : SYN_OK;
}

unsigned int
respond_read(struct run *run, const struct message *m, struct answer *answer)
{
	const uint64_t len = m->payload->len;
	struct sg src;
	unsigned int syn = responder_gather(run, m, len, &src);
	enum sg_end end;

	(void)answer;
	if (syn == SYN_OK)
		syn = responder_may_read(run);
	if (syn != SYN_OK)
		return syn;
	if (len > RUN_LONG_COPY)
		run_drop_cq(run);
	end = key_use_move(&run->use, m->payload, &src);
	return end == SG_MOVED ? SYN_OK : no_memory(run, m, end, SG_NO_SRC);
}
