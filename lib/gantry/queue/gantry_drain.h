/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draining: how a queue finds out that all WQEs which it posted under an old version of the table
 * of regions have completed, so that the key of a removed region can be destroyed.
 *
 *   version n+1 is published      the owner's next call: gantry_enter()
 *                                   nothing outstanding: drained = n+1
 *                                   else: marks what each connection has posted
 *                                 its later calls: gantry_enter()
 *                                   all marks are reached: drained = n+1
 *
 * One version drains at a time. If the table changes meanwhile, the newest version is the next to
 * drain. While no version drains, calls have no cost: the comparison that finds a new version also
 * finds a draining one.
 */
#ifndef GANTRY_DRAIN_H
#define GANTRY_DRAIN_H

#include "gantry_queue.h"

/* Called by gantry_enter() if the table has changed, or while a version drains. */
void gantry_drain_update(struct gantry_queue *q);

/* As gantry_drain_is_needed(), for callers that know that no descriptor is issued in part. */
static inline bool
gantry_drain_is_needed_unsplit(const struct gantry_queue *q)
{
	return (q->outstanding | (uintptr_t)TAILQ_FIRST(&q->recv_rings)) != 0;
}

/*
 * Returns true if keys of regions are in outstanding WQEs or posted receives, or are kept for WQEs
 * of a split descriptor.
 */
static inline bool
gantry_drain_is_needed(const struct gantry_queue *q)
{
	const struct gantry_stream *s;

	if (gantry_drain_is_needed_unsplit(q) || q->stream.splitting)
		return true;
	if (unlikely(q->unordered))
		TAILQ_FOREACH(s, &q->any_order.busy, next_busy)
			if (s->splitting)
				return true;
	return false;
}

/* Begins a call of the owner that looks up regions or posts WQEs. */
static inline void
gantry_enter(struct gantry_queue *q)
{
	if (unlikely(gantry_region_enter(&q->view)))
		gantry_drain_update(q);
}

/* Ends a call of the owner that began with gantry_enter(). */
static inline void
gantry_leave(struct gantry_queue *q)
{
	gantry_region_leave(&q->view, gantry_drain_is_needed(q));
}

/* As gantry_leave(), for callers that know that no descriptor is issued in part. */
static inline void
gantry_leave_unsplit(struct gantry_queue *q)
{
	gantry_region_leave(&q->view, gantry_drain_is_needed_unsplit(q));
}

#endif
