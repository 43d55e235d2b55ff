/* SPDX-License-Identifier: BSD-3-Clause */
/* Accounts for written WQEs, and tells the device about them. */
#ifndef GANTRY_DOORBELL_H
#define GANTRY_DOORBELL_H

#include <hwq_db.h>

#include "gantry_queue.h"

/*
 * Accounts for n WQEBBs that were written to a connection. Its doorbell is rung before the owner's
 * call ends.
 */
static inline void
gantry_note_posted(struct gantry_queue *q, uint32_t conn, uint32_t n)
{
	q->outstanding += n;
	if (conn != GANTRY_CONN_OWN)
		gantry_conn_set_add(&q->unrung, conn);
}

/*
 * As gantry_note_posted(), for n WQEBBs whose doorbell the caller rings at once. c: the own
 * connection if `own` is true, otherwise the connection of an RC peer.
 */
static inline void
gantry_note_rung(struct gantry_queue *q, const struct gantry_conn *c, uint32_t n, const bool own)
{
	q->outstanding += n;
	if (!own)
		gantry_conn_set_add_at(&q->active, &c->place);
	gantry_counter_add(own ? &q->stats.own_wqes : &q->stats.peer_wqes, n);
	gantry_counter_add(&q->stats.doorbells, 1);
}

/*
 * Counts n doorbells, which announce n_bb WQEBBs together. wqes: the counter of this kind of
 * connection in gantry_queue_stats.
 */
static inline void
gantry_note_doorbells(struct gantry_queue *q, gantry_counter *wqes, uint64_t n, uint64_t n_bb)
{
	gantry_counter_add(wqes, n_bb);
	gantry_counter_add(&q->stats.doorbells, n);
}

/*
 * Rings the doorbell of a connection. The last WQE makes a CQE, which accounts for all WQEs before
 * it. Returns the number of WQEBBs, for gantry_note_doorbells().
 */
static inline uint32_t
gantry_announce(struct gantry_conn *c)
{
	uint32_t n_bb = hwq_sq_pending_bb(c->sq);

	hwq_sq_signal_and_ring(c->sq);
	return n_bb;
}

/* Rings the doorbell of a connection, and counts the doorbell. */
static inline void
gantry_ring(struct gantry_queue *q, struct gantry_conn *c, gantry_counter *wqes)
{
	gantry_note_doorbells(q, wqes, 1, gantry_announce(c));
}

#endif
