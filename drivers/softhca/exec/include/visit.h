/* SPDX-License-Identifier: BSD-3-Clause */
/* What a lane has run of a UAR page's queue pairs. message.h has a picture of how they run. */
#ifndef SOFTHCA_VISIT_H
#define SOFTHCA_VISIT_H

#include <stdbool.h>

struct softhca_lanes;
struct softhca_uar;

/*
 * Runs what may run of the page's send queues, and of receive queues flushes what is in error. The
 * page is held. all: every queue is looked at; else those with posted WQEs, those that were rung,
 * and those that asked for another visit. Returns WQEs executed or flushed; *again: some queue
 * wants to be visited again.
 */
unsigned int qps_visit(struct softhca_uar *uar, bool all, bool *again);
/*
 * Puts QPs into error whose CQ failed, and which have no page and so no visits (DCTs). Inside a
 * turn. False: no CQ failed.
 */
bool qps_fail_with_their_cqs(struct softhca_lanes *lanes);

#endif
