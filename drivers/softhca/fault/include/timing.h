/* SPDX-License-Identifier: BSD-3-Clause */
/* The timing model: computes when an operation may complete. */
#ifndef SOFTHCA_TIMING_H
#define SOFTHCA_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"

struct softhca_lanes;

/* At device time `at`, all WQEs before WQEBB index `end` had been announced. */
struct timing_mark {
	uint64_t at;
	uint16_t end;
};

/* The state of the model for one send queue. All times are device time. */
struct timing_queue {
	/*
	 * A ring with one mark for each doorbell that still has WQEs to run. NULL: the model is
	 * off.
	 */
	struct timing_mark *marks;
	uint32_t size; /* number of marks in the ring, a power of two */
	uint32_t first, n;
	uint64_t free;      /* time at which the next WQE may begin */
	uint64_t reads_end; /* time at which all reads and atomics up to now have completed */
	uint64_t all_end;   /* time at which all operations up to now have completed */
};

/* The round trips that the WQE at the head waits for before it begins. */
enum timing_fence {
	TIMING_NO_FENCE,
	TIMING_FENCE_READS, /* round trips of earlier reads and atomics */
	TIMING_FENCE_ALL    /* round trips of all earlier operations */
};

/* The properties of the WQE at the head of a queue. */
struct timing_op {
	uint16_t head;   /* index of the WQE's first WQEBB */
	uint16_t posted; /* number of WQEBBs from the head to the counter in the doorbell record */
	/* the WQE stays inside the adapter: it has no bytes on the port and no round trip */
	bool local;
	bool is_read; /* an RDMA read or an atomic */
	enum timing_fence fence;
	uint64_t bytes;
	uint64_t earliest; /* earliest completion time, set by a fault */
};

static inline bool
timing_is_on(const struct softhca_config *cfg)
{
	return cfg->latency_ns != 0 || cfg->round_trip_ns != 0 || cfg->bandwidth_mbps != 0 ||
	       cfg->doorbell_ns != 0;
}

/*
 * Makes the model of a send queue of sq_bb WQEBBs, which is a power of two or 0. Returns false if
 * memory is short.
 */
bool timing_init(const struct softhca_config *cfg, struct timing_queue *queue, uint32_t sq_bb);
void timing_fini(struct timing_queue *queue);
/* Forgets all operations, because the queue is empty. */
void timing_reset(struct timing_queue *queue);
/* Tells the model that the queue was stopped until now. */
void timing_resume(struct timing_queue *queue, uint64_t now);

/*
 * Returns the time at which the operation may complete. The caller holds the queue's lock. `now` is
 * device time.
 */
uint64_t timing_due(struct softhca_lanes *lanes, struct timing_queue *queue,
	const struct timing_op *op, uint64_t now);
/*
 * Tells the model that the WQE at the head completes only now, after the time of timing_due(),
 * because the peer was late.
 */
void timing_late(struct timing_queue *queue, uint64_t now);
/*
 * Called while the WQE at `head` waits. Stores the times at which the WQEs after it were announced.
 */
void timing_note(struct softhca_lanes *lanes, struct timing_queue *queue, uint16_t head,
	uint16_t posted, uint64_t now);

#endif
