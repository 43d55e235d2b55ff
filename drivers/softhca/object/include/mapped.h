/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks whether memory of the process is mapped. */
#ifndef SOFTHCA_MAPPED_H
#define SOFTHCA_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

#include "ctx.h"

/*
 * True if [addr, addr+len) is mapped in this process, is readable and, if `writable`, is writable.
 * The adapter's own pages do not count as mapped, because the kernel cannot pin pages of a device.
 */
bool memory_is_mapped(uint64_t addr, uint64_t len, bool writable);

#endif
