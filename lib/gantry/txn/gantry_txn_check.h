/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules of transactions: checks a descriptor's transaction, and finds what the hardware needs
 * to know about it. Nothing is written to the hardware. gantry_txn_plain.c is a shorter way for the
 * most common transactions.
 */
#ifndef GANTRY_TXN_CHECK_H
#define GANTRY_TXN_CHECK_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include <hwq_sig_image.h>

#include "gantry_queue.h"
#include "gantry_shelf.h"
#include "gantry_txns.h"

/* One transfer. */
struct gantry_txn_move {
	uint64_t addr;   /* remote */
	uint32_t offset; /* of its first byte in the key, in bytes on the wire */
	uint32_t len;    /* bytes on the wire */
	uint32_t rkey;
};

/* What to post of a checked transaction, besides the fields of its gantry_txn_open. */
struct gantry_txn_plan {
	const struct gantry_profile *profile;
	const struct hwq_sig_image *image;           /* of the profile, for this transaction */
	const struct hwq_crypto_image *crypto_image; /* the same, if it encrypts */
	struct hwq_crypto_start crypto;              /* if it encrypts */
	uint32_t n_sge;                              /* 0: the layout is a pattern */
	uint32_t rounds; /* of the pattern, which has data and signature of a block */
	uint32_t n_moves;
	bool read; /* data come from the wire */
	struct hwq_sge sge[GANTRY_TXN_MAX_DATA];
	struct mlx5dv_mr_interleaved pattern[2];
	struct gantry_txn_move move[GANTRY_TXN_MAX_PARTS];
};

static inline bool
gantry_txn_is_aligned(const void *p)
{
	return p != NULL && (uintptr_t)p % sizeof(uint64_t) == 0;
}

/* gantry_txn_tags as a word. */
static inline uint64_t
gantry_txn_tags_word(const struct gantry_txn_tags *tags)
{
	uint64_t word;

	static_assert(sizeof(*tags) == sizeof(word), "tags are a word");
	memcpy(&word, tags, sizeof(word));
	return word;
}

/* The bits of tags and responses that must be 0. */
static inline uint64_t
gantry_txn_forbidden(const struct gantry_txn *t, const struct gantry_profile *p)
{
	return (gantry_txn_tags_word(&t->mem) & p->no_mem_tags) |
	       (gantry_txn_tags_word(&t->wire) & p->no_wire_tags) | t->good.zero | t->bad.zero;
}

/* Copies the profile. Returns NULL if there is none. */
struct gantry_txn_cached *gantry_txn_copy_profile(struct gantry_queue *q, uint16_t id);

/* The queue's copy of the profile. Returns NULL if there is no such profile. */
static inline struct gantry_txn_cached *
gantry_txn_profile(struct gantry_queue *q, uint16_t id)
{
	struct gantry_txn_cached *c = &q->txns.cache[(size_t)id % GANTRY_TXN_PROFILES];

	return likely(c->mark == id + 1u && gantry_shelf_cell_serial(c->cell) == c->serial)
		       ? c
		       : gantry_txn_copy_profile(q, id);
}

/*
 * Checks a descriptor whose fields are those of a transaction. c: the connection that carries it,
 * or that of GANTRY_CONN_NONE. Returns GANTRY_OK: *plan is to be posted, now or when c works again,
 * and the free *to has txn, good and bad; or the status that refuses the descriptor.
 */
enum gantry_status gantry_txn_check(struct gantry_queue *q, const struct gantry_conn *c,
	const struct gantry_desc *d, struct gantry_txn_plan *plan, struct gantry_txn_open *to);

#endif
