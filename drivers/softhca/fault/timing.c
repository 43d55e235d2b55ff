/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timing model: when an operation may complete, so that designs compare as they would on a wire.
 *
 *     posted --> [ its queue: latency_ns each ] --> [ the port: bytes / bandwidth ] --> round trip
 *                 one after another                  shared by all queues               overlapping
 *
 * A WQE runs at the time at which it is due, and completes then. One that stays inside the adapter
 * takes no time of the port and no round trip.
 */
#include "fault.h"

void
timing_init(const struct softhca_config *cfg)
{
	if (timing_is_on(cfg))
		atomic_fetch_or(&machine_bits, MACHINE_OPS);
}

/* When the WQE at the head was announced. Doorbells beyond the last mark share that mark's time. */
static uint64_t
timing_posted_at(struct run *run, uint16_t posted)
{
	struct softhca_qp *qp = run->qp;
	struct qp_timing *t = &qp->timing;
	uint16_t end = (uint16_t)(qp->sq_ci + posted);

	/* Behind the head: of WQEs that are done, or of a life before RESET. */
	while (t->n != 0 && ((uint16_t)(t->marks[0].end - qp->sq_ci) == 0 ||
				    (uint16_t)(t->marks[0].end - qp->sq_ci) > posted)) {
		t->n--;
		memmove(t->marks, t->marks + 1, t->n * sizeof(t->marks[0]));
	}
	if (t->n == 0 || t->marks[t->n - 1].end != end) {
		if (t->n == TIMING_MARKS)
			t->n--;
		else
			t->marks[t->n].at = run_now(run);
		t->marks[t->n++].end = end;
	}
	return t->marks[0].at;
}

/* The port is busy with these bytes from `at` on, or from when it is free: until when? */
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
timing_note(struct run *run, uint16_t posted)
{
	if (timing_is_on(run->lanes->dev->cfg))
		timing_posted_at(run, posted);
}

uint64_t
timing_due(struct run *run, uint16_t posted, bool local, uint64_t bytes)
{
	const struct softhca_config *cfg = run->lanes->dev->cfg;
	struct softhca_qp *qp = run->qp;
	uint64_t at;

	if (!timing_is_on(cfg))
		return 0;
	at = timing_posted_at(run, posted);
	if (at < qp->timing.free)
		at = qp->timing.free;
	at += cfg->latency_ns;
	qp->timing.free = at;
	if (local)
		return at;
	/* Mbit/s are bits a microsecond: 8000 / Mbit/s is ns a byte. */
	if (cfg->bandwidth_mbps != 0)
		at = timing_take_port(run->lanes, at, bytes * 8000 / cfg->bandwidth_mbps);
	return at + cfg->round_trip_ns;
}
