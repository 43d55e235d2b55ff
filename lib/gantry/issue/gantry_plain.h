/* SPDX-License-Identifier: BSD-3-Clause */
/* What all short ways to issue a descriptor ask of addresses. */
#ifndef GANTRY_PLAIN_H
#define GANTRY_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

/*
 * True: [src, src + len) and [dst, dst + len) have a byte in common. len: 1 to half the address
 * space. Written so that the compiler needs few instructions: the difference of the addresses is
 * between -(len - 1) and len - 1.
 */
static __rte_always_inline bool
gantry_plain_overlap(uint64_t src, uint64_t dst, uint64_t len)
{
	return src + (len - 1) - dst <= 2 * (len - 1);
}

/* True: memory at the peer does not begin in the upper half, so its end is no matter. */
static __rte_always_inline bool
gantry_plain_remote(uint64_t addr)
{
	return addr <= INT64_MAX;
}

#endif
