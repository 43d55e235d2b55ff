/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Doorbell pages of virtio queues: mlx5dv_alloc_var(3). The adapter has no such queues. So the
 * program gets a page that it can map, and a doorbell in this page has no effect.
 */
#include <errno.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "call.h"
#include "ctx.h"
#include "newer_uapi.h"
#include "uverbs_uar.h"

struct object_var {
	struct object obj;
	uint32_t page_id; /* index in the range of UAR pages */
};

static int
answer(struct uverbs_call *call, const struct object_var *var)
{
	uint64_t offset = CTX_UAR_OFFSET + (uint64_t)var->page_id * CTX_PAGE;
	uint32_t len = CTX_PAGE;
	int rc;

	call_attr(call, MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE)->data = var->obj.handle;
	rc = call_out(call, MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
	if (rc == 0)
		rc = call_out(call, MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH, &len, sizeof(len));
	if (rc == 0)
		rc = call_out(call, MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID, &var->page_id,
			sizeof(var->page_id));
	return rc;
}

static int
alloc(struct uverbs_call *call)
{
	struct object_var *var;
	int page, rc;

	/*
	 * The only flag requests pages of a PCI device whose accesses (TLPs) are emulated. This
	 * adapter does not support such pages.
	 */
	if (call_in_u32(call, NEWER_ATTR_VAR_ALLOC_FLAGS) != 0)
		return -EOPNOTSUPP;
	page = uar_take_page(call->ctx);
	if (page < 0)
		return page;
	rc = object_create(call->ctx, &var_class, &var);
	if (rc != 0) {
		uar_give_page(call->ctx, (uint32_t)page);
		return rc;
	}
	var->page_id = (uint32_t)page;
	rc = answer(call, var);
	if (rc != 0)
		(void)object_destroy(call->ctx, &var->obj, NULL);
	return rc;
}

static int
end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	(void)events;
	uar_give_page(ctx, ((struct object_var *)obj)->page_id);
	return 0;
}

static struct object_range
range(const struct object *obj)
{
	uint32_t page = ((const struct object_var *)obj)->page_id;

	return (struct object_range){CTX_UAR_OFFSET + (uint64_t)page * CTX_PAGE, CTX_PAGE};
}

static const struct attr_spec alloc_attrs[] = {
	{MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET, ATTR_OUT, ATTR_REQUIRED, 8},
	{MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH, ATTR_OUT, ATTR_REQUIRED, 4},
	{MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID, ATTR_OUT, ATTR_REQUIRED, 4},
	{NEWER_ATTR_VAR_ALLOC_FLAGS, ATTR_IN, ATTR_OPTIONAL, 4, 8},
};
static const struct attr_spec destroy_attrs[] = {
	{MLX5_IB_ATTR_VAR_OBJ_DESTROY_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &var_class},
};

static const struct uverbs_method methods[] = {
	{MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_ALLOC, false, alloc, alloc_attrs,
		ARRAY_SIZE(alloc_attrs)},
	{MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_DESTROY, false, call_destroy, destroy_attrs,
		ARRAY_SIZE(destroy_attrs)},
};

const struct object_class var_class = {
	.name = "VAR",
	.size = sizeof(struct object_var),
	.end = end,
	.range = range,
	CLASS_METHODS(methods),
};
