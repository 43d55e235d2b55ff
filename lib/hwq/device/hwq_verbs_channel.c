/* SPDX-License-Identifier: BSD-3-Clause */
/* Verbs calls for completion channels. Their errors become -errno. */
#include "hwq_verbs_channel.h"

#include "hwq_verbs_errno.h"

int
hwq_verbs_channel_create(struct ibv_context *ctx, struct ibv_comp_channel **channel)
{
	struct ibv_comp_channel *made;

	errno = 0;
	made = ibv_create_comp_channel(ctx);
	if (made == NULL)
		return err_from_errno();
	*channel = made;
	return 0;
}

int
hwq_verbs_channel_destroy(struct ibv_comp_channel *channel)
{
	errno = 0;
	return err_from_ret(ibv_destroy_comp_channel(channel));
}

int
hwq_verbs_channel_get_event(struct ibv_comp_channel *channel, void **user)
{
	struct ibv_cq *cq;

	errno = 0;
	return err_from_ret(ibv_get_cq_event(channel, &cq, user));
}
