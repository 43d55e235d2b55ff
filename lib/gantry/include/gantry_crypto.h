/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Data encryption keys (DEKs) of AES-XTS (IEEE Std 1619). The device encrypts or decrypts data with
 * them while a transaction moves the data.
 *
 *     gantry_login()              only where the device takes wrapped DEKs (GANTRY_CRYPTO_WRAPPED)
 *     gantry_dek_add()            gives a DEK to the device
 *     gantry_profile_create()     the encrypted domain, and the bytes of a data unit
 *          |
 *     struct gantry_txn           the DEK, and the tweak of the first data unit
 *     gantry_submit(GANTRY_OP_TXN)
 *          |
 *     gantry_dek_retire()         refuses new transactions, and ends the DEK after the last one
 *     gantry_logout()
 *
 * The engine passes the bytes of a DEK to the device, erases its copies, and keeps none: nothing
 * can log, trace or dump them. The caller may erase its own bytes when gantry_dek_add() has
 * returned.
 *
 * Threads: the control thread makes all calls of this file. Workers and owners of queues go on
 * meanwhile, and wait for nothing.
 */
#ifndef GANTRY_CRYPTO_H
#define GANTRY_CRYPTO_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry_api.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gantry;

/* What the device can do: bits of gantry_info::crypto. 0: it does not encrypt. */
#define GANTRY_CRYPTO_XTS     (1u << 0) /**< AES-XTS */
#define GANTRY_CRYPTO_WRAPPED (1u << 1) /**< DEKs come wrapped, after a login; else in plaintext */
/**
 * The memory of an encrypting transaction has at most gantry_crypto::unit_size bytes (ConnectX-6
 * Dx).
 */
#define GANTRY_CRYPTO_SINGLE (1u << 2)

/* ------------------------------------------------------------------ login */

/** Who logs in, as in mlx5dv_crypto_login(3). The device's crypto officer knows the values. */
struct gantry_login_conf {
	uint32_t credential_id; /**< which of the device's credentials */
	/** which of the device's import KEKs wraps the credential and DEKs */
	uint32_t import_kek_id;
	const void *credential;  /**< wrapped by that KEK */
	uint32_t credential_len; /**< bytes, at most 48 */
	uint32_t reserved[9];    /**< 0 */
};

/**
 * Logs the engine in, so that DEKs may be added to a device that takes them wrapped. Control
 * thread.
 *
 * DEKs that the device has need no login.
 *
 * @param g
 *   The engine.
 * @param conf
 *   Who logs in, read during the call.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EOPNOTSUPP
 *   The device takes no wrapped DEKs: it needs no login.
 * @retval -EALREADY
 *   The engine is logged in.
 * @retval -EBUSY
 *   The owner of gantry_conf::ibv_ctx has logged in: add DEKs.
 * @retval -EINVAL
 *   credential_len is not possible, reserved bytes are not 0, or the device does not accept the
 *   credential or the ids.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The call that failed.
 */
GANTRY_API int gantry_login(struct gantry *g, const struct gantry_login_conf *conf);

/**
 * Ends the login. gantry_destroy() does it, too. Control thread.
 *
 * @param g
 *   The engine.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   The engine is not logged in.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The call that failed: call again.
 */
GANTRY_API int gantry_logout(struct gantry *g);

/* ------------------------------------------------------------------ DEKs */

#define GANTRY_MAX_DEKS 1023 /**< DEKs of one engine that are not retired */

/** A DEK. */
struct gantry_dek_conf {
	/**
	 * In plaintext: the two AES keys of XTS, the one for data first. Wrapped by the import KEK
	 * (RFC 3394): the same bytes, and the keytag behind them if there is one
	 */
	const void *key;
	/**
	 * Bytes at `key`. Plaintext: 32 for AES-128, 64 for AES-256. Wrapped: 8 more, and with a
	 * keytag 16 more
	 */
	uint32_t len;
	bool wrapped; /**< the device has GANTRY_CRYPTO_WRAPPED */
	/** The device compares `keytag` with the DEK's, and moves nothing if they differ. */
	bool has_keytag;
	uint8_t keytag[8];    /**< if has_keytag: in plaintext, here too if the DEK is wrapped */
	uint64_t reserved[4]; /**< 0 */
};

/**
 * Gives a DEK to the device, for gantry_txn::crypto of all queues of the engine. Control thread.
 *
 * @param g
 *   The engine.
 * @param conf
 *   The DEK, read during the call.
 * @param id
 *   Its number; written on success only. None of the engine's last 4 million DEKs had this number.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EOPNOTSUPP
 *   The device does not encrypt.
 * @retval -EINVAL
 *   len is not possible, `wrapped` is not what the device takes, or reserved bytes are not 0.
 * @retval -EPERM
 *   The DEK is wrapped, and nobody has logged in: call gantry_login().
 * @retval -ENOSPC
 *   There are GANTRY_MAX_DEKS: retire one.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The device refuses, for example two AES keys that are equal, or a DEK that another KEK wraps.
 */
GANTRY_API int gantry_dek_add(struct gantry *g, const struct gantry_dek_conf *conf, uint32_t *id);

/**
 * Retires a DEK. Control thread. gantry_destroy() destroys all DEKs.
 *
 * At once, transactions that name it and are not in the hardware yet complete with GANTRY_BAD_DEK.
 * The call then waits until those in the hardware have completed, and the device destroys the DEK.
 * It waits for no receive, and for no descriptor of another operation.
 *
 * The owner of a queue with transactions in the hardware must poll it meanwhile. An owner that
 * makes this call itself first polls until its transactions have completed, or calls gantry_rest()
 * when the hardware has done them. A queue without transactions need not be polled.
 *
 * @param g
 *   The engine.
 * @param id
 *   From gantry_dek_add().
 * @param timeout_ms
 *   The most milliseconds that the call waits; 0: it looks once.
 * @return
 *   0: the DEK is destroyed. Otherwise:
 * @retval -EINVAL
 *   There is no such DEK.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -ETIMEDOUT
 *   A queue still has transactions from before: call again, with the same id.
 * @retval -errno
 *   The device refuses: call again, with the same id.
 */
GANTRY_API int gantry_dek_retire(struct gantry *g, uint32_t id, uint32_t timeout_ms);

#ifdef __cplusplus
}
#endif
#endif
