/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Verifies what the operations of a load move: each place's once.
 */
#ifndef TESTGANTRY_LOAD_VERIFY_H
#define TESTGANTRY_LOAD_VERIFY_H

#include "load_lane.h"

/**
 * Carries out a round of a lane's operations and looks at every byte that they have to change, and at those around it. Its loop has ended.
 * Main lcore. *verified: their number is added.
 * @return 0, -1 with the error printed, or JOB_STOPPED.
 */
int load_verify(struct load_lane *l, uint64_t *verified);

#endif
