/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completing: CQEs are taken, and completions are handed out in the order of submission. What every poll
 * does is inline here; what is rare is in gantry_complete.c.
 */
#ifndef GANTRY_COMPLETE_H
#define GANTRY_COMPLETE_H

#include <hwq_cq.h>
#include <hwq_sq.h>

#include "gantry_issue.h"
#include "gantry_queue.h"
#include "gantry_watch.h"

/* ------------------------------------------------------------------ the rare parts */

/* Takes a CQE that is not a good one of a WQE. Returns false if there is none. */
bool gantry_take_other_cqe(struct gantry_queue *q, struct gantry_conn *c);

/* No WQE of a connection other than the own one is outstanding any more. */
void gantry_note_idle(struct gantry_queue *q, struct gantry_conn *c);

/* Takes every CQE of all connections that have WQEs outstanding, or are to be set up again. */
void gantry_take_all_cqes(struct gantry_queue *q);

/* gantry_take_row() for slots that are in no row. */
uint32_t gantry_take_run(struct gantry_queue *q, struct gantry_stream *s, uint64_t seq,
	struct gantry_comp *out, uint32_t n);

/*
 * gantry_hand_out() for an unordered queue: from each stream once. The first of the next call is the stream
 * behind the last of this one, so none is left out for ever.
 */
uint32_t gantry_hand_out_unordered(struct gantry_queue *q, struct gantry_comp *out, uint32_t n);

/* ------------------------------------------------------------------ CQEs */

/* The WQE that ends at `counter` is done, and all before it. */
static inline void
gantry_note_done(struct gantry_queue *q, struct gantry_conn *c, uint16_t counter)
{
	uint64_t bb = hwq_sq_complete_last(c->sq, counter);

	c->done += bb;
	q->outstanding -= (uint32_t)bb;
}

/*
 * Takes every CQE of a connection. The device learns of it from the next doorbell, before it learns of
 * WQEs that need the room: hwq_cq.h.
 */
static __rte_always_inline void
gantry_take_cqes(struct gantry_queue *q, struct gantry_conn *c)
{
	struct hwq_cq *cq = c->cq;
	uint16_t counter;

	do {
		if (likely(hwq_cq_peek_good(cq, &counter))) {
			hwq_cq_advance(cq);
			gantry_note_done(q, c, counter);
			gantry_counter_add(&q->stats.cqes, 1);
		} else if (!gantry_take_other_cqe(q, c)) {
			break;
		}
	} while (c->done != c->posted);
}

/*
 * Takes the CQEs of connections that have WQEs outstanding. Mostly that is one, the one that the latest row
 * is on: then all that is outstanding is there, and none waits to be set up again.
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
	/* One that works stays in `active`, idle or not: it is likely to be the next one, too. */
	if (unlikely(c->state != GANTRY_CONN_READY) && c != &q->conn[GANTRY_CONN_OWN] &&
		c->done == c->posted)
		gantry_note_idle(q, c);
}

/* ------------------------------------------------------------------ completions */

/*
 * Hands out completions from slot `seq` on, which is in the stream's row, up to the first that is not done.
 * Returns how many, n at most, which is not 0.
 */
static __rte_always_inline uint32_t
gantry_take_row(struct gantry_queue *q, const struct gantry_stream *s, uint64_t seq,
	struct gantry_comp *out, uint32_t n)
{
	uint32_t slot = seq & s->mask;
	const struct gantry_comp *comp = &s->comp[slot], *end;
	int64_t done = gantry_row_done(&s->row, seq);
	uint64_t bytes = 0;

	if (done <= 0)
		return 0;
	/* The end of the slots' ring is one away at least. */
	if (n != 1) {
		n = RTE_MIN(n, s->mask + 1 - slot);
		n = RTE_MIN(n, done);
	}
	end = comp + n;
	do {
		bytes += comp->len;
		*out++ = *comp++;
	} while (comp != end);
	gantry_counter_add(&q->stats.bytes, bytes);
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
		if (++q->empty_polls % GANTRY_WATCH_POLLS == 0)
			gantry_watch(q);
		return 0;
	}
	/* Pairs with the acquire in gantry_stats_get(): a reader of this tail reads a head that is
	 * not less. */
	atomic_store_explicit(&s->tail, seq, memory_order_release);
	return n - left;
}

/* gantry_poll(), between gantry_enter() and gantry_leave(). */
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
