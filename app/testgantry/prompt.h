/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The prompt: DPDK's cmdline library on standard input.
 */
#ifndef TESTGANTRY_PROMPT_H
#define TESTGANTRY_PROMPT_H

#include "run.h"

/**
 * Serves commands until "quit", the end of the input, or a signal, with a run going on meanwhile.
 * "quit" stops a run that is not done; the end of the input lets it finish.
 * @return 0, or -1 with the error printed.
 */
int prompt_run(struct app *app);

#endif
