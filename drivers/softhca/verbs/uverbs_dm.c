/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device memory for the program: ibv_alloc_dm(3), mlx5dv_alloc_dm(3), ibv_import_dm(3), and regions
 * over device memory. Rules: the kernel's uverbs_std_types_dm.c, uverbs_std_types_mr.c and
 * drivers/infiniband/hw/mlx5/dm.c.
 */
#include <errno.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "call.h"
#include "dm.h"
#include "dm_op.h"
#include "uverbs_mr.h"

/*
 * The rights of a region over device memory. Memory windows and on-demand paging are not allowed.
 */
#define DM_ACCESS                                                                                  \
	(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |                            \
		IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC |                    \
		IB_UVERBS_ACCESS_ZERO_BASED | IB_UVERBS_ACCESS_OPTIONAL_RANGE)

struct object_dm {
	struct object obj;
	uint64_t len; /* requested bytes; the object has all bytes of its pages */
	uint32_t first_page;
	/* process that allocated it; a child of fork() does not free its parent's pages */
	pid_t owner;
};

/*
 * Returns the number of the first page, and the offset in this page, to the program. libmlx5 maps
 * the memory by this number.
 */
static int
answer_place(struct uverbs_call *call, uint16_t index, uint16_t index_id, uint16_t offset_id)
{
	uint64_t offset = 0;
	int rc = call_out(call, index_id, &index, sizeof(index));

	return rc != 0 ? rc : call_out(call, offset_id, &offset, sizeof(offset));
}

static int
check_alloc(struct uverbs_call *call, uint64_t len)
{
	/* All other types are memory of a flow steering engine, which is not emulated. */
	if (call_in_u64(call, MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE) != MLX5_IB_UAPI_DM_TYPE_MEMIC ||
		call->ctx->dev->cfg->max_dm == 0)
		return -EOPNOTSUPP;
	if (len == 0 || call_in_u32(call, UVERBS_ATTR_ALLOC_DM_ALIGNMENT) > DM_LOG_MAX_ALIGN)
		return -EINVAL;
	return len > call->ctx->dev->cfg->max_dm ? -ENOMEM : 0;
}

static int
alloc_dm(struct uverbs_call *call)
{
	uint64_t len = call_in_u64(call, UVERBS_ATTR_ALLOC_DM_LENGTH);
	struct object_dm *dm;
	int page, rc = check_alloc(call, len);

	if (rc == 0)
		rc = object_create(call->ctx, &dm_class, &dm);
	if (rc != 0)
		return rc;
	page = dm_take(call->ctx, dm_pages(len));
	if (page < 0) {
		object_forget(call->ctx, &dm->obj);
		return page;
	}
	dm->len = len;
	dm->first_page = page;
	dm->owner = getpid();
	call_attr(call, UVERBS_ATTR_ALLOC_DM_HANDLE)->data = dm->obj.handle;
	rc = answer_place(call, dm_number(0, dm->first_page), MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX,
		MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET);
	if (rc != 0)
		(void)object_destroy(call->ctx, &dm->obj, NULL);
	return rc;
}

static int
end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	struct object_dm *dm = (struct object_dm *)obj;

	if (dm->owner != getpid())
		return -EIO;
	dm_give(ctx, dm->first_page, dm_pages(dm->len));
	return 0;
}

static struct object_range
range(const struct object *obj)
{
	const struct object_dm *dm = (const struct object_dm *)obj;

	return (struct object_range){CTX_DM_OFFSET + (uint64_t)dm->first_page * CTX_PAGE,
		(uint64_t)dm_pages(dm->len) * CTX_PAGE};
}

static int
query_dm(struct uverbs_call *call)
{
	struct object_dm *dm = call_obj(call, MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE);
	int rc = answer_place(call, dm_number(0, dm->first_page),
		MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET);

	return rc != 0 ? rc
		       : call_out(call, MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, &dm->len,
				 sizeof(dm->len));
}

/* Gives the program addresses at which a load or a store is an operation on this memory. */
static int
map_op_addr(struct uverbs_call *call)
{
	struct object_dm *dm = call_obj(call, MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE);
	const uint8_t *op = call_in(call, MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP);
	int rc = dm_op_begin(*op);

	return rc != 0 ? rc
		       : answer_place(call, dm_number(1 + *op, dm->first_page),
				 MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX,
				 MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET);
}

/* ---------------------------------------------------------------- regions */

static int
check_region(const struct object_dm *dm, uint64_t access, uint64_t offset, uint64_t len)
{
	const uint64_t remote_writes =
		IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC;

	if ((access & ~(uint64_t)DM_ACCESS) != 0 || (access & IB_UVERBS_ACCESS_ZERO_BASED) == 0)
		return -EINVAL;
	if ((access & remote_writes) != 0 && (access & IB_UVERBS_ACCESS_LOCAL_WRITE) == 0)
		return -EINVAL;
	return offset > dm->len || len > dm->len - offset ? -EINVAL : 0;
}

static int
answer_region(struct uverbs_call *call, const struct object_mr *mr)
{
	uint32_t key = softhca_mkey_key(mr->mkey);
	int rc;

	call_attr(call, UVERBS_ATTR_REG_DM_MR_HANDLE)->data = mr->obj.handle;
	rc = call_out(call, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, &key, sizeof(key));
	return rc != 0 ? rc : call_out(call, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, &key, sizeof(key));
}

static int
reg_dm_mr(struct uverbs_call *call)
{
	struct object_dm *dm = call_obj(call, UVERBS_ATTR_REG_DM_MR_DM_HANDLE);
	struct object_pd *pd = call_obj(call, UVERBS_ATTR_REG_DM_MR_PD_HANDLE);
	uint64_t access = call_in_u64(call, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS);
	uint64_t offset = call_in_u64(call, UVERBS_ATTR_REG_DM_MR_OFFSET);
	uint64_t len = call_in_u64(call, UVERBS_ATTR_REG_DM_MR_LENGTH);
	struct object_mr *mr;
	int rc = check_region(dm, access, offset, len);

	if (rc == 0)
		rc = object_create(call->ctx, &mr_class, &mr);
	if (rc != 0)
		return rc;
	/* The region is zero-based: its first byte has address 0 in work requests. */
	mr->attr = (struct softhca_mkey_attr){.pdn = pd->pdn,
		.access = access,
		.addr = (uintptr_t)dm_page(call->ctx, dm->first_page) + offset,
		.len = len};
	rc = softhca_mkey_create(call->ctx->dev, &mr->attr, &mr->mkey);
	if (rc != 0) {
		object_forget(call->ctx, &mr->obj);
		return rc;
	}
	mr->pd = pd;
	mr->dm = &dm->obj;
	object_use(&pd->obj);
	object_use(&dm->obj);
	rc = answer_region(call, mr);
	if (rc != 0)
		(void)object_destroy(call->ctx, &mr->obj, NULL);
	else
		mr_show(mr);
	return rc;
}

/* ---------------------------------------------------------------- the tables */

static const struct attr_spec alloc_attrs[] = {
	{UVERBS_ATTR_ALLOC_DM_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{UVERBS_ATTR_ALLOC_DM_LENGTH, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{UVERBS_ATTR_ALLOC_DM_ALIGNMENT, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, ATTR_OUT, ATTR_REQUIRED, 8},
	{MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, ATTR_OUT, ATTR_REQUIRED, 2},
	{MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, ATTR_IN, ATTR_OPTIONAL, 8, 8},
};
static const struct attr_spec free_attrs[] = {
	{UVERBS_ATTR_FREE_DM_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &dm_class},
};
static const struct attr_spec query_attrs[] = {
	{MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &dm_class},
	{MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, ATTR_OUT, ATTR_REQUIRED, 8},
	{MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, ATTR_OUT, ATTR_REQUIRED, 2},
	{MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, ATTR_OUT, ATTR_REQUIRED, 8},
};
static const struct attr_spec map_op_attrs[] = {
	{MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &dm_class},
	{MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, ATTR_IN, ATTR_REQUIRED, 1, 1},
	{MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET, ATTR_OUT, ATTR_REQUIRED, 8},
	{MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX, ATTR_OUT, ATTR_REQUIRED, 2},
};
static const struct attr_spec reg_attrs[] = {
	{UVERBS_ATTR_REG_DM_MR_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{UVERBS_ATTR_REG_DM_MR_OFFSET, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{UVERBS_ATTR_REG_DM_MR_LENGTH, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{UVERBS_ATTR_REG_DM_MR_PD_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &pd_class},
	{UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, ATTR_IN, ATTR_OPTIONAL, 4, 8},
	{UVERBS_ATTR_REG_DM_MR_DM_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &dm_class},
	{UVERBS_ATTR_REG_DM_MR_RESP_LKEY, ATTR_OUT, ATTR_REQUIRED, 4},
	{UVERBS_ATTR_REG_DM_MR_RESP_RKEY, ATTR_OUT, ATTR_REQUIRED, 4},
};

static const struct uverbs_method methods[] = {
	{UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, false, alloc_dm, alloc_attrs,
		ARRAY_SIZE(alloc_attrs), .after_fork = true},
	{UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE, false, call_destroy, free_attrs,
		ARRAY_SIZE(free_attrs), .after_fork = true},
	{UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, false, query_dm, query_attrs,
		ARRAY_SIZE(query_attrs), .after_fork = true},
	{UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR, false, map_op_addr, map_op_attrs,
		ARRAY_SIZE(map_op_attrs), .after_fork = true},
	{UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG, false, reg_dm_mr, reg_attrs,
		ARRAY_SIZE(reg_attrs)},
};

const struct object_class dm_class = {
	.name = "device memory",
	.size = sizeof(struct object_dm),
	.end = end,
	.range = range,
	CLASS_METHODS(methods),
};
