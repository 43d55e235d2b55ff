/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Two workers, each on its own lcore, are the stages of a pipeline. The main lcore feeds them.
 *
 *     main lcore         enqueue  first stage  dequeue  main lcore   enqueue  second stage dequeue
 *     block of input  -> [ring] -> lcore 1  -> [ring] -> its number -> [ring] -> lcore 2 -> [ring]
 *                                  input to middle                     middle to output
 *
 * A completion of the first stage means that the block is written, so the second stage may read it.
 *
 * usage: ring_pipeline EAL OPTIONS      three lcores, which may share a CPU; without huge pages:
 *        ring_pipeline --no-huge -m 64 --lcores '(0-2)@0'
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_lcore.h>
#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include "gantry.h"

#define N_STAGES  2
#define N_BLOCKS  1024u
#define BLOCK_LEN 4096
#define BURST     32

/** The input, the middle and the output. */
static char memory[N_STAGES + 1][N_BLOCKS][BLOCK_LEN] __attribute__((aligned(BLOCK_LEN)));

/** Reports which call failed. The log lines before this line say what the user can do. */
static int
failed(const char *call, int rc)
{
	fprintf(stderr, "ring_pipeline: %s failed: %s. Correct what the lines above name.\n", call,
		rte_strerror(-rc));
	return 1;
}

/** Returns the descriptor of block number `block` for a stage. */
static struct gantry_desc
stage_desc(unsigned int stage, uint64_t block)
{
	return (struct gantry_desc){
		.op = GANTRY_OP_COPY,
		.cookie = block,
		.src = (uintptr_t)memory[stage][block],
		.dst = (uintptr_t)memory[stage + 1][block],
		.len = BLOCK_LEN,
	};
}

/**
 * Takes completions of a stage.
 * @return the number of blocks whose numbers were written to block[], at most n; -1 if a copy
 *   failed.
 */
static int
take(struct gantry_worker *w, uint64_t *block, unsigned int n)
{
	struct gantry_comp comp[BURST];
	unsigned int i;

	n = gantry_dequeue_burst(w, comp, n);
	for (i = 0; i < n; i++) {
		if (comp[i].status != GANTRY_OK) {
			fprintf(stderr,
				"ring_pipeline: block %" PRIu64
				" failed: %s. gantry_desc.h says what to do.\n",
				comp[i].cookie, gantry_status_name(comp[i].status));
			return -1;
		}
		block[i] = comp[i].cookie;
	}
	return n;
}

/** The main lcore's loop. It ends when all blocks have left the last stage. */
static int
feed(struct gantry_worker *w[N_STAGES])
{
	struct gantry_desc desc[BURST];
	uint64_t block[BURST];
	unsigned int fed = 0, between = 0, done = 0, n, i;
	int taken;

	while (done < N_BLOCKS) {
		n = RTE_MIN(N_BLOCKS - fed, (unsigned int)BURST);
		for (i = 0; i < n; i++)
			desc[i] = stage_desc(0, fed + i);
		fed += gantry_enqueue_burst(w[0], desc, n);

		/*
		 * `between`: number of blocks that the first stage has copied, but that the second
		 * stage's ring has not accepted yet.
		 */
		taken = take(w[0], block + between, BURST - between);
		if (taken < 0)
			return -1;
		between += taken;
		for (i = 0; i < between; i++)
			desc[i] = stage_desc(1, block[i]);
		n = gantry_enqueue_burst(w[1], desc, between);
		between -= n;
		memmove(block, block + n, between * sizeof(*block));

		taken = take(w[1], (uint64_t[BURST]){0}, BURST);
		if (taken < 0)
			return -1;
		done += taken;
	}
	return 0;
}

int
main(int argc, char **argv)
{
	/* A worker without work sleeps, so the example is fast even on a machine with few CPUs. */
	const struct gantry_worker_conf conf = {.idle = GANTRY_IDLE_SLEEP};
	struct gantry *g;
	struct gantry_mem *mem;
	struct gantry_worker *w[N_STAGES];
	unsigned int lcore = -1;
	int rc, i;

	/*
	 * Makes registrations cheaper if DPDK's mlx4 plug-in is loaded. After an error the program
	 * may continue.
	 */
	rc = gantry_before_eal();
	if (rc < 0)
		printf("ring_pipeline: gantry_before_eal(): %s\n", rte_strerror(-rc));
	rc = rte_eal_init(argc, argv);
	if (rc < 0) {
		fprintf(stderr,
			"ring_pipeline: EAL did not start: the lines above say why. Without huge pages, add "
			"--no-huge -m 64 --lcores '(0-2)@0'. While another DPDK program runs, add --file-prefix NAME.\n");
		return 1;
	}
	if (rte_lcore_count() <= N_STAGES) {
		fprintf(stderr,
			"ring_pipeline: three lcores are needed: give --lcores 0-2, or '(0-2)@0'.\n");
		return 1;
	}
	rc = gantry_create(NULL, &g);
	if (rc < 0)
		return failed("gantry_create()", rc);
	rc = gantry_mem_register(g, memory, sizeof(memory), 0, &mem);
	if (rc < 0)
		return failed("gantry_mem_register()", rc);
	for (i = 0; i < N_STAGES; i++) {
		lcore = rte_get_next_lcore(lcore, 1, 0);
		rc = gantry_worker_create(g, lcore, &conf, &w[i]);
		if (rc < 0)
			return failed("gantry_worker_create()", rc);
	}
	for (i = 0; i < (int)sizeof(memory[0]); i++)
		memory[0][i / BLOCK_LEN][i % BLOCK_LEN] = i * 7 + i / BLOCK_LEN;
	rc = gantry_start(g);
	if (rc < 0)
		return failed("gantry_start()", rc);

	if (feed(w) != 0)
		return 1;
	if (memcmp(memory[0], memory[N_STAGES], sizeof(memory[0])) != 0) {
		fprintf(stderr, "ring_pipeline: the output differs from the input.\n");
		return 1;
	}
	printf("ring_pipeline: %u blocks of %d bytes passed %d lcores, verified\n", N_BLOCKS,
		BLOCK_LEN, N_STAGES);

	rc = gantry_stop(g);
	if (rc < 0)
		return failed("gantry_stop()", rc);
	for (i = 0; i < N_STAGES; i++) {
		rc = gantry_worker_destroy(w[i]);
		if (rc < 0)
			return failed("gantry_worker_destroy()", rc);
	}
	rc = gantry_mem_unregister(mem, 10000);
	if (rc < 0)
		return failed("gantry_mem_unregister()", rc);
	rc = gantry_destroy(g);
	if (rc < 0)
		return failed("gantry_destroy()", rc);
	rc = rte_eal_cleanup();
	if (rc < 0)
		return failed("rte_eal_cleanup()", rc);
	return 0;
}
