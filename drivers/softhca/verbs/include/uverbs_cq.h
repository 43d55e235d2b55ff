/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues. */
#ifndef SOFTHCA_UVERBS_CQ_H
#define SOFTHCA_UVERBS_CQ_H

#include "event.h"
#include "hca.h"
#include "object.h"
#include "uverbs_uar.h"

struct object_cq {
	struct object obj;
	struct softhca_cq *cq;
	struct object_uar *uar;
	struct event_source event;
};

/*
 * Each object_class whose objects begin with a struct object_cq has these two functions as `end`
 * and `limit`.
 */
int cq_end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events);
uint32_t cq_limit(const struct softhca_config *cfg);

#endif
