/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory windows for the program: allocated here, bound by work requests (umr.c). */
#include "uverbs_key.h"

#include <errno.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#define WINDOW_UNITS 4 /* a window's layout is one entry; libmlx5 pads it to 64 bytes */

int
uverbs_alloc_mw(struct uverbs_call *call)
{
	const struct ib_uverbs_alloc_mw *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct object_pd *pd = object_find(call->ctx, OBJ_PD, req->pd_handle);
	struct ib_uverbs_alloc_mw_resp resp = {0};
	struct object_mr *mw;
	int rc;

	if (pd == NULL || (req->mw_type != 1 && req->mw_type != 2))
		return -EINVAL;
	rc = object_create(call->ctx, OBJ_MW, sizeof(*mw), &mw);
	if (rc != 0)
		return rc;
	mw->attr = (struct softhca_mkey_attr){.pdn = pd->pdn,
		.kind = req->mw_type == 1 ? SOFTHCA_MKEY_WINDOW_1 : SOFTHCA_MKEY_WINDOW_2,
		.rinval = req->mw_type == 2,
		.max_entries = WINDOW_UNITS};
	rc = softhca_mkey_create(call->ctx->dev, &mw->attr, &mw->mkey);
	if (rc != 0) {
		object_forget(call->ctx, &mw->obj);
		return rc;
	}
	mw->pd = pd;
	object_use(&pd->obj);
	resp.mw_handle = mw->obj.handle;
	resp.rkey = softhca_mkey_key(mw->mkey);
	rc = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (rc != 0)
		(void)object_destroy(call->ctx, &mw->obj, NULL);
	return rc;
}

static int
destroy_mw(struct uverbs_call *call)
{
	return object_destroy(call->ctx, call_attr(call, UVERBS_ATTR_DESTROY_MW_HANDLE)->obj, NULL);
}

/* Errors as ibv_advise_mr(3) has them, and mlx5_ib's get_prefetchable_mr(). */
static int
advise_mr(struct uverbs_call *call)
{
	struct object_pd *pd = (void *)call_attr(call, UVERBS_ATTR_ADVISE_MR_PD_HANDLE)->obj;
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

static const struct attr_spec advise_mr_attrs[] = {
	{UVERBS_ATTR_ADVISE_MR_PD_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_PD},
	{UVERBS_ATTR_ADVISE_MR_ADVICE, ATTR_IN, ATTR_REQUIRED, 4, 8},
	{UVERBS_ATTR_ADVISE_MR_FLAGS, ATTR_IN, ATTR_REQUIRED, 4, 4},
	{UVERBS_ATTR_ADVISE_MR_SGE_LIST, ATTR_IN, ATTR_REQUIRED, sizeof(struct ib_uverbs_sge),
		ATTR_ANY_LEN},
};
static const struct attr_spec destroy_mw_attrs[] = {
	{UVERBS_ATTR_DESTROY_MW_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_MW},
};

const struct uverbs_method key_methods[] = {
	{UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR, false, advise_mr, advise_mr_attrs,
		ARRAY_SIZE(advise_mr_attrs)},
	{UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, false, destroy_mw, destroy_mw_attrs,
		ARRAY_SIZE(destroy_mw_attrs)},
};
const uint32_t n_key_methods = ARRAY_SIZE(key_methods);
