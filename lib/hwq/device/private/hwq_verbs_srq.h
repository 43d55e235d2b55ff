/* SPDX-License-Identifier: BSD-3-Clause */
/* Verbs calls of lib/hwq for shared receive queues. The rules of hwq_verbs.h apply. */
#ifndef HWQ_VERBS_SRQ_H
#define HWQ_VERBS_SRQ_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

/* Creates an SRQ, and writes its real limits to *attr. */
int hwq_verbs_srq_create(struct ibv_context *ctx, struct ibv_srq_init_attr_ex *attr,
	struct ibv_srq **srq);
int hwq_verbs_srq_destroy(struct ibv_srq *srq);
int hwq_verbs_srq_modify(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int hwq_verbs_srq_take(struct ibv_srq *srq, struct mlx5dv_srq *view);

#endif
