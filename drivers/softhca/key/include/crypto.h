/* SPDX-License-Identifier: BSD-3-Clause */
/* Encryption, as a BSF of a key configures it (mlx5dv_wr_set_mkey_crypto(3)). */
#ifndef SOFTHCA_CRYPTO_H
#define SOFTHCA_CRYPTO_H

#include <stdbool.h>
#include <stdint.h>

#include "sig.h"
#include "xts.h"

#define CRYPTO_BSF_LEN    64
#define CRYPTO_KEYTAG_LEN 8

/*
 * The cipher's place between memory and wire. The data on one side of the cipher are plaintext, and
 * on the other side ciphertext.
 *
 *     memory | CRYPTO_MEMORY | signatures of memory, then those of the wire | CRYPTO_WIRE | wire
 */
enum crypto_side {
	CRYPTO_NONE,
	CRYPTO_MEMORY,
	CRYPTO_WIRE
};

struct key_crypto {
	enum crypto_side side;
	/* True: outgoing data are encrypted and incoming data are decrypted. False: the reverse. */
	bool encrypt_out;
	bool one_unit;    /* only the first data unit of the key may be used */
	uint32_t unit;    /* bytes of a data unit */
	uint32_t raw_len; /* maximum of bytes, without signatures, that the key may move */
	uint32_t dek;
	/* tweak of the key's first data unit, a little endian number */
	uint8_t tweak[XTS_TWEAK_LEN];
	uint8_t keytag[CRYPTO_KEYTAG_LEN];
};

/*
 * Reads a BSF for encryption. sig: the decoded BSF for a signature that precedes it, or NULL. If
 * one_unit is true, the adapter encrypts one data unit of a key, and the tweak in the BSF is little
 * endian. Otherwise it encrypts several units, and the tweak is big endian. Returns false if this
 * adapter does not support the BSF's fields.
 */
bool crypto_decode(const uint8_t bsf[CRYPTO_BSF_LEN], const struct key_sig *sig, bool one_unit,
	struct key_crypto *crypto);

#endif
