/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the counters: CQEs, WQEs and doorbells, and what a reader in another thread may see. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>

#include <rte_common.h>

#include "gantry_env.h"
#include "gantry_queue.h"

#define ARENA_LEN (UINT64_C(1) << 20)

static struct gantry *g;
static uint8_t *src, *dst;
static struct gantry_mem *src_mem, *dst_mem;

/* ------------------------------------------------------------------ hardware */

/* In the pumped variant, one poll takes all CQEs at once. */
static void
every_cqe_is_counted_also_several_in_one_poll(void)
{
	enum {
		N = 250
	};
	struct gantry_queue *q = env_queue(g, 256);
	uint32_t quarter = hwq_sq_n_bb(q->conn[GANTRY_CONN_OWN].sq) / 4;
	struct gantry_desc desc[N];
	struct gantry_comp comp[N];
	unsigned int i;

	for (i = 0; i < N; i++)
		desc[i] = env_copy(src + 64 * i, dst + 64 * i, 64);
	CHECK_EQ(gantry_submit(q, desc, N), N);
	env_collect(q, comp, N);
	/*
	 * doc/engine.md: one CQE in each quarter of the ring, and one for the last WQE of the call.
	 */
	CHECK(quarter < N);
	CHECK_EQ(env_stats(q).cqes, N / quarter + (N % quarter != 0));
	CHECK_EQ(env_stats(q).wqes, N);
	env_queue_done(q);
}

static void
each_connection_has_one_doorbell_for_a_burst(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc desc[12];
	struct gantry_comp comp[12];
	uint16_t pa, pb, round;
	unsigned int i;

	env_connect(q, &pa, q, &pb);
	for (i = 0; i < 12; i++) {
		desc[i] = env_copy(src + 64 * i, dst + 64 * i, 64);
		if (i % 3 == 0)
			continue;
		desc[i].op = GANTRY_OP_WRITE;
		desc[i].peer = i % 3 == 1 ? pa : pb;
		desc[i].remote_key = gantry_mem_remote_key(dst_mem);
	}
	for (round = 1; round <= 3; round++) {
		CHECK_EQ(gantry_submit(q, desc, 12), 12);
		CHECK_EQ(env_stats(q).doorbells, 3 * round);
		CHECK_EQ(env_stats(q).wqes, 12 * round);
		env_collect(q, comp, 12);
		CHECK_EQ(env_stats(q).doorbells, 3 * round);
	}
	/* A burst to one peer rings only that peer's doorbell. */
	CHECK_EQ(gantry_submit(q, &desc[1], 1), 1);
	env_collect(q, comp, 1);
	CHECK_EQ(env_stats(q).doorbells, 10);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ readers */

static struct gantry_queue *counted;

static void
do_one_nop(void)
{
	const struct gantry_desc nop = {.op = GANTRY_OP_NOP};
	struct gantry_comp comp;

	gantry_submit(counted, &nop, 1);
	gantry_poll(counted, &comp, 1);
}

#define READS 200000

static void *
read_often(void *arg)
{
	atomic_bool *done = arg;
	struct gantry_stats s;
	uint64_t last = 0;
	unsigned int i;

	for (i = 0; i < READS; i++) {
		gantry_stats_get(counted, &s);
		CHECK(s.completed <= s.submitted);
		CHECK(s.completed >= last);
		last = s.completed;
	}
	atomic_store(done, true);
	return NULL;
}

static void
another_thread_reads_while_the_owner_works(void)
{
	static atomic_bool done;
	pthread_t reader;

	counted = env_queue(g, 8);
	CHECK_EQ(pthread_create(&reader, NULL, read_often, &done), 0);
	while (!atomic_load(&done))
		do_one_nop();
	CHECK_EQ(pthread_join(reader, NULL), 0);
	env_queue_done(counted);
}

/* ThreadSanitizer delays signals, and other CPUs have no such trap flag. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define EFLAGS_TRAP 0x100

static volatile sig_atomic_t stepping;
static volatile unsigned int n_steps;

/* Runs after every instruction of the reader: the owner accepts a NOP and completes it. */
static void
step(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	if (!stepping) {
		uc->uc_mcontext.gregs[REG_EFL] &= ~EFLAGS_TRAP;
		return;
	}
	uc->uc_mcontext.gregs[REG_EFL] |= EFLAGS_TRAP;
	do_one_nop();
	n_steps++;
}

static void
completed_never_exceeds_submitted_wherever_the_reader_is_interrupted(void)
{
	struct sigaction old, trap = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
	struct gantry_stats s;

	counted = env_queue(g, 8);
	CHECK_EQ(sigaction(SIGTRAP, &trap, &old), 0);
	stepping = 1;
	raise(SIGTRAP);
	gantry_stats_get(counted, &s);
	stepping = 0;
	CHECK_EQ(sigaction(SIGTRAP, &old, NULL), 0);
	CHECK(n_steps > 20);
	CHECK(s.completed <= s.submitted);
	CHECK(s.submitted < n_steps);
	CHECK_EQ(env_stats(counted).completed, n_steps);
	env_queue_done(counted);
}
#endif

static const struct check_case cases[] = {
	{"every CQE is counted, also several in one poll",
		every_cqe_is_counted_also_several_in_one_poll},
	{"each connection has one doorbell for a burst",
		each_connection_has_one_doorbell_for_a_burst},
	{"another thread reads while the owner works", another_thread_reads_while_the_owner_works},
#ifdef EFLAGS_TRAP
	{"completed never exceeds submitted, wherever the reader is interrupted",
		completed_never_exceeds_submitted_wherever_the_reader_is_interrupted},
#endif
};

int
main(int argc, char **argv)
{
	env_init(0);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	src = env_mem(g, ARENA_LEN, ENV_REMOTE, &src_mem);
	dst = env_mem(g, ARENA_LEN, ENV_REMOTE, &dst_mem);
	env_run(cases, RTE_DIM(cases), argc, argv);
	return env_done(g, (struct gantry_mem *const[]){src_mem, dst_mem}, 2);
}
