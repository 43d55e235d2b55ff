/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Measures how long an idle worker takes for a copy, in each way of waiting (--idle).
 */
#ifndef TESTGANTRY_LATENCY_H
#define TESTGANTRY_LATENCY_H

#include "options.h"

/**
 * Measures opt->wake_up copies in each way of waiting, and prints a table. Main lcore. 0, -1 with
 * the error printed, or JOB_STOPPED.
 */
int latency_run(const struct options *o);

#endif
