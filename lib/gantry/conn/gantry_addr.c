/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address records: magic, version, transport, the address of a queue pair or DC target, checksum.
 */
#include "gantry_addr.h"

#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_hash_crc.h>

#include "gantry_log.h"

#define VERSION 2

/* The format of the bytes of a struct gantry_addr. */
struct record {
	char magic[6];
	uint8_t version;
	uint8_t transport; /* enum gantry_transport */
	struct hwq_addr hwq;
	rte_be64_t dc_key; /* DC key of a DC target; otherwise 0 */
	uint8_t zero[12];
	rte_be32_t crc; /* checksum of all bytes before it */
};

static_assert(sizeof(struct record) == sizeof(struct gantry_addr), "a record fills a gantry_addr");
static_assert(offsetof(struct record, crc) == 60, "a record has no padding");

static const char magic[6] = {'g', 'a', 'n', 't', 'r', 'y'};

/*
 * Computes CRC-32C, which finds every single flipped bit. It is computed byte by byte, so that
 * hosts of either byte order get the same result.
 */
static rte_be32_t
crc_of(const struct record *r)
{
	const uint8_t *byte = (const uint8_t *)r;
	uint32_t crc = UINT32_MAX;
	size_t i;

	for (i = 0; i < offsetof(struct record, crc); i++)
		crc = rte_hash_crc_1byte(byte[i], crc);
	return rte_cpu_to_be_32(~crc);
}

/* Returns true if gantry_addr_pack() has written the record, and no byte has changed since. */
static bool
is_good(const struct record *r)
{
	return memcmp(r->magic, magic, sizeof(magic)) == 0 && r->crc == crc_of(r);
}

void
gantry_addr_pack(const struct gantry_dest *dest, struct gantry_addr *addr)
{
	struct record r = {.version = VERSION,
		.transport = dest->transport,
		.hwq = dest->hwq,
		.dc_key = rte_cpu_to_be_64(dest->dc_key)};

	memcpy(r.magic, magic, sizeof(magic));
	r.crc = crc_of(&r);
	memcpy(addr, &r, sizeof(*addr));
}

uint32_t
gantry_addr_number(const struct gantry_addr *addr)
{
	struct record r;

	memcpy(&r, addr, sizeof(r));
	return is_good(&r) ? rte_be_to_cpu_32(r.hwq.qpn) : 0;
}

int
gantry_addr_unpack(const struct gantry_addr *addr, struct gantry_dest *dest)
{
	struct record r;

	memcpy(&r, addr, sizeof(r));
	if (!is_good(&r)) {
		LOG(ERR, "an address is damaged, or not from gantry_peer_open()");
		return -EINVAL;
	}
	if (r.version != VERSION || r.transport != dest->transport) {
		LOG(ERR,
			"an address is of version %u and %s: this end has version %u and %s; use one "
			"version of Gantry and one transport at both ends",
			r.version, r.transport == GANTRY_TRANSPORT_RC ? "RC" : "DC", VERSION,
			dest->transport == GANTRY_TRANSPORT_RC ? "RC" : "DC");
		return -EPROTONOSUPPORT;
	}
	dest->hwq = r.hwq;
	dest->dc_key = rte_be_to_cpu_64(r.dc_key);
	return 0;
}
