/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AES-XTS by OpenSSL. Only one thread at a time may use a context of OpenSSL. So a key has one
 * unused context for each direction. A thread takes a copy of this context, and leaves the copy for
 * the next thread.
 */
#include "xts.h"

#include <endian.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "libcrypto.h"

#define XTS_IDLE 4 /* copies that wait for the next thread */

struct direction {
	EVP_CIPHER_CTX *first;
	_Atomic(EVP_CIPHER_CTX *) idle[XTS_IDLE];
};

struct xts {
	const struct libcrypto *lib;
	struct direction direction[2]; /* indexed by `encrypt` */
};

/* ---- contexts */

static int
prepare(const struct libcrypto *lib, const uint8_t *key, size_t len, bool encrypt,
	EVP_CIPHER_CTX **out)
{
	EVP_CIPHER_CTX *ctx = lib->EVP_CIPHER_CTX_new();
	EVP_CIPHER *cipher;
	int ok;

	if (ctx == NULL)
		return -ENOMEM;
	*out = ctx;
	lib->ERR_set_mark();
	cipher = lib->EVP_CIPHER_fetch(lib->ctx, len == 32 ? "AES-128-XTS" : "AES-256-XTS", NULL);
	ok = cipher != NULL && lib->EVP_CipherInit_ex(ctx, cipher, NULL, key, NULL, encrypt);
	lib->EVP_CIPHER_free(cipher);
	/* The program must not see errors of these calls in its own error queue of OpenSSL. */
	lib->ERR_pop_to_mark();
	return cipher == NULL ? -ENOMEM : ok ? 0 : -EINVAL;
}

static EVP_CIPHER_CTX *
take(struct xts *xts, struct direction *d)
{
	EVP_CIPHER_CTX *ctx;

	for (unsigned int i = 0; i < XTS_IDLE; i++) {
		ctx = atomic_exchange_explicit(&d->idle[i], NULL, memory_order_acquire);
		if (ctx != NULL)
			return ctx;
	}
	ctx = xts->lib->EVP_CIPHER_CTX_new();
	if (ctx != NULL && !xts->lib->EVP_CIPHER_CTX_copy(ctx, d->first)) {
		xts->lib->EVP_CIPHER_CTX_free(ctx);
		ctx = NULL;
	}
	return ctx;
}

static void
give(struct xts *xts, struct direction *d, EVP_CIPHER_CTX *ctx)
{
	for (unsigned int i = 0; i < XTS_IDLE; i++) {
		EVP_CIPHER_CTX *none = NULL;

		if (atomic_compare_exchange_strong_explicit(&d->idle[i], &none, ctx,
			    memory_order_release, memory_order_relaxed))
			return;
	}
	xts->lib->EVP_CIPHER_CTX_free(ctx);
}

/* ---- keys */

/* Two equal AES keys are refused. Assumed: xts-equal-keys. */
int
xts_create(const uint8_t *key, size_t len, struct xts **out)
{
	const struct libcrypto *lib = libcrypto_load();
	struct xts *xts;
	int rc = 0;

	if (lib == NULL)
		return -EOPNOTSUPP;
	xts = calloc(1, sizeof(*xts));
	if (xts == NULL)
		return -ENOMEM;
	xts->lib = lib;
	for (int encrypt = 0; encrypt < 2 && rc == 0; encrypt++)
		rc = prepare(lib, key, len, encrypt, &xts->direction[encrypt].first);
	if (rc == 0)
		*out = xts;
	else
		xts_destroy(xts);
	return rc;
}

void
xts_destroy(struct xts *xts)
{
	for (int encrypt = 0; encrypt < 2; encrypt++) {
		struct direction *d = &xts->direction[encrypt];

		/* OpenSSL erases the keys of a context. */
		xts->lib->EVP_CIPHER_CTX_free(d->first);
		for (unsigned int i = 0; i < XTS_IDLE; i++)
			xts->lib->EVP_CIPHER_CTX_free(atomic_load(&d->idle[i]));
	}
	free(xts);
}

/* ---- data */

/* The tweak is one number of 128 bits, which wraps. Assumed: xts-tweak-wraps. */
void
xts_tweak_add(uint8_t tweak[XTS_TWEAK_LEN], uint64_t n)
{
	uint64_t half[2];

	memcpy(half, tweak, sizeof(half));
	half[0] = le64toh(half[0]) + n;
	half[1] = htole64(le64toh(half[1]) + (half[0] < n));
	half[0] = htole64(half[0]);
	memcpy(tweak, half, sizeof(half));
}

/*
 * Each unit, also the last, ends with ciphertext stealing if it needs it. Assumed: xts-stealing,
 * xts-last-unit.
 */
bool
xts_cipher(struct xts *xts, bool encrypt, const uint8_t first[XTS_TWEAK_LEN], uint32_t unit,
	const uint8_t *in, uint8_t *out, uint64_t len)
{
	struct direction *d = &xts->direction[encrypt];
	EVP_CIPHER_CTX *ctx = take(xts, d);
	uint8_t tweak[XTS_TWEAK_LEN];
	bool ok = ctx != NULL;

	memcpy(tweak, first, sizeof(tweak));
	for (uint64_t at = 0; ok && at < len; at += unit) {
		uint64_t n = len - at < unit ? len - at : unit;
		int did;

		ok = xts->lib->EVP_CipherInit_ex(ctx, NULL, NULL, NULL, tweak, -1) &&
		     xts->lib->EVP_CipherUpdate(ctx, out + at, &did, in + at, (int)n);
		xts_tweak_add(tweak, 1);
	}
	if (ctx != NULL)
		give(xts, d, ctx);
	return ok;
}
