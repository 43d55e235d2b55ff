/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery: what an error CQE means for descriptors and for its connection. */
#ifndef GANTRY_RECOVER_H
#define GANTRY_RECOVER_H

#include "gantry_queue.h"

/* Accounts for an error CQE of connection c, the first one or a later one. Owner thread; cold. */
void gantry_recover_cqe(struct gantry_queue *q, struct gantry_conn *c, const struct hwq_cqe *cqe);

/*
 * Connection c, in state READY, has WQEs outstanding and moves nothing: the device is told to flush them.
 * The connection is then GANTRY_CONN_FAILING, or gantry_recover_silent() was called. Owner thread; cold.
 */
void gantry_recover_stuck(struct gantry_queue *q, struct gantry_conn *c);

/*
 * No CQE of connection c will come any more, though WQEs are outstanding: because its CQ failed, or it
 * is stuck. Resets the QP and completes what was posted. If the device refuses the reset, c->silent is set:
 * call again. Owner thread; cold.
 */
void gantry_recover_silent(struct gantry_queue *q, struct gantry_conn *c);

/*
 * The device is lost. Every descriptor that is not done completes with GANTRY_DEVICE_LOST, and no connection
 * of the queue can be used any more. Owner thread; cold.
 */
void gantry_recover_lose(struct gantry_queue *q);

/*
 * Goes on with a connection that has no WQE outstanding: tries again to set it up if it is broken and
 * it is time for that, or if it was stuck. True: it is broken, call again. Owner thread; cold.
 */
bool gantry_recover_again(struct gantry_queue *q, struct gantry_conn *c);

#endif
