/* SPDX-License-Identifier: BSD-3-Clause */
/* How the WQE at the head waits: for a receive (RNR), for its peer, or until a time. */
#include "sq_wait.h"

#include "asker.h"
#include "counters.h"
#include "requester.h"

void
requester_take_answer(struct run *run, unsigned int result, const struct answer *answer)
{
	struct softhca_qp *qp = run->qp;

	run->use.vendor = answer->vendor;
	if (result == MESSAGE_RNR)
		qp->rnr_timer = answer->rnr_timer;
	if (result == MESSAGE_UNDER_WAY)
		asker_wait(qp);
	if (result != MESSAGE_LATER)
		return;
	qp->delayed = true;
	qp->wait = WAIT_TIME;
	qp->wait_until = answer->until;
}

/*
 * The responder's RNR NAK timer in units of 10 us, indexed by its encoding: InfiniBand volume 1,
 * "RNR NAK timer field"; ibv_modify_qp(3), min_rnr_timer.
 */
static const uint32_t rnr_timer[32] = {65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128,
	192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576,
	32768, 49152};

#define RNR_FOR_EVER 7

void
count_rnr(const struct run *run)
{
	const struct softhca_qp *qp = run->qp, *peer = run->responder.qp;

	if (peer != NULL)
		counters_add(peer->dev, peer->attr.port, COUNTER_OUT_OF_BUFFER);
	if (!qp_is_unreliable(qp))
		counters_add(qp->dev, qp->attr.port, COUNTER_RNR_NAKS);
}

bool
wait_for_receive(struct run *run)
{
	struct softhca_qp *qp = run->qp;
	uint64_t ns = rnr_timer[qp->rnr_timer & 31] * UINT64_C(10000);

	run->use.vendor = VEN_RNR;
	if (qp->wait != WAIT_RNR) {
		count_rnr(run);
		qp->wait = WAIT_RNR;
		qp->wait_left = qp->attr.rnr_retry;
		qp->wait_until = run_now(run) + ns;
		return qp->wait_left == 0;
	}
	if (run_now(run) < qp->wait_until)
		return false;
	count_rnr(run);
	qp->wait_until = run_now(run) + ns;
	if (qp->attr.rnr_retry == RNR_FOR_EVER)
		return false;
	return --qp->wait_left == 0;
}

/* The time for all retries of one message to a peer that is absent or not ready. */
static uint64_t
peer_wait_ns(const struct softhca_qp *qp)
{
	/* Each attempt lasts 4.096 us * 2^timeout (ibv_modify_qp(3), timeout). */
	const uint64_t ns =
		(UINT64_C(4096) << (qp->attr.timeout & 31)) * (uint64_t)(qp->attr.retry_cnt + 1);
	const uint64_t max = qp->dev->cfg->retry_max_ms * UINT64_C(1000000);

	return max != 0 && ns > max ? max : ns;
}

bool
wait_for_peer(struct run *run)
{
	struct softhca_qp *qp = run->qp;

	run->use.vendor = VEN_NO_PEER;
	if (qp->wait != WAIT_PEER) {
		qp->wait = WAIT_PEER;
		qp->wait_until = run_now(run) + peer_wait_ns(qp);
		return false;
	}
	/* With timeout 0 the WQE waits for ever. */
	if (qp->attr.timeout == 0 || run_now(run) < qp->wait_until)
		return false;
	counters_add(qp->dev, qp->attr.port, COUNTER_ACK_TIMEOUTS);
	return true;
}
