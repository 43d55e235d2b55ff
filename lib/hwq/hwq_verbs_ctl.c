/* SPDX-License-Identifier: BSD-3-Clause */
/* Verbs calls of channels, shared receive queues and a caller's own objects: errors become -errno. */
#include "hwq_verbs_ctl.h"

#include <errno.h>
#include <string.h>

/* As in hwq_verbs.c: errno is cleared before a call, so that it is not an older one. */
static int
err_from_errno(void)
{
	return errno != 0 ? -errno : -EIO;
}

static int
err_from_ret(int ret)
{
	if (ret == 0)
		return 0;
	return ret > 0 ? -ret : err_from_errno();
}

int
hwq_verbs_channel_create(struct ibv_context *ctx, struct ibv_comp_channel **channel)
{
	struct ibv_comp_channel *made;

	errno = 0;
	made = ibv_create_comp_channel(ctx);
	if (made == NULL)
		return err_from_errno();
	*channel = made;
	return 0;
}

int
hwq_verbs_channel_destroy(struct ibv_comp_channel *channel)
{
	errno = 0;
	return err_from_ret(ibv_destroy_comp_channel(channel));
}

int
hwq_verbs_channel_get_event(struct ibv_comp_channel *channel, void **user)
{
	struct ibv_cq *cq;

	errno = 0;
	return err_from_ret(ibv_get_cq_event(channel, &cq, user));
}

int
hwq_verbs_srq_create(struct ibv_context *ctx, struct ibv_srq_init_attr_ex *attr,
	struct ibv_srq **srq)
{
	struct ibv_srq *made;

	errno = 0;
	made = ibv_create_srq_ex(ctx, attr);
	if (made == NULL)
		return err_from_errno();
	*srq = made;
	return 0;
}

int
hwq_verbs_srq_destroy(struct ibv_srq *srq)
{
	errno = 0;
	return err_from_ret(ibv_destroy_srq(srq));
}

int
hwq_verbs_srq_modify(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	errno = 0;
	return err_from_ret(ibv_modify_srq(srq, attr, mask));
}

int
hwq_verbs_srq_take(struct ibv_srq *srq, struct mlx5dv_srq *view)
{
	struct mlx5dv_obj obj = {.srq = {.in = srq, .out = view}};

	errno = 0;
	memset(view, 0, sizeof(*view));
	view->comp_mask = MLX5DV_SRQ_MASK_SRQN;
	return err_from_ret(mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ));
}
