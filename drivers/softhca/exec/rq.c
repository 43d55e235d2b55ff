/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds receive WQEs, in the QP's own queue or in an SRQ, and gathers their memory. */
#include "rq.h"

#include "gather.h"
#include "qp_fail.h"
#include "responder_hold.h"
#include "rq_complete.h"
#include "violation.h"

bool
rq_has_work(const struct softhca_qp *qp)
{
	return qp->rq_n != 0 && rq_posted(qp) != 0;
}

/*
 * If the doorbell record counts more WQEs than the queue can hold, the QP fails. Assumed:
 * rq-record-fatal, rq-record-sender.
 */
bool
rq_is_ready(struct run *run, struct softhca_qp *qp)
{
	uint16_t posted = qp->rq_n != 0 ? rq_posted(qp) : 0;

	if (posted <= qp->rq_n)
		return posted != 0;
	violation("QP 0x%x: %u WQEs posted to a receive queue of %u", qp->number, posted, qp->rq_n);
	qp_fatal_receive_side(run, qp);
	return false;
}

/*
 * The owner of a receive. The keys in the receive's data segments must belong to this adapter and
 * PD.
 */
struct receive_owner {
	struct softhca_lanes *lanes;
	uint32_t pdn;
};

static enum wire_syndrome
receive_gather_segments(struct run *run, const struct receive_owner *owner, const uint8_t *seg,
	unsigned int n, uint64_t need, struct sg *sg)
{
	sg_clear(sg);
	for (unsigned int i = 0; i < n && i < SG_MAX && sg->len < need; i++, seg += WQE_SEG) {
		uint32_t len = get_be32(seg + DATA_LEN), lkey = get_be32(seg + DATA_LKEY);

		if (len == 0 && lkey == DATA_END_LKEY)
			break;
		if (len == 0)
			len = DATA_LEN_ZERO_IS;
		if (!key_gather(&run->use, &run->responder.receive, owner->lanes, lkey, owner->pdn,
			    ACC_LOCAL_WRITE, get_be64(seg + DATA_VA), len, sg))
			return SYN_LOC_PROT;
	}
	run->use.vendor = VEN_LENGTH;
	return sg->len < need ? SYN_LOC_LEN : SYN_OK;
}

/* Gathers at most n data segments of a receive WQE, until they hold `need` bytes. */
static enum wire_syndrome
receive_gather(struct run *run, const struct receive_owner *owner, const uint8_t *seg,
	unsigned int n, uint64_t need, struct sg *sg)
{
	const uint32_t len = get_be32(seg + DATA_LEN);
	enum wire_syndrome syn;
	void *p = NULL;

	/*
	 * Fast path: the first segment is long enough and lies in the region that was found last.
	 */
	if (__builtin_expect(need != 0 && len >= need, 1))
		p = key_seen_memory(&run->responder.receive, get_be32(seg + DATA_LKEY), owner->pdn,
			ACC_LOCAL_WRITE, get_be64(seg + DATA_VA), len);
	if (__builtin_expect(p != NULL, 1)) {
		sg_set(sg, p, len);
		return SYN_OK;
	}
	run->use.receiving = true;
	syn = receive_gather_segments(run, owner, seg, n, need, sg);
	run->use.receiving = false;
	return syn;
}

enum wire_syndrome
rq_gather_srq(struct run *run, struct softhca_srq *srq, const uint8_t *seg, unsigned int n,
	uint64_t need, struct sg *sg)
{
	const struct receive_owner owner = {.lanes = srq->dev->lanes, .pdn = srq->pdn};

	return receive_gather(run, &owner, seg, n, need, sg);
}

static enum wire_syndrome
srq_peek(struct run *run, struct softhca_srq *srq, uint64_t need, struct sg *sg)
{
	const struct receive_owner owner = {.lanes = srq->dev->lanes, .pdn = srq->pdn};
	unsigned int n;
	const uint8_t *seg = srq_head(srq, &n);

	return seg == NULL ? SYN_RNR : receive_gather(run, &owner, seg, n, need, sg);
}

enum wire_syndrome
rq_peek(struct run *run, struct softhca_qp *qp, uint64_t need, struct sg *sg)
{
	const struct receive_owner owner = {.lanes = qp->dev->lanes, .pdn = qp->pdn};
	uint16_t ci = atomic_load_explicit(&qp->rq_ci, memory_order_relaxed);

	if (run->responder.from != NULL) {
		responder_hold_srq(run);
		return srq_peek(run, run->responder.srq, need, sg);
	}
	if (!rq_is_ready(run, qp))
		return SYN_RNR;
	return receive_gather(run, &owner,
		qp->rq + ((size_t)(ci & (qp->rq_n - 1)) << qp->rq_log_stride),
		(1u << qp->rq_log_stride) / WQE_SEG, need, sg);
}
