/* SPDX-License-Identifier: BSD-3-Clause */
/* State changes of a queue pair: to INIT; to RTS, with or without a peer; reset; to ERR. */
#include "hwq_qp_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hwq_addr.h"
#include "hwq_log.h"
#include "hwq_port.h"
#include "hwq_qp_type.h"
#include "hwq_verbs.h"

/*
 * Defaults of a requester: unlimited retries after RNR; seven retries with a timeout of 4.096 us <<
 * 14 if there is no answer (ibv_modify_qp(3)).
 */
#define QP_TIMEOUT   14
#define QP_RETRY_CNT 7
#define QP_RNR_RETRY 7

/* The calls that a log line suggests for a caller's own QP. */
#define CHANGE_STATE "ibv_modify_qp(3), then hwq_obj_qp_sync()"

static const char *
dev_name(const struct hwq_domain *domain)
{
	return hwq_dev_name(domain->dev);
}

bool
hwq_qp_is_own(const struct hwq_qp *qp, const char *what, const char *instead)
{
	if (qp->domain != NULL)
		return true;
	hwq_log("QP 0x%06x is the caller's own: not for %s, but %s", qp->qpn, what, instead);
	return false;
}

int
hwq_qp_to_init(struct hwq_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = qp->port.port,
		.qp_access_flags = qp->info->access,
		.qkey = qp->qkey,
	};

	/* Use verbs, not DEVX, because libmlx5 enables MMO again in this call. */
	return hwq_verbs_qp_modify(qp->qp, &attr, IBV_QP_STATE | qp->info->init);
}

/* Returns the MTU of the QP; the peer's MTU may be smaller. */
static uint8_t
path_mtu(const struct hwq_qp *qp)
{
	return qp->path.mtu != 0 ? qp->path.mtu : qp->port.active_mtu;
}

void
hwq_qp_addr(const struct hwq_qp *qp, struct hwq_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	if (!hwq_qp_is_own(qp, "hwq_qp_addr()", "ibv_query_qp(3)"))
		return;
	hwq_addr_of_port(&qp->port, &qp->path, &qp->domain->dev->caps, addr);
	addr->qpn = htobe32(qp->qpn);
	addr->psn = htobe32(qp->psn);
}

static uint8_t
smaller(uint32_t a, uint32_t b)
{
	return (uint8_t)(a < b ? a : b);
}

/* Returns a setting of a path if its bit in the mask is set, otherwise the default. */
static uint8_t
given_or(const struct hwq_path *path, uint32_t bit, uint8_t setting, uint8_t preset)
{
	return (path->mask & bit) != 0 ? setting : preset;
}

/* Moves the QP from INIT to RTS. remote is NULL for types without a peer. */
static int
to_rts(struct hwq_qp *qp, const struct hwq_addr *remote)
{
	const struct hwq_dev *dev = qp->domain->dev;
	const struct hwq_path *path = &qp->path;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = path_mtu(qp),
		.max_dest_rd_atomic = (uint8_t)dev->caps.max_dest_rd_atomic,
		.min_rnr_timer = hwq_path_min_rnr_timer(path),
		.timeout = given_or(path, HWQ_PATH_TIMEOUT, path->timeout, QP_TIMEOUT),
		.retry_cnt = given_or(path, HWQ_PATH_RETRIES, path->retries, QP_RETRY_CNT),
		.rnr_retry = given_or(path, HWQ_PATH_RNR_RETRIES, path->rnr_retries, QP_RNR_RETRY),
		.sq_psn = qp->psn,
		.max_rd_atomic = (uint8_t)dev->caps.max_rd_atomic,
	};
	int ret;

	if (remote != NULL) {
		attr.path_mtu = (enum ibv_mtu)smaller(remote->mtu, attr.path_mtu);
		attr.dest_qp_num = be32toh(remote->qpn);
		attr.rq_psn = be32toh(remote->psn);
		attr.max_rd_atomic = smaller(remote->max_rd_atomic, dev->caps.max_rd_atomic);
		hwq_addr_to_ah(&qp->port, remote, &attr.ah_attr);
		attr.ah_attr.grh.traffic_class = path->traffic_class;
	}
	ret = hwq_verbs_qp_modify(qp->qp, &attr, IBV_QP_STATE | qp->info->rtr);
	if (ret == 0) {
		attr.qp_state = IBV_QPS_RTS;
		ret = hwq_verbs_qp_modify(qp->qp, &attr, IBV_QP_STATE | qp->info->rts);
	}
	if (ret == 0)
		qp->sq.wr.not_rts = false;
	return ret;
}

int
hwq_qp_connect(struct hwq_qp *qp, const struct hwq_addr *remote)
{
	char what[32];
	int ret;

	if (!hwq_qp_is_own(qp, "hwq_qp_connect()", CHANGE_STATE))
		return -EINVAL;
	if (!qp->info->has_peer) {
		hwq_log("QP 0x%06x: connecting: a %s QP has no peer: hwq_qp_ready()", qp->qpn,
			qp->info->name);
		return -EINVAL;
	}
	snprintf(what, sizeof(what), "connecting QP 0x%06x", qp->qpn);
	ret = hwq_addr_check(&qp->port, remote, what);
	if (ret != 0)
		return ret;
	ret = to_rts(qp, remote);
	if (ret != 0)
		hwq_log("%s: connecting QP 0x%06x to 0x%06x: %s", dev_name(qp->domain), qp->qpn,
			be32toh(remote->qpn), strerror(-ret));
	return ret;
}

int
hwq_qp_ready(struct hwq_qp *qp)
{
	int ret;

	if (!hwq_qp_is_own(qp, "hwq_qp_ready()", CHANGE_STATE))
		return -EINVAL;
	if (qp->info->has_peer) {
		hwq_log("QP 0x%06x: a %s QP has a peer: hwq_qp_connect()", qp->qpn, qp->info->name);
		return -EINVAL;
	}
	ret = to_rts(qp, NULL);
	if (ret != 0)
		hwq_log("%s: QP 0x%06x to RTS: %s", dev_name(qp->domain), qp->qpn, strerror(-ret));
	return ret;
}

int
hwq_qp_reset(struct hwq_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	int ret;

	if (!hwq_qp_is_own(qp, "hwq_qp_reset()", CHANGE_STATE))
		return -EINVAL;
	ret = hwq_verbs_qp_modify(qp->qp, &attr, IBV_QP_STATE);
	if (ret == 0) {
		/* libmlx5 cannot drop completions from a CQ that hwq has taken over. */
		hwq_qp_drop_cqes(qp);
		hwq_qp_empty_rings(qp);
		qp->sq.wr.not_rts = true;
		ret = hwq_qp_to_init(qp);
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
