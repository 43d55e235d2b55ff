/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Verifies what the operations of a load do: what can be known of those that were measured, and
 * each place's once more.
 */
#ifndef TESTGANTRY_LOAD_VERIFY_H
#define TESTGANTRY_LOAD_VERIFY_H

#include "load_lane.h"

/**
 * Looks whether the peer has received all messages of a lane, and whether its counters count all
 * atomics, once each. Then carries out a round of the lane's operations, and looks at every byte
 * that they have to change, and at those around it. No lane's loop runs. Main lcore. *verified: the
 * operations of that round are added.
 * @return 0, -1 with the error printed, or JOB_STOPPED.
 */
int load_verify(struct load_lane *l, uint64_t *verified);

#endif
