/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of stock libibverbs for the fuzzer of control calls: each call is a template of malformed
 * calls.
 */
#ifndef FUZZ_CALLS_H
#define FUZZ_CALLS_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "fuzz.h"

/*
 * fuzz_calls.c: creates, modifies, queries and destroys every kind of verbs object. Calls may fail;
 * the function continues.
 */
void calls_of_verbs(struct ibv_context *ctx);
/*
 * fuzz_devx.c: firmware commands. If the adapter creates a queue from a changed command, the whole
 * queue is used; the queue's memory lies between pages that cannot be accessed.
 */
void calls_of_devx(struct ibv_context *ctx);

/* Number of queues that were created by changed commands, and used. */
extern unsigned long fuzz_devx_queues;
/* Number of aliases that were created, most of them by changed commands. */
extern unsigned long fuzz_devx_aliases;

#endif
