/* SPDX-License-Identifier: BSD-3-Clause */
/* Profiles: what many transactions have in common. They are on a shelf of the engine: gantry_profiles.c. */
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
	uint8_t sig_len; /* bytes of a signature; 0: there is none */
	uint16_t
		block_size; /* bytes of data; 1 without signature, so that any length is whole blocks */
	uint32_t unit;      /* bytes of a block with its signature */
};

/* One profile. */
struct gantry_profile {
	struct gantry_profile_domain mem, wire;
	/* Bits of struct gantry_txn_tags, as a word, that a transaction must leave 0. */
	uint64_t no_mem_tags, no_wire_tags;
	/* What is encrypted: crypt_len bytes of each crypt_block bytes of data, in units of crypt_unit. 0: nothing. */
	uint32_t crypt_block, crypt_len, crypt_unit, zero;
	/*
	 * The configuration of a key. [1][]: data come in from the wire, which checks differently. [][1]: both domains
	 * have one CRC with different seeds, so that no CRC is passed on.
	 */
	union {
		struct hwq_sig_image image[2][2];
		struct hwq_crypto_image crypto_image[2][2]; /* if it encrypts */
	};
};

static inline bool
gantry_profile_encrypts(const struct gantry_profile *p)
{
	return p->crypt_unit != 0;
}

static_assert(sizeof(struct gantry_profile) % sizeof(uint64_t) == 0, "a profile is whole words");

/* Bytes of data among `len` with their signatures, which are whole blocks. */
static inline uint64_t
gantry_profile_shrink(const struct gantry_profile_domain *d, uint64_t len)
{
	return len / d->unit * d->block_size;
}

#endif
