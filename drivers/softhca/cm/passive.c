/* SPDX-License-Identifier: BSD-3-Clause */
/* The answering end of a connection: takes requests, and accepts or rejects them. */
#include "passive.h"

#include <errno.h>
#include <string.h>

#include "active.h"
#include "log.h"
#include "notice.h"
#include "out.h"
#include "path.h"
#include "ports.h"
#include "qp_attr.h"
#include "show.h"

#define QPN_MASK 0xffffffu

/* ---------------------------------------------------------------- requests */

static bool
is_ud(const struct cm_message *request)
{
	return request->kind == CM_SIDR_REQ;
}

/* Answers that nobody listens at the port. */
static void
refuse(struct cm_link *link, const struct cm_message *request)
{
	const struct cm_message m = {.kind = is_ud(request) ? CM_SIDR_REP : CM_REJ,
		.to = request->from,
		.reason = is_ud(request) ? CM_SIDR_UNSUPPORTED : CM_REASON_SERVICE_ID};

	out_carrier()->answer(link, &m);
}

/* Makes the id of a new connection. Returns NULL if memory is short. */
static struct cm_id *
new_conn(const struct cm_id *listener, const struct cm_message *m, const struct cm_place *place)
{
	/* The program names the id when it accepts. Until then uid is 0. */
	struct cm_id *id = id_create(listener->file, 0, listener->ps);

	if (id == NULL)
		return NULL;
	id->state = STATE_CONNECT;
	id->conn = is_ud(m) ? CONN_SIDR_RCVD : CONN_REQ_RCVD;
	id->src = m->dst;
	id->dst = m->src;
	id->place = *place;
	/* As in the kernel, only a request for a connection brings a path. */
	id->has_path = !is_ud(m);
	id->tos = m->tos;
	id->has_timeout = listener->has_timeout;
	id->timeout = listener->timeout;
	id->remote_comm = m->from;
	memcpy(id->remote_gid, m->gid, sizeof(id->remote_gid));
	id->remote_lid = m->lid;
	id->remote_qpn = m->qpn;
	id->remote_psn = m->psn;
	id->responder_resources = m->initiator_depth;
	id->initiator_depth = m->responder_resources;
	id->retry = m->retry;
	id->rnr_retry = m->rnr_retry;
	id->mtu = m->mtu;
	return id;
}

void
passive_request(struct cm_link *link, const struct cm_message *m)
{
	struct cm_id *listener = port_listener(m->ps, &m->dst), *id;
	struct cm_place place;

	id = m->again ? out_carrier()->find(link, m->from) : NULL;
	if (id != NULL) {
		if (id->conn == CONN_REQ_RCVD)
			out_send(id, CM_MRA);
		return;
	}
	if (listener == NULL || id_is_ud(listener) != is_ud(m) ||
		address_place(&m->dst, &place) != 0) {
		refuse(link, m);
		return;
	}
	/* Without an answer the partner asks again later. */
	if (listener->backlog == 0)
		return;
	id = new_conn(listener, m, &place);
	if (id == NULL || !notice_request(listener, id, m)) {
		if (id != NULL)
			id_free(id);
		return;
	}
	listener->backlog--;
	out_carrier()->join(id, link);
	show_take(id);
	if (!is_ud(m))
		out_send(id, CM_MRA);
}

/* ---------------------------------------------------------------- the program's answer */

static int
send_rep(struct cm_id *id, const struct rdma_ucm_conn_param *param, const struct rdma_ucm_ece *ece)
{
	struct cm_message m;

	if (id->conn != CONN_REQ_RCVD)
		return -EINVAL;
	id->qpn = param->qp_num & QPN_MASK;
	m = out_begin(id, CM_REP);
	m.responder_resources = param->responder_resources;
	m.initiator_depth = param->initiator_depth;
	m.flow_control = param->flow_control != 0;
	m.rnr_retry = param->rnr_retry_count < 7 ? param->rnr_retry_count : 7;
	m.srq = param->srq != 0;
	m.ece_vendor = ece->vendor_id;
	m.ece_attr = ece->attr_mod;
	if (!out_private(&m, param->private_data, param->private_data_len))
		return -EINVAL;
	id->responder_resources = param->responder_resources;
	id->initiator_depth = param->initiator_depth;
	id->conn = CONN_REP_SENT;
	out_wait(id, 2 * out_patience_ms(id));
	(void)out_carrier()->send(id, &m);
	return 0;
}

static int
send_sidr_rep(struct cm_id *id, enum cm_sidr_status status, uint32_t qpn, const uint8_t *data,
	uint8_t len, const struct rdma_ucm_ece *ece)
{
	struct cm_message m;

	if (id->conn != CONN_SIDR_RCVD)
		return -EINVAL;
	m = out_begin(id, CM_SIDR_REP);
	m.reason = status;
	m.qpn = qpn & QPN_MASK;
	m.qkey = status == CM_SIDR_SUCCESS ? CM_UDP_QKEY : 0;
	m.ece_vendor = ece->vendor_id;
	m.ece_attr = ece->attr_mod;
	if (!out_private(&m, data, len))
		return -EINVAL;
	(void)out_carrier()->send(id, &m);
	out_end(id);
	return 0;
}

static int
accept_ud(struct cm_id *id, const struct rdma_ucm_conn_param *param, const struct rdma_ucm_ece *ece)
{
	if (param == NULL)
		return send_sidr_rep(id, CM_SIDR_SUCCESS, id->qpn, NULL, 0, ece);
	id->qpn = param->qp_num & QPN_MASK;
	return send_sidr_rep(id, CM_SIDR_SUCCESS, id->qpn, param->private_data,
		param->private_data_len, ece);
}

int
machine_accept(struct cm_id *id, const struct rdma_ucm_conn_param *param,
	const struct rdma_ucm_ece *ece)
{
	int err;

	if (id->state != STATE_CONNECT)
		return -EINVAL;
	if (id_is_ud(id))
		err = accept_ud(id, param, ece);
	else if (param != NULL)
		err = send_rep(id, param, ece);
	else
		err = active_ready(id);
	show_state(id);
	/* As in the kernel, the partner learns that the connection failed. */
	if (err != 0)
		(void)machine_reject(id, CM_REASON_CONSUMER, NULL, 0);
	return err;
}

/* True if the message, without its private data, can be sent in this state. */
static bool
may_reject(const struct cm_id *id)
{
	return id->conn == CONN_REQ_SENT || id->conn == CONN_REQ_HELD ||
	       id->conn == CONN_REQ_RCVD || id->conn == CONN_REP_SENT || id->conn == CONN_REP_RCVD;
}

int
machine_reject(struct cm_id *id, uint8_t reason, const uint8_t *private_data, uint8_t len)
{
	static const struct rdma_ucm_ece no_ece;
	struct cm_message m;

	if (id_is_ud(id))
		return send_sidr_rep(id, CM_SIDR_REJECT, 0, private_data, len, &no_ece);
	if (!may_reject(id))
		return -EINVAL;
	m = out_begin(id, CM_REJ);
	m.reason = reason;
	if (!out_private(&m, private_data, len))
		return -EINVAL;
	(void)out_carrier()->send(id, &m);
	if (id->conn == CONN_REP_SENT)
		out_timewait(id);
	else
		out_end(id);
	return 0;
}

/* ---------------------------------------------------------------- after the REP */

void
passive_rtu(struct cm_id *id)
{
	(void)machine_established(id);
}

int
machine_established(struct cm_id *id)
{
	if (id->conn == CONN_ESTABLISHED)
		return -EISCONN;
	if (id->conn != CONN_REP_SENT)
		return -EINVAL;
	out_wait(id, 0);
	id->conn = CONN_ESTABLISHED;
	notice(id, EVENT_ESTABLISHED, 0, NULL);
	return 0;
}

void
passive_waited(struct cm_id *id)
{
	out_end(id);
	notice(id, EVENT_UNREACHABLE, -ETIMEDOUT, NULL);
}
