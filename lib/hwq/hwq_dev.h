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
 * from any thread, but not two at once on the same object. A domain and all that was created in it
 * belong to one owner thread from the first posted WQE on; nothing in it is locked.
 *
 * Errors: 0 or -errno; objects through an out-pointer that is written only on success. What the
 * caller can do about an error is in the log line that goes with it (hwq_log_set()).
 */
#ifndef HWQ_DEV_H
#define HWQ_DEV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hwq_api.h"

struct ibv_context;
struct ibv_pd;

/** What an opened device can. All zero limits mean: not at all. */
struct hwq_dev_caps {
	uint64_t max_memcpy_len; /**< bytes one memcpy WQE moves; 0: the device has no DMA MMO */
	uint32_t max_msg_len;    /**< bytes one RDMA or SEND work request moves */
	uint32_t max_qp_wr;      /**< WQEBBs of a send queue, work requests of a receive queue */
	uint32_t max_cqe;        /**< entries of a CQ */
	uint32_t max_sge;        /**< data segments of one work request */
	uint32_t max_rd_atomic;  /**< RDMA reads a QP may have in flight as requester */
	uint32_t max_dest_rd_atomic; /**< RDMA reads a QP serves at once as responder */
	bool raw_ip_csum;            /**< it computes checksums of raw packets on Ethernet */
	uint32_t sig_block_prot;     /**< enum mlx5dv_sig_prot_caps; 0: no keys for signatures */
	uint8_t crypto_engines;      /**< enum mlx5dv_crypto_engines_caps; 0: none for encryption */
	uint8_t crypto_wrapped;      /**< enum mlx5dv_crypto_wrapped_import_method_caps */
};

/** The port and address that QPs of the device use. */
struct hwq_dev_port {
	uint8_t port;       /**< port number, from 1 */
	uint8_t link_layer; /**< IBV_LINK_LAYER_* */
	uint8_t gid_index;  /**< of gid; meaningful if has_gid */
	uint8_t active_mtu; /**< enum ibv_mtu */
	uint16_t lid;       /**< InfiniBand only */
	bool has_gid;       /**< always true on Ethernet */
	uint8_t gid[16];    /**< RoCEv2 where the port has such a GID */
};

struct hwq_dev {
	struct ibv_context *ctx; /**< opened with DEVX */
	struct ibv_pd *pd;       /**< of every key and queue */
	struct hwq_dev_caps caps;
	struct hwq_dev_port port;
	int numa_node;             /**< or -1 */
	bool no_bf;                /**< MLX5_SHUT_UP_BF is set: doorbells only */
	_Atomic unsigned int refs; /**< keys and domains */
};

/**
 * Opens a device with DEVX (mlx5dv_open_device(3)) and allocates its protection domain. The port is
 * the first active one, else port 1.
 * @param name verbs device name ("mlx5_0"), or NULL: the first mlx5 device that opens.
 * @return 0; -ENODEV no such device, or no mlx5 device at all (the log says how to get one);
 *   -ENOMEM; or the errno of the verbs call that failed.
 */
HWQ_API int hwq_dev_open(const char *name, struct hwq_dev **dev);

/** Closes it. @return 0; -EBUSY while keys or domains of it exist: nothing was closed. */
HWQ_API int hwq_dev_close(struct hwq_dev *dev);

/** Verbs device name; lives as long as the device. */
HWQ_API const char *hwq_dev_name(const struct hwq_dev *dev);

static inline const struct hwq_dev_caps *
hwq_dev_caps(const struct hwq_dev *dev)
{
	return &dev->caps;
}

/** NUMA node of the device, or -1 where the system does not say. */
static inline int
hwq_dev_numa_node(const struct hwq_dev *dev)
{
	return dev->numa_node;
}

/**
 * Where log lines go: one call for one line, without a newline. NULL: stderr, as at start.
 * Any thread may log; set it before the first device is opened.
 */
HWQ_API void hwq_log_set(void (*line)(const char *text));

#endif
