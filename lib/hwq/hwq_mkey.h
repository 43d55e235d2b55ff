/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Indirect memory keys, in pools: keys whose memory a UMR work request lays out (hwq_wr_umr.h).
 *
 *     hwq_mkey_pool_create(domain, &conf, &pool)        n keys, by commands to the device
 *       mkey = hwq_mkey_get(pool)                       one of them, or NULL: all are out
 *         hwq_wr_mr_list(&wr, mkey, access, n, sge)     what it leads to: list or pattern
 *         ... mkey->lkey, mkey->rkey in work requests, by offset from 0 ...
 *       hwq_mkey_put(mkey)                              back to its pool
 *     hwq_mkey_pool_destroy(pool)                       refuses while keys are out
 *
 * A key is what mlx5dv_create_mkey(3) makes, by the same commands, sent through DEVX: an indirect
 * key of a number of entries, with two PSVs and a signature context if it is for signatures, with
 * a crypto context if it is for encryption. A caller's own struct mlx5dv_mkey is a number like any
 * other where a work request wants an lkey or rkey; for layouts, hwq_mkey_adopt() makes a key of it.
 *
 * hwq_mkey_put() does not reset a key: the device keeps its layout, its signature configuration and its
 * state until it is configured again. Where a peer knows its rkey, invalidate it first
 * (hwq_wr_local_inv()).
 *
 * Thread: a pool and its keys belong to the owner of its domain, and to no other; nothing is locked.
 */
#ifndef HWQ_MKEY_H
#define HWQ_MKEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/mlx5dv.h>

#include "hwq_dev.h"

struct hwq_domain;
struct hwq_mkey_pool;

/** What keys are for: bits of hwq_mkey_conf.flags, as MLX5DV_MKEY_INIT_ATTR_FLAGS_* mean. */
enum hwq_mkey_flags {
	HWQ_MKEY_SIG = 1 << 0,    /**< block signatures; takes two PSVs for each key */
	HWQ_MKEY_CRYPTO = 1 << 1, /**< encryption */
	/** The caller may change the variant, the low byte of lkey and rkey. */
	HWQ_MKEY_UPDATE_VARIANT = 1 << 2,
	HWQ_MKEY_REMOTE_INV = 1 << 3, /**< a peer may invalidate it by SEND with invalidate */

	/** The variant by mlx5dv_create_mkey(3)'s word for it. */
	HWQ_MKEY_UPDATE_TAG = HWQ_MKEY_UPDATE_VARIANT,
};

/* ------------------------------------------------------------------ signatures */

/**
 * Where the signature or crypto attributes of a key stand, as its next UMR finds them. The state
 * moves when a configuration begins (mlx5dv_wr_mkey_configure(3)):
 *
 *     INIT     never set, or what a reset left behind: its UMR is sent already
 *     RESET    this configuration turns signatures off (MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR)
 *     UPDATED  this configuration's setter gave new attributes
 *     SET      an earlier configuration gave them, and the key still has them
 */
enum hwq_bsf_state {
	HWQ_BSF_INIT,
	HWQ_BSF_RESET,
	HWQ_BSF_SET,
	HWQ_BSF_UPDATED,
};

/** A protection signature value: the running signature of one domain of one key. */
struct hwq_psv {
	uint32_t index; /**< 24 bits: names it in the BSF and in SET_PSV */
	struct mlx5dv_devx_obj *obj;
};

enum hwq_sig_type {
	HWQ_SIG_NONE,
	HWQ_SIG_CRC,
	HWQ_SIG_T10DIF,
};

/** The signature of one domain. */
struct hwq_sig_domain {
	enum hwq_sig_type type; /**< which of the two below; the rest counts if it is not NONE */
	union {
		struct mlx5dv_sig_t10dif dif;
		struct mlx5dv_sig_crc crc;
	};
	enum mlx5dv_block_size block_size;
};

/** Attributes of the last sig_block setter (mlx5dv_wr_set_mkey_sig_block(3)), by value. */
struct hwq_sig_block {
	struct hwq_sig_domain mem, wire;
	uint32_t flags;     /**< MLX5DV_SIG_BLOCK_ATTR_FLAG_* */
	uint8_t check_mask; /**< bytes of the signature that are checked */
	uint8_t copy_mask;  /**< bytes that are copied, where flags say that it counts */
	enum hwq_bsf_state state;
};

/** What a signature-error CQE told of a key (mlx5dv_mkey_check(3)). */
struct hwq_sig_err {
	uint16_t syndrome;         /**< which part was wrong: bits of the CQE */
	uint8_t sig_type;          /**< 0: of a block, 1: of a transaction */
	uint8_t domain;            /**< 0: wire, 1: memory */
	uint64_t expected, actual; /**< the signatures */
	uint64_t offset;           /**< in the transfer, of the block's end */
};

/** Signature context of a key with HWQ_MKEY_SIG. */
struct hwq_mkey_sig {
	struct hwq_psv mem_psv, wire_psv;
	struct hwq_sig_block block;
	struct hwq_sig_err err; /**< counts if err_exists */
	uint32_t err_count;     /**< of signature errors, from 1; its low bit goes into the key */
	bool err_exists;        /**< an error came that hwq_mkey_check() has not told of */
	bool err_count_updated; /**< err_count changed: the next UMR tells the device */
};

/* ------------------------------------------------------------------ encryption */

/** Crypto context of a key with HWQ_MKEY_CRYPTO: the last crypto setter's attributes, by value
 *  (mlx5dv_wr_set_mkey_crypto(3)). */
struct hwq_mkey_crypto {
	enum mlx5dv_crypto_standard crypto_standard;
	enum mlx5dv_signature_crypto_order signature_crypto_order;
	enum mlx5dv_block_size data_unit_size;
	bool encrypt_on_tx;
	uint8_t engines; /**< enum mlx5dv_crypto_engines_caps of the device: fixed */
	char initial_tweak[16];
	char keytag[8];
	uint32_t dek; /**< object id: hwq_dek.id, or that of the caller's own */
	enum hwq_bsf_state state;
};

/* ------------------------------------------------------------------ keys */

/** An indirect key. Written by hwq. */
struct hwq_mkey {
	uint32_t lkey, rkey;      /**< equal; index << 8, and the variant */
	uint16_t max_entries;     /**< KLMs of a list; of a pattern, one less */
	uint8_t flags;            /**< enum hwq_mkey_flags */
	bool out;                 /**< private: not in its pool */
	uint32_t plain_end;       /**< private: 0 if it signs or encrypts, else max_entries + 1 */
	uint64_t length;          /**< of its last layout; kept of keys that sign or encrypt */
	struct hwq_mkey_sig *sig; /**< NULL: no key for signatures */
	struct hwq_mkey_crypto *crypto; /**< NULL: no key for encryption */
	struct hwq_mkey_pool *pool;     /**< NULL: hwq_mkey_adopt()'s */
	struct mlx5dv_devx_obj *obj;    /**< NULL: hwq_mkey_adopt()'s */
};

/** What a pool holds. */
struct hwq_mkey_conf {
	unsigned int n;       /**< keys, from 1 */
	uint16_t max_entries; /**< of each, from 1; rounded up to a multiple of four */
	unsigned int flags;   /**< enum hwq_mkey_flags */
};

/** Keys of one owner thread. Private to hwq_mkey_get(), hwq_mkey_put() and the pool's functions. */
struct hwq_mkey_pool {
	struct hwq_domain *domain;
	struct hwq_mkey_pool *next; /* of the domain */
	unsigned int n, n_free;     /* keys; those at the start of free[] */
	struct hwq_mkey *keys;      /* by their index, ascending */
	struct hwq_mkey_sig *sigs;  /* NULL, or n */
	struct hwq_mkey_crypto *cryptos;
	struct hwq_mkey **free;
};

/**
 * Makes n keys, all alike: three commands for each key with signatures, one for others.
 * @return 0; -EINVAL no keys, no entries, more than 65532 of them, or an unknown flag; -EOPNOTSUPP
 *   the device has no block signatures, no encryption or no update of variants, and they were asked
 *   for (caps.sig_block_prot, caps.crypto_engines say so ahead); -ENOMEM; or why the device refused
 *   a command: nothing is left behind then.
 */
HWQ_API int hwq_mkey_pool_create(struct hwq_domain *domain, const struct hwq_mkey_conf *conf,
	struct hwq_mkey_pool **pool);

/**
 * Destroys the keys and the pool. Work requests that name the keys must have completed.
 * @return 0; -EBUSY keys are out: nothing was destroyed; or the errno of the first refusal: what is
 *   gone is gone, call again for the rest.
 */
HWQ_API int hwq_mkey_pool_destroy(struct hwq_mkey_pool *pool);

/** A key, the one that came back last; NULL: all are out. */
static inline struct hwq_mkey *
hwq_mkey_get(struct hwq_mkey_pool *pool)
{
	struct hwq_mkey *mkey;

	if (__builtin_expect(pool->n_free == 0, 0))
		return NULL;
	mkey = pool->free[--pool->n_free];
	mkey->out = true;
	return mkey;
}

/** Gives the key back to its pool. Work requests that name it must have completed.
 *  @return false: it was not out, or is of no pool; nothing happened. */
static inline bool
hwq_mkey_put(struct hwq_mkey *mkey)
{
	struct hwq_mkey_pool *pool = mkey->pool;

	if (__builtin_expect(pool == NULL || !mkey->out, 0))
		return false;
	mkey->out = false;
	pool->free[pool->n_free++] = mkey;
	return true;
}

/** The key of the domain's pools whose lkey or rkey this is; variants are not compared. NULL: none. For
 *  signature-error CQEs, which name the key. It walks the pools: not for the data path. */
HWQ_API struct hwq_mkey *hwq_mkey_find(const struct hwq_domain *domain, uint32_t key);

/**
 * Changes the key's variant, the low byte of lkey and rkey. The key's next UMR tells the device; until
 * that has run, the old lkey and rkey are valid. Without HWQ_MKEY_UPDATE_VARIANT that UMR is refused,
 * unless the variant is 0 again.
 */
static inline void
hwq_mkey_set_variant(struct hwq_mkey *mkey, uint8_t variant)
{
	mkey->lkey = mkey->rkey = (mkey->lkey & ~0xffu) | variant;
	mkey->plain_end = variant == 0 && (mkey->flags & (HWQ_MKEY_SIG | HWQ_MKEY_CRYPTO)) == 0
				  ? mkey->max_entries + 1u
				  : 0;
}

/** hwq_mkey_set_variant(), by mlx5dv_create_mkey(3)'s word for the variant. */
static inline void
hwq_mkey_set_tag(struct hwq_mkey *mkey, uint8_t tag)
{
	hwq_mkey_set_variant(mkey, tag);
}

/**
 * Fills in *mkey, the caller's storage, from a key of mlx5dv_create_mkey(3), for layouts. It is the
 * caller's, who destroys it with mlx5dv_destroy_mkey(3). Signature and crypto setters refuse it
 * (-EINVAL), whatever it was created for: libmlx5 has their state.
 * @param max_entries as mlx5dv_create_mkey(3) left it in its attributes.
 * @param flags HWQ_MKEY_UPDATE_VARIANT if it was created so; others are ignored.
 */
HWQ_API void hwq_mkey_adopt(struct hwq_mkey *mkey, const struct mlx5dv_mkey *dv,
	uint16_t max_entries, unsigned int flags);

#endif
