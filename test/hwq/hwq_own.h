/* SPDX-License-Identifier: BSD-3-Clause */
/* A caller's own QP: created by verbs in one of three ways, then used by hwq. */
#ifndef HWQ_OWN_H
#define HWQ_OWN_H

#include "hwq_emu.h"
#include "hwq_obj.h"

enum how {
	BY_CREATE_QP,
	BY_CREATE_QP_EX,
	BY_MLX5DV_CREATE_QP,
	N_HOWS
};

struct taken {
	struct ibv_cq *ibcq;
	struct ibv_qp *ibqp;
	struct hwq_cq *cq;
	struct hwq_qp *qp;
};

/*
 * Creates a QP with the attributes attr. ibv_create_qp(3) gets only the attributes that it
 * supports.
 */
static inline struct ibv_qp *
own_create_qp(enum how how, struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
	struct mlx5dv_qp_init_attr *mlx5_attr)
{
	struct ibv_qp_init_attr old = {.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap};
	struct ibv_qp *qp;

	if (how == BY_CREATE_QP)
		qp = ibv_create_qp(attr->pd, &old);
	else if (how == BY_CREATE_QP_EX)
		qp = ibv_create_qp_ex(ctx, attr);
	else
		qp = mlx5dv_create_qp(ctx, attr, mlx5_attr);
	if (qp == NULL)
		EMU_DIE("a QP of type %d: %s", (int)attr->qp_type, strerror(errno));
	return qp;
}

/* Releases the CQ, and the QP if hwq has taken it over, and destroys both. */
static inline void
taken_release(struct taken *t)
{
	if (t->qp != NULL) {
		CHECK_EQ(hwq_obj_cq_release(t->cq), -EBUSY, "releasing a CQ in use");
		hwq_obj_qp_release(t->qp);
	}
	CHECK_EQ(hwq_obj_cq_release(t->cq), 0, "releasing a CQ");
	if (ibv_destroy_qp(t->ibqp) != 0 || ibv_destroy_cq(t->ibcq) != 0)
		EMU_DIE("destroying");
}

#endif
