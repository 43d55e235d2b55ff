/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Device memory: memory on the card itself (ibv_alloc_dm(3)), which work requests name like any
 * other.
 *
 *     hwq_dm_alloc(dev, len, &dm)
 *     hwq_mr_register_dm(&dm, access, &mr)
 *       ... byte n of it is address n of mr.lkey and mr.rkey; dm.addr + n for the CPU ...
 *     hwq_mr_deregister(&mr)
 *     hwq_dm_free(&dm)
 *
 * mlx5dv_wr_memcpy() copies on the PCI bus (mlx5dv_wr_post(3)), where this memory is not: use RDMA.
 *
 * Threads: as hwq_dev.h says.
 */
#ifndef HWQ_DM_H
#define HWQ_DM_H

#include "hwq_mr.h"

struct ibv_dm;

/** Device memory, in the caller's storage. Written by the calls of this file only. */
struct hwq_dm {
	/** Where the CPU reaches it: slow, by aligned accesses of 4 or 8 bytes. */
	void *addr;
	size_t len;          /**< bytes */
	struct hwq_dev *dev; /**< the device */
	struct ibv_dm *dm;   /**< the verbs object; NULL: there is none */
};

/**
 * Allocates device memory, all zero. It begins on a boundary of 64 bytes.
 *
 * @param dev
 *   The device.
 * @param len
 *   Bytes.
 * @param dm
 *   Written on success only. hwq_dm_free() frees it.
 * @return
 *   0 on success. Otherwise the log says which error it is:
 * @retval -EINVAL
 *   len is 0.
 * @retval -EOPNOTSUPP
 *   The device has no such memory.
 * @retval -ENOMEM
 *   Not enough device memory is free, or len is more than hwq_dev_caps::max_dm_len.
 * @retval -errno
 *   The error of ibv_alloc_dm(3).
 */
HWQ_API int hwq_dm_alloc(struct hwq_dev *dev, size_t len, struct hwq_dm *dm);

/**
 * Frees device memory, whose registrations have ended. It does nothing if dm->dm is NULL.
 *
 * @param dm
 *   The device memory.
 * @return
 *   0 on success. After an error the memory still exists: call again.
 * @retval -EBUSY
 *   A registration is left.
 * @retval -errno
 *   The error of ibv_free_dm(3).
 */
HWQ_API int hwq_dm_free(struct hwq_dm *dm);

/**
 * Registers all of a device memory, zero-based: the device calls its first byte 0
 * (ibv_reg_dm_mr(3)).
 *
 * @param dm
 *   The device memory.
 * @param access
 *   As for hwq_mr_register().
 * @param mr
 *   Written on success only; mr->addr is dm->addr. hwq_mr_deregister() ends it.
 * @return
 *   0 on success, otherwise:
 * @retval -errno
 *   The error of ibv_reg_dm_mr(3), which the log has in words.
 */
HWQ_API int hwq_mr_register_dm(const struct hwq_dm *dm, unsigned int access, struct hwq_mr *mr);

#endif
