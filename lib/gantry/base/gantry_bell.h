/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bell wakes an lcore that rests. No wakeup is lost:
 *
 *   lcore                                   any other thread
 *     state = how it rests (exchange)         writes data for the lcore
 *     looks for work once more                state = awake (exchange)
 *     rests                                   if it was not awake: wakes the lcore
 *
 * The later of the two exchanges reads the value that the earlier exchange wrote. So either the
 * lcore sees the data of the other thread, or the other thread sees that the lcore rests. An lcore
 * that rests in rte_power_monitor() reads `state` again after the CPU has begun to watch
 * (gantry_monitor.h).
 */
#ifndef GANTRY_BELL_H
#define GANTRY_BELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	GANTRY_BELL_AWAKE = 0,
	GANTRY_BELL_SLEEPS,   /* the lcore sleeps until `fd` can be read */
	GANTRY_BELL_MONITORS, /* the lcore waits for a write to memory: rte_power_monitor() */
};

struct gantry_bell {
	_Atomic unsigned int state;
	int fd; /* an eventfd on which the lcore sleeps */
	unsigned int lcore_id;
};

/* Wakes the lcore. state: the state in which the lcore rested. */
void gantry_bell_wake(const struct gantry_bell *bell, unsigned int state);

/*
 * Wakes the lcore if it rests. The caller has written the data for the lcore before the call. If
 * bell is NULL, the lcore never rests, and the call does nothing. Any thread.
 */
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
