/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PSVs: the running state of a signature. A command creates a PSV, a work request sets its value,
 * and data that pass through a key with this PSV change the value: doc/softhca-assumptions.md.
 * Assumed: sig-tag-retried, sig-tag-no-psv.
 *
 *     transient, T10-DIF:       | guard's seed 16 | application tag 16 | next reference tag 32 |
 *     of a transaction's CRC:   | register 32                          | 0                     |
 */
#ifndef SOFTHCA_PSV_H
#define SOFTHCA_PSV_H

#include <stdatomic.h>
#include <stdint.h>

#include "hca.h"
#include "lanes.h"
#include "use.h"

struct softhca_psv {
	struct softhca_dev *dev;
	uint32_t number, pdn;
	_Atomic uint64_t transient;
};

/* Returns the PSV with this number in a PD, or NULL. Call this inside a turn (turns.h). */
struct softhca_psv *psv_find(struct softhca_lanes *lanes, uint32_t number, uint32_t pdn);

/* The new value of a PSV after data of the running WQE. It exists as long as the WQE runs. */
struct psv_passed {
	struct psv_passed *next; /* next struct of this WQE */
	struct softhca_psv *psv;
	uint64_t transient;
};

/* Returns the PSV's transient signature for the next data of the running WQE. */
uint64_t psv_transient(const struct key_use *use, const struct softhca_psv *psv);
/*
 * Stores the value that the PSV has after data have passed. The PSV itself changes only when the
 * WQE succeeds, so that a retried WQE starts from the old value.
 */
void psv_pass(struct key_use *use, struct psv_passed *passed, struct softhca_psv *psv,
	uint64_t transient);
/* Call this when the WQE has succeeded: stores the new values in the PSVs. */
void psv_store(struct key_use *use);

#endif
