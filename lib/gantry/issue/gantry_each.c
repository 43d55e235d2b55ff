/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of one WQE each, by two tables: the fields that an operation uses, and its opcode. */
#include "gantry_each.h"

#include <rte_prefetch.h>

#include "gantry_dc_peer.h"
#include "gantry_doorbell.h"
#include "gantry_engine.h"
#include "gantry_finish.h"
#include "gantry_plain.h"
#include "gantry_slot.h"
#include "gantry_work_next.h"

#define ANY64 UINT64_MAX
#define ANY32 UINT32_MAX
#define PEER  UINT16_MAX

#define REMOTE  .peer = PEER, .src = ANY64, .dst = ANY64, .remote_key = ANY32
#define MESSAGE .peer = PEER, .flags = GANTRY_DESC_SOLICITED, .src = ANY64
#define CHANGE  .peer = PEER, .dst = ANY64, .remote_key = ANY32

/* Bits that are 0 here must be 0 in a descriptor. Its cookie and len are not looked at here. */
static const struct gantry_desc uses[GANTRY_OP_MAX] = {
	[GANTRY_OP_COPY] = {.src = ANY64, .dst = ANY64},
	[GANTRY_OP_WRITE] = {REMOTE},
	[GANTRY_OP_READ] = {REMOTE},
	[GANTRY_OP_WRITE_IMM] = {REMOTE, .flags = GANTRY_DESC_SOLICITED, .imm = ANY32},
	[GANTRY_OP_SEND] = {MESSAGE},
	[GANTRY_OP_SEND_IMM] = {MESSAGE, .imm = ANY32},
	[GANTRY_OP_SEND_INV] = {MESSAGE, .imm = ANY32},
	[GANTRY_OP_COMPARE_SWAP] = {CHANGE, .arg = {ANY64, ANY64}},
	[GANTRY_OP_FETCH_ADD] = {CHANGE, .arg = {ANY64}},
};

/* Of messages: READ alone takes data from the peer, all others bring them there. */
static const uint8_t opcodes[GANTRY_OP_MAX] = {
	[GANTRY_OP_WRITE] = MLX5_OPCODE_RDMA_WRITE,
	[GANTRY_OP_READ] = MLX5_OPCODE_RDMA_READ,
	[GANTRY_OP_WRITE_IMM] = MLX5_OPCODE_RDMA_WRITE_IMM,
	[GANTRY_OP_SEND] = MLX5_OPCODE_SEND,
	[GANTRY_OP_SEND_IMM] = MLX5_OPCODE_SEND_IMM,
	[GANTRY_OP_SEND_INV] = MLX5_OPCODE_SEND_INVAL,
};

static_assert(GANTRY_DESC_SOLICITED == HWQ_WQE_SOLICITED, "one bit serves both");

/* A descriptor, and where it goes. */
struct each {
	struct gantry_queue *q;
	struct gantry_stream *s;
	const struct gantry_desc *d;
	uint64_t seq;                   /* of its slot */
	uint64_t idle;                  /* flags that change nothing for it, as in a head */
	struct gantry_conn *c;          /* that carries it */
	uint32_t conn;                  /* its number */
	const struct hwq_dc_dest *dest; /* of a DC peer; else NULL */
	bool mmo;                       /* DMA MMO carries copies */
	bool in_rows; /* a constant: what has one WQEBB and is plain is in rows: gantry_stream.h */
};

/* True: no field is set that the operation does not use. op: a constant, here and below, so that its rows are, too. */
static __rte_always_inline bool
fields_are_free(const struct gantry_desc *d, const enum gantry_op op, uint64_t idle)
{
	const struct gantry_desc *u = &uses[op];
	uint64_t key_imm, used;

	memcpy(&key_imm, &d->remote_key, sizeof(key_imm));
	memcpy(&used, &u->remote_key, sizeof(used));
	return likely((gantry_desc_head(d) & ~(gantry_desc_head(u) | idle)) ==
		       gantry_desc_head_of(op, 0)) &&
	       likely(((key_imm & ~used) | (d->src & ~u->src) | (d->dst & ~u->dst) |
			      (d->arg[0] & ~u->arg[0]) | (d->arg[1] & ~u->arg[1])) == 0);
}

/*
 * Accounts for the descriptor's slot, and for its WQE of n_bb WQEBBs, with a fill in front of it. in_row: the slot is
 * plain, and its WQE has one WQEBB.
 */
static __rte_always_inline void
account(const struct each *e, const enum gantry_op op, uint64_t len, const uint32_t n_bb,
	const uint32_t fill, const bool in_row)
{
	struct gantry_stream *s = e->s;
	struct gantry_conn *c = e->c;
	uint32_t slot = e->seq & s->mask;
	uint64_t posted = c->posted, where = gantry_where(e->conn, posted + fill);

	gantry_slot_prepare(&s->comp[slot], e->d, op, len);
	s->where[slot] = where;
	c->posted = posted + fill + n_bb;
	/* The last WQE of a quarter of the ring: gantry_conn_signals(). One WQEBB ends it, or does not reach its end. */
	if (unlikely(in_row ? (c->posted & c->signal_mask) == 0
			    : (posted & c->signal_mask) + fill + n_bb > c->signal_mask))
		hwq_sq_signal_last(c->sq);
	e->q->outstanding += fill + n_bb;
	if (e->dest != NULL)
		gantry_stream_pend(s, e->seq)->peer = e->d->peer; /* for gantry_peer_close() */
	else if (op != GANTRY_OP_COPY)
		gantry_conn_set_add_at(&e->q->unrung, &c->place);
	if (!in_row || !e->in_rows)
		return;
	if (s->row.end == e->seq && s->row.lead == where - e->seq)
		s->row.end = e->seq + 1;
	else if (e->seq == s->issue)
		gantry_row_note(&s->row, c, e->seq, where, 1);
}

/* The same after a builder of hwq_wqe.h, which returned n_bb. pi: the queue's index before. False: there was no room. */
static __rte_always_inline bool
account_long(const struct each *e, const enum gantry_op op, uint64_t len, int n_bb, uint16_t pi)
{
	if (unlikely(n_bb <= 0))
		return false;
	account(e, op, len, n_bb, (uint16_t)(e->c->sq->pi - pi) - n_bb, false);
	return true;
}

/*
 * The functions that follow issue a descriptor. False: it takes another way, or there is no room.
 */

static __rte_always_inline bool
issue_copy(const struct each *e)
{
	const uint64_t len = e->d->len, from = e->d->src, to = e->d->dst;
	struct gantry_region_view *v = &e->q->view;
	const struct gantry_conn *c = e->c;
	struct hwq_burst b;
	uint64_t idle = e->idle | (e->mmo ? gantry_desc_head_flags(GANTRY_DESC_BY_MMO) : 0);

	if (!fields_are_free(e->d, GANTRY_OP_COPY, idle) || unlikely(len - 1 >= c->max_len) ||
		unlikely(!gantry_region_find_plain(v, &v->src, from, len)) ||
		unlikely(!gantry_region_find_plain(v, &v->dst, to, len)) ||
		unlikely(gantry_plain_overlap(from, to, len)) ||
		unlikely(hwq_burst_start(&b, c->sq, 1) == 0))
		return false;
	/* No queue pair of the engine has sq_sig_all. The compiler learns it here. */
	b.signals = 0;
	if (e->mmo)
		hwq_burst_memcpy_with(&b, v->dst->key_word, to, v->src->key_word, from, len, 0);
	else
		hwq_burst_rdma_with(&b, MLX5_OPCODE_RDMA_WRITE, v->dst->rkey, to, v->src->key_word,
			from, len, 0);
	hwq_burst_end_counted(&b, 1);
	account(e, GANTRY_OP_COPY, len, 1, 0, true);
	return true;
}

static __rte_always_inline bool
issue_message(const struct each *e, const enum gantry_op op)
{
	const uint8_t opcode = opcodes[op];
	const bool from = op != GANTRY_OP_READ;
	const struct gantry_desc *d = e->d;
	const uint64_t len = d->len, local = from ? d->src : d->dst,
		       remote = from ? d->dst : d->src;
	struct gantry_region_view *v = &e->q->view;
	const struct gantry_region **hit = from ? &v->src : &v->dst;
	const struct gantry_conn *c = e->c;
	struct hwq_sq *sq = c->sq;
	uint16_t pi;
	unsigned int flags;
	struct hwq_burst b;
	bool in_wqe;
	__be32 imm;

	if (!fields_are_free(d, op, e->idle) || unlikely(len - 1 >= c->max_len) ||
		unlikely(!gantry_plain_remote(remote)) ||
		unlikely(!gantry_region_find_plain(v, hit, local, len)))
		return false;
	/* max_len is 2 GiB at most. Builders look for messages without data. */
	if ((uint32_t)len == 0)
		__builtin_unreachable();
	flags = d->flags & uses[op].flags;
	imm = uses[op].imm != 0 ? htobe32(d->imm) : 0;
	in_wqe = from && len <= c->max_inline;
	if (e->dest != NULL || unlikely(in_wqe)) {
		pi = sq->pi;
		return account_long(e, op, len,
			gantry_work_put_message(sq, e->dest, in_wqe, opcode, d->remote_key, remote,
				(*hit)->lkey, local, len, flags, imm),
			pi);
	}
	if (unlikely(hwq_burst_start(&b, sq, 1) == 0))
		return false;
	b.signals = 0;
	hwq_burst_one(&b, opcode, d->remote_key, remote, (*hit)->key_word, local, len, flags, imm);
	/* Of peers in turn, the connection's next WQE comes some bursts later: fetch its line, or one behind the ring. */
	if (!e->in_rows)
		rte_prefetch0(b.at);
	hwq_burst_end_counted(&b, 1);
	account(e, op, len, 1, 0, true);
	return true;
}

/* The old value goes to a cell, and the slot's `result` names it: gantry_finish.h. */
static __rte_always_inline bool
issue_atomic(const struct each *e, const enum gantry_op op)
{
	const struct gantry_desc *d = e->d;
	struct gantry_queue *q = e->q;
	struct hwq_sq *sq = e->c->sq;
	struct gantry_comp *comp;
	uint16_t pi = sq->pi;
	uint64_t *cell;
	int n_bb;

	if (!fields_are_free(d, op, e->idle) ||
		unlikely(d->len != sizeof(uint64_t) || d->dst % sizeof(uint64_t) != 0 ||
			 !gantry_plain_remote(d->dst) || !q->g->info.atomics))
		return false;
	cell = gantry_cell_get(&q->cells);
	if (unlikely(cell == NULL))
		return false;
	n_bb = gantry_work_put_atomic(sq, e->dest, op == GANTRY_OP_COMPARE_SWAP, d->remote_key,
		d->dst, q->cells.mr.lkey, (uintptr_t)cell, d->arg);
	if (!account_long(e, op, sizeof(uint64_t), n_bb, pi)) {
		gantry_cell_put(&q->cells, cell);
		return false;
	}
	comp = &e->s->comp[e->seq & e->s->mask];
	comp->result = (uintptr_t)cell;
	comp->zero = GANTRY_FINISH_ATOMIC;
	return true;
}

static __rte_always_inline bool
issue_to_peer(const struct each *e, uint8_t op)
{
	switch (op) {
	case GANTRY_OP_WRITE:
		return issue_message(e, GANTRY_OP_WRITE);
	case GANTRY_OP_READ:
		return issue_message(e, GANTRY_OP_READ);
	case GANTRY_OP_WRITE_IMM:
		return issue_message(e, GANTRY_OP_WRITE_IMM);
	case GANTRY_OP_SEND:
		return issue_message(e, GANTRY_OP_SEND);
	case GANTRY_OP_SEND_IMM:
		return issue_message(e, GANTRY_OP_SEND_IMM);
	case GANTRY_OP_SEND_INV:
		return issue_message(e, GANTRY_OP_SEND_INV);
	case GANTRY_OP_COMPARE_SWAP:
		return issue_atomic(e, GANTRY_OP_COMPARE_SWAP);
	case GANTRY_OP_FETCH_ADD:
		return issue_atomic(e, GANTRY_OP_FETCH_ADD);
	default:
		return false;
	}
}

/*
 * True: the connection takes the descriptor now. unordered: a constant; the queue is, so the stream is that of the
 * connection, and has room for it in which nothing waits.
 */
static __rte_always_inline bool
takes_conn(struct each *e, uint32_t conn, const bool unordered)
{
	struct gantry_conn *c = &e->q->conn[conn];

	/* Else the compiler computes it anew wherever it is used. */
	__asm__("" : "+r"(c));
	e->c = c;
	e->conn = conn;
	if (unlikely(c->state != GANTRY_CONN_READY))
		return false;
	if (!unordered)
		return likely(c->stream == e->s);
	e->s = c->stream;
	e->seq = e->s->issue;
	return likely(!gantry_stream_waits(e->s) && gantry_stream_in_flight(e->s) <= e->s->mask);
}

/* Finds the DC peer. False: it is none. */
static __rte_always_inline bool
find_dest(struct each *e)
{
	const struct gantry_queue *q = e->q;
	uint16_t peer = e->d->peer;

	if (likely(e->dest != NULL) && peer == e->d[-1].peer)
		return true;
	if (unlikely(gantry_queue_conn_to(q, peer) != GANTRY_CONN_DCI))
		return false;
	e->dest = &q->peer_more[peer].dc->dest;
	return true;
}

/* Issues a descriptor. op: a constant, its operation if the loop is for one alone; else 0. */
static __rte_always_inline bool
issue_one(struct each *e, const enum gantry_op op, const bool unordered)
{
	const uint8_t is = e->d->op;

	if (op == 0 && is == GANTRY_OP_COPY)
		return takes_conn(e, GANTRY_CONN_OWN, unordered) && issue_copy(e);
	if (!takes_conn(e, gantry_queue_peer_conn(e->q, e->d->peer), unordered))
		return false;
	/* A comparison costs less than a jump by a table. */
	if (op != 0 || is == GANTRY_OP_WRITE)
		return issue_message(e, op != 0 ? op : GANTRY_OP_WRITE);
	return issue_to_peer(e, is);
}

/* Descriptors of one stream, with this operation alone, or 0 for any. Returns how many it has issued. */
static __rte_always_inline uint32_t
in_order(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n, bool mmo, const enum gantry_op op)
{
	struct each e =
		{.q = q, .s = s, .d = desc, .seq = s->issue, .mmo = mmo, .in_rows = op == 0};
	const struct gantry_desc *end = desc + RTE_MIN(n, s->mask + 1 - (e.seq & s->mask));

	if (op == 0)
		e.idle = gantry_desc_head_flags(GANTRY_DESC_FENCE);
	for (; e.d != end && issue_one(&e, op, false); e.d++, e.seq++)
		e.idle = 0;
	s->issue = e.seq;
	return e.d - desc;
}

/* In a function of its own, each loop has all registers. */
static __rte_noinline uint32_t
writes(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc, uint32_t n)
{
	return in_order(q, s, desc, n, false, GANTRY_OP_WRITE);
}

static __rte_noinline uint32_t
reads(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc, uint32_t n)
{
	return in_order(q, s, desc, n, false, GANTRY_OP_READ);
}

static __rte_noinline uint32_t
any(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc, uint32_t n,
	bool mmo)
{
	return in_order(q, s, desc, n, mmo, 0);
}

static __rte_noinline uint32_t
to_dc(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc, uint32_t n)
{
	struct each e = {
		.q = q,
		.s = s,
		.d = desc,
		.seq = s->issue,
		.conn = GANTRY_CONN_DCI,
		.c = &q->conn[GANTRY_CONN_DCI],
	};
	const struct gantry_desc *end = desc + RTE_MIN(n, s->mask + 1 - (e.seq & s->mask));

	if (unlikely(e.c->state != GANTRY_CONN_READY || e.c->stream != s))
		return 0;
	for (; e.d != end && find_dest(&e); e.d++, e.seq++)
		if (e.d->op == GANTRY_OP_WRITE ? !issue_message(&e, GANTRY_OP_WRITE)
					       : !issue_to_peer(&e, e.d->op))
			break;
	if (e.d != desc)
		gantry_conn_set_add(&q->unrung, GANTRY_CONN_DCI);
	s->issue = e.seq;
	return e.d - desc;
}

uint32_t
gantry_each(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n, bool mmo)
{
	uint8_t op = desc[0].op;

	if (op != GANTRY_OP_COPY && gantry_queue_conn_to(q, desc[0].peer) == GANTRY_CONN_DCI)
		return to_dc(q, s, desc, n);
	/* One operation to peers in turn is what is sent most often of all that comes here. */
	if (n != 1 && desc[0].flags == 0 && desc[1].op == op) {
		if (op == GANTRY_OP_WRITE)
			return writes(q, s, desc, n);
		if (op == GANTRY_OP_READ)
			return reads(q, s, desc, n);
	}
	return any(q, s, desc, n, mmo);
}

uint32_t
gantry_each_unordered(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n, bool mmo)
{
	struct each e = {.q = q, .d = desc, .mmo = mmo, .in_rows = true};
	const struct gantry_desc *end = desc + n;

	for (; e.d != end && issue_one(&e, 0, true); e.d++) {
		struct gantry_stream *s = e.s;

		s->issue = e.seq + 1;
		atomic_store_explicit(&s->head, e.seq + 1, memory_order_relaxed);
		if (unlikely(!s->busy))
			gantry_queue_note_busy(q, s);
	}
	return e.d - desc;
}
