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
 * Errors: functions return 0 or -errno. An out-pointer is written on success only. Where a function logs
 * an error, the line says what the caller can do (hwq_log_set()).
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
	bool devx; /**< firmware commands (DEVX); without them no indirect keys, signatures, encryption, MMO */
	bool dc;          /**< it has DC; true also without devx, since nobody can ask then */
	bool any_memory;  /**< RDMA of RC reaches all memory, on demand: hwq_mr.h */
	bool atomics;     /**< compare and swap, fetch and add of 8 bytes */
	bool raw_ip_csum; /**< it computes checksums of raw packets on Ethernet */
	uint32_t sig_block_prot; /**< enum mlx5dv_sig_prot_caps; 0: no keys for signatures */
	uint32_t sig_block_size; /**< enum mlx5dv_block_size_caps */
	uint16_t sig_t10dif_bg;  /**< enum mlx5dv_sig_t10dif_bg_caps */
	uint16_t sig_crc_type;   /**< enum mlx5dv_sig_crc_type_caps */
	uint8_t n_ports;         /**< its ports are 1 to n_ports */
	uint8_t crypto_engines;  /**< enum mlx5dv_crypto_engines_caps; 0: none for encryption */
	/** enum mlx5dv_crypto_wrapped_import_method_caps. With a bit, DEKs of that engine come wrapped, after a login
	 *  (hwq_login.h); without it, in plaintext, without one */
	uint8_t crypto_wrapped;
	/** Self-tests of encryption that failed: a code of the device's vendor; 0: none. An engine may not work then */
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
	/** Events, asynchronous and of CQs, that were acknowledged: whoever destroys their object sees it. */
	struct hwq_count n_acked;
	struct hwq_left *left; /**< parts of QPs that are left over */
};

/**
 * Opens a device (mlx5dv_open_device(3)), with DEVX if it has that, and allocates its protection domain. The port in use
 * is the first active one, else port 1. hwq_dev_close() ends it.
 * @param name verbs device name ("mlx5_0"); NULL: the first mlx5 device that opens.
 * @param dev written on success only.
 * @return 0; -ENODEV no such device, or no mlx5 device at all: the log says how to get one; -ENOMEM; or
 *   the errno of the verbs call that failed, which the log names.
 */
HWQ_API int hwq_dev_open(const char *name, struct hwq_dev **dev);

/**
 * As hwq_dev_open(), of the devices that suit: for a caller that needs what not every device has.
 * @param suits asked with what an opened device can; a device for which it returns false is closed again. NULL: any.
 * @return as hwq_dev_open(); -EOPNOTSUPP none of the devices that open suits.
 */
HWQ_API int hwq_dev_open_if(const char *name, bool (*suits)(const struct hwq_dev_caps *caps),
	struct hwq_dev **dev);

/**
 * Makes a device of a context that the caller has opened, by ibv_open_device(3) or mlx5dv_open_device(3). Keys and queues of hwq and of the caller then work together, as they are in one protection
 * domain. The caller keeps both until hwq_dev_close(), which leaves them open.
 * @param pd a protection domain of ctx, from ibv_alloc_pd(3), or NULL: hwq allocates one.
 * @param dev written on success only.
 * @return 0; -ENODEV ctx is not of an mlx5 device; -EINVAL pd is of another context; -ENOMEM; or the errno
 *   of the verbs call that failed. The log says which.
 */
HWQ_API int hwq_dev_open_on(struct ibv_context *ctx, struct ibv_pd *pd, struct hwq_dev **dev);

/**
 * Closes a device.
 * @return 0; -EBUSY objects of it exist: destroy them, then call again; or the errno of ibv_dealloc_pd(3):
 *   the device is still open, call again.
 */
HWQ_API int hwq_dev_close(struct hwq_dev *dev);

/** @return the verbs device name ("mlx5_0"). The string lasts until hwq_dev_close(). Any thread. */
HWQ_API const char *hwq_dev_name(const struct hwq_dev *dev);

/** @return what the device can do. It does not change, and lasts until hwq_dev_close(). Any thread. */
static inline const struct hwq_dev_caps *
hwq_dev_caps(const struct hwq_dev *dev)
{
	return &dev->caps;
}

/** @return the NUMA node of the device; -1: the system does not tell it. Any thread. */
static inline int
hwq_dev_numa_node(const struct hwq_dev *dev)
{
	return dev->numa_node;
}

/**
 * Finds the next active port in turn, whose link layer is that of dev->port.
 * @param after the port of the last turn; 0: begin.
 * @param port written on success only: after + 1 or a later one, port 1 behind the last one. If no port is
 *   active, dev->port.
 * @return 0; or the errno of ibv_query_port(3). Any thread.
 */
HWQ_API int hwq_dev_next_port(struct hwq_dev *dev, uint8_t after, uint8_t *port);

/**
 * Says where log lines go. Call it before the first device is opened.
 * @param line called once for each line, from the thread that logs; text has no newline and is valid
 *   during the call. NULL, which is the default: lines go to stderr.
 */
HWQ_API void hwq_log_set(void (*line)(const char *text));

#endif
