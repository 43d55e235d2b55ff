/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes and ends a context, and keeps its event files. */
#ifndef SOFTHCA_CONTEXT_H
#define SOFTHCA_CONTEXT_H

#include "ctx.h"
#include "event.h"

/* A context of the adapter over a new memfd. The descriptor stays the caller's. NULL with errno. */
struct softhca_ctx *ctx_create(struct softhca_dev *dev, int fd);
/* Ends a context that no thread can reach any more, with all of its objects. */
void ctx_destroy(struct softhca_ctx *ctx);
/* In a child of fork(): marks a context as the parent's, and unmaps what the child may not touch. */
void ctx_abandon(struct softhca_ctx *ctx);
/* Frees a context that ctx_abandon() was called for. */
void ctx_free_abandoned(struct softhca_ctx *ctx);

/* Adds an event file; *fd is the program's end. -errno. Context's lock held, as below. */
int ctx_add_file(struct softhca_ctx *ctx, bool is_async, int *fd);
/* The context's event file of that kind behind a descriptor of the program, or NULL. */
struct event_file *ctx_find_file(struct softhca_ctx *ctx, int fd, bool is_async);
/* Whether the inode is the program's end of an async event file of the context. */
bool ctx_has_async_file(const struct softhca_ctx *ctx, dev_t dev, ino_t ino);
/* Puts a record of an event of the adapter or of a port into every async event file. */
void ctx_post_event(struct softhca_ctx *ctx, uint32_t type, uint32_t port);

#endif
