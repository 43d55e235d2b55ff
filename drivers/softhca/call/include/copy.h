/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies from and to memory at an address in a call. The functions return 0, or -EFAULT if the
 * address is bad. All accesses to such memory use these two functions, so a bad address does not
 * crash the program.
 */
#ifndef SOFTHCA_COPY_H
#define SOFTHCA_COPY_H

#include <stddef.h>
#include <stdint.h>

int copy_in(void *dst, uint64_t src, size_t len);
int copy_out(uint64_t dst, const void *src, size_t len);

#endif
