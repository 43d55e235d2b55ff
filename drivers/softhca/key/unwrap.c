/* SPDX-License-Identifier: BSD-3-Clause */
/* Unwraps keys by the AES key wrap algorithm (RFC 3394), with OpenSSL. */
#include <errno.h>
#include <string.h>

#include "config.h"
#include "hca.h"
#include "libcrypto.h"
#include "number.h"

static bool
unwrap(const struct libcrypto *lib, EVP_CIPHER_CTX *ctx, const uint8_t *kek, size_t kek_len,
	const uint8_t *in, size_t len, uint8_t *out)
{
	EVP_CIPHER *cipher = lib->EVP_CIPHER_fetch(lib->ctx,
		kek_len == 16 ? "AES-128-WRAP" : "AES-256-WRAP", NULL);
	int n = 0;
	bool ok;

	lib->EVP_CIPHER_CTX_set_flags(ctx, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
	/* If no initial value is given, OpenSSL uses that of RFC 3394. */
	ok = cipher != NULL && lib->EVP_CipherInit_ex(ctx, cipher, NULL, kek, NULL, 0) &&
	     lib->EVP_CipherUpdate(ctx, out, &n, in, (int)len) &&
	     (size_t)n == len - SOFTHCA_WRAP_MORE;
	lib->EVP_CIPHER_free(cipher);
	return ok;
}

int
softhca_unwrap(const char *kek_hex, const uint8_t *in, size_t len, uint8_t *out)
{
	const struct libcrypto *lib = libcrypto_load();
	uint8_t kek[SOFTHCA_KEK_MAX];
	EVP_CIPHER_CTX *ctx;
	size_t kek_len;
	bool ok;

	if (lib == NULL)
		return -EOPNOTSUPP;
	ctx = lib->EVP_CIPHER_CTX_new();
	if (ctx == NULL)
		return -ENOMEM;
	kek_len = hex_parse(kek_hex, kek, sizeof(kek));
	lib->ERR_set_mark();
	ok = unwrap(lib, ctx, kek, kek_len, in, len, out);
	lib->ERR_pop_to_mark();
	lib->EVP_CIPHER_CTX_free(ctx);
	explicit_bzero(kek, sizeof(kek));
	return ok ? 0 : -EINVAL;
}
