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

/** Which threads may call gantry_enqueue_burst() for one worker. */
enum gantry_producers {
	GANTRY_PRODUCERS_ONE = 0, /**< one at a time */
	/**
	 * Any number. They copy side by side; if one is preempted in the middle of a call, the
	 * others spin until it runs again. For threads that own their CPUs.
	 */
	GANTRY_PRODUCERS_MP,
	/** Any number, one after the other (RING_F_MP_HTS_ENQ). For threads that share CPUs. */
	GANTRY_PRODUCERS_MP_HTS,
};

/**
 * What a worker's lcore does when there is nothing to do.
 *
 * By default it polls, because DPDK gives each lcore a CPU, and polling finds work soonest. If
 * lcores share CPUs with other threads, GANTRY_IDLE_SLEEP is faster: an lcore that polls takes CPU
 * time from the threads that it waits for, such as the application's and those of the emulated
 * adapter.
 */
enum gantry_idle {
	/**
	 * It polls. After 256 rounds without work it yields. If another lcore or the main one may
	 * run on one of its CPUs (--lcores of EAL), it does not yield, but sleeps for tens of
	 * microseconds after 16 rounds. While it has workers, its thread then has time slices of
	 * 0.1 ms and no timer slack.
	 */
	GANTRY_IDLE_SPIN = 0,
	/**
	 * It sleeps until a descriptor is enqueued or an operation completes (a completion channel
	 * and an eventfd), if all workers that run there sleep. Waking takes a system call
	 * in gantry_enqueue_burst() or an interrupt, and the kernel's time to run the thread. While
	 * descriptors are in flight or receives are posted, it also polls every 100 ms.
	 */
	GANTRY_IDLE_SLEEP,
	/**
	 * The CPU waits, in a state of low power, until the next completion is written or a
	 * descriptor is enqueued (rte_power_monitor()), if no worker that runs there spins. Waking
	 * takes no interrupt, and no system call. The thread keeps its CPU. The CPU watches one
	 * address: while descriptors are in flight on several connections, the lcore polls.
	 */
	GANTRY_IDLE_MONITOR,
};

/** Settings of a worker. */
struct gantry_worker_conf {
	struct gantry_queue_conf queue; /**< of the worker's queue */
	uint32_t ring_size; /**< elements of each ring, a power of two, at most 1048576; 0: 1024 */
	uint16_t burst;     /**< descriptors that the worker takes at a time, at most 256; 0: 32 */
	/**
	 * Elements of each ring of receives, a power of two, at most 1048576; 0: no rings of
	 * receives.
	 */
	uint32_t recv_ring_size;
	enum gantry_producers producers; /**< of descriptors, and of receives */
	enum gantry_idle idle;           /**< what its lcore does without work */
	uint64_t reserved[8];            /**< 0 */
};

/**
 * Creates a worker: a queue and two rings, served by an lcore. Control thread.
 *
 * It works after gantry_worker_start() or gantry_start(). Any number of workers, also of several
 * engines, may share an lcore, which gives each of them a turn after the other. A worker whose
 * lcore is on another NUMA node than the device is slow; a line of the log says so.
 *
 * @param g
 *   The engine.
 * @param lcore_id
 *   An lcore of EAL, and not the main one.
 * @param conf
 *   Settings, read during the call; NULL: defaults.
 * @param w
 *   The worker; written on success only. gantry_worker_destroy() frees it.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EINVAL
 *   The lcore is the main one or not enabled, a setting is out of range, or reserved bytes are not
 *   0.
 * @retval -ENOTSUP
 *   The CPU lacks what GANTRY_IDLE_MONITOR needs (WAITPKG on x86): use GANTRY_IDLE_SLEEP.
 * @retval -EEXIST
 *   EAL has a ring of the name that the worker's rings need.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   eventfd(2) or epoll_create(2) failed, or gantry_queue_create().
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
 *   It runs: call gantry_worker_stop(). Or its rings are not empty: call gantry_dequeue_burst(),
 *   gantry_reclaim_burst() and their gantry_recv_ counterparts until all return 0. Or receives are
 *   posted: close their peers, and call gantry_recv_poll().
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
 *   Its queue, which lives until gantry_worker_destroy().
 */
GANTRY_API struct gantry_queue *gantry_worker_queue(struct gantry_worker *w);

/**
 * Starts a worker on its lcore. Workers that run there already go on. Control thread.
 *
 * @param w
 *   The worker.
 * @return
 *   0 on success, otherwise:
 * @retval -EALREADY
 *   It runs.
 * @retval -EBUSY
 *   The lcore runs something else: wait for it by rte_eal_wait_lcore(), then call again.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   rte_eal_remote_launch() failed.
 */
GANTRY_API int gantry_worker_start(struct gantry_worker *w);

/**
 * Stops a worker, and waits until its descriptors in flight have completed. Control thread.
 *
 * Afterwards their completions are in the ring. The ring of receives has completions, too, as far
 * as it has room. Descriptors that the worker had not taken stay in its ring: they run after the
 * next start, or gantry_reclaim_burst() returns them. Other workers go on. The lcore is free when
 * its last worker has stopped.
 *
 * @param w
 *   The worker.
 * @return
 *   0 on success, otherwise:
 * @retval -EALREADY
 *   It does not run.
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
 *   All of them run.
 * @retval -errno
 *   gantry_worker_start() of one of them failed. Then this call has started no worker; workers that
 *   ran before still run.
 */
GANTRY_API int gantry_start(struct gantry *g);

/**
 * Stops every worker of the engine that runs, all at the same time, as gantry_worker_stop() does.
 * Control thread.
 *
 * The call waits for these workers, and for no lcore that runs something else.
 *
 * @param g
 *   The engine.
 * @return
 *   0 on success, otherwise:
 * @retval -EALREADY
 *   None of them runs.
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
 *   completions, then enqueue the rest.
 */
GANTRY_API unsigned int gantry_enqueue_burst(struct gantry_worker *w,
	const struct gantry_desc *desc, unsigned int n);

/**
 * Takes completions from the worker's ring. One consumer thread for each worker; the worker may be
 * stopped.
 *
 * While that ring is full, the worker takes no descriptors.
 *
 * @param w
 *   The worker.
 * @param comp
 *   Gets the completions.
 * @param n
 *   How many `comp` has room for.
 * @return
 *   How many were written, at most n.
 */
GANTRY_API unsigned int gantry_dequeue_burst(struct gantry_worker *w, struct gantry_comp *comp,
	unsigned int n);

/**
 * Takes descriptors back that the worker has not taken. They will have no completion. Control
 * thread, while the worker is stopped.
 *
 * @param w
 *   The worker.
 * @param desc
 *   Gets the descriptors, the oldest first.
 * @param n
 *   How many `desc` has room for.
 * @return
 *   How many were written, at most n; 0 while the worker runs.
 */
GANTRY_API unsigned int gantry_reclaim_burst(struct gantry_worker *w, struct gantry_desc *desc,
	unsigned int n);

/**
 * Copies receives to the worker's ring of receives (gantry_worker_conf::recv_ring_size). The worker
 * may be stopped. Threads: as gantry_worker_conf::producers says.
 *
 * The lcore posts them in their order, as gantry_recv_post() does. While recv_depth receives of a
 * peer are posted, the next one waits in the ring, and so do all receives behind it. So keep at
 * most recv_depth receives of each peer enqueued or posted.
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
 * These completions are those of gantry_recv_poll(). A receive of a peer that is not open, or whose
 * recv_depth is 0, completes with GANTRY_BAD_PEER as soon as the lcore finds it. If the peer is
 * being closed, earlier receives of the peer complete first. Completions for which the ring has no
 * room wait.
 *
 * Posted receives stay posted while the worker is stopped. gantry_recv_poll() on its queue takes
 * their completions then, behind those in the ring. gantry_worker_destroy() refuses while receives
 * are posted: close their peers first.
 *
 * @param w
 *   The worker.
 * @param comp
 *   Gets the completions.
 * @param n
 *   How many `comp` has room for.
 * @return
 *   How many were written, at most n.
 */
GANTRY_API unsigned int gantry_recv_dequeue_burst(struct gantry_worker *w,
	struct gantry_recv_comp *comp, unsigned int n);

/**
 * Takes receives back that the worker has not posted. They will have no completion. Control thread,
 * while the worker is stopped.
 *
 * @param w
 *   The worker.
 * @param peer
 *   Gets the peer of each receive.
 * @param recv
 *   Gets the receives, the oldest first.
 * @param n
 *   How many both arrays have room for.
 * @return
 *   How many were written, at most n; 0 while the worker runs.
 */
GANTRY_API unsigned int gantry_recv_reclaim_burst(struct gantry_worker *w, uint16_t *peer,
	struct gantry_recv *recv, unsigned int n);

#ifdef __cplusplus
}
#endif
#endif
