/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of queue pairs. */
#ifndef HWQ_QP_TYPE_H
#define HWQ_QP_TYPE_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "hwq_qp.h"

/* What a type of QP is to verbs, and what it can do. */
struct hwq_qp_info {
	const char *name;
	enum ibv_qp_type verbs_type;
	enum hwq_transport transport;
	uint8_t transport_ds; /* segments of its own, behind the control segment of every WQE */
	bool has_rq;          /* it may have a receive queue */
	bool has_peer;        /* hwq_qp_connect(), not hwq_qp_ready() */
	uint64_t send_ops;    /* IBV_QP_EX_WITH_* that it supports */
	uint64_t default_ops; /* those of a configuration that names none */
	uint64_t mlx5_ops;    /* MLX5DV_QP_EX_WITH_* that it supports */
	unsigned int access;  /* what peers may do, IBV_ACCESS_* */
	int init, rtr, rts;   /* what ibv_modify_qp(3) is told on the way there, beside the state */
};

/* NULL: there is no such type. */
const struct hwq_qp_info *hwq_qp_info(enum hwq_qp_type type);

#endif
