/* SPDX-License-Identifier: BSD-3-Clause */
/* Registered memory that the program has unmapped or truncated. */
#ifndef SOFTHCA_GONE_H
#define SOFTHCA_GONE_H

/*
 * Call this before a region is published; only the first call has an effect. After this call, if a
 * device thread accesses a page of a region that the program has unmapped or truncated, an empty
 * page is mapped there. Without this call, the access would end the process.
 */
void gone_watch(void);

#endif
