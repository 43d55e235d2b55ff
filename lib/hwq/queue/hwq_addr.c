/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of peers: checks an address, and finds the path to it. */
#include "hwq_addr.h"

#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "hwq_log.h"

#define HOP_LIMIT 64

int
hwq_addr_check(const struct hwq_dev_port *port, const struct hwq_addr *remote, const char *what)
{
	bool known = remote->version == HWQ_ADDR_VERSION;

	if (remote->version == 0 ||
		(known && (remote->mtu < IBV_MTU_256 || remote->mtu > IBV_MTU_4096)) ||
		(known && port->link_layer == IBV_LINK_LAYER_ETHERNET && !remote->has_gid)) {
		hwq_log("%s: not a valid address of a peer", what);
		return -EINVAL;
	}
	if (!known || remote->link_layer != port->link_layer) {
		hwq_log("%s: the peer's address is of version %u and link layer %u; ours %u and %u",
			what, remote->version, remote->link_layer, HWQ_ADDR_VERSION,
			port->link_layer);
		return -EPROTONOSUPPORT;
	}
	return 0;
}

void
hwq_addr_of_port(const struct hwq_dev_port *port, const struct hwq_path *path,
	const struct hwq_dev_caps *caps, struct hwq_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->version = HWQ_ADDR_VERSION;
	addr->link_layer = port->link_layer;
	addr->mtu = path->mtu != 0 ? path->mtu : port->active_mtu;
	addr->has_gid = port->has_gid;
	addr->max_rd_atomic = (uint8_t)caps->max_dest_rd_atomic;
	addr->lid = htobe16(port->lid);
	memcpy(addr->gid, port->gid, sizeof(addr->gid));
}

void
hwq_addr_to_ah(const struct hwq_dev_port *port, const struct hwq_addr *remote,
	struct ibv_ah_attr *ah)
{
	ah->port_num = port->port;
	ah->dlid = be16toh(remote->lid);
	if (port->link_layer != IBV_LINK_LAYER_ETHERNET)
		return;
	ah->is_global = 1;
	ah->grh.sgid_index = port->gid_index;
	ah->grh.hop_limit = HOP_LIMIT;
	memcpy(ah->grh.dgid.raw, remote->gid, sizeof(remote->gid));
}
