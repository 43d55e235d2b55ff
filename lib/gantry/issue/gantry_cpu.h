/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies that the CPU carries. They name no connection (GANTRY_CONN_NONE), and run on the owner's
 * thread when they are issued.
 *
 * What is copied between two renewals is limited, so that a call of the owner stays short: q->cpu_left,
 * a multiple of 8. gantry_issue_waiting() renews it. Work that does not fit is issued in part; it is
 * the stream's `split`, and goes on in the next call.
 */
#ifndef GANTRY_CPU_H
#define GANTRY_CPU_H

#include "gantry_queue.h"

/* Bytes of one call. memcpy(3) takes about as long for them as one poll of a full CQ. */
#define GANTRY_CPU_CALL_LEN (UINT64_C(64) << 10)

/*
 * Copies for the plain copies that desc begins with, and settles them. Returns how many; 0: the first one
 * is not plain, or q->cpu_left is less than its length.
 */
uint32_t gantry_cpu_run(struct gantry_queue *q, struct gantry_stream *s,
	const struct gantry_desc *desc, uint32_t n);

/* Carries out a part of the work, as much as q->cpu_left allows, and moves it forward. */
void gantry_cpu_carry(struct gantry_queue *q, struct gantry_work *w);

#endif
