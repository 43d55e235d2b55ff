/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Corruptions of blocks with signatures. A seed decides which blocks, and which bits of them, so
 * that whoever knows the seed knows what must be detected.
 */
#ifndef TESTGANTRY_SIG_DAMAGE_H
#define TESTGANTRY_SIG_DAMAGE_H

#include <stdbool.h>
#include <stdint.h>

/** Which blocks are corrupted, and how. */
struct damage_plan {
	uint64_t seed;
	uint32_t percent; /**< of the blocks */
	uint32_t len;     /**< bytes of a block with its signature */
	uint32_t sig_len; /**< bytes of the signature */
	/**
	 * The bits that change lie in so many bits behind each other: 16, which each CRC of 16 bits
	 * and more detects, or 1, which a checksum detects
	 */
	uint32_t burst;
};

/** True if the plan corrupts the block of this number. */
bool damage_has(const struct damage_plan *plan, uint32_t block);

/**
 * Corrupts what the plan says of n blocks, the first of which is number `first`, in their data,
 * guards or tags. The second call mends them.
 */
void damage_apply(const struct damage_plan *plan, uint32_t first, uint32_t n, uint8_t *blocks);

#endif
