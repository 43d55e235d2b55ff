/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A device: open, what it can, close.
 *
 *     hwq_dev_open ---- hwq_dev_caps
 *       |-- hwq_mr_register                 memory, for all queues           hwq_mr.h
 *       `-- hwq_domain_create               one per lcore: its own doorbells hwq_domain.h
 *             |-- hwq_cq_create                                              hwq_cq.h
 *             |-- hwq_mkey_pool_create            indirect keys              hwq_mkey.h
 *             `-- hwq_qp_create -> hwq_qp_connect                            hwq_qp.h
 *                   |  hwq_wqe_memcpy() ...  into the send queue             hwq_wqe.h, hwq_sq.h
 *                   |  hwq_sq_ring()         one doorbell for the burst      hwq_db.h
 *                   `  hwq_cq_poll() -> hwq_sq_complete()                    hwq_cq.h
 *
 * Threads: calls on a device (this file, hwq_mr.h, and create and destroy in hwq_qp.h) may come
 * from any thread, but two threads must not use one object at once. From the first posted WQE on, a
 * domain and all that was created in it belong to one owner thread; nothing in it is locked.
 *
 * Errors: functions return 0 or -errno. An out-pointer is written on success only. Where a function
 * logs an error, the line says what the caller can do (hwq_log_set()).
 *
 * Ownership: what a create function made belongs to the caller, who destroys it before what it was
 * created in.
 */
#ifndef HWQ_DEV_H
#define HWQ_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hwq_api.h"
#include "hwq_atomic.h"

struct ibv_context;
struct ibv_pd;

/** What a device can do. A limit of 0: the device does not have the feature. */
struct hwq_dev_caps {
	uint64_t max_memcpy_len; /**< bytes one memcpy WQE moves; 0: the device has no DMA MMO */
	uint64_t max_dm_len;     /**< bytes of device memory (hwq_dm.h); 0: it has none */
	uint32_t max_msg_len;    /**< bytes one RDMA or SEND work request moves */
	uint32_t max_qp_wr;      /**< WQEBBs of a send queue, work requests of a receive queue */
	uint32_t max_cqe;        /**< entries of a CQ */
	uint32_t max_sge;        /**< data segments of one work request */
	uint32_t max_rd_atomic;  /**< RDMA reads and atomics a QP has in flight as requester */
	uint32_t max_dest_rd_atomic; /**< RDMA reads a QP serves at once as responder */
	/** firmware commands (DEVX); without them no indirect keys, signatures, encryption, MMO */
	bool devx;
	/** It has DC; true also without devx, because nobody can ask the device then. */
	bool dc;
	bool any_memory;         /**< RDMA of RC reaches all memory, on demand: hwq_mr.h */
	bool atomics;            /**< compare and swap, fetch and add of 8 bytes */
	bool raw_ip_csum;        /**< it computes checksums of raw packets on Ethernet */
	uint32_t sig_block_prot; /**< enum mlx5dv_sig_prot_caps; 0: no keys for signatures */
	uint32_t sig_block_size; /**< enum mlx5dv_block_size_caps */
	uint16_t sig_t10dif_bg;  /**< enum mlx5dv_sig_t10dif_bg_caps */
	uint16_t sig_crc_type;   /**< enum mlx5dv_sig_crc_type_caps */
	uint8_t n_ports;         /**< its ports are 1 to n_ports */
	uint8_t crypto_engines;  /**< enum mlx5dv_crypto_engines_caps; 0: none for encryption */
	/**
	 * enum mlx5dv_crypto_wrapped_import_method_caps. If a bit is set, the device takes DEKs of
	 * its engine wrapped, after a login (hwq_login.h); otherwise in plaintext, without a login.
	 */
	uint8_t crypto_wrapped;
	/**
	 * Self-tests of encryption that failed, by a code of the device's vendor: an engine may not
	 * work then. 0: none failed.
	 */
	uint16_t crypto_failed_selftests;
	uint32_t crypto_flags; /**< enum mlx5dv_crypto_caps_flags */
	uint32_t max_dek;      /**< DEKs of the device; 0: none */
};

/** A port, and its address. */
struct hwq_dev_port {
	uint8_t port;       /**< port number, from 1 */
	uint8_t link_layer; /**< IBV_LINK_LAYER_* */
	uint8_t gid_index;  /**< of gid; meaningful if has_gid */
	uint8_t active_mtu; /**< enum ibv_mtu */
	uint16_t lid;       /**< InfiniBand only */
	bool has_gid;       /**< always true on Ethernet */
	uint8_t gid[16];    /**< RoCEv2 where the port has such a GID */
};

struct hwq_left;

/** An opened device. Written by hwq. */
struct hwq_dev {
	struct ibv_context *ctx;  /**< the verbs device */
	struct ibv_pd *pd;        /**< the protection domain of all keys and queues */
	struct hwq_dev_caps caps; /**< hwq_dev_caps() */
	struct hwq_dev_port port; /**< the port of QPs that name none (hwq_path.h) */
	int numa_node;            /**< hwq_dev_numa_node() */
	bool no_bf;               /**< MLX5_SHUT_UP_BF is set: no BlueFlame */
	bool own_ctx;             /**< ctx is hwq's: hwq_dev_close() closes it */
	bool own_pd;              /**< pd is hwq's: hwq_dev_close() frees it */
	struct hwq_count refs;    /**< how many objects of the device exist */
	/**
	 * Acknowledged events, asynchronous and of CQs: the thread that destroys their object
	 * reads it.
	 */
	struct hwq_count n_acked;
	/** Parts of QPs whose creation failed: they are destroyed later. */
	struct hwq_left *left;
};

/**
 * Opens a device (mlx5dv_open_device(3)), with DEVX if it has that, and allocates its protection
 * domain. The port in use is the first active one, else port 1. hwq_dev_close() ends it.
 *
 * @param name
 *   Verbs device name ("mlx5_0"), or the address of its PCI function ("0000:03:00.0"; "03:00.0" in
 *   domain 0). NULL: the first mlx5 device that opens.
 * @param dev
 *   Written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -ENODEV
 *   There is no such device, or no mlx5 device at all: the log says how to get one.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of the verbs call that failed; the log names the call.
 */
HWQ_API int hwq_dev_open(const char *name, struct hwq_dev **dev);

/**
 * Opens a device as hwq_dev_open() does, but only a device that suits: for a caller that needs a
 * feature that some devices lack.
 *
 * @param name
 *   As for hwq_dev_open().
 * @param suits
 *   Called with the capabilities of each opened device; if it returns false, the device is closed
 *   again. NULL: any device suits.
 * @param dev
 *   As for hwq_dev_open().
 * @return
 *   0 on success, otherwise:
 * @retval -EOPNOTSUPP
 *   None of the devices that open suits.
 * @retval -errno
 *   An error of hwq_dev_open().
 */
HWQ_API int hwq_dev_open_if(const char *name, bool (*suits)(const struct hwq_dev_caps *caps),
	struct hwq_dev **dev);

/**
 * Makes a device of a context that the caller has opened, by ibv_open_device(3) or
 * mlx5dv_open_device(3). Keys and queues of hwq and of the caller then work together, as they are
 * in one protection domain. The caller keeps context and protection domain until hwq_dev_close(),
 * which leaves both open.
 *
 * @param ctx
 *   The context.
 * @param pd
 *   A protection domain of ctx, from ibv_alloc_pd(3), or NULL: hwq allocates one.
 * @param dev
 *   Written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -ENODEV
 *   ctx is not of an mlx5 device.
 * @retval -EINVAL
 *   pd is of another context.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of the verbs call that failed; the log names the call.
 */
HWQ_API int hwq_dev_open_on(struct ibv_context *ctx, struct ibv_pd *pd, struct hwq_dev **dev);

/**
 * Closes a device.
 *
 * @param dev
 *   The device.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   Objects of the device exist: destroy them, then call again.
 * @retval -errno
 *   The error of ibv_dealloc_pd(3): the device is still open, call again.
 */
HWQ_API int hwq_dev_close(struct hwq_dev *dev);

/**
 * Tells the verbs device name ("mlx5_0"). Any thread.
 *
 * @param dev
 *   The device.
 * @return
 *   The name; the string lasts until hwq_dev_close().
 */
HWQ_API const char *hwq_dev_name(const struct hwq_dev *dev);

/**
 * Tells what the device can do. Any thread.
 * @param dev The device.
 * @return The capabilities. They do not change, and last until hwq_dev_close().
 */
static inline const struct hwq_dev_caps *
hwq_dev_caps(const struct hwq_dev *dev)
{
	return &dev->caps;
}

/**
 * Tells the NUMA node of the device. Any thread.
 * @param dev The device.
 * @return The node; -1: the system does not tell it.
 */
static inline int
hwq_dev_numa_node(const struct hwq_dev *dev)
{
	return dev->numa_node;
}

/**
 * Finds the next active port, in turn, that has the link layer of dev->port. Any thread.
 *
 * @param dev
 *   The device.
 * @param after
 *   The port of the last turn; 0: begin.
 * @param port
 *   Written on success only: after + 1 or a later port; behind the last port, port 1. If no port is
 *   active: dev->port.
 * @return
 *   0 on success, otherwise:
 * @retval -errno
 *   The error of ibv_query_port(3).
 */
HWQ_API int hwq_dev_next_port(struct hwq_dev *dev, uint8_t after, uint8_t *port);

/**
 * Chooses where log lines go. Call it before the first device is opened.
 *
 * @param line
 *   Called once for each line, from the thread that logs; text has no newline and is valid during
 *   the call. NULL, which is the default: lines go to stderr.
 */
HWQ_API void hwq_log_set(void (*line)(const char *text));

#endif
