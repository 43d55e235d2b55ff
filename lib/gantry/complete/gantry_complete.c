/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes CQEs, and hands out completions in the order of submission: gantry_poll(). */
#include <hwq_cq.h>
#include <hwq_sq.h>

#include "gantry_drain.h"
#include "gantry_finish.h"
#include "gantry_issue.h"
#include "gantry_queue.h"
#include "gantry_recover.h"
#include "gantry_watch.h"

/* The WQE that ends at `counter` is done, and all before it. */
static inline void
note_done(struct gantry_queue *q, struct gantry_conn *c, uint16_t counter)
{
	uint32_t bb = hwq_sq_complete(c->sq, counter);

	c->done += bb;
	q->outstanding -= bb;
}

/* Takes a CQE that is not a good one of a WQE. Returns false if there is none. */
static __rte_noinline bool
take_other_cqe(struct gantry_queue *q, struct gantry_conn *c, uint32_t *n)
{
	struct hwq_cqe cqe;

	if (!hwq_cq_peek(c->cq, &cqe))
		return false;
	hwq_cq_advance(c->cq);
	++*n;
	if (cqe.syndrome != HWQ_SYNDROME_NONE)
		gantry_recover_cqe(q, c, &cqe);
	else
		note_done(q, c, cqe.wqe_counter);
	return true;
}

/*
 * Takes every CQE of a connection. The device learns of it from the next doorbell, before it learns of
 * WQEs that need the room: hwq_cq.h.
 */
static inline void
take_cqes(struct gantry_queue *q, struct gantry_conn *c)
{
	uint16_t counter;
	uint32_t n = 0;

	do {
		while (likely(hwq_cq_peek_good(c->cq, &counter))) {
			hwq_cq_advance(c->cq);
			note_done(q, c, counter);
			n++;
		}
	} while (c->done != c->posted && take_other_cqe(q, c, &n));
	gantry_counter_add(&q->stats.cqes, n);
}

static void
take_peers_cqes(struct gantry_queue *q)
{
	uint32_t i;

	for (i = gantry_conn_set_next(&q->active, 0); i != GANTRY_CONN_SET_MAX;
		i = gantry_conn_set_next(&q->active, i + 1)) {
		struct gantry_conn *c = &q->conn[i];

		take_cqes(q, c);
		if (c->done != c->posted)
			continue;
		gantry_conn_set_remove(&q->active, i);
		if (unlikely(c->state != GANTRY_CONN_READY) && gantry_recover_again(q, c))
			gantry_conn_set_add(&q->active, i);
	}
}

/* Polls only connections that have WQEs outstanding. */
static inline void
take_all_cqes(struct gantry_queue *q)
{
	struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];

	if (own->done != own->posted)
		take_cqes(q, own);
	else if (unlikely(own->state != GANTRY_CONN_READY))
		gantry_recover_again(q, own);
	if (unlikely(!gantry_conn_set_is_empty(&q->active)))
		take_peers_cqes(q);
}

/*
 * Hands out completions from slot `seq` on, of neighbours whose last WQEs are on one connection, up to the
 * first that is not done, n at most. Returns how many, and counts those that were not plain, and the
 * bytes of the others.
 */
static __rte_always_inline uint32_t
take_run(struct gantry_queue *q, struct gantry_stream *s, uint64_t seq, struct gantry_comp *out,
	uint32_t n, uint32_t *others, uint64_t *bytes)
{
	uint32_t slot = seq & s->mask, i;
	const uint64_t *where = &s->where[slot];
	const struct gantry_comp *comp = &s->comp[slot];
	uint32_t conn = gantry_where_conn(*where);
	uint64_t none = gantry_where(conn, 0), done = q->conn[conn].done;

	n = RTE_MIN(n, s->mask + 1 - slot);
	for (i = 0; i < n && where[i] - none < done; i++) {
		out[i] = comp[i];
		if (likely(gantry_comp_is_plain(&comp[i]))) {
			*bytes += comp[i].len;
		} else {
			gantry_finish(q, s, slot + i, &out[i]);
			++*others;
		}
	}
	return i;
}

/* Hands out completions from the oldest slot on, up to the first slot that is not done. */
static inline uint32_t
hand_out(struct gantry_queue *q, struct gantry_stream *s, struct gantry_comp *out, uint32_t n)
{
	uint64_t tail = gantry_counter_get(&s->tail);
	/* A slot that is issued in part is slot `issue`, so it is not among these. */
	uint32_t left = RTE_MIN(n, s->issue - tail), given = 0, k;
	uint32_t others = 0;
	uint64_t bytes = 0;

	while (given != left) {
		k = take_run(q, s, tail + given, out + given, left - given, &others, &bytes);
		given += k;
		if (k == 0)
			break;
	}
	n = given;
	if (n == 0) {
		if (++q->empty_polls % GANTRY_WATCH_POLLS == 0)
			gantry_watch(q);
		return 0;
	}
	gantry_counter_add(&q->stats.by_status[GANTRY_OK], n - others);
	gantry_counter_add(&q->stats.bytes, bytes);
	/* Pairs with the acquire in gantry_stats_get(): a reader of this tail reads a head that is
	 * not less. */
	atomic_store_explicit(&s->tail, tail + n, memory_order_release);
	return n;
}

/*
 * hand_out() for an unordered queue: from each stream once. The first of the next call is the stream
 * behind the last of this one, so none is left out for ever.
 */
static uint32_t
hand_out_unordered(struct gantry_queue *q, struct gantry_comp *out, uint32_t n)
{
	struct gantry_unordered *u = &q->any_order;
	struct gantry_stream *last = TAILQ_LAST(&u->busy, gantry_busy), *s = NULL;
	uint32_t given = 0;

	while (s != last && given != n) {
		s = TAILQ_FIRST(&u->busy);
		given += hand_out(q, s, out + given, n - given);
		TAILQ_REMOVE(&u->busy, s, next_busy);
		s->busy = gantry_stream_in_flight(s) != 0;
		if (s->busy)
			TAILQ_INSERT_TAIL(&u->busy, s, next_busy);
	}
	/* Pairs with the acquire in gantry_stats_get(), as in hand_out(). */
	atomic_store_explicit(&u->completed, gantry_counter_get(&u->completed) + given,
		memory_order_release);
	return given;
}

uint16_t
gantry_poll(struct gantry_queue *q, struct gantry_comp *comp, uint16_t n)
{
	gantry_enter(q);
	if (q->outstanding != 0)
		take_all_cqes(q);
	if (unlikely(q->unordered)) {
		gantry_issue_waiting(q);
		n = hand_out_unordered(q, comp, n);
	} else {
		if (unlikely(gantry_stream_waits(&q->stream)))
			gantry_issue_waiting(q);
		n = hand_out(q, &q->stream, comp, n);
	}
	gantry_leave(q);
	return n;
}

void
gantry_rest(struct gantry_queue *q)
{
	gantry_enter(q);
	if (q->outstanding != 0)
		take_all_cqes(q);
	gantry_leave(q);
}
