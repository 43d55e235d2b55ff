/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains: ibv_alloc_pd(3). */
#ifndef SOFTHCA_UVERBS_PD_H
#define SOFTHCA_UVERBS_PD_H

#include "object.h"

struct object_pd {
	struct object obj;
	uint32_t pdn;
};

/* The context's protection domain with this number, or NULL. */
struct object_pd *pd_find_number(struct softhca_ctx *ctx, uint32_t pdn);
/*
 * Adds an object of a class whose struct is object_pd, and gives it a number. -errno as of
 * object_create().
 */
int pd_create(struct softhca_ctx *ctx, const struct object_class *cls, struct object_pd **out);
/*
 * For object_class.end and .limit of such a class. pd_find_number() recognises protection domains
 * by this `end`.
 */
int pd_end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events);
uint32_t pd_limit(const struct softhca_config *cfg);

#endif
