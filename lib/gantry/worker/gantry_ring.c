/* SPDX-License-Identifier: BSD-3-Clause */
/* The application's ends of a worker's rings. */
#define ALLOW_EXPERIMENTAL_API /* the zero-copy calls of rte_ring */
#include <rte_ring.h>
#include <rte_ring_peek_zc.h>

#include "gantry_worker_recv.h"

/* The most receives that enqueue_recv_mp() copies to the ring at a time. */
#define RECV_BURST 32

static void
copy_desc(struct gantry_desc *dst, const struct gantry_desc *src, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		dst[i] = src[i];
}

static void
copy_comp(struct gantry_comp *dst, const struct gantry_comp *src, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		dst[i] = src[i];
}

unsigned int
gantry_enqueue_burst(struct gantry_worker *w, const struct gantry_desc *desc, unsigned int n)
{
	uint32_t pieces = RTE_MIN(n, GANTRY_MAX_RING_SIZE) * GANTRY_DESC_PIECES, n1;
	struct rte_ring_zc_data zc;

	/*
	 * The zero-copy calls of rte_ring do not let several producers fill the ring at the same
	 * time, so this call copies. It accepts whole descriptors, because the number of free
	 * elements is a multiple of a descriptor's pieces.
	 */
	if (unlikely(w->producers == GANTRY_PRODUCERS_MP)) {
		pieces =
			rte_ring_mp_enqueue_burst_elem(w->in, desc, GANTRY_PIECE_LEN, pieces, NULL);
		gantry_bell_ring(w->bell);
		return pieces / GANTRY_DESC_PIECES;
	}
	pieces = rte_ring_enqueue_zc_burst_elem_start(w->in, GANTRY_PIECE_LEN, pieces, &zc, NULL);
	if (pieces == 0)
		return 0;
	n = pieces / GANTRY_DESC_PIECES;
	n1 = zc.n1 / GANTRY_DESC_PIECES;
	copy_desc(zc.ptr1, desc, n1);
	copy_desc(zc.ptr2, desc + n1, n - n1);
	gantry_worker_show_order(w);
	rte_ring_enqueue_zc_elem_finish(w->in, pieces);
	gantry_bell_ring(w->bell);
	return n;
}

unsigned int
gantry_dequeue_burst(struct gantry_worker *w, struct gantry_comp *comp, unsigned int n)
{
	struct rte_ring_zc_data zc;

	n = rte_ring_dequeue_zc_burst_elem_start(w->out, sizeof(*comp), n, &zc, NULL);
	if (n == 0)
		return 0;
	copy_comp(comp, zc.ptr1, zc.n1);
	copy_comp(comp + zc.n1, zc.ptr2, n - zc.n1);
	rte_ring_dequeue_zc_elem_finish(w->out, n);
	/* The lcore may wait for a free element in this ring. */
	gantry_bell_ring(w->bell);
	return n;
}

unsigned int
gantry_reclaim_burst(struct gantry_worker *w, struct gantry_desc *desc, unsigned int n)
{
	uint32_t pieces = RTE_MIN(n, GANTRY_MAX_RING_SIZE) * GANTRY_DESC_PIECES, n1;
	struct rte_ring_zc_data zc;

	if (gantry_worker_is_running(w))
		return 0;
	pieces = rte_ring_dequeue_zc_burst_elem_start(w->in, GANTRY_PIECE_LEN, pieces, &zc, NULL);
	if (pieces == 0)
		return 0;
	n = pieces / GANTRY_DESC_PIECES;
	n1 = zc.n1 / GANTRY_DESC_PIECES;
	gantry_worker_show_order(w);
	copy_desc(desc, zc.ptr1, n1);
	copy_desc(desc + n1, zc.ptr2, n - n1);
	rte_ring_dequeue_zc_elem_finish(w->in, pieces);
	return n;
}

/* ------------------------------------------------------------------ receives */

static void
pack_recv(struct gantry_ring_recv *dst, uint16_t peer, const struct gantry_recv *src, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		dst[i] = (struct gantry_ring_recv){.recv = src[i], .peer = peer};
}

/*
 * Enqueues receives while other threads may enqueue receives, too. Returns how many of the n were
 * accepted.
 */
static uint32_t
enqueue_recv_mp(struct rte_ring *ring, uint16_t peer, const struct gantry_recv *recv, uint32_t n)
{
	struct gantry_ring_recv r[RECV_BURST];
	uint32_t i = 0, len, done;

	do {
		len = RTE_MIN(n - i, (uint32_t)RECV_BURST);
		pack_recv(r, peer, recv + i, len);
		done = rte_ring_mp_enqueue_burst_elem(ring, r, sizeof(r[0]), len, NULL);
		i += done;
	} while (done == RECV_BURST);
	return i;
}

unsigned int
gantry_recv_enqueue_burst(struct gantry_worker *w, uint16_t peer, const struct gantry_recv *recv,
	unsigned int n)
{
	struct rte_ring_zc_data zc;

	if (w->recv_in == NULL)
		return 0;
	if (unlikely(w->producers == GANTRY_PRODUCERS_MP)) {
		n = enqueue_recv_mp(w->recv_in, peer, recv, n);
	} else {
		n = rte_ring_enqueue_zc_burst_elem_start(w->recv_in,
			sizeof(struct gantry_ring_recv), n, &zc, NULL);
		if (n == 0)
			return 0;
		pack_recv(zc.ptr1, peer, recv, zc.n1);
		pack_recv(zc.ptr2, peer, recv + zc.n1, n - zc.n1);
		gantry_worker_show_order(w);
		rte_ring_enqueue_zc_elem_finish(w->recv_in, n);
	}
	gantry_bell_ring(w->bell);
	return n;
}

unsigned int
gantry_recv_dequeue_burst(struct gantry_worker *w, struct gantry_recv_comp *comp, unsigned int n)
{
	if (w->recv_out == NULL)
		return 0;
	n = rte_ring_sc_dequeue_burst_elem(w->recv_out, comp, sizeof(*comp), n, NULL);
	/* The lcore may wait for a free element in this ring. */
	if (n != 0)
		gantry_bell_ring(w->bell);
	return n;
}

unsigned int
gantry_recv_reclaim_burst(struct gantry_worker *w, uint16_t *peer, struct gantry_recv *recv,
	unsigned int n)
{
	struct gantry_ring_recv r;
	unsigned int i;

	if (w->recv_in == NULL || gantry_worker_is_running(w))
		return 0;
	for (i = 0; i < n; i++) {
		if (rte_ring_sc_dequeue_burst_elem(w->recv_in, &r, sizeof(r), 1, NULL) == 0)
			break;
		gantry_worker_show_order(w);
		peer[i] = r.peer;
		recv[i] = r.recv;
	}
	return i;
}
