/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Indirect memory keys, in pools. A UMR work request gives such a key its layout, that is its
 * memory (hwq_wr_umr.h).
 *
 *     hwq_mkey_pool_create(domain, &conf, &pool)        makes n keys, by commands to the device
 *       mkey = hwq_mkey_get(pool)                       returns a free key, or NULL
 *         hwq_wr_mr_list(&wr, mkey, access, n, sge)     gives it a layout: a list or a pattern
 *         ... mkey->lkey, mkey->rkey in work requests; addresses are offsets from 0 ...
 *       hwq_mkey_put(mkey)                              gives it back to its pool
 *     hwq_mkey_pool_destroy(pool)                       refused while keys are in use
 *
 * A key is created by the commands that mlx5dv_create_mkey(3) sends, through DEVX. It has a number
 * of entries; if it is for signatures, two PSVs and a signature context; if it is for encryption, a
 * crypto context. Work requests may also use a caller's own struct mlx5dv_mkey, by its lkey and
 * rkey. To give such a key a layout, call hwq_mkey_adopt(), which makes a struct hwq_mkey of it.
 *
 * hwq_mkey_put() does not reset a key: the device keeps its layout, its signature configuration and
 * its state until it is configured again. If a peer knows the rkey, invalidate the key first
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

/**
 * The uses of a key: bits of hwq_mkey_conf.flags. They have the meaning of
 * MLX5DV_MKEY_INIT_ATTR_FLAGS_* of mlx5dv_create_mkey(3).
 */
enum hwq_mkey_flags {
	HWQ_MKEY_SIG = 1 << 0,    /**< block signatures; each key takes two PSVs */
	HWQ_MKEY_CRYPTO = 1 << 1, /**< encryption */
	/** The caller may change the variant, the low byte of lkey and rkey. */
	HWQ_MKEY_UPDATE_VARIANT = 1 << 2,
	/** A peer may invalidate the key by a SEND with invalidate. */
	HWQ_MKEY_REMOTE_INV = 1 << 3,

	/** Another name: mlx5dv_create_mkey(3) says "tag" for the variant. */
	HWQ_MKEY_UPDATE_TAG = HWQ_MKEY_UPDATE_VARIANT,
};

/* ------------------------------------------------------------------ signatures */

/**
 * The state of a key's signature or crypto attributes. It decides what the next UMR writes, and
 * changes when a configuration begins (mlx5dv_wr_mkey_configure(3)):
 *
 *     INIT     never set; or reset, and the UMR of the reset is written
 *     RESET    this configuration turns signatures off (MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR)
 *     UPDATED  this configuration's setter gave new attributes
 *     SET      an earlier configuration gave the attributes; the key still has them
 */
enum hwq_bsf_state {
	HWQ_BSF_INIT,    /**< the key has no attributes */
	HWQ_BSF_RESET,   /**< this configuration turns signatures off */
	HWQ_BSF_SET,     /**< the attributes of an earlier configuration are valid */
	HWQ_BSF_UPDATED, /**< this configuration has given new attributes */
};

/** A protection signature value: the running signature of one domain of one key. */
struct hwq_psv {
	/** 24 bits; the BSF and SET_PSV refer to the PSV by this index */
	uint32_t index;
	struct mlx5dv_devx_obj *obj; /**< the DEVX object */
};

/** Kinds of signatures. */
enum hwq_sig_type {
	HWQ_SIG_NONE,   /**< no signature */
	HWQ_SIG_CRC,    /**< a CRC */
	HWQ_SIG_T10DIF, /**< T10-DIF */
};

/** The signature of one domain. */
struct hwq_sig_domain {
	/** Tells whether dif or crc is valid. HWQ_SIG_NONE: no other field is valid. */
	enum hwq_sig_type type;
	union {
		struct mlx5dv_sig_t10dif dif; /**< T10-DIF */
		struct mlx5dv_sig_crc crc;    /**< the CRC */
	};
	enum mlx5dv_block_size block_size; /**< bytes of data of a block */
};

/** Attributes of the last sig_block setter (mlx5dv_wr_set_mkey_sig_block(3)), copied. */
struct hwq_sig_block {
	struct hwq_sig_domain mem;  /**< the domain of memory */
	struct hwq_sig_domain wire; /**< the domain of the wire */
	uint32_t flags;             /**< MLX5DV_SIG_BLOCK_ATTR_FLAG_* */
	uint8_t check_mask;         /**< bytes of the signature that the device checks */
	/**
	 * Bytes of the signature that are copied, if flags has
	 * MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK.
	 */
	uint8_t copy_mask;
	enum hwq_bsf_state state; /**< what the next UMR does with the attributes */
};

/** The error that the CQE of a signature error reported (mlx5dv_mkey_check(3)). */
struct hwq_sig_err {
	uint16_t syndrome; /**< bits of the CQE: which parts of the signature are wrong */
	uint8_t sig_type;  /**< 0: signature of a block, 1: signature of a transaction */
	uint8_t domain;    /**< domain of the signature; 0: wire, 1: memory */
	/** The value that the device expected, and the value that it found. */
	uint64_t expected, actual; /**< the value that the device found */
	uint64_t offset;           /**< offset of the block's end in the transfer, bytes */
};

/** Signature context of a key with HWQ_MKEY_SIG. */
struct hwq_mkey_sig {
	struct hwq_psv mem_psv;     /**< the running signature of memory */
	struct hwq_psv wire_psv;    /**< the running signature of the wire */
	struct hwq_sig_block block; /**< the attributes */
	struct hwq_sig_err err;     /**< valid if err_exists */
	/**
	 * One more than the number of the key's signature errors; its low bit is written to the
	 * key.
	 */
	uint32_t err_count;
	bool err_exists;        /**< there is an error that hwq_mkey_check() has not reported */
	bool err_count_updated; /**< err_count has changed; the next UMR tells it to the device */
};

/* ------------------------------------------------------------------ encryption */

/** Crypto context of a key with HWQ_MKEY_CRYPTO: the last crypto setter's attributes, by value
 *  (mlx5dv_wr_set_mkey_crypto(3)). */
struct hwq_mkey_crypto {
	enum mlx5dv_crypto_standard crypto_standard; /**< AES-XTS */
	/** The order of signature and encryption at the sender. */
	enum mlx5dv_signature_crypto_order signature_crypto_order;
	enum mlx5dv_block_size data_unit_size; /**< size of a data unit */
	bool encrypt_on_tx; /**< true: data on the wire are encrypted; false: data in memory */
	/** Enum mlx5dv_crypto_engines_caps of the device; it does not change. */
	uint8_t engines;
	char initial_tweak[16]; /**< tweak of the first data unit, little endian */
	char keytag[8];         /**< the DEK's keytag */
	/** Object id of the DEK: hwq_dek.id, or of a DEK that the caller made. */
	uint32_t dek;
	enum hwq_bsf_state state; /**< what the next UMR does with the attributes */
};

/* ------------------------------------------------------------------ keys */

/** An indirect key. Only hwq writes this struct. */
struct hwq_mkey {
	/** Local key: index << 8 | variant. */
	uint32_t lkey, rkey;  /**< remote key; it equals lkey */
	uint16_t max_entries; /**< most entries of a list; a pattern may have one entry less */
	uint8_t flags;        /**< enum hwq_mkey_flags */
	/** private: hwq_mkey_get() has returned the key, and hwq_mkey_put() was not called yet */
	bool out;
	/**
	 * Private: layouts with fewer entries than this take the short code path. 0: no layout
	 * takes the short code path, because the key signs, encrypts, or has a variant other than
	 * 0.
	 */
	uint32_t plain_end;
	/** bytes of the last layout; only if the key signs or encrypts */
	uint64_t length;
	struct hwq_mkey_sig *sig; /**< signature context; NULL: the key is not for signatures */
	struct hwq_mkey_crypto *crypto; /**< crypto context; NULL: the key is not for encryption */
	/** the key's pool; NULL: the key is from hwq_mkey_adopt() */
	struct hwq_mkey_pool *pool;
	struct mlx5dv_devx_obj *obj; /**< NULL: from hwq_mkey_adopt() */
};

/** The configuration of a pool. */
struct hwq_mkey_conf {
	unsigned int n; /**< number of keys, at least 1 */
	/** entries of each key, at least 1; rounded up to a multiple of four */
	uint16_t max_entries;
	unsigned int flags; /**< enum hwq_mkey_flags */
};

/** Keys of one owner thread. Private to hwq_mkey_get(), hwq_mkey_put() and the pool's functions. */
struct hwq_mkey_pool {
	struct hwq_domain *domain;  /**< the domain */
	struct hwq_mkey_pool *next; /**< the next pool of the domain */
	/** Number of keys. */
	unsigned int n, n_free;          /**< number of keys at the start of free[] */
	struct hwq_mkey *keys;           /**< the keys, in ascending order of their index */
	struct hwq_mkey_sig *sigs;       /**< signature contexts of the keys; NULL: none */
	struct hwq_mkey_crypto *cryptos; /**< crypto contexts of the keys; NULL: none */
	struct hwq_mkey **free;          /**< the keys that hwq_mkey_get() can return */
};

/**
 * Creates a pool of conf->n keys with one configuration. For each key it sends three commands if
 * the keys sign, otherwise one command. The caller destroys the pool before the domain. After an
 * error no key exists.
 *
 * @param domain
 *   The domain, whose owner thread will own the pool.
 * @param conf
 *   Read during the call.
 * @param pool
 *   Written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   conf->n or max_entries is 0, max_entries is more than 65532, or a flag is unknown.
 * @retval -EOPNOTSUPP
 *   A flag asks for block signatures, encryption or changes of variants, which the device does not
 *   support (see caps.sig_block_prot and caps.crypto_engines).
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of the command that the device refused.
 */
HWQ_API int hwq_mkey_pool_create(struct hwq_domain *domain, const struct hwq_mkey_conf *conf,
	struct hwq_mkey_pool **pool);

/**
 * Destroys the keys and the pool. Work requests that use the keys must have completed.
 *
 * @param pool
 *   The pool.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   Keys are in use: give them back first. Nothing was destroyed.
 * @retval -errno The error of the first key that could not be destroyed: the keys before it are
 *   destroyed; call again to destroy the remaining ones.
 */
HWQ_API int hwq_mkey_pool_destroy(struct hwq_mkey_pool *pool);

/**
 * Returns the key that was given back last. The pool still owns the key; give it back by
 * hwq_mkey_put().
 * @param pool The pool.
 * @return The key; NULL if no key is free.
 */
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

/**
 * Gives a key back to its pool. Work requests that use the key must have completed.
 * @param mkey The key.
 * @return True on success; false if the key is free already, or belongs to no pool: then nothing
 *   happens.
 */
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
 * Finds the key for the CQE of a signature error. It searches all pools of the domain, so it is
 * slow.
 *
 * @param domain
 *   The domain.
 * @param key
 *   An lkey or rkey; its variant is not compared.
 * @return
 *   The key; NULL if no pool of the domain has it.
 */
HWQ_API struct hwq_mkey *hwq_mkey_find(const struct hwq_domain *domain, uint32_t key);

/**
 * Changes the key's variant, the low byte of lkey and rkey. The key's next UMR tells the device;
 * the old lkey and rkey are valid until this UMR has run. If the key was created without
 * HWQ_MKEY_UPDATE_VARIANT, a UMR is refused while the variant is not 0.
 * @param mkey The key.
 * @param variant The variant.
 */
static inline void
hwq_mkey_set_variant(struct hwq_mkey *mkey, uint8_t variant)
{
	mkey->lkey = mkey->rkey = (mkey->lkey & ~0xffu) | variant;
	mkey->plain_end = variant == 0 && (mkey->flags & (HWQ_MKEY_SIG | HWQ_MKEY_CRYPTO)) == 0
				  ? mkey->max_entries + 1u
				  : 0;
}

/**
 * Another name of hwq_mkey_set_variant(): mlx5dv_create_mkey(3) says "tag" for the variant.
 * @param mkey The key.
 * @param tag The variant.
 */
static inline void
hwq_mkey_set_tag(struct hwq_mkey *mkey, uint8_t tag)
{
	hwq_mkey_set_variant(mkey, tag);
}

/**
 * Makes a struct hwq_mkey of a caller's own key, so that hwq can give it a layout. The caller
 * destroys the key by mlx5dv_destroy_mkey(3). Signature and crypto setters refuse the key with
 * -EINVAL, because libmlx5 has the state of its signatures and encryption.
 *
 * @param mkey
 *   The caller's storage; it need not be freed.
 * @param dv
 *   A key of mlx5dv_create_mkey(3), read during the call.
 * @param max_entries
 *   max_entries of struct mlx5dv_mkey_init_attr, as mlx5dv_create_mkey(3) wrote it back.
 * @param flags
 *   HWQ_MKEY_UPDATE_VARIANT if the key was created with it; other flags are ignored.
 */
HWQ_API void hwq_mkey_adopt(struct hwq_mkey *mkey, const struct mlx5dv_mkey *dv,
	uint16_t max_entries, unsigned int flags);

#endif
