/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets the marks of a draining version, and finds out when they are reached. */
#include "gantry_drain.h"

#include "gantry_latency.h"

#include "gantry_recv_ring.h"

/*
 * Calls f for every stream that may have a descriptor issued in part. Returns true if f returned
 * true for one or more of them.
 */
static bool
any_stream(struct gantry_queue *q, bool (*f)(struct gantry_stream *s))
{
	struct gantry_stream *s;
	bool any = false;

	if (!q->unordered)
		return f(&q->stream);
	TAILQ_FOREACH(s, &q->any_order.busy, next_busy)
		any |= f(s);
	return any;
}

static bool
mark_split(struct gantry_stream *s)
{
	s->old_split = s->splitting;
	return s->splitting;
}

static bool
is_old_split(struct gantry_stream *s)
{
	return s->splitting && s->old_split;
}

static void
mark_receives(struct gantry_queue *q)
{
	struct gantry_recv_ring *ring;

	TAILQ_FOREACH(ring, &q->recv_rings, next)
		gantry_recv_ring_mark(ring);
}

/* Returns true if all receives that were posted at the mark have completed, handed out or not. */
static bool
marked_receives_are_done(struct gantry_queue *q)
{
	struct gantry_recv_ring *ring;

	TAILQ_FOREACH(ring, &q->recv_rings, next) {
		gantry_recv_ring_take(ring);
		if (!gantry_recv_ring_mark_is_reached(ring))
			return false;
	}
	return true;
}

/*
 * Stores the last posted WQE of each connection. Connections without outstanding WQEs need no mark.
 */
static void
mark(struct gantry_queue *q, uint64_t version)
{
	uint32_t i;

	q->drain.version = version;
	q->drain.split = any_stream(q, mark_split);
	q->drain.replays = gantry_counter_get(&q->rare.replays);
	q->conn[GANTRY_CONN_OWN].mark = q->conn[GANTRY_CONN_OWN].posted;
	for (i = gantry_conn_set_next(&q->active, 0); i != GANTRY_CONN_SET_MAX;
		i = gantry_conn_set_next(&q->active, i + 1))
		q->conn[i].mark = q->conn[i].posted;
	mark_receives(q);
}

static bool
marks_are_reached(struct gantry_queue *q)
{
	uint32_t i;

	if (q->conn[GANTRY_CONN_OWN].done < q->conn[GANTRY_CONN_OWN].mark)
		return false;
	/*
	 * mark() sets no mark for a connection without outstanding WQEs. If such a connection has
	 * become active since, its mark is 0, or was set by an earlier call of mark(). Its `done`
	 * had reached this mark when the connection had no outstanding WQE.
	 */
	for (i = gantry_conn_set_next(&q->active, 0); i != GANTRY_CONN_SET_MAX;
		i = gantry_conn_set_next(&q->active, i + 1))
		if (q->conn[i].done < q->conn[i].mark)
			return false;
	return marked_receives_are_done(q);
}

/* Returns true if flushed WQEs of the own connection may be posted again. */
static bool
own_is_in_repair(const struct gantry_queue *q)
{
	uint8_t state = q->conn[GANTRY_CONN_OWN].state;

	return state == GANTRY_CONN_DRAINING || state == GANTRY_CONN_BROKEN;
}

/* Returns true if no WQE that was posted before the draining version is outstanding. */
static bool
is_drained(struct gantry_queue *q)
{
	struct gantry_drain *d = &q->drain;

	if (!gantry_drain_is_needed(q))
		return true;
	/*
	 * Old keys (from before the draining version) are in WQEs that will be posted later: in the
	 * rest of a descriptor that is issued in part, and in WQEs that will be replayed.
	 */
	if (own_is_in_repair(q) || (d->split && any_stream(q, is_old_split)))
		return false;
	if (d->split || d->replays != gantry_counter_get(&q->rare.replays)) {
		/*
		 * Now all WQEs with old keys are posted, so their positions are marked. A
		 * descriptor that is split from now on has new keys.
		 */
		mark(q, d->version);
		d->split = false;
	}
	/* Responses that are not posted yet have old keys, too. */
	return marks_are_reached(q) && !gantry_txns_are_older(&q->txns, d->version);
}

static void
set_drained(struct gantry_queue *q, uint64_t version)
{
	q->drain.version = 0;
	/*
	 * Pairs with the acquire in gantry_region_passed(): objects that the queue has read under
	 * older versions of the table of regions may be freed.
	 */
	atomic_store_explicit(&q->view.drained, version, memory_order_release);
}

__rte_cold void
gantry_drain_update(struct gantry_queue *q)
{
	struct gantry_region_view *v = &q->view;
	struct gantry_drain *d = &q->drain;

	gantry_region_view_update(v);
	gantry_txns_note_passed(&q->txns, v->version);
	if (d->version != 0 && is_drained(q))
		set_drained(q, d->version);
	if (d->version == 0 && gantry_counter_get(&v->drained) != v->version) {
		if (gantry_drain_is_needed(q))
			mark(q, v->version);
		else
			set_drained(q, v->version);
	}
	/* If `expect` is 0, the next gantry_enter() calls this function again. */
	v->expect = gantry_latency_look(q) || v->fenced || d->version != 0 ? 0 : v->version;
}
