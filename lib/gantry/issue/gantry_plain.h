/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of addresses that all short paths of issuing use. */
#ifndef GANTRY_PLAIN_H
#define GANTRY_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

/*
 * Returns true if [src, src + len) and [dst, dst + len) have a byte in common. len is from 1 to
 * half of the address space. The ranges have a common byte if the difference of the addresses is
 * between -(len - 1) and len - 1; this comparison needs few instructions.
 */
static __rte_always_inline bool
gantry_plain_overlap(uint64_t src, uint64_t dst, uint64_t len)
{
	return src + (len - 1) - dst <= 2 * (len - 1);
}

/*
 * Returns true if addr, an address at the peer, is in the lower half of the address space. Then the
 * end of the memory cannot overflow.
 */
static __rte_always_inline bool
gantry_plain_remote(uint64_t addr)
{
	return addr <= INT64_MAX;
}

#endif
