/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs: neighbours of one plain kind are issued together.
 *
 *   COPY, WRITE, READ or NOP without flags and layout; the first 8 bytes of all, the peer too, are
 *   equal; one WQE of one WQEBB moves each
 *
 * What holds for the whole run is found out once: the connection, its free WQEBBs, the ends of the
 * rings of WQEs and of slots, where the next CQE is due. Each descriptor then costs few comparisons.
 * Whatever is not plain is left to gantry_xlate(), which knows every rule.
 */
#ifndef GANTRY_RUN_H
#define GANTRY_RUN_H

#include <string.h>

#include <hwq_burst.h>

#include "gantry_doorbell.h"
#include "gantry_queue.h"

static_assert(offsetof(struct gantry_desc, cookie) == 8, "the head is all before the cookie");
static_assert(offsetof(struct gantry_desc, imm) == 44, "one load takes remote_key and imm");

/* op, zero, flags, peer and layout as one word. */
static inline uint64_t
gantry_desc_head(const struct gantry_desc *d)
{
	uint64_t head;

	memcpy(&head, d, sizeof(head));
	return head;
}

/* The head of a descriptor with this op and peer, and nothing else set. */
static inline uint64_t
gantry_desc_head_of(enum gantry_op op, uint16_t peer)
{
	const struct {
		uint8_t op, zero;
		uint16_t flags, peer, layout;
	} d = {.op = op, .peer = peer};
	uint64_t head;

	static_assert(sizeof(d) == sizeof(head) && offsetof(struct gantry_desc, peer) == 4,
		"as in struct gantry_desc, without its alignment");
	memcpy(&head, &d, sizeof(head));
	return head;
}

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
	GANTRY_RUN_READ,
};

/* The longest operation on memory of both regions, of so many bytes a WQE. */
static __rte_always_inline uint64_t
gantry_run_max_len(const struct gantry_conn *c, const struct gantry_region *src, bool local_src,
	const struct gantry_region *dst, bool local_dst)
{
	uint64_t len = c->max_len;

	if (local_src)
		len = RTE_MIN(len, src->len);
	if (local_dst)
		len = RTE_MIN(len, dst->len);
	return len;
}

/* True: [addr, addr + len) is in the region. len is at most the region's, so nothing overflows. */
static __rte_always_inline bool
gantry_run_hit(const struct gantry_region *r, uint64_t addr, uint64_t len)
{
	return addr - r->addr <= r->len - len;
}

/* True: memory at the peer begins neither at 0 nor in the upper half, so its end is no matter. */
static __rte_always_inline bool
gantry_run_remote(uint64_t addr)
{
	return addr - 1 < INT64_MAX;
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

/* Prepares the completion of a descriptor that succeeds. */
static __rte_always_inline void
gantry_slot_prepare(struct gantry_comp *comp, const struct gantry_desc *d, uint8_t op)
{
	*comp = (struct gantry_comp){.cookie = d->cookie, .op = op, .len = d->len};
}

/*
 * Issues plain operations from desc on, which go to connection `conn`, until one is not alike, not
 * plain or has no room, or the end of a ring comes. Returns how many.
 */
static __rte_always_inline uint32_t
gantry_run_post(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	const struct gantry_desc *desc, uint32_t n, const enum gantry_run_kind kind)
{
	const bool copy = kind == GANTRY_RUN_MEMCPY || kind == GANTRY_RUN_LOOPBACK;
	const bool local_src = kind != GANTRY_RUN_READ, local_dst = copy || kind == GANTRY_RUN_READ;
	const uint8_t op = copy                       ? GANTRY_OP_COPY
			   : kind == GANTRY_RUN_WRITE ? GANTRY_OP_WRITE
						      : GANTRY_OP_READ;
	const struct gantry_region *src = q->view.src, *dst = q->view.dst;
	struct gantry_conn *c = &q->conn[conn];
	uint64_t head = gantry_desc_head(desc);
	uint64_t min_len = kind == GANTRY_RUN_WRITE ? c->max_inline : 0;
	uint64_t max_len = gantry_run_max_len(c, src, local_src, dst, local_dst);
	uint64_t src_key = hwq_key_word(src->lkey), dst_key = hwq_key_word(dst->lkey);
	uint64_t where = gantry_where(conn, c->posted);
	uint32_t slot = s->issue & s->mask, i;
	struct gantry_comp *comp = &s->comp[slot];
	uint64_t *at = &s->where[slot];
	const struct gantry_desc *d, *end;
	struct hwq_burst b;

	if (n != 1) {
		n = RTE_MIN(n, s->mask + 1 - slot);
		n = RTE_MIN(n, c->signal_mask + 1 - (c->posted & c->signal_mask));
	}
	end = desc + hwq_burst_start(&b, c->sq, n);
	if (unlikely(max_len <= min_len))
		return 0;
	for (d = desc; d != end; d++) {
		uint64_t len = d->len;

		if (unlikely(gantry_desc_head(d) != head ||
			     len - 1 - min_len >= max_len - min_len ||
			     (gantry_run_spare(d, !copy) | d->arg[0] | d->arg[1]) != 0))
			break;
		if (!local_src && unlikely(!gantry_run_remote(d->src)))
			break;
		if (local_src && unlikely(!gantry_run_hit(src, d->src, len))) {
			src = gantry_region_lookup_plain(&q->view, d->src, len);
			if (src == NULL)
				break;
			src_key = hwq_key_word(src->lkey);
			q->view.src = src;
			max_len = gantry_run_max_len(c, src, local_src, dst, local_dst);
		}
		if (!local_dst && unlikely(!gantry_run_remote(d->dst)))
			break;
		if (local_dst && unlikely(!gantry_run_hit(dst, d->dst, len))) {
			dst = gantry_region_lookup_plain(&q->view, d->dst, len);
			if (dst == NULL)
				break;
			dst_key = hwq_key_word(dst->lkey);
			q->view.dst = dst;
			max_len = gantry_run_max_len(c, src, local_src, dst, local_dst);
		}
		if (copy && unlikely(gantry_run_overlap(d->src, d->dst, len)))
			break;
		if (kind == GANTRY_RUN_MEMCPY)
			hwq_burst_memcpy_with(&b, dst_key, d->dst, src_key, d->src, len, 0);
		else if (kind == GANTRY_RUN_READ)
			hwq_burst_rdma_with(&b, MLX5_OPCODE_RDMA_READ, d->remote_key, d->src,
				dst_key, d->dst, len, 0);
		else
			hwq_burst_rdma_with(&b, MLX5_OPCODE_RDMA_WRITE,
				copy ? dst->rkey : d->remote_key, d->dst, src_key, d->src, len, 0);
		gantry_slot_prepare(comp++, d, op);
		*at++ = where++;
	}
	i = d - desc;
	if (unlikely(i == 0))
		return 0;
	hwq_burst_end(&b);
	c->posted += i;
	gantry_note_posted(q, conn, i);
	s->issue += i;
	/* The last WQE of a quarter of the ring: gantry_conn_signals(). */
	if (unlikely((c->posted & c->signal_mask) == 0))
		hwq_sq_signal_last(c->sq);
	return i;
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
		gantry_slot_prepare(&s->comp[slot + i], d, GANTRY_OP_NOP);
		s->where[slot + i] = GANTRY_WHERE_NOWHERE;
	}
	s->issue += i;
	return i;
}

/* Those to a peer. Its connection takes them if it works, and if they are of the stream's. */
static __rte_always_inline uint32_t
gantry_run_to_peer(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n, const enum gantry_run_kind kind)
{
	uint32_t conn = gantry_queue_peer_conn(q, desc->peer);
	const struct gantry_conn *c = &q->conn[conn];

	/* Each WQE of the DC initiator names its peer. */
	if (unlikely(c->state != GANTRY_CONN_READY || c->stream != s || conn == GANTRY_CONN_DCI))
		return 0;
	return gantry_run_post(q, s, conn, desc, n, kind);
}

/*
 * Issues the plain operations that desc begins with. The own connection takes copies: the caller has
 * seen that it works. Returns how many; 0: the first one is not plain, or there is no room for it.
 */
static __rte_always_inline uint32_t
gantry_run(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *desc,
	uint32_t n, bool mmo)
{
	uint64_t head = gantry_desc_head(desc);

	if (likely(head == gantry_desc_head_of(GANTRY_OP_COPY, 0)))
		return gantry_run_post(q, s, GANTRY_CONN_OWN, desc, n,
			mmo ? GANTRY_RUN_MEMCPY : GANTRY_RUN_LOOPBACK);
	if (head == gantry_desc_head_of(GANTRY_OP_WRITE, desc->peer))
		return gantry_run_to_peer(q, s, desc, n, GANTRY_RUN_WRITE);
	if (head == gantry_desc_head_of(GANTRY_OP_READ, desc->peer))
		return gantry_run_to_peer(q, s, desc, n, GANTRY_RUN_READ);
	if (head == gantry_desc_head_of(GANTRY_OP_NOP, 0))
		return gantry_run_nops(s, desc, n);
	return 0;
}

#endif
