/* SPDX-License-Identifier: BSD-3-Clause */
/* A handler of a fault's signal (SIGSEGV, SIGBUS) before the program's own. */
#ifndef SOFTHCA_SIGCHAIN_H
#define SOFTHCA_SIGCHAIN_H

#include <signal.h>
#include <stdbool.h>

/*
 * Called inside the handler: only what signal-safety(7) allows. True: the fault is mended, and the
 * thread goes on. False: the handler that was there before gets the signal.
 */
typedef bool sigchain_fn(const siginfo_t *info, void *context);

/*
 * From now on mend() hears of the signal first. At most two for each signal, and each once. A
 * handler that the program sets later takes its place.
 */
void sigchain_take(int sig, sigchain_fn *mend);

#endif
