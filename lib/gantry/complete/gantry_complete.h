/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes CQEs, and hands out completions in the order of submission. The code that every poll runs
 * is inline here; code for rare cases is in gantry_complete.c.
 */
#ifndef GANTRY_COMPLETE_H
#define GANTRY_COMPLETE_H

#include <hwq_cq.h>
#include <hwq_sq.h>

#include "gantry_issue.h"
#include "gantry_queue.h"
#include "gantry_watch.h"

/* ------------------------------------------------------------------ rare cases */

/* Takes a CQE that is not the success of a WQE. Returns false if there is no CQE. */
bool gantry_take_other_cqe(struct gantry_queue *q, struct gantry_conn *c);

/* Called when connection c, which is not the own connection, has no outstanding WQE any more. */
void gantry_note_idle(struct gantry_queue *q, struct gantry_conn *c);

/* Takes all CQEs of the connections that have outstanding WQEs or must be set up again. */
void gantry_take_all_cqes(struct gantry_queue *q);

/* As gantry_take_row(), for slots that are in no row. */
uint32_t gantry_take_run(struct gantry_queue *q, struct gantry_stream *s, uint64_t seq,
	struct gantry_comp *out, uint32_t n);

/*
 * As gantry_hand_out(), for an unordered queue. Visits each stream once. The next call begins with
 * the stream behind the last stream of this call, so that no stream always comes last.
 */
uint32_t gantry_hand_out_unordered(struct gantry_queue *q, struct gantry_comp *out, uint32_t n);

/* ------------------------------------------------------------------ CQEs */

/*
 * Called when the WQE that ends at `counter`, and all WQEs before this WQE, are done. Returns true
 * if no WQE of the connection is outstanding any more.
 */
static __rte_always_inline bool
gantry_note_done(struct gantry_queue *q, struct gantry_conn *c, uint16_t counter)
{
	const uint64_t posted = c->posted;
	uint32_t bb;

	if (likely(hwq_sq_complete_last(c->sq, counter))) {
		q->outstanding -= (uint32_t)(posted - c->done);
		c->done = posted;
		return true;
	}
	bb = hwq_sq_complete(c->sq, counter);
	q->outstanding -= bb;
	c->done += bb;
	return c->done == posted;
}

/*
 * Takes good CQEs of a connection that has outstanding WQEs. Returns false if the next CQE is of
 * another kind. Also publishes the CQ's consumer index, because the engine's doorbells do not. So
 * the device knows the free CQEs before it gets WQEs that need them.
 */
static __rte_always_inline bool
gantry_take_good_cqes(struct gantry_queue *q, struct gantry_conn *c)
{
	struct hwq_cq *cq = c->cq;
	uint16_t counter;

	do {
		if (unlikely(!hwq_cq_take_good(cq, &counter))) {
			hwq_cq_publish(cq);
			return !hwq_cq_has_next(cq);
		}
		gantry_counter_add(&q->stats.cqes, 1);
	} while (unlikely(!gantry_note_done(q, c, counter)));
	hwq_cq_publish_ci(cq);
	return true;
}

/* Takes all CQEs of a connection that has outstanding WQEs. */
static __rte_always_inline void
gantry_take_cqes(struct gantry_queue *q, struct gantry_conn *c)
{
	while (unlikely(!gantry_take_good_cqes(q, c)) && gantry_take_other_cqe(q, c) &&
		c->done != c->posted)
		;
}

/*
 * Takes the CQEs of connections that have outstanding WQEs. Usually this is one connection: the
 * connection of the latest row has all outstanding WQEs, and no connection waits to be set up
 * again.
 */
static __rte_always_inline void
gantry_take_outstanding(struct gantry_queue *q)
{
	struct gantry_conn *c = q->stream.row.conn;

	if (q->outstanding == 0)
		return;
	if (unlikely(c->posted - c->done != q->outstanding)) {
		gantry_take_all_cqes(q);
		return;
	}
	gantry_take_cqes(q, c);
	/*
	 * A connection that works stays in `active`, also when it is idle, because it is likely to
	 * be used next.
	 */
	if (unlikely(c->state != GANTRY_CONN_READY) && c != &q->conn[GANTRY_CONN_OWN] &&
		c->done == c->posted)
		gantry_note_idle(q, c);
}

/* ------------------------------------------------------------------ completions */

/* Copies n completions; n is at least 1. Returns the sum of their bytes. */
static __rte_always_inline uint64_t
gantry_copy_comps(struct gantry_comp *out, const struct gantry_comp *comp, uint32_t n)
{
	const struct gantry_comp *end = comp + n;
	uint64_t bytes = 0;

	do {
		bytes += comp->len;
		*out++ = *comp++;
	} while (comp != end);
	return bytes;
}

/* Returns the sum of the bytes of n completions; n is at least 1. */
static __rte_always_inline uint64_t
gantry_count_comps(const struct gantry_comp *comp, uint32_t n)
{
	uint64_t bytes = 0;
	uint32_t i;

	if (n == 1)
		return comp->len;
#pragma GCC unroll 8
	for (i = 0; i < n; i++)
		bytes += comp[i].len;
	return bytes;
}

/*
 * Hands out completions from slot `seq` on, which is in the stream's row, up to the first slot that
 * is not done. Returns how many were handed out, at most n. n is not 0.
 */
static __rte_always_inline uint32_t
gantry_take_row(struct gantry_queue *q, const struct gantry_stream *s, uint64_t seq,
	struct gantry_comp *out, uint32_t n)
{
	uint32_t slot = seq & s->mask;
	int64_t done = gantry_row_done(&s->row, seq);

	if (done <= 0)
		return 0;
	/* For n == 1 this is not needed: the end of the ring of slots is at least one slot away. */
	if (n != 1) {
		n = RTE_MIN(n, s->mask + 1 - slot);
		n = RTE_MIN(n, done);
	}
	gantry_counter_add(&q->stats.bytes, gantry_copy_comps(out, &s->comp[slot], n));
	return n;
}

/* Hands out completions from the oldest slot on, up to the first slot that is not done. */
static inline uint32_t
gantry_hand_out(struct gantry_queue *q, struct gantry_stream *s, struct gantry_comp *out,
	uint32_t n)
{
	uint64_t tail = gantry_counter_get(&s->tail), seq = tail;
	uint32_t left = n, k;

	while (left != 0) {
		if (likely(gantry_row_has(&s->row, seq)))
			k = gantry_take_row(q, s, seq, out, left);
		else if (seq != s->issue)
			k = gantry_take_run(q, s, seq, out, left);
		else
			break;
		if (k == 0)
			break;
		seq += k;
		out += k;
		left -= k;
	}
	if (unlikely(seq == tail)) {
		gantry_watch_empty_poll(q);
		return 0;
	}
	/*
	 * Pairs with the acquire in gantry_stats_get(). If a thread reads this tail and afterwards
	 * the head, the head is at least this tail.
	 */
	atomic_store_explicit(&s->tail, seq, memory_order_release);
	return n - left;
}

/*
 * Returns true if no slot is behind the stream's latest row. Otherwise a call of gantry_poll_row()
 * would not help.
 */
static inline bool
gantry_row_is_last(const struct gantry_stream *s)
{
	return likely(s->row.end == gantry_counter_get(&s->head));
}

/*
 * A part of gantry_poll(), called between gantry_enter() and gantry_leave_unsplit(). It is for a
 * queue in order whose descriptors in flight are all in the latest row, on a connection that works.
 * gantry_row_is_last() was true. It calls no function, so the compiler has few registers to save.
 * copy: a constant; if it is false, completions are counted and not copied to `out`. Returns how
 * many completions were taken, at most n; if the result is less than 0, the caller calls
 * gantry_poll_inside().
 */
static __rte_always_inline int
gantry_poll_row(struct gantry_queue *q, struct gantry_comp *out, uint32_t n, const bool copy)
{
	struct gantry_stream *s = &q->stream;
	const struct gantry_row *row = &s->row;
	const struct gantry_comp *comp;
	struct gantry_conn *c = row->conn;
	uint64_t seq, bytes;
	uint32_t slot;
	int64_t done;

	if (q->outstanding != 0 &&
		unlikely(c->posted - c->done != q->outstanding || c->state != GANTRY_CONN_READY ||
			 !gantry_take_good_cqes(q, c)))
		return -1;
	seq = gantry_counter_get(&s->tail);
	if (unlikely(q->unordered || seq < row->begin))
		return -1;
	done = gantry_row_done(row, seq);
	if (unlikely(done <= 0))
		return -1;
	if (done < n)
		n = done;
	slot = seq & s->mask;
	/*
	 * The row may wrap around the end of the ring of slots. If n is 0, n - 1 is greater than
	 * any number of slots.
	 */
	if (unlikely(n - 1 > s->mask - slot))
		return -1;
	comp = &s->comp[slot];
	bytes = copy ? gantry_copy_comps(out, comp, n) : gantry_count_comps(comp, n);
	gantry_counter_add(&q->stats.bytes, bytes);
	/* The release is needed as in gantry_hand_out(). */
	atomic_store_explicit(&s->tail, seq + n, memory_order_release);
	return n;
}

/* A part of gantry_poll(), called between gantry_enter() and gantry_leave(). */
static __rte_always_inline uint32_t
gantry_poll_inside(struct gantry_queue *q, struct gantry_comp *comp, uint32_t n)
{
	gantry_take_outstanding(q);
	if (unlikely(q->unordered)) {
		gantry_issue_waiting(q);
		return gantry_hand_out_unordered(q, comp, n);
	}
	if (unlikely(gantry_stream_waits(&q->stream)))
		gantry_issue_waiting(q);
	return gantry_hand_out(q, &q->stream, comp, n);
}

#endif
