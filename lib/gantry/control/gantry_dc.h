/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue's DC initiator (DCI), and the DC peers that it reaches. Control thread.
 *
 *   gantry_dc_open()         creates the initiator for the first DC peer; later DC peers share it
 *   gantry_dc_connect()      makes the address of a peer, which is in each WQE to the peer
 *   gantry_dc_disconnect()   frees this address
 *
 * A DC peer has no connection of its own: all DC peers use connection GANTRY_CONN_DCI, which
 * belongs to the initiator. This connection exists until the queue is destroyed. After a failure
 * the queue sets the initiator up again, as it does with its own connection.
 */
#ifndef GANTRY_DC_H
#define GANTRY_DC_H

#include "gantry_addr.h"
#include "gantry_dc_peer.h"
#include "gantry_queue.h"

/*
 * Creates the initiator with the settings of conf, unless it exists. On success, if q->dci.ready is
 * not set, the caller lets the queue's owner set it together with the connection's state.
 *
 * Returns 0, -EINVAL if conf differs from the settings of the existing initiator (the log names the
 * setting), or another negative errno. After another error, the caller may call this function
 * again.
 */
int gantry_dc_open(struct gantry_queue *q, const struct gantry_peer_conf *conf);

/*
 * Makes *out from a target's address. Returns 0, -EINVAL if the target has another MTU than the
 * initiator (the log says so), or another negative errno. After another error, the caller may call
 * this function again.
 */
int gantry_dc_connect(const struct gantry_queue *q, const struct gantry_dest *to,
	uint8_t traffic_class, struct gantry_dc_peer **out);

/*
 * Frees the address. WQEs have a copy of it, so they are not affected. Returns 0 or the device's
 * error. After an error, call this function again.
 */
int gantry_dc_disconnect(struct gantry_dc_peer *dc);

#endif
