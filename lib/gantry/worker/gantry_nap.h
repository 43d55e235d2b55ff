/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Naps of an lcore that shares its CPUs with threads for which it waits, such as the main thread or
 * the thread of an emulated adapter.
 *
 * A thread that wakes gets the CPU at once if its slice is shorter than the slice of the thread
 * that has the CPU (sched_setattr(2), since Linux 6.12). Otherwise it waits until that slice is
 * over, which the kernel notices at a tick only: every 4 ms if HZ is 250. So the lcore has a short
 * slice.
 *
 * A thread that yields stays runnable. It does not wake up, so it waits for the tick even with a
 * short slice. So the lcore naps instead of yielding.
 */
#ifndef GANTRY_NAP_H
#define GANTRY_NAP_H

#include <stdbool.h>
#include <stdint.h>

/* What gantry_nap_begin() has changed of the thread. */
struct gantry_nap {
	uint64_t slice; /* ns; 0: the slice was not changed */
	int slack;      /* of the thread's timers, ns */
};

/* Gives the calling thread a short slice and exact timers. */
void gantry_nap_begin(struct gantry_nap *before);
/* Gives the calling thread its earlier slice and timers back. */
void gantry_nap_end(const struct gantry_nap *before);

/* Sleeps for tens of microseconds; for a shorter time if descriptors are in flight (`waits`). */
void gantry_nap(bool waits);

#endif
