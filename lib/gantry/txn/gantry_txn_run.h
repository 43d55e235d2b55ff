/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions for transactions that other folders call. */
#ifndef GANTRY_TXN_RUN_H
#define GANTRY_TXN_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "gantry_conn.h"
#include "gantry_desc.h"
#include "gantry_txns.h"

struct gantry_queue;
struct gantry_stream;
struct hwq_cqe;

/*
 * Issues the transaction of slot `issue`. A transaction that breaks a rule is settled with the
 * status of this rule. The caller has prepared the completion. Returns false if the transaction has
 * to wait; none of its WQEs is posted then. Owner thread.
 */
bool gantry_txn_issue(struct gantry_queue *q, struct gantry_stream *s, const struct gantry_desc *d);

/*
 * As gantry_txn_issue(), for n successive transactions to the same peer. Returns how many did not
 * have to wait.
 */
uint32_t gantry_txn_run(struct gantry_queue *q, struct gantry_stream *s,
	const struct gantry_desc *desc, uint32_t n);

/*
 * As gantry_txn_run(), for a call of the owner with only one transaction. Also rings the doorbell.
 * If it returns false, the caller calls gantry_txn_run().
 */
bool gantry_txn_run_one(struct gantry_queue *q, struct gantry_stream *s,
	const struct gantry_desc *d);

/*
 * Called for a CQE of connection c that reports a wrong signature. Such a CQE completes no WQE.
 */
void gantry_txn_note_error(struct gantry_queue *q, struct gantry_conn *c,
	const struct hwq_cqe *cqe);

/*
 * Returns true if the connection's send queue stands still, and gantry_txn_resume() must be called
 * before gantry_txn_go_on().
 */
static inline bool
gantry_txn_is_stopped(const struct gantry_conn *c)
{
	return unlikely(c->txns->stop >= GANTRY_TXN_STOPPED) && c->state == GANTRY_CONN_TXN;
}

/*
 * Continues the steps of a stopped connection. The caller has taken its CQEs. Returns false if the
 * device refused a step too often; the caller then fails the connection. Owner thread.
 */
bool gantry_txn_resume(struct gantry_queue *q, struct gantry_conn *c);

/* Continues the transactions of a connection. The caller has taken its CQEs. Owner thread. */
void gantry_txn_go_on(struct gantry_queue *q, struct gantry_conn *c);

/*
 * Returns true if gantry_txn_go_on() must be called, although no WQE of the connection is
 * outstanding.
 */
bool gantry_txn_is_busy(const struct gantry_conn *c);

#endif
