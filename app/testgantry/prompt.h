/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The prompt: commands from standard input, one a line.
 */
#ifndef TESTGANTRY_PROMPT_H
#define TESTGANTRY_PROMPT_H

#include "job.h"

/**
 * Serves commands until "quit", the end of the input, or a signal. A job runs meanwhile. "quit"
 * stops it; after the end of the input it runs to its end. A line that is refused makes the app's
 * `failed` true.
 */
void prompt_run(struct app *app);

#endif
