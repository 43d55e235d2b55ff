/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A device: open it, read its capabilities, close it.
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
 * from any thread, but two threads must not use one object at once. Once a WQE is posted, the
 * domain and all objects in it belong to one owner thread, because nothing in a domain is locked.
 *
 * Errors: functions return 0 or -errno. An out-pointer is written on success only. If a function
 * logs an error, the log line says what the caller can do (hwq_log_set()).
 *
 * Ownership: the caller owns each object that a create function made, and destroys it before the
 * object in which it was created.
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

/** Capabilities of a device. A limit of 0: the device does not have the feature. */
struct hwq_dev_caps {
	/** bytes that one memcpy WQE can move; 0: the device has no DMA MMO */
	uint64_t max_memcpy_len;
	uint64_t max_dm_len;  /**< bytes of device memory (hwq_dm.h); 0: the device has none */
	uint32_t max_msg_len; /**< bytes that one RDMA or SEND work request can move */
	/** limit for the WQEBBs of a send queue, and for the work requests of a receive queue */
	uint32_t max_qp_wr;
	uint32_t max_cqe; /**< entries of a CQ */
	uint32_t max_sge; /**< data segments of one work request */
	/** RDMA reads and atomics that a QP may have in flight as requester */
	uint32_t max_rd_atomic;
	/** RDMA reads and atomics that a QP serves at once as responder */
	uint32_t max_dest_rd_atomic;
	/**
	 * the device accepts firmware commands (DEVX); without them there are no indirect keys,
	 * signatures, encryption, MMO
	 */
	bool devx;
	/**
	 * The device has DC. Also true if devx is false, because the capability for DC cannot be
	 * read then.
	 */
	bool dc;
	/** RDMA on RC queues may use all memory of the process, on demand: see hwq_mr.h */
	bool any_memory;
	bool atomics;            /**< compare and swap, fetch and add of 8 bytes */
	bool raw_ip_csum;        /**< the device computes checksums of raw packets on Ethernet */
	uint32_t sig_block_prot; /**< enum mlx5dv_sig_prot_caps; 0: no keys for signatures */
	uint32_t sig_block_size; /**< enum mlx5dv_block_size_caps */
	uint16_t sig_t10dif_bg;  /**< enum mlx5dv_sig_t10dif_bg_caps */
	uint16_t sig_crc_type;   /**< enum mlx5dv_sig_crc_type_caps */
	uint8_t n_ports;         /**< number of ports; they are numbered from 1 */
	uint8_t crypto_engines;  /**< enum mlx5dv_crypto_engines_caps; 0: no encryption */
	/**
	 * enum mlx5dv_crypto_wrapped_import_method_caps. If the bit of an engine is set, the device
	 * accepts DEKs of this engine only wrapped, after a login (hwq_login.h). Otherwise it
	 * accepts DEKs in plaintext, without a login.
	 */
	uint8_t crypto_wrapped;
	/**
	 * Failed self-tests of encryption, as a code of the device's vendor; 0: no test failed.
	 * After a failed test the encryption engine may not work.
	 */
	uint16_t crypto_failed_selftests;
	uint32_t crypto_flags; /**< enum mlx5dv_crypto_caps_flags */
	uint32_t max_dek;      /**< number of DEKs that the device can have; 0: none */
	/**
	 * Functions of the card may use keys of each other (hwq_alias.h). Which keys, the device
	 * does not say: hwq_export_kind() tries it.
	 */
	bool cross_vhca;
	uint16_t vhca_id; /**< the number of this function on its card */
	/** The same for all functions of a card, in network byte order: ibv_query_device(3). */
	uint64_t sys_image_guid;
};

/** A port, and its address. */
struct hwq_dev_port {
	uint8_t port;       /**< port number, from 1 */
	uint8_t link_layer; /**< IBV_LINK_LAYER_* */
	uint8_t gid_index;  /**< index of gid in the port's GID table; valid if has_gid is true */
	uint8_t active_mtu; /**< enum ibv_mtu */
	uint16_t lid;       /**< LID of the port; InfiniBand only */
	bool has_gid;       /**< gid is valid; always true on Ethernet */
	uint8_t gid[16];    /**< a RoCEv2 GID if the port has one */
};

struct hwq_left;

/** An opened device. Only hwq writes this struct. */
struct hwq_dev {
	struct ibv_context *ctx;  /**< the verbs device */
	struct ibv_pd *pd;        /**< the protection domain of all keys and queues */
	struct hwq_dev_caps caps; /**< the capabilities that hwq_dev_caps() returns */
	struct hwq_dev_port port; /**< the port for QPs whose path names no port (hwq_path.h) */
	int numa_node;            /**< the node that hwq_dev_numa_node() returns */
	bool no_bf;               /**< MLX5_SHUT_UP_BF is set: do not use BlueFlame */
	bool own_ctx;             /**< hwq opened ctx: hwq_dev_close() closes it */
	bool own_pd;              /**< hwq allocated pd: hwq_dev_close() frees it */
	struct hwq_count refs;    /**< number of existing objects of the device */
	/**
	 * Number of acknowledged events of CQs, QPs and SRQs. The thread that destroys a CQ, QP or
	 * SRQ reads it.
	 */
	struct hwq_count n_acked;
	/** Parts of QPs whose creation failed: they are destroyed later (hwq_left.h). */
	struct hwq_left *left;
};

/**
 * Opens a device (mlx5dv_open_device(3)), with DEVX if possible, and allocates its protection
 * domain. Its default port is the first active port, or port 1 if no port is active. The caller
 * closes the device by hwq_dev_close().
 *
 * @param name
 *   Verbs device name ("mlx5_0"), or the address of its PCI function ("0000:03:00.0"; "03:00.0" in
 *   domain 0). NULL: the first mlx5 device that opens.
 * @param dev
 *   Written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -ENODEV
 *   There is no such device, or no mlx5 device at all. The log says how to get one.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of the verbs call that failed; the log names the call.
 */
HWQ_API int hwq_dev_open(const char *name, struct hwq_dev **dev);

/**
 * Opens a device as hwq_dev_open() does, but only a device that the caller's function accepts. It
 * is for callers that need a feature that some devices lack.
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
 * @retval -EOPNOTSUPP suits returned false for each device.
 * @retval -errno
 *   An error of hwq_dev_open().
 */
HWQ_API int hwq_dev_open_if(const char *name, bool (*suits)(const struct hwq_dev_caps *caps),
	struct hwq_dev **dev);

/**
 * Makes a device of a context that the caller has opened, by ibv_open_device(3) or
 * mlx5dv_open_device(3). Keys and queues of hwq and of the caller work together if they are in one
 * protection domain. Context and protection domain must stay until hwq_dev_close(), which does not
 * close them.
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
 * Returns the verbs device name ("mlx5_0"). Any thread may call this function.
 *
 * @param dev
 *   The device.
 * @return
 *   The name; the string lasts until hwq_dev_close().
 */
HWQ_API const char *hwq_dev_name(const struct hwq_dev *dev);

/**
 * Returns the capabilities of the device. Any thread may call this function.
 * @param dev The device.
 * @return The capabilities. They do not change, and last until hwq_dev_close().
 */
static inline const struct hwq_dev_caps *
hwq_dev_caps(const struct hwq_dev *dev)
{
	return &dev->caps;
}

/**
 * Returns the NUMA node of the device. Any thread may call this function.
 * @param dev The device.
 * @return The node; -1 if the system does not know the node.
 */
static inline int
hwq_dev_numa_node(const struct hwq_dev *dev)
{
	return dev->numa_node;
}

/**
 * Finds the next active port, after the port `after`, that has the link layer of dev->port. Any
 * thread may call this function.
 *
 * @param dev
 *   The device.
 * @param after The port that the last call returned; 0 at first.
 * @param port Written on success only. The search starts at after + 1, and wraps from the last port
 *   to port 1. If no port is active, *port is dev->port.
 * @return
 *   0 on success, otherwise:
 * @retval -errno
 *   The error of ibv_query_port(3).
 */
HWQ_API int hwq_dev_next_port(struct hwq_dev *dev, uint8_t after, uint8_t *port);

/**
 * Sets the function that receives log lines. Any thread may call this at any time. A line that
 * another thread logs meanwhile goes to the old or to the new function.
 *
 * @param line
 *   Called once for each line, from the thread that logs; text has no newline and is valid during
 *   the call. NULL, which is the default: lines go to stderr.
 */
HWQ_API void hwq_log_set(void (*line)(const char *text));

#endif
