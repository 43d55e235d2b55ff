/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions that a program executes for one 64-byte copy by a DMA device of DPDK, from
 * rte_dma_copy() to rte_dma_completed().
 *
 * Every round enqueues and submits a burst; then the device executes it, which is not measured;
 * then one call returns all completions.
 *
 * SOFTHCA_THREADS must be 0.
 *
 * usage: bench_dma times
 *            prints CSV: the time of copies by length, by the emulated adapter, dma_skeleton and
 *            memcpy(3)
 *        bench_dma count mlx5|skeleton BURST [BYTES]
 *            for callgrind: measured_enqueue(), measured_completed() and their callees make
 *            bursts of copies of BYTES (64); prints how many
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_bus_vdev.h>
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_dmadev.h>
#include <rte_eal.h>
#include <rte_malloc.h>

#include <softhca.h>

#include "bench_eal.h"
#include "bench_median.h"
#include "check.h"

#define LEN_MIN   64u
#define LEN_MAX   ((uint32_t)1 << 20)
#define BURST_MAX 256
#define N_PAGES   64u
#define PAGE_LEN  4096u
#define RING      512
/*
 * Number of measured rounds. A quarter of this number runs before, without measurement. Long copies
 * have fewer rounds.
 */
#define N_ROUNDS  256
#define COUNT_LEN ((uint64_t)256 << 20) /* approximate number of bytes in all rounds */

static uint64_t from[BURST_MAX], to[BURST_MAX];
static uint32_t length = LEN_MIN;
static bool is_skeleton;

static void
must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_dma: %s\n", what);
	exit(EXIT_FAILURE);
}

/* ---- what is measured */

static __rte_always_inline bool
enqueue(int16_t id, unsigned int burst)
{
	unsigned int i;

	for (i = 0; i < burst; i++)
		if (rte_dma_copy(id, 0, from[i], to[i], length, 0) < 0)
			return false;
	return rte_dma_submit(id, 0) == 0;
}

static __rte_always_inline unsigned int
completed(int16_t id, unsigned int burst)
{
	uint16_t last;
	bool error;

	return rte_dma_completed(id, 0, burst, &last, &error);
}

static __rte_noinline bool
measured_enqueue(int16_t id, unsigned int burst)
{
	return enqueue(id, burst);
}

static __rte_noinline unsigned int
measured_completed(int16_t id, unsigned int burst)
{
	return completed(id, burst);
}

/* ---- setting up */

static int16_t
open_device(const char *name)
{
	const struct rte_dma_conf conf = {.nb_vchans = 1};
	const struct rte_dma_vchan_conf vchan = {
		.direction = RTE_DMA_DIR_MEM_TO_MEM,
		.nb_desc = RING,
	};
	int16_t id;

	must(rte_vdev_init(name, NULL) == 0, "there is no such device");
	id = rte_dma_get_dev_id_by_name(name);
	must(rte_dma_configure(id, &conf) == 0 && rte_dma_vchan_setup(id, 0, &vchan) == 0 &&
			rte_dma_start(id) == 0,
		"the device does not start");
	return id;
}

static uint8_t *
allocate(size_t len)
{
	uint8_t *mem = rte_malloc(NULL, len, PAGE_LEN);

	must(mem != NULL, "no memory");
	memset(mem, 1, len);
	return mem;
}

static void
draw_addresses(void)
{
	uint32_t places = RTE_MAX(N_PAGES * PAGE_LEN / length, 32u);
	uint8_t *mem = allocate((size_t)2 * places * length);
	uint64_t seed = 1;
	unsigned int i;

	for (i = 0; i < BURST_MAX; i++) {
		from[i] = (uintptr_t)mem + check_random(&seed) % places * length;
		to[i] = (uintptr_t)mem + (places + check_random(&seed) % places) * length;
	}
}

/* Waits until the device is idle: dma_skeleton, which has a thread, or the emulated adapter. */
static void
run_device(int16_t id)
{
	enum rte_dma_vchan_status status;

	while (softhca_pump() != 0)
		;
	while (is_skeleton && rte_dma_vchan_status(id, 0, &status) == 0 &&
		status != RTE_DMA_VCHAN_IDLE)
		rte_delay_us_sleep(10);
}

static void
rounds(int16_t id, unsigned int burst, unsigned int n, bool counted)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		must(counted ? measured_enqueue(id, burst) : enqueue(id, burst),
			"the device is full");
		run_device(id);
		must((counted ? measured_completed(id, burst) : completed(id, burst)) == burst,
			"completions are missing");
	}
}

static void
count(const char *name, unsigned int burst)
{
	uint64_t n = RTE_MAX(RTE_MIN(COUNT_LEN / length / burst, (uint64_t)N_ROUNDS), UINT64_C(4));
	int16_t id;

	is_skeleton = strcmp(name, "skeleton") == 0;
	id = open_device(is_skeleton ? "dma_skeleton" : "dma_mlx5_0");
	draw_addresses();
	rounds(id, burst, n / 4, false);
	rounds(id, burst, n, true);
	printf("%u\n", (unsigned int)n * burst);
	rte_dma_stop(id);
}

/* ---- times */

/* bytes of all sources; the destinations have as many bytes */
#define WALK_LEN  ((size_t)16 << 20)
#define N_TIMES   31
#define TIME_LEN  ((uint64_t)8 << 20) /* smallest number of bytes in one measurement */
#define TIME_OPS  2048                /* largest number of copies in one measurement */
#define IN_FLIGHT 32u

enum by {
	BY_MEMCPY,
	BY_MLX5,
	BY_SKELETON,
	N_BY
};

static const char *const by_name[] = {"memcpy", "dma_mlx5", "dma_skeleton"};
static uint8_t *walk_from, *walk_to;
static size_t walked;

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Returns the next offset of the walk through the memory. */
static size_t
step(uint32_t len)
{
	size_t at = walked;

	walked = at + 2 * (size_t)len <= WALK_LEN ? at + len : 0;
	return at;
}

static void
copy(enum by by, int16_t id, uint32_t len)
{
	size_t at = step(len);

	if (by == BY_MEMCPY)
		memcpy(walk_to + at, walk_from + at, len);
	else
		must(rte_dma_copy(id, 0, (uintptr_t)walk_from + at, (uintptr_t)walk_to + at, len,
			     0) >= 0,
			"the device is full");
}

/* Submits IN_FLIGHT copies, and waits until they are done. */
static void
finish(enum by by, int16_t id)
{
	unsigned int got = 0;
	uint16_t last;
	bool error;

	must(rte_dma_submit(id, 0) == 0, "submitting");
	while (got < IN_FLIGHT) {
		if (by == BY_MLX5)
			softhca_pump();
		got += rte_dma_completed(id, 0, IN_FLIGHT - got, &last, &error);
		must(!error, "a copy has failed");
	}
}

/* Executes n copies, IN_FLIGHT at a time. Returns the ns of one copy. */
static double
time_copies(enum by by, int16_t id, uint32_t len, unsigned int n)
{
	double start = now_ns();
	unsigned int i;

	for (i = 0; i < n; i++) {
		copy(by, id, len);
		if (by != BY_MEMCPY && i % IN_FLIGHT == IN_FLIGHT - 1)
			finish(by, id);
	}
	return (now_ns() - start) / n;
}

/*
 * The emulated adapter, dma_skeleton and memcpy(3) are measured alternately, so other load on the
 * machine affects all of them.
 */
static void
time_length(const int16_t id[N_BY], uint32_t len)
{
	unsigned int n = RTE_MIN(RTE_ALIGN(TIME_LEN / len, IN_FLIGHT), (uint64_t)TIME_OPS), i, by;
	double ns[N_BY][N_TIMES], ratio[N_BY][N_TIMES], middle;

	for (i = 0; i < N_TIMES; i++)
		for (by = 0; by < N_BY; by++) {
			ns[by][i] = time_copies(by, id[by], len, n);
			ratio[by][i] = ns[BY_MEMCPY][i] / ns[by][i];
		}
	for (by = 0; by < N_BY; by++) {
		middle = bench_median(ns[by], N_TIMES);
		printf("length,%u,%s,%u,%u,%.1f,%.1f,%.0f,%.3f,%.3f\n", len, by_name[by], len,
			by == BY_MEMCPY ? 1 : IN_FLIGHT, middle, ns[by][0], 1e9 / middle,
			len / middle, bench_median(ratio[by], N_TIMES));
	}
}

static void
times(void)
{
	const int16_t id[N_BY] = {-1, open_device("dma_mlx5_0"), open_device("dma_skeleton")};
	uint32_t len;

	walk_from = allocate(WALK_LEN);
	walk_to = allocate(WALK_LEN);
	printf("axis,x,series,length,burst,ns,ns_least,copies_per_s,gbytes_per_s,to_memcpy\n");
	for (len = LEN_MIN; len <= LEN_MAX; len *= 4)
		time_length(id, len);
	rte_dma_stop(id[BY_MLX5]);
	rte_dma_stop(id[BY_SKELETON]);
}

int
main(int argc, char **argv)
{
	unsigned int burst = argc >= 4 ? (unsigned int)atoi(argv[3]) : 0;
	bool timed = argc == 2 && strcmp(argv[1], "times") == 0;

	if (argc == 5)
		length = (uint32_t)atoi(argv[4]);
	must(timed || ((argc == 4 || argc == 5) && strcmp(argv[1], "count") == 0 && burst >= 1 &&
			      burst <= BURST_MAX && length >= LEN_MIN && length <= LEN_MAX),
		"usage: bench_dma times | count mlx5|skeleton BURST [BYTES]");
	must(bench_start_eal(argv[0], "256", "0"), "EAL does not start");
	if (timed)
		times();
	else
		count(argv[2], burst);
	rte_eal_cleanup();
	return 0;
}
