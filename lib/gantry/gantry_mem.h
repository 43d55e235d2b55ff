/* SPDX-License-Identifier: BSD-3-Clause */
/* A registration of the caller's memory. */
#ifndef GANTRY_MEM_H
#define GANTRY_MEM_H

#include <stdint.h>

#include <hwq_mr.h>

#include "gantry.h"

struct gantry_mem {
	struct gantry *g;
	uint64_t addr;
	struct hwq_mr mr;
};

#endif
