/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker: an lcore that serves one queue from two rings. */
#ifndef GANTRY_WORKER_H
#define GANTRY_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "gantry.h"

struct rte_ring;

struct gantry_worker {
	struct rte_ring *in;  /* struct gantry_desc */
	struct rte_ring *out; /* struct gantry_comp */
	struct gantry_queue *q;
	uint32_t burst;
	uint32_t room; /* of `out`, when give() last looked: since then it can only have grown */
	atomic_bool stop;
	atomic_bool running;
	unsigned int lcore_id;
	struct gantry *g;
	TAILQ_ENTRY(gantry_worker) next;
};

/* The lcore's function; arg is the worker. Returns 0 when told to stop and nothing is in flight. */
int gantry_worker_main(void *arg);

/* False: the worker's queue belongs to the control thread. */
static inline bool
gantry_worker_is_running(const struct gantry_worker *w)
{
	/* Pairs with the release at the end of gantry_worker_main(). */
	return atomic_load_explicit(&w->running, memory_order_acquire);
}

#endif
