/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes and ends a context. */
#ifndef SOFTHCA_CONTEXT_H
#define SOFTHCA_CONTEXT_H

#include "ctx.h"

/* A context of the adapter over a new memfd. The descriptor stays the caller's. NULL with errno. */
struct softhca_ctx *ctx_create(struct softhca_dev *dev, int fd);
/* Ends a context that no thread can reach any more, with all of its objects. */
void ctx_destroy(struct softhca_ctx *ctx);
/*
 * In a child of fork(): marks a context as the parent's, and unmaps what the child may not touch.
 */
void ctx_abandon(struct softhca_ctx *ctx);
/* Frees a context that ctx_abandon() was called for. */
void ctx_free_abandoned(struct softhca_ctx *ctx);

#endif
