/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Indirect memory keys, in pools: keys whose memory a UMR work request lays out (hwq_wr_umr.h).
 *
 *     hwq_mkey_pool_create(domain, &conf, &pool)        makes n keys, by commands to the device
 *       mkey = hwq_mkey_get(pool)                       takes one; NULL: all are taken
 *         hwq_wr_mr_list(&wr, mkey, access, n, sge)     lays it out: a list or a pattern
 *         ... mkey->lkey, mkey->rkey in work requests; addresses are offsets from 0 ...
 *       hwq_mkey_put(mkey)                              gives it back to its pool
 *     hwq_mkey_pool_destroy(pool)                       refused while keys are taken
 *
 * A key is made by the commands that mlx5dv_create_mkey(3) sends, through DEVX. It has a number of
 * entries; two PSVs and a signature context if it is for signatures; a crypto context if it is for
 * encryption. The lkey and rkey of a caller's own struct mlx5dv_mkey may be used in work requests; to lay
 * such a key out, make a struct hwq_mkey of it by hwq_mkey_adopt().
 *
 * hwq_mkey_put() does not reset a key: the device keeps its layout, its signature configuration and its
 * state until it is configured again. Where a peer knows its rkey, invalidate it first
 * (hwq_wr_local_inv()).
 *
 * Thread: only the owner of the domain calls the functions of this file; nothing is locked.
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

/** What keys are for: bits of hwq_mkey_conf.flags. They mean what MLX5DV_MKEY_INIT_ATTR_FLAGS_* of
 *  mlx5dv_create_mkey(3) mean. */
enum hwq_mkey_flags {
	HWQ_MKEY_SIG = 1 << 0,    /**< block signatures; takes two PSVs for each key */
	HWQ_MKEY_CRYPTO = 1 << 1, /**< encryption */
	/** The caller may change the variant, the low byte of lkey and rkey. */
	HWQ_MKEY_UPDATE_VARIANT = 1 << 2,
	HWQ_MKEY_REMOTE_INV = 1 << 3, /**< a peer may invalidate it by SEND with invalidate */

	/** Another name: mlx5dv_create_mkey(3) says "tag" for the variant. */
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
	uint32_t lkey, rkey;  /**< equal: index << 8 | variant */
	uint16_t max_entries; /**< most entries of a list; a pattern may have one less */
	uint8_t flags;        /**< enum hwq_mkey_flags */
	bool out;             /**< private: taken by hwq_mkey_get() */
	/** Private: a layout of fewer entries is plain. 0 if no layout is: the key signs, encrypts, or has a
	 *  variant other than 0. */
	uint32_t plain_end;
	uint64_t length;          /**< bytes of its last layout; only if it signs or encrypts */
	struct hwq_mkey_sig *sig; /**< NULL: not for signatures */
	struct hwq_mkey_crypto *crypto; /**< NULL: not for encryption */
	struct hwq_mkey_pool *pool;     /**< NULL: from hwq_mkey_adopt() */
	struct mlx5dv_devx_obj *obj;    /**< NULL: from hwq_mkey_adopt() */
};

/** What a pool holds. */
struct hwq_mkey_conf {
	unsigned int n;       /**< how many keys, from 1 */
	uint16_t max_entries; /**< entries of each key, from 1; rounded up to a multiple of four */
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
 * Makes a pool of conf->n keys with one configuration. It sends three commands for each key with
 * signatures, one for each other key. The caller destroys the pool before the domain.
 * @param conf read during the call.
 * @param pool written on success only.
 * @return 0; -EINVAL no keys, no entries, more than 65532 entries, or a flag that is not known;
 *   -EOPNOTSUPP a flag asks for block signatures, encryption or changes of variants, and the device does not
 *   have them (caps.sig_block_prot and caps.crypto_engines tell); -ENOMEM; or the error of the command
 *   that the device refused. After an error nothing is left behind.
 */
HWQ_API int hwq_mkey_pool_create(struct hwq_domain *domain, const struct hwq_mkey_conf *conf,
	struct hwq_mkey_pool **pool);

/**
 * Destroys the keys and the pool. Work requests that name the keys must have completed.
 * @return 0; -EBUSY keys are taken: give them back first, nothing was destroyed; or the errno of the first
 *   key that could not be destroyed: the ones before it are gone, call again for the others.
 */
HWQ_API int hwq_mkey_pool_destroy(struct hwq_mkey_pool *pool);

/** Takes a key, the one that was given back last. It stays the pool's; give it back by hwq_mkey_put().
 *  @return the key; NULL: all are taken. */
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

/** Gives a key back to its pool. Work requests that name it must have completed.
 *  @return true; or false: it was not taken, or is of no pool, and nothing happened. */
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

/**
 * Finds the key of a signature-error CQE. It walks the domain's pools, so it is slow.
 * @param key an lkey or rkey; its variant is not compared.
 * @return the key; NULL: no pool of the domain has it.
 */
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

/** Another name of hwq_mkey_set_variant(): mlx5dv_create_mkey(3) says "tag" for the variant. */
static inline void
hwq_mkey_set_tag(struct hwq_mkey *mkey, uint8_t tag)
{
	hwq_mkey_set_variant(mkey, tag);
}

/**
 * Makes a struct hwq_mkey of a caller's own key, so that it can be laid out. The caller destroys the key
 * by mlx5dv_destroy_mkey(3). Signature and crypto setters refuse it with -EINVAL, because libmlx5 has their
 * state.
 * @param mkey the caller's storage; it needs no end.
 * @param dv a key of mlx5dv_create_mkey(3), read during the call.
 * @param max_entries max_entries of struct mlx5dv_mkey_init_attr, as mlx5dv_create_mkey(3) wrote it back.
 * @param flags HWQ_MKEY_UPDATE_VARIANT if it was created so; others are ignored.
 */
HWQ_API void hwq_mkey_adopt(struct hwq_mkey *mkey, const struct mlx5dv_mkey *dv,
	uint16_t max_entries, unsigned int flags);

#endif
