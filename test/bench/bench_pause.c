/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time of one copy of 64 bytes after a pause: by a worker whose lcore polls (GANTRY_IDLE_SPIN),
 * and by DPDK's dma_skeleton, whose thread sleeps when it is idle. The main thread sleeps for the
 * pause, then it enqueues the copy and polls for its completion. The measured time starts before
 * the main thread enqueues.
 *
 * The worker and dma_skeleton are measured alternately, one round each, so other load on the
 * machine affects both. Prints the medians of all copies, the 99th percentiles, the ratios of these
 * figures, and the ratio of the rounds' medians. No time makes it fail.
 *
 * usage: bench_pause own      each lcore has a CPU of its own
 *        bench_pause shared   both lcores may run on the same two CPUs
 */
#define ALLOW_EXPERIMENTAL_API /* dmadev */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_dmadev.h>
#include <rte_eal.h>

#include "bench_eal.h"
#include "bench_median.h"
#include "gantry.h"

#define ROUNDS   21
#define COPIES   50 /* number of copies in a round, either by the worker or by dma_skeleton */
#define PAUSE_NS 200000
#define LEN      64u
#define MEM_LEN  ((size_t)4096)

static uint8_t *mem;
static struct gantry_worker *worker;
static int16_t skeleton;

static void
must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_pause: %s\n", what);
	exit(EXIT_FAILURE);
}

static void
copy_by_gantry(void)
{
	const struct gantry_desc d = {.op = GANTRY_OP_COPY,
		.src = (uintptr_t)mem,
		.dst = (uintptr_t)mem + MEM_LEN / 2,
		.len = LEN};
	struct gantry_comp comp;

	must(gantry_enqueue_burst(worker, &d, 1) == 1, "the ring is full");
	while (gantry_dequeue_burst(worker, &comp, 1) == 0)
		;
	must(comp.status == GANTRY_OK, "a copy failed");
}

static void
copy_by_skeleton(void)
{
	bool error = false;
	uint16_t last;

	must(rte_dma_copy(skeleton, 0, (uintptr_t)mem, (uintptr_t)mem + MEM_LEN / 2, LEN,
		     RTE_DMA_OP_FLAG_SUBMIT) >= 0,
		"dma_skeleton is full");
	while (rte_dma_completed(skeleton, 0, 1, &last, &error) == 0)
		;
	must(!error, "dma_skeleton failed");
}

/* Makes one round of copies. us[i]: microseconds of copy i. */
static void
run(void (*copy)(void), double us[COPIES])
{
	unsigned int i;

	for (i = 0; i < COPIES; i++) {
		uint64_t start;

		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
		start = rte_rdtsc();
		copy();
		us[i] = (rte_rdtsc() - start) * 1e6 / rte_get_tsc_hz();
	}
}

/* Times of all copies by the worker, or of all copies by dma_skeleton. */
struct times {
	double median, p99, most;
};

static struct times
print_side(const char *name, double us[ROUNDS * COPIES])
{
	struct times t = {.median = bench_median(us, ROUNDS * COPIES)};

	/* median() has sorted us[]. */
	t.p99 = us[ROUNDS * COPIES * 99 / 100];
	t.most = us[ROUNDS * COPIES - 1];
	printf("  %-14s median %8.1f us, 99 %% below %8.1f us, most %8.1f us\n", name, t.median,
		t.p99, t.most);
	return t;
}

static void
measure(void)
{
	static double by_gantry[ROUNDS * COPIES], by_skeleton[ROUNDS * COPIES];
	double ratio[ROUNDS], a[COPIES], b[COPIES], median;
	struct times gantry, skel;
	unsigned int r;

	for (r = 0; r < ROUNDS; r++) {
		must(gantry_worker_start(worker) == 0, "the worker does not start");
		run(copy_by_gantry, a);
		must(gantry_worker_stop(worker) == 0, "the worker does not stop");
		must(rte_dma_start(skeleton) == 0, "dma_skeleton does not start");
		run(copy_by_skeleton, b);
		must(rte_dma_stop(skeleton) == 0, "dma_skeleton does not stop");
		memcpy(&by_gantry[r * COPIES], a, sizeof(a));
		memcpy(&by_skeleton[r * COPIES], b, sizeof(b));
		ratio[r] = bench_median(a, COPIES) / bench_median(b, COPIES);
	}
	gantry = print_side("worker", by_gantry);
	skel = print_side("dma_skeleton", by_skeleton);
	median = bench_median(ratio, ROUNDS);
	printf("  ratios: of the medians %.2f, at 99 %% %.2f; of the rounds' medians: median %.2f, least %.2f, most %.2f\n",
		gantry.median / skel.median, gantry.p99 / skel.p99, median, ratio[0],
		ratio[ROUNDS - 1]);
}

static void
open_worker(struct gantry **g, struct gantry_mem **m)
{
	must(gantry_create(&(struct gantry_conf){0}, g) == 0, "there is no mlx5 device");
	must(gantry_mem_register(*g, mem, MEM_LEN, 0, m) == 0, "the memory is refused");
	must(gantry_worker_create(*g, 1, NULL, &worker) == 0, "there is no worker");
}

static void
open_skeleton(void)
{
	const struct rte_dma_conf conf = {.nb_vchans = 1};
	const struct rte_dma_vchan_conf vchan = {.direction = RTE_DMA_DIR_MEM_TO_MEM,
		.nb_desc = 64};

	must(rte_eal_hotplug_add("vdev", "dma_skeleton", "lcore=1") == 0,
		"there is no dma_skeleton");
	skeleton = rte_dma_get_dev_id_by_name("dma_skeleton");
	must(skeleton >= 0 && rte_dma_configure(skeleton, &conf) == 0 &&
			rte_dma_vchan_setup(skeleton, 0, &vchan) == 0,
		"dma_skeleton refuses its settings");
}

static void
start_eal(const char *how)
{
	unsigned int last = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 1 : 0;
	char lcores[64];

	if (strcmp(how, "own") == 0)
		snprintf(lcores, sizeof(lcores), "0@0,1@%u", last);
	else
		snprintf(lcores, sizeof(lcores), "(0,1)@(0-%u)", last);
	must(bench_start_eal("bench_pause", "64", lcores), "EAL did not start: its lines say why");
	printf("one copy of %u bytes after a pause of %u us; lcores %s\n", LEN, PAUSE_NS / 1000,
		lcores);
}

int
main(int argc, char **argv)
{
	struct gantry_mem *m;
	struct gantry *g;

	must(argc == 2 && (strcmp(argv[1], "own") == 0 || strcmp(argv[1], "shared") == 0),
		"usage: bench_pause own|shared");
	setvbuf(stdout, NULL, _IOLBF, 0);
	start_eal(argv[1]);
	mem = mmap(NULL, MEM_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(mem != MAP_FAILED, "no memory");
	memset(mem, 1, MEM_LEN);
	open_worker(&g, &m);
	open_skeleton();
	measure();
	must(gantry_worker_destroy(worker) == 0 && gantry_mem_unregister(m, 1000) == 0 &&
			gantry_destroy(g) == 0,
		"the engine does not end");
	rte_eal_cleanup();
	return 0;
}
