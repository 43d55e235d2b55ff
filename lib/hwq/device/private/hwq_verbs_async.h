/* SPDX-License-Identifier: BSD-3-Clause */
/* Verbs calls of lib/hwq for asynchronous events. The rules of hwq_verbs.h apply. */
#ifndef HWQ_VERBS_ASYNC_H
#define HWQ_VERBS_ASYNC_H

#include <infiniband/verbs.h>

int hwq_verbs_async_get(struct ibv_context *ctx, struct ibv_async_event *event);

#endif
