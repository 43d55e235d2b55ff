/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of one WQE each, in any mix: copies, RDMA, messages and atomics, to any connection of the queue.
 *
 * gantry_run.h is faster for neighbours that are alike, because it finds out once what they have in common. Here each
 * descriptor is looked at alone: tables have the fields that its operation uses, and its opcode. What needs several WQEs,
 * or breaks a rule, is left to gantry_xlate().
 */
#ifndef GANTRY_EACH_H
#define GANTRY_EACH_H

#include "gantry_queue.h"

/*
 * Issues the operations that desc begins with. Returns how many: up to the first that takes another way, or has no
 * room. A fence of the first one need not wait. mmo: DMA MMO carries copies, else RDMA.
 */
uint32_t gantry_each(struct gantry_queue *q, struct gantry_stream *s,
	const struct gantry_desc *desc, uint32_t n, bool mmo);

/*
 * The same for an unordered queue in which no fence waits: each goes to the stream of its connection, and is accepted
 * there. Returns how many: up to the first that has to wait or takes another way.
 */
uint32_t gantry_each_unordered(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n,
	bool mmo);

#endif
