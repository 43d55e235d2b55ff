/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Measures a load: operations of the engine that use no files.
 */
#ifndef TESTGANTRY_LOAD_H
#define TESTGANTRY_LOAD_H

#include "options.h"

/**
 * Measures each point of the sweep that the options define, and prints the results. Only the main
 * lcore calls this function. Returns 0, JOB_STOPPED, or -1 with the error printed.
 */
int load_run(const struct options *o);

#endif
