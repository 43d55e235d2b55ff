/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Work requests that configure keys: layout, rights, signatures, encryption, by the names and the
 * meaning of mlx5dv_wr_mkey_configure(3), mlx5dv_wr_set_mkey_sig_block(3) and
 * mlx5dv_wr_set_mkey_crypto(3).
 *
 *     struct mlx5dv_mkey_conf_attr conf = {0};
 *
 *     hwq_wr_start(&wr, sq);
 *     wr.wr_flags = HWQ_WQE_INLINE;                 configurations travel in the WQE: no other way
 *     hwq_wr_mkey_configure(&wr, mkey, 3, &conf);   3 setters follow, in any order
 *     hwq_wr_set_mkey_access_flags(&wr, access);
 *     hwq_wr_set_mkey_layout_list(&wr, n, sge);
 *     hwq_wr_set_mkey_sig_block(&wr, &sig);         the last one closes the work request
 *     ...                                           WQEs behind wait for it: small fence
 *     ret = hwq_wr_complete(&wr);
 *
 * What a setter does not say stays as it is with the key. One UMR, and for a key that signs one
 * SET_PSV for each domain with a signature: up to 3 WQEs of the ring, of which the last is
 * signalled, if the request is; with sq_sig_all the SET_PSV before it makes a CQE too, as with
 * libmlx5. All carry the request's wr_id.
 *
 * Errors, out of hwq_wr_complete():
 *   -EOPNOTSUPP  no HWQ_WQE_INLINE, unknown conf_flags or comp_mask, the variant of a key changed
 *   that
 *                is not of HWQ_MKEY_UPDATE_VARIANT: also after an earlier error, as libmlx5
 *   -EINVAL      a setter twice, one too many, or without hwq_wr_mkey_configure(); too few of them;
 *                attributes that are not valid; signatures or encryption for a key that was not
 *                created for them, or over more than 4 GiB; a copy mask for domains that differ;
 *                more than one data unit for an engine that takes one
 *   -ENOMEM      more entries than the key, or more of all than a WQE of the QP, has room for; or a
 *                full ring
 *
 * After an error, or hwq_wr_abort(), the key has the attributes that its setters gave it, and the
 * device has those from before. Say all of them with the next configuration, or reset them
 * (mlx5dv_wr_set_mkey_crypto(3), NOTES).
 *
 * The QP is created for it: MLX5DV_QP_EX_WITH_MKEY_CONFIGURE in mlx5_ops; max_inline holds layout
 * and descriptions: 16 bytes for each entry, rounded up to 64, 64 for a signature, 64 for
 * encryption, less 4 in all.
 *
 * Thread: the owner of the queue's domain and of the key's pool, and no other.
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

/* Room for the open WQE to become one of ds units. Both are whole WQEBBs. False: full. */
static HWQ_INLINE bool
hwq_wr_key_grow(struct hwq_wr *wr, unsigned int ds)
{
	return hwq_wr_make_room(wr, ds / HWQ_DS_PER_BB, wr->ds / HWQ_DS_PER_BB);
}

/* Sets what the running signature of a domain starts with; a WQE of its own. */
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

/* Descriptions behind the layout. False: an error. */
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

/* All setters are there. */
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
	/* The key is ready when the last WQE is. */
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

/* A setter has done its part. */
static HWQ_INLINE void
hwq_wr_key_set(struct hwq_wr *wr)
{
	if (--wr->setters_left == 0)
		hwq_wr_key_finish(wr);
}

/* False: there is nothing to set. */
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
 * Where an error came before, or the ring is full, libmlx5 goes on with the key, and what is wrong
 * with a configuration without setters is then the batch's error.
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
 * Begins to configure a key (mlx5dv_wr_mkey_configure(3)). Setters below follow, each at most once.
 * @param wr The batch.
 * @param mkey Must stay until the work request has completed.
 * @param num_setters How many setters follow. 0: the configuration ends here, and only attr has an
 *   effect.
 * @param attr Read during the call.
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
 * Sets who may use the key (mlx5dv_wr_set_mkey_access_flags(3)): flags out of HWQ_UMR_ACCESS_ALL,
 * which replace those from before.
 * @param wr The batch.
 * @param access_flags Who may use the key, out of HWQ_UMR_ACCESS_ALL.
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

/* Whether the layout of n entries in units units, unpadded, fits; then there is room for it. */
static HWQ_INLINE bool
hwq_wr_layout_room(struct hwq_wr *wr, unsigned int n, unsigned int units)
{
	if (!hwq_wr_key_is_open(wr))
		return false;
	if (units > wr->sq->wr.max_umr_ds || n > wr->mkey->max_entries) {
		hwq_wr_fail(wr, -ENOMEM);
		return false;
	}
	/* A list of nothing is none, and may be followed by another layout. */
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
 * Lays the key out as a list of num_sges pieces, one after the other
 * (mlx5dv_wr_set_mkey_layout_list(3)). sge is read during the call. A configuration has at most one
 * layout setter.
 * @param wr The batch.
 * @param num_sges How many pieces.
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
 * Lays the key out as a pattern (mlx5dv_wr_set_mkey_layout_interleaved(3)), as
 * hwq_wr_mr_interleaved() of hwq_wr_umr.h does. data is read during the call. A configuration has
 * at most one layout setter.
 * @param wr The batch.
 * @param repeat_count How many rounds.
 * @param num_interleaved How many entries.
 * @param data Read during the call.
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
 * Signs blocks, in memory, on the wire, or both (mlx5dv_wr_set_mkey_sig_block(3)). For keys of
 * HWQ_MKEY_SIG. attr, and what it points to, is read during the call. hwq_mkey_check() tells of
 * wrong signatures.
 * @param wr The batch.
 * @param attr Read during the call, as all that it points to.
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
 * Encrypts data units on their way out or in (mlx5dv_wr_set_mkey_crypto(3)). For keys of
 * HWQ_MKEY_CRYPTO. attr is read during the call.
 * @param wr The batch.
 * @param attr Read during the call, as all that it points to.
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
