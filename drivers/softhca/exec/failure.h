/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports a failed check: by the vendor syndrome of a completion, and by a log line. */
#ifndef SOFTHCA_FAILURE_H
#define SOFTHCA_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

struct softhca_qp;

struct failure {
	const struct softhca_qp *qp;
	enum wire_vendor
		/* the check; or a vendor syndrome; or VEN_NONE: a fault without vendor syndrome */
		why;
	enum wire_syndrome syndrome;
	uint8_t opcode; /* of a send WQE */
	bool receives;  /* a receive fails, not a send WQE */
	bool writes;    /* the WQE writes to its data segments */
};

/* Returns the vendor syndrome. If a check has failed, also calls failure_log(). */
uint8_t failure_vendor(const struct failure *f);
/*
 * Logs the name of the check. Each check is logged once for requesters and once for responders in
 * the life of the process.
 */
void failure_log(const struct failure *f, uint8_t vendor);

#endif
