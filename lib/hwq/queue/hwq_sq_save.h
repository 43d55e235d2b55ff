/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Copies WQEs out of a send queue's ring, and posts them again later. It is for an owner who resets
 * a queue, and then repeats the WQEs that the device flushed.
 *
 *     for (i = first; i != sq->pi; i += n)          before hwq_qp_reset()
 *         n = hwq_sq_save(sq, i, image);
 *     hwq_sq_put_saved(sq, image);                  after hwq_qp_connect()
 *     hwq_sq_ring(sq);
 *
 * A flushed WQE stays in the ring until a later post overwrites it. Only the owner knows which WQEs
 * may run twice: the device may have begun a WQE before flushing it.
 *
 * Thread: only the owner of the queue's domain calls the functions of this file.
 */
#ifndef HWQ_SQ_SAVE_H
#define HWQ_SQ_SAVE_H

#include "hwq_sq.h"

/**
 * Returns the length of a WQE, from its DS.
 * @param sq The send queue.
 * @param index Ring index of the WQE's first WQEBB; it runs free at 16 bits.
 * @return The number of WQEBBs.
 */
static inline uint32_t
hwq_sq_bb_at(const struct hwq_sq *sq, uint16_t index)
{
	return (uint16_t)(hwq_sq_end_of(sq, index, index & sq->mask) - index);
}

/**
 * Returns the opcode of a WQE.
 * @param sq The send queue.
 * @param index Ring index of the WQE's first WQEBB; it runs free at 16 bits.
 * @return MLX5_OPCODE_*.
 */
static inline uint8_t
hwq_sq_opcode_at(const struct hwq_sq *sq, uint16_t index)
{
	const struct mlx5_wqe_ctrl_seg *ctrl =
		(const struct mlx5_wqe_ctrl_seg *)hwq_sq_at(sq, index);

	return be32toh(ctrl->opmod_idx_opcode) & 0xff;
}

/**
 * Tells whether a WQE configures a memory key (UMR).
 * @param sq The send queue.
 * @param index Ring index of the WQE's first WQEBB; it runs free at 16 bits.
 * @return True if it is a UMR.
 */
static inline bool
hwq_sq_is_umr(const struct hwq_sq *sq, uint16_t index)
{
	return hwq_sq_opcode_at(sq, index) == MLX5_OPCODE_UMR;
}

/**
 * Copies a WQE out of the ring. No other WQE may have been written over it.
 * @param sq The send queue.
 * @param index Ring index of the WQE's first WQEBB; it runs free at 16 bits.
 * @param image The caller's memory, 64-byte aligned, with room for the WQE: HWQ_WQE_MAX_BB WQEBBs
 *   suffice.
 * @return WQEBBs of the WQE, which are now in image.
 */
static inline uint32_t
hwq_sq_save(const struct hwq_sq *sq, uint16_t index, void *image)
{
	uint32_t n_bb = hwq_sq_bb_at(sq, index);

	memcpy(image, hwq_sq_at(sq, index), (size_t)n_bb * HWQ_BB_LEN);
	return n_bb;
}

/**
 * Posts a WQE of hwq_sq_save() again, with the ring index and the QPN of sq; for memcpy, with the
 * device's scratch memory of sq. Operation, fences and flags do not change. So sq must be the queue
 * of the original WQE, or a queue with the same configuration.
 * @param sq The send queue.
 * @param image A copy that hwq_sq_save() has written.
 * @return WQEBBs of the WQE, which is committed; the next hwq_sq_ring() posts it. 0 if the ring is
 *   full; then nothing is written.
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
