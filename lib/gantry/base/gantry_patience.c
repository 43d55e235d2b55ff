/* SPDX-License-Identifier: BSD-3-Clause */
/* Pauses of a call that waits for owners of queues. */
#include "gantry_patience.h"

#include <sched.h>
#include <time.h>

/* The first YIELD_TURNS pauses of a wait yield the CPU; each later pause sleeps for SLEEP_NS. */
#define YIELD_TURNS 64
#define SLEEP_NS    50000

static uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

struct gantry_patience
gantry_patience_begin(uint32_t timeout_ms)
{
	return (struct gantry_patience){.end_ns = now_ns() + (uint64_t)timeout_ms * 1000000};
}

bool
gantry_patience_pause(struct gantry_patience *p)
{
	const struct timespec t = {.tv_nsec = SLEEP_NS};

	if (now_ns() >= p->end_ns)
		return false;
	if (p->turns++ < YIELD_TURNS)
		sched_yield();
	else
		nanosleep(&t, NULL);
	return true;
}
