/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues: creates them, reads their ring from libmlx5, empties and destroys them. */
#include "hwq_cq_create.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hwq_domain.h"
#include "hwq_event.h"
#include "hwq_left.h"
#include "hwq_lines.h"
#include "hwq_log.h"
#include "hwq_verbs.h"

int
hwq_cq_take_over(struct hwq_cq *cq, const char *dev)
{
	struct mlx5dv_cq view;
	int ret;

	ret = hwq_verbs_cq_take(cq->cq, &view);
	if (ret != 0)
		return ret;
	if (view.cqe_size != sizeof(struct mlx5_cqe64)) {
		hwq_log("%s: CQ 0x%06x has entries of %u bytes, and hwq reads those of 64 only: "
			"create it with mlx5dv_create_cq(3) and cqe_size 64, or unset MLX5_CQE_SIZE",
			dev, view.cqn, view.cqe_size);
		return -EOPNOTSUPP;
	}
	if ((view.cqe_cnt & (view.cqe_cnt - 1)) != 0)
		return -EPROTO;
	hwq_cq_init(cq, view.buf, view.cqe_cnt, view.dbrec);
	cq->uar = view.cq_uar;
	cq->cqn = view.cqn;
	return 0;
}

int
hwq_cq_create(struct hwq_domain *domain, uint32_t n_cqe, struct hwq_cq **out)
{
	return hwq_cq_create_on(domain, n_cqe, domain->channel, out);
}

int
hwq_cq_create_on(struct hwq_domain *domain, uint32_t n_cqe, struct hwq_channel *channel,
	struct hwq_cq **out)
{
	struct ibv_comp_channel *events = channel != NULL ? channel->channel : NULL;
	struct hwq_cq *cq;
	int ret;

	if (n_cqe == 0 || n_cqe > domain->dev->caps.max_cqe) {
		hwq_log("%s: a CQ of %u entries: 1 to %u are possible", hwq_dev_name(domain->dev),
			n_cqe, domain->dev->caps.max_cqe);
		return -EINVAL;
	}
	cq = hwq_alloc_lines(sizeof(*cq));
	if (cq == NULL)
		return -ENOMEM;
	cq->domain = domain;
	ret = hwq_verbs_cq_create(domain->dev->ctx, n_cqe < 2 ? 2 : n_cqe, events, cq, &cq->cq);
	if (ret != 0) {
		hwq_log("%s: creating a CQ of %u entries: %s", hwq_dev_name(domain->dev), n_cqe,
			strerror(-ret));
		goto err_free;
	}
	ret = hwq_cq_take_over(cq, hwq_dev_name(domain->dev));
	if (ret == 0 && cq->n_cqe < n_cqe)
		ret = -EPROTO;
	if (ret != 0) {
		hwq_log("%s: taking over a CQ: %s", hwq_dev_name(domain->dev), strerror(-ret));
		goto err_destroy;
	}
	cq->channel = channel;
	if (channel != NULL)
		hwq_count_add(&channel->refs, 1);
	hwq_count_add(&domain->refs, 1);
	*out = cq;
	return 0;

err_destroy:
	hwq_verbs_cq_destroy(cq->cq);
err_free:
	free(cq);
	return ret;
}

int
hwq_cq_destroy(struct hwq_cq *cq)
{
	int ret;

	if (cq->domain == NULL) {
		hwq_log("CQ 0x%06x is the caller's own: not for hwq_cq_destroy(), but "
			"hwq_obj_cq_release(), then ibv_destroy_cq(3)",
			cq->cqn);
		return -EINVAL;
	}
	if (cq->reserved != 0) {
		hwq_log("%s: destroying a CQ that QPs use", hwq_dev_name(cq->domain->dev));
		return -EBUSY;
	}
	hwq_left_destroy(cq->domain->dev);
	ret = hwq_verbs_cq_destroy(cq->cq);
	/*
	 * Pairs with the release in hwq_async_ack() and hwq_cq_ack_events(). All events of the CQ
	 * are acknowledged here.
	 */
	(void)hwq_count_get(&cq->domain->dev->n_acked);
	if (ret != 0) {
		hwq_log("%s: destroying a CQ: %s", hwq_dev_name(cq->domain->dev), strerror(-ret));
		return ret;
	}
	if (cq->channel != NULL)
		hwq_count_sub(&cq->channel->refs, 1);
	hwq_count_sub(&cq->domain->refs, 1);
	free(cq);
	return 0;
}

void
hwq_cq_drop_all(struct hwq_cq *cq)
{
	struct hwq_cqe rec;

	while (hwq_cq_peek(cq, &rec))
		hwq_cq_advance(cq);
	hwq_cq_publish(cq);
}
