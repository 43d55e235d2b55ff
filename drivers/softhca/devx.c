/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Firmware commands that come through DEVX. A command that the firmware would fail gets its
 * status in the answer and EREMOTEIO, as mlx5_ib gives; one that mlx5_ib would not let pass, EINVAL.
 *
 * Offsets in bits, as libmlx5 44 sends them (NVIDIA "Ethernet Adapters Programming Manual").
 */
#include "devx.h"

#include <errno.h>
#include <string.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "caps.h"
#include "uverbs.h"

enum {
	CMD_QUERY_HCA_CAP = 0x100,
	CMD_QUERY_QP = 0x50b,
	CMD_INIT2INIT_QP = 0x50e
};
enum {
	STATUS_BAD_PARAM = 3,
	STATUS_BAD_RES = 5,
	STATUS_BAD_QP_STATE = 0x10
};
enum {
	HEADER_LEN = 16
};

/* Of any command: opcode, then the modifier. */
enum {
	IN_OPCODE = 0,
	IN_OP_MOD = 0x30
};

/* A queue pair's context, from its first bit. */
enum {
	QPC_STATE = 0, /* 4 bits */
	QPC_DRAIN_SIGERR = 0x25,
	QPC_PD = 0x28,             /* 24 bits */
	QPC_MTU = 0x40,            /* 3 bits */
	QPC_REMOTE_QPN = 0xa8,     /* 24 bits */
	QPC_NEXT_SEND_PSN = 0x3c8, /* 24 bits */
	QPC_CQN_SND = 0x3e8,       /* 24 bits */
	QPC_NEXT_RCV_PSN = 0x4a8,  /* 24 bits */
	QPC_CQN_RCV = 0x4e8,       /* 24 bits */
	QPC_HW_SQ_WQEBB = 0x5a0,   /* 16 bits */
	QPC_LEN = 0x740,           /* bits */
};

/* QUERY_QP and INIT2INIT share the place of the context. */
enum {
	QP_IN_EXT = 0x40,      /* 1 bit: the extension below is there */
	QP_IN_QPN = 0x48,      /* 24 bits */
	QP_IN_OPT_MASK = 0x80, /* 32 bits */
	QP_QPC = 0xc0,
	QP_IN_OPT_MASK_95_64 = 0x840, /* 32 bits */
	QP_IN_OPT_MASK_63_32 = 0x860, /* 32 bits */
	QP_IN_EXT_MMO = 0x882,
	QP_IN_EXT_END = 0x8a0,
	OPT_DRAIN_SIGERR = 1 << 11,
	OPT_63_32_MMO = 1 << 3,
};

static int
answer(struct uverbs_call *call, uint16_t out, const uint8_t *buf, size_t len)
{
	int rc = call_out(call, out, buf, len);

	if (rc == 0 && buf[0] != 0)
		rc = -EREMOTEIO;
	return rc;
}

static int
fail(struct uverbs_call *call, uint16_t out, uint8_t status)
{
	uint8_t buf[HEADER_LEN] = {status};

	return answer(call, out, buf, sizeof(buf));
}

static int
general_cmd(struct uverbs_call *call)
{
	const uint8_t *in = call_in(call, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN);
	uint8_t out[HEADER_LEN + CAPS_HCA_PAGE_LEN] = {0};

	if (devx_get(in, IN_OPCODE, 16) != CMD_QUERY_HCA_CAP)
		return -EINVAL;
	caps_hca_page(call->ctx->dev, devx_get(in, IN_OP_MOD, 16) >> 1, out + HEADER_LEN);
	return answer(call, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, out, sizeof(out));
}

static int
modify_qp(struct uverbs_call *call)
{
	const struct attr_value *v = call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN);
	struct object_qp *qp = (void *)call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE)->obj;
	struct softhca_qp_attr attr = {0}, now;
	const uint8_t *in = v->bytes;
	uint32_t mask = 0, opt, opt_32, hw_sq_bb;

	if (devx_get(in, IN_OPCODE, 16) != CMD_INIT2INIT_QP || v->len < QP_IN_EXT_END / 8 ||
		devx_get(in, QP_IN_QPN, 24) != softhca_qp_number(qp->qp))
		return -EINVAL;
	softhca_qp_query(qp->qp, &now, &hw_sq_bb);
	if (now.state != 1 /* INIT */)
		return fail(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, STATUS_BAD_QP_STATE);
	opt = devx_get(in, QP_IN_OPT_MASK, 32);
	opt_32 = devx_get(in, QP_IN_OPT_MASK_63_32, 32);
	if ((opt & ~(uint32_t)OPT_DRAIN_SIGERR) != 0 || (opt_32 & ~(uint32_t)OPT_63_32_MMO) != 0 ||
		devx_get(in, QP_IN_OPT_MASK_95_64, 32) != 0)
		return fail(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, STATUS_BAD_PARAM);
	if ((opt & OPT_DRAIN_SIGERR) != 0) {
		mask |= SOFTHCA_QP_DRAIN_SIGERR;
		attr.drain_sigerr = devx_get(in, QP_QPC + QPC_DRAIN_SIGERR, 1);
	}
	if ((opt_32 & OPT_63_32_MMO) != 0) {
		if (devx_get(in, QP_IN_EXT, 1) == 0 || call->ctx->dev->cfg->max_memcpy == 0)
			return fail(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, STATUS_BAD_PARAM);
		mask |= SOFTHCA_QP_MMO;
		attr.mmo = devx_get(in, QP_IN_EXT_MMO, 1);
	}
	if (softhca_qp_modify(qp->qp, &attr, mask) != 0)
		return fail(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, STATUS_BAD_PARAM);
	return answer(call, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, (uint8_t[HEADER_LEN]){0},
		HEADER_LEN);
}

/* The firmware's numbers for the verbs' states: it tells a drained send queue from a draining one. */
static uint32_t
firmware_state(const struct softhca_qp_attr *attr)
{
	enum {
		RST,
		INIT,
		RTR,
		RTS,
		SQER,
		SQ_DRAINED,
		ERR,
		SQ_DRAINING
	};
	static const uint8_t states[] = {RST, INIT, RTR, RTS, SQ_DRAINED, SQER, ERR};

	if (states[attr->state] == SQ_DRAINED && attr->sq_draining)
		return SQ_DRAINING;
	return states[attr->state];
}

static int
query_qp(struct uverbs_call *call)
{
	const struct attr_value *v = call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN);
	struct object_qp *qp = (void *)call_attr(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE)->obj;
	uint8_t out[(QP_QPC + QPC_LEN) / 8] = {0};
	uint8_t *qpc = out + QP_QPC / 8;
	struct softhca_qp_attr attr;
	uint32_t hw_sq_bb;

	if (devx_get(v->bytes, IN_OPCODE, 16) != CMD_QUERY_QP ||
		devx_get(v->bytes, QP_IN_QPN, 24) != softhca_qp_number(qp->qp))
		return -EINVAL;
	softhca_qp_query(qp->qp, &attr, &hw_sq_bb);
	devx_set(qpc, QPC_STATE, 4, firmware_state(&attr));
	devx_set(qpc, QPC_DRAIN_SIGERR, 1, attr.drain_sigerr);
	devx_set(qpc, QPC_PD, 24, qp->pd->pdn);
	devx_set(qpc, QPC_MTU, 3, attr.path_mtu);
	devx_set(qpc, QPC_REMOTE_QPN, 24, attr.dest_qpn);
	devx_set(qpc, QPC_NEXT_SEND_PSN, 24, attr.sq_psn);
	devx_set(qpc, QPC_CQN_SND, 24, softhca_cq_number(qp->send_cq->cq));
	devx_set(qpc, QPC_NEXT_RCV_PSN, 24, attr.rq_psn);
	devx_set(qpc, QPC_CQN_RCV, 24, softhca_cq_number(qp->recv_cq->cq));
	devx_set(qpc, QPC_HW_SQ_WQEBB, 16, hw_sq_bb);
	return answer(call, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, out, sizeof(out));
}

static const struct attr_spec general_attrs[] = {
	{MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, ATTR_IN, ATTR_REQUIRED, HEADER_LEN, ATTR_ANY_LEN},
	{MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, ATTR_OUT, ATTR_REQUIRED, HEADER_LEN},
};
static const struct attr_spec modify_attrs[] = {
	{MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_QP},
	{MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, ATTR_IN, ATTR_REQUIRED, HEADER_LEN, ATTR_ANY_LEN},
	{MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, ATTR_OUT, ATTR_REQUIRED, HEADER_LEN},
};
static const struct attr_spec query_attrs[] = {
	{MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, ATTR_OBJ, ATTR_REQUIRED, .type = OBJ_QP},
	{MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, ATTR_IN, ATTR_REQUIRED, HEADER_LEN, ATTR_ANY_LEN},
	{MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, ATTR_OUT, ATTR_REQUIRED, HEADER_LEN},
};

const struct uverbs_method devx_methods[] = {
	{MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, false, general_cmd, general_attrs,
		ARRAY_SIZE(general_attrs)},
	{MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY, false, modify_qp, modify_attrs,
		ARRAY_SIZE(modify_attrs)},
	{MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY, false, query_qp, query_attrs,
		ARRAY_SIZE(query_attrs)},
};
const uint32_t n_devx_methods = ARRAY_SIZE(devx_methods);
