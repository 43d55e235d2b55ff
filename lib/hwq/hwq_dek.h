/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Data encryption keys, in pools: what the crypto setter of a key names (hwq_wr_mkey.h).
 *
 *     hwq_dek_pool_create(domain, n, conf, &pool)     n DEKs, of n keys' bytes
 *       dek = hwq_dek_get(pool, i)                    the i-th of them; as often as it is needed
 *         ... dek->id in hwq_crypto_attr ...
 *       hwq_dek_put(dek)                              as often
 *     hwq_dek_pool_destroy(pool)                      refuses while one is out
 *
 * A DEK is what mlx5dv_dek_create(3) makes, by the same command, sent through DEVX. Its bytes go to
 * the device and are kept nowhere else. A caller's own DEK is as good, where its id is known.
 *
 * Thread: a pool and its DEKs belong to the owner of its domain, and to no other; nothing is locked.
 */
#ifndef HWQ_DEK_H
#define HWQ_DEK_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/mlx5dv.h>

#include "hwq_dev.h"

struct hwq_domain;
struct hwq_dek_pool;

/** A DEK to make, as struct mlx5dv_dek_init_attr: for AES-XTS, the one purpose there is. */
struct hwq_dek_conf {
	enum mlx5dv_crypto_key_size key_size;
	bool has_keytag; /**< the key ends with a tag, which the crypto setter must repeat */
	bool wrapped; /**< the key's bytes are encrypted for the device: somebody must be logged in
			    (mlx5dv_crypto_login(3)) */
	char opaque[8]; /**< the caller's, kept by the device */
	char key[128];  /**< with what is behind it, as mlx5dv_dek_create(3) has it */
};

/** A DEK. Written by hwq. */
struct hwq_dek {
	uint32_t id;        /**< what WQEs name it by: 24 bits */
	unsigned int users; /**< private: hwq_dek_get() less hwq_dek_put() */
	struct mlx5dv_devx_obj *obj;
};

/**
 * Makes n DEKs of the n configurations. conf is read here, and may be wiped then.
 * @return 0; -EINVAL none, an unknown size, plaintext for a device that takes only wrapped keys, or
 *   the reverse (caps.crypto_wrapped says so ahead); -EOPNOTSUPP the device has no AES-XTS
 *   (caps.crypto_engines); -ENOMEM; or why the device refused a command: nothing is left behind then.
 */
HWQ_API int hwq_dek_pool_create(struct hwq_domain *domain, unsigned int n,
	const struct hwq_dek_conf *conf, struct hwq_dek_pool **pool);

/**
 * Destroys the DEKs and the pool. Keys that encrypt with them must be configured otherwise by now.
 * @return 0; -EBUSY some are out: nothing was destroyed; or the errno of the first refusal: what is
 *   gone is gone, call again for the rest.
 */
HWQ_API int hwq_dek_pool_destroy(struct hwq_dek_pool *pool);

/** The i-th of the pool's, counted from 0; NULL: there are not so many. */
HWQ_API struct hwq_dek *hwq_dek_get(struct hwq_dek_pool *pool, unsigned int i);

/** Gives it back. @return false: it was not out; nothing happened. */
HWQ_API bool hwq_dek_put(struct hwq_dek *dek);

#endif
