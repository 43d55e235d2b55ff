/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of one WQE each, in any mix: copies, RDMA, messages and atomics, to any connection of
 * the queue.
 *
 * For successive descriptors that are alike, gantry_run.h is faster, because it checks their common
 * properties once. The code here checks each descriptor by the row of its operation
 * (gantry_rule.h). It leaves a descriptor that needs several WQEs, or breaks a rule, to
 * gantry_xlate().
 */
#ifndef GANTRY_EACH_H
#define GANTRY_EACH_H

#include "gantry_queue.h"

/*
 * Issues operations from the beginning of desc. Stops at a descriptor that needs other code, or for
 * which the send queue has no free WQEBB. Returns how many were issued. The caller knows that a
 * fence of the first descriptor need not wait. mmo: true if DMA MMO carries copies, false if RDMA
 * does.
 */
uint32_t gantry_each(struct gantry_queue *q, struct gantry_stream *s,
	const struct gantry_desc *desc, uint32_t n, bool mmo);

/*
 * As gantry_each(), for an unordered queue in which no fence waits: puts each descriptor into the
 * stream of its connection. Stops at the first descriptor that has to wait or that this fast path
 * cannot issue. Returns how many descriptors it accepted.
 */
uint32_t gantry_each_unordered(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n,
	bool mmo);

#endif
