/* SPDX-License-Identifier: BSD-3-Clause */
/* The asking end of a connection: sends its request until an answer comes. */
#include "active.h"

#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "notice.h"
#include "out.h"
#include "path.h"
#include "show.h"

#define QPN_MASK  0xffffffu
#define MAX_RETRY 7 /* three bits of a request */

static uint8_t
at_most_7(uint8_t value)
{
	return value < MAX_RETRY ? value : MAX_RETRY;
}

/* ---------------------------------------------------------------- the end without connection */

static void
finish(struct cm_id *id, enum cm_event_type event, int status, const struct cm_message *m)
{
	free(id->request);
	id->request = NULL;
	out_end(id);
	notice(id, event, status, m);
}

/* Nobody listens at the port. */
static void
refused(struct cm_id *id)
{
	const struct cm_message rej = {.kind = CM_REJ, .reason = CM_REASON_SERVICE_ID};
	const struct cm_message sidr = {.kind = CM_SIDR_REP, .reason = CM_SIDR_UNSUPPORTED};

	if (id_is_ud(id))
		finish(id, EVENT_UNREACHABLE, CM_SIDR_UNSUPPORTED, &sidr);
	else
		finish(id, EVENT_REJECTED, CM_REASON_SERVICE_ID, &rej);
}

/* ---------------------------------------------------------------- requests */

static void
try(struct cm_id *id)
{
	const int err = out_carrier()->send(id, id->request);

	if (err == -ECONNREFUSED) {
		refused(id);
		return;
	}
	if (err == -EACCES) {
		finish(id, EVENT_UNREACHABLE, -EACCES, NULL);
		return;
	}
	id->request->again = 1;
	out_wait(id, out_interval_ms(id));
}

static struct cm_message *
request(struct cm_id *id, const struct rdma_ucm_conn_param *param, const struct rdma_ucm_ece *ece)
{
	struct cm_message *m = malloc(sizeof(*m));

	if (m == NULL)
		return NULL;
	*m = out_begin(id, id_is_ud(id) ? CM_SIDR_REQ : CM_REQ);
	m->to = 0;
	m->src = id->src;
	m->dst = id->dst;
	if (address_is_any(&m->dst))
		address_loopback(&m->dst, m->dst.sin6_family);
	if (!id_is_ud(id)) {
		m->responder_resources = id->responder_resources;
		m->initiator_depth = id->initiator_depth;
		m->flow_control = param->flow_control != 0;
		m->retry = id->retry;
		m->rnr_retry = at_most_7(param->rnr_retry_count);
		m->srq = param->srq != 0;
		m->mtu = id->mtu;
		m->ece_vendor = ece->vendor_id;
		m->ece_attr = ece->attr_mod;
	}
	return m;
}

int
machine_connect(struct cm_id *id, const struct rdma_ucm_conn_param *param,
	const struct rdma_ucm_ece *ece)
{
	struct cm_message *m;

	if (id->state != STATE_ROUTE_RESOLVED)
		return -EINVAL;
	id->qpn = id_is_ud(id) ? 0 : param->qp_num & QPN_MASK;
	id->responder_resources = param->responder_resources;
	id->initiator_depth = param->initiator_depth;
	id->retry = at_most_7(param->retry_count);
	id->mtu = path_mtu(id);
	m = request(id, param, ece);
	if (m == NULL)
		return -ENOMEM;
	if (!out_private(m, param->private_data, param->private_data_len)) {
		free(m);
		return -EINVAL;
	}
	id->request = m;
	id->state = STATE_CONNECT;
	id->conn = id_is_ud(id) ? CONN_SIDR_SENT : CONN_REQ_SENT;
	id->end = device_clock() + out_patience_ms(id) * 1000000;
	show_state(id);
	try(id);
	return 0;
}

void
active_waited(struct cm_id *id)
{
	id->hurried = false;
	if (device_clock() >= id->end)
		finish(id, EVENT_UNREACHABLE, -ETIMEDOUT, NULL);
	else
		try(id);
}

void
active_lost(struct cm_id *id)
{
	const struct cm_message rej = {.kind = CM_REJ, .reason = CM_REASON_CONSUMER};

	if (id->conn == CONN_REQ_HELD) {
		/* The listener's process had the request and ended: its clean-up rejects it. */
		finish(id, EVENT_REJECTED, CM_REASON_CONSUMER, &rej);
		return;
	}
	/*
	 * Another process may listen at the port now. If the partner closes each connection, the
	 * request is not sent again before its time.
	 */
	if (id->hurried)
		return;
	id->hurried = true;
	try(id);
}

/* ---------------------------------------------------------------- answers */

void
active_mra(struct cm_id *id, const struct cm_message *m)
{
	if (id->conn != CONN_REQ_SENT)
		return;
	id->remote_comm = m->from;
	id->conn = CONN_REQ_HELD;
	/* The kernel waits once for the time that the MRA names, and then retries as before. */
	id->end = device_clock() + 2 * out_patience_ms(id) * 1000000;
	out_wait(id, 2 * out_patience_ms(id));
}

void
active_rep(struct cm_id *id, const struct cm_message *m)
{
	if (id->conn != CONN_REQ_SENT && id->conn != CONN_REQ_HELD)
		return;
	free(id->request);
	id->request = NULL;
	out_wait(id, 0);
	id->remote_comm = m->from;
	id->remote_qpn = m->qpn;
	id->remote_psn = m->psn;
	id->responder_resources = m->initiator_depth;
	id->initiator_depth = m->responder_resources;
	id->rnr_retry = m->rnr_retry;
	id->conn = CONN_REP_RCVD;
	show_state(id);
	notice(id, EVENT_CONNECT_RESPONSE, 0, m);
}

int
active_ready(struct cm_id *id)
{
	if (id->conn != CONN_REP_RCVD)
		return -EINVAL;
	id->conn = CONN_ESTABLISHED;
	out_send(id, CM_RTU);
	return 0;
}

void
active_sidr_rep(struct cm_id *id, const struct cm_message *m)
{
	if (id->conn != CONN_SIDR_SENT)
		return;
	if (m->reason == CM_SIDR_SUCCESS) {
		id->remote_qpn = m->qpn;
		finish(id, EVENT_ESTABLISHED, 0, m);
	} else {
		finish(id, EVENT_UNREACHABLE, (int)m->reason, m);
	}
}
