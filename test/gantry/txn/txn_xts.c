/* SPDX-License-Identifier: BSD-3-Clause */
/* AES-XTS and key wrapping by OpenSSL: see txn_xts.h. */
#include "txn_xts.h"

#include <string.h>

#include <openssl/evp.h>

#include "softhca_wrap.h"

/* Computes the tweak of the next data unit. */
static void
tweak_count(uint8_t tweak[16])
{
	unsigned int i;

	for (i = 0; i < 16 && ++tweak[i] == 0; i++)
		;
}

void
xts_pass(const struct xts *x, bool encrypt, uint32_t unit, const uint8_t *in, uint8_t *out,
	uint64_t len)
{
	const EVP_CIPHER *cipher = x->key_len == 64 ? EVP_aes_256_xts() : EVP_aes_128_xts();
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	uint8_t tweak[16];
	uint64_t at;
	int n;

	CHECK_EQ(len % unit, 0);
	memcpy(tweak, x->tweak, sizeof(tweak));
	for (at = 0; at < len; at += unit) {
		CHECK_EQ(EVP_CipherInit_ex(ctx, cipher, NULL, x->key, tweak, encrypt), 1);
		CHECK_EQ(EVP_CipherUpdate(ctx, out + at, &n, in + at, (int)unit), 1);
		CHECK_EQ(n, unit);
		tweak_count(tweak);
	}
	EVP_CIPHER_CTX_free(ctx);
}

uint32_t
xts_import(const struct xts *x, const uint8_t *keytag, uint8_t out[XTS_MAX_KEY + 16])
{
	uint32_t len = x->key_len;
	uint8_t key[XTS_MAX_KEY + 8];

	if (!wrap_is_on()) {
		memcpy(out, x->key, len);
		return len;
	}
	memcpy(key, x->key, len);
	if (keytag != NULL) {
		memcpy(key + len, keytag, 8);
		len += 8;
	}
	wrap_key(key, len, out);
	explicit_bzero(key, sizeof(key));
	return len + WRAP_MORE;
}

bool
xts_is_wrapped(void)
{
	return wrap_is_on();
}

uint32_t
xts_credential(uint8_t out[48])
{
	struct mlx5dv_crypto_login_attr attr = wrap_login_attr();

	memcpy(out, attr.credential, sizeof(attr.credential));
	return sizeof(attr.credential);
}
