/* SPDX-License-Identifier: BSD-3-Clause */
/* Block signatures: decodes a key's BSF, and converts data (mlx5dv_wr_set_mkey_sig_block(3)). */
#ifndef SOFTHCA_SIG_H
#define SOFTHCA_SIG_H

#include <stdbool.h>
#include <stdint.h>

enum sig_type {
	SIG_NONE,
	SIG_T10DIF,
	SIG_CRC32,
	SIG_CRC32C,
	SIG_CRC64
};

/* One of the two domains between which data pass: memory and wire. */
struct sig_domain {
	enum sig_type type;
	uint32_t block, psv;
	bool ones; /* the seed is all ones; else 0 */
	bool checksum, ref_increments, app_escape, app_ref_escape; /* T10-DIF */
	uint16_t app_tag;
};

/*
 * A CRC over a whole transaction, in one domain: over the data of one message, or of several
 * messages through one key after the other. A PSV carries the CRC from key to key.
 */
struct sig_txn {
	enum sig_type type; /* SIG_NONE, SIG_CRC32 or SIG_CRC32C */
	uint32_t psv;
	bool ones;  /* the seed is all ones; else 0 */
	bool first; /* the transaction begins with the key's first byte */
	/* the transaction ends with the key's last byte, and its CRC of 4 bytes follows */
	bool last;
};

struct key_sig {
	struct sig_domain mem, wire; /* signatures of blocks */
	uint8_t check_mask, copy_mask;
	/* bytes of a transaction's data in this key; 0: no signature of a transaction */
	uint32_t txn_len;
	struct sig_txn mem_txn, wire_txn;
};

struct sig_error {
	uint64_t expected, actual, offset;
	uint16_t syndrome;
	bool found;
};

#define SIG_BSF_LEN 64
#define SIG_CRC_LEN 4

/*
 * Reads a BSF. with_crypto: a BSF of encryption follows. False: this adapter cannot do what the BSF
 * asks for.
 */
bool sig_decode(const uint8_t bsf[SIG_BSF_LEN], bool with_crypto, struct key_sig *sig);

/*
 * Returns the CRC's register after the data. crc: the register before the data; the seed at the
 * start.
 */
uint32_t sig_crc(enum sig_type type, uint32_t crc, const uint8_t *data, uint64_t len);
/* Writes the register's value in the byte order of a signature. */
void sig_crc_write(uint32_t crc, uint8_t out[SIG_CRC_LEN]);
/*
 * Compares the bytes that the mask names (mask of a BSF, as in mlx5dv_sig_crc). offset: where the
 * CRC lies.
 */
void sig_crc_check(enum sig_type type, uint8_t mask, const uint8_t found[SIG_CRC_LEN],
	const uint8_t right[SIG_CRC_LEN], uint64_t offset, struct sig_error *error);

#define SIG_MAX_LEN 8 /* bytes of the longest signatures: T10-DIF and CRC64 */
uint32_t sig_len(const struct sig_domain *domain);
/*
 * Computes the length of `data` bytes with their signatures. An offset counts as a length from 0.
 * False: `data` does not end with a block.
 */
bool sig_stretch(const struct sig_domain *domain, uint64_t data, uint64_t *out);
/*
 * Computes the length of the data in `with` bytes with signatures. The signature of the last block
 * may be left out. False: the bytes do not end with a block.
 */
bool sig_shrink(const struct sig_domain *domain, uint64_t with, uint64_t *out);

/* The data of a conversion in one domain. */
struct sig_side {
	const struct sig_domain *domain;
	uint8_t *bytes; /* data, with signatures if the domain has them */
	uint64_t len;   /* of incoming data: length of `bytes`, which may lack the last signature */
	uint32_t ref;   /* T10-DIF: the reference tag of the first block */
};

/*
 * Converts `data` bytes from one domain to the other, and writes all signatures of the other.
 * *error is the first error; the conversion continues after an error.
 */
void sig_convert(const struct key_sig *sig, const struct sig_side *in, const struct sig_side *out,
	uint64_t data, struct sig_error *error);

#endif
