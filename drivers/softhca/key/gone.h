/* SPDX-License-Identifier: BSD-3-Clause */
/* Registered memory that the program has unmapped or truncated. */
#ifndef SOFTHCA_GONE_H
#define SOFTHCA_GONE_H

/*
 * Call this before a region is published; only the first call has an effect. From now on, if a
 * device thread accesses such memory, it finds an empty page there, and the process does not end.
 */
void gone_watch(void);

#endif
