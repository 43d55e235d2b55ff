/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The send queue: fetching WQEs in order, checking them as silicon would, and what becomes of each.
 *
 * A WQE runs to its end or not at all, so what the architecture allows to be outstanding never is:
 * reads and atomics are answered at once, and a fenced WQE always finds them done. What can wait is
 * the head of the queue, for a receive (RNR) or for its peer; the lane leaves it and comes again.
 */
#include "exec.h"
#include "fault.h"
#include "uar.h"
#include "violation.h"

#define VISIT_MAX 256 /* WQEs of one visit: the other queues of the lane wait as long */

#define EVENT_QP_FATAL   1 /* IBV_EVENT_QP_FATAL */
#define EVENT_SQ_DRAINED 5 /* IBV_EVENT_SQ_DRAINED */

/* ---- what keys ask of a run */

static struct run *
run_of(struct key_use *use)
{
	return (struct run *)(void *)((char *)use - offsetof(struct run, use));
}

/* The CQ of the work that used the key is told: which CQ a card takes is not public. */
static void
run_sig_error(struct key_use *use, const struct key_sig_error *error, bool tell)
{
	struct run *run = run_of(use);
	struct softhca_qp *qp = error->peer ? run->peer : run->qp;
	const struct cqe_sig_err sig_err = {.error = error->error,
		.memory = error->memory,
		.key = error->key};
	const struct cqe cqe = {.opcode = CQE_SIG_ERR,
		.opcode_qpn = qp->number,
		.timestamp = run_now(run),
		.sig_err = &sig_err};

	if (!error->peer && qp->attr.drain_sigerr)
		run->sig_drain = true;
	if (!tell)
		return;
	run_hold_cq(run, error->peer ? qp->recv_cq : qp->send_cq);
	cq_push(run->cq, &cqe);
}

static void
run_may_wait(struct key_use *use)
{
	run_drop_cq(run_of(use));
}

static const struct key_user run_user = {run_sig_error, run_may_wait};

void
run_init(struct run *run, struct softhca_lanes *lanes)
{
	*run = (struct run){.use.user = &run_user, .lanes = lanes};
}

/* ---- gathering */

/* Inline data lie in the ring of WQEBBs and may run past its end. */
static bool
gather_inline(struct run *run, const uint8_t *data, uint32_t len, struct sg *sg)
{
	uint64_t to_end = (uint64_t)(run->qp->sq + run->qp->sq_mask + 1 - data);

	if (len <= to_end)
		return sg_push(&run->use, sg, (void *)(uintptr_t)data, len);
	return sg_push(&run->use, sg, (void *)(uintptr_t)data, to_end) &&
	       sg_push(&run->use, sg, run->qp->sq, len - to_end);
}

/* Returns the 16-byte units taken, or 0: the data do not fit the WQE, or may not be inline here. */
static unsigned int
gather_inline_seg(struct run *run, const struct wqe *wqe, unsigned int ds, uint32_t need,
	uint32_t len, struct sg *sg)
{
	unsigned int units = (INLINE_DATA + len + WQE_SEG - 1) / WQE_SEG;

	run->use.vendor = VEN_SEGMENT;
	if (need != 0 || units > wqe->ds - ds)
		return 0;
	return gather_inline(run, wqe_seg(run, wqe, ds) + INLINE_DATA, len, sg) ? units : 0;
}

static bool
gather_data_seg(struct run *run, const uint8_t *seg, uint32_t need, uint32_t len, struct sg *sg)
{
	if (len == 0)
		len = DATA_LEN_ZERO_IS;
	return key_gather(&run->use, run->lanes, get_be32(seg + DATA_LKEY), run->qp->pdn, need,
		get_be64(seg + DATA_VA), len, sg);
}

unsigned int
exec_gather_at(struct run *run, const struct wqe *wqe, unsigned int first, struct sg *sg)
{
	const uint32_t need = wqe->op->access;
	unsigned int ds = first;

	sg_clear(sg);
	while (ds < wqe->ds) {
		const uint8_t *seg = wqe_seg(run, wqe, ds);
		uint32_t len = get_be32(seg + DATA_LEN);
		unsigned int units = 1;

		if ((len & DATA_INLINE) != 0) {
			units = gather_inline_seg(run, wqe, ds, need, len & ~DATA_INLINE, sg);
			if (units == 0)
				return SYN_QP_OP;
		} else if (!gather_data_seg(run, seg, need, len, sg)) {
			return SYN_LOC_PROT;
		}
		ds += units;
	}
	run->use.vendor = VEN_LENGTH;
	return sg->len > RC_MAX_MESSAGE ? SYN_LOC_LEN : SYN_OK;
}

/* ---- fetch and decode */

static struct wqe
wqe_fetch(const struct softhca_qp *qp)
{
	struct wqe wqe = {.seg0 = qp->sq + (((uint32_t)qp->sq_ci * WQEBB) & qp->sq_mask)};
	uint32_t op = get_be32(wqe.seg0 + CTRL_OPMOD_IDX_OPCODE);
	uint8_t fm_ce_se = wqe.seg0[CTRL_FM_CE_SE];

	wqe.opcode = op & 0xff;
	wqe.opmod = op >> 24;
	wqe.ds = wqe.seg0[CTRL_QPN_DS + 3] & 0x3f;
	wqe.bb = wqe.ds == 0 ? 1 : (wqe.ds + 3) / 4;
	wqe.op = opcode_find(wqe.opcode);
	wqe.first = 1;
	if (qp->type != SOFTHCA_QP_RC && !wqe.op->local)
		wqe.first += qp_address_units(qp->type);
	wqe.imm = get_be32(wqe.seg0 + CTRL_IMM);
	wqe.ce = (fm_ce_se >> 2) & 3;
	wqe.solicited = (fm_ce_se & 2) != 0;
	return wqe;
}

/* What every WQE must say of itself; VEN_NONE: it does. `posted`: WQEBBs from it to the record. */
static enum wire_vendor
wqe_check(const struct softhca_qp *qp, const struct wqe *wqe, uint16_t posted)
{
	uint32_t op = get_be32(wqe->seg0 + CTRL_OPMOD_IDX_OPCODE);
	uint32_t qpn = get_be32(wqe->seg0 + CTRL_QPN_DS) >> 8;

	if (((op >> 8) & 0xffff) != qp->sq_ci)
		return VEN_WQE_INDEX;
	if (qpn != qp->number)
		return VEN_WQE_QPN;
	if (wqe->ds == 0 || wqe->bb > posted)
		return VEN_WQE_DS;
	if (qp->bad_bf && qp->bad_bf_idx == qp->sq_ci)
		return qp->bad_bf_why;
	return VEN_NONE;
}

static void
wqe_report(const struct softhca_qp *qp, const struct wqe *wqe, enum wire_vendor why,
	uint16_t posted)
{
	uint32_t op = get_be32(wqe->seg0 + CTRL_OPMOD_IDX_OPCODE);
	uint32_t qpn = get_be32(wqe->seg0 + CTRL_QPN_DS) >> 8;

	if (why == VEN_WQE_INDEX)
		violation("QP 0x%x: the WQE at WQEBB 0x%x says index 0x%x", qp->number, qp->sq_ci,
			(op >> 8) & 0xffff);
	else if (why == VEN_WQE_QPN)
		violation("QP 0x%x: WQE 0x%x says QP 0x%x", qp->number, qp->sq_ci, qpn);
	else if (why == VEN_WQE_DS)
		violation("QP 0x%x: WQE 0x%x has DS %u, with %u WQEBBs posted", qp->number,
			qp->sq_ci, wqe->ds, posted);
}

/* ---- completions */

static void
sq_complete(struct run *run, const struct wqe *wqe, enum wire_syndrome syn)
{
	struct softhca_qp *qp = run->qp;
	const struct cqe cqe = {
		.opcode = syn == SYN_OK ? CQE_REQ : CQE_REQ_ERR,
		.uidx = qp->uidx,
		.byte_cnt = run->byte_cnt,
		.opcode_qpn = wqe->opcode << 24 | qp->number,
		.wqe_counter = qp->sq_ci,
		.syndrome = syn,
		.vendor = syn == SYN_FLUSH ? VEN_NONE : run->use.vendor,
		.timestamp = run_now(run),
	};

	run_hold_cq(run, qp->send_cq);
	cq_push(qp->send_cq, &cqe);
}

static uint16_t
sq_posted(const struct softhca_qp *qp)
{
	/* Pairs with the program's store of the record, after the WQEs before it were written. */
	uint16_t pi =
		(uint16_t)be32toh(atomic_load_explicit(&qp->dbrec[DB_SEND], memory_order_acquire));

	return (uint16_t)(pi - qp->sq_ci);
}

static void
sq_advance(struct softhca_qp *qp, uint32_t bb)
{
	uint16_t ahead = (uint16_t)(qp->announced - qp->sq_ci);

	qp->sq_ci = (uint16_t)(qp->sq_ci + bb);
	if (ahead < bb)
		qp->announced = qp->sq_ci;
	qp->bad_bf = false;
	qp->mute = false;
	qp->receive_struck = false;
	qp->wait = WAIT_NONE;
}

/* Flushed work completes whether signalled or not, unless its CE field says otherwise. */
void
sq_flush(struct run *run)
{
	struct softhca_qp *qp = run->qp;
	uint16_t posted = sq_posted(qp);

	if (qp->sq_bb == 0 || posted > qp->sq_bb)
		return;
	run->byte_cnt = 0;
	while (posted != 0) {
		struct wqe wqe = wqe_fetch(qp);

		if (wqe.ce != CE_NO_FLUSH)
			sq_complete(run, &wqe, SYN_FLUSH);
		if (wqe.bb > posted)
			wqe.bb = posted;
		sq_advance(qp, wqe.bb);
		posted = (uint16_t)(posted - wqe.bb);
		run->work++;
	}
}

/* This QP's own error: both queues are flushed, after the completion that says why. */
static void
sq_enter_error(struct run *run)
{
	struct softhca_qp *qp = run->qp;
	bool was_error;

	run_drop_cq(run);
	run_drop_peer(run);
	spin_lock(&qp->recv);
	was_error = atomic_exchange_explicit(&qp->state, QP_ERR, memory_order_acq_rel) == QP_ERR;
	rq_flush(run, qp);
	run_drop_cq(run);
	if (!was_error)
		qp_tell_last_wqe(qp);
	spin_unlock(&qp->recv);
	sq_flush(run);
}

/* Of an unreliable QP only the send queue stops: it goes on receiving, and may be set to RTS. */
static void
sq_enter_send_error(struct run *run)
{
	struct softhca_qp *qp = run->qp;

	run_drop_cq(run);
	run_drop_peer(run);
	spin_lock(&qp->recv);
	if (qp_state(qp) == QP_RTS)
		atomic_store_explicit(&qp->state, QP_SQE, memory_order_release);
	spin_unlock(&qp->recv);
	sq_flush(run);
}

/* Returns true where the queue goes on: the error was one of a DCI's streams. */
static bool
sq_fail(struct run *run, const struct wqe *wqe, enum wire_syndrome syn)
{
	struct softhca_qp *qp = run->qp;
	uint16_t posted = sq_posted(qp);

	run->byte_cnt = 0;
	sq_complete(run, wqe, syn);
	run->work++;
	if (syn != SYN_FLUSH && stream_fail(qp, wqe))
		syn = SYN_FLUSH; /* which the rest of the queue survives */
	sq_advance(qp, wqe->bb <= posted ? wqe->bb : posted);
	if (syn == SYN_FLUSH)
		return true;
	if (qp_is_unreliable(qp))
		sq_enter_send_error(run);
	else
		sq_enter_error(run);
	return false;
}

/* Without a completion to tell it by: the queue or its CQ cannot be used any more. */
static void
sq_fatal(struct run *run)
{
	sq_enter_error(run);
	run_drop_cq(run);
	softhca_event_qp_async(run->qp->event, EVENT_QP_FATAL);
	run->work++;
}

/* ---- waiting */

/*
 * RNR NAK timer of the responder, in units of 10 us: the encoding of InfiniBand volume 1, "RNR NAK
 * timer field"; ibv_modify_qp(3), min_rnr_timer.
 */
static const uint32_t rnr_timer[32] = {65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128,
	192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576,
	32768, 49152};

static uint64_t
rnr_wait_ns(const struct softhca_qp *peer)
{
	return rnr_timer[peer->attr.min_rnr_timer & 31] * UINT64_C(10000);
}

#define RNR_FOR_EVER 7

/* True: tried often enough. The head stays where it is, and is tried again in later visits. */
static bool
wait_for_receive(struct run *run)
{
	struct softhca_qp *qp = run->qp;
	uint64_t ns = rnr_wait_ns(run->peer);

	run->use.vendor = VEN_RNR;
	if (qp->wait != WAIT_RNR) {
		qp->wait = WAIT_RNR;
		qp->wait_left = qp->attr.rnr_retry;
		qp->wait_until = run_now(run) + ns;
		return qp->wait_left == 0;
	}
	if (run_now(run) < qp->wait_until)
		return false;
	qp->wait_until = run_now(run) + ns;
	if (qp->attr.rnr_retry == RNR_FOR_EVER)
		return false;
	return --qp->wait_left == 0;
}

/* Transport retries against a peer that is absent or not ready, in all: see doc/softhca.md. */
#define PEER_WAIT_MAX_NS UINT64_C(500000000)

static uint64_t
peer_wait_ns(const struct softhca_qp *qp)
{
	/* 4.096 us * 2^timeout for each try (ibv_modify_qp(3), timeout). */
	uint64_t ns =
		(UINT64_C(4096) << (qp->attr.timeout & 31)) * (uint64_t)(qp->attr.retry_cnt + 1);

	return ns < PEER_WAIT_MAX_NS ? ns : PEER_WAIT_MAX_NS;
}

static bool
wait_for_peer(struct run *run)
{
	struct softhca_qp *qp = run->qp;

	run->use.vendor = VEN_NO_PEER;
	if (qp->wait != WAIT_PEER) {
		qp->wait = WAIT_PEER;
		qp->wait_until = run_now(run) + peer_wait_ns(qp);
		return false;
	}
	/* Timeout 0 waits for ever. */
	return qp->attr.timeout != 0 && run_now(run) >= qp->wait_until;
}

/* ---- running */

enum step {
	STEP_NEXT,
	STEP_WAIT,
	STEP_ERROR
};

/* A signature was wrong, and the QP was made to stop then: mlx5dv_create_qp(3), SIG_PIPELINING. */
static void
sq_stop_for_signature(struct run *run)
{
	struct softhca_qp *qp = run->qp;

	run_drop_cq(run);
	run_drop_peer(run);
	spin_lock(&qp->recv);
	if (qp_state(qp) == QP_RTS)
		atomic_store_explicit(&qp->state, QP_SQD, memory_order_release);
	spin_unlock(&qp->recv);
	softhca_event_qp_async(qp->event, EVENT_SQ_DRAINED);
}

static enum step
sq_step_done(struct run *run, const struct wqe *wqe)
{
	if (wqe->ce >= CE_ALWAYS && !run->qp->mute)
		sq_complete(run, wqe, SYN_OK);
	sq_advance(run->qp, wqe->bb);
	run->work++;
	if (run->sig_drain)
		sq_stop_for_signature(run);
	return STEP_NEXT;
}

/* What an unreliable sender never hears of. */
static bool
is_of_responder(unsigned int result)
{
	return result == EXEC_WAIT_RNR || result == EXEC_WAIT_PEER || result == SYN_REM_ACCESS ||
	       result == SYN_REM_INV_REQ || result == SYN_REM_OP;
}

static enum step
sq_step(struct run *run, uint16_t posted)
{
	struct wqe wqe = wqe_fetch(run->qp);
	enum wire_vendor why = wqe_check(run->qp, &wqe, posted);
	unsigned int result = SYN_QP_OP;

	if (run->use.spill != NULL)
		key_use_free(&run->use);
	run->use.receiving = false;
	run->receive_mute = false;
	run->sig_drain = false;
	run->byte_cnt = 0;
	run->use.vendor = why;
	if (why != VEN_NONE) {
		wqe_report(run->qp, &wqe, why, posted);
	} else if (wqe.op->exec == NULL) {
		run->use.vendor = VEN_WQE_OPCODE;
	} else if (!opcode_runs_on(wqe.op, run->qp->type)) {
		run->use.vendor = VEN_QP_TYPE;
	} else if (wqe.ds < wqe_data_unit(&wqe)) {
		run->use.vendor = VEN_WQE_DS;
	} else if (run->qp->stream_errors != NULL && stream_is_failed(run->qp, &wqe)) {
		result = SYN_FLUSH;
	} else {
		result = wqe.op->exec(run, &wqe);
	}
	if (result == SYN_OK || (qp_is_unreliable(run->qp) && is_of_responder(result)))
		return sq_step_done(run, &wqe);
	if (result == EXEC_WAIT_TIME)
		return STEP_WAIT;
	if (result == EXEC_WAIT_RNR) {
		if (!wait_for_receive(run))
			return STEP_WAIT;
		result = SYN_RNR;
	} else if (result == EXEC_WAIT_PEER) {
		if (!wait_for_peer(run))
			return STEP_WAIT;
		result = SYN_RETRY;
	}
	return sq_fail(run, &wqe, (enum wire_syndrome)result) ? STEP_NEXT : STEP_ERROR;
}

/* ---- faults on demand and the timing model: fault.h */

/* What is to happen before this WQE runs; STEP_NEXT: it may. */
static enum step
sq_strike(struct run *run, const struct wqe *wqe, struct fault_hit hit)
{
	struct softhca_qp *qp = run->qp;

	switch (hit.kind) {
	case FAULT_COMPLETE:
		run->use.vendor = (enum wire_vendor)hit.vendor;
		sq_fail(run, wqe, (enum wire_syndrome)hit.syndrome);
		return STEP_ERROR;
	case FAULT_QP_FATAL:
		sq_fatal(run);
		return STEP_ERROR;
	case FAULT_CQ_OVERRUN:
		run_hold_cq(run, qp->send_cq);
		cq_fail(qp->send_cq);
		return STEP_ERROR;
	case FAULT_SQ_DRAINED:
		run_drop_cq(run);
		run_drop_peer(run);
		spin_lock(&qp->recv);
		atomic_store_explicit(&qp->state, QP_SQD, memory_order_release);
		spin_unlock(&qp->recv);
		softhca_event_qp_async(qp->event, EVENT_SQ_DRAINED);
		return STEP_ERROR;
	case FAULT_DROP:
		qp->mute = true;
		return STEP_NEXT;
	default:
		return STEP_NEXT;
	}
}

/* Bytes that the WQE moves over the port. A malformed WQE names some, and fails when it runs. */
static uint64_t
sq_wire_bytes(const struct run *run, const struct wqe *wqe)
{
	uint64_t bytes = 0;
	uint32_t ds = wqe_data_unit(wqe);

	if (wqe->op->remote_access == ACC_REMOTE_ATOMIC)
		return sizeof(uint64_t);
	while (ds != 0 && ds < wqe->ds) {
		uint32_t len = get_be32(wqe_seg(run, wqe, ds) + DATA_LEN);

		bytes += len & ~DATA_INLINE;
		ds += (len & DATA_INLINE) != 0
			      ? (INLINE_DATA + (len & ~DATA_INLINE) + WQE_SEG - 1) / WQE_SEG
			      : 1;
	}
	return bytes;
}

/* When the WQE at the head may complete; 0: at once. */
static uint64_t
sq_timing_due(struct run *run, const struct wqe *wqe, uint16_t posted)
{
	const struct timing_op op = {.head = run->qp->sq_ci,
		.posted = posted,
		.local = wqe->op->local,
		.bytes = wqe->op->local ? 0 : sq_wire_bytes(run, wqe)};

	if (!timing_is_on(run->lanes->dev->cfg))
		return 0;
	return timing_due(run->lanes, &run->qp->timing, &op, run_now(run));
}

/* The WQE at the head is met for the first time. */
static enum step
sq_first_look(struct run *run, const struct wqe *wqe, uint16_t posted)
{
	struct fault_hit hit = fault_next(run->qp->dev, run->qp->number);
	enum step step = sq_strike(run, wqe, hit);
	uint64_t due;

	if (step != STEP_NEXT)
		return step;
	due = sq_timing_due(run, wqe, posted);
	if (hit.kind == FAULT_LATE && due < run_now(run) + hit.ns)
		due = run_now(run) + hit.ns;
	if (due <= run_now(run))
		return STEP_NEXT;
	run->qp->wait = WAIT_TIME;
	run->qp->wait_until = due;
	return STEP_WAIT;
}

/* Without a link, what needs a peer is retried until that is given up. */
static bool
sq_has_link(const struct softhca_qp *qp, const struct wqe *wqe)
{
	return wqe->op->local || !fault_port_is_down(qp->dev, qp->attr.port);
}

/* A step of an adapter with faults or timing: sq_step(), where nothing stands against it. */
static enum step
sq_step_watched(struct run *run, uint16_t posted)
{
	struct softhca_qp *qp = run->qp;
	struct wqe wqe = wqe_fetch(qp);
	enum step step;

	if (qp->wait == WAIT_NONE) {
		step = sq_first_look(run, &wqe, posted);
		if (step != STEP_NEXT)
			return step;
	} else if (timing_is_on(run->lanes->dev->cfg)) {
		timing_note(&qp->timing, qp->sq_ci, posted, run_now(run));
	}
	if (fault_device_is_dead(qp->dev))
		return STEP_WAIT;
	if (qp->wait == WAIT_TIME && run_now(run) < qp->wait_until)
		return STEP_WAIT;
	if (sq_has_link(qp, &wqe))
		return sq_step(run, posted);
	if (!wait_for_peer(run))
		return STEP_WAIT;
	sq_fail(run, &wqe, SYN_RETRY);
	return STEP_ERROR;
}

static bool
sq_is_strict(const struct softhca_qp *qp)
{
	return qp->uar->n_qps == 1 && qp->dev->cfg->strict_doorbells != 0;
}

/* Up to what was announced; on a shared page, and where doorbells are not held to, all of it. */
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
 * A doorbell was rung, and what was announced has run, but more is posted. Either its doorbell is
 * still to come; or a wrong index or DS made the doorbell announce too little, and then the next
 * WQE cannot be what it should. That one is run, to fail by its own check.
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

/* Returns true where more can run at once. */
static bool
sq_run(struct run *run)
{
	struct softhca_qp *qp = run->qp;
	uint16_t posted = sq_posted(qp), limit;
	bool watched;

	if (posted > qp->sq_bb) {
		violation("QP 0x%x: %u WQEBBs posted to a send queue of %u", qp->number, posted,
			qp->sq_bb);
		sq_fatal(run);
		return false;
	}
	watched = fault_watches(WATCH_WQES) || qp->wait == WAIT_TIME;
	limit = sq_limit(qp, posted);
	for (unsigned int n = 0; limit != 0; n++) {
		uint16_t before = qp->sq_ci, ran;

		if (n == VISIT_MAX)
			return true;
		/* A request from the peer may have put the QP into error meanwhile. */
		if (qp_state(qp) != QP_RTS)
			return false;
		if ((watched ? sq_step_watched(run, posted) : sq_step(run, posted)) != STEP_NEXT)
			return false;
		ran = (uint16_t)(qp->sq_ci - before);
		posted = (uint16_t)(posted - ran);
		limit = (uint16_t)(ran < limit ? limit - ran : 0);
	}
	sq_check_rest(run, posted);
	return false;
}

/* In SQD only work that had begun is finished; then the program is told, if it asked. */
static void
sq_drain(struct run *run)
{
	struct softhca_qp *qp = run->qp;

	if (!qp->draining)
		return;
	if (qp->wait != WAIT_NONE && sq_step(run, sq_posted(qp)) != STEP_NEXT)
		return;
	qp->draining = false;
	if (qp->attr.en_sqd_notify)
		softhca_event_qp_async(qp->event, EVENT_SQ_DRAINED);
	run->work++;
}

static void
sq_visit_error(struct run *run)
{
	struct softhca_qp *qp = run->qp;

	if (qp->sq_bb != 0 && sq_posted(qp) != 0)
		sq_flush(run);
	if (rq_has_work(qp)) {
		run_drop_cq(run);
		run_drop_peer(run); /* one receive side at a time; it may be this very one */
		spin_lock(&qp->recv);
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
	bool more = false;

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
	run_drop_cq(run);
	run_drop_peer(run);
	if (run->use.spill != NULL)
		key_use_free(&run->use);
	/* In error, receives may still be posted, and ring no doorbell. */
	return more || qp->wait != WAIT_NONE || qp_state(qp) == QP_ERR;
}
