/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection whose send queue stands still, because a signature was wrong. The four steps are those of
 * mlx5dv_qp_cancel_posted_send_wrs(3):
 *
 *   RUNS --signature error--> STOPPING --event--> STOPPED --1, 2, 3--> RESUMING --4--> RUNS
 *     `--------------event---------------------------^
 *
 *   1. The CQ is polled until it is empty.
 *   2. The keys of all open transactions are checked.
 *   3. The good responses of those with a wrong signature are cancelled.
 *   4. The queue goes back to RTS.
 *
 * Bad responses are posted behind what is in the ring, when it runs again. A step that the device refuses is
 * tried again later; after some tries the connection is told to fail. An event without a wrong signature goes the
 * same way.
 */
#ifndef GANTRY_TXN_STOP_H
#define GANTRY_TXN_STOP_H

#include "gantry_txns.h"

/*
 * A signature error of the connection was polled. The event that the queue stands still follows, if it does, so
 * no response is posted until then. Owner thread.
 */
void gantry_txn_stop_expect(struct gantry_queue *q, struct gantry_conn *c);

/* True: the event has come, and the caller polls the CQ now: step 1. */
bool gantry_txn_stop_has_come(struct gantry_queue *q, struct gantry_conn *c);

/* Goes through steps 2 to 4, as far as the device lets it. False: it refused too often. Owner thread; cold. */
bool gantry_txn_stop_handle(struct gantry_queue *q, struct gantry_conn *c);

/* The connection failed, so it does not stand still. */
void gantry_txn_stop_forget(struct gantry_queue *q, struct gantry_conn *c);

#endif
