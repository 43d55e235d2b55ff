/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Moves files between two processes, in the modes write, read and send.
 */
#ifndef TESTGANTRY_PAIR_FILES_H
#define TESTGANTRY_PAIR_FILES_H

#include "pair_state.h"

/**
 * Moves all files. Returns 0, or -1 with the error printed, or because a signal came. n_lanes:
 * number of worker lcores.
 */
int pair_files(struct pair *p, unsigned int n_lanes);

#endif
