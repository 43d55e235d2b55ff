/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that change a completion queue: RESIZE_CQ and MODIFY_CQ. */
#include "uverbs_cq.h"

#include <errno.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "caps.h"

#define CQ_MODERATE 1U /* of ib_uverbs_ex_modify_cq.attr_mask: IBV_CQ_ATTR_MODERATE */

uint64_t
uverbs_cq_entries(uint32_t cqe)
{
	uint64_t n = 1;

	while (n < (uint64_t)cqe + 1)
		n *= 2;
	return n;
}

static int
check_resize(struct uverbs_call *call, uint32_t cqe, uint64_t entries)
{
	const struct mlx5_ib_resize_cq *mlx5 = call_in(call, UVERBS_ATTR_UHW_IN);

	if (call_attr(call, UVERBS_ATTR_UHW_IN)->len < sizeof(*mlx5) || mlx5->reserved0 != 0 ||
		mlx5->reserved1 != 0)
		return -EINVAL;
	if (cqe == 0 || cqe > call->ctx->dev->cfg->max_cqe ||
		(mlx5->cqe_size != 64 && mlx5->cqe_size != 128) || mlx5->buf_addr % 64 != 0)
		return -EINVAL;
	return memory_is_mapped(mlx5->buf_addr, entries * mlx5->cqe_size, true) ? 0 : -EFAULT;
}

int
uverbs_resize_cq(struct uverbs_call *call)
{
	const struct ib_uverbs_resize_cq *req = call_in(call, UVERBS_ATTR_CORE_IN);
	const struct mlx5_ib_resize_cq *mlx5 = call_in(call, UVERBS_ATTR_UHW_IN);
	struct object_cq *cq = object_find(call->ctx, OBJ_CQ, req->cq_handle);
	uint64_t entries = uverbs_cq_entries(req->cqe);
	struct ib_uverbs_resize_cq_resp resp = {.cqe = entries - 1};
	struct softhca_cq_attr now;
	uint32_t pi, ci;
	int rc;

	if (cq == NULL)
		return -EINVAL;
	rc = check_resize(call, req->cqe, entries);
	if (rc != 0)
		return rc;
	softhca_cq_query(cq->cq, &now, &pi, &ci);
	/* As the kernel: the same size is no resizing, and the buffer stays. */
	if (entries != now.n_cqe) {
		softhca_settle(call->ctx->dev);
		rc = softhca_cq_resize(cq->cq, (void *)(uintptr_t)mlx5->buf_addr, entries,
			mlx5->cqe_size);
	}
	return rc != 0 ? rc : call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

int
uverbs_modify_cq(struct uverbs_call *call)
{
	const struct ib_uverbs_ex_modify_cq *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct object_cq *cq = object_find(call->ctx, OBJ_CQ, req->cq_handle);

	if (req->attr_mask == 0 || req->reserved != 0)
		return -EINVAL;
	if (req->attr_mask != CQ_MODERATE)
		return -EOPNOTSUPP;
	if (cq == NULL || req->attr.cq_period > CAPS_MAX_CQ_PERIOD)
		return -EINVAL;
	softhca_cq_moderate(cq->cq, req->attr.cq_count, req->attr.cq_period);
	return 0;
}
