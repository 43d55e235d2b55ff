/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory windows: ibv_alloc_mw(3). This file allocates windows; work requests bind them. */
#include <errno.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>

#include "call.h"
#include "uverbs_mr.h"

/* The length of a window's layout in 16-byte units: one entry, which libmlx5 pads to 64 bytes. */
#define WINDOW_UNITS 4

static int
alloc(struct uverbs_call *call)
{
	const struct ib_uverbs_alloc_mw *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct object_pd *pd = object_find(call->ctx, &pd_class, req->pd_handle);
	struct ib_uverbs_alloc_mw_resp resp = {0};
	struct object_mr *mw;
	int rc;

	if (pd == NULL || (req->mw_type != 1 && req->mw_type != 2))
		return -EINVAL;
	rc = object_create(call->ctx, &mw_class, &mw);
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

static const struct attr_spec destroy_attrs[] = {
	{UVERBS_ATTR_DESTROY_MW_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &mw_class},
};

static const struct uverbs_method methods[] = {
	{UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, false, call_destroy, destroy_attrs,
		ARRAY_SIZE(destroy_attrs)},
};
static const struct write_command writes[] = {
	{IB_USER_VERBS_CMD_ALLOC_MW, sizeof(struct ib_uverbs_alloc_mw),
		sizeof(struct ib_uverbs_alloc_mw_resp), alloc},
};

const struct object_class mw_class = {
	.name = "MW",
	.size = sizeof(struct object_mr),
	.limit = mr_limit,
	.end = mr_end,
	CLASS_METHODS(methods),
	CLASS_WRITES(writes),
};
