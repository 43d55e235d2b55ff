/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands of the write() era, which libibverbs still sends through INVOKE_WRITE. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "caps.h"
#include "uverbs.h"
#include "uverbs_cq.h"
#include "uverbs_key.h"
#include "uverbs_qp.h"
#include "uverbs_srq.h"
#include "uverbs_wq.h"

#define REREG_TRANS  1U
#define REREG_PD     2U
#define REREG_ACCESS 4U
#define ACCESS_SUPPORTED                                                                           \
	(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |                            \
		IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC |                    \
		IB_UVERBS_ACCESS_MW_BIND | IB_UVERBS_ACCESS_HUGETLB | IB_UVERBS_ACCESS_ON_DEMAND | \
		IB_UVERBS_ACCESS_OPTIONAL_RANGE)

/* Answers in the core's part. The driver's part goes by call_out(call, UVERBS_ATTR_UHW_OUT). */
static int
reply(struct uverbs_call *call, const void *resp, size_t len)
{
	return call_out(call, UVERBS_ATTR_CORE_OUT, resp, len);
}

static int
query_device(struct uverbs_call *call)
{
	struct ib_uverbs_query_device_resp resp;

	caps_query_device(call->ctx->dev, &resp);
	return reply(call, &resp, sizeof(resp));
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
	rc = reply(call, &resp, sizeof(resp));
	return rc != 0 ? rc : call_out(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
}

static int
alloc_pd(struct uverbs_call *call)
{
	struct object_pd *pd;
	struct ib_uverbs_alloc_pd_resp resp = {0};
	struct mlx5_ib_alloc_pd_resp mlx5 = {0};
	int pdn, rc = object_create(call->ctx, OBJ_PD, sizeof(*pd), &pd);

	if (rc != 0)
		return rc;
	pdn = pdn_take(call->ctx->dev);
	if (pdn < 0) {
		object_forget(call->ctx, &pd->obj);
		return pdn;
	}
	pd->pdn = pdn;
	resp.pd_handle = pd->obj.handle;
	mlx5.pdn = pdn;
	rc = reply(call, &resp, sizeof(resp));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
	if (rc != 0)
		(void)object_destroy(call->ctx, &pd->obj, NULL);
	return rc;
}

/* ---------------------------------------------------------------- memory regions */

/* ib_check_mr_access() of the kernel: who may be written from afar must be writable here. */
static int
check_access(uint32_t access)
{
	if ((access & IB_UVERBS_ACCESS_ZERO_BASED) != 0)
		return -EOPNOTSUPP;
	if ((access & IB_UVERBS_ACCESS_ON_DEMAND) != 0 && !softhca_odp_is_possible())
		return -EOPNOTSUPP;
	if ((access & ~(uint32_t)ACCESS_SUPPORTED) != 0)
		return -EINVAL;
	if ((access & (IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC)) != 0 &&
		(access & IB_UVERBS_ACCESS_LOCAL_WRITE) == 0)
		return -EINVAL;
	return 0;
}

static int
check_region(const struct softhca_dev *dev, const struct softhca_mkey_attr *attr)
{
	bool odp = (attr->access & IB_UVERBS_ACCESS_ON_DEMAND) != 0;
	long page = sysconf(_SC_PAGESIZE);
	uint64_t end;

	/* All of the process's memory, by its own addresses: ibv_reg_mr(3), implicit ODP. */
	if (odp && attr->addr == 0 && attr->len == UINT64_MAX)
		return attr->iova == 0 ? 0 : -EINVAL;
	if (attr->len == 0 || __builtin_add_overflow(attr->addr, attr->len, &end) ||
		__builtin_add_overflow(attr->iova, attr->len, &end) ||
		attr->addr % page != attr->iova % page || attr->len > dev->cfg->max_mr_size)
		return -EINVAL;
	if (!odp && !memory_is_mapped(attr->addr, attr->len,
			    (attr->access & IB_UVERBS_ACCESS_LOCAL_WRITE) != 0))
		return -EFAULT;
	return 0;
}

static int
check_mr(const struct softhca_dev *dev, const struct softhca_mkey_attr *attr)
{
	int rc = check_access(attr->access);

	return rc != 0 ? rc : check_region(dev, attr);
}

static int
reg_mr(struct uverbs_call *call)
{
	const struct ib_uverbs_reg_mr *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct ib_uverbs_reg_mr_resp resp = {0};
	struct object_pd *pd = object_find(call->ctx, OBJ_PD, req->pd_handle);
	struct softhca_mkey_attr attr = {.access = req->access_flags,
		.addr = req->start,
		.iova = req->hca_va,
		.len = req->length};
	struct object_mr *mr;
	int rc;

	rc = check_mr(call->ctx->dev, &attr);
	if (rc == 0 && pd == NULL)
		rc = -EINVAL;
	if (rc == 0)
		rc = object_create(call->ctx, OBJ_MR, sizeof(*mr), &mr);
	if (rc != 0)
		return rc;
	attr.pdn = pd->pdn;
	rc = softhca_mkey_create(call->ctx->dev, &attr, &mr->mkey);
	if (rc != 0) {
		object_forget(call->ctx, &mr->obj);
		return rc;
	}
	mr->attr = attr;
	mr->pd = pd;
	object_use(&pd->obj);
	resp.mr_handle = mr->obj.handle;
	resp.lkey = resp.rkey = softhca_mkey_key(mr->mkey);
	rc = reply(call, &resp, sizeof(resp));
	if (rc != 0)
		(void)object_destroy(call->ctx, &mr->obj, NULL);
	return rc;
}

static int
rereg_mr(struct uverbs_call *call)
{
	const struct ib_uverbs_rereg_mr *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct object_mr *mr = object_find(call->ctx, OBJ_MR, req->mr_handle);
	struct ib_uverbs_rereg_mr_resp resp = {0};
	struct softhca_mkey_attr attr;
	struct object_pd *pd;
	int rc;

	if (req->flags == 0 || (req->flags & ~(REREG_TRANS | REREG_PD | REREG_ACCESS)) != 0 ||
		mr == NULL)
		return -EINVAL;
	pd = mr->pd;
	attr = mr->attr;
	if ((req->flags & REREG_TRANS) != 0) {
		attr.addr = req->start;
		attr.iova = req->hca_va;
		attr.len = req->length;
	}
	if ((req->flags & REREG_ACCESS) != 0)
		attr.access = req->access_flags;
	if ((req->flags & REREG_PD) != 0)
		pd = object_find(call->ctx, OBJ_PD, req->pd_handle);
	if (pd == NULL || mr->dm != NULL)
		return -EINVAL;
	attr.pdn = pd->pdn;
	rc = check_mr(call->ctx->dev, &attr);
	if (rc == 0)
		rc = softhca_mkey_modify(mr->mkey, &attr);
	if (rc != 0)
		return rc;
	mr->attr = attr;
	object_use(&pd->obj);
	object_unuse(&mr->pd->obj);
	mr->pd = pd;
	resp.lkey = resp.rkey = softhca_mkey_key(mr->mkey);
	return reply(call, &resp, sizeof(resp));
}

/* ---------------------------------------------------------------- the rest */

static int
create_comp_channel(struct uverbs_call *call)
{
	struct ib_uverbs_create_comp_channel_resp resp;
	int fd, rc = ctx_add_file(call->ctx, false, &fd);

	if (rc != 0)
		return rc;
	resp.fd = fd;
	rc = reply(call, &resp, sizeof(resp));
	if (rc != 0)
		close(fd);
	return rc;
}

/*
 * An address handle is the program's own copy of a path; what the kernel adds is the Ethernet
 * address. Known are the adapters of this process, and link-local GIDs, which carry theirs.
 */
static int
resolve_dmac(struct softhca_dev *dev, const uint8_t dgid[16], uint8_t dmac[6])
{
	static const uint8_t link_local[8] = {0xfe, 0x80};

	if (memcmp(dgid, link_local, 8) == 0 && dgid[11] == 0xff && dgid[12] == 0xfe) {
		dmac[0] = dgid[8] ^ 2;
		dmac[1] = dgid[9];
		dmac[2] = dgid[10];
		memcpy(dmac + 3, dgid + 13, 3);
		return 0;
	}
	for (uint32_t port = 1; port <= dev->cfg->ports; port++) {
		struct ib_uverbs_gid_entry gid, local;

		for (uint32_t i = 0; caps_gid(dev, port, i, &gid) == 0; i++)
			if (memcmp(gid.gid, dgid, 16) == 0 && caps_gid(dev, port, 0, &local) == 0)
				return resolve_dmac(dev, (const uint8_t *)local.gid, dmac);
	}
	return -ENETUNREACH;
}

static int
create_ah(struct uverbs_call *call)
{
	const struct ib_uverbs_create_ah *req = call_in(call, UVERBS_ATTR_CORE_IN);
	const struct ib_uverbs_ah_attr *attr = &req->attr;
	struct softhca_dev *dev = call->ctx->dev;
	struct object_pd *pd = object_find(call->ctx, OBJ_PD, req->pd_handle);
	struct mlx5_ib_create_ah_resp mlx5 = {.response_length = sizeof(mlx5)};
	struct ib_uverbs_create_ah_resp resp = {0};
	struct ib_uverbs_gid_entry gid;
	struct object_ah *ah;
	int rc = 0;

	if (pd == NULL || attr->port_num == 0 || attr->port_num > dev->cfg->ports)
		return -EINVAL;
	if (attr->is_global && caps_gid(dev, attr->port_num, attr->grh.sgid_index, &gid) != 0)
		return -EINVAL;
	if (dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET)
		rc = attr->is_global ? resolve_dmac(dev, attr->grh.dgid, mlx5.dmac) : -EINVAL;
	if (rc == 0)
		rc = object_create(call->ctx, OBJ_AH, sizeof(*ah), &ah);
	if (rc != 0)
		return rc;
	ah->pd = pd;
	object_use(&pd->obj);
	resp.ah_handle = ah->obj.handle;
	rc = reply(call, &resp, sizeof(resp));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
	if (rc != 0)
		(void)object_destroy(call->ctx, &ah->obj, NULL);
	return rc;
}

struct write_command {
	uint32_t number;
	uint16_t in_len, out_len; /* of the core's parts, at least */
	uverbs_handler handler;
	bool after_fork; /* as uverbs_method.after_fork */
};

#define EX(n) (IB_USER_VERBS_CMD_FLAG_EXTENDED | (n))

static const struct write_command commands[] = {
	{IB_USER_VERBS_CMD_QUERY_DEVICE, sizeof(struct ib_uverbs_query_device),
		sizeof(struct ib_uverbs_query_device_resp), query_device, true},
	{EX(IB_USER_VERBS_EX_CMD_QUERY_DEVICE), sizeof(struct ib_uverbs_ex_query_device),
		offsetof(struct ib_uverbs_ex_query_device_resp, odp_caps), query_device_ex, true},
	{IB_USER_VERBS_CMD_ALLOC_PD, sizeof(struct ib_uverbs_alloc_pd),
		sizeof(struct ib_uverbs_alloc_pd_resp), alloc_pd},
	{IB_USER_VERBS_CMD_REG_MR, sizeof(struct ib_uverbs_reg_mr),
		sizeof(struct ib_uverbs_reg_mr_resp), reg_mr},
	{IB_USER_VERBS_CMD_REREG_MR, sizeof(struct ib_uverbs_rereg_mr),
		sizeof(struct ib_uverbs_rereg_mr_resp), rereg_mr},
	{IB_USER_VERBS_CMD_ALLOC_MW, sizeof(struct ib_uverbs_alloc_mw),
		sizeof(struct ib_uverbs_alloc_mw_resp), uverbs_alloc_mw},
	{IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, sizeof(struct ib_uverbs_create_comp_channel),
		sizeof(struct ib_uverbs_create_comp_channel_resp), create_comp_channel},
	{IB_USER_VERBS_CMD_CREATE_AH, sizeof(struct ib_uverbs_create_ah),
		sizeof(struct ib_uverbs_create_ah_resp), create_ah},
	{IB_USER_VERBS_CMD_RESIZE_CQ, sizeof(struct ib_uverbs_resize_cq), sizeof(uint32_t),
		uverbs_resize_cq},
	{EX(IB_USER_VERBS_EX_CMD_MODIFY_CQ), sizeof(struct ib_uverbs_ex_modify_cq), 0,
		uverbs_modify_cq},
	{IB_USER_VERBS_CMD_QUERY_QP, sizeof(struct ib_uverbs_query_qp),
		sizeof(struct ib_uverbs_query_qp_resp), uverbs_query_qp},
	{IB_USER_VERBS_CMD_MODIFY_QP, sizeof(struct ib_uverbs_modify_qp), 0, uverbs_modify_qp},
	{EX(IB_USER_VERBS_EX_CMD_MODIFY_QP), sizeof(struct ib_uverbs_ex_modify_qp),
		sizeof(struct ib_uverbs_ex_modify_qp_resp), uverbs_ex_modify_qp},
	{IB_USER_VERBS_CMD_OPEN_XRCD, sizeof(struct ib_uverbs_open_xrcd),
		sizeof(struct ib_uverbs_open_xrcd_resp), uverbs_open_xrcd},
	{IB_USER_VERBS_CMD_MODIFY_SRQ, sizeof(struct ib_uverbs_modify_srq), 0, uverbs_modify_srq},
	{IB_USER_VERBS_CMD_QUERY_SRQ, sizeof(struct ib_uverbs_query_srq),
		sizeof(struct ib_uverbs_query_srq_resp), uverbs_query_srq},
	{EX(IB_USER_VERBS_EX_CMD_MODIFY_WQ), sizeof(struct ib_uverbs_ex_modify_wq), 0,
		uverbs_modify_wq},
	{EX(IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL),
		sizeof(struct ib_uverbs_ex_create_rwq_ind_table),
		sizeof(struct ib_uverbs_ex_create_rwq_ind_table_resp), uverbs_create_wq_table},
};

/* Numbers that the kernel has no command for are EINVAL; those not emulated, EOPNOTSUPP. */
static int
unknown_command(uint64_t number)
{
	if (number <= IB_USER_VERBS_CMD_OPEN_QP)
		return -EOPNOTSUPP;
	if ((number & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0 &&
		(number & ~(uint64_t)IB_USER_VERBS_CMD_FLAG_EXTENDED) <=
			IB_USER_VERBS_EX_CMD_MODIFY_CQ)
		return -EOPNOTSUPP;
	return -EINVAL;
}

int
uverbs_invoke_write(struct uverbs_call *call)
{
	uint64_t number = call_in_u64(call, UVERBS_ATTR_WRITE_CMD);

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct write_command *cmd = &commands[i];

		if (cmd->number != number)
			continue;
		if (call->ctx->dead && !cmd->after_fork)
			return -EIO;
		if (call_attr(call, UVERBS_ATTR_CORE_IN)->len < cmd->in_len ||
			call_attr(call, UVERBS_ATTR_CORE_OUT)->len < cmd->out_len)
			return -ENOSPC;
		return call->ctx->opened ? cmd->handler(call) : -EINVAL;
	}
	return call->ctx->dead ? -EIO : unknown_command(number);
}
