/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * ibv_fork_init(3), where the kernel makes it needless.
 *
 * After ibv_fork_init(3), libibverbs reads all of /proc/self/smaps each time that a region, a QP or
 * a CQ is created or destroyed. With a kernel that copies pinned pages at a fork, the call is of no
 * use (ibv_is_fork_initialized(3)). But libibverbs before rdma-core 51 carries it out all the same,
 * and some libraries call it.
 */
#ifndef HWQ_FORK_H
#define HWQ_FORK_H

#include "hwq_api.h"

/**
 * Makes libibverbs refuse ibv_fork_init(3) from now on, in this process: libibverbs refuses it
 * after memory has been registered. Any thread.
 *
 * @return
 *   0 on success, otherwise:
 * @retval -EOPNOTSUPP
 *   The kernel does not copy pinned pages at a fork, so ibv_fork_init(3) is of use; nothing was
 *   done.
 * @retval -ENODEV
 *   There is no device.
 * @retval -errno
 *   The error of the verbs call that failed.
 */
HWQ_API int hwq_fork_refuse_init(void);

#endif
