/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens transactions, and goes on with those that are open. */
#include "gantry_txn_run.h"

#include <rte_branch_prediction.h>

#include <hwq_mkey_check.h>

#include "gantry_doorbell.h"
#include "gantry_queue.h"
#include "gantry_recover.h"
#include "gantry_txn_check.h"
#include "gantry_txn_post.h"
#include "gantry_txn_state.h"
#include "gantry_txn_stop.h"

/* Above what any connection has posted, and below GANTRY_WHERE_HELD of gantry_replay.h. */
#define NEVER_DONE (UINT64_C(1) << (GANTRY_WHERE_SHIFT - 2))

/* t, whose WQEs are posted to connection `conn`, has slot `issue`. */
static void
open(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	const struct gantry_txn_plan *plan, struct gantry_txn_open *t)
{
	t->state = GANTRY_TXN_POSTED;
	t->status = GANTRY_OK;
	t->syndrome = t->vendor_syndrome = 0;
	t->seq = s->issue;
	t->version = q->view.version;
	t->n_moves = plan->n_moves;
	t->wrong_move = 0;
	t->mem = plan->profile->mem;
	t->wire = plan->profile->wire;
	s->where[s->issue & s->mask] = gantry_where(conn, NEVER_DONE);
	TAILQ_INSERT_TAIL(&t->c->txns->open, t, next);
	q->outstanding++;
	gantry_counter_add(&q->txns.counts.opened, 1);
}

unsigned int
gantry_txn_issue(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *d)
{
	struct gantry_txn_plan plan;
	struct gantry_txn_open *t;
	enum gantry_status status;
	struct gantry_conn *c;
	uint32_t conn;

	/* Without a free transaction it would be checked in vain. */
	if (q->txns.n != 0 && TAILQ_EMPTY(&q->txns.free))
		return GANTRY_TXN_WAITS;
	status = gantry_txn_check(q, d, &plan);
	if (status != GANTRY_OK)
		return status;
	conn = gantry_txn_conn(q, d);
	c = &q->conn[conn];
	/* The peer was opened after the descriptor had been accepted. */
	if (unlikely(c->stream != s))
		return GANTRY_BAD_PEER;
	if (unlikely(c->state != GANTRY_CONN_TXN || c->txns->stop != GANTRY_TXN_RUNS))
		return GANTRY_TXN_WAITS;
	t = gantry_txn_take(q, &status);
	if (t == NULL)
		return status == GANTRY_OK ? (unsigned int)GANTRY_TXN_WAITS : status;
	if (!gantry_txn_post(q, conn, &plan, t)) {
		gantry_txn_give(q, t);
		return GANTRY_TXN_WAITS;
	}
	open(q, s, conn, &plan, t);
	return GANTRY_OK;
}

void
gantry_txn_note_error(struct gantry_queue *q, struct gantry_conn *c, const struct hwq_cqe *cqe)
{
	hwq_mkey_note_err(q->domain, cqe);
	gantry_txn_note_wrong(c, cqe->sig.mkey);
	gantry_txn_stop_expect(q, c);
}

void
gantry_txn_go_on(struct gantry_queue *q, struct gantry_conn *c)
{
	uint32_t conn = c - q->conn;

	if (unlikely(c->txns->stop >= GANTRY_TXN_STOPPED) && c->state == GANTRY_CONN_TXN &&
		!gantry_txn_stop_handle(q, c)) {
		gantry_txn_stop_forget(q, c);
		gantry_recover_stuck(q, c);
	}
	gantry_txn_advance(q, c);
	if (hwq_sq_pending_bb(c->sq) == 0)
		return;
	/* Responses. */
	gantry_ring(q, c, &q->stats.peer_wqes);
	gantry_conn_set_remove(&q->unrung, conn);
}

bool
gantry_txn_is_busy(const struct gantry_conn *c)
{
	return c->txns != NULL &&
	       (c->txns->stop != GANTRY_TXN_RUNS || !TAILQ_EMPTY(&c->txns->open));
}
