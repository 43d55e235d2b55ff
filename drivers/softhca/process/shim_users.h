/* SPDX-License-Identifier: BSD-3-Clause */
/* The libc calls that change the effective user of the process. */
#ifndef SOFTHCA_SHIM_USERS_H
#define SOFTHCA_SHIM_USERS_H

/* Notes the process. Call this when the adapters come up, and in each child of fork(2). */
void users_init(void);

#endif
