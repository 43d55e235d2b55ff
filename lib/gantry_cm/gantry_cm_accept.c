/* SPDX-License-Identifier: BSD-3-Clause */
/* Accepts a request: from the request to a connection. */
#include <errno.h>

#include "gantry_cm_conn.h"
#include "gantry_cm_listener.h"
#include "gantry_cm_rdma.h"

/*
 * Moves the request's identifier to a channel of its own, so that the events of the connection do
 * not arrive at the listener. Returns 0, or logs and returns a negative errno.
 */
static int
move_to_channel(struct gantry_cm_request *r)
{
	struct rdma_event_channel *channel;
	int rc;

	if (r->channel != NULL)
		return 0;
	rc = gantry_cm_channel_create(&channel);
	if (rc != 0)
		return rc;
	errno = 0;
	if (rdma_migrate_id(r->id, channel) != 0) {
		rc = gantry_cm_failed("rdma_migrate_id(3)");
		rdma_destroy_event_channel(channel);
		return rc;
	}
	r->channel = channel;
	return 0;
}

/* Sends the answer. Returns 0, or logs and returns a negative errno. */
static int
answer(struct gantry_cm_conn *conn)
{
	uint8_t bytes[GANTRY_CM_REP_LEN];
	struct rdma_conn_param param =
		gantry_cm_param(gantry_addr_number(&conn->mine.addr), bytes, sizeof(bytes));

	gantry_cm_answer_pack(&conn->mine, bytes);
	errno = 0;
	if (rdma_accept(conn->id, &param) == 0)
		return 0;
	/* The kernel's answer if the connection is no longer that of a new request. */
	if (errno == EINVAL || errno == ENOTCONN) {
		LOG(ERR, "%s no longer waits for the answer to its request", conn->far.text);
		return -ECONNRESET;
	}
	return gantry_cm_failed("rdma_accept(3)");
}

/* Opens and connects the peer, and answers. */
static int
make(struct gantry_cm_conn *conn)
{
	int rc = gantry_cm_conn_open(conn);

	if (rc == 0)
		rc = gantry_cm_conn_join(conn);
	if (rc == 0)
		rc = answer(conn);
	return rc;
}

int
gantry_cm_accept(struct gantry_cm_request *r, struct gantry_queue *q,
	const struct gantry_cm_conf *conf, struct gantry_cm_conn **conn)
{
	struct gantry_cm_conn *c;
	int rc = gantry_cm_check_process(r->listener->creator);

	if (rc == 0)
		rc = gantry_cm_conn_alloc(q, conf, GANTRY_CM_ANSWER_LEN, &c);
	if (rc != 0)
		return rc;
	rc = move_to_channel(r);
	if (rc == 0) {
		c->id = r->id;
		c->far = r->from;
		c->theirs = r->theirs;
		c->step = GANTRY_CM_STEP_ANSWER;
		gantry_cm_conn_note(c);
		rc = make(c);
	}
	if (rc == 0) {
		c->channel = r->channel;
		gantry_cm_request_free(r);
		*conn = c;
		return 0;
	}
	/* The identifier still belongs to the request. */
	c->id = NULL;
	if (c->has_peer)
		gantry_peer_close(q, c->peer);
	gantry_cm_conn_free(c);
	return rc;
}
