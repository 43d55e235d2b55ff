/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Verifies the operations of a load: checks some results of the measured operations, then runs one
 * more round over each place and checks its bytes.
 */
#ifndef TESTGANTRY_LOAD_VERIFY_H
#define TESTGANTRY_LOAD_VERIFY_H

#include "load_lane.h"

/**
 * Checks that the peer has received all messages of a lane, and that the peer's counters include
 * each atomic exactly once. Then runs one round of the lane's operations. Checks every byte that
 * the round must change, and the bytes around it. No lane's loop may run. Only the main lcore calls
 * this function. The number of operations of the round is added to *verified.
 * @return 0, JOB_STOPPED, or -1 with the error printed.
 */
int load_verify(struct load_lane *l, uint64_t *verified);

#endif
