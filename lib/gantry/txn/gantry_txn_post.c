/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the WQEs of transactions of every kind, and of responses that are posted separately. */
#include "gantry_txn_post.h"

/* ------------------------------------------------------------------ bursts */

/* Reserves n_bb WQEBBs in one piece. Returns false if the send queue has too few free WQEBBs. */
static __rte_always_inline bool
begin(struct hwq_burst *b, struct gantry_conn *c, uint32_t n_bb)
{
	if (!hwq_burst_reserve(b, c->sq, n_bb))
		return false;
	/* No QP of the engine has sq_sig_all. The assignment tells this to the compiler. */
	b->signals = 0;
	return true;
}

/* Commits a burst of n_bb WQEBBs. The last WQE has last_bb WQEBBs. */
static __rte_always_inline void
commit(struct gantry_queue *q, struct gantry_conn *c, struct gantry_txn_open *t,
	struct hwq_burst *b, uint32_t n_bb, uint32_t last_bb)
{
	const bool is_first = hwq_sq_pending_bb(b->sq) == 0;
	uint32_t n = b->fill + n_bb;

	hwq_burst_end_at(b, n_bb, last_bb);
	c->posted += n;
	t->last = c->posted - last_bb;
	/*
	 * If earlier WQEs wait for the doorbell, the connection is in the set of such connections
	 * already.
	 */
	if (unlikely(is_first))
		gantry_note_posted(q, c - q->conn, n);
	else
		q->outstanding += n;
}

/* ------------------------------------------------------------------ WQEs */

/* Writes the WQEs that configure the key. encrypts: a constant, here and below. */
static __rte_always_inline void
put_key(struct hwq_burst *b, const struct gantry_txn_plan *plan, const struct gantry_txn_open *t,
	const bool encrypts)
{
	const struct hwq_sig_tags *mem = gantry_txn_sig_tags(&t->txn->mem),
				  *wire = gantry_txn_sig_tags(&t->txn->wire);

	if (encrypts && plan->n_sge != 0)
		hwq_burst_crypto_list(b, t->mkey, plan->crypto_image, plan->n_sge, plan->sge, mem,
			wire, &plan->crypto, 0);
	else if (encrypts)
		hwq_burst_crypto_pattern(b, t->mkey, plan->crypto_image, plan->rounds,
			RTE_DIM(plan->pattern), plan->pattern, mem, wire, &plan->crypto, 0);
	else if (plan->n_sge != 0)
		hwq_burst_sig_list(b, t->mkey, plan->image, plan->n_sge, plan->sge, mem, wire, 0);
	else
		hwq_burst_sig_pattern(b, t->mkey, plan->image, plan->rounds, RTE_DIM(plan->pattern),
			plan->pattern, mem, wire, 0);
}

/* Returns the WQEBBs of the key's configuration. */
static __rte_always_inline uint32_t
key_bb(const struct gantry_txn_plan *plan, const bool encrypts)
{
	uint32_t units = plan->n_sge != 0 ? plan->n_sge : (uint32_t)RTE_DIM(plan->pattern) + 1;

	return encrypts ? hwq_crypto_image_n_bb(plan->crypto_image, units)
			: hwq_sig_image_n_bb(plan->image, units);
}

/* Writes n transfers. answers: true if the good response follows. */
static __rte_always_inline void
put_moves(struct hwq_burst *b, const struct hwq_mkey *mkey, const struct gantry_txn_plan *plan,
	uint32_t n, bool answers)
{
	/*
	 * If there are several transfers, each makes a CQE. gantry_txn_note_wrong() then knows the
	 * transfer with the wrong signature.
	 */
	unsigned int flags = n > 1 || !answers ? HWQ_WQE_SIGNALED : 0;
	unsigned int after = HWQ_WQE_AFTER_UMR;
	uint8_t opcode = plan->read ? MLX5_OPCODE_RDMA_READ : MLX5_OPCODE_RDMA_WRITE;
	const struct gantry_txn_move *m = plan->move, *end = m + n;

	do {
		hwq_burst_rdma_with(b, opcode, m->rkey, m->addr, hwq_key_word(mkey->lkey),
			m->offset, m->len, flags | after);
		after = 0;
	} while (++m != end);
}

/* Returns the WQEBBs of a response. */
static __rte_always_inline uint32_t
reply_bb(const struct gantry_conn *c, const struct gantry_txn_reply *r)
{
	return r->len <= c->max_inline ? hwq_burst_send_inline_bb(r->len) : 1;
}

/*
 * Writes the response, which is the last WQE. With HWQ_WQE_FENCE it waits until the transfers
 * before it have ended.
 */
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

/* ------------------------------------------------------------------ the whole transaction */

static __rte_always_inline bool
post(struct gantry_queue *q, struct gantry_conn *c, const struct gantry_txn_plan *plan,
	struct gantry_txn_open *t, const bool encrypts)
{
	const uint32_t n_moves = encrypts ? 1 : plan->n_moves;
	const bool answers = gantry_txn_answers_at_once(c->txns, t->good.len, plan->read);
	const uint32_t answer_bb = answers ? reply_bb(c, &t->good) : 0;
	const uint32_t n_bb = key_bb(plan, encrypts) + n_moves + answer_bb;
	struct hwq_burst b;

	if (!begin(&b, c, n_bb))
		return false;
	put_key(&b, plan, t, encrypts);
	put_moves(&b, t->mkey, plan, n_moves, answers);
	if (answers)
		put_reply(&b, c, &t->good, HWQ_WQE_FENCE);
	commit(q, c, t, &b, n_bb, answers ? answer_bb : 1);
	t->first_move = c->posted - answer_bb - n_moves;
	t->has_answer = answers;
	return true;
}

bool
gantry_txn_post(struct gantry_queue *q, struct gantry_conn *c, const struct gantry_txn_plan *plan,
	struct gantry_txn_open *t)
{
	return post(q, c, plan, t, false);
}

bool
gantry_txn_post_crypto(struct gantry_queue *q, struct gantry_conn *c,
	const struct gantry_txn_plan *plan, struct gantry_txn_open *t)
{
	return post(q, c, plan, t, true);
}

bool
gantry_txn_post_reply(struct gantry_queue *q, struct gantry_txn_open *t,
	const struct gantry_txn_reply *reply)
{
	/*
	 * If the transfers of t have ended, no fence is needed: it would only wait for reads of
	 * later transactions.
	 */
	unsigned int flags = t->c->done > t->last ? 0 : HWQ_WQE_FENCE;
	uint32_t n_bb = reply_bb(t->c, reply);
	struct hwq_burst b;

	if (!begin(&b, t->c, n_bb))
		return false;
	put_reply(&b, t->c, reply, flags);
	commit(q, t->c, t, &b, n_bb, n_bb);
	return true;
}
