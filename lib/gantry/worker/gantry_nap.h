/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Naps of an lcore that shares its CPUs with threads for which it waits, such as the main thread or
 * the thread of an emulated adapter.
 *
 * A thread that wakes gets the CPU at once if its slice is shorter than the slice of the thread that
 * has the CPU (sched_setattr(2), since Linux 6.12). Otherwise it waits until that slice is over. The
 * kernel notices the end of a slice at a tick, every 4 ms where HZ is 250. So the lcore has short
 * slices.
 *
 * A thread that yields stays runnable. It does not wake, so it waits for the tick, whatever its slice
 * is. So the lcore naps.
 */
#ifndef GANTRY_NAP_H
#define GANTRY_NAP_H

#include <stdbool.h>
#include <stdint.h>

/* How the thread was scheduled before. */
struct gantry_nap {
	uint64_t slice; /* ns; 0: it has not been changed */
	int slack;      /* of its timers, ns */
};

/* Gives the calling thread short slices and exact timers. */
void gantry_nap_begin(struct gantry_nap *before);
/* Gives the calling thread its earlier slice and timers back. */
void gantry_nap_end(const struct gantry_nap *before);

/* Sleeps for some 10 microseconds. waits: descriptors are in flight, so the nap is shorter. */
void gantry_nap(bool waits);

#endif
