/* SPDX-License-Identifier: BSD-3-Clause */
/* User memory (umem). */
#include "devx_umem.h"

#include <errno.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "call.h"
#include "devx_refuse.h"
#include "mapped.h"

int
umem_find(struct softhca_ctx *ctx, const struct umem_range *range, struct object_umem **umem,
	void **at)
{
	struct object_umem *found = object_find(ctx, &umem_class, range->id);

	if (found == NULL || (range->written && !found->writable))
		return DEVX_REFUSE(DEVX_BAD_RES, range->bit);
	if (range->offset > found->len || range->len > found->len - range->offset ||
		(found->addr + range->offset) % range->align != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, range->bit);
	*umem = found;
	*at = (void *)(uintptr_t)(found->addr + range->offset);
	return 0;
}

static int
check(struct uverbs_call *call, uint64_t addr, uint64_t len, uint32_t access)
{
	const uint32_t known = IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |
			       IB_UVERBS_ACCESS_REMOTE_READ;
	uint64_t end;

	if ((access & ~known) != 0 || ((access & IB_UVERBS_ACCESS_REMOTE_WRITE) != 0 &&
					      (access & IB_UVERBS_ACCESS_LOCAL_WRITE) == 0))
		return -EINVAL;
	/* At least one of the page sizes that the program allows must be 4 KiB or more. */
	if (call_has(call, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP) &&
		call_in_u64(call, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP) < CTX_PAGE)
		return -EINVAL;
	if (len == 0 || __builtin_add_overflow(addr, len, &end))
		return -EINVAL;
	return memory_is_mapped(addr, len, (access & IB_UVERBS_ACCESS_LOCAL_WRITE) != 0) ? 0
											 : -EFAULT;
}

static int
reg(struct uverbs_call *call)
{
	uint64_t addr = call_in_u64(call, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR);
	uint64_t len = call_in_u64(call, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN);
	uint32_t access = call_in_u32(call, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS);
	struct object_umem *umem;
	int rc = check(call, addr, len, access);

	if (rc == 0)
		rc = object_create(call->ctx, &umem_class, &umem);
	if (rc != 0)
		return rc;
	umem->addr = addr;
	umem->len = len;
	umem->writable = (access & IB_UVERBS_ACCESS_LOCAL_WRITE) != 0;
	call_attr(call, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE)->data = umem->obj.handle;
	/* Each context has its own numbers of umems, as each user context of the firmware has. */
	rc = call_out(call, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &umem->obj.handle,
		sizeof(umem->obj.handle));
	if (rc != 0)
		(void)object_destroy(call->ctx, &umem->obj, NULL);
	return rc;
}

static int
end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	return 0;
}

static const struct attr_spec reg_attrs[] = {
	{MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, ATTR_IN, ATTR_OPTIONAL, 4, 8},
	{MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, ATTR_OUT, ATTR_REQUIRED, 4},
	{MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, ATTR_IN, ATTR_OPTIONAL, 8, 8},
};
static const struct attr_spec dereg_attrs[] = {
	{MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &umem_class},
};

static const struct uverbs_method methods[] = {
	{MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG, false, reg, reg_attrs,
		ARRAY_SIZE(reg_attrs)},
	{MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG, false, call_destroy, dereg_attrs,
		ARRAY_SIZE(dereg_attrs)},
};

const struct object_class umem_class = {
	.name = "user memory",
	.size = sizeof(struct object_umem),
	.end = end,
	CLASS_METHODS(methods),
};
