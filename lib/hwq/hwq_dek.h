/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Data encryption keys, in pools: what the crypto setter of a key names (hwq_wr_mkey.h).
 *
 *     hwq_dek_pool_create(domain, n, conf, &pool)     n DEKs, one for each configuration
 *       dek = hwq_dek_get(pool, i)                    the i-th of them; each get counts one user
 *         ... dek->id in hwq_crypto_attr ...
 *       hwq_dek_put(dek)                              once for each get
 *     hwq_dek_pool_destroy(pool)                      refused while a DEK has users
 *
 * A DEK is made by the command that mlx5dv_dek_create(3) sends, through DEVX. The key's bytes go to the
 * device; hwq keeps no copy. The id of a DEK that the caller made otherwise can be used in its place.
 *
 * Thread: only the owner of the domain calls the functions of this file; nothing is locked.
 */
#ifndef HWQ_DEK_H
#define HWQ_DEK_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/mlx5dv.h>

#include "hwq_dev.h"

struct hwq_domain;
struct hwq_dek_pool;

/** A DEK to make, as struct mlx5dv_dek_init_attr of mlx5dv_dek_create(3). Its purpose is AES-XTS. */
struct hwq_dek_conf {
	enum mlx5dv_crypto_key_size key_size;
	bool has_keytag; /**< the key ends with a tag, which the crypto setter must repeat */
	/** The key's bytes are encrypted for the device. mlx5dv_crypto_login(3) must come before. */
	bool wrapped;
	char opaque[8]; /**< the caller's own bytes, which the device keeps */
	char key[128];  /**< key and keytag, laid out as mlx5dv_dek_create(3) says */
};

/** A DEK. Written by hwq. */
struct hwq_dek {
	uint32_t id;        /**< its number in WQEs: 24 bits */
	unsigned int users; /**< private: calls of hwq_dek_get() minus calls of hwq_dek_put() */
	struct mlx5dv_devx_obj *obj;
};

/**
 * Makes a pool of n DEKs. The caller destroys it before the domain.
 * @param conf n configurations. They are read during the call; the caller may then erase the keys.
 * @param pool written on success only.
 * @return 0; -EINVAL n is 0, a key size is not known, or a key is in plaintext where the device takes
 *   wrapped keys only, or the other way round (caps.crypto_wrapped tells); -EOPNOTSUPP the device has no
 *   AES-XTS (caps.crypto_engines tells); -ENOMEM; or the error of the command that the device refused.
 *   After an error nothing is left behind.
 */
HWQ_API int hwq_dek_pool_create(struct hwq_domain *domain, unsigned int n,
	const struct hwq_dek_conf *conf, struct hwq_dek_pool **pool);

/**
 * Destroys the DEKs and the pool. No key may encrypt with them any more: configure such keys anew before.
 * @return 0; -EBUSY a DEK has users: nothing was destroyed; or the errno of the first DEK that could not
 *   be destroyed: the ones before it are gone, call again for the others.
 */
HWQ_API int hwq_dek_pool_destroy(struct hwq_dek_pool *pool);

/** Takes the i-th DEK of the pool, counted from 0, and counts a user. It stays the pool's.
 *  @return the DEK; NULL: the pool has fewer. */
HWQ_API struct hwq_dek *hwq_dek_get(struct hwq_dek_pool *pool, unsigned int i);

/** Gives a DEK back: one user less. @return true; or false: it has no users, and nothing happened. */
HWQ_API bool hwq_dek_put(struct hwq_dek *dek);

#endif
