/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Naps of an lcore that shares its CPUs with other threads. It waits for some of them, such as the main thread, or that of
 * an emulated adapter.
 *
 * Linux runs a thread that wakes at once if its slice is shorter than that of the thread that has the CPU: sched_setattr(2),
 * since Linux 6.12. Else it waits until that slice is over, which the kernel sees at its next tick: 4 ms
 * where HZ is 250. So the lcore takes short slices. A thread that yields does not wake afterwards: it waits for that
 * tick, whatever its slice is. So the lcore naps.
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

/* From now on, the calling thread naps. */
void gantry_nap_begin(struct gantry_nap *before);
/* Schedules it as before. */
void gantry_nap_end(const struct gantry_nap *before);

/* waits: something is in flight. */
void gantry_nap(bool waits);

#endif
