/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all UMRs of a batch share: how one begins and ends. hwq_wr_umr.h and hwq_wr_mkey.h have the
 * work requests.
 */
#ifndef HWQ_WR_KEY_H
#define HWQ_WR_KEY_H

#include "hwq_umr.h"
#include "hwq_wr_batch.h"

/* Two of libmlx5's errors take the place of one before them; EINVAL before RTS stays. */
static HWQ_INLINE void
hwq_wr_umr_fail(struct hwq_wr *wr, int err)
{
	hwq_wr_fail(wr, err);
	if (err == -EOPNOTSUPP && !wr->sq->wr.not_rts)
		wr->err = err;
}

/*
 * Room for a UMR of a layout of @p units, a multiple of four; and of its control segment all that
 * its length leaves. It needs no look at wr->end: every one takes the fence that was left, and
 * where there is an error there is no room.
 */
static HWQ_INLINE bool
hwq_wr_umr_begin_fenced(struct hwq_wr *wr, uint32_t imm, unsigned int units, uint32_t fence)
{
	unsigned int n_bb = (HWQ_UMR_HEAD_DS + units) / HWQ_DS_PER_BB;
	uint32_t fm_ce_se = wr->wr_flags | wr->sq->sig_bits | fence;

	if (__builtin_expect(wr->open != HWQ_WR_CLOSED, 0))
		hwq_wr_fail(wr, -EINVAL);
	if (!hwq_wr_contiguous(wr, n_bb))
		return false;
	hwq_wr_place(wr);
	hwq_put_ctrl_rest_apart(wr->wqe, fm_ce_se, htobe32(imm));
	return true;
}

/* The fence that was left, unless the WQE has one of its own. */
static HWQ_INLINE uint32_t
hwq_wr_umr_fence(const struct hwq_wr *wr)
{
	return (wr->wr_flags & HWQ_WQE_FENCE) != 0 ? 0 : wr->fm_cache;
}

/* The same with that fence. */
static HWQ_INLINE bool
hwq_wr_umr_begin(struct hwq_wr *wr, uint32_t imm, unsigned int units)
{
	return hwq_wr_umr_begin_fenced(wr, imm, units, hwq_wr_umr_fence(wr));
}

/* Closes it; the WQE behind waits for it. */
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
