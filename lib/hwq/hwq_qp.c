/* SPDX-License-Identifier: BSD-3-Clause */
/* Domains, CQs and QPs: create, connect, reset, destroy, and dropping stale CQEs. */
#include "hwq_qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "hwq_log.h"
#include "hwq_verbs.h"
#include "hwq_wire.h"

/* RC requester: retry for ever on RNR, seven times 4.096 us << 14 on silence (ibv_modify_qp(3)). */
#define QP_TIMEOUT       14
#define QP_RETRY_CNT     7
#define QP_RNR_RETRY     7
#define QP_MIN_RNR_TIMER 12
#define QP_HOP_LIMIT     64

#define OPS_ATOMIC (IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

/* Segments ahead of the data: control and remote address, or the operands of an atomic too. */
#define HEAD_DS        2
#define HEAD_ATOMIC_DS 3
/* LOCAL_INV takes 8, but libmlx5 counts the layout that a bind would have behind them. */
#define HEAD_UMR_DS (HWQ_UMR_HEAD_DS + HWQ_DS_PER_BB)

static const char *
dev_name(const struct hwq_domain *domain)
{
	return hwq_dev_name(domain->dev);
}

/* ------------------------------------------------------------------ domains */

int
hwq_domain_create(struct hwq_dev *dev, struct hwq_domain **out)
{
	struct hwq_domain *domain;
	int ret;

	domain = calloc(1, sizeof(*domain));
	if (domain == NULL)
		return -ENOMEM;
	domain->dev = dev;
	ret = hwq_verbs_td_alloc(dev->ctx, &domain->td);
	if (ret == -EOPNOTSUPP) {
		/* No write-combining memory here: QPs then get a page without BlueFlame. */
		domain->td = NULL;
		ret = 0;
	}
	if (ret != 0) {
		hwq_log("%s: allocating a thread domain: %s", hwq_dev_name(dev), strerror(-ret));
		goto err_free;
	}
	ret = hwq_verbs_parent_alloc(dev->pd, domain->td, &domain->pd);
	if (ret != 0) {
		hwq_log("%s: allocating a parent domain: %s", hwq_dev_name(dev), strerror(-ret));
		goto err_td;
	}
	atomic_fetch_add(&dev->refs, 1);
	*out = domain;
	return 0;

err_td:
	if (domain->td != NULL)
		hwq_verbs_td_free(domain->td);
err_free:
	free(domain);
	return ret;
}

int
hwq_domain_destroy(struct hwq_domain *domain)
{
	int ret = 0;

	if (domain->refs != 0) {
		hwq_log("%s: destroying a domain that has %u queues", dev_name(domain),
			domain->refs);
		return -EBUSY;
	}
	if (domain->pd != NULL)
		ret = hwq_verbs_pd_free(domain->pd);
	if (ret == 0)
		domain->pd = NULL;
	if (ret == 0 && domain->td != NULL)
		ret = hwq_verbs_td_free(domain->td);
	if (ret != 0) {
		hwq_log("%s: destroying a domain: %s", dev_name(domain), strerror(-ret));
		return ret;
	}
	atomic_fetch_sub(&domain->dev->refs, 1);
	free(domain);
	return 0;
}

/* ------------------------------------------------------------------ completion queues */

int
hwq_cq_create(struct hwq_domain *domain, uint32_t n_cqe, struct hwq_cq **out)
{
	struct mlx5dv_cq view;
	struct hwq_cq *cq;
	int ret;

	if (n_cqe == 0 || n_cqe > domain->dev->caps.max_cqe) {
		hwq_log("%s: a CQ of %u entries: 1 to %u are possible", dev_name(domain), n_cqe,
			domain->dev->caps.max_cqe);
		return -EINVAL;
	}
	cq = calloc(1, sizeof(*cq));
	if (cq == NULL)
		return -ENOMEM;
	cq->domain = domain;
	ret = hwq_verbs_cq_create(domain->dev->ctx, n_cqe < 2 ? 2 : n_cqe, &cq->cq);
	if (ret != 0) {
		hwq_log("%s: creating a CQ of %u entries: %s", dev_name(domain), n_cqe,
			strerror(-ret));
		goto err_free;
	}
	ret = hwq_verbs_cq_take(cq->cq, &view);
	if (ret == 0 && (view.cqe_size != sizeof(struct mlx5_cqe64) || view.cqe_cnt < n_cqe ||
				(view.cqe_cnt & (view.cqe_cnt - 1)) != 0))
		ret = -EPROTO;
	if (ret != 0) {
		hwq_log("%s: taking over a CQ: %s", dev_name(domain), strerror(-ret));
		goto err_destroy;
	}
	cq->buf = view.buf;
	cq->dbrec = (_Atomic(__be32) *)view.dbrec;
	cq->n_cqe = view.cqe_cnt;
	cq->mask = view.cqe_cnt - 1;
	cq->log_n = (uint32_t)__builtin_ctz(view.cqe_cnt);
	cq->cqn = view.cqn;
	domain->refs++;
	*out = cq;
	return 0;

err_destroy:
	hwq_verbs_cq_destroy(cq->cq);
err_free:
	free(cq);
	return ret;
}

int
hwq_cq_destroy(struct hwq_cq *cq)
{
	int ret;

	if (cq->reserved != 0) {
		hwq_log("%s: destroying a CQ that QPs use", dev_name(cq->domain));
		return -EBUSY;
	}
	ret = hwq_verbs_cq_destroy(cq->cq);
	if (ret != 0) {
		hwq_log("%s: destroying a CQ: %s", dev_name(cq->domain), strerror(-ret));
		return ret;
	}
	cq->domain->refs--;
	free(cq);
	return 0;
}

/* Moves an entry up by some places; the owner bit stays that of the place's lap. */
static void
cq_move(struct hwq_cq *cq, uint32_t from, uint32_t to)
{
	struct mlx5_cqe64 *dst = (struct mlx5_cqe64 *)(uintptr_t)hwq_cq_entry(cq, to);
	uint8_t owner = (to >> cq->log_n) & MLX5_CQE_OWNER_MASK;

	memcpy(dst, hwq_cq_entry(cq, from), sizeof(*dst));
	dst->op_own = (uint8_t)((dst->op_own & ~MLX5_CQE_OWNER_MASK) | owner);
}

/*
 * Drops the completions of a QP that makes no more of them. Entries of other QPs keep their order;
 * theirs may go on arriving, behind what is looked at here.
 */
static void
cq_drop(struct hwq_cq *cq, uint32_t qpn)
{
	uint32_t end = cq->ci, i, n_dropped = 0;

	while (end - cq->ci < cq->n_cqe && hwq_cq_is_ours(cq, end))
		end++;
	hwq_fence_owner_before_cqe();
	for (i = end; i != cq->ci; i--) {
		struct hwq_cqe rec;

		hwq_cqe_decode(hwq_cq_entry(cq, i - 1), &rec);
		if (rec.qpn == qpn)
			n_dropped++;
		else if (n_dropped != 0)
			cq_move(cq, i - 1, i - 1 + n_dropped);
	}
	cq->ci += n_dropped;
	hwq_cq_publish(cq);
}

/* ------------------------------------------------------------------ queue pairs: sizes */

static uint32_t
pow2_up(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

static uint32_t
conf_max_sge(const struct hwq_qp_conf *conf)
{
	return conf->max_sge == 0 ? 1 : conf->max_sge;
}

static uint64_t
conf_send_ops(const struct hwq_qp_conf *conf)
{
	return conf->send_ops != 0
		       ? conf->send_ops
		       : IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND;
}

/* What libmlx5 counts ahead of the data of every WQE. */
static uint32_t
conf_head_ds(const struct hwq_qp_conf *conf)
{
	if (conf_send_ops(conf) & IBV_QP_EX_WITH_LOCAL_INV)
		return HEAD_UMR_DS;
	return conf_send_ops(conf) & OPS_ATOMIC ? HEAD_ATOMIC_DS : HEAD_DS;
}

/* DS units of the longest WQE. */
static uint32_t
conf_max_ds(const struct hwq_qp_conf *conf)
{
	uint32_t inl = (conf->max_inline + HWQ_INLINE_HDR_LEN + HWQ_DS_LEN - 1) / HWQ_DS_LEN;
	uint32_t sge = conf_max_sge(conf);

	if (conf->max_inline == 0)
		inl = 0;
	return conf_head_ds(conf) + (inl > sge ? inl : sge);
}

/* Work requests to ask libmlx5 for: at least two of the longest, for the fill (hwq_sq.h). */
static uint32_t
conf_sq_wr(const struct hwq_qp_conf *conf)
{
	return conf->sq_wr < 2 ? 2 : conf->sq_wr;
}

/* libmlx5 rounds the ring's bytes up to a power of two, counting every WQE at its longest. */
static uint32_t
conf_sq_bb(const struct hwq_qp_conf *conf)
{
	return pow2_up(conf_sq_wr(conf) * hwq_ds_to_bb(conf_max_ds(conf)));
}

/* Entries of 16 bytes, and libmlx5 makes no ring shorter than a WQEBB. */
static uint32_t
conf_rq_wr(const struct hwq_qp_conf *conf)
{
	uint32_t n = pow2_up(conf->rq_wr);

	if (conf->rq_wr == 0)
		return 0;
	return n < HWQ_DS_PER_BB ? HWQ_DS_PER_BB : n;
}

uint32_t
hwq_qp_cqe_needed(const struct hwq_qp_conf *conf)
{
	return conf_sq_bb(conf) + conf_rq_wr(conf);
}

static int
conf_check(const struct hwq_domain *domain, const struct hwq_cq *cq, const struct hwq_qp_conf *conf)
{
	const struct hwq_dev_caps *caps = &domain->dev->caps;
	const char *sig = getenv("MLX5_QP_SIGNATURE");
	uint32_t data_ds = HWQ_DS_MAX - conf_head_ds(conf);

	if (conf->sq_wr == 0 || conf->sq_wr > caps->max_qp_wr || conf->rq_wr > caps->max_qp_wr) {
		hwq_log("%s: a QP of %u send and %u receive WQEs: 1 to %u, and at most %u, are "
			"possible",
			dev_name(domain), conf->sq_wr, conf->rq_wr, caps->max_qp_wr,
			caps->max_qp_wr);
		return -EINVAL;
	}
	if ((conf_send_ops(conf) & ~(uint64_t)HWQ_SEND_OPS_RC) != 0) {
		hwq_log("%s: the QP does not support all the requested work request types: not "
			"0x%llx of send_ops",
			dev_name(domain),
			(unsigned long long)(conf_send_ops(conf) & ~(uint64_t)HWQ_SEND_OPS_RC));
		return -EOPNOTSUPP;
	}
	/* DS has six bits: libmlx5 would let 64 pass, and the device would read 0. */
	if (conf_max_sge(conf) > caps->max_sge || conf_max_sge(conf) > data_ds ||
		conf->max_inline > data_ds * HWQ_DS_LEN - HWQ_INLINE_HDR_LEN) {
		hwq_log("%s: a WQE of %u segments or %u inline bytes: at most %u and %u are "
			"possible",
			dev_name(domain), conf_max_sge(conf), conf->max_inline,
			caps->max_sge < data_ds ? caps->max_sge : data_ds,
			data_ds * HWQ_DS_LEN - HWQ_INLINE_HDR_LEN);
		return -EINVAL;
	}
	if (conf_sq_bb(conf) > caps->max_qp_wr) {
		hwq_log("%s: %u send WQEs of this size need a ring of %u WQEBBs, and %u are "
			"possible",
			dev_name(domain), conf->sq_wr, conf_sq_bb(conf), caps->max_qp_wr);
		return -EINVAL;
	}
	if (hwq_qp_cqe_needed(conf) > cq->n_cqe - cq->reserved) {
		hwq_log("%s: the QP may need %u CQEs at once, and the CQ has %u of %u left",
			dev_name(domain), hwq_qp_cqe_needed(conf), cq->n_cqe - cq->reserved,
			cq->n_cqe);
		return -ENOSPC;
	}
	if (conf->mmo && caps->max_memcpy_len == 0) {
		hwq_log("%s: the device has no DMA MMO: copy by RDMA instead", dev_name(domain));
		return -EOPNOTSUPP;
	}
	/* libmlx5 then asks the device to check a signature in every WQE. */
	if (sig != NULL && strcmp(sig, "0") != 0) {
		hwq_log("MLX5_QP_SIGNATURE is set, and hwq signs no WQEs: unset it");
		return -EOPNOTSUPP;
	}
	return 0;
}

/* ------------------------------------------------------------------ queue pairs: create */

static int
opaque_create(struct hwq_qp *qp)
{
	int ret;

	ret = posix_memalign(&qp->opaque_buf, HWQ_MMO_OPAQUE_LEN, HWQ_MMO_OPAQUE_LEN);
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
	*cap = (struct ibv_qp_cap){
		.max_send_wr = conf_sq_wr(conf),
		.max_recv_wr = conf->rq_wr,
		.max_send_sge = conf_max_sge(conf),
		.max_recv_sge = conf->rq_wr != 0,
		.max_inline_data = conf->max_inline,
	};
	return hwq_verbs_qp_create(qp->domain->pd, qp->cq->cq, cap, conf_send_ops(conf),
		conf->mmo ? MLX5DV_QP_EX_WITH_MEMCPY : 0, &qp->qp);
}

/*
 * Which doorbell register the QP rings. The domain's own may carry BlueFlame and alternates its
 * halves. One that other writers may share takes 8-byte doorbells at one place: they are atomic.
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

/* What init_obj shows must be what the sizes above assume: every bound rests on it. */
static int
view_check(const struct hwq_qp *qp, const struct hwq_qp_conf *conf, const struct mlx5dv_qp *view)
{
	if (view->sq.stride == HWQ_BB_LEN && view->sq.wqe_cnt == conf_sq_bb(conf) &&
		view->rq.wqe_cnt == conf_rq_wr(conf))
		return 0;
	hwq_log("%s: libmlx5 made a QP of %u send WQEBBs of %u bytes and %u receive WQEs; "
		"%u of %u and %u were expected",
		dev_name(qp->domain), view->sq.wqe_cnt, view->sq.stride, view->rq.wqe_cnt,
		conf_sq_bb(conf), HWQ_BB_LEN, conf_rq_wr(conf));
	return -EPROTO;
}

static int
take_over(struct hwq_qp *qp, const struct hwq_qp_conf *conf, const struct ibv_qp_cap *cap)
{
	uint32_t inline_max = (HWQ_DS_MAX - HEAD_DS) * HWQ_DS_LEN - HWQ_INLINE_HDR_LEN;
	_Atomic(__be32) *dbrec;
	struct mlx5dv_qp view;
	int ret;

	ret = hwq_verbs_qp_take(qp->qp, &view);
	if (ret != 0)
		return ret;
	ret = view_check(qp, conf, &view);
	if (ret != 0)
		return ret;
	dbrec = (_Atomic(__be32) *)view.dbrec;
	hwq_sq_init(&qp->sq, view.sq.buf, view.sq.wqe_cnt, qp->qpn, dbrec, choose_bf(qp, &view),
		qp->cq);
	qp->sq.sig_bits = conf->sq_sig_all ? MLX5_WQE_CTRL_CQ_UPDATE : 0;
	qp->sq.not_rts = true;
	qp->sq.wr_ids = calloc(view.sq.wqe_cnt, sizeof(*qp->sq.wr_ids));
	if (qp->sq.wr_ids == NULL)
		return -ENOMEM;
	qp->sq.max_sge = (uint8_t)conf_max_sge(conf);
	qp->sq.max_inline = cap->max_inline_data < inline_max ? cap->max_inline_data : inline_max;
	if (conf->mmo) {
		qp->sq.mmo_lkey = htobe32(qp->opaque.lkey);
		qp->sq.mmo_addr = htobe64((uintptr_t)qp->opaque.addr);
		qp->sq.max_memcpy_len = qp->domain->dev->caps.max_memcpy_len;
		qp->sq.easy_memcpy_len = qp->sq.max_memcpy_len < HWQ_MMO_LEN_MAX
						 ? qp->sq.max_memcpy_len
						 : HWQ_MMO_LEN_MAX - 1;
	}
	if (conf->rq_wr != 0)
		qp->rq = (struct hwq_rq){
			.buf = view.rq.buf,
			.mask = view.rq.wqe_cnt - 1,
			.stride = view.rq.stride,
			.dbrec = dbrec,
		};
	return 0;
}

static int
to_init(struct hwq_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = qp->domain->dev->port.port,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};

	/* By verbs, never by DEVX: libmlx5 enables MMO again on the way. */
	return hwq_verbs_qp_modify(qp->qp, &attr,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

/* 24 bits that an earlier connection of the same QPN most likely did not use. */
static uint32_t
new_psn(void)
{
	uint32_t psn = 0;

	if (getrandom(&psn, sizeof(psn), GRND_NONBLOCK) != sizeof(psn))
		psn = (uint32_t)(uintptr_t)&psn >> 4;
	return psn & 0xffffff;
}

int
hwq_qp_create(struct hwq_domain *domain, struct hwq_cq *cq, const struct hwq_qp_conf *conf,
	struct hwq_qp **out)
{
	struct ibv_qp_cap cap;
	struct hwq_qp *qp;
	int ret;

	ret = conf_check(domain, cq, conf);
	if (ret != 0)
		return ret;
	qp = calloc(1, sizeof(*qp));
	if (qp == NULL)
		return -ENOMEM;
	qp->domain = domain;
	qp->cq = cq;
	qp->n_cqe = hwq_qp_cqe_needed(conf);
	qp->psn = new_psn();
	ret = conf->mmo ? opaque_create(qp) : 0;
	if (ret != 0)
		goto err_free;
	ret = verbs_qp_create(qp, conf, &cap);
	if (ret != 0) {
		hwq_log("%s: creating a QP of %u WQEBBs: %s", dev_name(domain), conf_sq_bb(conf),
			strerror(-ret));
		goto err_opaque;
	}
	qp->qpn = qp->qp->qp_num;
	ret = take_over(qp, conf, &cap);
	if (ret == 0)
		ret = to_init(qp);
	if (ret != 0) {
		hwq_log("%s: setting up QP 0x%06x: %s", dev_name(domain), qp->qpn, strerror(-ret));
		goto err_destroy;
	}
	cq->reserved += qp->n_cqe;
	domain->refs++;
	*out = qp;
	return 0;

err_destroy:
	hwq_verbs_qp_destroy(qp->qp);
	free(qp->sq.wr_ids);
err_opaque:
	opaque_destroy(qp);
err_free:
	free(qp);
	return ret;
}

int
hwq_qp_destroy(struct hwq_qp *qp)
{
	int ret = 0;

	if (qp->qp != NULL)
		ret = hwq_verbs_qp_destroy(qp->qp);
	if (ret == 0) {
		qp->qp = NULL;
		cq_drop(qp->cq, qp->qpn);
		ret = opaque_destroy(qp);
	}
	if (ret != 0) {
		hwq_log("%s: destroying QP 0x%06x: %s", dev_name(qp->domain), qp->qpn,
			strerror(-ret));
		return ret;
	}
	qp->cq->reserved -= qp->n_cqe;
	qp->domain->refs--;
	free(qp->sq.wr_ids);
	free(qp);
	return 0;
}

/* ------------------------------------------------------------------ queue pairs: states */

void
hwq_qp_addr(const struct hwq_qp *qp, struct hwq_addr *addr)
{
	const struct hwq_dev *dev = qp->domain->dev;

	memset(addr, 0, sizeof(*addr));
	addr->version = HWQ_ADDR_VERSION;
	addr->link_layer = dev->port.link_layer;
	addr->mtu = dev->port.active_mtu;
	addr->has_gid = dev->port.has_gid;
	addr->max_rd_atomic = (uint8_t)dev->caps.max_dest_rd_atomic;
	addr->lid = htobe16(dev->port.lid);
	addr->qpn = htobe32(qp->qpn);
	addr->psn = htobe32(qp->psn);
	memcpy(addr->gid, dev->port.gid, sizeof(addr->gid));
}

static int
addr_check(const struct hwq_qp *qp, const struct hwq_addr *remote)
{
	const struct hwq_dev_port *port = &qp->domain->dev->port;
	bool known = remote->version == HWQ_ADDR_VERSION;

	if (remote->version == 0 ||
		(known && (remote->mtu < IBV_MTU_256 || remote->mtu > IBV_MTU_4096)) ||
		(known && port->link_layer == IBV_LINK_LAYER_ETHERNET && !remote->has_gid)) {
		hwq_log("QP 0x%06x: connecting: not a valid address of a peer", qp->qpn);
		return -EINVAL;
	}
	if (!known || remote->link_layer != port->link_layer) {
		hwq_log("QP 0x%06x: connecting: the peer's address is of version %u and link layer "
			"%u; "
			"ours %u and %u",
			qp->qpn, remote->version, remote->link_layer, HWQ_ADDR_VERSION,
			port->link_layer);
		return -EPROTONOSUPPORT;
	}
	return 0;
}

static void
fill_ah(const struct hwq_dev_port *port, const struct hwq_addr *remote, struct ibv_ah_attr *ah)
{
	ah->port_num = port->port;
	ah->dlid = be16toh(remote->lid);
	if (port->link_layer != IBV_LINK_LAYER_ETHERNET)
		return;
	ah->is_global = 1;
	ah->grh.sgid_index = port->gid_index;
	ah->grh.hop_limit = QP_HOP_LIMIT;
	memcpy(ah->grh.dgid.raw, remote->gid, sizeof(remote->gid));
}

static int
to_rtr(struct hwq_qp *qp, const struct hwq_addr *remote)
{
	const struct hwq_dev *dev = qp->domain->dev;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = remote->mtu < dev->port.active_mtu ? remote->mtu : dev->port.active_mtu,
		.dest_qp_num = be32toh(remote->qpn),
		.rq_psn = be32toh(remote->psn),
		.max_dest_rd_atomic = (uint8_t)dev->caps.max_dest_rd_atomic,
		.min_rnr_timer = QP_MIN_RNR_TIMER,
	};

	fill_ah(&dev->port, remote, &attr.ah_attr);
	return hwq_verbs_qp_modify(qp->qp, &attr,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int
to_rts(struct hwq_qp *qp, const struct hwq_addr *remote)
{
	uint32_t rd_atomic = qp->domain->dev->caps.max_rd_atomic;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = QP_TIMEOUT,
		.retry_cnt = QP_RETRY_CNT,
		.rnr_retry = QP_RNR_RETRY,
		.sq_psn = qp->psn,
		.max_rd_atomic =
			(uint8_t)(rd_atomic < remote->max_rd_atomic ? rd_atomic
								    : remote->max_rd_atomic),
	};

	return hwq_verbs_qp_modify(qp->qp, &attr,
		IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

int
hwq_qp_connect(struct hwq_qp *qp, const struct hwq_addr *remote)
{
	int ret;

	ret = addr_check(qp, remote);
	if (ret != 0)
		return ret;
	ret = to_rtr(qp, remote);
	if (ret == 0)
		ret = to_rts(qp, remote);
	if (ret == 0)
		qp->sq.not_rts = false;
	if (ret != 0)
		hwq_log("%s: connecting QP 0x%06x to 0x%06x: %s", dev_name(qp->domain), qp->qpn,
			be32toh(remote->qpn), strerror(-ret));
	return ret;
}

int
hwq_qp_reset(struct hwq_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	int ret;

	ret = hwq_verbs_qp_modify(qp->qp, &attr, IBV_QP_STATE);
	if (ret == 0) {
		/* libmlx5 zeroed the doorbell record, but leaves the CQ alone, as it is ours. */
		cq_drop(qp->cq, qp->qpn);
		qp->sq.pi = qp->sq.ci = qp->sq.rung = qp->sq.last = 0;
		qp->sq.fm_cache = 0;
		qp->sq.not_rts = true;
		qp->rq.pi = qp->rq.ci = 0;
		ret = to_init(qp);
	}
	if (ret != 0)
		hwq_log("%s: resetting QP 0x%06x: %s", dev_name(qp->domain), qp->qpn,
			strerror(-ret));
	return ret;
}

int
hwq_qp_state(struct hwq_qp *qp)
{
	struct ibv_qp_attr attr;
	int ret;

	ret = hwq_verbs_qp_query(qp->qp, &attr, IBV_QP_STATE);
	return ret != 0 ? ret : (int)attr.qp_state;
}

int
hwq_qp_fail(struct hwq_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	return hwq_verbs_qp_modify(qp->qp, &attr, IBV_QP_STATE);
}
