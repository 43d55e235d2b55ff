/* SPDX-License-Identifier: BSD-3-Clause */
/* Encryption, as a key's BSF configures it (mlx5dv_wr_set_mkey_crypto(3)). */
#ifndef SOFTHCA_CRYPTO_H
#define SOFTHCA_CRYPTO_H

#include <stdbool.h>
#include <stdint.h>

#include "sig.h"
#include "xts.h"

#define CRYPTO_BSF_LEN    64
#define CRYPTO_KEYTAG_LEN 8

/*
 * The place of the cipher between memory and wire. One side of it is plaintext, and the other side
 * is ciphertext.
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
	/* outgoing data are encrypted and incoming data decrypted; false: the reverse */
	bool encrypt_out;
	bool one_unit;    /* only the key's first data unit may be used */
	uint32_t unit;    /* bytes */
	uint32_t raw_len; /* the most bytes, without signatures, that the key may move */
	uint32_t dek;
	uint8_t tweak[XTS_TWEAK_LEN]; /* of the key's first data unit: a little endian number */
	uint8_t keytag[CRYPTO_KEYTAG_LEN];
};

/*
 * Reads a BSF of encryption. sig: the decoded BSF of the signature before it, or NULL. one_unit:
 * the adapter encrypts one data unit of a key, and the tweak in the BSF is little endian; else
 * several units, and big endian. False: this adapter cannot do what the BSF asks for.
 */
bool crypto_decode(const uint8_t bsf[CRYPTO_BSF_LEN], const struct key_sig *sig, bool one_unit,
	struct key_crypto *crypto);

#endif
