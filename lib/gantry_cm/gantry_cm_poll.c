/* SPDX-License-Identifier: BSD-3-Clause */
/* What the events of rdma_cm mean for a connection. */
#include <errno.h>
#include <string.h>

#include "gantry_cm_connect.h"
#include "gantry_cm_rdma.h"

#define AGAIN_MS 50 /* milliseconds between two tries while nobody listens */

/*
 * The reason of a rejection when nobody listens. Source: enum ib_cm_rej_reason of the kernel's
 * rdma/ib_cm.h, IB_CM_REJ_INVALID_SERVICE_ID, of the InfiniBand specification.
 */
#define REASON_NOBODY 8

/* ------------------------------------------------------------------ events that are failures */

/* Destroys the identifier of this try, and tries again after a pause. */
static int
pause_try(struct gantry_cm_conn *conn)
{
	if (!conn->waits)
		LOG(INFO, "nobody listens at %s yet: trying again", conn->far.text);
	conn->waits = true;
	rdma_destroy_id(conn->id);
	conn->id = NULL;
	conn->step = GANTRY_CM_STEP_PAUSE;
	conn->again_ms = gantry_cm_now_ms() + AGAIN_MS;
	return 0;
}

static int
on_rejected(struct gantry_cm_conn *conn, const struct gantry_cm_event *e)
{
	char text[GANTRY_CM_REASON_LEN + 1];
	const size_t len = gantry_cm_reject_unpack(e->data, e->len, text);

	if (conn->step == GANTRY_CM_STEP_ANSWER) {
		LOG(ERR, "%s has given up the connection%s%s", conn->far.text,
			len != 0 ? ": " : ": its own log says why", text);
		return -ECONNRESET;
	}
	if (e->status == REASON_NOBODY && conn->wait_for_listener)
		return pause_try(conn);
	if (e->status == REASON_NOBODY)
		LOG(ERR, "nobody listens at %s: start the process that listens first",
			conn->far.text);
	else if (len != 0)
		LOG(ERR, "%s has rejected the request: %s", conn->far.text, text);
	else
		LOG(ERR, "%s has rejected the request (reason %d of rdma_cm): its own log says why",
			conn->far.text, e->status);
	return -ECONNREFUSED;
}

/* Logs an event that ends a connection before it is CONNECTED. Returns the negative errno. */
static int
on_failure(struct gantry_cm_conn *conn, const struct gantry_cm_event *e)
{
	const char *why = e->status < 0 ? strerror(-e->status) : "";

	switch (e->type) {
	case RDMA_CM_EVENT_ADDR_ERROR:
		LOG(ERR, "%s is not reached by an RDMA device: %s: use an address of its network",
			conn->far.text, why);
		return -EADDRNOTAVAIL;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		LOG(ERR, "there is no route to %s: %s", conn->far.text, why);
		return -EHOSTUNREACH;
	case RDMA_CM_EVENT_UNREACHABLE:
		LOG(ERR, "%s does not answer: the process that listens is stopped or busy",
			conn->far.text);
		return -ETIMEDOUT;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		LOG(ERR, "the device of the connection to %s was removed", conn->far.text);
		return -ENODEV;
	default:
		LOG(ERR, "%s has ended the connection before it was made (%s)", conn->far.text,
			rdma_event_str(e->type));
		return -ECONNRESET;
	}
}

/* ------------------------------------------------------------------ events of a good connection */

static int
on_resolved(struct gantry_cm_conn *conn)
{
	int rc = gantry_cm_conn_open(conn);

	if (rc != 0)
		return rc;
	gantry_cm_conn_note(conn);
	errno = 0;
	if (rdma_resolve_route(conn->id, conn->timeout_ms) != 0)
		return gantry_cm_failed("rdma_resolve_route(3)");
	conn->step = GANTRY_CM_STEP_ROUTE;
	return 0;
}

/* The connection is made. */
static int
be_connected(struct gantry_cm_conn *conn)
{
	gantry_cm_conn_note(conn);
	conn->step = GANTRY_CM_STEP_DONE;
	conn->state = GANTRY_CM_CONNECTED;
	return 0;
}

/* The listener has accepted. */
static int
on_response(struct gantry_cm_conn *conn, const struct gantry_cm_event *e)
{
	int rc = gantry_cm_answer_unpack(e->data, e->len, &conn->theirs);

	if (rc != 0) {
		LOG(ERR,
			"%s has answered as another program, or has another version: run the "
			"same release of Gantry in both processes",
			conn->far.text);
		return rc;
	}
	rc = gantry_cm_conn_join(conn);
	if (rc != 0)
		return rc;
	errno = 0;
	if (rdma_establish(conn->id) != 0)
		return gantry_cm_failed("rdma_establish(3)");
	return be_connected(conn);
}

/* The other end has disconnected, or is dead, or this end has disconnected. */
static int
on_disconnected(struct gantry_cm_conn *conn)
{
	conn->state = GANTRY_CM_DISCONNECTED;
	/* Answers the other end. Fails if this end has disconnected first. */
	rdma_disconnect(conn->id);
	return 0;
}

/* Returns 0, or the negative errno with which the connection fails. */
static int
handle(struct gantry_cm_conn *conn, const struct gantry_cm_event *e)
{
	const enum gantry_cm_step step = conn->step;

	if (e->type == RDMA_CM_EVENT_TIMEWAIT_EXIT || e->type == RDMA_CM_EVENT_ADDR_CHANGE)
		return 0;
	if (step == GANTRY_CM_STEP_DONE) {
		if (e->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
			LOG(ERR, "the device of the connection to %s was removed", conn->far.text);
		if (e->type == RDMA_CM_EVENT_DEVICE_REMOVAL ||
			e->type == RDMA_CM_EVENT_DISCONNECTED)
			return on_disconnected(conn);
		return 0;
	}
	if (e->type == RDMA_CM_EVENT_ADDR_RESOLVED && step == GANTRY_CM_STEP_ADDR)
		return on_resolved(conn);
	if (e->type == RDMA_CM_EVENT_ROUTE_RESOLVED && step == GANTRY_CM_STEP_ROUTE)
		return gantry_cm_ask(conn);
	if (e->type == RDMA_CM_EVENT_CONNECT_RESPONSE && step == GANTRY_CM_STEP_ASKED)
		return on_response(conn, e);
	if (e->type == RDMA_CM_EVENT_ESTABLISHED && step == GANTRY_CM_STEP_ANSWER)
		return be_connected(conn);
	if (e->type == RDMA_CM_EVENT_REJECTED)
		return on_rejected(conn, e);
	return on_failure(conn, e);
}

/* ------------------------------------------------------------------ time */

/* Begins the next try, or gives up. Returns 0 or the error of the connection. */
static int
look_at_clock(struct gantry_cm_conn *conn)
{
	const uint64_t now = gantry_cm_now_ms();

	if (now >= conn->end_ms) {
		if (conn->step == GANTRY_CM_STEP_PAUSE)
			LOG(ERR,
				"nobody has listened at %s for %u ms: start the process that "
				"listens, or raise gantry_cm_conf::timeout_ms",
				conn->far.text, conn->timeout_ms);
		else
			LOG(ERR,
				"%s has not answered for %u ms: the other process is stopped or "
				"busy; gantry_cm_conf::timeout_ms waits longer",
				conn->far.text, conn->timeout_ms);
		return conn->step == GANTRY_CM_STEP_PAUSE ? -ECONNREFUSED : -ETIMEDOUT;
	}
	if (conn->step == GANTRY_CM_STEP_PAUSE && now >= conn->again_ms)
		return gantry_cm_try(conn);
	return 0;
}

/*
 * Returns the milliseconds until the next event of the clock, at most until `end`, the time at
 * which the caller wants to return.
 */
static int
wait_ms(const struct gantry_cm_conn *conn, uint64_t end)
{
	const uint64_t now = gantry_cm_now_ms();

	if (conn->state == GANTRY_CM_CONNECTING) {
		if (conn->end_ms < end)
			end = conn->end_ms;
		if (conn->step == GANTRY_CM_STEP_PAUSE && conn->again_ms < end)
			end = conn->again_ms;
	}
	if (end == UINT64_MAX)
		return -1;
	if (now >= end)
		return 0;
	return end - now > INT32_MAX ? INT32_MAX : (int)(end - now);
}

/* Handles events until the state differs from the told one. */
static void
take_events(struct gantry_cm_conn *conn)
{
	struct gantry_cm_event e;
	int rc = 1;

	while (conn->error == 0 && conn->state == conn->told) {
		rc = gantry_cm_event_take(conn->channel, &e);
		if (rc == 0)
			break;
		rc = rc > 0 ? handle(conn, &e) : rc;
		if (rc != 0)
			gantry_cm_conn_fail(conn, rc,
				rc == -ECONNREFUSED || rc == -ECONNRESET ? NULL : strerror(-rc));
	}
	if (conn->error != 0 || conn->state != GANTRY_CM_CONNECTING)
		return;
	rc = look_at_clock(conn);
	if (rc != 0)
		gantry_cm_conn_fail(conn, rc, strerror(-rc));
}

int
gantry_cm_poll(struct gantry_cm_conn *conn, int timeout_ms)
{
	const uint64_t end =
		timeout_ms < 0 ? UINT64_MAX : gantry_cm_now_ms() + (uint64_t)timeout_ms;
	int rc = gantry_cm_check_process(conn->creator), wait;
	bool goes_on = true;

	if (rc != 0)
		return rc;
	for (;;) {
		take_events(conn);
		if (conn->error != 0)
			return conn->error;
		if (conn->state != conn->told || conn->state == GANTRY_CM_DISCONNECTED)
			break;
		wait = wait_ms(conn, end);
		if (!goes_on || (wait == 0 && gantry_cm_now_ms() >= end))
			break;
		goes_on = gantry_cm_event_wait(conn->channel, wait);
	}
	conn->told = conn->state;
	return conn->state;
}
