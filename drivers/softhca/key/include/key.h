/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory keys: what lanes see of one, and looking one up. */
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

/* The verbs' access bits (ibv_reg_mr(3)). */
enum access {
	ACC_LOCAL_WRITE = 1,
	ACC_REMOTE_WRITE = 2,
	ACC_REMOTE_READ = 4,
	ACC_REMOTE_ATOMIC = 8,
	ACC_MW_BIND = 16,
	ACC_ON_DEMAND = 64,
	ACC_RELAXED = 1 << 20,
	ACC_REMOTE = ACC_REMOTE_WRITE | ACC_REMOTE_READ | ACC_REMOTE_ATOMIC,
	/* Not of the verbs: with the setting `reorder`, of every key that is not on demand. */
	ACC_LATER = 1 << 30,         /* its bytes may move later than they are asked to: use.h */
	ACC_LATER_RELAXED = 1 << 29, /* and without the order of messages: ACC_RELAXED */
	KEY_RARE = ACC_ON_DEMAND | ACC_LATER | ACC_LATER_RELAXED,
	/* Of a list of pieces, never of a key: some of them wait for the cipher. keycrypto.h */
	ACC_CIPHERED = 1 << 28
};

enum key_layout {
	KEY_PLAIN, /* one piece of memory, at addr */
	KEY_LIST,  /* entries one after the other, each in another key */
	KEY_REPEAT /* the list of entries repeated, each round further by the entries' strides */
};

/* A KLM: a part of what a key names, as the address in another key. */
struct key_entry {
	uint64_t start; /* bytes of the layout before it */
	uint64_t va;
	uint32_t number, len, stride;
};

#define KEY_ANY_QP    0xffffffu
#define KEY_MAX_DEPTH 4 /* indirect keys on the way to memory */

/*
 * A published key never changes, except for `freed`. A work request that configures a key publishes
 * a new one in its place.
 */
struct key {
	uint64_t plain; /* key_plain_id() of a region that no work request changes; else 0 */
	uint32_t pdn, access;
	uint64_t addr, iova, len;
	uint8_t variant;
	bool rinval;
	atomic_bool freed; /* invalidated: exists, and grants nothing */
	enum softhca_mkey_kind kind;
	enum key_layout layout;
	uint32_t qpn; /* the one QP that may be reached through it, or KEY_ANY_QP */
	struct softhca_mkey *mkey;
	struct key *next;   /* in a list of replaced keys: retire.c */
	uint64_t block_len; /* KEY_REPEAT: bytes of one round */
	uint32_t n_entries, repeat;
	bool bsf_on;               /* BSFs are enabled: a request may bring one */
	bool sig_on, sig_expected; /* sig_expected: number of the next error, modulo 2 */
	struct key_sig sig;
	struct key_crypto crypto; /* CRYPTO_NONE: no encryption is configured */
	struct key_entry entry[];
};

struct softhca_mkey {
	struct softhca_dev *dev;
	uint32_t index, max_entries;
	uint8_t variant;           /* that it was created with */
	uint64_t room;             /* pages, a power of two; 0: the key ends with its object */
	struct softhca_mkey *next; /* kept.c */
	struct spin lock;          /* of those that configure it; a leaf */
	bool bsf;                  /* has room for a signature, or for encryption */
	bool crypto;               /* data that go through it are encrypted */
	bool fixed;                /* no work request configures it */
	atomic_bool sig_told;      /* the key's sig_expected when the last error was told */
	struct key *key;           /* the published one */
};

static inline uint64_t
key_plain_id(uint32_t pdn, uint8_t variant)
{
	return (uint64_t)pdn << 32 | 1u << 8 | variant;
}

/* The offset of [va, va+len) in the key. False: it is not within. */
static inline bool
key_covers(const struct key *key, uint64_t va, uint64_t len, uint64_t *off)
{
	uint64_t rest;

	/* Below the key's start the difference is huge: one comparison serves both ends. */
	*off = va - key->iova;
	if (__builtin_expect(__builtin_sub_overflow(key->len, *off, &rest), 0))
		return false;
	return len <= rest;
}

/* In the table of keys, it stands for a key that is kept for a region to come: kept.c */
extern struct key key_kept;

/* The key with an index, or NULL. Inside a turn. */
static inline struct key *
key_get(struct softhca_lanes *lanes, uint32_t index)
{
	struct key *key = table_get(&lanes->keys, index);

	return key != &key_kept ? key : NULL;
}

/* The key that a number names in a PD, or NULL: then *why is the reason. Inside a turn. */
struct key *key_find(struct softhca_lanes *lanes, uint32_t number, uint32_t pdn,
	enum wire_vendor *why);
/* A copy with room for n entries and none in use, to be changed and published; NULL: no memory. */
struct key *key_copy(const struct key *key, uint32_t n_entries);
/* Takes the rights of a key away, as a SEND with invalidate to QP `qpn` asks. Inside a turn. */
bool key_invalidate(struct softhca_lanes *lanes, uint32_t number, uint32_t pdn, uint32_t qpn);

#endif
