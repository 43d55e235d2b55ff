/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The target of --mode sig whose initiator is in another process: pair_sig.h.
 */
#ifndef TESTGANTRY_PAIR_TARGET_H
#define TESTGANTRY_PAIR_TARGET_H

#include "pair_state.h"

/**
 * Serves the initiator until the initiator is done. Returns 0; or -1, with the error printed unless
 * a signal came.
 */
int pair_target(struct pair *p);

#endif
