/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop of an lcore over its workers. */
#include "gantry_loop.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <rte_branch_prediction.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>

/* After so many turns without work, other threads of this CPU run. */
#define IDLE_TURNS 256

struct gantry_loop {
	/* A stack: control threads put workers on it, and the lcore takes all at once. */
	_Atomic(struct gantry_worker *) joining;
	atomic_bool quit;          /* no worker is left: end */
	struct gantry_worker *run; /* the lcore's list */
	uint32_t n_workers;        /* started and not removed; under `lock` */
};

/* By lcore, for all engines: an lcore runs one function. */
static struct gantry_loop loops[RTE_MAX_LCORE];
/* Held by control threads while they launch an lcore or wait until it is free, and not for longer. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ------------------------------------------------------------------ the lcore */

static __rte_cold void
take_joining(struct gantry_loop *l)
{
	/* Pairs with the release in gantry_loop_add(): the queue is as the control thread left it. */
	struct gantry_worker *w = atomic_exchange_explicit(&l->joining, NULL, memory_order_acquire);

	while (w != NULL) {
		struct gantry_worker *next = w->next_in_loop;

		w->next_in_loop = l->run;
		l->run = w;
		w = next;
	}
}

/* One turn of each worker. A stopped one leaves the list. Returns false if none had work. */
static inline bool
turn(struct gantry_loop *l)
{
	struct gantry_worker **p = &l->run, *w;
	bool busy = false;

	while ((w = *p) != NULL) {
		/* Pairs with the release in gantry_worker_call(). */
		uint32_t ask = atomic_load_explicit(&w->ask, memory_order_acquire);
		bool stop = (ask & GANTRY_ASK_STOP) != 0;

		if (unlikely((ask & GANTRY_ASK_CALL) != 0))
			gantry_worker_answer(w);
		busy |= gantry_worker_turn(w, stop);
		if (unlikely(stop) && gantry_in_flight(w->q) == 0) {
			*p = w->next_in_loop;
			gantry_worker_end(w);
		} else {
			p = &w->next_in_loop;
		}
	}
	return busy;
}

static int
loop_main(void *arg)
{
	struct gantry_loop *l = arg;
	uint32_t idle = 0;

	while (!atomic_load_explicit(&l->quit, memory_order_relaxed)) {
		if (unlikely(atomic_load_explicit(&l->joining, memory_order_relaxed) != NULL))
			take_joining(l);
		if (turn(l)) {
			idle = 0;
		} else {
			rte_pause();
			if (++idle % IDLE_TURNS == 0)
				sched_yield();
		}
	}
	return 0;
}

/* ------------------------------------------------------------------ control threads */

static void
join(struct gantry_loop *l, struct gantry_worker *w)
{
	w->next_in_loop = atomic_load_explicit(&l->joining, memory_order_relaxed);
	/* Pairs with the acquire in take_joining(). */
	while (!atomic_compare_exchange_weak_explicit(&l->joining, &w->next_in_loop, w,
		memory_order_release, memory_order_relaxed))
		;
}

/* Starts the lcore, whose first worker waits in `joining`. */
static int
launch(struct gantry_loop *l, unsigned int lcore_id)
{
	int ret;

	if (rte_eal_get_lcore_state(lcore_id) != WAIT)
		return -EBUSY;
	atomic_store_explicit(&l->quit, false, memory_order_relaxed);
	ret = rte_eal_remote_launch(loop_main, l, lcore_id);
	return ret;
}

int
gantry_loop_add(struct gantry_worker *w)
{
	struct gantry_loop *l = &loops[w->lcore_id];
	int ret = 0;

	gantry_worker_begin(w);
	pthread_mutex_lock(&lock);
	join(l, w);
	if (l->n_workers == 0)
		ret = launch(l, w->lcore_id);
	if (ret == 0)
		l->n_workers++;
	else
		atomic_store_explicit(&l->joining, NULL, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
	if (ret != 0)
		gantry_worker_end(w);
	return ret;
}

void
gantry_loop_ask(struct gantry_worker *w)
{
	atomic_fetch_or_explicit(&w->ask, GANTRY_ASK_STOP, memory_order_relaxed);
}

void
gantry_loop_remove(struct gantry_worker *w)
{
	struct gantry_loop *l = &loops[w->lcore_id];

	while (gantry_worker_is_running(w))
		sched_yield();
	pthread_mutex_lock(&lock);
	if (--l->n_workers == 0) {
		atomic_store_explicit(&l->quit, true, memory_order_relaxed);
		rte_eal_wait_lcore(w->lcore_id);
	}
	pthread_mutex_unlock(&lock);
}
