/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes a QP of any type from RESET to RTS: the attributes that each type needs for each
 * transition, from the tables of ibv_modify_qp(3) and mlx5dv_create_qp(3).
 */
#ifndef QP_READY_H
#define QP_READY_H

#include <infiniband/verbs.h>

enum kind {
	K_RC,
	K_UC,
	K_UD,
	K_XRC_SEND,
	K_XRC_RECV,
	K_RAW,
	K_DCI,
	K_DCT,
	N_KINDS
};

static inline enum ibv_qp_type
qp_type(enum kind kind)
{
	static const enum ibv_qp_type types[] = {[K_RC] = IBV_QPT_RC,
		[K_UC] = IBV_QPT_UC,
		[K_UD] = IBV_QPT_UD,
		[K_XRC_SEND] = IBV_QPT_XRC_SEND,
		[K_XRC_RECV] = IBV_QPT_XRC_RECV,
		[K_RAW] = IBV_QPT_RAW_PACKET,
		[K_DCI] = IBV_QPT_DRIVER,
		[K_DCT] = IBV_QPT_DRIVER};

	return types[kind];
}

/* The kind of a QP type. IBV_QPT_DRIVER counts as a DCI. */
static inline enum kind
qp_kind(enum ibv_qp_type type)
{
	enum kind kind = K_RC;

	while (kind < K_DCI && qp_type(kind) != type)
		kind++;
	return kind;
}

/* The attributes that are needed in addition to the state. */
static inline int
qp_need(enum kind kind, enum ibv_qp_state to)
{
	const int connected = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	const int responder = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const int requester = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			      IBV_QP_MAX_QP_RD_ATOMIC;
	const int init = IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	const int needs[N_KINDS][3] = {
		[K_RC] = {init | IBV_QP_ACCESS_FLAGS, connected | responder, requester},
		[K_UC] = {init | IBV_QP_ACCESS_FLAGS, connected, IBV_QP_SQ_PSN},
		[K_UD] = {init | IBV_QP_QKEY, 0, IBV_QP_SQ_PSN},
		[K_XRC_SEND] = {init | IBV_QP_ACCESS_FLAGS, connected, requester},
		[K_XRC_RECV] = {init | IBV_QP_ACCESS_FLAGS, connected | responder,
			IBV_QP_TIMEOUT | IBV_QP_SQ_PSN},
		[K_RAW] = {IBV_QP_PORT, 0, 0},
		[K_DCI] = {init, IBV_QP_PATH_MTU, requester},
		[K_DCT] = {init | IBV_QP_ACCESS_FLAGS,
			IBV_QP_MIN_RNR_TIMER | IBV_QP_AV | IBV_QP_PATH_MTU, 0},
	};

	return to >= IBV_QPS_INIT && to <= IBV_QPS_RTS ? needs[kind][to - IBV_QPS_INIT] : 0;
}

/*
 * Takes the QP to the state `first`, and then on to `last`: INIT, RTR or RTS. A DCT stays in RTR.
 * attr has the needed attributes. Returns 0, or the result of the last ibv_modify_qp().
 */
static inline int
qp_take(struct ibv_qp *qp, enum kind kind, struct ibv_qp_attr attr, enum ibv_qp_state first,
	enum ibv_qp_state last)
{
	int err = 0;

	if (kind == K_DCT && last > IBV_QPS_RTR)
		last = IBV_QPS_RTR;
	for (enum ibv_qp_state s = first; s <= last && err == 0; s++) {
		attr.qp_state = s;
		err = ibv_modify_qp(qp, &attr, IBV_QP_STATE | qp_need(kind, s));
	}
	return err;
}

#endif
