/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a gantry_addr: how another queue reaches this one. */
#ifndef GANTRY_ADDR_H
#define GANTRY_ADDR_H

#include <hwq_qp.h>

#include "gantry.h"

/* Writes the address of a queue pair as a record with a version and a checksum. */
void gantry_addr_pack(enum gantry_transport transport, const struct hwq_addr *hwq,
	struct gantry_addr *addr);

/*
 * Reads a record. 0; -EINVAL it is not as gantry_addr_pack() wrote it; -EPROTONOSUPPORT it is of
 * another version or transport. *hwq is written on success only.
 */
int gantry_addr_unpack(const struct gantry_addr *addr, enum gantry_transport transport,
	struct hwq_addr *hwq);

#endif
