/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue's keys for layouts, and which layout each key has now.
 *
 *   gantry_keys_prepare()   reads and checks the layout that a descriptor names
 *   gantry_keys_find()      a key with this layout, at this base, on this connection
 *   gantry_keys_post()      there is no such key: writes a UMR for an unused key
 *   gantry_keys_used()      a WQE that names the key was written
 *
 * A key belongs to the connection that posted its UMR, because only WQEs of the same send queue are
 * ordered behind the UMR. The DC initiator is an exception: libmlx5 has no UMRs for it, so the own
 * connection posts them. Such a UMR belongs to no slot, and the descriptor waits until the UMR is
 * done.
 *
 * A key may get another layout when all WQEs that use the key are done and no split descriptor has
 * the key.
 *
 * Two kinds of keys are no longer found. The first kind is from an older version of the table of
 * regions: a region below the key may have been removed. The second kind has a UMR that may not
 * have run, because the connection of the UMR failed.
 *
 * The first descriptor with a layout creates the queue's keys. Owner thread.
 */
#ifndef GANTRY_KEY_CACHE_H
#define GANTRY_KEY_CACHE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <hwq_mkey.h>
#include <hwq_seg.h>

#include "gantry_counter.h"
#include "gantry_desc.h"
#include "gantry_layout.h"

#define GANTRY_NO_KEY   UINT16_MAX
#define GANTRY_MAX_KEYS 256

struct gantry_conn;
struct gantry_region_view;
struct gantry_shelf;
struct hwq_domain;

/* A key for layouts. */
struct gantry_key {
	struct hwq_mkey *mkey;
	uint64_t serial;  /* serial number of the key's layout; 0: no layout that can be found */
	uint64_t base;    /* address at which the layout lies */
	uint64_t version; /* version of the table of regions when the UMR was written */
	/* Value of gantry_conn::posted before the UMR, on the connection that posted the UMR. */
	uint64_t laid_out;
	/* Value of gantry_conn::posted of `conn` behind the last WQE that uses the key; or 0. */
	uint64_t used_to;
	uint64_t seq;    /* for the DC initiator: number of the descriptor that waits for the UMR */
	uint64_t span;   /* bytes from the base to the end of the layout's last piece */
	uint32_t len;    /* bytes of the layout, or UINT32_MAX if it has more */
	uint32_t number; /* number of mkey, as WQEs have it */
	/*
	 * The connection that posted the key's last UMR, as index in gantry_queue::conn.
	 * GANTRY_CONN_NONE: the key never had a layout.
	 */
	uint16_t conn;
	uint16_t next; /* next key with the same hash value, or GANTRY_NO_KEY */
	/* The neighbours in the circle of all keys, which is sorted by last use. */
	uint8_t older, newer;
	bool to; /* peers and WQEs may write to the key's memory */
};

static_assert(GANTRY_MAX_KEYS <= UINT8_MAX + 1, "a key's number fits into gantry_key::older");

/* The layout of the current descriptor, between gantry_keys_prepare() and gantry_keys_post(). */
struct gantry_key_plan {
	uint64_t serial;
	uint64_t base;
	uint32_t conn;
	uint16_t id;
	uint16_t key;  /* the key that has the layout already, or GANTRY_NO_KEY */
	bool to;       /* WQEs will write to the memory */
	uint64_t read; /* serial number of `layout`; 0: `layout` is not valid */
	uint64_t span; /* gantry_key::span of the layout */
	struct gantry_layout layout;
	/* Pieces of the layout, with the device's addresses. */
	struct hwq_sge at[GANTRY_LAYOUT_PIECES];
};

struct gantry_keys {
	/* Constant pointers to parts of the queue. */
	struct gantry_conn *conn; /* the queue's connections, by index */
	struct gantry_region_view *view;
	/* The engine's layouts: objects of struct gantry_layout. */
	const struct gantry_shelf *layouts;
	struct hwq_domain *domain;
	int socket;
	uint32_t n; /* number of keys that the queue has once they are created */

	gantry_counter hits;   /* descriptors that found a key with their layout */
	gantry_counter misses; /* descriptors for which a UMR was posted */
	/* Number, plus 1, of the descriptor to a DC peer whose UMR failed; 0: there is none. */
	uint64_t failed;
	uint8_t failed_status;  /* enum gantry_status of this descriptor */
	uint8_t oldest;         /* least recently used key */
	uint8_t shift;          /* a hash >> shift is an index in `first` */
	struct gantry_key *key; /* the keys; NULL: not created yet */
	/*
	 * An array in the memory behind the keys: the first key with each hash value, or
	 * GANTRY_NO_KEY.
	 */
	uint16_t *first;
	struct gantry_key_plan *plan;
	struct hwq_mkey_pool *pool;
};

/* Creates the keys, unless they exist. Returns 0, or logs why and returns a negative errno. */
int gantry_keys_init(struct gantry_keys *keys);
/*
 * Destroys the keys. Returns 0 or the device's error. After an error, call this function again.
 * Control thread.
 */
int gantry_keys_fini(struct gantry_keys *keys);

/*
 * Returns the key of connection conn that has layout `id` at `base`, or GANTRY_NO_KEY if there is
 * none. If `to` is set, returns only a key that allows writes. The caller knows that the keys
 * exist.
 */
uint16_t gantry_keys_lookup(const struct gantry_keys *keys, uint32_t conn, bool to, uint16_t id,
	uint64_t base);

/*
 * Reads layout `id` for base address `base`, and checks that `len` bytes of it can be used. conn:
 * the connection that will use the key. to: true if WQEs will write to the memory. Returns
 * GANTRY_OK, or the status that refuses the descriptor.
 */
enum gantry_status gantry_keys_prepare(struct gantry_keys *keys, uint32_t conn, bool to,
	uint16_t id, uint64_t base, uint64_t len);
/*
 * Returns GANTRY_OVERLAP if the prepared layout has a byte in common with [addr, addr + len).
 * Otherwise returns GANTRY_OK or GANTRY_BAD_LAYOUT.
 */
enum gantry_status gantry_keys_check_overlap(struct gantry_keys *keys, uint64_t addr, uint64_t len);
/*
 * Returns the key that has the prepared layout, or GANTRY_NO_KEY. If it returns GANTRY_NO_KEY, it
 * has looked up the memory, and *status is GANTRY_OK or one of these: GANTRY_NOT_REGISTERED if a
 * piece is not in one region; GANTRY_READ_ONLY if the memory is to be written and is read-only;
 * GANTRY_BAD_LAYOUT if the send queue is too short for the UMR.
 */
uint16_t gantry_keys_find(struct gantry_keys *keys, enum gantry_status *status);

/* Returns true if the UMR of the key may not have run yet. */
bool gantry_keys_is_fresh(const struct gantry_keys *keys, uint16_t key);

/* Returns the WQEBBs of the UMR for the prepared layout. */
uint32_t gantry_keys_umr_bb(const struct gantry_keys *keys);

/*
 * Writes the UMR for the prepared layout. Returns the key, or GANTRY_NO_KEY if the send queue is
 * full or all keys are in use.
 */
uint16_t gantry_keys_post(struct gantry_keys *keys);

/*
 * Called when a WQE of the key's connection uses the key. end: gantry_conn::posted behind this WQE.
 */
void gantry_keys_used(struct gantry_keys *keys, uint16_t key, uint64_t end);

/* Returns the number of the key, as WQEs have it. Addresses in the key begin at 0. */
uint32_t gantry_keys_number(const struct gantry_keys *keys, uint16_t key);

/*
 * Called when the connection failed at WQEBB `index`. UMRs at this index or later may not have run,
 * so their keys lose their layouts.
 */
void gantry_keys_fail(struct gantry_keys *keys, uint32_t conn, uint64_t index);
/*
 * Returns the key for the DC initiator whose UMR is at WQEBB `index` of the own connection, or
 * NULL.
 */
const struct gantry_key *gantry_keys_find_unowned(const struct gantry_keys *keys, uint64_t index);
/*
 * Called when WQEs of the own connection were posted again. The keys of the own connection are then
 * in use until all these WQEs are done.
 */
void gantry_keys_replayed(struct gantry_keys *keys);
/* Called when the connection is closed, and no WQE uses its keys. These keys lose their layouts. */
void gantry_keys_forget(struct gantry_keys *keys, uint32_t conn);

#endif
