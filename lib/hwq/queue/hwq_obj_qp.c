/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes over a caller's own queue pairs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "hwq_cq_room.h"
#include "hwq_lines.h"
#include "hwq_log.h"
#include "hwq_obj.h"
#include "hwq_qp_size.h"
#include "hwq_qp_state.h"
#include "hwq_qp_type.h"
#include "hwq_verbs.h"
#include "hwq_verbs_obj.h"

/*
 * A QP of IBV_QPT_DRIVER is a DCI or a DCT. hwq cannot use a DCT, which has no queues, but
 * mlx5dv_init_obj(3) does not refuse it. A QP of this type with an SRQ is a DCT
 * (mlx5dv_create_qp(3)).
 */
static const struct hwq_qp_info *
info_of(const struct ibv_qp *qp)
{
	enum hwq_qp_type type;

	if (qp->qp_type == IBV_QPT_DRIVER && qp->srq != NULL)
		return NULL;
	for (type = HWQ_QP_RC; hwq_qp_info(type) != NULL; type++)
		if (hwq_qp_info(type)->verbs_type == qp->qp_type)
			return hwq_qp_info(type);
	return NULL;
}

/*
 * Asks the device whether the QP has features that hwq does not support. It is not asked about a
 * RAW_PACKET QP, for which it reports none of these features.
 */
static int
check_hw(const char *dev, struct ibv_qp *qp)
{
	const char *sig = getenv("MLX5_QP_SIGNATURE");
	struct hwq_qp_hw hw = {.signs = sig != NULL && strcmp(sig, "0") != 0};
	int ret = 0;

	if (qp->qp_type != IBV_QPT_RAW_PACKET)
		ret = hwq_verbs_qp_query_hw(qp, &hw);
	if (ret != 0) {
		hwq_log("%s: QP 0x%06x: asking the device what it is: %s", dev, qp->qp_num,
			strerror(-ret));
		return ret;
	}
	if (hw.signs) {
		hwq_log("%s: QP 0x%06x has signed WQEs, and hwq signs none: create it without "
			"MLX5_QP_SIGNATURE",
			dev, qp->qp_num);
		return -EOPNOTSUPP;
	}
	/* hwq_verbs_eth_inline() needs a QP that has ibv_wr_*(). */
	if (qp->qp_type == IBV_QPT_RAW_PACKET && ibv_qp_to_qp_ex(qp) == NULL) {
		hwq_log("%s: QP 0x%06x sends raw packets and has no ibv_wr_*(), which tell how "
			"much of a frame is inline: create it by ibv_create_qp_ex(3) with "
			"IBV_QP_EX_WITH_SEND",
			dev, qp->qp_num);
		return -EOPNOTSUPP;
	}
	if (hw.inlines) {
		hwq_log("%s: QP 0x%06x lets the device put data into CQEs, where hwq does not "
			"look: create it with MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE, or set "
			"MLX5_SCATTER_TO_CQE=0",
			dev, qp->qp_num);
		return -EOPNOTSUPP;
	}
	return 0;
}

static int
check_view(const char *dev, const struct hwq_obj_qp *obj, const struct mlx5dv_qp *view)
{
	const struct hwq_qp_cqes cqes = {.send_cq = obj->send_cq,
		.recv_cq = obj->recv_cq,
		.n_send = view->sq.wqe_cnt,
		.n_recv = view->rq.wqe_cnt,
		.srq = obj->srq};
	uint32_t number = obj->qp->qp_num;

	if (view->dbrec[HWQ_SND_DBR] != 0 || view->dbrec[HWQ_RCV_DBR] != 0) {
		hwq_log("%s: QP 0x%06x has been posted to: take it over before", dev, number);
		return -EBUSY;
	}
	if ((view->sq.wqe_cnt != 0 && obj->send_cq == NULL) ||
		(view->rq.wqe_cnt != 0 && obj->recv_cq == NULL)) {
		hwq_log("%s: QP 0x%06x: each of its queues comes with its CQ", dev, number);
		return -EINVAL;
	}
	if (view->sq.wqe_cnt > HWQ_SQ_MAX_BB || (view->sq.wqe_cnt & (view->sq.wqe_cnt - 1)) != 0 ||
		obj->max_sge > HWQ_DS_MAX) {
		hwq_log("%s: QP 0x%06x: a ring of %u WQEBBs, %u pieces of memory: at most %u and "
			"%u are possible",
			dev, number, view->sq.wqe_cnt, obj->max_sge, HWQ_SQ_MAX_BB, HWQ_DS_MAX);
		return -EINVAL;
	}
	if (obj->bf != NULL && obj->bf->reg != NULL && obj->bf->reg != view->bf.reg) {
		hwq_log("%s: QP 0x%06x has another doorbell register than the QPs before it", dev,
			number);
		return -EINVAL;
	}
	return hwq_qp_check_room(dev, &cqes);
}

static struct hwq_bf *
choose_bf(struct hwq_qp *qp, struct hwq_bf *own, const struct mlx5dv_qp *view)
{
	const char *shut_up = getenv("MLX5_SHUT_UP_BF");

	if (own == NULL) {
		qp->bf = (struct hwq_bf){.reg = view->bf.reg};
		return &qp->bf;
	}
	if (own->reg == NULL) {
		own->reg = view->bf.reg;
		own->toggle = view->bf.size;
		own->max_ds = view->bf.size / HWQ_DS_LEN;
		if (shut_up != NULL && strcmp(shut_up, "0") != 0)
			own->max_ds = 0;
	}
	return own;
}

static int
take_sq(struct hwq_qp *qp, const struct hwq_obj_qp *obj, const struct mlx5dv_qp *view)
{
	struct hwq_sq *sq = &qp->sq;
	uint64_t *wr_ids;

	if (view->sq.wqe_cnt == 0)
		return 0;
	wr_ids = calloc(view->sq.wqe_cnt, sizeof(*wr_ids));
	if (wr_ids == NULL)
		return -ENOMEM;
	hwq_sq_init(sq, view->sq.buf, view->sq.wqe_cnt, qp->qpn, view->dbrec,
		choose_bf(qp, obj->bf, view), obj->send_cq);
	hwq_sq_set_wr_ids(sq, wr_ids);
	sq->sig_bits = obj->sq_sig_all ? MLX5_WQE_CTRL_CQ_UPDATE : 0;
	sq->wr.transport = (uint8_t)qp->info->transport;
	sq->max_sge = (uint8_t)obj->max_sge;
	sq->max_inline = obj->max_inline;
	sq->wr.max_umr_ds = hwq_max_umr_ds(obj->max_inline);
	sq->wr.max_tso_header = obj->max_tso_header;
	sq->wr.ip_csum = obj->ip_csum;
	hwq_sq_set_memcpy(sq, obj->mmo_lkey, obj->mmo_addr, obj->max_memcpy_len);
	if (obj->qp->qp_type == IBV_QPT_RAW_PACKET)
		return hwq_verbs_eth_inline(obj->qp, sq->buf, &sq->wr.eth_inline);
	return 0;
}

static int
take_rq(struct hwq_qp *qp, const struct hwq_obj_qp *obj, const struct mlx5dv_qp *view)
{
	uint64_t *wr_ids;

	if (view->rq.wqe_cnt == 0)
		return 0;
	wr_ids = calloc(view->rq.wqe_cnt, sizeof(*wr_ids));
	if (wr_ids == NULL)
		return -ENOMEM;
	hwq_rq_init(&qp->rq, view->rq.buf, view->rq.wqe_cnt, view->rq.stride, qp->qpn, view->dbrec,
		obj->recv_cq, wr_ids);
	return 0;
}

static void
reserve(struct hwq_qp *qp, struct hwq_cq *recv_cq)
{
	qp->n_cqe = qp->sq.buf != NULL ? hwq_sq_n_bb(&qp->sq) : 0;
	if (qp->cq != NULL)
		qp->cq->reserved += qp->n_cqe;
	if (qp->rq.buf != NULL)
		qp->rq.cq->reserved += qp->rq.mask + 1;
	if (qp->srq != NULL && recv_cq != NULL)
		hwq_srq_attach(qp->srq, recv_cq);
	qp->rq.cq = recv_cq;
}

int
hwq_obj_qp(const struct hwq_obj_qp *obj, struct hwq_qp **out)
{
	const char *dev = ibv_get_device_name(obj->qp->context->device);
	const struct hwq_qp_info *info = info_of(obj->qp);
	struct mlx5dv_qp view;
	struct hwq_qp *qp;
	int ret;

	if (info == NULL) {
		hwq_log("%s: a QP of type %u cannot be taken over", dev,
			(unsigned int)obj->qp->qp_type);
		return -EOPNOTSUPP;
	}
	ret = check_hw(dev, obj->qp);
	if (ret == 0)
		ret = hwq_verbs_qp_take(obj->qp, &view);
	if (ret == 0)
		ret = check_view(dev, obj, &view);
	if (ret != 0)
		return ret;
	qp = hwq_alloc_lines(sizeof(*qp));
	if (qp == NULL)
		return -ENOMEM;
	qp->qp = obj->qp;
	qp->qpn = obj->qp->qp_num;
	qp->info = info;
	qp->cq = obj->send_cq;
	qp->srq = obj->srq;
	ret = take_sq(qp, obj, &view);
	if (ret == 0)
		ret = take_rq(qp, obj, &view);
	if (ret == 0)
		ret = hwq_obj_qp_sync(qp);
	if (ret < 0) {
		free(qp->sq.wr.wr_ids);
		free(qp->rq.wr_ids);
		free(qp);
		return ret;
	}
	reserve(qp, obj->recv_cq);
	*out = qp;
	return 0;
}

void
hwq_obj_qp_release(struct hwq_qp *qp)
{
	if (qp->domain != NULL) {
		hwq_log("QP 0x%06x is hwq's own: not for hwq_obj_qp_release(), but "
			"hwq_qp_destroy()",
			qp->qpn);
		return;
	}
	if (qp->cq != NULL)
		qp->cq->reserved -= qp->n_cqe;
	if (qp->rq.buf != NULL)
		qp->rq.cq->reserved -= qp->rq.mask + 1;
	if (qp->srq != NULL && qp->rq.cq != NULL)
		hwq_srq_detach(qp->srq, qp->rq.cq);
	hwq_qp_forget_cancelled(qp);
	free(qp->sq.wr.wr_ids);
	free(qp->rq.wr_ids);
	free(qp);
}

/* Empties the rings of a QP in RESET. */
static void
start_anew(struct hwq_qp *qp)
{
	hwq_qp_drop_cqes(qp);
	hwq_qp_empty_rings(qp);
}

int
hwq_obj_qp_sync(struct hwq_qp *qp)
{
	int state = hwq_qp_state(qp);

	if (state < 0)
		return state;
	if (state == IBV_QPS_RESET)
		start_anew(qp);
	qp->sq.wr.not_rts = state < IBV_QPS_RTS;
	return state;
}
