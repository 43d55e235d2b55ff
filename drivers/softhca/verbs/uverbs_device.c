/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods of the device itself: contexts, ports, GIDs, and files for async events. */
#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "caps.h"
#include "uverbs.h"

static int
get_context(struct uverbs_call *call)
{
	struct mlx5_ib_alloc_ucontext_resp resp;
	uint32_t vectors = CAPS_COMP_VECTORS;
	uint64_t core = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
	struct mlx5_ib_alloc_ucontext_req_v2 req;
	int rc;

	if (call->ctx->opened)
		return -EINVAL;
	memcpy(&req, call_in(call, UVERBS_ATTR_UHW_IN), sizeof(req));
	/* Older libraries know neither DEVX nor allocated UARs, and there are no static ones. */
	if ((req.flags & ~(uint32_t)MLX5_IB_ALLOC_UCTX_DEVX) != 0 || req.comp_mask != 0 ||
		(req.lib_caps & MLX5_LIB_CAP_DYN_UAR) == 0 || req.max_cqe_version < 1)
		return -EINVAL;
	caps_ucontext(call->ctx->dev, &resp);
	rc = call_out(call, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, &vectors, sizeof(vectors));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, &core, sizeof(core));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	call->ctx->opened = rc == 0;
	return rc;
}

static int
query_context(struct uverbs_call *call)
{
	struct mlx5_ib_alloc_ucontext_resp resp;
	uint32_t vectors = CAPS_COMP_VECTORS;
	uint64_t core = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
	int rc;

	caps_ucontext(call->ctx->dev, &resp);
	rc = call_out(call, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, &vectors, sizeof(vectors));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, &core, sizeof(core));
	if (rc == 0)
		rc = call_out(call, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, &resp, sizeof(resp));
	return rc;
}

static int
query_port(struct uverbs_call *call)
{
	uint64_t port = call_in_u64(call, UVERBS_ATTR_QUERY_PORT_PORT_NUM);
	struct ib_uverbs_query_port_resp_ex resp;
	int rc = port > UINT8_MAX ? -EINVAL : caps_query_port(call->ctx->dev, port, &resp);

	return rc != 0 ? rc : call_out(call, UVERBS_ATTR_QUERY_PORT_RESP, &resp, sizeof(resp));
}

/* No switchdev, so no vport: only that the port exists. */
static int
query_port_mlx5(struct uverbs_call *call)
{
	uint32_t port = call_in_u32(call, MLX5_IB_ATTR_QUERY_PORT_PORT_NUM);
	struct mlx5_ib_uapi_query_port resp = {0};

	if (port == 0 || port > call->ctx->dev->cfg->ports)
		return -EINVAL;
	return call_out(call, MLX5_IB_ATTR_QUERY_PORT, &resp, sizeof(resp));
}

static int
query_gid_entry(struct uverbs_call *call)
{
	struct ib_uverbs_gid_entry entry;
	int rc;

	if (call_in_u32(call, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS) != 0)
		return -EINVAL;
	rc = caps_gid(call->ctx->dev, call_in_u32(call, UVERBS_ATTR_QUERY_GID_ENTRY_PORT),
		call_in_u32(call, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX), &entry);
	if (rc != 0)
		return rc;
	return call_out(call, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, &entry, sizeof(entry));
}

static int
query_gid_table(struct uverbs_call *call)
{
	uint64_t entry_len = call_in_u64(call, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE);
	struct attr_value *out = call_attr(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
	struct ib_uverbs_gid_entry found[SOFTHCA_MAX_PORTS * CAPS_GID_TABLE_LEN];
	uint64_t n = 0;
	int rc;

	if (call_in_u32(call, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS) != 0 ||
		entry_len != sizeof(found[0]))
		return -EINVAL;
	for (uint32_t port = 1; port <= call->ctx->dev->cfg->ports; port++)
		for (uint32_t i = 0; i < CAPS_GID_TABLE_LEN; i++)
			if (caps_gid(call->ctx->dev, port, i, &found[n]) == 0)
				n++;
	if (n * entry_len > out->len)
		return -EINVAL;
	rc = call_out(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, found, n * entry_len);
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &n, sizeof(n));
	return rc;
}

static int
alloc_async_event(struct uverbs_call *call)
{
	int fd, rc = ctx_add_file(call->ctx, true, &fd);

	if (rc == 0)
		call_attr(call, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE)->data = fd;
	return rc;
}

static const struct attr_spec get_context_attrs[] = {
	{UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, ATTR_OUT, ATTR_OPTIONAL, 4},
	{UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, ATTR_OUT, ATTR_OPTIONAL, 8},
	{UVERBS_ATTR_UHW_IN, ATTR_IN, ATTR_REQUIRED, 8,
		sizeof(struct mlx5_ib_alloc_ucontext_req_v2)},
	{UVERBS_ATTR_UHW_OUT, ATTR_OUT, ATTR_REQUIRED, 0},
};
static const struct attr_spec query_context_attrs[] = {
	{UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, ATTR_OUT, ATTR_REQUIRED, 4},
	{UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, ATTR_OUT, ATTR_REQUIRED, 8},
	{MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, ATTR_OUT, ATTR_OPTIONAL, 0},
};
static const struct attr_spec query_port_attrs[] = {
	{UVERBS_ATTR_QUERY_PORT_PORT_NUM, ATTR_IN, ATTR_REQUIRED, 1, 8},
	{UVERBS_ATTR_QUERY_PORT_RESP, ATTR_OUT, ATTR_REQUIRED,
		sizeof(struct ib_uverbs_query_port_resp)},
};
static const struct attr_spec query_port_mlx5_attrs[] = {
	{MLX5_IB_ATTR_QUERY_PORT_PORT_NUM, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{MLX5_IB_ATTR_QUERY_PORT, ATTR_OUT, ATTR_REQUIRED, 8},
};
static const struct attr_spec query_gid_entry_attrs[] = {
	{UVERBS_ATTR_QUERY_GID_ENTRY_PORT, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, ATTR_IN, ATTR_OPTIONAL, 4, 8},
	{UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, ATTR_OUT, ATTR_REQUIRED,
		sizeof(struct ib_uverbs_gid_entry)},
};
static const struct attr_spec query_gid_table_attrs[] = {
	{UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, ATTR_IN, ATTR_REQUIRED, 8, 8},
	{UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, ATTR_IN, ATTR_OPTIONAL, 4, 8},
	{UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, ATTR_OUT, ATTR_REQUIRED, 0},
	{UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, ATTR_OUT, ATTR_REQUIRED, 8},
};
static const struct attr_spec alloc_async_event_attrs[] = {
	{UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, ATTR_NEW_FD, ATTR_REQUIRED},
};
static const struct attr_spec invoke_write_attrs[] = {
	{UVERBS_ATTR_CORE_IN, ATTR_IN, ATTR_OPTIONAL, 0, ATTR_ANY_LEN},
	{UVERBS_ATTR_CORE_OUT, ATTR_OUT, ATTR_OPTIONAL, 0},
	{UVERBS_ATTR_WRITE_CMD, ATTR_IN, ATTR_REQUIRED, 4, 8},
	{UVERBS_ATTR_UHW_IN, ATTR_IN, ATTR_OPTIONAL, 0, ATTR_ANY_LEN},
	{UVERBS_ATTR_UHW_OUT, ATTR_OUT, ATTR_OPTIONAL, 0},
};

#define DEVICE_METHOD(method, early, handler, attrs)                                               \
	{                                                                                          \
		UVERBS_OBJECT_DEVICE, method, early, handler, attrs, ARRAY_SIZE(attrs)             \
	}

const struct uverbs_method device_methods[] = {
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, true, uverbs_invoke_write,
		invoke_write_attrs, ARRAY_SIZE(invoke_write_attrs), .after_fork = true},
	DEVICE_METHOD(UVERBS_METHOD_GET_CONTEXT, true, get_context, get_context_attrs),
	DEVICE_METHOD(UVERBS_METHOD_QUERY_CONTEXT, false, query_context, query_context_attrs),
	DEVICE_METHOD(UVERBS_METHOD_QUERY_PORT, false, query_port, query_port_attrs),
	DEVICE_METHOD(MLX5_IB_METHOD_QUERY_PORT, false, query_port_mlx5, query_port_mlx5_attrs),
	DEVICE_METHOD(UVERBS_METHOD_QUERY_GID_ENTRY, false, query_gid_entry, query_gid_entry_attrs),
	DEVICE_METHOD(UVERBS_METHOD_QUERY_GID_TABLE, false, query_gid_table, query_gid_table_attrs),
	{UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, false, alloc_async_event,
		alloc_async_event_attrs, ARRAY_SIZE(alloc_async_event_attrs)},
};
const uint32_t n_device_methods = ARRAY_SIZE(device_methods);
