/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Measures which carrier copies fastest, and writes a policy.
 */
#ifndef TESTGANTRY_MEASURE_H
#define TESTGANTRY_MEASURE_H

#include "options.h"

/**
 * Measures all carriers of the device on this thread, prints the results, and writes the policy to
 * o->measure_policy. 0, -1 with the error printed, or JOB_STOPPED.
 */
int measure_run(const struct options *o);

#endif
