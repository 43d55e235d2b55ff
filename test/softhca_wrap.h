/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wrapped keys: a crypto officer's secrets for the settings crypto_kek and crypto_credential,
 * wrapping of keys (RFC 3394) by OpenSSL, and login.
 */
#ifndef SOFTHCA_WRAP_H
#define SOFTHCA_WRAP_H

#include <openssl/evp.h>

#include <infiniband/mlx5dv.h>

#include "check.h"

#define WRAP_MORE       8
#define WRAP_CREDENTIAL 40

static inline bool
wrap_is_on(void)
{
	const char *crypto = getenv("SOFTHCA_CRYPTO");

	return crypto != NULL && strcmp(crypto, "wrapped") == 0;
}

/* Returns the number of bytes of the setting. */
static inline size_t
wrap_setting(const char *name, uint8_t *out)
{
	const char *hex = getenv(name);
	size_t n = 0;

	CHECK(hex != NULL);
	for (; hex[2 * n] != '\0'; n++)
		CHECK_EQ(sscanf(hex + 2 * n, "%2hhx", &out[n]), 1);
	return n;
}

/* Writes len + WRAP_MORE bytes. */
static inline void
wrap_key(const uint8_t *key, size_t len, uint8_t *out)
{
	uint8_t kek[64];
	size_t kek_len = wrap_setting("SOFTHCA_CRYPTO_KEK", kek);
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n;

	EVP_CIPHER_CTX_set_flags(ctx, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
	CHECK_EQ(EVP_EncryptInit_ex(ctx, kek_len == 16 ? EVP_aes_128_wrap() : EVP_aes_256_wrap(),
			 NULL, kek, NULL),
		1);
	CHECK_EQ(EVP_EncryptUpdate(ctx, out, &n, key, (int)len), 1);
	CHECK_EQ(n, len + WRAP_MORE);
	EVP_CIPHER_CTX_free(ctx);
}

static inline struct mlx5dv_crypto_login_attr
wrap_login_attr(void)
{
	struct mlx5dv_crypto_login_attr attr = {0};
	uint8_t credential[WRAP_CREDENTIAL];

	CHECK_EQ(wrap_setting("SOFTHCA_CRYPTO_CREDENTIAL", credential), WRAP_CREDENTIAL);
	wrap_key(credential, WRAP_CREDENTIAL, (uint8_t *)attr.credential);
	return attr;
}

/* Logs in, if the adapter takes wrapped keys. */
static inline void
wrap_login(struct ibv_context *ctx)
{
	struct mlx5dv_crypto_login_attr attr;

	if (!wrap_is_on())
		return;
	attr = wrap_login_attr();
	CHECK_EQ(mlx5dv_crypto_login(ctx, &attr), 0);
}

/* Lays out the `len` bytes of a DEK as the adapter expects them. */
static inline void
wrap_dek(struct mlx5dv_dek_init_attr *attr, const uint8_t *key, size_t len)
{
	if (wrap_is_on()) {
		wrap_key(key, len, (uint8_t *)attr->key);
		return;
	}
	memcpy(attr->key, key, len);
	attr->comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN;
}

#endif
