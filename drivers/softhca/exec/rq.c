/* SPDX-License-Identifier: BSD-3-Clause */
/* The receive side of a QP: taking receive WQEs in order, scattering, and the responder's errors. */
#include "exec.h"
#include "fault.h"
#include "uar.h"
#include "violation.h"

#define EVENT_QP_FATAL      1 /* IBV_EVENT_QP_FATAL */
#define EVENT_QP_REQ_ERR    2 /* IBV_EVENT_QP_REQ_ERR */
#define EVENT_QP_ACCESS_ERR 3 /* IBV_EVENT_QP_ACCESS_ERR */

static uint16_t
rq_posted(const struct softhca_qp *qp)
{
	/* Pairs with the program's store of the record, after the WQEs before it were written. */
	uint16_t pi =
		(uint16_t)be32toh(atomic_load_explicit(&qp->dbrec[DB_RECV], memory_order_acquire));

	return (uint16_t)(pi - atomic_load_explicit(&qp->rq_ci, memory_order_relaxed));
}

bool
rq_has_work(const struct softhca_qp *qp)
{
	return qp->rq_n != 0 && rq_posted(qp) != 0;
}

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

enum wire_syndrome
rq_scatter(struct run *run, uint32_t pdn, struct softhca_dev *dev, const uint8_t *seg,
	unsigned int n, uint64_t need, struct sg *sg)
{
	run->use.receiving = true;
	for (unsigned int i = 0; i < n && i < SG_MAX && sg->len < need; i++, seg += WQE_SEG) {
		uint32_t len = get_be32(seg + DATA_LEN), lkey = get_be32(seg + DATA_LKEY);

		if (len == 0 && lkey == DATA_END_LKEY)
			break;
		if (len == 0)
			len = DATA_LEN_ZERO_IS;
		if (!key_gather(&run->use, dev->lanes, lkey, pdn, ACC_LOCAL_WRITE,
			    get_be64(seg + DATA_VA), len, sg))
			return SYN_LOC_PROT;
	}
	run->use.receiving = false;
	run->use.vendor = VEN_LENGTH;
	return sg->len < need ? SYN_LOC_LEN : SYN_OK;
}

/* SRQ held. */
static enum wire_syndrome
srq_peek(struct run *run, struct softhca_srq *srq, uint64_t need, struct recv_wqe *recv)
{
	unsigned int n;
	const uint8_t *seg = srq_head(srq, &recv->index, &n);

	if (seg == NULL)
		return SYN_RNR;
	sg_clear(&recv->sg);
	return rq_scatter(run, srq->pdn, srq->dev, seg, n, need, &recv->sg);
}

enum wire_syndrome
rq_peek(struct run *run, struct softhca_qp *qp, uint64_t need, struct recv_wqe *recv)
{
	uint16_t ci = atomic_load_explicit(&qp->rq_ci, memory_order_relaxed);

	if (run->peer_srq != NULL) {
		run_hold_srq(run, run->peer_srq);
		return srq_peek(run, run->peer_srq, need, recv);
	}
	if (!rq_is_ready(run, qp))
		return SYN_RNR;
	recv->index = ci;
	sg_clear(&recv->sg);
	return rq_scatter(run, qp->pdn, qp->dev,
		qp->rq + ((size_t)(ci & (qp->rq_n - 1)) << qp->rq_log_stride),
		(1u << qp->rq_log_stride) / WQE_SEG, need, &recv->sg);
}

/* Held by srq_peek(): a receive of the SRQ is used up, and an XRC one completes in its own CQ. */
static void
srq_complete(struct run *run, struct softhca_qp *qp, struct cqe *cqe)
{
	struct softhca_srq *srq = run->srq;
	struct softhca_cq *cq = srq->cq != NULL ? srq->cq : qp->recv_cq;

	cqe->uidx = srq->cq != NULL ? srq->uidx : qp->uidx;
	cqe->opcode_qpn = qp->number;
	cqe->wqe_counter = srq_take(srq);
	cqe->timestamp = run_now(run);
	run_hold_cq(run, cq);
	if (!run->receive_mute)
		cq_push(cq, cqe);
	run->work++;
}

void
rq_complete(struct run *run, struct softhca_qp *qp, const struct cqe *cqe)
{
	struct cqe full = *cqe;
	uint16_t ci = atomic_load_explicit(&qp->rq_ci, memory_order_relaxed);

	if (run->srq != NULL) {
		srq_complete(run, qp, &full);
		return;
	}
	full.uidx = qp->uidx;
	full.opcode_qpn = qp->number;
	full.wqe_counter = ci;
	full.timestamp = run_now(run);
	run_hold_cq(run, qp->recv_cq);
	if (!run->receive_mute)
		cq_push(qp->recv_cq, &full);
	atomic_store_explicit(&qp->rq_ci, (uint16_t)(ci + 1), memory_order_relaxed);
	run->work++;
}

void
rq_flush(struct run *run, struct softhca_qp *qp)
{
	static const struct cqe flushed = {.opcode = CQE_RESP_ERR, .syndrome = SYN_FLUSH};

	if (qp->rq_n == 0)
		return;
	/* More than the queue holds is a program's mistake: those WQEs do not exist. */
	for (uint16_t left = rq_posted(qp); left != 0 && left <= qp->rq_n; left--)
		rq_complete(run, qp, &flushed);
}

void
qp_fail_receive_side(struct run *run, struct softhca_qp *qp)
{
	bool was_error =
		atomic_exchange_explicit(&qp->state, QP_ERR, memory_order_acq_rel) == QP_ERR;

	rq_flush(run, qp);
	if (!was_error)
		qp_tell_last_wqe(qp);
	if (qp->uar != NULL)
		uar_call_attention(qp->uar); /* its send queue is flushed by who holds that */
}

void
qp_fatal_receive_side(struct run *run, struct softhca_qp *qp)
{
	qp_fail_receive_side(run, qp);
	run_drop_cq(run);
	softhca_event_qp_async(qp->event, EVENT_QP_FATAL);
}

static void
fail_with_its_cq(struct run *run, struct softhca_qp *qp)
{
	if (qp->uar != NULL || qp->recv_cq == NULL || !cq_has_failed(qp->recv_cq))
		return;
	spin_lock(&qp->recv);
	if (qp_state(qp) == QP_RTR || qp_state(qp) == QP_RTS)
		qp_fatal_receive_side(run, qp);
	spin_unlock(&qp->recv);
}

bool
qps_fail_with_their_cqs(struct softhca_lanes *lanes)
{
	struct run run;

	if (!atomic_load_explicit(&lanes->cq_failed, memory_order_relaxed) ||
		!atomic_exchange_explicit(&lanes->cq_failed, false, memory_order_acquire))
		return false;
	run_init(&run, lanes);
	for (uint32_t number = 0; number < 1u << 24; number++) {
		struct softhca_qp *qp = table_get(&lanes->qps, number);

		if (qp != NULL)
			fail_with_its_cq(&run, qp);
		else if (table_leaf_is_absent(&lanes->qps, number))
			number |= TABLE_LEAF - 1;
	}
	return true;
}

void
responder_fail_receive(struct run *run, struct softhca_qp *qp, enum wire_syndrome syndrome)
{
	const struct cqe failed = {.opcode = CQE_RESP_ERR,
		.syndrome = syndrome,
		.vendor = run->use.vendor};

	run->receive_mute = false; /* a failure is told */
	rq_complete(run, qp, &failed);
	qp_fail_receive_side(run, qp);
	run_drop_cq(run);
	run_drop_peer(run);
}

/* No receive WQE was used up, so the failure is told by an asynchronous event. */
void
responder_fail(struct run *run, struct softhca_qp *qp, enum wire_syndrome nak)
{
	qp_fail_receive_side(run, qp);
	run_drop_cq(run);
	softhca_event_qp_async(qp->event,
		nak == SYN_REM_ACCESS ? EVENT_QP_ACCESS_ERR : EVENT_QP_REQ_ERR);
	run_drop_peer(run);
}

/* Each message meets its fault once, however often it is tried. */
unsigned int
responder_strike(struct run *run, struct softhca_qp *qp)
{
	struct fault_hit hit;

	if (!fault_watches(WATCH_WQES) || run->qp->receive_struck)
		return SYN_OK;
	run->qp->receive_struck = true;
	hit = fault_next_receive(qp->dev, qp->number);
	switch (hit.kind) {
	case FAULT_RECV_COMPLETE:
		run->use.vendor = (enum wire_vendor)hit.vendor;
		return hit.syndrome;
	case FAULT_RECV_LATE:
		run->qp->wait = WAIT_TIME;
		run->qp->wait_until = run_now(run) + hit.ns;
		return EXEC_WAIT_TIME;
	case FAULT_RECV_DROP:
		run->receive_mute = true;
		return SYN_OK;
	default:
		return SYN_OK;
	}
}
