/* SPDX-License-Identifier: BSD-3-Clause */
/* UAR pages, by which programs ring doorbells: mlx5dv_devx_alloc_uar(3). */
#ifndef SOFTHCA_UVERBS_UAR_H
#define SOFTHCA_UVERBS_UAR_H

#include "object.h"

struct object_uar {
	struct object obj;
	struct softhca_uar *uar;
	uint32_t page_id; /* page of the UAR range of the context's memory */
};

/* The context's UAR with that page id, or NULL. */
struct object_uar *uar_find_page(struct softhca_ctx *ctx, uint32_t page_id);

/*
 * A free page of the UAR range, filled with zeros: its id, or -ENOSPC. It is taken until given
 * back.
 */
int uar_take_page(struct softhca_ctx *ctx);
void uar_give_page(struct softhca_ctx *ctx, uint32_t page_id);

/* The program has mapped that part of the context's memory: what it maps there is watched. */
void uverbs_mapped(struct softhca_ctx *ctx, void *at, size_t len, uint64_t offset);

#endif
