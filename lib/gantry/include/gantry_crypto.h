/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Data encryption keys (DEKs) of AES-XTS (IEEE Std 1619). With a DEK, the device encrypts or
 * decrypts data while a transaction moves the data.
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
 * The engine passes the bytes of a DEK to the device, erases its copies, and keeps no copy. So
 * nothing can log, trace or dump these bytes. The caller may erase its own bytes when
 * gantry_dek_add() has returned.
 *
 * Threads: the control thread makes all calls of this file. Workers and owners of queues work
 * meanwhile, and do not wait.
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

/* Bits of gantry_info::crypto: what the device can do. 0: the device does not encrypt. */
#define GANTRY_CRYPTO_XTS (1u << 0) /**< the device encrypts by AES-XTS */
/** After a login, the device takes wrapped DEKs. Without this bit it takes DEKs in plaintext. */
#define GANTRY_CRYPTO_WRAPPED (1u << 1)
/**
 * The memory of an encrypting transaction has at most gantry_crypto::unit_size bytes (ConnectX-6
 * Dx).
 */
#define GANTRY_CRYPTO_SINGLE (1u << 2)

/* ------------------------------------------------------------------ login */

/**
 * The credential of a login, as in mlx5dv_crypto_login(3). The crypto officer of the device gives
 * these values.
 */
struct gantry_login_conf {
	uint32_t credential_id; /**< id of the credential in the device */
	/** id of the device's import KEK, which wraps the credential and the DEKs */
	uint32_t import_kek_id;
	const void *credential;  /**< the credential, wrapped by that KEK */
	uint32_t credential_len; /**< bytes of the credential, at most 48 */
	uint32_t reserved[9];    /**< must be 0 */
};

/**
 * Logs the engine in, so that DEKs may be added to a device that takes them wrapped. Control
 * thread.
 *
 * A transaction whose DEK is already in the device needs no login.
 *
 * @param g
 *   The engine.
 * @param conf
 *   The credential, read during the call.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EOPNOTSUPP
 *   The device takes no wrapped DEKs, so no login is needed.
 * @retval -EALREADY
 *   The engine is logged in already.
 * @retval -EBUSY
 *   The caller, who owns gantry_conf::ibv_ctx, has logged in already: add DEKs.
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
 * Ends the login. gantry_destroy() also ends it. Control thread.
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

#define GANTRY_MAX_DEKS 1023 /**< most DEKs of one engine that are not retired */

/** A data encryption key. */
struct gantry_dek_conf {
	/**
	 * The DEK. In plaintext: the two AES keys of XTS, first the key for data. Wrapped by the
	 * import KEK (RFC 3394): the same bytes, and behind them the keytag if there is one
	 */
	const void *key;
	/**
	 * Bytes at `key`. In plaintext: 32 for AES-128, 64 for AES-256. Wrapped: 8 bytes more, or
	 * 16 more with a keytag
	 */
	uint32_t len;
	bool wrapped; /**< `key` is wrapped; true if the device has GANTRY_CRYPTO_WRAPPED */
	/**
	 * There is a keytag: the device compares `keytag` with the keytag of the DEK, and moves
	 * nothing if they differ
	 */
	bool has_keytag;
	/** If has_keytag: the keytag in plaintext, also if the DEK is wrapped. */
	uint8_t keytag[8];
	uint64_t reserved[4]; /**< must be 0 */
};

/**
 * Gives a DEK to the device, for gantry_txn::crypto of all queues of the engine. Control thread.
 *
 * @param g
 *   The engine.
 * @param conf
 *   The DEK, read during the call.
 * @param id
 *   The number of the DEK; written on success only. None of the engine's last 4 million DEKs had
 *   this number.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EOPNOTSUPP
 *   The device does not encrypt.
 * @retval -EINVAL
 *   len is not possible, `wrapped` does not fit the device (GANTRY_CRYPTO_WRAPPED), or reserved
 *   bytes are not 0.
 * @retval -EPERM
 *   The DEK is wrapped, and there was no login: call gantry_login().
 * @retval -ENOSPC
 *   There are GANTRY_MAX_DEKS DEKs already: retire one of them.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The device refuses the DEK, for example because its two AES keys are equal, or another KEK
 *   wraps it.
 */
GANTRY_API int gantry_dek_add(struct gantry *g, const struct gantry_dek_conf *conf, uint32_t *id);

/**
 * Retires a DEK. Control thread. gantry_destroy() destroys all DEKs.
 *
 * From then on, transactions with this DEK that were not posted to the hardware complete with
 * GANTRY_BAD_DEK. The call waits until the posted transactions have completed, and then lets the
 * device destroy the DEK. It waits for no receive, and for no descriptor of another operation.
 *
 * The owner of a queue with posted transactions must poll the queue meanwhile. If an owner itself
 * makes this call, it first polls until its transactions have completed, or calls gantry_rest()
 * after the hardware has done them. A queue without transactions need not be polled.
 *
 * @param g
 *   The engine.
 * @param id
 *   From gantry_dek_add().
 * @param timeout_ms
 *   The most milliseconds that the call waits; 0: it does not wait.
 * @return
 *   0: the DEK is destroyed. Otherwise:
 * @retval -EINVAL
 *   There is no such DEK.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -ETIMEDOUT
 *   A queue still has earlier transactions: call again with the same id.
 * @retval -errno
 *   The device refuses: call again with the same id.
 */
GANTRY_API int gantry_dek_retire(struct gantry *g, uint32_t id, uint32_t timeout_ms);

#ifdef __cplusplus
}
#endif
#endif
