/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A visit to a send queue: decides how many of the queue's WQEs may run, and does what the QP's
 * state requires.
 *
 * A WQE runs to its end or not at all, so no operation is ever outstanding: reads and atomics are
 * answered at once, and a fenced WQE always finds them done. The timing model gives each WQE the
 * time at which it runs, and a fence delays this time (timing.h). With the setting `reorder` a
 * visit holds bytes back (order.h); they move before the visit ends. Only the WQE at the head can
 * wait: for a receive (RNR), for its peer, or for a time. The lane then leaves the queue and visits
 * it again later.
 */
#include "sq.h"

#include "fault.h"
#include "message.h"
#include "order.h"
#include "rq.h"
#include "rq_complete.h"
#include "sq_complete.h"
#include "sq_head.h"
#include "sq_step.h"
#include "sq_watch.h"
#include "uar.h"
#include "violation.h"

#define EVENT_SQ_DRAINED 5 /* IBV_EVENT_SQ_DRAINED */

static bool
sq_is_strict(const struct softhca_qp *qp)
{
	return qp->uar->n_qps == 1 && qp->dev->cfg->strict_doorbells != 0;
}

/*
 * The number of WQEBBs that may run: those that a doorbell announced. If several QPs share the
 * page, or with strict_doorbells = 0, all posted WQEBBs may run.
 */
static uint16_t
sq_limit(struct softhca_qp *qp, uint16_t posted)
{
	uint16_t announced = (uint16_t)(qp->announced - qp->sq_ci);

	if (!sq_is_strict(qp)) {
		qp->announced = (uint16_t)(qp->sq_ci + posted);
		return posted;
	}
	return announced <= posted ? announced : 0;
}

/*
 * Counts all WQEs that have run as announced. A lane may run WQEs that no doorbell had announced,
 * or of which a doorbell had announced only a part.
 */
static void
sq_announce_ran(struct softhca_qp *qp, uint16_t start)
{
	uint16_t announced = (uint16_t)(qp->announced - start), ran = (uint16_t)(qp->sq_ci - start);

	if (announced < ran)
		qp->announced = qp->sq_ci;
}

/*
 * Handles a queue whose announced WQEs have all run, although more WQEs are posted. Either another
 * doorbell will follow, or the index or DS in the last doorbell was wrong and announced too few
 * WQEBBs. In the second case the next WQE is malformed. It is run now, so that its check fails.
 */
static void
sq_check_rest(struct run *run, uint16_t posted)
{
	struct softhca_qp *qp = run->qp;
	struct wqe wqe;

	if (posted == 0 || !qp->rang || !sq_is_strict(qp))
		return;
	wqe = wqe_fetch(qp);
	if (wqe_check(qp, &wqe, posted) != VEN_NONE)
		sq_step(run, posted);
}

/* True if faults, the timing model or another process may affect the WQE at the head. */
static bool
sq_is_watched(const struct softhca_qp *qp)
{
	return fault_watches(WATCH_WQES) || qp->wait >= WAIT_TIME;
}

static inline enum step
sq_step_head(struct run *run, uint16_t posted, bool watched)
{
	return watched ? sq_step_watched(run, posted) : sq_step(run, posted);
}

static enum step __attribute__((noinline))
sq_steps_watched(struct run *run, uint16_t posted, uint16_t limit)
{
	enum step step = sq_steps_by(run, posted, limit, sq_step_watched);

	if (step == STEP_NEXT && run->qp->stopping) {
		/* All announced WQEs have run, so the queue stops at the latest here. */
		sq_stop(run);
		step = STEP_STOP;
	}
	order_settle(run);
	return step;
}

/* Runs the WQEs that may run. Returns true if more WQEs can run at once. */
static bool
sq_run(struct run *run)
{
	struct softhca_qp *qp = run->qp;
	const uint16_t start = qp->sq_ci, posted = sq_posted(qp);
	uint16_t limit;
	enum step step;

	if (posted > qp->sq_bb) {
		violation("QP 0x%x: %u WQEBBs posted to a send queue of %u", qp->number, posted,
			qp->sq_bb);
		sq_fatal(run);
		return false;
	}
	limit = sq_limit(qp, posted);
	/*
	 * An armed fault counts each operation, so NOPs must run one by one while a fault is armed.
	 */
	if (!fault_watches(WATCH_OPERATIONS))
		run->nops_end = (uint16_t)(start + limit);
	step = sq_is_watched(qp) ? sq_steps_watched(run, posted, limit)
				 : sq_steps(run, posted, limit);
	if (step == STEP_NEXT)
		sq_check_rest(run, (uint16_t)(posted - (uint16_t)(qp->sq_ci - start)));
	return step == STEP_MORE;
}

/*
 * Drains the queue of a QP in SQD. Only a WQE at the head that already waits is still finished.
 * Then an event is sent, if the program has asked for this event or if a wrong signature has
 * stopped the queue.
 */
static void
sq_drain(struct run *run)
{
	struct softhca_qp *qp = run->qp;

	if (!qp->draining)
		return;
	if (qp->wait != WAIT_NONE &&
		sq_step_head(run, sq_posted(qp), sq_is_watched(qp)) != STEP_NEXT)
		return;
	order_settle(run);
	qp->draining = false;
	if (qp->attr.en_sqd_notify || qp->stopping)
		softhca_event_qp_async(qp->event, EVENT_SQ_DRAINED);
	qp->stopping = false;
	run->work++;
}

static void
sq_visit_error(struct run *run)
{
	struct softhca_qp *qp = run->qp;

	if (qp->sq_bb != 0 && sq_posted(qp) != 0)
		sq_flush(run);
	if (rq_has_work(qp) || qp->claims != NULL) {
		sq_lock_state(run);
		if (qp_state(qp) == QP_ERR)
			rq_flush(run, qp);
		run_drop_cq(run);
		spin_unlock(&qp->recv);
	}
}

static bool
cq_failed(const struct softhca_qp *qp)
{
	return cq_has_failed(qp->send_cq) || cq_has_failed(qp->recv_cq);
}

bool
sq_visit(struct run *run)
{
	struct softhca_qp *qp = run->qp;
	enum qp_state state = qp_state(qp);
	const uint16_t start = qp->sq_ci;
	bool more = false;

	run->nops_end = start;
	if (state != QP_RESET && state != QP_INIT && state != QP_ERR && cq_failed(qp))
		sq_fatal(run);
	else if (state == QP_RTS && qp->sq_bb != 0)
		more = sq_run(run);
	else if (state == QP_SQD)
		sq_drain(run);
	if (qp_state(qp) == QP_ERR)
		sq_visit_error(run);
	else if (qp_state(qp) == QP_SQE && qp->sq_bb != 0 && sq_posted(qp) != 0)
		sq_flush(run);
	sq_announce_ran(qp, start);
	run_drop_cq(run);
	responder_release(run);
	/*
	 * The program may still post receives to a QP in error, and it rings no doorbell for them.
	 */
	return more || (qp->wait != WAIT_NONE && !qp_waits_for_answer(qp)) ||
	       (qp_state(qp) == QP_ERR && qp->rq_n != 0);
}
