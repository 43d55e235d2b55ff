/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing model: when an operation may complete, so that designs compare as they would on a
 * real network.
 *
 *      posted --> [ its queue: latency_ns each ] --> [ the port: bytes / bandwidth ] --> round trip
 *                  one after another                  shared by all queues               overlapping
 *
 * A WQE runs at the time at which it is due, and completes then. One that stays inside the adapter
 * takes no time of the port and no round trip. A fenced WQE begins its latency when the round trips
 * that its fence waits for have ended, and what is behind it begins after it.
 */
#include "timing.h"

#include <stdatomic.h>
#include <string.h>

#include "lanes.h"

/* When the WQE at the head was announced. Doorbells beyond the last mark share that mark's time. */
static uint64_t
timing_posted_at(struct timing_queue *t, uint16_t head, uint16_t posted, uint64_t now)
{
	uint16_t end = (uint16_t)(head + posted);

	/* Drops marks behind the head: of WQEs that are done, or from before RESET. */
	while (t->n != 0 && ((uint16_t)(t->marks[0].end - head) == 0 ||
				    (uint16_t)(t->marks[0].end - head) > posted)) {
		t->n--;
		memmove(t->marks, t->marks + 1, t->n * sizeof(t->marks[0]));
	}
	if (t->n == 0 || t->marks[t->n - 1].end != end) {
		if (t->n == TIMING_MARKS)
			t->n--;
		else
			t->marks[t->n].at = now;
		t->marks[t->n++].end = end;
	}
	return t->marks[0].at;
}

/*
 * Takes the port for ns, from `at` on or from when it is free. Returns the time when it is free
 * again.
 */
static uint64_t
timing_take_port(struct softhca_lanes *lanes, uint64_t at, uint64_t ns)
{
	uint64_t was = atomic_load(&lanes->port_free), end;

	do
		end = (was > at ? was : at) + ns;
	while (!atomic_compare_exchange_weak(&lanes->port_free, &was, end));
	return end;
}

void
timing_note(struct timing_queue *queue, uint16_t head, uint16_t posted, uint64_t now)
{
	timing_posted_at(queue, head, posted, now);
}

static uint64_t
later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* When the operation may leave its queue's stage: after what is before it, and what its fence names. */
static uint64_t
timing_leave(struct timing_queue *queue, const struct timing_op *op, uint64_t at, uint64_t latency)
{
	at = later(at, queue->free);
	if (op->fence == TIMING_FENCE_READS)
		at = later(at, queue->reads_end);
	else if (op->fence == TIMING_FENCE_ALL)
		at = later(at, queue->all_end);
	return queue->free = at + latency;
}

static uint64_t
timing_travel(struct softhca_lanes *lanes, const struct timing_op *op, uint64_t at)
{
	const struct softhca_config *cfg = lanes->dev->cfg;

	if (op->local)
		return at;
	/* 1 Mbit/s is 1 bit/us: a byte takes 8000 / (Mbit/s) ns. */
	if (cfg->bandwidth_mbps != 0)
		at = timing_take_port(lanes, at, op->bytes * 8000 / cfg->bandwidth_mbps);
	return at + cfg->round_trip_ns;
}

uint64_t
timing_due(struct softhca_lanes *lanes, struct timing_queue *queue, const struct timing_op *op,
	uint64_t now)
{
	uint64_t at = timing_posted_at(queue, op->head, op->posted, now);

	at = timing_leave(queue, op, at, lanes->dev->cfg->latency_ns);
	at = later(timing_travel(lanes, op, at), op->earliest);
	queue->all_end = later(queue->all_end, at);
	if (op->is_read)
		queue->reads_end = later(queue->reads_end, at);
	return at;
}

void
timing_late(struct timing_queue *queue, uint64_t now)
{
	queue->reads_end = later(queue->reads_end, now);
	queue->all_end = later(queue->all_end, now);
}
