/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Corrupts blocks with signatures. A seed decides which blocks, and which of their bytes, are
 * corrupted. So the program knows which errors the device must detect.
 */
#ifndef TESTGANTRY_SIG_DAMAGE_H
#define TESTGANTRY_SIG_DAMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry.h"
#include "options.h"

/** The places at which blocks have signatures. */
enum place {
	DISK,
	WIRE,
	N_PLACES,
};

/** The blocks that are corrupted, and the kind of corruption. */
struct damage_plan {
	uint64_t seed;
	uint32_t percent; /**< percent of the blocks to corrupt */
	uint32_t len;     /**< bytes of a block with its signature */
	uint32_t sig_len; /**< bytes of the signature */
	/**
	 * All changed bits are within this number of consecutive bits. It is 16 for CRCs, because
	 * each CRC of 16 bits or more detects such a change. It is 1 for a checksum.
	 */
	uint32_t burst;
};

/** Returns the plan for a place, as the options say. */
struct damage_plan damage_plan_of(const struct options *o, enum place place);

/** Returns true if the plan corrupts the block with this number. */
bool damage_has(const struct damage_plan *plan, uint32_t block);

/**
 * Corrupts n blocks as planned, in their data, guards or tags. The first block has number `first`.
 * A second call restores the blocks.
 */
void damage_apply(const struct damage_plan *plan, uint32_t first, uint32_t n, uint8_t *blocks);

#endif
