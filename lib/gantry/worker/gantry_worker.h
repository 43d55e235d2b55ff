/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker serves one queue from two rings. The loop of an lcore gives it turns. */
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
 * multiples of four. rte_ring copies such elements 32 bytes at a time, and longer ones 4 bytes at a
 * time.
 */
#define GANTRY_PIECE_LEN   16
#define GANTRY_DESC_PIECES ((uint32_t)sizeof(struct gantry_desc) / GANTRY_PIECE_LEN)

/* The most elements of a worker's ring. */
#define GANTRY_MAX_RING_SIZE (1u << 20)

/* What a turn does besides moving descriptors. */
enum {
	GANTRY_ASK_STOP = 1 << 0, /* finish what is in flight, then end */
	GANTRY_ASK_CALL = 1 << 1, /* carry out `call` */
	/* serve the rings of receives: set as long as a worker with such rings runs */
	GANTRY_ASK_RECV = 1 << 2,
};

/*
 * Fields are grouped by the thread that writes them, and each group has cache lines of its own. A
 * turn without work touches the lcore's line, and one line of the ring `in`.
 */
struct gantry_worker {
	/* Constant while the worker runs; callers read them at each burst. */
	struct rte_ring *in;       /* struct gantry_desc, in pieces */
	struct rte_ring *out;      /* struct gantry_comp */
	struct rte_ring *recv_in;  /* struct gantry_ring_recv; NULL: no rings of receives */
	struct rte_ring *recv_out; /* struct gantry_recv_comp */
	struct gantry_queue *q;
	struct gantry_bell *bell;   /* of its lcore; NULL: this worker keeps the lcore awake */
	struct gantry_defer *defer; /* NULL: the queue is in order */
	uint32_t burst;
	enum gantry_producers producers;
	enum gantry_idle idle;
	unsigned int lcore_id;
	struct gantry *g;

	/* Written by the lcore, and rarely by the control thread. */
	alignas(RTE_CACHE_LINE_SIZE) struct gantry_worker *next_in_loop; /* gantry_loop.c */
	const struct rte_ring *filled; /* equals `in`; constant while the worker runs */
	uint32_t in_tail;     /* gantry_ring_tail() of `in` when the last turn began, in pieces */
	uint32_t quiet_turns; /* turns that found `quiet` set */
	_Atomic uint32_t ask; /* GANTRY_ASK_* */
	/*
	 * Turns have nothing to do until more descriptors are enqueued, or the control thread asks.
	 */
	bool quiet;
	bool recv_room; /* `recv_out` had room at the end of the last turn; it can only get more */
	atomic_bool running;
	_Atomic(struct gantry_worker_call *) call; /* valid if GANTRY_ASK_CALL */

	/* Written by the control thread. */
	alignas(RTE_CACHE_LINE_SIZE) struct gantry_worker *next_to_stop; /* gantry_lcores.c */
	TAILQ_ENTRY(gantry_worker) next;
#ifdef __SANITIZE_THREAD__
	atomic_uint tsan_order; /* gantry_worker_show_order() */
#endif
};

static_assert(offsetof(struct gantry_worker, next_in_loop) % RTE_CACHE_LINE_SIZE == 0 &&
		      offsetof(struct gantry_worker, next_to_stop) ==
			      offsetof(struct gantry_worker, next_in_loop) + RTE_CACHE_LINE_SIZE,
	"no group of fields shares a line with another, and the lcore's group has one line");

/*
 * HTS producers publish their elements by an atomic store of 8 bytes (rte_ring_peek_zc.h), of which
 * the consumer loads one half. ThreadSanitizer sees no order between the two, so this call makes an
 * order that it sees. Producers call it before they publish, the consumer before it reads.
 */
static inline void
gantry_worker_show_order(struct gantry_worker *w)
{
#ifdef __SANITIZE_THREAD__
	atomic_fetch_add_explicit(&w->tsan_order, 1, memory_order_acq_rel);
#endif
}

/* Hands the worker's queue to the lcore. Control thread, which had the queue until now. */
static inline void
gantry_worker_begin(struct gantry_worker *w)
{
	atomic_store_explicit(&w->ask, w->recv_in != NULL ? GANTRY_ASK_RECV : 0,
		memory_order_relaxed);
	atomic_store_explicit(&w->running, true, memory_order_relaxed);
}

/*
 * Moves one burst of completions to the ring `out` and, unless `stop`, one burst of descriptors
 * from the ring `in` to the queue. Returns false if there was nothing to move.
 */
bool gantry_worker_turn(struct gantry_worker *w, bool stop);

/* Carries out the call that gantry_worker_call() asks for, between two turns. The lcore. */
void gantry_worker_answer(struct gantry_worker *w);

/*
 * Carries out fn(arg) on the thread that owns the worker's queue: on the lcore between two turns if
 * the worker runs, else here. Returns the value of fn. What fn wrote is then visible here. Control
 * thread; it waits for the lcore. fn must be short, because descriptors wait meanwhile.
 */
int gantry_worker_call(struct gantry_worker *w, int (*fn)(void *arg), void *arg);

/* Gives the queue back to the control thread. Nothing is in flight. From now on *w may be freed. */
void gantry_worker_end(struct gantry_worker *w);

/* Returns false if the control thread owns the worker's queue. */
static inline bool
gantry_worker_is_running(const struct gantry_worker *w)
{
	/* Pairs with the release in gantry_worker_end(). */
	return atomic_load_explicit(&w->running, memory_order_acquire);
}

#endif
