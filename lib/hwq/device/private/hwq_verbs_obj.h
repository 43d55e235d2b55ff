/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads verbs objects by mlx5dv_init_obj(3), and their state in the device by firmware commands
 * (DEVX). The rules of hwq_verbs.h apply.
 */
#ifndef HWQ_VERBS_OBJ_H
#define HWQ_VERBS_OBJ_H

#include <stdbool.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

/* Reads the addresses of a work queue's ring and doorbell record. */
int hwq_verbs_rwq_take(struct ibv_wq *wq, struct mlx5dv_rwq *view);
/* Reads the address at which device memory is mapped. */
int hwq_verbs_dm_take(struct ibv_dm *dm, struct mlx5dv_dm *view);

/* The answer of QUERY_QP for a queue pair of hwq or of the caller. */
struct hwq_qp_hw {
	uint8_t state; /* HWQ_QPC_* */
	bool signs;    /* the queue's WQEs have a signature */
	bool inlines;  /* short data may be in CQEs (scatter to CQE) */
	uint16_t next; /* index of the WQEBB that the device runs next */
};

#define HWQ_QPC_SQ_DRAINED 5

int hwq_verbs_qp_query_hw(struct ibv_qp *qp, struct hwq_qp_hw *hw);
/* Reads by QUERY_CQ whether CQEs may be compressed. */
int hwq_verbs_cq_query_hw(struct ibv_cq *cq, uint32_t cqn, bool *compressed);

#endif
