/* SPDX-License-Identifier: BSD-3-Clause */
/* Address handles: ibv_create_ah(3). */
#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "call.h"
#include "caps.h"
#include "devices.h"
#include "hca.h"
#include "uverbs_pd.h"

struct object_ah {
	struct object obj;
	struct object_pd *pd;
};

/* Returns true if the port of the adapter has the GID. */
static bool
port_has(struct softhca_dev *dev, uint32_t port, const uint8_t gid[16])
{
	struct ib_uverbs_gid_entry entry;

	for (uint32_t i = 0; caps_gid(dev, port, i, &entry) == 0; i++)
		if (memcmp(entry.gid, gid, 16) == 0)
			return true;
	return false;
}

/* Takes the Ethernet address out of a link-local GID. Returns false if the GID is another one. */
static bool
take_dmac(const uint8_t gid[16], uint8_t dmac[6])
{
	static const uint8_t link_local[8] = {0xfe, 0x80};

	if (memcmp(gid, link_local, 8) != 0 || gid[11] != 0xff || gid[12] != 0xfe)
		return false;
	dmac[0] = gid[8] ^ 2;
	dmac[1] = gid[9];
	dmac[2] = gid[10];
	memcpy(dmac + 3, gid + 13, 3);
	return true;
}

/*
 * Finds the Ethernet address of a GID; libmlx5 needs no more from the kernel. A link-local GID
 * contains the address. All other GIDs must belong to a port of an adapter of this process, whose
 * first GID is link-local.
 */
static int
resolve_dmac(const uint8_t dgid[16], uint8_t dmac[6])
{
	struct ib_uverbs_gid_entry local;
	unsigned int n;
	struct softhca_dev *devs = softhca_devices(&n);

	if (take_dmac(dgid, dmac))
		return 0;
	for (unsigned int i = 0; i < n; i++)
		for (uint32_t port = 1; port <= devs[i].cfg->ports; port++)
			if (port_has(&devs[i], port, dgid) &&
				caps_gid(&devs[i], port, 0, &local) == 0 &&
				take_dmac((const uint8_t *)local.gid, dmac))
				return 0;
	return -ENETUNREACH;
}

static int
create(struct uverbs_call *call)
{
	const struct ib_uverbs_create_ah *req = call_in(call, UVERBS_ATTR_CORE_IN);
	const struct ib_uverbs_ah_attr *attr = &req->attr;
	struct softhca_dev *dev = call->ctx->dev;
	struct object_pd *pd = object_find(call->ctx, &pd_class, req->pd_handle);
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
		rc = attr->is_global ? resolve_dmac(attr->grh.dgid, mlx5.dmac) : -EINVAL;
	if (rc == 0 || rc == -ENETUNREACH)
		softhca_note_address(dev, attr->grh.dgid, attr->dlid);
	if (rc == 0)
		rc = object_create(call->ctx, &ah_class, &ah);
	if (rc != 0)
		return rc;
	ah->pd = pd;
	object_use(&pd->obj);
	resp.ah_handle = ah->obj.handle;
	rc = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
	if (rc != 0)
		(void)object_destroy(call->ctx, &ah->obj, NULL);
	return rc;
}

static int
end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events)
{
	object_unuse(&((struct object_ah *)obj)->pd->obj);
	return 0;
}

static uint32_t
limit(const struct softhca_config *cfg)
{
	return cfg->max_ah;
}

static const struct attr_spec destroy_attrs[] = {
	{UVERBS_ATTR_DESTROY_AH_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .cls = &ah_class},
};

static const struct uverbs_method methods[] = {
	{UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, false, call_destroy, destroy_attrs,
		ARRAY_SIZE(destroy_attrs)},
};
static const struct write_command writes[] = {
	{IB_USER_VERBS_CMD_CREATE_AH, sizeof(struct ib_uverbs_create_ah),
		sizeof(struct ib_uverbs_create_ah_resp), create},
};

const struct object_class ah_class = {
	.name = "AH",
	.size = sizeof(struct object_ah),
	.limit = limit,
	.end = end,
	CLASS_METHODS(methods),
	CLASS_WRITES(writes),
};
