/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Measures how soon a worker that has had nothing to do carries out a copy, in each way of waiting.
 */
#ifndef TESTGANTRY_LATENCY_H
#define TESTGANTRY_LATENCY_H

#include "options.h"

/**
 * Measures opt->wake_up copies in each way, and prints a table. Main lcore. 0, -1 with the error
 * printed, or JOB_STOPPED.
 */
int latency_run(const struct options *o);

#endif
