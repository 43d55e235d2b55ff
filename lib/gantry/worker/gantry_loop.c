/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop of an lcore over its workers. */
#include "gantry_loop.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#include "gantry_log.h"
#include "gantry_monitor.h"
#include "gantry_nap.h"
#include "gantry_sleep.h"
#include "gantry_worker_recv.h"

/* The most events that are taken at a time. */
#define MAX_EVENTS 16

struct gantry_loop {
	/* A stack: control threads push workers, and the lcore takes all of them at once. */
	_Atomic(struct gantry_worker *) joining;
	atomic_bool quit;          /* the last worker has left, so the lcore's function returns */
	struct gantry_worker *run; /* the workers that have turns */
	/* Workers that are started and not yet removed; changed under `lock`. */
	_Atomic uint32_t n_workers;

	/* Used for resting: gantry_bell.h. */
	struct gantry_bell bell;
	/*
	 * The epoll instance that waits for the bell, and for the channels of the workers in `run`.
	 */
	int epoll;
	uint32_t n_bells;      /* number of workers that have the bell; changed under `lock` */
	bool awake;            /* a worker in `run` is GANTRY_IDLE_SPIN */
	bool shares;           /* gantry_loop_shares_cpu() when the loop started */
	bool monitors;         /* a worker in `run` is GANTRY_IDLE_MONITOR */
	gantry_counter sleeps; /* how often the lcore has rested */

	gantry_counter running; /* stopwatch of the time in which the loop runs */
	gantry_counter idle;    /* stopwatch of the time in which no turn has work */
};

/*
 * The loops, by lcore. All engines share these loops, because an lcore runs one function at a time.
 */
static struct gantry_loop loops[RTE_MAX_LCORE];
/*
 * Control threads hold the lock only while they launch an lcore, or wait until the lcore is free.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ------------------------------------------------------------------ stopwatches */

/*
 * A stopwatch is one word, so that a reader never sees half of a change. A stopped watch has the
 * cycles counted so far. A running watch has WATCH_RUNS and a time stamp: the cycles since this
 * time are the count.
 */
#define WATCH_RUNS (UINT64_C(1) << 63)

static void
watch_start(gantry_counter *w)
{
	uint64_t began = rte_rdtsc() - gantry_counter_get(w);

	atomic_store_explicit(w, WATCH_RUNS | began, memory_order_relaxed);
}

static void
watch_stop(gantry_counter *w)
{
	uint64_t began = gantry_counter_get(w) & ~WATCH_RUNS;

	atomic_store_explicit(w, rte_rdtsc() - began, memory_order_relaxed);
}

/* Returns the cycles counted until now. Any thread. */
static uint64_t
watch_read(const gantry_counter *w, uint64_t now)
{
	uint64_t word = gantry_counter_get(w);

	return (word & WATCH_RUNS) != 0 ? now - (word & ~WATCH_RUNS) : word;
}

/* ------------------------------------------------------------------ the lcore */

/*
 * Lets events of the worker's channel wake the lcore. If the kernel refuses, only the bell and the
 * end of a wait wake the lcore.
 */
static void
watch(struct gantry_loop *l, struct gantry_worker *w)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = w};

	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, gantry_sleep_fd(w->q), &event) != 0)
		LOG(WARNING, "lcore %u cannot wait for the events of a queue: %s", w->lcore_id,
			strerror(errno));
}

static void
note_how_to_rest(struct gantry_loop *l)
{
	const struct gantry_worker *w;

	l->awake = l->monitors = false;
	for (w = l->run; w != NULL; w = w->next_in_loop) {
		l->awake |= w->idle == GANTRY_IDLE_SPIN;
		l->monitors |= w->idle == GANTRY_IDLE_MONITOR;
	}
}

static __rte_cold void
take_joining(struct gantry_loop *l)
{
	/*
	 * Pairs with the release in gantry_loop_add(): the lcore sees all that the control thread
	 * has written to the queue.
	 */
	struct gantry_worker *w = atomic_exchange_explicit(&l->joining, NULL, memory_order_acquire);

	while (w != NULL) {
		struct gantry_worker *next = w->next_in_loop;

		w->next_in_loop = l->run;
		l->run = w;
		if (w->idle == GANTRY_IDLE_SLEEP)
			watch(l, w);
		w = next;
	}
	note_how_to_rest(l);
}

/* Ends a worker that was removed from the list. */
static __rte_cold void
leave(struct gantry_worker *w)
{
	struct gantry_loop *l = &loops[w->lcore_id];

	if (w->idle == GANTRY_IDLE_SLEEP)
		epoll_ctl(l->epoll, EPOLL_CTL_DEL, gantry_sleep_fd(w->q), NULL);
	note_how_to_rest(l);
	gantry_worker_end(w);
}

/*
 * Gives one turn to a worker whose gantry_worker::ask is not 0. Returns false if the worker had no
 * work. *end: true if the worker has stopped.
 */
static __rte_noinline bool
turn_asked(struct gantry_worker *w, uint32_t ask, bool *end)
{
	bool stop = (ask & GANTRY_ASK_STOP) != 0, receives = false, busy;

	if (unlikely((ask & GANTRY_ASK_CALL) != 0))
		gantry_worker_answer(w);
	busy = gantry_worker_turn(w, stop);
	if ((ask & GANTRY_ASK_RECV) != 0)
		receives = gantry_worker_recv_turn(w, stop);
	*end = stop && gantry_in_flight(w->q) == 0 && !receives;
	return busy || receives;
}

bool
gantry_loop_turn(struct gantry_worker **run)
{
	struct gantry_worker **p = run, *w;
	bool busy = false, end;

	while ((w = *p) != NULL) {
		/* Pairs with the release in gantry_worker_call(). */
		uint32_t ask = atomic_load_explicit(&w->ask, memory_order_acquire);

		if (likely(ask == 0)) {
			busy |= gantry_worker_turn(w, false);
			p = &w->next_in_loop;
			continue;
		}
		busy |= turn_asked(w, ask, &end);
		if (!end) {
			p = &w->next_in_loop;
			continue;
		}
		*p = w->next_in_loop;
		leave(w);
	}
	return busy;
}

/* Returns the most milliseconds that the lcore may rest, or GANTRY_SLEEP_FOR_EVER. */
static int
rest_limit(const struct gantry_loop *l)
{
	const struct gantry_worker *w;
	int ms = GANTRY_SLEEP_FOR_EVER;

	for (w = l->run; w != NULL; w = w->next_in_loop) {
		int limit = gantry_sleep_limit(w->q);

		if (ms == GANTRY_SLEEP_FOR_EVER || (limit >= 0 && limit < ms))
			ms = limit;
	}
	return ms;
}

/* Asks for the events of all workers. Returns false if a worker has work already. */
static bool
arm(struct gantry_loop *l)
{
	const struct gantry_worker *w;

	for (w = l->run; w != NULL; w = w->next_in_loop)
		if (!gantry_sleep_arm(w->q, w->recv_room))
			return false;
	return true;
}

/* Waits for the bell or an event, unless a worker has work already. */
static void
sleep_until_event(struct gantry_loop *l)
{
	struct epoll_event event[MAX_EVENTS];
	eventfd_t count;
	int n, i;

	if (!arm(l))
		return;
	gantry_counter_add(&l->sleeps, 1);
	n = epoll_wait(l->epoll, event, MAX_EVENTS, rest_limit(l));
	for (i = 0; i < n; i++) {
		struct gantry_worker *w = event[i].data.ptr;

		if (w == NULL)
			eventfd_read(l->bell.fd, &count);
		else
			gantry_sleep_take_events(w->q);
	}
}

/* Returns true if a worker has descriptors in flight. */
static bool
waits(const struct gantry_loop *l)
{
	const struct gantry_worker *w = l->run;

	while (w != NULL && gantry_in_flight(w->q) == 0)
		w = w->next_in_loop;
	return w != NULL;
}

/*
 * Lets other threads of the CPU run. If no other lcore uses the CPU, sched_yield() is enough and
 * costs little. gantry_nap.h says why sched_yield() is not enough on a shared CPU.
 */
static void
let_others_run(const struct gantry_loop *l)
{
	if (l->shares)
		gantry_nap(waits(l));
	else
		sched_yield();
}

/*
 * Lets the CPU wait for a write to the bell or to a CQ. The CPU can watch one CQ. If there are more
 * CQs, the lcore polls.
 */
static void
monitor_until_write(struct gantry_loop *l)
{
	const struct hwq_cq *cq = NULL;
	const struct gantry_worker *w;
	unsigned int n = 0;
	int ms;

	for (w = l->run; w != NULL; w = w->next_in_loop)
		n += gantry_sleep_cqs(w->q, w->recv_room, &cq);
	if (n > 1) {
		let_others_run(l);
		return;
	}
	ms = rest_limit(l);
	gantry_counter_add(&l->sleeps, 1);
	gantry_monitor_wait(cq, &l->bell,
		ms == GANTRY_SLEEP_FOR_EVER ? UINT64_MAX
					    : rte_rdtsc() + ms * (rte_get_tsc_hz() / 1000));
}

/* Rests until there is work. */
static __rte_cold void
rest(struct gantry_loop *l)
{
	unsigned int how = l->monitors ? GANTRY_BELL_MONITORS : GANTRY_BELL_SLEEPS;

	/*
	 * From now on other threads ring the bell. For earlier work they did not ring the bell, so
	 * the lcore looks for work again.
	 */
	atomic_exchange_explicit(&l->bell.state, how, memory_order_acq_rel);
	if (atomic_load_explicit(&l->joining, memory_order_relaxed) == NULL &&
		!gantry_loop_turn(&l->run) && l->run != NULL) {
		if (how == GANTRY_BELL_MONITORS)
			monitor_until_write(l);
		else
			sleep_until_event(l);
	}
	atomic_exchange_explicit(&l->bell.state, GANTRY_BELL_AWAKE, memory_order_acq_rel);
}

/* Takes joining workers, and gives one turn to each worker. Returns false if no worker had work. */
static inline bool
next_turn(struct gantry_loop *l)
{
	if (unlikely(atomic_load_explicit(&l->joining, memory_order_relaxed) != NULL))
		take_joining(l);
	return gantry_loop_turn(&l->run);
}

static inline bool
goes_on(const struct gantry_loop *l)
{
	return !atomic_load_explicit(&l->quit, memory_order_relaxed);
}

/* Gives turns until a turn has work. The clock is read only at the beginning and at the end. */
static void
idle(struct gantry_loop *l)
{
	const uint32_t until = l->shares && l->awake ? GANTRY_NAP_TURNS : GANTRY_IDLE_TURNS;
	uint32_t turns = 0;

	watch_start(&l->idle);
	do {
		rte_pause();
		if (++turns == until) {
			if (l->run != NULL && !l->awake)
				rest(l);
			else
				let_others_run(l);
			turns = 0;
		}
	} while (goes_on(l) && !next_turn(l));
	watch_stop(&l->idle);
}

static int
loop_main(void *arg)
{
	struct gantry_loop *l = arg;
	struct gantry_nap before;

	l->shares = gantry_loop_shares_cpu(l - loops);
	if (l->shares)
		gantry_nap_begin(&before);
	watch_start(&l->running);
	while (goes_on(l))
		if (!next_turn(l))
			idle(l);
	watch_stop(&l->running);
	if (l->shares)
		gantry_nap_end(&before);
	return 0;
}

/* ------------------------------------------------------------------ control threads */

/* Creates the eventfd and the epoll instance with which an lcore sleeps. */
static int
bell_open(struct gantry_loop *l)
{
	struct epoll_event event = {.events = EPOLLIN};
	int ret;

	l->bell.lcore_id = l - loops;
	l->bell.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->bell.fd < 0)
		return -errno;
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0) {
		ret = -errno;
		goto close_bell;
	}
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->bell.fd, &event) != 0) {
		ret = -errno;
		goto close_epoll;
	}
	return 0;

close_epoll:
	close(l->epoll);
close_bell:
	close(l->bell.fd);
	return ret;
}

int
gantry_loop_prepare(struct gantry_worker *w)
{
	struct gantry_loop *l = &loops[w->lcore_id];
	int ret = 0;

	pthread_mutex_lock(&lock);
	if (l->n_bells == 0)
		ret = bell_open(l);
	if (ret == 0)
		l->n_bells++;
	pthread_mutex_unlock(&lock);
	if (ret == 0)
		w->bell = &l->bell;
	return ret;
}

void
gantry_loop_unprepare(struct gantry_worker *w)
{
	struct gantry_loop *l = &loops[w->lcore_id];

	pthread_mutex_lock(&lock);
	if (--l->n_bells == 0) {
		close(l->epoll);
		close(l->bell.fd);
	}
	pthread_mutex_unlock(&lock);
	w->bell = NULL;
}

uint64_t
gantry_loop_sleeps(unsigned int lcore_id)
{
	return gantry_counter_get(&loops[lcore_id].sleeps);
}

void
gantry_lcore_load_get(unsigned int lcore_id, struct gantry_lcore_load *load)
{
	const struct gantry_loop *l;
	/*
	 * Both stopwatches are read with the same time stamp, so that busy_cycles does not grow
	 * while the lcore is idle.
	 */
	uint64_t now = rte_rdtsc(), idle_cycles;

	*load = (struct gantry_lcore_load){0};
	if (lcore_id >= RTE_MAX_LCORE)
		return;
	l = &loops[lcore_id];
	idle_cycles = watch_read(&l->idle, now);
	load->cycles = watch_read(&l->running, now);
	load->busy_cycles = load->cycles - RTE_MIN(idle_cycles, load->cycles);
	load->sleeps = gantry_counter_get(&l->sleeps);
	load->workers = atomic_load_explicit(&l->n_workers, memory_order_relaxed);
}

static void
join(struct gantry_loop *l, struct gantry_worker *w)
{
	w->next_in_loop = atomic_load_explicit(&l->joining, memory_order_relaxed);
	/* Pairs with the acquire in take_joining(). */
	while (!atomic_compare_exchange_weak_explicit(&l->joining, &w->next_in_loop, w,
		memory_order_release, memory_order_relaxed))
		;
}

bool
gantry_loop_shares_cpu(unsigned int lcore_id)
{
	rte_cpuset_t own = rte_lcore_cpuset(lcore_id), other, both;
	unsigned int i;

	RTE_LCORE_FOREACH(i) {
		other = rte_lcore_cpuset(i);
		CPU_AND(&both, &own, &other);
		if (i != lcore_id && CPU_COUNT(&both) != 0)
			return true;
	}
	return false;
}

/* Starts the lcore. Its first worker is in `joining`. */
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
	/* If the lcore sleeps in its loop, the bell wakes it, so that it takes the worker. */
	gantry_bell_ring(&l->bell);
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
	gantry_bell_ring(w->bell);
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
