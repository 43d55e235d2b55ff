/* SPDX-License-Identifier: BSD-3-Clause */
/* UAR pages: mlx5dv_devx_alloc_uar(3). */
#include "uverbs_uar.h"

#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "bitmap.h"
#include "call.h"
#include "fork_lock.h"
#include "hca.h"

struct object_uar *
uar_find_page(struct softhca_ctx *ctx, uint32_t page_id)
{
	for (uint32_t i = 1; i < ctx->n_objects; i++) {
		struct object_uar *uar = object_find(ctx, &uar_class, i);

		if (uar != NULL && uar->page_id == page_id)
			return uar;
	}
	return NULL;
}

int
uar_take_page(struct softhca_ctx *ctx)
{
	for (uint32_t i = 1; i < CTX_MAX_UARS; i++) {
		if (bitmap_has(ctx->uar_used, i))
			continue;
		bitmap_add(ctx->uar_used, i);
		memset(ctx->bar + i * CTX_PAGE, 0, CTX_PAGE);
		return i;
	}
	return -ENOSPC;
}

void
uar_give_page(struct softhca_ctx *ctx, uint32_t page_id)
{
	bitmap_remove(ctx->uar_used, page_id);
}

static int
answer(struct uverbs_call *call, const struct object_uar *uar)
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
alloc(struct uverbs_call *call)
{
	uint64_t type = call_in_u64(call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE);
	struct softhca_ctx *ctx = call->ctx;
	struct object_uar *uar;
	int page, rc;

	/*
	 * With the setting bf_reg_size = 0 there are no BlueFlame pages. The kernel returns the
	 * same error if write combining does not work.
	 */
	if (type > MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC ||
		(type == MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF && ctx->dev->cfg->bf_reg_size == 0))
		return -EOPNOTSUPP;
	page = uar_take_page(ctx);
	if (page < 0)
		return page;
	rc = object_create(ctx, &uar_class, &uar);
	if (rc != 0) {
		uar_give_page(ctx, page);
		return rc;
	}
	uar->page_id = page;
	rc = softhca_uar_create(ctx->dev, ctx->bar + page * CTX_PAGE, page,
		type == MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF ? SOFTHCA_UAR_BF : SOFTHCA_UAR_NC,
		&uar->uar);
	if (rc != 0) {
		uar_give_page(ctx, page);
		object_forget(ctx, &uar->obj);
		return rc;
	}
	rc = answer(call, uar);
	if (rc != 0)
		(void)object_destroy(ctx, &uar->obj, NULL);
	return rc;
}

static int
end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	struct object_uar *uar = (struct object_uar *)obj;
	int rc;

	softhca_unwatch(ctx->bar + (size_t)uar->page_id * CTX_PAGE);
	rc = softhca_uar_destroy(uar->uar);
	if (rc == 0)
		uar_give_page(ctx, uar->page_id);
	return rc;
}

static struct object_range
range(const struct object *obj)
{
	uint32_t page = ((const struct object_uar *)obj)->page_id;

	return (struct object_range){CTX_UAR_OFFSET + (uint64_t)page * CTX_PAGE, CTX_PAGE};
}

/* Pages that do not exist are not watched. */
void
uverbs_mapped(struct softhca_ctx *ctx, void *at, size_t len, uint64_t offset)
{
	fork_lock(&ctx->lock);
	for (size_t i = 0; !ctx->dead && i < len; i += CTX_PAGE) {
		uint64_t page = (offset + i) / CTX_PAGE;
		const uint32_t id = (uint32_t)(page - CTX_UAR_OFFSET / CTX_PAGE);
		struct object_uar *uar;

		if (page == CTX_CORE_CLOCK_OFFSET / CTX_PAGE)
			softhca_watch_clock(ctx->dev, ctx->clock, (char *)at + i);
		if (page < CTX_UAR_OFFSET / CTX_PAGE || id >= CTX_MAX_UARS ||
			!bitmap_has(ctx->uar_used, id))
			continue;
		uar = uar_find_page(ctx, id);
		if (uar != NULL)
			softhca_watch_uar(uar->uar, (char *)at + i);
	}
	fork_unlock(&ctx->lock);
}

static const struct attr_spec alloc_attrs[] = {
	{MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, ATTR_IN, ATTR_REQUIRED, 4, 8},
	{MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, ATTR_OUT, ATTR_REQUIRED, 8},
	{MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, ATTR_OUT, ATTR_REQUIRED, 4},
	{MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, ATTR_OUT, ATTR_REQUIRED, 4},
};
static const struct attr_spec destroy_attrs[] = {
	{MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &uar_class},
};

static const struct uverbs_method methods[] = {
	{MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, false, alloc, alloc_attrs,
		ARRAY_SIZE(alloc_attrs)},
	{MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, false, call_destroy, destroy_attrs,
		ARRAY_SIZE(destroy_attrs)},
};

const struct object_class uar_class = {
	.name = "UAR",
	.size = sizeof(struct object_uar),
	.end = end,
	.range = range,
	CLASS_METHODS(methods),
};
