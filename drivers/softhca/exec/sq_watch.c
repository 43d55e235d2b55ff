/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of a send queue with faults on demand or the timing model. */
#include "sq_watch.h"

#include "asker.h"
#include "fault.h"
#include "key.h"
#include "order.h"
#include "sq_complete.h"
#include "sq_sigstop.h"
#include "sq_wait.h"
#include "timing.h"

/* Applies a fault before the WQE at the head runs. Returns STEP_NEXT if the WQE may run. */
static enum step
strike(struct run *run, const struct wqe *wqe, struct fault_hit hit)
{
	struct softhca_qp *qp = run->qp;

	switch (hit.kind) {
	case FAULT_COMPLETE:
		run->use.vendor = (enum wire_vendor)hit.vendor;
		sq_fail(run, wqe, (enum wire_syndrome)hit.syndrome);
		return STEP_STOP;
	case FAULT_QP_FATAL:
		sq_fatal(run);
		return STEP_STOP;
	case FAULT_CQ_OVERRUN:
		run_hold_cq(run, qp->send_cq);
		cq_fail(qp->send_cq);
		return STEP_STOP;
	case FAULT_SQ_DRAINED:
		sq_stop(run);
		return STEP_STOP;
	case FAULT_DROP:
		qp->mute = true;
		return STEP_NEXT;
	default:
		return STEP_NEXT;
	}
}

/*
 * The number of bytes of the data segments from unit ds on. For a malformed WQE the result does not
 * matter, because the WQE fails when it runs.
 */
static uint64_t
data_bytes(const struct run *run, const struct wqe *wqe, uint32_t ds)
{
	uint64_t bytes = 0;

	while (ds != 0 && ds < wqe->ds) {
		uint32_t len = get_be32(wqe_seg(run, wqe, ds) + DATA_LEN);

		bytes += len & ~DATA_INLINE;
		ds += (len & DATA_INLINE) != 0
			      ? (INLINE_DATA + (len & ~DATA_INLINE) + WQE_SEG - 1) / WQE_SEG
			      : 1;
	}
	return bytes;
}

/*
 * The number of bytes of a raw packet's frames. TSO sends the inline header before each part of the
 * data.
 */
static uint64_t
frame_bytes(const struct run *run, const struct wqe *wqe)
{
	const uint8_t *eth = wqe_seg(run, wqe, wqe->first);
	const uint32_t header = get_be16(eth + ETH_INLINE_LEN), mss = get_be16(eth + ETH_MSS);
	const uint64_t data = data_bytes(run, wqe, wqe->first + wqe_eth_units(header));
	const bool is_cut = wqe_opcode(wqe) == OPC_TSO && mss != 0 && data != 0;

	return data + (is_cut ? (data + mss - 1) / mss : 1) * header;
}

/* The number of bytes that the WQE moves over the port. */
static uint64_t
wire_bytes(const struct run *run, const struct wqe *wqe)
{
	if (wqe->op->remote_access == ACC_REMOTE_ATOMIC)
		return sizeof(uint64_t);
	if (run->qp->type == SOFTHCA_QP_RAW)
		return frame_bytes(run, wqe);
	return data_bytes(run, wqe, wqe_data_unit(wqe));
}

/*
 * The small fence waits only for local operations, which have no round trip. So it does not count
 * in the timing model.
 */
static enum timing_fence
fence_in_time(const struct wqe *wqe)
{
	switch (wqe_fence(wqe)) {
	case FM_NONE:
	case FM_SMALL:
		return TIMING_NO_FENCE;
	case FM_FENCE:
	case FM_SMALL_AND_FENCE:
		return TIMING_FENCE_READS;
	default:
		return TIMING_FENCE_ALL;
	}
}

/*
 * The time at which the WQE at the head may complete: by the timing model, but not before
 * `earliest`.
 */
static uint64_t
due(struct run *run, const struct wqe *wqe, uint16_t posted, uint64_t earliest)
{
	const struct timing_op op = {.head = run->qp->sq_ci,
		.posted = posted,
		.local = wqe->op->local,
		.is_read = (wqe->op->remote_access & (ACC_REMOTE_READ | ACC_REMOTE_ATOMIC)) != 0,
		.fence = fence_in_time(wqe),
		.bytes = wqe->op->local ? 0 : wire_bytes(run, wqe),
		.earliest = earliest};

	if (!timing_is_on(run->lanes->dev->cfg))
		return earliest;
	return timing_due(run->lanes, &run->qp->timing, &op, run_now(run));
}

/* Called once for each WQE, when it becomes the head. */
static enum step
first_look(struct run *run, const struct wqe *wqe, uint16_t posted)
{
	struct fault_hit hit = fault_next(run->qp->dev, run->qp->number);
	enum step step;
	uint64_t at;

	if (hit.kind != FAULT_NONE)
		order_settle(run);
	step = strike(run, wqe, hit);
	if (step != STEP_NEXT)
		return step;
	at = due(run, wqe, posted, hit.kind == FAULT_LATE ? run_now(run) + hit.ns : 0);
	if (at <= run_now(run))
		return STEP_NEXT;
	run->qp->wait = WAIT_TIME;
	run->qp->wait_until = at;
	return STEP_WAIT;
}

/*
 * False if the WQE needs a peer and the port is down. The WQE is then retried until no attempt is
 * left.
 */
static bool
has_link(const struct softhca_qp *qp, const struct wqe *wqe)
{
	return wqe->op->local || !fault_port_is_down(qp->dev, qp->attr.port);
}

/* With the setting `reorder`, the WQE may be delayed so that other queues run before it. */
static enum step
sq_step_in_some_order(struct run *run, uint16_t posted)
{
	struct softhca_qp *qp = run->qp;

	if (run->lanes->dev->cfg->reorder == 0)
		return sq_step(run, posted);
	if (qp->wait != WAIT_NONE || !order_pauses(run))
		return sq_step_reordered(run, posted);
	qp->wait = WAIT_TIME;
	qp->wait_until = run_now(run);
	run->work++; /* tells softhca_pump() that the adapter is not idle */
	return STEP_WAIT;
}

/* Runs the WQE at the head, if its port is up. */
static enum step
sq_step_linked(struct run *run, const struct wqe *wqe, uint16_t posted)
{
	if (has_link(run->qp, wqe))
		return sq_step_in_some_order(run, posted);
	if (!wait_for_peer(run))
		return STEP_WAIT;
	sq_fail(run, wqe, SYN_RETRY);
	return STEP_STOP;
}

enum step
sq_step_watched(struct run *run, uint16_t posted)
{
	struct softhca_qp *qp = run->qp;
	const unsigned int waited = asker_waited(qp);
	const bool is_late = waited == WAIT_PEER || waited == WAIT_RNR;
	struct wqe wqe = wqe_fetch(qp);
	enum step step;

	if (qp->wait == WAIT_NONE) {
		if (qp->stopping && sigstop_before(run, &wqe))
			return STEP_STOP;
		step = first_look(run, &wqe, posted);
		if (step != STEP_NEXT)
			return step;
	} else if (timing_is_on(run->lanes->dev->cfg)) {
		timing_note(run->lanes, &qp->timing, qp->sq_ci, posted, run_now(run));
	}
	if (fault_device_is_dead(qp->dev))
		return STEP_WAIT;
	if (qp->wait == WAIT_TIME && run_now(run) < qp->wait_until)
		return STEP_WAIT;
	if (qp->wait > WAIT_TIME && !asker_goes_on(run))
		return STEP_WAIT;
	step = sq_step_linked(run, &wqe, posted);
	if (is_late && step == STEP_NEXT)
		timing_late(&qp->timing, run_now(run));
	return step;
}
