/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of exported memory: they are written, checked and read. */
#ifndef GANTRY_RECORD_H
#define GANTRY_RECORD_H

#include "gantry_exports.h"

/* The facts of a record, in host byte order. */
struct gantry_record_facts {
	uint64_t system_guid; /* in network byte order, as verbs have it */
	uint64_t addr, len;
	uint32_t key;
	uint16_t vhca_id;
	uint16_t rights;
	uint8_t access_key[32];
};

void gantry_record_write(struct gantry_mem_record *record, const struct gantry_record_facts *facts);
/*
 * Checks a record, and reads it. Returns 0; -EBADMSG if it is no record or is damaged;
 * -EPROTONOSUPPORT if it has another version. A line of the log says more.
 */
int gantry_record_read(const struct gantry_mem_record *record, struct gantry_record_facts *facts);

#endif
