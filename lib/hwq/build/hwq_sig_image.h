/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Prepared configurations of keys that sign: the UMR with its BSF, and the SET_PSV of each domain
 * with a signature. The image holds what is equal in all postings; each posting adds memory, tags
 * and seeds.
 *
 *     struct hwq_sig_image image;                                  the caller's
 *     struct hwq_sig_tags tags = {.ref_tag = lba, .app_tag = 7};
 *
 *     ret = hwq_sig_image_init(&image, caps, access, &sig);        once
 *     ...
 *     hwq_wqe_sig_list(sq, mkey, &image, n, sge, &tags, &tags, 0); UMR and SET_PSVs, or nothing
 *     hwq_wqe_rdma_write(..., mkey->lkey, 0, len, flags | HWQ_WQE_AFTER_UMR);
 *
 * The bytes are those of hwq_wr_mkey_configure() with hwq_wr_set_mkey_access_flags(), a layout and
 * hwq_wr_set_mkey_sig_block(), in a separate batch. wr_ids are not stored. The next WQE waits for
 * the configuration only if its flags have HWQ_WQE_AFTER_UMR; libmlx5 always sets that bit in the
 * next WQE.
 *
 * The struct of the key stores the attributes, as hwq_wr_set_mkey_sig_block() does. So
 * hwq_mkey_check() works, and a key may be configured alternately by images and by
 * hwq_wr_mkey_configure(). Posting only reads the image; after the call the image may be changed or
 * freed.
 *
 * The builders return the same values as the builders of hwq_wqe.h: a number above 0 is the WQEBBs
 * of all WQEs; 0 means that the ring has no room for all WQEs. After 0 or an error nothing is
 * written, and the key is unchanged. Errors:
 *
 *     -EINVAL      the key was created without HWQ_MKEY_SIG, or it encrypts; more than 4 GiB - 1
 *                  bytes; or the ring is so short that the WQEs may not fit even when it is empty
 *     -ENOMEM      more entries than the key or a WQE has room for
 *     -EOPNOTSUPP  the key's variant (low byte) is not 0, and the key was created without
 *                  HWQ_MKEY_UPDATE_VARIANT
 *
 * The QP need not be created with MLX5DV_QP_EX_WITH_MKEY_CONFIGURE. Its ring must be long enough.
 *
 * Thread: any thread may call hwq_sig_image_init(). Only the thread that owns both the queue's
 * domain and the key's pool calls the builders. Several threads may post one image.
 */
#ifndef HWQ_SIG_IMAGE_H
#define HWQ_SIG_IMAGE_H

#include "hwq_bsf.h"
#include "hwq_burst.h"
#include "hwq_wqe_umr.h"

/** The values for a domain's signature that each posting gives. */
struct hwq_sig_tags {
	uint32_t ref_tag; /**< T10-DIF: the reference tag of the first block */
	uint16_t app_tag; /**< T10-DIF: the application tag */
	bool seed_ones;   /**< the guard starts with all ones, not with 0 */
	uint8_t zero;     /**< must be 0 */
};
static_assert(offsetof(struct hwq_sig_tags, app_tag) == 4 &&
		      offsetof(struct hwq_sig_tags, seed_ones) == 6 &&
		      offsetof(struct hwq_sig_tags, zero) == 7 && sizeof(struct hwq_sig_tags) == 8,
	"hwq_sig_word() takes all at once");

/** A prepared configuration. Written by hwq_sig_image_init(). */
struct hwq_sig_image {
	struct hwq_wire_sig_bsf bsf; /**< signature BSF without PSVs, tags and seeds */
	/**
	 * First bytes of the UMR control segment, for a layout of four units. Posting adds the
	 * number of the key's errors that the program has read.
	 */
	__be64 umr[2];
	__be64 context[2]; /**< first bytes of the key context, without the key's low byte */
	/** the attributes that the key stores; their tags and seeds are 0 */
	struct hwq_sig_block block;
	uint8_t n_bb; /**< WQEBBs of the WQEs, with a layout of four units */
	/**
	 * T10-DIF: bytes that are equal in both domains are copied unchanged. Posting clears the
	 * bits of bsf.wire (a copy mask) whose tags or seeds differ.
	 */
	bool copies_alike;
};

/* ------------------------------------------------------------------ preparing */

/* @return true if the device can sign blocks as the domain requires. */
static inline bool
hwq_sig_domain_is_possible(const struct hwq_dev_caps *caps, const struct hwq_sig_domain *domain)
{
	switch (domain->type) {
	case HWQ_SIG_NONE:
		return true;
	case HWQ_SIG_T10DIF:
		return (caps->sig_block_prot & MLX5DV_SIG_PROT_CAP_T10DIF) != 0 &&
		       (caps->sig_block_size >> domain->block_size & 1) != 0 &&
		       (caps->sig_t10dif_bg >> domain->dif.bg_type & 1) != 0;
	default:
		return (caps->sig_block_prot & MLX5DV_SIG_PROT_CAP_CRC) != 0 &&
		       (caps->sig_block_size >> domain->block_size & 1) != 0 &&
		       (caps->sig_crc_type >> domain->crc.type & 1) != 0;
	}
}

static inline void
hwq_sig_domain_clear_tags(struct hwq_sig_domain *domain)
{
	if (domain->type == HWQ_SIG_CRC) {
		domain->crc.seed = 0;
	} else if (domain->type == HWQ_SIG_T10DIF) {
		domain->dif.bg = 0;
		domain->dif.app_tag = 0;
		domain->dif.ref_tag = 0;
	}
}

/*
 * Stores the attributes without tags and seeds, and writes their BSF. @return as
 * hwq_sig_image_init().
 */
static inline int
hwq_sig_image_take(struct hwq_sig_image *image, const struct hwq_dev_caps *caps,
	const struct mlx5dv_sig_block_attr *attr, bool with_crypto)
{
	struct hwq_mkey_sig sig;
	uint8_t copy_mask;
	int ret;

	memset(&sig, 0, sizeof(sig));
	if (!hwq_sig_take(&sig.block, attr))
		return -EINVAL;
	hwq_sig_domain_clear_tags(&sig.block.mem);
	hwq_sig_domain_clear_tags(&sig.block.wire);
	ret = hwq_put_sig_bsf(&image->bsf, &sig, with_crypto);
	if (ret != 0)
		return ret;
	if (!hwq_sig_domain_is_possible(caps, &sig.block.mem) ||
		!hwq_sig_domain_is_possible(caps, &sig.block.wire))
		return -EOPNOTSUPP;
	image->block = sig.block;
	image->copies_alike = sig.block.wire.type == HWQ_SIG_T10DIF &&
			      (sig.block.flags & MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK) == 0 &&
			      hwq_sig_same(&sig.block.mem, &sig.block.wire, &copy_mask);
	return 0;
}

/* Prepares the first bytes of the UMR, whose BSFs have bsf_ds units. */
static inline int
hwq_sig_image_head(struct hwq_sig_image *image, uint32_t access_flags, unsigned int bsf_ds)
{
	if ((access_flags & ~HWQ_UMR_ACCESS_ALL) != 0)
		return -EINVAL;
	image->umr[0] = htobe64(
		(uint64_t)MLX5_WQE_UMR_CTRL_FLAG_INLINE << 56 | HWQ_DS_PER_BB << 16 | bsf_ds);
	image->umr[1] = htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE |
				MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY | MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN |
				HWQ_UMR_MASK_ACCESS | MLX5_WQE_UMR_CTRL_MKEY_MASK_BSF_ENABLE);
	image->context[0] = htobe64((uint64_t)hwq_umr_access(access_flags) << 40 | 0xffffff00);
	image->context[1] = htobe64(HWQ_MKC_BSF_ENABLE);
	image->n_bb = (uint8_t)((HWQ_UMR_HEAD_DS + HWQ_DS_PER_BB + bsf_ds) / HWQ_DS_PER_BB +
				(image->block.mem.type != HWQ_SIG_NONE) +
				(image->block.wire.type != HWQ_SIG_NONE));
	return 0;
}

/**
 * Prepares a configuration.
 *
 * @param image
 *   The caller's storage; it need not be freed.
 * @param caps
 *   hwq_dev_caps() of the keys' device.
 * @param access_flags
 *   Who may use the key: flags out of HWQ_UMR_ACCESS_ALL.
 * @param attr Read during the call, with the memory that it points to. Its tags and seeds must be
 *   valid, but have no effect.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   A flag is not in HWQ_UMR_ACCESS_ALL, or hwq_wr_set_mkey_sig_block() and hwq_wr_complete()
 *   refuse the attributes.
 * @retval -EOPNOTSUPP
 *   The device does not support these signatures or blocks. After an error the image must not be
 *   used.
 */
static inline int
hwq_sig_image_init(struct hwq_sig_image *image, const struct hwq_dev_caps *caps,
	uint32_t access_flags, const struct mlx5dv_sig_block_attr *attr)
{
	int ret = hwq_sig_image_take(image, caps, attr, false);

	return ret != 0 ? ret : hwq_sig_image_head(image, access_flags, HWQ_BSF_DS);
}

/* ------------------------------------------------------------------ posting */

/**
 * @param image The image.
 * @param units DS units of the layout.
 * @return WQEBBs of a configuration whose layout has @p units 16-byte units: one unit for each
 *   entry, and one more for a pattern. The WQEBBs are contiguous, so NOPs may have to fill the
 *   ring's end. The NOPs have fewer WQEBBs than the configuration.
 */
static HWQ_INLINE unsigned int
hwq_sig_image_n_bb(const struct hwq_sig_image *image, unsigned int units)
{
	return image->n_bb + hwq_umr_pad(units) / HWQ_DS_PER_BB - 1;
}

/*
 * Checks what an image of any kind requires of the key and the ring. The layout has n entries,
 * which take `units` units of 16 bytes. The BSFs take bsf_ds such units. All WQEs together take
 * n_bb WQEBBs.
 */
static HWQ_INLINE int
hwq_image_check(const struct hwq_sq *sq, const struct hwq_mkey *mkey, unsigned int n,
	unsigned int units, unsigned int bsf_ds, unsigned int n_bb)
{
	if ((mkey->lkey & 0xff) != 0 && (mkey->flags & HWQ_MKEY_UPDATE_VARIANT) == 0)
		return -EOPNOTSUPP;
	if (n > mkey->max_entries || hwq_umr_pad(units) + bsf_ds > HWQ_UMR_LAYOUT_MAX)
		return -ENOMEM;
	return 2 * n_bb - 1 > hwq_sq_n_bb(sq) ? -EINVAL : 0;
}

/* @return 0 if a configuration of n_bb WQEBBs is possible, otherwise a negative error. */
static HWQ_INLINE int
hwq_sig_image_check(const struct hwq_sq *sq, const struct hwq_mkey *mkey, unsigned int n,
	unsigned int units, unsigned int n_bb)
{
	if (mkey->sig == NULL || mkey->crypto != NULL)
		return -EINVAL;
	return hwq_image_check(sq, mkey, n, units, HWQ_BSF_DS, n_bb);
}

/*
 * @return the tags in the form in which a running signature of T10-DIF starts with them; bit 48 is
 *   seed_ones.
 */
static HWQ_INLINE uint64_t
hwq_sig_word(const struct hwq_sig_tags *tags)
{
#if __BYTE_ORDER == __LITTLE_ENDIAN
	uint64_t word;

	memcpy(&word, tags, sizeof(word));
	return word;
#else
	return (uint64_t)tags->seed_ones << 48 | (uint64_t)tags->app_tag << 32 | tags->ref_tag;
#endif
}

/*
 * The UMR tells the device how many errors of the key the program has read. The device reports the
 * next error only after that.
 */
static HWQ_INLINE void
hwq_put_sig_errors(uint8_t *wqe, struct hwq_mkey_sig *sig)
{
	struct mlx5_wqe_umr_ctrl_seg *umr =
		(struct mlx5_wqe_umr_ctrl_seg *)hwq_at_ds(wqe, HWQ_UMR_CTRL_DS);
	struct mlx5_wqe_mkey_context_seg *context =
		(struct mlx5_wqe_mkey_context_seg *)hwq_at_ds(wqe, HWQ_UMR_CONTEXT_DS);
	uint64_t mask = 0;
	uint32_t flags_pd = 0;

	if (__builtin_expect(!hwq_key_tell_errors(sig, &mask, &flags_pd), 1))
		return;
	umr->mkey_mask |= htobe64(mask);
	context->flags_pd |= htobe32(flags_pd);
}

/*
 * Writes the UMR, which is the next WQE, without layout and BSFs. @param word The UMR's flags, from
 * hwq_fm_ce_se_word().
 * @return the WQE.
 */
static HWQ_INLINE uint8_t *
hwq_burst_image_umr(struct hwq_burst *b, const struct hwq_mkey *mkey,
	const struct hwq_sig_image *image, unsigned int padded, unsigned int bsf_ds, __be32 word)
{
	const __be64 range[2] = {0, htobe64(mkey->length)};
	uint8_t *wqe = b->at;
	struct mlx5_wqe_umr_ctrl_seg *umr =
		(struct mlx5_wqe_umr_ctrl_seg *)hwq_at_ds(wqe, HWQ_UMR_CTRL_DS);
	struct mlx5_wqe_mkey_context_seg *context =
		(struct mlx5_wqe_mkey_context_seg *)hwq_at_ds(wqe, HWQ_UMR_CONTEXT_DS);

	hwq_put_ctrl_first(wqe, b->index_qpn, 0, MLX5_OPCODE_UMR,
		HWQ_UMR_HEAD_DS + padded + bsf_ds);
	hwq_put_pair(wqe + HWQ_DS_LEN / 2, word, htobe32(mkey->lkey));
	memcpy(umr, image->umr, sizeof(image->umr));
	if (padded != HWQ_DS_PER_BB)
		umr->klm_octowords = htobe16((uint16_t)padded);
	memset((uint8_t *)umr + sizeof(image->umr), 0, sizeof(*umr) - sizeof(image->umr));
	memcpy(context, image->context, sizeof(image->context));
	/* The variant is the last byte of qpn_mkey. */
	((uint8_t *)&context->qpn_mkey)[3] = (uint8_t)mkey->lkey;
	memcpy(&context->start_addr, range, sizeof(range));
	memset((uint8_t *)context + 32, 0, 32);
	hwq_burst_skip(b, hwq_ds_to_bb(HWQ_UMR_HEAD_DS + padded + bsf_ds));
	return wqe;
}

/*
 * Writes the UMR of a key that signs. The UMR makes no CQE. The last SET_PSV makes the CQE, because
 * the key is ready only after it.
 */
static HWQ_INLINE void
hwq_burst_sig_umr(struct hwq_burst *b, struct hwq_mkey *mkey, const struct hwq_sig_image *image,
	unsigned int padded, unsigned int flags)
{
	uint8_t *wqe = hwq_burst_image_umr(b, mkey, image, padded, HWQ_BSF_DS,
		hwq_fm_ce_se_word(flags & ~(unsigned int)HWQ_WQE_SIGNALED));

	hwq_put_sig_errors(wqe, mkey->sig);
}

/*
 * Makes a CRC start with all ones; in the image it starts with 0. @return the start value of the
 * running signature.
 */
static HWQ_INLINE uint64_t
hwq_put_sig_crc(struct hwq_sig_domain *domain, bool ones, __be32 *format_psv)
{
	if (ones) {
		domain->crc.seed = domain->crc.type == MLX5DV_SIG_CRC_TYPE_CRC64_XP10 ? UINT64_MAX
										      : UINT32_MAX;
		*format_psv &= ~htobe32(HWQ_BSF_CRC_SEED_0);
	}
	return hwq_sig_transient(domain);
}

/*
 * Writes tags and seed of a T10-DIF signature to the BSF, and to the attributes that the key
 * stores. @param word From hwq_sig_word(). @return the start value of the running signature.
 */
static HWQ_INLINE uint64_t
hwq_put_sig_dif_tags(struct mlx5dv_sig_t10dif *kept, uint64_t word, struct hwq_wire_bsf_dif *dif)
{
	const __be64 valid = htobe64((uint64_t)(HWQ_DIF_VALID | HWQ_DIF_REFRESH) << 48);
	uint64_t tags = word;
	__be64 first;

	if (__builtin_expect(word >> 48 != 0, 0)) {
		tags = word & ((UINT64_C(1) << 48) - 1);
		/*
		 * With a seed of all ones, the guard's bits are ones too. The guard is above the
		 * tags.
		 */
		word = tags | UINT64_C(0xffff) << 48;
		kept->bg = 0xffff;
		dif->seed |= HWQ_DIF_SEED_ONES;
	}
	kept->app_tag = (uint16_t)(tags >> 32);
	kept->ref_tag = (uint32_t)tags;
	first = htobe64(tags) | valid;
	memcpy(dif, &first, sizeof(first));
	return word;
}

/*
 * Completes the BSF for a domain with a signature. Writes the next WQE, a SET_PSV, which waits for
 * the previous WQE.
 */
static HWQ_INLINE void
hwq_burst_sig_domain(struct hwq_burst *b, struct hwq_sig_domain *domain, uint32_t psv,
	const struct hwq_sig_tags *tags, __be32 *format_psv, struct hwq_wire_bsf_dif *dif,
	unsigned int flags)
{
	unsigned int after = (flags & HWQ_WQE_FENCE) != 0 ? 0 : HWQ_WQE_AFTER_UMR;
	uint8_t *wqe = hwq_burst_next(b, 0, MLX5_OPCODE_SET_PSV, 2, flags | after);
	uint64_t word = hwq_sig_word(tags), start;

	*format_psv |= htobe32(psv);
	if (__builtin_expect(domain->type == HWQ_SIG_T10DIF, 1))
		start = hwq_put_sig_dif_tags(&domain->dif, word, dif);
	else
		start = hwq_put_sig_crc(domain, word >> 48 != 0, format_psv);
	hwq_put_set_psv(hwq_at_ds(wqe, 1), psv, start);
}

/*
 * @return which bytes of a T10-DIF are copied unchanged. `mask` has the bytes for equal tags and
 * seeds. differ: the bits that differ between the hwq_sig_word() of the two domains.
 */
static HWQ_INLINE uint8_t
hwq_sig_copy_mask(uint8_t mask, uint64_t differ)
{
	if (differ >> 48 != 0)
		mask &= (uint8_t)~MLX5DV_SIG_MASK_T10DIF_GUARD;
	if ((uint16_t)(differ >> 32) != 0)
		mask &= (uint8_t)~MLX5DV_SIG_MASK_T10DIF_APPTAG;
	if ((uint32_t)differ != 0)
		mask &= (uint8_t)~MLX5DV_SIG_MASK_T10DIF_REFTAG;
	return mask;
}

/* Completes the BSF, and writes the SET_PSV of each domain with a signature. */
static HWQ_INLINE void
hwq_burst_sig_domains(struct hwq_burst *b, void *at, struct hwq_mkey_sig *sig,
	const struct hwq_sig_image *image, const struct hwq_sig_tags *mem,
	const struct hwq_sig_tags *wire, unsigned int flags)
{
	struct hwq_wire_sig_bsf *bsf = (struct hwq_wire_sig_bsf *)at;
	bool has_wire = image->block.wire.type != HWQ_SIG_NONE;

	sig->block = image->block;
	memcpy(bsf, &image->bsf, sizeof(*bsf));
	if (__builtin_expect(image->block.mem.type != HWQ_SIG_NONE, 1))
		hwq_burst_sig_domain(b, &sig->block.mem, sig->mem_psv.index, mem,
			&bsf->mem_format_psv, &bsf->mem_dif,
			has_wire ? flags & ~(unsigned int)HWQ_WQE_SIGNALED : flags);
	if (!has_wire)
		return;
	hwq_burst_sig_domain(b, &sig->block.wire, sig->wire_psv.index, wire, &bsf->wire_format_psv,
		&bsf->wire_dif, flags);
	if (image->copies_alike && hwq_sig_word(mem) != hwq_sig_word(wire))
		bsf->wire =
			hwq_sig_copy_mask(image->bsf.wire, hwq_sig_word(mem) ^ hwq_sig_word(wire));
}

/**
 * Writes a configuration into a burst: the UMR, with a list as its layout, and the SET_PSVs. The
 * burst must have room for hwq_sig_image_n_bb() WQEBBs. Nothing is checked: the caller makes sure
 * that hwq_wqe_sig_list() would return no error.
 * @param b The burst.
 * @param mkey The key; it must stay until the work request has completed.
 * @param image The image.
 * @param n Number of pieces.
 * @param sge The pieces, read during the call.
 * @param mem Tags and seed of the memory domain, read during the call; NULL if it has no signature.
 * @param wire Tags and seed of the wire domain, read during the call; NULL if it has no signature.
 * @param flags Enum hwq_wqe_flags.
 */
static HWQ_INLINE void
hwq_burst_sig_list(struct hwq_burst *b, struct hwq_mkey *mkey, const struct hwq_sig_image *image,
	unsigned int n, const struct hwq_sge *sge, const struct hwq_sig_tags *mem,
	const struct hwq_sig_tags *wire, unsigned int flags)
{
	uint8_t *layout = b->at + HWQ_UMR_HEAD_DS * HWQ_DS_LEN;
	unsigned int padded = hwq_umr_pad(n);

	mkey->length = hwq_put_klm_list(layout, sge, n);
	hwq_burst_sig_umr(b, mkey, image, padded, flags);
	hwq_burst_sig_domains(b, layout + (size_t)padded * HWQ_DS_LEN, mkey->sig, image, mem, wire,
		flags);
}

/**
 * hwq_burst_sig_list() with a pattern as the layout.
 * @param b The burst.
 * @param mkey The key; it must stay until the work request has completed.
 * @param image The image.
 * @param repeat Number of rounds.
 * @param n Number of entries in a round.
 * @param data The entries, read during the call.
 * @param mem Tags and seed of the memory domain, read during the call; NULL if it has no signature.
 * @param wire Tags and seed of the wire domain, read during the call; NULL if it has no signature.
 * @param flags Enum hwq_wqe_flags.
 */
static HWQ_INLINE void
hwq_burst_sig_pattern(struct hwq_burst *b, struct hwq_mkey *mkey, const struct hwq_sig_image *image,
	uint32_t repeat, unsigned int n, const struct mlx5dv_mr_interleaved *data,
	const struct hwq_sig_tags *mem, const struct hwq_sig_tags *wire, unsigned int flags)
{
	uint8_t *layout = b->at + HWQ_UMR_HEAD_DS * HWQ_DS_LEN;
	unsigned int padded = hwq_umr_pad(n + 1);

	mkey->length = hwq_put_pattern(layout, repeat, data, n);
	hwq_burst_sig_umr(b, mkey, image, padded, flags);
	hwq_burst_sig_domains(b, layout + (size_t)padded * HWQ_DS_LEN, mkey->sig, image, mem, wire,
		flags);
}

/**
 * Configures the key, with a list as its layout: n pieces of memory, one after the other
 * (mlx5dv_wr_set_mkey_layout_list(3), mlx5dv_wr_set_mkey_sig_block(3)). The memory holds the blocks
 * of the memory domain.
 * @param sq The send queue.
 * @param mkey The key; it must stay until the last of the WQEs has completed.
 * @param image The image.
 * @param n Number of pieces.
 * @param sge The pieces, read during the call.
 * @param mem Tags and seed of the memory domain, read during the call; ignored, and may be NULL, if
 *   the domain has no signature.
 * @param wire Tags and seed of the wire domain, read during the call; ignored, and may be NULL, if
 *   the domain has no signature.
 * @param flags Enum hwq_wqe_flags; the last WQE makes the CQE.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_sig_list(struct hwq_sq *sq, struct hwq_mkey *mkey, const struct hwq_sig_image *image,
	unsigned int n, const struct hwq_sge *sge, const struct hwq_sig_tags *mem,
	const struct hwq_sig_tags *wire, unsigned int flags)
{
	unsigned int n_bb = hwq_sig_image_n_bb(image, n), i;
	int ret = hwq_sig_image_check(sq, mkey, n, n, n_bb);
	struct hwq_burst b;
	uint64_t len = 0;

	for (i = 0; ret == 0 && i < n; i++)
		len += sge[i].len;
	if (__builtin_expect(ret != 0 || len > UINT32_MAX, 0))
		return ret != 0 ? ret : -EINVAL;
	if (!hwq_burst_reserve(&b, sq, n_bb))
		return 0;
	hwq_burst_sig_list(&b, mkey, image, n, sge, mem, wire, flags);
	hwq_burst_end_at(&b, n_bb, 1);
	return (int)n_bb;
}

/**
 * hwq_wqe_sig_list() with a pattern as the layout (mlx5dv_wr_set_mkey_layout_interleaved(3)):
 * `repeat` rounds of n entries. With a pattern, blocks and signatures can be in two buffers: one
 * round for each block, with the entries {data, block size, 0} and {signatures, signature size, 0}.
 * @param sq The send queue.
 * @param mkey The key; it must stay until the work request has completed.
 * @param image The image.
 * @param repeat Number of rounds.
 * @param n Number of entries in a round.
 * @param data The entries, read during the call.
 * @param mem Tags and seed of the memory domain, read during the call; NULL if it has no signature.
 * @param wire Tags and seed of the wire domain, read during the call; NULL if it has no signature.
 * @param flags Enum hwq_wqe_flags.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_sig_pattern(struct hwq_sq *sq, struct hwq_mkey *mkey, const struct hwq_sig_image *image,
	uint32_t repeat, unsigned int n, const struct mlx5dv_mr_interleaved *data,
	const struct hwq_sig_tags *mem, const struct hwq_sig_tags *wire, unsigned int flags)
{
	unsigned int n_bb = hwq_sig_image_n_bb(image, n + 1);
	int ret = hwq_sig_image_check(sq, mkey, n, n + 1, n_bb);
	struct hwq_burst b;

	if (__builtin_expect(ret != 0 || hwq_pattern_len(repeat, data, n) > UINT32_MAX, 0))
		return ret != 0 ? ret : -EINVAL;
	if (!hwq_burst_reserve(&b, sq, n_bb))
		return 0;
	hwq_burst_sig_pattern(&b, mkey, image, repeat, n, data, mem, wire, flags);
	hwq_burst_end_at(&b, n_bb, 1);
	return (int)n_bb;
}

#endif
