/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues: ibv_create_cq_ex(3), ibv_resize_cq(3), ibv_modify_cq(3). */
#include "uverbs_cq.h"

#include <errno.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "call.h"
#include "caps.h"
#include "mapped.h"

#define CQ_MODERATE 1U /* bit of ib_uverbs_ex_modify_cq.attr_mask: IBV_CQ_ATTR_MODERATE */
#define PAD         MLX5_IB_CREATE_CQ_FLAGS_CQE_128B_PAD

/*
 * Returns the number of entries in the buffer, as the kernel computes it: the requested number plus
 * 1, rounded up to a power of two. libmlx5 requests one entry less than its buffer has.
 */
static uint64_t
entries_of(uint32_t cqe)
{
	uint64_t n = 1;

	while (n < (uint64_t)cqe + 1)
		n *= 2;
	return n;
}

/* ---------------------------------------------------------------- creation and end */

/*
 * True if the format is valid. The mini CQEs of a CQ's receives have either a hash or a checksum.
 */
static bool
is_format(uint8_t format)
{
	return (format & ~CAPS_CQE_FORMATS) == 0 && (format & (format - 1)) == 0 && format != 0;
}

static int
check_create(struct uverbs_call *call, const struct mlx5_ib_create_cq *req, uint64_t entries)
{
	const struct softhca_config *cfg = call->ctx->dev->cfg;
	uint32_t flags = call_in_u32(call, UVERBS_ATTR_CREATE_CQ_FLAGS);
	uint32_t cqe = call_in_u32(call, UVERBS_ATTR_CREATE_CQ_CQE);

	if ((flags & ~(uint32_t)(IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION |
				 IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)) != 0)
		return -EINVAL;
	if ((req->flags | PAD) != (MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX | PAD) ||
		((req->flags & PAD) != 0 && req->cqe_size != 128))
		return -EOPNOTSUPP;
	if (req->cqe_comp_en > 1 || (req->cqe_comp_en == 1 && !is_format(req->cqe_comp_res_format)))
		return -EINVAL;
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

static void
show(struct object_cq *cq, uint64_t entries)
{
	if (cq->obj.shown == NULL)
		return;
	resource_set(&cq->obj.shown->cqe, (uint32_t)entries - 1);
	object_show(&cq->obj);
}

static int
answer(struct uverbs_call *call, const struct object_cq *cq, uint64_t entries)
{
	struct mlx5_ib_create_cq_resp mlx5 = {.cqn = softhca_cq_number(cq->cq)};
	uint32_t cqe = entries - 1;
	int rc;

	call_attr(call, UVERBS_ATTR_CREATE_CQ_HANDLE)->data = cq->obj.handle;
	rc = call_out(call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &cqe, sizeof(cqe));
	return rc != 0 ? rc : call_out(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
}

static int
create(struct uverbs_call *call)
{
	const struct mlx5_ib_create_cq *req = call_in(call, UVERBS_ATTR_UHW_IN);
	uint64_t entries = entries_of(call_in_u32(call, UVERBS_ATTR_CREATE_CQ_CQE));
	uint32_t flags = call_in_u32(call, UVERBS_ATTR_CREATE_CQ_FLAGS);
	struct event_file *comp, *async;
	struct softhca_cq_attr attr;
	struct object_cq *cq;
	int rc;

	rc = check_create(call, req, entries);
	if (rc == 0)
		rc = call_event_file(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, EVENT_COMP, &comp);
	if (rc == 0)
		rc = call_event_file(call, UVERBS_ATTR_CREATE_CQ_EVENT_FD, EVENT_ASYNC, &async);
	if (rc == 0 && uar_find_page(call->ctx, req->uar_page_index) == NULL)
		rc = -EINVAL;
	if (rc == 0)
		rc = object_create(call->ctx, &cq_class, &cq);
	if (rc != 0)
		return rc;
	cq->uar = uar_find_page(call->ctx, req->uar_page_index);
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
		.compress = req->cqe_comp_en == 1,
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
	rc = answer(call, cq, entries);
	if (rc != 0)
		(void)object_destroy(call->ctx, &cq->obj, NULL);
	else
		show(cq, entries);
	return rc;
}

int
cq_end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	struct object_cq *cq = (struct object_cq *)obj;
	int rc = softhca_cq_destroy(cq->cq);

	if (rc != 0)
		return rc;
	event_source_fini(&cq->event, &events->comp_read, &events->async_read);
	object_unuse(&cq->uar->obj);
	return 0;
}

uint32_t
cq_limit(const struct softhca_config *cfg)
{
	return cfg->max_cq;
}

static int
destroy(struct uverbs_call *call)
{
	struct object *obj = call_obj(call, UVERBS_ATTR_DESTROY_CQ_HANDLE);
	struct ib_uverbs_destroy_cq_resp resp = {0};
	struct object_events events = {0};
	int rc = object_destroy(call->ctx, obj, &events);

	if (rc != 0)
		return rc;
	resp.comp_events_reported = events.comp_read;
	resp.async_events_reported = events.async_read;
	return call_out(call, UVERBS_ATTR_DESTROY_CQ_RESP, &resp, sizeof(resp));
}

/* ---------------------------------------------------------------- changes */

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

static int
resize(struct uverbs_call *call)
{
	const struct ib_uverbs_resize_cq *req = call_in(call, UVERBS_ATTR_CORE_IN);
	const struct mlx5_ib_resize_cq *mlx5 = call_in(call, UVERBS_ATTR_UHW_IN);
	struct object_cq *cq = object_find(call->ctx, &cq_class, req->cq_handle);
	uint64_t entries = entries_of(req->cqe);
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
	/* As in the kernel, the buffer changes only if the number of entries changes. */
	if (entries != now.n_cqe) {
		softhca_settle(call->ctx->dev);
		rc = softhca_cq_resize(cq->cq, (void *)(uintptr_t)mlx5->buf_addr, entries,
			mlx5->cqe_size);
	}
	if (rc == 0)
		show(cq, entries);
	return rc != 0 ? rc : call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

static int
modify(struct uverbs_call *call)
{
	const struct ib_uverbs_ex_modify_cq *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct object_cq *cq = object_find(call->ctx, &cq_class, req->cq_handle);

	if (req->attr_mask == 0 || req->reserved != 0)
		return -EINVAL;
	if (req->attr_mask != CQ_MODERATE)
		return -EOPNOTSUPP;
	if (cq == NULL || req->attr.cq_period > CAPS_MAX_CQ_PERIOD)
		return -EINVAL;
	softhca_cq_moderate(cq->cq, req->attr.cq_count, req->attr.cq_period);
	return 0;
}

/* ---------------------------------------------------------------- the table */

static const struct attr_spec create_attrs[] = {
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
static const struct attr_spec destroy_attrs[] = {
	{UVERBS_ATTR_DESTROY_CQ_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &cq_class},
	{UVERBS_ATTR_DESTROY_CQ_RESP, ATTR_OUT, ATTR_REQUIRED,
		sizeof(struct ib_uverbs_destroy_cq_resp)},
};

static const struct uverbs_method methods[] = {
	{UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, false, create, create_attrs,
		ARRAY_SIZE(create_attrs)},
	{UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, false, destroy, destroy_attrs,
		ARRAY_SIZE(destroy_attrs)},
};
static const struct write_command writes[] = {
	{IB_USER_VERBS_CMD_RESIZE_CQ, sizeof(struct ib_uverbs_resize_cq), sizeof(uint32_t), resize},
	{WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_CQ), sizeof(struct ib_uverbs_ex_modify_cq), 0,
		modify},
};

const struct object_class cq_class = {
	.name = "CQ",
	.resource = RESOURCE_CQ,
	.size = sizeof(struct object_cq),
	.limit = cq_limit,
	.end = cq_end,
	CLASS_METHODS(methods),
	CLASS_WRITES(writes),
};
