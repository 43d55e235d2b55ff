/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles a fault's signal (SIGSEGV, SIGBUS) before the program's own handler does. */
#ifndef SOFTHCA_SIGCHAIN_H
#define SOFTHCA_SIGCHAIN_H

#include <signal.h>
#include <stdbool.h>

/*
 * Called inside the signal handler, so it may do only what signal-safety(7) allows. Returns true if
 * the fault is repaired: then the thread continues. If it returns false, the previous handler gets
 * the signal.
 */
typedef bool sigchain_fn(const siginfo_t *info, void *context);

/*
 * Installs a function for the signal. mend() is called before all earlier handlers. A signal can
 * have at most two such functions. Installing a function again has no effect. A handler that the
 * program installs later replaces these functions.
 */
void sigchain_take(int sig, sigchain_fn *mend);

#endif
