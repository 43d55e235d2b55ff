/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The prompt: reads commands from standard input, one command in a line.
 */
#ifndef TESTGANTRY_PROMPT_H
#define TESTGANTRY_PROMPT_H

#include "job.h"

/**
 * Runs commands until "quit", the end of the input, or a signal. Commands are also read while a job
 * runs. "quit" stops the job; at the end of the input, the job is completed. A refused line sets
 * app->failed.
 */
void prompt_run(struct app *app);

#endif
