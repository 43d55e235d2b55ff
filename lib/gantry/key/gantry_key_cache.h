/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that lay memory out, and which layout each of them has now.
 *
 *   gantry_keys_prepare()   takes the layout that a descriptor names, and checks it
 *   gantry_keys_find()      a key that has this layout, at this base, on this connection; or none
 *   gantry_keys_post()      none: writes a UMR for a key that nobody uses
 *   gantry_keys_used()      a WQE that names the key was written
 *
 * A key belongs to the connection whose UMR laid it out: only WQEs of one send queue are ordered
 * behind the UMR. The DC initiator posts no UMRs, because libmlx5 has none for it: the own
 * connection lays its keys out, no slot owns that UMR, and the descriptor waits until the UMR is
 * done. A key is laid out anew when every WQE that names it is done and no split descriptor has it.
 * What was laid out under an older version of the table of regions is not found any more, because a
 * region below it may be gone; nor is what a UMR laid out that may not have run, because its
 * connection failed.
 *
 * The first descriptor with a layout makes a queue's keys. Owner thread.
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
	uint64_t serial;   /* the layout that it has; 0: none that can be found */
	uint64_t base;     /* where it lies */
	uint64_t version;  /* of the table of regions */
	uint64_t laid_out; /* gantry_conn::posted before the UMR, of who posted it */
	uint64_t
		used_to; /* gantry_conn::posted of `conn` behind the last WQE that names it, or 0 */
	uint64_t seq;    /* of the DC initiator: the descriptor that waits for the UMR */
	uint64_t span;   /* bytes from the base to behind the last one of the layout */
	uint32_t len;    /* bytes of the layout, or UINT32_MAX if they are more */
	uint32_t number; /* of mkey */
	uint16_t conn;   /* index in gantry_queue::conn; GANTRY_CONN_NONE: never laid out */
	uint16_t next;   /* the next one of the same hash, or GANTRY_NO_KEY */
	uint8_t older, newer; /* its neighbours in the order of their last use, which is a circle */
	bool to;              /* its memory may be written */
};

static_assert(GANTRY_MAX_KEYS <= UINT8_MAX + 1, "gantry_key::older");

/* What the descriptor at hand names, between gantry_keys_prepare() and gantry_keys_post(). */
struct gantry_key_plan {
	uint64_t serial;
	uint64_t base;
	uint32_t conn;
	uint16_t id;
	uint16_t key;  /* that has the layout already, or GANTRY_NO_KEY */
	bool to;       /* its memory is to be written */
	uint64_t read; /* the layout below is the one of this serial number; 0: none */
	uint64_t span; /* its gantry_key::span */
	struct gantry_layout layout;
	struct hwq_sge at[GANTRY_LAYOUT_PIECES]; /* its pieces, as the device knows them */
};

struct gantry_keys {
	/* Constant: what they have of the queue. */
	struct gantry_conn *conn; /* its connections, by index */
	struct gantry_region_view *view;
	const struct gantry_shelf *layouts; /* of struct gantry_layout */
	struct hwq_domain *domain;
	int socket;
	uint32_t n; /* keys that the queue is to have */

	gantry_counter hits;   /* descriptors whose layout a key had */
	gantry_counter misses; /* UMRs */
	/* The descriptor to a DC peer whose UMR failed, by 1 + its number; 0: none. */
	uint64_t failed;
	uint8_t failed_status;  /* enum gantry_status */
	uint8_t oldest;         /* the key that was used last before all others */
	uint8_t shift;          /* hash >> shift is an index in `first` */
	struct gantry_key *key; /* NULL: none yet */
	uint16_t *first;        /* behind them, by hash: the first key, or GANTRY_NO_KEY */
	struct gantry_key_plan *plan;
	struct hwq_mkey_pool *pool;
};

/* Makes the keys, unless they are there. 0 or a negative errno, and the log says why. */
int gantry_keys_init(struct gantry_keys *keys);
/* Destroys the keys. 0; or what the device said: call again. Control thread. */
int gantry_keys_fini(struct gantry_keys *keys);

/*
 * The key on connection conn that has layout `id` at `base`, and whose memory may be written if
 * `to` is set; GANTRY_NO_KEY: none has. The keys are made.
 */
uint16_t gantry_keys_lookup(const struct gantry_keys *keys, uint32_t conn, bool to, uint16_t id,
	uint64_t base);

/*
 * Takes layout `id` for memory at `base`, and checks that `len` bytes of it can be used. conn: who
 * uses it. to: its memory is to be written.
 */
enum gantry_status gantry_keys_prepare(struct gantry_keys *keys, uint32_t conn, bool to,
	uint16_t id, uint64_t base, uint64_t len);
/*
 * GANTRY_OVERLAP: the layout that was prepared has a byte in common with [addr, addr + len). Else
 * GANTRY_OK, or BAD_LAYOUT.
 */
enum gantry_status gantry_keys_check_overlap(struct gantry_keys *keys, uint64_t addr, uint64_t len);
/*
 * The key that has the layout that was prepared, or GANTRY_NO_KEY. Then the memory is looked up:
 * *status is GANTRY_NOT_REGISTERED if a piece is not in one region; GANTRY_READ_ONLY if it must not
 * be written and is to be; GANTRY_BAD_LAYOUT if the connection's send queue is too short for the
 * UMR; else GANTRY_OK.
 */
uint16_t gantry_keys_find(struct gantry_keys *keys, enum gantry_status *status);

/* True: the UMR of the key may not have run yet. */
bool gantry_keys_is_fresh(const struct gantry_keys *keys, uint16_t key);

/* WQEBBs of the UMR of what was prepared. */
uint32_t gantry_keys_umr_bb(const struct gantry_keys *keys);

/*
 * Writes the UMR of what was prepared. The key; or GANTRY_NO_KEY: no room, or every key is in use.
 */
uint16_t gantry_keys_post(struct gantry_keys *keys);

/* A WQE of the key's connection names it. end: gantry_conn::posted behind it. */
void gantry_keys_used(struct gantry_keys *keys, uint16_t key, uint64_t end);

/* The number that WQEs name the key by. Its addresses begin at 0. */
uint32_t gantry_keys_number(const struct gantry_keys *keys, uint16_t key);

/* The connection failed at WQEBB `index`: UMRs from there on may not have run. */
void gantry_keys_fail(struct gantry_keys *keys, uint32_t conn, uint64_t index);
/* The key of the DC initiator whose UMR is at WQEBB `index` of the own connection, or NULL. */
const struct gantry_key *gantry_keys_find_unowned(const struct gantry_keys *keys, uint64_t index);
/* WQEs of the own connection were posted again: its keys are in use until all are done. */
void gantry_keys_replayed(struct gantry_keys *keys);
/* The connection is closed. No WQE names its keys. */
void gantry_keys_forget(struct gantry_keys *keys, uint32_t conn);

#endif
