/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory keys: the struct of a key that lanes read, and the functions by which they find it. */
#ifndef SOFTHCA_KEY_H
#define SOFTHCA_KEY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "crypto.h"
#include "hca.h"
#include "lanes.h"
#include "sig.h"
#include "wire.h"

/* Access bits, with the numbers of verbs (ibv_reg_mr(3)). */
enum access {
	ACC_LOCAL_WRITE = 1,
	ACC_REMOTE_WRITE = 2,
	ACC_REMOTE_READ = 4,
	ACC_REMOTE_ATOMIC = 8,
	ACC_MW_BIND = 16,
	ACC_ON_DEMAND = 64,
	ACC_RELAXED = 1 << 20,
	ACC_REMOTE = ACC_REMOTE_WRITE | ACC_REMOTE_READ | ACC_REMOTE_ATOMIC,
	/*
	 * Bits that are not in verbs. With the setting `reorder`, every key that is not on demand
	 * has ACC_LATER.
	 */
	ACC_LATER = 1 << 30, /* bytes of the key may move later than requested: use.h */
	/* bytes may also move before those of earlier messages: the key has ACC_RELAXED */
	ACC_LATER_RELAXED = 1 << 29,
	KEY_RARE = ACC_ON_DEMAND | ACC_LATER | ACC_LATER_RELAXED,
	/*
	 * This bit is only in lists of pieces, never in keys: some pieces of the list wait for the
	 * cipher. See keycrypto.h.
	 */
	ACC_CIPHERED = 1 << 28
};

enum key_layout {
	KEY_PLAIN, /* one piece of memory, at addr */
	KEY_LIST,  /* entries that follow each other; each is a range of another key */
	KEY_REPEAT /* entries that are repeated; each round is one stride further */
};

/* A KLM: a range of another key that is a part of this key. */
struct key_entry {
	uint64_t start; /* offset of the entry in this key's layout */
	uint64_t va;
	uint32_t number, len, stride;
};

#define KEY_ANY_QP    0xffffffu
#define KEY_MAX_DEPTH 4 /* maximum of indirect keys between a message and memory */

/*
 * A published key never changes, except for `freed`. A work request that configures a key publishes
 * a new struct in its place.
 */
struct key {
	/* key_plain_id() of a region that no work request can change; otherwise 0 */
	uint64_t plain;
	uint32_t pdn, access;
	uint64_t addr, iova, len;
	uint8_t variant;
	bool rinval;
	atomic_bool freed; /* the key was invalidated: it exists, but grants no access */
	enum softhca_mkey_kind kind;
	enum key_layout layout;
	uint32_t qpn; /* the only QP whose requests may use the key, or KEY_ANY_QP */
	struct softhca_mkey *mkey;
	struct key *next;   /* next key in a list of replaced keys: retire.c */
	uint64_t block_len; /* for KEY_REPEAT: bytes of one round */
	uint32_t n_entries, repeat;
	bool bsf_on;               /* BSFs are enabled: a request may have a BSF */
	bool sig_on, sig_expected; /* sig_expected: number of the next error, modulo 2 */
	struct key_sig sig;
	struct key_crypto crypto; /* the member `side` is CRYPTO_NONE if the key does not encrypt */
	struct key_entry entry[];
};

/* The key of another function for which an alias stands. */
struct alias_target {
	struct softhca_dev *owner;
	uint32_t index;
	uint64_t serial;
};

struct softhca_mkey {
	struct softhca_dev *dev;
	uint32_t index, max_entries;
	uint8_t variant; /* variant (lowest byte of the number) at creation */
	/*
	 * For kept.c: maximum of pages of a region with this key, a power of two; 0: the key is
	 * destroyed with its region.
	 */
	uint64_t room;
	struct softhca_mkey *next; /* next kept key: kept.c */
	/* held while a key is configured; no other lock is taken under it */
	struct spin lock;
	bool bsf;    /* the key can have a signature or encryption */
	bool crypto; /* data that pass through the key are encrypted */
	bool fixed;  /* no work request may configure the key */
	/* Aliases: alias.c. The first two members are protected by `lock`. */
	bool allowed; /* functions that know access_key may create aliases of this key */
	uint8_t access_key[SOFTHCA_ACCESS_KEY_LEN];
	/* Each key has another serial, also a key that has the index of an earlier key. */
	uint64_t serial;
	struct alias_target target; /* only for SOFTHCA_MKEY_ALIAS */
	atomic_bool sig_told;       /* value of sig_expected when the last error was reported */
	struct key *key;            /* published key */
};

static inline uint64_t
key_plain_id(uint32_t pdn, uint8_t variant)
{
	return (uint64_t)pdn << 32 | 1u << 8 | variant;
}

/*
 * Computes the offset of [va, va+len) in the key. Returns false if the range is not within the key.
 */
static inline bool
key_covers(const struct key *key, uint64_t va, uint64_t len, uint64_t *off)
{
	uint64_t rest;

	/*
	 * If va is below the key's start, the difference is a huge number. So one comparison checks
	 * both bounds.
	 */
	*off = va - key->iova;
	if (__builtin_expect(__builtin_sub_overflow(key->len, *off, &rest), 0))
		return false;
	return len <= rest;
}

/* The entry in the table of keys for a key that is kept but not in use: kept.c. */
extern struct key key_kept;

/* Returns the key with an index, or NULL. Call this inside a turn (turns.h). */
static inline struct key *
key_get(struct softhca_lanes *lanes, uint32_t index)
{
	struct key *key = table_get(&lanes->keys, index);

	return key != &key_kept ? key : NULL;
}

/*
 * Finds the key with a number (index and variant) in a PD. If it returns NULL, *why is the reason.
 * Call this inside a turn.
 */
struct key *key_find(struct softhca_lanes *lanes, uint32_t number, uint32_t pdn,
	enum wire_vendor *why);
/*
 * alias.c: finds the owner's key of an alias, and the lanes in whose table the key is. If it
 * returns NULL, *why is the reason. Call this inside a turn.
 */
const struct key *alias_find(const struct key *alias, struct softhca_lanes **lanes,
	enum wire_vendor *why);
/*
 * Copies a key. The copy has memory for n entries, and its list of entries is empty. The caller
 * changes the copy and publishes it. Returns NULL if memory is short.
 */
struct key *key_copy(const struct key *key, uint32_t n_entries);
/*
 * Revokes the rights of a key, for a SEND with invalidate to QP `qpn`. Returns false if the key
 * does not exist or must not be revoked. Call this inside a turn.
 */
bool key_invalidate(struct softhca_lanes *lanes, uint32_t number, uint32_t pdn, uint32_t qpn);

#endif
