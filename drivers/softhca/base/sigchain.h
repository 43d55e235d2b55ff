/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles a fault's signal (SIGSEGV, SIGBUS) before the program's own handler. */
#ifndef SOFTHCA_SIGCHAIN_H
#define SOFTHCA_SIGCHAIN_H

#include <signal.h>
#include <stdbool.h>

/*
 * Called inside the signal handler: only what signal-safety(7) allows. True: the fault is repaired,
 * and the thread continues. False: the previous handler gets the signal.
 */
typedef bool sigchain_fn(const siginfo_t *info, void *context);

/*
 * From now on mend() gets the signal first. At most two handlers for each signal; a handler is
 * taken once. A handler that the program installs later replaces mend().
 */
void sigchain_take(int sig, sigchain_fn *mend);

#endif
