/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection whose send queue stands still, because a signature was wrong. "event" is
 * IBV_EVENT_SQ_DRAINED: the send queue stands still. The four steps are those of
 * mlx5dv_qp_cancel_posted_send_wrs(3):
 *
 *   RUNS --wrong signature--> STOPPING --event--> STOPPED --1, 2, 3--> RESUMING --4--> RUNS
 *     `--------------event---------------------------^
 *
 *   1. The CQ is polled until it is empty.
 *   2. The keys of all open transactions are checked.
 *   3. The good responses of transactions with a wrong signature are cancelled.
 *   4. The QP goes back to RTS.
 *
 * When the send queue runs again, bad responses are posted behind the WQEs in its ring. A step that
 * the device refuses is tried again later; after some tries the engine fails the connection. If the
 * event comes and no signature was wrong, the same steps are taken.
 */
#ifndef GANTRY_TXN_STOP_H
#define GANTRY_TXN_STOP_H

#include "gantry_txns.h"

/*
 * Called for a CQE that reports a wrong signature. The event that the send queue stands still may
 * follow, so no response is posted until this event. Owner thread.
 */
void gantry_txn_stop_expect(struct gantry_queue *q, struct gantry_conn *c);

/*
 * Returns true if the event has come. The caller then polls the CQ, which is step 1 of the list
 * above.
 */
bool gantry_txn_stop_has_come(struct gantry_queue *q, struct gantry_conn *c);

/*
 * Carries out steps 2 to 4 of the list above, as far as the device permits. Returns false if the
 * device refused a step too often. Owner thread; cold.
 */
bool gantry_txn_stop_handle(struct gantry_queue *q, struct gantry_conn *c);

/* Called when the connection has failed, so that its send queue no longer stands still. */
void gantry_txn_stop_forget(struct gantry_queue *q, struct gantry_conn *c);

#endif
