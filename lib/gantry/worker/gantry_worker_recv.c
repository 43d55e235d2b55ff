/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker's turn with its receives: from ring to queue, from queue to ring. */
#include "gantry_worker_recv.h"

#define ALLOW_EXPERIMENTAL_API /* the zero-copy calls of rte_ring */
#include <rte_ring.h>
#include <rte_ring_peek_zc.h>

/* Receives, or their completions, that are moved at a time. */
#define BURST 32

/* Moves completions to the ring, and notes if there is room left. Returns how many. */
static uint32_t
give(struct gantry_worker *w)
{
	struct rte_ring_zc_data zc;
	uint32_t n, left = 0, given = 0;

	n = rte_ring_enqueue_zc_burst_elem_start(w->recv_out, sizeof(struct gantry_recv_comp),
		BURST, &zc, &left);
	if (n != 0) {
		given = gantry_recv_poll(w->q, zc.ptr1, zc.n1);
		if (given == zc.n1 && n > zc.n1)
			given += gantry_recv_poll(w->q, zc.ptr2, n - zc.n1);
		rte_ring_enqueue_zc_elem_finish(w->recv_out, given);
	}
	w->recv_room = left + n - given != 0;
	return given;
}

/* There is no such peer, or it takes no receives. False: the ring of completions is full. */
static bool
refuse(struct gantry_worker *w, const struct gantry_ring_recv *r)
{
	struct gantry_recv_comp comp = {.cookie = r->recv.cookie,
		.status = GANTRY_BAD_PEER,
		.peer = r->peer};

	return rte_ring_enqueue_elem(w->recv_out, &comp, sizeof(comp)) == 0;
}

/*
 * Posts the first receives of r that are of one peer. Returns how many of the n are done with; 0: the
 * first one has to wait.
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

/* Posts the receives of r, until one has to wait. Returns how many are done with. */
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
	struct rte_ring_zc_data zc;
	uint32_t n, taken;

	n = rte_ring_dequeue_zc_burst_elem_start(w->recv_in, sizeof(struct gantry_ring_recv), BURST,
		&zc, NULL);
	if (n == 0)
		return 0;
	gantry_worker_show_order(w);
	taken = post(w, zc.ptr1, zc.n1);
	if (taken == zc.n1)
		taken += post(w, zc.ptr2, n - zc.n1);
	rte_ring_dequeue_zc_elem_finish(w->recv_in, taken);
	return taken;
}

bool
gantry_worker_recv_turn(struct gantry_worker *w, bool stop)
{
	uint32_t given = give(w);

	return given + (stop ? 0 : take(w)) != 0;
}
