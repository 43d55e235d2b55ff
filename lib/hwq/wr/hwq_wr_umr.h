/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Work requests that change keys: memory windows, and layouts of indirect keys. Names and meaning
 * are those of ibv_wr_post(3) and mlx5dv_wr_post(3).
 *
 *     hwq_wr_start(&wr, sq);
 *     wr.wr_flags = HWQ_WQE_INLINE;                  required: layouts are in the WQE
 *     hwq_wr_mr_list(&wr, mkey, access, n, sge);     the key's memory is now these pieces
 *     wr.wr_flags = HWQ_WQE_SIGNALED;
 *     hwq_wr_rdma_write(&wr, rkey, raddr);           waits for the UMR (small fence)
 *     hwq_wr_set_sge(&wr, mkey->lkey, 0, len);       address 0: the key's first byte
 *     ret = hwq_wr_complete(&wr);
 *
 * The builders take no setters. Errors that hwq_wr_complete() returns:
 *
 *     -EOPNOTSUPP  a layout without HWQ_WQE_INLINE, or for a key whose variant changed and that was
 *                  created without HWQ_MKEY_UPDATE_VARIANT: both replace an earlier error, as in
 *                  libmlx5. Or a window of more than 2 GiB
 *     -EINVAL      access flags that are not in HWQ_UMR_ACCESS_ALL
 *     -ENOMEM      more entries than the key or a WQE of the QP has room for; or the ring is full
 *
 * The QP needs IBV_QP_EX_WITH_BIND_MW in send_ops, or MLX5DV_QP_EX_WITH_MR_LIST or
 * MLX5DV_QP_EX_WITH_MR_INTERLEAVED in mlx5_ops. A layout of more than four units of 16 bytes also
 * needs a larger max_inline.
 *
 * Thread: only the thread that owns both the queue's domain and the key's pool calls these
 * functions.
 */
#ifndef HWQ_WR_UMR_H
#define HWQ_WR_UMR_H

#include "hwq_wr.h"
#include "hwq_wr_mkey.h"

/* ------------------------------------------------------------------ memory windows */

/**
 * Binds a memory window to a part of a region, or unbinds it if the length is 0
 * (ibv_wr_bind_mw(3)); takes no setter. Writes a UMR. Like libmlx5, it binds the window as type 2,
 * even if mw has another type. HWQ_WQE_INLINE is not needed.
 * @param wr The batch.
 * @param mw The memory window.
 * @param rkey The window's new key; its variant may differ from the variant of mw->rkey
 *   (ibv_inc_rkey(3)).
 * @param bind_info Read during the call; its length is in bytes; -EOPNOTSUPP if it is more than 2
 *   GiB.
 */
static HWQ_INLINE void
hwq_wr_bind_mw(struct hwq_wr *wr, const struct ibv_mw *mw, uint32_t rkey,
	const struct ibv_mw_bind_info *bind_info)
{
	uint64_t len = bind_info->length;
	unsigned int units = len != 0 ? HWQ_DS_PER_BB : 0;
	uint64_t mask = MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE | MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY |
			MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN;
	uint8_t flags = MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET | MLX5_WQE_UMR_CTRL_FLAG_INLINE;

	if (!hwq_wr_umr_begin(wr, mw->rkey, units))
		return;
	if (len == 0) {
		hwq_put_umr_head(wr->wqe, flags | MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN, 0, mask,
			MLX5_WQE_MKEY_CONTEXT_FREE, 0, 0xffffff00 | (rkey & 0xff), 0, 0);
	} else if (__builtin_expect(len > HWQ_UMR_WINDOW_MAX, 0)) {
		hwq_wr_fail(wr, -EOPNOTSUPP);
		return;
	} else {
		struct hwq_sge sge = {bind_info->addr, (uint32_t)len, bind_info->mr->lkey};
		bool from_0 = (bind_info->mw_access_flags & IBV_ACCESS_ZERO_BASED) != 0;

		mask |= MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN | MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR |
			HWQ_UMR_MASK_ACCESS;
		hwq_put_umr_head(wr->wqe, flags | MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE, units, mask, 0,
			hwq_umr_access(bind_info->mw_access_flags),
			wr->sq->qpn_shifted | (rkey & 0xff), from_0 ? 0 : bind_info->addr, len);
		hwq_put_klm_list(hwq_at_ds(wr->wqe, HWQ_UMR_HEAD_DS), &sge, 1);
	}
	hwq_wr_umr_end(wr, units);
}

/* ------------------------------------------------------------------ layouts */

/* A QP that was created for layouts has room for at least four units. */
static HWQ_INLINE bool
hwq_umr_fits(const struct hwq_sq *sq, unsigned int units)
{
	return (__builtin_constant_p(units) && units <= HWQ_DS_PER_BB) ||
	       units <= sq->wr.max_umr_ds;
}

/*
 * @return true for the common case of a layout of n entries, in `units` units without padding: the
 * layout is allowed and without FENCE, and its key has variant 0 and neither signs nor encrypts.
 */
static HWQ_INLINE bool
hwq_wr_umr_is_plain(const struct hwq_wr *wr, const struct hwq_mkey *mkey, unsigned int access,
	unsigned int n, unsigned int units)
{
	/* True if INLINE is set, FENCE is not set, and no flag above INLINE is set. */
	return wr->wr_flags - HWQ_WQE_INLINE < HWQ_WQE_FENCE &&
	       (access & ~HWQ_UMR_ACCESS_ALL) == 0 && hwq_umr_fits(wr->sq, units) &&
	       n < mkey->plain_end;
}

/* @return 0, or the reason why the layout is refused: libmlx5's errors, in libmlx5's order. */
static __attribute__((noinline, cold, unused)) int
hwq_umr_refusal(const struct hwq_sq *sq, const struct hwq_mkey *mkey, unsigned int flags,
	unsigned int access, unsigned int n, unsigned int units)
{
	bool changed = (mkey->lkey & 0xff) != 0;

	if ((flags & HWQ_WQE_INLINE) == 0)
		return -EOPNOTSUPP;
	if (changed && (mkey->flags & HWQ_MKEY_UPDATE_VARIANT) == 0)
		return -EOPNOTSUPP;
	if ((access & ~HWQ_UMR_ACCESS_ALL) != 0)
		return -EINVAL;
	if (units > sq->wr.max_umr_ds || n > mkey->max_entries)
		return -ENOMEM;
	return 0;
}

/* The next two functions write layouts. Callers pass variant 0 as a constant, or any variant. */
static HWQ_INLINE void
hwq_wr_put_list(struct hwq_wr *wr, const struct hwq_mkey *mkey, uint8_t variant, uint32_t fence,
	unsigned int access, unsigned int n, const struct hwq_sge *sge)
{
	unsigned int units = hwq_umr_pad(n);
	uint64_t len;

	if (!hwq_wr_umr_begin_fenced(wr, mkey->lkey, units, fence))
		return;
	len = hwq_put_klm_list(hwq_at_ds(wr->wqe, HWQ_UMR_HEAD_DS), sge, n);
	hwq_put_layout_head(wr->wqe, variant, access, units, len);
	hwq_wr_umr_end(wr, units);
}

static HWQ_INLINE void
hwq_wr_put_pattern(struct hwq_wr *wr, const struct hwq_mkey *mkey, uint8_t variant, uint32_t fence,
	unsigned int access, uint32_t repeat, unsigned int n,
	const struct mlx5dv_mr_interleaved *data)
{
	unsigned int units = hwq_umr_pad(n + 1);
	uint64_t len;

	if (!hwq_wr_umr_begin_fenced(wr, mkey->lkey, units, fence))
		return;
	len = hwq_put_pattern(hwq_at_ds(wr->wqe, HWQ_UMR_HEAD_DS), repeat, data, n);
	hwq_put_layout_head(wr->wqe, variant, access, units, len);
	hwq_wr_umr_end(wr, units);
}

/* Checks a layout outside the common case. @return false if the batch has failed. */
static HWQ_INLINE bool
hwq_wr_layout_is_good(struct hwq_wr *wr, const struct hwq_mkey *mkey, unsigned int access,
	unsigned int n, unsigned int units)
{
	int err = hwq_umr_refusal(wr->sq, mkey, wr->wr_flags, access, n, units);

	if (err != 0)
		hwq_wr_umr_fail(wr, err);
	return err == 0;
}

/* @return true if the key signs or encrypts; then the UMR must contain that state too. */
static HWQ_INLINE bool
hwq_wr_key_is_special(const struct hwq_mkey *mkey)
{
	return (mkey->flags & (HWQ_MKEY_SIG | HWQ_MKEY_CRYPTO)) != 0;
}

/*
 * Writes a layout of a key that signs or encrypts. It is not inlined, and works on a copy of the
 * handle, so that the caller's handle can stay in registers.
 */
static __attribute__((noinline, cold, unused)) void
hwq_wr_special(struct hwq_wr *wr, struct hwq_mkey *mkey, uint32_t access_flags, bool is_list,
	uint16_t n, const struct hwq_sge *sge, uint32_t repeat_count,
	const struct mlx5dv_mr_interleaved *data)
{
	struct mlx5dv_mkey_conf_attr attr;

	memset(&attr, 0, sizeof(attr));
	hwq_wr_mkey_configure(wr, mkey, 2, &attr);
	hwq_wr_set_mkey_access_flags(wr, access_flags);
	if (is_list)
		hwq_wr_set_mkey_layout_list(wr, n, sge);
	else
		hwq_wr_set_mkey_layout_interleaved(wr, repeat_count, n, data);
}

static HWQ_INLINE void
hwq_wr_special_layout(struct hwq_wr *wr, struct hwq_mkey *mkey, uint32_t access_flags, bool is_list,
	uint16_t n, const struct hwq_sge *sge, uint32_t repeat_count,
	const struct mlx5dv_mr_interleaved *data)
{
	struct hwq_wr copy = *wr;

	hwq_wr_special(&copy, mkey, access_flags, is_list, n, sge, repeat_count, data);
	/*
	 * Copy back only the fields that changed: the compiler still knows the values of the other
	 * fields.
	 */
	wr->at = copy.at;
	wr->end = copy.at;
	wr->index_qpn = copy.index_qpn;
	wr->wqe = copy.wqe;
	wr->err = copy.err;
	wr->open = HWQ_WR_CLOSED;
	hwq_wr_set_fence(wr, MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE);
	wr->is_umr = true;
}

/**
 * Gives the key a list as its layout: num_sge pieces of memory, one after the other
 * (mlx5dv_wr_mr_list(3)). Writes a UMR with one entry for each piece; takes no setter. For errors
 * see the top of this file.
 * @param wr The batch.
 * @param mkey The key; it must stay until the work request has completed.
 * @param access_flags Who may use the key: flags out of HWQ_UMR_ACCESS_ALL.
 * @param num_sge Number of pieces.
 * @param sge The pieces, read during the call; lengths are bytes. A piece may be memory of another
 * indirect key.
 */
static HWQ_INLINE void
hwq_wr_mr_list(struct hwq_wr *wr, struct hwq_mkey *mkey, uint32_t access_flags, uint16_t num_sge,
	const struct hwq_sge *sge)
{
	hwq_wr_umr_expect(wr);
	if (__builtin_expect(hwq_wr_umr_is_plain(wr, mkey, access_flags, num_sge, num_sge), 1)) {
		/* Four entries fill a WQEBB; separate code makes this case cheaper. */
		if (num_sge == HWQ_DS_PER_BB)
			hwq_wr_put_list(wr, mkey, 0, wr->umr_fence, access_flags, HWQ_DS_PER_BB,
				sge);
		else
			hwq_wr_put_list(wr, mkey, 0, wr->umr_fence, access_flags, num_sge, sge);
	} else if (hwq_wr_key_is_special(mkey))
		hwq_wr_special_layout(wr, mkey, access_flags, true, num_sge, sge, 0, NULL);
	else if (hwq_wr_layout_is_good(wr, mkey, access_flags, num_sge, num_sge))
		hwq_wr_put_list(wr, mkey, mkey->lkey & 0xff, hwq_wr_umr_fence(wr), access_flags,
			num_sge, sge);
}

/**
 * Gives the key a pattern as its layout (mlx5dv_wr_mr_interleaved(3)): a round takes bytes_count
 * bytes of each entry, in order. In the next round, the bytes of each entry begin bytes_count +
 * bytes_skip bytes later. There are repeat_count rounds. Writes a UMR; takes no setter. For errors
 * see the top of this file.
 * @param wr The batch.
 * @param mkey As hwq_wr_mr_list().
 * @param access_flags As hwq_wr_mr_list().
 * @param repeat_count Number of rounds.
 * @param num_interleaved Number of entries; the pattern takes one entry more of the key, and of the
 *   WQE.
 * @param data The entries, read during the call.
 */
static HWQ_INLINE void
hwq_wr_mr_interleaved(struct hwq_wr *wr, struct hwq_mkey *mkey, uint32_t access_flags,
	uint32_t repeat_count, uint16_t num_interleaved, const struct mlx5dv_mr_interleaved *data)
{
	unsigned int units = num_interleaved + 1u;

	hwq_wr_umr_expect(wr);
	if (__builtin_expect(hwq_wr_umr_is_plain(wr, mkey, access_flags, num_interleaved, units),
		    1))
		hwq_wr_put_pattern(wr, mkey, 0, wr->umr_fence, access_flags, repeat_count,
			num_interleaved, data);
	else if (hwq_wr_key_is_special(mkey))
		hwq_wr_special_layout(wr, mkey, access_flags, false, num_interleaved, NULL,
			repeat_count, data);
	else if (hwq_wr_layout_is_good(wr, mkey, access_flags, num_interleaved, units))
		hwq_wr_put_pattern(wr, mkey, mkey->lkey & 0xff, hwq_wr_umr_fence(wr), access_flags,
			repeat_count, num_interleaved, data);
}

#endif
