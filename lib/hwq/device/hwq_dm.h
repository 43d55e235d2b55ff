/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Device memory: memory on the card itself (ibv_alloc_dm(3)). Work requests address it by a key,
 * like other memory.
 *
 *     hwq_dm_alloc(dev, len, &dm)
 *     hwq_mr_register_dm(&dm, access, &mr)
 *       ... byte n has address n with mr.lkey and mr.rkey, and dm.addr + n for the CPU ...
 *     hwq_mr_deregister(&mr)
 *     hwq_dm_free(&dm)
 *
 * hwq_wqe_memcpy() cannot copy device memory: mlx5dv_wr_memcpy() copies between PCI addresses
 * (mlx5dv_wr_post(3)), and device memory has no PCI address. Use RDMA.
 *
 * Threads: the rules of hwq_dev.h apply.
 */
#ifndef HWQ_DM_H
#define HWQ_DM_H

#include "hwq_mr.h"

struct ibv_dm;

/** Device memory, in the caller's storage. Only the functions of this file write this struct. */
struct hwq_dm {
	/** Address for the CPU. Access is slow, and must be aligned and of 4 or 8 bytes. */
	void *addr;
	size_t len;          /**< bytes */
	struct hwq_dev *dev; /**< the device */
	struct ibv_dm *dm;   /**< the verbs object; NULL: no memory is allocated */
};

/**
 * Allocates device memory, filled with zeros, aligned to 64 bytes.
 *
 * @param dev
 *   The device.
 * @param len
 *   Bytes.
 * @param dm
 *   Written on success only. hwq_dm_free() frees it.
 * @return
 *   0 on success. Otherwise the log has the error:
 * @retval -EINVAL
 *   len is 0.
 * @retval -EOPNOTSUPP
 *   The device has no device memory.
 * @retval -ENOMEM
 *   Not enough device memory is free, or len is more than hwq_dev_caps::max_dm_len.
 * @retval -errno
 *   The error of ibv_alloc_dm(3).
 */
HWQ_API int hwq_dm_alloc(struct hwq_dev *dev, size_t len, struct hwq_dm *dm);

/**
 * Frees device memory. Deregister it first. Does nothing if dm->dm is NULL.
 *
 * @param dm
 *   The device memory.
 * @return
 *   0 on success. After an error the memory still exists: call again.
 * @retval -EBUSY
 *   The memory is still registered.
 * @retval -errno
 *   The error of ibv_free_dm(3).
 */
HWQ_API int hwq_dm_free(struct hwq_dm *dm);

/**
 * Registers the whole device memory, zero-based: work requests address its first byte as 0
 * (ibv_reg_dm_mr(3)).
 *
 * @param dm
 *   The device memory.
 * @param access
 *   As for hwq_mr_register().
 * @param mr
 *   Written on success only; mr->addr is dm->addr. hwq_mr_deregister() ends the registration.
 * @return
 *   0 on success, otherwise:
 * @retval -errno The error of ibv_reg_dm_mr(3); the log has its text.
 */
HWQ_API int hwq_mr_register_dm(const struct hwq_dm *dm, unsigned int access, struct hwq_mr *mr);

#endif
