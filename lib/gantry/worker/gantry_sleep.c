/* SPDX-License-Identifier: BSD-3-Clause */
/* Arms the CQs of a queue, and takes their events. */
#include "gantry_sleep.h"

#include <hwq_cq.h>
#include <hwq_event.h>

#include "gantry_recv_ring.h"

/* The milliseconds until a repair is tried again. No event tells when the repair can succeed. */
#define REPAIR_MS 1

int gantry_sleep_ms = 100;

/* Calls f for each CQ that will get a CQE, until f returns false. */
static bool
each_cq(const struct gantry_queue *q, bool recv, bool (*f)(struct hwq_cq *cq, void *arg), void *arg)
{
	const struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];
	const struct gantry_recv_ring *ring;
	uint32_t i;

	if (own->done != own->posted && !f(own->cq, arg))
		return false;
	for (i = gantry_conn_set_next(&q->active, 0); i != GANTRY_CONN_SET_MAX;
		i = gantry_conn_set_next(&q->active, i + 1))
		if (q->conn[i].done != q->conn[i].posted && !f(q->conn[i].cq, arg))
			return false;
	if (!recv)
		return true;
	TAILQ_FOREACH(ring, &q->recv_rings, next) {
		struct hwq_cq *cq = gantry_recv_ring_cq(ring);

		if (cq != NULL && !f(cq, arg))
			return false;
	}
	return true;
}

static bool
arm(struct hwq_cq *cq, void *none)
{
	RTE_SET_USED(none);
	hwq_cq_arm(cq, false);
	/* A CQE that came before the arming causes no event. */
	return !hwq_cq_is_ours(cq, cq->ci);
}

bool
gantry_sleep_arm(struct gantry_queue *q, bool recv)
{
	return each_cq(q, recv, arm, NULL);
}

struct count {
	unsigned int n;
	const struct hwq_cq *last;
};

static bool
count(struct hwq_cq *cq, void *arg)
{
	struct count *c = arg;

	c->n++;
	c->last = cq;
	return true;
}

unsigned int
gantry_sleep_cqs(const struct gantry_queue *q, bool recv, const struct hwq_cq **cq)
{
	struct count c = {0};

	each_cq(q, recv, count, &c);
	if (c.n != 0)
		*cq = c.last;
	return c.n;
}

/*
 * Returns true if the device refused a step of the connection's repair. The step is tried again
 * after a pause.
 */
static bool
is_under_repair(const struct gantry_conn *c)
{
	return c->state == GANTRY_CONN_BROKEN || c->silent;
}

/*
 * Returns true if a connection is stopped. No CQE tells when such a connection can continue. The
 * removal of memory waits for this connection, too (gantry_drain.h).
 */
static bool
is_stopped(const struct gantry_queue *q)
{
	return q->txns.n_stopped != 0 || is_under_repair(&q->conn[GANTRY_CONN_OWN]) ||
	       is_under_repair(&q->conn[GANTRY_CONN_TXN_OWN]) ||
	       (q->dci.ready && is_under_repair(&q->conn[GANTRY_CONN_DCI]));
}

int
gantry_sleep_limit(const struct gantry_queue *q)
{
	/*
	 * If cpu_left is 0, the owner's last call has copied as many bytes as one call may, and the
	 * next call continues the copies. So the owner must not sleep.
	 */
	if (q->cpu_left == 0 && gantry_stream_waits(&q->stream))
		return 0;
	if (is_stopped(q))
		return REPAIR_MS;
	/*
	 * If receives are posted, the owner polls from time to time: if the device fails, no CQE
	 * says that the receives have ended.
	 */
	if (gantry_in_flight(q) == 0)
		return TAILQ_EMPTY(&q->recv_rings) ? GANTRY_SLEEP_FOR_EVER : gantry_sleep_ms;
	return q->outstanding == 0 ? REPAIR_MS : gantry_sleep_ms;
}

int
gantry_sleep_fd(const struct gantry_queue *q)
{
	return q->channel->fd;
}

void
gantry_sleep_take_events(struct gantry_queue *q)
{
	struct hwq_cq *cq;

	while (hwq_channel_get_event(q->channel, &cq) == 0)
		hwq_cq_ack_events(cq, 1);
}
