/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Firmware commands about the adapter itself: its capabilities, its ports, link aggregation.
 *
 * Bit offsets: NVIDIA "Ethernet Adapters Programming Manual", and mlx5_ifc.h of rdma-core, UCX and
 * DPDK. QUERY_LAG: mlx5_ifc.h of Linux, lagc.
 */
#include <string.h>

#include "caps.h"
#include "devx.h"

enum {
	CMD_QUERY_HCA_CAP = 0x100,
	CMD_QUERY_VPORT_STATE = 0x750,
	CMD_QUERY_NIC_VPORT = 0x754,
	CMD_QUERY_HCA_VPORT = 0x762,
	CMD_NOP = 0x80d,
	CMD_QUERY_LAG = 0x842
};

/*
 * Fields of the queries of a port. The adapter has only one PCI function: queries of other PCI
 * functions are refused.
 */
enum {
	IN_PORT = 0x4c, /* 4 bits; 0: port 1 */
	/* 1 bit, in QUERY_HCA_CAP: the query is about another PCI function */
	IN_OTHER_VPORT = 0x40,
	IN_VPORT = 0x50 /* 16 bits */
};

/* Answer of QUERY_NIC_VPORT_CONTEXT: offsets of the Ethernet properties of the PCI function. */
enum {
	NIC_AT = 0x80,
	NIC_INLINE_MODE = NIC_AT + 0x05, /* 3 bits: 0 is no header, 1 is the Ethernet header */
	NIC_ROCE = NIC_AT + 0x1f,
	NIC_MTU = NIC_AT + 0x130, /* 16 bits */
	NIC_SYSTEM_GUID = NIC_AT + 0x140,
	NIC_PORT_GUID = NIC_AT + 0x180,
	NIC_NODE_GUID = NIC_AT + 0x1c0,
	NIC_MAC = NIC_AT + 0x7b0, /* 48 bits */
	NIC_END = NIC_AT + 0x800
};

/*
 * Answer of QUERY_HCA_VPORT_CONTEXT: offsets of the properties of an InfiniBand port. The values
 * are those of PortInfo.
 */
enum {
	HCA_AT = 0x80,
	HCA_GRH = HCA_AT + 0x103,
	HCA_PHYSICAL_STATE = HCA_AT + 0x110, /* 4 bits */
	HCA_PORT_STATE = HCA_AT + 0x118,     /* 4 bits */
	HCA_VPORT_STATE = HCA_AT + 0x11c,    /* 4 bits */
	HCA_SYSTEM_GUID = HCA_AT + 0x140,
	HCA_PORT_GUID = HCA_AT + 0x180,
	HCA_NODE_GUID = HCA_AT + 0x1c0,
	HCA_CAP_MASK = HCA_AT + 0x200, /* 32 bits */
	HCA_LID = HCA_AT + 0x300,      /* 16 bits */
	HCA_LMC = HCA_AT + 0x318,      /* 3 bits */
	HCA_TIMEOUT = HCA_AT + 0x31b,  /* 5 bits */
	HCA_SM_LID = HCA_AT + 0x320,   /* 16 bits */
	HCA_SM_SL = HCA_AT + 0x330,    /* 4 bits */
	HCA_END = HCA_AT + 0xfe0
};

enum {
	STATE_ADMIN = 0x78, /* 4 bits: the answer of QUERY_VPORT_STATE */
	STATE_PORT = 0x7c,
	STATE_END = 0x80
};

/* Answer of QUERY_LAG. Its port_select_mode is 0: each queue has a port. */
enum {
	LAG_STATE = 0x5d,      /* 3 bits; 0: no bond */
	LAG_TX_REMAP_2 = 0x74, /* 4 bits: port by which packets of port 2 leave */
	LAG_TX_REMAP_1 = 0x7c, /* 4 bits: port by which packets of port 1 leave */
	LAG_END = 0x80
};

#define ETHERNET_MTU 9216 /* MTU of a raw packet queue pair: doc/softhca-reference.md */
#define PORT_ACTIVE  4    /* IBV_PORT_ACTIVE */

static void
put64(uint8_t *out, uint32_t bit, uint64_t value)
{
	bits_set(out, bit, 32, (uint32_t)(value >> 32));
	bits_set(out, bit + 32, 32, (uint32_t)value);
}

static int
query_hca_cap(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	(void)obj;
	if (bits_get(in, IN_OTHER_VPORT, 1) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_OTHER_VPORT);
	caps_hca_page(call->ctx->dev, bits_get(in, DEVX_OP_MOD, 16) >> 1, out + DEVX_HEADER);
	return 0;
}

static int
check_vport(const uint8_t *in)
{
	if (bits_get(in, IN_OTHER_VPORT, 1) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_OTHER_VPORT);
	if (bits_get(in, IN_VPORT, 16) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_VPORT);
	return 0;
}

/* Answers whether the PCI function is up or down as an Ethernet adapter. */
static int
query_vport_state(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	struct ib_uverbs_query_port_resp_ex port;
	int rc = check_vport(in);
	bool up;

	(void)obj;
	if (rc != 0)
		return rc;
	if (caps_query_port(call->ctx->dev, 1, &port) != 0)
		return DEVX_REFUSE(DEVX_BAD_PARAM, IN_VPORT);
	up = port.legacy_resp.state == PORT_ACTIVE;
	bits_set(out, STATE_ADMIN, 4, 1);
	bits_set(out, STATE_PORT, 4, up);
	return 0;
}

static int
query_nic_vport(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	const struct softhca_dev *dev = call->ctx->dev;
	int rc = check_vport(in);

	(void)obj;
	if (rc != 0)
		return rc;
	bits_set(out, NIC_INLINE_MODE, 3, dev->cfg->eth_inline);
	bits_set(out, NIC_ROCE, 1, dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET);
	bits_set(out, NIC_MTU, 16, ETHERNET_MTU);
	put64(out, NIC_SYSTEM_GUID, caps_system_guid(dev));
	put64(out, NIC_PORT_GUID, caps_port_guid(dev, 1));
	put64(out, NIC_NODE_GUID, caps_node_guid(dev));
	memcpy(out + NIC_MAC / 8, dev->port[0].mac, sizeof(dev->port[0].mac));
	return 0;
}

static int
query_hca_vport(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	const struct softhca_dev *dev = call->ctx->dev;
	uint32_t number = bits_get(in, IN_PORT, 4);
	struct ib_uverbs_query_port_resp_ex port;
	int rc = check_vport(in);

	(void)obj;
	if (dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET)
		return DEVX_REFUSE(DEVX_BAD_OP, DEVX_OPCODE);
	if (number == 0)
		number = 1;
	if (rc == 0 && caps_query_port(dev, number, &port) != 0)
		rc = DEVX_REFUSE(DEVX_BAD_PARAM, IN_PORT);
	if (rc != 0)
		return rc;
	bits_set(out, HCA_PHYSICAL_STATE, 4, port.legacy_resp.phys_state);
	bits_set(out, HCA_PORT_STATE, 4, port.legacy_resp.state);
	bits_set(out, HCA_VPORT_STATE, 4, port.legacy_resp.state);
	put64(out, HCA_SYSTEM_GUID, caps_system_guid(dev));
	put64(out, HCA_PORT_GUID, caps_port_guid(dev, number));
	put64(out, HCA_NODE_GUID, caps_node_guid(dev));
	bits_set(out, HCA_CAP_MASK, 32, port.legacy_resp.port_cap_flags);
	bits_set(out, HCA_LID, 16, port.legacy_resp.lid);
	bits_set(out, HCA_LMC, 3, port.legacy_resp.lmc);
	bits_set(out, HCA_TIMEOUT, 5, port.legacy_resp.subnet_timeout);
	bits_set(out, HCA_SM_LID, 16, port.legacy_resp.sm_lid);
	bits_set(out, HCA_SM_SL, 4, port.legacy_resp.sm_sl);
	return 0;
}

/* Answers QUERY_LAG. Both ports of a bond are up. Without a bond, the answer has only zeros. */
static int
query_lag(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	(void)obj;
	(void)in;
	if (call->ctx->dev->cfg->lag == 0)
		return 0;
	bits_set(out, LAG_STATE, 3, 1);
	bits_set(out, LAG_TX_REMAP_1, 4, 1);
	bits_set(out, LAG_TX_REMAP_2, 4, 2);
	return 0;
}

static int
nothing(struct uverbs_call *call, struct object *obj, const uint8_t *in, uint8_t *out)
{
	(void)call;
	(void)obj;
	(void)in;
	(void)out;
	return 0;
}

static const struct devx_command commands[] = {
	{DEVX_GENERAL, NULL, CMD_QUERY_HCA_CAP, DEVX_HEADER, DEVX_HEADER + CAPS_HCA_PAGE_LEN,
		query_hca_cap},
	{DEVX_GENERAL, NULL, CMD_QUERY_VPORT_STATE, DEVX_HEADER, STATE_END / 8, query_vport_state},
	{DEVX_GENERAL, NULL, CMD_QUERY_NIC_VPORT, DEVX_HEADER, NIC_END / 8, query_nic_vport},
	{DEVX_GENERAL, NULL, CMD_QUERY_HCA_VPORT, DEVX_HEADER, HCA_END / 8, query_hca_vport},
	{DEVX_GENERAL, NULL, CMD_NOP, DEVX_HEADER, DEVX_HEADER, nothing},
	{DEVX_GENERAL, NULL, CMD_QUERY_LAG, DEVX_HEADER, LAG_END / 8, query_lag},
};

const struct object_class devx_general_class = {
	.name = "DEVX commands on the adapter",
	CLASS_COMMANDS(commands),
};
