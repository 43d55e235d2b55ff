/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What verbs objects show of themselves (mlx5dv_init_obj(3)), and what the device says of them
 * (firmware commands by DEVX), by the rules of hwq_verbs.h.
 */
#ifndef HWQ_VERBS_OBJ_H
#define HWQ_VERBS_OBJ_H

#include <stdbool.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

/* Where a work queue's ring and doorbell record are. */
int hwq_verbs_rwq_take(struct ibv_wq *wq, struct mlx5dv_rwq *view);
/* Where device memory is mapped. */
int hwq_verbs_dm_take(struct ibv_dm *dm, struct mlx5dv_dm *view);

/* What QUERY_QP says of a queue pair, whoever made it. */
struct hwq_qp_hw {
	uint8_t state; /* HWQ_QPC_* */
	bool signs;    /* its WQEs carry a signature */
	bool inlines;  /* short data may come in CQEs: scatter to CQE */
	uint16_t next; /* index of the WQEBB that it runs next */
};

#define HWQ_QPC_SQ_DRAINED 5

int hwq_verbs_qp_query_hw(struct ibv_qp *qp, struct hwq_qp_hw *hw);
/* What QUERY_CQ says: whether CQEs may be compressed. */
int hwq_verbs_cq_query_hw(struct ibv_cq *cq, uint32_t cqn, bool *compressed);

#endif
