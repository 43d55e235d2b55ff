/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes CQEs, and hands out completions in the order of submission: gantry_poll(). */
#include "gantry_complete.h"

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
take_other_cqe(struct gantry_queue *q, struct gantry_conn *c)
{
	struct hwq_cqe cqe;

	if (!hwq_cq_peek(c->cq, &cqe))
		return false;
	hwq_cq_advance(c->cq);
	gantry_counter_add(&q->stats.cqes, 1);
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
static __rte_always_inline void
take_cqes(struct gantry_queue *q, struct gantry_conn *c)
{
	struct hwq_cq *cq = c->cq;
	uint16_t counter;
	uint32_t n = 0;

	do {
		if (likely(hwq_cq_peek_good(cq, &counter))) {
			hwq_cq_advance(cq);
			note_done(q, c, counter);
			n++;
		} else if (!take_other_cqe(q, c)) {
			break;
		}
	} while (c->done != c->posted);
	gantry_counter_add(&q->stats.cqes, n);
}

static inline void
take_peer_cqes(struct gantry_queue *q, uint32_t conn)
{
	struct gantry_conn *c = &q->conn[conn];

	take_cqes(q, c);
	if (c->done != c->posted)
		return;
	gantry_conn_set_remove(&q->active, conn);
	if (unlikely(c->state != GANTRY_CONN_READY) && gantry_recover_again(q, c))
		gantry_conn_set_add(&q->active, conn);
}

static void
take_peers_cqes(struct gantry_queue *q)
{
	uint64_t words, bits;

	for (words = q->active.any; words != 0; words &= words - 1) {
		uint32_t first = rte_bsf64(words) * 64;

		for (bits = q->active.word[first / 64]; bits != 0; bits &= bits - 1)
			take_peer_cqes(q, first + rte_bsf64(bits));
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
 * Hands out completions from slot `seq` on, which is in the stream's row, up to the first that is not done.
 * Returns how many, n at most, and adds up their bytes.
 */
static __rte_always_inline uint32_t
take_row(const struct gantry_stream *s, uint64_t seq, struct gantry_comp *out, uint32_t n,
	uint64_t *bytes)
{
	uint32_t slot = seq & s->mask;
	const struct gantry_comp *comp = &s->comp[slot], *end;
	int64_t done = gantry_row_done(&s->row, seq);

	if (done <= 0)
		return 0;
	n = RTE_MIN(n, s->mask + 1 - slot);
	n = RTE_MIN(n, done);
	for (end = comp + n; comp != end; comp++) {
		*bytes += comp->len;
		*out++ = *comp;
	}
	return n;
}

/* The same for slots that are in no row. */
static __rte_always_inline uint32_t
take_run(struct gantry_queue *q, struct gantry_stream *s, uint64_t seq, struct gantry_comp *out,
	uint32_t n, uint64_t *bytes)
{
	uint32_t slot = seq & s->mask, i;
	const uint64_t *where = &s->where[slot];
	const struct gantry_comp *comp = &s->comp[slot];
	uint64_t none = 0, done = 0; /* of the connection of the slot before */

	/* A slot that is issued in part is slot `issue`, so it is not among these. */
	n = RTE_MIN(n, s->issue - seq);
	n = RTE_MIN(n, s->mask + 1 - slot);
	for (i = 0; i < n; i++) {
		if (unlikely(where[i] - none >= done)) {
			uint32_t conn = gantry_where_conn(where[i]);

			none = gantry_where(conn, 0);
			done = q->conn[conn].done;
			if (where[i] - none >= done)
				break;
		}
		out[i] = comp[i];
		if (likely(gantry_comp_is_plain(&comp[i])))
			*bytes += comp[i].len;
		else
			gantry_finish(q, s, slot + i, &out[i]);
	}
	return i;
}

/* Hands out completions from the oldest slot on, up to the first slot that is not done. */
static inline uint32_t
hand_out(struct gantry_queue *q, struct gantry_stream *s, struct gantry_comp *out, uint32_t n)
{
	uint64_t tail = gantry_counter_get(&s->tail), seq = tail, bytes = 0;
	uint32_t k;

	while (n != 0) {
		if (likely(gantry_row_has(&s->row, seq)))
			k = take_row(s, seq, out, n, &bytes);
		else if (seq != s->issue)
			k = take_run(q, s, seq, out, n, &bytes);
		else
			break;
		if (k == 0)
			break;
		seq += k;
		out += k;
		n -= k;
	}
	n = seq - tail;
	if (unlikely(n == 0)) {
		if (++q->empty_polls % GANTRY_WATCH_POLLS == 0)
			gantry_watch(q);
		return 0;
	}
	gantry_counter_add(&q->stats.bytes, bytes);
	/* Pairs with the acquire in gantry_stats_get(): a reader of this tail reads a head that is
	 * not less. */
	atomic_store_explicit(&s->tail, seq, memory_order_release);
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

static __rte_always_inline uint32_t
poll(struct gantry_queue *q, struct gantry_comp *comp, uint32_t n)
{
	if (q->outstanding != 0)
		take_all_cqes(q);
	if (unlikely(q->unordered)) {
		gantry_issue_waiting(q);
		return hand_out_unordered(q, comp, n);
	}
	if (unlikely(gantry_stream_waits(&q->stream)))
		gantry_issue_waiting(q);
	return hand_out(q, &q->stream, comp, n);
}

uint32_t
gantry_poll_inside(struct gantry_queue *q, struct gantry_comp *comp, uint32_t n)
{
	return poll(q, comp, n);
}

uint16_t
gantry_poll(struct gantry_queue *q, struct gantry_comp *comp, uint16_t n)
{
	gantry_enter(q);
	n = poll(q, comp, n);
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
