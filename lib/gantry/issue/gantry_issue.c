/* SPDX-License-Identifier: BSD-3-Clause */
/* Issues descriptors: writes WQEs, splits long descriptors, obeys fences, and rings doorbells. */
#include "gantry_issue.h"

#include "gantry_ahead.h"
#include "gantry_cpu.h"
#include "gantry_doorbell.h"
#include "gantry_each.h"
#include "gantry_finish.h"
#include "gantry_layout_run.h"
#include "gantry_lists.h"
#include "gantry_log.h"
#include "gantry_run.h"
#include "gantry_txn_run.h"
#include "gantry_work_next.h"
#include "gantry_xlate.h"

/* ------------------------------------------------------------------ doorbells */

/*
 * Rings the doorbell of conn[n] for each bit n of bits. The function is out of line, so that it can
 * use all registers.
 */
static __rte_noinline void
ring_several(struct gantry_queue *q, const struct gantry_conn *conn, uint64_t bits)
{
	struct hwq_bells bells = {.bf = NULL};
	uint64_t n = 0, n_bb = 0;

	for (; bits != 0; bits &= bits - 1, n++)
		n_bb += hwq_bells_signal_and_ring(&bells, conn[rte_bsf64(bits)].sq);
	hwq_bells_end(&bells);
	gantry_note_doorbells(q, &q->stats.peer_wqes, n, n_bb);
}

static void
ring_peers(struct gantry_queue *q)
{
	uint64_t bits;
	uint32_t first;

	while ((bits = gantry_conn_set_move(&q->unrung, &q->active, &first)) != 0) {
		if ((bits & (bits - 1)) == 0)
			gantry_ring(q, &q->conn[first + rte_bsf64(bits)], &q->stats.peer_wqes);
		else
			ring_several(q, &q->conn[first], bits);
	}
}

static inline void
ring_all(struct gantry_queue *q)
{
	struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];

	if (hwq_sq_pending_bb(own->sq) != 0)
		gantry_ring(q, own, &q->stats.own_wqes);
	if (unlikely(!gantry_conn_set_is_empty(&q->unrung)))
		ring_peers(q);
}

/* ------------------------------------------------------------------ slots */

/*
 * Completes a descriptor without hardware. Its completion is handed out after all earlier
 * completions.
 */
static void
slot_settle(struct gantry_stream *s, uint32_t slot, enum gantry_status status)
{
	s->comp[slot].status = status;
	s->where[slot] = GANTRY_WHERE_NOWHERE;
}

/* ------------------------------------------------------------------ posting */

/*
 * Posts WQEs of the work of slot `issue`, until all are posted or the send queue is full. Returns
 * how many WQEBBs were posted.
 */
static uint64_t
push(struct gantry_queue *q, struct gantry_stream *s, struct gantry_work *w)
{
	uint32_t slot = s->issue & s->mask;
	struct gantry_conn *c = &q->conn[w->conn];
	uint64_t before = c->posted;
	bool room = true;

	while (room && !gantry_work_is_done(w)) {
		uint16_t pi = c->sq->pi;

		room = gantry_work_next(q, c, w);
		c->posted += (uint16_t)(c->sq->pi - pi);
	}
	s->comp[slot].zero |= w->finish;
	if (c->posted == before)
		return 0;
	gantry_note_posted(q, w->conn, c->posted - before);
	if (w->conn == GANTRY_CONN_OWN)
		gantry_counter_add(&q->stats.own_others, c->posted - before);
	s->comp[slot].result = w->kept;
	s->where[slot] = gantry_where_last(w->conn, c);
	return c->posted - before;
}

/*
 * Keeps the rest of the work of slot `issue` for later. number: the number of a descriptor that has
 * waited. For a new descriptor, note_waiting() sets the number later.
 */
static void
split_begin(struct gantry_stream *s, const struct gantry_work *w, uint64_t number)
{
	s->splitting = true;
	s->split_number = number;
	s->old_split = false;
	s->split = *w;
}

/*
 * Lets the CPU carry out work of slot `issue`, at most q->cpu_left bytes. Returns true if the work
 * is done.
 */
static bool
carry_by_cpu(struct gantry_queue *q, struct gantry_stream *s, struct gantry_work *w)
{
	uint32_t slot = s->issue & s->mask;

	gantry_cpu_carry(q, w);
	s->comp[slot].zero |= w->finish;
	s->where[slot] = GANTRY_WHERE_NOWHERE;
	return gantry_work_is_done(w);
}

/* Continues with the split descriptor. Returns true if all its WQEs are posted. */
static bool
split_continue(struct gantry_queue *q, struct gantry_stream *s)
{
	struct gantry_work *w = &s->split;
	uint8_t state = q->conn[w->conn].state;

	if (w->conn == GANTRY_CONN_NONE) {
		if (unlikely(q->device_lost)) {
			slot_settle(s, s->issue & s->mask, GANTRY_DEVICE_LOST);
			s->splitting = false;
		} else {
			s->splitting = !carry_by_cpu(q, s, w);
		}
		return !s->splitting;
	}
	if (unlikely(state != GANTRY_CONN_READY)) {
		/* The rest of the descriptor waits until the connection is set up again. */
		if (gantry_queue_repairs(w->conn) && state != GANTRY_CONN_DOWN)
			return false;
		/*
		 * Some posted WQEs of the descriptor are not done. Their first CQE, or the
		 * deadline, decides about the descriptor.
		 */
		if (state == GANTRY_CONN_FAILING)
			return false;
		slot_settle(s, s->issue & s->mask,
			gantry_queue_repairs(w->conn) || q->device_lost ? GANTRY_DEVICE_LOST
									: GANTRY_FLUSHED);
		s->splitting = false;
		return true;
	}
	push(q, s, w);
	s->splitting = !gantry_work_is_done(w);
	return !s->splitting;
}

/* ------------------------------------------------------------------ issuing */

/*
 * Returns true if another stream has a waiting descriptor that was accepted before the descriptor
 * in slot `issue` of s.
 */
static bool
others_wait_in_front(const struct gantry_queue *q, const struct gantry_stream *s)
{
	/* A descriptor that is just being submitted is later than all waiting descriptors. */
	bool is_new = s->issue >= gantry_counter_get(&s->head);
	uint64_t number = is_new ? UINT64_MAX : gantry_stream_number(s);
	const struct gantry_stream *o;

	TAILQ_FOREACH(o, &q->any_order.busy, next_busy)
		if (o != s && gantry_stream_waits(o) && gantry_stream_number(o) < number)
			return true;
	return false;
}

/*
 * Returns true if a fenced descriptor, which is the next one in stream s, has to wait: until no WQE
 * is outstanding (doc/engine.md says why), and no earlier descriptor waits in another stream.
 */
static bool
fence_waits(const struct gantry_queue *q, const struct gantry_stream *s)
{
	return q->outstanding != 0 || (q->unordered && others_wait_in_front(q, s));
}

/*
 * Issues or settles the descriptor of slot `issue`. Returns false if the descriptor has to wait. No
 * WQE of it is posted then, unless it is being split.
 */
static __rte_noinline bool
issue_any(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *d)
{
	uint32_t slot = s->issue & s->mask;
	uint64_t number = s->where[slot];
	enum gantry_status status;
	struct gantry_work w;

	if ((d->flags & GANTRY_DESC_FENCE) != 0 && fence_waits(q, s))
		return false;
	gantry_slot_prepare(&s->comp[slot], d, d->op, d->len);
	status = gantry_xlate(q, d, &w);
	if (status != GANTRY_TO_HARDWARE) {
		if (status == (enum gantry_status)GANTRY_TO_TXN)
			return gantry_txn_issue(q, s, d);
		slot_settle(s, slot, status);
		if (unlikely(status != GANTRY_OK))
			s->comp[slot].result = gantry_xlate_side(q, d, status);
	} else if (w.conn == GANTRY_CONN_NONE) {
		if (q->cpu_left == 0)
			return false;
		gantry_counter_add(&q->rare.copies[GANTRY_CARRIER_CPU], 1);
		if (!carry_by_cpu(q, s, &w)) {
			split_begin(s, &w, number);
			return false;
		}
	} else if (unlikely(q->conn[w.conn].stream != s)) {
		/*
		 * The peer was opened after the descriptor was accepted, so its connection has
		 * another stream.
		 */
		slot_settle(s, slot, GANTRY_BAD_PEER);
	} else {
		/* The connection may be under repair; then the descriptor waits. */
		if (q->conn[w.conn].state != GANTRY_CONN_READY || push(q, s, &w) == 0)
			return false;
		if (w.carrier != GANTRY_CARRIER_USUAL)
			gantry_counter_add(&q->rare.copies[w.carrier], 1);
		if (!gantry_work_is_done(&w)) {
			split_begin(s, &w, number);
			return false;
		}
	}
	s->issue++;
	return true;
}

/*
 * Issues plain descriptors for which the keys of regions are not enough: fills, COPY_SGs, gathers
 * and scatters.
 */
static uint32_t
issue_by_keys(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n, enum gantry_carrier carrier)
{
	const bool mmo = carrier == GANTRY_CARRIER_MMO, copies = carrier == q->choice.all;
	struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];
	uint64_t posted = own->posted;

	if (desc->op == GANTRY_OP_GATHER || desc->op == GANTRY_OP_SCATTER) {
		n = gantry_layouts_run(&q->keys, s, desc, n, GANTRY_FINISH_BORROWS);
	} else if (copies && carrier != GANTRY_CARRIER_CPU) {
		n = desc->op == GANTRY_OP_FILL
			    ? gantry_fill_run(&q->fill, &q->view, s, own, desc, n, mmo)
			    : gantry_lists_run(&q->view, s, own, desc, n, mmo);
		gantry_counter_add(&q->rare.copies[carrier], n);
	} else {
		return 0;
	}
	gantry_note_posted(q, GANTRY_CONN_OWN, own->posted - posted);
	gantry_counter_add(&q->stats.own_others, own->posted - posted);
	return n;
}

/*
 * Issues descriptors that gantry_run() does not issue. carrier: the carrier of the copies of this
 * burst. Returns how many were issued, or 0 if the first descriptor needs gantry_xlate().
 */
static __rte_noinline uint32_t
issue_more(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n, enum gantry_carrier carrier)
{
	switch (desc->op) {
	case GANTRY_OP_COPY_SG:
	case GANTRY_OP_FILL:
	case GANTRY_OP_GATHER:
	case GANTRY_OP_SCATTER:
		return issue_by_keys(q, s, desc, n, carrier);
	default:
		return carrier == GANTRY_CARRIER_CPU
			       ? 0
			       : gantry_each(q, s, desc, n, carrier == GANTRY_CARRIER_MMO);
	}
}

/*
 * Issues or settles descriptors from slot `issue` on, until a descriptor has to wait. Returns how
 * many were issued or settled. Takes no CQE, so no connection changes its state meanwhile.
 */
static __rte_always_inline uint32_t
issue_burst(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n, enum gantry_carrier carrier)
{
	uint32_t i = 0, k;

	gantry_ahead_regions(q, desc, n);
	while (i < n) {
		if (unlikely((desc[i].flags & GANTRY_DESC_FENCE) != 0) && fence_waits(q, s))
			break;
		k = carrier == GANTRY_CARRIER_CPU ? gantry_cpu_run(q, s, desc + i, n - i)
						  : gantry_run(q, s, desc + i, n - i,
							    carrier == GANTRY_CARRIER_MMO, false);
		if (unlikely(k == 0))
			k = issue_more(q, s, desc + i, n - i, carrier);
		if (unlikely(k == 0))
			k = issue_any(q, s, &desc[i]);
		if (unlikely(k == 0))
			break;
		i += k;
	}
	return i;
}

/*
 * Counts the descriptors in flight for the rules of a policy: those of the stream, and the n that
 * are issued now.
 */
static void
count_in_flight(struct gantry_queue *q, const struct gantry_stream *s, uint32_t n)
{
	q->choice.in_flight = s->issue + n - gantry_counter_get(&s->tail);
}

/*
 * As issue_burst(), for a queue whose own connection does not work. If the connection is being set
 * up again, copies wait; if it is lost, copies are refused. Descriptors in front of a waiting copy
 * are issued.
 */
static __rte_noinline uint32_t
issue_without_own(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n)
{
	uint32_t i;

	count_in_flight(q, s, n);
	for (i = 0; i < n && issue_any(q, s, &desc[i]); i++)
		;
	return i;
}

static __rte_noinline uint32_t
issue_by_mmo(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n)
{
	return issue_burst(q, s, desc, n, GANTRY_CARRIER_MMO);
}

static __rte_noinline uint32_t
issue_by_rdma(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n)
{
	return issue_burst(q, s, desc, n, GANTRY_CARRIER_RDMA);
}

/* Returns how many plain copies of one WQE were posted to the own connection. */
static uint64_t
n_plain(const struct gantry_queue *q)
{
	return q->conn[GANTRY_CONN_OWN].posted - gantry_counter_get(&q->stats.own_others);
}

/*
 * As issue_by_rdma(), if RDMA is not the usual carrier: counts its plain copies. Plain copies by
 * the usual carrier are not counted; gantry_stats_get() computes their number.
 */
static uint32_t
issue_by_unusual_rdma(struct gantry_queue *q, struct gantry_stream *s,
	const struct gantry_desc *desc, uint32_t n)
{
	uint64_t before = n_plain(q), plain;
	uint32_t i = issue_by_rdma(q, s, desc, n);

	plain = n_plain(q) - before;
	gantry_counter_add(&q->stats.own_others, plain);
	gantry_counter_add(&q->rare.copies[GANTRY_CARRIER_RDMA], plain);
	return i;
}

static uint32_t
issue_by(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n, enum gantry_carrier carrier)
{
	if (carrier == GANTRY_CARRIER_CPU)
		return issue_burst(q, s, desc, n, GANTRY_CARRIER_CPU);
	if (carrier == GANTRY_CARRIER_MMO)
		return issue_by_mmo(q, s, desc, n);
	return carrier == q->choice.usual ? issue_by_rdma(q, s, desc, n)
					  : issue_by_unusual_rdma(q, s, desc, n);
}

/*
 * Returns the carrier that the rules of the policy give to d if d is a COPY, otherwise the usual
 * carrier.
 */
static enum gantry_carrier
carrier_by_rules(const struct gantry_queue *q, const struct gantry_desc *d)
{
	return d->op == GANTRY_OP_COPY ? gantry_choice_by_rules(&q->choice, d->len)
				       : q->choice.usual;
}

/*
 * As issue_burst(), for a queue with rules about carriers. Successive descriptors with the same
 * carrier are one burst.
 */
static __rte_noinline uint32_t
issue_by_rules(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n)
{
	uint32_t i, run, done;

	count_in_flight(q, s, n);
	for (i = 0; i < n; i += run) {
		enum gantry_carrier carrier = carrier_by_rules(q, &desc[i]);

		for (run = 1; i + run < n; run++)
			if (carrier_by_rules(q, &desc[i + run]) != carrier)
				break;
		done = issue_by(q, s, desc + i, run, carrier);
		if (done < run)
			return i + done;
	}
	return n;
}

static __rte_always_inline uint32_t
issue(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc, uint32_t n)
{
	if (unlikely(q->conn[GANTRY_CONN_OWN].state != GANTRY_CONN_READY))
		return issue_without_own(q, s, desc, n);
	if (likely(q->choice.all == GANTRY_CARRIER_MMO))
		return issue_by_mmo(q, s, desc, n);
	if (likely(q->choice.all == GANTRY_CARRIER_RDMA))
		return issue_by_rdma(q, s, desc, n);
	return issue_by_rules(q, s, desc, n);
}

/* Settles the waiting descriptor of slot `issue` if it was cancelled, and then returns true. */
static __rte_noinline bool
settle_cancelled(struct gantry_stream *s)
{
	const struct gantry_desc *d = gantry_stream_pend(s, s->issue);
	uint32_t slot = s->issue & s->mask;

	if ((s->where[slot] & GANTRY_WHERE_CANCELLED) == 0)
		return false;
	gantry_slot_prepare(&s->comp[slot], d, d->op, d->len);
	slot_settle(s, slot, GANTRY_CANCELLED);
	s->n_cancelled--;
	s->issue++;
	return true;
}

/*
 * Returns how many of the n waiting descriptors in the slots from `slot` on have a number up to
 * `limit`.
 */
static uint32_t
count_up_to(const struct gantry_stream *s, uint32_t slot, uint32_t n, uint64_t limit)
{
	uint32_t i;

	for (i = 0; i < n && s->where[slot + i] <= limit; i++)
		;
	return i;
}

/*
 * Issues waiting descriptors of a stream, until a descriptor has to wait longer. In an unordered
 * queue, issues only descriptors with a number up to `limit`.
 */
static void
issue_waiting(struct gantry_queue *q, struct gantry_stream *s, uint64_t limit)
{
	uint64_t head = gantry_counter_get(&s->head);

	if (s->splitting) {
		if (!split_continue(q, s))
			return;
		s->issue++;
	}
	while (s->issue != head) {
		uint32_t slot = s->issue & s->mask, at = s->issue & s->pend_mask;
		uint32_t n = RTE_MIN(head - s->issue, (uint64_t)s->pend_mask + 1 - at);

		if (unlikely(s->n_cancelled != 0)) {
			if (settle_cancelled(s))
				continue;
			n = 1; /* the next descriptor may be cancelled */
		}
		if (limit != UINT64_MAX)
			n = count_up_to(s, slot, n, limit);
		if (n == 0 || issue(q, s, &s->pend[at], n) < n)
			break;
	}
}

/*
 * Stores n descriptors that have to wait, in the slots from `seq` on. Slot `seq` is the next slot
 * to accept a descriptor. number: the number of the first of these descriptors.
 */
static void
note_waiting(struct gantry_stream *s, uint64_t seq, const struct gantry_desc *desc, uint32_t n,
	uint64_t number)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		*gantry_stream_pend(s, seq + i) = desc[i];
		/*
		 * If the descriptor is issued in part, `where` is the position of its last WQE, so
		 * the number is kept in split_number.
		 */
		if (s->splitting && seq + i == s->issue)
			s->split_number = number + i;
		else
			s->where[(seq + i) & s->mask] = number + i;
	}
}

/* ------------------------------------------------------------------ unordered queues */

static struct gantry_stream *
stream_of(struct gantry_queue *q, const struct gantry_desc *d)
{
	return q->conn[gantry_xlate_conn(q, d)].stream;
}

/*
 * Returns the number of the first waiting descriptor of the stream if it is fenced, otherwise
 * UINT64_MAX.
 */
static uint64_t
first_fence(const struct gantry_stream *s)
{
	if (!gantry_stream_waits(s) || s->splitting)
		return UINT64_MAX;
	if ((gantry_stream_pend(s, s->issue)->flags & GANTRY_DESC_FENCE) == 0)
		return UINT64_MAX;
	return gantry_stream_number(s);
}

static void
find_fence(struct gantry_queue *q)
{
	struct gantry_unordered *u = &q->any_order;
	const struct gantry_stream *s;

	u->fence = UINT64_MAX;
	TAILQ_FOREACH(s, &u->busy, next_busy)
		u->fence = RTE_MIN(u->fence, first_fence(s));
}

static void
issue_waiting_unordered(struct gantry_queue *q)
{
	struct gantry_unordered *u = &q->any_order;
	struct gantry_stream *s;

	TAILQ_FOREACH(s, &u->busy, next_busy) {
		s->is_short = false;
		if (gantry_stream_waits(s))
			issue_waiting(q, s, u->fence);
	}
	find_fence(q);
}

/*
 * Returns how many of the next n descriptors the stream can accept; some of them may be issued
 * already. If there is not enough memory for all descriptors that would wait, the stream counts as
 * full until the next poll. Otherwise a later descriptor might overtake a descriptor that was not
 * accepted.
 */
static __rte_noinline uint32_t
make_room_to_wait(const struct gantry_queue *q, struct gantry_stream *s, uint32_t n)
{
	uint64_t head = gantry_counter_get(&s->head);

	if (!s->is_short && gantry_stream_let_all_wait(s, q->socket) == 0)
		return n;
	s->is_short = true;
	if (!s->told_short)
		LOG(WARNING,
			"queue %u has memory for no more than %u descriptors of a connection that "
			"wait in software: it accepts more when these are issued",
			q->id, s->pend_mask + 1);
	s->told_short = true;
	return s->issue + s->pend_mask + 1 - head;
}

/*
 * Accepts n descriptors of one stream, which has slots for them. Returns how many were accepted;
 * fewer than n means that the stream is full.
 */
static uint32_t
accept_unordered(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n)
{
	struct gantry_unordered *u = &q->any_order;
	uint64_t head = gantry_counter_get(&s->head);
	uint32_t i = 0;

	/* A descriptor waits if earlier descriptors of its stream wait, or if a fence waits. */
	if (s->issue == head && u->fence == UINT64_MAX)
		i = issue(q, s, desc, n);
	if (unlikely(head + n - s->issue > (uint64_t)s->pend_mask + 1))
		n = make_room_to_wait(q, s, n);
	note_waiting(s, head + i, desc + i, n - i, u->next + i);
	u->next += n;
	atomic_store_explicit(&s->head, head + n, memory_order_relaxed);
	u->fence = RTE_MIN(u->fence, first_fence(s));
	if (!s->busy)
		gantry_queue_note_busy(q, s);
	return n;
}

/*
 * Accepts and issues descriptors from the beginning of desc, up to the first descriptor that has to
 * wait. Returns how many descriptors were accepted.
 */
static uint32_t
submit_each(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n)
{
	enum gantry_carrier carrier = q->choice.all;
	uint32_t i;

	if (q->any_order.fence != UINT64_MAX ||
		q->conn[GANTRY_CONN_OWN].state != GANTRY_CONN_READY ||
		(carrier != GANTRY_CARRIER_MMO && carrier != GANTRY_CARRIER_RDMA))
		return 0;
	i = gantry_each_unordered(q, desc, n, carrier == GANTRY_CARRIER_MMO);
	q->any_order.next += i;
	return i;
}

/*
 * The code of gantry_submit() for an unordered queue. Successive descriptors of one stream are
 * accepted together.
 */
static uint32_t
submit_unordered(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n)
{
	gantry_counter *submitted = &q->any_order.submitted;
	uint32_t i = 0, run, room, done;

	while ((i += submit_each(q, desc + i, n - i)) < n) {
		struct gantry_stream *s = stream_of(q, &desc[i]);

		for (run = 1; i + run < n && stream_of(q, &desc[i + run]) == s; run++)
			;
		room = s->mask + 1 - gantry_stream_in_flight(s);
		done = accept_unordered(q, s, desc + i, RTE_MIN(run, room));
		i += done;
		if (done < run)
			break;
	}
	ring_all(q);
	gantry_counter_add(submitted, i);
	return i;
}

/* ------------------------------------------------------------------ the calls */

void
gantry_issue_waiting(struct gantry_queue *q)
{
	q->cpu_left = GANTRY_CPU_CALL_LEN;
	if (unlikely(q->unordered))
		issue_waiting_unordered(q);
	else
		issue_waiting(q, &q->stream, UINT64_MAX);
	ring_all(q);
}

/*
 * The code of gantry_submit() for a queue in order. plain_mmo: a constant, true if no descriptor
 * waits, and the own connection works and carries all copies by DMA MMO. The compiler makes a
 * version of the function for each value.
 */
static __rte_always_inline uint32_t
submit_in_order(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n,
	const bool plain_mmo)
{
	struct gantry_stream *s = &q->stream;
	uint64_t head = gantry_counter_get(&s->head);
	uint32_t i = 0;

	/* While descriptors wait, new descriptors wait behind them. */
	if (plain_mmo || s->issue == head) {
		i = plain_mmo ? issue_burst(q, s, desc, n, GANTRY_CARRIER_MMO)
			      : issue(q, s, desc, n);
		ring_all(q);
	}
	if (unlikely(i < n))
		note_waiting(s, head + i, desc + i, n - i, 0);
	atomic_store_explicit(&s->head, head + n, memory_order_relaxed);
	return n;
}

uint32_t
gantry_submit_by_mmo(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n)
{
	return submit_in_order(q, desc, n, true);
}

uint32_t
gantry_submit_any(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n)
{
	const struct gantry_stream *s = &q->stream;

	if (q->unordered)
		return submit_unordered(q, desc, n);
	return submit_in_order(q, desc, RTE_MIN(n, s->mask + 1 - gantry_stream_in_flight(s)),
		false);
}
