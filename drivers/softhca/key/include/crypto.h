/* SPDX-License-Identifier: BSD-3-Clause */
/* Encryption: what a key's BSF asks for (mlx5dv_wr_set_mkey_crypto(3)). */
#ifndef SOFTHCA_CRYPTO_H
#define SOFTHCA_CRYPTO_H

#include <stdbool.h>
#include <stdint.h>

#include "sig.h"
#include "xts.h"

#define CRYPTO_BSF_LEN    64
#define CRYPTO_KEYTAG_LEN 8

/*
 * Where the cipher stands on the way of the data. The other side of it is in plaintext, if data are
 * encrypted there, and the other way round.
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
	/* data that go out are encrypted, and data that come in decrypted; or the reverse */
	bool encrypt_out;
	bool one_unit;    /* no more than the key's first data unit passes */
	uint32_t unit;    /* bytes */
	uint32_t raw_len; /* bytes without signatures that the key may move */
	uint32_t dek;
	uint8_t tweak[XTS_TWEAK_LEN]; /* of the key's first data unit, a little endian number */
	uint8_t keytag[CRYPTO_KEYTAG_LEN];
};

/*
 * Reads a BSF of encryption. sig: what the signature's BSF before it asks for, or NULL. one_unit:
 * the adapter encrypts one data unit of a key, and the tweak's bytes are little endian; else
 * several, and big endian. False: it asks for something that this adapter does not do.
 */
bool crypto_decode(const uint8_t bsf[CRYPTO_BSF_LEN], const struct key_sig *sig, bool one_unit,
	struct key_crypto *crypto);

#endif
