/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Block signatures: what a key's BSF asks for, and converting data
 * (mlx5dv_wr_set_mkey_sig_block(3)).
 */
#ifndef SOFTHCA_SIG_H
#define SOFTHCA_SIG_H

#include <stdbool.h>
#include <stdint.h>

enum sig_type {
	SIG_NONE,
	SIG_T10DIF,
	SIG_CRC32,
	SIG_CRC32C
};

/* One of the two domains that data pass between: memory, and the wire. */
struct sig_domain {
	enum sig_type type;
	uint32_t block, psv;
	bool ones; /* the seed is all ones, else 0 */
	bool checksum, ref_increments, app_escape, app_ref_escape; /* T10-DIF */
	uint16_t app_tag;
	uint32_t ref_tag;
};

struct key_sig {
	struct sig_domain mem, wire;
	uint8_t check_mask, copy_mask;
};

struct sig_error {
	uint64_t expected, actual, offset;
	uint16_t syndrome;
	bool found;
};

#define SIG_BSF_LEN 64

/* Reads a BSF. False: it asks for something that this adapter does not do. */
bool sig_decode(const uint8_t bsf[SIG_BSF_LEN], struct key_sig *sig);

uint32_t sig_len(const struct sig_domain *domain);
/*
 * The length of `data` bytes with their signatures; an offset counts as a length from 0. False: it
 * does not end with a block.
 */
bool sig_stretch(const struct sig_domain *domain, uint64_t data, uint64_t *out);
/* The length without signatures of bytes that have them. False: it does not end with a block. */
bool sig_shrink(const struct sig_domain *domain, uint64_t with, uint64_t *out);

/*
 * Converts `data` bytes from one domain to the other. They begin at byte `first` of what the key
 * names. *error is the first error; the conversion goes on in spite of it.
 */
void sig_convert(const struct key_sig *sig, const struct sig_domain *in,
	const struct sig_domain *out, const uint8_t *from, uint8_t *to, uint64_t first,
	uint64_t data, struct sig_error *error);

#endif
