/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The DEKs (data encryption keys) of an engine. The engine has their numbers in the device, and
 * never their bytes.
 *
 *   control thread                          owners of queues
 *     gantry_dek_add()                        gantry_dek_find()    each transaction that encrypts
 *       the device's command, then the shelf
 *     gantry_dek_retire()
 *       off the shelf ------------------->    no longer finds it
 *       a new version of the table of regions
 *       waits until all queues have passed it: gantry_txns_have_passed()
 *       the device's command
 *
 * A queue has passed a version when all transactions that it opened before are settled. So the
 * device destroys a DEK when the hardware has no transaction with it.
 */
#ifndef GANTRY_DEK_H
#define GANTRY_DEK_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <hwq_dek.h>
#include <hwq_login.h>

#include "gantry.h"
#include "gantry_shelf.h"

/* The properties of a DEK that a transaction needs. */
struct gantry_dek {
	uint32_t number; /* number of the DEK in the device */
	uint32_t zero;
	uint8_t keytag[8];
};

static_assert(sizeof(struct gantry_dek) % sizeof(uint64_t) == 0, "a DEK is whole words");

/* A DEK that exists in the device. Used by the control thread. */
struct gantry_dek_held {
	struct hwq_dek dek;
	uint32_t id;
	/*
	 * If the DEK is retired: the version of the table of regions from which on no transaction
	 * finds it. 0 if the DEK is on the shelf.
	 */
	uint64_t retired;
	TAILQ_ENTRY(gantry_dek_held) next;
};

/* The DEKs of an engine. */
struct gantry_deks {
	struct gantry_shelf shelf; /* the DEKs as struct gantry_dek; any thread reads */
	/* Used by the control thread. */
	TAILQ_HEAD(, gantry_dek_held) held;
	bool logged_in; /* gantry_login() has succeeded */
	struct hwq_login login;
};

/*
 * An id consists of the DEK's id on the shelf, in the low bits, and the low bits of the serial
 * number above them.
 */
#define GANTRY_DEK_PLACE_BITS 10
static_assert(GANTRY_MAX_DEKS < 1 << GANTRY_DEK_PLACE_BITS,
	"a place has at most GANTRY_DEK_PLACE_BITS");

static inline uint16_t
gantry_dek_place(uint32_t id)
{
	return id & ((1u << GANTRY_DEK_PLACE_BITS) - 1);
}

static inline uint32_t
gantry_dek_id(uint64_t serial, uint16_t place)
{
	return (uint32_t)(serial << GANTRY_DEK_PLACE_BITS) | place;
}

/*
 * Copies what a transaction needs of the DEK. Returns false if no DEK has this id, or the DEK is
 * retired. Any thread.
 */
static inline bool
gantry_dek_find(const struct gantry_deks *deks, uint32_t id, struct gantry_dek *dek)
{
	uint16_t place = gantry_dek_place(id);
	uint64_t serial = gantry_shelf_serial(&deks->shelf, place);

	return serial != 0 && gantry_dek_id(serial, place) == id &&
	       gantry_shelf_read(&deks->shelf, place, serial, dek);
}

#endif
