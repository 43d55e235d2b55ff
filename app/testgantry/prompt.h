/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The prompt: DPDK's cmdline library on standard input.
 */
#ifndef TESTGANTRY_PROMPT_H
#define TESTGANTRY_PROMPT_H

#include "job.h"

/**
 * Serves commands until "quit", the end of the input, or a signal. A job runs meanwhile. "quit"
 * stops it; after the end of the input it runs to its end.
 * @return 0, or -1 with the error printed.
 */
int prompt_run(struct app *app);

#endif
