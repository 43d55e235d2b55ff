/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PSVs of firmware commands: the running state of signatures (mlx5dv_create_mkey(3)).
 *
 * Bit offsets as in the commands of libmlx5 44.
 */
#include <errno.h>

#include "devx.h"
#include "uverbs_mr.h"

#define CMD_CREATE_PSV 0x600

enum {
	IN_PSV_N = 0x40,  /* 4 bits */
	IN_PSV_PD = 0x48, /* 24 bits */
	IN_PSV_END = 0x80,
	OUT_PSV_0 = 0x88 /* 24 bits */
};

struct object_psv {
	struct object obj;
	struct object_pd *pd;
	struct softhca_psv *psv;
};

/*
 * Creates a PSV. A command can request four PSVs, but mlx5_ib allows only one:
 * devx_is_obj_create_cmd() of the kernel.
 */
static int
create(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct object_pd *pd = pd_find_number(call->ctx, bits_get(in, IN_PSV_PD, 24));
	struct object_psv *psv;
	int rc = 0;

	if (bits_get(in, IN_PSV_N, 4) != 1)
		return -EINVAL;
	if (call->ctx->dev->cfg->signatures == 0)
		return DEVX_REFUSE(DEVX_BAD_OP, DEVX_OPCODE);
	if (pd == NULL)
		rc = DEVX_REFUSE(DEVX_BAD_RES, IN_PSV_PD);
	if (rc == 0)
		rc = devx_refuse_errno(object_create(call->ctx, &devx_psv_class, &psv), 0);
	if (rc != 0)
		return rc;
	rc = devx_refuse_errno(softhca_psv_create(call->ctx->dev, pd->pdn, &psv->psv), 0);
	if (rc != 0) {
		object_forget(call->ctx, &psv->obj);
		return rc;
	}
	psv->pd = pd;
	object_use(&pd->obj);
	bits_set(out, OUT_PSV_0, 24, softhca_psv_number(psv->psv));
	*obj = &psv->obj;
	return 0;
}

static int
end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	struct object_psv *psv = (struct object_psv *)obj;
	int rc = softhca_psv_destroy(psv->psv);

	if (rc == 0)
		object_unuse(&psv->pd->obj);
	return rc;
}

static const struct devx_create creates[] = {
	{CMD_CREATE_PSV, IN_PSV_END / 8, create},
};

const struct object_class devx_psv_class = {
	.name = "PSV",
	.size = sizeof(struct object_psv),
	.limit = mr_limit,
	.end = end,
	.by_devx = true,
	CLASS_CREATES(creates),
};
