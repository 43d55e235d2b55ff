/* SPDX-License-Identifier: BSD-3-Clause */
/* Issuing: a descriptor's WQEs are written, or its status is settled without hardware. */
#ifndef GANTRY_ISSUE_H
#define GANTRY_ISSUE_H

#include "gantry_queue.h"

/* Issues the descriptors that wait, until one has to wait longer. Owner thread. */
void gantry_issue_waiting(struct gantry_queue *q);

/* gantry_submit(), between gantry_enter() and gantry_leave(). */
uint32_t gantry_submit_inside(struct gantry_queue *q, const struct gantry_desc *desc, uint32_t n);

#endif
