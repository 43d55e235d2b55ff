/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles by id: what many transactions have in common.
 *
 *   control thread                           a queue's owner thread
 *     gantry_profile_create()                  gantry_profile_read()
 *       writes the words of a cell               reads the serial number, the words, and the serial
 *       publishes its serial number  ------->    number again: the same one if the copy is whole
 *     gantry_profile_destroy()
 *       the serial number is 0
 *
 * Cells are never freed while the engine lives, but serve the next profiles: as in gantry_layout.h.
 */
#ifndef GANTRY_PROFILE_H
#define GANTRY_PROFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <hwq_sig_image.h>

#include "gantry.h"

/* One domain. */
struct gantry_profile_domain {
	uint8_t kind;    /* enum gantry_sig_kind */
	uint8_t sig_len; /* bytes of a signature; 0: there is none */
	uint16_t
		block_size; /* bytes of data; 1 without signature, so that any length is whole blocks */
	uint32_t zero;
};

/* One profile. */
struct gantry_profile {
	struct gantry_profile_domain mem, wire;
	/*
	 * The configuration of a key. [1][]: data come in from the wire, which checks differently. [][1]: both domains
	 * have one CRC with different seeds, so that no CRC is passed on.
	 */
	struct hwq_sig_image image[2][2];
};

#define GANTRY_PROFILE_WORDS (sizeof(struct gantry_profile) / sizeof(uint64_t))
static_assert(sizeof(struct gantry_profile) % sizeof(uint64_t) == 0, "a profile is whole words");

struct gantry_profile_cell {
	_Atomic uint64_t serial; /* of all profiles of the engine; 0: there is none */
	_Atomic uint64_t word[GANTRY_PROFILE_WORDS];
};

/* The engine's profiles. */
struct gantry_profile_dir {
	struct gantry_profile_cell cell[GANTRY_MAX_PROFILES + 1]; /* by id; [0] is never used */
	uint64_t last_serial;
};

/* Bytes of `data` bytes with their signatures. */
static inline uint64_t
gantry_profile_stretch(const struct gantry_profile_domain *d, uint64_t data)
{
	return data + data / d->block_size * d->sig_len;
}

/* Bytes of data among `len` with their signatures, which are whole blocks. */
static inline uint64_t
gantry_profile_shrink(const struct gantry_profile_domain *d, uint64_t len)
{
	return len / (d->block_size + d->sig_len) * d->block_size;
}

/* True: `len` bytes are whole blocks with their signatures. */
static inline bool
gantry_profile_is_whole(const struct gantry_profile_domain *d, uint64_t len)
{
	return len % (d->block_size + d->sig_len) == 0;
}

/* The serial number of the profile; 0: there is no such profile. Any thread. */
static inline uint64_t
gantry_profile_serial(const struct gantry_profile_dir *dir, uint16_t id)
{
	/* Pairs with the release in cell_write(). */
	return id > GANTRY_MAX_PROFILES
		       ? 0
		       : atomic_load_explicit(&dir->cell[id].serial, memory_order_acquire);
}

/* Copies the profile of this serial number. False: it was destroyed meanwhile. Any thread. */
bool gantry_profile_read(const struct gantry_profile_dir *dir, uint16_t id, uint64_t serial,
	struct gantry_profile *out);

/* What the device can have, for gantry_info. */
struct hwq_dev_caps;
uint32_t gantry_profile_kinds(const struct hwq_dev_caps *caps);

#endif
