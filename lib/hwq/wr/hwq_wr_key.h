/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The beginning and the end of every UMR of a batch. For the work requests, and the thread rule,
 * see hwq_wr_umr.h and hwq_wr_mkey.h.
 */
#ifndef HWQ_WR_KEY_H
#define HWQ_WR_KEY_H

#include "hwq_umr.h"
#include "hwq_wr_batch.h"

/*
 * Stores the error of a UMR. EOPNOTSUPP replaces an earlier error, as in libmlx5, unless the QP is
 * not in RTS yet.
 */
static HWQ_INLINE void
hwq_wr_umr_fail(struct hwq_wr *wr, int err)
{
	hwq_wr_fail(wr, err);
	if (err == -EOPNOTSUPP && !wr->sq->wr.not_rts)
		wr->err = err;
}

/*
 * Sets the fields that hwq_wr_complete() reads after a UMR. They are set even if the batch has
 * failed, as in hwq_wr_memcpy().
 */
static HWQ_INLINE void
hwq_wr_umr_expect(struct hwq_wr *wr)
{
	wr->is_umr = true;
	wr->ds = HWQ_UMR_HEAD_DS;
}

/*
 * Opens a UMR with a layout of @p units, a multiple of four, and writes its control segment without
 * the first word. No comparison with wr->end is needed: a UMR always reads the fence that an
 * earlier WQE requires, and after an error there is no room.
 */
static HWQ_INLINE bool
hwq_wr_umr_begin_fenced(struct hwq_wr *wr, uint32_t imm, unsigned int units, uint32_t fence)
{
	unsigned int n_bb = hwq_ds_to_bb(HWQ_UMR_HEAD_DS + units);
	uint32_t fm_ce_se = wr->wr_flags | wr->sq->sig_bits | fence;

	if (__builtin_expect(wr->open != HWQ_WR_CLOSED, 0))
		hwq_wr_fail(wr, -EINVAL);
	if (!hwq_wr_make_room(wr, n_bb, 0))
		return false;
	hwq_wr_place(wr);
	hwq_put_ctrl_rest_apart(wr->wqe, fm_ce_se, htobe32(imm));
	return true;
}

/* @return the fence that an earlier WQE requires; 0 if the caller asks for HWQ_WQE_FENCE. */
static HWQ_INLINE uint32_t
hwq_wr_umr_fence(const struct hwq_wr *wr)
{
	return (wr->wr_flags & HWQ_WQE_FENCE) != 0 ? 0 : wr->umr_fence;
}

/* Opens a UMR with the fence that it must have. */
static HWQ_INLINE bool
hwq_wr_umr_begin(struct hwq_wr *wr, uint32_t imm, unsigned int units)
{
	return hwq_wr_umr_begin_fenced(wr, imm, units, hwq_wr_umr_fence(wr));
}

/* Closes the UMR, and makes the next WQE wait for it. */
static HWQ_INLINE void
hwq_wr_umr_end(struct hwq_wr *wr, unsigned int units)
{
	unsigned int ds = HWQ_UMR_HEAD_DS + units;

	hwq_put_ctrl_first(wr->wqe, wr->index_qpn, 0, MLX5_OPCODE_UMR, ds);
	hwq_wr_pass(wr, ds);
	hwq_wr_leave_fence(wr);
	wr->is_umr = true;
}

#endif
