/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys a context. */
#include "context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rdma/mlx5-abi.h>

#include "clock.h"
#include "dm.h"
#include "event.h"
#include "hca.h"
#include "object.h"
#include "raw.h"

/* ---------------------------------------------------------------- creation */

/*
 * Writes the page by which libmlx5 converts timestamps to wall-clock time
 * (mlx5dv_get_clock_info(3)). The adapter's clock counts nanoseconds of CLOCK_MONOTONIC at a
 * constant rate, so one pair of readings is enough for the context's life. The thread may lose its
 * CPU between the two readings, so the best of a few pairs is used.
 */
static bool
write_clock_info(int fd)
{
	struct mlx5_ib_clock_info info = {.mult = 1, .mask = UINT64_MAX / 2};
	uint64_t best = UINT64_MAX;

	for (unsigned int i = 0; i < 5; i++) {
		uint64_t before = device_clock(), took;
		struct timespec wall;

		clock_gettime(CLOCK_REALTIME, &wall);
		took = device_clock() - before;
		if (took >= best)
			continue;
		best = took;
		info.nsec = wall.tv_sec * UINT64_C(1000000000) + wall.tv_nsec;
		info.cycles = before + took / 2;
	}
	info.overflow_period = info.mask / 2;
	return pwrite(fd, &info, sizeof(info), CTX_CLOCK_INFO_OFFSET) == sizeof(info);
}

struct softhca_ctx *
ctx_create(struct softhca_dev *dev, int fd)
{
	struct softhca_ctx *ctx = calloc(1, sizeof(*ctx));
	struct stat st;

	if (ctx == NULL)
		return NULL;
	if (ftruncate(fd, CTX_UAR_OFFSET + CTX_BAR_LEN) != 0 || !write_clock_info(fd) ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
		raw_fstat(fd, &st) != 0)
		goto fail;
	ctx->bar = raw_mmap(NULL, CTX_BAR_LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		fd, CTX_UAR_OFFSET);
	if (ctx->bar == MAP_FAILED)
		goto fail;
	ctx->clock = raw_mmap(NULL, CTX_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		CTX_CORE_CLOCK_OFFSET);
	if (ctx->clock == MAP_FAILED)
		goto unmap_bar;
	if (softhca_clock_add(dev, ctx->clock) != 0)
		goto unmap_clock;
	ctx->dev = dev;
	ctx->st_dev = st.st_dev;
	ctx->st_ino = st.st_ino;
	if (dm_attach(ctx, fd) != 0)
		goto remove_clock;
	pthread_mutex_init(&ctx->lock, NULL);
	return ctx;
remove_clock:
	(void)softhca_clock_remove(dev, ctx->clock);
unmap_clock:
	munmap(ctx->clock, CTX_PAGE);
unmap_bar:
	munmap(ctx->bar, CTX_BAR_LEN);
fail:
	free(ctx);
	return NULL;
}

void
ctx_show(struct softhca_ctx *ctx)
{
	ctx->shown = resource_take(ctx->dev->index, RESOURCE_CTX);
	resource_show(ctx->shown, RESOURCE_CTX);
}

/* ---------------------------------------------------------------- end */

void
ctx_destroy(struct softhca_ctx *ctx)
{
	uint32_t n_read;

	object_destroy_all(ctx);
	event_source_fini(&ctx->events, &n_read, &n_read);
	for (uint32_t i = 0; i < ctx->n_files; i++)
		event_file_put(ctx->files[i]);
	softhca_unwatch(ctx->clock);
	if (softhca_clock_remove(ctx->dev, ctx->clock) == 0)
		munmap(ctx->clock, CTX_PAGE);
	munmap(ctx->bar, CTX_BAR_LEN);
	dm_detach(ctx);
	pthread_mutex_destroy(&ctx->lock);
	resource_give(ctx->shown);
	free(ctx->files);
	free(ctx->objects);
	free(ctx);
}

/* Device memory stays mapped: a child of fork() shares it with its parent, as on a card. */
void
ctx_abandon(struct softhca_ctx *ctx)
{
	if (!ctx->dead) {
		for (uint32_t i = 0; i < ctx->n_files; i++)
			event_file_abandon(ctx->files[i]);
		munmap(ctx->clock, CTX_PAGE);
		munmap(ctx->bar, CTX_BAR_LEN);
	}
	ctx->dead = true;
	ctx->refs = 0;
}

/* Objects and event files stay allocated: in the child, their locks may be held for ever. */
void
ctx_free_abandoned(struct softhca_ctx *ctx)
{
	munmap(ctx->dm, DM_LEN);
	free(ctx);
}
