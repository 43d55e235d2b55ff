/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions that an ioctl method registers, not a write() command: with a DMA handle, or over
 * a descriptor (DMABUF). ibv_reg_mr_ex(3), ibv_reg_dmabuf_mr(3).
 */
#include <errno.h>
#include <stddef.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "call.h"
#include "dmabuf.h"
#include "log.h"
#include "newer_uapi.h"
#include "uverbs_mr.h"

/*
 * The rights of a region over a descriptor. Memory windows and on-demand paging are not allowed
 * (uverbs_std_types_mr.c of the kernel).
 */
#define DMABUF_ACCESS                                                                              \
	(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |                            \
		IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC |                    \
		IB_UVERBS_ACCESS_RELAXED_ORDERING)

/* ---------------------------------------------------------------- over a descriptor */

/*
 * Called when the memory has ended: from then on, the region has no bytes. Its key exists until the
 * program destroys the region.
 */
static void
lose_memory(struct dmabuf_user *user)
{
	struct object_mr *mr =
		(struct object_mr *)((char *)user - offsetof(struct object_mr, dmabuf));
	struct softhca_mkey_attr empty = mr->attr;

	empty.addr = 0;
	empty.len = 0;
	if (softhca_mkey_modify(mr->mkey, &empty) != 0)
		softhca_log("out of memory: key 0x%x still reaches device memory that was freed",
			softhca_mkey_key(mr->mkey));
}

/*
 * Checks the attributes. Pages of the region's addresses must begin where pages of the descriptor
 * begin.
 */
static int
check_dmabuf(const struct softhca_mkey_attr *attr, uint64_t offset)
{
	const uint32_t remote_writes =
		IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC;
	uint64_t end;

	if ((attr->access & ~(uint32_t)DMABUF_ACCESS) != 0 ||
		((attr->access & remote_writes) != 0 &&
			(attr->access & IB_UVERBS_ACCESS_LOCAL_WRITE) == 0))
		return -EINVAL;
	if (attr->len == 0 || offset % CTX_PAGE != attr->iova % CTX_PAGE ||
		__builtin_add_overflow(attr->iova, attr->len, &end))
		return -EINVAL;
	return 0;
}

/* As mr_make(), but attr->addr is found by the descriptor. */
static int
make_over_dmabuf(struct uverbs_call *call, struct object_pd *pd, struct softhca_mkey_attr *attr,
	int fd, uint64_t offset, struct object *dmah, struct object_mr **mr)
{
	struct dmabuf *buf;
	void *at;
	int rc = check_dmabuf(attr, offset);

	if (rc != 0)
		return rc;
	dmabuf_lock();
	rc = dmabuf_find(fd, offset, attr->len, &buf, &at);
	if (rc == 0) {
		attr->addr = (uintptr_t)at;
		rc = mr_make_unchecked(call->ctx, pd, attr, dmah, mr);
	}
	if (rc == 0) {
		(*mr)->dmabuf.revoked = lose_memory;
		dmabuf_attach(buf, &(*mr)->dmabuf);
	}
	dmabuf_unlock();
	return rc;
}

/* ---------------------------------------------------------------- methods */

static int
answer(struct uverbs_call *call, struct object_mr *mr, uint16_t handle, uint16_t lkey,
	uint16_t rkey)
{
	uint32_t key = softhca_mkey_key(mr->mkey);
	int rc;

	call_attr(call, handle)->data = mr->obj.handle;
	rc = call_out(call, lkey, &key, sizeof(key));
	if (rc == 0)
		rc = call_out(call, rkey, &key, sizeof(key));
	if (rc != 0)
		(void)object_destroy(call->ctx, &mr->obj, NULL);
	else
		mr_show(mr);
	return rc;
}

static int
reg_dmabuf(struct uverbs_call *call)
{
	struct softhca_mkey_attr attr = {.access = call_in_u32(call,
						 UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS),
		.iova = call_in_u64(call, UVERBS_ATTR_REG_DMABUF_MR_IOVA),
		.len = call_in_u64(call, UVERBS_ATTR_REG_DMABUF_MR_LENGTH)};
	struct object_mr *mr;
	int rc;

	/* Data direct, a second path to the memory, does not exist here. */
	if (call_in_u32(call, NEWER_ATTR_REG_DMABUF_MR_FLAGS) != 0)
		return -EINVAL;
	rc = make_over_dmabuf(call, call_obj(call, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE), &attr,
		(int)call_in_u32(call, UVERBS_ATTR_REG_DMABUF_MR_FD),
		call_in_u64(call, UVERBS_ATTR_REG_DMABUF_MR_OFFSET), NULL, &mr);
	return rc != 0 ? rc
		       : answer(call, mr, UVERBS_ATTR_REG_DMABUF_MR_HANDLE,
				 UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY,
				 UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY);
}

/* Registers memory by address or by descriptor. Newer libraries use this method for both. */
static int
reg(struct uverbs_call *call)
{
	struct object_pd *pd = call_obj(call, NEWER_ATTR_REG_MR_PD);
	struct object *dmah = call_obj(call, NEWER_ATTR_REG_MR_DMAH);
	struct softhca_mkey_attr attr = {.access = call_in_u32(call, NEWER_ATTR_REG_MR_ACCESS),
		.addr = call_in_u64(call, NEWER_ATTR_REG_MR_ADDR),
		.iova = call_in_u64(call, NEWER_ATTR_REG_MR_IOVA),
		.len = call_in_u64(call, NEWER_ATTR_REG_MR_LENGTH)};
	bool by_fd = call_has(call, NEWER_ATTR_REG_MR_FD);
	struct object_mr *mr;
	int rc;

	/* As in mlx5_ib, a region with a DMA handle cannot be on demand. */
	if (dmah != NULL && (attr.access & IB_UVERBS_ACCESS_ON_DEMAND) != 0)
		return -EOPNOTSUPP;
	if (by_fd != call_has(call, NEWER_ATTR_REG_MR_FD_OFFSET) ||
		by_fd == call_has(call, NEWER_ATTR_REG_MR_ADDR))
		return -EINVAL;
	if (by_fd)
		rc = make_over_dmabuf(call, pd, &attr,
			(int)call_attr(call, NEWER_ATTR_REG_MR_FD)->data,
			call_in_u64(call, NEWER_ATTR_REG_MR_FD_OFFSET), dmah, &mr);
	else
		rc = mr_make(call->ctx, pd, &attr, dmah, &mr);
	return rc != 0 ? rc
		       : answer(call, mr, NEWER_ATTR_REG_MR_HANDLE, NEWER_ATTR_REG_MR_LKEY,
				 NEWER_ATTR_REG_MR_RKEY);
}

static const struct attr_spec reg_attrs[] = {
	{NEWER_ATTR_REG_MR_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{NEWER_ATTR_REG_MR_PD, ATTR_OBJ, ATTR_REQUIRED, .cls = &pd_class},
	{NEWER_ATTR_REG_MR_DMAH, ATTR_OBJ, ATTR_OPTIONAL, .cls = &dmah_class},
	{NEWER_ATTR_REG_MR_IOVA, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{NEWER_ATTR_REG_MR_ADDR, ATTR_IN, ATTR_OPTIONAL, 8, 8},
	{NEWER_ATTR_REG_MR_LENGTH, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{NEWER_ATTR_REG_MR_ACCESS, ATTR_IN, ATTR_REQUIRED, 4, 8},
	{NEWER_ATTR_REG_MR_FD, ATTR_FD, ATTR_OPTIONAL},
	{NEWER_ATTR_REG_MR_FD_OFFSET, ATTR_IN, ATTR_OPTIONAL, 8, 8},
	{NEWER_ATTR_REG_MR_LKEY, ATTR_OUT, ATTR_REQUIRED, 4},
	{NEWER_ATTR_REG_MR_RKEY, ATTR_OUT, ATTR_REQUIRED, 4},
};
static const struct attr_spec dmabuf_attrs[] = {
	{UVERBS_ATTR_REG_DMABUF_MR_HANDLE, ATTR_NEW_OBJ, ATTR_REQUIRED},
	{UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &pd_class},
	{UVERBS_ATTR_REG_DMABUF_MR_OFFSET, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{UVERBS_ATTR_REG_DMABUF_MR_LENGTH, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{UVERBS_ATTR_REG_DMABUF_MR_IOVA, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{UVERBS_ATTR_REG_DMABUF_MR_FD, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, ATTR_IN, ATTR_REQUIRED, 4, 8},
	{NEWER_ATTR_REG_DMABUF_MR_FLAGS, ATTR_IN, ATTR_OPTIONAL, 4, 8},
	{UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, ATTR_OUT, ATTR_REQUIRED, 4},
	{UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, ATTR_OUT, ATTR_REQUIRED, 4},
};

static const struct uverbs_method methods[] = {
	{UVERBS_OBJECT_MR, NEWER_METHOD_REG_MR, false, reg, reg_attrs, ARRAY_SIZE(reg_attrs)},
	{UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, false, reg_dmabuf, dmabuf_attrs,
		ARRAY_SIZE(dmabuf_attrs)},
};

const struct object_class reg_mr_class = {.name = "MR registration", CLASS_METHODS(methods)};
