/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * WQEs that are taken out of a send queue's ring and posted again later: for an owner who resets a queue
 * and repeats what the device flushed.
 *
 *     for (i = first; i != sq->pi; i += n)          before hwq_qp_reset()
 *         n = hwq_sq_save(sq, i, image);
 *     hwq_sq_put_saved(sq, image);                  after hwq_qp_connect()
 *     hwq_sq_ring(sq);
 *
 * A WQE keeps its bytes in the ring until others are written over it: a flushed one until the next is posted.
 * Only the owner knows which WQEs may run twice; the device may have begun those that it flushed.
 *
 * Thread: only the owner of the queue's domain calls the functions of this file.
 */
#ifndef HWQ_SQ_SAVE_H
#define HWQ_SQ_SAVE_H

#include "hwq_sq.h"

/** @return WQEBBs of the WQE that starts at @p index (free-running), by its DS. */
static inline uint32_t
hwq_sq_bb_at(const struct hwq_sq *sq, uint16_t index)
{
	return (uint16_t)(hwq_sq_end_of(sq, index, index & sq->mask) - index);
}

/** @return true if the WQE that starts at @p index configures a memory key (UMR). */
static inline bool
hwq_sq_is_umr(const struct hwq_sq *sq, uint16_t index)
{
	const struct mlx5_wqe_ctrl_seg *ctrl =
		(const struct mlx5_wqe_ctrl_seg *)hwq_sq_at(sq, index);

	return (be32toh(ctrl->opmod_idx_opcode) & 0xff) == MLX5_OPCODE_UMR;
}

/**
 * Copies the WQE that starts at @p index (free-running). Nothing was written over it since it was posted.
 * @param image the caller's memory, 64-byte aligned, with room for the WQE: HWQ_WQE_MAX_BB WQEBBs suffice.
 * @return its WQEBBs; @p image holds as many.
 */
static inline uint32_t
hwq_sq_save(const struct hwq_sq *sq, uint16_t index, void *image)
{
	uint32_t n_bb = hwq_sq_bb_at(sq, index);

	memcpy(image, hwq_sq_at(sq, index), (size_t)n_bb * HWQ_BB_LEN);
	return n_bb;
}

/**
 * Posts a WQE of hwq_sq_save() again, with the ring index and QPN of @p sq, and for memcpy the device's scratch
 * memory of @p sq. All else is as it was: what it asks for, fences and flags. So @p sq is the queue that it came
 * from, or one that was created as that was.
 * @return its WQEBBs: it is committed, and goes out with the next hwq_sq_ring(); or 0: the ring is full and
 *   nothing was written.
 */
static inline unsigned int
hwq_sq_put_saved(struct hwq_sq *sq, const void *image)
{
	const struct mlx5_wqe_ctrl_seg *from = (const struct mlx5_wqe_ctrl_seg *)image;
	uint32_t ds = be32toh(from->qpn_ds) & HWQ_DS_MAX;
	unsigned int n_bb = hwq_ds_to_bb(ds);
	uint32_t word = be32toh(from->opmod_idx_opcode);
	uint8_t *wqe = (uint8_t *)hwq_sq_reserve(sq, n_bb);

	if (wqe == NULL)
		return 0;
	memcpy(wqe, image, (size_t)n_bb * HWQ_BB_LEN);
	hwq_put_ctrl_first(wqe, hwq_index_qpn(sq->pi, sq->qpn_shifted), (uint8_t)(word >> 24),
		(uint8_t)word, ds);
	if ((word & 0xff) == MLX5_OPCODE_MMO)
		memcpy(wqe + HWQ_DS_LEN, &sq->mmo, sizeof(sq->mmo));
	hwq_sq_commit(sq, n_bb);
	return n_bb;
}

#endif
