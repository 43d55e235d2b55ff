/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Queues: a thread of the application submits descriptors and polls (inline mode).
 */
#ifndef GANTRY_QUEUES_H
#define GANTRY_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry_api.h"
#include "gantry_desc.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gantry;
struct gantry_policy;
struct gantry_queue;

/** Settings of a queue. */
struct gantry_queue_conf {
	/** GANTRY_QUEUE_*: which of the fields below are used although they may be 0. */
	uint32_t mask;
	uint32_t depth;     /**< most descriptors in flight, a power of two, 2 to 16384; 0: 512 */
	uint32_t max_peers; /**< most peers that are open at once, at most 4092; 0: 64 */
	/**
	 * The most transactions (gantry_txn.h) that are open in the hardware at once, at most
	 * GANTRY_MAX_TXNS. Further transactions wait. Each of these transactions has a key, which
	 * needs five commands of the device, and a second key if the device encrypts. 0:
	 * GANTRY_OP_TXN is refused
	 */
	uint32_t transactions;
	/**
	 * The most times that a copy is carried out again after an earlier copy has failed and
	 * stopped the queue's connection to itself. 1 to 100; 0: 3 times; GANTRY_NO_REPLAYS: never
	 */
	uint32_t replays;
	/**
	 * How many layouts the queue keeps ready in the hardware, each at one base address. At most
	 * 256; 0: 16. A descriptor whose layout is not ready waits for a key that no descriptor in
	 * flight uses
	 */
	uint32_t layout_keys;
	/**
	 * Completions come as operations finish: a slow peer delays only its own completions.
	 *
	 * Each connection has a depth and an order of its own. The depth is that of the queue, or
	 * gantry_peer_conf::depth, rounded up to a power of two. All DC peers count as one
	 * connection. A descriptor without a peer, or with a peer that is not open, counts for the
	 * queue's connection to itself.
	 *
	 * A fenced descriptor waits for all descriptors that were submitted before it, on all
	 * connections. While it is the first descriptor of its connection that waits, no connection
	 * starts a descriptor that was submitted after it, so it does not wait for ever.
	 *
	 * While one connection is full, a worker still serves other connections, until the
	 * completions of all descriptors that it has taken would fill its ring. So keep fewer than
	 * ring_size descriptors to a slow peer.
	 */
	bool unordered;
	/**
	 * Milliseconds after which a connection is stuck: it has outstanding WQEs, and none of them
	 * has completed in this time, while the queue was polled. Choose a time that is longer than
	 * all retries of a peer take, and longer than a SEND may wait for the peer's receive.
	 * GANTRY_NO_DEADLINE: never. 0: 10,000
	 */
	uint32_t deadline_ms;
	/**
	 * GANTRY_PREPARE_*: objects that are created together with the queue. Without its bit, an
	 * object is created for the first descriptor that needs it, in the owner's call: this call
	 * then registers memory or creates keys, by one or more system calls
	 */
	uint32_t prepare;
	/**
	 * GANTRY_QUEUE_NUMA_NODE: the NUMA node of the queue's memory and of the worker's rings.
	 * Default: the device's node or, if the system does not tell the device's node, the node of
	 * the worker's lcore. If this node has no free memory, any node
	 */
	int numa_node;
	/**
	 * The policy, as for gantry_policy_set(), read during the call. NULL: gantry_conf::policy
	 */
	const struct gantry_policy *policy;
	uint64_t reserved[8]; /**< must be 0 */
};

#define GANTRY_QUEUE_NUMA_NODE (1u << 0) /**< gantry_queue_conf::numa_node is used */

#define GANTRY_PREPARE_FILL    (1u << 0) /**< 128 KiB of registered memory for FILLs */
#define GANTRY_PREPARE_LAYOUTS (1u << 1) /**< layout_keys keys for descriptors with a layout */

/** A value of gantry_queue_conf::deadline_ms: no connection counts as stuck. */
#define GANTRY_NO_DEADLINE UINT32_MAX

/**
 * A value of gantry_queue_conf::replays: copies behind a failed copy complete with GANTRY_FLUSHED.
 */
#define GANTRY_NO_REPLAYS UINT32_MAX

/**
 * Creates a queue, with hardware queues and a doorbell page of its own. Control thread.
 *
 * @param g
 *   The engine.
 * @param conf
 *   Settings, read during the call; NULL: defaults.
 * @param q
 *   The queue; written on success only. gantry_queue_destroy() frees it.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -EINVAL
 *   A setting is out of range, `prepare` or `mask` has an unknown bit, reserved bytes are not 0, or
 *   the policy is not possible.
 * @retval -EOPNOTSUPP
 *   Transactions are asked for, and the device has no signatures; or a rule of the policy has a
 *   carrier that is not in gantry_info::carriers.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The verbs call that failed.
 */
GANTRY_API int gantry_queue_create(struct gantry *g, const struct gantry_queue_conf *conf,
	struct gantry_queue **q);

/** The properties of a queue. They do not change while the queue exists. */
struct gantry_queue_info {
	uint32_t depth; /**< most descriptors in flight */
	/** Most WQEs (of 64 bytes) in the send queue of its connection to itself. */
	uint32_t max_wqes;
	uint32_t max_peers; /**< most peers that are open at once */
	/** Port of its connections; a peer may have another port; 0: the first active port. */
	uint8_t port;
	int numa_node;      /**< NUMA node of its memory; -1: any node */
	unsigned int lcore; /**< lcore of its worker; LCORE_ID_ANY of rte_lcore.h: no worker */
	uint32_t number;    /**< number of the queue in this process, as telemetry has it */
	/** Name of its engine's device, as gantry_info::device; valid until gantry_destroy(). */
	const char *device;
	uint64_t reserved[7]; /**< always 0 */
};

/**
 * Copies the properties of a queue. Any thread.
 *
 * @param q
 *   The queue.
 * @param info
 *   Is written as a whole.
 */
GANTRY_API void gantry_queue_info_get(const struct gantry_queue *q, struct gantry_queue_info *info);

/**
 * Frees a queue and its connections to peers. Control thread; the owner makes no more calls.
 *
 * @param q
 *   The queue.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   Descriptors are in flight: poll until gantry_in_flight() is 0. Or completions of receives were
 *   not taken: close the peers, and call gantry_recv_poll(). Or the queue belongs to a worker:
 *   gantry_worker_destroy() frees it.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The verbs call that failed: call again. Until a call returns 0, no other call may be made for
 *   the queue, and peers may write to its memory.
 */
GANTRY_API int gantry_queue_destroy(struct gantry_queue *q);

/**
 * Accepts descriptors, and hands them to the hardware with one doorbell for each connection that
 * they use. Owner thread.
 *
 * @param q
 *   The queue.
 * @param desc
 *   Descriptors. The array may be reused when the call returns.
 * @param n
 *   How many; any number.
 * @return
 *   How many were accepted: the first ones of the array. If fewer than n, the queue is full: poll,
 *   then submit the descriptors that were not accepted. In an unordered queue, a single connection
 *   may be full, in two cases: it has as many descriptors in flight as it may have; or more than an
 *   eighth of this number would have to wait in software, and there is not enough memory for them.
 *   Descriptors to other connections can then still be submitted.
 */
GANTRY_API unsigned int gantry_submit(struct gantry_queue *q, const struct gantry_desc *desc,
	unsigned int n);

/**
 * Collects completions. Owner thread.
 *
 * The call also hands waiting descriptors and further parts of split descriptors to the hardware,
 * and sets a failed connection up again. So call it while descriptors are in flight.
 *
 * @param q
 *   The queue.
 * @param comp
 *   Gets the completions.
 * @param n
 *   The number of elements of `comp`.
 * @return
 *   How many were written, at most n. 0: the oldest descriptor is not done.
 */
GANTRY_API unsigned int gantry_poll(struct gantry_queue *q, struct gantry_comp *comp,
	unsigned int n);

/**
 * As gantry_poll(), but counts completions instead of writing them. Owner thread.
 *
 * The call hands out the completions of descriptors that succeeded, up to the first descriptor that
 * failed. For an unordered queue it hands out no completion, because a count does not say which
 * descriptors have completed.
 *
 * @param q
 *   The queue.
 * @param n
 *   The most completions to hand out.
 * @param failed
 *   Becomes true if the oldest descriptor has failed; the next gantry_poll() then hands its
 *   completion out first.
 * @return
 *   How many completions were handed out, at most n, in the order of submission.
 */
GANTRY_API unsigned int gantry_poll_good(struct gantry_queue *q, unsigned int n, bool *failed);

/**
 * Cancels descriptors with the given cookie that wait in software. Owner thread.
 *
 * No part of such a descriptor was handed to the hardware. It completes with GANTRY_CANCELLED, in
 * its order, and is not carried out. A descriptor waits while the hardware queue is full, while its
 * fence waits, while a copy waits for a repair, or behind another waiting descriptor.
 *
 * @param q
 *   The queue.
 * @param cookie
 *   gantry_desc::cookie.
 * @return
 *   How many descriptors this call has cancelled. 0: no waiting descriptor has this cookie.
 *   Descriptors that the hardware already has are not affected.
 */
GANTRY_API uint32_t gantry_cancel(struct gantry_queue *q, uint64_t cookie);

/**
 * Notes which WQEs the hardware has done, so that other calls do not wait for this queue. For an
 * owner that will make no other call for a long time. Owner thread.
 *
 * The call hands out no completions. If all WQEs of the queue are done and no receives are posted,
 * gantry_mem_unregister() does not wait for this queue. If all its transactions are done,
 * gantry_dek_retire() does not wait for it. Later calls of gantry_submit() and gantry_poll() are
 * not affected.
 *
 * @param q
 *   The queue.
 */
GANTRY_API void gantry_rest(struct gantry_queue *q);

/**
 * Returns the number of descriptors that were accepted and whose completions gantry_poll() has not
 * returned. Owner thread.
 *
 * @param q
 *   The queue.
 * @return
 *   The number of these descriptors.
 */
GANTRY_API uint32_t gantry_in_flight(const struct gantry_queue *q);

#ifdef __cplusplus
}
#endif
#endif
