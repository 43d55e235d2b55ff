/* SPDX-License-Identifier: BSD-3-Clause */
/* PSVs: the running state of a signature. A command creates one, a work request sets it. */
#ifndef SOFTHCA_PSV_H
#define SOFTHCA_PSV_H

#include <stdatomic.h>
#include <stdint.h>

#include "hca.h"
#include "lanes.h"

struct softhca_psv {
	struct softhca_dev *dev;
	uint32_t number, pdn;
	_Atomic uint64_t transient;
};

/* The PSV that a number names in a PD, or NULL. Inside a turn. */
struct softhca_psv *psv_find(struct softhca_lanes *lanes, uint32_t number, uint32_t pdn);

#endif
