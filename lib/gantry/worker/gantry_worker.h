/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker serves one queue from two rings. The loop of an lcore gives the worker turns. */
#ifndef GANTRY_WORKER_H
#define GANTRY_WORKER_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_common.h>

#include "gantry.h"
#include "gantry_bell.h"

struct rte_ring;

/*
 * The ring `in` has elements of 16 bytes, four for each descriptor, and all its indices are
 * multiples of four. rte_ring copies elements of 16 bytes in steps of 32 bytes, and longer elements
 * in steps of 4 bytes.
 */
#define GANTRY_PIECE_LEN   16
#define GANTRY_DESC_PIECES ((uint32_t)sizeof(struct gantry_desc) / GANTRY_PIECE_LEN)

/* The most elements of a worker's ring. */
#define GANTRY_MAX_RING_SIZE (1u << 20)

/* Bits of gantry_worker::ask: what a turn does besides moving descriptors. */
enum {
	GANTRY_ASK_STOP = 1 << 0, /* end when nothing is in flight any more */
	GANTRY_ASK_CALL = 1 << 1, /* carry out `call` */
	/* Serve the rings of receives. Set as long as a worker with such rings runs. */
	GANTRY_ASK_RECV = 1 << 2,
};

/*
 * Fields are grouped by the thread that writes them, and each group has cache lines of its own. A
 * turn without work touches the lcore's line, and one line of the ring `in`.
 */
struct gantry_worker {
	/* These fields are constant while the worker runs; callers read them at each burst. */
	struct rte_ring *in;       /* ring of struct gantry_desc, in pieces */
	struct rte_ring *out;      /* ring of struct gantry_comp */
	struct rte_ring *recv_in;  /* ring of struct gantry_ring_recv; NULL: no rings of receives */
	struct rte_ring *recv_out; /* ring of struct gantry_recv_comp */
	struct gantry_queue *q;
	struct gantry_bell *bell;   /* bell of the lcore; NULL: this worker keeps the lcore awake */
	struct gantry_defer *defer; /* deferred descriptors; NULL: the queue is in order */
	uint32_t burst;
	enum gantry_producers producers;
	enum gantry_idle idle;
	unsigned int lcore_id;
	struct gantry *g;

	/* These fields are written by the lcore, and rarely by the control thread. */
	/* Next worker in a list of gantry_loop.c. */
	alignas(RTE_CACHE_LINE_SIZE) struct gantry_worker *next_in_loop;
	const struct rte_ring *filled; /* the ring `in`; constant while the worker runs */
	uint32_t in_tail;     /* gantry_ring_tail() of `in` when the last turn began, in pieces */
	uint32_t quiet_turns; /* number of turns that found `quiet` set */
	_Atomic uint32_t ask; /* bits GANTRY_ASK_* */
	/*
	 * Turns have nothing to do until more descriptors are enqueued, or the control thread asks.
	 */
	bool quiet;
	/* `recv_out` had free elements at the end of the last turn; their number can only grow. */
	bool recv_room;
	atomic_bool running;
	/* The call to carry out; valid if GANTRY_ASK_CALL is set. */
	_Atomic(struct gantry_worker_call *) call;

	/* These fields are written by the control thread. */
	/* Next worker in a list of gantry_lcores.c. */
	alignas(RTE_CACHE_LINE_SIZE) struct gantry_worker *next_to_stop;
	TAILQ_ENTRY(gantry_worker) next;
#ifdef __SANITIZE_THREAD__
	atomic_uint tsan_order; /* used by gantry_worker_show_order() */
#endif
};

static_assert(offsetof(struct gantry_worker, next_in_loop) % RTE_CACHE_LINE_SIZE == 0 &&
		      offsetof(struct gantry_worker, next_to_stop) ==
			      offsetof(struct gantry_worker, next_in_loop) + RTE_CACHE_LINE_SIZE,
	"no group of fields shares a line with another, and the lcore's group has one line");

/*
 * HTS producers publish their elements by an atomic store of 8 bytes (rte_ring_peek_zc.h). The
 * consumer loads one half of these bytes. ThreadSanitizer sees no order between the store and the
 * load, so this call makes an order that ThreadSanitizer sees. Producers call this function before
 * they publish, the consumer calls it before it reads.
 */
static inline void
gantry_worker_show_order(struct gantry_worker *w)
{
#ifdef __SANITIZE_THREAD__
	atomic_fetch_add_explicit(&w->tsan_order, 1, memory_order_acq_rel);
#endif
}

/*
 * Hands the worker's queue to the lcore. Called by the control thread, which owned the queue until
 * now.
 */
static inline void
gantry_worker_begin(struct gantry_worker *w)
{
	atomic_store_explicit(&w->ask, w->recv_in != NULL ? GANTRY_ASK_RECV : 0,
		memory_order_relaxed);
	atomic_store_explicit(&w->running, true, memory_order_relaxed);
}

/*
 * Moves one burst of completions to the ring `out` and, unless `stop`, one burst of descriptors
 * from the ring `in` to the queue. Returns false if nothing was moved.
 */
bool gantry_worker_turn(struct gantry_worker *w, bool stop);

/*
 * Carries out the call that gantry_worker_call() asks for. Called by the lcore between two turns.
 */
void gantry_worker_answer(struct gantry_worker *w);

/*
 * Carries out fn(arg) on the thread that owns the worker's queue. If the worker runs, this is the
 * lcore, between two turns; otherwise it is the calling thread. Returns the value of fn. The caller
 * then sees all that fn has written. Control thread; the call waits for the lcore. fn must be
 * short, because descriptors wait meanwhile.
 */
int gantry_worker_call(struct gantry_worker *w, int (*fn)(void *arg), void *arg);

/*
 * Gives the queue back to the control thread. The caller knows that nothing is in flight. From now
 * on *w may be freed.
 */
void gantry_worker_end(struct gantry_worker *w);

/* Returns false if the control thread owns the worker's queue. */
static inline bool
gantry_worker_is_running(const struct gantry_worker *w)
{
	/* Pairs with the release in gantry_worker_end(). */
	return atomic_load_explicit(&w->running, memory_order_acquire);
}

#endif
