/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery: decides what an error CQE means for descriptors and for their connection. */
#ifndef GANTRY_RECOVER_H
#define GANTRY_RECOVER_H

#include "gantry_queue.h"

/*
 * Accounts for an error CQE of connection c: its first error CQE, or a later error CQE. Owner
 * thread; cold.
 */
void gantry_recover_cqe(struct gantry_queue *q, struct gantry_conn *c, const struct hwq_cqe *cqe);

/*
 * Called if connection c, in state READY, has outstanding WQEs and none of them completes. Tells
 * the device to flush these WQEs. Afterwards the state is GANTRY_CONN_FAILING, or
 * gantry_recover_silent() was called. Owner thread; cold.
 */
void gantry_recover_stuck(struct gantry_queue *q, struct gantry_conn *c);

/*
 * Called if WQEs of connection c are outstanding and no CQE will come any more, because the CQ has
 * failed or the connection is stuck. Resets the QP, and completes the descriptors. If the device
 * refuses the reset, c->silent is set, and the caller calls this function again. Owner thread;
 * cold.
 */
void gantry_recover_silent(struct gantry_queue *q, struct gantry_conn *c);

/*
 * Called if the device is lost. Every descriptor that is not done completes with
 * GANTRY_DEVICE_LOST, and no connection of the queue can be used any more. Owner thread; cold.
 */
void gantry_recover_lose(struct gantry_queue *q);

/*
 * Continues with a connection that has no outstanding WQE. If the connection is broken and its
 * pause is over, tries to set it up again. If it was stuck, begins the repair. Returns true if the
 * connection is broken; the caller then calls this function again. Owner thread; cold.
 */
bool gantry_recover_again(struct gantry_queue *q, struct gantry_conn *c);

#endif
