/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The states of an open transaction.
 *
 *              its last WQE is done             the queue stopped         room, and     its connection
 *              key good        key wrong        key wrong                 it runs       failed
 *   ---------  --------------  ---------------  ------------------------  ------------  ----------------
 *   POSTED     OK: posted:     SIG_ERROR: bad   SIG_ERROR: good response  -             SIG_ERROR if the
 *              settle; else    response         is cancelled; bad                       key is wrong,
 *              good response                    response                                else its status
 *   TO_ANSWER  -               -                -                         the response  SIG_ERROR stays,
 *                                                                         is posted:    else its status
 *                                                                         ANSWERED
 *   ANSWERED   settle          -                -                         -             the same
 *
 * "posted": the good response is posted with the transfers, or there is none.
 * "good response", "bad response": TO_ANSWER if there is such a response, else ANSWERED. From then on `status` is what
 * the transaction completes with, unless its connection fails. A transaction settles when its last WQE is done.
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

/* `where` of the slots of open transactions on this connection: they are never done. */
static inline uint64_t
gantry_txn_where(uint32_t conn)
{
	/* Above what any connection has posted, and below GANTRY_WHERE_HELD of gantry_replay.h. */
	return gantry_where(conn, UINT64_C(1) << (GANTRY_WHERE_SHIFT - 2));
}

/*
 * The first free transaction, t, begins in slot `issue`: its WQEs are written to connection c. What it has of its
 * descriptor and of its WQEs is set. where: gantry_txn_where().
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

/* Counts n transactions that began. */
static inline void
gantry_txn_note_begun(struct gantry_queue *q, uint32_t n)
{
	q->outstanding += n;
	gantry_counter_add(&q->txns.counts.opened, n);
}

/* gantry_txn_check_key() for a key that has a wrong signature to tell of. Returns true. */
bool gantry_txn_take_error(struct gantry_txn_open *t);

/*
 * Asks the transaction's key for a wrong signature. True: there was one; gantry_txn::error has it, and the transaction
 * goes on to its bad response. In state POSTED only.
 */
static inline bool
gantry_txn_check_key(struct gantry_txn_open *t)
{
	return unlikely(hwq_mkey_has_err(t->mkey)) && gantry_txn_take_error(t);
}

/*
 * A CQE told of a wrong signature of this key, of which no earlier one was told. Its place among the CQEs says in which
 * transfer: it comes between the CQE of the one before and that of this one.
 */
void gantry_txn_note_wrong(struct gantry_conn *c, uint32_t key);
/*
 * Looks at the CQE behind that one. If it is of another transfer, a CQE was lost. To be called when CQEs were taken,
 * before anything is posted: from then on the device may write another CQE there.
 */
void gantry_txn_look_behind(struct gantry_conn *c);

/* Moves each open transaction of a connection as far as it can go. Owner thread. */
void gantry_txn_advance(struct gantry_queue *q, struct gantry_conn *c);

struct hwq_cqe;

/*
 * The connection failed: WQEs from `index` on did not run, or not to their end. first: the status of the transaction
 * that owns the WQE at index; others: of those behind it. cqe: the error CQE that says why, or NULL. Returns the
 * completion record of the first one, or NULL.
 */
const struct gantry_comp *gantry_txn_fail(struct gantry_conn *c, uint64_t index,
	enum gantry_status first, enum gantry_status others, const struct hwq_cqe *cqe);

#endif
