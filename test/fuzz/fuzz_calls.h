/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of stock libibverbs for the fuzzer of control calls: each is the template of malformed
 * ones.
 */
#ifndef FUZZ_CALLS_H
#define FUZZ_CALLS_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "fuzz.h"

/*
 * fuzz_calls.c: creates, modifies, queries and destroys every object of verbs. A call that fails is
 * skipped.
 */
void calls_of_verbs(struct ibv_context *ctx);
/*
 * fuzz_devx.c: firmware commands. A queue that the adapter creates from a changed command is used
 * up to its end; its memory lies between pages that cannot be accessed.
 */
void calls_of_devx(struct ibv_context *ctx);

extern unsigned long fuzz_devx_queues; /* Number of queues created by changed commands and used. */

#endif
