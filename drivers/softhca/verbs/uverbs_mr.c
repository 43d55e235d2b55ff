/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions: ibv_reg_mr(3), ibv_rereg_mr(3), ibv_advise_mr(3). */
#include "uverbs_mr.h"

#include <errno.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "call.h"
#include "mapped.h"

#define REREG_TRANS  1U
#define REREG_PD     2U
#define REREG_ACCESS 4U
#define ACCESS_SUPPORTED                                                                           \
	(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |                            \
		IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC |                    \
		IB_UVERBS_ACCESS_MW_BIND | IB_UVERBS_ACCESS_HUGETLB | IB_UVERBS_ACCESS_ON_DEMAND | \
		IB_UVERBS_ACCESS_OPTIONAL_RANGE)

/* ---------------------------------------------------------------- registration */

/*
 * Checks the rights as ib_check_mr_access() of the kernel: a region with remote write must have
 * local write.
 */
static int
check_access(const struct softhca_dev *dev, uint32_t access)
{
	if ((access & IB_UVERBS_ACCESS_ZERO_BASED) != 0)
		return -EOPNOTSUPP;
	if ((access & IB_UVERBS_ACCESS_ON_DEMAND) != 0 && !softhca_odp_is_possible(dev))
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

	/*
	 * Implicit ODP (ibv_reg_mr(3)): the region is all memory of the process, at the process's
	 * addresses.
	 */
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
	int rc = check_access(dev, attr->access);

	return rc != 0 ? rc : check_region(dev, attr);
}

void
mr_show(struct object_mr *mr)
{
	struct resource *shown = mr->obj.shown;

	if (shown == NULL)
		return;
	resource_set(&shown->key, softhca_mkey_key(mr->mkey));
	resource_set(&shown->pd, resource_id(mr->pd->obj.shown));
	atomic_store_explicit(&shown->len, mr->attr.len, memory_order_relaxed);
	object_show(&mr->obj);
}

/* ---------------------------------------------------------------- is the key kept? */

#define PAGE_SHIFT 12
#define MIN_ROOM   4 /* pages of the smallest key that mlx5_ib has in its cache */

/*
 * The rights that mlx5_ib changes without a new key. The right to do atomics is one of them since
 * its commit 2ca7e93bc963 (2024).
 */
#define RIGHTS_IN_PLACE                                                                            \
	(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE |                            \
		IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_ATOMIC |                    \
		IB_UVERBS_ACCESS_RELAXED_ORDERING)

static uint64_t
pages_of(const struct softhca_mkey_attr *attr)
{
	uint64_t end = attr->iova + attr->len - 1;

	return (end >> PAGE_SHIFT) - (attr->iova >> PAGE_SHIFT) + 1;
}

/*
 * Returns the room of the key. mlx5_ib takes keys from a cache that has a list for each power of
 * two of pages.
 */
static uint64_t
room_of(const struct softhca_mkey_attr *attr)
{
	uint64_t room = MIN_ROOM;

	while (room < pages_of(attr))
		room *= 2;
	return room;
}

/*
 * True if the region keeps its key, as mlx5_ib_rereg_user_mr() decides (Linux,
 * drivers/infiniband/hw/mlx5/mr.c): mlx5_ib changes the key if it can, and otherwise makes a new
 * key. Memory on demand at a new address always gets a new key. Confirmed: rereg-rights, rereg-pd,
 * rereg-range.
 */
static bool
keeps_key(const struct object_mr *mr, const struct softhca_mkey_attr *attr, bool moves)
{
	if (((mr->attr.access ^ attr->access) & ~(uint32_t)RIGHTS_IN_PLACE) != 0)
		return false;
	return !moves || ((attr->access & IB_UVERBS_ACCESS_ON_DEMAND) == 0 &&
				 pages_of(attr) <= mr->attr.room);
}

static int
replace_key(struct softhca_dev *dev, struct object_mr *mr, struct softhca_mkey_attr *attr)
{
	struct softhca_mkey *mkey;
	int rc;

	attr->room = room_of(attr);
	rc = softhca_mkey_create(dev, attr, &mkey);
	if (rc != 0)
		return rc;
	(void)softhca_mkey_destroy(mr->mkey);
	mr->mkey = mkey;
	return 0;
}

/* ---------------------------------------------------------------- registration */

int
mr_make_unchecked(struct softhca_ctx *ctx, struct object_pd *pd, struct softhca_mkey_attr *attr,
	struct object *dmah, struct object_mr **out)
{
	struct object_mr *mr;
	int rc = object_create(ctx, &mr_class, &mr);

	if (rc != 0)
		return rc;
	attr->pdn = pd->pdn;
	attr->room = room_of(attr);
	rc = softhca_mkey_create(ctx->dev, attr, &mr->mkey);
	if (rc != 0) {
		object_forget(ctx, &mr->obj);
		return rc;
	}
	mr->attr = *attr;
	mr->pd = pd;
	mr->dmah = dmah;
	object_use(&pd->obj);
	if (dmah != NULL)
		object_use(dmah);
	*out = mr;
	return 0;
}

int
mr_make(struct softhca_ctx *ctx, struct object_pd *pd, struct softhca_mkey_attr *attr,
	struct object *dmah, struct object_mr **out)
{
	int rc = check_mr(ctx->dev, attr);

	return rc != 0 ? rc : mr_make_unchecked(ctx, pd, attr, dmah, out);
}

static int
reg(struct uverbs_call *call)
{
	const struct ib_uverbs_reg_mr *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct ib_uverbs_reg_mr_resp resp = {0};
	struct softhca_mkey_attr attr = {.access = req->access_flags,
		.addr = req->start,
		.iova = req->hca_va,
		.len = req->length};
	struct object_pd *pd = object_find(call->ctx, &pd_class, req->pd_handle);
	struct object_mr *mr;
	int rc = pd != NULL ? mr_make(call->ctx, pd, &attr, NULL, &mr) : -EINVAL;

	if (rc != 0)
		return rc;
	resp.mr_handle = mr->obj.handle;
	resp.lkey = resp.rkey = softhca_mkey_key(mr->mkey);
	rc = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (rc != 0)
		(void)object_destroy(call->ctx, &mr->obj, NULL);
	else
		mr_show(mr);
	return rc;
}

static int
rereg(struct uverbs_call *call)
{
	const struct ib_uverbs_rereg_mr *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct object_mr *mr = object_find(call->ctx, &mr_class, req->mr_handle);
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
		pd = object_find(call->ctx, &pd_class, req->pd_handle);
	if (pd == NULL || mr->dm != NULL || mr->dmabuf.buf != NULL)
		return -EINVAL;
	attr.pdn = pd->pdn;
	rc = check_mr(call->ctx->dev, &attr);
	if (rc != 0)
		return rc;
	if (keeps_key(mr, &attr, (req->flags & REREG_TRANS) != 0))
		rc = softhca_mkey_modify(mr->mkey, &attr);
	else
		rc = replace_key(call->ctx->dev, mr, &attr);
	if (rc != 0)
		return rc;
	mr->attr = attr;
	object_use(&pd->obj);
	object_unuse(&mr->pd->obj);
	mr->pd = pd;
	mr_show(mr);
	resp.lkey = resp.rkey = softhca_mkey_key(mr->mkey);
	return call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

/* ---------------------------------------------------------------- query, advise, end */

static int
query(struct uverbs_call *call)
{
	struct object_mr *mr = call_obj(call, UVERBS_ATTR_QUERY_MR_HANDLE);
	uint32_t key = softhca_mkey_key(mr->mkey);
	int rc;

	rc = call_out(call, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &key, sizeof(key));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &key, sizeof(key));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &mr->attr.len,
			sizeof(mr->attr.len));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_QUERY_MR_RESP_IOVA, &mr->attr.iova,
			sizeof(mr->attr.iova));
	return rc;
}

/* The errors are those of ibv_advise_mr(3) and of mlx5_ib's get_prefetchable_mr(). */
static int
advise(struct uverbs_call *call)
{
	struct object_pd *pd = call_obj(call, UVERBS_ATTR_ADVISE_MR_PD_HANDLE);
	uint64_t advice = call_in_u64(call, UVERBS_ATTR_ADVISE_MR_ADVICE);
	uint32_t flags = call_in_u32(call, UVERBS_ATTR_ADVISE_MR_FLAGS);
	const struct ib_uverbs_sge *sge = call_in(call, UVERBS_ATTR_ADVISE_MR_SGE_LIST);
	size_t len = call_attr(call, UVERBS_ATTR_ADVISE_MR_SGE_LIST)->len;
	int rc = 0;

	if ((flags & ~(uint32_t)IB_UVERBS_ADVISE_MR_FLAG_FLUSH) != 0 || len % sizeof(*sge) != 0)
		return -EINVAL;
	if (advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return -EOPNOTSUPP;
	for (size_t i = 0; i < len / sizeof(*sge) && rc == 0; i++) {
		const struct softhca_advice a = {.key = sge[i].lkey,
			.va = sge[i].addr,
			.len = sge[i].length,
			.write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			.fault = advice != IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
			.flush = (flags & IB_UVERBS_ADVISE_MR_FLAG_FLUSH) != 0};

		rc = softhca_mkey_advise(call->ctx->dev, pd->pdn, &a);
	}
	return rc;
}

int
mr_end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	struct object_mr *mr = (struct object_mr *)obj;
	int rc;

	softhca_catch_up(ctx->dev); /* Assumed: dereg-after-work. */
	dmabuf_detach(&mr->dmabuf);
	rc = softhca_mkey_destroy(mr->mkey);
	if (rc != 0)
		return rc;
	object_unuse(&mr->pd->obj);
	if (mr->dm != NULL)
		object_unuse(mr->dm);
	if (mr->dmah != NULL)
		object_unuse(mr->dmah);
	return 0;
}

uint32_t
mr_limit(const struct softhca_config *cfg)
{
	return cfg->max_mr;
}

/* ---------------------------------------------------------------- the table */

static const struct attr_spec destroy_attrs[] = {
	{UVERBS_ATTR_DESTROY_MR_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &mr_class},
};
static const struct attr_spec query_attrs[] = {
	{UVERBS_ATTR_QUERY_MR_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &mr_class},
	{UVERBS_ATTR_QUERY_MR_RESP_LKEY, ATTR_OUT, ATTR_REQUIRED, 4},
	{UVERBS_ATTR_QUERY_MR_RESP_RKEY, ATTR_OUT, ATTR_REQUIRED, 4},
	{UVERBS_ATTR_QUERY_MR_RESP_LENGTH, ATTR_OUT, ATTR_REQUIRED, 8},
	{UVERBS_ATTR_QUERY_MR_RESP_IOVA, ATTR_OUT, ATTR_OPTIONAL, 8},
};
static const struct attr_spec advise_attrs[] = {
	{UVERBS_ATTR_ADVISE_MR_PD_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &pd_class},
	{UVERBS_ATTR_ADVISE_MR_ADVICE, ATTR_IN, ATTR_REQUIRED, 4, 8},
	{UVERBS_ATTR_ADVISE_MR_FLAGS, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{UVERBS_ATTR_ADVISE_MR_SGE_LIST, ATTR_IN, ATTR_REQUIRED, sizeof(struct ib_uverbs_sge),
		ATTR_ANY_LEN},
};

static const struct uverbs_method methods[] = {
	{UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, false, call_destroy, destroy_attrs,
		ARRAY_SIZE(destroy_attrs)},
	{UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, false, query, query_attrs,
		ARRAY_SIZE(query_attrs)},
	{UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR, false, advise, advise_attrs,
		ARRAY_SIZE(advise_attrs)},
};
static const struct write_command writes[] = {
	{IB_USER_VERBS_CMD_REG_MR, sizeof(struct ib_uverbs_reg_mr),
		sizeof(struct ib_uverbs_reg_mr_resp), reg},
	{IB_USER_VERBS_CMD_REREG_MR, sizeof(struct ib_uverbs_rereg_mr),
		sizeof(struct ib_uverbs_rereg_mr_resp), rereg},
};

const struct object_class mr_class = {
	.name = "MR",
	.resource = RESOURCE_MR,
	.size = sizeof(struct object_mr),
	.limit = mr_limit,
	.end = mr_end,
	CLASS_METHODS(methods),
	CLASS_WRITES(writes),
};
