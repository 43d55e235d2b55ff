/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs: neighbours of one plain kind are issued together.
 *
 * A descriptor is plain if it is a COPY, WRITE, READ or NOP without flags and layout, and one WQE
 * carries it. Neighbours are alike if their first 8 bytes are equal: operation and peer.
 *
 * What holds for the whole run is found out once: the connection, its free WQEBBs, the ends of the
 * rings of WQEs and of slots, where the next CQE is due. Each descriptor then costs few comparisons.
 * Whatever is not plain is left to gantry_xlate(), which knows every rule.
 */
#ifndef GANTRY_RUN_H
#define GANTRY_RUN_H

#include <string.h>

#include <rte_debug.h>

#include <hwq_burst.h>

#include "gantry_dc.h"
#include "gantry_doorbell.h"
#include "gantry_queue.h"
#include "gantry_slot.h"
#include "gantry_txn_run.h"

static_assert(offsetof(struct gantry_desc, imm) == 44, "one load takes remote_key and imm");

/*
 * True: [src, src + len) and [dst, dst + len) have a byte in common. len: 1 to half the address
 * space. Written so that the compiler needs few instructions: the difference of the addresses is
 * between -(len - 1) and len - 1.
 */
static __rte_always_inline bool
gantry_run_overlap(uint64_t src, uint64_t dst, uint64_t len)
{
	return src + (len - 1) - dst <= 2 * (len - 1);
}

/* What carries the operations of a run; a constant of each copy of gantry_run_post(). */
enum gantry_run_kind {
	GANTRY_RUN_MEMCPY,   /* COPY by DMA MMO */
	GANTRY_RUN_LOOPBACK, /* COPY by RDMA write to the queue itself */
	GANTRY_RUN_WRITE,
	GANTRY_RUN_WRITE_INLINE, /* the CPU copies the data into the WQE */
	GANTRY_RUN_READ,
};

/* What a descriptor of a run moves: read once, because stores to WQEs could change it for all that a compiler knows. */
struct gantry_run_move {
	uint64_t src, dst, len;
};

/* A run that is being issued: on the stack of gantry_run_post(), and mostly in registers. */
struct gantry_run {
	struct gantry_queue *q;
	const struct gantry_conn *c;
	uint64_t head; /* of each of its descriptors */
	/*
	 * Plain lengths are min_len + 1 to min_len + n_len: shorter data are copied into the WQE, longer
	 * ones take several WQEs, or the regions do not have so many bytes.
	 */
	uint64_t min_len, n_len;
	const struct gantry_region *src, *dst;
	uint64_t src_key, dst_key; /* hwq_key_word() of the regions' keys */
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

/* A run of operations like d. Its regions are the last hits at first. */
static __rte_always_inline struct gantry_run
gantry_run_of(struct gantry_queue *q, const struct gantry_conn *c, const struct gantry_desc *d,
	const enum gantry_run_kind kind)
{
	const struct gantry_region_view *v = &q->view;
	uint64_t max_len = c->max_len, min_len = kind == GANTRY_RUN_WRITE ? c->max_inline : 0;

	if (kind == GANTRY_RUN_WRITE_INLINE)
		max_len = RTE_MIN(c->max_inline, HWQ_BURST_INLINE_MAX);
	if (gantry_run_has_src(kind))
		max_len = RTE_MIN(max_len, v->src->len);
	if (gantry_run_has_dst(kind))
		max_len = RTE_MIN(max_len, v->dst->len);
	return (struct gantry_run){
		.q = q,
		.c = c,
		.head = gantry_desc_head(d),
		.min_len = min_len,
		.n_len = max_len > min_len ? max_len - min_len : 0,
		.src = v->src,
		.dst = v->dst,
		.src_key = hwq_key_word(v->src->lkey),
		.dst_key = hwq_key_word(v->dst->lkey),
	};
}

/* A region that covers a plain descriptor comes in: the others that follow must not be longer than it. */
static __rte_always_inline void
gantry_run_limit(struct gantry_run *run, const struct gantry_region *r)
{
	run->n_len = RTE_MIN(run->n_len, r->len - run->min_len);
}

/* True: [addr, addr + len) is in the region. len is at most the region's, so nothing overflows. */
static __rte_always_inline bool
gantry_run_hit(const struct gantry_region *r, uint64_t addr, uint64_t len)
{
	return addr - r->addr <= r->len - len;
}

/* The same after a look-up, if the region of the last hit is another one. */
static __rte_always_inline bool
gantry_run_find_src(struct gantry_run *run, uint64_t addr, uint64_t len)
{
	const struct gantry_region *r;

	if (likely(gantry_run_hit(run->src, addr, len)))
		return true;
	r = gantry_region_lookup_plain(&run->q->view, addr, len);
	if (r == NULL)
		return false;
	run->q->view.src = run->src = r;
	run->src_key = hwq_key_word(r->lkey);
	gantry_run_limit(run, r);
	return true;
}

static __rte_always_inline bool
gantry_run_find_dst(struct gantry_run *run, uint64_t addr, uint64_t len)
{
	const struct gantry_region *r;

	if (likely(gantry_run_hit(run->dst, addr, len)))
		return true;
	r = gantry_region_lookup_plain(&run->q->view, addr, len);
	if (r == NULL)
		return false;
	run->q->view.dst = run->dst = r;
	run->dst_key = hwq_key_word(r->lkey);
	gantry_run_limit(run, r);
	return true;
}

/* True: memory at the peer does not begin in the upper half, so its end is no matter. */
static __rte_always_inline bool
gantry_run_remote(uint64_t addr)
{
	return addr <= INT64_MAX;
}

/* remote_key, unless the operation uses it, and imm. */
static __rte_always_inline uint64_t
gantry_run_spare(const struct gantry_desc *d, bool uses_key)
{
	uint64_t both;

	if (uses_key)
		return d->imm;
	memcpy(&both, &d->remote_key, sizeof(both));
	return both;
}

/* True: the descriptor, which moves m, is plain and belongs to the run. */
static __rte_always_inline bool
gantry_run_takes(struct gantry_run *run, const struct gantry_desc *d,
	const struct gantry_run_move m, const enum gantry_run_kind kind)
{
	const bool copy = gantry_run_is_copy(kind);

	return likely(gantry_desc_head(d) == run->head) &&
	       likely(m.len - 1 - run->min_len < run->n_len) &&
	       likely((gantry_run_spare(d, !copy) | d->arg[0] | d->arg[1]) == 0) &&
	       likely(gantry_run_has_src(kind) ? gantry_run_find_src(run, m.src, m.len)
					       : gantry_run_remote(m.src)) &&
	       likely(gantry_run_has_dst(kind) ? gantry_run_find_dst(run, m.dst, m.len)
					       : gantry_run_remote(m.dst)) &&
	       likely(!copy || !gantry_run_overlap(m.src, m.dst, m.len));
}

static __rte_always_inline struct gantry_run_move
gantry_run_move_of(const struct gantry_desc *d)
{
	return (struct gantry_run_move){.src = d->src, .dst = d->dst, .len = d->len};
}

/* Writes its WQE. flags: enum hwq_wqe_flags. */
static __rte_always_inline void
gantry_run_write(struct gantry_run *run, const struct gantry_desc *d,
	const struct gantry_run_move m, const enum gantry_run_kind kind, const unsigned int flags)
{
	struct hwq_burst *b = &run->burst;

	switch (kind) {
	case GANTRY_RUN_MEMCPY:
		hwq_burst_memcpy_with(b, run->dst_key, m.dst, run->src_key, m.src, m.len, flags);
		break;
	case GANTRY_RUN_LOOPBACK:
		/* A loopback write names its destination by a remote key. */
		hwq_burst_rdma_with(b, MLX5_OPCODE_RDMA_WRITE, run->dst->rkey, m.dst, run->src_key,
			m.src, m.len, flags);
		break;
	case GANTRY_RUN_WRITE:
		hwq_burst_rdma_with(b, MLX5_OPCODE_RDMA_WRITE, d->remote_key, m.dst, run->src_key,
			m.src, m.len, flags);
		break;
	case GANTRY_RUN_WRITE_INLINE:
		hwq_burst_write_inline(b, d->remote_key, m.dst, (const void *)m.src, m.len, flags);
		break;
	case GANTRY_RUN_READ:
		hwq_burst_rdma_with(b, MLX5_OPCODE_RDMA_READ, d->remote_key, m.src, run->dst_key,
			m.dst, m.len, flags);
		break;
	}
}

/*
 * The next n slots, whose WQEs come next on the connection, make the stream's row longer, or a new one. where:
 * gantry_where() of the first one.
 */
static __rte_always_inline void
gantry_run_note_row(struct gantry_stream *s, struct gantry_conn *c, uint64_t where, uint32_t n)
{
	struct gantry_row *row = &s->row;
	uint64_t lead = where - s->issue;

	if (unlikely(row->end != s->issue || row->lead != lead))
		gantry_row_begin(row, c, s->issue, lead);
	row->end = s->issue + n;
}

/*
 * Issues plain operations from desc on, which go to connection `conn`, until one is not alike, not
 * plain or has no room, or the end of a ring comes. Returns how many.
 */
static __rte_always_inline uint32_t
gantry_run_post(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	const struct gantry_desc *desc, uint32_t n, const enum gantry_run_kind kind)
{
	struct gantry_conn *c = &q->conn[conn];
	struct gantry_run run = gantry_run_of(q, c, desc, kind);
	uint64_t where = gantry_where(conn, c->posted), next = where, *at;
	const struct gantry_desc *d, *end;
	struct gantry_comp *comp;
	uint32_t slot, room, i;

	room = hwq_burst_start(&run.burst, c->sq, n);
	if (unlikely(room == 0))
		return 0;
	slot = s->issue & s->mask;
	comp = &s->comp[slot];
	at = &s->where[slot];
	/* The ends of both rings are one away at least. */
	if (n != 1) {
		n = RTE_MIN(room, s->mask + 1 - slot);
		n = RTE_MIN(n, c->signal_mask + 1 - (c->posted & c->signal_mask));
	}
	/* No count beside the pointers: the loop has no register left for it. */
	for (d = desc, end = desc + n; d != end; d++, comp++, at++) {
		const struct gantry_run_move m = gantry_run_move_of(d);

		if (!gantry_run_takes(&run, d, m, kind))
			break;
		gantry_run_write(&run, d, m, kind, 0);
		gantry_slot_prepare(comp, d, gantry_run_op(kind), m.len);
		*at = next++;
	}
	i = next - where;
	if (unlikely(i == 0))
		return 0;
	hwq_burst_end(&run.burst);
	gantry_run_note_row(s, c, where, i);
	c->posted += i;
	gantry_note_posted(q, conn, i);
	s->issue += i;
	/* The last WQE of a quarter of the ring: gantry_conn_signals(). */
	if (unlikely((c->posted & c->signal_mask) == 0))
		hwq_sq_signal_last(c->sq);
	return i;
}

/*
 * gantry_run_post() for one descriptor. ring: it comes alone in a call of the owner, so its WQE asks for a CQE, and
 * the doorbell is rung at once. Returns 1; or 0: it is not plain, or there is no room.
 */
static __rte_always_inline uint32_t
gantry_run_post_one(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	const struct gantry_desc *d, const enum gantry_run_kind kind, const bool ring)
{
	const struct gantry_run_move m = gantry_run_move_of(d);
	struct gantry_conn *c = &q->conn[conn];
	struct gantry_run run = gantry_run_of(q, c, d, kind);
	uint64_t where, posted;
	uint32_t slot;

	/* It is judged before the rings are looked at, and so leaves more registers free. */
	if (!gantry_run_takes(&run, d, m, kind) ||
		unlikely(hwq_burst_start(&run.burst, c->sq, 1) == 0))
		return 0;
	posted = c->posted + 1;
	where = gantry_where(conn, c->posted);
	slot = s->issue & s->mask;
	gantry_run_write(&run, d, m, kind,
		ring || (posted & c->signal_mask) == 0 ? HWQ_WQE_SIGNALED : 0);
	gantry_slot_prepare(&s->comp[slot], d, gantry_run_op(kind), m.len);
	s->where[slot] = where;
	gantry_run_note_row(s, c, where, 1);
	c->posted = posted;
	s->issue++;
	if (ring) {
		gantry_note_rung(q, conn, 1, gantry_run_is_copy(kind));
		/* Each call of the owner rings all that it has written. */
		RTE_ASSERT(hwq_sq_pending_bb(c->sq) == 0);
		hwq_burst_end_and_ring_one(&run.burst, kind == GANTRY_RUN_MEMCPY ? 4 : 3);
	} else {
		gantry_note_posted(q, conn, 1);
		hwq_burst_end(&run.burst);
	}
	return 1;
}

/* NOPs need no hardware. */
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

/*
 * gantry_run_post() for the DC initiator: one by one, because a WQE has two WQEBBs, and the ring may end between
 * them.
 */
static __rte_always_inline uint32_t
gantry_run_post_dc(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n, const enum gantry_run_kind kind)
{
	const struct hwq_dc_dest *dest = &q->peer_more[desc->peer].dc->dest;
	struct gantry_conn *c = &q->conn[GANTRY_CONN_DCI];
	struct gantry_run run = gantry_run_of(q, c, desc, kind);
	const struct gantry_desc *d, *end = desc + n;
	uint64_t posted = c->posted;
	struct hwq_sq *sq = c->sq;

	for (d = desc; d != end; d++) {
		const struct gantry_run_move m = gantry_run_move_of(d);
		uint32_t slot = s->issue & s->mask, n_bb;
		uint16_t pi = sq->pi;

		if (!gantry_run_takes(&run, d, m, kind))
			break;

		if ((kind == GANTRY_RUN_WRITE
				    ? hwq_wqe_dc_one(sq, dest, MLX5_OPCODE_RDMA_WRITE,
					      d->remote_key, d->dst, run.src->lkey, d->src, d->len,
					      0, 0)
				    : hwq_wqe_dc_one(sq, dest, MLX5_OPCODE_RDMA_READ, d->remote_key,
					      d->src, run.dst->lkey, d->dst, d->len, 0, 0)) == 0)
			break;
		/* With the NOP at the ring's end. */
		n_bb = (uint16_t)(sq->pi - pi);
		if (gantry_conn_signals(c, n_bb))
			hwq_sq_signal_last(sq);
		c->posted += n_bb;
		gantry_slot_prepare(&s->comp[slot], d, gantry_run_op(kind), m.len);
		s->where[slot] = gantry_where_last(GANTRY_CONN_DCI, c);
		s->pend[slot].peer = d->peer; /* for gantry_peer_close() */
		s->issue++;
	}
	if (d != desc)
		gantry_note_posted(q, GANTRY_CONN_DCI, c->posted - posted);
	return d - desc;
}

/* Those to a DC peer. The initiator takes them on the same terms. */
static __rte_noinline uint32_t
gantry_run_to_dc(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n, bool write)
{
	const struct gantry_conn *c = &q->conn[GANTRY_CONN_DCI];

	if (gantry_queue_conn_to(q, desc->peer) != GANTRY_CONN_DCI ||
		c->state != GANTRY_CONN_READY || c->stream != s)
		return 0;
	return write ? gantry_run_post_dc(q, s, desc, n, GANTRY_RUN_WRITE)
		     : gantry_run_post_dc(q, s, desc, n, GANTRY_RUN_READ);
}

/* Those whose data the CPU copies into the WQE. */
static __rte_noinline uint32_t
gantry_run_inline(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	const struct gantry_desc *desc, uint32_t n)
{
	return gantry_run_post(q, s, conn, desc, n, GANTRY_RUN_WRITE_INLINE);
}

/* Those to a peer. Its connection takes them if it works, and if they are of the stream's. */
static __rte_always_inline uint32_t
gantry_run_to_peer(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n, const enum gantry_run_kind kind, const bool alone)
{
	uint32_t conn = gantry_queue_peer_conn(q, desc->peer);
	const struct gantry_conn *c = &q->conn[conn];

	if (unlikely(c->state != GANTRY_CONN_READY || c->stream != s))
		return alone ? 0 : gantry_run_to_dc(q, s, desc, n, kind == GANTRY_RUN_WRITE);
	if (kind == GANTRY_RUN_WRITE && unlikely(desc->len <= c->max_inline))
		return alone ? 0 : gantry_run_inline(q, s, conn, desc, n);
	if (alone)
		return gantry_run_post_one(q, s, conn, desc, kind, true);
	if (n == 1 || gantry_desc_head(&desc[0]) != gantry_desc_head(&desc[1]))
		return gantry_run_post_one(q, s, conn, desc, kind, false);
	return gantry_run_post(q, s, conn, desc, n, kind);
}

/*
 * Issues the plain operations that desc begins with. The own connection takes copies: the caller has
 * seen that it works. Returns how many; 0: the first one is not plain, or there is no room for it.
 *
 * alone: n is 1, and it is all that the owner's call posts. Its doorbell is rung, too. Transactions, data that go into
 * the WQE and DC peers are not for this: 0.
 */
static __rte_always_inline uint32_t
gantry_run(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n, const bool mmo, const bool alone)
{
	const enum gantry_run_kind copy = mmo ? GANTRY_RUN_MEMCPY : GANTRY_RUN_LOOPBACK;
	uint64_t head = gantry_desc_head(desc);

	if (likely(head == gantry_desc_head_of(GANTRY_OP_COPY, 0)))
		return alone ? gantry_run_post_one(q, s, GANTRY_CONN_OWN, desc, copy, true)
			     : gantry_run_post(q, s, GANTRY_CONN_OWN, desc, n, copy);
	if (head == gantry_desc_head_of(GANTRY_OP_WRITE, desc->peer))
		return gantry_run_to_peer(q, s, desc, n, GANTRY_RUN_WRITE, alone);
	if (head == gantry_desc_head_of(GANTRY_OP_READ, desc->peer))
		return gantry_run_to_peer(q, s, desc, n, GANTRY_RUN_READ, alone);
	if (head == gantry_desc_head_of(GANTRY_OP_NOP, 0))
		return gantry_run_nops(s, desc, n);
	if (head == gantry_desc_head_of(GANTRY_OP_TXN, desc->peer))
		return alone ? 0 : gantry_txn_run(q, s, desc, n);
	return 0;
}

#endif
