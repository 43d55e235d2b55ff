/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pauses of a call that waits for owners of queues, who may share the caller's CPU.
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
	uint64_t end_ns;    /* of CLOCK_MONOTONIC */
	unsigned int turns; /* pauses so far */
};

/*
 * Begins a wait of timeout_ms at most. 0: already the first gantry_patience_pause() returns false.
 */
struct gantry_patience gantry_patience_begin(uint32_t timeout_ms);

/*
 * Leaves the CPU to other threads for a while. Returns false if the time is over, and there was no
 * pause.
 */
bool gantry_patience_pause(struct gantry_patience *p);

#endif
