/* SPDX-License-Identifier: BSD-3-Clause */
/* The start of a visit. */
#ifndef SOFTHCA_RUN_INIT_H
#define SOFTHCA_RUN_INIT_H

#include "run.h"

/* Call this when a lane begins to visit queues of this adapter. */
void run_init(struct run *run, struct softhca_lanes *lanes);

#endif
