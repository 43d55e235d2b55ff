/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The prompt: commands from standard input, one a line.
 */
#ifndef TESTGANTRY_PROMPT_H
#define TESTGANTRY_PROMPT_H

#include "job.h"

/**
 * Runs commands until "quit", the end of the input, or a signal. A job may run meanwhile. "quit"
 * stops the job; at the end of the input it is completed. A refused line sets the app's `failed`.
 */
void prompt_run(struct app *app);

#endif
