/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PSVs: the running state of a signature. A command creates one, a work request sets it, and data
 * that pass a key of this PSV move it on: doc/softhca-assumptions.md. Assumed:
 * sig-tag-retried, sig-tag-no-psv.
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

/* The PSV that a number names in a PD, or NULL. Inside a turn. */
struct softhca_psv *psv_find(struct softhca_lanes *lanes, uint32_t number, uint32_t pdn);

/* What a PSV becomes by data of the WQE that runs. It lives as long as the WQE. */
struct psv_passed {
	struct psv_passed *next; /* the next one of this WQE */
	struct softhca_psv *psv;
	uint64_t transient;
};

/* The PSV's transient signature for the next data of the WQE that runs. */
uint64_t psv_transient(const struct key_use *use, const struct softhca_psv *psv);
/*
 * Data have passed. The PSV itself changes when the WQE has succeeded: a WQE that is tried again
 * starts anew.
 */
void psv_pass(struct key_use *use, struct psv_passed *passed, struct softhca_psv *psv,
	uint64_t transient);
/* The WQE has succeeded. */
void psv_store(struct key_use *use);

#endif
