/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys a context. */
#ifndef SOFTHCA_CONTEXT_H
#define SOFTHCA_CONTEXT_H

#include "ctx.h"

/*
 * Creates a context of the adapter whose memory is a new memfd. The caller still owns the
 * descriptor. Returns NULL with errno set on failure.
 */
struct softhca_ctx *ctx_create(struct softhca_dev *dev, int fd);
/* Destroys a context and all of its objects. No other thread can use the context any more. */
void ctx_destroy(struct softhca_ctx *ctx);
/*
 * In a child of fork(): marks a context as a context of the parent, and unmaps the memory that the
 * child must not use.
 */
void ctx_abandon(struct softhca_ctx *ctx);
/* Frees a context after ctx_abandon(). */
void ctx_free_abandoned(struct softhca_ctx *ctx);

#endif
