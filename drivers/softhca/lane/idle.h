/* SPDX-License-Identifier: BSD-3-Clause */
/* What a device thread does after a turn that found no work. */
#ifndef SOFTHCA_IDLE_H
#define SOFTHCA_IDLE_H

struct lane_slot;
struct softhca_lanes;

/*
 * Waits a little, or sleeps until there is work. `idle`: the return value after the previous turn,
 * or 0 if that turn found work. Not inside a turn.
 */
unsigned int lane_idle(struct softhca_lanes *lanes, struct lane_slot *slot, unsigned int idle);

#endif
