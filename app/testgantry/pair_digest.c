/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Computes digests of files and of memory.
 */
#include "pair_digest.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>

#include <rte_common.h>

#include "quote.h"
#include "report.h"

#define PIECE_LEN (128u << 10)

static int
refuse(struct digest *d)
{
	error_print("OpenSSL cannot compute SHA-256: is its default provider installed?");
	digest_drop(d);
	return -1;
}

int
digest_add(struct digest *d, const void *bytes, size_t len)
{
	if (d->ctx == NULL) {
		d->offset = 0;
		d->ctx = EVP_MD_CTX_new();
		if (d->ctx == NULL || EVP_DigestInit_ex(d->ctx, EVP_sha256(), NULL) != 1)
			return refuse(d);
	}
	d->offset += len;
	return EVP_DigestUpdate(d->ctx, bytes, len) == 1 ? 0 : refuse(d);
}

int
digest_finish(struct digest *d, uint8_t *out)
{
	if (digest_add(d, NULL, 0) != 0)
		return -1;
	if (EVP_DigestFinal_ex(d->ctx, out, NULL) != 1)
		return refuse(d);
	digest_drop(d);
	return 0;
}

int
digest_piece(struct digest *d, int fd, uint64_t size, const char *name, uint8_t *out)
{
	uint8_t piece[PIECE_LEN];
	ssize_t n = 0;

	if (digest_add(d, NULL, 0) != 0)
		return -1;
	if (d->offset < size)
		n = pread(fd, piece, RTE_MIN(size - d->offset, sizeof(piece)), d->offset);
	if (n < 0 || (n == 0 && d->offset < size)) {
		error_print("cannot read %s to its end: %s", quote_name(name),
			n < 0 ? strerror(errno) : "it became shorter");
		return -1;
	}
	if (digest_add(d, piece, n) != 0)
		return -1;
	if (d->offset < size)
		return 0;
	return digest_finish(d, out) == 0 ? 1 : -1;
}

void
digest_drop(struct digest *d)
{
	EVP_MD_CTX_free(d->ctx);
	*d = (struct digest){0};
}
