/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The states of an open transaction.
 *
 *   state      event                                       then
 *   ---------  ------------------------------------------  ---------------------------------------
 *   POSTED     its last WQE is done, and its key is good   status OK; if the good response is
 *                                                          posted it settles, else good response
 *              its last WQE is done, and its key is wrong  status SIG_ERROR; bad response
 *              the send queue stopped, and its key is      status SIG_ERROR; the good response is
 *              wrong                                       cancelled; bad response
 *              its connection failed                       status SIG_ERROR if its key is wrong,
 *                                                          else the status of the failure
 *   TO_ANSWER  the send queue runs, and has room           the response is posted; ANSWERED
 *              its connection failed                       status SIG_ERROR stays, any other
 *                                                          becomes the status of the failure
 *   ANSWERED   its last WQE is done                        it settles
 *              its connection failed                       as in TO_ANSWER
 *
 * "good response", "bad response": the next state is TO_ANSWER if there is such a response, else
 * ANSWERED. A good response counts as posted if it was posted with the transfers, or if there is
 * none. From state TO_ANSWER on, `status` is that of the completion, unless the connection fails. A
 * transaction settles when its last WQE is done.
 */
#ifndef GANTRY_TXN_STATE_H
#define GANTRY_TXN_STATE_H

#include <rte_branch_prediction.h>

#include <hwq_mkey_check.h>

#include "gantry_queue.h"

enum gantry_txn_state {
	GANTRY_TXN_FREE = 0,
	GANTRY_TXN_POSTED,
	GANTRY_TXN_TO_ANSWER,
	GANTRY_TXN_ANSWERED,
};

/*
 * Returns `where` of the slots of open transactions on this connection. Such a slot is never done.
 */
static inline uint64_t
gantry_txn_where(uint32_t conn)
{
	/*
	 * An index greater than every index that a connection posts, and less than
	 * GANTRY_WHERE_HELD of gantry_replay.h.
	 */
	return gantry_where(conn, UINT64_C(1) << (GANTRY_WHERE_SHIFT - 2));
}

/*
 * Begins t, the first free transaction, in slot `issue`. The caller has written its WQEs to
 * connection c, and has set the fields of t about the descriptor and the WQEs. where:
 * gantry_txn_where() of the connection.
 */
static __rte_always_inline void
gantry_txn_begin(struct gantry_queue *q, struct gantry_stream *s, struct gantry_conn *c,
	uint64_t where, struct gantry_txn_open *t, const struct gantry_profile *profile,
	bool has_answer)
{
	t->state = GANTRY_TXN_POSTED;
	t->status = GANTRY_OK;
	t->syndrome = t->vendor_syndrome = 0;
	t->wrong_move = 0;
	t->is_sure = true;
	t->has_answer = has_answer;
	t->c = c;
	t->seq = s->issue;
	t->version = q->view.version;
	t->mem = profile->mem;
	t->wire = profile->wire;
	s->where[s->issue & s->mask] = where;
	SLIST_FIRST(&q->txns.free) = SLIST_NEXT(t, next_free);
	TAILQ_INSERT_TAIL(&c->txns->open, t, next);
}

/* Counts n transactions that have begun. */
static inline void
gantry_txn_note_begun(struct gantry_queue *q, uint32_t n)
{
	q->outstanding += n;
	gantry_counter_add(&q->txns.counts.opened, n);
}

/* The second part of gantry_txn_check_key(), for a key that has an error. Returns true. */
bool gantry_txn_take_error(struct gantry_txn_open *t);

/*
 * Asks the transaction's key for a wrong signature. If there was one, returns true: the error is
 * then in gantry_txn::error, and the bad response follows. Called in state POSTED only.
 */
static inline bool
gantry_txn_check_key(struct gantry_txn_open *t)
{
	return unlikely(hwq_mkey_has_err(t->mkey)) && gantry_txn_take_error(t);
}

/*
 * Called for the CQE that reports the first wrong signature of this key. Finds the transfer with
 * the wrong signature: the CQE is between the CQE of this transfer and the CQE of the transfer
 * before it. Stores this transfer in the transaction.
 */
void gantry_txn_note_wrong(struct gantry_conn *c, uint32_t key);
/*
 * If gantry_txn_note_wrong() has stored a transfer, reads the CQE after the CQE that reported the
 * wrong signature (gantry_txn_line::next_ci). If this next CQE belongs to the stored transfer, sets
 * is_sure of the transaction. If it belongs to another transfer, a CQE was lost, and is_sure does
 * not change. Called after CQEs were taken, and before WQEs are posted: after new WQEs the device
 * may overwrite the CQE.
 */
void gantry_txn_look_behind(struct gantry_conn *c);

/* Moves each open transaction of a connection as far as possible. Owner thread. */
void gantry_txn_advance(struct gantry_queue *q, struct gantry_conn *c);

struct hwq_cqe;

/*
 * Called when the connection failed: WQEs from `index` on did not run, or did not run to their end.
 * first: the status of the transaction that owns the WQE at `index`. others: the status of the
 * transactions behind it. cqe: the error CQE with the reason, or NULL. Returns the completion of
 * the first of these transactions, or NULL.
 */
const struct gantry_comp *gantry_txn_fail(struct gantry_conn *c, uint64_t index,
	enum gantry_status first, enum gantry_status others, const struct hwq_cqe *cqe);

#endif
