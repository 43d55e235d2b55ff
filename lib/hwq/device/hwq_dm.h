/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Device memory: memory on the card itself (ibv_alloc_dm(3)), which work requests name like any other.
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
	/** Where the CPU has it: it is slow, and wants aligned accesses of 4 or 8 bytes. */
	void *addr;
	size_t len; /**< bytes */
	struct hwq_dev *dev;
	struct ibv_dm *dm; /**< the verbs object; NULL: there is none */
};

/**
 * Allocates len bytes, all zero. They begin on a boundary of 64 bytes.
 * @param dm written on success only.
 * @return 0; -EINVAL len is 0; -EOPNOTSUPP the device has none; -ENOMEM so much is not free, or more than
 *   hwq_dev_caps::max_dm_len; or another errno of ibv_alloc_dm(3). The log says which.
 */
HWQ_API int hwq_dm_alloc(struct hwq_dev *dev, size_t len, struct hwq_dm *dm);

/**
 * Frees it; its registrations have ended. Where there is none, nothing happens.
 * @return 0; -EBUSY a registration is left; or another errno of ibv_free_dm(3). After an error it is
 *   still there: call again.
 */
HWQ_API int hwq_dm_free(struct hwq_dm *dm);

/**
 * Registers all of it, zero-based: the device calls its first byte 0 (ibv_reg_dm_mr(3)).
 * @param access as hwq_mr_register() takes it.
 * @param mr written on success only; mr->addr is dm->addr. hwq_mr_deregister() ends it.
 * @return 0; or the errno of ibv_reg_dm_mr(3), which the log has in words.
 */
HWQ_API int hwq_mr_register_dm(const struct hwq_dm *dm, unsigned int access, struct hwq_mr *mr);

#endif
