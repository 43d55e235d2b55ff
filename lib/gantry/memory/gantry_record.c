/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of exported memory. */
#include "gantry_record.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rte_hash_crc.h>

#include "gantry_log.h"

static_assert(sizeof(struct gantry_mem_record) == 128, "a record has no padding");
static_assert(offsetof(struct gantry_mem_record, reserved) == 80, "fields follow each other");

static const uint8_t magic[8] = {'g', 'a', 'n', 't', 'r', 'y', 'M', 'R'};

/* The CRC-32C (RFC 3720, section 12.1) of all bytes of the record but those of the CRC. */
static uint32_t
crc_of(const struct gantry_mem_record *record)
{
	struct gantry_mem_record copy = *record;
	uint32_t crc;

	copy.crc = 0;
	crc = ~rte_hash_crc(&copy, sizeof(copy), UINT32_MAX);
	explicit_bzero(&copy, sizeof(copy));
	return crc;
}

void
gantry_record_write(struct gantry_mem_record *record, const struct gantry_record_facts *facts)
{
	*record = (struct gantry_mem_record){
		.version = htobe32(GANTRY_RECORD_VERSION),
		.system_guid = facts->system_guid,
		.addr = htobe64(facts->addr),
		.len = htobe64(facts->len),
		.key = htobe32(facts->key),
		.vhca_id = htobe16(facts->vhca_id),
		.rights = htobe16(facts->rights),
	};
	memcpy(record->magic, magic, sizeof(magic));
	memcpy(record->access_key, facts->access_key, sizeof(facts->access_key));
	record->crc = htobe32(crc_of(record));
}

/* Returns true if the fields can be those of a region, whoever wrote the record. */
static bool
is_possible(const struct gantry_mem_record *record, const struct gantry_record_facts *facts)
{
	static const uint8_t zeros[sizeof(record->reserved)];

	return facts->len != 0 && facts->addr + facts->len > facts->addr && facts->key != 0 &&
	       (facts->rights & ~GANTRY_RECORD_WRITE) == 0 &&
	       memcmp(record->reserved, zeros, sizeof(zeros)) == 0;
}

int
gantry_record_read(const struct gantry_mem_record *record, struct gantry_record_facts *facts)
{
	const uint32_t version = be32toh(record->version);

	if (memcmp(record->magic, magic, sizeof(magic)) != 0) {
		LOG(ERR, "this is no record of exported memory: gantry_mem_export() writes them");
		return -EBADMSG;
	}
	if (be32toh(record->crc) != crc_of(record)) {
		LOG(ERR, "a record of exported memory is damaged: its CRC is wrong");
		return -EBADMSG;
	}
	if (version != GANTRY_RECORD_VERSION) {
		LOG(ERR,
			"a record of exported memory has version %u, and this library reads version %u",
			version, GANTRY_RECORD_VERSION);
		return -EPROTONOSUPPORT;
	}
	*facts = (struct gantry_record_facts){
		.system_guid = record->system_guid,
		.addr = be64toh(record->addr),
		.len = be64toh(record->len),
		.key = be32toh(record->key),
		.vhca_id = be16toh(record->vhca_id),
		.rights = be16toh(record->rights),
	};
	memcpy(facts->access_key, record->access_key, sizeof(facts->access_key));
	if (is_possible(record, facts))
		return 0;
	LOG(ERR, "a record of exported memory has impossible fields");
	return -EBADMSG;
}
