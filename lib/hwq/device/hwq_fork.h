/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Prevents ibv_fork_init(3), if the kernel makes that call needless.
 *
 * After ibv_fork_init(3), libibverbs reads all of /proc/self/smaps each time that a region, a QP or
 * a CQ is created or destroyed. The call is useless with a kernel that copies pinned pages at a
 * fork (ibv_is_fork_initialized(3)). But some libraries call it, and libibverbs before rdma-core 51
 * then obeys.
 */
#ifndef HWQ_FORK_H
#define HWQ_FORK_H

#include "hwq_api.h"

/**
 * Makes libibverbs refuse ibv_fork_init(3) from now on, in this process. It registers memory:
 * libibverbs then refuses the call. Any thread.
 *
 * @return
 *   0 on success, otherwise:
 * @retval -EOPNOTSUPP The kernel does not copy pinned pages at a fork, so ibv_fork_init(3) is
 *   useful; nothing was done.
 * @retval -ENODEV
 *   There is no device.
 * @retval -errno
 *   The error of the verbs call that failed.
 */
HWQ_API int hwq_fork_refuse_init(void);

#endif
