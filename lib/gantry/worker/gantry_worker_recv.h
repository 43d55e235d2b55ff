/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker's two rings of receives: one ring has receives to post, the other has completions. A
 * completed receive stays in the ring of its connection (gantry_recv_ring.h) until the ring of
 * completions has a free element. So no element is reserved when a receive is posted.
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
 * false if nothing was moved. The worker has these rings. Called by the lcore.
 */
bool gantry_worker_recv_turn(struct gantry_worker *w, bool stop);

#endif
