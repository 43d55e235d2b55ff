/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker's rings of receives: one with receives to post, one with completions. A posted receive
 * stays in the ring of its connection (gantry_recv_ring.h) until the ring of completions has room.
 * So no room is reserved when it is posted.
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
 * Moves completions to recv_out and, unless `stop`, receives from recv_in to the queue. Returns
 * false if there was nothing to move. The worker has these rings. The lcore.
 */
bool gantry_worker_recv_turn(struct gantry_worker *w, bool stop);

#endif
