/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a completion in error says of the check that failed: its vendor syndrome, and a line in the
 * log.
 */
#ifndef SOFTHCA_FAILURE_H
#define SOFTHCA_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

struct softhca_qp;

struct failure {
	const struct softhca_qp *qp;
	enum wire_vendor
		why; /* the check; or a vendor syndrome; or VEN_NONE: a fault without one */
	enum wire_syndrome syndrome;
	uint8_t opcode; /* of the WQE of a send queue */
	bool receives;  /* a receive fails, and no WQE of a send queue */
	bool writes;    /* the WQE's data segments are written */
};

/* The vendor syndrome, after failure_log() if the failure is one of a check. */
uint8_t failure_vendor(const struct failure *f);
/* Logs the name of the check: once for each check, at each side, in the life of the process. */
void failure_log(const struct failure *f, uint8_t vendor);

#endif
