/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pauses of a call that waits for owners of queues. These threads may share the caller's CPU.
 *
 *     struct gantry_patience p = gantry_patience_begin(timeout_ms);
 *
 *     while (!it_has_happened())
 *             if (!gantry_patience_pause(&p))
 *                     return -ETIMEDOUT;
 */
#ifndef GANTRY_PATIENCE_H
#define GANTRY_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

struct gantry_patience {
	uint64_t end_ns;    /* end of the wait, by CLOCK_MONOTONIC */
	unsigned int turns; /* number of pauses so far */
};

/*
 * Begins a wait of at most timeout_ms. If timeout_ms is 0, already the first
 * gantry_patience_pause() returns false.
 */
struct gantry_patience gantry_patience_begin(uint32_t timeout_ms);

/*
 * Leaves the CPU to other threads for a while. If the time of the wait is over, makes no pause and
 * returns false.
 */
bool gantry_patience_pause(struct gantry_patience *p);

#endif
