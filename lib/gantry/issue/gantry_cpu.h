/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies by the CPU. A copy runs on the owner's thread when it is issued. The slots of these copies
 * are on no connection (GANTRY_CONN_NONE).
 *
 * q->cpu_left, a multiple of 8, limits the bytes that one call of the owner copies, so that the
 * call stays short. gantry_issue_waiting() sets q->cpu_left again. Work with more bytes is issued
 * in part: it becomes the stream's `split`, and continues in the next call.
 */
#ifndef GANTRY_CPU_H
#define GANTRY_CPU_H

#include "gantry_queue.h"

/*
 * The bytes that one call copies. memcpy(3) of these bytes takes about as long as one poll of a
 * full CQ.
 */
#define GANTRY_CPU_CALL_LEN (UINT64_C(64) << 10)

/*
 * Carries out copies from the beginning of desc, and makes their slots done. Ends before the first
 * descriptor that is no copy, has flags, is longer than q->cpu_left, or has memory outside the
 * regions of the last hits. Returns how many copies were carried out.
 */
uint32_t gantry_cpu_run(struct gantry_queue *q, struct gantry_stream *s,
	const struct gantry_desc *desc, uint32_t n);

/* Carries out the next part of the work, as much as q->cpu_left permits. */
void gantry_cpu_carry(struct gantry_queue *q, struct gantry_work *w);

#endif
