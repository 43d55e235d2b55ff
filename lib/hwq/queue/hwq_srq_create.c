/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues: creates them, reads their ring from libmlx5, arms their limit, destroys
 * them.
 */
#include "hwq_srq_create.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "hwq_cq_create.h"
#include "hwq_cq_room.h"
#include "hwq_dev.h"
#include "hwq_left.h"
#include "hwq_log.h"
#include "hwq_verbs_srq.h"

static int
conf_check(const struct hwq_dev *dev, const struct hwq_srq_conf *conf)
{
	if (conf->n_wr == 0 || conf->max_sge > dev->caps.max_sge) {
		hwq_log("%s: an SRQ of %u entries of %u pieces: from 1, and at most %u, are "
			"possible",
			hwq_dev_name(dev), conf->n_wr, conf->max_sge, dev->caps.max_sge);
		return -EINVAL;
	}
	if ((conf->xrcd == NULL) != (conf->cq == NULL)) {
		hwq_log("%s: an SRQ with an XRC domain has a CQ of its own, and a basic one has "
			"neither",
			hwq_dev_name(dev));
		return -EINVAL;
	}
	/*
	 * If MLX5_SRQ_SIGNATURE is set, libmlx5 makes the device check a signature in every entry.
	 */
	if (getenv("MLX5_SRQ_SIGNATURE") != NULL) {
		hwq_log("MLX5_SRQ_SIGNATURE is set, and hwq signs no entries: unset it");
		return -EOPNOTSUPP;
	}
	return 0;
}

static int
verbs_srq_create(struct hwq_srq *srq, const struct hwq_srq_conf *conf)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = {.max_wr = conf->n_wr, .max_sge = conf->max_sge == 0 ? 1 : conf->max_sge},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = srq->dev->pd,
	};

	if (conf->xrcd != NULL) {
		attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
		attr.srq_type = IBV_SRQT_XRC;
		attr.xrcd = conf->xrcd;
		attr.cq = conf->cq->cq;
	}
	return hwq_verbs_srq_create(srq->dev->ctx, &attr, &srq->srq);
}

int
hwq_srq_take_over(struct hwq_srq *srq, const char *dev)
{
	struct mlx5dv_srq view;
	uint64_t *wr_ids;
	int ret;

	ret = hwq_verbs_srq_take(srq->srq, &view);
	if (ret != 0)
		return ret;
	/*
	 * libmlx5 reserves the entries after the tail for page faults. The first linked entry is
	 * entry 0.
	 */
	if (view.head != 0 || *view.dbrec != 0) {
		hwq_log("%s: SRQ 0x%06x has been posted to: take it over before", dev, view.srqn);
		return -EBUSY;
	}
	if ((view.comp_mask & MLX5DV_SRQ_MASK_SRQN) == 0 || view.tail > UINT16_MAX ||
		((view.tail + 1) & view.tail) != 0 ||
		view.stride < sizeof(struct mlx5_wqe_srq_next_seg)) {
		hwq_log("%s: libmlx5 made an SRQ of %u entries of %u bytes", dev, view.tail + 1,
			view.stride);
		return -EPROTO;
	}
	wr_ids = calloc(view.tail + 1, sizeof(*wr_ids));
	if (wr_ids == NULL)
		return -ENOMEM;
	hwq_srq_init(srq, view.buf, view.tail + 1, view.stride, view.dbrec, wr_ids);
	srq->srqn = view.srqn;
	return 0;
}

/* Reserves room in an XRC SRQ's CQ: one CQE for each entry. */
static int
reserve_xrc(struct hwq_srq *srq, struct hwq_cq *cq)
{
	int ret;

	if (cq == NULL)
		return 0;
	ret = hwq_cq_check_room(hwq_dev_name(srq->dev), cq, "XRC SRQ", hwq_srq_size(srq));
	if (ret != 0)
		return ret;
	srq->xrc_cq = cq;
	cq->reserved += hwq_srq_size(srq);
	return 0;
}

int
hwq_srq_create(struct hwq_dev *dev, const struct hwq_srq_conf *conf, struct hwq_srq **out)
{
	struct hwq_srq *srq;
	int ret;

	ret = conf_check(dev, conf);
	if (ret != 0)
		return ret;
	srq = calloc(1, sizeof(*srq));
	if (srq == NULL)
		return -ENOMEM;
	srq->dev = dev;
	ret = verbs_srq_create(srq, conf);
	if (ret != 0) {
		hwq_log("%s: creating an SRQ of %u entries: %s", hwq_dev_name(dev), conf->n_wr,
			strerror(-ret));
		goto err_free;
	}
	ret = hwq_srq_take_over(srq, hwq_dev_name(dev));
	if (ret == 0)
		ret = reserve_xrc(srq, conf->cq);
	if (ret != 0) {
		hwq_log("%s: setting up an SRQ: %s", hwq_dev_name(dev), strerror(-ret));
		goto err_destroy;
	}
	hwq_count_add(&dev->refs, 1);
	*out = srq;
	return 0;

err_destroy:
	hwq_verbs_srq_destroy(srq->srq);
	free(srq->wr_ids);
err_free:
	free(srq);
	return ret;
}

int
hwq_srq_destroy(struct hwq_srq *srq)
{
	struct hwq_cq *cq = srq->xrc_cq;
	int ret;

	if (srq->dev == NULL) {
		hwq_log("SRQ 0x%06x is the caller's own: not for hwq_srq_destroy(), but "
			"hwq_obj_srq_release(), then ibv_destroy_srq(3)",
			srq->srqn);
		return -EINVAL;
	}
	if (srq->refs != 0) {
		hwq_log("%s: destroying an SRQ that %u QPs use", hwq_dev_name(srq->dev), srq->refs);
		return -EBUSY;
	}
	hwq_left_destroy(srq->dev);
	ret = hwq_verbs_srq_destroy(srq->srq);
	if (ret != 0) {
		hwq_log("%s: destroying an SRQ: %s", hwq_dev_name(srq->dev), strerror(-ret));
		return ret;
	}
	if (cq != NULL) {
		cq->reserved -= hwq_srq_size(srq);
		if (cq->reserved == 0)
			hwq_cq_drop_all(cq);
	}
	hwq_count_sub(&srq->dev->refs, 1);
	free(srq->wr_ids);
	free(srq);
	return 0;
}

int
hwq_srq_arm_limit(struct hwq_srq *srq, uint32_t limit)
{
	struct ibv_srq_attr attr = {.srq_limit = limit};
	int ret;

	if (limit > hwq_srq_size(srq))
		ret = -EINVAL;
	else
		ret = hwq_verbs_srq_modify(srq->srq, &attr, IBV_SRQ_LIMIT);
	if (ret != 0)
		hwq_log("SRQ 0x%06x of %u entries: asking for an event below %u: %s", srq->srqn,
			hwq_srq_size(srq), limit, strerror(-ret));
	return ret;
}
