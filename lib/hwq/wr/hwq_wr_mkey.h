/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Work requests that configure keys: layout, access rights, signatures, encryption. Names and
 * meaning are those of mlx5dv_wr_mkey_configure(3), mlx5dv_wr_set_mkey_sig_block(3) and
 * mlx5dv_wr_set_mkey_crypto(3).
 *
 *     struct mlx5dv_mkey_conf_attr conf = {0};
 *
 *     hwq_wr_start(&wr, sq);
 *     wr.wr_flags = HWQ_WQE_INLINE;                 required: configurations are in the WQE
 *     hwq_wr_mkey_configure(&wr, mkey, 3, &conf);   3 setters follow, in any order
 *     hwq_wr_set_mkey_access_flags(&wr, access);
 *     hwq_wr_set_mkey_layout_list(&wr, n, sge);
 *     hwq_wr_set_mkey_sig_block(&wr, &sig);         the last setter closes the work request
 *     ...                                           the next WQE waits (small fence)
 *     ret = hwq_wr_complete(&wr);
 *
 * An attribute whose setter is not called keeps its value. The work request becomes one UMR and,
 * for a key that signs, one SET_PSV for each domain with a signature: up to 3 WQEs. If the request
 * is signalled, its last WQE makes the CQE. With sq_sig_all, the earlier SET_PSV makes a CQE too,
 * as with libmlx5. All WQEs have the request's wr_id.
 *
 * Errors that hwq_wr_complete() returns:
 *
 *     -EOPNOTSUPP  HWQ_WQE_INLINE is missing; conf_flags or comp_mask are unknown; the variant of
 *                  the key changed, and the key was created without HWQ_MKEY_UPDATE_VARIANT. It
 *                  replaces an earlier error, as in libmlx5
 *     -EINVAL      a setter came twice, without hwq_wr_mkey_configure(), or one too many; setters
 *                  are missing; an attribute is not valid; the key was not created for signatures
 *                  or encryption, or has more than 4 GiB of memory for them; a copy mask for
 *                  domains that differ; more than one data unit for a device that encrypts one at a
 *                  time
 *     -ENOMEM      the key has too few entries; a WQE of the QP is too short for layout and
 *                  attributes; or the ring is full
 *
 * After an error, or after hwq_wr_abort(), the struct of the key has the new attributes, but the
 * device still has the old attributes. Set all attributes with the next configuration, or reset
 * them (mlx5dv_wr_set_mkey_crypto(3), NOTES).
 *
 * The QP needs MLX5DV_QP_EX_WITH_MKEY_CONFIGURE in mlx5_ops, and a max_inline that is large enough
 * for layout and attributes: 16 bytes for each entry, rounded up to 64; 64 for a signature; 64 for
 * encryption; minus 4.
 *
 * Thread: only the thread that owns both the queue's domain and the key's pool calls these
 * functions.
 */
#ifndef HWQ_WR_MKEY_H
#define HWQ_WR_MKEY_H

#include "hwq_bsf.h"
#include "hwq_wr.h"
#include "hwq_wr_key.h"

/* ------------------------------------------------------------------ the WQE while it is open */

static HWQ_INLINE struct mlx5_wqe_umr_ctrl_seg *
hwq_wr_key_umr(const struct hwq_wr *wr)
{
	return (struct mlx5_wqe_umr_ctrl_seg *)hwq_at_ds(wr->wqe, HWQ_UMR_CTRL_DS);
}

static HWQ_INLINE struct mlx5_wqe_mkey_context_seg *
hwq_wr_key_context(const struct hwq_wr *wr)
{
	return (struct mlx5_wqe_mkey_context_seg *)hwq_at_ds(wr->wqe, HWQ_UMR_CONTEXT_DS);
}

/*
 * Makes room for the open WQE to grow to ds units. Its old and its new length are whole WQEBBs.
 * @return false if the ring is full.
 */
static HWQ_INLINE bool
hwq_wr_key_grow(struct hwq_wr *wr, unsigned int ds)
{
	return hwq_wr_make_room(wr, ds / HWQ_DS_PER_BB, wr->ds / HWQ_DS_PER_BB);
}

/*
 * Writes a SET_PSV, which is a separate WQE: it sets the start value of the running signature of a
 * domain.
 */
static HWQ_INLINE void
hwq_wr_set_psv(struct hwq_wr *wr, const struct hwq_psv *psv, const struct hwq_sig_domain *domain,
	bool signalled)
{
	unsigned int flags = wr->wr_flags;
	bool begun;

	if (!signalled)
		wr->wr_flags &= ~(unsigned int)HWQ_WQE_SIGNALED;
	begun = hwq_wr_begin(wr, 0, MLX5_OPCODE_SET_PSV, 0, 1);
	wr->wr_flags = flags;
	if (!begun)
		return;
	hwq_put_set_psv(hwq_at_ds(wr->wqe, 1), psv->index, hwq_sig_transient(domain));
	hwq_wr_end(wr, 2);
	hwq_wr_leave_fence(wr);
}

/* Writes the BSFs of signature and encryption after the layout. @return false on an error. */
static HWQ_INLINE bool
hwq_wr_key_describe(struct hwq_wr *wr, const struct hwq_key_plan *plan)
{
	unsigned int units = (plan->n_sig + plan->n_crypto) * HWQ_BSF_DS;
	int err;

	if (units == 0)
		return true;
	if (!hwq_wr_key_grow(wr, wr->ds + units))
		return false;
	err = hwq_put_key_bsf(hwq_at_ds(wr->wqe, wr->ds), wr->mkey, plan);
	if (err != 0) {
		hwq_wr_fail(wr, err);
		return false;
	}
	hwq_wr_key_umr(wr)->bsf_octowords = htobe16((uint16_t)units);
	wr->ds += units;
	return true;
}

/* Writes the remaining parts of the configuration. All setters have been called. */
static HWQ_INLINE void
hwq_wr_key_finish(struct hwq_wr *wr)
{
	struct hwq_mkey *mkey = wr->mkey;
	const struct hwq_mkey_sig *sig = mkey->sig;
	bool set_psvs = false;

	if (__builtin_expect(sig != NULL || mkey->crypto != NULL, 0)) {
		struct hwq_key_plan plan =
			hwq_key_plan(mkey, (wr->ds - HWQ_UMR_HEAD_DS) * HWQ_DS_LEN,
				wr->sq->wr.max_umr_ds * HWQ_DS_LEN);

		if (plan.err != 0) {
			hwq_wr_fail(wr, plan.err);
			return;
		}
		hwq_wr_key_umr(wr)->mkey_mask |= htobe64(plan.mask);
		hwq_wr_key_context(wr)->flags_pd |= htobe32(plan.flags_pd);
		if (!hwq_wr_key_describe(wr, &plan))
			return;
		set_psvs = plan.set_psvs;
	}
	/* The request completes with its last WQE. So if SET_PSVs follow, the UMR makes no CQE. */
	if (set_psvs)
		wr->wqe[offsetof(struct mlx5_wqe_ctrl_seg, fm_ce_se)] &=
			(uint8_t)~MLX5_WQE_CTRL_CQ_UPDATE;
	hwq_wr_umr_end(wr, wr->ds - HWQ_UMR_HEAD_DS);
	if (!set_psvs)
		return;
	if (sig->block.mem.type != HWQ_SIG_NONE)
		hwq_wr_set_psv(wr, &sig->mem_psv, &sig->block.mem,
			sig->block.wire.type == HWQ_SIG_NONE);
	if (sig->block.wire.type != HWQ_SIG_NONE)
		hwq_wr_set_psv(wr, &sig->wire_psv, &sig->block.wire, true);
}

/* Ends a setter; the last setter ends the configuration. */
static HWQ_INLINE void
hwq_wr_key_set(struct hwq_wr *wr)
{
	if (--wr->setters_left == 0)
		hwq_wr_key_finish(wr);
}

/* @return true if a configuration is open. Otherwise false: the batch has failed. */
static HWQ_INLINE bool
hwq_wr_key_is_open(struct hwq_wr *wr)
{
	if (__builtin_expect(wr->open == HWQ_WR_KEY, 1))
		return true;
	if (wr->err == 0)
		hwq_wr_fail(wr, -EINVAL);
	return false;
}

/* ------------------------------------------------------------------ the builder */

/*
 * libmlx5 reads the configuration even after an earlier error or in a full ring. If it has no
 * setters, an error of the configuration then becomes the batch's error.
 */
static HWQ_INLINE void
hwq_wr_key_go_on(struct hwq_wr *wr, struct hwq_mkey *mkey, uint8_t num_setters)
{
	struct hwq_key_plan plan;
	uint8_t bsf[2 * HWQ_BSF_LEN];

	if (num_setters != 0)
		return;
	plan = hwq_key_plan(mkey, 0, wr->sq->wr.max_umr_ds * HWQ_DS_LEN);
	if (plan.err == 0)
		plan.err = hwq_put_key_bsf(bsf, mkey, &plan);
	if (plan.err != 0 && !wr->sq->wr.not_rts)
		wr->err = plan.err;
}

/**
 * Begins to configure a key (mlx5dv_wr_mkey_configure(3)): opens a UMR. The setters below follow,
 * each at most once. For errors see the top of this file.
 * @param wr The batch.
 * @param mkey The key; it must stay until the work request has completed.
 * @param num_setters Number of setters that follow. If 0, the configuration ends with this call,
 *   and consists of attr alone.
 * @param attr Flags of the configuration, read during the call; -EOPNOTSUPP if conf_flags or
 * comp_mask are unknown.
 */
static HWQ_INLINE void
hwq_wr_mkey_configure(struct hwq_wr *wr, struct hwq_mkey *mkey, uint8_t num_setters,
	const struct mlx5dv_mkey_conf_attr *attr)
{
	bool begun;

	if ((wr->wr_flags & HWQ_WQE_INLINE) == 0 || attr->comp_mask != 0 ||
		(attr->conf_flags & ~(uint32_t)MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR) != 0) {
		hwq_wr_umr_fail(wr, -EOPNOTSUPP);
		return;
	}
	begun = hwq_wr_umr_begin(wr, mkey->lkey, 0);
	if ((mkey->lkey & 0xff) != 0 && (mkey->flags & HWQ_MKEY_UPDATE_VARIANT) == 0) {
		hwq_wr_umr_fail(wr, -EOPNOTSUPP);
		return;
	}
	hwq_key_begin(mkey, (attr->conf_flags & MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR) != 0);
	if (!begun) {
		hwq_wr_key_go_on(wr, mkey, num_setters);
		return;
	}
	hwq_put_umr_head(wr->wqe, MLX5_WQE_UMR_CTRL_FLAG_INLINE, 0,
		MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE | MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY, 0, 0,
		0xffffff00 | (mkey->lkey & 0xff), 0, 0);
	wr->ds = HWQ_UMR_HEAD_DS;
	wr->mkey = mkey;
	wr->open = HWQ_WR_KEY;
	wr->setters_left = num_setters;
	if (num_setters == 0)
		hwq_wr_key_finish(wr);
}

/* ------------------------------------------------------------------ setters */

/**
 * Sets who may use the key (mlx5dv_wr_set_mkey_access_flags(3)). The flags replace the old flags.
 * The error is -EINVAL if a flag is not in HWQ_UMR_ACCESS_ALL.
 * @param wr The batch.
 * @param access_flags Who may use the key: flags out of HWQ_UMR_ACCESS_ALL.
 */
static HWQ_INLINE void
hwq_wr_set_mkey_access_flags(struct hwq_wr *wr, uint32_t access_flags)
{
	struct mlx5_wqe_umr_ctrl_seg *umr;

	if (!hwq_wr_key_is_open(wr))
		return;
	umr = hwq_wr_key_umr(wr);
	if ((access_flags & ~HWQ_UMR_ACCESS_ALL) != 0 ||
		(umr->mkey_mask & htobe64(HWQ_UMR_MASK_ACCESS)) != 0) {
		hwq_wr_fail(wr, -EINVAL);
		return;
	}
	umr->mkey_mask |= htobe64(HWQ_UMR_MASK_ACCESS);
	hwq_wr_key_context(wr)->access_flags = hwq_umr_access(access_flags);
	hwq_wr_key_set(wr);
}

/*
 * @return true if a layout of n entries, in `units` units without padding, fits into the key and
 * the WQE; then there is room for it.
 */
static HWQ_INLINE bool
hwq_wr_layout_room(struct hwq_wr *wr, unsigned int n, unsigned int units)
{
	if (!hwq_wr_key_is_open(wr))
		return false;
	if (units > wr->sq->wr.max_umr_ds || n > wr->mkey->max_entries) {
		hwq_wr_fail(wr, -ENOMEM);
		return false;
	}
	/* A list without entries does not count as a layout: another layout may follow. */
	if (hwq_wr_key_umr(wr)->klm_octowords != 0) {
		hwq_wr_fail(wr, -EINVAL);
		return false;
	}
	return hwq_wr_key_grow(wr, HWQ_UMR_HEAD_DS + hwq_umr_pad(units));
}

static HWQ_INLINE void
hwq_wr_layout_set(struct hwq_wr *wr, unsigned int units, uint64_t len)
{
	struct mlx5_wqe_umr_ctrl_seg *umr = hwq_wr_key_umr(wr);

	umr->klm_octowords = htobe16((uint16_t)hwq_umr_pad(units));
	umr->mkey_mask |= htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN);
	hwq_wr_key_context(wr)->len = htobe64(len);
	wr->mkey->length = len;
	wr->ds = HWQ_UMR_HEAD_DS + hwq_umr_pad(units);
	hwq_wr_key_set(wr);
}

/**
 * Gives the key a list as its layout: num_sges pieces, one after the other
 * (mlx5dv_wr_set_mkey_layout_list(3)). Writes one entry of 16 bytes for each piece. The error is
 * -EINVAL if the configuration has a layout already. The error is -ENOMEM if there are more pieces
 * than the key has entries, or than a WQE of the QP has room for.
 * @param wr The batch.
 * @param num_sges Number of pieces.
 * @param sge The pieces, read during the call.
 */
static HWQ_INLINE void
hwq_wr_set_mkey_layout_list(struct hwq_wr *wr, uint16_t num_sges, const struct hwq_sge *sge)
{
	uint64_t len;

	if (!hwq_wr_layout_room(wr, num_sges, num_sges))
		return;
	len = hwq_put_klm_list(hwq_at_ds(wr->wqe, HWQ_UMR_HEAD_DS), sge, num_sges);
	hwq_wr_layout_set(wr, num_sges, len);
}

/**
 * Gives the key a pattern as its layout (mlx5dv_wr_set_mkey_layout_interleaved(3)), as
 * hwq_wr_mr_interleaved() of hwq_wr_umr.h does. Writes num_interleaved + 1 entries of 16 bytes. The
 * error is -EINVAL if the configuration has a layout already. The error is -ENOMEM if there are
 * more entries than the key has, or than a WQE of the QP has room for.
 * @param wr The batch.
 * @param repeat_count Number of rounds.
 * @param num_interleaved Number of entries in a round.
 * @param data The entries, read during the call.
 */
static HWQ_INLINE void
hwq_wr_set_mkey_layout_interleaved(struct hwq_wr *wr, uint32_t repeat_count,
	uint16_t num_interleaved, const struct mlx5dv_mr_interleaved *data)
{
	unsigned int units = num_interleaved + 1u;
	uint64_t len;

	if (!hwq_wr_layout_room(wr, num_interleaved, units))
		return;
	len = hwq_put_pattern(hwq_at_ds(wr->wqe, HWQ_UMR_HEAD_DS), repeat_count, data,
		num_interleaved);
	hwq_wr_layout_set(wr, units, len);
}

/**
 * Signs blocks in memory, on the wire, or both (mlx5dv_wr_set_mkey_sig_block(3)). Writes a BSF of
 * 64 bytes; SET_PSVs follow the UMR. hwq_mkey_check() reports wrong signatures. The error is
 * -EINVAL if the key was created without HWQ_MKEY_SIG, or if attr is not valid.
 * @param wr The batch.
 * @param attr Read during the call, with the memory that it points to.
 */
static HWQ_INLINE void
hwq_wr_set_mkey_sig_block(struct hwq_wr *wr, const struct mlx5dv_sig_block_attr *attr)
{
	if (!hwq_wr_key_is_open(wr))
		return;
	if (wr->mkey->sig == NULL || !hwq_sig_take(&wr->mkey->sig->block, attr)) {
		hwq_wr_fail(wr, -EINVAL);
		return;
	}
	hwq_wr_key_set(wr);
}

/**
 * Encrypts data units when the device sends or receives them (mlx5dv_wr_set_mkey_crypto(3)). Writes
 * a BSF of 64 bytes. The error is -EINVAL if the key was created without HWQ_MKEY_CRYPTO, or if
 * attr is not valid.
 * @param wr The batch.
 * @param attr Read during the call.
 */
static HWQ_INLINE void
hwq_wr_set_mkey_crypto(struct hwq_wr *wr, const struct hwq_crypto_attr *attr)
{
	if (!hwq_wr_key_is_open(wr))
		return;
	if (wr->mkey->crypto == NULL || !hwq_crypto_take(wr->mkey->crypto, attr)) {
		hwq_wr_fail(wr, -EINVAL);
		return;
	}
	hwq_wr_key_set(wr);
}

#endif
