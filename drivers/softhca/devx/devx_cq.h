/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues, as firmware commands know them. */
#ifndef SOFTHCA_DEVX_CQ_H
#define SOFTHCA_DEVX_CQ_H

#include "uverbs_cq.h"

/* The context's CQ of that number, made by a verb or by a command; NULL. */
struct object_cq *devx_find_cq(struct softhca_ctx *ctx, uint32_t number);

#endif
