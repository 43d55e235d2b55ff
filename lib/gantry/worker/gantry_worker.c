/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker's turn: descriptors from ring to queue, completions from queue to ring. */
#include "gantry_worker.h"

#include <sched.h>

#define ALLOW_EXPERIMENTAL_API /* the zero-copy calls of rte_ring */
#include <rte_ring.h>
#include <rte_ring_peek_zc.h>

#include "gantry_defer.h"
#include "gantry_queue.h"

static __rte_always_inline uint32_t
submit(struct gantry_queue *q, struct gantry_defer *defer, const struct gantry_desc *desc,
	uint32_t n)
{
	return defer != NULL ? gantry_defer_or_submit(defer, desc, n) : gantry_submit(q, desc, n);
}

/*
 * Submits descriptors, no more than `out` has room for completions. Returns how many. defer: w->defer; the
 * compiler makes a copy for NULL.
 */
static __rte_always_inline uint32_t
take(struct gantry_worker *w, struct gantry_defer *defer)
{
	uint32_t room = w->room - gantry_in_flight(w->q) - (defer != NULL ? defer->n : 0);
	struct rte_ring_zc_data zc;
	uint32_t n, taken;

	n = rte_ring_dequeue_zc_burst_elem_start(w->in, sizeof(struct gantry_desc),
		RTE_MIN(w->burst, room), &zc, NULL);
	if (n == 0)
		return 0;
	gantry_worker_show_order(w);
	taken = submit(w->q, defer, zc.ptr1, zc.n1);
	if (taken == zc.n1 && n > zc.n1)
		taken += submit(w->q, defer, zc.ptr2, n - zc.n1);
	rte_ring_dequeue_zc_elem_finish(w->in, taken);
	return taken;
}

/*
 * Moves completions to `out`, which has room for all that were taken: take() saw to it. Then
 * notes the room that is left. Returns how many it moved.
 */
static inline uint32_t
give(struct gantry_worker *w)
{
	struct rte_ring_zc_data zc;
	uint32_t n, left = 0, given = 0;

	n = rte_ring_enqueue_zc_burst_elem_start(w->out, sizeof(struct gantry_comp), w->burst, &zc,
		&left);
	if (n != 0) {
		given = gantry_poll(w->q, zc.ptr1, zc.n1);
		if (given == zc.n1 && n > zc.n1)
			given += gantry_poll(w->q, zc.ptr2, n - zc.n1);
		rte_ring_enqueue_zc_elem_finish(w->out, given);
	}
	w->room = left + n - given;
	return given;
}

bool
gantry_worker_turn(struct gantry_worker *w, bool stop)
{
	uint32_t n = give(w);

	if (likely(w->defer == NULL))
		return n + (stop ? 0 : take(w, NULL)) != 0;
	/* What is deferred after that has others of its connection in flight. */
	n += gantry_defer_retry(w->defer);
	return n + (stop ? 0 : take(w, w->defer)) != 0;
}

/* On the control thread's stack until `done`. */
struct gantry_worker_call {
	int (*fn)(void *arg);
	void *arg;
	int ret;
	atomic_bool done;
};

__rte_cold void
gantry_worker_answer(struct gantry_worker *w)
{
	/* Pairs with the release in gantry_worker_call(): the call is as it was written there. */
	struct gantry_worker_call *call =
		atomic_exchange_explicit(&w->call, NULL, memory_order_acquire);

	atomic_fetch_and_explicit(&w->ask, ~(uint32_t)GANTRY_ASK_CALL, memory_order_relaxed);
	call->ret = call->fn(call->arg);
	/* Pairs with the acquire in gantry_worker_call(). *call may be gone afterwards. */
	atomic_store_explicit(&call->done, true, memory_order_release);
}

int
gantry_worker_call(struct gantry_worker *w, int (*fn)(void *arg), void *arg)
{
	struct gantry_worker_call call = {.fn = fn, .arg = arg};

	/* Only this thread starts and stops the worker, so it runs until the call is answered. */
	if (!gantry_worker_is_running(w))
		return fn(arg);
	atomic_store_explicit(&w->call, &call, memory_order_release);
	atomic_fetch_or_explicit(&w->ask, GANTRY_ASK_CALL, memory_order_release);
	gantry_bell_ring(w->bell);
	while (!atomic_load_explicit(&call.done, memory_order_acquire))
		sched_yield();
	return call.ret;
}

void
gantry_worker_end(struct gantry_worker *w)
{
	/* Pairs with the acquire in gantry_worker_is_running(). */
	atomic_store_explicit(&w->running, false, memory_order_release);
}
