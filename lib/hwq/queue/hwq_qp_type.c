/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The features of each type of QP: its operations, as in libmlx5 (mlx5_qp_fill_wr_pfns()), and the
 * attributes that ibv_modify_qp(3) requires for the states up to RTS.
 */
#include "hwq_qp_type.h"

#include <infiniband/mlx5dv.h>

#define OPS_SEND   (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_WINDOW (IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)
#define OPS_UC                                                                                     \
	(OPS_SEND | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE |                     \
		IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | OPS_WINDOW)
#define OPS_RC                                                                                     \
	(OPS_UC | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |                   \
		IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define OPS_RC_DEFAULT (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND)

/* Every type may post raw WQEs; the caller is responsible for their bytes. */
#define MLX5_OPS_ANY MLX5DV_QP_EX_WITH_RAW_WQE
#define MLX5_OPS_DCI (MLX5_OPS_ANY | MLX5DV_QP_EX_WITH_MEMCPY)
#define MLX5_OPS_RC                                                                                \
	(MLX5_OPS_DCI | MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED |             \
		MLX5DV_QP_EX_WITH_MKEY_CONFIGURE)

#define ACCESS_UC (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define ACCESS_RC (ACCESS_UC | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

#define INIT_PORT (IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define RTR_PEER  (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTS_RETRY                                                                                  \
	(IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |                    \
		IBV_QP_MAX_QP_RD_ATOMIC)

static const struct hwq_qp_info infos[] = {
	[HWQ_QP_RC] = {.name = "RC",
		.verbs_type = IBV_QPT_RC,
		.has_rq = true,
		.has_peer = true,
		.send_ops = OPS_RC,
		.default_ops = OPS_RC_DEFAULT,
		.mlx5_ops = MLX5_OPS_RC,
		.access = ACCESS_RC,
		.init = INIT_PORT | IBV_QP_ACCESS_FLAGS,
		.rtr = RTR_PEER | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		.rts = RTS_RETRY},
	[HWQ_QP_UC] = {.name = "UC",
		.verbs_type = IBV_QPT_UC,
		.has_rq = true,
		.has_peer = true,
		.send_ops = OPS_UC,
		.default_ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND,
		.mlx5_ops = MLX5_OPS_ANY,
		.access = ACCESS_UC,
		.init = INIT_PORT | IBV_QP_ACCESS_FLAGS,
		.rtr = RTR_PEER,
		.rts = IBV_QP_SQ_PSN},
	[HWQ_QP_UD] = {.name = "UD",
		.verbs_type = IBV_QPT_UD,
		.transport = HWQ_TRANSPORT_UD,
		.transport_ds = 3,
		.has_rq = true,
		.send_ops = OPS_SEND,
		.default_ops = IBV_QP_EX_WITH_SEND,
		.mlx5_ops = MLX5_OPS_ANY,
		.init = INIT_PORT | IBV_QP_QKEY,
		.rts = IBV_QP_SQ_PSN},
	[HWQ_QP_XRC_SEND] = {.name = "XRC_SEND",
		.verbs_type = IBV_QPT_XRC_SEND,
		.transport = HWQ_TRANSPORT_XRC,
		.transport_ds = 1,
		.has_peer = true,
		.send_ops = OPS_RC,
		.default_ops = OPS_RC_DEFAULT,
		.mlx5_ops = MLX5_OPS_ANY,
		.access = ACCESS_RC,
		.init = INIT_PORT | IBV_QP_ACCESS_FLAGS,
		.rtr = RTR_PEER,
		.rts = RTS_RETRY},
	[HWQ_QP_DCI] = {.name = "DCI",
		.verbs_type = IBV_QPT_DRIVER,
		.transport = HWQ_TRANSPORT_DC,
		.transport_ds = 3,
		.send_ops = OPS_RC,
		.default_ops = OPS_RC_DEFAULT,
		.mlx5_ops = MLX5_OPS_DCI,
		.init = INIT_PORT,
		.rtr = IBV_QP_PATH_MTU,
		.rts = RTS_RETRY},
	[HWQ_QP_RAW_PACKET] = {.name = "RAW_PACKET",
		.verbs_type = IBV_QPT_RAW_PACKET,
		.transport = HWQ_TRANSPORT_ETH,
		/*
		 * Two units are the whole Ethernet segment. A WQE without inline headers has only
		 * one of these units.
		 */
		.transport_ds = 2,
		.has_rq = true,
		.send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO,
		.default_ops = IBV_QP_EX_WITH_SEND,
		.mlx5_ops = MLX5_OPS_ANY,
		.init = IBV_QP_PORT},
};

const struct hwq_qp_info *
hwq_qp_info(enum hwq_qp_type type)
{
	return (unsigned int)type < sizeof(infos) / sizeof(infos[0]) ? &infos[type] : NULL;
}
