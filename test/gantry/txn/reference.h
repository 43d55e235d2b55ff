/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Block signatures for tests, written from the standards. test_txn_reference compares them with
 * published values. This code shares nothing with the adapter or lib/gantry.
 *
 *   T10-DIF       guard | application tag | reference tag, 2 + 2 + 4 bytes, big endian (SBC-3)
 *   CRC32, CRC32C 4 bytes, little endian; CRC64, 8 bytes: doc/softhca-assumptions.md says why
 */
#ifndef TXN_REFERENCE_H
#define TXN_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ref_kind {
	REF_NONE,
	REF_DIF_CRC,
	REF_DIF_CSUM,
	REF_CRC32,
	REF_CRC32C,
	REF_CRC64,
	REF_KINDS
};

#define REF_MAX_LEN 8 /* length of the longest signature in bytes */

/* The signature of a domain, and its blocks. */
struct ref_sig {
	enum ref_kind kind;
	uint32_t block;      /* length of a block's data */
	bool ones;           /* the guard's register starts with all bits set, not with 0 */
	uint16_t app;        /* application tag of T10-DIF */
	uint32_t ref;        /* reference tag of the first block */
	bool count;          /* the reference tag of block i is ref + i */
	bool app_escape;     /* a block with application tag ffff is not checked */
	bool app_ref_escape; /* a block whose reference tag is ffffffff too is not checked */
};

/* The wrong part of a signature. */
enum ref_part {
	REF_RIGHT,
	REF_GUARD,
	REF_APP,
	REF_REF
};

/* The first wrong block of a transfer. */
struct ref_error {
	enum ref_part part;
	uint32_t block;
	uint64_t found; /* the value in the signature after the block */
	uint64_t right; /* the value that the data, or the tags of the domain, require */
};

/* Length of a signature; 0 for REF_NONE. */
uint32_t ref_len(enum ref_kind kind);
/* Length of a block with its signature. */
uint32_t ref_unit(const struct ref_sig *sig);

/* Returns the guard of len bytes. Not thread-safe. */
uint64_t ref_guard(enum ref_kind kind, bool ones, const uint8_t *p, size_t len);

/* Writes the signature of block i, whose data are at `data`. */
void ref_sign(const struct ref_sig *sig, const uint8_t *data, uint32_t i, uint8_t *out);

/* Writes n blocks of data, each followed by its signature. */
void ref_lay(const struct ref_sig *sig, const uint8_t *data, uint32_t n, uint8_t *out);

/*
 * Returns the mask bit for a byte of the signature, by the table in
 * mlx5dv_wr_set_mkey_sig_block(3): bits count from the lowest byte of each number. In a big-endian
 * field, the byte at the lowest address is the highest byte.
 */
unsigned int ref_mask_bit(enum ref_kind kind, uint32_t byte);

/*
 * The error that a device finds in n blocks with their signatures. mask: bits of
 * mlx5dv_wr_set_mkey_sig_block(3). The first wrong block is reported. In this block, a wrong guard
 * is reported first, then a wrong application tag, then a wrong reference tag
 * (mlx5dv_mkey_check(3)).
 */
struct ref_error ref_check(const struct ref_sig *sig, uint8_t mask, const uint8_t *units,
	uint32_t n);

#endif
