/* SPDX-License-Identifier: BSD-3-Clause */
/* Recovery: what an error CQE means for descriptors and for its connection. */
#ifndef GANTRY_RECOVER_H
#define GANTRY_RECOVER_H

#include "gantry_queue.h"

/* Accounts for an error CQE of connection c, the first one or a later one. Owner thread; cold. */
void gantry_recover_cqe(struct gantry_queue *q, struct gantry_conn *c, const struct hwq_cqe *cqe);

/* Tries again to set up a connection that is broken, if it is time for it. Owner thread; cold. */
void gantry_recover_again(struct gantry_queue *q, struct gantry_conn *c);

#endif
