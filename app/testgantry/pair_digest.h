/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The digest of a file, SHA-256 by OpenSSL, in pieces. Each process computes the digest from the
 * bytes that it reads from its own file.
 */
#ifndef TESTGANTRY_PAIR_DIGEST_H
#define TESTGANTRY_PAIR_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define DIGEST_LEN 32

struct evp_md_ctx_st;

struct digest {
	struct evp_md_ctx_st *ctx; /**< NULL: not begun */
	uint64_t offset;           /**< bytes that are in the digest */
};

/**
 * Reads the next piece of a file of `size` bytes. When the whole file is read, writes its digest to
 * `out`. name: the file's name, for messages. @return 1 if the digest is written, 0 if the file has
 * more bytes, -1 with the error printed.
 */
int digest_piece(struct digest *d, int fd, uint64_t size, const char *name, uint8_t *out);

/** Adds bytes of memory. @return 0, or -1 with the error printed. */
int digest_add(struct digest *d, const void *bytes, size_t len);

/** Writes the digest to `out`, and ends it. @return 0, or -1 with the error printed. */
int digest_finish(struct digest *d, uint8_t *out);

/** Frees a digest that has begun. */
void digest_drop(struct digest *d);

#endif
