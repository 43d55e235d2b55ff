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

/* The members end and limit of each object_class whose struct begins with object_cq. */
int cq_end(struct softhca_ctx *ctx, struct object *obj, struct object_events *events);
uint32_t cq_limit(const struct softhca_config *cfg);

#endif
