/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains: ibv_alloc_pd(3). */
#ifndef SOFTHCA_UVERBS_PD_H
#define SOFTHCA_UVERBS_PD_H

#include "object.h"

struct object_pd {
	struct object obj;
	uint32_t pdn;
};

/* The context's protection domain of that number, or NULL. */
struct object_pd *pd_find_number(struct softhca_ctx *ctx, uint32_t pdn);

#endif
