/* SPDX-License-Identifier: BSD-3-Clause */
/* Verbs calls of lib/hwq for completion channels. The rules of hwq_verbs.h apply. */
#ifndef HWQ_VERBS_CHANNEL_H
#define HWQ_VERBS_CHANNEL_H

#include <infiniband/verbs.h>

int hwq_verbs_channel_create(struct ibv_context *ctx, struct ibv_comp_channel **channel);
int hwq_verbs_channel_destroy(struct ibv_comp_channel *channel);
/* *user: the user pointer with which the event's CQ was created. */
int hwq_verbs_channel_get_event(struct ibv_comp_channel *channel, void **user);

#endif
