/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues: create, destroy, and dropping what a queue pair that is gone left in one. */
#include "hwq_cq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hwq_internal.h"
#include "hwq_log.h"
#include "hwq_qp.h"
#include "hwq_verbs.h"

int
hwq_cq_create(struct hwq_domain *domain, uint32_t n_cqe, struct hwq_cq **out)
{
	struct mlx5dv_cq view;
	struct hwq_cq *cq;
	int ret;

	if (n_cqe == 0 || n_cqe > domain->dev->caps.max_cqe) {
		hwq_log("%s: a CQ of %u entries: 1 to %u are possible", hwq_dev_name(domain->dev),
			n_cqe, domain->dev->caps.max_cqe);
		return -EINVAL;
	}
	cq = calloc(1, sizeof(*cq));
	if (cq == NULL)
		return -ENOMEM;
	cq->domain = domain;
	ret = hwq_verbs_cq_create(domain->dev->ctx, n_cqe < 2 ? 2 : n_cqe, &cq->cq);
	if (ret != 0) {
		hwq_log("%s: creating a CQ of %u entries: %s", hwq_dev_name(domain->dev), n_cqe,
			strerror(-ret));
		goto err_free;
	}
	ret = hwq_verbs_cq_take(cq->cq, &view);
	if (ret == 0 && (view.cqe_size != sizeof(struct mlx5_cqe64) || view.cqe_cnt < n_cqe ||
				(view.cqe_cnt & (view.cqe_cnt - 1)) != 0))
		ret = -EPROTO;
	if (ret != 0) {
		hwq_log("%s: taking over a CQ: %s", hwq_dev_name(domain->dev), strerror(-ret));
		goto err_destroy;
	}
	hwq_cq_init(cq, view.buf, view.cqe_cnt, (_Atomic(__be32) *)view.dbrec);
	cq->uar = view.cq_uar;
	cq->cqn = view.cqn;
	domain->refs++;
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

	if (cq->reserved != 0) {
		hwq_log("%s: destroying a CQ that QPs use", hwq_dev_name(cq->domain->dev));
		return -EBUSY;
	}
	ret = hwq_verbs_cq_destroy(cq->cq);
	if (ret != 0) {
		hwq_log("%s: destroying a CQ: %s", hwq_dev_name(cq->domain->dev), strerror(-ret));
		return ret;
	}
	cq->domain->refs--;
	free(cq);
	return 0;
}

/* Moves an entry up by some places; the owner bit stays that of the place's lap. */
static void
cq_move(struct hwq_cq *cq, uint32_t from, uint32_t to)
{
	struct mlx5_cqe64 *dst = (struct mlx5_cqe64 *)(uintptr_t)hwq_cq_entry(cq, to);
	uint8_t owner = (to >> cq->log_n) & MLX5_CQE_OWNER_MASK;

	memcpy(dst, hwq_cq_entry(cq, from), sizeof(*dst));
	dst->op_own = (uint8_t)((dst->op_own & ~MLX5_CQE_OWNER_MASK) | owner);
}

void
hwq_cq_drop(struct hwq_cq *cq, uint32_t qpn)
{
	uint32_t end = cq->ci, i, n_dropped = 0;

	while (end - cq->ci < cq->n_cqe && hwq_cq_is_ours(cq, end))
		end++;
	hwq_fence_owner_before_cqe();
	for (i = end; i != cq->ci; i--) {
		struct hwq_cqe rec;

		hwq_cqe_decode(hwq_cq_entry(cq, i - 1), &rec);
		if (rec.qpn == qpn)
			n_dropped++;
		else if (n_dropped != 0)
			cq_move(cq, i - 1, i - 1 + n_dropped);
	}
	hwq_cq_seek(cq, cq->ci + n_dropped);
	hwq_cq_publish(cq);
}
