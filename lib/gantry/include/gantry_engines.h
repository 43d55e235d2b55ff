/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Engines: each has a device, its protection domain, and settings for all its connections.
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

/** How the engine carries copies. */
enum gantry_copy_path {
	GANTRY_COPY_AUTO = 0, /**< DMA MMO where the device has it, otherwise RDMA write */
	GANTRY_COPY_MMO,      /**< DMA MMO, or gantry_create() fails with -EOPNOTSUPP */
	GANTRY_COPY_RDMA,     /**< RDMA write over a connection of the queue to itself */
};

/**
 * Settings of connections: how they reach other queues, and what they do when a peer does not
 * answer. For a peer, the default of a setting is the setting of its engine. The defaults of an
 * engine are given below. ibv_modify_qp(3) explains the settings. A setting that is not possible is
 * refused with -EINVAL, and the log names the setting.
 */
struct gantry_path {
	/** GANTRY_PATH_*: which of the fields below are used although they may be 0. */
	uint32_t mask;
	/**
	 * GANTRY_PATH_GID_INDEX: index in the port's GID table. Default: the best RoCEv2 GID. A
	 * peer on another port than the engine's does not inherit the engine's index
	 */
	uint16_t gid_index;
	/**
	 * MTU in bytes, a power of two from 256 to 4096; 0: the MTU of the port. The connection
	 * uses the smaller MTU of its two ends
	 */
	uint16_t mtu;
	uint8_t port; /**< port of the device, or GANTRY_PORTS_IN_TURN; 0: the first active port */
	/**
	 * GANTRY_PATH_TRAFFIC_CLASS: traffic class of RoCE packets. On InfiniBand it must be 0.
	 * Default: 0
	 */
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
	 * receive, 0 to 7; 7: without limit. Default: 7
	 */
	uint8_t rnr_retries;
	/**
	 * GANTRY_PATH_MIN_RNR_TIMER: how long the peer waits before it sends a message again for
	 * which this end had no receive. A code of ibv_modify_qp(3), at most 31. Default: 12, which
	 * is 0.64 ms
	 */
	uint8_t min_rnr_timer;
	uint8_t reserved[18]; /**< must be 0 */
};

#define GANTRY_PATH_GID_INDEX     (1u << 0) /**< gantry_path::gid_index is used */
#define GANTRY_PATH_TRAFFIC_CLASS (1u << 1) /**< gantry_path::traffic_class is used */
#define GANTRY_PATH_TIMEOUT       (1u << 2) /**< gantry_path::timeout is used */
#define GANTRY_PATH_RETRIES       (1u << 3) /**< gantry_path::retries is used */
#define GANTRY_PATH_RNR_RETRIES   (1u << 4) /**< gantry_path::rnr_retries is used */
#define GANTRY_PATH_MIN_RNR_TIMER (1u << 5) /**< gantry_path::min_rnr_timer is used */

/**
 * A value of gantry_conf::path.port: each new queue uses the next active port, and its peers use
 * the same port. The ports must reach the same peers. With this value, gid_index is not possible.
 */
#define GANTRY_PORTS_IN_TURN 255

/** Settings of an engine. */
struct gantry_conf {
	/**
	 * Name as ibv_devices(1) lists it, or the address of its PCI function: "0000:03:00.0", or
	 * "03:00.0" in domain 0. NULL: the first mlx5 device that can be opened and can carry
	 * copies by copy_path
	 */
	const char *device;
	enum gantry_copy_path copy_path; /**< how copies are carried */
	/**
	 * If DMA MMO is the usual carrier, a policy or GANTRY_DESC_BY_RDMA may choose RDMA for
	 * copies. This opens all registered memory to remote writes: gantry_mem_register()
	 */
	bool rdma_copies;
	/**
	 * The policy of queues that have no policy of their own, read during the call. NULL: no
	 * rules
	 */
	const struct gantry_policy *policy;
	/** Settings of all connections, also of the connections of queues to themselves. */
	struct gantry_path path;
	/**
	 * A device that the caller has opened, by ibv_open_device(3) or mlx5dv_open_device(3) with
	 * DEVX; `device` must be NULL then. The caller closes it after gantry_destroy(). The caller
	 * reads the device's asynchronous events; the engine finds failures only by deadlines.
	 * NULL: the engine opens the device
	 */
	struct ibv_context *ibv_ctx;
	/**
	 * A protection domain of ibv_ctx, from ibv_alloc_pd(3). It still belongs to the caller.
	 * Keys that the caller registers in it are valid on the engine's queues, and the engine's
	 * keys are valid on the caller's queues. NULL: the engine allocates a domain
	 */
	struct ibv_pd *pd;
	uint64_t reserved[8]; /**< must be 0 */
};

/** The properties of an engine and its device. */
struct gantry_info {
	const char *device; /**< name of the device; valid until gantry_destroy() */
	/** The carrier that was chosen: MMO or RDMA, never AUTO. */
	enum gantry_copy_path copy_path;
	/**
	 * Bit n is set if enum gantry_carrier n can carry copies of host memory. Device memory is
	 * always copied by RDMA
	 */
	uint32_t carriers;
	/** Most bytes that one WQE copies, at most 1 GiB; longer copies are split. */
	uint64_t max_copy_len;
	uint64_t max_msg_len; /**< bytes of the longest possible SEND */
	/** Most bytes of gantry_mem_alloc_dm(); 0: the device has no such memory. */
	uint64_t max_dm_len;
	bool any_memory;    /**< gantry_mem_register_any() is possible */
	bool atomics;       /**< COMPARE_SWAP and FETCH_ADD are possible */
	int numa_node;      /**< NUMA node of the device; -1: unknown */
	uint32_t max_depth; /**< the greatest gantry_queue_conf::depth */
	uint32_t max_peers; /**< the greatest gantry_queue_conf::max_peers */
	uint32_t max_wqes;  /**< WQEs (of 64 bytes) in the send queue of a connection */
	uint32_t max_reads; /**< most READs and atomics that one connection carries out at once */
	uint8_t n_ports;    /**< number of ports of the device */
	bool device_lost;   /**< the device has failed: destroy the queues and the engine */
	/** Bit n: port n + 1 has no link; it was lost after gantry_create(). */
	uint32_t ports_down;
	uint32_t number; /**< number of the engine in this process, as telemetry has it */
	/**
	 * Bit n is set if transactions can have enum gantry_sig_kind n. 0: no transactions are
	 * possible
	 */
	uint32_t sig_kinds;
	/**
	 * Possible block sizes. Bit 0: 512 bytes; bit 1: 520; bit 2: 4048; bit 3: 4096; bit 4: 4160
	 */
	uint32_t sig_block_sizes;
	uint32_t crypto; /**< bits GANTRY_CRYPTO_*; 0: the device does not encrypt */
	bool layouts;    /**< layouts are possible: the device was opened with DEVX */
	/** Bits GANTRY_SHARE_*: memory that functions of the card share (gantry_exports.h). */
	uint64_t shares;
	uint64_t reserved[15]; /**< always 0 */
};

/**
 * Opens a device as an engine. Control thread.
 *
 * If this call fails and the device then cannot be closed, a later gantry_create() or
 * gantry_destroy() of any engine of the process closes it.
 *
 * @param conf
 *   Settings, read during the call; NULL: defaults.
 * @param g
 *   The engine; written on success only. gantry_destroy() frees it.
 * @return
 *   0 on success. Otherwise a line of the log says more:
 * @retval -ENODEV
 *   There is no device with this name, or no mlx5 device.
 * @retval -EOPNOTSUPP
 *   copy_path asks for DMA MMO, and the device has none (without gantry_conf::device: every
 *   device): use GANTRY_COPY_AUTO. Or a rule of the policy has a carrier that is not in
 *   gantry_info::carriers.
 * @retval -EINVAL
 *   rte_eal_init() was not called; copy_path is no enum value; the path or the policy is not
 *   possible; device and ibv_ctx are both given; pd does not belong to ibv_ctx; reserved bytes are
 *   not 0.
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
 * Copies the properties of the engine and its device. Any thread.
 *
 * @param g
 *   The engine.
 * @param info
 *   Is written as a whole.
 */
GANTRY_API void gantry_info_get(const struct gantry *g, struct gantry_info *info);

/* ------------------------------------------------------------------ before EAL */

/**
 * Saves a process the cost of DPDK's mlx4 plug-in. Any thread. Call it before rte_eal_init(), which
 * loads that plug-in.
 *
 * The plug-in calls ibv_fork_init(3). After that call, libibverbs before rdma-core 51 reads all of
 * /proc/self/smaps whenever a region, queue pair or CQ is created or destroyed: 4 ms of CPU time at
 * 1,000 regions, and more with each mapping of the process. A kernel that copies pinned pages at a
 * fork does not need ibv_fork_init(3). On such a kernel this function registers a byte for a
 * moment, and libibverbs refuses ibv_fork_init(3) from then on. On other kernels it does nothing.
 *
 * A program may ignore an error: it then runs as without this call.
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
