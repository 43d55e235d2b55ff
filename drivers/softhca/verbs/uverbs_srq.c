/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues: ibv_create_srq_ex(3), ibv_modify_srq(3). */
#include "uverbs_srq.h"

#include <errno.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "call.h"
#include "mapped.h"
#include "uverbs_xrcd.h"

#define MAX_SGE    31 /* entries in the largest WQE, which has 512 bytes */
#define MASK_LIMIT 2u /* IBV_SRQ_LIMIT */

/* ---------------------------------------------------------------- creation and end */

struct srq_size {
	uint32_t n, log_stride;
};

/*
 * Computes the size as the kernel does: the number of WQEs is one more than requested, and the
 * number and the length of WQEs are rounded up to powers of two.
 */
static struct srq_size
srq_size(uint32_t max_wr, uint32_t max_sge)
{
	struct srq_size size = {.n = 1, .log_stride = 5};

	while (size.n < max_wr + 1)
		size.n *= 2;
	while ((1u << size.log_stride) < 16 + 16 * max_sge)
		size.log_stride++;
	return size;
}

static int
check_create(struct uverbs_call *call, const struct mlx5_ib_create_srq *req)
{
	const struct softhca_config *cfg = call->ctx->dev->cfg;
	uint32_t max_wr = call_in_u32(call, UVERBS_ATTR_CREATE_SRQ_MAX_WR);
	uint32_t max_sge = call_in_u32(call, UVERBS_ATTR_CREATE_SRQ_MAX_SGE);
	uint64_t type = call_in_u64(call, UVERBS_ATTR_CREATE_SRQ_TYPE);
	bool xrc = type == IB_UVERBS_SRQT_XRC;
	struct srq_size size;

	if (type != IB_UVERBS_SRQT_BASIC && !xrc) /* tag matching is not emulated */
		return -EOPNOTSUPP;
	if (call_has(call, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE) != xrc ||
		call_has(call, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE) != xrc)
		return -EINVAL;
	/*
	 * libmlx5 requests as many scatter entries as fit into its WQE. This may be more than
	 * max_sge of the adapter.
	 */
	if (max_wr >= cfg->max_qp_wr || max_sge > MAX_SGE ||
		srq_size(max_wr, max_sge).log_stride > srq_size(max_wr, cfg->max_sge).log_stride)
		return -EINVAL;
	if (req->flags != 0 || req->reserved0 != 0 || req->reserved1 != 0 ||
		req->buf_addr % 64 != 0 || req->db_addr % 8 != 0)
		return -EINVAL;
	size = srq_size(max_wr, max_sge);
	if (!memory_is_mapped(req->buf_addr, (uint64_t)size.n << size.log_stride, true) ||
		!memory_is_mapped(req->db_addr, 4, true))
		return -EFAULT;
	return 0;
}

static int
make(struct uverbs_call *call, struct object_srq *srq, const struct mlx5_ib_create_srq *req)
{
	struct srq_size size = srq_size(srq->max_wr, srq->max_sge);
	const struct softhca_srq_attr attr = {
		.pdn = srq->pd->pdn,
		.buf = (void *)(uintptr_t)req->buf_addr,
		.dbrec = (_Atomic uint32_t *)(uintptr_t)req->db_addr,
		.n_wqe = size.n,
		.log_stride = size.log_stride,
		.cq = srq->cq != NULL ? srq->cq->cq : NULL,
		.xrcdn = srq->xrcd != NULL ? xrcd_number(srq->xrcd) : 0,
		.uidx = req->uidx,
		.event = &srq->event,
	};

	srq->max_wr = size.n - 1;
	return softhca_srq_create(call->ctx->dev, &attr, &srq->srq);
}

static int
answer(struct uverbs_call *call, const struct object_srq *srq)
{
	struct mlx5_ib_create_srq_resp mlx5 = {.srqn = softhca_srq_number(srq->srq)};
	int rc;

	call_attr(call, UVERBS_ATTR_CREATE_SRQ_HANDLE)->data = srq->obj.handle;
	rc = call_out(call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &srq->max_wr, sizeof(srq->max_wr));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &srq->max_sge,
			sizeof(srq->max_sge));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, &mlx5.srqn,
			sizeof(mlx5.srqn));
	return rc != 0 ? rc : call_out(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
}

static void
show(struct object_srq *srq)
{
	struct resource *shown = srq->obj.shown;

	if (shown == NULL)
		return;
	resource_set(&shown->kind, srq->cq != NULL ? IB_UVERBS_SRQT_XRC : IB_UVERBS_SRQT_BASIC);
	resource_set(&shown->pd, resource_id(srq->pd->obj.shown));
	if (srq->cq != NULL)
		resource_set(&shown->cq, resource_id(srq->cq->obj.shown));
	object_show(&srq->obj);
}

static int
create(struct uverbs_call *call)
{
	const struct mlx5_ib_create_srq *req = call_in(call, UVERBS_ATTR_UHW_IN);
	struct event_file *async;
	struct object_srq *srq;
	int rc = check_create(call, req);

	if (rc == 0)
		rc = call_event_file(call, UVERBS_ATTR_CREATE_SRQ_EVENT_FD, EVENT_ASYNC, &async);
	if (rc == 0)
		rc = object_create(call->ctx, &srq_class, &srq);
	if (rc != 0)
		return rc;
	srq->pd = call_obj(call, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE);
	srq->cq = call_obj(call, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE);
	srq->xrcd = call_obj(call, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE);
	srq->max_wr = call_in_u32(call, UVERBS_ATTR_CREATE_SRQ_MAX_WR);
	srq->max_sge = call_in_u32(call, UVERBS_ATTR_CREATE_SRQ_MAX_SGE);
	srq->event.element = call_in_u64(call, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE);
	srq->event.async = event_file_get(async);
	rc = make(call, srq, req);
	if (rc != 0) {
		event_file_put(srq->event.async);
		object_forget(call->ctx, &srq->obj);
		return rc;
	}
	object_use(&srq->pd->obj);
	if (srq->cq != NULL)
		object_use(&srq->cq->obj);
	if (srq->xrcd != NULL)
		object_use(&srq->xrcd->obj);
	rc = answer(call, srq);
	if (rc != 0)
		(void)object_destroy(call->ctx, &srq->obj, NULL);
	else
		show(srq);
	return rc;
}

static int
end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	struct object_srq *srq = (struct object_srq *)obj;
	int rc = softhca_srq_destroy(srq->srq);

	if (rc != 0)
		return rc;
	event_source_fini(&srq->event, &events->comp_read, &events->async_read);
	object_unuse(&srq->pd->obj);
	if (srq->cq != NULL)
		object_unuse(&srq->cq->obj);
	if (srq->xrcd != NULL)
		object_unuse(&srq->xrcd->obj);
	return 0;
}

static int
destroy(struct uverbs_call *call)
{
	struct object *obj = call_obj(call, UVERBS_ATTR_DESTROY_SRQ_HANDLE);
	struct ib_uverbs_destroy_srq_resp resp = {0};
	struct object_events events = {0};
	int rc = object_destroy(call->ctx, obj, &events);

	if (rc != 0)
		return rc;
	resp.events_reported = events.async_read;
	return call_out(call, UVERBS_ATTR_DESTROY_SRQ_RESP, &resp, sizeof(resp));
}

static uint32_t
limit(const struct softhca_config *cfg)
{
	return cfg->max_srq;
}

/* ---------------------------------------------------------------- limit and query */

static int
modify(struct uverbs_call *call)
{
	const struct ib_uverbs_modify_srq *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct object_srq *srq = object_find(call->ctx, &srq_class, req->srq_handle);

	if (srq == NULL)
		return -EINVAL;
	/* SRQs cannot be resized: mlx5_ib of the kernel also returns EINVAL. */
	if ((req->attr_mask & ~MASK_LIMIT) != 0)
		return -EINVAL;
	return (req->attr_mask & MASK_LIMIT) != 0 ? softhca_srq_arm(srq->srq, req->srq_limit) : 0;
}

static int
query(struct uverbs_call *call)
{
	const struct ib_uverbs_query_srq *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct object_srq *srq = object_find(call->ctx, &srq_class, req->srq_handle);
	struct ib_uverbs_query_srq_resp resp;

	if (srq == NULL)
		return -EINVAL;
	resp = (struct ib_uverbs_query_srq_resp){
		.max_wr = srq->max_wr,
		.max_sge = srq->max_sge,
		.srq_limit = softhca_srq_limit(srq->srq),
	};
	return call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* ---------------------------------------------------------------- the table */

static const struct attr_spec create_attrs[] = {
	{UVERBS_ATTR_CREATE_SRQ_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &pd_class},
	{UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, ATTR_OBJ, ATTR_OPTIONAL, .cls = &xrcd_class},
	{UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, ATTR_OBJ, ATTR_OPTIONAL, .cls = &cq_class},
	{UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{UVERBS_ATTR_CREATE_SRQ_MAX_WR, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{UVERBS_ATTR_CREATE_SRQ_MAX_SGE, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{UVERBS_ATTR_CREATE_SRQ_LIMIT, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{UVERBS_ATTR_CREATE_SRQ_TYPE, ATTR_IN, ATTR_REQUIRED, 1, 8},
	{UVERBS_ATTR_CREATE_SRQ_EVENT_FD, ATTR_FD, ATTR_OPTIONAL},
	{UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, ATTR_OUT, ATTR_REQUIRED, 4},
	{UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, ATTR_OUT, ATTR_REQUIRED, 4},
	{UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, ATTR_OUT, ATTR_OPTIONAL, 4},
	{UVERBS_ATTR_UHW_IN, ATTR_IN, ATTR_REQUIRED, offsetof(struct mlx5_ib_create_srq, uidx),
		sizeof(struct mlx5_ib_create_srq)},
	{UVERBS_ATTR_UHW_OUT, ATTR_OUT, ATTR_REQUIRED, 4},
};
static const struct attr_spec destroy_attrs[] = {
	{UVERBS_ATTR_DESTROY_SRQ_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &srq_class},
	{UVERBS_ATTR_DESTROY_SRQ_RESP, ATTR_OUT, ATTR_REQUIRED,
		sizeof(struct ib_uverbs_destroy_srq_resp)},
};

static const struct uverbs_method methods[] = {
	{UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, false, create, create_attrs,
		ARRAY_SIZE(create_attrs)},
	{UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, false, destroy, destroy_attrs,
		ARRAY_SIZE(destroy_attrs)},
};
static const struct write_command writes[] = {
	{IB_USER_VERBS_CMD_MODIFY_SRQ, sizeof(struct ib_uverbs_modify_srq), 0, modify},
	{IB_USER_VERBS_CMD_QUERY_SRQ, sizeof(struct ib_uverbs_query_srq),
		sizeof(struct ib_uverbs_query_srq_resp), query},
};

const struct object_class srq_class = {
	.name = "SRQ",
	.resource = RESOURCE_SRQ,
	.size = sizeof(struct object_srq),
	.limit = limit,
	.end = end,
	CLASS_METHODS(methods),
	CLASS_WRITES(writes),
};
