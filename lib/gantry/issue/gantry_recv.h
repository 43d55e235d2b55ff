/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives for a peer that is not open. Receives from before the peer was closed complete first. */
#ifndef GANTRY_RECV_H
#define GANTRY_RECV_H

#include "gantry_queue.h"

enum gantry_recv_left {
	GANTRY_RECV_NONE_LEFT, /* No earlier receive is left, so the caller refuses this receive. */
	/*
	 * Earlier receives have to be handed out first. The caller calls the function again later.
	 */
	GANTRY_RECV_WAITS,
	/*
	 * gantry_recv_poll() will hand this receive out behind earlier receives, with
	 * GANTRY_BAD_PEER.
	 */
	GANTRY_RECV_REFUSED,
};

/* Refuses a receive for which gantry_recv_post() has found no peer. Owner thread. */
enum gantry_recv_left gantry_recv_refuse(struct gantry_queue *q, uint16_t peer, uint64_t cookie);

#endif
