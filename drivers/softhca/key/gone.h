/* SPDX-License-Identifier: BSD-3-Clause */
/* Registered memory that the program has unmapped. */
#ifndef SOFTHCA_GONE_H
#define SOFTHCA_GONE_H

/*
 * From now on, a device thread that touches such memory finds an empty page there, and the process
 * does not end. Call before a region is published; only the first call has an effect.
 */
void gone_watch(void);

#endif
