/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Naps of an lcore that shares its CPUs with threads for which it waits, such as the main thread or
 * the thread of an emulated adapter.
 *
 * A thread that wakes gets the CPU at once if its slice is shorter than the slice of the thread
 * that has the CPU (sched_setattr(2), since Linux 6.12). Otherwise the thread that wakes waits
 * until the slice of the running thread is over. The kernel notices the end of a slice only at a
 * tick, which comes every 4 ms if HZ is 250. So the lcore has a short slice.
 *
 * A thread that yields stays runnable, so it does not wake up, and waits for the tick even with a
 * short slice. So the lcore naps instead of yielding.
 */
#ifndef GANTRY_NAP_H
#define GANTRY_NAP_H

#include <stdbool.h>
#include <stdint.h>

/* The settings of the thread before gantry_nap_begin(). */
struct gantry_nap {
	uint64_t slice; /* in ns; 0: the slice was not changed */
	int slack;      /* timer slack of the thread in ns */
};

/* Gives the calling thread a short slice and exact timers. */
void gantry_nap_begin(struct gantry_nap *before);
/* Restores the earlier slice and timers of the calling thread. */
void gantry_nap_end(const struct gantry_nap *before);

/*
 * Sleeps for tens of microseconds. waits: true if descriptors are in flight; the sleep is then
 * shorter.
 */
void gantry_nap(bool waits);

#endif
