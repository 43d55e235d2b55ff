/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes and reads the bytes of a struct gantry_addr, the address of a queue for other queues. */
#ifndef GANTRY_ADDR_H
#define GANTRY_ADDR_H

#include <hwq_qp.h>

#include "gantry.h"

/* The address of a queue pair or of a DC target. */
struct gantry_dest {
	enum gantry_transport transport; /* GANTRY_RC or GANTRY_DC */
	struct hwq_addr hwq;             /* qpn: the QPN, or the number of the DC target */
	uint64_t dc_key;                 /* DC key of a DC target; otherwise 0 */
};

/* Writes an address as a record with a version and a checksum. */
void gantry_addr_pack(const struct gantry_dest *dest, struct gantry_addr *addr);

/*
 * Reads a record. Returns 0, -EINVAL if gantry_addr_pack() has not written the record, or
 * -EPROTONOSUPPORT if the record has another version, or another transport than dest->transport.
 * The other fields of *dest are written on success only.
 */
int gantry_addr_unpack(const struct gantry_addr *addr, struct gantry_dest *dest);

#endif
