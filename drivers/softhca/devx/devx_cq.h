/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the CQ that has a CQ number, for firmware commands. */
#ifndef SOFTHCA_DEVX_CQ_H
#define SOFTHCA_DEVX_CQ_H

#include "uverbs_cq.h"

/* Returns the context's CQ with this number, which a verb or a command has made, or NULL. */
struct object_cq *devx_find_cq(struct softhca_ctx *ctx, uint32_t number);

#endif
