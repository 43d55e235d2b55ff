/* SPDX-License-Identifier: BSD-3-Clause */
/* AES-XTS (IEEE Std 1619) by OpenSSL's libcrypto. */
#ifndef SOFTHCA_XTS_H
#define SOFTHCA_XTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XTS_TWEAK_LEN 16

/* A key for encryption and for decryption. Several threads may use it at the same time. */
struct xts;

/*
 * Creates a key. key: two AES keys, one after the other. len: 32 (AES-128) or 64 (AES-256). The
 * caller erases the bytes of `key`. Returns 0 or -ENOMEM. Returns -EINVAL if both AES keys are
 * equal, because OpenSSL refuses them. Returns -EOPNOTSUPP if libcrypto is missing, which is
 * logged.
 */
int xts_create(const uint8_t *key, size_t len, struct xts **out);
/* Erases and frees a key that no thread uses any more. */
void xts_destroy(struct xts *xts);

/*
 * Encrypts or decrypts `len` bytes, which are data units of `unit` bytes. The last unit may be
 * shorter. A unit whose length is not a multiple of 16 bytes ends with ciphertext stealing. tweak:
 * the tweak of the first unit, a little endian number, which grows by 1 for each unit. `in` and
 * `out` are equal or do not overlap. Returns false if memory is short.
 */
bool xts_cipher(struct xts *xts, bool encrypt, const uint8_t tweak[XTS_TWEAK_LEN], uint32_t unit,
	const uint8_t *in, uint8_t *out, uint64_t len);
/* Adds n to a tweak. */
void xts_tweak_add(uint8_t tweak[XTS_TWEAK_LEN], uint64_t n);

#endif
