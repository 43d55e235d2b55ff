/* SPDX-License-Identifier: BSD-3-Clause */
/* The handling of fork(2) for the adapters. */
#ifndef SOFTHCA_FORK_H
#define SOFTHCA_FORK_H

/*
 * Registers the handlers (pthread_atfork(3)). Call this once. Returns 0, or an errno if memory is
 * short.
 */
int fork_init(void);

#endif
