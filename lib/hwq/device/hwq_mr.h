/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Memory registration: an address range gets a local and a remote key (ibv_reg_mr(3)).
 *
 *     hwq_mr_register(dev, addr, len, access, &mr)
 *       ... mr.lkey, mr.rkey in work requests of any queue of the device ...
 *     hwq_mr_deregister(&mr)                        after these work requests
 *
 * Threads: the rules of hwq_dev.h apply. Any number of threads may read a struct hwq_mr that is
 * registered.
 */
#ifndef HWQ_MR_H
#define HWQ_MR_H

#include "hwq_dev.h"

struct ibv_mr;

/**
 * The accesses of local and remote work requests that a registered range allows. The values are
 * those of IBV_ACCESS_* of ibv_reg_mr(3).
 */
enum hwq_access {
	HWQ_ACCESS_LOCAL_WRITE = 1 << 0,  /**< local work requests may write the range */
	HWQ_ACCESS_REMOTE_WRITE = 1 << 1, /**< a peer may write the range; needs LOCAL_WRITE too */
	HWQ_ACCESS_REMOTE_READ = 1 << 2,  /**< a peer may read the range */
	/** a peer may use atomics on the range; needs LOCAL_WRITE too */
	HWQ_ACCESS_REMOTE_ATOMIC = 1 << 3,
	HWQ_ACCESS_MW_BIND = 1 << 4, /**< memory windows may be bound to the range */
	/** The device asks for pages when it needs them; they are not pinned (ODP). */
	HWQ_ACCESS_ON_DEMAND = 1 << 6,
	/**
	 * The device's writes may arrive in a different order than it sent them. Ignored if the
	 * device does not support this.
	 */
	HWQ_ACCESS_RELAXED_ORDERING = 1 << 20,
};

/** A registered range, in the caller's storage. Only hwq_mr_register() writes this struct. */
struct hwq_mr {
	void *addr;          /**< start of the range */
	size_t len;          /**< bytes of the range */
	uint32_t lkey;       /**< key for local work requests */
	uint32_t rkey;       /**< key for a peer's work requests */
	struct hwq_dev *dev; /**< the device */
	struct ibv_mr *mr;   /**< the verbs object */
};

/**
 * Registers and pins [addr, addr + len) for every queue of the device. The caller owns the memory,
 * which must stay mapped until the registration has ended. With HWQ_ACCESS_ON_DEMAND the memory may
 * be mapped and unmapped at any time; a work request fails if it uses memory that is not mapped.
 *
 * @param dev
 *   The device.
 * @param addr
 *   The first byte. NULL with a len of SIZE_MAX and HWQ_ACCESS_ON_DEMAND: all memory of the
 *   process, if the device has hwq_dev_caps::any_memory.
 * @param len
 *   Bytes.
 * @param access HWQ_ACCESS_* flags, or any other IBV_ACCESS_* of ibv_reg_mr(3). 0: local work
 *   requests may read the range; nothing else is allowed.
 * @param mr
 *   Written on success only.
 * @return
 *   0 on success. Otherwise the log says what the caller can do:
 * @retval -EINVAL
 *   The range is empty, or the flags contradict each other.
 * @retval -EFAULT
 *   A page is not mapped, or is beyond the end of its file.
 * @retval -EACCES
 *   A page is mapped without the right to read it, or to write it.
 * @retval -EOPNOTSUPP
 *   The kernel cannot pin a mapping of this type.
 * @retval -EPERM
 *   RLIMIT_MEMLOCK is too low.
 * @retval -EIO
 *   The IOMMU cannot map the range, or the device has failed.
 * @retval -ENOMEM
 *   There is not enough memory, or no key is left.
 * @retval -errno
 *   The error of ibv_reg_mr(3).
 */
HWQ_API int hwq_mr_register(struct hwq_dev *dev, void *addr, size_t len, unsigned int access,
	struct hwq_mr *mr);

/**
 * Ends a registration. Work requests that use its keys must have completed. After an error the
 * memory is still registered.
 *
 * @param mr
 *   The registration.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   Memory windows are bound to the range: unbind them first.
 * @retval -errno
 *   The error of ibv_dereg_mr(3).
 */
HWQ_API int hwq_mr_deregister(struct hwq_mr *mr);

#endif
