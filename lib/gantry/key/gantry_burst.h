/* SPDX-License-Identifier: BSD-3-Clause */
/* Begins and ends bursts of WQEs. Each WQE has one WQEBB and belongs to one slot. */
#ifndef GANTRY_BURST_H
#define GANTRY_BURST_H

#include <rte_common.h>

#include <hwq_burst.h>

#include "gantry_conn.h"
#include "gantry_stream.h"

/*
 * Begins a burst of n WQEs on connection c, for the descriptors from slot `issue` of the stream on.
 * Returns how many WQEs may be written, at most n. A burst ends at the latest at the end of the
 * ring of WQEs or of slots, and at the first WQE that must ask for a CQE.
 */
static __rte_always_inline uint32_t
gantry_burst_begin(struct hwq_burst *b, const struct gantry_stream *s, const struct gantry_conn *c,
	uint32_t n)
{
	uint32_t room = hwq_burst_start(b, c->sq, n), slots = s->mask + 1 - (s->issue & s->mask);

	room = RTE_MIN(room, slots);
	return RTE_MIN(room, c->signal_mask + 1 - (c->posted & c->signal_mask));
}

/*
 * Ends a burst of n WQEs; n is at least 1. The caller has written the WQEs and the completions of
 * their slots. conn: the index of the connection. row: true if the slots are added to the stream's
 * row (struct gantry_row).
 */
static __rte_always_inline void
gantry_burst_end(struct hwq_burst *b, struct gantry_stream *s, struct gantry_conn *c, uint32_t conn,
	uint32_t n, bool row)
{
	uint64_t where = gantry_where(conn, c->posted);
	uint64_t *at = &s->where[s->issue & s->mask];
	uint32_t i;

#pragma GCC unroll 4
	for (i = 0; i < n; i++)
		at[i] = where + i;
	hwq_burst_end_counted(b, n);
	if (row)
		gantry_row_note(&s->row, c, s->issue, where, n);
	c->posted += n;
	s->issue += n;
	/* A CQE is due with the last WQE of a quarter of the ring (gantry_conn_signals()). */
	if (unlikely((c->posted & c->signal_mask) == 0))
		hwq_sq_signal_last(c->sq);
}

#endif
