/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing model: computes when an operation may complete. With this model, two designs of a
 * program can be compared as on a real network.
 *
 *      doorbell --> doorbell_ns                         overlapping
 *               --> [ its queue: latency_ns each ]       one after another
 *               --> [ the port: bytes / bandwidth ]      shared by all queues
 *               --> round trip                           overlapping
 *
 * A WQE runs and completes at the computed time. A WQE that stays inside the adapter takes no time
 * of the port, and has no round trip. The latency of a fenced WQE begins when the round trips that
 * the fence waits for have ended. The WQEs after a fenced WQE begin after the fenced WQE.
 */
#include "timing.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "lanes.h"

bool
timing_init(const struct softhca_config *cfg, struct timing_queue *queue, uint32_t sq_bb)
{
	*queue = (struct timing_queue){0};
	if (!timing_is_on(cfg) || sq_bb == 0)
		return true;
	queue->size = sq_bb;
	queue->marks = calloc(sq_bb, sizeof(*queue->marks));
	return queue->marks != NULL;
}

void
timing_fini(struct timing_queue *queue)
{
	free(queue->marks);
}

void
timing_reset(struct timing_queue *queue)
{
	*queue = (struct timing_queue){.marks = queue->marks, .size = queue->size};
}

/*
 * Returns mark i of the ring. The ring has a slot for each WQEBB of the send queue, and each
 * doorbell announces at least one WQEBB. So each mark has a slot.
 */
static struct timing_mark *
timing_mark(struct timing_queue *queue, uint32_t i)
{
	return &queue->marks[(queue->first + i) & (queue->size - 1)];
}

/* Returns the time at which the adapter saw the doorbell that announced the WQE at the head. */
static uint64_t
timing_posted_at(struct timing_queue *queue, uint16_t head, uint16_t posted, uint64_t seen)
{
	uint16_t end = (uint16_t)(head + posted);

	/* Drops the marks of WQEs that have run. */
	while (queue->n != 0 && (uint16_t)(timing_mark(queue, 0)->end - head - 1) >= posted) {
		queue->first++;
		queue->n--;
	}
	if (queue->n == 0 || timing_mark(queue, queue->n - 1)->end != end)
		*timing_mark(queue, queue->n++) = (struct timing_mark){.at = seen, .end = end};
	return timing_mark(queue, 0)->at;
}

/*
 * Reserves the port for `ns`, from time `at` on, or later if the port is not free then. Returns the
 * end of the reserved time.
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
timing_note(struct softhca_lanes *lanes, struct timing_queue *queue, uint16_t head, uint16_t posted,
	uint64_t now)
{
	timing_posted_at(queue, head, posted, now + lanes->dev->cfg->doorbell_ns);
}

static uint64_t
later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Returns the time at which the operation may leave the queue stage: after the earlier operations
 * of the queue, and after the operations that its fence waits for.
 */
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
	/* 1 Mbit/s is 1 bit/us, so a byte takes 8000 / (rate in Mbit/s) ns. */
	if (cfg->bandwidth_mbps != 0)
		at = timing_take_port(lanes, at, op->bytes * 8000 / cfg->bandwidth_mbps);
	return at + cfg->round_trip_ns;
}

uint64_t
timing_due(struct softhca_lanes *lanes, struct timing_queue *queue, const struct timing_op *op,
	uint64_t now)
{
	const struct softhca_config *cfg = lanes->dev->cfg;
	uint64_t at = timing_posted_at(queue, op->head, op->posted, now + cfg->doorbell_ns);

	at = timing_leave(queue, op, at, cfg->latency_ns);
	at = later(timing_travel(lanes, op, at), op->earliest);
	queue->all_end = later(queue->all_end, at);
	if (op->is_read)
		queue->reads_end = later(queue->reads_end, at);
	return at;
}

void
timing_resume(struct timing_queue *queue, uint64_t now)
{
	queue->free = later(queue->free, now);
}

void
timing_late(struct timing_queue *queue, uint64_t now)
{
	queue->reads_end = later(queue->reads_end, now);
	queue->all_end = later(queue->all_end, now);
}
