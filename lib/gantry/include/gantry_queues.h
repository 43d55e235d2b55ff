/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Queues: a thread of its own submits descriptors and polls (inline mode).
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

struct gantry_queue_conf {
	uint32_t mask;  /**< GANTRY_QUEUE_*: which fields below count although they may be 0 */
	uint32_t depth; /**< descriptors in flight at most, a power of two, 2 to 16384; 0: 512 */
	uint32_t max_peers; /**< peers open at once, at most 4092; 0: 64 */
	/**
	 * Transactions (gantry_txn.h) that are open in the hardware at once, at most GANTRY_MAX_TXNS; others
	 * wait. Each has a key, which takes five commands of the device, and a second one if the device encrypts. 0: none,
	 * and GANTRY_OP_TXN is refused
	 */
	uint32_t transactions;
	/**
	 * How often a copy is carried out again at most, because one before it failed and stopped the
	 * queue's connection to itself; at most 100. 0: 3 times. GANTRY_NO_REPLAYS: never
	 */
	uint32_t replays;
	/**
	 * How many layouts, each at one base address, the queue keeps ready in the hardware, at most
	 * 256; 0: 16. A descriptor with another one waits for a key that no descriptor in flight uses.
	 */
	uint32_t layout_keys;
	/**
	 * Completions come as operations finish: a slow peer holds nothing back but its own. Each
	 * connection has a depth and an order of its own. The depth is the queue's; of a peer with
	 * gantry_peer_conf::depth it is that one, as the next power of two. All DC peers count as one
	 * connection. What uses no peer, and what names a peer that is not open, counts for the connection
	 * to itself. A fenced descriptor waits for everything that was submitted before it, on all
	 * connections; what is submitted after it waits until it starts.
	 * A worker goes on with other connections while one is full, until the completions of all that
	 * it has taken would fill its ring: keep fewer than ring_size descriptors to a slow peer.
	 */
	bool unordered;
	/**
	 * Milliseconds, while the queue is polled, after which a connection is stuck if it has WQEs
	 * outstanding and none completes; GANTRY_NO_DEADLINE: never. 0: 10,000. Longer than all
	 * retries of a peer take, and than a SEND may wait for the peer's receive
	 */
	uint32_t deadline_ms;
	/**
	 * GANTRY_PREPARE_*: what the queue has from its creation on. What is not named here is made by
	 * the first descriptor that needs it, in the call of its owner; that call registers memory or
	 * creates keys, which takes a system call or more. A queue that never uses it has no cost
	 */
	uint32_t prepare;
	/**
	 * GANTRY_QUEUE_NUMA_NODE: of the queue's memory and of the worker's rings. Default: the
	 * device's node; if the system does not tell it, that of the worker's lcore; any node if that
	 * one has no memory left
	 */
	int numa_node;
	/** Read during the call: as gantry_policy_set(). NULL: the engine's, gantry_conf::policy */
	const struct gantry_policy *policy;
	uint64_t reserved[8]; /**< 0 */
};

#define GANTRY_QUEUE_NUMA_NODE (1u << 0) /**< gantry_queue_conf::numa_node */

#define GANTRY_PREPARE_FILL    (1u << 0) /**< 128 KiB of registered memory, for FILLs */
#define GANTRY_PREPARE_LAYOUTS (1u << 1) /**< layout_keys keys, for descriptors with a layout */

/** gantry_queue_conf::deadline_ms: no connection is ever stuck. */
#define GANTRY_NO_DEADLINE UINT32_MAX

/** gantry_queue_conf::replays: copies behind a failed one complete with GANTRY_FLUSHED. */
#define GANTRY_NO_REPLAYS UINT32_MAX

/**
 * Creates a queue, with hardware queues and a doorbell page that no other queue uses. Control
 * thread.
 * @return 0; -EINVAL depth, socket, max_peers, replays, layout_keys or transactions is out of range, or prepare
 *   has an unknown bit; -EOPNOTSUPP transactions are asked for, and the device has no signatures; an error of gantry_policy_set(); -ENOMEM; or the negative errno of the verbs call that failed, which the log has in words.
 */
GANTRY_API int gantry_queue_create(struct gantry *g, const struct gantry_queue_conf *conf,
	struct gantry_queue **q);

/** What a queue has, which does not change. */
struct gantry_queue_info {
	uint32_t depth;     /**< descriptors in flight at most */
	uint32_t max_wqes;  /**< WQEs (of 64 bytes) that its connection to itself holds at once */
	uint32_t max_peers; /**< peers open at once at most */
	uint8_t port;  /**< of its connections, unless a peer names another; 0: the first active */
	int numa_node; /**< of its memory; -1: any */
	unsigned int lcore;   /**< of its worker; LCORE_ID_ANY of rte_lcore.h: it has none */
	uint32_t number;      /**< of the queue in this process, as telemetry names it */
	uint64_t reserved[8]; /**< 0 */
};

/** Copies what is known of the queue to *info. Any thread. */
GANTRY_API void gantry_queue_info_get(const struct gantry_queue *q, struct gantry_queue_info *info);

/**
 * Frees a queue and its connections to peers. Control thread; the owner makes no more calls.
 * @return 0; -EBUSY descriptors are in flight: poll until gantry_in_flight() is 0; or receives have not been
 *   handed out: close their peers, and call gantry_recv_poll(); or it is a worker's queue: gantry_worker_destroy() frees it; or the negative errno of the verbs call that
 *   failed: the queue takes no descriptors, and its memory may be written by peers until a later call
 *   returns 0.
 */
GANTRY_API int gantry_queue_destroy(struct gantry_queue *q);

/**
 * Accepts descriptors, and hands them to the hardware with one doorbell for each connection they
 * use. The array may be reused when the call returns. Owner thread.
 * @return how many were accepted: the first ones of the array. Fewer than n: the queue is full;
 *   poll, then submit the rest. An unordered queue is full for a descriptor if its connection has
 *   as many in flight as it may have; those of other connections can be submitted.
 */
GANTRY_API unsigned int gantry_submit(struct gantry_queue *q, const struct gantry_desc *desc,
	unsigned int n);

/**
 * Collects completions. It also hands waiting descriptors and the rest of split ones to the
 * hardware, and sets a failed connection up again: call it while descriptors are in flight. Owner
 * thread.
 * @return how many records were written to comp, at most n; 0: the oldest descriptor is not done.
 */
GANTRY_API unsigned int gantry_poll(struct gantry_queue *q, struct gantry_comp *comp,
	unsigned int n);

/**
 * gantry_poll() without records, for an owner that counts: it hands out the completions of descriptors that
 * succeeded, up to the first one that failed. Of an unordered queue it hands out none: a count does not tell
 * whose they are. Owner thread.
 * @param failed set to true: the oldest descriptor has failed, and the next gantry_poll() hands its completion
 *   out first. Else to false.
 * @return how many descriptors, at most n, in the order of submission.
 */
GANTRY_API unsigned int gantry_poll_good(struct gantry_queue *q, unsigned int n, bool *failed);

/**
 * Cancels the descriptors with this cookie that still wait in software: of which no part was handed
 * to the hardware. They complete with GANTRY_CANCELLED, in their order; nothing of them was or will be
 * carried out. A descriptor waits while the hardware queue is full, while its fence waits, while a
 * copy waits for a repair, or behind one that waits. Owner thread.
 * @return how many were cancelled by this call. 0: none with this cookie waits. Those that the
 *   hardware has complete as if this had not been called.
 */
GANTRY_API uint32_t gantry_cancel(struct gantry_queue *q, uint64_t cookie);

/**
 * For an owner that will make no call for long: takes note of what the hardware has done, and hands
 * nothing out. A queue whose WQEs are all done by then, and which has no receives that are posted, keeps no
 * gantry_mem_unregister() waiting; one whose transactions are all done keeps no gantry_dek_retire() waiting. The
 * next gantry_submit() or gantry_poll() ends the rest. Owner thread.
 */
GANTRY_API void gantry_rest(struct gantry_queue *q);

/**
 * How many descriptors were accepted whose completions gantry_poll() has not returned. Owner
 * thread.
 */
GANTRY_API uint32_t gantry_in_flight(const struct gantry_queue *q);

#ifdef __cplusplus
}
#endif
#endif
