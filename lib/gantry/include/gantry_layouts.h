/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Layouts: memory in rounds of blocks, which GATHER, SCATTER and messages name by a number.
 */
#ifndef GANTRY_LAYOUTS_H
#define GANTRY_LAYOUTS_H

#include <stdint.h>

#include "gantry_api.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gantry;

#define GANTRY_MAX_LAYOUTS 1023 /**< layouts of one engine */

/** One block of a layout. */
struct gantry_block {
	uint64_t offset; /**< of its first byte, from the base address that a descriptor gives */
	uint64_t len;    /**< bytes, 1 to 1 GiB */
	uint64_t skip;   /**< bytes from its end to its beginning in the next round */
};

/**
 * A layout: rounds that follow each other. A round is the bytes of all blocks, in their order; in the
 * next round each block begins len + skip bytes further. A list of buffers has one round. A column of a
 * matrix of doubles is one block: len 8, skip the length of a row - 8, and a round for each row.
 */
struct gantry_layout_conf {
	const struct gantry_block *block; /**< read during the call */
	uint32_t n;                       /**< blocks */
	uint32_t rounds;                  /**< 0: 1 */
	uint64_t reserved[4];             /**< 0 */
};

/**
 * Prepares a layout for gantry_desc::layout, for all queues of the engine. Blocks may overlap each
 * other; what a scatter writes there is undefined. Control thread; workers may run.
 * @param id written on success only.
 * @return 0; -EINVAL no block, a length out of range, or a block goes beyond the address space; -E2BIG
 *   it is longer than the device takes: n * rounds is at most 52; or n is at most 51, and len + skip of
 *   each block at most 65535. The log says which; -EOPNOTSUPP the device has none (gantry_info::layouts);
 *   -ENOSPC there are 1023 layouts: destroy one; -ENOMEM.
 */
GANTRY_API int gantry_layout_create(struct gantry *g, const struct gantry_layout_conf *conf,
	uint16_t *id);

/**
 * Ends a layout. Descriptors that name it and are not in the hardware yet complete with
 * GANTRY_BAD_LAYOUT; those in the hardware are carried out. Its id may be given to the next one that is
 * created. Control thread; workers may run.
 * @return 0; -EINVAL there is no such layout.
 */
GANTRY_API int gantry_layout_destroy(struct gantry *g, uint16_t id);

#ifdef __cplusplus
}
#endif
#endif
