/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the WQEs of transactions. */
#include "gantry_txn_post.h"

#include <string.h>

#include <rte_branch_prediction.h>

#include "gantry_doorbell.h"
#include "gantry_queue.h"

/* ------------------------------------------------------------------ WQEs */

static_assert(offsetof(struct gantry_txn_tags, ref_tag) == offsetof(struct hwq_sig_tags, ref_tag) &&
		      offsetof(struct gantry_txn_tags, app_tag) ==
			      offsetof(struct hwq_sig_tags, app_tag) &&
		      offsetof(struct gantry_txn_tags, seed_ones) ==
			      offsetof(struct hwq_sig_tags, seed_ones) &&
		      sizeof(struct gantry_txn_tags) == sizeof(struct hwq_sig_tags),
	"tags_of() copies them as they are");

/* What the device begins the signatures of a domain with. */
static __rte_always_inline struct hwq_sig_tags
tags_of(const struct gantry_txn_tags *from)
{
	struct hwq_sig_tags tags;

	memcpy(&tags, from, sizeof(tags));
	return tags;
}

static __rte_always_inline void
put_list(struct hwq_burst *b, struct hwq_mkey *mkey, const struct gantry_txn_plan *plan,
	const struct hwq_sig_image *image)
{
	const struct hwq_sig_tags mem = tags_of(&plan->txn->mem), wire = tags_of(&plan->txn->wire);

	hwq_burst_sig_list(b, mkey, image, plan->n_sge, plan->sge, &mem, &wire, 0);
}

/* Not inline, so that the burst of a list can lie in registers. */
static __rte_noinline struct hwq_burst
put_pattern(struct hwq_burst b, struct hwq_mkey *mkey, const struct gantry_txn_plan *plan,
	const struct hwq_sig_image *image)
{
	const struct hwq_sig_tags mem = tags_of(&plan->txn->mem), wire = tags_of(&plan->txn->wire);

	hwq_burst_sig_pattern(&b, mkey, image, plan->rounds, RTE_DIM(plan->pattern), plan->pattern,
		&mem, &wire, 0);
	return b;
}

/* signals: HWQ_WQE_SIGNALED or 0. */
static __rte_always_inline void
put_moves(struct hwq_burst *b, const struct hwq_mkey *mkey, const struct gantry_txn_plan *plan,
	unsigned int signals)
{
	uint8_t opcode = plan->read ? MLX5_OPCODE_RDMA_READ : MLX5_OPCODE_RDMA_WRITE;
	unsigned int flags = signals | HWQ_WQE_AFTER_UMR;
	const struct gantry_txn_move *m = plan->move;
	uint32_t left = plan->n_moves;

	do {
		hwq_burst_rdma_with(b, opcode, m->rkey, m->addr, hwq_key_word(mkey->lkey),
			m->offset, m->len, flags);
		flags = signals;
		m++;
	} while (--left != 0);
}

/* WQEBBs of a response. */
static inline uint32_t
reply_bb(const struct gantry_conn *c, const struct gantry_txn_reply *r)
{
	return r->len <= c->max_inline ? hwq_burst_send_inline_bb(r->len) : 1;
}

/* The response, which is the last WQE. HWQ_WQE_FENCE holds it until the transfers before it have ended. */
static __rte_always_inline void
put_reply(struct hwq_burst *b, const struct gantry_conn *c, const struct gantry_txn_reply *r,
	unsigned int flags)
{
	flags |= HWQ_WQE_SIGNALED;
	if (r->len <= c->max_inline)
		hwq_burst_send_inline(b, (const void *)r->addr, r->len, flags);
	else
		hwq_burst_send(b, r->lkey, r->addr, r->len, flags);
}

/* Commits the burst, whose WQEs have `room` WQEBBs, and the last one last_bb. */
static __rte_always_inline void
commit(struct gantry_queue *q, struct gantry_conn *c, struct gantry_txn_open *t,
	struct hwq_burst *b, uint32_t room, uint32_t last_bb)
{
	uint16_t pi = b->sq->pi;
	uint32_t n_bb = (uint16_t)(hwq_burst_pi(b) - pi);

	hwq_burst_end_at(b, room, last_bb);
	c->posted += n_bb;
	t->last = c->posted - last_bb;
	/* Others since the last doorbell have added the connection to the sets. */
	if (unlikely(pi == b->sq->rung))
		gantry_note_posted(q, c - q->conn, n_bb);
	else
		q->outstanding += n_bb;
}

/*
 * True: the good response is posted with the transfers. Its fence holds all that is behind a read until the data are
 * here. With more than one other transaction open, it is faster to wait for the CQE: doc/transactions.md.
 */
static bool
answers_at_once(const struct gantry_txn_line *line, const struct gantry_txn_plan *plan)
{
	if (line->mode != GANTRY_TXN_PIPELINED || plan->good.len == 0)
		return false;
	return !plan->read || TAILQ_FIRST(&line->open) == TAILQ_LAST(&line->open, gantry_txn_list);
}

/* ------------------------------------------------------------------ what others call */

bool
gantry_txn_post(struct gantry_queue *q, struct gantry_conn *c, const struct gantry_txn_plan *plan,
	struct gantry_txn_open *t)
{
	const struct hwq_sig_image *image = plan->image;
	const uint32_t units =
		plan->n_sge != 0 ? plan->n_sge : (uint32_t)RTE_DIM(plan->pattern) + 1;
	const bool answers = answers_at_once(c->txns, plan);
	const uint32_t answer_bb = answers ? reply_bb(c, &plan->good) : 0;
	const uint32_t room = hwq_sig_image_n_bb(image, units) + plan->n_moves + answer_bb;
	struct hwq_burst b;

	if (!hwq_burst_reserve(&b, c->sq, room))
		return false;
	if (likely(plan->n_sge != 0))
		put_list(&b, t->mkey, plan, image);
	else
		b = put_pattern(b, t->mkey, plan, image);
	t->first_move = c->posted + (uint16_t)(hwq_burst_pi(&b) - c->sq->pi);
	/* CQEs of several transfers tell in which one a signature was wrong: gantry_txn_note_wrong(). */
	put_moves(&b, t->mkey, plan, plan->n_moves > 1 || !answers ? HWQ_WQE_SIGNALED : 0);
	if (answers)
		put_reply(&b, c, &plan->good, HWQ_WQE_FENCE);
	commit(q, c, t, &b, room, answers ? answer_bb : 1);
	t->c = c;
	t->txn = plan->txn;
	t->good = plan->good;
	t->bad = plan->bad;
	t->has_answer = answers;
	return true;
}

bool
gantry_txn_post_reply(struct gantry_queue *q, struct gantry_txn_open *t,
	const struct gantry_txn_reply *reply)
{
	/* If its transfers have ended, a fence would only wait for reads of others, which were posted since. */
	unsigned int flags = t->c->done > t->last ? 0 : HWQ_WQE_FENCE;
	uint32_t n_bb = reply_bb(t->c, reply);
	struct hwq_burst b;

	if (!hwq_burst_reserve(&b, t->c->sq, n_bb))
		return false;
	put_reply(&b, t->c, reply, flags);
	commit(q, t->c, t, &b, n_bb, n_bb);
	return true;
}
