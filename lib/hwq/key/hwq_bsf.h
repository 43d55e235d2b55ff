/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Segments of keys that sign or encrypt: SET_PSV, and the BSFs that follow the layout in a UMR. The
 * bytes are those of libmlx5 (mlx5dv_wr_set_mkey_sig_block(3), mlx5dv_wr_set_mkey_crypto(3)).
 * hwq_wr_mkey.h calls these functions.
 *
 * Thread: only the owner of the memory that the functions write calls these functions.
 */
#ifndef HWQ_BSF_H
#define HWQ_BSF_H

#include "hwq_key.h"
#include "hwq_seg.h"

static inline uint8_t
hwq_block_size_selector(enum mlx5dv_block_size size)
{
	/* indexed like the table of hwq_block_size_bytes() */
	static const uint8_t selector[] = {1, 2, 6, 3, 4};

	return selector[size];
}

static inline uint32_t
hwq_sig_crc_format(const struct mlx5dv_sig_crc *crc)
{
	uint32_t format = HWQ_BSF_CRC_REPEAT;

	if (crc->seed == 0)
		format |= HWQ_BSF_CRC_SEED_0;
	switch (crc->type) {
	case MLX5DV_SIG_CRC_TYPE_CRC32:
		return format | HWQ_BSF_CRC32;
	case MLX5DV_SIG_CRC_TYPE_CRC32C:
		return format | HWQ_BSF_CRC32C;
	default:
		return format | HWQ_BSF_CRC64_XP10;
	}
}

static inline void
hwq_put_sig_dif(struct hwq_wire_bsf_dif *to, const struct mlx5dv_sig_t10dif *dif)
{
	uint8_t flags = dif->flags & MLX5DV_SIG_T10DIF_FLAG_REF_REMAP ? HWQ_DIF_REF_INCREMENTS : 0;

	if (dif->flags & MLX5DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE)
		flags |= HWQ_DIF_APP_REF_ESCAPE;
	else if (dif->flags & MLX5DV_SIG_T10DIF_FLAG_APP_ESCAPE)
		flags |= HWQ_DIF_APP_ESCAPE;
	to->valid = htobe16(HWQ_DIF_VALID | HWQ_DIF_REFRESH);
	to->app_tag = htobe16(dif->app_tag);
	to->ref_tag = htobe32(dif->ref_tag);
	to->guard =
		dif->bg_type == MLX5DV_SIG_T10DIF_CRC ? HWQ_DIF_GUARD_CRC : HWQ_DIF_GUARD_CHECKSUM;
	to->seed = HWQ_DIF_REPEAT | (dif->bg != 0 ? HWQ_DIF_SEED_ONES : 0);
	to->flags = flags;
	to->app_mask = htobe16(0xffff);
}

/*
 * @return the word with a domain's format and PSV. For T10-DIF, *dif gets the format, and the
 *   format in this word is 0.
 */
static inline __be32
hwq_put_sig_domain(const struct hwq_sig_domain *domain, uint32_t psv, struct hwq_wire_bsf_dif *dif)
{
	uint32_t format = 0;

	if (domain->type == HWQ_SIG_CRC)
		format = hwq_sig_crc_format(&domain->crc);
	else
		hwq_put_sig_dif(dif, &domain->dif);
	return htobe32(format | (psv & HWQ_BSF_PSV_MASK));
}

/*
 * @return true if both domains have signatures of one kind, and equal block sizes. *copy_mask: the
 * bytes of a signature that are then copied unchanged from one domain to the other.
 */
static inline bool
hwq_sig_same(const struct hwq_sig_domain *mem, const struct hwq_sig_domain *wire,
	uint8_t *copy_mask)
{
	*copy_mask = 0;
	if (mem->type != wire->type || mem->block_size != wire->block_size)
		return false;
	if (wire->type == HWQ_SIG_CRC) {
		if (mem->crc.type != wire->crc.type)
			return false;
		*copy_mask = wire->crc.type == MLX5DV_SIG_CRC_TYPE_CRC64_XP10
				     ? MLX5DV_SIG_MASK_CRC64_XP10
				     : MLX5DV_SIG_MASK_CRC32;
		return true;
	}
	if (mem->dif.bg_type == wire->dif.bg_type && mem->dif.bg == wire->dif.bg)
		*copy_mask |= MLX5DV_SIG_MASK_T10DIF_GUARD;
	if (mem->dif.app_tag == wire->dif.app_tag)
		*copy_mask |= MLX5DV_SIG_MASK_T10DIF_APPTAG;
	if (mem->dif.ref_tag == wire->dif.ref_tag)
		*copy_mask |= MLX5DV_SIG_MASK_T10DIF_REFTAG;
	return true;
}

/* @return 0, or -EINVAL if there is a copy mask but the domains differ. */
static inline int
hwq_put_sig_bsf(void *at, const struct hwq_mkey_sig *sig, bool with_crypto)
{
	struct hwq_wire_sig_bsf *bsf = (struct hwq_wire_sig_bsf *)at;
	const struct hwq_sig_block *block = &sig->block;
	const struct hwq_sig_domain *mem = &block->mem, *wire = &block->wire;
	uint8_t copy_mask;
	bool same;

	memset(bsf, 0, sizeof(*bsf));
	bsf->size_same = with_crypto ? HWQ_BSF_SIZE_SIG_AND_CRYPTO : HWQ_BSF_SIZE_INLINE;
	bsf->raw_len = htobe32(UINT32_MAX);
	if (mem->type != HWQ_SIG_NONE || wire->type != HWQ_SIG_NONE)
		bsf->check_mask = block->check_mask;
	if (mem->type != HWQ_SIG_NONE) {
		bsf->mem_format_psv = hwq_put_sig_domain(mem, sig->mem_psv.index, &bsf->mem_dif);
		bsf->mem = hwq_block_size_selector(mem->block_size);
	}
	if (wire->type == HWQ_SIG_NONE)
		return 0;
	same = hwq_sig_same(mem, wire, &copy_mask);
	if (block->flags & MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK) {
		if (!same)
			return -EINVAL;
		copy_mask = block->copy_mask;
	}
	bsf->wire_format_psv = hwq_put_sig_domain(wire, sig->wire_psv.index, &bsf->wire_dif);
	bsf->wire = same ? copy_mask : hwq_block_size_selector(wire->block_size);
	if (same)
		bsf->size_same |= HWQ_BSF_SAME_STRUCTURE;
	return 0;
}

static inline enum hwq_wire_crypto_order
hwq_crypto_order(const struct hwq_mkey_crypto *crypto)
{
	bool after = crypto->signature_crypto_order ==
		     MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_AFTER_CRYPTO_ON_TX;

	if (crypto->encrypt_on_tx)
		return after ? HWQ_CRYPTO_RAW_WIRE : HWQ_CRYPTO_WIRE_SIGNATURE;
	return after ? HWQ_CRYPTO_MEMORY_SIGNATURE : HWQ_CRYPTO_RAW_MEMORY;
}

/*
 * Writes the initial tweak in the byte order that a device with these engines reads: an engine for
 * several data units counts in big endian.
 */
static inline void
hwq_put_tweak(uint8_t to[16], const void *initial_tweak, uint8_t engines)
{
	uint64_t half[2], mirrored[2];

	memcpy(half, initial_tweak, sizeof(half));
	mirrored[0] = __builtin_bswap64(half[1]);
	mirrored[1] = __builtin_bswap64(half[0]);
	memcpy(to, engines & MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK ? mirrored : half, 16);
}

/*
 * @return 0, or -EINVAL if the key signs in both domains and the device does not support this order
 * of signature and encryption.
 */
static inline int
hwq_put_crypto_bsf(void *at, const struct hwq_mkey_crypto *crypto, const struct hwq_mkey_sig *sig)
{
	struct hwq_wire_crypto_bsf *bsf = (struct hwq_wire_crypto_bsf *)at;
	enum hwq_wire_crypto_order order = hwq_crypto_order(crypto);

	if ((order == HWQ_CRYPTO_RAW_WIRE || order == HWQ_CRYPTO_RAW_MEMORY) && sig != NULL &&
		sig->block.mem.type != HWQ_SIG_NONE && sig->block.wire.type != HWQ_SIG_NONE)
		return -EINVAL;
	memset(bsf, 0, sizeof(*bsf));
	bsf->size_type = HWQ_BSF_TYPE_CRYPTO |
			 (sig != NULL ? HWQ_BSF_SIZE_SIG_AND_CRYPTO : HWQ_BSF_SIZE_INLINE);
	bsf->order = order;
	bsf->raw_len = htobe32(UINT32_MAX);
	bsf->data_unit = hwq_block_size_selector(crypto->data_unit_size);
	hwq_put_tweak(bsf->tweak, crypto->initial_tweak, crypto->engines);
	bsf->dek = htobe32(crypto->dek & 0xffffff);
	memcpy(bsf->keytag, crypto->keytag, sizeof(bsf->keytag));
	return 0;
}

/**
 * Writes the BSFs that a configuration needs.
 *
 * @param at
 *   The end of the layout, with room for 64 bytes for each BSF of the plan.
 * @param mkey
 *   The key.
 * @param plan
 *   The result of hwq_key_plan() for the key.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   The attributes of the key's signatures contradict those of its encryption.
 */
static inline int
hwq_put_key_bsf(void *at, const struct hwq_mkey *mkey, const struct hwq_key_plan *plan)
{
	int ret = 0;

	if (plan->n_sig != 0) {
		ret = hwq_put_sig_bsf(at, mkey->sig, plan->n_crypto != 0);
		at = (uint8_t *)at + HWQ_BSF_LEN;
	}
	if (ret == 0 && plan->n_crypto != 0)
		ret = hwq_put_crypto_bsf(at, mkey->crypto, mkey->sig);
	return ret;
}

/* @return the start value of a domain's running signature. */
static inline uint64_t
hwq_sig_transient(const struct hwq_sig_domain *domain)
{
	const struct mlx5dv_sig_t10dif *dif = &domain->dif;

	if (domain->type == HWQ_SIG_T10DIF)
		return (uint64_t)dif->bg << 48 | (uint64_t)dif->app_tag << 32 | dif->ref_tag;
	return domain->crc.type == MLX5DV_SIG_CRC_TYPE_CRC64_XP10 ? domain->crc.seed
								  : domain->crc.seed << 32;
}

static inline void
hwq_put_set_psv(void *at, uint32_t psv, uint64_t transient)
{
	__be64 transient_be = htobe64(transient);

	hwq_put_pair(at, htobe32(psv), 0);
	memcpy((uint8_t *)at + offsetof(struct hwq_wire_set_psv, transient), &transient_be,
		sizeof(transient_be));
}

#endif
