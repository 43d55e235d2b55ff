/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory windows for the program: allocated here, bound by work requests (umr.c). */
#include "uverbs_key.h"

#include <errno.h>

#include <rdma/ib_user_ioctl_cmds.h>
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

static const struct attr_spec destroy_mw_attrs[] = {
	{UVERBS_ATTR_DESTROY_MW_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_MW},
};

const struct uverbs_method key_methods[] = {
	{UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, false, destroy_mw, destroy_mw_attrs,
		ARRAY_SIZE(destroy_mw_attrs)},
};
const uint32_t n_key_methods = ARRAY_SIZE(key_methods);
