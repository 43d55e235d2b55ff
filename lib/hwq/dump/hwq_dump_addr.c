/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes segments of transports as text: addresses, SRQ numbers, Ethernet headers. Also writes
 * operands of atomics.
 */
#include "hwq_dump_addr.h"

#include <string.h>

/* Writes the address vector of a UD QP or a DCI: three DS. */
size_t
hwq_dump_av(struct text *t, const uint8_t *at, size_t left, bool dc)
{
	const uint8_t *m, *g;
	struct mlx5_wqe_av av;

	if (left < sizeof(av)) {
		hwq_dump_hex(t, at);
		return 1;
	}
	memcpy(&av, at, sizeof(av));
	if (dc)
		hwq_text_add(t, "  dc dctn 0x%06x key 0x%016llx", be32toh(av.dqp_dct) & 0xffffff,
			(unsigned long long)be64toh(av.key.dc_key));
	else
		hwq_text_add(t, "  ud qpn 0x%06x qkey 0x%08x", be32toh(av.dqp_dct) & 0xffffff,
			be32toh(av.key.qkey.qkey));
	m = av.rmac;
	g = av.rgid;
	hwq_text_add(t,
		" lid %u sl %u tclass 0x%02x hop_limit %u mac %02x:%02x:%02x:%02x:%02x:%02x gid "
		"%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x\n",
		be16toh(av.rlid), (unsigned int)(av.stat_rate_sl & 0xf) >> 1, av.tclass,
		av.hop_limit, m[0], m[1], m[2], m[3], m[4], m[5], g[0], g[1], g[2], g[3], g[4],
		g[5], g[6], g[7], g[8], g[9], g[10], g[11], g[12], g[13], g[14], g[15]);
	return sizeof(av) / HWQ_DS_LEN;
}

void
hwq_dump_xrc(struct text *t, const uint8_t *at)
{
	__be32 srqn;

	memcpy(&srqn, at, sizeof(srqn));
	hwq_text_add(t, "  xrc srqn 0x%06x\n", be32toh(srqn) & 0xffffff);
}

/* Writes checksums, MSS and inline headers of a raw packet; the headers take several DS. */
size_t
hwq_dump_eth(struct text *t, const uint8_t *at, size_t left)
{
	const size_t start = offsetof(struct mlx5_wqe_eth_seg, inline_hdr_start);
	struct mlx5_wqe_eth_seg seg;
	size_t i, len, ds;

	memcpy(&seg, at, start);
	len = be16toh(seg.inline_hdr_sz);
	hwq_text_add(t, "  eth%s%s mss %u headers %zu:",
		seg.cs_flags & MLX5_ETH_WQE_L3_CSUM ? " L3_CSUM" : "",
		seg.cs_flags & MLX5_ETH_WQE_L4_CSUM ? " L4_CSUM" : "", be16toh(seg.mss), len);
	for (i = 0; i < len && start + i < left; i++)
		hwq_text_add(t, " %02x", at[start + i]);
	hwq_text_add(t, "%s\n", i < len ? " ..." : "");
	ds = (start + len + HWQ_DS_LEN - 1) / HWQ_DS_LEN;
	return ds;
}

void
hwq_dump_atomic(struct text *t, const uint8_t *at)
{
	struct mlx5_wqe_atomic_seg seg;

	memcpy(&seg, at, sizeof(seg));
	hwq_text_add(t, "  atomic swap_add 0x%016llx compare 0x%016llx\n",
		(unsigned long long)be64toh(seg.swap_add),
		(unsigned long long)be64toh(seg.compare));
}

/* Writes the fields of a receive's CQE, except the length. */
void
hwq_dump_recv(struct text *t, const struct hwq_cqe *cqe)
{
	const struct hwq_cqe_recv *r = &cqe->recv;

	hwq_text_add(t, " byte_cnt %u", cqe->byte_cnt);
	if (r->flags & HWQ_RECV_WITH_IMM)
		hwq_text_add(t, " imm 0x%08x", be32toh(cqe->imm_inval));
	if (r->flags & HWQ_RECV_WITH_INV)
		hwq_text_add(t, " inval 0x%08x", be32toh(cqe->imm_inval));
	hwq_text_add(t, " src_qp 0x%06x slid %u sl %u%s%s%s", r->src_qp, r->slid, r->sl,
		r->flags & HWQ_RECV_GRH ? " GRH" : "", r->flags & HWQ_RECV_L3_OK ? " L3_OK" : "",
		r->flags & HWQ_RECV_L4_OK ? " L4_OK" : "");
	if (r->vlan != 0)
		hwq_text_add(t, " vlan %u", r->vlan);
}
