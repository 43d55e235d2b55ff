/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Encrypts and decrypts data units by OpenSSL, with one call for each data unit.
 */
#include "sig_xts.h"

#include <string.h>

#include <openssl/evp.h>

#include <rte_byteorder.h>

#include "report.h"

int
xts_crypt(bool encrypt, const uint8_t key[SIG_KEY_LEN], uint64_t first, uint8_t *units, uint32_t n,
	uint32_t len, uint32_t stride)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int ok = ctx != NULL &&
		 EVP_CipherInit_ex(ctx, EVP_aes_256_xts(), NULL, key, NULL, encrypt) == 1;
	uint8_t tweak[16] = {0};
	uint64_t number;
	int done;

	for (uint32_t i = 0; ok && i < n; i++) {
		number = rte_cpu_to_le_64(first + i);
		memcpy(tweak, &number, sizeof(number));
		ok = EVP_CipherInit_ex(ctx, NULL, NULL, NULL, tweak, encrypt) == 1 &&
		     EVP_CipherUpdate(ctx, units, &done, units, (int)len) == 1 && done == (int)len;
		units += stride;
	}
	EVP_CIPHER_CTX_free(ctx);
	if (ok)
		return 0;
	error_print(
		"OpenSSL cannot encrypt or decrypt %u bytes by AES-256-XTS: is its default provider installed?",
		len);
	return -1;
}
