/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * AES-256-XTS by OpenSSL: the ciphertext that the program expects from the device.
 */
#ifndef TESTGANTRY_SIG_XTS_H
#define TESTGANTRY_SIG_XTS_H

#include <stdbool.h>
#include <stdint.h>

#define SIG_KEY_LEN 64 /**< bytes of both AES keys */

/**
 * Encrypts, or decrypts, n data units of len bytes in place; `stride` is the distance between the
 * first bytes of two data units. The tweak of the first data unit is the number `first`; each next
 * tweak is larger by 1.
 * @return 0, or -1 with the error printed.
 */
int xts_crypt(bool encrypt, const uint8_t key[SIG_KEY_LEN], uint64_t first, uint8_t *units,
	uint32_t n, uint32_t len, uint32_t stride);

#endif
