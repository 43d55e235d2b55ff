/* SPDX-License-Identifier: BSD-3-Clause */
/* Completes receive WQEs in order: those of a QP's own queue and those of an SRQ. */
#include "rq_complete.h"

#include <stdlib.h>

#include "counters.h"

/* Adds the receive's completion to the CQ, unless a fault hides this completion. */
static void
receive_push(struct run *run, struct softhca_cq *cq, struct cqe *cqe)
{
	cqe->timestamp = run_now(run);
	run_hold_cq(run, cq);
	if (!run->responder.mute)
		cq_push(cq, cqe);
	run->work++;
}

/* Completes a receive of an SRQ. An XRC SRQ has its own CQ. */
static void
srq_push(struct run *run, struct softhca_qp *qp, struct softhca_srq *srq, struct cqe *cqe)
{
	cqe->uidx = srq->cq != NULL ? srq->uidx : qp->uidx;
	receive_push(run, srq->cq != NULL ? srq->cq : qp->recv_cq, cqe);
}

/* Completes a receive of the SRQ that is held. */
static void
srq_complete(struct run *run, struct softhca_qp *qp, struct cqe *cqe)
{
	struct softhca_srq *srq = run->responder.srq;

	cqe->wqe_counter = srq_take(srq);
	srq_push(run, qp, srq, cqe);
}

void
rq_complete_claim(struct run *run, struct softhca_qp *qp, struct cqe *cqe)
{
	struct srq_claim *claim = run->responder.claim, **at = &qp->claims;
	struct softhca_srq *srq = table_get(&qp->dev->lanes->srqs, claim->srqn);

	while (*at != claim)
		at = &(*at)->next;
	*at = claim->next;
	run->responder.claim = NULL;
	cqe->opcode_qpn = qp->number;
	cqe->wqe_counter = claim->index;
	/* If the program has destroyed the SRQ, its receives do not complete. */
	if (srq != NULL)
		srq_push(run, qp, srq, cqe);
	free(claim);
}

void
rq_complete(struct run *run, struct softhca_qp *qp, const struct cqe *cqe)
{
	struct cqe full = *cqe;
	uint16_t ci = atomic_load_explicit(&qp->rq_ci, memory_order_relaxed);

	full.opcode_qpn = qp->number;
	if (__builtin_expect(cqe->opcode == CQE_RESP_ERR, 0)) {
		counters_add(qp->dev, qp->attr.port, COUNTER_RESP_CQES);
		if (cqe->syndrome == SYN_FLUSH)
			counters_add(qp->dev, qp->attr.port, COUNTER_RESP_FLUSHED_CQES);
		if (run->responder.claim != NULL) {
			rq_complete_claim(run, qp, &full);
			return;
		}
	}
	if (run->responder.srq != NULL) {
		srq_complete(run, qp, &full);
		return;
	}
	full.uidx = qp->uidx;
	full.wqe_counter = ci;
	receive_push(run, qp->recv_cq, &full);
	atomic_store_explicit(&qp->rq_ci, (uint16_t)(ci + 1), memory_order_relaxed);
}

/* Completes all receives that long messages have taken for the QP as flushed. */
static void
claims_flush(struct run *run, struct softhca_qp *qp)
{
	while (qp->claims != NULL) {
		struct cqe flushed = {.opcode = CQE_RESP_ERR,
			.syndrome = SYN_FLUSH,
			.vendor = VENDOR_FLUSHED};

		run->responder.claim = qp->claims;
		rq_complete_claim(run, qp, &flushed);
	}
}

void
rq_flush(struct run *run, struct softhca_qp *qp)
{
	static const struct cqe flushed = {.opcode = CQE_RESP_ERR,
		.syndrome = SYN_FLUSH,
		.vendor = VENDOR_FLUSHED};

	if (qp->claims != NULL)
		claims_flush(run, qp);
	if (qp->rq_n == 0)
		return;
	/*
	 * A fault hides only the completion of one receive before this flush, and no completion of
	 * a flushed receive.
	 */
	run->responder.mute = false;
	/*
	 * If the doorbell record counts more WQEs than the queue can hold, no WQE counts as posted.
	 */
	for (uint16_t left = rq_posted(qp); left != 0 && left <= qp->rq_n; left--)
		rq_complete(run, qp, &flushed);
}
