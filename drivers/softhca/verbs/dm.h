/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The adapter's own memory (ibv_alloc_dm(3)): which pages of it are whose.
 *
 *   memfd of a context:  ... | 8 MiB: device memory, DM_PAGES pages | ...
 *
 * The adapter has DM_PAGES pages for all of its contexts. Page i of the adapter, where a context has
 * it, is page i of the range in that context's memfd, and idle in the others.
 */
#ifndef SOFTHCA_DM_H
#define SOFTHCA_DM_H

#include <stdint.h>

#include "object.h"

#define DM_PAGES         64 /* as many as a word has bits, and fewer than 256: libmlx5's mmap offsets */
#define DM_LEN           (DM_PAGES * CTX_PAGE)
#define DM_LOG_UNIT      6  /* lengths are multiples of 64 bytes */
#define DM_LOG_MAX_ALIGN 12 /* each begins on a page */

struct object_dm {
	struct object obj;
	uint64_t len; /* as asked for; the pages go with it, whole */
	uint32_t first_page;
	pid_t owner; /* a child of fork() does not free its parent's */
};

static inline uint32_t
dm_pages(uint64_t len)
{
	return (len + CTX_PAGE - 1) / CTX_PAGE;
}

/* n pages in a row, filled with zeros: the number of the first. -ENOMEM. */
int dm_take(struct softhca_ctx *ctx, uint32_t n);
void dm_give(struct softhca_ctx *ctx, uint32_t first, uint32_t n);
/* Where the adapter sees a page. */
void *dm_page(const struct softhca_ctx *ctx, uint32_t page);

/* The device's mapping of a new context's memory. fd: its memfd. -1 with errno. */
int dm_attach(struct softhca_ctx *ctx, int fd);
/* Ends it; what children of fork() left of the context's pages is free then. */
void dm_detach(struct softhca_ctx *ctx);
/* In the child: contexts that it opens have an adapter of their own. */
void dm_fork_child(void);

#endif
