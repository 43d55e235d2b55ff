/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker's turn for receives: moves receives from ring to queue, and completions from queue to
 * ring.
 */
#include "gantry_worker_recv.h"

#include "gantry_recv.h"
#include "gantry_ring_end.h"

/* The most receives, or completions, that are moved at a time. */
#define BURST 32

/*
 * Moves completions to the ring, and stores whether the ring still has free elements. Returns how
 * many were moved.
 */
static uint32_t
give(struct gantry_worker *w)
{
	uint32_t room = gantry_ring_room(w->recv_out);
	struct gantry_ring_part part;

	part = gantry_ring_part_free(w->recv_out, sizeof(struct gantry_recv_comp),
		RTE_MIN(room, (uint32_t)BURST));
	part.n = gantry_recv_poll(w->q, part.at, part.n);
	gantry_ring_produce(w->recv_out, part.n);
	w->recv_room = room != part.n;
	return part.n;
}

/*
 * Completes a receive whose peer does not exist or takes no receives. Returns false if the receive
 * has to wait.
 */
static bool
refuse(struct gantry_worker *w, const struct gantry_ring_recv *r)
{
	struct gantry_recv_comp comp = {.cookie = r->recv.cookie,
		.status = GANTRY_BAD_PEER,
		.peer = r->peer};
	enum gantry_recv_left left = gantry_recv_refuse(w->q, r->peer, r->recv.cookie);

	if (left != GANTRY_RECV_NONE_LEFT)
		return left == GANTRY_RECV_REFUSED;
	return rte_ring_enqueue_elem(w->recv_out, &comp, sizeof(comp)) == 0;
}

/*
 * Posts the first receives of r that have the same peer. Returns how many of the n are posted or
 * refused, or 0 if the first receive has to wait.
 */
static uint32_t
post_some(struct gantry_worker *w, const struct gantry_ring_recv *r, uint32_t n)
{
	struct gantry_recv recv[BURST];
	uint32_t i;
	int ret;

	for (i = 0; i < n && r[i].peer == r[0].peer; i++)
		recv[i] = r[i].recv;
	ret = gantry_recv_post(w->q, r[0].peer, recv, i);
	return ret >= 0 ? ret : refuse(w, &r[0]);
}

/* Posts receives until a receive has to wait. Returns how many are posted or refused. */
static uint32_t
post(struct gantry_worker *w, const struct gantry_ring_recv *r, uint32_t n)
{
	uint32_t i = 0, done;

	do {
		done = i < n ? post_some(w, r + i, n - i) : 0;
		i += done;
	} while (done != 0);
	return i;
}

static uint32_t
take(struct gantry_worker *w)
{
	struct gantry_ring_part part;

	part = gantry_ring_part_filled(w->recv_in, sizeof(struct gantry_ring_recv),
		gantry_ring_tail(w->recv_in), BURST);
	if (part.n == 0)
		return 0;
	gantry_worker_show_order(w);
	part.n = post(w, part.at, part.n);
	gantry_ring_consume(w->recv_in, part.n);
	return part.n;
}

bool
gantry_worker_recv_turn(struct gantry_worker *w, bool stop)
{
	uint32_t given = give(w);

	return given + (stop ? 0 : take(w)) != 0;
}
