/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Measures how long an idle worker takes for a copy, in each idle mode (--idle).
 */
#ifndef TESTGANTRY_LATENCY_H
#define TESTGANTRY_LATENCY_H

#include "options.h"

/**
 * Measures opt->wake_up copies in each idle mode, and prints a table. Only the main lcore calls
 * this function. Returns 0, JOB_STOPPED, or -1 with the error printed.
 */
int latency_run(const struct options *o);

#endif
