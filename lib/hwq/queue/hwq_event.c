/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion channels: creates and destroys them, and takes events. */
#include "hwq_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "hwq_log.h"
#include "hwq_verbs_channel.h"

int
hwq_channel_create(struct hwq_dev *dev, struct hwq_channel **out)
{
	struct hwq_channel *channel;
	int ret;

	channel = calloc(1, sizeof(*channel));
	if (channel == NULL)
		return -ENOMEM;
	channel->dev = dev;
	ret = hwq_verbs_channel_create(dev->ctx, &channel->channel);
	if (ret != 0) {
		hwq_log("%s: creating a completion channel: %s", hwq_dev_name(dev), strerror(-ret));
		free(channel);
		return ret;
	}
	channel->fd = channel->channel->fd;
	hwq_count_add(&dev->refs, 1);
	*out = channel;
	return 0;
}

int
hwq_channel_destroy(struct hwq_channel *channel)
{
	int ret;

	if (hwq_count_get(&channel->refs) != 0) {
		hwq_log("%s: destroying a completion channel that has %u CQs",
			hwq_dev_name(channel->dev), hwq_count_get(&channel->refs));
		return -EBUSY;
	}
	ret = hwq_verbs_channel_destroy(channel->channel);
	if (ret != 0) {
		hwq_log("%s: destroying a completion channel: %s", hwq_dev_name(channel->dev),
			strerror(-ret));
		return ret;
	}
	hwq_count_sub(&channel->dev->refs, 1);
	free(channel);
	return 0;
}

int
hwq_channel_get_event(struct hwq_channel *channel, struct hwq_cq **out)
{
	void *user;
	int ret;

	ret = hwq_verbs_channel_get_event(channel->channel, &user);
	if (ret != 0)
		return ret;
	*out = (struct hwq_cq *)user;
	hwq_cq_event(*out);
	return 0;
}

void
hwq_cq_ack_events(struct hwq_cq *cq, unsigned int n)
{
	struct ibv_cq *ibv = cq->cq;

	/*
	 * Pairs with the acquire in hwq_cq_destroy(); for the reason see hwq_async_ack(). After
	 * this line *cq may no longer exist.
	 */
	hwq_count_add(&cq->channel->dev->n_acked, n);
	ibv_ack_cq_events(ibv, n);
}
