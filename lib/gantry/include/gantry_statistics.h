/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What queues and lcores have done: counters, latencies, load.
 */
#ifndef GANTRY_STATISTICS_H
#define GANTRY_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry_api.h"
#include "gantry_desc.h"
#include "gantry_policies.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gantry_queue;

#define GANTRY_STATS_CARRIERS 8 /**< length of gantry_stats::copies, whatever carriers there are */
#define GANTRY_STATS_STATUSES                                                                      \
	64 /**< length of gantry_stats::by_status, whatever statuses there are */

/** Counters of one queue since it was created. */
struct gantry_stats {
	uint64_t submitted; /**< descriptors accepted */
	uint64_t completed; /**< completions handed out */
	uint64_t bytes;     /**< gantry_desc::len of descriptors that completed GANTRY_OK */
	uint64_t doorbells; /**< doorbells rung */
	/**
	 * WQEs handed to the hardware, in units of 64 bytes; fillers at the end of a ring are
	 * included
	 */
	uint64_t wqes;
	uint64_t cqes;        /**< CQEs received; one accounts for many WQEs */
	uint64_t recv_posted; /**< receives accepted */
	uint64_t recv_done;   /**< completions of receives handed out */
	/** How often the queue's connection to itself, or its DC initiator, was set up again. */
	uint64_t recoveries;
	uint64_t replays;       /**< descriptors that were carried out again, each time counted */
	uint64_t layout_hits;   /**< descriptors whose layout the hardware had already */
	uint64_t layout_misses; /**< layouts that were given to the hardware */
	uint64_t txn_opened;    /**< transactions that were handed to the hardware */
	uint64_t txn_done;      /**< transactions of these that have ended, with any status */
	/** How often a wrong signature stopped a connection's send queue */
	uint64_t txn_stops;
	uint64_t txn_cancelled; /**< good responses that were cancelled */
	/** COPY, COPY_SG and FILL that were handed to each carrier; [GANTRY_CARRIER_USUAL] is 0 */
	uint64_t copies[GANTRY_STATS_CARRIERS];
	uint64_t by_status[GANTRY_STATS_STATUSES]; /**< completions handed out, by status */
	uint64_t reserved[16];                     /**< 0 */
};

/**
 * Copies the counters of a queue. Any thread.
 *
 * While the owner works, they are not all of one moment; `completed` is never more than
 * `submitted`.
 *
 * @param q
 *   The queue.
 * @param stats
 *   Is written as a whole.
 */
GANTRY_API void gantry_stats_get(const struct gantry_queue *q, struct gantry_stats *stats);

/** How long descriptors of one operation took: gantry_latency_set(). */
struct gantry_latency {
	uint64_t count; /**< samples */
	/**
	 * Nanoseconds that half of the samples did not exceed; it may be too large by an eighth. 0:
	 * no samples
	 */
	uint64_t p50_ns;
	uint64_t p99_ns;      /**< the same of 99 % */
	uint64_t max_ns;      /**< of the longest sample */
	uint64_t reserved[4]; /**< 0 */
};

/**
 * Begins or ends to measure latencies on a queue. Control thread; the owner may work.
 *
 * One descriptor at a time is measured, whatever its status. Its time begins with the
 * gantry_submit() that accepts it, and ends at the beginning of the gantry_poll() that hands its
 * completion out; in a worker, it is the time between the turns that do so. In an unordered queue,
 * only descriptors of its connection to itself are measured.
 *
 * Measuring costs each such call or turn about 90 instructions and a look at the clock. While it is
 * off, it costs nothing. Switching it on forgets earlier samples, in the owner's next call.
 *
 * @param q
 *   The queue.
 * @param on
 *   True: begin; false: end.
 * @return
 *   0 on success, otherwise:
 * @retval -ENOMEM
 *   There is not enough memory. Nothing has changed.
 */
GANTRY_API int gantry_latency_set(struct gantry_queue *q, bool on);

/**
 * Copies what was measured for an operation. Any thread.
 *
 * @param q
 *   The queue.
 * @param op
 *   enum gantry_op.
 * @param latency
 *   Is written as a whole: zeros without samples, and for a number that is no operation.
 */
GANTRY_API void gantry_latency_get(const struct gantry_queue *q, unsigned int op,
	struct gantry_latency *latency);

/** How an lcore has used its time in workers, since the process began. */
struct gantry_lcore_load {
	uint64_t cycles; /**< of rte_get_tsc_cycles(), while at least one worker ran there */
	/**
	 * The part of `cycles` in turns that moved descriptors or completions. In the rest of
	 * `cycles`, turns had no work, or the lcore rested. The share of busy cycles between two
	 * calls is the load in that time.
	 */
	uint64_t busy_cycles;
	uint64_t sleeps;      /**< how often it has slept or monitored: enum gantry_idle */
	uint32_t workers;     /**< workers that run there now */
	uint32_t zero;        /**< 0 */
	uint64_t reserved[4]; /**< 0 */
};

/**
 * Copies the load of an lcore. Any thread.
 *
 * @param lcore_id
 *   The lcore.
 * @param load
 *   Is written as a whole: zeros for an lcore that never ran a worker, and for a number that is no
 *   lcore's.
 */
GANTRY_API void gantry_lcore_load_get(unsigned int lcore_id, struct gantry_lcore_load *load);

/**
 * Names a status. Any thread.
 *
 * @param status
 *   The status.
 * @return
 *   A short English phrase; "unknown status" for other numbers.
 */
GANTRY_API const char *gantry_status_name(enum gantry_status status);

#ifdef __cplusplus
}
#endif
#endif
