/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies by the CPU. They name no connection (GANTRY_CONN_NONE), and run on the owner's thread when
 * they are issued.
 *
 * q->cpu_left, a multiple of 8, limits the bytes of a call of the owner, so that it stays short.
 * gantry_issue_waiting() renews it. Work with more bytes is issued in part: it is the stream's
 * `split`, and goes on in the next call.
 */
#ifndef GANTRY_CPU_H
#define GANTRY_CPU_H

#include "gantry_queue.h"

/* Bytes of one call. memcpy(3) takes about as long for them as one poll of a full CQ. */
#define GANTRY_CPU_CALL_LEN (UINT64_C(64) << 10)

/*
 * Carries out the plain copies from the beginning of desc, and settles them. Returns how many; 0:
 * the first descriptor is not plain, or is longer than q->cpu_left.
 */
uint32_t gantry_cpu_run(struct gantry_queue *q, struct gantry_stream *s,
	const struct gantry_desc *desc, uint32_t n);

/* Carries out the next part of the work, as much as q->cpu_left permits. */
void gantry_cpu_carry(struct gantry_queue *q, struct gantry_work *w);

#endif
