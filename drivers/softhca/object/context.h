/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys a context. */
#ifndef SOFTHCA_CONTEXT_H
#define SOFTHCA_CONTEXT_H

#include "ctx.h"

/*
 * Creates a context of the adapter over a new memfd. The caller still owns the descriptor. NULL
 * with errno.
 */
struct softhca_ctx *ctx_create(struct softhca_dev *dev, int fd);
/* Destroys a context that no thread can reach any more, with all of its objects. */
void ctx_destroy(struct softhca_ctx *ctx);
/* In a child of fork(): marks a context as the parent's, and unmaps what the child must not use. */
void ctx_abandon(struct softhca_ctx *ctx);
/* Frees a context after ctx_abandon(). */
void ctx_free_abandoned(struct softhca_ctx *ctx);

#endif
