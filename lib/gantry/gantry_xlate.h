/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Translates a descriptor into work for the hardware, or into the status that refuses it. Writes
 * nothing to the hardware.
 *
 * gantry_xlate() checks every rule. gantry_xlate_is_easy() comes first: with few comparisons it
 * finds the plain copies, which most descriptors are, and lets them skip gantry_xlate().
 */
#ifndef GANTRY_XLATE_H
#define GANTRY_XLATE_H

#include <string.h>

#include "gantry_queue.h"

static_assert(offsetof(struct gantry_desc, cookie) == 8, "head_of() takes all before the cookie");
static_assert(offsetof(struct gantry_desc, imm) == 44, "one load takes remote_key and imm");

/* op, zero, flags, peer and layout as one word. */
static inline uint64_t
gantry_desc_head(const struct gantry_desc *d)
{
	uint64_t head;

	memcpy(&head, d, sizeof(head));
	return head;
}

/* The head of a descriptor with this op, no peer, and nothing else set. */
static inline uint64_t
gantry_desc_head_of(enum gantry_op op)
{
	const struct gantry_desc d = {.op = op};

	return gantry_desc_head(&d);
}

/*
 * True: [src, src + len) and [dst, dst + len) have a byte in common. len: 1 to half the address
 * space. Written so that the compiler needs few instructions: the difference of the addresses is
 * between -(len - 1) and len - 1.
 */
static __rte_always_inline bool
gantry_xlate_overlap(uint64_t src, uint64_t dst, uint64_t len)
{
	return src + (len - 1) - dst <= 2 * (len - 1);
}

/*
 * True: d is a correct copy without flags, in the regions of the last hits, short enough for one
 * WQE. False: anything else; call gantry_xlate().
 */
static __rte_always_inline bool
gantry_xlate_is_easy(const struct gantry_desc *d, const struct gantry_region *src,
	const struct gantry_region *dst, uint64_t max_len)
{
	return gantry_desc_head(d) == gantry_desc_head_of(GANTRY_OP_COPY) &&
	       (d->remote_key | d->imm | d->arg[0] | d->arg[1]) == 0 && d->len <= max_len &&
	       gantry_region_hit(src, d->src, d->len) && gantry_region_hit(dst, d->dst, d->len) &&
	       !gantry_xlate_overlap(d->src, d->dst, d->len);
}

/* The work of a correct copy whose regions are known. */
static __rte_always_inline struct gantry_work
gantry_xlate_easy(const struct gantry_desc *d, const struct gantry_region *src,
	const struct gantry_region *dst, bool mmo)
{
	return (struct gantry_work){
		.src = d->src,
		.dst = d->dst,
		.len = d->len,
		.src_key = src->lkey,
		/* A loopback write names its destination by a remote key. */
		.dst_key = mmo ? dst->lkey : dst->rkey,
		.conn = GANTRY_CONN_OWN,
		.kind = mmo ? GANTRY_WORK_MEMCPY : GANTRY_WORK_WRITE,
	};
}

/* The region that covers [addr, addr + len), to be written; or NULL. len is not 0. */
const struct gantry_region *gantry_xlate_find_dst(struct gantry_queue *q, uint64_t addr,
	uint64_t len);

/* True: the operation goes to the peer that the descriptor names. */
bool gantry_xlate_is_to_peer(const struct gantry_desc *d);

/*
 * Checks d. Returns GANTRY_TO_HARDWARE and the work in *w; or the status that d completes with, if
 * it needs no hardware, and *w is not written. Stores the regions it found as the queue's last
 * hits.
 */
enum gantry_status gantry_xlate(struct gantry_queue *q, const struct gantry_desc *d,
	struct gantry_work *w);

/* What gantry_xlate() returns for work. It is never the status of a completion. */
#define GANTRY_TO_HARDWARE GANTRY_STATUS_MAX

#endif
