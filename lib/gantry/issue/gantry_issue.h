/* SPDX-License-Identifier: BSD-3-Clause */
/* Issuing: a descriptor's WQEs are written, or its status is settled without hardware. */
#ifndef GANTRY_ISSUE_H
#define GANTRY_ISSUE_H

#include "gantry_queue.h"

/* Issues the descriptors that wait, until one has to wait longer. Owner thread. */
void gantry_issue_waiting(struct gantry_queue *q);

/* gantry_submit(), between gantry_enter() and gantry_leave(). Returns how many of n the queue has room for. */
uint32_t gantry_submit_any(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n);

/*
 * The same for a queue in order in which nothing waits, and whose own connection works and carries all copies, by DMA
 * MMO. It has room for n.
 */
uint32_t gantry_submit_by_mmo(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n);

#endif
