/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules of transactions. The functions check a descriptor's transaction and prepare its plan;
 * they write nothing to the hardware. gantry_txn_plain.c has shorter code for the most common
 * transactions.
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

/* A transfer of a transaction. */
struct gantry_txn_move {
	uint64_t addr;   /* remote address */
	uint32_t offset; /* offset of the transfer in the key's data, in bytes on the wire */
	uint32_t len;    /* bytes on the wire */
	uint32_t rkey;
};

/*
 * The plan of a checked transaction. The plan and struct gantry_txn_open have all values that
 * gantry_txn_post() needs.
 */
struct gantry_txn_plan {
	const struct gantry_profile *profile;
	const struct hwq_sig_image *image; /* element of gantry_profile::image for this
					    * transaction */
	/*
	 * If the transaction encrypts: its element of gantry_profile::crypto_image, instead of
	 * `image`.
	 */
	const struct hwq_crypto_image *crypto_image;
	/* If the transaction encrypts: its DEK, and the tweak of the first data unit. */
	struct hwq_crypto_start crypto;
	uint32_t n_sge;  /* buffers; 0: the layout is a pattern */
	uint32_t rounds; /* if a pattern: its rounds; each has data and signature of a block */
	uint32_t n_moves;
	bool read; /* data are read from the wire */
	struct hwq_sge sge[GANTRY_TXN_MAX_DATA];
	struct mlx5dv_mr_interleaved pattern[2];
	struct gantry_txn_move move[GANTRY_TXN_MAX_PARTS];
};

static inline bool
gantry_txn_is_aligned(const void *p)
{
	return p != NULL && (uintptr_t)p % sizeof(uint64_t) == 0;
}

/* Returns struct gantry_txn_tags as a word. */
static inline uint64_t
gantry_txn_tags_word(const struct gantry_txn_tags *tags)
{
	uint64_t word;

	static_assert(sizeof(*tags) == sizeof(word), "tags are a word");
	memcpy(&word, tags, sizeof(word));
	return word;
}

/* Returns the bits of tags and responses that must be 0 and are set. */
static inline uint64_t
gantry_txn_forbidden(const struct gantry_txn *t, const struct gantry_profile *p)
{
	return (gantry_txn_tags_word(&t->mem) & p->no_mem_tags) |
	       (gantry_txn_tags_word(&t->wire) & p->no_wire_tags) | t->good.zero | t->bad.zero;
}

/* Copies the profile from the shelf. Returns the copy, or NULL if there is no such profile. */
struct gantry_txn_cached *gantry_txn_copy_profile(struct gantry_queue *q, uint16_t id);

/* Returns the queue's copy of the profile, or NULL if there is no such profile. */
static inline struct gantry_txn_cached *
gantry_txn_profile(struct gantry_queue *q, uint16_t id)
{
	struct gantry_txn_cached *c = &q->txns.cache[(size_t)id % GANTRY_TXN_PROFILES];

	return likely(c->mark == id + 1u && gantry_shelf_cell_serial(c->cell) == c->serial)
		       ? c
		       : gantry_txn_copy_profile(q, id);
}

/*
 * Checks a descriptor whose fields are those of a transaction. c: the connection that carries the
 * transaction, or the connection GANTRY_CONN_NONE. Returns GANTRY_OK, or the status that refuses
 * the descriptor. After GANTRY_OK, *plan can be posted, now or when c works again, and the fields
 * txn, good and bad of the free transaction *to are set.
 */
enum gantry_status gantry_txn_check(struct gantry_queue *q, const struct gantry_conn *c,
	const struct gantry_desc *d, struct gantry_txn_plan *plan, struct gantry_txn_open *to);

#endif
