/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the counters: CQEs, WQEs and doorbells, and the values that another thread may read. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <stdlib.h>
#include <ucontext.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "gantry_histogram.h"
#include "gantry_queue.h"

#include "gantry_arena.h"

/* ------------------------------------------------------------------ hardware */

/* Every CQE must be counted. If the adapter has no thread, one poll takes all CQEs at once. */
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
	 * doc/engine.md: one CQE for each quarter of the ring, and one CQE for the last WQE of the
	 * call.
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
	/* A burst to one peer rings no doorbell of another connection. */
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

/* Only x86 has this trap flag, and ThreadSanitizer delays signals. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define EFLAGS_TRAP 0x100

static volatile sig_atomic_t stepping;
static volatile unsigned int n_steps;

/* Called after each instruction of the reader: the owner accepts a NOP and completes it. */
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

/* ------------------------------------------------------------------ latencies */

static int
by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void
a_bucket_has_the_numbers_between_its_neighbours(void)
{
	uint32_t bit, i, bucket;
	int d;

	for (bit = 0; bit < 64; bit++)
		for (d = -1; d <= 1; d++) {
			uint64_t value = (UINT64_C(1) << bit) + d;

			bucket = gantry_histogram_bucket(value);
			CHECK(bucket < GANTRY_HISTOGRAM_BUCKETS);
			CHECK(gantry_histogram_last(bucket) >= value);
			CHECK(bucket == 0 || gantry_histogram_last(bucket - 1) < value);
		}
	CHECK_EQ(gantry_histogram_bucket(UINT64_MAX), GANTRY_HISTOGRAM_BUCKETS - 1);
	for (i = 1; i < GANTRY_HISTOGRAM_BUCKETS; i++) {
		uint64_t first = gantry_histogram_last(i - 1) + 1;

		CHECK(gantry_histogram_last(i) - first <= first / 8);
	}
}

static void
percentiles_are_those_of_the_sorted_numbers_or_an_eighth_more(void)
{
	enum {
		N = 9999
	};
	static struct gantry_histogram h;
	static uint64_t value[N];
	uint32_t i, percent;
	uint64_t seed = 1;

	CHECK_EQ(gantry_histogram_percentile(&h, 50), 0);
	for (i = 0; i < N; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		value[i] = seed >> 20 >> (seed >> 58) % 40;
		gantry_histogram_add(&h, value[i]);
	}
	qsort(value, N, sizeof(value[0]), by_size);
	CHECK_EQ(gantry_histogram_count(&h), N);
	for (percent = 1; percent <= 100; percent++) {
		uint64_t exact = value[(N * percent + 99) / 100 - 1];
		uint64_t got = gantry_histogram_percentile(&h, percent);

		CHECK(got >= exact);
		CHECK(got <= exact + exact / 8);
	}
	CHECK_EQ(gantry_histogram_percentile(&h, 100), value[N - 1]);
	gantry_histogram_clear(&h);
	CHECK_EQ(gantry_histogram_count(&h), 0);
	CHECK_EQ(gantry_histogram_percentile(&h, 100), 0);
}

/* The shortest latency in these tests. */
#define PAUSE_NS 1000000

static uint64_t
ns_since(uint64_t tsc)
{
	return (rte_rdtsc() - tsc) * 1000000000.0 / rte_get_tsc_hz();
}

/*
 * Executes one descriptor, and polls its completion after at least pause_ns. Returns the time that
 * this took, as this function measured it.
 */
static uint64_t
do_slowly(struct gantry_queue *q, const struct gantry_desc *d, uint64_t pause_ns)
{
	uint64_t began = rte_rdtsc();
	struct gantry_comp comp;

	CHECK_EQ(gantry_submit(q, d, 1), 1);
	while (ns_since(began) < pause_ns)
		;
	env_collect(q, &comp, 1);
	return ns_since(began);
}

static void
a_latency_is_the_time_between_submitting_and_polling(void)
{
	enum {
		ROUNDS = 10
	};
	struct gantry_queue *q = env_queue(g, 64);
	const struct gantry_desc copy = env_copy(src, dst, 64), nop = {.op = GANTRY_OP_NOP},
				 refused = {.op = GANTRY_OP_FILL, .dst = (uintptr_t)dst};
	/* An operation without samples, and numbers that do not name an operation. */
	static const unsigned int none[] = {GANTRY_OP_WRITE, 0, GANTRY_OP_MAX, 255, UINT32_MAX};
	struct gantry_latency l;
	uint64_t longest = 0;
	unsigned int i;

	gantry_latency_get(q, GANTRY_OP_COPY, &l);
	CHECK_EQ(l.count, 0);
	CHECK_EQ(gantry_latency_set(q, true), 0);
	/* The 99th percentile of ten samples is the slowest sample. */
	for (i = 0; i < ROUNDS; i++)
		longest = RTE_MAX(longest, do_slowly(q, &copy, i == 3 ? 10 * PAUSE_NS : PAUSE_NS));
	longest = RTE_MAX(longest, do_slowly(q, &nop, 0));
	gantry_poll(q, NULL, 0);
	gantry_latency_get(q, GANTRY_OP_COPY, &l);
	CHECK_EQ(l.count, ROUNDS);
	CHECK(l.p50_ns >= PAUSE_NS);
	CHECK(l.p99_ns >= l.p50_ns);
	CHECK_EQ(l.p99_ns, l.max_ns);
	CHECK(l.max_ns <= longest);
	gantry_latency_get(q, GANTRY_OP_NOP, &l);
	CHECK_EQ(l.count, 1);
	CHECK(l.max_ns < longest);
	/* Descriptors that fail count as well. */
	for (i = 0; i < 2; i++)
		CHECK_EQ(env_do_one(q, refused), GANTRY_BAD_LENGTH);
	gantry_poll(q, NULL, 0);
	gantry_latency_get(q, GANTRY_OP_FILL, &l);
	CHECK_EQ(l.count, 2);
	CHECK(l.max_ns != 0);
	for (i = 0; i < RTE_DIM(none); i++) {
		memset(&l, 0xff, sizeof(l));
		gantry_latency_get(q, none[i], &l);
		CHECK_EQ(l.count | l.p50_ns | l.p99_ns | l.max_ns, 0);
	}
	env_queue_done(q);
}

static void
only_one_descriptor_is_watched_at_a_time(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc desc[48];
	struct gantry_comp comp[48];
	struct gantry_latency l;
	uint64_t began;
	unsigned int i;

	CHECK_EQ(gantry_latency_set(q, true), 0);
	for (i = 0; i < 48; i++)
		desc[i] = env_copy(src + 64 * i, dst + 64 * i, 64);
	CHECK_EQ(gantry_submit(q, desc, 16), 16);
	/*
	 * The first descriptor of the first call is the sample that is being measured: its time
	 * includes this pause.
	 */
	for (began = rte_rdtsc(); ns_since(began) < PAUSE_NS;)
		;
	CHECK_EQ(gantry_submit(q, desc + 16, 32), 32);
	env_collect(q, comp, 48);
	/* The first of these polls ends the sample; later polls must not count it again. */
	for (i = 0; i < 3; i++)
		gantry_poll(q, NULL, 0);
	gantry_latency_get(q, GANTRY_OP_COPY, &l);
	CHECK_EQ(l.count, 1);
	CHECK(l.max_ns >= PAUSE_NS);
	env_queue_done(q);
}

static void
switched_off_nothing_is_measured_and_no_call_looks_closer(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	const struct gantry_desc copy = env_copy(src, dst, 64);
	const struct gantry_desc fill = {.op = GANTRY_OP_FILL, .dst = (uintptr_t)dst, .len = 64};
	struct gantry_latency l;
	struct gantry_comp comp;

	CHECK_EQ(gantry_latency_set(q, false), 0);
	CHECK_EQ(gantry_latency_set(q, true), 0);
	do_slowly(q, &fill, 0);
	do_slowly(q, &copy, 0);
	CHECK_EQ(q->view.expect, 0);
	CHECK_EQ(gantry_latency_set(q, false), 0);
	do_slowly(q, &copy, 0);
	do_slowly(q, &copy, 0);
	gantry_poll(q, NULL, 0);
	CHECK(q->view.fenced || q->view.expect != 0);
	gantry_latency_get(q, GANTRY_OP_COPY, &l);
	CHECK_EQ(l.count, 0);
	gantry_latency_get(q, GANTRY_OP_FILL, &l);
	CHECK_EQ(l.count, 1);
	/*
	 * When the measurement is switched on again, all counts are zero. Descriptors that were
	 * submitted before do not count.
	 */
	CHECK_EQ(gantry_latency_set(q, true), 0);
	do_slowly(q, &copy, 0);
	do_slowly(q, &copy, 0);
	gantry_poll(q, NULL, 0);
	gantry_latency_get(q, GANTRY_OP_COPY, &l);
	CHECK_EQ(l.count, 2);
	CHECK_EQ(gantry_submit(q, &copy, 1), 1);
	CHECK_EQ(gantry_latency_set(q, true), 0);
	env_collect(q, &comp, 1);
	gantry_poll(q, NULL, 0);
	gantry_latency_get(q, GANTRY_OP_COPY, &l);
	CHECK_EQ(l.count, 0);
	CHECK_EQ(l.max_ns, 0);
	gantry_latency_get(q, GANTRY_OP_FILL, &l);
	CHECK_EQ(l.count, 0);
	CHECK_EQ(l.max_ns, 0);
	env_queue_done(q);
}

/*
 * At the last look before its completion, the measured NOP waits behind its fence, and its slot
 * still has the operation of an earlier descriptor. The latency must be that of a NOP.
 */
static void
a_descriptor_that_waits_is_measured_as_its_operation(void)
{
	struct gantry_queue *q;
	struct gantry_desc d[2] = {env_copy(src, dst, 64), env_copy(src, dst + 64, 64)};
	const struct gantry_desc nop = {.op = GANTRY_OP_NOP, .flags = GANTRY_DESC_FENCE};
	struct gantry_latency latency;
	struct gantry_comp comp[2];

	if (!env_is_pumped())
		return;
	q = env_queue(g, 2);
	CHECK_EQ(gantry_latency_set(q, true), 0);
	d[0].imm = 1; /* refused, so it needs no hardware */
	CHECK_EQ(gantry_submit(q, d, 2), 2);
	CHECK_EQ(gantry_poll(q, comp, 1), 1);
	CHECK_EQ(comp[0].status, GANTRY_BAD_FIELD);
	CHECK_EQ(gantry_submit(q, &nop, 1), 1);
	CHECK_EQ(gantry_poll(q, comp, 1), 0);
	env_pump();
	CHECK_EQ(gantry_poll(q, comp, 2), 2);
	CHECK_EQ(gantry_poll(q, comp, 1), 0);
	gantry_latency_get(q, GANTRY_OP_NOP, &latency);
	CHECK_EQ(latency.count, 1);
	gantry_latency_get(q, GANTRY_OP_COPY, &latency);
	CHECK_EQ(latency.count, 1);
	env_queue_done(q);
}

static const struct check_case cases[] = {
	{"a descriptor that waits is measured as its operation",
		a_descriptor_that_waits_is_measured_as_its_operation},
	{"every CQE is counted, even several in one poll",
		every_cqe_is_counted_also_several_in_one_poll},
	{"each connection has one doorbell for a burst",
		each_connection_has_one_doorbell_for_a_burst},
	{"another thread can read while the owner works",
		another_thread_reads_while_the_owner_works},
	{"a bucket has the numbers between its neighbours",
		a_bucket_has_the_numbers_between_its_neighbours},
	{"percentiles are those of the sorted numbers, or at most an eighth more",
		percentiles_are_those_of_the_sorted_numbers_or_an_eighth_more},
	{"a latency is the time between submitting and polling",
		a_latency_is_the_time_between_submitting_and_polling},
	{"only one descriptor is measured at a time", only_one_descriptor_is_watched_at_a_time},
	{"if measuring is off, no call measures anything",
		switched_off_nothing_is_measured_and_no_call_looks_closer},
#ifdef EFLAGS_TRAP
	{"completed never exceeds submitted, wherever the reader is interrupted",
		completed_never_exceeds_submitted_wherever_the_reader_is_interrupted},
#endif
};

int
main(int argc, char **argv)
{
	env_init(0);
	arena_create(NULL);
	return arena_run(cases, RTE_DIM(cases), argc, argv);
}
