/* SPDX-License-Identifier: BSD-3-Clause */
/* AES-XTS (IEEE Std 1619) and the unwrapping of keys (RFC 3394), by OpenSSL's libcrypto. */
#ifndef SOFTHCA_XTS_H
#define SOFTHCA_XTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XTS_TWEAK_LEN 16

/* A key, prepared for both directions. Any number of threads may cipher with it at once. */
struct xts;

/*
 * key: two AES keys, one after the other; len: 32 (AES-128) or 64 (AES-256). The caller erases its
 * bytes. Returns 0; -EINVAL: both keys are equal, which OpenSSL refuses; -EOPNOTSUPP: there is no
 * libcrypto, and a log line says so; -ENOMEM.
 */
int xts_create(const uint8_t *key, size_t len, struct xts **out);
/* No thread ciphers with it any more. Its bytes are erased. */
void xts_destroy(struct xts *xts);

/*
 * Encrypts or decrypts `len` bytes: data units of `unit` bytes, of which the last may be shorter. A
 * unit that is no multiple of 16 bytes ends with ciphertext stealing. tweak: of the first unit, a
 * little endian number; each next unit has the next number. in and out are the same place, or do
 * not overlap. False: no memory.
 */
bool xts_cipher(struct xts *xts, bool encrypt, const uint8_t tweak[XTS_TWEAK_LEN], uint32_t unit,
	const uint8_t *in, uint8_t *out, uint64_t len);
/* Adds n to a tweak. */
void xts_tweak_add(uint8_t tweak[XTS_TWEAK_LEN], uint64_t n);

#endif
