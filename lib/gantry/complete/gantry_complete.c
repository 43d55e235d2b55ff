/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gantry_poll(), and its code for rare cases: errors, several connections, unordered queues,
 * completions that are not plain.
 */
#include "gantry_complete.h"

#include "gantry_drain.h"
#include "gantry_finish.h"
#include "gantry_recover.h"
#include "gantry_txn_run.h"
#include "gantry_txn_stop.h"

bool
gantry_take_other_cqe(struct gantry_queue *q, struct gantry_conn *c)
{
	struct hwq_cqe cqe;

	if (!hwq_cq_peek(c->cq, &cqe))
		return false;
	/*
	 * The CQ's consumer index is published before the recovery, which may create the CQ again.
	 */
	hwq_cq_advance(c->cq);
	hwq_cq_publish(c->cq);
	gantry_counter_add(&q->stats.cqes, 1);
	if (cqe.syndrome != HWQ_SYNDROME_NONE)
		gantry_recover_cqe(q, c, &cqe);
	else if (cqe.opcode == MLX5_CQE_SIG_ERR)
		gantry_txn_note_error(q, c, &cqe);
	else
		gantry_note_done(q, c, cqe.wqe_counter);
	return true;
}

void
gantry_note_idle(struct gantry_queue *q, struct gantry_conn *c)
{
	gantry_conn_set_remove(&q->active, c - q->conn);
	if (unlikely(c->state != GANTRY_CONN_READY) && gantry_recover_again(q, c))
		gantry_conn_set_add(&q->active, c - q->conn);
}

/* Continues the repair or the transactions of a connection whose CQEs have been taken. */
static __rte_noinline void
go_on(struct gantry_queue *q, struct gantry_conn *c)
{
	if (c->txns != NULL) {
		if (gantry_txn_stop_has_come(q, c))
			gantry_take_cqes(q, c);
		if (gantry_txn_is_stopped(c) && !gantry_txn_resume(q, c))
			gantry_recover_stuck(q, c);
		gantry_txn_go_on(q, c);
	}
	if (c->done != c->posted)
		return;
	gantry_note_idle(q, c);
	if (gantry_txn_is_busy(c))
		gantry_conn_set_add(&q->active, c - q->conn);
}

/*
 * Takes the CQEs of a peer's connection. Returns true if the connection works, and none of its WQEs
 * is outstanding any more.
 */
static __rte_always_inline bool
take_peer_cqes(struct gantry_queue *q, struct gantry_conn *c)
{
	gantry_take_cqes(q, c);
	if (likely(c->state == GANTRY_CONN_READY))
		return c->done == c->posted;
	go_on(q, c);
	return false;
}

static void
take_peers_cqes(struct gantry_queue *q)
{
	uint64_t words, bits, all, busy;

	for (words = q->active.any; words != 0; words &= words - 1) {
		uint32_t word = rte_bsf64(words);
		struct gantry_conn *conn = &q->conn[word * 64];

		/* Without this statement, the compiler computes the address again for each bit. */
		__asm__("" : "+r"(conn));
		all = q->active.word[word];
		busy = 0;
		for (bits = all; bits != 0; bits &= bits - 1)
			if (unlikely(!take_peer_cqes(q, &conn[rte_bsf64(bits)])))
				busy |= bits & -bits;
		gantry_conn_set_remove_some(&q->active, word, all & ~busy);
	}
}

void
gantry_take_all_cqes(struct gantry_queue *q)
{
	struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];

	if (own->done != own->posted)
		gantry_take_cqes(q, own);
	else if (unlikely(own->state != GANTRY_CONN_READY))
		gantry_recover_again(q, own);
	if (unlikely(!gantry_conn_set_is_empty(&q->active)))
		take_peers_cqes(q);
}

/*
 * As gantry_take_run(). all: a constant, true if no WQE of the queue is outstanding, so that every
 * slot is done.
 */
static __rte_always_inline uint32_t
take_run(struct gantry_queue *q, const struct gantry_stream *s, uint64_t seq,
	struct gantry_comp *out, uint32_t n, const bool all)
{
	uint32_t slot = seq & s->mask;
	const struct gantry_comp *first = &s->comp[slot], *comp, *end;
	const uint64_t *where = &s->where[slot];
	/*
	 * Both variables are for the connection of the previous slot: `base` is gantry_where() for
	 * index 0 of this connection, and `done` is the connection's `done`. Both are 0 at first,
	 * so the first slot looks up its connection.
	 */
	uint64_t base = 0, done = 0, bytes = 0, left;

	/*
	 * A slot that is issued in part has the sequence number s->issue, so it is not among these
	 * slots.
	 */
	n = RTE_MIN(n, s->issue - seq);
	n = RTE_MIN(n, s->mask + 1 - slot);
	for (comp = first, end = first + n; comp != end; comp++, where++, out++) {
		if (!all && unlikely(*where - base >= done)) {
			base = gantry_where(gantry_where_conn(*where), 0);
			done = q->conn[gantry_where_conn(*where)].done;
			if (*where - base >= done)
				break;
		}
		*out = *comp;
		left = gantry_comp_left(comp);
		if (likely(left == 0)) {
			bytes += comp->len;
		} else if (likely(gantry_left_is_atomic(left))) {
			gantry_finish_atomic(q, out);
			bytes += comp->len;
		} else {
			gantry_finish(q, out);
		}
	}
	gantry_counter_add(&q->stats.bytes, bytes);
	return comp - first;
}

uint32_t
gantry_take_run(struct gantry_queue *q, struct gantry_stream *s, uint64_t seq,
	struct gantry_comp *out, uint32_t n)
{
	return q->outstanding == 0 ? take_run(q, s, seq, out, n, true)
				   : take_run(q, s, seq, out, n, false);
}

uint32_t
gantry_hand_out_unordered(struct gantry_queue *q, struct gantry_comp *out, uint32_t n)
{
	struct gantry_unordered *u = &q->any_order;
	struct gantry_stream *last = TAILQ_LAST(&u->busy, gantry_busy), *s = NULL;
	uint32_t given = 0;

	/*
	 * A queue without descriptors in flight may have receives, so it is watched, too. For busy
	 * streams, gantry_hand_out() does this.
	 */
	if (last == NULL)
		gantry_watch_empty_poll(q);
	while (s != last && given != n) {
		s = TAILQ_FIRST(&u->busy);
		given += gantry_hand_out(q, s, out + given, n - given);
		TAILQ_REMOVE(&u->busy, s, next_busy);
		s->busy = gantry_stream_in_flight(s) != 0;
		if (s->busy)
			TAILQ_INSERT_TAIL(&u->busy, s, next_busy);
	}
	/* Pairs with the acquire in gantry_stats_get(), as in gantry_hand_out(). */
	atomic_store_explicit(&u->completed, gantry_counter_get(&u->completed) + given,
		memory_order_release);
	return given;
}

static __rte_noinline unsigned int
poll_any(struct gantry_queue *q, struct gantry_comp *comp, unsigned int n)
{
	gantry_enter(q);
	n = gantry_poll_inside(q, comp, n);
	gantry_leave(q);
	return n;
}

unsigned int
gantry_poll(struct gantry_queue *q, struct gantry_comp *comp, unsigned int n)
{
	int done;

	if (!gantry_row_is_last(&q->stream) || unlikely(gantry_region_enter(&q->view)))
		return poll_any(q, comp, n);
	done = gantry_poll_row(q, comp, n, true);
	if (unlikely(done < 0))
		return poll_any(q, comp, n);
	gantry_leave_unsplit(q);
	return done;
}

/* ------------------------------------------------------------------ counting */

/* As gantry_take_row(), but counts completions only. */
static __rte_always_inline uint32_t
count_row(struct gantry_queue *q, const struct gantry_stream *s, uint64_t seq, uint32_t n)
{
	uint32_t slot = seq & s->mask;
	int64_t done = gantry_row_done(&s->row, seq);

	if (done <= 0)
		return 0;
	n = RTE_MIN(n, s->mask + 1 - slot);
	n = RTE_MIN(n, done);
	gantry_counter_add(&q->stats.bytes, gantry_count_comps(&s->comp[slot], n));
	return n;
}

/*
 * Counts slot `seq`, which is in no row. Returns 1 if the slot has succeeded, 0 if it is not done.
 * If the slot has failed, sets *failed and returns 0.
 */
static __rte_noinline uint32_t
count_one(struct gantry_queue *q, struct gantry_stream *s, uint64_t seq, bool *failed)
{
	uint32_t slot = seq & s->mask;
	uint64_t where = s->where[slot];
	struct gantry_comp comp = s->comp[slot];

	if (gantry_where_index(where) >= q->conn[gantry_where_conn(where)].done)
		return 0;
	if (!gantry_comp_is_good(&comp)) {
		*failed = true;
		return 0;
	}
	gantry_finish(q, &comp);
	return 1;
}

static __rte_noinline unsigned int
poll_any_good(struct gantry_queue *q, unsigned int n, bool *failed)
{
	struct gantry_stream *s = &q->stream;
	uint64_t tail = gantry_counter_get(&s->tail), seq = tail;
	uint32_t left = n, k;

	*failed = false;
	gantry_enter(q);
	gantry_take_outstanding(q);
	if (unlikely(q->unordered)) {
		gantry_issue_waiting(q);
		left = 0;
	} else if (unlikely(gantry_stream_waits(s))) {
		gantry_issue_waiting(q);
	}
	for (; left != 0; seq += k, left -= k) {
		if (likely(gantry_row_has(&s->row, seq)))
			k = count_row(q, s, seq, left);
		else if (seq != s->issue)
			k = count_one(q, s, seq, failed);
		else
			break;
		if (k == 0)
			break;
	}
	if (unlikely(seq == tail)) {
		gantry_watch_empty_poll(q);
	} else {
		/* The release is needed as in gantry_hand_out(). */
		atomic_store_explicit(&s->tail, seq, memory_order_release);
	}
	gantry_leave(q);
	return seq - tail;
}

unsigned int
gantry_poll_good(struct gantry_queue *q, unsigned int n, bool *failed)
{
	int done;

	if (!gantry_row_is_last(&q->stream) || unlikely(gantry_region_enter(&q->view)))
		return poll_any_good(q, n, failed);
	done = gantry_poll_row(q, NULL, n, false);
	if (unlikely(done < 0))
		return poll_any_good(q, n, failed);
	*failed = false;
	gantry_leave_unsplit(q);
	return done;
}

void
gantry_rest(struct gantry_queue *q)
{
	gantry_enter(q);
	gantry_take_outstanding(q);
	gantry_leave(q);
}
