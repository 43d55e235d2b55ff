/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues by number, for firmware commands. */
#ifndef SOFTHCA_DEVX_SRQ_H
#define SOFTHCA_DEVX_SRQ_H

#include "uverbs_srq.h"

/*
 * The context's SRQ with this number, made by a verb or by a command. NULL: it does not exist, or
 * is an SRQ of XRC.
 */
struct object_srq *devx_find_srq(struct softhca_ctx *ctx, uint32_t number);

#endif
