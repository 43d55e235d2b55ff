/* SPDX-License-Identifier: BSD-3-Clause */
/* How connections and ids end; and which function takes each message. */
#include <errno.h>
#include <stdlib.h>

#include "active.h"
#include "clock.h"
#include "loop.h"
#include "notice.h"
#include "out.h"
#include "passive.h"
#include "ports.h"
#include "show.h"

/* ---------------------------------------------------------------- disconnecting */

/* Tells the program once that the connection has ended. */
static void
disconnected(struct cm_id *id, int status)
{
	if (id->state != STATE_CONNECT)
		return;
	id->state = STATE_DISCONNECT;
	show_state(id);
	notice(id, EVENT_DISCONNECTED, status, NULL);
}

int
machine_disconnect(struct cm_id *id)
{
	if (id->state != STATE_CONNECT && id->state != STATE_DISCONNECT)
		return -EINVAL;
	if (id->conn == CONN_ESTABLISHED) {
		id->conn = CONN_DREQ_SENT;
		out_wait(id, out_patience_ms(id));
		out_send(id, CM_DREQ);
	} else if (id->conn == CONN_DREQ_RCVD) {
		out_send(id, CM_DREP);
		out_timewait(id);
	}
	return 0;
}

static void
take_dreq(struct cm_id *id)
{
	if (id->conn != CONN_ESTABLISHED && id->conn != CONN_REP_SENT && id->conn != CONN_DREQ_SENT)
		return;
	out_wait(id, 0);
	id->conn = CONN_DREQ_RCVD;
	disconnected(id, 0);
}

static void
take_drep(struct cm_id *id)
{
	if (id->conn != CONN_DREQ_SENT && id->conn != CONN_DREQ_RCVD)
		return;
	out_timewait(id);
	disconnected(id, 0);
}

static void
take_rej(struct cm_id *id, const struct cm_message *m)
{
	switch (id->conn) {
	case CONN_REQ_SENT:
	case CONN_REQ_HELD:
	case CONN_REQ_RCVD:
	case CONN_REP_SENT:
		out_end(id);
		break;
	case CONN_REP_RCVD:
	case CONN_DREQ_SENT:
	case CONN_ESTABLISHED:
		out_timewait(id);
		break;
	default:
		return;
	}
	notice(id, EVENT_REJECTED, (int)m->reason, m);
}

/* ---------------------------------------------------------------- messages */

/* Answers a message whose id has ended. */
static void
answer_to_nobody(struct cm_link *link, const struct cm_message *m)
{
	struct cm_message answer = {.kind = CM_REJ,
		.from = m->to,
		.to = m->from,
		.reason = CM_REASON_COMM_ID};

	if (m->kind == CM_DREQ)
		answer.kind = CM_DREP;
	if (m->kind == CM_REP || m->kind == CM_DREQ)
		out_carrier()->answer(link, &answer);
}

void
machine_receive(struct cm_link *link, const struct cm_message *m)
{
	struct cm_id *id = id_of_comm(m->to);

	/* Who gives up a request early does not know the other id yet. */
	if (m->to == 0 && m->kind == CM_REJ)
		id = out_carrier()->find(link, m->from);
	if (m->kind == CM_REQ || m->kind == CM_SIDR_REQ) {
		passive_request(link, m);
		return;
	}
	if (id == NULL || id->link != link) {
		answer_to_nobody(link, m);
		return;
	}
	switch (m->kind) {
	case CM_MRA:
		active_mra(id, m);
		break;
	case CM_REP:
		active_rep(id, m);
		break;
	case CM_RTU:
		passive_rtu(id);
		break;
	case CM_REJ:
		take_rej(id, m);
		break;
	case CM_DREQ:
		take_dreq(id);
		break;
	case CM_DREP:
		take_drep(id);
		break;
	case CM_SIDR_REP:
		active_sidr_rep(id, m);
		break;
	default:
		break;
	}
}

/*
 * The partner's process has ended. Its kernel would end each of its ids as machine_destroy() does,
 * so the same messages are taken as if they had come.
 */
void
machine_lost(struct cm_id *id)
{
	static const struct cm_message timeout = {.kind = CM_REJ, .reason = CM_REASON_TIMEOUT};
	static const struct cm_message consumer = {.kind = CM_REJ, .reason = CM_REASON_CONSUMER};

	switch (id->conn) {
	case CONN_REQ_SENT:
	case CONN_REQ_HELD:
	case CONN_SIDR_SENT:
		active_lost(id);
		break;
	case CONN_REQ_RCVD:
		take_rej(id, &timeout);
		break;
	case CONN_REP_SENT:
	case CONN_REP_RCVD:
		take_rej(id, &consumer);
		break;
	case CONN_ESTABLISHED:
		take_dreq(id);
		break;
	case CONN_DREQ_SENT:
		take_drep(id);
		break;
	case CONN_SIDR_RCVD:
		out_end(id);
		break;
	default:
		break;
	}
}

/* ---------------------------------------------------------------- time */

static void
waited(struct cm_id *id)
{
	switch (id->conn) {
	case CONN_REQ_SENT:
	case CONN_REQ_HELD:
	case CONN_SIDR_SENT:
		active_waited(id);
		break;
	case CONN_REP_SENT:
		passive_waited(id);
		break;
	case CONN_DREQ_SENT:
		out_timewait(id);
		disconnected(id, -ETIMEDOUT);
		break;
	case CONN_TIMEWAIT:
		id->conn = CONN_NONE;
		notice(id, EVENT_TIMEWAIT_EXIT, 0, NULL);
		break;
	default:
		break;
	}
}

void
machine_fire(void)
{
	const uint64_t now = device_clock();
	uint64_t next = 0;

	for (struct cm_id *id = id_next(0); id != NULL; id = id_next(id->handle + 1)) {
		if (id->due != 0 && id->due <= now) {
			id->due = 0;
			waited(id);
		}
		if (id->due != 0 && (next == 0 || id->due < next))
			next = id->due;
	}
	if (next != 0)
		loop_due(next);
}

/* ---------------------------------------------------------------- the end of an id */

/* Tells the partner that the id ends: cm_destroy_id() of the kernel. */
static void
tell_partner(struct cm_id *id)
{
	switch (id->conn) {
	case CONN_REQ_SENT:
	case CONN_REQ_HELD:
		out_reject(id, CM_REASON_TIMEOUT);
		break;
	case CONN_REQ_RCVD:
	case CONN_REP_SENT:
	case CONN_REP_RCVD:
		out_reject(id, CM_REASON_CONSUMER);
		break;
	case CONN_ESTABLISHED:
		out_send(id, CM_DREQ);
		break;
	case CONN_DREQ_RCVD:
		out_send(id, CM_DREP);
		break;
	case CONN_SIDR_RCVD:
		(void)machine_reject(id, 0, NULL, 0);
		break;
	default:
		break;
	}
}

void
machine_destroy(struct cm_id *id, int fd)
{
	struct cm_event *next, *e = file_take(id->file, fd, id);

	for (; e != NULL; e = next) {
		next = e->next;
		if (e->conn != NULL)
			machine_destroy(e->conn, fd);
		free(e);
	}
	file_forget(id->file, id);
	tell_partner(id);
	out_carrier()->leave(id);
	port_leave(id);
	show_give(id);
	id_free(id);
}
