/* SPDX-License-Identifier: BSD-3-Clause */
/* Visits to queue pairs. message.h has a picture of how a WQE runs. */
#ifndef SOFTHCA_VISIT_H
#define SOFTHCA_VISIT_H

#include <stdbool.h>

struct softhca_lanes;
struct softhca_uar;

/*
 * Runs WQEs of the page's send queues, and flushes receive queues in error. The caller holds the
 * page. all: visits every queue; else only queues with posted WQEs, queues that were rung, and
 * queues that asked for another visit. Returns the number of WQEs executed or flushed. *again: a
 * queue asks for another visit.
 */
unsigned int qps_visit(struct softhca_uar *uar, bool all, bool *again);
/*
 * Moves QPs to error whose CQ has failed and that no page's visit covers (DCTs). Call inside a
 * turn. False: no CQ failed.
 */
bool qps_fail_with_their_cqs(struct softhca_lanes *lanes);

#endif
