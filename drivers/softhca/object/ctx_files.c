/* SPDX-License-Identifier: BSD-3-Clause */
/* The event files of a context. */
#include "ctx_files.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "raw.h"

#define EVENT_PORT_ACTIVE 9 /* IBV_EVENT_PORT_ACTIVE */

/*
 * Removes the completion channels that the program has closed. The library does not see close(2),
 * so it searches for closed channels when a new channel is added.
 */
static void
drop_closed(struct softhca_ctx *ctx)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ctx->n_files; i++)
		if (event_file_is(ctx->files[i], EVENT_COMP) && event_file_is_closed(ctx->files[i]))
			event_file_put(ctx->files[i]);
		else
			ctx->files[n++] = ctx->files[i];
	ctx->n_files = n;
}

int
ctx_add_file(struct softhca_ctx *ctx, enum event_kind kind, int *fd)
{
	struct event_file **grown;
	int rc;

	drop_closed(ctx);
	grown = realloc(ctx->files, (ctx->n_files + 1) * sizeof(struct event_file *));
	if (grown == NULL)
		return -ENOMEM;
	ctx->files = grown;
	rc = event_file_create(kind, &grown[ctx->n_files], fd);
	if (rc == 0)
		ctx->n_files++;
	return rc;
}

struct event_file *
ctx_find_file(struct softhca_ctx *ctx, int fd, enum event_kind kind)
{
	struct stat st;

	if (raw_fstat(fd, &st) != 0)
		return NULL;
	for (uint32_t i = 0; i < ctx->n_files; i++)
		if (event_file_is(ctx->files[i], kind) &&
			event_file_is_inode(ctx->files[i], st.st_dev, st.st_ino))
			return ctx->files[i];
	return NULL;
}

bool
ctx_has_async_file(const struct softhca_ctx *ctx, dev_t dev, ino_t ino)
{
	for (uint32_t i = 0; i < ctx->n_files; i++)
		if (event_file_is(ctx->files[i], EVENT_ASYNC) &&
			event_file_is_inode(ctx->files[i], dev, ino))
			return true;
	return false;
}

void
ctx_post_event(struct softhca_ctx *ctx, uint32_t type, uint32_t port)
{
	for (uint32_t i = 0; i < ctx->n_files; i++)
		if (event_file_is(ctx->files[i], EVENT_ASYNC))
			event_file_post(ctx->files[i], port, type);
	event_source_tell(&ctx->events, CTX_PORT_EVENT(port, type == EVENT_PORT_ACTIVE));
}
