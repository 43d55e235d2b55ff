/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plain transactions, which are the most common kind. They have one buffer in memory that a plain
 * copy could use, one transfer, no encryption, and two responses that are copied into their WQEs.
 * They are checked and posted in one loop. Transactions that are not plain, or break a rule, are
 * left to gantry_txn_check() and gantry_txn_post().
 */
#ifndef GANTRY_TXN_PLAIN_H
#define GANTRY_TXN_PLAIN_H

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include <rte_branch_prediction.h>

#include "gantry_slot.h"
#include "gantry_txn_check.h"

/* Returns profile, op, and the numbers of buffers and parts of a transaction, as one word. */
static __rte_always_inline uint64_t
gantry_txn_head(const struct gantry_txn *txn)
{
	uint64_t head;

	static_assert(offsetof(struct gantry_txn, data) == sizeof(head),
		"the head is the 8 bytes before `data`");
	memcpy(&head, txn, sizeof(head));
	return head;
}

/*
 * Returns true if d->len and d->src are possible for a transaction, and the fields that a
 * transaction does not use are 0. The first 8 bytes of d (gantry_desc_head()) are not checked here.
 * If the result is false, gantry_xlate() and gantry_txn_check() decide about the descriptor.
 */
static __rte_always_inline bool
gantry_txn_desc_is_good(const struct gantry_desc *d)
{
	uint64_t key_imm;

	memcpy(&key_imm, &d->remote_key, sizeof(key_imm));
	return likely((key_imm | d->dst | d->arg[0] | d->arg[1]) == 0) && likely(d->len != 0) &&
	       likely(gantry_txn_is_aligned((const void *)d->src));
}

/*
 * Returns the profile of d's transaction, or NULL if the transaction is not plain. The caller has
 * called gantry_txn_desc_is_good(), which returned true.
 */
static __rte_always_inline struct gantry_txn_cached *
gantry_txn_plain_profile(struct gantry_queue *q, const struct gantry_desc *d)
{
	const struct gantry_txn *txn = (const struct gantry_txn *)d->src;
	struct gantry_txn_cached *profile;

	if (unlikely(txn->n_data != 1 || txn->n_parts != 1))
		return NULL;
	profile = gantry_txn_profile(q, txn->profile);
	if (unlikely(profile == NULL || gantry_profile_encrypts(&profile->p)))
		return NULL;
	return profile;
}

/*
 * Opens plain transactions from the beginning of desc, on connection `conn`, which may be
 * GANTRY_CONN_NONE. profile: gantry_txn_plain_profile() of the first transaction. Returns how many
 * were opened, or 0 if the first transaction is not plain or has to wait.
 */
uint32_t gantry_txn_post_plain(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	struct gantry_txn_cached *profile, const struct gantry_desc *desc, uint32_t n);

/*
 * As gantry_txn_post_plain(), for a call of the owner with only one transaction, whose good
 * response is posted at once. Also rings the doorbell.
 */
bool gantry_txn_post_plain_one(struct gantry_queue *q, struct gantry_stream *s, uint32_t conn,
	struct gantry_txn_cached *profile, const struct gantry_desc *d);

#endif
