/* SPDX-License-Identifier: BSD-3-Clause */
/* One turn of a lane (turns.h). */
#ifndef SOFTHCA_LANE_H
#define SOFTHCA_LANE_H

#include <stdbool.h>

struct lane_slot;
struct softhca_lanes;
struct softhca_uar;

/*
 * Runs the turn that has begun in the slot, and ends it. Returns the number of WQEs and doorbells
 * handled.
 */
unsigned int lane_turn(struct softhca_lanes *lanes, struct lane_slot *slot);

/*
 * True if the page has a new doorbell or asks for a visit. The function takes no lock, so it is
 * cheap for a page without work.
 */
bool uar_calls(struct softhca_uar *uar);

#endif
