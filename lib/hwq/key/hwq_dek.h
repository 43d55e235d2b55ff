/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Data encryption keys (DEKs): what the crypto setter of a key names (hwq_wr_mkey.h).
 *
 *     hwq_login_init()              first, where the device takes wrapped DEKs: hwq_login.h
 *     hwq_dek_init(dev, &conf, &dek)
 *       explicit_bzero(&conf, sizeof(conf));
 *       ... dek.id in struct hwq_crypto_attr, or in struct hwq_crypto_start ...
 *     hwq_dek_fini(&dek)
 *
 *     hwq_dek_pool_create(domain, n, conf, &pool)     n DEKs, one for each configuration
 *       dek = hwq_dek_get(pool, i)                    the i-th of them; each get counts one user
 *       hwq_dek_put(dek)                              once for each get
 *     hwq_dek_pool_destroy(pool)                      refused while a DEK has users
 *
 * A DEK is made by the command that mlx5dv_dek_create(3) sends, through DEVX. The key's bytes go to the
 * device. hwq keeps no copy, erases the command that carried them, and writes them to no log. The id of a DEK
 * that the caller made otherwise can be used in its place.
 *
 * A DEK may be destroyed while keys name it. What passes such a key then fails: as the local key of a work
 * request with IBV_WC_LOC_PROT_ERR, as the remote one with IBV_WC_REM_ACCESS_ERR.
 *
 * Threads: hwq_dek_init(), hwq_dek_query() and hwq_dek_fini() may be called from any thread, but two threads
 * must not use one DEK at once. Only the owner of the domain calls the functions of its pools; nothing is locked.
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
	/** The key's bytes are encrypted for the device (AES key wrap). A login must come before: hwq_login_init(), or
	 *  mlx5dv_crypto_login(3) on the device's context. */
	bool wrapped;
	char opaque
		[8]; /**< the caller's own bytes, which the device keeps and hwq_dek_query() tells; no secret */
	char key[128]; /**< key and keytag, laid out as mlx5dv_dek_create(3) says */
};

/** A DEK. Written by hwq. */
struct hwq_dek {
	uint32_t id; /**< its number; WQEs carry the low 24 bits */
	unsigned int
		users; /**< private: of a pool, calls of hwq_dek_get() minus calls of hwq_dek_put() */
	struct hwq_dev *dev;
	struct mlx5dv_devx_obj *obj;
};

/**
 * Makes a DEK in the device's protection domain. hwq_dek_fini() ends it, before the device is closed.
 * @param conf read during the call; the caller may then erase the key.
 * @param dek the caller's storage, written on success only.
 * @return 0; -EINVAL a key size is not known, the key is in plaintext where the device takes wrapped keys only, or
 *   the other way round (caps.crypto_wrapped tells), or the device refused the key: if it is wrapped, log in first
 *   and wrap it with the KEK of the login; else take two AES keys that differ; -EOPNOTSUPP the device has no
 *   AES-XTS (caps.crypto_engines tells); -ENOMEM; or the error of the command that the device refused, for example
 *   beyond caps.max_dek DEKs: end another one first.
 */
HWQ_API int hwq_dek_init(struct hwq_dev *dev, const struct hwq_dek_conf *conf, struct hwq_dek *dek);

/**
 * Asks the device for a DEK's state, as mlx5dv_dek_query(3). A DEK in MLX5DV_DEK_STATE_ERROR encrypts nothing any
 * more: end it and make it anew.
 * @param attr written on success only: state and opaque; comp_mask is 0.
 * @return 0; -EINVAL the DEK is wrapped and nobody is logged in: log in, then ask again; or the device told an unknown
 *   state; or the error of the command.
 */
HWQ_API int hwq_dek_query(const struct hwq_dek *dek, struct mlx5dv_dek_attr *attr);

/**
 * Destroys a DEK. It needs no login. Keys that name it encrypt nothing any more: configure them with another one first.
 * @return 0; or the error of the command: the DEK is still there, call again.
 */
HWQ_API int hwq_dek_fini(struct hwq_dek *dek);

/**
 * Makes a pool of n DEKs. The caller destroys it before the domain.
 * @param conf n configurations. They are read during the call; the caller may then erase the keys.
 * @param pool written on success only.
 * @return 0; -EINVAL n is 0; -ENOMEM; or as hwq_dek_init(). After an error nothing is left behind.
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
