/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The adapter transposes a matrix: one descriptor for each column, and one layout for all columns.
 *
 *     gantry_layout_create   a column: one block of 8 bytes in each row
 *     GANTRY_OP_GATHER       a column of the matrix, to a row of the transposed matrix
 *     GANTRY_OP_SCATTER      a row of the transposed matrix, to a column of a third matrix
 *
 * The adapter reads a column through a memory key, which a UMR WQE has given this layout.
 *
 * usage: strided [EAL OPTIONS]      without huge pages: strided --no-huge -m 64
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include "gantry.h"

#define N 64

static struct {
	double matrix[N][N], transposed[N][N], again[N][N];
} memory;

/** Reports which call failed. The log lines before this line say what the user can do. */
static int
failed(const char *call, int rc)
{
	fprintf(stderr, "strided: %s failed: %s. Correct what the lines above name.\n", call,
		rte_strerror(-rc));
	return 1;
}

/**
 * Submits n descriptors, and polls until all have completed. If the queue is full, submits the
 * remaining descriptors later.
 */
static int
run(struct gantry_queue *q, const struct gantry_desc *desc, unsigned int n)
{
	struct gantry_comp comp[16];
	unsigned int submitted = 0, done = 0, n_comp, i;

	while (done < n) {
		submitted += gantry_submit(q, desc + submitted, n - submitted);
		n_comp = gantry_poll(q, comp, RTE_DIM(comp));
		for (i = 0; i < n_comp; i++) {
			if (comp[i].status == GANTRY_OK)
				continue;
			fprintf(stderr,
				"strided: column %" PRIu64
				" failed: %s. gantry_desc.h says what to do.\n",
				comp[i].cookie, gantry_status_name(comp[i].status));
			return 1;
		}
		done += n_comp;
	}
	return 0;
}

static int
transpose(struct gantry_queue *q, uint16_t column)
{
	struct gantry_desc gather[N], scatter[N];
	struct gantry_stats stats;
	unsigned int i, k;

	for (i = 0; i < N * N; i++)
		memory.matrix[i / N][i % N] = i + 1;
	for (i = 0; i < N; i++) {
		/* The layout's first byte is element i of row 0. */
		gather[i] = (struct gantry_desc){
			.op = GANTRY_OP_GATHER,
			.layout = column,
			.cookie = i,
			.src = (uintptr_t)&memory.matrix[0][i],
			.dst = (uintptr_t)memory.transposed[i],
			.len = sizeof(memory.transposed[i]),
		};
		scatter[i] = (struct gantry_desc){
			.op = GANTRY_OP_SCATTER,
			.layout = column,
			.cookie = i,
			.src = (uintptr_t)memory.transposed[i],
			.dst = (uintptr_t)&memory.again[0][i],
			.len = sizeof(memory.transposed[i]),
		};
	}
	/* run() returns after the gathers have completed, so the scatters need no fence. */
	if (run(q, gather, N) != 0 || run(q, scatter, N) != 0)
		return 1;
	for (i = 0; i < N; i++)
		for (k = 0; k < N; k++)
			if (memory.transposed[i][k] != k * N + i + 1) {
				fprintf(stderr, "strided: element %u of row %u is wrong.\n", k, i);
				return 1;
			}
	if (memcmp(memory.matrix, memory.again, sizeof(memory.matrix)) != 0) {
		fprintf(stderr, "strided: the scattered matrix differs from the first one.\n");
		return 1;
	}
	gantry_stats_get(q, &stats);
	printf("strided: transposed %d x %d doubles and back with %" PRIu64 " descriptors, %" PRIu64
	       " WQEs, verified\n",
		N, N, stats.submitted, stats.wqes);
	return 0;
}

int
main(int argc, char **argv)
{
	/*
	 * A round is one row: 8 bytes are used, and the bytes up to the same column of the next row
	 * are skipped.
	 */
	const struct gantry_block element = {
		.len = sizeof(double),
		.skip = (N - 1) * sizeof(double),
	};
	const struct gantry_layout_conf column_conf = {.block = &element, .n = 1, .rounds = N};
	struct gantry *g;
	struct gantry_mem *mem;
	struct gantry_queue *q;
	uint16_t column;
	int rc, result;

	/*
	 * Makes registrations cheaper if DPDK's mlx4 plug-in is loaded. After an error the program
	 * may continue.
	 */
	rc = gantry_before_eal();
	if (rc < 0)
		printf("strided: gantry_before_eal(): %s\n", rte_strerror(-rc));
	rc = rte_eal_init(argc, argv);
	if (rc < 0) {
		fprintf(stderr,
			"strided: EAL did not start: the lines above say why. Without huge pages, add "
			"--no-huge -m 64. While another DPDK program runs, add --file-prefix NAME.\n");
		return 1;
	}
	rc = gantry_create(NULL, &g);
	if (rc < 0)
		return failed("gantry_create()", rc);
	rc = gantry_mem_register(g, &memory, sizeof(memory), 0, &mem);
	if (rc < 0)
		return failed("gantry_mem_register()", rc);
	rc = gantry_layout_create(g, &column_conf, &column);
	if (rc < 0)
		return failed("gantry_layout_create()", rc);
	rc = gantry_queue_create(g, NULL, &q);
	if (rc < 0)
		return failed("gantry_queue_create()", rc);

	result = transpose(q, column);
	if (result != 0)
		return result;

	rc = gantry_queue_destroy(q);
	if (rc < 0)
		return failed("gantry_queue_destroy()", rc);
	rc = gantry_layout_destroy(g, column);
	if (rc < 0)
		return failed("gantry_layout_destroy()", rc);
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
