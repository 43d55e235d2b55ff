/* SPDX-License-Identifier: BSD-3-Clause */
/* Begins to connect to a process that listens. */
#include "gantry_cm_connect.h"

#include <errno.h>

#include "gantry_cm_rdma.h"

/* Returns how many milliseconds are left, at least 1. */
static int
left_ms(const struct gantry_cm_conn *conn)
{
	const uint64_t now = gantry_cm_now_ms();

	if (now >= conn->end_ms)
		return 1;
	return conn->end_ms - now > INT32_MAX ? INT32_MAX : (int)(conn->end_ms - now);
}

int
gantry_cm_try(struct gantry_cm_conn *conn)
{
	errno = 0;
	if (rdma_create_id(conn->channel, &conn->id, NULL, RDMA_PS_TCP) != 0) {
		conn->id = NULL;
		return gantry_cm_failed("rdma_create_id(3)");
	}
	if (rdma_resolve_addr(conn->id, NULL, (struct sockaddr *)&conn->to, left_ms(conn)) == 0) {
		conn->step = GANTRY_CM_STEP_ADDR;
		return 0;
	}
	/* The kernel answers here for an address without a device or a route. */
	if (errno == ENODEV || errno == ENETUNREACH || errno == EHOSTUNREACH ||
		errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) {
		LOG(ERR, "%s is not reached by an RDMA device: use an address of its network",
			conn->far.text);
		return -EADDRNOTAVAIL;
	}
	return gantry_cm_failed("rdma_resolve_addr(3)");
}

int
gantry_cm_ask(struct gantry_cm_conn *conn)
{
	uint8_t bytes[GANTRY_CM_REQ_LEN];
	struct rdma_conn_param param =
		gantry_cm_param(gantry_addr_number(&conn->mine.addr), bytes, sizeof(bytes));
	int rc = gantry_cm_request_pack(&conn->mine, bytes);

	if (rc != 0) {
		LOG(ERR,
			"the address of the peer does not fit into the %d bytes of a request of "
			"rdma_cm: use gantry_peer_connect(), and send the address by other means",
			GANTRY_CM_REQ_LEN);
		return rc;
	}
	errno = 0;
	if (rdma_connect(conn->id, &param) != 0)
		return gantry_cm_failed("rdma_connect(3)");
	conn->step = GANTRY_CM_STEP_ASKED;
	return 0;
}

int
gantry_cm_connect(const char *host, const char *port, struct gantry_queue *q,
	const struct gantry_cm_conf *conf, struct gantry_cm_conn **conn)
{
	struct gantry_cm_conn *c;
	int rc;

	if (port == NULL) {
		LOG(ERR, "gantry_cm_connect(): port is NULL: give the port of the listener");
		return -EINVAL;
	}
	rc = gantry_cm_conn_alloc(q, conf, GANTRY_CM_REQUEST_LEN, &c);
	if (rc != 0)
		return rc;
	rc = gantry_cm_address_find(host, port, false, &c->to);
	if (rc == 0) {
		c->far = gantry_cm_text_of((const struct sockaddr *)&c->to);
		rc = gantry_cm_channel_create(&c->channel);
	}
	if (rc == 0)
		rc = gantry_cm_try(c);
	if (rc != 0) {
		gantry_cm_conn_free(c);
		return rc;
	}
	*conn = c;
	return 0;
}
