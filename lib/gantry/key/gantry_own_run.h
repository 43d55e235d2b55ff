/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs of the own connection beside plain copies: neighbours that have one WQE of one WQEBB each.
 */
#ifndef GANTRY_OWN_RUN_H
#define GANTRY_OWN_RUN_H

#include <rte_common.h>

#include <hwq_burst.h>

#include "gantry_conn.h"
#include "gantry_stream.h"

/*
 * Begins a burst of n WQEs for descriptors from slot `issue` of the stream on. Returns how many may
 * be written: no end of a ring is among them, and a CQE is due behind the last one at most.
 */
static __rte_always_inline uint32_t
gantry_own_begin(struct hwq_burst *b, const struct gantry_stream *s, struct gantry_conn *own,
	uint32_t n)
{
	uint32_t room = hwq_burst_start(b, own->sq, n), slots = s->mask + 1 - (s->issue & s->mask);

	room = RTE_MIN(room, slots);
	return RTE_MIN(room, own->signal_mask + 1 - (own->posted & own->signal_mask));
}

/*
 * The n WQEs of the burst, 1 at least, are written, and so are the completions of their slots. row:
 * those are plain.
 */
static __rte_always_inline void
gantry_own_end(struct hwq_burst *b, struct gantry_stream *s, struct gantry_conn *own, uint32_t n,
	bool row)
{
	uint64_t where = gantry_where(GANTRY_CONN_OWN, own->posted);
	uint64_t *at = &s->where[s->issue & s->mask];
	uint32_t i;

#pragma GCC unroll 4
	for (i = 0; i < n; i++)
		at[i] = where + i;
	hwq_burst_end_counted(b, n);
	if (row)
		gantry_row_note(&s->row, own, s->issue, where, n);
	own->posted += n;
	s->issue += n;
	/* The last WQE of a quarter of the ring: gantry_conn_signals(). */
	if (unlikely((own->posted & own->signal_mask) == 0))
		hwq_sq_signal_last(own->sq);
}

#endif
