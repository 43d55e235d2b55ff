/* SPDX-License-Identifier: BSD-3-Clause */
/* What all short ways to issue a descriptor ask, and what they note: regions, ranges, rows. */
#ifndef GANTRY_PLAIN_H
#define GANTRY_PLAIN_H

#include "gantry_region.h"
#include "gantry_stream.h"

/*
 * True: [src, src + len) and [dst, dst + len) have a byte in common. len: 1 to half the address
 * space. Written so that the compiler needs few instructions: the difference of the addresses is
 * between -(len - 1) and len - 1.
 */
static __rte_always_inline bool
gantry_plain_overlap(uint64_t src, uint64_t dst, uint64_t len)
{
	return src + (len - 1) - dst <= 2 * (len - 1);
}

/* True: [addr, addr + len) is in the region. An address below it is a huge offset. */
static __rte_always_inline bool
gantry_plain_hit(const struct gantry_region *r, uint64_t addr, uint64_t len)
{
	uint64_t end;

	return !__builtin_add_overflow(addr - r->addr, len, &end) && end <= r->plain_len;
}

/* True: memory at the peer does not begin in the upper half, so its end is no matter. */
static __rte_always_inline bool
gantry_plain_remote(uint64_t addr)
{
	return addr <= INT64_MAX;
}

/*
 * The n slots from seq on, whose WQEs come next on the connection, make the stream's row longer, or a new one. where:
 * gantry_where() of the first one.
 */
static __rte_always_inline void
gantry_plain_note_row(struct gantry_stream *s, struct gantry_conn *c, uint64_t seq, uint64_t where,
	uint32_t n)
{
	struct gantry_row *row = &s->row;
	uint64_t lead = where - seq;

	if (unlikely(row->end != seq || row->lead != lead))
		gantry_row_begin(row, c, seq, lead);
	row->end = seq + n;
}

#endif
