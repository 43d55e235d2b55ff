/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues, as firmware commands know them. */
#ifndef SOFTHCA_DEVX_SRQ_H
#define SOFTHCA_DEVX_SRQ_H

#include "uverbs_srq.h"

/*
 * The context's SRQ of that number, made by a verb or by a command. NULL: there is none, or it is
 * of XRC.
 */
struct object_srq *devx_find_srq(struct softhca_ctx *ctx, uint32_t number);

#endif
