/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program executes for one 64-byte copy by a DMA device of DPDK: from rte_dma_copy() to rte_dma_completed().
 *
 * Every round enqueues a burst and submits it; then the device works, which is not measured; then one call takes all
 * completions.
 *
 * SOFTHCA_THREADS must be 0.
 *
 * usage: bench_dma count mlx5|skeleton BURST   for callgrind: measured_enqueue(), measured_completed() and what they call
 *                                              are N_ROUNDS bursts; prints how many copies those are
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bus_vdev.h>
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_dmadev.h>
#include <rte_eal.h>
#include <rte_malloc.h>

#include <softhca.h>

#include "check.h"

#define LEN       64
#define BURST_MAX 256
#define N_PAGES   64
#define PAGE_LEN  4096
#define RING      512
#define N_WARM    64 /* rounds before the measured ones */
#define N_ROUNDS  256

static uint64_t from[BURST_MAX], to[BURST_MAX];
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
		if (rte_dma_copy(id, 0, from[i], to[i], LEN, 0) < 0)
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

static void
draw_addresses(void)
{
	uint8_t *mem = rte_malloc(NULL, (size_t)2 * N_PAGES * PAGE_LEN, PAGE_LEN);
	uint64_t seed = 1;
	unsigned int i;

	must(mem != NULL, "no memory");
	for (i = 0; i < BURST_MAX; i++) {
		from[i] = (uintptr_t)mem + check_random(&seed) % (N_PAGES * PAGE_LEN / LEN) * LEN;
		to[i] = (uintptr_t)mem + N_PAGES * PAGE_LEN +
			check_random(&seed) % (N_PAGES * PAGE_LEN / LEN) * LEN;
	}
}

/* Returns when the device has nothing to do: dma_skeleton, which has a thread, or the emulated adapter. */
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

int
main(int argc, char **argv)
{
	char *eal[] = {argv[0], "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry", "-m",
		"64", "-l", "0", NULL};
	unsigned int burst = argc == 4 ? (unsigned int)atoi(argv[3]) : 0;
	int16_t id;

	must(burst >= 1 && burst <= BURST_MAX && strcmp(argv[1], "count") == 0,
		"usage: bench_dma count mlx5|skeleton BURST");
	must(rte_eal_init(RTE_DIM(eal) - 1, eal) >= 0, "EAL does not start");
	is_skeleton = strcmp(argv[2], "skeleton") == 0;
	id = open_device(is_skeleton ? "dma_skeleton" : "dma_mlx5_0");
	draw_addresses();
	rounds(id, burst, N_WARM, false);
	rounds(id, burst, N_ROUNDS, true);
	printf("%u\n", N_ROUNDS * burst);
	rte_dma_stop(id);
	rte_eal_cleanup();
	return 0;
}
