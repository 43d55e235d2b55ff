/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AES-XTS by OpenSSL, called directly for each data unit: the expected result of transactions that
 * encrypt. Shares no code with the adapter or lib/gantry.
 */
#ifndef TXN_XTS_H
#define TXN_XTS_H

#include <stdbool.h>
#include <stdint.h>

#define XTS_MAX_KEY 64

/* A DEK, and the tweak of the first data unit. */
struct xts {
	uint32_t key_len; /* length of both AES keys together: 32 or 64 */
	uint8_t key[XTS_MAX_KEY];
	uint8_t tweak[16]; /* little-endian */
};

/* Encrypts or decrypts len bytes: a whole number of data units. `in` may be equal to `out`. */
void xts_pass(const struct xts *x, bool encrypt, uint32_t unit, const uint8_t *in, uint8_t *out,
	uint64_t len);

/*
 * Writes a DEK in the form of gantry_dek_conf::key: wrapped if the environment has
 * `SOFTHCA_CRYPTO=wrapped`. keytag: 8 bytes, or NULL. Returns the DEK's length in bytes.
 */
uint32_t xts_import(const struct xts *x, const uint8_t *keytag, uint8_t out[XTS_MAX_KEY + 16]);
/* True if DEKs are wrapped. */
bool xts_is_wrapped(void);
/* Writes the wrapped credential of a login. Returns its length in bytes. */
uint32_t xts_credential(uint8_t out[48]);

#endif
