/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bell: wakes an lcore that rests. No call is lost:
 *
 *   lcore                                   any other thread
 *     state = how it rests (exchange)         writes what the lcore shall see
 *     looks at everything once more           state = awake (exchange); it was not: wakes the lcore
 *     rests
 *
 * The exchange that comes later reads what the other one wrote. So either the lcore sees the
 * writes of the other thread, or that thread sees that the lcore rests. An lcore that rests by
 * rte_power_monitor() looks at `state` again after the CPU has begun to watch: gantry_monitor.h.
 */
#ifndef GANTRY_BELL_H
#define GANTRY_BELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	GANTRY_BELL_AWAKE = 0,
	GANTRY_BELL_SLEEPS,   /* until `fd` can be read */
	GANTRY_BELL_MONITORS, /* until somebody writes to an address: rte_power_monitor() */
};

struct gantry_bell {
	_Atomic unsigned int state;
	int fd; /* an eventfd */
	unsigned int lcore_id;
};

/* Wakes the lcore, which was in this state. */
void gantry_bell_wake(const struct gantry_bell *bell, unsigned int state);

/* After the writes that the lcore shall see. NULL: the lcore never rests. Any thread. */
static inline void
gantry_bell_ring(struct gantry_bell *bell)
{
	unsigned int state;

	if (bell == NULL)
		return;
	state = atomic_exchange_explicit(&bell->state, GANTRY_BELL_AWAKE, memory_order_acq_rel);
	if (state != GANTRY_BELL_AWAKE)
		gantry_bell_wake(bell, state);
}

#endif
