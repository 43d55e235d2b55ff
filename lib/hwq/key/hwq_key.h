/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * How a key signs and encrypts: setters store attributes in the key's contexts, and the key's UMR
 * writes them to the device.
 *
 *     hwq_key_begin()                    begins a configuration: marks no attribute as new
 *     hwq_sig_take(), hwq_crypto_take()  setters: check attributes, and copy them
 *     hwq_key_plan()                     after the last setter: the parts that the UMR must have
 *     hwq_put_key_bsf()                  writes the BSFs after the layout: hwq_bsf.h
 *
 * hwq_wr_mkey.h calls them in this order. Rules and errors are those of libmlx5 (qp.c: functions
 * that end in mkey_configure, mkey_sig_block, mkey_crypto and umr_wqe_finalize). As in libmlx5, a
 * setter changes the key's attributes at once; they stay changed even if the batch is refused or
 * aborted.
 *
 * Thread: only the owner of the key's domain calls the functions of this file.
 */
#ifndef HWQ_KEY_H
#define HWQ_KEY_H

#include <errno.h>
#include <string.h>

#include "hwq_mkey.h"
#include "hwq_wire_bsf.h"

/**
 * The attributes for a key's crypto setter: the fields of struct mlx5dv_crypto_attr, but with a DEK
 * of hwq.
 */
struct hwq_crypto_attr {
	enum mlx5dv_crypto_standard crypto_standard; /**< MLX5DV_CRYPTO_STANDARD_AES_XTS */
	bool encrypt_on_tx; /**< true: data on the wire are encrypted; false: data in memory */
	/** The order of signature and encryption at the sender. */
	enum mlx5dv_signature_crypto_order signature_crypto_order;
	enum mlx5dv_block_size data_unit_size; /**< size of a data unit */
	char initial_tweak[16];                /**< tweak of the first data unit, little endian */
	uint32_t dek;                          /**< object id of the DEK: hwq_dek.id */
	char keytag[8];                        /**< the DEK's keytag, if it has one */
	uint64_t comp_mask;                    /**< must be 0 */
};

/* ------------------------------------------------------------------ taking attributes */

/* Begins a configuration: the key keeps its attributes, but none is marked as new. */
static inline void
hwq_key_begin(struct hwq_mkey *mkey, bool reset_sig)
{
	struct hwq_sig_block *block = mkey->sig != NULL ? &mkey->sig->block : NULL;

	if (block != NULL && reset_sig) {
		block->mem.type = HWQ_SIG_NONE;
		block->wire.type = HWQ_SIG_NONE;
		block->state = HWQ_BSF_RESET;
	} else if (block != NULL && block->state == HWQ_BSF_UPDATED) {
		block->state = HWQ_BSF_SET;
	} else if (block != NULL && block->state == HWQ_BSF_RESET) {
		block->state = HWQ_BSF_INIT;
	}
	if (mkey->crypto != NULL && mkey->crypto->state == HWQ_BSF_UPDATED)
		mkey->crypto->state = HWQ_BSF_SET;
}

static inline bool
hwq_sig_dif_is_valid(const struct mlx5dv_sig_t10dif *dif)
{
	const unsigned int known = MLX5DV_SIG_T10DIF_FLAG_REF_REMAP |
				   MLX5DV_SIG_T10DIF_FLAG_APP_ESCAPE |
				   MLX5DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE;

	return (dif->bg == 0 || dif->bg == 0xffff) &&
	       (dif->bg_type == MLX5DV_SIG_T10DIF_CRC || dif->bg_type == MLX5DV_SIG_T10DIF_CSUM) &&
	       (dif->flags & ~known) == 0;
}

static inline bool
hwq_sig_crc_is_valid(const struct mlx5dv_sig_crc *crc)
{
	switch (crc->type) {
	case MLX5DV_SIG_CRC_TYPE_CRC32:
	case MLX5DV_SIG_CRC_TYPE_CRC32C:
		return crc->seed == 0 || crc->seed == UINT32_MAX;
	case MLX5DV_SIG_CRC_TYPE_CRC64_XP10:
		return crc->seed == 0 || crc->seed == UINT64_MAX;
	default:
		return false;
	}
}

static inline bool
hwq_block_size_is_valid(enum mlx5dv_block_size size)
{
	return (unsigned int)size <= MLX5DV_BLOCK_SIZE_4160;
}

/*
 * Returns true if the attributes of a domain are valid. NULL is valid: the domain has no signature.
 */
static inline bool
hwq_sig_domain_is_valid(const struct mlx5dv_sig_block_domain *domain)
{
	if (domain == NULL)
		return true;
	if (!hwq_block_size_is_valid(domain->block_size) || domain->comp_mask != 0)
		return false;
	if (domain->sig_type == MLX5DV_SIG_TYPE_T10DIF)
		return hwq_sig_dif_is_valid(domain->sig.dif);
	return domain->sig_type == MLX5DV_SIG_TYPE_CRC && hwq_sig_crc_is_valid(domain->sig.crc);
}

static inline void
hwq_sig_domain_take(struct hwq_sig_domain *to, const struct mlx5dv_sig_block_domain *from)
{
	if (from == NULL) {
		to->type = HWQ_SIG_NONE;
		return;
	}
	if (from->sig_type == MLX5DV_SIG_TYPE_CRC) {
		to->crc = *from->sig.crc;
		to->type = HWQ_SIG_CRC;
	} else {
		to->dif = *from->sig.dif;
		to->type = HWQ_SIG_T10DIF;
	}
	to->block_size = from->block_size;
}

/*
 * Stores the attributes of a signature setter. @return false if they are not valid, or if this
 * configuration already had a signature setter; then nothing is stored.
 */
static inline bool
hwq_sig_take(struct hwq_sig_block *block, const struct mlx5dv_sig_block_attr *attr)
{
	if (block->state == HWQ_BSF_UPDATED || (attr->mem == NULL && attr->wire == NULL) ||
		(attr->flags & ~(uint32_t)MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK) != 0 ||
		attr->comp_mask != 0 || !hwq_sig_domain_is_valid(attr->mem) ||
		!hwq_sig_domain_is_valid(attr->wire))
		return false;
	hwq_sig_domain_take(&block->mem, attr->mem);
	hwq_sig_domain_take(&block->wire, attr->wire);
	block->flags = attr->flags;
	block->check_mask = attr->check_mask;
	block->copy_mask = attr->copy_mask;
	block->state = HWQ_BSF_UPDATED;
	return true;
}

/*
 * Stores the attributes of a crypto setter. @return false if they are not valid, or if this
 * configuration already had a crypto setter; then nothing is stored.
 */
static inline bool
hwq_crypto_take(struct hwq_mkey_crypto *crypto, const struct hwq_crypto_attr *attr)
{
	enum mlx5dv_signature_crypto_order order = attr->signature_crypto_order;

	if (crypto->state == HWQ_BSF_UPDATED || attr->comp_mask != 0 ||
		attr->crypto_standard != MLX5DV_CRYPTO_STANDARD_AES_XTS ||
		(order != MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_AFTER_CRYPTO_ON_TX &&
			order != MLX5DV_SIGNATURE_CRYPTO_ORDER_SIGNATURE_BEFORE_CRYPTO_ON_TX) ||
		!hwq_block_size_is_valid(attr->data_unit_size))
		return false;
	crypto->crypto_standard = attr->crypto_standard;
	crypto->encrypt_on_tx = attr->encrypt_on_tx;
	crypto->signature_crypto_order = order;
	crypto->data_unit_size = attr->data_unit_size;
	crypto->dek = attr->dek;
	memcpy(crypto->initial_tweak, attr->initial_tweak, sizeof(crypto->initial_tweak));
	memcpy(crypto->keytag, attr->keytag, sizeof(crypto->keytag));
	crypto->state = HWQ_BSF_UPDATED;
	return true;
}

/* ------------------------------------------------------------------ what a UMR must carry */

/** The parts of a configuration except its layout. */
struct hwq_key_plan {
	int err;           /**< 0, or the error of the configuration */
	uint32_t flags_pd; /**< flags_pd of the key context */
	uint64_t mask;     /**< bits of the UMR's mkey_mask */
	uint8_t n_sig;     /**< number of BSFs of signatures: 0 or 1 */
	uint8_t n_crypto;  /**< number of BSFs of encryption: 0 or 1 */
	/** SET_PSVs follow the UMR: they set the start values of the running signatures. */
	bool set_psvs;
};

/*
 * If the key has new errors, sets the bits by which a UMR tells the device their number. The device
 * reports the next error only after that.
 */
static inline bool
hwq_key_tell_errors(struct hwq_mkey_sig *sig, uint64_t *mask, uint32_t *flags_pd)
{
	if (!sig->err_count_updated)
		return false;
	*mask |= MLX5_WQE_UMR_CTRL_MKEY_MASK_SIG_ERR;
	*flags_pd |= (sig->err_count & 1) << HWQ_MKC_SIG_ERR_SHIFT;
	sig->err_count_updated = false;
	return true;
}

/* Tables of block sizes use this order. */
static_assert(MLX5DV_BLOCK_SIZE_512 == 0 && MLX5DV_BLOCK_SIZE_520 == 1 &&
		      MLX5DV_BLOCK_SIZE_4048 == 2 && MLX5DV_BLOCK_SIZE_4096 == 3 &&
		      MLX5DV_BLOCK_SIZE_4160 == 4,
	"block sizes");

static inline unsigned int
hwq_block_size_bytes(enum mlx5dv_block_size size)
{
	static const uint16_t bytes[] = {512, 520, 4048, 4096, 4160};

	return bytes[size];
}

/*
 * @return false if the key is longer than a data unit, and the device encrypts one data unit at a
 *   time.
 */
static inline bool
hwq_crypto_fits(const struct hwq_mkey *mkey)
{
	const struct hwq_mkey_crypto *crypto = mkey->crypto;

	if (crypto->state != HWQ_BSF_UPDATED && crypto->state != HWQ_BSF_SET)
		return true;
	if ((crypto->engines & MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_SINGLE_BLOCK) == 0 ||
		(crypto->engines & MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK) != 0)
		return true;
	return mkey->length <= hwq_block_size_bytes(crypto->data_unit_size);
}

static inline void
hwq_key_plan_sig(struct hwq_mkey *mkey, struct hwq_key_plan *plan)
{
	enum hwq_bsf_state state = mkey->sig->block.state;

	/*
	 * Without valid signature attributes, the UMR clears BSF_ENABLE, unless it has a BSF of
	 * encryption.
	 */
	if (state != HWQ_BSF_UPDATED && state != HWQ_BSF_SET)
		plan->mask |= MLX5_WQE_UMR_CTRL_MKEY_MASK_BSF_ENABLE;
	if (hwq_key_tell_errors(mkey->sig, &plan->mask, &plan->flags_pd) && state == HWQ_BSF_SET)
		plan->set_psvs = true;
	plan->n_sig = state == HWQ_BSF_UPDATED;
}

/*
 * For a key that signs and encrypts: if the attributes of signatures or of encryption are new, both
 * BSFs are written.
 */
static inline void
hwq_key_plan_crypto(struct hwq_mkey *mkey, struct hwq_key_plan *plan)
{
	enum hwq_bsf_state crypto = mkey->crypto->state, sig = HWQ_BSF_INIT;

	if (mkey->sig != NULL) {
		sig = mkey->sig->block.state;
		if (hwq_key_tell_errors(mkey->sig, &plan->mask, &plan->flags_pd) &&
			sig == HWQ_BSF_SET)
			plan->set_psvs = true;
	}
	if (!hwq_crypto_fits(mkey)) {
		plan->err = -EINVAL;
		return;
	}
	if (sig != HWQ_BSF_UPDATED && sig != HWQ_BSF_RESET && crypto != HWQ_BSF_UPDATED)
		return;
	plan->n_sig = mkey->sig != NULL;
	plan->n_crypto = crypto == HWQ_BSF_UPDATED || crypto == HWQ_BSF_SET;
}

/*
 * Makes the plan of a configuration. layout_len: bytes of the layout in the WQE. room: bytes that
 * the QP allows for layout and BSFs. Afterwards the key's errors count as told to the device.
 */
static inline struct hwq_key_plan
hwq_key_plan(struct hwq_mkey *mkey, uint32_t layout_len, uint32_t room)
{
	struct hwq_key_plan plan;

	memset(&plan, 0, sizeof(plan));
	if (mkey->crypto != NULL)
		hwq_key_plan_crypto(mkey, &plan);
	else if (mkey->sig != NULL)
		hwq_key_plan_sig(mkey, &plan);
	if (plan.n_sig + plan.n_crypto == 0 || plan.err != 0)
		return plan;
	if (layout_len + (plan.n_sig + plan.n_crypto) * HWQ_BSF_LEN > room)
		plan.err = -ENOMEM;
	else if (mkey->length > UINT32_MAX)
		/* raw_len of the BSF has only 32 bits. */
		plan.err = -EINVAL;
	plan.mask |= MLX5_WQE_UMR_CTRL_MKEY_MASK_BSF_ENABLE;
	plan.flags_pd |= HWQ_MKC_BSF_ENABLE;
	if (plan.n_sig != 0 && mkey->sig->block.state == HWQ_BSF_UPDATED)
		plan.set_psvs = true;
	return plan;
}

#endif
