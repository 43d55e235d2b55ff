/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports a failed check by the vendor syndrome of a completion and by a log line. */
#ifndef SOFTHCA_FAILURE_H
#define SOFTHCA_FAILURE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

struct softhca_qp;

struct failure {
	const struct softhca_qp *qp;
	enum wire_vendor
		/*
		 * the check that failed, or a vendor syndrome, or VEN_NONE for an injected fault
		 * without vendor syndrome
		 */
		why;
	enum wire_syndrome syndrome;
	uint8_t opcode; /* opcode of the send WQE */
	bool receives;  /* true: a receive WQE fails; false: a send WQE */
	bool writes;    /* the WQE writes to its data segments */
};

/* Returns the vendor syndrome. If a check has failed, also calls failure_log(). */
uint8_t failure_vendor(const struct failure *f);
/*
 * Logs the name of the check. In the life of a process each check is logged at most once for
 * requesters and once for responders.
 */
void failure_log(const struct failure *f, uint8_t vendor);

#endif
