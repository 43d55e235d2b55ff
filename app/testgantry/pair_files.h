/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Moves files between two processes, in the modes write, read and send.
 */
#ifndef TESTGANTRY_PAIR_FILES_H
#define TESTGANTRY_PAIR_FILES_H

#include "pair_state.h"

/**
 * Moves all files. n_lanes: number of worker lcores. Returns 0; or -1, with the error printed
 * unless a signal came.
 */
int pair_files(struct pair *p, unsigned int n_lanes);

#endif
