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
 * connection posts them. No slot owns such a UMR, and the descriptor waits until the UMR is done.
 *
 * A key may get another layout when all WQEs that name it are done and no split descriptor has it.
 *
 * Two kinds of keys are not found any more. Keys from an older version of the table of regions,
 * because a region below the key may be gone. Keys whose UMR may not have run, because its
 * connection failed.
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

/* One key. */
struct gantry_key {
	struct hwq_mkey *mkey;
	uint64_t serial;  /* of its layout; 0: the key has none that can be found */
	uint64_t base;    /* the address where the layout lies */
	uint64_t version; /* of the table of regions */
	/* gantry_conn::posted before the UMR, of the connection that posted it */
	uint64_t laid_out;
	/* gantry_conn::posted of `conn` behind the last WQE that names the key; or 0 */
	uint64_t used_to;
	uint64_t seq;    /* for the DC initiator: the descriptor that waits for the UMR */
	uint64_t span;   /* bytes from the base to the end of the layout's last piece */
	uint32_t len;    /* bytes of the layout, or UINT32_MAX if it has more */
	uint32_t number; /* of mkey */
	/* index in gantry_queue::conn; GANTRY_CONN_NONE: the key never had a layout */
	uint16_t conn;
	uint16_t next; /* the next key with the same hash, or GANTRY_NO_KEY */
	/* Neighbours in the circle of all keys, sorted by their last use. */
	uint8_t older, newer;
	bool to; /* peers and WQEs may write to the key's memory */
};

static_assert(GANTRY_MAX_KEYS <= UINT8_MAX + 1, "a key's number fits into gantry_key::older");

/* The layout of the descriptor at hand, between gantry_keys_prepare() and gantry_keys_post(). */
struct gantry_key_plan {
	uint64_t serial;
	uint64_t base;
	uint32_t conn;
	uint16_t id;
	uint16_t key;  /* the key that has the layout already, or GANTRY_NO_KEY */
	bool to;       /* WQEs will write to the memory */
	uint64_t read; /* the serial number of `layout`; 0: it is not valid */
	uint64_t span; /* gantry_key::span of the layout */
	struct gantry_layout layout;
	/* the pieces of the layout, with the device's addresses */
	struct hwq_sge at[GANTRY_LAYOUT_PIECES];
};

struct gantry_keys {
	/* Constant: parts of the queue. */
	struct gantry_conn *conn; /* the queue's connections, by index */
	struct gantry_region_view *view;
	const struct gantry_shelf *layouts; /* of struct gantry_layout */
	struct hwq_domain *domain;
	int socket;
	uint32_t n; /* how many keys the queue has when they are created */

	gantry_counter hits;   /* descriptors that found a key with their layout */
	gantry_counter misses; /* UMRs that were posted */
	/* The descriptor to a DC peer whose UMR failed: its number plus 1; 0: none. */
	uint64_t failed;
	uint8_t failed_status;  /* enum gantry_status */
	uint8_t oldest;         /* the key whose last use is longest ago */
	uint8_t shift;          /* hash >> shift is an index in `first` */
	struct gantry_key *key; /* NULL: not created yet */
	uint16_t *first;        /* behind the keys; of each hash, the first key, or GANTRY_NO_KEY */
	struct gantry_key_plan *plan;
	struct hwq_mkey_pool *pool;
};

/* Creates the keys, unless they exist. Returns 0; or a negative errno, and logs why. */
int gantry_keys_init(struct gantry_keys *keys);
/* Destroys the keys. Returns 0, or the device's error: call again. Control thread. */
int gantry_keys_fini(struct gantry_keys *keys);

/*
 * The key of connection conn with layout `id` at `base`; if `to` is set, a key that allows writes.
 * GANTRY_NO_KEY: there is none. The keys exist.
 */
uint16_t gantry_keys_lookup(const struct gantry_keys *keys, uint32_t conn, bool to, uint16_t id,
	uint64_t base);

/*
 * Reads layout `id`, which is to lie at `base`, and checks that `len` bytes of it can be used.
 * conn: the connection that will use the key. to: WQEs will write to the memory.
 */
enum gantry_status gantry_keys_prepare(struct gantry_keys *keys, uint32_t conn, bool to,
	uint16_t id, uint64_t base, uint64_t len);
/*
 * GANTRY_OVERLAP: the prepared layout has a byte in common with [addr, addr + len). Otherwise
 * GANTRY_OK or GANTRY_BAD_LAYOUT.
 */
enum gantry_status gantry_keys_check_overlap(struct gantry_keys *keys, uint64_t addr, uint64_t len);
/*
 * The key that has the prepared layout, or GANTRY_NO_KEY. In the latter case the memory is looked
 * up, and *status is GANTRY_NOT_REGISTERED if a piece is not in one region; GANTRY_READ_ONLY if the
 * memory is to be written and must not be; GANTRY_BAD_LAYOUT if the send queue is too short for the
 * UMR; else GANTRY_OK.
 */
uint16_t gantry_keys_find(struct gantry_keys *keys, enum gantry_status *status);

/* Returns true if the UMR of the key may not have run yet. */
bool gantry_keys_is_fresh(const struct gantry_keys *keys, uint16_t key);

/* WQEBBs of the UMR for the prepared layout. */
uint32_t gantry_keys_umr_bb(const struct gantry_keys *keys);

/*
 * Writes the UMR for the prepared layout. Returns the key; GANTRY_NO_KEY: there is no room, or all
 * keys are in use.
 */
uint16_t gantry_keys_post(struct gantry_keys *keys);

/* A WQE of the key's connection names the key. end: gantry_conn::posted behind this WQE. */
void gantry_keys_used(struct gantry_keys *keys, uint16_t key, uint64_t end);

/* The number by which WQEs name the key. Addresses in the key begin at 0. */
uint32_t gantry_keys_number(const struct gantry_keys *keys, uint16_t key);

/*
 * The connection failed at WQEBB `index`. UMRs from there on may not have run, so their keys lose
 * their layouts.
 */
void gantry_keys_fail(struct gantry_keys *keys, uint32_t conn, uint64_t index);
/* The key for the DC initiator whose UMR is at WQEBB `index` of the own connection, or NULL. */
const struct gantry_key *gantry_keys_find_unowned(const struct gantry_keys *keys, uint64_t index);
/*
 * WQEs of the own connection were posted again: its keys are in use until all these WQEs are done.
 */
void gantry_keys_replayed(struct gantry_keys *keys);
/* The connection is closed, and no WQE names its keys: they lose their layouts. */
void gantry_keys_forget(struct gantry_keys *keys, uint32_t conn);

#endif
