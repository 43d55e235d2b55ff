/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of queue pairs. */
#ifndef HWQ_QP_TYPE_H
#define HWQ_QP_TYPE_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "hwq_qp.h"

/* A type of QP: its name in verbs, and the features that it supports. */
struct hwq_qp_info {
	const char *name;
	enum ibv_qp_type verbs_type;
	enum hwq_transport transport;
	uint8_t transport_ds; /* DS units that follow the control segment of every WQE */
	bool has_rq;          /* a QP of this type may have a receive queue */
	/* true: hwq_qp_connect() moves the QP to RTS; false: hwq_qp_ready() */
	bool has_peer;
	uint64_t send_ops;    /* IBV_QP_EX_WITH_* bits that the type supports */
	uint64_t default_ops; /* operations that a QP has if its configuration gives none */
	uint64_t mlx5_ops;    /* MLX5DV_QP_EX_WITH_* bits that the type supports */
	unsigned int access;  /* accesses that peers have, IBV_ACCESS_* */
	/* attribute masks of ibv_modify_qp(3) for INIT, RTR and RTS, without the state */
	int init, rtr, rts;
};

/* @return NULL if there is no such type. */
const struct hwq_qp_info *hwq_qp_info(enum hwq_qp_type type);

#endif
