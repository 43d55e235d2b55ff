/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens transactions, and goes on with those that are open. */
#include "gantry_txn_run.h"

#include <rte_branch_prediction.h>

#include <hwq_mkey_check.h>

#include "gantry_doorbell.h"
#include "gantry_queue.h"
#include "gantry_slot.h"
#include "gantry_txn_post.h"
#include "gantry_txn_state.h"
#include "gantry_txn_stop.h"

/* Above what any connection has posted, and below GANTRY_WHERE_HELD of gantry_replay.h. */
#define NEVER_DONE (UINT64_C(1) << (GANTRY_WHERE_SHIFT - 2))

/* What open_txn() returns for one that has to wait. It is never the status of a completion. */
#define WAITS (GANTRY_STATUS_MAX + 1)

/* The connection that carries a transaction of stream s; GANTRY_CONN_NONE: none does. */
static inline uint32_t
conn_of(const struct gantry_queue *q, const struct gantry_stream *s, const struct gantry_desc *d)
{
	uint32_t conn = d->peer == GANTRY_PEER_OWN ? (uint32_t)GANTRY_CONN_TXN_OWN
						   : gantry_queue_peer_conn(q, d->peer);
	const struct gantry_conn *c = &q->conn[conn];

	/* A peer that was opened after the descriptor had been accepted has another stream. */
	return c->txns != NULL && c->stream == s ? conn : (uint32_t)GANTRY_CONN_NONE;
}

/* t, whose WQEs are posted to connection `conn`, has slot `issue`. */
static __rte_always_inline void
note_open(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	const struct gantry_txn_plan *plan, struct gantry_txn_open *t)
{
	t->state = GANTRY_TXN_POSTED;
	t->status = GANTRY_OK;
	t->syndrome = t->vendor_syndrome = 0;
	t->seq = s->issue;
	t->version = q->view.version;
	t->wrong_move = 0;
	t->is_sure = true;
	t->mem = plan->profile->mem;
	t->wire = plan->profile->wire;
	s->where[s->issue & s->mask] = gantry_where(conn, NEVER_DONE);
	SLIST_FIRST(&q->txns.free) = SLIST_NEXT(t, next_free);
	TAILQ_INSERT_TAIL(&q->conn[conn].txns->open, t, next);
	q->outstanding++;
	gantry_counter_add(&q->txns.counts.opened, 1);
}

/* Its connection does not work now, or is stopped. The status that refuses it, or WAITS. */
static __rte_cold unsigned int
judge(struct gantry_queue *q, const struct gantry_conn *c, const struct gantry_desc *d,
	struct gantry_txn_open *t)
{
	const bool works = c->state == GANTRY_CONN_TXN;
	struct gantry_txn_plan plan;
	enum gantry_status status = gantry_txn_check(q, c, works, false, d, &plan, t);

	if (status == GANTRY_BAD_PROFILE)
		status = gantry_txn_check(q, c, works, true, d, &plan, t);
	return status == GANTRY_OK ? WAITS : (unsigned int)status;
}

/* open_txn() with a profile that encrypts, if it is one. */
static __rte_noinline unsigned int
open_crypto(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	const struct gantry_desc *d, struct gantry_txn_open *t)
{
	struct gantry_conn *c = &q->conn[conn];
	struct gantry_txn_plan plan;
	enum gantry_status status = gantry_txn_check(q, c, true, true, d, &plan, t);

	if (unlikely(status != GANTRY_OK))
		return status;
	if (unlikely(t->unfit != GANTRY_TXN_KEY_ENCRYPTS) && !gantry_txn_fit_key(&q->txns, t, true))
		return GANTRY_NO_RESOURCES;
	if (!gantry_txn_post_crypto(q, c, &plan, t))
		return WAITS;
	note_open(q, s, conn, &plan, t);
	return GANTRY_OK;
}

/*
 * Opens the transaction of slot `issue`, by connection `conn`. GANTRY_OK; WAITS: nothing of it is posted; else the
 * status that refuses it.
 */
static __rte_always_inline unsigned int
open_txn(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	const struct gantry_desc *d)
{
	struct gantry_txn_open *t = SLIST_FIRST(&q->txns.free);
	struct gantry_conn *c = &q->conn[conn];
	struct gantry_txn_plan plan;
	enum gantry_status status;

	/* Without a free transaction it would be checked in vain. */
	if (unlikely(t == NULL))
		return q->txns.n == 0 ? (unsigned int)GANTRY_BAD_OP : WAITS;
	if (unlikely(c->state != GANTRY_CONN_TXN || c->txns->stop != GANTRY_TXN_RUNS))
		return judge(q, c, d, t);
	status = gantry_txn_check(q, c, true, false, d, &plan, t);
	if (unlikely(status != GANTRY_OK))
		return status == GANTRY_BAD_PROFILE ? open_crypto(q, s, conn, d, t) : status;
	if (unlikely(t->unfit != 0) && !gantry_txn_fit_key(&q->txns, t, false))
		return GANTRY_NO_RESOURCES;
	if (!gantry_txn_post(q, c, &plan, t))
		return WAITS;
	note_open(q, s, conn, &plan, t);
	return GANTRY_OK;
}

static __rte_always_inline bool
issue(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn, const struct gantry_desc *d)
{
	unsigned int status = open_txn(q, s, conn, d);

	if (unlikely(status == WAITS))
		return false;
	if (unlikely(status != GANTRY_OK)) {
		s->comp[s->issue & s->mask].status = status;
		s->where[s->issue & s->mask] = GANTRY_WHERE_NOWHERE;
	}
	s->issue++;
	return true;
}

bool
gantry_txn_issue(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *d)
{
	return issue(q, s, conn_of(q, s, d), d);
}

uint32_t
gantry_txn_run(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n)
{
	uint64_t head = gantry_desc_head_of(GANTRY_OP_TXN, desc->peer);
	uint32_t conn = conn_of(q, s, desc);
	uint32_t i;

	for (i = 0; i < n; i++) {
		const struct gantry_desc *d = &desc[i];

		/* gantry_xlate() judges all others. */
		if (gantry_desc_head(d) != head || d->len == 0 ||
			(d->dst | d->remote_key | d->imm | d->arg[0] | d->arg[1]) != 0)
			break;
		gantry_slot_prepare(&s->comp[s->issue & s->mask], d, GANTRY_OP_TXN, d->len);
		if (!issue(q, s, conn, d))
			break;
	}
	return i;
}

void
gantry_txn_note_error(struct gantry_queue *q, struct gantry_conn *c, const struct hwq_cqe *cqe)
{
	hwq_mkey_note_err(q->domain, cqe);
	gantry_txn_note_wrong(c, cqe->sig.mkey);
	gantry_txn_stop_expect(q, c);
}

bool
gantry_txn_resume(struct gantry_queue *q, struct gantry_conn *c)
{
	gantry_txn_look_behind(c);
	if (gantry_txn_stop_handle(q, c))
		return true;
	gantry_txn_stop_forget(q, c);
	return false;
}

void
gantry_txn_go_on(struct gantry_queue *q, struct gantry_conn *c)
{
	uint32_t conn = c - q->conn;

	gantry_txn_look_behind(c);
	gantry_txn_advance(q, c);
	if (hwq_sq_pending_bb(c->sq) == 0)
		return;
	/* Responses. */
	gantry_ring(q, c, &q->stats.peer_wqes);
	gantry_conn_set_remove(&q->unrung, conn);
	gantry_conn_set_add(&q->active, conn);
}

bool
gantry_txn_is_busy(const struct gantry_conn *c)
{
	return c->txns != NULL &&
	       (c->txns->stop != GANTRY_TXN_RUNS || !TAILQ_EMPTY(&c->txns->open));
}
