/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the WQEs of transactions. Either all WQEs of a transaction are posted, or no WQE:
 *
 *     UMR, SET_PSV, SET_PSV    the key: layout of memory, encryption, signatures of both domains
 *     RDMA write or read ...   the transfers; the first one waits for the UMR
 *     SEND, fenced             the good response, on a GANTRY_TXN_PIPELINED connection; for a read,
 *                              while at most one other transaction is open there
 *
 * The last WQE makes a CQE. gantry_txn_plain.c writes the same WQEs for the most common
 * transactions.
 */
#ifndef GANTRY_TXN_POST_H
#define GANTRY_TXN_POST_H

#include "gantry_doorbell.h"
#include "gantry_txn_check.h"

static_assert(offsetof(struct gantry_txn_tags, ref_tag) == offsetof(struct hwq_sig_tags, ref_tag) &&
		      offsetof(struct gantry_txn_tags, app_tag) ==
			      offsetof(struct hwq_sig_tags, app_tag) &&
		      offsetof(struct gantry_txn_tags, seed_ones) ==
			      offsetof(struct hwq_sig_tags, seed_ones) &&
		      offsetof(struct gantry_txn_tags, zero) ==
			      offsetof(struct hwq_sig_tags, zero) &&
		      sizeof(struct gantry_txn_tags) == sizeof(struct hwq_sig_tags),
	"gantry_txn_tags and hwq_sig_tags have the same layout");

/* Returns the first values of a domain's signatures in the form of lib/hwq. */
static inline const struct hwq_sig_tags *
gantry_txn_sig_tags(const struct gantry_txn_tags *tags)
{
	return (const struct hwq_sig_tags *)tags;
}

/*
 * Returns true if the good response is posted together with the transfers. The fence of this
 * response delays all later WQEs until the data of a read have arrived. So while more than one
 * other transaction is open, it is faster to post a read's response after its CQE
 * (doc/transactions.md).
 */
static inline bool
gantry_txn_answers_at_once(const struct gantry_txn_line *line, uint32_t good_len, bool read)
{
	if (line->mode != GANTRY_TXN_PIPELINED || good_len == 0)
		return false;
	return !read || TAILQ_FIRST(&line->open) == TAILQ_LAST(&line->open, gantry_txn_list);
}

/*
 * Posts a checked transaction to connection c, and records it in *t. Returns false if the send
 * queue has too few free WQEBBs; nothing is written then.
 */
bool gantry_txn_post(struct gantry_queue *q, struct gantry_conn *c,
	const struct gantry_txn_plan *plan, struct gantry_txn_open *t);

/* As gantry_txn_post(), for a transaction that encrypts. */
bool gantry_txn_post_crypto(struct gantry_queue *q, struct gantry_conn *c,
	const struct gantry_txn_plan *plan, struct gantry_txn_open *t);

/*
 * Posts a response of t to its connection. Returns false if the send queue has too few free WQEBBs;
 * nothing is written then.
 */
bool gantry_txn_post_reply(struct gantry_queue *q, struct gantry_txn_open *t,
	const struct gantry_txn_reply *reply);

#endif
