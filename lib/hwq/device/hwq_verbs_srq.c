/* SPDX-License-Identifier: BSD-3-Clause */
/* Verbs calls for shared receive queues. Their errors become -errno. */
#include "hwq_verbs_srq.h"

#include <string.h>

#include <infiniband/mlx5dv.h>

#include "hwq_verbs_errno.h"

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
