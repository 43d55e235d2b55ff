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
 * Checks a receive by the rules of gantry_desc.h. open: true if the connection takes receives.
 * Returns GANTRY_TO_HARDWARE and the receive's memory in *sge if the receive is correct, otherwise
 * the status that refuses it.
 */
static __rte_always_inline enum gantry_status
check(struct gantry_queue *q, const struct gantry_recv *r, uint64_t max_len, bool open,
	struct hwq_sge *sge)
{
	const struct gantry_region *region;

	if (unlikely(r->zero != 0 || (r->len == 0 && r->addr != 0)))
		return GANTRY_BAD_FIELD;
	if (unlikely(r->len > max_len || r->addr + r->len < r->addr))
		return GANTRY_BAD_LENGTH;
	*sge = (struct hwq_sge){.len = r->len};
	if (r->len != 0) {
		region = gantry_region_find(&q->view, &q->view.dst, r->addr, r->len);
		if (unlikely(region == NULL || region->imported != 0))
			return GANTRY_NOT_REGISTERED;
		if (unlikely(region->read_only))
			return GANTRY_READ_ONLY;
		sge->addr = r->addr - region->bias;
		sge->lkey = region->lkey;
	}
	return likely(open) ? (enum gantry_status)GANTRY_TO_HARDWARE : GANTRY_BAD_PEER;
}

int
gantry_recv_post(struct gantry_queue *q, uint16_t peer, const struct gantry_recv *recv,
	unsigned int n)
{
	struct gantry_conn *c = &q->conn[gantry_queue_peer_conn(q, peer)];
	struct gantry_recv_ring *ring = c->recv;
	struct hwq_sge sge;
	unsigned int i;
	bool open;

	if (ring == NULL)
		return -EINVAL;
	gantry_enter(q);
	/*
	 * The state is read after gantry_enter(): while a version drains, gantry_enter() takes
	 * completed receives, and a failed receive ends the connection.
	 */
	open = gantry_conn_receives(c);
	n = RTE_MIN(n, ring->depth - (ring->head - ring->tail));
	for (i = 0; i < n; i++) {
		enum gantry_status status = check(q, &recv[i], q->g->max_msg_len, open, &sge);

		if (unlikely(status != GANTRY_TO_HARDWARE))
			gantry_recv_ring_refuse(ring, recv[i].cookie, status);
		else
			gantry_recv_ring_post(ring, recv[i].cookie, &sge);
	}
	gantry_recv_ring_tell(ring);
	gantry_counter_add(&q->stats.recv_posted, n);
	if (n != 0 && !ring->listed) {
		ring->listed = true;
		TAILQ_INSERT_TAIL(&q->recv_rings, ring, next);
	}
	gantry_leave(q);
	return n;
}

/*
 * Returns the ring of a peer that is being closed, or is closed, if the ring still has receives
 * that are not handed out. Otherwise returns NULL.
 */
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

/* Hands out at most n completions of one ring. Returns how many were handed out. */
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

/*
 * Called when gantry_recv_poll() has handed out completions of the ring. Moves the ring to the end
 * of the list, or removes the ring from the list if it has no receives.
 */
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

	/* A draining version of the table of regions may wait for receives. */
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
