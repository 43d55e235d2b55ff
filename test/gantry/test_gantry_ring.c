/* SPDX-License-Identifier: BSD-3-Clause */
/* Ring mode: workers on their lcores, full rings, stop and start, refused calls. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#include "gantry_arena.h"

#define N_WORKERS 3

/*
 * Descriptor n of a feed writes inside slot n % PLACES of dst, but not to the slot's first or last
 * byte.
 */
#define PLACES    1024
#define PLACE_LEN 256
#define UNTOUCHED 0xe5

/* Number of descriptors for each worker: enough for many laps of the rings. */
#ifdef GANTRY_ALLOC_LIBC
#define GOAL 5000 /* few descriptors, because sanitizers are slow */
#else
#define GOAL 30000
#endif

/*
 * A worker, the number of descriptors that the main lcore enqueued, and the number of completions
 * that it dequeued.
 */
struct feed {
	struct gantry_worker *w;
	uint8_t *dst; /* PLACES * PLACE_LEN */
	uint64_t put, got, bad, bytes;
};

static_assert(N_WORKERS * PLACES * PLACE_LEN <= ARENA_LEN, "each feed has destinations of its own");

static struct gantry_worker *
worker_on(unsigned int lcore, uint32_t depth, uint32_t ring_size, uint16_t burst)
{
	const struct gantry_worker_conf conf = {
		.queue.depth = depth,
		.ring_size = ring_size,
		.burst = burst,
	};
	struct gantry_worker *w;

	CHECK_EQ(gantry_worker_create(g, lcore, &conf, &w), 0);
	return w;
}

static uint8_t *
place(const struct feed *f, uint64_t n)
{
	return f->dst + n % PLACES * PLACE_LEN;
}

/* Descriptor n of a feed. Every seventh descriptor is wrong. The cookie is n. */
static struct gantry_desc
nth(const struct feed *f, uint64_t n)
{
	struct gantry_desc d = env_copy(src + n % 1000, place(f, n) + 1 + n % 8, 1 + n % 200);

	d.cookie = n;
	if (n % 7 == 3)
		d.dst = 0;
	return d;
}

static unsigned int
feed_put(struct feed *f, unsigned int n)
{
	struct gantry_desc desc[128];
	unsigned int i;

	for (i = 0; i < n; i++) {
		CHECK(f->put + i < f->got + PLACES);
		desc[i] = nth(f, f->put + i);
		memset(place(f, f->put + i), UNTOUCHED, PLACE_LEN);
	}
	n = gantry_enqueue_burst(f->w, desc, n);
	/* The caller may reuse the memory after the call. */
	memset(desc, 0xff, sizeof(desc));
	f->put += n;
	return n;
}

/*
 * Checks that the slot of descriptor n has the bytes that it copied, and that the bytes around them
 * did not change.
 */
static void
check_place(const struct feed *f, uint64_t n)
{
	const struct gantry_desc d = nth(f, n);
	uint8_t want[PLACE_LEN];

	memset(want, UNTOUCHED, sizeof(want));
	if (d.dst != 0)
		memcpy(want + (d.dst - (uintptr_t)place(f, n)), (void *)(uintptr_t)d.src, d.len);
	CHECK(check_bytes(place(f, n), want, sizeof(want), "a place of the feed"));
}

static unsigned int
feed_take(struct feed *f, unsigned int n)
{
	struct gantry_comp comp[128];
	unsigned int i;

	n = env_dequeue(f->w, comp, n);
	for (i = 0; i < n; i++, f->got++) {
		struct gantry_desc d = nth(f, f->got);

		CHECK_EQ(comp[i].cookie, d.cookie);
		CHECK_EQ(comp[i].op, d.op);
		CHECK_EQ(comp[i].len, d.len);
		CHECK_EQ(comp[i].status, d.dst == 0 ? GANTRY_NOT_REGISTERED : GANTRY_OK);
		check_place(f, f->got);
		if (d.dst == 0)
			f->bad++;
		else
			f->bytes += d.len;
	}
	return n;
}

static void
feed_drain(struct feed *f)
{
	uint64_t end = env_patience();

	while (f->got < f->put)
		if (feed_take(f, 128) == 0)
			CHECK(rte_get_timer_cycles() < end);
}

/* Compares the engine's counters with those of the feed. */
static void
feed_check(const struct feed *f)
{
	struct gantry_stats s = env_stats(gantry_worker_queue(f->w));
	uint64_t sum = 0;
	int i;

	CHECK_EQ(s.submitted, f->put);
	CHECK_EQ(s.completed, f->got);
	CHECK_EQ(s.bytes, f->bytes);
	CHECK_EQ(s.by_status[GANTRY_OK], f->got - f->bad);
	CHECK_EQ(s.by_status[GANTRY_NOT_REGISTERED], f->bad);
	for (i = 0; i < GANTRY_STATUS_MAX; i++)
		sum += s.by_status[i];
	CHECK_EQ(sum, s.completed);
	CHECK_EQ(s.recoveries, 0);
}

static void
feed_done(struct feed *f)
{
	CHECK_EQ(gantry_worker_destroy(f->w), 0);
}

/* ------------------------------------------------------------------ cases */

static void
each_worker_hands_back_everything_once_and_in_order(void)
{
	unsigned int n_workers, i;

	for (n_workers = 1; n_workers <= N_WORKERS; n_workers++) {
		struct feed feed[N_WORKERS] = {0};
		uint64_t seed = n_workers, goal = GOAL, end = env_patience();
		bool busy = true;

		for (i = 0; i < n_workers; i++) {
			feed[i].w = worker_on(i + 1, 64 << i, 256, 1 + 31 * i);
			feed[i].dst = dst + i * PLACES * PLACE_LEN;
		}
		CHECK_EQ(gantry_start(g), 0);
		while (busy) {
			busy = false;
			for (i = 0; i < n_workers; i++) {
				unsigned int n = check_random(&seed) % 128;

				feed_put(&feed[i], RTE_MIN(n, goal - feed[i].put));
				feed_take(&feed[i], check_random(&seed) % 128);
				busy |= feed[i].got < goal;
			}
			CHECK(rte_get_timer_cycles() < end);
		}
		CHECK_EQ(gantry_stop(g), 0);
		for (i = 0; i < n_workers; i++) {
			feed_check(&feed[i]);
			feed_done(&feed[i]);
		}
	}
}

static void
full_rings_push_back_and_lose_nothing(void)
{
	struct feed f = {.w = worker_on(1, 16, 64, 32), .dst = dst};
	uint64_t end = env_patience();
	unsigned int n;

	CHECK_EQ(feed_put(&f, 100), 64);
	CHECK_EQ(feed_put(&f, 1), 0);
	CHECK_EQ(gantry_start(g), 0);
	/*
	 * No completions are dequeued. So the rings must accept exactly 64 completions and 64
	 * descriptors.
	 */
	while (f.put < 128) {
		feed_put(&f, 100);
		CHECK(rte_get_timer_cycles() < end);
	}
	rte_delay_ms(20);
	CHECK_EQ(feed_put(&f, 100), 0);
	CHECK_EQ(env_stats(gantry_worker_queue(f.w)).submitted, 64);
	/*
	 * One free entry in the ring of completions lets the worker take one descriptor from the
	 * other ring.
	 */
	CHECK_EQ(feed_take(&f, 1), 1);
	while ((n = feed_put(&f, 100)) == 0)
		CHECK(rte_get_timer_cycles() < end);
	CHECK_EQ(n, 1);
	feed_drain(&f);
	CHECK_EQ(gantry_stop(g), 0);
	feed_check(&f);
	feed_done(&f);
}

static void
stopping_finishes_what_is_in_flight_and_keeps_the_rest(void)
{
	struct feed f = {.w = worker_on(2, 8, 128, 4), .dst = dst};
	struct gantry_desc back[128];
	uint64_t before = 0;
	unsigned int round, n, i;

	for (round = 0; round < 50; round++) {
		while (feed_put(&f, 64) != 0)
			;
		CHECK_EQ(gantry_start(g), 0);
		if (round % 3 == 0)
			rte_delay_us_block(round * 10);
		CHECK_EQ(gantry_stop(g), 0);
		CHECK_EQ(gantry_in_flight(gantry_worker_queue(f.w)), 0);
		/*
		 * Each descriptor that the worker took from its ring has its completion in the
		 * other ring.
		 */
		while (feed_take(&f, 128) != 0)
			;
		CHECK_EQ(env_stats(gantry_worker_queue(f.w)).submitted, f.got);
		CHECK(f.got >= before);
		before = f.got;
	}
	/* gantry_reclaim_burst() returns the descriptors that the worker did not take, in order. */
	while ((n = gantry_reclaim_burst(f.w, back, 100)) != 0) {
		struct feed shadow = f;

		for (i = 0; i < n; i++) {
			struct gantry_desc d = nth(&shadow, f.got + i);

			CHECK(memcmp(&back[i], &d, sizeof(d)) == 0);
		}
		f.got += n;
	}
	CHECK_EQ(f.got, f.put);
	feed_done(&f);
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
the_rules_of_workers_are_kept(void)
{
	static const struct gantry_worker_conf bad[] = {{.ring_size = 3}, {.burst = 257},
		{.queue.depth = 5}, {.ring_size = 1u << 30}};
	struct gantry_worker *w, *none = NULL;
	struct gantry_desc desc = {.op = GANTRY_OP_NOP, .cookie = 7};
	struct gantry_comp comp;
	static atomic_bool stop;
	uint64_t end = env_patience();
	unsigned int i;

	CHECK_EQ(gantry_worker_create(g, rte_get_main_lcore(), NULL, &none), -EINVAL);
	CHECK_EQ(gantry_worker_create(g, 77, NULL, &none), -EINVAL);
	CHECK_EQ(gantry_worker_create(g, RTE_MAX_LCORE, NULL, &none), -EINVAL);
	CHECK_EQ(gantry_worker_create(g, UINT32_MAX, NULL, &none), -EINVAL);
	for (i = 0; i < RTE_DIM(bad); i++)
		CHECK_EQ(gantry_worker_create(g, 1, &bad[i], &none), -EINVAL);
	CHECK_EQ(gantry_worker_create(g, 1, NULL, &w), 0);
	CHECK(none == NULL);
	CHECK_EQ(gantry_stop(g), -EALREADY);
	CHECK_EQ(gantry_queue_destroy(gantry_worker_queue(w)), -EBUSY);
	CHECK_EQ(gantry_destroy(g), -EBUSY);

	atomic_store(&stop, false);
	CHECK_EQ(rte_eal_remote_launch(spin, &stop, 1), 0);
	CHECK_EQ(gantry_start(g), -EBUSY);
	atomic_store(&stop, true);
	rte_eal_wait_lcore(1);

	CHECK_EQ(gantry_start(g), 0);
	CHECK_EQ(gantry_start(g), -EALREADY);
	CHECK_EQ(gantry_worker_destroy(w), -EBUSY);
	CHECK_EQ(gantry_reclaim_burst(w, &desc, 1), 0);
	CHECK_EQ(gantry_enqueue_burst(w, &desc, 1), 1);
	while (env_stats(gantry_worker_queue(w)).completed != 1)
		CHECK(rte_get_timer_cycles() < end);
	CHECK_EQ(gantry_stop(g), 0);
	/* The ring has a completion: -EBUSY. */
	CHECK_EQ(gantry_worker_destroy(w), -EBUSY);
	CHECK_EQ(gantry_dequeue_burst(w, &comp, 1), 1);
	CHECK_EQ(comp.cookie, 7);
	/* The ring has a descriptor: -EBUSY. */
	CHECK_EQ(gantry_enqueue_burst(w, &desc, 1), 1);
	CHECK_EQ(gantry_worker_destroy(w), -EBUSY);
	CHECK_EQ(gantry_reclaim_burst(w, &desc, 1), 1);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	/* The lcore can be given to another worker. */
	CHECK_EQ(gantry_worker_create(g, 1, NULL, &w), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
}

/*
 * Worker 1 writes to memory of worker 2 and reads it back, while both workers run. The bytes that
 * it reads must be those that it wrote.
 */
static void
workers_reach_each_other(void)
{
	struct gantry_worker *a = worker_on(1, 64, 128, 32), *b = worker_on(2, 64, 128, 32);
	struct gantry_desc desc[2];
	struct gantry_comp comp;
	uint64_t end = env_patience();
	unsigned int round, i;
	uint16_t pa, pb;

	env_connect(gantry_worker_queue(a), &pa, gantry_worker_queue(b), &pb);
	CHECK_EQ(gantry_start(g), 0);
	for (round = 0; round < 20; round++) {
		env_fill(src, 8192, round);
		memset(src + 8192, 0, 8192);
		desc[0] = env_copy(src, dst, 8192);
		desc[0].op = GANTRY_OP_WRITE;
		desc[0].peer = pa;
		desc[0].remote_key = gantry_mem_remote_key(dst_mem);
		desc[1] = env_copy(dst, src + 8192, 8192);
		desc[1].op = GANTRY_OP_READ;
		desc[1].peer = pa;
		desc[1].remote_key = gantry_mem_remote_key(dst_mem);
		desc[1].flags = GANTRY_DESC_FENCE;
		CHECK_EQ(gantry_enqueue_burst(a, desc, 2), 2);
		for (i = 0; i < 2; i++) {
			while (env_dequeue(a, &comp, 1) == 0)
				CHECK(rte_get_timer_cycles() < end);
			CHECK_EQ(comp.status, GANTRY_OK);
		}
		CHECK(env_is_filled(src + 8192, 8192, round));
	}
	CHECK_EQ(gantry_stop(g), 0);
	CHECK_EQ(gantry_worker_destroy(a), 0);
	CHECK_EQ(gantry_worker_destroy(b), 0);
}

/*
 * Memory is registered, so the tree of regions changes while the worker reads it. All descriptors
 * must still have the expected status and bytes.
 */
static void
memory_is_registered_while_workers_run(void)
{
	struct feed f = {.w = worker_on(1, 64, 256, 32), .dst = dst};
	struct gantry_mem *mem[64];
	uint8_t *m = env_map(64 * 4096);
	unsigned int i;

	CHECK_EQ(gantry_start(g), 0);
	for (i = 0; i < 64; i++) {
		CHECK_EQ(gantry_mem_register(g, m + i * 37 % 64 * 4096, 4096, 0, &mem[i]), 0);
		feed_put(&f, 100);
		feed_take(&f, 128);
	}
	feed_drain(&f);
	CHECK_EQ(gantry_stop(g), 0);
	feed_check(&f);
	feed_done(&f);
	for (i = 0; i < 64; i++)
		CHECK_EQ(gantry_mem_unregister(mem[i], 0), 0);
	env_unmap(m, 64 * 4096);
}

static const struct check_case cases[] = {
	{"each worker completes every descriptor, once and in order",
		each_worker_hands_back_everything_once_and_in_order},
	{"full rings accept no more, and lose nothing", full_rings_push_back_and_lose_nothing},
	{"stopping finishes descriptors in flight and keeps the rest",
		stopping_finishes_what_is_in_flight_and_keeps_the_rest},
	{"wrong calls of workers are refused", the_rules_of_workers_are_kept},
	{"workers reach each other", workers_reach_each_other},
	{"memory is registered while workers run", memory_is_registered_while_workers_run},
};

int
main(int argc, char **argv)
{
	env_init(N_WORKERS);
	arena_create(NULL);
	return arena_run(cases, RTE_DIM(cases), argc, argv);
}
