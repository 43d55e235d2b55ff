/* SPDX-License-Identifier: BSD-3-Clause */
/* The adapters at fork(2). */
#ifndef SOFTHCA_FORK_H
#define SOFTHCA_FORK_H

/* Registers the handlers (pthread_atfork(3)). Call once. 0, or an errno: no memory. */
int fork_init(void);

#endif
