/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue's DC initiator (DCI), and the DC peers that it reaches. Control thread.
 *
 *   gantry_dc_open()         the first DC peer makes the initiator; the others use it
 *   gantry_dc_connect()      where the peer is: each of its WQEs says so
 *   gantry_dc_disconnect()
 *
 * A DC peer has no connection of its own: the initiator is connection GANTRY_CONN_DCI, until the queue is
 * destroyed. Like the queue's connection to itself it is set up again by the queue after a failure.
 */
#ifndef GANTRY_DC_H
#define GANTRY_DC_H

#include "gantry_addr.h"
#include "gantry_dc_peer.h"
#include "gantry_queue.h"

/*
 * Makes the initiator as conf says, unless it is there. 0: if q->dci.ready is not set, the caller lets the
 * owner set it, and the connection's state. -EINVAL conf does not fit the initiator that is there, and the log
 * says how; or a negative errno: call again.
 */
int gantry_dc_open(struct gantry_queue *q, const struct gantry_peer_conf *conf);

/*
 * Makes *out of a target's address. 0; -EINVAL the target has another MTU than the initiator, and the log
 * says so; or a negative errno: call again.
 */
int gantry_dc_connect(const struct gantry_queue *q, const struct gantry_dest *to,
	uint8_t traffic_class, struct gantry_dc_peer **out);

/* Frees it; WQEs that were written have their own copy. 0, or what the device said: call again. */
int gantry_dc_disconnect(struct gantry_dc_peer *dc);

#endif
