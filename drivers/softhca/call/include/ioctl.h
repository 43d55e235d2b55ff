/* SPDX-License-Identifier: BSD-3-Clause */
/* The ioctl RDMA_VERBS_IOCTL. */
#ifndef SOFTHCA_IOCTL_H
#define SOFTHCA_IOCTL_H

#include "ctx.h"

/*
 * Runs one call on a context that the caller holds. user: the argument of ioctl(2). Returns 0 or
 * -errno.
 */
int uverbs_ioctl(struct softhca_ctx *ctx, void *user);

#endif
