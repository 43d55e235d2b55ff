/* SPDX-License-Identifier: BSD-3-Clause */
/* The application's ends of a worker's rings. */
#define ALLOW_EXPERIMENTAL_API /* the zero-copy calls of rte_ring */
#include <rte_ring.h>
#include <rte_ring_peek_zc.h>

#include "gantry_ring_end.h"
#include "gantry_worker_recv.h"

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

/* ------------------------------------------------------------------ producers side by side */

/*
 * Producers that fill their parts of a ring side by side: rte_ring has no call for it without a copy. And there a producer
 * waits for the one before it by relaxed loads, so that in terms of C11 the consumer may read elements of that one too
 * soon; the hardware's order alone prevents it. Here each acquires what the one before released.
 */

/* Reserves up to n places for the caller alone. Returns how many, and stores the index of the first one. */
static uint32_t
reserve_places(struct rte_ring *r, uint32_t n, uint32_t *from)
{
	uint32_t head = __atomic_load_n(&r->prod.head, __ATOMIC_ACQUIRE), n_free;

	do {
		/* Pairs with the release of the consumer: it has read what was there. */
		n_free = r->capacity + __atomic_load_n(&r->cons.tail, __ATOMIC_ACQUIRE) - head;
		if (n_free == 0)
			return 0;
		/* Who reserves next knows at least the same tail of the consumer. */
	} while (!__atomic_compare_exchange_n(&r->prod.head, &head, head + RTE_MIN(n, n_free), true,
		__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	*from = head;
	return RTE_MIN(n, n_free);
}

/* The reserved places are written. They follow those that were reserved before. */
static void
publish_places(struct rte_ring *r, uint32_t from, uint32_t n)
{
	rte_wait_until_equal_32((volatile uint32_t *)&r->prod.tail, from, __ATOMIC_ACQUIRE);
	/* Pairs with the acquire of the consumer, and with that of the next producer. */
	__atomic_store_n(&r->prod.tail, from + n, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------ descriptors and completions */

static __rte_noinline unsigned int
enqueue_mp(struct gantry_worker *w, const struct gantry_desc *desc, unsigned int n)
{
	struct gantry_ring_part part;
	uint32_t from;

	n = reserve_places(w->in, n, &from);
	if (n == 0)
		return 0;
	part = gantry_ring_part(w->in, sizeof(*desc), from, n);
	copy_desc(part.at, desc, part.n);
	copy_desc(gantry_ring_first(w->in), desc + part.n, n - part.n);
	publish_places(w->in, from, n);
	gantry_bell_ring(w->bell);
	return n;
}

unsigned int
gantry_enqueue_burst(struct gantry_worker *w, const struct gantry_desc *desc, unsigned int n)
{
	struct rte_ring_zc_data zc;

	if (unlikely(w->producers == GANTRY_PRODUCERS_MP))
		return enqueue_mp(w, desc, n);
	n = rte_ring_enqueue_zc_burst_elem_start(w->in, sizeof(*desc), n, &zc, NULL);
	if (n == 0)
		return 0;
	copy_desc(zc.ptr1, desc, zc.n1);
	copy_desc(zc.ptr2, desc + zc.n1, n - zc.n1);
	gantry_worker_show_order(w);
	rte_ring_enqueue_zc_elem_finish(w->in, n);
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
	/* It may wait for room here. */
	gantry_bell_ring(w->bell);
	return n;
}

unsigned int
gantry_reclaim_burst(struct gantry_worker *w, struct gantry_desc *desc, unsigned int n)
{
	struct rte_ring_zc_data zc;

	if (gantry_worker_is_running(w))
		return 0;
	n = rte_ring_dequeue_zc_burst_elem_start(w->in, sizeof(*desc), n, &zc, NULL);
	if (n == 0)
		return 0;
	gantry_worker_show_order(w);
	copy_desc(desc, zc.ptr1, zc.n1);
	copy_desc(desc + zc.n1, zc.ptr2, n - zc.n1);
	rte_ring_dequeue_zc_elem_finish(w->in, n);
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

static __rte_noinline unsigned int
enqueue_recv_mp(struct gantry_worker *w, uint16_t peer, const struct gantry_recv *recv,
	unsigned int n)
{
	struct gantry_ring_part part;
	uint32_t from;

	n = reserve_places(w->recv_in, n, &from);
	if (n == 0)
		return 0;
	part = gantry_ring_part(w->recv_in, sizeof(struct gantry_ring_recv), from, n);
	pack_recv(part.at, peer, recv, part.n);
	pack_recv(gantry_ring_first(w->recv_in), peer, recv + part.n, n - part.n);
	publish_places(w->recv_in, from, n);
	gantry_bell_ring(w->bell);
	return n;
}

unsigned int
gantry_recv_enqueue_burst(struct gantry_worker *w, uint16_t peer, const struct gantry_recv *recv,
	unsigned int n)
{
	struct rte_ring_zc_data zc;

	if (w->recv_in == NULL)
		return 0;
	if (unlikely(w->producers == GANTRY_PRODUCERS_MP))
		return enqueue_recv_mp(w, peer, recv, n);
	n = rte_ring_enqueue_zc_burst_elem_start(w->recv_in, sizeof(struct gantry_ring_recv), n,
		&zc, NULL);
	if (n == 0)
		return 0;
	pack_recv(zc.ptr1, peer, recv, zc.n1);
	pack_recv(zc.ptr2, peer, recv + zc.n1, n - zc.n1);
	gantry_worker_show_order(w);
	rte_ring_enqueue_zc_elem_finish(w->recv_in, n);
	gantry_bell_ring(w->bell);
	return n;
}

unsigned int
gantry_recv_dequeue_burst(struct gantry_worker *w, struct gantry_recv_comp *comp, unsigned int n)
{
	if (w->recv_out == NULL)
		return 0;
	n = rte_ring_sc_dequeue_burst_elem(w->recv_out, comp, sizeof(*comp), n, NULL);
	/* It may wait for room here. */
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
