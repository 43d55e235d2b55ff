/* SPDX-License-Identifier: BSD-3-Clause */
/* The event files of a context. The caller of each function holds the context's lock. */
#ifndef SOFTHCA_CTX_FILES_H
#define SOFTHCA_CTX_FILES_H

#include "ctx.h"
#include "event.h"

/* Adds an event file. *fd is the program's end. -errno. */
int ctx_add_file(struct softhca_ctx *ctx, enum event_kind kind, int *fd);
/* The context's event file of this kind, by a descriptor of the program; or NULL. */
struct event_file *ctx_find_file(struct softhca_ctx *ctx, int fd, enum event_kind kind);
/* True if the inode is the program's end of an async event file of the context. */
bool ctx_has_async_file(const struct softhca_ctx *ctx, dev_t dev, ino_t ino);
/*
 * Sends an event of the adapter or of a port to every async event file, and a port's event to its
 * subscribers.
 */
void ctx_post_event(struct softhca_ctx *ctx, uint32_t type, uint32_t port);

#endif
