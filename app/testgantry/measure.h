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
 * o->measure_policy. Returns 0, JOB_STOPPED, or -1 with the error printed.
 */
int measure_run(const struct options *o);

#endif
