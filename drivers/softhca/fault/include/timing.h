/* SPDX-License-Identifier: BSD-3-Clause */
/* The timing model: when an operation may complete. */
#ifndef SOFTHCA_TIMING_H
#define SOFTHCA_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

struct softhca_lanes;

/* WQEs up to this WQEBB were announced at that time. */
struct timing_mark {
	uint64_t at;
	uint16_t end;
};

/* What the model remembers of a send queue; device time. */
struct timing_queue {
	/* A ring: one for each doorbell whose WQEs have not all run. NULL: the model is off. */
	struct timing_mark *marks;
	uint32_t size; /* a power of two */
	uint32_t first, n;
	uint64_t free;      /* it may begin with the next WQE */
	uint64_t reads_end; /* all reads and atomics so far have completed */
	uint64_t all_end;   /* everything so far has completed */
};

/* What the WQE at the head waits for before it begins. */
enum timing_fence {
	TIMING_NO_FENCE,
	TIMING_FENCE_READS, /* the round trips of earlier reads and atomics */
	TIMING_FENCE_ALL    /* those of all earlier operations */
};

/* The WQE at the head of a queue. */
struct timing_op {
	uint16_t head;   /* its WQEBB */
	uint16_t posted; /* WQEBBs from it to the doorbell record */
	bool local;      /* it stays inside the adapter: no bytes on the port, no round trip */
	bool is_read;    /* or an atomic */
	enum timing_fence fence;
	uint64_t bytes;
	uint64_t earliest; /* a fault: it completes at this time, or later */
};

static inline bool
timing_is_on(const struct softhca_config *cfg)
{
	return cfg->latency_ns != 0 || cfg->round_trip_ns != 0 || cfg->bandwidth_mbps != 0 ||
	       cfg->doorbell_ns != 0;
}

/* Makes the model of a send queue of so many WQEBBs, a power of two or 0. False: out of memory. */
bool timing_init(const struct softhca_config *cfg, struct timing_queue *queue, uint32_t sq_bb);
void timing_fini(struct timing_queue *queue);
/* Forgets all: the queue is empty. */
void timing_reset(struct timing_queue *queue);
/* The queue stood still until now. */
void timing_resume(struct timing_queue *queue, uint64_t now);

/* When the operation may complete. The queue's lock is held; `now` is device time. */
uint64_t timing_due(struct softhca_lanes *lanes, struct timing_queue *queue,
	const struct timing_op *op, uint64_t now);
/*
 * The WQE at the head has completed now, because its peer was late: later than timing_due() said.
 */
void timing_late(struct timing_queue *queue, uint64_t now);
/* While the WQE at `head` waits: remembers when the WQEs behind it were announced. */
void timing_note(struct softhca_lanes *lanes, struct timing_queue *queue, uint16_t head,
	uint16_t posted, uint64_t now);

#endif
