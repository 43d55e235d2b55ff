/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many regions of the device at once: each is registered, named at random by copies, and removed.
 * Prints the time of a call with 100 regions, 1,000 and so on.
 *
 * usage: test_gantry_many_regions [100 | 1000 | 10000 | 100000 | 1000000]	each takes 4 KiB
 */
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "gantry_engine.h"
#include "gantry_env.h"

/* Regions have gaps, so that an address just outside a region is never registered. */
#define STRIDE   (2 * 4096)
#define BATCH    100
#define BURST    64
#define COPY_LEN 8
#define MAX      1000000
#define STEPS    5 /* measurements with 100, 1000, ... MAX regions */

#ifdef GANTRY_ALLOC_LIBC
#define DEFAULT 1000 /* few regions, because sanitizers are slow */
#else
#define DEFAULT 10000
#endif

/*
 * The time of a call, in nanoseconds of CPU time of the calling thread. If the adapter has no
 * thread (SOFTHCA_THREADS=0), this includes the time in which the adapter executes a copy, because
 * the engine does not wait for another thread.
 */
struct cost {
	double mean;
	/*
	 * The smallest mean time of a batch, while half of the step's regions exist. Other load on
	 * the machine can make a batch longer, but never shorter.
	 */
	double least;
};

struct step {
	uint32_t alive;
	struct cost add, copy, remove;
};

static struct gantry *g;
static struct gantry_queue *q;
static struct gantry_mem *mem[MAX], *dst_mem;
static uint8_t *m, *dst;
static uint32_t n_max;
static uint64_t seed = 1, n_ok, n_refused;

/*
 * Adds n of `all` calls, which took ns nanoseconds together. half_alive: half of the step's regions
 * exist.
 */
static void
cost_add(struct cost *c, uint64_t ns, uint32_t n, uint32_t all, bool half_alive)
{
	double each = (double)ns / n;

	c->mean += (double)ns / all;
	if (half_alive && (c->least == 0 || each < c->least))
		c->least = each;
}

static uint8_t *
region_at(uint32_t i)
{
	return m + (size_t)i * STRIDE;
}

/*
 * Copies from regions with random indices below `to`. Regions with an index below `alive` are
 * registered, the other regions are not.
 */
static uint64_t
copy_at_random(uint32_t to, uint32_t alive)
{
	struct gantry_desc d[BURST];
	struct gantry_comp comp[BURST];
	uint64_t value, start, took;
	uint32_t i, k;

	memset(dst, 0xff, BURST * COPY_LEN);
	for (i = 0; i < BURST; i++) {
		d[i] = env_copy(region_at(check_random(&seed) % to), dst + i * COPY_LEN, COPY_LEN);
		d[i].cookie = i;
	}
	start = env_cpu_ns();
	env_do(q, d, comp, BURST);
	took = env_cpu_ns() - start;
	for (i = 0; i < BURST; i++) {
		k = (d[i].src - (uintptr_t)m) / STRIDE;
		memcpy(&value, dst + i * COPY_LEN, COPY_LEN);
		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].status, k < alive ? GANTRY_OK : GANTRY_NOT_REGISTERED);
		CHECK_EQ(value, k < alive ? k : UINT64_MAX);
		n_ok += k < alive;
		n_refused += k >= alive;
	}
	return took;
}

/*
 * A search visits one node of each level. The root has at least 2 entries, and each other node at
 * least a quarter of GANTRY_REGION_FAN, so the height grows with the logarithm of the number of
 * regions.
 */
static void
check_tree(uint32_t alive)
{
	const struct gantry_region_node *root = atomic_load(&g->regions.root);
	uint64_t least = root->height == 0 ? 1 : 2;
	uint32_t i;

	for (i = 0; i < root->height; i++)
		least *= GANTRY_REGION_FAN / 4;
	/* One more, for the destination of the copies. */
	CHECK_EQ(g->n_regions, alive + 1);
	CHECK(least <= alive + 1, "%u regions, height %u", alive, root->height);
}

static void
add(struct step *s, uint32_t from)
{
	uint32_t all = s->alive - from, i, k;

	for (i = from; i < s->alive; i += BATCH) {
		uint64_t start = env_cpu_ns();

		for (k = i; k < i + BATCH; k++)
			CHECK_EQ(gantry_mem_register(g, region_at(k), 4096, 0, &mem[k]), 0);
		cost_add(&s->add, env_cpu_ns() - start, BATCH, all, i >= s->alive / 2);
		for (k = i; k < i + BATCH; k++)
			memcpy(region_at(k), &(uint64_t){k}, COPY_LEN);
	}
}

static void
copy(struct step *s)
{
	uint32_t rounds = n_max / 50, i;

	for (i = 0; i < rounds; i++)
		cost_add(&s->copy, copy_at_random(s->alive, s->alive), BURST, BURST * rounds, true);
}

static void
remove_to(struct step *s, uint32_t to)
{
	uint32_t i, k;

	for (i = s->alive; i > to; i -= BATCH) {
		uint64_t start = env_cpu_ns();

		for (k = i - BATCH; k < i; k++)
			CHECK_EQ(gantry_mem_unregister(mem[k], 0), 0);
		cost_add(&s->remove, env_cpu_ns() - start, BATCH, s->alive - to, i > s->alive / 2);
	}
}

static void
print(const struct step *s, const struct step *end)
{
	printf("us a call%12s%12s%12s\n", "register", "copy", "remove");
	for (; s != end; s++)
		printf("%9u%12.2f%12.2f%12.2f\n", s->alive, s->add.mean / 1e3, s->copy.mean / 1e3,
			s->remove.mean / 1e3);
}

/*
 * Checks that a cost does not grow linearly with the number of regions, which would be the factor
 * n_max / 100. The factor `part` * n_max / 100 is allowed, because caches are too small and the
 * machine has other load. Other load hardly affects the fastest of many batches. With 1,000 regions
 * there are only 10 batches, so the check needs 10,000 regions.
 */
static void
check_cost(const struct cost *few, const struct cost *many, double part)
{
	if (n_max >= 10000)
		CHECK(many->least < part * n_max / 100 * few->mean, "%.0f ns at 100, then %.0f ns",
			few->mean, many->least);
}

static void
go(void)
{
	struct step steps[STEPS] = {0}, *s, *last;
	struct gantry_stats stats;
	uint32_t alive = 0;

	for (s = steps; alive < n_max; s++) {
		s->alive = alive == 0 ? 100 : alive * 10;
		add(s, alive);
		alive = s->alive;
		check_tree(alive);
		copy(s);
		copy_at_random(n_max, alive);
	}
	last = s - 1;
	do {
		s--;
		alive = s == steps ? 0 : s[-1].alive;
		remove_to(s, alive);
		check_tree(alive);
		copy_at_random(n_max, alive);
		copy_at_random(s->alive, alive);
	} while (s != steps);
	stats = env_stats(q);
	CHECK_EQ(stats.submitted, n_ok + n_refused);
	CHECK_EQ(stats.completed, n_ok + n_refused);
	CHECK_EQ(stats.by_status[GANTRY_OK], n_ok);
	CHECK_EQ(stats.by_status[GANTRY_NOT_REGISTERED], n_refused);
	CHECK_EQ(stats.bytes, n_ok * COPY_LEN);
	print(steps, last + 1);
	check_cost(&steps[0].add, &last->add, 0.1);
	check_cost(&steps[0].copy, &last->copy, 0.5);
	check_cost(&steps[0].remove, &last->remove, 0.1);
}

int
main(int argc, char **argv)
{
	n_max = argc > 1 ? strtoul(argv[1], NULL, 10) : DEFAULT;
	if (n_max != 100 && n_max != 1000 && n_max != 10000 && n_max != 100000 && n_max != MAX) {
		fprintf(stderr, "usage: %s [100 | 1000 | 10000 | 100000 | %u [fork_init]]\n",
			argv[0], MAX);
		return 2;
	}
	/*
	 * ibv_fork_init(3) would make each registration milliseconds longer. The second argument
	 * asks for ibv_fork_init(3).
	 */
	if (argc < 3)
		env_refuse_fork_init();
	env_init(0);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	dst = env_mem(g, 4096, 0, &dst_mem);
	q = env_queue(g, BURST);
	m = env_map((size_t)n_max * STRIDE);
	go();
	env_queue_done(q);
	env_unmap(m, (size_t)n_max * STRIDE);
	return env_done(g, &dst_mem, 1);
}
