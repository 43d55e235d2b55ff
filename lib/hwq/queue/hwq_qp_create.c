/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs: creates them, reads their rings from libmlx5, destroys them. */
#include "hwq_qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "hwq_cq_room.h"
#include "hwq_left.h"
#include "hwq_lines.h"
#include "hwq_log.h"
#include "hwq_port.h"
#include "hwq_qp_size.h"
#include "hwq_qp_state.h"
#include "hwq_qp_type.h"
#include "hwq_verbs.h"
#include "hwq_wire.h"

static const char *
dev_name(const struct hwq_domain *domain)
{
	return hwq_dev_name(domain->dev);
}

/*
 * The scratch memory gets a separate page, because after ibv_fork_init(3) a child of fork(2) does
 * not have this page.
 */
static int
opaque_create(struct hwq_qp *qp)
{
	size_t page = sysconf(_SC_PAGESIZE);
	int ret;

	ret = posix_memalign(&qp->opaque_buf, page, page);
	if (ret != 0) {
		qp->opaque_buf = NULL;
		return -ret;
	}
	ret = hwq_mr_register(qp->domain->dev, qp->opaque_buf, HWQ_MMO_OPAQUE_LEN,
		IBV_ACCESS_LOCAL_WRITE, &qp->opaque);
	if (ret != 0) {
		free(qp->opaque_buf);
		qp->opaque_buf = NULL;
	}
	return ret;
}

static int
opaque_destroy(struct hwq_qp *qp)
{
	int ret;

	if (qp->opaque_buf == NULL)
		return 0;
	ret = hwq_mr_deregister(&qp->opaque);
	if (ret != 0)
		return ret;
	free(qp->opaque_buf);
	qp->opaque_buf = NULL;
	return 0;
}

static int
verbs_qp_create(struct hwq_qp *qp, const struct hwq_qp_conf *conf, struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_context = qp,
		.send_cq = qp->cq->cq,
		.recv_cq = qp->rq.cq->cq,
		.srq = conf->srq != NULL ? conf->srq->srq : NULL,
		.cap = {.max_send_wr = hwq_conf_sq_wr(conf),
			.max_recv_wr = conf->rq_wr,
			.max_send_sge = hwq_conf_max_sge(conf),
			.max_recv_sge = conf->rq_wr == 0 ? 0 : hwq_conf_rq_sge(conf),
			.max_inline_data = conf->max_inline},
		.qp_type = qp->info->verbs_type,
		/*
		 * hwq sets the CE bit itself, because NOPs that fill the ring's end must make no
		 * CQE.
		 */
		.sq_sig_all = 0,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = qp->domain->pd,
		.send_ops_flags = hwq_conf_send_ops(conf),
		.max_tso_header = conf->max_tso_header,
	};
	/*
	 * Without this flag the device may put short data into the CQE instead of the WQE's memory.
	 */
	struct mlx5dv_qp_init_attr mlx5_attr = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
		.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE |
				(conf->sig_pipelining ? MLX5DV_QP_CREATE_SIG_PIPELINING : 0),
		.send_ops_flags = hwq_conf_asked_mlx5_ops(conf),
		.dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCI,
			.dci_streams = {.log_num_concurent = conf->log_dci_streams,
				.log_num_errored = conf->log_dci_errored}},
	};
	int ret;

	if (conf->max_tso_header != 0)
		attr.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
	if (mlx5_attr.send_ops_flags != 0)
		mlx5_attr.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS;
	if (conf->type == HWQ_QP_DCI)
		mlx5_attr.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_DC;
	if (conf->dci_streams)
		mlx5_attr.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS;
	ret = hwq_verbs_qp_create(qp->domain->pd->context, &attr, &mlx5_attr, &qp->qp);
	*cap = attr.cap;
	return ret;
}

/*
 * Returns the state of the doorbell register that the QP rings. The domain's own register may use
 * BlueFlame, and its halves alternate. A shared register accepts only atomic doorbells: 8 bytes at
 * one address.
 */
static struct hwq_bf *
choose_bf(struct hwq_qp *qp, const struct mlx5dv_qp *view)
{
	struct hwq_domain *domain = qp->domain;
	struct hwq_bf *bf = &domain->bf;

	if (domain->td == NULL || (bf->reg != NULL && bf->reg != view->bf.reg)) {
		qp->bf = (struct hwq_bf){.reg = view->bf.reg};
		return &qp->bf;
	}
	if (bf->reg == NULL) {
		bf->reg = view->bf.reg;
		bf->toggle = view->bf.size;
		bf->max_ds = domain->dev->no_bf ? 0 : view->bf.size / HWQ_DS_LEN;
	}
	return bf;
}

/*
 * libmlx5 chooses the length of the rings, and its versions choose differently. Check that the CQ
 * has room for the rings that mlx5dv_init_obj(3) reports. Check also that the rings are not shorter
 * than hwq_qp_size.h computes, because hwq_sq.h relies on that.
 */
static int
take_sizes(struct hwq_qp *qp, const struct hwq_qp_conf *conf, const struct mlx5dv_qp *view)
{
	uint32_t n_bb = view->sq.wqe_cnt, rq_sge = conf->rq_wr == 0 ? 0 : hwq_conf_rq_sge(conf);
	struct hwq_qp_cqes cqes = {.send_cq = qp->cq,
		.recv_cq = qp->rq.cq,
		.srq = conf->srq,
		.n_send = n_bb,
		.n_recv = view->rq.wqe_cnt};

	if (view->sq.stride != HWQ_BB_LEN || n_bb < hwq_conf_sq_bb(conf) || n_bb > HWQ_SQ_MAX_BB ||
		(n_bb & (n_bb - 1)) != 0 || view->rq.wqe_cnt < hwq_conf_rq_wr(conf) ||
		(view->rq.wqe_cnt & (view->rq.wqe_cnt - 1)) != 0 ||
		view->rq.stride < rq_sge * sizeof(struct mlx5_wqe_data_seg)) {
		hwq_log("%s: libmlx5 made a QP of %u send WQEBBs of %u bytes and %u receive WQEs "
			"of %u; powers of two from %u (of %u) and %u (of %zu) were expected: this "
			"libmlx5 needs a newer hwq",
			dev_name(qp->domain), n_bb, view->sq.stride, view->rq.wqe_cnt,
			view->rq.stride, hwq_conf_sq_bb(conf), HWQ_BB_LEN, hwq_conf_rq_wr(conf),
			rq_sge * sizeof(struct mlx5_wqe_data_seg));
		return -EPROTO;
	}
	qp->n_cqe = n_bb;
	return hwq_qp_check_room(dev_name(qp->domain), &cqes);
}

/* Reads the inline headers and checksums that raw packets need. */
static int
take_over_eth(struct hwq_qp *qp, const struct hwq_qp_conf *conf)
{
	const struct hwq_dev *dev = qp->domain->dev;

	qp->sq.wr.max_tso_header = conf->max_tso_header;
	qp->sq.wr.ip_csum = dev->caps.raw_ip_csum && qp->port.link_layer == IBV_LINK_LAYER_ETHERNET;
	return hwq_verbs_eth_inline(qp->qp, qp->sq.buf, &qp->sq.wr.eth_inline);
}

static int
take_over_rq(struct hwq_qp *qp, const struct mlx5dv_qp *view)
{
	uint64_t *wr_ids = calloc(view->rq.wqe_cnt, sizeof(*wr_ids));

	if (wr_ids == NULL)
		return -ENOMEM;
	hwq_rq_init(&qp->rq, view->rq.buf, view->rq.wqe_cnt, view->rq.stride, qp->qpn, view->dbrec,
		qp->rq.cq, wr_ids);
	return 0;
}

static int
take_over(struct hwq_qp *qp, const struct hwq_qp_conf *conf, const struct ibv_qp_cap *cap)
{
	uint32_t inline_room = hwq_conf_inline_room(conf), inline_max = hwq_conf_inline_max(conf);
	__be32 *dbrec;
	struct mlx5dv_qp view;
	uint64_t *wr_ids;
	int ret;

	ret = hwq_verbs_qp_take(qp->qp, &view);
	if (ret != 0)
		return ret;
	ret = take_sizes(qp, conf, &view);
	if (ret != 0)
		return ret;
	dbrec = view.dbrec;
	hwq_sq_init(&qp->sq, view.sq.buf, view.sq.wqe_cnt, qp->qpn, dbrec, choose_bf(qp, &view),
		qp->cq);
	qp->sq.sig_bits = conf->sq_sig_all ? MLX5_WQE_CTRL_CQ_UPDATE : 0;
	qp->sq.wr.transport = (uint8_t)qp->info->transport;
	qp->sq.wr.not_rts = true;
	wr_ids = calloc(view.sq.wqe_cnt, sizeof(*wr_ids));
	if (wr_ids == NULL)
		return -ENOMEM;
	hwq_sq_set_wr_ids(&qp->sq, wr_ids);
	qp->sq.max_sge = (uint8_t)hwq_conf_max_sge(conf);
	/* No WQE may be longer than the longest WQE for which the ring was created. */
	if (cap->max_inline_data < inline_room)
		inline_room = cap->max_inline_data;
	qp->sq.max_inline = inline_room < inline_max ? inline_room : inline_max;
	qp->sq.wr.max_umr_ds = hwq_max_umr_ds(inline_room);
	if (conf->mmo)
		hwq_sq_set_memcpy(&qp->sq, qp->opaque.lkey, (uintptr_t)qp->opaque.addr,
			qp->domain->dev->caps.max_memcpy_len);
	if (conf->rq_wr != 0)
		ret = take_over_rq(qp, &view);
	if (ret == 0 && conf->type == HWQ_QP_RAW_PACKET)
		ret = take_over_eth(qp, conf);
	return ret;
}

/*
 * Returns a random-looking PSN of 24 bits. An earlier connection of the same QPN most likely used a
 * different PSN.
 */
static uint32_t
new_psn(void)
{
	uint32_t psn = 0;

	if (getrandom(&psn, sizeof(psn), GRND_NONBLOCK) != sizeof(psn))
		psn = (uint32_t)(uintptr_t)&psn >> 4;
	return psn & 0xffffff;
}

/*
 * Returns the number of entries of the receive ring, each of which may make a CQE; 0: there is no
 * receive ring.
 */
static uint32_t
rq_cqes(const struct hwq_qp *qp)
{
	return qp->rq.buf != NULL ? qp->rq.mask + 1 : 0;
}

/* Reserves room in the CQs for the QP's CQEs. unreserve() frees the room again. */
static void
reserve(struct hwq_qp *qp)
{
	qp->cq->reserved += qp->n_cqe;
	qp->rq.cq->reserved += rq_cqes(qp);
	if (qp->srq != NULL)
		hwq_srq_attach(qp->srq, qp->rq.cq);
}

static void
unreserve(struct hwq_qp *qp)
{
	qp->cq->reserved -= qp->n_cqe;
	qp->rq.cq->reserved -= rq_cqes(qp);
	if (qp->srq != NULL)
		hwq_srq_detach(qp->srq, qp->rq.cq);
}

int
hwq_qp_create(struct hwq_domain *domain, struct hwq_cq *cq, const struct hwq_qp_conf *conf,
	struct hwq_qp **out)
{
	struct ibv_qp_cap cap;
	struct hwq_qp *qp;
	int ret;

	ret = hwq_conf_check(domain, cq, conf);
	if (ret != 0)
		return ret;
	qp = hwq_alloc_lines(sizeof(*qp));
	if (qp == NULL)
		return -ENOMEM;
	qp->domain = domain;
	qp->cq = cq;
	qp->rq.cq = hwq_conf_recv_cq(conf, cq);
	qp->info = hwq_qp_info(conf->type);
	qp->qkey = conf->qkey;
	qp->psn = new_psn();
	qp->path = conf->path;
	ret = hwq_port_of_path(domain->dev, &conf->path, &qp->port);
	if (ret == 0 && conf->mmo)
		ret = opaque_create(qp);
	if (ret != 0)
		goto err_free;
	ret = verbs_qp_create(qp, conf, &cap);
	if (ret != 0) {
		hwq_log("%s: creating a %s QP of %u WQEBBs: %s", dev_name(domain), qp->info->name,
			hwq_conf_sq_bb(conf), strerror(-ret));
		goto err_opaque;
	}
	qp->qpn = qp->qp->qp_num;
	ret = take_over(qp, conf, &cap);
	if (ret == 0)
		ret = hwq_qp_to_init(qp);
	if (ret != 0) {
		hwq_log("%s: setting up QP 0x%06x: %s", dev_name(domain), qp->qpn, strerror(-ret));
		goto err_destroy;
	}
	qp->srq = conf->srq;
	reserve(qp);
	hwq_count_add(&domain->refs, 1);
	*out = qp;
	return 0;

err_destroy:
	hwq_left_add(domain->dev, qp->qp);
	free(qp->sq.wr.wr_ids);
	free(qp->rq.wr_ids);
err_opaque:
	if (qp->opaque_buf != NULL)
		hwq_left_add_buf(domain->dev, &qp->opaque, qp->opaque_buf);
err_free:
	free(qp);
	return ret;
}

int
hwq_qp_destroy(struct hwq_qp *qp)
{
	int ret = 0;

	if (!hwq_qp_is_own(qp, "hwq_qp_destroy()", "hwq_obj_qp_release(), then ibv_destroy_qp(3)"))
		return -EINVAL;
	if (qp->qp != NULL)
		ret = hwq_verbs_qp_destroy(qp->qp);
	/* Pairs with the release in hwq_async_ack(). All events of the QP are acknowledged here. */
	(void)hwq_count_get(&qp->domain->dev->n_acked);
	if (ret == 0) {
		qp->qp = NULL;
		hwq_qp_drop_cqes(qp);
		ret = opaque_destroy(qp);
	}
	if (ret != 0) {
		hwq_log("%s: destroying QP 0x%06x: %s", dev_name(qp->domain), qp->qpn,
			strerror(-ret));
		return ret;
	}
	unreserve(qp);
	hwq_count_sub(&qp->domain->refs, 1);
	hwq_qp_forget_cancelled(qp);
	free(qp->sq.wr.wr_ids);
	free(qp->rq.wr_ids);
	free(qp);
	return 0;
}
