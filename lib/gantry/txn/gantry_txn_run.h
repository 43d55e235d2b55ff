/* SPDX-License-Identifier: BSD-3-Clause */
/* Transactions as the rest of a queue sees them. */
#ifndef GANTRY_TXN_RUN_H
#define GANTRY_TXN_RUN_H

#include <stdbool.h>

#include "gantry_desc.h"

struct gantry_conn;
struct gantry_queue;
struct gantry_stream;
struct hwq_cqe;

/* What gantry_txn_issue() returns for one that has to wait. It is never the status of a completion. */
#define GANTRY_TXN_WAITS (GANTRY_STATUS_MAX + 1)

/*
 * Issues the transaction of slot `issue`, whose completion record is prepared. GANTRY_OK: it is open;
 * GANTRY_TXN_WAITS: nothing of it is posted; else the status that it completes with. Owner thread.
 */
unsigned int gantry_txn_issue(struct gantry_queue *q, struct gantry_stream *s,
	const struct gantry_desc *d);

/* A CQE of connection c tells of a wrong signature. No WQE completes by it. */
void gantry_txn_note_error(struct gantry_queue *q, struct gantry_conn *c,
	const struct hwq_cqe *cqe);

/* Goes on with the transactions of a connection, whose CQEs have been taken. Owner thread. */
void gantry_txn_go_on(struct gantry_queue *q, struct gantry_conn *c);

/* True: gantry_txn_go_on() is to be called, though no WQE of the connection is outstanding. */
bool gantry_txn_is_busy(const struct gantry_conn *c);

#endif
