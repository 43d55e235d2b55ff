/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Prepared configurations of keys that encrypt, with or without signatures. (For keys that only
 * sign, see hwq_sig_image.h.) The image holds what is equal in all postings; each posting adds
 * memory, tweak, DEK, keytag, tags and seeds.
 *
 *     struct hwq_crypto_attr crypto = {.encrypt_on_tx = true,
 *                                      .data_unit_size = MLX5DV_BLOCK_SIZE_4096};
 *     struct hwq_crypto_image image;                                       the caller's
 *     struct hwq_crypto_start start = {.dek = dek.id};
 *
 *     ret = hwq_crypto_image_init(&image, caps, access, NULL, &crypto);    once
 *     ...
 *     memcpy(start.initial_tweak, &lba_le64, 8);                           little endian
 *     hwq_wqe_crypto_list(sq, mkey, &image, n, sge, NULL, NULL, &start, 0);   all, or nothing
 *     hwq_wqe_rdma_write(..., mkey->lkey, 0, len, flags | HWQ_WQE_AFTER_UMR);
 *
 * An image is for keys with HWQ_MKEY_CRYPTO, or for keys with HWQ_MKEY_CRYPTO and HWQ_MKEY_SIG. The
 * argument sig of hwq_crypto_image_init() decides for which of the two, and what happens to the
 * key's signatures:
 *
 *     sig                        keys                            signatures
 *     NULL                       HWQ_MKEY_CRYPTO                 -
 *     neither mem nor wire       HWQ_MKEY_CRYPTO, HWQ_MKEY_SIG   off (FLAG_RESET_SIG_ATTR)
 *     mem, wire or both          HWQ_MKEY_CRYPTO, HWQ_MKEY_SIG   as hwq_wr_set_mkey_sig_block()
 *
 * The bytes are those of hwq_wr_mkey_configure() with access flags, a layout,
 * hwq_wr_set_mkey_sig_block() if the image signs, and hwq_wr_set_mkey_crypto(), in a separate
 * batch. What hwq_sig_image.h says about the key's attributes, wr_ids, the next WQE, and threads is
 * true here too. The builders return the same values as the builders of hwq_wqe.h. After an error
 * nothing is written. Errors:
 *
 *     -EINVAL      the key's flags are not those of the image; more bytes than
 *                  hwq_crypto_image_max_len(); or the ring is so short that the WQEs may not fit
 *                  even when it is empty
 *     -ENOMEM      more entries than the key or a WQE has room for
 *     -EOPNOTSUPP  the key's variant (low byte) is not 0, and the key was created without
 *                  HWQ_MKEY_UPDATE_VARIANT
 *
 * The device checks the following when it moves data: the DEK exists, belongs to the key's
 * protection domain and has this keytag; and the length of the message is possible
 * (mlx5dv_wr_set_mkey_crypto(3), NOTES).
 */
#ifndef HWQ_CRYPTO_IMAGE_H
#define HWQ_CRYPTO_IMAGE_H

#include "hwq_sig_image.h"

/** The values for a key's encryption that each posting gives. */
struct hwq_crypto_start {
	/**
	 * tweak of the first data unit, little endian; the tweak of each next data unit is larger
	 * by 1
	 */
	uint8_t initial_tweak[16];
	uint8_t keytag[8]; /**< the keytag of a DEK with has_keytag; ignored for other DEKs */
	uint32_t dek;      /**< hwq_dek.id */
};

/** A prepared configuration. Written by hwq_crypto_image_init(). */
struct hwq_crypto_image {
	struct hwq_wire_crypto_bsf bsf; /**< BSF of encryption, without tweak, DEK and keytag */
	/** the attributes that the key stores, without tweak, DEK and keytag */
	struct hwq_mkey_crypto crypto;
	uint32_t max_len; /**< hwq_crypto_image_max_len() */
	/** true for keys with HWQ_MKEY_SIG: the WQE has a signature BSF too */
	bool with_sig;
	bool signs; /**< SET_PSV WQEs follow the UMR */
	/**
	 * all parts of the WQE except the encryption BSF; the BSF in sig is used only if with_sig
	 * is true
	 */
	struct hwq_sig_image sig;
};

/* ------------------------------------------------------------------ preparing */

/* Prepares the signature part. @return as hwq_crypto_image_init(). */
static inline int
hwq_crypto_image_take_sig(struct hwq_crypto_image *image, const struct hwq_dev_caps *caps,
	const struct mlx5dv_sig_block_attr *sig)
{
	struct hwq_mkey_sig off;

	memset(&off, 0, sizeof(off));
	off.block.state = HWQ_BSF_RESET;
	image->with_sig = sig != NULL;
	image->signs = sig != NULL && (sig->mem != NULL || sig->wire != NULL);
	if (image->signs)
		return hwq_sig_image_take(&image->sig, caps, sig, true);
	if (sig != NULL && (sig->flags != 0 || sig->comp_mask != 0))
		return -EINVAL;
	image->sig.block = off.block;
	image->sig.copies_alike = false;
	return hwq_put_sig_bsf(&image->sig.bsf, &off, true);
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
 * @param sig
 *   See the table above. *sig and the memory that it points to are read during the call. Their tags
 *   and seeds must be valid, but have no effect.
 * @param crypto
 *   Read during the call. Tweak, DEK and keytag in it have no effect.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   A flag is not in HWQ_UMR_ACCESS_ALL. Or the setters and hwq_wr_complete() refuse the
 *   attributes, for example signatures in both domains with an order that encrypts data alone.
 * @retval -EOPNOTSUPP
 *   The device has no AES-XTS, or does not support these signatures or blocks. After an error the
 *   image must not be used.
 */
static inline int
hwq_crypto_image_init(struct hwq_crypto_image *image, const struct hwq_dev_caps *caps,
	uint32_t access_flags, const struct mlx5dv_sig_block_attr *sig,
	const struct hwq_crypto_attr *crypto)
{
	const uint8_t single = MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_SINGLE_BLOCK,
		      multi = MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK;
	struct hwq_crypto_attr attr = *crypto;
	struct hwq_mkey_sig of_key;
	int ret;

	memset(attr.initial_tweak, 0, sizeof(attr.initial_tweak));
	memset(attr.keytag, 0, sizeof(attr.keytag));
	attr.dek = 0;
	memset(&image->crypto, 0, sizeof(image->crypto));
	image->crypto.engines = caps->crypto_engines;
	if (!hwq_crypto_take(&image->crypto, &attr))
		return -EINVAL;
	if ((caps->crypto_engines & (single | multi)) == 0)
		return -EOPNOTSUPP;
	ret = hwq_crypto_image_take_sig(image, caps, sig);
	if (ret != 0)
		return ret;
	of_key.block = image->sig.block;
	ret = hwq_put_crypto_bsf(&image->bsf, &image->crypto, image->with_sig ? &of_key : NULL);
	if (ret != 0)
		return ret;
	image->max_len = caps->crypto_engines & multi
				 ? UINT32_MAX
				 : hwq_block_size_bytes(crypto->data_unit_size);
	return hwq_sig_image_head(&image->sig, access_flags,
		image->with_sig ? 2 * HWQ_BSF_DS : HWQ_BSF_DS);
}

/**
 * @param image The image.
 * @return The largest number of bytes that a key of the image may describe: one data unit if the
 *   device encrypts one data unit at a time, otherwise 4 GiB - 1.
 */
static inline uint32_t
hwq_crypto_image_max_len(const struct hwq_crypto_image *image)
{
	return image->max_len;
}

/* ------------------------------------------------------------------ posting */

/**
 * @param image The image.
 * @param units DS units of the layout.
 * @return WQEBBs of a configuration, as hwq_sig_image_n_bb().
 */
static HWQ_INLINE unsigned int
hwq_crypto_image_n_bb(const struct hwq_crypto_image *image, unsigned int units)
{
	return hwq_sig_image_n_bb(&image->sig, units);
}

/*
 * @return WQEBBs of the last WQE (a SET_PSV, or the UMR) of a configuration that has n_bb WQEBBs in
 *   all.
 */
static HWQ_INLINE unsigned int
hwq_crypto_image_last_bb(const struct hwq_crypto_image *image, unsigned int n_bb)
{
	return image->signs ? 1 : n_bb;
}

static HWQ_INLINE unsigned int
hwq_crypto_image_bsf_ds(const struct hwq_crypto_image *image)
{
	return image->with_sig ? 2 * HWQ_BSF_DS : HWQ_BSF_DS;
}

/*
 * @return 0 if a configuration of n_bb WQEBBs and len bytes is possible, otherwise a negative
 *   error.
 */
static HWQ_INLINE int
hwq_crypto_image_check(const struct hwq_sq *sq, const struct hwq_mkey *mkey,
	const struct hwq_crypto_image *image, unsigned int n, unsigned int units, unsigned int n_bb,
	uint64_t len)
{
	if (mkey->crypto == NULL || (mkey->sig != NULL) != image->with_sig || len > image->max_len)
		return -EINVAL;
	return hwq_image_check(sq, mkey, n, units, hwq_crypto_image_bsf_ds(image), n_bb);
}

/* Writes the encryption BSF, and stores the attributes in the key's struct. */
static HWQ_INLINE void
hwq_put_crypto_start(void *at, struct hwq_mkey_crypto *kept, const struct hwq_crypto_image *image,
	const struct hwq_crypto_start *start)
{
	struct hwq_wire_crypto_bsf *bsf = (struct hwq_wire_crypto_bsf *)at;

	*kept = image->crypto;
	memcpy(kept->initial_tweak, start->initial_tweak, sizeof(kept->initial_tweak));
	memcpy(kept->keytag, start->keytag, sizeof(kept->keytag));
	kept->dek = start->dek;
	memcpy(bsf, &image->bsf, sizeof(*bsf));
	hwq_put_tweak(bsf->tweak, start->initial_tweak, image->crypto.engines);
	bsf->dek = htobe32(start->dek & 0xffffff);
	memcpy(bsf->keytag, start->keytag, sizeof(bsf->keytag));
}

/* Writes the UMR, whose layout of `padded` units is written already, and the SET_PSVs.  */
static HWQ_INLINE void
hwq_burst_crypto(struct hwq_burst *b, struct hwq_mkey *mkey, const struct hwq_crypto_image *image,
	unsigned int padded, const struct hwq_sig_tags *mem, const struct hwq_sig_tags *wire,
	const struct hwq_crypto_start *start, unsigned int flags)
{
	/* Only the last WQE makes the CQE: if SET_PSVs follow, the UMR makes none. */
	__be32 word = image->signs ? hwq_fm_ce_se_word(flags & ~(unsigned int)HWQ_WQE_SIGNALED)
				   : hwq_fm_ce_se_word(flags) | b->signals;
	uint8_t *wqe = hwq_burst_image_umr(b, mkey, &image->sig, padded,
		hwq_crypto_image_bsf_ds(image), word);
	uint8_t *bsf = (uint8_t *)hwq_at_ds(wqe, HWQ_UMR_HEAD_DS + padded);

	if (image->with_sig) {
		hwq_put_sig_errors(wqe, mkey->sig);
		hwq_burst_sig_domains(b, bsf, mkey->sig, &image->sig, mem, wire, flags);
		bsf += HWQ_BSF_LEN;
	}
	hwq_put_crypto_start(bsf, mkey->crypto, image, start);
}

/**
 * Writes a configuration into a burst, with a list as its layout. The burst must have room for
 * hwq_crypto_image_n_bb() WQEBBs. Nothing is checked: the caller makes sure that
 * hwq_wqe_crypto_list() would return no error.
 * @param b The burst.
 * @param mkey The key; it must stay until the work request has completed.
 * @param image The image.
 * @param n Number of pieces.
 * @param sge The pieces, read during the call.
 * @param mem Tags and seed of the memory domain, read during the call; NULL if it has no signature.
 * @param wire Tags and seed of the wire domain, read during the call; NULL if it has no signature.
 * @param start Tweak, DEK and keytag; read during the call.
 * @param flags Enum hwq_wqe_flags.
 */
static HWQ_INLINE void
hwq_burst_crypto_list(struct hwq_burst *b, struct hwq_mkey *mkey,
	const struct hwq_crypto_image *image, unsigned int n, const struct hwq_sge *sge,
	const struct hwq_sig_tags *mem, const struct hwq_sig_tags *wire,
	const struct hwq_crypto_start *start, unsigned int flags)
{
	uint8_t *layout = b->at + HWQ_UMR_HEAD_DS * HWQ_DS_LEN;

	mkey->length = hwq_put_klm_list(layout, sge, n);
	hwq_burst_crypto(b, mkey, image, hwq_umr_pad(n), mem, wire, start, flags);
}

/**
 * hwq_burst_crypto_list() with a pattern as the layout.
 * @param b The burst.
 * @param mkey The key; it must stay until the work request has completed.
 * @param image The image.
 * @param repeat Number of rounds.
 * @param n Number of entries in a round.
 * @param data The entries, read during the call.
 * @param mem Tags and seed of the memory domain, read during the call; NULL if it has no signature.
 * @param wire Tags and seed of the wire domain, read during the call; NULL if it has no signature.
 * @param start Tweak, DEK and keytag; read during the call.
 * @param flags Enum hwq_wqe_flags.
 */
static HWQ_INLINE void
hwq_burst_crypto_pattern(struct hwq_burst *b, struct hwq_mkey *mkey,
	const struct hwq_crypto_image *image, uint32_t repeat, unsigned int n,
	const struct mlx5dv_mr_interleaved *data, const struct hwq_sig_tags *mem,
	const struct hwq_sig_tags *wire, const struct hwq_crypto_start *start, unsigned int flags)
{
	uint8_t *layout = b->at + HWQ_UMR_HEAD_DS * HWQ_DS_LEN;

	mkey->length = hwq_put_pattern(layout, repeat, data, n);
	hwq_burst_crypto(b, mkey, image, hwq_umr_pad(n + 1), mem, wire, start, flags);
}

/**
 * Configures the key, with a list as its layout: n pieces of memory, one after the other.
 * @param sq The send queue.
 * @param mkey The key; it must stay until the last of the WQEs has completed.
 * @param image The image.
 * @param n Number of pieces.
 * @param sge The pieces, read during the call.
 * @param mem As hwq_wqe_sig_list(); NULL if the image does not sign.
 * @param wire As hwq_wqe_sig_list(); NULL if the image does not sign.
 * @param start Tweak, DEK and keytag; read during the call.
 * @param flags Enum hwq_wqe_flags; the last WQE makes the CQE.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_crypto_list(struct hwq_sq *sq, struct hwq_mkey *mkey, const struct hwq_crypto_image *image,
	unsigned int n, const struct hwq_sge *sge, const struct hwq_sig_tags *mem,
	const struct hwq_sig_tags *wire, const struct hwq_crypto_start *start, unsigned int flags)
{
	unsigned int n_bb = hwq_crypto_image_n_bb(image, n), i;
	struct hwq_burst b;
	uint64_t len = 0;
	int ret;

	for (i = 0; i < n; i++)
		len += sge[i].len;
	ret = hwq_crypto_image_check(sq, mkey, image, n, n, n_bb, len);
	if (__builtin_expect(ret != 0, 0))
		return ret;
	if (!hwq_burst_reserve(&b, sq, n_bb))
		return 0;
	hwq_burst_crypto_list(&b, mkey, image, n, sge, mem, wire, start, flags);
	hwq_burst_end_at(&b, n_bb, hwq_crypto_image_last_bb(image, n_bb));
	return (int)n_bb;
}

/**
 * hwq_wqe_crypto_list() with a pattern as the layout (hwq_wqe_sig_pattern()).
 * @param sq The send queue.
 * @param mkey The key; it must stay until the work request has completed.
 * @param image The image.
 * @param repeat Number of rounds.
 * @param n Number of entries in a round.
 * @param data The entries, read during the call.
 * @param mem Tags and seed of the memory domain, read during the call; NULL if it has no signature.
 * @param wire Tags and seed of the wire domain, read during the call; NULL if it has no signature.
 * @param start Tweak, DEK and keytag; read during the call.
 * @param flags Enum hwq_wqe_flags.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_crypto_pattern(struct hwq_sq *sq, struct hwq_mkey *mkey,
	const struct hwq_crypto_image *image, uint32_t repeat, unsigned int n,
	const struct mlx5dv_mr_interleaved *data, const struct hwq_sig_tags *mem,
	const struct hwq_sig_tags *wire, const struct hwq_crypto_start *start, unsigned int flags)
{
	unsigned int n_bb = hwq_crypto_image_n_bb(image, n + 1);
	int ret = hwq_crypto_image_check(sq, mkey, image, n, n + 1, n_bb,
		hwq_pattern_len(repeat, data, n));
	struct hwq_burst b;

	if (__builtin_expect(ret != 0, 0))
		return ret;
	if (!hwq_burst_reserve(&b, sq, n_bb))
		return 0;
	hwq_burst_crypto_pattern(&b, mkey, image, repeat, n, data, mem, wire, start, flags);
	hwq_burst_end_at(&b, n_bb, hwq_crypto_image_last_bb(image, n_bb));
	return (int)n_bb;
}

#endif
