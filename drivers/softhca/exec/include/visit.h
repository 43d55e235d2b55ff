/* SPDX-License-Identifier: BSD-3-Clause */
/* Visits to queue pairs. message.h has a picture of how a WQE runs. */
#ifndef SOFTHCA_VISIT_H
#define SOFTHCA_VISIT_H

#include <stdbool.h>

struct softhca_lanes;
struct softhca_uar;

/*
 * Runs WQEs of the page's send queues, and flushes receive queues in error. The caller holds the
 * page's lock. If all is true, visits every queue. Otherwise visits only queues with posted WQEs,
 * queues whose doorbell was rung, and queues that asked for another visit. Returns the number of
 * WQEs executed or flushed. Sets *again if a queue asks for another visit.
 */
unsigned int qps_visit(struct softhca_uar *uar, bool all, bool *again);
/*
 * Visits the QPs that belong to no UAR page: DCTs, and receiving QPs of XRC. If a CQ of such a QP
 * has failed, the QP fails. If the QP is in error, its receives are flushed. Call it inside a turn
 * (turns.h). Returns false if no such QP needs a visit.
 */
bool qps_visit_pageless(struct softhca_lanes *lanes);

#endif
