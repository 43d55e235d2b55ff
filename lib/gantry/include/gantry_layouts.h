/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Layouts: a pattern of blocks that repeats in memory. GATHER, SCATTER and messages refer to a
 * layout by its number.
 */
#ifndef GANTRY_LAYOUTS_H
#define GANTRY_LAYOUTS_H

#include <stdint.h>

#include "gantry_api.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gantry;

#define GANTRY_MAX_LAYOUTS 1023 /**< most layouts of one engine */

/** One block of a layout. */
struct gantry_block {
	/** Distance of its first byte from the base address that a descriptor gives. */
	uint64_t offset;
	uint64_t len;  /**< bytes of the block, 1 to 1 GiB */
	uint64_t skip; /**< bytes from the end of the block to its beginning in the next round */
};

/**
 * A layout: rounds that follow each other. A round consists of the bytes of all blocks, in their
 * order. In the next round, each block begins len + skip bytes further in memory.
 *
 * For example, a list of buffers has one round. A column of a matrix of doubles is one block with
 * len 8; its skip is the length of a row minus 8, and there is a round for each row.
 */
struct gantry_layout_conf {
	const struct gantry_block *block; /**< array of blocks, read during the call */
	uint32_t n;                       /**< number of blocks */
	uint32_t rounds;                  /**< number of rounds; 0: one round */
	uint64_t reserved[4];             /**< must be 0 */
};

/**
 * Prepares a layout for gantry_desc::layout, for all queues of the engine. Control thread; workers
 * may run.
 *
 * Blocks may overlap. If they do, the bytes that a scatter writes to their common memory are
 * undefined.
 *
 * @param g
 *   The engine.
 * @param conf
 *   The layout, read during the call.
 * @param id
 *   The number of the layout, 1 to GANTRY_MAX_LAYOUTS; written on success only.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EINVAL
 *   There is no block; a length is out of range; a block goes beyond the address space; or reserved
 *   bytes are not 0.
 * @retval -E2BIG
 *   The layout is too long for the device. There may be at most 52 blocks in all rounds together;
 *   or any number of rounds of at most 51 blocks, each with a len + skip of at most 65535.
 * @retval -EOPNOTSUPP
 *   The device has no layouts: gantry_info::layouts.
 * @retval -ENOSPC
 *   There are GANTRY_MAX_LAYOUTS layouts already: destroy one of them.
 * @retval -ENOMEM
 *   There is not enough memory.
 */
GANTRY_API int gantry_layout_create(struct gantry *g, const struct gantry_layout_conf *conf,
	uint16_t *id);

/**
 * Ends a layout. Control thread; workers may run.
 *
 * Descriptors with this layout that were not posted to the hardware complete with
 * GANTRY_BAD_LAYOUT. Posted descriptors are carried out. A layout that is created later may get the
 * same number.
 *
 * @param g
 *   The engine.
 * @param id
 *   From gantry_layout_create().
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   There is no such layout.
 */
GANTRY_API int gantry_layout_destroy(struct gantry *g, uint16_t id);

#ifdef __cplusplus
}
#endif
#endif
