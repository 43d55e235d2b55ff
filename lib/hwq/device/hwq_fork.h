/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Prevents ibv_fork_init(3), if the kernel makes that call unnecessary.
 *
 * After ibv_fork_init(3), libibverbs reads all of /proc/self/smaps each time that a region, a QP or
 * a CQ is created or destroyed. The call is useless with a kernel that copies pinned pages at a
 * fork (ibv_is_fork_initialized(3)). But some libraries make this call, and libibverbs of rdma-core
 * before version 51 then does this work.
 */
#ifndef HWQ_FORK_H
#define HWQ_FORK_H

#include "hwq_api.h"

/**
 * Makes libibverbs refuse ibv_fork_init(3) from now on, in this process. For this it registers some
 * memory, because libibverbs refuses the call after a registration. Any thread may call this
 * function.
 *
 * @return
 *   0 on success, otherwise:
 * @retval -EOPNOTSUPP The kernel does not copy pinned pages at a fork, so ibv_fork_init(3) is
 *   useful. Nothing was changed.
 * @retval -ENODEV
 *   There is no device.
 * @retval -errno
 *   The error of the verbs call that failed.
 */
HWQ_API int hwq_fork_refuse_init(void);

#endif
