/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Modification and queries of queue pairs: ibv_modify_qp(3), ibv_query_qp(3). The data half has the
 * state tables, and checks each transition by them.
 */
#include "uverbs_qp.h"

#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "call.h"
#include "caps.h"
#include "newer_uapi.h"
#include "qp_mask.h"

#define STATE_RESET   0                /* IBV_QPS_RESET */
#define STATE_INIT    1                /* IBV_QPS_INIT */
#define MASK_OF_VERBS ((1U << 21) - 1) /* bits that MODIFY_QP accepts: qp_mask.h */

/* ---------------------------------------------------------------- modify */

static int
check_path(const struct softhca_dev *dev, const struct ib_uverbs_qp_dest *dest)
{
	struct ib_uverbs_gid_entry gid;

	if (dest->port_num == 0 || dest->port_num > dev->cfg->ports)
		return -EINVAL;
	if (dev->cfg->link_layer == SOFTHCA_LINK_ETHERNET && !dest->is_global)
		return -EINVAL;
	if (dest->is_global && caps_gid(dev, dest->port_num, dest->sgid_index, &gid) != 0)
		return -EINVAL;
	return 0;
}

/*
 * Checks values that depend on the adapter's tables. The data half checks states and value ranges.
 */
static int
check_modify(const struct softhca_dev *dev, const struct ib_uverbs_modify_qp *req)
{
	uint32_t mask = req->attr_mask;

	if ((mask & ~MASK_OF_VERBS) != 0 || (mask & (M_ALT_PATH | M_PATH_MIG_STATE)) != 0)
		return -EOPNOTSUPP;
	if ((mask & M_PKEY_INDEX) != 0 && req->pkey_index >= caps_pkey_table_len(dev))
		return -EINVAL;
	return (mask & M_AV) != 0 ? check_path(dev, &req->dest) : 0;
}

/*
 * Returns the rights that a QP grants, out of the requested rights. With a responder depth of 0 the
 * QP grants no remote reads and atomics, as in mlx5_ib's set_qpc_atomic_flags(). A QP context has
 * no local rights. A DCT has no responder depth.
 */
static uint32_t
granted_access(const struct object_qp *qp)
{
	if (qp->type == SOFTHCA_QP_DCT || qp->max_dest_rd_atomic != 0)
		return qp->access;
	return qp->access & IB_UVERBS_ACCESS_REMOTE_WRITE;
}

/*
 * Returns the depth for the QP context, which has the log2 of a depth. So a depth of 0 counts as 1:
 * with max_rd_atomic 0, one read or atomic may be outstanding (mlx5_ib leaves log_sra_max at 0).
 */
static uint8_t
depth(uint8_t asked)
{
	return asked != 0 ? asked : 1;
}

/*
 * Returns the mask without attributes of the other end of an XRC connection. Programs give the same
 * attributes to both ends, and the kernel's uverbs ignores the attributes of the other end
 * (modify_qp_mask()).
 */
static uint32_t
without_ignored(const struct object_qp *qp, uint32_t mask)
{
	if (qp->type == SOFTHCA_QP_XRC_SEND)
		return mask & ~(M_MAX_DEST_RD_ATOMIC | M_MIN_RNR_TIMER);
	if (qp->type == SOFTHCA_QP_XRC_RECV)
		return mask & ~(M_MAX_RD_ATOMIC | M_RETRY_CNT | M_RNR_RETRY);
	return mask;
}

/*
 * Takes rights and depths as mlx5_ib does: new rights or a new depth change which rights are
 * granted.
 */
static int
modify_access(struct object_qp *qp, const struct ib_uverbs_modify_qp *req,
	struct softhca_qp_attr *attr)
{
	const uint32_t old_access = qp->access;
	const uint8_t old_depth = qp->max_dest_rd_atomic;
	uint32_t mask = without_ignored(qp, req->attr_mask);
	int rc;

	if ((mask & M_ACCESS) != 0)
		qp->access = req->qp_access_flags;
	if ((mask & M_MAX_DEST_RD_ATOMIC) != 0) {
		qp->max_dest_rd_atomic = req->max_dest_rd_atomic;
		mask |= M_ACCESS;
	}
	attr->access = granted_access(qp);
	rc = softhca_qp_modify(qp->qp, attr, mask);
	if (rc != 0) {
		qp->access = old_access;
		qp->max_dest_rd_atomic = old_depth;
	}
	return rc;
}

static uint32_t
state_of(struct object_qp *qp)
{
	struct softhca_qp_attr attr;
	uint32_t hw_sq_bb;

	softhca_qp_query(qp->qp, &attr, &hw_sq_bb);
	return attr.state;
}

/*
 * Gives a QP that moves to INIT a port of the bond; in RESET it has no port. A DCT needs no port,
 * because it does not send.
 */
static void
take_lag_port(struct uverbs_call *call, struct object_qp *qp, uint32_t from, uint32_t to)
{
	if (to == STATE_RESET)
		qp->tis.lag_port = 0;
	else if (from == STATE_RESET && to == STATE_INIT && qp->type != SOFTHCA_QP_DCT)
		qp->tis.lag_port = lag_next_port(call->ctx);
}

static int
modify_qp(struct uverbs_call *call, struct object_qp *qp, const struct ib_uverbs_modify_qp *req)
{
	struct softhca_qp_attr attr;
	uint32_t from;
	int rc;

	if (qp == NULL)
		return -EINVAL;
	rc = check_modify(call->ctx->dev, req);
	if (rc != 0)
		return rc;
	attr = (struct softhca_qp_attr){
		.state = req->qp_state,
		.cur_state = req->cur_qp_state,
		.path_mtu = req->path_mtu,
		.qkey = req->qkey,
		.rq_psn = req->rq_psn & 0xffffff,
		.sq_psn = req->sq_psn & 0xffffff,
		.dest_qpn = req->dest_qp_num & 0xffffff,
		.pkey_index = req->pkey_index,
		.en_sqd_notify = req->en_sqd_async_notify,
		.max_rd_atomic = depth(req->max_rd_atomic),
		.max_dest_rd_atomic = depth(req->max_dest_rd_atomic),
		.min_rnr_timer = req->min_rnr_timer,
		.port = req->port_num,
		.timeout = req->timeout,
		.retry_cnt = req->retry_cnt,
		.rnr_retry = req->rnr_retry,
		.is_global = req->dest.is_global,
		.sgid_index = req->dest.sgid_index,
		.hop_limit = req->dest.hop_limit,
		.traffic_class = req->dest.traffic_class,
		.sl = req->dest.sl,
		.dlid = req->dest.dlid,
	};
	memcpy(attr.dgid, req->dest.dgid, sizeof(attr.dgid));
	from = state_of(qp);
	rc = modify_access(qp, req, &attr);
	if (rc == 0 && (req->attr_mask & M_STATE) != 0)
		take_lag_port(call, qp, from, attr.state);
	return rc;
}

static int
modify(struct uverbs_call *call)
{
	const struct ib_uverbs_modify_qp *req = call_in(call, UVERBS_ATTR_CORE_IN);

	return modify_qp(call, object_find(call->ctx, &qp_class, req->qp_handle), req);
}

/*
 * Checks the request for a receive queue whose messages may complete in any order
 * (mlx5dv_create_qp(3), MLX5DV_QP_CREATE_OOO_DP). In this adapter they complete in the order in
 * which they were sent.
 */
static int
check_driver_part(struct uverbs_call *call, const struct object_qp *qp,
	const struct ib_uverbs_modify_qp *req)
{
	const struct attr_value *uhw = call_attr(call, UVERBS_ATTR_UHW_IN);
	uint32_t mask;

	if (!uhw->present || uhw->len < sizeof(mask))
		return 0;
	memcpy(&mask, uhw->bytes, sizeof(mask));
	if ((mask & ~NEWER_MODIFY_QP_OOO_DP) != 0 || (mask != 0 && qp->type == SOFTHCA_QP_RAW))
		return -EOPNOTSUPP;
	if (mask != 0 && ((req->attr_mask & M_STATE) == 0 || req->qp_state != STATE_INIT))
		return -EINVAL;
	return 0;
}

/*
 * As MODIFY_QP, with more attributes. A DCT gets its number in RTR. Rate limits are not emulated.
 */
static int
ex_modify(struct uverbs_call *call)
{
	const struct ib_uverbs_ex_modify_qp *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct object_qp *qp = object_find(call->ctx, &qp_class, req->base.qp_handle);
	struct ib_uverbs_ex_modify_qp_resp resp = {.response_length = sizeof(resp)};
	struct mlx5_ib_modify_qp_resp mlx5 = {.response_length = sizeof(mlx5)};
	int rc;

	if (req->rate_limit != 0 || req->reserved != 0)
		return -EOPNOTSUPP;
	rc = qp != NULL ? check_driver_part(call, qp, &req->base) : -EINVAL;
	if (rc != 0)
		return rc;
	rc = modify_qp(call, qp, &req->base);
	if (rc != 0)
		return rc;
	if (qp->type == SOFTHCA_QP_DCT)
		mlx5.dctn = softhca_qp_number(qp->qp);
	rc = call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	return rc != 0 ? rc : call_out(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
}

/* ---------------------------------------------------------------- query */

static int
query(struct uverbs_call *call)
{
	const struct ib_uverbs_query_qp *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct object_qp *qp = object_find(call->ctx, &qp_class, req->qp_handle);
	struct ib_uverbs_query_qp_resp resp;
	struct softhca_qp_attr attr = {0};
	uint32_t hw_sq_bb;

	if (qp == NULL)
		return -EINVAL;
	softhca_qp_query(qp->qp, &attr, &hw_sq_bb);
	resp = (struct ib_uverbs_query_qp_resp){
		.dest =
			{
				.dlid = attr.dlid,
				.sgid_index = attr.sgid_index,
				.hop_limit = attr.hop_limit,
				.traffic_class = attr.traffic_class,
				.sl = attr.sl,
				.is_global = attr.is_global,
				.port_num = attr.port,
			},
		.max_send_wr = qp->max_send_wr,
		.max_recv_wr = qp->max_recv_wr,
		.max_send_sge = qp->max_send_sge,
		.max_recv_sge = qp->max_recv_sge,
		.max_inline_data = qp->max_inline,
		.qkey = attr.qkey,
		.rq_psn = attr.rq_psn,
		.sq_psn = attr.sq_psn,
		.dest_qp_num = attr.dest_qpn,
		.qp_access_flags = attr.access,
		.pkey_index = attr.pkey_index,
		.qp_state = attr.state,
		.cur_qp_state = attr.cur_state,
		.path_mtu = attr.path_mtu,
		.sq_draining = attr.sq_draining,
		.max_rd_atomic = attr.max_rd_atomic,
		.max_dest_rd_atomic = attr.max_dest_rd_atomic,
		.min_rnr_timer = attr.min_rnr_timer,
		.port_num = attr.port,
		.timeout = attr.timeout,
		.retry_cnt = attr.retry_cnt,
		.rnr_retry = attr.rnr_retry,
		.sq_sig_all = qp->sig_all,
	};
	memcpy(resp.dest.dgid, attr.dgid, sizeof(attr.dgid));
	return call_out(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
}

static const struct write_command writes[] = {
	{IB_USER_VERBS_CMD_QUERY_QP, sizeof(struct ib_uverbs_query_qp),
		sizeof(struct ib_uverbs_query_qp_resp), query},
	{IB_USER_VERBS_CMD_MODIFY_QP, sizeof(struct ib_uverbs_modify_qp), 0, modify},
	{WRITE_EX(IB_USER_VERBS_EX_CMD_MODIFY_QP), sizeof(struct ib_uverbs_ex_modify_qp),
		sizeof(struct ib_uverbs_ex_modify_qp_resp), ex_modify},
};

const struct object_class qp_modify_class = {.name = "QP commands", CLASS_WRITES(writes)};
