/* SPDX-License-Identifier: BSD-3-Clause */
/* Returns the counters of a queue, the names of statuses, and the version of the library. */
#include "gantry_queue.h"

#include <assert.h>
#include <string.h>

static_assert(GANTRY_CARRIER_MAX <= GANTRY_STATS_CARRIERS &&
		      GANTRY_STATUS_MAX <= GANTRY_STATS_STATUSES,
	"the arrays of gantry_stats have room for every carrier and status");

void
gantry_stats_get(const struct gantry_queue *q, struct gantry_stats *stats)
{
	uint64_t own, others;
	unsigned int i;

	const gantry_counter *completed = q->unordered ? &q->any_order.completed : &q->stream.tail;
	const gantry_counter *submitted = q->unordered ? &q->any_order.submitted : &q->stream.head;

	memset(stats, 0, sizeof(*stats));
	/*
	 * `completed` is read first, so that it never exceeds `submitted`, as gantry.h promises.
	 * Pairs with the releases in gantry_complete.h and gantry_complete.c.
	 */
	stats->completed = atomic_load_explicit(completed, memory_order_acquire);
	stats->submitted = gantry_counter_get(submitted);
	stats->bytes = gantry_counter_get(&q->stats.bytes);
	stats->doorbells = gantry_counter_get(&q->stats.doorbells);
	own = gantry_counter_get(&q->stats.own_wqes);
	others = gantry_counter_get(&q->stats.own_others);
	stats->wqes = own + gantry_counter_get(&q->stats.peer_wqes);
	for (i = 0; i < GANTRY_CARRIER_MAX; i++)
		stats->copies[i] = gantry_counter_get(&q->rare.copies[i]);
	/*
	 * own_wqes is increased when the doorbell is rung, own_others when a WQE is written. So
	 * own_others may be greater than own_wqes.
	 */
	stats->copies[q->choice.usual] += own > others ? own - others : 0;
	stats->cqes = gantry_counter_get(&q->stats.cqes);
	/* recv_done is read first, so that it never exceeds recv_posted. */
	stats->recv_done = gantry_counter_get(&q->stats.recv_done);
	stats->recv_posted = gantry_counter_get(&q->stats.recv_posted);
	stats->recoveries = gantry_counter_get(&q->rare.recoveries);
	stats->replays = gantry_counter_get(&q->rare.replays);
	stats->layout_hits = gantry_counter_get(&q->keys.hits);
	stats->layout_misses = gantry_counter_get(&q->keys.misses);
	/* txn_done is read first, so that it never exceeds txn_opened. */
	stats->txn_done = gantry_counter_get(&q->txns.counts.done);
	stats->txn_opened = gantry_counter_get(&q->txns.counts.opened);
	stats->txn_stops = gantry_counter_get(&q->txns.counts.stops);
	stats->txn_cancelled = gantry_counter_get(&q->txns.counts.cancelled);
	for (i = GANTRY_OK + 1, others = 0; i < GANTRY_STATUS_MAX; i++) {
		stats->by_status[i] = gantry_counter_get(&q->rare.by_status[i]);
		others += stats->by_status[i];
	}
	/*
	 * A failure is counted before `completed` is increased, so the sum of failures may exceed
	 * `completed`.
	 */
	stats->by_status[GANTRY_OK] = stats->completed - RTE_MIN(others, stats->completed);
}

uint32_t
gantry_version(void)
{
	return GANTRY_VERSION;
}

const char *
gantry_status_name(enum gantry_status status)
{
	static const char *const name[GANTRY_STATUS_MAX] = {
		[GANTRY_OK] = "ok",
		[GANTRY_BAD_OP] = "unknown operation, or one that the queue or device lacks",
		[GANTRY_BAD_FIELD] = "unused field not zero",
		[GANTRY_BAD_CARRIER] = "carrier contradictory or not possible",
		[GANTRY_BAD_LAYOUT] = "no such layout, or too long for the connection",
		[GANTRY_BAD_PROFILE] = "no such profile",
		[GANTRY_BAD_DEK] = "no such DEK, or it is retired",
		[GANTRY_BAD_LENGTH] = "length zero, overflowing or not for this operation",
		[GANTRY_BAD_ADDRESS] = "address not aligned, or no list, WQE or transaction",
		[GANTRY_OVERLAP] = "source and destination overlap",
		[GANTRY_NOT_REGISTERED] = "memory not registered, or not for this access",
		[GANTRY_NO_RESOURCES] = "no memory or key for what the operation needs",
		[GANTRY_READ_ONLY] = "destination is read-only",
		[GANTRY_BAD_PEER] = "no such peer, not connected, or not for this operation",
		[GANTRY_SIG_ERROR] = "wrong signature: gantry_txn::error",
		[GANTRY_LOCAL_ERROR] = "the device refused local memory or the WQE",
		[GANTRY_REMOTE_ACCESS] = "refused by the peer: key, bounds or rights",
		[GANTRY_REMOTE_ERROR] = "failed at the peer",
		[GANTRY_UNREACHABLE] = "peer does not answer",
		[GANTRY_CANCELLED] = "cancelled before the hardware had it",
		[GANTRY_FLUSHED] = "flushed: an earlier operation of the connection failed",
		[GANTRY_TIMED_OUT] = "timed out: not done by the deadline",
		[GANTRY_QP_EVENT] = "connection failed by an event",
		[GANTRY_DEVICE_LOST] = "device lost: destroy the queue",
	};

	if ((unsigned int)status >= GANTRY_STATUS_MAX)
		return "unknown status";
	return name[status];
}
