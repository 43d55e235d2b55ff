/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a gantry_addr: how another queue reaches this one. */
#ifndef GANTRY_ADDR_H
#define GANTRY_ADDR_H

#include <hwq_qp.h>

#include "gantry.h"

/* How a queue pair or a DC target is reached. */
struct gantry_dest {
	enum gantry_transport transport; /* RC or DC */
	struct hwq_addr hwq;             /* qpn: the QPN, or the number of the DC target */
	uint64_t dc_key;                 /* of a DC target; else 0 */
};

/* Writes an address as a record with a version and a checksum. */
void gantry_addr_pack(const struct gantry_dest *dest, struct gantry_addr *addr);

/*
 * Reads a record. Returns 0; -EINVAL: it is not as gantry_addr_pack() wrote it; -EPROTONOSUPPORT:
 * it has another version, or another transport than dest->transport. The other fields of *dest are
 * written on success only.
 */
int gantry_addr_unpack(const struct gantry_addr *addr, struct gantry_dest *dest);

#endif
