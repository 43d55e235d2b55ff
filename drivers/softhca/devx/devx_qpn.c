/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pair numbers that are reserved for the program: mlx5dv_reserved_qpn_alloc(3). While the
 * object exists, no queue pair gets such a number.
 *
 * Bit offsets as in the commands of libmlx5 44: a general object of type 0x2c.
 */
#include "caps.h"
#include "devx.h"
#include "hca.h"

struct object_qpns {
	struct object obj;
	uint32_t first;
};

enum {
	TYPE_RESERVED_QPN = 0x2c,
	IN_END = 0x100
};

static int
reserve_qpns(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct object_qpns *qpns;
	int rc;

	if (bits_get(in, DEVX_LOG_OBJ_RANGE, 5) != CAPS_LOG_RESERVED_QPNS)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEVX_LOG_OBJ_RANGE);
	rc = devx_refuse_errno(object_create(call->ctx, &devx_qpns_class, &qpns), 0);
	if (rc != 0)
		return rc;
	rc = devx_refuse_errno(softhca_qpn_reserve(call->ctx->dev, 1U << CAPS_LOG_RESERVED_QPNS,
				       &qpns->first),
		DEVX_LOG_OBJ_RANGE);
	if (rc != 0) {
		object_forget(call->ctx, &qpns->obj);
		return rc;
	}
	bits_set(out, DEVX_OBJ_ID, 32, qpns->first);
	*obj = &qpns->obj;
	return 0;
}

static int
end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	softhca_qpn_release(ctx->dev, 1U << CAPS_LOG_RESERVED_QPNS,
		((struct object_qpns *)obj)->first);
	return 0;
}

static uint32_t
limit(const struct softhca_config *cfg)
{
	return (cfg->max_qp >> CAPS_LOG_RESERVED_QPNS) + 1;
}

static const struct devx_create creates[] = {
	{DEVX_CREATE_GENERAL, IN_END / 8, reserve_qpns, TYPE_RESERVED_QPN},
};

const struct object_class devx_qpns_class = {
	.name = "QP numbers",
	.size = sizeof(struct object_qpns),
	.limit = limit,
	.end = end,
	.by_devx = true,
	CLASS_CREATES(creates),
};
