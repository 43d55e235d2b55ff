/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues as lib/hwq calls them, by the rules of hwq_verbs.h. */
#ifndef HWQ_VERBS_SRQ_H
#define HWQ_VERBS_SRQ_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

/* The call writes into *attr what the SRQ has. */
int hwq_verbs_srq_create(struct ibv_context *ctx, struct ibv_srq_init_attr_ex *attr,
	struct ibv_srq **srq);
int hwq_verbs_srq_destroy(struct ibv_srq *srq);
int hwq_verbs_srq_modify(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask);
int hwq_verbs_srq_take(struct ibv_srq *srq, struct mlx5dv_srq *view);

#endif
