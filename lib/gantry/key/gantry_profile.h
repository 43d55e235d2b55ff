/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles: the settings that many transactions share. The engine has them on a shelf
 * (gantry_profiles.c).
 */
#ifndef GANTRY_PROFILE_H
#define GANTRY_PROFILE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <hwq_crypto_image.h>

#include "gantry.h"

/* One domain. */
struct gantry_profile_domain {
	uint8_t kind;    /* enum gantry_sig_kind */
	uint8_t sig_len; /* bytes of a signature; 0: no signature */
	/* bytes of data in a block; 1 without signature, so that any length is whole blocks */
	uint16_t block_size;
	uint32_t unit; /* bytes of a block with its signature */
};

/* One profile. */
struct gantry_profile {
	struct gantry_profile_domain mem, wire;
	/* The bits of struct gantry_txn_tags, as a word, that a transaction must leave 0. */
	uint64_t no_mem_tags, no_wire_tags;
	/*
	 * Of each crypt_block bytes of data, crypt_len bytes are encrypted, in units of crypt_unit.
	 * All 0: nothing is encrypted.
	 */
	uint32_t crypt_block, crypt_len, crypt_unit, zero;
	/*
	 * The configurations of a key. First index: 1 if data come in from the wire, which is then
	 * checked. Second index: 1 if both domains have one kind of CRC with different seeds, so
	 * that no CRC is passed on.
	 */
	union {
		struct hwq_sig_image image[2][2];
		struct hwq_crypto_image crypto_image[2][2]; /* if the profile encrypts */
	};
};

static inline bool
gantry_profile_encrypts(const struct gantry_profile *p)
{
	return p->crypt_unit != 0;
}

static_assert(sizeof(struct gantry_profile) % sizeof(uint64_t) == 0, "a profile is whole words");

/* The bytes of data in `len` bytes of whole blocks with their signatures. */
static inline uint64_t
gantry_profile_shrink(const struct gantry_profile_domain *d, uint64_t len)
{
	return len / d->unit * d->block_size;
}

#endif
