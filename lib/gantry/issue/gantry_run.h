/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs: successive plain descriptors that are alike are issued together.
 *
 * A descriptor is plain if it is a COPY, WRITE, READ or NOP without flags and layout, and one WQE
 * carries it. Descriptors are alike if their first 8 bytes are equal, so that they have the same
 * operation and peer. The first descriptor may be fenced, if it need not wait.
 *
 * The connection, its free WQEBBs, the ends of the rings of WQEs and of slots, and the WQE that
 * must ask for the next CQE are found once for the whole run. Each descriptor then costs few
 * comparisons. A plain descriptor whose neighbours are not like it is left to gantry_each(). A
 * descriptor that is not plain is left to gantry_xlate(), which has all rules.
 */
#ifndef GANTRY_RUN_H
#define GANTRY_RUN_H

#include <string.h>

#include <rte_debug.h>

#include <hwq_burst.h>

#include "gantry_burst.h"
#include "gantry_doorbell.h"
#include "gantry_plain.h"
#include "gantry_queue.h"
#include "gantry_slot.h"
#include "gantry_txn_run.h"
#include "gantry_work_next.h"

static_assert(offsetof(struct gantry_desc, imm) == 44, "one load takes remote_key and imm");

/*
 * How the operations of a run are carried out. The compiler makes a version of gantry_run_post()
 * for each kind.
 */
enum gantry_run_kind {
	GANTRY_RUN_MEMCPY,   /* COPY by DMA MMO */
	GANTRY_RUN_LOOPBACK, /* COPY by RDMA write over the own connection */
	GANTRY_RUN_WRITE,
	GANTRY_RUN_WRITE_INLINE, /* the CPU copies the data into the WQE */
	GANTRY_RUN_READ,
};

/*
 * The addresses and the length of a descriptor of a run. They are read once: for the compiler, a
 * store to a WQE might change the descriptor.
 */
struct gantry_run_move {
	uint64_t src, dst, len;
};

/* A run that is being issued. It is on the stack of gantry_run_post(), and mostly in registers. */
struct gantry_run {
	struct gantry_queue *q;
	uint64_t head; /* head of every descriptor of the run, without the fence that the first
		        * descriptor may have */
	/*
	 * The lengths min_len + 1 to min_len + n_len are plain. Shorter data are copied into the
	 * WQE; longer data need several WQEs.
	 */
	uint64_t min_len, n_len;
	const struct gantry_region *src, *dst;
	/*
	 * The key words of the regions. Copies by DMA MMO read them in the regions instead, because
	 * the loop has no register left for them.
	 */
	uint64_t src_key, dst_key;
	/*
	 * A constant. If true, a descriptor is plain only if the last hit or the first hint gives
	 * its region.
	 */
	bool near;
	bool alone; /* a constant: the run has one descriptor */
	struct hwq_burst burst;
};

static __rte_always_inline bool
gantry_run_is_copy(enum gantry_run_kind kind)
{
	return kind == GANTRY_RUN_MEMCPY || kind == GANTRY_RUN_LOOPBACK;
}

static __rte_always_inline enum gantry_op
gantry_run_op(enum gantry_run_kind kind)
{
	return gantry_run_is_copy(kind)  ? GANTRY_OP_COPY
	       : kind == GANTRY_RUN_READ ? GANTRY_OP_READ
					 : GANTRY_OP_WRITE;
}

static __rte_always_inline bool
gantry_run_has_src(enum gantry_run_kind kind)
{
	return kind != GANTRY_RUN_READ;
}

static __rte_always_inline bool
gantry_run_has_dst(enum gantry_run_kind kind)
{
	return gantry_run_is_copy(kind) || kind == GANTRY_RUN_READ;
}

/* Sets the range of lengths with which a descriptor takes the short path on this connection. */
static __rte_always_inline void
gantry_run_limit(struct gantry_run *run, const struct gantry_conn *c,
	const enum gantry_run_kind kind)
{
	uint64_t max_len = c->max_len;

	run->min_len = kind == GANTRY_RUN_WRITE ? c->max_inline : 0;
	if (kind == GANTRY_RUN_WRITE_INLINE)
		max_len = RTE_MIN(c->max_inline, HWQ_BURST_INLINE_MAX);
	/*
	 * max_len is greater than min_len: inline data are always shorter than the data that a WQE
	 * can move.
	 */
	run->n_len = max_len - run->min_len;
}

/*
 * Begins a run of operations like d. At first its regions are the last hits. alone: the run has
 * only d.
 */
static __rte_always_inline struct gantry_run
gantry_run_of(struct gantry_queue *q, const struct gantry_desc *d, const bool alone)
{
	const struct gantry_region_view *v = &q->view;

	return (struct gantry_run){
		.q = q,
		.head = gantry_desc_head(d) & ~gantry_desc_head_flags(GANTRY_DESC_FENCE),
		.src = v->src,
		.dst = v->dst,
		.src_key = v->src->key_word,
		.dst_key = v->dst->key_word,
		.alone = alone,
	};
}

/*
 * Makes *r the region for plain copies that covers [addr, addr + len), and *key its key word. Looks
 * up the region if *r does not cover these addresses. r, key: the source or destination of the run.
 * last: the last hit for the source or the destination, which this function sets if run->alone is
 * true; otherwise gantry_run_keep_hits() sets it. Returns false if there is no such region.
 */
static __rte_always_inline bool
gantry_run_find(struct gantry_run *run, const struct gantry_region **r, uint64_t *key,
	const struct gantry_region **last, uint64_t addr, uint64_t len)
{
	const struct gantry_region *found;

	if (likely(gantry_region_plain_hit(*r, addr, len)))
		return true;
	found = gantry_region_near(&run->q->view, addr);
	if (unlikely(!gantry_region_plain_hit(found, addr, len)))
		found = run->near ? NULL : gantry_region_lookup_plain(&run->q->view, addr, len);
	if (unlikely(found == NULL))
		return false;
	*r = found;
	*key = found->key_word;
	if (run->alone)
		*last = found;
	return true;
}

/* Makes the regions of this run the last hits. The next run begins with them. */
static __rte_always_inline void
gantry_run_keep_hits(const struct gantry_run *run, const enum gantry_run_kind kind)
{
	if (gantry_run_has_src(kind))
		run->q->view.src = run->src;
	if (gantry_run_has_dst(kind))
		run->q->view.dst = run->dst;
}

static __rte_always_inline bool
gantry_run_find_src(struct gantry_run *run, uint64_t addr, uint64_t len)
{
	return gantry_run_find(run, &run->src, &run->src_key, &run->q->view.src, addr, len);
}

static __rte_always_inline bool
gantry_run_find_dst(struct gantry_run *run, uint64_t addr, uint64_t len)
{
	return gantry_run_find(run, &run->dst, &run->dst_key, &run->q->view.dst, addr, len);
}

/*
 * Returns the bits of the fields that must be 0 here: imm, and remote_key unless the operation uses
 * it.
 */
static __rte_always_inline uint64_t
gantry_run_spare(const struct gantry_desc *d, bool uses_key)
{
	uint64_t both;

	if (uses_key)
		return d->imm;
	memcpy(&both, &d->remote_key, sizeof(both));
	return both;
}

/*
 * Returns true if the descriptor, whose head is that of the run, is plain. m: its addresses and
 * length.
 */
static __rte_always_inline bool
gantry_run_takes(struct gantry_run *run, const struct gantry_desc *d,
	const struct gantry_run_move m, const enum gantry_run_kind kind)
{
	const bool copy = gantry_run_is_copy(kind);

	return likely(m.len - 1 - run->min_len < run->n_len) &&
	       likely((gantry_run_spare(d, !copy) | d->arg[0] | d->arg[1]) == 0) &&
	       likely(gantry_run_has_src(kind) ? gantry_run_find_src(run, m.src, m.len)
					       : gantry_plain_remote(m.src)) &&
	       likely(gantry_run_has_dst(kind) ? gantry_run_find_dst(run, m.dst, m.len)
					       : gantry_plain_remote(m.dst)) &&
	       likely(!copy || !gantry_plain_overlap(m.src, m.dst, m.len));
}

static __rte_always_inline struct gantry_run_move
gantry_run_move_of(const struct gantry_desc *d)
{
	return (struct gantry_run_move){.src = d->src, .dst = d->dst, .len = d->len};
}

/* Returns the bytes that the WQEs of the run have in common. */
static __rte_always_inline struct hwq_burst_like
gantry_run_like(const struct gantry_run *run, const enum gantry_run_kind kind)
{
	switch (kind) {
	case GANTRY_RUN_MEMCPY:
		return hwq_burst_like_memcpy(&run->burst);
	case GANTRY_RUN_READ:
		return hwq_burst_like_rdma(&run->burst, MLX5_OPCODE_RDMA_READ);
	default:
		return hwq_burst_like_rdma(&run->burst, MLX5_OPCODE_RDMA_WRITE);
	}
}

/*
 * Writes an RDMA write or read. like: the common bytes of a run whose WQEs have no flags, or NULL.
 * flags: enum hwq_wqe_flags.
 */
static __rte_always_inline void
gantry_run_put_rdma(struct hwq_burst *b, uint8_t opcode, uint32_t rkey, uint64_t raddr,
	uint64_t local_key, uint64_t addr, uint32_t len, struct hwq_burst_like *like,
	const unsigned int flags)
{
	if (like != NULL)
		hwq_burst_rdma_like(b, like, rkey, raddr, local_key, addr, len);
	else
		hwq_burst_rdma_with(b, opcode, rkey, raddr, local_key, addr, len, flags);
}

/* Writes the WQE of a descriptor. like, flags: as for gantry_run_put_rdma(). */
static __rte_always_inline void
gantry_run_write(struct gantry_run *run, const struct gantry_desc *d,
	const struct gantry_run_move m, const enum gantry_run_kind kind,
	struct hwq_burst_like *like, const unsigned int flags)
{
	struct hwq_burst *b = &run->burst;

	switch (kind) {
	case GANTRY_RUN_MEMCPY:
		if (like != NULL)
			hwq_burst_memcpy_like(b, like, run->dst->key_word, m.dst,
				run->src->key_word, m.src, m.len);
		else
			hwq_burst_memcpy_with(b, run->dst->key_word, m.dst, run->src->key_word,
				m.src, m.len, flags);
		break;
	case GANTRY_RUN_LOOPBACK:
		/* The WQE of a loopback write has the remote key of its destination. */
		gantry_run_put_rdma(b, MLX5_OPCODE_RDMA_WRITE, run->dst->rkey, m.dst, run->src_key,
			m.src, m.len, like, flags);
		break;
	case GANTRY_RUN_WRITE:
		gantry_run_put_rdma(b, MLX5_OPCODE_RDMA_WRITE, d->remote_key, m.dst, run->src_key,
			m.src, m.len, like, flags);
		break;
	case GANTRY_RUN_WRITE_INLINE:
		hwq_burst_write_inline(b, d->remote_key, m.dst, (const void *)m.src, m.len, flags);
		break;
	case GANTRY_RUN_READ:
		gantry_run_put_rdma(b, MLX5_OPCODE_RDMA_READ, d->remote_key, m.src, run->dst_key,
			m.dst, m.len, like, flags);
		break;
	}
}

/*
 * Issues plain operations from desc on to connection `conn`. Stops at a descriptor that is not
 * plain or has another head, at the end of a ring, and when the send queue is full. Returns how
 * many were issued.
 */
static __rte_always_inline uint32_t
gantry_run_post(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	const struct gantry_desc *desc, uint32_t n, const enum gantry_run_kind kind)
{
	struct gantry_conn *c = &q->conn[conn];
	struct gantry_run run = gantry_run_of(q, desc, false);
	const struct gantry_desc *d, *end;
	struct hwq_burst_like like;
	struct gantry_comp *comp;

	gantry_run_limit(&run, c, kind);
	n = gantry_burst_begin(&run.burst, s, c, n);
	if (unlikely(n == 0))
		return 0;
	comp = &s->comp[s->issue & s->mask];
	like = gantry_run_like(&run, kind);
	/* The loop has no counter besides the pointers, because no register is left for one. */
	d = desc;
	end = desc + n;
	do {
		const struct gantry_run_move m = gantry_run_move_of(d);

		if (!gantry_run_takes(&run, d, m, kind))
			break;
		gantry_run_write(&run, d, m, kind, &like, 0);
		gantry_slot_prepare(comp, d, gantry_run_op(kind), m.len);
		d++;
		comp++;
	} while (d != end && likely(gantry_desc_head(d) == run.head));
	gantry_run_keep_hits(&run, kind);
	n = d - desc;
	if (unlikely(n == 0))
		return 0;
	gantry_burst_end(&run.burst, s, c, conn, n, true);
	gantry_note_posted(q, conn, n);
	return n;
}

/* Returns the number of 16-byte units of the WQE that carries m. */
static __rte_always_inline unsigned int
gantry_run_ds(const struct gantry_run_move m, const enum gantry_run_kind kind)
{
	return kind == GANTRY_RUN_MEMCPY         ? 4
	       : kind == GANTRY_RUN_WRITE_INLINE ? 2 + hwq_inline_ds(m.len)
						 : 3;
}

/*
 * As gantry_run_post(), for a descriptor that is alone in a call of the owner. So its WQE asks for
 * a CQE, and the doorbell is rung at once. near: as in struct gantry_run; if it is true, no
 * function is called. Returns 1, or 0 if the descriptor is not plain or the send queue is full.
 */
static __rte_always_inline uint32_t
gantry_run_post_one(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	const struct gantry_desc *d, const enum gantry_run_kind kind, const bool near)
{
	const struct gantry_run_move m = gantry_run_move_of(d);
	struct gantry_conn *c = &q->conn[conn];
	struct gantry_run run = gantry_run_of(q, d, true);
	const uint64_t seq = s->issue;
	uint64_t where;
	uint32_t slot;

	run.near = near;
	gantry_run_limit(&run, c, kind);
	/* The descriptor is checked before the rings are read, which leaves more registers free. */
	if (!gantry_run_takes(&run, d, m, kind) ||
		unlikely(hwq_burst_start(&run.burst, c->sq, 1) == 0))
		return 0;
	where = gantry_where(conn, c->posted);
	slot = seq & s->mask;
	/* The key words are read again, so that they need not be kept in registers until here. */
	run.src_key = run.src->key_word;
	run.dst_key = run.dst->key_word;
	gantry_run_write(&run, d, m, kind, NULL, HWQ_WQE_SIGNALED);
	gantry_slot_prepare(&s->comp[slot], d, gantry_run_op(kind), m.len);
	s->where[slot] = where;
	gantry_row_note(&s->row, c, seq, where, 1);
	c->posted++;
	s->issue = seq + 1;
	gantry_note_rung(q, c, 1, gantry_run_is_copy(kind));
	/* Each call of the owner rings the doorbells for all WQEs that it has written. */
	RTE_ASSERT(hwq_sq_pending_bb(c->sq) == 0);
	hwq_burst_end_and_ring_one(&run.burst, gantry_run_ds(m, kind));
	return 1;
}

/* Completes NOPs, which need no hardware. */
static __rte_always_inline uint32_t
gantry_run_nops(struct gantry_stream *s, const struct gantry_desc *desc, uint32_t n)
{
	uint64_t head = gantry_desc_head_of(GANTRY_OP_NOP, 0);
	uint32_t slot = s->issue & s->mask, i;

	n = RTE_MIN(n, s->mask + 1 - slot);
	for (i = 0; i < n; i++) {
		const struct gantry_desc *d = &desc[i];

		if (unlikely(gantry_desc_head(d) != head || d->remote_key != 0 ||
			     (d->imm | d->src | d->dst | d->len | d->arg[0] | d->arg[1]) != 0))
			break;
		gantry_slot_prepare(&s->comp[slot + i], d, GANTRY_OP_NOP, 0);
		s->where[slot + i] = GANTRY_WHERE_NOWHERE;
	}
	s->issue += i;
	return i;
}

/* Issues writes whose data the CPU copies into the WQE. */
static __rte_noinline uint32_t
gantry_run_inline(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	const struct gantry_desc *desc, uint32_t n)
{
	return gantry_run_post(q, s, conn, desc, n, GANTRY_RUN_WRITE_INLINE);
}

/* As gantry_run_inline(), for a write that is alone in a call of the owner. */
static __rte_noinline uint32_t
gantry_run_inline_one(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	const struct gantry_desc *d)
{
	return gantry_run_post_one(q, s, conn, d, GANTRY_RUN_WRITE_INLINE, false);
}

/*
 * Issues operations to a peer. The peer's connection takes them if it works, and if the descriptors
 * belong to its stream.
 */
static __rte_always_inline uint32_t
gantry_run_to_peer(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint64_t head, uint32_t n, const enum gantry_run_kind kind, const bool alone)
{
	uint32_t conn = gantry_queue_peer_conn(q, desc->peer);
	const struct gantry_conn *c = &q->conn[conn];
	bool is_short;

	if (unlikely(c->state != GANTRY_CONN_READY || c->stream != s))
		return 0;
	is_short = kind == GANTRY_RUN_WRITE && desc->len <= c->max_inline;
	if (alone)
		return unlikely(is_short) ? gantry_run_inline_one(q, s, conn, desc)
					  : gantry_run_post_one(q, s, conn, desc, kind, false);
	if (n == 1 || head != gantry_desc_head(&desc[1]))
		return 0;
	if (unlikely(is_short))
		return gantry_run_inline(q, s, conn, desc, n);
	return gantry_run_post(q, s, conn, desc, n, kind);
}

/*
 * Issues plain operations from the beginning of desc. The caller knows that the own connection
 * works, and that a fence of the first descriptor need not wait. Returns how many were issued.
 * Returns 0 if the first descriptor is not plain, or the send queue is full.
 *
 * alone: a constant. If it is true, n is 1, the descriptor has no fence, and the owner's call posts
 * nothing else. The function then also rings the doorbell; if it returns 0, the caller calls it
 * again without `alone`.
 */
static __rte_always_inline uint32_t
gantry_run(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n, const bool mmo, const bool alone)
{
	const enum gantry_run_kind copy = mmo ? GANTRY_RUN_MEMCPY : GANTRY_RUN_LOOPBACK;
	/* If MMO carries all copies, the flag that asks for MMO has no effect. */
	const uint64_t idle = mmo ? gantry_desc_head_flags(GANTRY_DESC_BY_MMO) : 0;
	const uint64_t fence = alone ? 0 : gantry_desc_head_flags(GANTRY_DESC_FENCE);
	uint64_t head = gantry_desc_head(desc) & ~fence;

	if (likely((head & ~idle) == gantry_desc_head_of(GANTRY_OP_COPY, 0))) {
		if (alone)
			return gantry_run_post_one(q, s, GANTRY_CONN_OWN, desc, copy, false);
		if (n != 1 && unlikely(head != (gantry_desc_head(&desc[1]) & ~fence)))
			return 0;
		return gantry_run_post(q, s, GANTRY_CONN_OWN, desc, n, copy);
	}
	if (head == gantry_desc_head_of(GANTRY_OP_WRITE, desc->peer))
		return gantry_run_to_peer(q, s, desc, head, n, GANTRY_RUN_WRITE, alone);
	if (head == gantry_desc_head_of(GANTRY_OP_READ, desc->peer))
		return gantry_run_to_peer(q, s, desc, head, n, GANTRY_RUN_READ, alone);
	if (head == gantry_desc_head_of(GANTRY_OP_NOP, 0))
		return gantry_run_nops(s, desc, n);
	if (head == gantry_desc_head_of(GANTRY_OP_TXN, desc->peer))
		return alone ? gantry_txn_run_one(q, s, desc) : gantry_txn_run(q, s, desc, n);
	return 0;
}

#endif
