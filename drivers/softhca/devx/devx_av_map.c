/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address vectors that take their congestion control from a queue pair: mlx5dv_map_ah_to_qp(3).
 * There is no congestion here, so a mapping has no effect. The command is checked like all other
 * commands.
 *
 * Bit offsets as in the commands of libmlx5: a general object of type 0x3a.
 */
#include "caps.h"
#include "devx.h"
#include "hca.h"

enum {
	TYPE_AV_QP_MAPPING = 0x3a,
	MAP_QPN = DEVX_OBJ_AT + 0x60,           /* 32 bits */
	MAP_SOURCE_INDEX = DEVX_OBJ_AT + 0x164, /* 8 bits: index in the port's GIDs */
	MAP_END = DEVX_OBJ_AT + 0x200
};

struct object_av_map {
	struct object obj;
};

/* True if one of the adapter's ports has a GID with this index. */
static bool
gid_exists(const struct softhca_dev *dev, uint32_t index)
{
	struct ib_uverbs_gid_entry gid;

	for (uint32_t port = 1; port <= dev->cfg->ports; port++)
		if (caps_gid(dev, port, index, &gid) == 0)
			return true;
	return false;
}

/*
 * Makes a mapping. The mapping does not count as a user of the queue pair, so the queue pair can be
 * destroyed while the mapping exists.
 */
static int
create(struct uverbs_call *call, const uint8_t *in, uint8_t *out, struct object **obj)
{
	struct softhca_dev *dev = call->ctx->dev;
	struct object_av_map *map;
	int rc;

	if (bits_get(in, DEVX_LOG_OBJ_RANGE, 5) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, DEVX_LOG_OBJ_RANGE);
	if (!softhca_qpn_exists(dev, bits_get(in, MAP_QPN, 32)))
		return DEVX_REFUSE(DEVX_BAD_RES, MAP_QPN);
	if (!gid_exists(dev, bits_get(in, MAP_SOURCE_INDEX, 8)))
		return DEVX_REFUSE(DEVX_BAD_PARAM, MAP_SOURCE_INDEX);
	rc = devx_refuse_errno(object_create(call->ctx, &devx_av_map_class, &map), 0);
	if (rc != 0)
		return rc;
	bits_set(out, DEVX_OBJ_ID, 32, map->obj.handle);
	*obj = &map->obj;
	return 0;
}

static uint32_t
limit(const struct softhca_config *cfg)
{
	return cfg->max_ah;
}

static const struct devx_create creates[] = {
	{DEVX_CREATE_GENERAL, MAP_END / 8, create, TYPE_AV_QP_MAPPING},
};

const struct object_class devx_av_map_class = {
	.name = "AV mapping",
	.size = sizeof(struct object_av_map),
	.limit = limit,
	.by_devx = true,
	CLASS_CREATES(creates),
};
