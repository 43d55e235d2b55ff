/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors of device memory and of UAR pages: ibv_dm_export_dmabuf_fd(3),
 * mlx5dv_devx_uar_export_dmabuf_fd(3). Rules: the kernel's uverbs_std_types_dmabuf.c.
 */
#include "dmabuf.h"

#include <errno.h>

#include "call.h"
#include "dm.h"
#include "newer_uapi.h"

/*
 * Returns the adapter's address of device memory. Returns NULL for other memory, because no region
 * can be over it: a work request cannot write a doorbell here.
 */
static void *
adapter_address(const struct softhca_ctx *ctx, const struct object_range *range)
{
	if (range->offset < CTX_DM_OFFSET || range->offset >= CTX_DM_OFFSET + DM_LEN)
		return NULL;
	return ctx->dm + (range->offset - CTX_DM_OFFSET);
}

/*
 * Exports the memory of an object. The call identifies the object by the offset at which the
 * program maps its memory.
 */
static int export(struct uverbs_call *call)
{
	uint64_t offset = call_in_u64(call, NEWER_ATTR_DMABUF_PGOFF);
	struct softhca_ctx *ctx = call->ctx;

	for (uint32_t i = 1; i < ctx->n_objects; i++) {
		struct object *obj = object_find(ctx, NULL, i);
		struct object_range range;
		int fd, rc;

		if (obj == NULL || obj->cls->range == NULL)
			continue;
		range = obj->cls->range(obj);
		if (range.offset / CTX_PAGE != offset / CTX_PAGE)
			continue;
		rc = dmabuf_export(obj, adapter_address(ctx, &range), range.len, &fd);
		if (rc == 0)
			call_attr(call, NEWER_ATTR_DMABUF_HANDLE)->data = (uint64_t)fd;
		return rc;
	}
	return -EINVAL;
}

static const struct attr_spec export_attrs[] = {
	{NEWER_ATTR_DMABUF_HANDLE, ATTR_NEW_FD, ATTR_REQUIRED},
	{NEWER_ATTR_DMABUF_PGOFF, ATTR_IN, ATTR_REQUIRED, 8, 8},
};

static const struct uverbs_method methods[] = {
	{NEWER_OBJECT_DMABUF, NEWER_METHOD_DMABUF_ALLOC, false, export, export_attrs,
		ARRAY_SIZE(export_attrs)},
};

const struct object_class dmabuf_class = {.name = "DMABUF", CLASS_METHODS(methods)};
