/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on the adapter itself: contexts, capabilities, ports, GIDs, and event files. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "call.h"
#include "caps.h"
#include "ctx_files.h"
#include "lag.h"
#include "netdev.h"
#include "newer_uapi.h"

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
	/* There are no static UAR pages, so libmlx5 must be able to allocate UAR pages. */
	if ((req.flags & ~(uint32_t)MLX5_IB_ALLOC_UCTX_DEVX) != 0 || req.comp_mask != 0 ||
		(req.lib_caps & MLX5_LIB_CAP_DYN_UAR) == 0 || req.max_cqe_version < 1)
		return -EINVAL;
	/* mlx5_ib_devx_create() returns this error if the firmware has no user contexts. */
	if ((req.flags & MLX5_IB_ALLOC_UCTX_DEVX) != 0 && call->ctx->dev->cfg->devx == 0)
		return -EINVAL;
	caps_ucontext(call->ctx->dev, &resp);
	rc = call_out(call, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, &vectors, sizeof(vectors));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, &core, sizeof(core));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	call->ctx->opened = rc == 0;
	if (rc == 0) {
		lag_start(call->ctx);
		ctx_show(call->ctx);
	}
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
query_device(struct uverbs_call *call)
{
	struct ib_uverbs_query_device_resp resp;

	caps_query_device(call->ctx->dev, &resp);
	return call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

static int
query_device_ex(struct uverbs_call *call)
{
	const struct ib_uverbs_ex_query_device *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct attr_value *core = call_attr(call, UVERBS_ATTR_CORE_OUT);
	struct attr_value *uhw = call_attr(call, UVERBS_ATTR_UHW_OUT);
	struct ib_uverbs_ex_query_device_resp resp;
	struct mlx5_ib_query_device_resp mlx5;
	int rc;

	if (req->comp_mask != 0 || req->reserved != 0)
		return -EINVAL;
	caps_query_device_ex(call->ctx->dev, &resp, &mlx5);
	if (core->len < resp.response_length)
		resp.response_length = core->len;
	if (uhw->len < mlx5.response_length)
		mlx5.response_length = uhw->len;
	rc = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	return rc != 0 ? rc : call_out(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
}

static int
query_port(struct uverbs_call *call)
{
	uint64_t port = call_in_u64(call, UVERBS_ATTR_QUERY_PORT_PORT_NUM);
	struct ib_uverbs_query_port_resp_ex resp;
	int rc = port > UINT8_MAX ? -EINVAL : caps_query_port(call->ctx->dev, port, &resp);

	return rc != 0 ? rc : call_out(call, UVERBS_ATTR_QUERY_PORT_RESP, &resp, sizeof(resp));
}

/* Answers that the port exists. There is no switchdev, so there are no further values. */
static int
query_port_mlx5(struct uverbs_call *call)
{
	uint32_t port = call_in_u32(call, MLX5_IB_ATTR_QUERY_PORT_PORT_NUM);
	struct mlx5_ib_uapi_query_port resp = {0};

	if (port == 0 || port > call->ctx->dev->cfg->ports)
		return -EINVAL;
	return call_out(call, MLX5_IB_ATTR_QUERY_PORT, &resp, sizeof(resp));
}

/* Answers a method of newer kernels (ibv_query_port_speed(3)). */
static int
query_port_speed(struct uverbs_call *call)
{
	uint32_t port = call_in_u32(call, NEWER_ATTR_PORT_SPEED_PORT);
	uint64_t speed = CAPS_PORT_SPEED;

	if (port == 0 || port > call->ctx->dev->cfg->ports)
		return -EINVAL;
	return call_out(call, NEWER_ATTR_PORT_SPEED_RESP, &speed, sizeof(speed));
}

/* Finds a GID, and the network interface of its port. */
static int
find_gid(const struct softhca_dev *dev, uint32_t port, uint32_t index,
	struct ib_uverbs_gid_entry *entry)
{
	char name[NETDEV_NAME_MAX];
	int rc = caps_gid(dev, port, index, entry);

	if (rc == 0)
		entry->netdev_ifindex = netdev_of(dev, port, name);
	return rc;
}

static int
query_gid_entry(struct uverbs_call *call)
{
	struct ib_uverbs_gid_entry entry;
	int rc;

	if (call_in_u32(call, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS) != 0)
		return -EINVAL;
	rc = find_gid(call->ctx->dev, call_in_u32(call, UVERBS_ATTR_QUERY_GID_ENTRY_PORT),
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
		for (uint32_t i = 0; i < caps_gid_table_len(call->ctx->dev); i++)
			if (find_gid(call->ctx->dev, port, i, &found[n]) == 0)
				n++;
	if (n * entry_len > out->len)
		return -EINVAL;
	rc = call_out(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, found, n * entry_len);
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &n, sizeof(n));
	return rc;
}

static int
create_comp_channel(struct uverbs_call *call)
{
	struct ib_uverbs_create_comp_channel_resp resp;
	int fd, rc = ctx_add_file(call->ctx, EVENT_COMP, &fd);

	if (rc != 0)
		return rc;
	resp.fd = fd;
	rc = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (rc != 0)
		close(fd);
	return rc;
}

static int
alloc_async_event(struct uverbs_call *call)
{
	int fd, rc = ctx_add_file(call->ctx, EVENT_ASYNC, &fd);

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
static const struct attr_spec query_port_speed_attrs[] = {
	{NEWER_ATTR_PORT_SPEED_PORT, ATTR_IN, ATTR_REQUIRED, 4, 8},
	{NEWER_ATTR_PORT_SPEED_RESP, ATTR_OUT, ATTR_REQUIRED, 8},
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

#define DEVICE_METHOD(method, early, handler, attrs)                                               \
	{                                                                                          \
		UVERBS_OBJECT_DEVICE, method, early, handler, attrs, ARRAY_SIZE(attrs)             \
	}

static const struct uverbs_method methods[] = {
	DEVICE_METHOD(UVERBS_METHOD_GET_CONTEXT, true, get_context, get_context_attrs),
	DEVICE_METHOD(UVERBS_METHOD_QUERY_CONTEXT, false, query_context, query_context_attrs),
	DEVICE_METHOD(UVERBS_METHOD_QUERY_PORT, false, query_port, query_port_attrs),
	DEVICE_METHOD(MLX5_IB_METHOD_QUERY_PORT, false, query_port_mlx5, query_port_mlx5_attrs),
	DEVICE_METHOD(NEWER_METHOD_QUERY_PORT_SPEED, false, query_port_speed,
		query_port_speed_attrs),
	DEVICE_METHOD(UVERBS_METHOD_QUERY_GID_ENTRY, false, query_gid_entry, query_gid_entry_attrs),
	DEVICE_METHOD(UVERBS_METHOD_QUERY_GID_TABLE, false, query_gid_table, query_gid_table_attrs),
	{UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, false, alloc_async_event,
		alloc_async_event_attrs, ARRAY_SIZE(alloc_async_event_attrs)},
};
static const struct write_command writes[] = {
	{IB_USER_VERBS_CMD_QUERY_DEVICE, sizeof(struct ib_uverbs_query_device),
		sizeof(struct ib_uverbs_query_device_resp), query_device, true},
	{WRITE_EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE), sizeof(struct ib_uverbs_ex_query_device),
		offsetof(struct ib_uverbs_ex_query_device_resp, odp_caps), query_device_ex, true},
	{IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, sizeof(struct ib_uverbs_create_comp_channel),
		sizeof(struct ib_uverbs_create_comp_channel_resp), create_comp_channel},
};

const struct object_class device_class = {
	.name = "device",
	CLASS_METHODS(methods),
	CLASS_WRITES(writes),
};
