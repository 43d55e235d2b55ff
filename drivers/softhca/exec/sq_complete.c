/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions of a send queue, and how the queue ends: in error, flushed, or stopped. */
#include "sq_complete.h"

#include "ask.h"
#include "counters.h"
#include "failure.h"
#include "message.h"
#include "order.h"
#include "rq_complete.h"
#include "sq_head.h"
#include "stream.h"

#define EVENT_QP_FATAL   1 /* IBV_EVENT_QP_FATAL */
#define EVENT_SQ_DRAINED 5 /* IBV_EVENT_SQ_DRAINED */

/* Counts an error in the hw_counters of the requester's port. */
static void
count_error(const struct softhca_qp *qp, enum wire_syndrome syn)
{
	counters_add(qp->dev, qp->attr.port, COUNTER_REQ_CQES);
	if (syn == SYN_FLUSH)
		counters_add(qp->dev, qp->attr.port, COUNTER_REQ_FLUSHED_CQES);
	else if (syn == SYN_REM_INV_REQ)
		counters_add(qp->dev, qp->attr.port, COUNTER_REQ_INVALID);
	else if (syn == SYN_REM_ACCESS)
		counters_add(qp->dev, qp->attr.port, COUNTER_REQ_ACCESS);
}

/* Counts and logs the error of a WQE. Returns its vendor syndrome. */
static uint8_t __attribute__((cold, noinline))
report_error(const struct run *run, const struct wqe *wqe, enum wire_syndrome syn)
{
	struct softhca_qp *qp = run->qp;
	const struct failure failure = {.qp = qp,
		.why = run->use.vendor,
		.syndrome = syn,
		.opcode = (uint8_t)wqe_opcode(wqe),
		.writes = wqe->op->access != 0};
	const bool moved_to_error = qp->moved_to_error;

	count_error(qp, syn);
	if (syn != SYN_FLUSH)
		return failure_vendor(&failure);
	qp->moved_to_error = false;
	return moved_to_error ? VENDOR_MOVED_TO_ERROR : VENDOR_FLUSHED;
}

void
sq_complete(struct run *run, const struct wqe *wqe, enum wire_syndrome syn)
{
	struct softhca_qp *qp = run->qp;
	const uint8_t vendor = __builtin_expect(syn != SYN_OK, 0) ? report_error(run, wqe, syn) : 0;
	const struct cqe cqe = {
		.opcode = syn == SYN_OK ? CQE_REQ : CQE_REQ_ERR,
		.uidx = qp->uidx,
		.byte_cnt = run->byte_cnt,
		.opcode_qpn = wqe_opcode(wqe) << 24 | qp->number,
		.wqe_counter = qp->sq_ci,
		.syndrome = syn,
		.vendor = vendor,
		.timestamp = run_now(run),
	};

	run_hold_cq(run, qp->send_cq);
	cq_push(qp->send_cq, &cqe);
}

/*
 * Each WQE completes as flushed, also if it is unsignaled, unless its CE field forbids a
 * completion.
 */
void
sq_flush(struct run *run)
{
	struct softhca_qp *qp = run->qp;
	uint16_t posted = sq_posted(qp);

	if (qp->ask != NULL)
		ask_end(qp->ask);
	if (qp->sq_bb == 0 || posted > qp->sq_bb)
		return;
	run->byte_cnt = 0;
	while (posted != 0) {
		const struct wqe wqe = wqe_fetch(qp);
		const uint32_t bb = wqe_bb(&wqe) < posted ? wqe_bb(&wqe) : posted;

		if (wqe_ce(&wqe) != CE_NO_FLUSH)
			sq_complete(run, &wqe, SYN_FLUSH);
		sq_advance(qp, bb);
		posted = (uint16_t)(posted - bb);
		run->work++;
	}
}

void
sq_lock_state(struct run *run)
{
	run_drop_cq(run);
	responder_release(run);
	spin_lock(&run->qp->recv);
}

/*
 * Moves a reliable QP to error: both queues are flushed, after the completion that reports the
 * error.
 */
static void
enter_error(struct run *run)
{
	struct softhca_qp *qp = run->qp;
	bool was_error;

	sq_lock_state(run);
	was_error = atomic_exchange_explicit(&qp->state, QP_ERR, memory_order_acq_rel) == QP_ERR;
	qp_show_state(qp);
	rq_flush(run, qp);
	run_drop_cq(run);
	if (!was_error)
		qp_tell_last_wqe(qp);
	spin_unlock(&qp->recv);
	sq_flush(run);
}

/* Moves the QP from RTS to another state, unless the QP has moved to error meanwhile. */
static void
leave_rts(struct run *run, enum qp_state to)
{
	struct softhca_qp *qp = run->qp;

	sq_lock_state(run);
	if (qp_state(qp) == QP_RTS)
		atomic_store_explicit(&qp->state, to, memory_order_release);
	qp_show_state(qp);
	spin_unlock(&qp->recv);
}

void
sq_stop(struct run *run)
{
	order_settle(run);
	run->qp->stopping = false;
	leave_rts(run, QP_SQD);
	softhca_event_qp_async(run->qp->event, EVENT_SQ_DRAINED);
}

bool
sq_fail(struct run *run, const struct wqe *wqe, enum wire_syndrome syn)
{
	struct softhca_qp *qp = run->qp;
	uint16_t posted = sq_posted(qp);
	bool goes_on;

	order_settle(run);
	if (qp->ask != NULL)
		ask_end(qp->ask);
	/*
	 * The queue goes on if only one stream of a DCI has failed: at this WQE, or, if this WQE is
	 * flushed, at an earlier WQE.
	 */
	goes_on = syn == SYN_FLUSH ? qp->stream_errors != NULL && stream_is_failed(qp, wqe)
				   : stream_fail(qp, wqe);
	run->byte_cnt = 0;
	/*
	 * A program that sees the completion may overwrite the WQE. So the WQE is not read after
	 * sq_complete().
	 */
	sq_complete(run, wqe, syn);
	run->work++;
	sq_advance(qp, wqe_bb(wqe) < posted ? wqe_bb(wqe) : posted);
	if (goes_on)
		return true;
	if (!qp_is_unreliable(qp)) {
		enter_error(run);
		return false;
	}
	/* An unreliable QP still receives, and the program may move it back to RTS. */
	leave_rts(run, QP_SQE);
	sq_flush(run);
	return false;
}

void
sq_fatal(struct run *run)
{
	order_settle(run);
	enter_error(run);
	run_drop_cq(run);
	softhca_event_qp_async(run->qp->event, EVENT_QP_FATAL);
	run->work++;
}
