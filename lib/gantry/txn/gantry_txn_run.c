/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens transactions, and continues open transactions. */
#include "gantry_txn_run.h"

#include <rte_branch_prediction.h>

#include <hwq_mkey_check.h>

#include "gantry_doorbell.h"
#include "gantry_queue.h"
#include "gantry_slot.h"
#include "gantry_txn_plain.h"
#include "gantry_txn_post.h"
#include "gantry_txn_state.h"
#include "gantry_txn_stop.h"

/*
 * The result of open_txn() for a transaction that has to wait. It is never the status of a
 * completion.
 */
#define WAITS (GANTRY_STATUS_MAX + 1)

/*
 * Returns the connection that carries a transaction of stream s, or GANTRY_CONN_NONE if there is no
 * such connection.
 */
static inline uint32_t
conn_of(const struct gantry_queue *q, const struct gantry_stream *s, const struct gantry_desc *d)
{
	uint32_t conn = d->peer == GANTRY_PEER_OWN ? (uint32_t)GANTRY_CONN_TXN_OWN
						   : gantry_queue_peer_conn(q, d->peer);
	const struct gantry_conn *c = &q->conn[conn];

	/*
	 * If the peer was opened after the descriptor was accepted, the peer's connection has
	 * another stream.
	 */
	return c->txns != NULL && c->stream == s ? conn : (uint32_t)GANTRY_CONN_NONE;
}

/*
 * Opens the transaction of slot `issue` on connection `conn`. Returns GANTRY_OK; WAITS if the
 * transaction has to wait, and no WQE of it is posted; or the status that refuses it.
 */
static __rte_always_inline unsigned int
open_txn(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	const struct gantry_desc *d)
{
	struct gantry_txn_open *t = SLIST_FIRST(&q->txns.free);
	struct gantry_conn *c = &q->conn[conn];
	struct gantry_txn_plan plan;
	enum gantry_status status;
	bool encrypts;

	/*
	 * Makes the compiler keep the address in a register. Otherwise it computes the address at
	 * each use.
	 */
	__asm__("" : "+r"(c));
	/* If no transaction is free, the descriptor has to wait, so it is not checked yet. */
	if (unlikely(t == NULL))
		return q->txns.n == 0 ? (unsigned int)GANTRY_BAD_OP : WAITS;
	status = gantry_txn_check(q, c, d, &plan, t);
	if (unlikely(status != GANTRY_OK))
		return status;
	if (unlikely(c->state != GANTRY_CONN_TXN || c->txns->stop != GANTRY_TXN_RUNS))
		return WAITS;
	encrypts = gantry_profile_encrypts(plan.profile);
	if (unlikely(t->unfit != (encrypts ? GANTRY_TXN_KEY_ENCRYPTS : 0)) &&
		!gantry_txn_fit_key(&q->txns, t, encrypts))
		return GANTRY_NO_RESOURCES;
	if (unlikely(!(encrypts ? gantry_txn_post_crypto(q, c, &plan, t)
				: gantry_txn_post(q, c, &plan, t))))
		return WAITS;
	gantry_txn_begin(q, s, c, gantry_txn_where(conn), t, plan.profile, t->has_answer);
	gantry_txn_note_begun(q, 1);
	return GANTRY_OK;
}

/* Issues or settles a transaction. Returns false if the transaction has to wait. */
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
	const uint64_t head = gantry_desc_head_of(GANTRY_OP_TXN, desc->peer);
	uint32_t conn = conn_of(q, s, desc), i = 0, k;

	while (i < n && gantry_desc_head(&desc[i]) == head && gantry_txn_desc_is_good(&desc[i])) {
		const struct gantry_desc *d = &desc[i];
		struct gantry_txn_cached *profile = gantry_txn_plain_profile(q, d);

		k = profile == NULL ? 0 : gantry_txn_post_plain(q, s, conn, profile, d, n - i);
		i += k;
		if (likely(k != 0))
			continue;
		gantry_slot_prepare(&s->comp[s->issue & s->mask], d, GANTRY_OP_TXN, d->len);
		if (!issue(q, s, conn, d))
			break;
		i++;
	}
	return i;
}

bool
gantry_txn_run_one(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *d)
{
	/* A local transaction is never plain, so the connection is that of the peer. */
	uint32_t conn = gantry_queue_peer_conn(q, d->peer);
	struct gantry_txn_cached *profile;

	if (q->conn[conn].stream != s || !gantry_txn_desc_is_good(d))
		return false;
	profile = gantry_txn_plain_profile(q, d);
	return profile != NULL && gantry_txn_post_plain_one(q, s, conn, profile, d);
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
	/* Responses were posted, so the doorbell must be rung. */
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
