/* SPDX-License-Identifier: BSD-3-Clause */
/* Issues descriptors: WQEs, splitting of long ones, fences, doorbells; and gantry_submit(). */
#include "gantry_issue.h"

#include <hwq_db.h>

#include "gantry_xlate.h"

/* ------------------------------------------------------------------ doorbells */

/* Accounts for n WQEs that were written to a connection; ring_all() will ring its doorbell. */
static inline void
note_posted(struct gantry_queue *q, uint32_t conn, uint32_t n)
{
	q->outstanding += n;
	if (conn != GANTRY_CONN_OWN) {
		q->peers_unrung |= RTE_BIT64(conn - GANTRY_CONN_PEER);
		q->peers_active |= RTE_BIT64(conn - GANTRY_CONN_PEER);
	}
}

/*
 * Rings the doorbell of a connection. Its last WQE makes a CQE, which accounts for all before it.
 */
static inline void
ring(struct gantry_queue *q, struct gantry_conn *c)
{
	gantry_counter_add(&q->stats.wqes, hwq_sq_pending_bb(c->sq));
	gantry_counter_add(&q->stats.doorbells, 1);
	hwq_sq_signal_last(c->sq);
	hwq_sq_ring(c->sq);
}

static inline void
ring_all(struct gantry_queue *q)
{
	struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];

	if (hwq_sq_pending_bb(own->sq) != 0)
		ring(q, own);
	for (; unlikely(q->peers_unrung != 0); q->peers_unrung &= q->peers_unrung - 1)
		ring(q, &q->conn[GANTRY_CONN_PEER + rte_bsf64(q->peers_unrung)]);
}

/* ------------------------------------------------------------------ slots */

/* Prepares the completion of a descriptor that succeeds. */
static inline void
slot_prepare(struct gantry_comp *comp, const struct gantry_desc *d)
{
	*comp = (struct gantry_comp){.cookie = d->cookie, .op = d->op, .len = d->len};
}

/* Completes a descriptor without hardware: it is handed out when all before it are. */
static void
slot_settle(struct gantry_queue *q, uint32_t slot, enum gantry_status status)
{
	q->comp[slot].status = status;
	q->where[slot] = GANTRY_WHERE_NOWHERE;
}

/* ------------------------------------------------------------------ splitting */

/*
 * Posts WQEs for the rest of the split descriptor, until the send queue is full. True: all posted.
 */
static bool
split_push(struct gantry_queue *q)
{
	struct gantry_work *w = &q->split;
	struct gantry_conn *c = &q->conn[w->conn];
	uint64_t before = c->posted;

	while (w->len != 0) {
		uint64_t len = RTE_MIN(w->len, c->max_len);

		if (!gantry_wqe_put(c, w, w->kind, len))
			break;
		w->src += len;
		w->dst += len;
		w->len -= len;
	}
	if (c->posted != before) {
		note_posted(q, w->conn, c->posted - before);
		q->where[q->issue & q->mask] = gantry_where(w->conn, c->posted - 1);
	}
	return w->len == 0;
}

/* Begins to split the descriptor of slot `issue`. True: all of it is posted. */
static bool
split_begin(struct gantry_queue *q, const struct gantry_work *w)
{
	q->split = *w;
	q->where[q->issue & q->mask] = GANTRY_WHERE_NOWHERE;
	q->splitting = !split_push(q);
	return !q->splitting;
}

/* Posts more of the split descriptor. True: nothing is left to post. */
static bool
split_continue(struct gantry_queue *q)
{
	uint32_t conn = q->split.conn;

	if (unlikely(q->conn[conn].state != GANTRY_CONN_READY)) {
		/* No WQE of this descriptor is posted: else fail_from() in gantry_recover.c had
		 * settled it. The own connection will be set up again, a peer's will not. */
		if (conn == GANTRY_CONN_OWN && !q->lost)
			return false;
		slot_settle(q, q->issue & q->mask, q->lost ? GANTRY_DEVICE_LOST : GANTRY_BAD_PEER);
		q->splitting = false;
		return true;
	}
	q->splitting = !split_push(q);
	return !q->splitting;
}

/* ------------------------------------------------------------------ issuing */

/*
 * Issues or settles the descriptor of slot `issue`. False: it has to wait. Nothing of it is posted
 * then, unless it is being split.
 */
static __rte_noinline bool
issue_any(struct gantry_queue *q, const struct gantry_desc *d)
{
	uint32_t slot = q->issue & q->mask;
	enum gantry_status status;
	struct gantry_work w;
	struct gantry_conn *c;

	/* A fenced descriptor waits until no WQE is outstanding: doc/engine.md says why. */
	if ((d->flags & GANTRY_DESC_FENCE) != 0 && q->outstanding != 0)
		return false;
	slot_prepare(&q->comp[slot], d);
	status = gantry_xlate(q, d, &w);
	if (status != GANTRY_TO_HARDWARE) {
		slot_settle(q, slot, status);
		q->issue++;
		return true;
	}
	c = &q->conn[w.conn];
	if (w.len > c->max_len) {
		if (!split_begin(q, &w))
			return false;
	} else {
		if (!gantry_wqe_put(c, &w, w.kind, w.len))
			return false;
		note_posted(q, w.conn, 1);
		q->where[slot] = gantry_where(w.conn, c->posted - 1);
	}
	q->issue++;
	return true;
}

/*
 * Issues or settles descriptors from slot `issue` on, until one has to wait. Returns how many.
 * Takes no CQE, so every connection keeps its state meanwhile.
 */
static __rte_always_inline uint32_t
issue_burst(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n, bool mmo)
{
	const uint8_t kind = mmo ? GANTRY_WQE_MEMCPY : GANTRY_WQE_WRITE;
	const struct gantry_region *src = q->view.src, *dst = q->view.dst;
	struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];
	struct gantry_comp *comp = q->comp;
	uint64_t max_len = own->max_len;
	uint64_t *where = q->where;
	uint32_t mask = q->mask;
	uint32_t i;

	for (i = 0; i < n; i++) {
		const struct gantry_desc *d = &desc[i];

		if (likely(gantry_xlate_is_easy(d, src, dst, max_len))) {
			struct gantry_work w = gantry_xlate_easy(d, src, dst, mmo);
			uint32_t slot = q->issue & mask;

			if (unlikely(!gantry_wqe_put(own, &w, kind, w.len)))
				break;
			slot_prepare(&comp[slot], d);
			where[slot] = gantry_where(GANTRY_CONN_OWN, own->posted - 1);
			q->outstanding++;
			q->issue++;
			continue;
		}
		if (!issue_any(q, d))
			break;
		src = q->view.src;
		dst = q->view.dst;
	}
	return i;
}

/* issue_burst() for a queue whose own connection is lost: copies are refused. */
static uint32_t
issue_lost(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n && issue_any(q, &desc[i]); i++)
		;
	return i;
}

static uint32_t
issue(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n)
{
	if (unlikely(q->conn[GANTRY_CONN_OWN].state != GANTRY_CONN_READY)) {
		/* It drains: everything waits until it is set up again or lost. */
		return q->lost ? issue_lost(q, desc, n) : 0;
	}
	return q->mmo ? issue_burst(q, desc, n, true) : issue_burst(q, desc, n, false);
}

void
gantry_issue_waiting(struct gantry_queue *q)
{
	uint64_t head = gantry_counter_get(&q->head);

	if (q->splitting) {
		if (!split_continue(q)) {
			ring_all(q);
			return;
		}
		q->issue++;
	}
	while (q->issue != head) {
		uint32_t slot = q->issue & q->mask;
		uint32_t n = RTE_MIN(head - q->issue, (uint64_t)q->mask + 1 - slot);

		if (issue(q, &q->pend[slot], n) < n)
			break;
	}
	ring_all(q);
}

uint16_t
gantry_submit(struct gantry_queue *q, const struct gantry_desc *desc, uint16_t n)
{
	uint64_t head = gantry_counter_get(&q->head);
	uint32_t room = q->mask + 1 - (uint32_t)(head - gantry_counter_get(&q->tail));
	uint32_t i = 0;

	gantry_region_refresh(&q->view);
	n = RTE_MIN(n, room);
	/* While descriptors wait, new ones wait behind them. */
	if (likely(q->issue == head)) {
		i = issue(q, desc, n);
		ring_all(q);
	}
	for (; unlikely(i < n); i++)
		q->pend[(head + i) & q->mask] = desc[i];
	atomic_store_explicit(&q->head, head + n, memory_order_relaxed);
	return n;
}
