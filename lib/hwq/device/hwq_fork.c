/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes libibverbs refuse ibv_fork_init(3), if the kernel makes that call unnecessary. */
#include "hwq_fork.h"

#include <errno.h>

#include <infiniband/verbs.h>

/*
 * Registers one byte of memory. After a registration, libibverbs refuses ibv_fork_init(3)
 * (rdma-core, libibverbs/memory.c).
 */
static int
register_byte(struct ibv_context *ctx)
{
	static char byte;
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_mr *mr;
	int ret = 0;

	if (pd == NULL)
		return -errno;
	mr = ibv_reg_mr(pd, &byte, sizeof(byte), 0);
	if (mr == NULL)
		ret = -errno;
	else
		ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	return ret;
}

int
hwq_fork_refuse_init(void)
{
	struct ibv_device **list;
	struct ibv_context *ctx;
	int ret = -ENODEV, n = 0, i;

	if (ibv_is_fork_initialized() != IBV_FORK_UNNEEDED)
		return -EOPNOTSUPP;
	list = ibv_get_device_list(&n);
	for (i = 0; list != NULL && i < n && ret != 0; i++) {
		ctx = ibv_open_device(list[i]);
		if (ctx == NULL)
			continue;
		ret = register_byte(ctx);
		ibv_close_device(ctx);
	}
	if (list != NULL)
		ibv_free_device_list(list);
	return ret;
}
