/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Data encryption keys (DEKs), which the crypto setter of a key names (hwq_wr_mkey.h).
 *
 *     hwq_login_init()              first, where the device takes wrapped DEKs: hwq_login.h
 *     hwq_dek_init(dev, &conf, &dek)
 *       explicit_bzero(&conf, sizeof(conf));
 *       ... dek.id in struct hwq_crypto_attr, or in struct hwq_crypto_start ...
 *     hwq_dek_fini(&dek)
 *
 *     hwq_dek_pool_create(domain, n, conf, &pool)     n DEKs, one for each configuration
 *       dek = hwq_dek_get(pool, i)                    the i-th DEK; each get counts one user
 *       hwq_dek_put(dek)                              once for each get
 *     hwq_dek_pool_destroy(pool)                      refused while a DEK has users
 *
 * A DEK is made by the command that mlx5dv_dek_create(3) sends, through DEVX. The key's bytes go to
 * the device. hwq keeps no copy of them, erases the command that carried them, and never logs them.
 * Instead of a DEK of this file, work requests may name a DEK that the caller made, by its id.
 *
 * A DEK may be destroyed while keys name it. A work request that uses such a key then fails: with
 * IBV_WC_LOC_PROT_ERR if it is the local key, with IBV_WC_REM_ACCESS_ERR if it is the remote key.
 *
 * Threads: hwq_dek_init(), hwq_dek_query() and hwq_dek_fini() may be called from any thread, but
 * two threads must not use one DEK at once. Only the owner of the domain calls the functions of its
 * pools; nothing is locked.
 */
#ifndef HWQ_DEK_H
#define HWQ_DEK_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/mlx5dv.h>

#include "hwq_dev.h"

struct hwq_domain;
struct hwq_dek_pool;

/**
 * A DEK to make, as struct mlx5dv_dek_init_attr of mlx5dv_dek_create(3). Its purpose is AES-XTS.
 */
struct hwq_dek_conf {
	enum mlx5dv_crypto_key_size key_size; /**< length of each of the two AES keys */
	bool has_keytag; /**< the key ends with a tag, which the crypto setter must repeat */
	/**
	 * The key's bytes are encrypted for the device (AES key wrap). A login must come before:
	 * hwq_login_init(), or
	 * mlx5dv_crypto_login(3) on the device's context.
	 */
	bool wrapped;
	/**
	 * The caller's own bytes, which the device keeps and hwq_dek_query() returns; no secret.
	 */
	char opaque[8];
	char key[128]; /**< key and keytag, laid out as mlx5dv_dek_create(3) says */
};

/** A DEK. Written by hwq. */
struct hwq_dek {
	uint32_t id; /**< its number; WQEs carry the low 24 bits */
	/** Private, in a pool: calls of hwq_dek_get() minus calls of hwq_dek_put(). */
	unsigned int users;
	struct hwq_dev *dev;         /**< the device */
	struct mlx5dv_devx_obj *obj; /**< the DEVX object */
};

/**
 * Makes a DEK in the device's protection domain. The caller ends it by hwq_dek_fini() before the
 * device is closed.
 *
 * @param dev
 *   The device.
 * @param conf
 *   Read during the call; the caller may then erase the key.
 * @param dek
 *   The caller's storage; written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   The key size is unknown. Or the key is in plaintext and the device takes wrapped keys only, or
 *   the other way round (caps.crypto_wrapped tells). Or the device refused the key: log in first
 *   and wrap it with the KEK of the login; a key in plaintext needs two AES keys that differ.
 * @retval -EOPNOTSUPP
 *   The device has no AES-XTS (caps.crypto_engines tells).
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of the command that the device refused, for example beyond caps.max_dek DEKs: end
 *   another DEK first.
 */
HWQ_API int hwq_dek_init(struct hwq_dev *dev, const struct hwq_dek_conf *conf, struct hwq_dek *dek);

/**
 * Asks the device for a DEK's state, as mlx5dv_dek_query(3). A DEK in MLX5DV_DEK_STATE_ERROR no
 * longer encrypts: end it and make it anew.
 *
 * @param dek
 *   The DEK.
 * @param attr
 *   Written on success only: state and opaque; comp_mask is 0.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   The DEK is wrapped and there is no login: log in, then ask again. Or the device reported an
 *   unknown state.
 * @retval -errno
 *   The error of the command.
 */
HWQ_API int hwq_dek_query(const struct hwq_dek *dek, struct mlx5dv_dek_attr *attr);

/**
 * Destroys a DEK; this needs no login. Keys that name the DEK no longer encrypt: configure them
 * with another DEK first.
 *
 * @param dek
 *   The DEK.
 * @return
 *   0 on success, otherwise:
 * @retval -errno
 *   The error of the command: the DEK still exists, call again.
 */
HWQ_API int hwq_dek_fini(struct hwq_dek *dek);

/**
 * Makes a pool of DEKs. The caller destroys it before the domain. After an error no DEK is left
 * behind.
 *
 * @param domain
 *   The domain, whose owner thread will own the pool.
 * @param n
 *   How many DEKs, from 1.
 * @param conf
 *   n configurations. They are read during the call; the caller may then erase the keys.
 * @param pool
 *   Written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   n is 0, or as hwq_dek_init().
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   An error of hwq_dek_init().
 */
HWQ_API int hwq_dek_pool_create(struct hwq_domain *domain, unsigned int n,
	const struct hwq_dek_conf *conf, struct hwq_dek_pool **pool);

/**
 * Destroys the DEKs and the pool. First configure all keys that encrypt with these DEKs anew.
 *
 * @param pool
 *   The pool.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   A DEK has users. Nothing was destroyed.
 * @retval -errno The error of the first DEK that could not be destroyed: the DEKs before it are
 *   destroyed; call again to destroy the remaining ones.
 */
HWQ_API int hwq_dek_pool_destroy(struct hwq_dek_pool *pool);

/**
 * Takes a DEK of the pool, and counts a user of it. The DEK stays the pool's.
 *
 * @param pool
 *   The pool.
 * @param i
 *   Its position in the pool, from 0.
 * @return
 *   The DEK; NULL: the pool has fewer DEKs.
 */
HWQ_API struct hwq_dek *hwq_dek_get(struct hwq_dek_pool *pool, unsigned int i);

/**
 * Gives a DEK back: it has one user less.
 *
 * @param dek
 *   The DEK.
 * @return
 *   True; or false: the DEK has no users, and nothing happened.
 */
HWQ_API bool hwq_dek_put(struct hwq_dek *dek);

#endif
