/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network header that a receive gets before a datagram's payload: a GRH, an IPv6 header or an
 * IPv4 header. Its length field counts the payload, the transport's headers and the trailer, as on
 * the wire.
 */
#include "grh.h"

#include <string.h>

#include "checksum.h"

enum {
	BTH_LEN = 12,
	DETH_LEN = 8,
	IMM_LEN = 4,
	ICRC_LEN = 4,
	UDP_LEN = 8,
	IPV4_LEN = 20,
	NEXT_IBA = 0x1b,
	NEXT_UDP = 17
};

/*
 * The network header of RoCE v2 over IPv4 fills the last 20 of the 40 bytes (IBTA annex A17.4.5.2).
 */
static void
write_ipv4(uint8_t *p, const struct message_path *path, uint32_t len)
{
	p += GRH_LEN - IPV4_LEN;
	p[0] = 0x45;
	p[1] = path->tclass;
	put_be16(p + 2, IPV4_LEN + UDP_LEN + len);
	put_be16(p + 6, 0x4000); /* don't fragment */
	p[8] = path->hop_limit;
	p[9] = NEXT_UDP;
	memcpy(p + 12, path->sgid + 12, 4);
	memcpy(p + 16, path->dgid + 12, 4);
	put_be16(p + 10, checksum_end(checksum_add(p, IPV4_LEN)));
}

/* A GRH has the form of an IPv6 header (InfiniBand, volume 1, chapter 8.3; RFC 8200). */
static void
write_ipv6(uint8_t *p, const struct message_path *path, uint32_t len)
{
	put_be32(p, 6u << 28 | (uint32_t)path->tclass << 20 | path->flow);
	put_be16(p + 4, path->is_v2 ? UDP_LEN + len : len);
	p[6] = path->is_v2 ? NEXT_UDP : NEXT_IBA;
	p[7] = path->hop_limit;
	memcpy(p + 8, path->sgid, 16);
	memcpy(p + 24, path->dgid, 16);
}

bool
grh_is_ipv4(const struct message_path *path)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return path->has_grh && path->is_v2 && memcmp(path->sgid, mapped, sizeof(mapped)) == 0;
}

void
grh_write(uint8_t *p, const struct message_path *path, uint64_t len, bool has_imm)
{
	const uint32_t padded = ((uint32_t)len + 3) & ~3u;
	const uint32_t packet = BTH_LEN + DETH_LEN + (has_imm ? IMM_LEN : 0) + padded + ICRC_LEN;

	memset(p, 0, GRH_LEN);
	if (!path->has_grh)
		return;
	if (grh_is_ipv4(path))
		write_ipv4(p, path, packet);
	else
		write_ipv6(p, path, packet);
}
