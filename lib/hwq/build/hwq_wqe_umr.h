/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Functions that build one WQE, a UMR that gives a key its layout. Return values and thread rule
 * are those of hwq_wqe.h.
 *
 *     hwq_wqe_mr_list(sq, mkey, access, n, sge, flags);    the key's memory is now these pieces
 *     hwq_wqe_rdma_read(..., flags | HWQ_WQE_AFTER_UMR);   waits for the UMR
 *
 * The bytes are those of hwq_wr_mr_list() and hwq_wr_mr_interleaved() in a separate batch, with one
 * difference: the next WQE waits for the UMR only if its flags have HWQ_WQE_AFTER_UMR; libmlx5
 * always sets that bit in the next WQE. Once one WQE has waited, later WQEs need not wait.
 *
 * The QP need not be created for these operations. Its ring must have room for two such WQEs.
 *
 * Errors in addition to those of hwq_wqe.h:
 *
 *     -EINVAL     access flags not in HWQ_UMR_ACCESS_ALL; the key signs, encrypts, or has a variant
 *                 other than 0; or the ring holds less than two such WQEs
 *     -ENOMEM     more entries than the key or a WQE has room for
 */
#ifndef HWQ_WQE_UMR_H
#define HWQ_WQE_UMR_H

#include "hwq_sq.h"
#include "hwq_umr.h"
#include "hwq_wqe.h"

/**
 * @param units DS units of the layout.
 * @return WQEBBs of a UMR whose layout has @p units 16-byte units: one unit for each entry, and one
 *   more for a pattern.
 */
static HWQ_INLINE unsigned int
hwq_umr_n_bb(unsigned int units)
{
	return hwq_ds_to_bb(HWQ_UMR_HEAD_DS + hwq_umr_pad(units));
}

/* @return 0 if a UMR of this key is possible, otherwise a negative error. */
static HWQ_INLINE int
hwq_wqe_umr_check(const struct hwq_sq *sq, const struct hwq_mkey *mkey, unsigned int access,
	unsigned int n, unsigned int units)
{
	if ((access & ~HWQ_UMR_ACCESS_ALL) != 0 || mkey->plain_end == 0)
		return -EINVAL;
	if (n > mkey->max_entries || units > HWQ_UMR_LAYOUT_MAX)
		return -ENOMEM;
	return 2 * hwq_umr_n_bb(units) > hwq_sq_n_bb(sq) ? -EINVAL : 0;
}

/*
 * Writes control segment, UMR control segment and key context, and commits the WQE. @return its
 * WQEBBs.
 */
static HWQ_INLINE int
hwq_wqe_umr_commit(struct hwq_sq *sq, uint8_t *wqe, const struct hwq_mkey *mkey,
	unsigned int access, unsigned int units, uint64_t len, unsigned int flags)
{
	unsigned int n_bb = hwq_umr_n_bb(units);

	hwq_put_layout_head(wqe, 0, access, hwq_umr_pad(units), len);
	hwq_put_ctrl(sq, wqe, sq->pi, 0, MLX5_OPCODE_UMR, HWQ_UMR_HEAD_DS + hwq_umr_pad(units),
		flags, htobe32(mkey->lkey));
	hwq_sq_commit(sq, n_bb);
	return (int)n_bb;
}

/**
 * Gives the key a list as its layout: n pieces of memory, one after the other
 * (mlx5dv_wr_mr_list(3)). Writes a UMR. For errors see the top of this file.
 * @param sq The send queue.
 * @param mkey The key; it must stay until the WQE has completed.
 * @param access Who may use the key: flags out of HWQ_UMR_ACCESS_ALL.
 * @param n Number of pieces.
 * @param sge The pieces, read during the call.
 * @param flags Enum hwq_wqe_flags.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_mr_list(struct hwq_sq *sq, const struct hwq_mkey *mkey, unsigned int access, unsigned int n,
	const struct hwq_sge *sge, unsigned int flags)
{
	int ret = hwq_wqe_umr_check(sq, mkey, access, n, n);
	uint64_t len;
	uint8_t *wqe;

	if (__builtin_expect(ret != 0, 0))
		return ret;
	wqe = (uint8_t *)hwq_sq_reserve(sq, hwq_umr_n_bb(n));
	if (wqe == NULL)
		return 0;
	len = hwq_put_klm_list(hwq_at_ds(wqe, HWQ_UMR_HEAD_DS), sge, n);
	return hwq_wqe_umr_commit(sq, wqe, mkey, access, n, len, flags);
}

/**
 * Gives the key a pattern as its layout: `repeat` rounds of n entries
 * (mlx5dv_wr_mr_interleaved(3)). Writes a UMR. For errors see the top of this file.
 * @param sq The send queue.
 * @param mkey As hwq_wqe_mr_list().
 * @param access As hwq_wqe_mr_list().
 * @param repeat Number of rounds.
 * @param n Number of entries in a round.
 * @param data The entries, read during the call.
 * @param flags Enum hwq_wqe_flags.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_mr_interleaved(struct hwq_sq *sq, const struct hwq_mkey *mkey, unsigned int access,
	uint32_t repeat, unsigned int n, const struct mlx5dv_mr_interleaved *data,
	unsigned int flags)
{
	int ret = hwq_wqe_umr_check(sq, mkey, access, n, n + 1);
	uint64_t len;
	uint8_t *wqe;

	if (__builtin_expect(ret != 0, 0))
		return ret;
	wqe = (uint8_t *)hwq_sq_reserve(sq, hwq_umr_n_bb(n + 1));
	if (wqe == NULL)
		return 0;
	len = hwq_put_pattern(hwq_at_ds(wqe, HWQ_UMR_HEAD_DS), repeat, data, n);
	return hwq_wqe_umr_commit(sq, wqe, mkey, access, n + 1, len, flags);
}

#endif
