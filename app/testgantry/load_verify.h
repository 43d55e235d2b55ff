/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Verifies the operations of a load: some facts of the measured operations, and then one more round
 * over each place.
 */
#ifndef TESTGANTRY_LOAD_VERIFY_H
#define TESTGANTRY_LOAD_VERIFY_H

#include "load_lane.h"

/**
 * Checks that the peer has received all messages of a lane, and that its counters count each atomic
 * once. Then runs one round of the lane's operations, and checks every byte that they must change,
 * and the bytes around it. No lane's loop may run. Main lcore. *verified: the number of operations
 * of that round is added.
 * @return 0, -1 with the error printed, or JOB_STOPPED.
 */
int load_verify(struct load_lane *l, uint64_t *verified);

#endif
