/* SPDX-License-Identifier: BSD-3-Clause */
/* Completing: CQEs are taken, and completions are handed out. */
#ifndef GANTRY_COMPLETE_H
#define GANTRY_COMPLETE_H

#include "gantry_queue.h"

/* gantry_poll(), between gantry_enter() and gantry_leave(). */
uint32_t gantry_poll_inside(struct gantry_queue *q, struct gantry_comp *comp, uint32_t n);

#endif
