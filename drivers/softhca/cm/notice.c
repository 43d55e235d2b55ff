/* SPDX-License-Identifier: BSD-3-Clause */
/* Events for the program: which fields each event has. */
#include "notice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "path.h"

static struct cm_event *
make(struct cm_id *counts, uint32_t handle, uint32_t event, int status)
{
	struct cm_event *e = calloc(1, sizeof(*e));

	if (e == NULL) {
		softhca_log("rdma_cm: memory is short: an event is lost");
		return NULL;
	}
	e->id = counts;
	e->resp.uid = counts->uid;
	e->resp.id = handle;
	e->resp.event = event;
	e->resp.status = (uint32_t)status;
	return e;
}

/*
 * Copies the private data. As from the kernel, the program gets as many bytes as the message has
 * room for; bytes that the partner did not send are zero.
 */
static uint8_t
put_private(uint8_t to[RDMA_MAX_PRIVATE_DATA], const struct cm_message *m)
{
	memcpy(to, m->private_data, m->private_len);
	return (uint8_t)cm_private_max(m->kind);
}

static void
put_conn(struct rdma_ucm_event_resp *resp, const struct cm_message *m)
{
	struct rdma_ucm_conn_param *to = &resp->param.conn;

	to->private_data_len = put_private(to->private_data, m);
	if (m->kind != CM_REQ && m->kind != CM_REP)
		return;
	to->qp_num = m->qpn;
	/* What the sender can answer at once is what this end may ask at once, and vice versa. */
	to->responder_resources = m->initiator_depth;
	to->initiator_depth = m->responder_resources;
	to->flow_control = m->flow_control;
	to->retry_count = m->kind == CM_REQ ? m->retry : 0;
	to->rnr_retry_count = m->rnr_retry;
	to->srq = m->srq;
	resp->ece.vendor_id = m->ece_vendor;
	resp->ece.attr_mod = m->ece_attr;
}

static void
put_ud(struct rdma_ucm_event_resp *resp, const struct cm_id *id, const struct cm_message *m)
{
	struct rdma_ucm_ud_param *to = &resp->param.ud;

	to->private_data_len = put_private(to->private_data, m);
	if (m->kind != CM_SIDR_REP || m->reason != CM_SIDR_SUCCESS)
		return;
	path_ah(id, &to->ah_attr);
	to->qp_num = m->qpn;
	to->qkey = m->qkey;
	resp->ece.vendor_id = m->ece_vendor;
	resp->ece.attr_mod = m->ece_attr;
}

void
notice(struct cm_id *id, enum cm_event_type event, int status, const struct cm_message *m)
{
	struct cm_event *e = id->uid != 0 ? make(id, id->handle, event, status) : NULL;

	if (e == NULL)
		return;
	if (m != NULL && id_is_ud(id))
		put_ud(&e->resp, id, m);
	else if (m != NULL)
		put_conn(&e->resp, m);
	file_post(id->file, e);
}

bool
notice_request(struct cm_id *listener, struct cm_id *conn, const struct cm_message *m)
{
	struct cm_event *e = make(listener, conn->handle, EVENT_CONNECT_REQUEST, 0);

	if (e == NULL)
		return false;
	e->conn = conn;
	if (id_is_ud(conn))
		put_ud(&e->resp, conn, m);
	else
		put_conn(&e->resp, m);
	file_post(listener->file, e);
	return true;
}

int
notice_own(struct cm_id *id, uint32_t event, uint32_t status, uint64_t arg)
{
	struct cm_event *e = make(id, id->handle, event, (int)status);

	if (e == NULL)
		return -ENOMEM;
	memcpy(&e->resp.param, &arg, sizeof(arg));
	file_post(id->file, e);
	return 0;
}
