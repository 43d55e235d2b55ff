/* SPDX-License-Identifier: BSD-3-Clause */
/* Issuing: writes a descriptor's WQEs, or settles its status without hardware. */
#ifndef GANTRY_ISSUE_H
#define GANTRY_ISSUE_H

#include "gantry_queue.h"

/* Issues waiting descriptors, until a descriptor has to wait longer. Owner thread. */
void gantry_issue_waiting(struct gantry_queue *q);

/*
 * The code of gantry_submit() between gantry_enter() and gantry_leave(). Returns how many of the n
 * descriptors the queue has accepted.
 */
uint32_t gantry_submit_any(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n);

/*
 * As gantry_submit_any(), for a queue in order whose own connection works and carries all copies by
 * DMA MMO. No descriptor waits, and the queue has n free slots.
 */
uint32_t gantry_submit_by_mmo(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n);

#endif
