/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Statistics of queues and lcores: counters, latencies, load.
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

/** Length of gantry_stats::copies; it does not change with new carriers. */
#define GANTRY_STATS_CARRIERS 8
#define GANTRY_STATS_STATUSES                                                                      \
	64 /**< length of gantry_stats::by_status; it does not change with new statuses */

/** Counters of one queue since it was created. */
struct gantry_stats {
	uint64_t submitted; /**< accepted descriptors */
	uint64_t completed; /**< completions handed out */
	/** Sum of gantry_desc::len of descriptors that completed with GANTRY_OK. */
	uint64_t bytes;
	uint64_t doorbells; /**< doorbells that were rung */
	/**
	 * WQEs handed to the hardware, in units of 64 bytes. NOPs at the end of a ring are included
	 */
	uint64_t wqes;
	uint64_t cqes;        /**< received CQEs; one CQE accounts for many WQEs */
	uint64_t recv_posted; /**< accepted receives */
	uint64_t recv_done;   /**< completions of receives handed out */
	/** How often the queue's connection to itself, or its DC initiator, was set up again. */
	uint64_t recoveries;
	uint64_t replays;       /**< how often descriptors were carried out again */
	uint64_t layout_hits;   /**< descriptors whose layout the hardware had already */
	uint64_t layout_misses; /**< descriptors for whose layout a WQE was posted */
	uint64_t txn_opened;    /**< transactions that were handed to the hardware */
	uint64_t txn_done;      /**< opened transactions that have ended, with any status */
	/** How often a wrong signature stopped a connection's send queue */
	uint64_t txn_stops;
	uint64_t txn_cancelled; /**< good responses that were cancelled */
	/**
	 * How many COPYs, COPY_SGs and FILLs were handed to each carrier; [GANTRY_CARRIER_USUAL] is
	 * 0
	 */
	uint64_t copies[GANTRY_STATS_CARRIERS];
	uint64_t by_status[GANTRY_STATS_STATUSES]; /**< completions handed out, by status */
	uint64_t reserved[16];                     /**< always 0 */
};

/**
 * Copies the counters of a queue. Any thread.
 *
 * While the owner works, the counters are read at slightly different times; but `completed` is
 * never more than `submitted`.
 *
 * @param q
 *   The queue.
 * @param stats
 *   Is written as a whole.
 */
GANTRY_API void gantry_stats_get(const struct gantry_queue *q, struct gantry_stats *stats);

/** The latencies of one operation: gantry_latency_set(). */
struct gantry_latency {
	uint64_t count; /**< number of samples */
	/**
	 * Median in nanoseconds: half of the samples are not greater. It may be too large by up to
	 * an eighth. 0: no samples
	 */
	uint64_t p50_ns;
	uint64_t p99_ns;      /**< as p50_ns, for 99 % of the samples */
	uint64_t max_ns;      /**< longest sample */
	uint64_t reserved[4]; /**< always 0 */
};

/**
 * Switches the measuring of latencies on a queue on or off. Control thread; the owner may work.
 *
 * One descriptor at a time is measured, with any status. Its time begins with the gantry_submit()
 * that accepts it, and ends at the beginning of the gantry_poll() that hands its completion out; in
 * a worker, the rounds of its lcore's loop take the place of these calls. In an unordered queue,
 * only descriptors of its connection to itself are measured.
 *
 * While measuring is on, each such call or round needs about 90 instructions more and reads the
 * clock. While it is off, it costs nothing. Switching it on discards earlier samples, in the
 * owner's next call.
 *
 * @param q
 *   The queue.
 * @param on
 *   True: measure; false: stop measuring.
 * @return
 *   0 on success, otherwise:
 * @retval -ENOMEM
 *   There is not enough memory. Nothing has changed.
 */
GANTRY_API int gantry_latency_set(struct gantry_queue *q, bool on);

/**
 * Copies the latencies that were measured for an operation. Any thread.
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

/** The load of an lcore by workers, since the process began. */
struct gantry_lcore_load {
	/** Cycles of rte_get_tsc_cycles() in which at least one worker ran on the lcore. */
	uint64_t cycles;
	/**
	 * The part of `cycles` in which workers moved descriptors or completions. In the other
	 * cycles, workers had no work, or the lcore rested. The share of busy cycles between two
	 * calls is the load in that time.
	 */
	uint64_t busy_cycles;
	uint64_t sleeps;      /**< how often the lcore has slept or monitored: enum gantry_idle */
	uint32_t workers;     /**< number of workers that run on the lcore now */
	uint32_t zero;        /**< always 0 */
	uint64_t reserved[4]; /**< always 0 */
};

/**
 * Copies the load of an lcore. Any thread.
 *
 * @param lcore_id
 *   The lcore.
 * @param load
 *   Is written as a whole: zeros for an lcore that never ran a worker, and for a number that
 *   belongs to no lcore.
 */
GANTRY_API void gantry_lcore_load_get(unsigned int lcore_id, struct gantry_lcore_load *load);

/**
 * Returns the name of a status. Any thread.
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
