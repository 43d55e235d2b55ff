/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * ibv_fork_init(3), where the kernel makes it needless.
 *
 * After that call libibverbs reads all of /proc/self/smaps for each region, queue pair and CQ, when it is made and when it
 * ends. A kernel that copies pinned pages at a fork does not need it (ibv_is_fork_initialized(3)), but libibverbs
 * before rdma-core 51 carries it out all the same, and libraries call it unasked.
 */
#ifndef HWQ_FORK_H
#define HWQ_FORK_H

#include "hwq_api.h"

/**
 * Has libibverbs refuse ibv_fork_init(3) from now on, in this process: it does so once memory has been registered.
 * Any thread.
 * @return 0; -EOPNOTSUPP the kernel does not copy such pages, and nothing was done: there the call protects them;
 *   -ENODEV there is no device; or the negative errno of the verbs call that failed.
 */
HWQ_API int hwq_fork_refuse_init(void);

#endif
