/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker's turn: descriptors from ring to queue, completions from queue to ring. */
#include "gantry_worker.h"

#include <sched.h>

#include "gantry_complete.h"
#include "gantry_defer.h"
#include "gantry_drain.h"
#include "gantry_queue.h"
#include "gantry_ring_end.h"
#include "gantry_submit.h"

/*
 * Submits descriptors from `in`. Returns how many were submitted or deferred. `out` always has free
 * elements for the completions of all descriptors that are in flight or deferred. defer: w->defer,
 * or a constant NULL, for which the compiler makes a version of this function.
 */
static __rte_always_inline uint32_t
take(struct gantry_worker *w, struct gantry_queue *q, struct gantry_defer *defer)
{
	uint32_t needed = defer != NULL ? gantry_in_flight(q) + defer->n
					: gantry_stream_in_flight(&q->stream);
	uint32_t room = gantry_ring_room(w->out) - needed;
	struct rte_ring *in = w->in;
	struct gantry_ring_part part;

	part = gantry_ring_part_filled(in, GANTRY_PIECE_LEN, w->in_tail,
		RTE_MIN(w->burst, room) * GANTRY_DESC_PIECES);
	part.n /= GANTRY_DESC_PIECES;
	if (part.n == 0)
		return 0;
	gantry_worker_show_order(w);
	part.n = defer != NULL ? gantry_defer_or_submit(defer, part.at, part.n)
			       : gantry_submit_inside(q, part.at, part.n);
	gantry_ring_consume(in, part.n * GANTRY_DESC_PIECES);
	return part.n;
}

/* As gantry_poll_inside(), for a queue in order. */
static __rte_always_inline uint32_t
poll_in_order(struct gantry_queue *q, struct gantry_comp *comp, uint32_t n)
{
	gantry_take_outstanding(q);
	if (unlikely(gantry_stream_waits(&q->stream)))
		gantry_issue_waiting(q);
	return gantry_hand_out(q, &q->stream, comp, n);
}

/*
 * Moves completions to `out`, where take() has kept elements free for them. Returns how many were
 * moved. in_order: a constant.
 */
static __rte_always_inline uint32_t
give(struct gantry_worker *w, struct gantry_queue *q, const bool in_order)
{
	struct rte_ring *out = w->out;
	struct gantry_ring_part part;

	part = gantry_ring_part_free(out, sizeof(struct gantry_comp), w->burst);
	part.n = in_order ? poll_in_order(q, part.at, part.n)
			  : gantry_poll_inside(q, part.at, part.n);
	gantry_ring_produce(out, part.n);
	return part.n;
}

/* Carries out a turn of a worker with an unordered queue. */
static __rte_noinline uint32_t
turn_unordered(struct gantry_worker *w, struct gantry_queue *q)
{
	uint32_t n = give(w, q, false);

	/*
	 * A descriptor that stays deferred after this call waits for descriptors of its own
	 * connection that are in flight.
	 */
	n += gantry_defer_retry(w->defer);
	return n + take(w, q, w->defer);
}

/* Carries out a turn of a worker that may have work. w->in_tail is up to date. */
static __rte_noinline bool
turn(struct gantry_worker *w)
{
	struct gantry_queue *q = w->q;
	uint32_t n;

	gantry_enter(q);
	if (likely(w->defer == NULL)) {
		n = give(w, q, true);
		n += take(w, q, NULL);
	} else {
		n = turn_unordered(w, q);
	}
	gantry_leave(q);
	return n != 0;
}

/* Carries out a turn of a worker that is asked to stop. */
static __rte_noinline bool
turn_stopping(struct gantry_worker *w)
{
	struct gantry_queue *q = w->q;
	uint32_t n;

	gantry_enter(q);
	n = give(w, q, false);
	if (w->defer != NULL)
		n += gantry_defer_retry(w->defer);
	gantry_leave(q);
	return n != 0;
}

/*
 * Returns true if nothing is enqueued, deferred or in flight, and no WQE and no receive is
 * outstanding. So the removal of memory does not wait for such a queue.
 */
static bool
is_quiet(const struct gantry_worker *w, const struct gantry_queue *q)
{
	return atomic_load_explicit(&q->view.state, memory_order_relaxed) == GANTRY_REGION_IDLE &&
	       w->in->cons.tail == w->in_tail && gantry_in_flight(q) == 0 &&
	       (w->defer == NULL || w->defer->n == 0);
}

/* Lets a quiet worker notice that the device is lost, or that memory was registered or removed. */
static __rte_cold __rte_noinline bool
watch(struct gantry_worker *w)
{
	struct gantry_queue *q = w->q;

	gantry_enter(q);
	gantry_watch(q);
	gantry_leave(q);
	w->quiet = is_quiet(w, q);
	return false;
}

/* Carries out a turn without new descriptors in `in`. Earlier descriptors may need work. */
static __rte_noinline bool
turn_again(struct gantry_worker *w, bool stop)
{
	bool busy = stop ? turn_stopping(w) : turn(w);

	w->quiet = !busy && is_quiet(w, w->q);
	return busy;
}

bool
gantry_worker_turn(struct gantry_worker *w, bool stop)
{
	/*
	 * The tail is read before the table of regions, because an application registers memory
	 * before it enqueues descriptors that use the memory.
	 */
	uint32_t tail = gantry_ring_tail(w->filled);

	if (tail == w->in_tail) {
		if (unlikely(!w->quiet))
			return turn_again(w, stop);
		return likely(++w->quiet_turns % GANTRY_WATCH_POLLS != 0) ? false : watch(w);
	}
	w->in_tail = tail;
	w->quiet = false;
	return likely(!stop) ? turn(w) : turn_stopping(w);
}

/*
 * A call for the lcore. The struct is on the control thread's stack, and exists until `done` is
 * set.
 */
struct gantry_worker_call {
	int (*fn)(void *arg);
	void *arg;
	int ret;
	atomic_bool done;
};

__rte_cold void
gantry_worker_answer(struct gantry_worker *w)
{
	/* Pairs with the release in gantry_worker_call(): *call is complete. */
	struct gantry_worker_call *call =
		atomic_exchange_explicit(&w->call, NULL, memory_order_acquire);

	atomic_fetch_and_explicit(&w->ask, ~(uint32_t)GANTRY_ASK_CALL, memory_order_relaxed);
	call->ret = call->fn(call->arg);
	/* The next turn may have work that fn made. */
	w->quiet = false;
	/* Pairs with the acquire in gantry_worker_call(). From now on *call may no longer exist. */
	atomic_store_explicit(&call->done, true, memory_order_release);
}

int
gantry_worker_call(struct gantry_worker *w, int (*fn)(void *arg), void *arg)
{
	struct gantry_worker_call call = {.fn = fn, .arg = arg};

	/*
	 * Only this thread starts and stops the worker, so the worker does not stop before it has
	 * answered the call.
	 */
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
	/* The control thread may submit work to the queue before the worker runs again. */
	w->quiet = false;
	/* Pairs with the acquire in gantry_worker_is_running(). */
	atomic_store_explicit(&w->running, false, memory_order_release);
}
