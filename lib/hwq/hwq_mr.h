/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Memory registration: an address range becomes a local and a remote key (ibv_reg_mr(3)).
 */
#ifndef HWQ_MR_H
#define HWQ_MR_H

#include "hwq_dev.h"

struct ibv_mr;

/** Who may do what with a registered range. The values are those of IBV_ACCESS_* of ibv_reg_mr(3). */
enum hwq_access {
	HWQ_ACCESS_LOCAL_WRITE = 1 << 0,   /**< the device writes it for WQEs of this side */
	HWQ_ACCESS_REMOTE_WRITE = 1 << 1,  /**< a peer writes it; needs LOCAL_WRITE too */
	HWQ_ACCESS_REMOTE_READ = 1 << 2,   /**< a peer reads it */
	HWQ_ACCESS_REMOTE_ATOMIC = 1 << 3, /**< a peer's atomics; needs LOCAL_WRITE too */
	HWQ_ACCESS_MW_BIND = 1 << 4,       /**< memory windows may be bound to it */
};

/** A registered range, in the caller's storage. Written by hwq_mr_register() only. */
struct hwq_mr {
	void *addr;
	size_t len; /**< bytes */
	uint32_t lkey, rkey;
	struct hwq_dev *dev;
	struct ibv_mr *mr;
};

/**
 * Registers and pins [addr, addr + len), for every queue of the device. The memory stays the
 * caller's, and must outlive the registration.
 * @param access HWQ_ACCESS_* flags, or any other IBV_ACCESS_* of ibv_reg_mr(3); 0 lets this side's
 *   WQEs read it, and nothing else.
 * @return 0; -EINVAL empty range, or flags that contradict each other; -EFAULT not mapped; -ENOMEM,
 *   where the log says if RLIMIT_MEMLOCK is the cause. *mr is written on success only.
 */
HWQ_API int hwq_mr_register(struct hwq_dev *dev, void *addr, size_t len, unsigned int access,
	struct hwq_mr *mr);

/**
 * Ends the registration. WQEs that name its keys must have completed.
 * @return 0; -EBUSY memory windows are bound to it; it is still registered then.
 */
HWQ_API int hwq_mr_deregister(struct hwq_mr *mr);

#endif
