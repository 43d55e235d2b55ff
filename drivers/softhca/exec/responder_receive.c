/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the receive for a message, applies faults on demand to it, and completes or fails it. */
#include "responder_receive.h"

#include "counters.h"
#include "fault.h"
#include "responder_fail.h"
#include "rq.h"
#include "rq_claim.h"
#include "rq_complete.h"

/*
 * Applies faults on demand to a receive, at most once for each message, also if the message is
 * retried. Returns SYN_OK if the message may arrive, MESSAGE_LATER, or the syndrome with which the
 * receive fails.
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

/*
 * If the receive is too short, its completion has an error, also on the unreliable transports UC
 * and UD. Assumed: short-receive-uc, short-receive-ud.
 */
unsigned int
responder_nak_receive(struct run *run, enum wire_syndrome syndrome, enum wire_syndrome nak)
{
	responder_fail_receive(run, syndrome);
	run->use.vendor = VEN_PEER_RECEIVE;
	return nak;
}

/* Returns the result of a message for which no receive is posted, or whose receive is unusable. */
static unsigned int __attribute__((cold, noinline))
no_receive(struct run *run, enum wire_syndrome syn)
{
	if (syn == SYN_RNR)
		return MESSAGE_RNR;
	if (syn == SYN_LOC_LEN)
		counters_add(run->responder.qp->dev, run->responder.qp->attr.port,
			COUNTER_RESP_LENGTH);
	return responder_nak_receive(run, syn, syn == SYN_LOC_LEN ? SYN_REM_INV_REQ : SYN_REM_OP);
}

unsigned int
responder_claim(struct run *run, uint64_t sender, uint64_t len, bool take, struct sg *sg)
{
	enum wire_syndrome syn = rq_claim(run, sender, len, take, sg);

	return syn == SYN_OK ? SYN_OK : no_receive(run, syn);
}

unsigned int
responder_strike(struct run *run, const struct message *m, struct answer *answer)
{
	unsigned int struck = strike(run, m, answer);

	if (struck == SYN_OK || struck == MESSAGE_LATER)
		return struck;
	return responder_nak_receive(run, (enum wire_syndrome)struck, SYN_REM_OP);
}

unsigned int
responder_peek(struct run *run, const struct message *m, uint64_t len, struct sg *sg,
	struct answer *answer)
{
	enum wire_syndrome syn = rq_peek(run, run->responder.qp, len, sg);
	unsigned int struck;

	if (syn != SYN_OK)
		return no_receive(run, syn);
	struck = strike(run, m, answer);
	if (struck == SYN_OK || struck == MESSAGE_LATER)
		return struck;
	return responder_nak_receive(run, (enum wire_syndrome)struck, SYN_REM_OP);
}

static inline struct cqe
completion(const struct message *m, uint64_t len)
{
	return (struct cqe){.opcode = (enum wire_cqe_opcode)m->op->recv,
		.solicited = m->solicited,
		.imm = m->imm,
		.byte_cnt = (uint32_t)len,
		.flags_rqpn = m->type == SOFTHCA_QP_DCI ? m->qpn : 0};
}

void
responder_complete_claim(struct run *run, const struct message *m, uint64_t len)
{
	struct cqe cqe = completion(m, len);

	rq_complete_claim(run, run->responder.qp, &cqe);
}

void
responder_complete(struct run *run, const struct message *m, uint64_t len)
{
	const struct cqe cqe = completion(m, len);

	rq_complete(run, run->responder.qp, &cqe);
}

unsigned int
responder_end_write(struct run *run, const struct message *m, uint64_t len, struct answer *answer)
{
	struct sg none;
	unsigned int result = responder_peek(run, m, 0, &none, answer);

	if (result == SYN_OK)
		responder_complete(run, m, len);
	return result;
}
