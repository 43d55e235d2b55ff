/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles: settings that many transactions share. The engine has its profiles on a shelf
 * (gantry_profiles.c).
 */
#ifndef GANTRY_PROFILE_H
#define GANTRY_PROFILE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <hwq_crypto_image.h>

#include "gantry.h"

/* One domain of a profile. */
struct gantry_profile_domain {
	uint8_t kind;    /* enum gantry_sig_kind */
	uint8_t sig_len; /* bytes of a signature; 0: no signature */
	/*
	 * Bytes of data in a block. 1 without signature, so that every length is a whole number of
	 * blocks.
	 */
	uint16_t block_size;
	uint32_t unit; /* bytes of a block with its signature */
};

/* A profile. */
struct gantry_profile {
	struct gantry_profile_domain mem, wire;
	/* The bits of struct gantry_txn_tags, as a word, that must be 0 in a transaction. */
	uint64_t no_mem_tags, no_wire_tags;
	/*
	 * Of each crypt_block bytes of data, crypt_len bytes are encrypted, in data units of
	 * crypt_unit bytes. If these fields are 0, nothing is encrypted.
	 */
	uint32_t crypt_block, crypt_len, crypt_unit, zero;
	/*
	 * The configurations of a key. The first index is 1 if data are received from the wire,
	 * whose signatures are then checked. The second index is 1 if both domains have the same
	 * kind of CRC with different seeds; no CRC is then copied from one domain to the other.
	 */
	union {
		struct hwq_sig_image image[2][2];
		struct hwq_crypto_image crypto_image[2][2]; /* used if the profile encrypts */
	};
};

static inline bool
gantry_profile_encrypts(const struct gantry_profile *p)
{
	return p->crypt_unit != 0;
}

static_assert(sizeof(struct gantry_profile) % sizeof(uint64_t) == 0, "a profile is whole words");

/* Returns the bytes of data in `len` bytes, which are whole blocks with their signatures. */
static inline uint64_t
gantry_profile_shrink(const struct gantry_profile_domain *d, uint64_t len)
{
	return len / d->unit * d->block_size;
}

#endif
