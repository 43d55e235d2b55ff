/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The WQEs of transactions. All of a transaction's WQEs are posted in one go, or none:
 *
 *     UMR, SET_PSV, SET_PSV    the key: layout of memory, signatures of both domains
 *     RDMA write or read ...   the transfers; the first one waits for the UMR
 *     SEND, fenced             the good response, on a GANTRY_TXN_PIPELINED connection; of a read, while
 *                              at most one other transaction is open there
 *
 * The last one makes a CQE.
 */
#ifndef GANTRY_TXN_POST_H
#define GANTRY_TXN_POST_H

#include "gantry_txn_check.h"

/* Posts the transaction that was planned, as t, to connection c. False: no room, and nothing was written. */
bool gantry_txn_post(struct gantry_queue *q, struct gantry_conn *c,
	const struct gantry_txn_plan *plan, struct gantry_txn_open *t);

/* Posts a response of t to its connection. False: no room, and nothing was written. */
bool gantry_txn_post_reply(struct gantry_queue *q, struct gantry_txn_open *t,
	const struct gantry_txn_reply *reply);

#endif
