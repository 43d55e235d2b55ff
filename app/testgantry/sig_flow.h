/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * --mode sig: the blocks of files are stored with signatures, corrupted on purpose, and fetched.
 */
#ifndef TESTGANTRY_SIG_FLOW_H
#define TESTGANTRY_SIG_FLOW_H

#include "files.h"
#include "options.h"

struct pair;

/** Checks settings that --mode sig restricts. Returns 0, or -1 with the error printed. */
int sig_check(const struct options *o);

/**
 * Stores and fetches the files' blocks, with pipelining and without, and prints a table. Only the
 * main lcore calls this function. pair: the target is in another process, and this process is the
 * initiator; NULL: both are in this process.
 * @return 0; JOB_STOPPED if a signal stopped the run; -1, with the error printed, if a corruption
 *   was missed, a correct block was refused, or another error occurred. A stopped run prints its
 *   results until then.
 */
int sig_run(const struct options *o, const struct file_set *set, struct pair *pair);

#endif
