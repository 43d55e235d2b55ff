/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocates pages of device memory.
 *
 * A child of fork() shares inherited contexts with its parent, as on a card. So the table of the
 * pages' owners is in memory that both processes share, and it is changed by atomic operations.
 */
#include "dm.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "maps.h"
#include "raw.h"

_Static_assert(DM_PAGES == 64, "one bit a page");
_Static_assert(CTX_DM_OFFSET + DM_LEN <= CTX_UAR_OFFSET, "below the UAR pages");

struct dm_pool {
	_Atomic uint64_t used;
	_Atomic uint64_t owner[DM_PAGES]; /* inode of the memfd of the context that owns the page */
};

/*
 * The pools: one for each adapter, created with the adapter's first context. The lock of the list
 * of contexts protects them.
 */
static struct dm_pool *pools;

static uint64_t
mask_of(uint32_t first, uint32_t n)
{
	return (n == DM_PAGES ? UINT64_MAX : (UINT64_C(1) << n) - 1) << first;
}

/*
 * Returns one bit for each page of device memory in a range of a context's memfd. A page counts
 * both at its address as memory and at its addresses for operations.
 */
static uint64_t
pages_in(uint64_t offset, uint64_t len)
{
	uint64_t pages = 0;

	for (uint32_t way = 0; way < DM_N_WAYS; way++)
		for (uint32_t i = 0; i < DM_PAGES; i++) {
			uint64_t at = dm_offset(way, i);

			if (at + CTX_PAGE > offset && at < offset + len)
				pages |= mask_of(i, 1);
		}
	return pages;
}

/*
 * Returns the pages that the program has mapped. If an object ends while its pages are mapped
 * (ibv_import_dm(3)), the pages are not allocated again until they are unmapped, as in the kernel.
 */
static uint64_t
mapped_pages(const struct softhca_ctx *ctx)
{
	struct mapping_line line;
	uint64_t mapped = 0;
	struct maps maps;

	if (!maps_open(&maps))
		return UINT64_MAX;
	while (maps_next(&maps, &line))
		if (line.ino == ctx->st_ino && line.dev == ctx->st_dev &&
			line.from != (uintptr_t)ctx->dm)
			mapped |= pages_in(line.offset, line.to - line.from);
	maps_close(&maps);
	return mapped;
}

/* Takes pages that are neither owned nor mapped. Confirmed: dm-pages. Assumed: dm-zeroed. */
int
dm_take(struct softhca_ctx *ctx, uint32_t n)
{
	uint64_t busy = mapped_pages(ctx);
	uint64_t used = atomic_load(&ctx->dm_pool->used);
	uint32_t there = dm_pages(ctx->dev->cfg->max_dm), first = 0;

	if (n == 0 || n > there)
		return -ENOMEM;
	for (;;) {
		uint64_t mask = mask_of(first, n);

		if (((used | busy) & mask) != 0) {
			if (++first + n > there)
				return -ENOMEM;
		} else if (atomic_compare_exchange_strong(&ctx->dm_pool->used, &used,
				   used | mask)) {
			break;
		} else {
			first = 0;
		}
	}
	for (uint32_t i = first; i < first + n; i++)
		atomic_store(&ctx->dm_pool->owner[i], ctx->st_ino);
	memset(dm_page(ctx, first), ctx->dev->cfg->dm_zeroed != 0 ? 0 : DM_NOT_ZERO,
		(size_t)n * CTX_PAGE);
	return first;
}

void
dm_give(struct softhca_ctx *ctx, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++)
		atomic_store(&ctx->dm_pool->owner[i], 0);
	atomic_fetch_and(&ctx->dm_pool->used, ~mask_of(first, n));
}

void *
dm_page(const struct softhca_ctx *ctx, uint32_t page)
{
	return ctx->dm + (size_t)page * CTX_PAGE;
}

int
dm_attach(struct softhca_ctx *ctx, int fd)
{
	void *map;

	if (pools == NULL) {
		map = raw_mmap(NULL, SOFTHCA_MAX_DEVICES * sizeof(*pools), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (map == MAP_FAILED)
			return -1;
		pools = map;
	}
	map = raw_mmap(NULL, DM_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, CTX_DM_OFFSET);
	if (map == MAP_FAILED)
		return -1;
	ctx->dm = map;
	ctx->dm_pool = &pools[ctx->dev->index];
	return 0;
}

void
dm_detach(struct softhca_ctx *ctx)
{
	for (uint32_t i = 0; i < DM_PAGES; i++)
		if (atomic_load(&ctx->dm_pool->owner[i]) == ctx->st_ino)
			dm_give(ctx, i, 1);
	munmap(ctx->dm, DM_LEN);
}

void
dm_fork_child(void)
{
	pools = NULL;
}
