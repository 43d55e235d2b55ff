/* SPDX-License-Identifier: BSD-3-Clause */
/* UAR pages, by which programs ring doorbells: mlx5dv_devx_alloc_uar(3). */
#ifndef SOFTHCA_UVERBS_UAR_H
#define SOFTHCA_UVERBS_UAR_H

#include "object.h"

struct object_uar {
	struct object obj;
	struct softhca_uar *uar;
	uint32_t page_id; /* index of the page in the UAR range of the context's memfd */
};

/* Returns the context's UAR with this page id, or NULL. */
struct object_uar *uar_find_page(struct softhca_ctx *ctx, uint32_t page_id);

/* Takes a free page of the UAR range and fills it with zeros. Returns the page's id, or -ENOSPC. */
int uar_take_page(struct softhca_ctx *ctx);
void uar_give_page(struct softhca_ctx *ctx, uint32_t page_id);

/*
 * Call this when the program has mapped a range of the context's memfd: from then on the UAR pages
 * and the clock page in this range are watched.
 */
void uverbs_mapped(struct softhca_ctx *ctx, void *at, size_t len, uint64_t offset);

#endif
