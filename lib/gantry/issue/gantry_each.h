/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of one WQE each, in any mix: copies, RDMA, messages and atomics, to any connection of
 * the queue.
 *
 * For neighbours that are alike gantry_run.h is faster, because it checks once what they have in
 * common. This code looks at each descriptor alone, by the row of its operation (gantry_rule.h). A
 * descriptor that needs several WQEs, or breaks a rule, is left to gantry_xlate().
 */
#ifndef GANTRY_EACH_H
#define GANTRY_EACH_H

#include "gantry_queue.h"

/*
 * Issues operations from the beginning of desc. Returns how many: it stops at a descriptor that
 * needs other code, or has no room. A fence of the first one need not wait. mmo: DMA MMO carries
 * copies; false: RDMA.
 */
uint32_t gantry_each(struct gantry_queue *q, struct gantry_stream *s,
	const struct gantry_desc *desc, uint32_t n, bool mmo);

/*
 * As gantry_each(), for an unordered queue in which no fence waits: accepts each descriptor in the
 * stream of its connection. Returns how many: it stops at a descriptor that has to wait, or needs
 * other code.
 */
uint32_t gantry_each_unordered(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n,
	bool mmo);

#endif
