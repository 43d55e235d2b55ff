/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains: ibv_alloc_pd(3). */
#include "uverbs_pd.h"

#include <errno.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "call.h"
#include "pdn.h"

struct object_pd *
pd_find_number(struct softhca_ctx *ctx, uint32_t pdn)
{
	for (uint32_t i = 1; i < ctx->n_objects; i++) {
		struct object *obj = object_find(ctx, NULL, i);
		struct object_pd *pd = (struct object_pd *)obj;

		if (obj != NULL && obj->cls->end == pd_end && pd->pdn == pdn)
			return pd;
	}
	return NULL;
}

int
pd_create(struct softhca_ctx *ctx, const struct object_class *cls, struct object_pd **out)
{
	struct object_pd *pd;
	int pdn, rc = object_create(ctx, cls, &pd);

	if (rc != 0)
		return rc;
	pdn = pdn_take(ctx->dev);
	if (pdn < 0) {
		object_forget(ctx, &pd->obj);
		return pdn;
	}
	pd->pdn = pdn;
	*out = pd;
	return 0;
}

static int
alloc(struct uverbs_call *call)
{
	struct object_pd *pd;
	struct ib_uverbs_alloc_pd_resp resp = {0};
	struct mlx5_ib_alloc_pd_resp mlx5 = {0};
	int rc = pd_create(call->ctx, &pd_class, &pd);

	if (rc != 0)
		return rc;
	resp.pd_handle = pd->obj.handle;
	mlx5.pdn = pd->pdn;
	rc = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
	if (rc != 0)
		(void)object_destroy(call->ctx, &pd->obj, NULL);
	else
		object_show(&pd->obj);
	return rc;
}

static int
query(struct uverbs_call *call)
{
	struct object_pd *pd = call_obj(call, MLX5_IB_ATTR_QUERY_PD_HANDLE);

	return call_out(call, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &pd->pdn, sizeof(pd->pdn));
}

int
pd_end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	pdn_give(ctx->dev, ((struct object_pd *)obj)->pdn);
	return 0;
}

uint32_t
pd_limit(const struct softhca_config *cfg)
{
	return cfg->max_pd;
}

static const struct attr_spec destroy_attrs[] = {
	{UVERBS_ATTR_DESTROY_PD_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &pd_class},
};
static const struct attr_spec query_attrs[] = {
	{MLX5_IB_ATTR_QUERY_PD_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &pd_class},
	{MLX5_IB_ATTR_QUERY_PD_RESP_PDN, ATTR_OUT, ATTR_REQUIRED, 4},
};

static const struct uverbs_method methods[] = {
	{UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, false, call_destroy, destroy_attrs,
		ARRAY_SIZE(destroy_attrs)},
	{UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, false, query, query_attrs,
		ARRAY_SIZE(query_attrs)},
};
static const struct write_command writes[] = {
	{IB_USER_VERBS_CMD_ALLOC_PD, sizeof(struct ib_uverbs_alloc_pd),
		sizeof(struct ib_uverbs_alloc_pd_resp), alloc},
};

const struct object_class pd_class = {
	.name = "PD",
	.resource = RESOURCE_PD,
	.size = sizeof(struct object_pd),
	.limit = pd_limit,
	.end = pd_end,
	CLASS_METHODS(methods),
	CLASS_WRITES(writes),
};
