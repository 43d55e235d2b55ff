/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of queue pairs. */
#ifndef HWQ_QP_TYPE_H
#define HWQ_QP_TYPE_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "hwq_qp.h"

/* A type of QP: its name in verbs, and what it supports. */
struct hwq_qp_info {
	const char *name;
	enum ibv_qp_type verbs_type;
	enum hwq_transport transport;
	uint8_t transport_ds; /* DS units that follow the control segment of every WQE */
	bool has_rq;          /* a QP of this type may have a receive queue */
	bool has_peer;        /* true: hwq_qp_connect() brings it to RTS; false: hwq_qp_ready() */
	uint64_t send_ops;    /* IBV_QP_EX_WITH_* that it supports */
	uint64_t default_ops; /* operations if the configuration names none */
	uint64_t mlx5_ops;    /* MLX5DV_QP_EX_WITH_* that it supports */
	unsigned int access;  /* what peers may do, IBV_ACCESS_* */
	/* attributes for ibv_modify_qp(3) on the way to RTS, without the state */
	int init, rtr, rts;
};

/* NULL: there is no such type. */
const struct hwq_qp_info *hwq_qp_info(enum hwq_qp_type type);

#endif
