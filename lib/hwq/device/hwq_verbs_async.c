/* SPDX-License-Identifier: BSD-3-Clause */
/* Verbs calls for asynchronous events. Their errors become -errno. */
#include "hwq_verbs_async.h"

#include "hwq_verbs_errno.h"

int
hwq_verbs_async_get(struct ibv_context *ctx, struct ibv_async_event *event)
{
	errno = 0;
	return err_from_ret(ibv_get_async_event(ctx, event));
}
