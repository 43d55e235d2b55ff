/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pair numbers that are set aside for the program: mlx5dv_reserved_qpn_alloc(3). They name no
 * queue pair, and none gets them while the object lives.
 *
 * Offsets in bits, as libmlx5 44 sends them: a general object of type 0x2c.
 */
#include "caps.h"
#include "devx.h"
#include "uverbs.h"

enum {
	TYPE_RESERVED_QPN = 0x2c,
	IN_END = 0x100
};

static int
reserve_qpns(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct object_qpns *qpns;
	int rc;

	if (devx_get(in, DEVX_LOG_OBJ_RANGE, 5) != CAPS_LOG_RESERVED_QPNS)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEVX_LOG_OBJ_RANGE);
	rc = devx_refuse_errno(object_create(call->ctx, OBJ_DEVX_QPNS, sizeof(*qpns), &qpns), 0);
	if (rc != 0)
		return rc;
	rc = devx_refuse_errno(softhca_qpn_reserve(call->ctx->dev, 1U << CAPS_LOG_RESERVED_QPNS,
				       &qpns->first),
		DEVX_LOG_OBJ_RANGE);
	if (rc != 0) {
		object_forget(call->ctx, &qpns->obj);
		return rc;
	}
	devx_set(out, DEVX_OBJ_ID, 32, qpns->first);
	*obj = &qpns->obj;
	return 0;
}

const struct devx_create devx_qpn_creates[] = {
	{DEVX_CREATE_GENERAL, IN_END / 8, reserve_qpns, TYPE_RESERVED_QPN},
	{.opcode = 0},
};
