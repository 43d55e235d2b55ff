/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Two processes of testgantry: one listens (--listen), and the other connects (--connect). The
 * engine moves files or blocks between them.
 *
 *     --connect ADDRESS FILE...            --listen ADDRESS --out DIR
 *     hello()                    <-->      hello()             equal settings
 *     names and sizes            -->       checks the names
 *     addresses and keys         <-->      addresses and keys
 *     chunks, by RDMA            ==>       writes the chunks
 *     digest of each file        -->       compares with the written file
 *     compares the digest        <--       digest of the written file
 *
 * --mode sig: see pair_sig.h.
 */
#ifndef TESTGANTRY_PAIR_H
#define TESTGANTRY_PAIR_H

#include "job.h"

/**
 * Checks the options and plans the files, before EAL starts. Returns 0, or -1 with the error
 * printed.
 */
int pair_prepare(struct app *app);

/** Returns the number of lcores that the options need, including the main lcore. */
unsigned int pair_lcores(const struct options *o);

/** Moves the files or blocks. Returns 0, -1 with the error printed, or JOB_STOPPED. */
int pair_run(struct app *app);

#endif
