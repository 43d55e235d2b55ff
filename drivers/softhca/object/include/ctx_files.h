/* SPDX-License-Identifier: BSD-3-Clause */
/* The event files of a context. The caller of each function holds the context's lock. */
#ifndef SOFTHCA_CTX_FILES_H
#define SOFTHCA_CTX_FILES_H

#include "ctx.h"
#include "event.h"

/* Adds an event file. *fd is the descriptor for the program. Returns 0 or -errno. */
int ctx_add_file(struct softhca_ctx *ctx, enum event_kind kind, int *fd);
/*
 * Finds the context's event file of this kind by the program's descriptor. Returns NULL if there is
 * none.
 */
struct event_file *ctx_find_file(struct softhca_ctx *ctx, int fd, enum event_kind kind);
/*
 * True if the inode is that of the descriptor for the program of an async event file of the
 * context.
 */
bool ctx_has_async_file(const struct softhca_ctx *ctx, dev_t dev, ino_t ino);
/*
 * Sends an event of the adapter or of a port to every async event file. An event of a port is also
 * sent to its subscribers.
 */
void ctx_post_event(struct softhca_ctx *ctx, uint32_t type, uint32_t port);

#endif
