/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The attributes of an id's queue pair in each state. Source of masks and values: the kernel's
 * drivers/infiniband/core/cm.c (cm_init_qp_init_attr and the functions after it) and cma.c.
 */
#include "qp_attr.h"

#include <errno.h>
#include <string.h>

#include "path.h"

/* Numbers of ibv_modify_qp(3): enum ibv_qp_state, ibv_qp_attr_mask, ibv_access_flags. */
enum {
	QPS_INIT = 1,
	QPS_RTR = 2,
	QPS_RTS = 3,

	MASK_STATE = 1 << 0,
	MASK_ACCESS_FLAGS = 1 << 3,
	MASK_PKEY_INDEX = 1 << 4,
	MASK_PORT = 1 << 5,
	MASK_QKEY = 1 << 6,
	MASK_AV = 1 << 7,
	MASK_PATH_MTU = 1 << 8,
	MASK_TIMEOUT = 1 << 9,
	MASK_RETRY_CNT = 1 << 10,
	MASK_RNR_RETRY = 1 << 11,
	MASK_RQ_PSN = 1 << 12,
	MASK_MAX_QP_RD_ATOMIC = 1 << 13,
	MASK_MIN_RNR_TIMER = 1 << 15,
	MASK_SQ_PSN = 1 << 16,
	MASK_MAX_DEST_RD_ATOMIC = 1 << 17,
	MASK_DEST_QPN = 1 << 20,

	ACCESS_REMOTE_WRITE = 1 << 1,
	ACCESS_REMOTE_READ = 1 << 2,
	ACCESS_REMOTE_ATOMIC = 1 << 3
};

/*
 * The timeout that the kernel computes for a path of this life time and a local_ca_ack_delay of 16
 * (ibv_query_device(3)): cm_ack_timeout() in cm.c.
 */
#define ACK_TIMEOUT (PATH_LIFE_TIME + 2)

/* Without a connection the attributes are those of cma_ib_init_qp_attr(), for each state. */
static void
without_connection(const struct cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	attr->qp_attr_mask = MASK_STATE | MASK_PKEY_INDEX | MASK_PORT;
	attr->port_num = id->place.port;
	if (id_is_ud(id)) {
		attr->qp_attr_mask |= MASK_QKEY;
		attr->qkey = CM_UDP_QKEY;
	} else {
		attr->qp_attr_mask |= MASK_ACCESS_FLAGS;
	}
}

static void
init(const struct cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	attr->qp_attr_mask = MASK_STATE | MASK_ACCESS_FLAGS | MASK_PKEY_INDEX | MASK_PORT;
	attr->port_num = id->place.port;
	attr->qp_access_flags = ACCESS_REMOTE_WRITE;
	if (id->responder_resources != 0)
		attr->qp_access_flags |= ACCESS_REMOTE_READ | ACCESS_REMOTE_ATOMIC;
}

static void
rtr(const struct cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	attr->qp_attr_mask = MASK_STATE | MASK_AV | MASK_PATH_MTU | MASK_DEST_QPN | MASK_RQ_PSN |
			     MASK_MAX_DEST_RD_ATOMIC | MASK_MIN_RNR_TIMER;
	path_ah(id, &attr->ah_attr);
	attr->path_mtu = id->mtu;
	attr->dest_qp_num = id->remote_qpn;
	attr->rq_psn = id->psn;
	attr->max_dest_rd_atomic = id->responder_resources;
}

static void
rts(const struct cm_id *id, struct ib_uverbs_qp_attr *attr)
{
	attr->qp_attr_mask = MASK_STATE | MASK_SQ_PSN | MASK_TIMEOUT | MASK_RETRY_CNT |
			     MASK_RNR_RETRY | MASK_MAX_QP_RD_ATOMIC;
	attr->sq_psn = id->remote_psn;
	attr->timeout = id->has_timeout ? id->timeout : ACK_TIMEOUT;
	attr->retry_cnt = id->retry;
	attr->rnr_retry = id->rnr_retry;
	attr->max_rd_atomic = id->initiator_depth;
}

/* True if the id knows its partner's queue pair. */
static bool
has_partner(const struct cm_id *id)
{
	return id->conn >= CONN_REQ_RCVD && id->conn <= CONN_ESTABLISHED;
}

static bool
may_init(const struct cm_id *id)
{
	return id->conn == CONN_REQ_SENT || id->conn == CONN_REQ_HELD || has_partner(id);
}

int
qp_attr(const struct cm_id *id, uint32_t qp_state, struct ib_uverbs_qp_attr *attr)
{
	const bool connects = id->state == STATE_CONNECT || id->state == STATE_DISCONNECT;

	memset(attr, 0, sizeof(*attr));
	attr->qp_state = qp_state;
	if (id_is_ud(id) || !connects)
		without_connection(id, attr);
	else if (qp_state == QPS_INIT && may_init(id))
		init(id, attr);
	else if (qp_state == QPS_RTR && has_partner(id))
		rtr(id, attr);
	else if (qp_state == QPS_RTS && has_partner(id))
		rts(id, attr);
	else
		return -EINVAL;
	return 0;
}
