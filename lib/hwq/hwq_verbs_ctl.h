/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * More verbs as lib/hwq calls them, by the rules of hwq_verbs.h: completion channels, shared receive
 * queues, and what a caller's own objects show.
 */
#ifndef HWQ_VERBS_CTL_H
#define HWQ_VERBS_CTL_H

#include <stdbool.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

int hwq_verbs_channel_create(struct ibv_context *ctx, struct ibv_comp_channel **channel);
int hwq_verbs_channel_destroy(struct ibv_comp_channel *channel);
/* *user is what the event's CQ was created with. */
int hwq_verbs_channel_get_event(struct ibv_comp_channel *channel, void **user);

/* attr is updated to what the SRQ has. */
int hwq_verbs_srq_create(struct ibv_context *ctx, struct ibv_srq_init_attr_ex *attr,
	struct ibv_srq **srq);
int hwq_verbs_srq_destroy(struct ibv_srq *srq);
int hwq_verbs_srq_modify(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int hwq_verbs_srq_take(struct ibv_srq *srq, struct mlx5dv_srq *view);

int hwq_verbs_rwq_take(struct ibv_wq *wq, struct mlx5dv_rwq *view);
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
