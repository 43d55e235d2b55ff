/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the IP, TCP and UDP headers of Ethernet frames, and writes their checksums. */
#include "frame.h"

#include "checksum.h"

enum {
	TYPE_IPV4 = 0x0800,
	TYPE_IPV6 = 0x86dd,
	TYPE_VLAN = 0x8100,
	TYPE_QINQ = 0x88a8,
	IPV4_LEN = 20,
	IPV6_LEN = 40,
	TCP_LEN = 20,
	UDP_LEN = 8
};

static bool
find_ip(const uint8_t *p, unsigned int len, struct layers *at)
{
	unsigned int type_at = 12;

	while (type_at + 2 <= len &&
		(get_be16(p + type_at) == TYPE_VLAN || get_be16(p + type_at) == TYPE_QINQ))
		type_at += 4;
	if (type_at + 2 > len)
		return false;
	at->l3 = type_at + 2;
	if (get_be16(p + type_at) == TYPE_IPV6) {
		at->v6 = true;
		at->l4 = at->l3 + IPV6_LEN;
		return at->l4 <= len && p[at->l3] >> 4 == 6;
	}
	if (get_be16(p + type_at) != TYPE_IPV4 || at->l3 + IPV4_LEN > len || p[at->l3] >> 4 != 4)
		return false;
	at->l4 = at->l3 + (p[at->l3] & 0xf) * 4;
	return at->l4 >= at->l3 + IPV4_LEN && at->l4 <= len;
}

struct layers
frame_layers(const uint8_t *p, unsigned int len)
{
	struct layers at = {0};

	if (!find_ip(p, len, &at))
		return (struct layers){0};
	at.proto = p[at.l3 + (at.v6 ? 6 : 9)];
	/* The checksum of a fragmented packet covers several frames, so it is not computed. */
	if (!at.v6 && (get_be16(p + at.l3 + 6) & 0x3fff) != 0)
		at.proto = 0;
	if ((at.proto == PROTO_TCP && at.l4 + TCP_LEN <= len) ||
		(at.proto == PROTO_UDP && at.l4 + UDP_LEN <= len))
		return at;
	at.proto = 0;
	return at;
}

void
frame_put_l3_checksum(uint8_t *p, const struct layers *at)
{
	if (at->l3 == 0 || at->v6)
		return;
	put_be16(p + at->l3 + 10, 0);
	put_be16(p + at->l3 + 10, checksum_end(checksum_add(p + at->l3, at->l4 - at->l3)));
}

/*
 * The length of the TCP or UDP header and its data, as the IP header gives it: the frame may be
 * longer. If the IP header's length is impossible, all remaining bytes of the frame count.
 */
static unsigned int
l4_len(const uint8_t *p, unsigned int len, const struct layers *at)
{
	unsigned int end =
		at->v6 ? at->l4 + get_be16(p + at->l3 + 4) : at->l3 + get_be16(p + at->l3 + 2);

	return end >= at->l4 && end <= len ? end - at->l4 : len - at->l4;
}

void
frame_put_l4_checksum(uint8_t *p, unsigned int len, const struct layers *at)
{
	unsigned int field = at->l4 + (at->proto == PROTO_TCP ? 16 : 6);
	unsigned int n;
	uint32_t sum;

	if (at->proto == 0)
		return;
	n = l4_len(p, len, at);
	if (n < (at->proto == PROTO_TCP ? TCP_LEN : UDP_LEN))
		return; /* the checksum field is beyond the packet's end */
	put_be16(p + field, 0);
	sum = checksum_add(p + at->l3 + (at->v6 ? 8 : 12), at->v6 ? 32 : 8) + at->proto + n;
	sum = checksum_end(sum + checksum_add(p + at->l4, n));
	put_be16(p + field, sum == 0 && at->proto == PROTO_UDP ? 0xffff : sum);
}
