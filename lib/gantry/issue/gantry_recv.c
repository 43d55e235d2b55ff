/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives: gantry_recv_post() and gantry_recv_poll(). */
#include "gantry_recv.h"

#include <errno.h>

#include <rte_common.h>

#include "gantry_drain.h"
#include "gantry_engine.h"
#include "gantry_recv_ring.h"
#include "gantry_xlate.h"

/* ------------------------------------------------------------------ posting */

/*
 * Checks a receive against the rules of gantry_desc.h. GANTRY_TO_HARDWARE: it is correct, and *sge is
 * its memory.
 */
static enum gantry_status
check(struct gantry_queue *q, const struct gantry_conn *c, const struct gantry_recv *r,
	struct hwq_sge *sge)
{
	const struct gantry_region *region = NULL;

	if (r->zero != 0 || (r->len == 0 && r->addr != 0))
		return GANTRY_BAD_FIELD;
	if (r->len > q->g->max_msg_len || r->addr + r->len < r->addr)
		return GANTRY_BAD_LENGTH;
	if (r->len != 0) {
		region = gantry_xlate_find_dst(q, r->addr, r->len);
		if (region == NULL)
			return GANTRY_NOT_REGISTERED;
		if (region->read_only)
			return GANTRY_READ_ONLY;
	}
	if (c->state != GANTRY_CONN_OPEN && !gantry_conn_works(c) && c->state != GANTRY_CONN_TARGET)
		return GANTRY_BAD_PEER;
	*sge = (struct hwq_sge){.addr = r->addr - (region != NULL ? region->bias : 0),
		.len = r->len,
		.lkey = region != NULL ? region->lkey : 0};
	return GANTRY_TO_HARDWARE;
}

/* Posts or settles one receive, for which the ring has a slot. */
static void
post_one(struct gantry_queue *q, const struct gantry_conn *c, struct gantry_recv_ring *ring,
	const struct gantry_recv *r)
{
	struct hwq_sge sge;
	enum gantry_status status = check(q, c, r, &sge);

	if (status == GANTRY_TO_HARDWARE)
		gantry_recv_ring_post(ring, r->cookie, &sge, r->len != 0);
	else
		gantry_recv_ring_refuse(ring, r->cookie, status);
}

int
gantry_recv_post(struct gantry_queue *q, uint16_t peer, const struct gantry_recv *recv,
	unsigned int n)
{
	struct gantry_conn *c = &q->conn[gantry_queue_peer_conn(q, peer)];
	struct gantry_recv_ring *ring = c->recv;
	unsigned int i;

	if (ring == NULL)
		return -EINVAL;
	gantry_enter(q);
	n = RTE_MIN(n, ring->depth - (ring->head - ring->tail));
	for (i = 0; i < n; i++)
		post_one(q, c, ring, &recv[i]);
	gantry_recv_ring_tell(ring);
	gantry_counter_add(&q->stats.recv_posted, n);
	if (n != 0 && !ring->listed) {
		ring->listed = true;
		TAILQ_INSERT_TAIL(&q->recv_rings, ring, next);
	}
	gantry_leave(q);
	return n;
}

/* The ring of a peer that is being closed, or is closed, with receives that are not handed out; or NULL. */
static struct gantry_recv_ring *
find_left(const struct gantry_queue *q, uint16_t peer)
{
	struct gantry_recv_ring *ring;

	TAILQ_FOREACH(ring, &q->recv_rings, next)
		if (ring->conn == NULL && ring->peer == peer)
			return ring;
	return NULL;
}

enum gantry_recv_left
gantry_recv_refuse(struct gantry_queue *q, uint16_t peer, uint64_t cookie)
{
	struct gantry_recv_ring *ring = find_left(q, peer);

	if (ring == NULL)
		return GANTRY_RECV_NONE_LEFT;
	if (ring->gone || ring->head - ring->tail == ring->depth)
		return GANTRY_RECV_WAITS;
	gantry_recv_ring_refuse(ring, cookie, GANTRY_BAD_PEER);
	gantry_counter_add(&q->stats.recv_posted, 1);
	return GANTRY_RECV_REFUSED;
}

/* ------------------------------------------------------------------ polling */

/* Hands out the completions of one ring that are there. Returns how many, at most n. */
static unsigned int
hand_out(struct gantry_queue *q, struct gantry_recv_ring *ring, struct gantry_recv_comp *out,
	unsigned int n)
{
	unsigned int i;

	gantry_recv_ring_take(ring);
	n = RTE_MIN(n, ring->taken - ring->tail);
	for (i = 0; i < n; i++)
		out[i] = *gantry_recv_slot(ring, ring->tail++);
	return n;
}

/* A ring whose turn is over goes to the end of the list; without receives it leaves it. */
static void
turn_over(struct gantry_queue *q, struct gantry_recv_ring *ring)
{
	TAILQ_REMOVE(&q->recv_rings, ring, next);
	if (ring->tail != ring->head) {
		TAILQ_INSERT_TAIL(&q->recv_rings, ring, next);
		return;
	}
	ring->listed = false;
	if (ring->gone)
		gantry_recv_ring_free(ring);
}

unsigned int
gantry_recv_poll(struct gantry_queue *q, struct gantry_recv_comp *comp, unsigned int n)
{
	struct gantry_recv_ring *ring, *last = TAILQ_LAST(&q->recv_rings, gantry_recv_rings);
	unsigned int got = 0;
	bool end = last == NULL;

	/* Where a version of the table of regions drains, it may be receives that it waits for. */
	gantry_enter(q);
	while (!end && got != n) {
		ring = TAILQ_FIRST(&q->recv_rings);
		end = ring == last;
		got += hand_out(q, ring, comp + got, n - got);
		turn_over(q, ring);
	}
	if (got != 0)
		gantry_counter_add(&q->stats.recv_done, got);
	gantry_leave(q);
	return got;
}
