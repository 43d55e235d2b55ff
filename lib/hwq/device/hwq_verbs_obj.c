/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the rings of verbs objects, and their state in the device. Errors of the calls become
 * -errno.
 */
#include "hwq_verbs_obj.h"

#include <string.h>

#include "hwq_cmd.h"
#include "hwq_verbs.h"
#include "hwq_verbs_errno.h"

#define CMD_QUERY_QP  0x50b
#define CMD_QUERY_CQ  0x402
#define CMD_IN_NUMBER 0x48 /* 24 bits: number of the object to query */

/* QUERY_QP's answer: offsets in bits. The context starts after 24 bytes. */
#define QPC              0xc0
#define QPC_STATE        (QPC + 0x00)  /* 4 bits */
#define QPC_WQ_SIGNATURE (QPC + 0x20)  /* 1 bit */
#define QPC_HW_SQ_WQEBB  (QPC + 0x5a0) /* 16 bits */
/* 8 bits: how many bytes of data a requester CQE may have (a code); 0: none */
#define QPC_CS_REQ       (QPC + 0x630)
#define QPC_CS_RES       (QPC + 0x638) /* 8 bits: as QPC_CS_REQ, for responder CQEs */
#define QUERY_QP_OUT_LEN 0x110

/*
 * QUERY_CQ's answer: offsets in bits. The context starts after 16 bytes (linux/mlx5/mlx5_ifc.h,
 * cqc).
 */
#define CQC_CQE_COMP_EN  (0x80 + 0x11) /* 1 bit */
#define QUERY_CQ_OUT_LEN 0x110

int
hwq_verbs_rwq_take(struct ibv_wq *wq, struct mlx5dv_rwq *view)
{
	struct mlx5dv_obj obj = {.rwq = {.in = wq, .out = view}};

	errno = 0;
	memset(view, 0, sizeof(*view));
	return err_from_ret(mlx5dv_init_obj(&obj, MLX5DV_OBJ_RWQ));
}

int
hwq_verbs_dm_take(struct ibv_dm *dm, struct mlx5dv_dm *view)
{
	struct mlx5dv_obj obj = {.dm = {.in = dm, .out = view}};

	errno = 0;
	memset(view, 0, sizeof(*view));
	view->comp_mask = MLX5DV_DM_MASK_REMOTE_VA;
	return err_from_ret(mlx5dv_init_obj(&obj, MLX5DV_OBJ_DM));
}

/* Returns the error of the ioctl, or the error of the command, whose answer has a status. */
static int
err_from_cmd(int ret, const uint8_t *out)
{
	if (ret == 0)
		return 0;
	if (err_from_ret(ret) == -EREMOTEIO)
		return hwq_verbs_err_from_status(out[0]);
	return err_from_ret(ret);
}

int
hwq_verbs_qp_query_hw(struct ibv_qp *qp, struct hwq_qp_hw *hw)
{
	uint8_t in[16] = {0}, out[QUERY_QP_OUT_LEN] = {0};
	int ret;

	hwq_cmd_put(in, CMD_OPCODE, 16, CMD_QUERY_QP);
	hwq_cmd_put(in, CMD_IN_NUMBER, 24, qp->qp_num);
	errno = 0;
	ret = err_from_cmd(mlx5dv_devx_qp_query(qp, in, sizeof(in), out, sizeof(out)), out);
	if (ret != 0)
		return ret;
	*hw = (struct hwq_qp_hw){
		.state = (uint8_t)hwq_cmd_get(out, QPC_STATE, 4),
		.signs = hwq_cmd_get(out, QPC_WQ_SIGNATURE, 1) != 0,
		.inlines = hwq_cmd_get(out, QPC_CS_REQ, 16) != 0,
		.next = (uint16_t)hwq_cmd_get(out, QPC_HW_SQ_WQEBB, 16),
	};
	return 0;
}

int
hwq_verbs_cq_query_hw(struct ibv_cq *cq, uint32_t cqn, bool *compressed)
{
	uint8_t in[16] = {0}, out[QUERY_CQ_OUT_LEN] = {0};
	int ret;

	hwq_cmd_put(in, CMD_OPCODE, 16, CMD_QUERY_CQ);
	hwq_cmd_put(in, CMD_IN_NUMBER, 24, cqn);
	errno = 0;
	ret = err_from_cmd(mlx5dv_devx_cq_query(cq, in, sizeof(in), out, sizeof(out)), out);
	if (ret == 0)
		*compressed = hwq_cmd_get(out, CQC_CQE_COMP_EN, 1) != 0;
	return ret;
}
