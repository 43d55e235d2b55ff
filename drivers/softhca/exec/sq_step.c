/* SPDX-License-Identifier: BSD-3-Clause */
/* One WQE: checks it, calls the executor of its opcode, and acts on the result. */
#include "sq_step.h"

#include "message.h"
#include "order.h"
#include "requester.h"
#include "sq_complete.h"
#include "sq_head.h"
#include "sq_sigstop.h"
#include "sq_wait.h"
#include "stream.h"

/*
 * The number of WQEBBs of the NOPs from `first` on that complete together with the WQE before them.
 */
static uint32_t __attribute__((noinline)) nops_from(const struct run *run, uint16_t first)
{
	const struct softhca_qp *qp = run->qp;
	uint16_t next = first, left;
	struct wqe wqe;

	while ((left = run_nops_left(run, next)) != 0) {
		wqe = wqe_fetch_at(qp, next);
		if (wqe_opcode(&wqe) != OPC_NOP || wqe_ce(&wqe) >= CE_ALWAYS ||
			wqe_check_at(qp, &wqe, next, left) != VEN_NONE)
			break;
		next = (uint16_t)(next + wqe_bb(&wqe));
	}
	return (uint16_t)(next - first);
}

/*
 * NOPs without completion are consumed together with the completing WQE before them. A program that
 * sees this completion may reuse the WQEBBs of the NOPs, as DPDK's crypto_mlx5 does: a card has
 * passed the NOPs by then, because it begins a WQE before the previous WQE has ended. Returns the
 * WQEBBs of the WQE and the NOPs.
 */
static inline __attribute__((always_inline)) uint32_t
with_nops(const struct run *run, uint32_t bb)
{
	const uint16_t next = (uint16_t)(run->qp->sq_ci + bb);

	if (run_nops_left(run, next) == 0 ||
		wqe_place(run->qp, next)[CTRL_OPMOD_IDX_OPCODE + 3] != OPC_NOP || run->sig_drain ||
		run->qp->stopping)
		return bb;
	return bb + nops_from(run, next);
}

static inline __attribute__((always_inline)) enum step
step_done(struct run *run, const struct wqe *wqe, uint32_t bb, bool reordered)
{
	const bool completes = wqe_ce(wqe) >= CE_ALWAYS && !run->qp->mute;

	/*
	 * PSVs get their new values before the completion is written: a program that sees the
	 * completion may configure the keys and PSVs again.
	 */
	if (run->use.spill != NULL)
		key_use_free(&run->use);
	if (completes)
		bb = with_nops(run, bb);
	if (reordered)
		order_end(run, wqe, completes);
	else if (completes)
		sq_complete(run, wqe, SYN_OK);
	sq_advance(run->qp, bb);
	run->work++;
	if (__builtin_expect(!run->sig_drain, 1))
		return STEP_NEXT;
	run->sig_drain = false;
	sigstop_begin(run);
	return STEP_NEXT;
}

/*
 * True if the result is an error of the responder. A sender on an unreliable transport is not told
 * of this error.
 */
static bool
is_of_responder(unsigned int result)
{
	return result == MESSAGE_RNR || result == MESSAGE_NO_PEER || result == SYN_REM_ACCESS ||
	       result == SYN_REM_INV_REQ || result == SYN_REM_OP;
}

static inline __attribute__((always_inline)) enum step
step_failed(struct run *run, const struct wqe *wqe, unsigned int result, bool reordered)
{
	if (qp_is_unreliable(run->qp) && is_of_responder(result)) {
		if (result == MESSAGE_RNR)
			count_rnr(run);
		return step_done(run, wqe, wqe_bb(wqe), reordered);
	}
	run->sig_drain = false;
	key_use_undo(&run->use);
	key_use_free(&run->use);
	if (result == MESSAGE_LATER || result == MESSAGE_UNDER_WAY)
		return STEP_WAIT;
	if (result == MESSAGE_RNR) {
		if (!wait_for_receive(run))
			return STEP_WAIT;
		result = SYN_RNR;
	} else if (result == MESSAGE_NO_PEER) {
		if (!wait_for_peer(run))
			return STEP_WAIT;
		result = SYN_RETRY;
	}
	return sq_fail(run, wqe, (enum wire_syndrome)result) ? STEP_NEXT : STEP_STOP;
}

/* Runs a rare WQE: a malformed WQE, or a WQE whose result depends on its stream. */
static unsigned int __attribute__((noinline))
step_odd(struct run *run, const struct wqe *wqe, uint16_t posted)
{
	struct softhca_qp *qp = run->qp;
	enum wire_vendor why;

	/* The head has passed the index that BlueFlame gave, so no WQE began at this index. */
	if (qp->bad_bf && (int16_t)(qp->bad_bf_idx - qp->sq_ci) < 0)
		qp->bad_bf = false;
	why = wqe_check(qp, wqe, posted);
	if (why != VEN_NONE) {
		wqe_report(run->qp, wqe, why, posted);
		return requester_refuse(run, why, SYN_QP_OP);
	}
	if (wqe->op->exec == NULL)
		return requester_refuse(run, VEN_WQE_OPCODE, SYN_QP_OP);
	if (!opcode_runs_on(wqe->op, run->qp->type))
		return requester_refuse(run, VEN_QP_TYPE, SYN_QP_OP);
	if (wqe->ds < wqe_data_unit(wqe))
		return requester_refuse(run, VEN_WQE_DS, SYN_QP_OP);
	if (run->qp->stream_errors != NULL && stream_is_failed(run->qp, wqe))
		return SYN_FLUSH;
	return wqe->op->exec(run, wqe);
}

static inline __attribute__((always_inline)) enum step
step(struct run *run, uint16_t posted, bool reordered)
{
	const struct softhca_qp *qp = run->qp;
	const struct wqe wqe = wqe_fetch(qp);
	const uint32_t bb = wqe_bb(&wqe);
	unsigned int result;

	run->byte_cnt = 0;
	run->use.vendor = VEN_NONE;
	if (__builtin_expect(wqe_is_at(qp, &wqe, qp->sq_ci) && wqe.ds != 0 && bb <= posted &&
				     !qp->bad_bf && opcode_runs_on(wqe.op, qp->type) &&
				     wqe.ds >= wqe_data_unit(&wqe) && qp->stream_errors == NULL,
		    1))
		result = wqe.op->exec(run, &wqe);
	else
		result = step_odd(run, &wqe, posted);
	return __builtin_expect(result == SYN_OK, 1) ? step_done(run, &wqe, bb, reordered)
						     : step_failed(run, &wqe, result, reordered);
}

enum step
sq_step(struct run *run, uint16_t posted)
{
	return step(run, posted, false);
}

enum step
sq_step_reordered(struct run *run, uint16_t posted)
{
	const struct wqe wqe = wqe_fetch(run->qp);

	/* If order.c has no memory to hold bytes back, the bytes move in the order of posting. */
	return order_begin(run, &wqe) ? step(run, posted, true) : step(run, posted, false);
}

static inline __attribute__((always_inline)) enum step
step_plain(struct run *run, uint16_t posted)
{
	return step(run, posted, false);
}

enum step
sq_steps(struct run *run, uint16_t posted, uint16_t limit)
{
	return sq_steps_by(run, posted, limit, step_plain);
}
