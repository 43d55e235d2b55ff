/* SPDX-License-Identifier: BSD-3-Clause */
/* gantry_submit(). */
#include "gantry_submit.h"

#include "gantry_drain.h"

uint16_t
gantry_submit(struct gantry_queue *q, const struct gantry_desc *desc, uint16_t n)
{
	gantry_enter(q);
	n = gantry_submit_inside(q, desc, n);
	gantry_leave(q);
	return n;
}
