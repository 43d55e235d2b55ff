/* SPDX-License-Identifier: BSD-3-Clause */
/* Block signatures: decodes a BSF of a key, and converts data (mlx5dv_wr_set_mkey_sig_block(3)). */
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

/* The signature of one domain. Data pass between two domains, memory and wire. */
struct sig_domain {
	enum sig_type type;
	uint32_t block, psv;
	bool ones; /* the seed is all ones; otherwise 0 */
	bool checksum, ref_increments, app_escape, app_ref_escape; /* only for T10-DIF */
	uint16_t app_tag;
};

/*
 * A CRC over a whole transaction, in one domain. A transaction is the data of one message, or of
 * several messages through keys that follow each other. A PSV carries the CRC from key to key.
 */
struct sig_txn {
	enum sig_type type; /* SIG_NONE, SIG_CRC32 or SIG_CRC32C */
	uint32_t psv;
	bool ones;  /* the seed is all ones; otherwise 0 */
	bool first; /* the transaction begins with the first byte of the key */
	/* The transaction ends with the last byte of the key, and its CRC of 4 bytes follows. */
	bool last;
};

struct key_sig {
	struct sig_domain mem, wire; /* signatures of blocks */
	uint8_t check_mask, copy_mask;
	/*
	 * Bytes of the transaction's data in this key; 0: the key has no signature of a
	 * transaction.
	 */
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
 * Reads a BSF for a signature. with_crypto: a BSF for encryption follows. Returns false if this
 * adapter does not support the BSF's fields.
 */
bool sig_decode(const uint8_t bsf[SIG_BSF_LEN], bool with_crypto, struct key_sig *sig);

/*
 * Returns the CRC's register after the data. crc: the register before the data, which is the seed
 * at the start.
 */
uint32_t sig_crc(enum sig_type type, uint32_t crc, const uint8_t *data, uint64_t len);
/* Writes the CRC of a register's value in the byte order of a signature. */
void sig_crc_write(uint32_t crc, uint8_t out[SIG_CRC_LEN]);
/*
 * Compares the bytes of the CRC that are in the mask. mask: the mask of a BSF, as in
 * mlx5dv_sig_crc. offset: the offset of the CRC, for the error.
 */
void sig_crc_check(enum sig_type type, uint8_t mask, const uint8_t found[SIG_CRC_LEN],
	const uint8_t right[SIG_CRC_LEN], uint64_t offset, struct sig_error *error);

#define SIG_MAX_LEN 8 /* bytes of the longest signatures, T10-DIF and CRC64 */
uint32_t sig_len(const struct sig_domain *domain);
/*
 * Computes the length of `data` bytes with their signatures. To convert an offset, pass it as
 * `data`. Returns false if `data` does not end with a block.
 */
bool sig_stretch(const struct sig_domain *domain, uint64_t data, uint64_t *out);
/*
 * Computes the length of the data in `with` bytes that include signatures. The signature of the
 * last block may be left out. Returns false if the bytes do not end with a block.
 */
bool sig_shrink(const struct sig_domain *domain, uint64_t with, uint64_t *out);

/* The data of a conversion in one of the two domains. */
struct sig_side {
	const struct sig_domain *domain;
	uint8_t *bytes; /* data, together with signatures if the domain has signatures */
	/* for incoming data: length of `bytes`, in which the last signature may be missing */
	uint64_t len;
	uint32_t ref; /* for T10-DIF: reference tag of the first block */
};

/*
 * Converts `data` bytes from the domain `in` to the domain `out`, and writes all signatures of
 * `out`. *error is the first wrong signature; the conversion continues after it.
 */
void sig_convert(const struct key_sig *sig, const struct sig_side *in, const struct sig_side *out,
	uint64_t data, struct sig_error *error);

#endif
