/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes what is not usual in a transaction: layouts that are not one buffer, several transfers, responses by themselves. */
#include "gantry_txn_post.h"

bool
gantry_txn_post_other(struct gantry_queue *q, struct gantry_conn *c,
	const struct gantry_txn_plan *plan, struct gantry_txn_open *t)
{
	return gantry_txn_post_as(q, c, plan, t, GANTRY_TXN_ANY);
}

bool
gantry_txn_post_crypto(struct gantry_queue *q, struct gantry_conn *c,
	const struct gantry_txn_plan *plan, struct gantry_txn_open *t)
{
	return gantry_txn_post_as(q, c, plan, t, GANTRY_TXN_CRYPTO);
}

bool
gantry_txn_post_reply(struct gantry_queue *q, struct gantry_txn_open *t,
	const struct gantry_txn_reply *reply)
{
	/* If its transfers have ended, a fence would only wait for reads of others, which were posted since. */
	unsigned int flags = t->c->done > t->last ? 0 : HWQ_WQE_FENCE;
	uint32_t n_bb = gantry_txn_reply_bb(t->c, reply);
	struct hwq_burst b;

	if (!gantry_txn_begin(&b, t->c, n_bb))
		return false;
	gantry_txn_put_reply(&b, t->c, reply, flags);
	gantry_txn_commit(q, t->c, t, &b, n_bb, n_bb);
	return true;
}
