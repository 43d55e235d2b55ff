/* SPDX-License-Identifier: BSD-3-Clause */
/* What a device thread does after a turn (turns.h) that found no work. */
#ifndef SOFTHCA_IDLE_H
#define SOFTHCA_IDLE_H

struct lane_slot;
struct softhca_lanes;

/*
 * Waits for a short time, or sleeps until there is work. `idle`: the value that the call after the
 * previous turn returned, or 0 if that turn found work. Do not call it inside a turn.
 */
unsigned int lane_idle(struct softhca_lanes *lanes, struct lane_slot *slot, unsigned int idle);

#endif
