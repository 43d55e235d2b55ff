/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pages of the adapter's own memory (ibv_alloc_dm(3)), and the context that owns each page.
 *
 *   memfd of a context:  ... | 8 MiB: device memory, DM_PAGES pages | ...
 *
 * All contexts of the adapter share DM_PAGES pages, or fewer (max_dm). Page i is at page i of this
 * range in the memfd of the context that owns it. In the memfds of other contexts that page is
 * unused.
 *
 * The range repeats beyond the end of the memfd, once for each operation (dm_op.h). A mapping there
 * has no memory behind it.
 */
#ifndef SOFTHCA_DM_H
#define SOFTHCA_DM_H

#include <stdint.h>

#include "ctx.h"

#define DM_PAGES         64 /* at most 64: one bit of a word for each page */
#define DM_LEN           (DM_PAGES * CTX_PAGE)
#define DM_LOG_UNIT      6  /* the length of an allocation is a multiple of 64 bytes */
#define DM_LOG_MAX_ALIGN 12 /* an allocation begins at the start of a page */
/* number of ways to map a page: as memory, or for one of two operations */
#define DM_N_WAYS 3

/*
 * dm_number() returns the number by which libmlx5 maps a page; way 0 is memory. dm_offset() returns
 * the offset of that mapping in the memfd.
 */
static inline uint16_t
dm_number(uint32_t way, uint32_t page)
{
	return (uint16_t)(way << 8 | page);
}

static inline uint64_t
dm_offset(uint32_t way, uint32_t page)
{
	/*
	 * In a file offset, libmlx5 puts the upper 8 bits of the number (`way`) above the lower 16
	 * bits.
	 */
	return CTX_DM_OFFSET + (uint64_t)CTX_PAGE * (way << 16 | page);
}

static inline uint32_t
dm_pages(uint64_t len)
{
	return (len + CTX_PAGE - 1) / CTX_PAGE;
}

/* The byte that fills new pages with dm_zeroed = 0. */
#define DM_NOT_ZERO 0x5a

/*
 * Takes n consecutive pages and fills them as the settings say. Returns the number of the first
 * page, or -ENOMEM.
 */
int dm_take(struct softhca_ctx *ctx, uint32_t n);
void dm_give(struct softhca_ctx *ctx, uint32_t first, uint32_t n);
/* Returns the adapter's address of a page. */
void *dm_page(const struct softhca_ctx *ctx, uint32_t page);

/*
 * Maps the device memory of a new context. fd: the context's memfd. Returns 0, or -1 with errno
 * set.
 */
int dm_attach(struct softhca_ctx *ctx, int fd);
/*
 * Unmaps the device memory, and frees the context's pages, including pages that children of fork()
 * have taken.
 */
void dm_detach(struct softhca_ctx *ctx);
/* Call this in a child of fork(): new contexts do not share pages with the parent. */
void dm_fork_child(void);

#endif
