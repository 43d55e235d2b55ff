/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of open contexts: opens and finds contexts, and detects contexts that were closed. */
#include "contexts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context.h"
#include "ctx_files.h"
#include "devices.h"
#include "fork_lock.h"
#include "hca.h"
#include "raw.h"

/* protects the list, and the members refs and seen of each context */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct softhca_ctx *contexts;

/* st_dev of all contexts. It is 0 until a context has been opened. */
static _Atomic(dev_t) memfd_dev;

/* ---------------------------------------------------------------- closed contexts */

/*
 * Removes closed contexts from the list, and returns them as a list linked by `next`. The library
 * does not see close(2). So a context counts as closed when no descriptor of this process refers to
 * the context's character device or to an async event file of the context. Called at the next open,
 * and at a request for the objects that the process holds. The caller holds list_lock.
 */
static struct softhca_ctx *
unlink_closed(void)
{
	struct softhca_ctx **link = &contexts, *ctx, *closed = NULL;
	DIR *fds = raw_open_fds();
	int fd;

	if (fds == NULL)
		return NULL; /* no file descriptor is free: a later open tries again */
	for (ctx = contexts; ctx != NULL; ctx = ctx->next)
		ctx->seen = ctx->refs != 0;
	while ((fd = raw_next_fd(fds)) >= 0) {
		struct stat st;

		if (raw_fstat(fd, &st) != 0)
			continue;
		for (ctx = contexts; ctx != NULL; ctx = ctx->next)
			ctx->seen |= (ctx->st_dev == st.st_dev && ctx->st_ino == st.st_ino) ||
				     ctx_has_async_file(ctx, st.st_dev, st.st_ino);
	}
	closedir(fds);
	while ((ctx = *link) != NULL) {
		if (ctx->seen) {
			link = &ctx->next;
			continue;
		}
		*link = ctx->next;
		ctx->next = closed;
		closed = ctx;
	}
	return closed;
}

static void
free_closed(struct softhca_ctx *closed)
{
	struct softhca_ctx *next;

	for (; closed != NULL; closed = next) {
		next = closed->next;
		if (closed->dead)
			ctx_free_abandoned(closed);
		else
			ctx_destroy(closed);
	}
}

/* ---------------------------------------------------------------- events of the adapter */

/* A softhca_dev_event_fn. It runs inside a turn (turns.h), so it does not wait for locks. */
static bool
send_event(struct softhca_dev *dev, uint32_t type, uint32_t port)
{
	struct softhca_ctx *end, *ctx;

	if (pthread_mutex_trylock(&list_lock) != 0)
		return false;
	/*
	 * Takes the locks of all contexts or of none. So no context gets the event twice when the
	 * caller tries again.
	 */
	for (end = contexts; end != NULL; end = end->next)
		if (pthread_mutex_trylock(&end->lock) != 0)
			break;
	for (ctx = contexts; ctx != end; ctx = ctx->next) {
		if (end == NULL && ctx->dev == dev && !ctx->dead)
			ctx_post_event(ctx, type, port);
		pthread_mutex_unlock(&ctx->lock);
	}
	pthread_mutex_unlock(&list_lock);
	return end == NULL;
}

/* ---------------------------------------------------------------- open and find */

int
ctx_open(struct softhca_dev *dev, int flags)
{
	unsigned int mfd_flags = MFD_ALLOW_SEALING | ((flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
	struct softhca_ctx *ctx = NULL, *closed;
	int fd, rc = 0;

	fork_lock(&list_lock);
	closed = unlink_closed();
	if (dev->lanes == NULL) {
		dev->send_event = send_event;
		rc = softhca_lanes_init(dev);
	}
	fd = rc == 0 ? memfd_create(CTX_MEMFD_NAME, mfd_flags) : -1;
	if (fd >= 0)
		ctx = ctx_create(dev, fd);
	if (ctx != NULL) {
		ctx->next = contexts;
		contexts = ctx;
		atomic_store_explicit(&memfd_dev, ctx->st_dev, memory_order_relaxed);
	} else if (rc == 0) {
		rc = errno == 0 ? -ENOMEM : -errno;
	}
	fork_unlock(&list_lock);
	free_closed(closed);
	if (rc != 0 && fd >= 0)
		close(fd);
	return rc != 0 ? rc : fd;
}

void
contexts_end_closed(void)
{
	struct softhca_ctx *closed;

	fork_lock(&list_lock);
	closed = unlink_closed();
	fork_unlock(&list_lock);
	free_closed(closed);
}

static struct softhca_ctx *
find_inode(dev_t dev, ino_t ino)
{
	struct softhca_ctx *ctx = contexts;

	while (ctx != NULL && (ctx->st_dev != dev || ctx->st_ino != ino))
		ctx = ctx->next;
	return ctx;
}

struct softhca_ctx *
ctx_get(int fd)
{
	struct softhca_ctx *ctx;
	struct stat st;

	if (raw_fstat(fd, &st) != 0)
		return NULL;
	fork_lock(&list_lock);
	ctx = find_inode(st.st_dev, st.st_ino);
	if (ctx != NULL)
		ctx->refs++;
	fork_unlock(&list_lock);
	return ctx;
}

void
ctx_put(struct softhca_ctx *ctx)
{
	fork_lock(&list_lock);
	ctx->refs--;
	fork_unlock(&list_lock);
}

struct softhca_dev *
ctx_find_dev(dev_t st_dev, ino_t st_ino)
{
	struct softhca_dev *dev;
	struct softhca_ctx *ctx;

	/*
	 * This runs for every file that a program queries. Only a file in the file system of
	 * memfd_create(2) can be a context. A file in another file system is answered without the
	 * lock, because ThreadSanitizer's symbolizer queries files while ThreadSanitizer does not
	 * see locks.
	 */
	if (atomic_load_explicit(&memfd_dev, memory_order_relaxed) != st_dev)
		return NULL;
	fork_lock(&list_lock);
	ctx = find_inode(st_dev, st_ino);
	dev = ctx != NULL ? ctx->dev : NULL;
	fork_unlock(&list_lock);
	return dev;
}

void
contexts_user_changed(void)
{
	unsigned int n;
	struct softhca_dev *devs = softhca_devices(&n);

	fork_lock(&list_lock);
	for (unsigned int i = 0; i < n; i++)
		softhca_lanes_user_changed(&devs[i]);
	fork_unlock(&list_lock);
}

/* ---------------------------------------------------------------- fork(2) */

void
contexts_fork_prepare(void)
{
	fork_lock(&list_lock);
	for (struct softhca_ctx *ctx = contexts; ctx != NULL; ctx = ctx->next)
		fork_lock(&ctx->lock);
}

void
contexts_fork_parent(void)
{
	for (struct softhca_ctx *ctx = contexts; ctx != NULL; ctx = ctx->next)
		fork_unlock(&ctx->lock);
	fork_unlock(&list_lock);
}

void
contexts_fork_child(void)
{
	for (struct softhca_ctx *ctx = contexts; ctx != NULL; ctx = ctx->next)
		ctx_abandon(ctx);
	contexts_fork_parent();
}
