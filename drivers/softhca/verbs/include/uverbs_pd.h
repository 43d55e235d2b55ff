/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains: ibv_alloc_pd(3). */
#ifndef SOFTHCA_UVERBS_PD_H
#define SOFTHCA_UVERBS_PD_H

#include "object.h"

struct object_pd {
	struct object obj;
	uint32_t pdn;
};

/* Returns the context's protection domain with this number, or NULL. */
struct object_pd *pd_find_number(struct softhca_ctx *ctx, uint32_t pdn);
/*
 * Adds an object of a class whose struct is object_pd, and gives the object a number. Returns 0,
 * -ENOSPC, or an error of object_create().
 */
int pd_create(struct softhca_ctx *ctx, const struct object_class *cls, struct object_pd **out);
/*
 * Each such class has these two functions as `end` and `limit`. pd_find_number() recognises
 * protection domains by this function in `end`.
 */
int pd_end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events);
uint32_t pd_limit(const struct softhca_config *cfg);

#endif
