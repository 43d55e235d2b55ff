/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A load: operations of the engine without files, measured.
 */
#ifndef TESTGANTRY_LOAD_H
#define TESTGANTRY_LOAD_H

#include "options.h"

/**
 * Measures each point of the sweep that the options ask for, and prints it. Main lcore. 0, -1 with
 * the error printed, or JOB_STOPPED.
 */
int load_run(const struct options *o);

#endif
