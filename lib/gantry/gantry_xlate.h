/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks a descriptor and turns it into what the hardware is to do. Writes nothing to hardware.
 *
 * gantry_xlate() knows every rule. The copy that a dataplane sends by the million is recognised
 * before it, by few comparisons that cover many rules at once.
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
 * True: d is a copy without flags, wholly within the regions of the last hits, short enough for one
 * WQE, and nothing is wrong with it. False says nothing: gantry_xlate() decides.
 */
static __rte_always_inline bool
gantry_xlate_is_easy(const struct gantry_desc *d, const struct gantry_region *src,
	const struct gantry_region *dst, uint64_t max_len)
{
	return gantry_desc_head(d) == gantry_desc_head_of(GANTRY_OP_COPY) &&
	       (d->remote_key | d->imm | d->arg[0] | d->arg[1]) == 0 && d->len <= max_len &&
	       gantry_region_hit(src, d->src, d->len) && gantry_region_hit(dst, d->dst, d->len);
}

/* What an easy copy is to do. */
static __rte_always_inline struct gantry_work
gantry_xlate_easy(const struct gantry_desc *d, const struct gantry_region *src,
	const struct gantry_region *dst, bool mmo)
{
	return (struct gantry_work){
		.src = d->src,
		.dst = d->dst,
		.len = d->len,
		.src_key = src->lkey,
		/* By loopback, the destination is remote memory. */
		.dst_key = mmo ? dst->lkey : dst->rkey,
		.conn = GANTRY_CONN_OWN,
		.kind = mmo ? GANTRY_WQE_MEMCPY : GANTRY_WQE_WRITE,
	};
}

/*
 * The status of a descriptor that needs no hardware, and stores nothing; or GANTRY_TO_HARDWARE, and
 * x is what to do. Leaves the regions it found as the last hits.
 */
enum gantry_status gantry_xlate(struct gantry_queue *q, const struct gantry_desc *d,
	struct gantry_work *x);

/* No status of a completion. */
#define GANTRY_TO_HARDWARE GANTRY_STATUS_MAX

#endif
