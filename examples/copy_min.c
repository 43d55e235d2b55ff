/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The smallest use of the engine: this thread owns a queue and copies one page.
 *
 *     gantry_create, gantry_mem_register, gantry_queue_create
 *         gantry_submit     one descriptor
 *         gantry_poll       until its completion has come
 *     gantry_queue_destroy, gantry_mem_unregister, gantry_destroy
 *
 * usage: copy_min [EAL OPTIONS]      without huge pages: copy_min --no-huge -m 64
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "gantry.h"

#define PAGE_LEN 4096

static char memory[2][PAGE_LEN] __attribute__((aligned(PAGE_LEN)));

/** Reports which call failed. The log lines before this line say what the user can do. */
static int
failed(const char *call, int rc)
{
	fprintf(stderr, "copy_min: %s failed: %s. Correct what the lines above name.\n", call,
		rte_strerror(-rc));
	return 1;
}

static int
copy_page(struct gantry_queue *q)
{
	const struct gantry_desc desc = {
		.op = GANTRY_OP_COPY,
		.cookie = 1,
		.src = (uintptr_t)memory[0],
		.dst = (uintptr_t)memory[1],
		.len = PAGE_LEN,
	};
	struct gantry_comp comp;

	memset(memory[0], 0x5a, PAGE_LEN);
	/*
	 * A full queue accepts nothing; a program would poll and submit again. Here the queue is
	 * empty.
	 */
	while (gantry_submit(q, &desc, 1) != 1)
		;
	while (gantry_poll(q, &comp, 1) != 1)
		;
	if (comp.status != GANTRY_OK) {
		fprintf(stderr, "copy_min: the copy failed: %s. gantry_desc.h says what to do.\n",
			gantry_status_name(comp.status));
		return 1;
	}
	if (memcmp(memory[0], memory[1], PAGE_LEN) != 0) {
		fprintf(stderr, "copy_min: the destination differs from the source.\n");
		return 1;
	}
	printf("copy_min: copied %" PRIu64 " bytes, verified\n", comp.len);
	return 0;
}

int
main(int argc, char **argv)
{
	struct gantry *g;
	struct gantry_mem *mem;
	struct gantry_queue *q;
	int rc, result;

	/*
	 * Makes registrations cheaper if DPDK's mlx4 plug-in is loaded. After an error the program
	 * may continue.
	 */
	rc = gantry_before_eal();
	if (rc < 0)
		printf("copy_min: gantry_before_eal(): %s\n", rte_strerror(-rc));
	rc = rte_eal_init(argc, argv);
	if (rc < 0) {
		fprintf(stderr,
			"copy_min: EAL did not start: the lines above say why. Without huge pages, add "
			"--no-huge -m 64. While another DPDK program runs, add --file-prefix NAME.\n");
		return 1;
	}
	/*
	 * Defaults: the first mlx5 device. If the machine has none, this is the emulated device of
	 * softhca.
	 */
	rc = gantry_create(NULL, &g);
	if (rc < 0)
		return failed("gantry_create()", rc);
	rc = gantry_mem_register(g, memory, sizeof(memory), 0, &mem);
	if (rc < 0)
		return failed("gantry_mem_register()", rc);
	rc = gantry_queue_create(g, NULL, &q);
	if (rc < 0)
		return failed("gantry_queue_create()", rc);

	result = copy_page(q);

	rc = gantry_queue_destroy(q);
	if (rc < 0)
		return failed("gantry_queue_destroy()", rc);
	rc = gantry_mem_unregister(mem, 10000);
	if (rc < 0)
		return failed("gantry_mem_unregister()", rc);
	rc = gantry_destroy(g);
	if (rc < 0)
		return failed("gantry_destroy()", rc);
	rc = rte_eal_cleanup();
	if (rc < 0)
		return failed("rte_eal_cleanup()", rc);
	return result;
}
