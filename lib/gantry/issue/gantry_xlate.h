/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Translates a descriptor into work for the hardware, or into the status that refuses it. Writes
 * nothing to the hardware.
 *
 * Plain descriptors do not come here: gantry_run.h.
 */
#ifndef GANTRY_XLATE_H
#define GANTRY_XLATE_H

#include "gantry_queue.h"

/* True: the operation goes to the peer that the descriptor names. */
bool gantry_xlate_is_to_peer(const struct gantry_desc *d);

/* The connection that d goes to; the own one if it goes nowhere. */
static inline uint32_t
gantry_xlate_conn(const struct gantry_queue *q, const struct gantry_desc *d)
{
	uint32_t conn = gantry_xlate_is_to_peer(d) ? gantry_queue_conn_to(q, d->peer)
						   : (uint32_t)GANTRY_CONN_NONE;

	return conn == GANTRY_CONN_NONE ? (uint32_t)GANTRY_CONN_OWN : conn;
}

/*
 * Checks d. Returns GANTRY_TO_HARDWARE and the work in *w; or the status that d completes with, if
 * it needs no hardware, and *w is not written. Stores the regions it found as the queue's last
 * hits.
 */
enum gantry_status gantry_xlate(struct gantry_queue *q, const struct gantry_desc *d,
	struct gantry_work *w);

/*
 * Whose memory d was refused for, by the status that gantry_xlate() returned. Memory that was
 * registered meanwhile counts.
 */
enum gantry_side gantry_xlate_side(struct gantry_queue *q, const struct gantry_desc *d,
	enum gantry_status status);

/* What gantry_xlate() returns for work. It is never the status of a completion. */
#define GANTRY_TO_HARDWARE GANTRY_STATUS_MAX
/* What it returns for a transaction, for gantry_txn_issue(). */
#define GANTRY_TO_TXN (GANTRY_STATUS_MAX + 1)

#endif
