/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives for a peer that is not there. Those that were posted before it was closed come first. */
#ifndef GANTRY_RECV_H
#define GANTRY_RECV_H

#include "gantry_queue.h"

enum gantry_recv_left {
	GANTRY_RECV_NONE_LEFT, /* nothing is before it: the caller refuses it */
	GANTRY_RECV_WAITS,     /* the ones before it are to be handed out first: call again */
	GANTRY_RECV_REFUSED, /* gantry_recv_poll() hands it out behind the others, with GANTRY_BAD_PEER */
};

/* Refuses a receive for which gantry_recv_post() has found no peer. Owner thread. */
enum gantry_recv_left gantry_recv_refuse(struct gantry_queue *q, uint16_t peer, uint64_t cookie);

#endif
