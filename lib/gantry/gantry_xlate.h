/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks a descriptor and turns it into what the hardware is to do. Writes nothing to hardware.
 *
 * The good case is decided here, by few comparisons that cover many rules at once; which rule a bad
 * descriptor broke is found out in gantry_xlate_refusal(), apart from the path that good ones take.
 */
#ifndef GANTRY_XLATE_H
#define GANTRY_XLATE_H

#include <string.h>

#include "gantry_priv.h"

static_assert(offsetof(struct gantry_desc, cookie) == 8, "head_of() takes all before the cookie");
static_assert(offsetof(struct gantry_desc, imm) == 44, "keys_of() takes remote_key and imm");

/* op, zero, flags, peer and layout as one word. */
static inline uint64_t
gantry_desc_head(const struct gantry_desc *d)
{
	uint64_t head;

	memcpy(&head, d, sizeof(head));
	return head;
}

/* The head of a descriptor with this op, no peer, and nothing else set but these flags. */
static inline uint64_t
gantry_desc_head_of(enum gantry_op op, uint16_t flags)
{
	const struct gantry_desc d = {.op = op, .flags = flags};

	return gantry_desc_head(&d);
}

/* Looks [addr, addr + len) up, first where the last look-up through *hit ended. */
static inline const struct gantry_region *
gantry_xlate_region(const struct gantry_queue *q, const struct gantry_region **hit, uint64_t addr,
	uint64_t len)
{
	const struct gantry_region *r = *hit;

	if (likely(gantry_mem_hit(r, addr, len)))
		return r;
	if (len == 0)
		return NULL;
	r = gantry_mem_find(q->mem.table, addr, len);
	if (r != NULL)
		*hit = r;
	return r;
}

/* True: x is what to do. False: ask gantry_xlate_refusal() (a NOP comes back false as well). */
static __rte_always_inline bool
gantry_xlate_copy(struct gantry_queue *q, const struct gantry_desc *d, bool mmo,
	struct gantry_xlate *x)
{
	const struct gantry_region *src, *dst;

	if (unlikely((d->remote_key | d->imm | d->arg[0] | d->arg[1]) != 0))
		return false;
	src = gantry_xlate_region(q, &q->mem.src, d->src, d->len);
	dst = gantry_xlate_region(q, &q->mem.dst, d->dst, d->len);
	if (unlikely(src == NULL || dst == NULL))
		return false;
	x->src = d->src;
	x->dst = d->dst;
	x->len = d->len;
	x->src_key = src->lkey;
	/* By loopback, the destination is remote memory. */
	x->dst_key = mmo ? dst->lkey : dst->rkey;
	x->conn = GANTRY_CONN_OWN;
	x->kind = mmo ? GANTRY_WQE_MEMCPY : GANTRY_WQE_WRITE;
	return true;
}

/* The same for WRITE and READ. */
bool gantry_xlate_peer(struct gantry_queue *q, const struct gantry_desc *d, struct gantry_xlate *x);

static __rte_always_inline bool
gantry_xlate(struct gantry_queue *q, const struct gantry_desc *d, bool mmo, struct gantry_xlate *x)
{
	uint64_t fence = gantry_desc_head_of(0, GANTRY_DESC_FENCE);

	if (likely((gantry_desc_head(d) & ~fence) == gantry_desc_head_of(GANTRY_OP_COPY, 0)))
		return gantry_xlate_copy(q, d, mmo, x);
	return gantry_xlate_peer(q, d, x);
}

#endif
