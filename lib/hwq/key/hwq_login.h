/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Logging in to a device that takes its data encryption keys wrapped (caps.crypto_wrapped).
 *
 *     hwq_login_init(dev, &attr, &login)     shows that the caller knows the device's credential
 *       hwq_dek_init()                       wrapped keys, as many as wanted: hwq_dek.h
 *     hwq_login_fini(&login)                 the DEKs stay, and go on encrypting
 *
 * Only making and querying wrapped DEKs needs a login. A context of the device has one at most. The calls send the
 * commands of mlx5dv_crypto_login_create(3), mlx5dv_crypto_login_query(3) and mlx5dv_crypto_login_destroy(3) through
 * DEVX. hwq erases the command that carried the credential, and keeps no copy of it. A login that the caller made itself
 * on the device's context serves as well.
 *
 * Threads: any; two threads must not use one login at once.
 */
#ifndef HWQ_LOGIN_H
#define HWQ_LOGIN_H

#include <infiniband/mlx5dv.h>

#include "hwq_dev.h"

#define HWQ_CREDENTIAL_MAX 48u /**< bytes of the longest wrapped credential */

/** A login. Written by hwq. */
struct hwq_login {
	uint32_t id; /**< its number in commands */
	struct hwq_dev *dev;
	struct mlx5dv_devx_obj *obj;
};

/**
 * Logs in. hwq_login_fini() ends it, before the device is closed.
 * @param attr read during the call, as the credential that it points to: wrapped, HWQ_CREDENTIAL_MAX bytes at most.
 *   credential_id and import_kek_id have 24 bits. The device's crypto officer knows all of them.
 * @param login the caller's storage, written on success only.
 * @return 0; -EOPNOTSUPP the device takes keys in plaintext, so that no login is needed, or a crypto officer has not yet
 *   made it ready (MLX5DV_CRYPTO_CAPS_WRAPPED_CRYPTO_OPERATIONAL); -EINVAL an id or the credential's length is not
 *   possible, comp_mask is not 0, or the device does not know the id or the credential; -EBUSY the context is logged in:
 *   use that login, or end it; -ENOMEM; or the error of the command that the device refused. The log says which.
 */
HWQ_API int hwq_login_init(struct hwq_dev *dev, const struct mlx5dv_crypto_login_attr_ex *attr,
	struct hwq_login *login);

/**
 * Asks the device whether the login is still valid.
 * @param state written on success only: MLX5DV_CRYPTO_LOGIN_STATE_VALID; or _INVALID, when the crypto officer has
 *   deleted the credential or the KEK: end it, and log in with valid ones if more DEKs are to be made.
 * @return 0; -EINVAL the device told an unknown state; or the error of the command.
 */
HWQ_API int hwq_login_query(const struct hwq_login *login, enum mlx5dv_crypto_login_state *state);

/** Ends the login. @return 0; or the error of the command: the login is still there, call again. */
HWQ_API int hwq_login_fini(struct hwq_login *login);

#endif
