/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the SRQ that has an SRQ number, for firmware commands. */
#ifndef SOFTHCA_DEVX_SRQ_H
#define SOFTHCA_DEVX_SRQ_H

#include "uverbs_srq.h"

/*
 * Returns the context's SRQ with this number, which a verb or a command has made. Returns NULL if
 * it does not exist or is an XRC SRQ.
 */
struct object_srq *devx_find_srq(struct softhca_ctx *ctx, uint32_t number);

#endif
