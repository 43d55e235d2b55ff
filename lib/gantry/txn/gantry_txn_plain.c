/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks and posts plain transactions. */
#include "gantry_txn_plain.h"

#include "gantry_txn_post.h"
#include "gantry_txn_state.h"

/* Properties that the transactions of a run have in common. */
struct run {
	struct gantry_queue *q;
	struct gantry_conn *c;
	const struct gantry_txn_cached *profile; /* profile, with the lengths of each transaction */
	/*
	 * The element of gantry_profile::image for equal seeds. The next element of that array is
	 * for different seeds.
	 */
	const struct hwq_sig_image *image;
	uint64_t head;  /* gantry_txn_head() of the transactions */
	uint64_t where; /* `where` of the slots */
	uint8_t opcode; /* opcode of the transfers */
};

/*
 * Computes the length of `len` bytes of data in both domains. Returns false if there are too many
 * bytes, or they are not whole blocks.
 */
static __rte_noinline bool
measure(struct gantry_txn_cached *profile, uint64_t len)
{
	const struct gantry_profile_domain *mem = &profile->p.mem, *wire = &profile->p.wire;

	if (len > GANTRY_TXN_MAX_LEN || len % mem->block_size != 0 || len % wire->block_size != 0)
		return false;
	profile->len = len;
	profile->mem_len = len / mem->block_size * mem->unit;
	profile->wire_len = len / wire->block_size * wire->unit;
	return true;
}

/* Begins a run of transactions like that of d. Returns false if this transaction is not plain. */
static __rte_always_inline bool
run_begin(struct run *run, struct gantry_queue *q, uint32_t conn, struct gantry_txn_cached *profile,
	const struct gantry_desc *d)
{
	const struct gantry_txn *txn = (const struct gantry_txn *)d->src;
	const bool read = txn->op == GANTRY_OP_READ;
	struct gantry_conn *c = &q->conn[conn];

	/*
	 * Makes the compiler keep the address in a register. Otherwise it computes the address at
	 * each use.
	 */
	__asm__("" : "+r"(c));
	if (unlikely(c->state != GANTRY_CONN_TXN || c->txns->stop != GANTRY_TXN_RUNS ||
		     (!read && txn->op != GANTRY_OP_WRITE) ||
		     (txn->zero[0] | txn->zero[1] | txn->zero[2]) != 0) ||
		(unlikely(d->len != profile->len) && !measure(profile, d->len)))
		return false;
	run->q = q;
	run->c = c;
	run->profile = profile;
	run->image = profile->p.image[read];
	run->head = gantry_txn_head(txn);
	run->where = gantry_txn_where(conn);
	run->opcode = read ? MLX5_OPCODE_RDMA_READ : MLX5_OPCODE_RDMA_WRITE;
	return true;
}

/* Returns true if the transaction of d is plain, and belongs to the run. */
static __rte_always_inline bool
takes(const struct run *run, const struct gantry_desc *d)
{
	const struct gantry_txn *txn = (const struct gantry_txn *)d->src;
	const struct gantry_txn_cached *profile = run->profile;
	const uint32_t max_inline = run->c->max_inline;
	struct gantry_region_view *v = &run->q->view;
	const struct gantry_txn_part *part = txn->part;
	const struct gantry_sge *data = txn->data;
	uint64_t end;

	return likely(gantry_txn_head(txn) == run->head) && likely(d->len == profile->len) &&
	       likely(gantry_txn_is_aligned(data)) && likely(gantry_txn_is_aligned(part)) &&
	       likely(data->len == profile->mem_len) && likely(part->len == profile->wire_len) &&
	       likely(!__builtin_add_overflow(part->addr, part->len, &end)) &&
	       likely((gantry_txn_forbidden(txn, &profile->p) | part->zero | txn->pi.addr |
			      txn->pi.len) == 0) &&
	       likely(txn->good.len - 1 < max_inline) && likely(txn->bad.len - 1 < max_inline) &&
	       likely(gantry_region_find_plain(v, &v->dst, data->addr, data->len));
}

/* Writes the WQEs of a transaction, as gantry_txn_post() does. */
static __rte_always_inline void
put(const struct run *run, struct hwq_burst *b, const struct gantry_txn *txn, struct hwq_mkey *mkey,
	const bool answers)
{
	const struct gantry_txn_cached *profile = run->profile;
	const struct gantry_region *r = run->q->view.dst;
	const struct hwq_sge sge = {.addr = txn->data->addr,
		.len = profile->mem_len,
		.lkey = r->lkey};
	const struct gantry_txn_part *part = txn->part;

	hwq_burst_sig_list(b, mkey, run->image + (txn->mem.seed_ones != txn->wire.seed_ones), 1,
		&sge, gantry_txn_sig_tags(&txn->mem), gantry_txn_sig_tags(&txn->wire), 0);
	hwq_burst_rdma_with(b, run->opcode, part->remote_key, part->addr, hwq_key_word(mkey->lkey),
		0, profile->wire_len, HWQ_WQE_AFTER_UMR | (answers ? 0 : HWQ_WQE_SIGNALED));
	if (answers)
		hwq_burst_send_inline(b, (const void *)txn->good.addr, txn->good.len,
			HWQ_WQE_SIGNALED | HWQ_WQE_FENCE);
}

static __rte_always_inline void
copy_reply(struct gantry_txn_reply *to, const struct gantry_txn_response *from)
{
	/* The field lkey gets the value of gantry_txn_response::zero, which is 0. */
	static_assert(sizeof(*to) == sizeof(*from) &&
			      offsetof(struct gantry_txn_reply, addr) ==
				      offsetof(struct gantry_txn_response, addr) &&
			      offsetof(struct gantry_txn_reply, len) ==
				      offsetof(struct gantry_txn_response, len),
		"a reply is a response with a key");
	memcpy(to, from, sizeof(*to));
}

/*
 * Posts the transactions of a run, at most n. answers: a constant, true if the good responses are
 * posted together with the transfers. Returns how many transactions were posted. *used: the number
 * of their WQEBBs.
 */
static __rte_always_inline uint32_t
post(const struct run *run, struct gantry_stream *s, const struct gantry_desc *desc, uint32_t n,
	const bool answers, uint32_t *used)
{
	const struct gantry_desc *d = desc, *end = desc + n;
	const uint32_t key_bb = hwq_sig_image_n_bb(run->image, 1);
	struct gantry_queue *q = run->q;
	struct gantry_conn *c = run->c;
	uint64_t posted = c->posted, full;
	uint32_t last_bb = 1;
	struct hwq_burst b;

	full = posted + hwq_burst_start(&b, c->sq, c->n_bb);
	/* No QP of the engine has sq_sig_all. The assignment tells this to the compiler. */
	b.signals = 0;
	b.fill = 0;
	do {
		struct gantry_txn *txn = (struct gantry_txn *)d->src;
		struct gantry_txn_open *t = SLIST_FIRST(&q->txns.free);
		uint64_t first_move = posted + key_bb;
		uint32_t bb;

		if (unlikely(t == NULL) || unlikely(t->unfit != 0) || !takes(run, d))
			break;
		bb = answers ? hwq_burst_send_inline_bb(txn->good.len) : 1;
		if (unlikely(first_move + answers + bb > full))
			break;
		posted = first_move + answers + bb;
		last_bb = bb;
		put(run, &b, txn, t->mkey, answers);
		t->txn = txn;
		t->first_move = first_move;
		t->last = first_move + answers;
		if (!answers)
			copy_reply(&t->good, &txn->good);
		copy_reply(&t->bad, &txn->bad);
		gantry_slot_prepare(&s->comp[s->issue & s->mask], d, GANTRY_OP_TXN, d->len);
		gantry_txn_begin(q, s, c, run->where, t, &run->profile->p, answers);
		s->issue++;
	} while (++d != end &&
		 likely(gantry_desc_head(d) == gantry_desc_head_of(GANTRY_OP_TXN, desc->peer)) &&
		 gantry_txn_desc_is_good(d));
	n = d - desc;
	if (unlikely(n == 0))
		return 0;
	*used = posted - c->posted;
	c->posted = posted;
	hwq_burst_end_at(&b, *used, last_bb);
	gantry_txn_note_begun(q, n);
	return n;
}

/* This loop has a function of its own, so that it can use all registers. */
static __rte_noinline uint32_t
post_without_answers(const struct run *run, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n, uint32_t *used)
{
	return post(run, s, desc, n, false, used);
}

uint32_t
gantry_txn_post_plain(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	struct gantry_txn_cached *profile, const struct gantry_desc *desc, uint32_t n)
{
	struct run run;
	uint32_t used;

	if (!run_begin(&run, q, conn, profile, desc))
		return 0;
	if (likely(gantry_txn_answers_at_once(run.c->txns, 1, run.opcode == MLX5_OPCODE_RDMA_READ)))
		/*
		 * The response of a read is posted together with the transfers only for the first
		 * read.
		 */
		n = post(&run, s, desc, run.opcode == MLX5_OPCODE_RDMA_READ ? 1 : n, true, &used);
	else
		n = post_without_answers(&run, s, desc, n, &used);
	if (likely(n != 0))
		gantry_note_posted(q, conn, used);
	return n;
}

bool
gantry_txn_post_plain_one(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	struct gantry_txn_cached *profile, const struct gantry_desc *d)
{
	struct run run;
	uint32_t used;

	if (!run_begin(&run, q, conn, profile, d) ||
		!gantry_txn_answers_at_once(run.c->txns, 1, run.opcode == MLX5_OPCODE_RDMA_READ) ||
		post(&run, s, d, 1, true, &used) == 0)
		return false;
	gantry_note_rung(q, run.c, used, false);
	hwq_sq_signal_and_ring(run.c->sq);
	return true;
}
