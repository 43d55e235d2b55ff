/* SPDX-License-Identifier: BSD-3-Clause */
/* The application's ends of a worker's rings. */
#define ALLOW_EXPERIMENTAL_API /* the zero-copy calls of rte_ring */
#include <rte_ring.h>
#include <rte_ring_peek_zc.h>

#include "gantry_worker.h"

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
	struct rte_ring_zc_data zc;

	/* Producers that fill their parts of the ring side by side: rte_ring has no call for it
	 * without a copy. */
	if (unlikely(w->producers == GANTRY_PRODUCERS_MP)) {
		n = rte_ring_mp_enqueue_burst_elem(w->in, desc, sizeof(*desc), n, NULL);
		gantry_bell_ring(w->bell);
		return n;
	}
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
