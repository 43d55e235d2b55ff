/* SPDX-License-Identifier: BSD-3-Clause */
/* The timing model: it computes when an operation may complete. */
#ifndef SOFTHCA_TIMING_H
#define SOFTHCA_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

struct softhca_lanes;

/* At the device time `at`, WQEs up to the WQEBB `end` had been announced. */
struct timing_mark {
	uint64_t at;
	uint16_t end;
};

/* What the model remembers of a send queue. Times are device time. */
struct timing_queue {
	/*
	 * A ring with one mark for each doorbell whose WQEs have not all run. NULL: the model is
	 * off.
	 */
	struct timing_mark *marks;
	uint32_t size; /* a power of two */
	uint32_t first, n;
	uint64_t free;      /* when the next WQE may begin */
	uint64_t reads_end; /* when all reads and atomics so far have completed */
	uint64_t all_end;   /* when all operations so far have completed */
};

/* What the WQE at the head waits for before it begins. */
enum timing_fence {
	TIMING_NO_FENCE,
	TIMING_FENCE_READS, /* the round trips of earlier reads and atomics */
	TIMING_FENCE_ALL    /* the round trips of all earlier operations */
};

/* The WQE at the head of a queue. */
struct timing_op {
	uint16_t head;   /* index of its first WQEBB */
	uint16_t posted; /* WQEBBs from the head to the doorbell record */
	bool local;      /* the WQE stays inside the adapter: no bytes on the port, no round trip */
	bool is_read;    /* an RDMA read or an atomic */
	enum timing_fence fence;
	uint64_t bytes;
	uint64_t earliest; /* set by a fault: the earliest completion time */
};

static inline bool
timing_is_on(const struct softhca_config *cfg)
{
	return cfg->latency_ns != 0 || cfg->round_trip_ns != 0 || cfg->bandwidth_mbps != 0 ||
	       cfg->doorbell_ns != 0;
}

/* Makes the model of a send queue of sq_bb WQEBBs: a power of two, or 0. False: out of memory. */
bool timing_init(const struct softhca_config *cfg, struct timing_queue *queue, uint32_t sq_bb);
void timing_fini(struct timing_queue *queue);
/* Forgets all operations: the queue is empty. */
void timing_reset(struct timing_queue *queue);
/* The queue was stopped until now. */
void timing_resume(struct timing_queue *queue, uint64_t now);

/*
 * Returns when the operation may complete. The caller holds the queue's lock. `now` is device time.
 */
uint64_t timing_due(struct softhca_lanes *lanes, struct timing_queue *queue,
	const struct timing_op *op, uint64_t now);
/*
 * Tells the model that the WQE at the head completes now, later than timing_due() said, because the
 * peer was late.
 */
void timing_late(struct timing_queue *queue, uint64_t now);
/* Called while the WQE at `head` waits. Remembers when the WQEs behind it were announced. */
void timing_note(struct softhca_lanes *lanes, struct timing_queue *queue, uint16_t head,
	uint16_t posted, uint64_t now);

#endif
