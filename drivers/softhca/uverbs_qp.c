/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates, modifies and queries queue pairs for the program; qp.c knows what they do. */
#include "uverbs_qp.h"

#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#include "caps.h"

/* Attribute mask of ibv_modify_qp(3): part of the ABI, though uapi headers do not name it. */
enum {
	QP_STATE = 1 << 0,
	QP_CUR_STATE = 1 << 1,
	QP_ACCESS_FLAGS = 1 << 3,
	QP_PKEY_INDEX = 1 << 4,
	QP_PORT = 1 << 5,
	QP_AV = 1 << 7,
	QP_PATH_MTU = 1 << 8,
	QP_MAX_RD_ATOMIC = 1 << 13,
	QP_ALT_PATH = 1 << 14,
	QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	QP_PATH_MIG_STATE = 1 << 18,
	QP_DEST_QPN = 1 << 20,
	QP_LEGACY_MASK = (1 << 21) - 1,
};

/* Flags that are understood: where the UAR is, and leave to scatter into CQEs, which is not used. */
#define CREATE_FLAGS                                                                               \
	(MLX5_QP_FLAG_UAR_PAGE_INDEX | MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_ALLOW_SCATTER_CQE)
#define WQEBB 64U

static bool
is_power_of_two(uint64_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

/* ---------------------------------------------------------------- create */

static int
check_cap(const struct softhca_config *cfg, const struct ib_uverbs_qp_cap *cap)
{
	if (cap->max_send_wr > cfg->max_qp_wr || cap->max_recv_wr > cfg->max_qp_wr ||
		cap->max_send_sge > cfg->max_sge || cap->max_recv_sge > cfg->max_sge)
		return -EINVAL;
	return 0;
}

/* The queues are the program's memory: receive WQEs, then send WQEs. Sizes as libmlx5 gives them. */
static int
check_buffers(const struct softhca_config *cfg, const struct mlx5_ib_create_qp *req)
{
	uint64_t len;

	if ((req->sq_wqe_count != 0 && !is_power_of_two(req->sq_wqe_count)) ||
		(req->rq_wqe_count != 0 && !is_power_of_two(req->rq_wqe_count)) ||
		req->sq_wqe_count > cfg->max_qp_wr || req->rq_wqe_count > cfg->max_qp_wr)
		return -EINVAL;
	if (req->rq_wqe_count != 0 && (req->rq_wqe_shift < 4 || req->rq_wqe_shift > 9))
		return -EINVAL;
	if (req->buf_addr % WQEBB != 0 || req->db_addr % 8 != 0)
		return -EINVAL;
	len = (uint64_t)req->sq_wqe_count * WQEBB;
	if (req->rq_wqe_count != 0)
		len += (uint64_t)req->rq_wqe_count << req->rq_wqe_shift;
	if ((len != 0 && !memory_is_mapped(req->buf_addr, len, true)) ||
		!memory_is_mapped(req->db_addr, 8, true))
		return -EFAULT;
	return 0;
}

static int
check_create(struct uverbs_call *call, const struct mlx5_ib_create_qp *req)
{
	const struct softhca_config *cfg = call->ctx->dev->cfg;
	uint32_t flags = call_in_u32(call, UVERBS_ATTR_CREATE_QP_FLAGS);
	int rc;

	if (call_in_u64(call, UVERBS_ATTR_CREATE_QP_TYPE) != SOFTHCA_QP_RC ||
		call_has(call, UVERBS_ATTR_CREATE_QP_SOURCE_QPN) ||
		(flags & ~(uint32_t)IB_UVERBS_QP_CREATE_SQ_SIG_ALL) != 0)
		return -EOPNOTSUPP;
	if ((req->flags & ~(uint32_t)CREATE_FLAGS) != 0 ||
		(req->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX) == 0 || req->ece_options != 0)
		return -EINVAL;
	rc = check_cap(cfg, call_in(call, UVERBS_ATTR_CREATE_QP_CAP));
	return rc != 0 ? rc : check_buffers(cfg, req);
}

static int
make_qp(struct uverbs_call *call, struct object_qp *qp, const struct mlx5_ib_create_qp *req)
{
	struct softhca_qp_init init = {
		.type = SOFTHCA_QP_RC,
		.pdn = qp->pd->pdn,
		.send_cq = qp->send_cq->cq,
		.recv_cq = qp->recv_cq->cq,
		.uar = qp->uar->uar,
		.buf = (void *)(uintptr_t)req->buf_addr,
		.dbrec = (_Atomic uint32_t *)(uintptr_t)req->db_addr,
		.sq_bb = req->sq_wqe_count,
		.rq_wqe = req->rq_wqe_count,
		.log_rq_stride = req->rq_wqe_shift,
		.uidx = req->uidx,
		.sig_all = qp->sig_all,
		.event = &qp->event,
	};

	return softhca_qp_create(call->ctx->dev, &init, &qp->qp);
}

static int
answer_create(struct uverbs_call *call, struct object_qp *qp)
{
	const struct ib_uverbs_qp_cap *cap = call_in(call, UVERBS_ATTR_CREATE_QP_CAP);
	struct mlx5_ib_create_qp_resp mlx5 = {0};
	uint32_t qpn = softhca_qp_number(qp->qp);
	int rc;

	call_attr(call, UVERBS_ATTR_CREATE_QP_HANDLE)->data = qp->obj.handle;
	rc = call_out(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, cap, sizeof(*cap));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &qpn, sizeof(qpn));
	if (rc == 0)
		rc = call_out(call, UVERBS_ATTR_UHW_OUT, &mlx5, sizeof(mlx5));
	return rc;
}

static void
keep_cap(struct object_qp *qp, const struct ib_uverbs_qp_cap *cap,
	const struct mlx5_ib_create_qp *req)
{
	qp->max_send_wr = cap->max_send_wr;
	qp->max_recv_wr = req->rq_wqe_count; /* libmlx5 takes this for the receive queue's size */
	qp->max_send_sge = cap->max_send_sge;
	qp->max_recv_sge = cap->max_recv_sge;
	qp->max_inline = cap->max_inline_data;
}

int
uverbs_create_qp(struct uverbs_call *call)
{
	const struct mlx5_ib_create_qp *req = call_in(call, UVERBS_ATTR_UHW_IN);
	uint32_t flags = call_in_u32(call, UVERBS_ATTR_CREATE_QP_FLAGS);
	struct event_file *async = NULL;
	struct object_uar *uar;
	struct object_qp *qp;
	int rc = check_create(call, req);

	if (rc != 0)
		return rc;
	uar = ctx_find_uar(call->ctx, req->bfreg_index);
	if (uar == NULL)
		return -EINVAL;
	if (call_has(call, UVERBS_ATTR_CREATE_QP_EVENT_FD)) {
		async = ctx_find_file(call->ctx,
			call_attr(call, UVERBS_ATTR_CREATE_QP_EVENT_FD)->data, true);
		if (async == NULL)
			return -EBADF;
	}
	rc = object_create(call->ctx, OBJ_QP, sizeof(*qp), &qp);
	if (rc != 0)
		return rc;
	qp->pd = (void *)call_attr(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE)->obj;
	qp->send_cq = (void *)call_attr(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE)->obj;
	qp->recv_cq = (void *)call_attr(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE)->obj;
	qp->uar = uar;
	qp->sig_all = (flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL) != 0;
	qp->event.element = call_in_u64(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE);
	keep_cap(qp, call_in(call, UVERBS_ATTR_CREATE_QP_CAP), req);
	qp->event.async = event_file_get(async);
	rc = make_qp(call, qp, req);
	if (rc != 0) {
		event_file_put(qp->event.async);
		object_forget(call->ctx, &qp->obj);
		return rc;
	}
	object_use(&qp->pd->obj);
	object_use(&qp->send_cq->obj);
	object_use(&qp->recv_cq->obj);
	object_use(&qp->uar->obj);
	rc = answer_create(call, qp);
	if (rc != 0)
		(void)object_destroy(call->ctx, &qp->obj, NULL);
	return rc;
}

int
uverbs_destroy_qp(struct uverbs_call *call)
{
	struct object *obj = call_attr(call, UVERBS_ATTR_DESTROY_QP_HANDLE)->obj;
	struct ib_uverbs_destroy_qp_resp resp = {0};
	struct object_events events = {0};
	int rc = object_destroy(call->ctx, obj, &events);

	if (rc != 0)
		return rc;
	resp.events_reported = events.async_read;
	return call_out(call, UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp));
}

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

/* What depends on the adapter rather than on the QP's state, which is qp.c's to judge. */
static int
check_modify(const struct softhca_dev *dev, const struct ib_uverbs_modify_qp *req)
{
	enum {
		LAST_STATE = 6,
		MTU_256 = 1,
		MTU_4096 = 5
	};
	uint32_t mask = req->attr_mask;

	if ((mask & ~(uint32_t)QP_LEGACY_MASK) != 0 ||
		(mask & (QP_ALT_PATH | QP_PATH_MIG_STATE)) != 0)
		return -EOPNOTSUPP;
	if (((mask & QP_STATE) != 0 && req->qp_state > LAST_STATE) ||
		((mask & QP_CUR_STATE) != 0 && req->cur_qp_state > LAST_STATE))
		return -EINVAL;
	if ((mask & QP_PORT) != 0 && (req->port_num == 0 || req->port_num > dev->cfg->ports))
		return -EINVAL;
	if ((mask & QP_PKEY_INDEX) != 0 && req->pkey_index >= caps_pkey_table_len(dev))
		return -EINVAL;
	if ((mask & QP_PATH_MTU) != 0 && (req->path_mtu < MTU_256 || req->path_mtu > MTU_4096))
		return -EINVAL;
	if (((mask & QP_MAX_RD_ATOMIC) != 0 && req->max_rd_atomic > dev->cfg->max_rd_atomic) ||
		((mask & QP_MAX_DEST_RD_ATOMIC) != 0 &&
			req->max_dest_rd_atomic > dev->cfg->max_rd_atomic))
		return -EINVAL;
	return (mask & QP_AV) != 0 ? check_path(dev, &req->dest) : 0;
}

int
uverbs_modify_qp(struct uverbs_call *call)
{
	const struct ib_uverbs_modify_qp *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct object_qp *qp = object_find(call->ctx, OBJ_QP, req->qp_handle);
	struct softhca_qp_attr attr;
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
		.access = req->qp_access_flags,
		.pkey_index = req->pkey_index,
		.en_sqd_notify = req->en_sqd_async_notify,
		.max_rd_atomic = req->max_rd_atomic,
		.max_dest_rd_atomic = req->max_dest_rd_atomic,
		.min_rnr_timer = req->min_rnr_timer,
		.port = req->port_num,
		.timeout = req->timeout,
		.retry_cnt = req->retry_cnt,
		.rnr_retry = req->rnr_retry,
		.is_global = req->dest.is_global,
		.sgid_index = req->dest.sgid_index,
		.hop_limit = req->dest.hop_limit,
		.sl = req->dest.sl,
		.dlid = req->dest.dlid,
	};
	memcpy(attr.dgid, req->dest.dgid, sizeof(attr.dgid));
	return softhca_qp_modify(qp->qp, &attr, req->attr_mask);
}

/* ---------------------------------------------------------------- query */

int
uverbs_query_qp(struct uverbs_call *call)
{
	const struct ib_uverbs_query_qp *req = call_in(call, UVERBS_ATTR_CORE_IN);
	struct object_qp *qp = object_find(call->ctx, OBJ_QP, req->qp_handle);
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
