/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Engines: one device each, its protection domain, and what connections have in common.
 */
#ifndef GANTRY_ENGINES_H
#define GANTRY_ENGINES_H

#include <stdbool.h>
#include <stdint.h>

#include "gantry_api.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_context;
struct ibv_pd;
struct gantry;
struct gantry_policy;

/** How copies are carried. */
enum gantry_copy_path {
	GANTRY_COPY_AUTO = 0, /**< DMA MMO where the device has it, else loopback RDMA write */
	GANTRY_COPY_MMO,      /**< DMA MMO, or gantry_create() fails with -EOPNOTSUPP */
	GANTRY_COPY_RDMA,     /**< RDMA write over a connection of the queue to itself */
};

/**
 * How connections reach other queues, and what they do when a peer does not answer. A peer's
 * default is the setting of its engine. The defaults of an engine are named below. ibv_modify_qp(3)
 * explains the settings. A setting that is not possible is refused with -EINVAL, and the log names
 * it.
 */
struct gantry_path {
	uint32_t mask; /**< GANTRY_PATH_*: which fields below count although they may be 0 */
	/**
	 * GANTRY_PATH_GID_INDEX: index in the port's GID table. Default: the best RoCEv2 GID. A
	 * peer that names another port than the engine's does not inherit the engine's index
	 */
	uint16_t gid_index;
	/**
	 * Bytes, 256 to 4096, a power of two; 0: the port's. The smaller MTU of both ends counts
	 */
	uint16_t mtu;
	uint8_t port; /**< port of the device, or GANTRY_PORTS_IN_TURN; 0: its first active one */
	/** GANTRY_PATH_TRAFFIC_CLASS: of RoCE packets. On InfiniBand it must be 0. Default: 0 */
	uint8_t traffic_class;
	/**
	 * GANTRY_PATH_TIMEOUT: a request without answer is sent again after 4.096 us << timeout; 0:
	 * never; at most 31. Default: 14, which is 67 ms
	 */
	uint8_t timeout;
	/** GANTRY_PATH_RETRIES: how often a request is sent again, at most 7. Default: 7 */
	uint8_t retries;
	/**
	 * GANTRY_PATH_RNR_RETRIES: how often a message is sent again when the other end has no
	 * receive, at most 7; 7: without end. Default: 7
	 */
	uint8_t rnr_retries;
	/**
	 * GANTRY_PATH_MIN_RNR_TIMER: how long a sender waits for a receive of this end before it
	 * sends again, a code of ibv_modify_qp(3), at most 31. Default: 12, which is 0.64 ms
	 */
	uint8_t min_rnr_timer;
	uint8_t reserved[18]; /**< 0 */
};

#define GANTRY_PATH_GID_INDEX     (1u << 0) /**< gantry_path::gid_index */
#define GANTRY_PATH_TRAFFIC_CLASS (1u << 1) /**< gantry_path::traffic_class */
#define GANTRY_PATH_TIMEOUT       (1u << 2) /**< gantry_path::timeout */
#define GANTRY_PATH_RETRIES       (1u << 3) /**< gantry_path::retries */
#define GANTRY_PATH_RNR_RETRIES   (1u << 4) /**< gantry_path::rnr_retries */
#define GANTRY_PATH_MIN_RNR_TIMER (1u << 5) /**< gantry_path::min_rnr_timer */

/**
 * gantry_conf::path.port: each queue that is created takes the next active port, and its peers have
 * the port of their queue. The ports must reach the same peers. It excludes a gid_index.
 */
#define GANTRY_PORTS_IN_TURN 255

/** Settings of an engine. */
struct gantry_conf {
	/**
	 * Name as ibv_devices(1) lists it, or the address of its PCI function: "0000:03:00.0", or
	 * "03:00.0" in domain 0. NULL: the first mlx5 device that opens and can carry copies by
	 * copy_path
	 */
	const char *device;
	enum gantry_copy_path copy_path; /**< how copies are carried */
	/**
	 * Lets a policy or GANTRY_DESC_BY_RDMA send copies by RDMA that usually go by DMA MMO. This
	 * opens all registered memory to remote writes: gantry_mem_register()
	 */
	bool rdma_copies;
	/** The policy of queues without one of their own, read during the call. NULL: no rules */
	const struct gantry_policy *policy;
	struct gantry_path path; /**< of all connections, also of those of queues to themselves */
	/**
	 * A device that the caller has opened, by ibv_open_device(3) or mlx5dv_open_device(3) with
	 * DEVX; `device` must be NULL then. The caller closes it, after gantry_destroy(). The
	 * caller reads its asynchronous events; the engine finds failures by deadlines alone. NULL:
	 * the engine opens the device
	 */
	struct ibv_context *ibv_ctx;
	/**
	 * A protection domain of ibv_ctx, from ibv_alloc_pd(3). It stays the caller's. Keys that
	 * the caller registers in it are valid on the engine's queues, and the engine's keys on the
	 * caller's. NULL: the engine allocates a domain
	 */
	struct ibv_pd *pd;
	uint64_t reserved[8]; /**< 0 */
};

/** The device of an engine, and how the engine uses it. */
struct gantry_info {
	const char *device;              /**< valid until gantry_destroy() */
	enum gantry_copy_path copy_path; /**< the path that was chosen: MMO or RDMA, never AUTO */
	/**
	 * bit n: enum gantry_carrier n can carry copies of host memory. RDMA copies device memory
	 */
	uint32_t carriers;
	uint64_t max_copy_len; /**< bytes one WQE copies, at most 1 GiB; longer copies are split */
	uint64_t max_msg_len;  /**< bytes of the longest SEND */
	uint64_t max_dm_len;   /**< bytes of gantry_mem_alloc_dm(); 0: the device has none */
	bool any_memory;       /**< gantry_mem_register_any() is possible */
	bool atomics;          /**< COMPARE_SWAP and FETCH_ADD are possible */
	int numa_node;         /**< of the device; -1: unknown */
	uint32_t max_depth;    /**< the greatest gantry_queue_conf::depth */
	uint32_t max_peers;    /**< the greatest gantry_queue_conf::max_peers */
	uint32_t max_wqes;     /**< WQEs (of 64 bytes) in the send queue of a connection */
	uint32_t max_reads;    /**< READs and atomics that one connection carries out at once */
	uint8_t n_ports;       /**< ports of the device */
	bool device_lost;      /**< it has failed: destroy the queues and the engine */
	uint32_t ports_down;   /**< bit n: port n + 1 has lost its link since gantry_create() */
	uint32_t number;       /**< of the engine in this process, as telemetry names it */
	/** bit n: transactions can have enum gantry_sig_kind n; 0: there are none */
	uint32_t sig_kinds;
	/** bit 0: blocks of 512 bytes; 1: 520; 2: 4048; 3: 4096; 4: 4160 */
	uint32_t sig_block_sizes;
	uint32_t crypto;       /**< GANTRY_CRYPTO_*; 0: the device does not encrypt */
	bool layouts;          /**< layouts are possible: the device opens with DEVX */
	uint64_t reserved[16]; /**< 0 */
};

/**
 * Opens a device as an engine. Control thread.
 *
 * If the device refuses to be closed after a failure of this call, a later gantry_create() or
 * gantry_destroy() of any engine of the process closes it.
 *
 * @param conf
 *   Settings, read during the call; NULL: defaults.
 * @param g
 *   The engine; written on success only. gantry_destroy() frees it.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -ENODEV
 *   There is no device of that name, or no mlx5 device.
 * @retval -EOPNOTSUPP
 *   copy_path asks for DMA MMO, and the device, or every device, has none: use GANTRY_COPY_AUTO. Or
 *   a rule of the policy names a carrier that is not in gantry_info::carriers.
 * @retval -EINVAL
 *   rte_eal_init() was not called; copy_path is no enum value; the path or the policy is not
 *   possible; device and ibv_ctx are both given; pd is not of ibv_ctx; reserved bytes are not 0.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The verbs call that failed.
 */
GANTRY_API int gantry_create(const struct gantry_conf *conf, struct gantry **g);

/**
 * Closes the device and frees the engine. Control thread.
 *
 * @param g
 *   The engine.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   The engine still has memory, queues or workers: unregister or destroy them first.
 * @retval -ECHILD
 *   A child of fork(2) calls.
 * @retval -errno
 *   The verbs call that failed. The device is still open: call again.
 */
GANTRY_API int gantry_destroy(struct gantry *g);

/**
 * Copies what is known of the engine's device. Any thread.
 *
 * @param g
 *   The engine.
 * @param info
 *   Is written as a whole.
 */
GANTRY_API void gantry_info_get(const struct gantry *g, struct gantry_info *info);

/* ------------------------------------------------------------------ before EAL */

/**
 * Saves a process the cost of DPDK's mlx4 plug-in. Any thread, before rte_eal_init(), which loads
 * that plug-in.
 *
 * The plug-in calls ibv_fork_init(3). After that call, libibverbs before rdma-core 51 reads all of
 * /proc/self/smaps whenever a region, queue pair or CQ is created or destroyed: 4 ms of CPU time at
 * 1,000 regions, and more with each mapping of the process. A kernel that copies pinned pages at a
 * fork does not need ibv_fork_init(3). On such a kernel this function registers a byte for a
 * moment, and libibverbs refuses ibv_fork_init(3) from then on. On other kernels it does nothing.
 *
 * A program may ignore the result: it then runs as without this call.
 *
 * @return
 *   0 on success, otherwise:
 * @retval -EOPNOTSUPP
 *   The kernel does not copy pinned pages.
 * @retval -ENODEV
 *   There is no device.
 * @retval -errno
 *   The verbs call that failed.
 */
GANTRY_API int gantry_before_eal(void);

#ifdef __cplusplus
}
#endif
#endif
