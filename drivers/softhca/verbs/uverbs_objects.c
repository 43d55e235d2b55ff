/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods of protection domains, memory regions, UARs, CQs, QPs and address handles. */
#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "caps.h"
#include "uverbs.h"
#include "uverbs_cq.h"
#include "uverbs_qp.h"

/* PD, MR, AH and UAR: destruction takes the handle and nothing else, the first in the list. */
static int
destroy_simple(struct uverbs_call *call)
{
	return object_destroy(call->ctx, call->values[0].obj, NULL);
}

static int
query_pd(struct uverbs_call *call)
{
	struct object_pd *pd = (void *)call_attr(call, MLX5_IB_ATTR_QUERY_PD_HANDLE)->obj;

	return call_out(call, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &pd->pdn, sizeof(pd->pdn));
}

static int
query_mr(struct uverbs_call *call)
{
	struct object_mr *mr = (void *)call_attr(call, UVERBS_ATTR_QUERY_MR_HANDLE)->obj;
	uint32_t key = softhca_mkey_key(mr->mkey);
	int rc;

	rc = call_out(call, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &key, sizeof(key));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &key, sizeof(key));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &mr->attr.len,
			sizeof(mr->attr.len));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_QUERY_MR_RESP_IOVA, &mr->attr.iova,
			sizeof(mr->attr.iova));
	return rc;
}

/* ---------------------------------------------------------------- UARs */

static int
answer_uar(struct uverbs_call *call, const struct object_uar *uar)
{
	uint64_t offset = CTX_UAR_OFFSET + (uint64_t)uar->page_id * CTX_PAGE;
	uint32_t len = CTX_PAGE;
	int rc;

	call_attr(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE)->data = uar->obj.handle;
	rc = call_out(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
	if (rc == 0)
		rc = call_out(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &len, sizeof(len));
	if (rc == 0)
		rc = call_out(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &uar->page_id,
			sizeof(uar->page_id));
	return rc;
}

static int
alloc_uar(struct uverbs_call *call)
{
	uint64_t type = call_in_u64(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE);
	struct softhca_ctx *ctx = call->ctx;
	struct object_uar *uar;
	int page, rc;

	/* As the kernel where write combining does not work: no BlueFlame pages at all. */
	if (type > MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC ||
		(type == MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF && ctx->dev->cfg->bf_reg_size == 0))
		return -EOPNOTSUPP;
	page = ctx_take_page(ctx);
	if (page < 0)
		return page;
	rc = object_create(ctx, OBJ_UAR, sizeof(*uar), &uar);
	if (rc != 0) {
		ctx_give_page(ctx, page);
		return rc;
	}
	uar->page_id = page;
	rc = softhca_uar_create(ctx->dev, ctx->bar + page * CTX_PAGE, page,
		type == MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF ? SOFTHCA_UAR_BF : SOFTHCA_UAR_NC,
		&uar->uar);
	if (rc != 0) {
		ctx_give_page(ctx, page);
		object_forget(ctx, &uar->obj);
		return rc;
	}
	rc = answer_uar(call, uar);
	if (rc != 0)
		(void)object_destroy(ctx, &uar->obj, NULL);
	return rc;
}

/* ---------------------------------------------------------------- CQs */

#define PAD MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD

static int
check_cq(struct uverbs_call *call, const struct mlx5_ib_create_cq *req, uint64_t entries)
{
	const struct softhca_config *cfg = call->ctx->dev->cfg;
	uint32_t flags = call_in_u32(call, UVERBS_ATTR_CREATE_CQ_FLAGS);
	uint32_t cqe = call_in_u32(call, UVERBS_ATTR_CREATE_CQ_CQE);

	if ((flags & ~(uint32_t)(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION |
				 IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)) != 0)
		return -EINVAL;
	if (req->cqe_comp_en != 0 ||
		(req->flags | PAD) != (MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX | PAD) ||
		((req->flags & PAD) != 0 && req->cqe_size != 128))
		return -EOPNOTSUPP;
	if (cqe == 0 || cqe > cfg->max_cqe ||
		call_in_u32(call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR) >= CAPS_COMP_VECTORS ||
		(req->cqe_size != 64 && req->cqe_size != 128) || req->buf_addr % 64 != 0 ||
		req->db_addr % 8 != 0)
		return -EINVAL;
	if (!memory_is_mapped(req->buf_addr, entries * req->cqe_size, true) ||
		!memory_is_mapped(req->db_addr, 8, true))
		return -EFAULT;
	return 0;
}

/* The files that a CQ's events go to: looked up here, held by the CQ from then on. */
static int
find_cq_files(struct uverbs_call *call, struct event_file **comp, struct event_file **async)
{
	*comp = NULL;
	*async = NULL;
	if (call_has(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL)) {
		*comp = ctx_find_file(call->ctx,
			call_attr(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL)->data, false);
		if (*comp == NULL)
			return -EBADF;
	}
	if (call_has(call, UVERBS_ATTR_CREATE_CQ_EVENT_FD)) {
		*async = ctx_find_file(call->ctx,
			call_attr(call, UVERBS_ATTR_CREATE_CQ_EVENT_FD)->data, true);
		if (*async == NULL)
			return -EBADF;
	}
	return 0;
}

static int
answer_cq(struct uverbs_call *call, const struct object_cq *cq, uint64_t entries)
{
	struct mlx5_ib_create_cq_resp mlx5 = {.cqn = softhca_cq_number(cq->cq)};
	uint32_t cqe = entries - 1;
	int rc;

	call_attr(call, UVERBS_ATTR_CREATE_CQ_HANDLE)->data = cq->obj.handle;
	rc = call_out(call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cqe, sizeof(cqe));
	return rc != 0 ? rc : call_out(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
}

static int
create_cq(struct uverbs_call *call)
{
	const struct mlx5_ib_create_cq *req = call_in(call, UVERBS_ATTR_UHW_IN);
	uint64_t entries = uverbs_cq_entries(call_in_u32(call, UVERBS_ATTR_CREATE_CQ_CQE));
	uint32_t flags = call_in_u32(call, UVERBS_ATTR_CREATE_CQ_FLAGS);
	struct event_file *comp, *async;
	struct softhca_cq_attr attr;
	struct object_cq *cq;
	int rc;

	rc = check_cq(call, req, entries);
	if (rc == 0)
		rc = find_cq_files(call, &comp, &async);
	if (rc == 0 && ctx_find_uar(call->ctx, req->uar_page_index) == NULL)
		rc = -EINVAL;
	if (rc == 0)
		rc = object_create(call->ctx, OBJ_CQ, sizeof(*cq), &cq);
	if (rc != 0)
		return rc;
	cq->uar = ctx_find_uar(call->ctx, req->uar_page_index);
	cq->event.element = call_in_u64(call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE);
	cq->event.comp = event_file_get(comp);
	cq->event.async = event_file_get(async);
	attr = (struct softhca_cq_attr){
		.buf = (void *)(uintptr_t)req->buf_addr,
		.dbrec = (_Atomic uint32_t *)(uintptr_t)req->db_addr,
		.n_cqe = entries,
		.cqe_len = req->cqe_size,
		.ignore_overrun = (flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN) != 0,
		.pad = (req->flags & PAD) != 0,
		.uar = cq->uar->uar,
		.event = &cq->event,
	};
	rc = softhca_cq_create(call->ctx->dev, &attr, &cq->cq);
	if (rc != 0) {
		event_file_put(comp);
		event_file_put(async);
		object_forget(call->ctx, &cq->obj);
		return rc;
	}
	object_use(&cq->uar->obj);
	rc = answer_cq(call, cq, entries);
	if (rc != 0)
		(void)object_destroy(call->ctx, &cq->obj, NULL);
	return rc;
}

static int
destroy_cq(struct uverbs_call *call)
{
	struct object *obj = call_attr(call, UVERBS_ATTR_DESTROY_CQ_HANDLE)->obj;
	struct ib_uverbs_destroy_cq_resp resp = {0};
	struct object_events events = {0};
	int rc = object_destroy(call->ctx, obj, &events);

	if (rc != 0)
		return rc;
	resp.comp_events_reported = events.comp_read;
	resp.async_events_reported = events.async_read;
	return call_out(call, UVERBS_ATTR_DESTROY_CQ_RESP, &resp, sizeof(resp));
}

/* ---------------------------------------------------------------- the tables */

static const struct attr_spec destroy_pd_attrs[] = {
	{UVERBS_ATTR_DESTROY_PD_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_PD},
};
static const struct attr_spec destroy_mr_attrs[] = {
	{UVERBS_ATTR_DESTROY_MR_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_MR},
};
static const struct attr_spec destroy_ah_attrs[] = {
	{UVERBS_ATTR_DESTROY_AH_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_AH},
};
static const struct attr_spec destroy_uar_attrs[] = {
	{MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_UAR},
};
static const struct attr_spec query_pd_attrs[] = {
	{MLX5_IB_ATTR_QUERY_PD_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_PD},
	{MLX5_IB_ATTR_QUERY_PD_RESP_PDN, ATTR_OUT, ATTR_REQUIRED, 4},
};
static const struct attr_spec query_mr_attrs[] = {
	{UVERBS_ATTR_QUERY_MR_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_MR},
	{UVERBS_ATTR_QUERY_MR_RESP_LKEY, ATTR_OUT, ATTR_REQUIRED, 4},
	{UVERBS_ATTR_QUERY_MR_RESP_RKEY, ATTR_OUT, ATTR_REQUIRED, 4},
	{UVERBS_ATTR_QUERY_MR_RESP_LENGTH, ATTR_OUT, ATTR_REQUIRED, 8},
	{UVERBS_ATTR_QUERY_MR_RESP_IOVA, ATTR_OUT, ATTR_OPTIONAL, 8},
};
static const struct attr_spec alloc_uar_attrs[] = {
	{MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, ATTR_IN, ATTR_REQUIRED, 4, 8},
	{MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, ATTR_OUT, ATTR_REQUIRED, 8},
	{MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, ATTR_OUT, ATTR_REQUIRED, 4},
	{MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, ATTR_OUT, ATTR_REQUIRED, 4},
};
static const struct attr_spec create_cq_attrs[] = {
	{UVERBS_ATTR_CREATE_CQ_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{UVERBS_ATTR_CREATE_CQ_CQE, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{UVERBS_ATTR_CREATE_CQ_USER_HANDLE, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, ATTR_FD, ATTR_OPTIONAL},
	{UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{UVERBS_ATTR_CREATE_CQ_FLAGS, ATTR_IN, ATTR_OPTIONAL, 4, 8},
	{UVERBS_ATTR_CREATE_CQ_RESP_CQE, ATTR_OUT, ATTR_REQUIRED, 4},
	{UVERBS_ATTR_CREATE_CQ_EVENT_FD, ATTR_FD, ATTR_OPTIONAL},
	{UVERBS_ATTR_UHW_IN, ATTR_IN, ATTR_REQUIRED, offsetof(struct mlx5_ib_create_cq, reserved1),
		sizeof(struct mlx5_ib_create_cq)},
	{UVERBS_ATTR_UHW_OUT, ATTR_OUT, ATTR_REQUIRED, 4},
};
static const struct attr_spec destroy_cq_attrs[] = {
	{UVERBS_ATTR_DESTROY_CQ_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_CQ},
	{UVERBS_ATTR_DESTROY_CQ_RESP, ATTR_OUT, ATTR_REQUIRED,
		sizeof(struct ib_uverbs_destroy_cq_resp)},
};
/* Indirection tables are not listed: naming one gets EPROTONOSUPPORT. */
static const struct attr_spec create_qp_attrs[] = {
	{UVERBS_ATTR_CREATE_QP_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, ATTR_OBJ, ATTR_OPTIONAL, .type = OBJ_XRCD},
	{UVERBS_ATTR_CREATE_QP_PD_HANDLE, ATTR_OBJ, ATTR_OPTIONAL, .type = OBJ_PD},
	{UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, ATTR_OBJ, ATTR_OPTIONAL, .type = OBJ_SRQ},
	{UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, ATTR_OBJ, ATTR_OPTIONAL, .type = OBJ_CQ},
	{UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, ATTR_OBJ, ATTR_OPTIONAL, .type = OBJ_CQ},
	{UVERBS_ATTR_CREATE_QP_USER_HANDLE, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{UVERBS_ATTR_CREATE_QP_CAP, ATTR_IN, ATTR_REQUIRED, sizeof(struct ib_uverbs_qp_cap),
		sizeof(struct ib_uverbs_qp_cap)},
	{UVERBS_ATTR_CREATE_QP_TYPE, ATTR_IN, ATTR_REQUIRED, 1, 8},
	{UVERBS_ATTR_CREATE_QP_FLAGS, ATTR_IN, ATTR_OPTIONAL, 4, 8},
	{UVERBS_ATTR_CREATE_QP_SOURCE_QPN, ATTR_IN, ATTR_OPTIONAL, 4, 4},
	{UVERBS_ATTR_CREATE_QP_EVENT_FD, ATTR_FD, ATTR_OPTIONAL},
	{UVERBS_ATTR_CREATE_QP_RESP_CAP, ATTR_OUT, ATTR_REQUIRED, sizeof(struct ib_uverbs_qp_cap)},
	{UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, ATTR_OUT, ATTR_REQUIRED, 4},
	{UVERBS_ATTR_UHW_IN, ATTR_IN, ATTR_REQUIRED, offsetof(struct mlx5_ib_create_qp, uidx),
		sizeof(struct mlx5_ib_create_qp)},
	{UVERBS_ATTR_UHW_OUT, ATTR_OUT, ATTR_REQUIRED, 4},
};
static const struct attr_spec destroy_qp_attrs[] = {
	{UVERBS_ATTR_DESTROY_QP_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_QP},
	{UVERBS_ATTR_DESTROY_QP_RESP, ATTR_OUT, ATTR_REQUIRED,
		sizeof(struct ib_uverbs_destroy_qp_resp)},
};

#define METHOD(object, method, handler, attrs)                                                     \
	{                                                                                          \
		object, method, false, handler, attrs, ARRAY_SIZE(attrs)                           \
	}

const struct uverbs_method object_methods[] = {
	METHOD(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, destroy_simple, destroy_pd_attrs),
	METHOD(UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, query_pd, query_pd_attrs),
	METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, destroy_simple, destroy_mr_attrs),
	METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, query_mr, query_mr_attrs),
	METHOD(UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, destroy_simple, destroy_ah_attrs),
	METHOD(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, alloc_uar, alloc_uar_attrs),
	METHOD(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, destroy_simple,
		destroy_uar_attrs),
	METHOD(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, create_cq, create_cq_attrs),
	METHOD(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, destroy_cq, destroy_cq_attrs),
	METHOD(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, uverbs_create_qp, create_qp_attrs),
	METHOD(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, uverbs_destroy_qp, destroy_qp_attrs),
};
const uint32_t n_object_methods = ARRAY_SIZE(object_methods);
