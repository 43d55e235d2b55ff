/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a connection that both ends need: settings, the peer, the end. */
#include "gantry_cm_conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gantry_cm_rdma.h"
#include "gantry_peers.h"

#define TIMEOUT_MS 10000

/* ------------------------------------------------------------------ settings */

static bool
is_zero(const void *bytes, size_t len)
{
	static const uint8_t zeros[64];

	return memcmp(bytes, zeros, len) == 0;
}

/* Returns 0, or logs the wrong setting and returns a negative errno. */
static int
check_conf(const struct gantry_cm_conf *conf, uint32_t most)
{
	if (!is_zero(conf->zero, sizeof(conf->zero)) ||
		!is_zero(conf->reserved, sizeof(conf->reserved))) {
		LOG(ERR, "gantry_cm_conf::zero or ::reserved is not 0: begin with a struct of "
			 "zeros, or use headers and library of one version");
		return -EINVAL;
	}
	if (conf->data_len > most || (conf->data == NULL && conf->data_len != 0)) {
		LOG(ERR,
			"gantry_cm_conf::data_len is %u: 0 to %u are possible here, and `data` "
			"must not be NULL",
			conf->data_len, most);
		return -EINVAL;
	}
	if (conf->peer != NULL && conf->peer->transport != GANTRY_TRANSPORT_RC) {
		LOG(ERR, "gantry_peer_conf::transport is not RC: connect RC, and send the address "
			 "of a DC target as gantry_cm_conf::data of an answer");
		return -EOPNOTSUPP;
	}
	return 0;
}

int
gantry_cm_conn_alloc(struct gantry_queue *q, const struct gantry_cm_conf *conf, uint32_t most,
	struct gantry_cm_conn **conn)
{
	static const struct gantry_cm_conf defaults;
	struct gantry_cm_conn *c;
	int rc;

	if (conf == NULL)
		conf = &defaults;
	rc = check_conf(conf, most);
	if (rc != 0)
		return rc;
	c = calloc(1, sizeof(*c));
	if (c == NULL) {
		LOG(ERR, "there is no memory for a connection");
		return -ENOMEM;
	}
	c->creator = getpid();
	c->q = q;
	if (conf->peer != NULL)
		c->peer_conf = *conf->peer;
	c->mine.len = conf->data_len;
	if (conf->data_len != 0)
		memcpy(c->mine.data, conf->data, conf->data_len);
	c->timeout_ms = conf->timeout_ms != 0 ? conf->timeout_ms : TIMEOUT_MS;
	c->wait_for_listener = conf->wait_for_listener;
	c->opened = conf->opened;
	c->arg = conf->arg;
	c->end_ms = gantry_cm_now_ms() + c->timeout_ms;
	*conn = c;
	return 0;
}

/* ------------------------------------------------------------------ the peer */

int
gantry_cm_conn_open(struct gantry_cm_conn *conn)
{
	int rc;

	if (conn->has_peer)
		return 0;
	rc = gantry_cm_device_check(conn->id, conn->q);
	if (rc != 0)
		return rc;
	gantry_cm_path_fill(conn->id, &conn->peer_conf.path);
	rc = gantry_peer_open(conn->q, &conn->peer_conf, &conn->peer, &conn->mine.addr);
	if (rc != 0) {
		LOG(ERR,
			"cannot open a peer for %s: gantry_peer_open(): %s; the line above says more",
			conn->far.text, strerror(-rc));
		return rc;
	}
	conn->has_peer = true;
	if (conn->opened != NULL)
		conn->opened(conn->arg, conn->q, conn->peer);
	return 0;
}

int
gantry_cm_conn_join(struct gantry_cm_conn *conn)
{
	int rc = gantry_peer_connect(conn->q, conn->peer, &conn->theirs.addr);

	if (rc != 0)
		LOG(ERR,
			"cannot connect the peer to %s: gantry_peer_connect(): %s; the line above "
			"says more",
			conn->far.text, strerror(-rc));
	return rc;
}

/* ------------------------------------------------------------------ the end */

void
gantry_cm_conn_note(struct gantry_cm_conn *conn)
{
	const struct rdma_addr *a = &conn->id->route.addr;

	conn->local = a->src_storage;
	conn->remote = a->dst_storage;
}

void
gantry_cm_conn_fail(struct gantry_cm_conn *conn, int error, const char *why)
{
	uint8_t bytes[GANTRY_CM_REJ_LEN];

	conn->error = error;
	if (conn->id == NULL)
		return;
	if (why != NULL) {
		/* If the other end cannot be told, it notices that the identifier ends. */
		gantry_cm_reject_pack(why, bytes);
		rdma_reject(conn->id, bytes, sizeof(bytes));
	}
	rdma_destroy_id(conn->id);
	conn->id = NULL;
}

void
gantry_cm_conn_free(struct gantry_cm_conn *conn)
{
	if (conn->id != NULL)
		rdma_destroy_id(conn->id);
	if (conn->channel != NULL)
		rdma_destroy_event_channel(conn->channel);
	free(conn);
}

int
gantry_cm_fd(const struct gantry_cm_conn *conn)
{
	return conn->channel->fd;
}

void
gantry_cm_info_get(const struct gantry_cm_conn *conn, struct gantry_cm_info *info)
{
	*info = (struct gantry_cm_info){
		.state = conn->told,
		.error = conn->error,
		.peer = conn->peer,
		.has_peer = conn->has_peer,
		.qp_num = conn->has_peer ? gantry_addr_number(&conn->mine.addr) : 0,
		.local = conn->local,
		.remote = conn->remote,
		.data_len = conn->theirs.len,
	};
	memcpy(info->data, conn->theirs.data, conn->theirs.len);
}

int
gantry_cm_disconnect(struct gantry_cm_conn *conn)
{
	int rc = gantry_cm_check_process(conn->creator);

	if (rc != 0 || conn->state != GANTRY_CM_CONNECTED || conn->id == NULL)
		return rc;
	errno = 0;
	return rdma_disconnect(conn->id) == 0 ? 0 : gantry_cm_failed("rdma_disconnect(3)");
}

int
gantry_cm_close(struct gantry_cm_conn *conn)
{
	int rc = gantry_cm_check_process(conn->creator);

	if (rc != 0)
		return rc;
	/* If the other end was told before, or is dead, this fails, and nothing is to be done. */
	if (conn->state == GANTRY_CM_CONNECTED && conn->id != NULL)
		rdma_disconnect(conn->id);
	if (conn->state == GANTRY_CM_CONNECTED)
		conn->state = GANTRY_CM_DISCONNECTED;
	if (conn->has_peer) {
		rc = gantry_peer_close(conn->q, conn->peer);
		if (rc != 0)
			return rc;
	}
	gantry_cm_conn_free(conn);
	return 0;
}
