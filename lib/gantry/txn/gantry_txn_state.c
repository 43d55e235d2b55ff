/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves open transactions from state to state, and completes them. */
#include "gantry_txn_state.h"

#include <hwq_cq.h>
#include <hwq_mkey_check.h>

#include "gantry_log_rate.h"
#include "gantry_queue.h"
#include "gantry_txn_post.h"

/* ------------------------------------------------------------------ wrong signatures */

static uint8_t
part_of(enum mlx5dv_mkey_err_type type)
{
	switch (type) {
	case MLX5DV_MKEY_SIG_BLOCK_BAD_REFTAG:
		return GANTRY_SIG_REF_TAG;
	case MLX5DV_MKEY_SIG_BLOCK_BAD_APPTAG:
		return GANTRY_SIG_APP_TAG;
	default:
		return GANTRY_SIG_GUARD;
	}
}

/* Returns the number of a block in its domain. offset: the block's offset in its transfer. */
static uint32_t
block_of(const struct gantry_txn_open *t, const struct gantry_profile_domain *d, uint64_t offset)
{
	uint64_t data = 0;
	uint32_t i;

	for (i = 0; i < t->wrong_move; i++)
		data += gantry_profile_shrink(&t->wire, t->txn->part[i].len);
	return data / d->block_size + offset / (d->block_size + d->sig_len);
}

/*
 * Writes gantry_txn::error. In the result of hwq_mkey_check(), "expected" is the value in the
 * signature's field, and "actual" is the computed value.
 */
static void
note_error(struct gantry_txn_open *t, const struct mlx5dv_mkey_err *err)
{
	bool on_wire = t->mkey->sig->err.domain == 0;
	const struct gantry_profile_domain *domain = on_wire ? &t->wire : &t->mem;

	t->txn->error = (struct gantry_sig_error){
		.part = part_of(err->err_type),
		.on_wire = on_wire,
		.block = t->is_sure ? block_of(t, domain, err->err.sig.offset)
				    : GANTRY_SIG_BLOCK_UNKNOWN,
		.expected = err->err.sig.actual_value,
		.actual = err->err.sig.expected_value,
	};
}

void
gantry_txn_note_wrong(struct gantry_conn *c, uint32_t key)
{
	struct gantry_txn_open *t;

	gantry_txn_look_behind(c);
	TAILQ_FOREACH(t, &c->txns->open, next) {
		uint64_t ended = c->done > t->first_move ? c->done - t->first_move : 0;

		if (t->mkey->lkey >> 8 != key >> 8 || t->txn->n_parts <= 1)
			continue;
		t->wrong_move = RTE_MIN(ended, t->txn->n_parts - UINT64_C(1));
		/* No later transfer can be wrong if this is the last transfer. */
		t->is_sure = t->wrong_move == t->txn->n_parts - 1u;
		c->txns->wrong = t;
		c->txns->next_ci = c->cq->ci;
	}
}

void
gantry_txn_look_behind(struct gantry_conn *c)
{
	struct gantry_txn_line *line = c->txns;
	struct gantry_txn_open *t = line->wrong;
	struct hwq_cqe cqe;

	if (likely(t == NULL) || c->cq->ci == line->next_ci)
		return;
	line->wrong = NULL;
	hwq_cqe_decode(hwq_cq_entry(c->cq, line->next_ci), &cqe);
	if (cqe.opcode != MLX5_CQE_SIG_ERR &&
		cqe.wqe_counter == gantry_conn_ring_index(c, t->first_move + t->wrong_move))
		t->is_sure = true;
}

/* ------------------------------------------------------------------ steps */

/*
 * Called if all signatures were right. The good response follows, unless it is posted already or
 * there is none.
 */
static inline void
accept(struct gantry_txn_open *t)
{
	t->state = t->has_answer || t->good.len == 0 ? GANTRY_TXN_ANSWERED : GANTRY_TXN_TO_ANSWER;
}

/* Called if a signature was wrong. The bad response follows, if there is one. */
static void
reject(struct gantry_txn_open *t)
{
	t->status = GANTRY_SIG_ERROR;
	t->state = t->bad.len == 0 ? GANTRY_TXN_ANSWERED : GANTRY_TXN_TO_ANSWER;
}

__rte_cold bool
gantry_txn_take_error(struct gantry_txn_open *t)
{
	struct mlx5dv_mkey_err err;

	if (hwq_mkey_check(t->mkey, &err) != 0) {
		/* An error of an unknown kind is reported as a wrong guard. */
		err = (struct mlx5dv_mkey_err){.err_type = MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD};
		t->mkey->sig->err_exists = false;
	}
	note_error(t, &err);
	reject(t);
	return true;
}

/*
 * Completes a transaction whose WQEs are all done. Every transaction ends in this function. Until
 * now, the status in its completion is GANTRY_OK.
 */
static inline void
settle(struct gantry_queue *q, struct gantry_conn *c, struct gantry_txn_open *t)
{
	struct gantry_stream *s = c->stream;
	uint32_t slot = t->seq & s->mask;

	s->where[slot] = GANTRY_WHERE_NOWHERE;
	if (unlikely(t->status != GANTRY_OK)) {
		s->comp[slot].status = t->status;
		s->comp[slot].syndrome = t->syndrome;
		s->comp[slot].vendor_syndrome = t->vendor_syndrome;
		if (c->txns->wrong == t)
			c->txns->wrong = NULL;
		/*
		 * The configuration of the key may not have run. Then the device has not got the
		 * count of errors that it needs.
		 */
		t->mkey->sig->err_count_updated = true;
	}
	/*
	 * If a QP is reset before it has made all its CQEs (`silent`), a CQE about mkey may be
	 * lost. So mkey has to be created again (GANTRY_TXN_KEY_DOUBTFUL).
	 */
	t->unfit |= c->silent;
	t->state = GANTRY_TXN_FREE;
	q->outstanding--;
	TAILQ_REMOVE(&c->txns->open, t, next);
	SLIST_INSERT_HEAD(&q->txns.free, t, next_free);
	/* Pairs with the acquire in gantry_txns_have_passed(). */
	atomic_store_explicit(&q->txns.counts.done, gantry_counter_get(&q->txns.counts.done) + 1,
		memory_order_release);
}

static void
answer(struct gantry_queue *q, struct gantry_txn_open *t)
{
	const struct gantry_txn_reply *reply = t->status == GANTRY_OK ? &t->good : &t->bad;

	if (t->c->state == GANTRY_CONN_TXN && t->c->txns->stop == GANTRY_TXN_RUNS &&
		gantry_txn_post_reply(q, t, reply))
		t->state = GANTRY_TXN_ANSWERED;
}

void
gantry_txn_advance(struct gantry_queue *q, struct gantry_conn *c)
{
	const uint64_t done = c->done;
	struct gantry_txn_open *t, *next;

	for (t = TAILQ_FIRST(&c->txns->open); t != NULL; t = next) {
		next = TAILQ_NEXT(t, next);
		if (likely(t->state == GANTRY_TXN_POSTED)) {
			/*
			 * WQEs complete in order. So later transactions are not done either, or can
			 * wait for this transaction.
			 */
			if (t->last >= done)
				break;
			if (!gantry_txn_check_key(t))
				accept(t);
		}
		if (t->state == GANTRY_TXN_TO_ANSWER)
			answer(q, t);
		if (t->state == GANTRY_TXN_ANSWERED && t->last < done)
			settle(q, c, t);
	}
}

/* ------------------------------------------------------------------ the connection failed */

/* Returns true if the WQEs of t ended before `index`, and no response is to come. */
static bool
has_ended(struct gantry_txn_open *t, uint64_t index)
{
	if (t->last >= index)
		return false;
	if (t->state == GANTRY_TXN_POSTED && !gantry_txn_check_key(t))
		accept(t);
	return t->state == GANTRY_TXN_ANSWERED;
}

/*
 * Ends a transaction together with its connection: no response follows. If a signature is known to
 * be wrong, the status stays GANTRY_SIG_ERROR.
 */
static void
end_failed(struct gantry_txn_open *t, enum gantry_status status, const struct hwq_cqe *cqe)
{
	if (t->state == GANTRY_TXN_POSTED)
		gantry_txn_check_key(t);
	if (t->state == GANTRY_TXN_POSTED || t->status != GANTRY_SIG_ERROR)
		t->status = status;
	t->state = GANTRY_TXN_ANSWERED;
	if (cqe == NULL || cqe->syndrome == HWQ_SYNDROME_WR_FLUSH || t->status != status)
		return;
	t->syndrome = cqe->syndrome;
	t->vendor_syndrome = cqe->vendor_err;
	if (status == GANTRY_LOCAL_ERROR && (t->unfit & GANTRY_TXN_KEY_ENCRYPTS) != 0)
		LOG_RATED(gantry_log_rate_others(), WARNING,
			"the failed transaction encrypts: perhaps the device has lost its DEK, or the DEK "
			"has another keytag than gantry_dek_conf::keytag");
}

__rte_cold const struct gantry_comp *
gantry_txn_fail(struct gantry_conn *c, uint64_t index, enum gantry_status first,
	enum gantry_status others, const struct hwq_cqe *cqe)
{
	const struct gantry_comp *failed = NULL;
	struct gantry_txn_open *t, *owner = NULL;

	gantry_txn_look_behind(c);
	/*
	 * The failed WQE is at `index`. `last` is the index of a transaction's last WQE. The list
	 * is not sorted by `last`, because a response may be posted later than the WQEs of the next
	 * transactions. So the failed WQE belongs to the transaction with the lowest `last` that is
	 * at least `index`.
	 */
	TAILQ_FOREACH(t, &c->txns->open, next)
		if (t->last >= index && (owner == NULL || t->last < owner->last))
			owner = t;
	TAILQ_FOREACH(t, &c->txns->open, next) {
		if (has_ended(t, index))
			continue;
		end_failed(t, t == owner ? first : others, t == owner ? cqe : NULL);
		if (t == owner)
			failed = &c->stream->comp[t->seq & c->stream->mask];
	}
	return failed;
}
