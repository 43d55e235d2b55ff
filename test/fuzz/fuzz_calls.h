/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzzer of control calls has stock libibverbs do, so that each of its calls is a template. */
#ifndef FUZZ_CALLS_H
#define FUZZ_CALLS_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "fuzz.h"

/* fuzz_calls.c: everything that verbs can make, change, ask and end; whatever fails is left out. */
void calls_of_verbs(struct ibv_context *ctx);
/*
 * fuzz_devx.c: firmware commands. Queues that the adapter grants, although their commands were
 * changed, are used to their ends: their memory lies between pages that cannot be touched.
 */
void calls_of_devx(struct ibv_context *ctx);

extern unsigned long fuzz_devx_queues; /* that were granted, and used */

#endif
