/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Workers: queues that lcores serve, between two rings (ring mode).
 */
#ifndef GANTRY_WORKERS_H
#define GANTRY_WORKERS_H

#include <stdint.h>

#include "gantry_api.h"
#include "gantry_desc.h"
#include "gantry_queues.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gantry;
struct gantry_worker;

/** The threads that may call gantry_enqueue_burst() for one worker. */
enum gantry_producers {
	GANTRY_PRODUCERS_ONE = 0, /**< one thread at a time */
	/**
	 * Any number of threads, at the same time. If a thread is preempted in the middle of a
	 * call, the other threads spin until it runs again. For threads that do not share CPUs.
	 */
	GANTRY_PRODUCERS_MP,
	/**
	 * Any number of threads, one after the other (RING_F_MP_HTS_ENQ). For threads that share
	 * CPUs.
	 */
	GANTRY_PRODUCERS_MP_HTS,
};

/**
 * What a worker's lcore does when it has no work.
 *
 * By default the lcore polls, because DPDK gives each lcore a CPU, and polling finds work soonest.
 * If lcores share CPUs with other threads, GANTRY_IDLE_SLEEP is faster: an lcore that polls takes
 * CPU time from the threads that it waits for, such as threads of the application and of the
 * emulated adapter.
 */
enum gantry_idle {
	/**
	 * The lcore polls. After 256 rounds without work it yields. If another lcore or the main
	 * lcore may run on one of its CPUs (--lcores of EAL), it does not yield, but sleeps for
	 * tens of microseconds after 16 rounds. As long as such an lcore has workers, its thread
	 * has time slices of 0.1 ms and no timer slack.
	 */
	GANTRY_IDLE_SPIN = 0,
	/**
	 * The lcore sleeps until a descriptor is enqueued or an operation completes (a completion
	 * channel and an eventfd). All workers of the lcore must permit it. Waking needs a system
	 * call in gantry_enqueue_burst() or an interrupt, and the time until the kernel runs the
	 * thread. While descriptors are in flight or receives are posted, the lcore also polls
	 * every 100 ms.
	 */
	GANTRY_IDLE_SLEEP,
	/**
	 * The CPU waits, in a state of low power, until the next completion is written or a
	 * descriptor is enqueued (rte_power_monitor()). No worker of the lcore may be
	 * GANTRY_IDLE_SPIN. Waking needs neither an interrupt nor a system call. The thread keeps
	 * its CPU. The CPU can watch only one address, so while descriptors are in flight on
	 * several connections, the lcore polls.
	 */
	GANTRY_IDLE_MONITOR,
};

/** Settings of a worker. */
struct gantry_worker_conf {
	struct gantry_queue_conf queue; /**< settings of the worker's queue */
	uint32_t ring_size; /**< elements of each ring, a power of two, at most 1048576; 0: 1024 */
	/** Most descriptors that the worker takes at a time, at most 256; 0: 32. */
	uint16_t burst;
	/**
	 * Elements of each ring of receives, a power of two, at most 1048576; 0: no rings of
	 * receives.
	 */
	uint32_t recv_ring_size;
	/** Threads that enqueue descriptors, and threads that enqueue receives. */
	enum gantry_producers producers;
	enum gantry_idle idle; /**< what the lcore does when it has no work */
	uint64_t reserved[8];  /**< must be 0 */
};

/**
 * Creates a worker: a queue and two rings, served by an lcore. Control thread.
 *
 * The worker works after gantry_worker_start() or gantry_start(). Any number of workers, also of
 * several engines, may share an lcore, which gives a turn to one worker after the other. A worker
 * whose lcore is on another NUMA node than the device is slow; a line of the log says so.
 *
 * @param g
 *   The engine.
 * @param lcore_id
 *   An lcore of EAL that is not the main lcore.
 * @param conf
 *   Settings, read during the call; NULL: defaults.
 * @param w
 *   The worker; written on success only. gantry_worker_destroy() frees it.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EINVAL
 *   The lcore is the main lcore or not enabled, a setting is out of range, or reserved bytes are
 *   not 0.
 * @retval -ENOTSUP
 *   The CPU lacks a feature that GANTRY_IDLE_MONITOR needs (WAITPKG on x86): use GANTRY_IDLE_SLEEP.
 * @retval -EEXIST
 *   EAL already has a ring with a name that the worker's rings need.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   eventfd(2), epoll_create(2) or gantry_queue_create() failed.
 */
GANTRY_API int gantry_worker_create(struct gantry *g, unsigned int lcore_id,
	const struct gantry_worker_conf *conf, struct gantry_worker **w);

/**
 * Frees a worker, its rings and its queue. Control thread.
 *
 * @param w
 *   The worker.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   The worker runs: call gantry_worker_stop(). Or its rings are not empty: call
 *   gantry_dequeue_burst(), gantry_reclaim_burst() and their gantry_recv_ counterparts until all
 *   return 0. Or receives are posted: close the peers, and call gantry_recv_poll().
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The verbs call that failed: call again.
 */
GANTRY_API int gantry_worker_destroy(struct gantry_worker *w);

/**
 * Returns the worker's queue, for gantry_stats_get() and the gantry_peer_ calls at any time.
 * Control thread.
 *
 * @param w
 *   The worker.
 * @return
 *   The queue, which exists until gantry_worker_destroy().
 */
GANTRY_API struct gantry_queue *gantry_worker_queue(struct gantry_worker *w);

/**
 * Starts a worker on its lcore. Workers that run on this lcore already are not affected. Control
 * thread.
 *
 * @param w
 *   The worker.
 * @return
 *   0 on success, otherwise:
 * @retval -EALREADY
 *   The worker runs already.
 * @retval -EBUSY
 *   The lcore runs another function: wait for its end by rte_eal_wait_lcore(), then call again.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -ENOBUFS
 *   The control thread has submitted more descriptors to the stopped worker's queue than the
 *   worker's ring has free elements for completions: poll or dequeue first.
 * @retval -errno
 *   rte_eal_remote_launch() failed.
 */
GANTRY_API int gantry_worker_start(struct gantry_worker *w);

/**
 * Stops a worker, and waits until its descriptors in flight have completed. Control thread.
 *
 * Afterwards the completions are in the ring of completions. The ring of completions of receives
 * has as many completions as fit. Descriptors that the worker had not taken stay in its ring: they
 * run after the next start, or gantry_reclaim_burst() returns them. Other workers are not affected.
 * The lcore is free when its last worker has stopped.
 *
 * The call waits longer if a connection is stuck: until gantry_queue_conf::deadline_ms. A line of
 * the log then names the connection. With GANTRY_NO_DEADLINE the call may wait for ever.
 *
 * @param w
 *   The worker.
 * @return
 *   0 on success, otherwise:
 * @retval -EALREADY
 *   The worker does not run.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 */
GANTRY_API int gantry_worker_stop(struct gantry_worker *w);

/**
 * Starts every worker of the engine that does not run. Control thread.
 *
 * @param g
 *   The engine.
 * @return
 *   0 on success, otherwise:
 * @retval -EALREADY
 *   All workers run already.
 * @retval -errno
 *   gantry_worker_start() of one worker failed. This call has then started no worker; workers that
 *   ran before still run.
 */
GANTRY_API int gantry_start(struct gantry *g);

/**
 * Stops every worker of the engine that runs, all at the same time, as gantry_worker_stop() does.
 * Control thread.
 *
 * The call waits for these workers, but not for an lcore that runs another function.
 *
 * @param g
 *   The engine.
 * @return
 *   0 on success, otherwise:
 * @retval -EALREADY
 *   No worker runs.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 */
GANTRY_API int gantry_stop(struct gantry *g);

/**
 * Copies descriptors to the worker's ring. The worker may be stopped. Threads: as
 * gantry_worker_conf::producers says.
 *
 * @param w
 *   The worker.
 * @param desc
 *   Descriptors. The array may be reused when the call returns.
 * @param n
 *   How many; any number.
 * @return
 *   How many were accepted: the first ones of the array. If fewer than n, the ring is full: dequeue
 *   completions, then enqueue the descriptors that were not accepted.
 */
GANTRY_API unsigned int gantry_enqueue_burst(struct gantry_worker *w,
	const struct gantry_desc *desc, unsigned int n);

/**
 * Takes completions from the worker's ring. One consumer thread for each worker; the worker may be
 * stopped.
 *
 * While the ring of completions is full, the worker takes no descriptors.
 *
 * @param w
 *   The worker.
 * @param comp
 *   Gets the completions.
 * @param n
 *   The number of elements of `comp`.
 * @return
 *   How many were written, at most n.
 */
GANTRY_API unsigned int gantry_dequeue_burst(struct gantry_worker *w, struct gantry_comp *comp,
	unsigned int n);

/**
 * Takes descriptors back that the worker has not taken. These descriptors get no completion.
 * Control thread, while the worker is stopped.
 *
 * @param w
 *   The worker.
 * @param desc
 *   Gets the descriptors, the oldest first.
 * @param n
 *   The number of elements of `desc`.
 * @return
 *   How many were written, at most n; 0 while the worker runs.
 */
GANTRY_API unsigned int gantry_reclaim_burst(struct gantry_worker *w, struct gantry_desc *desc,
	unsigned int n);

/**
 * Copies receives to the worker's ring of receives (gantry_worker_conf::recv_ring_size). The worker
 * may be stopped. Threads: as gantry_worker_conf::producers says.
 *
 * The lcore posts the receives in their order, as gantry_recv_post() does. While recv_depth
 * receives of a peer are posted, the next receive of this peer waits in the ring, and so do all
 * receives behind it. So keep at most recv_depth receives of each peer enqueued or posted.
 *
 * @param w
 *   The worker.
 * @param peer
 *   From gantry_peer_open().
 * @param recv
 *   Receives. The array may be reused when the call returns.
 * @param n
 *   How many; any number.
 * @return
 *   How many were accepted: the first ones of the array. If fewer than n, the ring is full, or the
 *   worker has no rings of receives.
 */
GANTRY_API unsigned int gantry_recv_enqueue_burst(struct gantry_worker *w, uint16_t peer,
	const struct gantry_recv *recv, unsigned int n);

/**
 * Takes completions of receives from the worker's ring. One consumer thread for each worker; the
 * worker may be stopped.
 *
 * These completions are as those of gantry_recv_poll(). If a peer is not open, or its recv_depth is
 * 0, a receive for it completes with GANTRY_BAD_PEER as soon as the lcore finds it. If the peer is
 * being closed, earlier receives of the peer complete first. Completions that do not fit into the
 * ring wait.
 *
 * Posted receives stay posted while the worker is stopped. Their completions can then be taken by
 * gantry_recv_poll() on the worker's queue; they come after the completions in the ring.
 * gantry_worker_destroy() fails while receives are posted: close the peers first.
 *
 * @param w
 *   The worker.
 * @param comp
 *   Gets the completions.
 * @param n
 *   The number of elements of `comp`.
 * @return
 *   How many were written, at most n.
 */
GANTRY_API unsigned int gantry_recv_dequeue_burst(struct gantry_worker *w,
	struct gantry_recv_comp *comp, unsigned int n);

/**
 * Takes receives back that the worker has not posted. These receives get no completion. Control
 * thread, while the worker is stopped.
 *
 * @param w
 *   The worker.
 * @param peer
 *   Gets the peer of each receive.
 * @param recv
 *   Gets the receives, the oldest first.
 * @param n
 *   The number of elements of both arrays.
 * @return
 *   How many were written, at most n; 0 while the worker runs.
 */
GANTRY_API unsigned int gantry_recv_reclaim_burst(struct gantry_worker *w, uint16_t *peer,
	struct gantry_recv *recv, unsigned int n);

#ifdef __cplusplus
}
#endif
#endif
