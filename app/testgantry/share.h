/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Copies between two functions of a card, and compares all bytes.
 */
#ifndef TESTGANTRY_SHARE_H
#define TESTGANTRY_SHARE_H

#include "options.h"

/**
 * Opens o->device and o->export. Each exports memory to the other one and copies from it, to it,
 * and from one imported region to another. Prints a line for each way. Returns 0, JOB_STOPPED, or
 * -1 with the error printed.
 */
int share_run(const struct options *o);

#endif
