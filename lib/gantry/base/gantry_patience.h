/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The patience of a call that waits for owners of queues, who may share its CPU.
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

/* Waits timeout_ms at most. 0: gantry_patience_pause() is false the first time. */
struct gantry_patience gantry_patience_begin(uint32_t timeout_ms);

/* Leaves the CPU to others for a while. False: the time is over, and it did not. */
bool gantry_patience_pause(struct gantry_patience *p);

#endif
