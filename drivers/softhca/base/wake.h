/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device threads that sleep until there is work.
 *
 *   sleeper: lanes_lie_down()  ->  look for work  ->  lanes_sleep()  ->  lanes_get_up()
 *   waker:   store the work    ->  lanes_wake()
 *
 * A sleeper increments `asleep` before it looks for work; a waker stores its work before it reads
 * `asleep`. These four accesses are sequentially consistent, so at least one of the two threads
 * sees the store of the other thread. If the waker stores its work after the sleeper has looked and
 * before the sleeper sleeps, `wakes` has changed, and the sleep ends at once.
 */
#ifndef SOFTHCA_WAKE_H
#define SOFTHCA_WAKE_H

#include <stdatomic.h>

#include "lanes.h"

/*
 * Counts the calling thread as asleep. After this call, look for work once more. Returns the value
 * that lanes_sleep() needs.
 */
static inline unsigned int
lanes_lie_down(struct softhca_lanes *lanes)
{
	unsigned int wakes = atomic_load(&lanes->wakes);

	atomic_fetch_add(&lanes->asleep, 1);
	return wakes;
}

static inline void
lanes_get_up(struct softhca_lanes *lanes)
{
	atomic_fetch_sub(&lanes->asleep, 1);
}

/*
 * Returns when lanes_wake() has been called since lanes_lie_down(). It may also return earlier. Do
 * not call it inside a turn (turns.h).
 */
void lanes_sleep(struct softhca_lanes *lanes, unsigned int wakes);

/*
 * The slow path of lanes_wake(). Also makes call_fd readable, for a thread that polls call_fd
 * instead of calling lanes_sleep().
 */
void lanes_wake_sleepers(struct softhca_lanes *lanes);

/*
 * Wakes the sleeping device threads of the adapter. The caller has stored the work for them by a
 * sequentially consistent store. This function does not block.
 */
static inline void
lanes_wake(struct softhca_lanes *lanes)
{
	if (__builtin_expect(atomic_load(&lanes->asleep) != 0, 0))
		lanes_wake_sleepers(lanes);
}

/* Calls lanes_wake() for every adapter. */
void lanes_wake_all(void);

#endif
