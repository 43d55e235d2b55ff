/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Translates a descriptor into work for the hardware, or into the status that refuses the
 * descriptor. Writes nothing to the hardware.
 *
 * Plain descriptors need no translation (gantry_run.h).
 */
#ifndef GANTRY_XLATE_H
#define GANTRY_XLATE_H

#include "gantry_queue.h"

/* Returns true if the operation goes to the peer that the descriptor names. */
bool gantry_xlate_is_to_peer(const struct gantry_desc *d);

/* Returns the connection that carries d. This is the own connection if d goes to no peer. */
static inline uint32_t
gantry_xlate_conn(const struct gantry_queue *q, const struct gantry_desc *d)
{
	uint32_t conn = gantry_xlate_is_to_peer(d) ? gantry_queue_conn_to(q, d->peer)
						   : (uint32_t)GANTRY_CONN_NONE;

	return conn == GANTRY_CONN_NONE ? (uint32_t)GANTRY_CONN_OWN : conn;
}

/*
 * Checks d. Returns GANTRY_TO_HARDWARE and the work in *w. Or returns the status with which d
 * completes without hardware; *w is then not written. The regions that the call finds become the
 * queue's last hits.
 */
enum gantry_status gantry_xlate(struct gantry_queue *q, const struct gantry_desc *d,
	struct gantry_work *w);

/*
 * Returns the side (source or destination) whose memory made gantry_xlate() refuse d with this
 * status. Looks up the memory again, so the result may differ if memory was registered meanwhile.
 */
enum gantry_side gantry_xlate_side(struct gantry_queue *q, const struct gantry_desc *d,
	enum gantry_status status);

/* A result of gantry_xlate(): *w is work. This value is never the status of a completion. */
#define GANTRY_TO_HARDWARE GANTRY_STATUS_MAX
/* A result of gantry_xlate(): d is a transaction, which gantry_txn_issue() issues. */
#define GANTRY_TO_TXN (GANTRY_STATUS_MAX + 1)

#endif
