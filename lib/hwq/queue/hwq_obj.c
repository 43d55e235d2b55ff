/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes over a caller's own CQs, SRQs, work queues, PDs and device memory. */
#include "hwq_obj.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "hwq_cq_create.h"
#include "hwq_cq_room.h"
#include "hwq_lines.h"
#include "hwq_log.h"
#include "hwq_srq_create.h"
#include "hwq_verbs.h"
#include "hwq_verbs_obj.h"

int
hwq_obj_pdn(struct ibv_pd *pd, uint32_t *pdn)
{
	return hwq_verbs_pdn(pd, pdn);
}

int
hwq_obj_dm(struct ibv_dm *dm, struct hwq_obj_dm *out)
{
	struct mlx5dv_dm view;
	int ret;

	ret = hwq_verbs_dm_take(dm, &view);
	if (ret != 0)
		return ret;
	*out = (struct hwq_obj_dm){
		.addr = view.buf,
		.len = view.length,
		.remote_va = view.comp_mask & MLX5DV_DM_MASK_REMOTE_VA ? view.remote_va : 0,
	};
	return 0;
}

/* ------------------------------------------------------------------ completion queues */

static int
check_cq(const struct hwq_cq *cq, const char *dev)
{
	bool compressed = false;
	int ret;

	if (be32toh(hwq_load_relaxed(&cq->dbrec[HWQ_CQ_DBR_CI])) != 0) {
		hwq_log("%s: CQ 0x%06x has been polled: take it over before", dev, cq->cqn);
		return -EBUSY;
	}
	ret = hwq_verbs_cq_query_hw(cq->cq, cq->cqn, &compressed);
	if (ret != 0) {
		hwq_log("%s: CQ 0x%06x: asking whether its entries are compressed: %s", dev,
			cq->cqn, strerror(-ret));
		return ret;
	}
	if (compressed) {
		hwq_log("%s: CQ 0x%06x has compressed entries, which hwq does not read: create it "
			"without MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE",
			dev, cq->cqn);
		return -EOPNOTSUPP;
	}
	return 0;
}

int
hwq_obj_cq(struct ibv_cq *ibcq, struct hwq_cq **out)
{
	const char *dev = ibv_get_device_name(ibcq->context->device);
	struct hwq_cq *cq;
	int ret;

	cq = hwq_alloc_lines(sizeof(*cq));
	if (cq == NULL)
		return -ENOMEM;
	cq->cq = ibcq;
	ret = hwq_cq_take_over(cq, dev);
	if (ret == 0)
		ret = check_cq(cq, dev);
	if (ret != 0) {
		free(cq);
		return ret;
	}
	*out = cq;
	return 0;
}

int
hwq_obj_cq_release(struct hwq_cq *cq)
{
	if (cq->domain != NULL) {
		hwq_log("CQ 0x%06x is hwq's own: not for hwq_obj_cq_release(), but "
			"hwq_cq_destroy()",
			cq->cqn);
		return -EINVAL;
	}
	if (cq->reserved != 0)
		return -EBUSY;
	free(cq);
	return 0;
}

/* ------------------------------------------------------------------ shared receive queues */

int
hwq_obj_srq(struct ibv_srq *ibsrq, struct hwq_cq *cq, struct hwq_srq **out)
{
	const char *dev = ibv_get_device_name(ibsrq->context->device);
	struct hwq_srq *srq;
	int ret;

	if (getenv("MLX5_SRQ_SIGNATURE") != NULL) {
		hwq_log("MLX5_SRQ_SIGNATURE is set, and hwq signs no entries: unset it");
		return -EOPNOTSUPP;
	}
	srq = calloc(1, sizeof(*srq));
	if (srq == NULL)
		return -ENOMEM;
	srq->srq = ibsrq;
	ret = hwq_srq_take_over(srq, dev);
	if (ret == 0 && cq != NULL)
		ret = hwq_cq_check_room(dev, cq, "XRC SRQ", hwq_srq_size(srq));
	if (ret != 0) {
		free(srq->wr_ids);
		free(srq);
		return ret;
	}
	srq->xrc_cq = cq;
	if (cq != NULL)
		cq->reserved += hwq_srq_size(srq);
	*out = srq;
	return 0;
}

int
hwq_obj_srq_release(struct hwq_srq *srq)
{
	if (srq->dev != NULL) {
		hwq_log("SRQ 0x%06x is hwq's own: not for hwq_obj_srq_release(), but "
			"hwq_srq_destroy()",
			srq->srqn);
		return -EINVAL;
	}
	if (srq->refs != 0)
		return -EBUSY;
	if (srq->xrc_cq != NULL)
		srq->xrc_cq->reserved -= hwq_srq_size(srq);
	free(srq->wr_ids);
	free(srq);
	return 0;
}

/* ------------------------------------------------------------------ work queues */

static int
check_rwq(const char *dev, const struct mlx5dv_rwq *view, const struct hwq_cq *cq)
{
	if (*view->dbrec != 0) {
		hwq_log("%s: a work queue has been posted to: take it over before", dev);
		return -EBUSY;
	}
	return hwq_cq_check_room(dev, cq, "work queue", view->wqe_cnt);
}

int
hwq_obj_rwq(struct ibv_wq *wq, struct hwq_cq *cq, struct hwq_obj_rwq **out)
{
	const char *dev = ibv_get_device_name(wq->context->device);
	struct hwq_obj_rwq *rwq;
	struct mlx5dv_rwq view;
	uint64_t *wr_ids;
	int ret;

	if (getenv("MLX5_RWQ_SIGNATURE") != NULL) {
		hwq_log("MLX5_RWQ_SIGNATURE is set, and hwq signs no entries: unset it");
		return -EOPNOTSUPP;
	}
	ret = hwq_verbs_rwq_take(wq, &view);
	if (ret == 0)
		ret = check_rwq(dev, &view, cq);
	if (ret != 0)
		return ret;
	rwq = calloc(1, sizeof(*rwq));
	wr_ids = calloc(view.wqe_cnt, sizeof(*wr_ids));
	if (rwq == NULL || wr_ids == NULL) {
		free(wr_ids);
		free(rwq);
		return -ENOMEM;
	}
	rwq->wq = wq;
	hwq_rq_init(&rwq->rq, view.buf, view.wqe_cnt, view.stride, 0, view.dbrec, cq, wr_ids);
	cq->reserved += view.wqe_cnt;
	*out = rwq;
	return 0;
}

void
hwq_obj_rwq_release(struct hwq_obj_rwq *rwq)
{
	rwq->rq.cq->reserved -= rwq->rq.mask + 1;
	free(rwq->rq.wr_ids);
	free(rwq);
}
