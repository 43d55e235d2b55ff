/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker's rings of receives: those to post, and completions. Posted receives stand in the rings of
 * their connections (gantry_recv_ring.h), so nothing is reserved here: what the ring of completions has
 * no room for waits there.
 */
#ifndef GANTRY_WORKER_RECV_H
#define GANTRY_WORKER_RECV_H

#include "gantry_worker.h"

/* An element of gantry_worker::recv_in. */
struct gantry_ring_recv {
	struct gantry_recv recv;
	uint32_t peer;
	uint32_t zero;
};

/*
 * Moves completions to recv_out and, unless `stop`, receives from recv_in to the queue. Returns how
 * many it moved. The lcore.
 */
uint32_t gantry_worker_recv_turn(struct gantry_worker *w, bool stop);

/* True: completions of receives have room in recv_out. The lcore. */
bool gantry_worker_recv_has_room(const struct gantry_worker *w);

#endif
