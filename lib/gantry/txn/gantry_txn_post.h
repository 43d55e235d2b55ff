/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The WQEs of transactions. All of a transaction's WQEs are posted in one go, or none:
 *
 *     UMR, SET_PSV, SET_PSV    the key: layout of memory, encryption, signatures of both domains
 *     RDMA write or read ...   the transfers; the first one waits for the UMR
 *     SEND, fenced             the good response, on a GANTRY_TXN_PIPELINED connection; of a read, while
 *                              at most one other transaction is open there
 *
 * The last one makes a CQE.
 */
#ifndef GANTRY_TXN_POST_H
#define GANTRY_TXN_POST_H

#include <rte_branch_prediction.h>

#include "gantry_doorbell.h"
#include "gantry_txn_check.h"

/* ------------------------------------------------------------------ bursts */

/* Room for n_bb WQEBBs, in one piece. False: there is none. */
static __rte_always_inline bool
gantry_txn_begin(struct hwq_burst *b, struct gantry_conn *c, uint32_t n_bb)
{
	if (!hwq_burst_reserve(b, c->sq, n_bb))
		return false;
	/* No queue pair of the engine has sq_sig_all. The compiler learns it here. */
	b->signals = 0;
	return true;
}

/* Commits the burst of n_bb WQEBBs, of which its last WQE has last_bb. */
static __rte_always_inline void
gantry_txn_commit(struct gantry_queue *q, struct gantry_conn *c, struct gantry_txn_open *t,
	struct hwq_burst *b, uint32_t n_bb, uint32_t last_bb)
{
	bool is_first = hwq_sq_pending_bb(b->sq) == 0;
	uint32_t n = b->fill + n_bb;

	hwq_burst_end_at(b, n_bb, last_bb);
	c->posted += n;
	t->last = c->posted - last_bb;
	/* Others since the last doorbell have added the connection to the set. */
	if (unlikely(is_first))
		gantry_note_posted(q, c - q->conn, n);
	else
		q->outstanding += n;
}

/* ------------------------------------------------------------------ WQEs */

static_assert(offsetof(struct gantry_txn_tags, ref_tag) == offsetof(struct hwq_sig_tags, ref_tag) &&
		      offsetof(struct gantry_txn_tags, app_tag) ==
			      offsetof(struct hwq_sig_tags, app_tag) &&
		      offsetof(struct gantry_txn_tags, seed_ones) ==
			      offsetof(struct hwq_sig_tags, seed_ones) &&
		      offsetof(struct gantry_txn_tags, zero) ==
			      offsetof(struct hwq_sig_tags, zero) &&
		      sizeof(struct gantry_txn_tags) == sizeof(struct hwq_sig_tags),
	"gantry_txn_sig_tags() takes them as they are");

/* What the device begins the signatures of a domain with. */
static inline const struct hwq_sig_tags *
gantry_txn_sig_tags(const struct gantry_txn_tags *tags)
{
	return (const struct hwq_sig_tags *)tags;
}

/* n transfers. answers: the good response follows. */
static __rte_always_inline void
gantry_txn_put_moves(struct hwq_burst *b, const struct hwq_mkey *mkey,
	const struct gantry_txn_plan *plan, uint32_t n, bool answers)
{
	/* CQEs of several transfers tell in which one a signature was wrong: gantry_txn_note_wrong(). */
	unsigned int flags = n > 1 || !answers ? HWQ_WQE_SIGNALED : 0, after = HWQ_WQE_AFTER_UMR;
	uint8_t opcode = plan->read ? MLX5_OPCODE_RDMA_READ : MLX5_OPCODE_RDMA_WRITE;
	const struct gantry_txn_move *m = plan->move;

	do {
		hwq_burst_rdma_with(b, opcode, m->rkey, m->addr, hwq_key_word(mkey->lkey),
			m->offset, m->len, flags | after);
		after = 0;
		m++;
	} while (--n != 0);
}

/* WQEBBs of a response. */
static inline uint32_t
gantry_txn_reply_bb(const struct gantry_conn *c, const struct gantry_txn_reply *r)
{
	return likely(r->len <= c->max_inline) ? hwq_burst_send_inline_bb(r->len) : 1;
}

/* The response, which is the last WQE. HWQ_WQE_FENCE holds it until the transfers before it have ended. */
static __rte_always_inline void
gantry_txn_put_reply(struct hwq_burst *b, const struct gantry_conn *c,
	const struct gantry_txn_reply *r, unsigned int flags)
{
	flags |= HWQ_WQE_SIGNALED;
	if (likely(r->len <= c->max_inline))
		hwq_burst_send_inline(b, (const void *)r->addr, r->len, flags);
	else
		hwq_burst_send(b, r->lkey, r->addr, r->len, flags);
}

/* ------------------------------------------------------------------ all of it */

/*
 * True: the good response is posted with the transfers. Its fence holds all that is behind a read until the data are
 * here. With more than one other transaction open, it is faster to wait for the CQE: doc/transactions.md.
 */
static inline bool
gantry_txn_answers_at_once(const struct gantry_txn_line *line, uint32_t good_len,
	const struct gantry_txn_plan *plan)
{
	if (line->mode != GANTRY_TXN_PIPELINED || good_len == 0)
		return false;
	return !plan->read || TAILQ_FIRST(&line->open) == TAILQ_LAST(&line->open, gantry_txn_list);
}

/* What gantry_txn_post_as() knows of a transaction at compile time. */
enum gantry_txn_shape {
	GANTRY_TXN_ANY,
	/* One buffer, one transfer, and the good response at once, copied into its WQE. Nothing is encrypted. */
	GANTRY_TXN_ONE_EACH,
	GANTRY_TXN_CRYPTO, /* it encrypts */
};

/* The key's configuration, of n_sge buffers, or of a pattern (0). */
static __rte_always_inline void
gantry_txn_put_key(struct hwq_burst *b, const struct gantry_txn_plan *plan,
	const struct gantry_txn_open *t, const bool encrypts, uint32_t n_sge)
{
	const struct hwq_sig_tags *mem = gantry_txn_sig_tags(&t->txn->mem),
				  *wire = gantry_txn_sig_tags(&t->txn->wire);

	if (encrypts && n_sge != 0)
		hwq_burst_crypto_list(b, t->mkey, plan->crypto_image, n_sge, plan->sge, mem, wire,
			&plan->crypto, 0);
	else if (encrypts)
		hwq_burst_crypto_pattern(b, t->mkey, plan->crypto_image, plan->rounds,
			RTE_DIM(plan->pattern), plan->pattern, mem, wire, &plan->crypto, 0);
	else if (n_sge != 0)
		hwq_burst_sig_list(b, t->mkey, plan->image, n_sge, plan->sge, mem, wire, 0);
	else
		hwq_burst_sig_pattern(b, t->mkey, plan->image, plan->rounds, RTE_DIM(plan->pattern),
			plan->pattern, mem, wire, 0);
}

/* gantry_txn_post() where the shape is a constant. */
static __rte_always_inline bool
gantry_txn_post_as(struct gantry_queue *q, struct gantry_conn *c,
	const struct gantry_txn_plan *plan, struct gantry_txn_open *t,
	const enum gantry_txn_shape shape)
{
	const bool one_each = shape == GANTRY_TXN_ONE_EACH, encrypts = shape == GANTRY_TXN_CRYPTO;
	const bool answers = one_each || gantry_txn_answers_at_once(c->txns, t->good.len, plan);
	const uint32_t n_sge = one_each ? 1 : plan->n_sge;
	const uint32_t n_moves = one_each || encrypts ? 1 : plan->n_moves;
	const uint32_t units = n_sge != 0 ? n_sge : (uint32_t)RTE_DIM(plan->pattern) + 1;
	const uint32_t key_bb = encrypts ? hwq_crypto_image_n_bb(plan->crypto_image, units)
					 : hwq_sig_image_n_bb(plan->image, units);
	const uint32_t answer_bb = one_each  ? hwq_burst_send_inline_bb(t->good.len)
				   : answers ? gantry_txn_reply_bb(c, &t->good)
					     : 0;
	const uint32_t n_bb = key_bb + n_moves + answer_bb;
	struct hwq_burst b;

	if (!gantry_txn_begin(&b, c, n_bb))
		return false;
	gantry_txn_put_key(&b, plan, t, encrypts, n_sge);
	gantry_txn_put_moves(&b, t->mkey, plan, n_moves, answers);
	if (one_each)
		hwq_burst_send_inline(&b, (const void *)t->good.addr, t->good.len,
			HWQ_WQE_SIGNALED | HWQ_WQE_FENCE);
	else if (answers)
		gantry_txn_put_reply(&b, c, &t->good, HWQ_WQE_FENCE);
	gantry_txn_commit(q, c, t, &b, n_bb, answers ? answer_bb : 1);
	t->first_move = c->posted - answer_bb - n_moves;
	t->c = c;
	t->has_answer = answers;
	return true;
}

/* gantry_txn_post() for a transaction that encrypts. */
bool gantry_txn_post_crypto(struct gantry_queue *q, struct gantry_conn *c,
	const struct gantry_txn_plan *plan, struct gantry_txn_open *t);

/* gantry_txn_post() for all others. */
bool gantry_txn_post_other(struct gantry_queue *q, struct gantry_conn *c,
	const struct gantry_txn_plan *plan, struct gantry_txn_open *t);

/* Posts the transaction that was checked, as t, to connection c. False: no room, and nothing was written. */
static __rte_always_inline bool
gantry_txn_post(struct gantry_queue *q, struct gantry_conn *c, const struct gantry_txn_plan *plan,
	struct gantry_txn_open *t)
{
	bool one_each = plan->n_sge == 1 && plan->n_moves == 1 && t->good.len <= c->max_inline &&
			gantry_txn_answers_at_once(c->txns, t->good.len, plan);

	return likely(one_each) ? gantry_txn_post_as(q, c, plan, t, GANTRY_TXN_ONE_EACH)
				: gantry_txn_post_other(q, c, plan, t);
}

/* Posts a response of t to its connection. False: no room, and nothing was written. */
bool gantry_txn_post_reply(struct gantry_queue *q, struct gantry_txn_open *t,
	const struct gantry_txn_reply *reply);

#endif
