/* SPDX-License-Identifier: BSD-3-Clause */
/* The path between the ports of two ids. */
#include "path.h"

#include <endian.h>
#include <string.h>

#include "caps.h"
#include "dev.h"

enum {
	HOP_LIMIT_ROCE = 64,
	EXACTLY = 2, /* IB_SA_EQ of the kernel's ib_sa.h */
	RATE_400_GBPS = 21,
	MTU_4096 = 5
};

static bool
is_ethernet(const struct cm_id *id)
{
	return id->place.dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET;
}

uint8_t
path_mtu(const struct cm_id *id)
{
	struct ib_uverbs_query_port_resp_ex resp;

	if (caps_query_port(id->place.dev, id->place.port, &resp) != 0)
		return MTU_4096;
	return resp.legacy_resp.active_mtu;
}

void
path_ah(const struct cm_id *id, struct ib_uverbs_ah_attr *ah)
{
	memset(ah, 0, sizeof(*ah));
	ah->port_num = id->place.port;
	if (!is_ethernet(id)) {
		ah->dlid = id->remote_lid;
		return;
	}
	ah->is_global = 1;
	memcpy(ah->grh.dgid, id->remote_gid, sizeof(ah->grh.dgid));
	ah->grh.sgid_index = id->place.gid_index;
	ah->grh.hop_limit = HOP_LIMIT_ROCE;
	ah->grh.traffic_class = id->tos;
}

void
path_record(const struct cm_id *id, struct ib_user_path_rec *path)
{
	memset(path, 0, sizeof(*path));
	path->pkey = htobe16(PATH_PKEY);
	if (!id->has_path) {
		address_gid(&id->src, path->sgid);
		if (address_len(&id->dst) != 0)
			address_gid(&id->dst, path->dgid);
		return;
	}
	memcpy(path->sgid, id->place.gid, sizeof(path->sgid));
	memcpy(path->dgid, id->remote_gid, sizeof(path->dgid));
	if (!is_ethernet(id)) {
		path->slid = htobe16(id->place.lid);
		path->dlid = htobe16(id->remote_lid);
	}
	path->reversible = 1;
	path->mtu = path_mtu(id);
	path->mtu_selector = EXACTLY;
	path->hop_limit = is_ethernet(id) ? HOP_LIMIT_ROCE : 0;
	path->traffic_class = id->tos;
	path->numb_path = 1;
	path->rate_selector = EXACTLY;
	path->rate = RATE_400_GBPS;
	path->packet_life_time_selector = EXACTLY;
	path->packet_life_time = PATH_LIFE_TIME;
}
