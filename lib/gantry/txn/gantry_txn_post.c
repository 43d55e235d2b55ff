/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the WQEs of transactions. */
#include "gantry_txn_post.h"

#include <rte_branch_prediction.h>

#include "gantry_doorbell.h"
#include "gantry_queue.h"

/* ------------------------------------------------------------------ room */

/* WQEBBs of a SEND. */
static uint32_t
reply_bb(const struct gantry_txn_reply *r)
{
	if (r->len == 0)
		return 0;
	return r->in_wqe ? hwq_ds_to_bb(1 + hwq_inline_ds(r->len)) : 1;
}

/*
 * WQEBBs that suffice wherever the ring ends: a fill in front of the UMR, and one in front of the response. The
 * others have one WQEBB.
 */
static uint32_t
room_needed(const struct gantry_txn_plan *plan, const struct hwq_sig_image *image,
	const struct gantry_txn_reply *reply)
{
	uint32_t units = plan->n_sge != 0 ? plan->n_sge : (uint32_t)RTE_DIM(plan->pattern) + 1;
	uint32_t key_bb = hwq_sig_image_n_bb(image, units), sends = reply_bb(reply);

	return key_bb + plan->n_moves + sends + RTE_MAX(key_bb, sends);
}

/* ------------------------------------------------------------------ WQEs */

/* What the device begins the signatures of a domain with. */
static struct hwq_sig_tags
tags_of(const struct gantry_txn_tags *tags)
{
	return (struct hwq_sig_tags){.ref_tag = tags->ref_tag,
		.app_tag = tags->app_tag,
		.seed_ones = tags->seed_ones};
}

static int
put_key(struct hwq_sq *sq, struct hwq_mkey *mkey, const struct gantry_txn_plan *plan,
	const struct hwq_sig_image *image)
{
	const struct hwq_sig_tags mem = tags_of(&plan->txn->mem), wire = tags_of(&plan->txn->wire);

	if (plan->n_sge != 0)
		return hwq_wqe_sig_list(sq, mkey, image, plan->n_sge, plan->sge, &mem, &wire, 0);
	return hwq_wqe_sig_pattern(sq, mkey, image, plan->rounds, RTE_DIM(plan->pattern),
		plan->pattern, &mem, &wire, 0);
}

static int
put_move(struct hwq_sq *sq, const struct hwq_mkey *mkey, const struct gantry_txn_plan *plan,
	uint32_t i)
{
	const struct gantry_txn_move *m = &plan->move[i];
	/* CQEs of earlier transfers tell in which one a signature was wrong: gantry_txn_note_wrong(). */
	unsigned int flags =
		(i == 0 ? HWQ_WQE_AFTER_UMR : 0) | (plan->n_moves > 1 ? HWQ_WQE_SIGNALED : 0);

	return hwq_wqe_one(sq, plan->read ? MLX5_OPCODE_RDMA_READ : MLX5_OPCODE_RDMA_WRITE, m->rkey,
		m->addr, mkey->lkey, m->offset, m->len, flags);
}

/* HWQ_WQE_FENCE holds it until the transfers before it have ended. */
static int
put_reply(struct hwq_sq *sq, const struct gantry_txn_reply *r, unsigned int flags)
{
	if (r->in_wqe)
		return hwq_wqe_inline_imm(sq, MLX5_OPCODE_SEND, 0, 0, (const void *)r->addr, r->len,
			flags, 0);
	return hwq_wqe_one(sq, MLX5_OPCODE_SEND, 0, 0, r->lkey, r->addr, r->len, flags);
}

/* WQEs from index pi on are posted. The last one makes a CQE. */
static void
note_posted(struct gantry_queue *q, struct gantry_txn_open *t, uint32_t conn, uint16_t pi)
{
	struct gantry_conn *c = t->c;
	uint32_t n_bb = (uint16_t)(c->sq->pi - pi);

	hwq_sq_signal_last(c->sq);
	c->posted += n_bb;
	gantry_note_posted(q, conn, n_bb);
	t->last = gantry_where_index(gantry_where_last(conn, c));
}

/* ------------------------------------------------------------------ what others call */

bool
gantry_txn_post(struct gantry_queue *q, uint32_t conn, const struct gantry_txn_plan *plan,
	struct gantry_txn_open *t)
{
	const bool seeds_differ = plan->txn->mem.seed_ones != plan->txn->wire.seed_ones;
	const struct hwq_sig_image *image = &plan->profile->image[plan->read][seeds_differ];
	struct gantry_conn *c = &q->conn[conn];
	const bool answers = c->txns->mode == GANTRY_TXN_PIPELINED && plan->good.len != 0;
	const struct gantry_txn_reply none = {.len = 0};
	uint16_t pi = c->sq->pi;
	int n;
	uint32_t i;

	if (hwq_sq_free_bb(c->sq) < room_needed(plan, image, answers ? &plan->good : &none))
		return false;
	n = put_key(c->sq, t->mkey, plan, image);
	/* The limits of gantry_txn_check() and the room leave no reason to refuse any of them. */
	RTE_ASSERT(n > 0);
	t->first_move = c->posted + (uint16_t)(c->sq->pi - pi);
	for (i = 0; i < plan->n_moves; i++) {
		n = put_move(c->sq, t->mkey, plan, i);
		RTE_ASSERT(n > 0);
	}
	if (answers) {
		n = put_reply(c->sq, &plan->good, HWQ_WQE_FENCE);
		RTE_ASSERT(n > 0);
	}
	RTE_SET_USED(n);
	t->c = c;
	t->txn = plan->txn;
	t->good = plan->good;
	t->bad = plan->bad;
	t->has_answer = answers;
	note_posted(q, t, conn, pi);
	return true;
}

bool
gantry_txn_post_reply(struct gantry_queue *q, struct gantry_txn_open *t,
	const struct gantry_txn_reply *reply)
{
	/* If its transfers have ended, a fence would only wait for reads of others, which were posted since. */
	unsigned int flags = t->c->done > t->last ? 0 : HWQ_WQE_FENCE;
	uint16_t pi = t->c->sq->pi;

	if (put_reply(t->c->sq, reply, flags) <= 0)
		return false;
	note_posted(q, t, t->c - q->conn, pi);
	return true;
}
