/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Data encryption keys (DEKs), to which the crypto setter of a key refers (hwq_wr_mkey.h).
 *
 *     hwq_login_init()              first, if the device takes wrapped DEKs: hwq_login.h
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
 * A DEK is created by the command that mlx5dv_dek_create(3) sends, through DEVX. The key's bytes go
 * to the device. hwq keeps no copy of the bytes, erases the command that contained them, and never
 * logs them. Work requests may also use a DEK that the caller created, by its id.
 *
 * A DEK may be destroyed while keys refer to it. A work request that uses such a key then fails:
 * with IBV_WC_LOC_PROT_ERR if it is the local key, with IBV_WC_REM_ACCESS_ERR if it is the remote
 * key.
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
 * The configuration of a DEK, as struct mlx5dv_dek_init_attr of mlx5dv_dek_create(3). Its purpose
 * is AES-XTS.
 */
struct hwq_dek_conf {
	enum mlx5dv_crypto_key_size key_size; /**< length of each of the two AES keys */
	bool has_keytag; /**< the key ends with a tag, which the crypto setter must repeat */
	/**
	 * The key's bytes are encrypted for the device (AES key wrap). This needs an earlier login:
	 * hwq_login_init(), or mlx5dv_crypto_login(3) on the device's context.
	 */
	bool wrapped;
	/**
	 * Bytes that the device stores and hwq_dek_query() returns. The caller chooses these bytes,
	 * which are no secret.
	 */
	char opaque[8];
	char key[128]; /**< key and keytag, in the layout of mlx5dv_dek_create(3) */
};

/** A DEK. Only hwq writes this struct. */
struct hwq_dek {
	uint32_t id; /**< object id; WQEs contain its low 24 bits */
	/** Private, in a pool: calls of hwq_dek_get() minus calls of hwq_dek_put(). */
	unsigned int users;
	struct hwq_dev *dev;         /**< the device */
	struct mlx5dv_devx_obj *obj; /**< the DEVX object */
};

/**
 * Creates a DEK in the device's protection domain. The caller destroys it by hwq_dek_fini() before
 * the device is closed.
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
 *   the key is wrapped and the device takes plaintext only (see caps.crypto_wrapped). Or the device
 *   refused the key: a wrapped key needs a login, and must be wrapped with the KEK of the login; a
 *   key in plaintext needs two AES keys that differ.
 * @retval -EOPNOTSUPP
 *   The device has no AES-XTS (see caps.crypto_engines).
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of the command that the device refused, for example because caps.max_dek DEKs exist:
 *   destroy another DEK first.
 */
HWQ_API int hwq_dek_init(struct hwq_dev *dev, const struct hwq_dek_conf *conf, struct hwq_dek *dek);

/**
 * Asks the device for a DEK's state, as mlx5dv_dek_query(3). A DEK in MLX5DV_DEK_STATE_ERROR no
 * longer encrypts: destroy it and create it again.
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
 * Destroys a DEK; this needs no login. Keys that refer to the DEK no longer encrypt: configure them
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
 * Creates a pool of DEKs. The caller destroys it before the domain. After an error no DEK exists.
 *
 * @param domain
 *   The domain, whose owner thread will own the pool.
 * @param n
 *   Number of DEKs, at least 1.
 * @param conf
 *   n configurations. They are read during the call; the caller may then erase the keys.
 * @param pool
 *   Written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   n is 0, or for a reason of hwq_dek_init().
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   An error of hwq_dek_init().
 */
HWQ_API int hwq_dek_pool_create(struct hwq_domain *domain, unsigned int n,
	const struct hwq_dek_conf *conf, struct hwq_dek_pool **pool);

/**
 * Destroys the DEKs and the pool. First configure all keys that use these DEKs with other DEKs.
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
 * Returns a DEK of the pool, and counts one more user. The pool still owns the DEK.
 *
 * @param pool
 *   The pool.
 * @param i
 *   The DEK's index in the pool, from 0.
 * @return
 *   The DEK; NULL if the pool has fewer DEKs.
 */
HWQ_API struct hwq_dek *hwq_dek_get(struct hwq_dek_pool *pool, unsigned int i);

/**
 * Ends a use of a DEK: counts one user less.
 *
 * @param dek
 *   The DEK.
 * @return
 *   True on success; false if the DEK has no users: then nothing happens.
 */
HWQ_API bool hwq_dek_put(struct hwq_dek *dek);

#endif
