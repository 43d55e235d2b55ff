/* SPDX-License-Identifier: BSD-3-Clause */
/* Workers that are created and destroyed, share an lcore, and have several producers. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_pause.h>

#include <gantry_engine.h>
#include <gantry_loop.h>
#include <gantry_worker.h>
#include <softhca.h>

#include "gantry_arena.h"

#define N_LCORES 3

#ifdef GANTRY_ALLOC_LIBC
#define CYCLES 200 /* few cycles, because sanitizers are slow */
#define GOAL   2000
#else
#define CYCLES 1000
#define GOAL   20000
#endif

static struct gantry_worker *
worker_of(struct gantry *engine, unsigned int lcore)
{
	const struct gantry_worker_conf conf = {.queue.depth = 64, .ring_size = 256};
	struct gantry_worker *w;

	CHECK_EQ(gantry_worker_create(engine, lcore, &conf, &w), 0);
	return w;
}

/* Copy number n: 64 bytes to one of 256 slots of dst. */
static struct gantry_desc
nth(uint64_t n)
{
	struct gantry_desc d = env_copy(src + n % 1000, dst + n % 256 * 64, 64);

	d.cookie = n;
	return d;
}

/* A worker, and how many copies were enqueued to it and dequeued from it. */
struct feed {
	struct gantry_worker *w;
	uint64_t put, got;
};

/* Enqueues copies until the worker has 128, and checks the copies that have completed. */
static void
feed_turn(struct feed *f)
{
	struct gantry_comp comp[64];
	unsigned int n, i;

	while (f->put - f->got < 128) {
		struct gantry_desc d = nth(f->put);

		if (gantry_enqueue_burst(f->w, &d, 1) == 0)
			break;
		f->put++;
	}
	n = env_dequeue(f->w, comp, RTE_DIM(comp));
	for (i = 0; i < n; i++) {
		CHECK_EQ(comp[i].cookie, f->got++);
		CHECK_EQ(comp[i].status, GANTRY_OK);
	}
}

static void
feed_until(struct feed *f, uint64_t got)
{
	uint64_t end = env_patience();

	while (f->got < got) {
		feed_turn(f);
		CHECK(rte_get_timer_cycles() < end);
	}
}

/* Takes a stopped worker's completions, and takes back its remaining descriptors. */
static void
feed_empty(struct feed *f)
{
	struct gantry_desc desc[64];
	struct gantry_comp comp[64];
	unsigned int n;

	while ((n = gantry_dequeue_burst(f->w, comp, RTE_DIM(comp))) != 0)
		f->got += n;
	while ((n = gantry_reclaim_burst(f->w, desc, RTE_DIM(desc))) != 0)
		f->got += n;
	CHECK_EQ(f->got, f->put);
}

static void
feed_done(struct feed *f)
{
	CHECK_EQ(gantry_worker_stop(f->w), 0);
	feed_empty(f);
	CHECK_EQ(gantry_worker_destroy(f->w), 0);
}

/* ------------------------------------------------------------------ cases */

static void
workers_start_and_stop_one_by_one(void)
{
	struct feed a = {.w = worker_of(g, 1)}, b = {.w = worker_of(g, 2)};

	CHECK_EQ(gantry_worker_stop(a.w), -EALREADY);
	CHECK_EQ(gantry_worker_start(a.w), 0);
	CHECK_EQ(gantry_worker_start(a.w), -EALREADY);
	feed_until(&a, 100);
	/* The other worker is not started: its descriptors wait. */
	feed_turn(&b);
	CHECK_EQ(b.got, 0);
	CHECK_EQ(gantry_start(g), 0);
	CHECK_EQ(gantry_start(g), -EALREADY);
	CHECK_EQ(gantry_worker_start(b.w), -EALREADY);
	feed_until(&b, 100);
	CHECK_EQ(gantry_worker_stop(a.w), 0);
	CHECK_EQ(gantry_worker_stop(a.w), -EALREADY);
	/* The lcore is free, and the other worker still runs. */
	CHECK_EQ(rte_eal_get_lcore_state(1), WAIT);
	feed_until(&b, 200);
	CHECK_EQ(gantry_worker_destroy(b.w), -EBUSY);
	CHECK_EQ(gantry_stop(g), 0);
	CHECK_EQ(gantry_stop(g), -EALREADY);
	feed_empty(&a);
	feed_empty(&b);
	CHECK_EQ(gantry_worker_destroy(a.w), 0);
	CHECK_EQ(gantry_worker_destroy(b.w), 0);
}

static int
spin(void *arg)
{
	atomic_bool *stop = arg;

	while (!atomic_load(stop))
		rte_pause();
	return 0;
}

static void
stopping_does_not_wait_for_an_lcore_that_runs_something_else(void)
{
	struct feed a = {.w = worker_of(g, 1)};
	struct gantry_worker *b;
	static atomic_bool stop;

	CHECK_EQ(gantry_start(g), 0);
	feed_until(&a, 10);
	b = worker_of(g, 2);
	atomic_store(&stop, false);
	CHECK_EQ(rte_eal_remote_launch(spin, &stop, 2), 0);
	/* If one worker cannot be started, no worker is started, and `a` still runs. */
	CHECK_EQ(gantry_worker_start(b), -EBUSY);
	CHECK_EQ(gantry_start(g), -EBUSY);
	feed_until(&a, 200);
	CHECK_EQ(gantry_stop(g), 0);
	CHECK_EQ(rte_eal_get_lcore_state(2), RUNNING);
	atomic_store(&stop, true);
	rte_eal_wait_lcore(2);
	feed_empty(&a);
	CHECK_EQ(gantry_worker_destroy(a.w), 0);
	CHECK_EQ(gantry_worker_destroy(b), 0);
}

/*
 * All workers are started, or none is. The workers, in the order of their creation: one that runs,
 * two that could run, one whose lcore is used by another program, and one more.
 */
static void
all_are_started_or_none_is(void)
{
	static const unsigned int lcore[] = {1, 1, 3, 2, 3};
	struct feed f[RTE_DIM(lcore)] = {0};
	static atomic_bool stop;
	unsigned int i;

	for (i = 0; i < RTE_DIM(f); i++)
		f[i].w = worker_of(g, lcore[i]);
	CHECK_EQ(gantry_worker_start(f[0].w), 0);
	atomic_store(&stop, false);
	CHECK_EQ(rte_eal_remote_launch(spin, &stop, 2), 0);
	CHECK_EQ(gantry_start(g), -EBUSY);
	for (i = 1; i < RTE_DIM(f); i++)
		CHECK_EQ(gantry_worker_stop(f[i].w), -EALREADY);
	CHECK_EQ(rte_eal_get_lcore_state(3), WAIT);
	feed_until(&f[0], 100);
	for (i = 1; i < RTE_DIM(f); i++) {
		feed_turn(&f[i]);
		CHECK_EQ(f[i].got, 0);
	}
	atomic_store(&stop, true);
	rte_eal_wait_lcore(2);
	CHECK_EQ(gantry_start(g), 0);
	for (i = 0; i < RTE_DIM(f); i++)
		feed_until(&f[i], 200);
	for (i = 0; i < RTE_DIM(f); i++)
		feed_done(&f[i]);
}

static void
workers_of_two_engines_share_an_lcore(void)
{
	struct feed feed[6] = {0};
	struct gantry_mem *mem[2];
	struct gantry *other;
	unsigned int i, round;
	bool busy = true;

	CHECK_EQ(gantry_create(NULL, &other), 0);
	CHECK_EQ(gantry_mem_register(other, src, ARENA_LEN, 0, &mem[0]), 0);
	CHECK_EQ(gantry_mem_register(other, dst, ARENA_LEN, 0, &mem[1]), 0);
	for (i = 0; i < RTE_DIM(feed); i++)
		feed[i].w = worker_of(i % 2 == 0 ? g : other, 1);
	CHECK_EQ(gantry_start(g), 0);
	CHECK_EQ(gantry_start(other), 0);
	for (round = 0; busy; round++) {
		busy = false;
		for (i = 0; i < RTE_DIM(feed); i++) {
			feed_turn(&feed[i]);
			busy |= feed[i].got < GOAL / RTE_DIM(feed);
		}
		/* Some workers are started and stopped while the other workers run. */
		if (round % 16 == 0) {
			i = round / 16 % RTE_DIM(feed);
			CHECK_EQ(gantry_worker_stop(feed[i].w), 0);
			CHECK_EQ(gantry_worker_start(feed[i].w), 0);
		}
	}
	/* When one engine's workers are stopped, the workers of the other engine continue. */
	CHECK_EQ(gantry_stop(other), 0);
	feed_until(&feed[0], feed[0].got + 100);
	CHECK_EQ(gantry_stop(g), 0);
	CHECK_EQ(rte_eal_get_lcore_state(1), WAIT);
	for (i = 0; i < RTE_DIM(feed); i++) {
		feed_empty(&feed[i]);
		CHECK_EQ(gantry_worker_destroy(feed[i].w), 0);
	}
	for (i = 0; i < 2; i++)
		CHECK_EQ(gantry_mem_unregister(mem[i], 0), 0);
	CHECK_EQ(gantry_destroy(other), 0);
}

/*
 * Compares the shortest call of each quarter of the test: other load on the machine can make calls
 * longer, but never shorter.
 */
static void
a_thousand_workers_come_and_go_while_others_run(void)
{
	struct feed a = {.w = worker_of(g, 1)}, b = {.w = worker_of(g, 2)};
	uint64_t least[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
	unsigned int i;

	CHECK_EQ(gantry_start(g), 0);
	for (i = 0; i < CYCLES; i++) {
		/* Each third worker is on a's lcore, on b's lcore, or on an lcore of its own. */
		struct feed f = {.put = 0};
		uint64_t start = env_cpu_ns(), took;

		f.w = worker_of(g, 1 + i % 3);
		CHECK_EQ(gantry_worker_start(f.w), 0);
		took = env_cpu_ns() - start;
		least[i / (CYCLES / 4)] = RTE_MIN(least[i / (CYCLES / 4)], took);
		feed_turn(&f);
		feed_turn(&a);
		feed_turn(&b);
		feed_done(&f);
	}
	feed_until(&a, a.put);
	feed_until(&b, b.put);
	for (i = 1; i < 4; i++)
		CHECK(least[i] < 4 * least[0]);
	CHECK_EQ(env_stats(gantry_worker_queue(a.w)).recoveries, 0);
	CHECK_EQ(env_stats(gantry_worker_queue(b.w)).recoveries, 0);
	feed_done(&a);
	feed_done(&b);
}

/*
 * The device refuses twice to destroy a QP or a CQ of the worker's queue. The worker keeps all its
 * descriptors and completions.
 */
static void
a_worker_whose_end_is_refused_can_be_destroyed_again(void)
{
	static const char *const calls[] = {"destroy_qp", "destroy_cq"};
	struct gantry_queue_info info;
	struct feed f;
	char line[60];
	uint32_t i;

	for (i = 0; i < RTE_DIM(calls); i++) {
		f = (struct feed){.w = worker_of(g, 1)};
		CHECK_EQ(gantry_worker_start(f.w), 0);
		feed_until(&f, 100);
		CHECK_EQ(gantry_worker_stop(f.w), 0);
		feed_empty(&f);
		snprintf(line, sizeof(line), "refuse call=%s errno=16 times=2", calls[i]);
		CHECK_EQ(softhca_fault(line), 0);
		CHECK_EQ(gantry_worker_destroy(f.w), -EBUSY);
		CHECK_EQ(softhca_faults_left(), 1);
		CHECK_EQ(gantry_destroy(g), -EBUSY);
		CHECK_EQ(gantry_worker_destroy(f.w), -EBUSY);
		CHECK_EQ(softhca_faults_left(), 0);
		/* The worker still belongs to its lcore. */
		gantry_queue_info_get(gantry_worker_queue(f.w), &info);
		CHECK_EQ(info.lcore, 1);
		CHECK_EQ(gantry_worker_destroy(f.w), 0);
	}
	/* A new worker can use the lcore. */
	f = (struct feed){.w = worker_of(g, 1)};
	CHECK_EQ(gantry_worker_start(f.w), 0);
	feed_until(&f, 100);
	feed_done(&f);
}

/* ------------------------------------------------------------------ bursts */

/*
 * Each call of gantry_worker_turn() must take at most conf.burst descriptors. The worker is not
 * started: this thread makes the calls.
 */
static void
a_worker_takes_a_burst_at_a_time(void)
{
	static const uint16_t bursts[] = {1, 4, 0, 256};
	unsigned int i, n;

	for (i = 0; i < RTE_DIM(bursts); i++) {
		const struct gantry_worker_conf conf = {.ring_size = 512, .burst = bursts[i]};
		unsigned int burst = bursts[i] != 0 ? bursts[i] : 32;
		struct feed f = {0};

		CHECK_EQ(gantry_worker_create(g, 1, &conf, &f.w), 0);
		for (n = 0; n < burst + burst / 2; n++) {
			struct gantry_desc d = nth(f.put++);

			CHECK_EQ(gantry_enqueue_burst(f.w, &d, 1), 1);
		}
		gantry_worker_turn(f.w, false);
		CHECK_EQ(env_stats(gantry_worker_queue(f.w)).submitted, burst);
		gantry_worker_turn(f.w, false);
		CHECK_EQ(env_stats(gantry_worker_queue(f.w)).submitted, n);
		CHECK_EQ(gantry_worker_start(f.w), 0);
		feed_until(&f, n);
		feed_done(&f);
	}
}

static void
a_worker_that_is_asked_to_stop_takes_nothing_more(void)
{
	const struct gantry_worker_conf conf = {.ring_size = 512, .burst = 4};
	uint64_t end = env_patience();
	struct gantry_desc d;
	struct feed f = {0};

	CHECK_EQ(gantry_worker_create(g, 1, &conf, &f.w), 0);
	while (f.put < 16) {
		d = nth(f.put++);
		CHECK_EQ(gantry_enqueue_burst(f.w, &d, 1), 1);
	}
	gantry_worker_turn(f.w, false);
	while (gantry_in_flight(gantry_worker_queue(f.w)) != 0) {
		gantry_worker_turn(f.w, true);
		CHECK(rte_get_timer_cycles() < end);
	}
	CHECK_EQ(env_stats(gantry_worker_queue(f.w)).submitted, 4);
	/*
	 * The ring of descriptors has changed since the worker's last turn, and the worker notices
	 * this.
	 */
	d = nth(f.put++);
	CHECK_EQ(gantry_enqueue_burst(f.w, &d, 1), 1);
	CHECK(!gantry_worker_turn(f.w, true));
	CHECK_EQ(env_stats(gantry_worker_queue(f.w)).submitted, 4);
	feed_empty(&f);
	CHECK_EQ(gantry_worker_destroy(f.w), 0);
}

/* ------------------------------------------------------------------ full rings */

/* Enqueues n copies, from number *put on. `want` of them must be accepted. */
static void
enqueue_some(struct gantry_worker *w, uint64_t *put, unsigned int n, unsigned int want)
{
	struct gantry_desc desc[32];
	unsigned int i;

	for (i = 0; i < n; i++)
		desc[i] = nth(*put + i);
	CHECK_EQ(gantry_enqueue_burst(w, desc, n), want);
	*put += want;
}

/* Takes back n copies, which must begin with number *got. */
static void
reclaim_some(struct gantry_worker *w, uint64_t *got, unsigned int n, unsigned int want)
{
	struct gantry_desc desc[32], d;
	unsigned int i;

	CHECK_EQ(gantry_reclaim_burst(w, desc, n), want);
	for (i = 0; i < want; i++) {
		d = nth((*got)++);
		CHECK(check_bytes((uint8_t *)&desc[i], (uint8_t *)&d, sizeof(d), "a descriptor"));
	}
}

/*
 * A full ring must accept only whole descriptors, and no more than it has room for, also when the
 * indices of the rings wrap. The worker is not started.
 */
static void
a_full_ring_takes_whole_descriptors_and_no_more_than_it_has_room_for(void)
{
	static const enum gantry_producers producers[] = {GANTRY_PRODUCERS_ONE, GANTRY_PRODUCERS_MP,
		GANTRY_PRODUCERS_MP_HTS};
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(producers); i++) {
		const struct gantry_worker_conf conf = {.ring_size = 16, .producers = producers[i]};
		uint64_t put = 0, got = 0;
		struct gantry_worker *w;

		CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), 0);
		for (k = 0; k < 40; k++) {
			enqueue_some(w, &put, 11, 11);
			enqueue_some(w, &put, 7, 5);
			enqueue_some(w, &put, 1, 0);
			reclaim_some(w, &got, 3, 3);
			enqueue_some(w, &put, 32, 3);
			reclaim_some(w, &got, 32, 16);
			reclaim_some(w, &got, 32, 0);
		}
		CHECK_EQ(gantry_worker_destroy(w), 0);
	}
}

/*
 * gantry_worker_conf: by default the ring must have 1024 entries, and the worker must have no ring
 * of receives.
 */
static void
a_ring_has_1024_elements_by_default(void)
{
	struct gantry_recv recv = {.cookie = 1};
	uint64_t put = 0, got = 0;
	struct gantry_worker *w;
	unsigned int i;

	CHECK_EQ(gantry_worker_create(g, 1, NULL, &w), 0);
	for (i = 0; i < 1024; i += 32)
		enqueue_some(w, &put, 32, 32);
	enqueue_some(w, &put, 1, 0);
	CHECK_EQ(gantry_recv_enqueue_burst(w, 0, &recv, 1), 0);
	for (i = 0; i < 1024; i += 32)
		reclaim_some(w, &got, 32, 32);
	CHECK_EQ(gantry_worker_destroy(w), 0);
}

/*
 * The control thread submits to a stopped worker's queue. The ring of completions must have room
 * for these descriptors before the worker starts.
 */
static void
a_worker_starts_only_with_room_for_what_is_in_flight(void)
{
	const struct gantry_worker_conf conf = {.queue = {.depth = 64}, .ring_size = 8};
	struct gantry_desc desc[32];
	struct gantry_comp comp[32];
	struct gantry_worker *w;
	uint64_t end = env_patience();
	unsigned int i, n = 0;

	for (i = 0; i < RTE_DIM(desc); i++)
		desc[i] = nth(i);
	CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), 0);
	CHECK_EQ(gantry_submit(gantry_worker_queue(w), desc, 32), 32);
	CHECK_EQ(gantry_worker_start(w), -ENOBUFS);
	env_collect(gantry_worker_queue(w), comp, 24);
	CHECK_EQ(gantry_worker_start(w), 0);
	while (n < 8) {
		n += env_dequeue(w, comp + 24 + n, 8 - n);
		CHECK(rte_get_timer_cycles() < end);
	}
	for (i = 0; i < 32; i++)
		CHECK_EQ(comp[i].cookie, desc[i].cookie);
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
}

/* ------------------------------------------------------------------ turns without work */

/*
 * Calls gantry_worker_turn() until this many copies have completed. Until then the worker must not
 * be quiet.
 */
static void
turns_until(struct gantry_worker *w, uint64_t completed)
{
	uint64_t end = env_patience();

	while (env_stats(w->q).completed != completed) {
		env_pump();
		gantry_worker_turn(w, false);
		if (env_stats(w->q).completed != completed)
			CHECK(!w->quiet);
		CHECK(rte_get_timer_cycles() < end);
	}
}

/*
 * If a worker is `quiet`, most calls of gantry_worker_turn() check only its ring of descriptors. So
 * a worker may be quiet only if all its other work is done. The worker is not started: this thread
 * calls gantry_worker_turn().
 */
static void
a_worker_with_something_to_do_is_not_quiet(void)
{
	const struct gantry_worker_conf conf = {.ring_size = 16, .queue.depth = 16};
	struct feed f = {0};
	unsigned int i;

	CHECK_EQ(gantry_worker_create(g, 1, &conf, &f.w), 0);
	for (i = 0; i < 16 + 4; i++) {
		struct gantry_desc d = nth(f.put++);

		if (i == 16)
			turns_until(f.w, 16);
		CHECK_EQ(gantry_enqueue_burst(f.w, &d, 1), 1);
	}
	/* The last four completions wait, because the ring of completions is full. */
	for (i = 0; i < 200; i++) {
		CHECK(!gantry_worker_turn(f.w, false));
		CHECK(!f.w->quiet);
	}
	for (i = 0; i < 8; i++) {
		struct gantry_comp comp;

		CHECK_EQ(gantry_dequeue_burst(f.w, &comp, 1), 1);
		CHECK_EQ(comp.cookie, f.got++);
	}
	CHECK(gantry_worker_turn(f.w, false));
	turns_until(f.w, 20);
	CHECK(!gantry_worker_turn(f.w, false));
	CHECK(f.w->quiet);
	for (i = 0; i < 200; i++)
		CHECK(!gantry_worker_turn(f.w, false));
	/* The first call of gantry_worker_turn() takes the new descriptor. */
	f.put++;
	CHECK_EQ(gantry_enqueue_burst(f.w, &(struct gantry_desc){.op = GANTRY_OP_NOP}, 1), 1);
	CHECK(gantry_worker_turn(f.w, false));
	CHECK_EQ(env_stats(f.w->q).submitted, 21);
	turns_until(f.w, 21);
	feed_empty(&f);
	CHECK_EQ(gantry_worker_destroy(f.w), 0);
}

/* ------------------------------------------------------------------ lcores that share a CPU */

/* Binds lcores 1 to N_LCORES to one CPU, and the main lcore to another CPU if there is one. */
static void
lcores_that_may_run_on_one_cpu_share_it(void)
{
	rte_cpuset_t own = rte_lcore_cpuset(0), of_1 = rte_lcore_cpuset(1), both;
	bool one_cpu = CPU_EQUAL(&own, &of_1);
	unsigned int i;

	for (i = 1; i <= N_LCORES; i++)
		CHECK(gantry_loop_shares_cpu(i));
	CHECK_EQ(gantry_loop_shares_cpu(0), one_cpu);
	CPU_OR(&both, &own, &of_1);
	CHECK_EQ(rte_thread_set_affinity(&both), 0);
	CHECK(gantry_loop_shares_cpu(0));
	CHECK_EQ(rte_thread_set_affinity(&own), 0);
	CHECK_EQ(gantry_loop_shares_cpu(0), one_cpu);
}

/* struct sched_attr of sched_setattr(2): glibc 2.36 does not define it. */
struct scheduling {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t slice, deadline, period;
	int slack; /* timer slack, which is not a field of struct sched_attr */
};

/* Stores the scheduling of the calling thread, as the kernel reports it. */
static int
tell_scheduling(void *arg)
{
	struct scheduling *s = arg;

	CHECK_EQ(syscall(SYS_sched_getattr, 0, s, offsetof(struct scheduling, slack), 0), 0);
	s->slack = prctl(PR_GET_TIMERSLACK);
	return 0;
}

/*
 * TSan does not know that rte_eal_wait_lcore() orders the two threads. The atomic `told` makes this
 * order visible to TSan.
 */
struct told_scheduling {
	struct scheduling s;
	atomic_bool told;
};

static int
tell_and_publish(void *arg)
{
	struct told_scheduling *t = arg;

	tell_scheduling(&t->s);
	atomic_store_explicit(&t->told, true, memory_order_release);
	return 0;
}

/* Before Linux 6.12 threads cannot choose their time slice, and the kernel reports 0. */
static void
an_lcore_that_shares_its_cpu_has_short_slices_while_it_has_workers(void)
{
	struct scheduling before = {0}, now = {0};
	struct told_scheduling after = {0};
	struct gantry_worker *w = worker_of(g, 1);

	/* The engine must never change the main lcore's scheduling. */
	tell_scheduling(&before);
	CHECK_EQ(gantry_worker_start(w), 0);
	CHECK_EQ(gantry_worker_call(w, tell_scheduling, &now), 0);
	CHECK_EQ(now.slack, 1);
	CHECK_EQ(now.slice, before.slice != 0 ? 100000 : 0);
	CHECK_EQ(now.nice, before.nice);
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(rte_eal_remote_launch(tell_and_publish, &after, 1), 0);
	CHECK_EQ(rte_eal_wait_lcore(1), 0);
	CHECK(atomic_load_explicit(&after.told, memory_order_acquire));
	CHECK_EQ(memcmp(&after.s, &before, sizeof(before)), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
}

/* ------------------------------------------------------------------ load */

static struct gantry_lcore_load
load_of(unsigned int lcore)
{
	struct gantry_lcore_load load;

	memset(&load, 0xff, sizeof(load));
	gantry_lcore_load_get(lcore, &load);
	return load;
}

static void
check_no_load(unsigned int lcore)
{
	struct gantry_lcore_load load = load_of(lcore);

	CHECK_EQ(load.cycles | load.busy_cycles | load.sleeps | load.workers, 0);
}

/*
 * Two workers on one lcore, and one worker on another lcore, all of which poll: the load of each
 * lcore must count only its own workers.
 */
static void
the_load_of_each_lcore_is_its_own(void)
{
	struct feed f[] = {{.w = worker_of(g, 1)}, {.w = worker_of(g, 1)}, {.w = worker_of(g, 2)}};
	struct gantry_lcore_load before[2] = {load_of(1), load_of(2)}, now;
	unsigned int i;

	CHECK_EQ(before[0].workers | before[1].workers, 0);
	CHECK_EQ(gantry_start(g), 0);
	CHECK_EQ(load_of(1).workers, 2);
	CHECK_EQ(load_of(2).workers, 1);
	for (i = 0; i < RTE_DIM(f); i++)
		feed_until(&f[i], 100);
	CHECK_EQ(gantry_worker_stop(f[1].w), 0);
	CHECK_EQ(load_of(1).workers, 1);
	CHECK_EQ(gantry_worker_stop(f[2].w), 0);
	CHECK_EQ(load_of(1).workers, 1);
	CHECK_EQ(load_of(2).workers, 0);
	CHECK_EQ(gantry_worker_stop(f[0].w), 0);
	for (i = 0; i < 2; i++) {
		now = load_of(1 + i);
		CHECK_EQ(now.workers, 0);
		CHECK_EQ(now.sleeps, before[i].sleeps);
		CHECK(now.cycles > before[i].cycles && now.busy_cycles > before[i].busy_cycles);
		CHECK(now.cycles - before[i].cycles >= now.busy_cycles - before[i].busy_cycles);
		CHECK_EQ(load_of(1 + i).cycles, now.cycles);
	}
	/* The main lcore never runs a worker. */
	check_no_load(rte_get_main_lcore());
	check_no_load(RTE_MAX_LCORE);
	check_no_load(UINT32_MAX);
	for (i = 0; i < RTE_DIM(f); i++) {
		feed_empty(&f[i]);
		CHECK_EQ(gantry_worker_destroy(f[i].w), 0);
	}
}

/* ------------------------------------------------------------------ producers */

#define N_PRODUCERS 3

/* A thread that is not registered with EAL. */
struct producer {
	struct gantry_worker *w;
	uint64_t number;
	bool fences;
	pthread_t thread;
};

static void *
produce(void *arg)
{
	const struct producer *p = arg;
	uint64_t put = 0, seed = p->number;

	/* Lets producers run at the same time, on several CPUs. */
	env_unbind();
	while (put < GOAL) {
		struct gantry_desc desc[64];
		unsigned int i, n = RTE_MIN(1 + check_random(&seed) % 64, GOAL - put);

		for (i = 0; i < n; i++) {
			desc[i] = nth(put + i);
			desc[i].cookie |= p->number << 32;
			if (p->fences && check_random(&seed) % 16 == 0)
				desc[i].flags |= GANTRY_DESC_FENCE;
		}
		n = gantry_enqueue_burst(p->w, desc, n);
		put += n;
		if (n == 0)
			sched_yield();
	}
	return NULL;
}

static const enum gantry_producers several[] = {GANTRY_PRODUCERS_MP_HTS, GANTRY_PRODUCERS_MP};

/*
 * Each producer's descriptors must complete once and in its order. All descriptors are copies, so
 * an unordered queue keeps their order, too.
 */
static void
feed_one_worker(const struct gantry_worker_conf *conf)
{
	uint64_t got[N_PRODUCERS] = {0}, sum = 0, end = env_patience();
	struct producer p[N_PRODUCERS];
	struct gantry_comp comp[64];
	struct gantry_worker *w;
	unsigned int i, n;

	CHECK_EQ(gantry_worker_create(g, 1, conf, &w), 0);
	CHECK_EQ(gantry_worker_start(w), 0);
	for (i = 0; i < N_PRODUCERS; i++) {
		p[i] = (struct producer){.w = w, .number = i, .fences = conf->queue.unordered};
		CHECK_EQ(pthread_create(&p[i].thread, NULL, produce, &p[i]), 0);
	}
	while (sum < N_PRODUCERS * GOAL) {
		n = env_dequeue(w, comp, RTE_DIM(comp));
		for (i = 0; i < n; i++) {
			uint64_t from = comp[i].cookie >> 32;

			CHECK(from < N_PRODUCERS);
			CHECK_EQ(comp[i].cookie & UINT32_MAX, got[from]++);
			CHECK_EQ(comp[i].status, GANTRY_OK);
		}
		sum += n;
		CHECK(rte_get_timer_cycles() < end);
	}
	for (i = 0; i < N_PRODUCERS; i++) {
		CHECK_EQ(pthread_join(p[i].thread, NULL), 0);
		CHECK_EQ(got[i], GOAL);
	}
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_dequeue_burst(w, comp, RTE_DIM(comp)), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
}

static void
several_producers_feed_one_worker(void)
{
	struct gantry_worker_conf conf = {.queue.depth = 64, .ring_size = 512};
	struct gantry_worker *none;
	unsigned int k;

	for (k = 0; k < 2 * RTE_DIM(several); k++) {
		conf.producers = several[k / 2];
		conf.queue.unordered = k % 2;
		feed_one_worker(&conf);
	}
	conf.producers = (enum gantry_producers)3;
	CHECK_EQ(gantry_worker_create(g, 1, &conf, &none), -EINVAL);
}

/*
 * Posts receives for a peer that does not exist: they complete at once. The producer's number is
 * used as the number of the peer.
 */
static void *
produce_receives(void *arg)
{
	const struct producer *p = arg;
	uint64_t put = 0, seed = p->number;

	env_unbind();
	while (put < GOAL) {
		unsigned int i, n = RTE_MIN(1 + check_random(&seed) % 64, GOAL - put);
		struct gantry_recv recv[64];

		for (i = 0; i < n; i++)
			recv[i] = (struct gantry_recv){.cookie = put + i};
		n = gantry_recv_enqueue_burst(p->w, (uint16_t)p->number, recv, n);
		put += n;
		if (n == 0)
			sched_yield();
	}
	return NULL;
}

/* Each producer's receives must complete once and in its order. */
static void
several_producers_post_receives(void)
{
	struct gantry_worker_conf conf = {.queue.depth = 64, .recv_ring_size = 512};
	unsigned int k, i, n;

	for (k = 0; k < RTE_DIM(several); k++) {
		uint64_t got[N_PRODUCERS] = {0}, sum = 0, end = env_patience();
		struct producer p[N_PRODUCERS];
		struct gantry_recv_comp comp[64];
		struct gantry_worker *w;

		conf.producers = several[k];
		CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), 0);
		CHECK_EQ(gantry_worker_start(w), 0);
		for (i = 0; i < N_PRODUCERS; i++) {
			p[i] = (struct producer){.w = w, .number = i};
			CHECK_EQ(pthread_create(&p[i].thread, NULL, produce_receives, &p[i]), 0);
		}
		while (sum < N_PRODUCERS * GOAL) {
			n = gantry_recv_dequeue_burst(w, comp, RTE_DIM(comp));
			for (i = 0; i < n; i++) {
				CHECK(comp[i].peer < N_PRODUCERS);
				CHECK_EQ(comp[i].cookie, got[comp[i].peer]++);
				CHECK_EQ(comp[i].status, GANTRY_BAD_PEER);
			}
			if (n == 0)
				sched_yield();
			sum += n;
			CHECK(rte_get_timer_cycles() < end);
		}
		for (i = 0; i < N_PRODUCERS; i++)
			CHECK_EQ(pthread_join(p[i].thread, NULL), 0);
		CHECK_EQ(gantry_worker_stop(w), 0);
		CHECK_EQ(gantry_worker_destroy(w), 0);
	}
}

/* ------------------------------------------------------------------ NUMA */

/* Stores the log of the creation of a worker, on an engine whose device is on this NUMA node. */
static void
log_of_worker(int node, char *text, size_t len)
{
	int truth = g->info.numa_node;
	FILE *f = tmpfile();
	struct gantry_worker *w;
	size_t n;

	CHECK(f != NULL);
	CHECK_EQ(rte_openlog_stream(f), 0);
	g->info.numa_node = node;
	w = worker_of(g, 1);
	g->info.numa_node = truth;
	CHECK_EQ(rte_openlog_stream(NULL), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	rewind(f);
	n = fread(text, 1, len - 1, f);
	text[n] = 0;
	fclose(f);
}

static void
an_lcore_on_another_node_than_the_device_is_warned_of(void)
{
	int here = rte_lcore_to_socket_id(1);
	char text[1024];

	log_of_worker(here + 1, text, sizeof(text));
	CHECK(strstr(text, "NUMA node") != NULL);
	log_of_worker(here, text, sizeof(text));
	CHECK(strstr(text, "NUMA node") == NULL);
	/* The device's NUMA node is unknown. */
	log_of_worker(-1, text, sizeof(text));
	CHECK(strstr(text, "NUMA node") == NULL);
}

static const struct check_case cases[] = {
	{"workers start and stop one by one", workers_start_and_stop_one_by_one},
	{"stopping does not wait for an lcore that runs something else",
		stopping_does_not_wait_for_an_lcore_that_runs_something_else},
	{"all are started, or none is", all_are_started_or_none_is},
	{"workers of two engines share an lcore", workers_of_two_engines_share_an_lcore},
	{"a thousand workers are created and destroyed while other workers run",
		a_thousand_workers_come_and_go_while_others_run},
	{"if destroying a worker is refused, it can be repeated",
		a_worker_whose_end_is_refused_can_be_destroyed_again},
	{"a worker takes one burst at a time", a_worker_takes_a_burst_at_a_time},
	{"a worker that is asked to stop takes no more descriptors",
		a_worker_that_is_asked_to_stop_takes_nothing_more},
	{"a full ring takes whole descriptors, and no more than it has room for",
		a_full_ring_takes_whole_descriptors_and_no_more_than_it_has_room_for},
	{"a ring has 1024 elements by default", a_ring_has_1024_elements_by_default},
	{"a worker starts only with room for what is in flight",
		a_worker_starts_only_with_room_for_what_is_in_flight},
	{"a worker with something to do is not quiet", a_worker_with_something_to_do_is_not_quiet},
	{"lcores that may run on one CPU share it", lcores_that_may_run_on_one_cpu_share_it},
	{"an lcore that shares its CPU has short slices while it has workers",
		an_lcore_that_shares_its_cpu_has_short_slices_while_it_has_workers},
	{"the load of each lcore is its own", the_load_of_each_lcore_is_its_own},
	{"several producers feed one worker", several_producers_feed_one_worker},
	{"several producers post receives", several_producers_post_receives},
	{"an lcore on another node than the device causes a warning",
		an_lcore_on_another_node_than_the_device_is_warned_of},
};

int
main(int argc, char **argv)
{
	env_init(N_LCORES);
	arena_create(NULL);
	return arena_run(cases, RTE_DIM(cases), argc, argv);
}
