/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Firmware commands on the adapter itself: its capabilities.
 *
 * Offsets in bits: NVIDIA "Ethernet Adapters Programming Manual", and mlx5_ifc.h of rdma-core and DPDK.
 */
#include "caps.h"
#include "devx.h"

enum {
	CMD_QUERY_HCA_CAP = 0x100
};

static int
query_hca_cap(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	(void)obj;
	caps_hca_page(call->ctx->dev, bits_get(in, DEVX_OP_MOD, 16) >> 1, out + DEVX_HEADER);
	return 0;
}

static const struct devx_command commands[] = {
	{DEVX_GENERAL, NULL, CMD_QUERY_HCA_CAP, DEVX_HEADER, DEVX_HEADER + CAPS_HCA_PAGE_LEN,
		query_hca_cap},
};

const struct object_class devx_general_class = {
	.name = "DEVX commands on the adapter",
	CLASS_COMMANDS(commands),
};
