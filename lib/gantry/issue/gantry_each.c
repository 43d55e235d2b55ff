/* SPDX-License-Identifier: BSD-3-Clause */
/* Issues operations of one WQE each, by their rules and opcodes. */
#include "gantry_each.h"

#include <rte_prefetch.h>

#include "gantry_dc_peer.h"
#include "gantry_doorbell.h"
#include "gantry_engine.h"
#include "gantry_finish.h"
#include "gantry_plain.h"
#include "gantry_rule.h"
#include "gantry_slot.h"
#include "gantry_work_next.h"

static_assert(GANTRY_DESC_SOLICITED == HWQ_WQE_SOLICITED, "the flag is passed on to the WQE");

/* The state of the loop: a descriptor, its slot, and its connection. */
struct each {
	struct gantry_queue *q;
	struct gantry_stream *s;
	const struct gantry_desc *d;
	uint64_t seq;             /* sequence number of the slot */
	struct gantry_comp *comp; /* completion of the slot */
	uint64_t *where;
	/* Flags that have no effect on this descriptor, as gantry_desc_head_flags() gives them. */
	uint64_t idle;
	/*
	 * Number of the peer that was looked up last, or UINT32_MAX if no peer was looked up yet.
	 */
	uint32_t peer;
	uint32_t conn;                  /* index of the peer's connection */
	struct gantry_conn *c;          /* the peer's connection */
	uint64_t posted;                /* `posted` of the connection when it was looked up */
	const struct hwq_dc_dest *dest; /* address of a DC peer; otherwise NULL */
	/* gantry_desc_head_flags(GANTRY_DESC_BY_MMO) if DMA MMO carries copies; otherwise 0. */
	uint64_t by_mmo;
	bool dc;      /* a constant: true if all peers are DC peers, false if no peer is one */
	bool in_turn; /* a constant: successive descriptors rarely have the same peer */
	/* A constant: plain descriptors of one WQEBB are added to rows (gantry_stream.h). */
	bool in_rows;
};

/*
 * Returns the fields that an operation may use if it is issued here. op: a constant, here and
 * below, so that the operation's row in the table of rules is constant, too.
 */
static __rte_always_inline uint32_t
uses(const enum gantry_op op)
{
	return gantry_rules[op].uses & ~(RULE_SRC_LAYOUT | RULE_DST_LAYOUT);
}

/*
 * Accounts for the slot of the descriptor, and for its WQE of n_bb WQEBBs on connection c, whose
 * index is conn. in_row: the slot may be added to a row (struct gantry_row), and its WQE has one
 * WQEBB.
 */
static __rte_always_inline void
account(const struct each *e, struct gantry_conn *c, uint32_t conn, const enum gantry_op op,
	uint64_t len, uint32_t n_bb, const bool in_row)
{
	struct gantry_stream *s = e->s;
	uint64_t posted = c->posted, where = gantry_where(conn, posted);

	gantry_slot_prepare(e->comp, e->d, op, len);
	*e->where = where;
	c->posted = posted + n_bb;
	/*
	 * A CQE is due with the last WQE of a quarter of the ring (gantry_conn_signals()). A single
	 * WQEBB cannot pass the end of the quarter.
	 */
	if (unlikely(in_row ? (c->posted & c->signal_mask) == 0
			    : (posted ^ c->posted) > c->signal_mask))
		hwq_sq_signal_last(c->sq);
	if (e->dc)
		gantry_stream_pend(s, e->seq)->peer = e->peer; /* needed by gantry_peer_close() */
	if (op == GANTRY_OP_COPY || e->in_turn)
		e->q->outstanding += n_bb;
	if (op != GANTRY_OP_COPY && e->in_turn)
		gantry_conn_set_add_at(&e->q->unrung, &c->place);
	if (!in_row || !e->in_rows)
		return;
	if (s->row.end == e->seq && s->row.lead == where - e->seq)
		s->row.end = e->seq + 1;
	else if (e->seq == s->issue)
		gantry_row_note(&s->row, c, e->seq, where, 1);
}

/*
 * Returns true if the ring has n_bb free WQEBBs in front of its end. For a WQE that would pass the
 * end, gantry_work_next() fills the last WQEBBs of the ring with a NOP.
 */
static __rte_always_inline bool
has_room(const struct hwq_sq *sq, uint32_t n_bb)
{
	return likely(hwq_sq_tail_bb(sq, sq->pi) >= n_bb) && likely(hwq_sq_free_bb(sq) >= n_bb);
}

/*
 * Each of the functions below issues one descriptor. It returns false if this fast path cannot
 * issue the descriptor, or the send queue is full.
 */

static __rte_always_inline bool
issue_copy(const struct each *e)
{
	const uint64_t len = e->d->len, from = e->d->src, to = e->d->dst;
	struct gantry_conn *own = &e->q->conn[GANTRY_CONN_OWN];
	struct gantry_region_view *v = &e->q->view;
	struct hwq_burst b;

	if (!gantry_rule_is_kept(e->d, uses(GANTRY_OP_COPY), e->idle | e->by_mmo) ||
		unlikely(len - 1 >= own->max_len) ||
		unlikely(!gantry_region_find_plain(v, &v->src, from, len)) ||
		unlikely(!gantry_region_find_plain(v, &v->dst, to, len)) ||
		unlikely(gantry_plain_overlap(from, to, len)) ||
		unlikely(hwq_burst_start(&b, own->sq, 1) == 0))
		return false;
	/* No QP of the engine has sq_sig_all. The assignment tells this to the compiler. */
	b.signals = 0;
	if (e->by_mmo != 0)
		hwq_burst_memcpy_with(&b, v->dst->key_word, to, v->src->key_word, from, len, 0);
	else
		hwq_burst_rdma_with(&b, MLX5_OPCODE_RDMA_WRITE, v->dst->rkey, to, v->src->key_word,
			from, len, 0);
	hwq_burst_end_counted(&b, 1);
	account(e, own, GANTRY_CONN_OWN, GANTRY_OP_COPY, len, 1, true);
	return true;
}

/*
 * Issues a message to a DC peer, or (in_wqe) a message whose data the CPU copies into the WQE. r:
 * the region of the message's local memory.
 */
static __rte_always_inline bool
issue_long(const struct each *e, const enum gantry_op op, const bool in_wqe,
	const struct gantry_region *r, uint64_t local, uint64_t remote, uint64_t len,
	uint32_t flags, __be32 imm)
{
	struct hwq_sq *sq = e->c->sq;
	const uint8_t opcode = gantry_work_opcodes[gantry_rules[op].kind];
	int n_bb;

	if (!has_room(sq, gantry_work_message_bb(e->dc, in_wqe, opcode, len)))
		return false;
	n_bb = gantry_work_put_message(sq, e->dest, in_wqe, opcode, e->d->remote_key, remote,
		r->lkey, local, len, flags, imm);
	if (unlikely(n_bb <= 0))
		return false;
	account(e, e->c, e->conn, op, len, n_bb, false);
	return true;
}

static __rte_always_inline bool
issue_message(const struct each *e, const enum gantry_op op)
{
	const bool from = op != GANTRY_OP_READ;
	const struct gantry_desc *d = e->d;
	const uint64_t len = d->len, local = from ? d->src : d->dst,
		       remote = from ? d->dst : d->src;
	struct gantry_region_view *v = &e->q->view;
	const struct gantry_region **hit = from ? &v->src : &v->dst;
	const struct gantry_conn *c = e->c;
	unsigned int flags;
	struct hwq_burst b;
	__be32 imm;

	if (!gantry_rule_is_kept(d, uses(op), e->idle) || unlikely(len - 1 >= c->max_len) ||
		unlikely(!gantry_plain_remote(remote)) ||
		unlikely(!gantry_region_find_plain(v, hit, local, len)))
		return false;
	/*
	 * len is in 1..max_len, and max_len is at most 2 GiB, so the condition is never true. The
	 * compiler does not know this: without this statement it would also make the builders' code
	 * for messages without data.
	 */
	if ((uint32_t)len == 0)
		__builtin_unreachable();
	flags = (uses(op) & RULE_SOLICITS) != 0 ? d->flags & GANTRY_DESC_SOLICITED : 0;
	imm = (uses(op) & RULE_IMM) != 0 ? htobe32(d->imm) : 0;
	if (e->dc && likely(!from || len > c->max_inline))
		return issue_long(e, op, false, *hit, local, remote, len, flags, imm);
	if (e->dc || (from && unlikely(len <= c->max_inline)))
		return issue_long(e, op, true, *hit, local, remote, len, flags, imm);
	if (unlikely(hwq_burst_start(&b, c->sq, 1) == 0))
		return false;
	b.signals = 0;
	hwq_burst_one(&b, gantry_work_opcodes[gantry_rules[op].kind], d->remote_key, remote,
		(*hit)->key_word, local, len, flags, imm);
	/*
	 * If successive descriptors go to different peers, the next WQE of this connection is
	 * written some bursts later. So fetch the cache line of this WQE now, into the second
	 * cache: in the first cache, these lines of all rings would share one set.
	 */
	if (!e->in_rows)
		rte_prefetch1(b.at);
	hwq_burst_end_counted(&b, 1);
	account(e, e->c, e->conn, op, len, 1, true);
	return true;
}

/*
 * The device writes the old value to a cell, and the slot's `result` is the address of the cell
 * (gantry_finish.h).
 */
static __rte_always_inline bool
issue_atomic(const struct each *e, const enum gantry_op op)
{
	const struct gantry_desc *d = e->d;
	struct gantry_queue *q = e->q;
	const uint32_t n_bb = e->dc ? 2 : 1;
	struct hwq_sq *sq = e->c->sq;
	uint64_t *cell;

	if (!gantry_rule_is_kept(d, uses(op), e->idle) ||
		unlikely(d->len != sizeof(uint64_t) || d->dst % sizeof(uint64_t) != 0 ||
			 !gantry_plain_remote(d->dst) || !q->g->info.atomics) ||
		!has_room(sq, n_bb))
		return false;
	cell = gantry_cell_get(&q->cells);
	if (unlikely(cell == NULL))
		return false;
	gantry_work_put_atomic(sq, e->dest, op == GANTRY_OP_COMPARE_SWAP, d->remote_key, d->dst,
		q->cells.mr.lkey, (uintptr_t)cell, d->arg);
	account(e, e->c, e->conn, op, sizeof(uint64_t), n_bb, false);
	e->comp->result = (uintptr_t)cell;
	e->comp->zero = GANTRY_FINISH_ATOMIC;
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

/* Accounts for the WQEs that were written to the connection; they wait for the doorbell. */
static __rte_always_inline void
leave_conn(const struct each *e)
{
	uint32_t n_bb = e->c->posted - e->posted;

	if (e->in_turn || n_bb == 0)
		return;
	e->q->outstanding += n_bb;
	gantry_conn_set_add_at(&e->q->unrung, &e->c->place);
}

static __rte_always_inline void
enter_conn(struct each *e, uint32_t conn)
{
	struct gantry_conn *c = &e->q->conn[conn];

	/* Without this statement, the compiler computes the address again at each use. */
	__asm__("" : "+r"(c));
	e->c = c;
	e->conn = conn;
	e->posted = c->posted;
}

/*
 * Looks up the descriptor's peer. Returns false if the peer's connection does not take the
 * descriptors of this stream. If `dc` is set, returns false only if the peer is not a DC peer.
 */
static __rte_always_inline bool
turn_to_peer(struct each *e, const bool unordered)
{
	const struct gantry_queue *q = e->q;
	uint16_t peer = e->d->peer;

	e->peer = peer;
	if (e->dc) {
		if (unlikely(gantry_queue_conn_to(q, peer) != GANTRY_CONN_DCI))
			return false;
		e->dest = &q->peer_more[peer].dc->dest;
		return true;
	}
	leave_conn(e);
	enter_conn(e, gantry_queue_peer_conn(q, peer));
	return likely(e->c->state == GANTRY_CONN_READY) &&
	       (unordered || likely(e->c->stream == e->s));
}

/*
 * Makes s the stream of the next descriptor. For an unordered queue, returns false if the stream
 * has no free slot, or if descriptors of the stream wait.
 */
static __rte_always_inline bool
enter_stream(struct each *e, struct gantry_stream *s, const bool unordered)
{
	e->s = s;
	e->seq = s->issue;
	e->comp = &s->comp[e->seq & s->mask];
	e->where = &s->where[e->seq & s->mask];
	return !unordered ||
	       likely(!gantry_stream_waits(s) && gantry_stream_in_flight(s) <= s->mask);
}

/*
 * Issues a descriptor. op: a constant, the operation if the loop is for one operation only,
 * otherwise 0. unordered: a constant, true if the queue is unordered.
 */
static __rte_always_inline bool
issue_one(struct each *e, const enum gantry_op op, const bool unordered)
{
	const uint8_t is = e->d->op;

	if (op == 0 && !e->dc && is == GANTRY_OP_COPY)
		return (!unordered || enter_stream(e, e->q->conn[GANTRY_CONN_OWN].stream, true)) &&
		       issue_copy(e);
	if ((op != 0 && is != op) ||
		((e->in_turn || e->d->peer != e->peer) && !turn_to_peer(e, unordered)))
		return false;
	if (e->dc != (e->dest != NULL))
		__builtin_unreachable();
	if (unordered && !enter_stream(e, e->c->stream, true))
		return false;
	/*
	 * WRITE is compared here, because a comparison costs less than the jump of a switch
	 * (issue_to_peer()).
	 */
	if (op != 0 || is == GANTRY_OP_WRITE)
		return issue_message(e, op != 0 ? op : GANTRY_OP_WRITE);
	return issue_to_peer(e, is);
}

/*
 * Issues descriptors of one stream. op: the operation if all descriptors have the same one,
 * otherwise 0. Returns how many were issued.
 */
static __rte_always_inline uint32_t
in_order(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n, bool mmo, const enum gantry_op op, const bool dc)
{
	struct each e = {.q = q,
		.d = desc,
		.peer = UINT32_MAX,
		.by_mmo = mmo ? gantry_desc_head_flags(GANTRY_DESC_BY_MMO) : 0,
		.dc = dc,
		.in_turn = op != 0,
		.in_rows = op == 0};
	const struct gantry_desc *end = desc + RTE_MIN(n, s->mask + 1 - (s->issue & s->mask));

	enter_stream(&e, s, false);
	enter_conn(&e, dc ? GANTRY_CONN_DCI : GANTRY_CONN_NONE);
	if (dc && unlikely(e.c->state != GANTRY_CONN_READY || e.c->stream != s))
		return 0;
	if (op == 0 && !dc)
		e.idle = gantry_desc_head_flags(GANTRY_DESC_FENCE);
	for (; e.d != end && issue_one(&e, op, false); e.d++, e.seq++, e.comp++, e.where++)
		e.idle = 0;
	s->issue = e.seq;
	leave_conn(&e);
	return e.d - desc;
}

/* Each loop has a function of its own, so that it can use all registers. */
static __rte_noinline uint32_t
writes(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc, uint32_t n)
{
	return in_order(q, s, desc, n, false, GANTRY_OP_WRITE, false);
}

static __rte_noinline uint32_t
reads(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc, uint32_t n)
{
	return in_order(q, s, desc, n, false, GANTRY_OP_READ, false);
}

static __rte_noinline uint32_t
any(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc, uint32_t n,
	bool mmo)
{
	return in_order(q, s, desc, n, mmo, 0, false);
}

static __rte_noinline uint32_t
to_dc(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc, uint32_t n)
{
	return in_order(q, s, desc, n, false, 0, true);
}

uint32_t
gantry_each(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n, bool mmo)
{
	uint8_t op = desc[0].op;

	if (op != GANTRY_OP_COPY && gantry_queue_conn_to(q, desc[0].peer) == GANTRY_CONN_DCI)
		return to_dc(q, s, desc, n);
	/*
	 * Most bursts that get here have one operation, and successive descriptors go to different
	 * peers.
	 */
	if (n != 1 && desc[0].flags == 0 && desc[1].op == op && desc[1].peer != desc[0].peer) {
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
	struct each e = {.q = q,
		.d = desc,
		.peer = UINT32_MAX,
		.by_mmo = mmo ? gantry_desc_head_flags(GANTRY_DESC_BY_MMO) : 0,
		.in_turn = true,
		.in_rows = true};
	const struct gantry_desc *end = desc + n;

	enter_conn(&e, GANTRY_CONN_NONE);
	for (; e.d != end && issue_one(&e, 0, true); e.d++) {
		e.s->issue = e.seq + 1;
		atomic_store_explicit(&e.s->head, e.seq + 1, memory_order_relaxed);
		if (unlikely(!e.s->busy))
			gantry_queue_note_busy(q, e.s);
	}
	return e.d - desc;
}
