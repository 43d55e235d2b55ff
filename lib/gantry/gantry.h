/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Gantry: bursts of descriptors, moved by mlx5 hardware from poll-mode lcores.
 *
 *     gantry_create                one device, its protection domain, its memory
 *          |
 *     gantry_mem_register          memory that descriptors may name
 *          |
 *    ring mode                                   inline mode
 *    gantry_worker_create (an lcore)             gantry_queue_create
 *    gantry_start                                     |
 *          |                                          |
 *    gantry_enqueue_burst                        gantry_submit     your own thread owns
 *      | rte_ring                                     |            the queue and polls it
 *    worker lcore: owns the queue                     |
 *      | rte_ring                                     |
 *    gantry_dequeue_burst                        gantry_poll
 *          |                                          |
 *    gantry_stop, gantry_worker_destroy          gantry_queue_destroy
 *          |
 *     gantry_destroy
 *
 * Both modes run the same code: a worker is a loop around gantry_submit() and gantry_poll().
 *
 * ## Promises
 * - Every accepted descriptor completes exactly once, with a status, in the order of submission on
 *   its queue. A call that is full accepts fewer and says how many; nothing is lost.
 * - A bad descriptor completes with its own status and never reaches the hardware.
 * - A copy longer than the device's limit is split, and completes once.
 *
 * ## Errors
 * When the hardware fails an operation, its connection stops. The failed descriptor completes with
 * its status. Copies behind it that the hardware already had come back GANTRY_FLUSHED, and the
 * queue's own connection is set up again at once: copies that were still waiting in the queue, and
 * what is submitted next, run. A connection to a peer stays down (GANTRY_BAD_PEER) until both ends
 * have closed it and opened it anew, because what was flushed may have been carried out there. One
 * connection's failure does not touch the others. A NOP needs no hardware and never fails.
 *
 * ## Threads
 * A queue has one owner thread at a time; so has each end of a worker's rings. Calls on different
 * queues are independent. gantry_create, destroy, start and stop, and everything that creates or
 * destroys, come from one control thread, in any order with the data path of other queues.
 * EAL must be initialised (rte_eal_init) before any call.
 *
 * ## Values
 * Functions return 0 or a negative errno; objects come through an out-pointer that is written only
 * on success. A configuration that is all zero (or NULL) means the defaults.
 */
#ifndef GANTRY_H
#define GANTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "gantry_desc.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GANTRY_API __attribute__((visibility("default")))

struct gantry;
struct gantry_mem;
struct gantry_queue;
struct gantry_worker;

/* ------------------------------------------------------------------ engine */

/** How copies are carried. */
enum gantry_copy_path {
	GANTRY_COPY_AUTO = 0, /**< DMA MMO where the device has it, else loopback RDMA write */
	GANTRY_COPY_MMO,      /**< DMA MMO, or gantry_create() fails with -EOPNOTSUPP */
	GANTRY_COPY_RDMA,     /**< RDMA write over a connection of the queue to itself */
};

struct gantry_conf {
	const char *device; /**< verbs device name; NULL: the first mlx5 device */
	enum gantry_copy_path copy_path;
};

/** What the engine runs on. Strings live as long as the engine. */
struct gantry_info {
	const char *device;
	enum gantry_copy_path copy_path; /**< what copies really use: MMO or RDMA */
	uint64_t max_copy_len; /**< bytes one WQE copies, at most 1 GiB; longer copies are split */
	int numa_node;         /**< of the device, or -1 */
};

/**
 * Opens a device.
 * @return 0; -ENODEV no such device, or none at all; -EOPNOTSUPP copy_path needs what it lacks;
 *   -EINVAL; -ENOMEM; or the errno of the verbs call that failed. The log names the remedy.
 */
GANTRY_API int gantry_create(const struct gantry_conf *conf, struct gantry **g);

/** Closes it. @return 0; -EBUSY while memory, queues or workers of it exist. */
GANTRY_API int gantry_destroy(struct gantry *g);

GANTRY_API void gantry_info_get(const struct gantry *g, struct gantry_info *info);

/* ------------------------------------------------------------------ memory */

#define GANTRY_MEM_REMOTE_WRITE (1u << 0) /**< peers may WRITE here */
#define GANTRY_MEM_REMOTE_READ  (1u << 1) /**< peers may READ here */

/**
 * Registers [addr, addr + len) with the device, pinned, for all queues of the engine. The memory
 * stays the caller's. Regions may not overlap ones registered before. A descriptor that names the
 * memory is submitted, or enqueued, after this call has returned.
 * Where copies are carried by RDMA (gantry_info::copy_path), the device needs every region open to
 * remote writes: then a peer that has the key may write there, GANTRY_MEM_REMOTE_WRITE or not.
 * Control thread; queues may be running.
 * @return 0; -EINVAL empty, overflowing, or unknown flags; -EEXIST overlaps a registered region;
 *   -EFAULT not mapped; -ENOMEM (the log says if RLIMIT_MEMLOCK is the cause); or the errno of the
 *   verbs call that failed.
 */
GANTRY_API int gantry_mem_register(struct gantry *g, void *addr, size_t len, unsigned int flags,
	struct gantry_mem **mem);

/**
 * Ends a registration. Descriptors that name the memory must have completed. Control thread.
 * @return 0; -EBUSY while workers run or inline queues have work in flight; -ENOMEM: try again.
 */
GANTRY_API int gantry_mem_unregister(struct gantry_mem *mem);

/** What a peer puts in gantry_desc::remote_key to reach this memory. */
GANTRY_API uint32_t gantry_mem_remote_key(const struct gantry_mem *mem);

/* ------------------------------------------------------------------ inline mode: queues */

struct gantry_queue_conf {
	uint32_t depth; /**< descriptors in flight, a power of two, 2 to 16384; 0: 512 */
	/** NUMA node of the queue's memory + 1; 0: the device's, or a worker's lcore's */
	int socket;
};

/**
 * Creates a queue: a send queue and completion queue of its own, doorbell page included.
 * @return 0; -EINVAL; -ENOSPC the engine has its 1024 queues; -ENOMEM; or the errno of the verbs
 *   call that failed.
 */
GANTRY_API int gantry_queue_create(struct gantry *g, const struct gantry_queue_conf *conf,
	struct gantry_queue **q);

/** Frees it. @return 0; -EBUSY while completions are due: poll until gantry_in_flight() is 0. */
GANTRY_API int gantry_queue_destroy(struct gantry_queue *q);

/**
 * Hands descriptors to the hardware, with one doorbell for each connection used. Owner thread.
 * @return how many were accepted, from the first on; fewer than n when the queue is full: poll, then
 *   submit the rest.
 */
GANTRY_API uint16_t gantry_submit(struct gantry_queue *q, const struct gantry_desc *desc,
	uint16_t n);

/**
 * Collects completions, and pushes on with copies that are still being split. Owner thread.
 * @return how many records were written to comp; 0 when none is due yet.
 */
GANTRY_API uint16_t gantry_poll(struct gantry_queue *q, struct gantry_comp *comp, uint16_t n);

/** Descriptors accepted and not yet polled. Owner thread. */
GANTRY_API uint32_t gantry_in_flight(const struct gantry_queue *q);

/* ------------------------------------------------------------------ peers */

/** One end of a connection, to be carried to the other by any means. Plain bytes. */
struct gantry_addr {
	uint8_t bytes[64];
};

/**
 * Opens one end of a connection on a queue: its address goes to the other end, and the other end's
 * comes back to gantry_peer_connect(). Owner thread, or control thread while the worker is stopped.
 * @return 0; -ENOSPC the queue has its 64 connections; -ENOMEM; or the errno of the verbs call.
 */
GANTRY_API int gantry_peer_open(struct gantry_queue *q, uint16_t *peer, struct gantry_addr *addr);

/**
 * Connects it: WRITE and READ may name it when both ends have done so.
 * @return 0; -EINVAL no such peer, or not an address; -EISCONN; -EPROTONOSUPPORT the other end is
 *   on another kind of network; or the errno of the verbs call.
 */
GANTRY_API int gantry_peer_connect(struct gantry_queue *q, uint16_t peer,
	const struct gantry_addr *addr);

/** Closes it. @return 0; -EINVAL no such peer; -EBUSY while descriptors to it are in flight. */
GANTRY_API int gantry_peer_close(struct gantry_queue *q, uint16_t peer);

/* ------------------------------------------------------------------ ring mode: workers */

struct gantry_worker_conf {
	struct gantry_queue_conf queue;
	uint32_t ring_size; /**< elements of each ring, a power of two; 0: 1024 */
	uint16_t burst;     /**< descriptors taken at a time, at most 256; 0: 32 */
};

/**
 * Gives a worker lcore a queue and two rings. One worker an lcore.
 * @return 0; -EINVAL not an enabled worker lcore, or a bad size; -EBUSY it has a worker already;
 *   -ENOMEM; or what gantry_queue_create() returns.
 */
GANTRY_API int gantry_worker_create(struct gantry *g, unsigned int lcore_id,
	const struct gantry_worker_conf *conf, struct gantry_worker **w);

/**
 * Frees it. @return 0; -EBUSY while it runs, or holds descriptors or completions: take them out
 * with gantry_dequeue_burst() and gantry_reclaim_burst() first.
 */
GANTRY_API int gantry_worker_destroy(struct gantry_worker *w);

/** The worker's queue, to open peers on while it is stopped, and to read statistics. */
GANTRY_API struct gantry_queue *gantry_worker_queue(struct gantry_worker *w);

/**
 * Runs every worker on its lcore. A worker that is created later runs from the next start on.
 * @return 0; -EBUSY an lcore runs something else, and no worker was started; -EALREADY running.
 */
GANTRY_API int gantry_start(struct gantry *g);

/**
 * Stops every worker and waits for it. What is in flight finishes, and its completions are in the
 * rings. Descriptors that no worker took stay in theirs: they run after the next gantry_start(), or
 * come back through gantry_reclaim_burst().
 * @return 0; -EALREADY not running.
 */
GANTRY_API int gantry_stop(struct gantry *g);

/**
 * Puts descriptors on the worker's ring. One producer thread a worker.
 * @return how many were taken, from the first on; fewer than n when the ring is full.
 */
GANTRY_API unsigned int gantry_enqueue_burst(struct gantry_worker *w,
	const struct gantry_desc *desc, unsigned int n);

/**
 * Takes completions from the worker's ring. One consumer thread a worker. A worker whose completion
 * ring is full takes no descriptors until there is room.
 * @return how many records were written to comp.
 */
GANTRY_API unsigned int gantry_dequeue_burst(struct gantry_worker *w, struct gantry_comp *comp,
	unsigned int n);

/**
 * Takes back descriptors that no worker has started. Only while stopped.
 * @return how many were written to desc; 0 also while the worker runs.
 */
GANTRY_API unsigned int gantry_reclaim_burst(struct gantry_worker *w, struct gantry_desc *desc,
	unsigned int n);

/* ------------------------------------------------------------------ statistics */

/** Counters of one queue since it was created. */
struct gantry_stats {
	uint64_t submitted; /**< descriptors accepted */
	uint64_t completed; /**< completions handed out */
	uint64_t bytes;     /**< of descriptors that completed GANTRY_OK */
	uint64_t doorbells;
	uint64_t wqes; /**< NOPs that fill a ring's end not counted */
	uint64_t cqes;
	uint64_t recoveries; /**< times the queue's own connection was set up again */
	uint64_t by_status[GANTRY_STATUS_MAX];
};

/** Reads the counters, each one by itself consistent. Any thread. */
GANTRY_API void gantry_stats_get(const struct gantry_queue *q, struct gantry_stats *stats);

/** A status as a short English phrase. */
GANTRY_API const char *gantry_status_name(enum gantry_status status);

#ifdef __cplusplus
}
#endif
#endif
