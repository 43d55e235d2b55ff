/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Logins to a device that takes data encryption keys only wrapped (caps.crypto_wrapped).
 *
 *     hwq_login_init(dev, &attr, &login)     shows that the caller knows the device's credential
 *       hwq_dek_init()                       wrapped keys, any number: hwq_dek.h
 *     hwq_login_fini(&login)                 the DEKs stay and keep working
 *
 * Only hwq_dek_init() and hwq_dek_query() of wrapped DEKs need a login. A context of the device has
 * at most one login. The functions send the commands of mlx5dv_crypto_login_create(3),
 * mlx5dv_crypto_login_query(3) and mlx5dv_crypto_login_destroy(3) through DEVX. hwq erases the
 * command that contained the credential, and keeps no copy of the credential. A login that the
 * caller has made on the device's context has the same effect as a login of hwq.
 *
 * Threads: any thread may call the functions of this file, but two threads must not use one login
 * at once.
 */
#ifndef HWQ_LOGIN_H
#define HWQ_LOGIN_H

#include <infiniband/mlx5dv.h>

#include "hwq_dev.h"

#define HWQ_CREDENTIAL_MAX 48u /**< bytes of the longest wrapped credential */

/** A login. Only hwq writes this struct. */
struct hwq_login {
	uint32_t id;                 /**< object id, for commands */
	struct hwq_dev *dev;         /**< the device */
	struct mlx5dv_devx_obj *obj; /**< the DEVX object */
};

/**
 * Logs in. The caller ends the login by hwq_login_fini() before the device is closed.
 *
 * @param dev
 *   The device.
 * @param attr Read during the call, with the credential that it points to: wrapped, at most
 *   HWQ_CREDENTIAL_MAX bytes. credential_id and import_kek_id have 24 bits. The device's crypto
 *   officer provides the credential and both ids.
 * @param login
 *   The caller's storage; written on success only.
 * @return
 *   0 on success. Otherwise the log has the error:
 * @retval -EOPNOTSUPP
 *   The device takes keys in plaintext, so no login is needed; or a crypto officer has not prepared
 *   the device yet (MLX5DV_CRYPTO_CAPS_WRAPPED_CRYPTO_OPERATIONAL).
 * @retval -EINVAL
 *   An id or the credential's length is not possible, comp_mask is not 0, or the device does not
 *   know the id or the credential.
 * @retval -EBUSY
 *   The context is logged in already: use that login, or end it.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of the command that the device refused.
 */
HWQ_API int hwq_login_init(struct hwq_dev *dev, const struct mlx5dv_crypto_login_attr_ex *attr,
	struct hwq_login *login);

/**
 * Asks the device whether the login is still valid.
 *
 * @param login
 *   The login.
 * @param state
 *   Written on success only: MLX5DV_CRYPTO_LOGIN_STATE_VALID; or _INVALID if the crypto officer has
 *   deleted the credential or the KEK. In this case end the login; to create more DEKs, log in with
 *   a valid credential and KEK.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   The device reported an unknown state.
 * @retval -errno
 *   The error of the command.
 */
HWQ_API int hwq_login_query(const struct hwq_login *login, enum mlx5dv_crypto_login_state *state);

/**
 * Ends a login.
 *
 * @param login
 *   The login.
 * @return
 *   0 on success, otherwise:
 * @retval -errno
 *   The error of the command: the login still exists, call again.
 */
HWQ_API int hwq_login_fini(struct hwq_login *login);

#endif
