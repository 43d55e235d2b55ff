/* SPDX-License-Identifier: BSD-3-Clause */
/* DC targets: creates and destroys them, and returns their addresses. */
#include "hwq_dct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hwq_addr.h"
#include "hwq_cq_drop.h"
#include "hwq_cq_room.h"
#include "hwq_left.h"
#include "hwq_log.h"
#include "hwq_port.h"
#include "hwq_verbs.h"

#define DCT_ACCESS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
		IBV_ACCESS_REMOTE_ATOMIC)

static const char *
dev_name(const struct hwq_domain *domain)
{
	return hwq_dev_name(domain->dev);
}

static int
conf_check(const struct hwq_domain *domain, const struct hwq_cq *cq,
	const struct hwq_dct_conf *conf)
{
	const struct hwq_qp_cqes cqes = {.recv_cq = cq, .srq = conf->srq};

	if (conf->srq == NULL || conf->srq->xrc_cq != NULL) {
		hwq_log("%s: a DC target receives from a basic SRQ", dev_name(domain));
		return -EINVAL;
	}
	return hwq_qp_check_room(dev_name(domain), &cqes);
}

static int
verbs_dct_create(struct hwq_dct *dct, uint64_t key)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_DRIVER,
		.send_cq = dct->cq->cq,
		.recv_cq = dct->cq->cq,
		.srq = dct->srq->srq,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = dct->domain->pd,
	};
	struct mlx5dv_qp_init_attr mlx5_attr = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCT, .dct_access_key = key},
	};

	return hwq_verbs_qp_create(dct->domain->pd->context, &attr, &mlx5_attr, &dct->qp);
}

/* Moves the target to the state RTR, in which it stays. From then on the target has its number. */
static int
to_rtr(struct hwq_dct *dct)
{
	struct hwq_addr own;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = dct->port.port,
		.qp_access_flags = DCT_ACCESS,
		.min_rnr_timer = hwq_path_min_rnr_timer(&dct->path),
	};
	int ret;

	hwq_dct_addr(dct, &own);
	attr.path_mtu = own.mtu;
	ret = hwq_verbs_qp_modify(dct->qp, &attr,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (ret != 0)
		return ret;
	attr.qp_state = IBV_QPS_RTR;
	/*
	 * Only the target's own part of the path is used, because each request contains the
	 * initiator's address.
	 */
	hwq_addr_to_ah(&dct->port, &own, &attr.ah_attr);
	attr.ah_attr.grh.traffic_class = dct->path.traffic_class;
	ret = hwq_verbs_qp_modify(dct->qp, &attr,
		IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER | IBV_QP_AV);
	if (ret == 0)
		dct->dctn = dct->qp->qp_num;
	return ret;
}

int
hwq_dct_create(struct hwq_domain *domain, struct hwq_cq *cq, const struct hwq_dct_conf *conf,
	struct hwq_dct **out)
{
	struct hwq_dct *dct;
	int ret;

	ret = conf_check(domain, cq, conf);
	if (ret != 0)
		return ret;
	dct = calloc(1, sizeof(*dct));
	if (dct == NULL)
		return -ENOMEM;
	dct->domain = domain;
	dct->cq = cq;
	dct->srq = conf->srq;
	dct->path = conf->path;
	ret = hwq_port_of_path(domain->dev, &conf->path, &dct->port);
	if (ret != 0)
		goto err_free;
	ret = verbs_dct_create(dct, conf->key);
	if (ret != 0) {
		hwq_log("%s: creating a DC target: %s", dev_name(domain), strerror(-ret));
		goto err_free;
	}
	ret = to_rtr(dct);
	if (ret != 0) {
		hwq_log("%s: setting up a DC target: %s", dev_name(domain), strerror(-ret));
		goto err_destroy;
	}
	hwq_srq_attach(conf->srq, cq);
	hwq_count_add(&domain->refs, 1);
	*out = dct;
	return 0;

err_destroy:
	hwq_left_add(domain->dev, dct->qp);
err_free:
	free(dct);
	return ret;
}

int
hwq_dct_destroy(struct hwq_dct *dct)
{
	int ret = hwq_verbs_qp_destroy(dct->qp);

	if (ret != 0) {
		hwq_log("%s: destroying DC target 0x%06x: %s", dev_name(dct->domain), dct->dctn,
			strerror(-ret));
		return ret;
	}
	hwq_cq_drop(dct->cq, dct->dctn, dct->srq);
	hwq_srq_detach(dct->srq, dct->cq);
	hwq_count_sub(&dct->domain->refs, 1);
	free(dct);
	return 0;
}

void
hwq_dct_addr(const struct hwq_dct *dct, struct hwq_addr *addr)
{
	hwq_addr_of_port(&dct->port, &dct->path, &dct->domain->dev->caps, addr);
	addr->qpn = htobe32(dct->dctn);
}
