/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A poll-mode loop that does other work and uses the engine too. It is built outside Gantry's tree,
 * against an installed Gantry, which its Makefile finds by pkg-config. The file is both C and C++.
 *
 *     each turn:   packet -> free slot of the log?  gantry_submit   the adapter copies it there
 *                  gantry_poll   packets whose copies are done are released
 *
 * The loop's thread never waits for a copy. If no buffer is free, a packet stays until the next
 * turn of the loop.
 *
 * usage: embed [EAL OPTIONS]      without huge pages: embed --no-huge -m 64
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include <gantry.h>

#define N_PACKETS  1000u
#define N_BUFFERS  64u
#define PACKET_LEN 1500
#define BURST      16

static char packet[N_BUFFERS][PACKET_LEN];
static char log_memory[N_PACKETS][PACKET_LEN];

/** Reports which call failed. The log lines before this line say what the user can do. */
static int
failed(const char *call, int rc)
{
	fprintf(stderr, "embed: %s failed: %s. Correct what the lines above name.\n", call,
		rte_strerror(-rc));
	return 1;
}

/** Stands for the reception of packet number n. */
static void
receive(unsigned int n)
{
	memset(packet[n % N_BUFFERS], n % 251, PACKET_LEN);
}

/** Submits the copy of packet number n. @return 1 if the queue accepted it, otherwise 0. */
static unsigned int
log_packet(struct gantry_queue *q, unsigned int n)
{
	const struct gantry_desc desc = {
		.op = GANTRY_OP_COPY,
		.cookie = n,
		.src = (uintptr_t)packet[n % N_BUFFERS],
		.dst = (uintptr_t)log_memory[n],
		.len = PACKET_LEN,
	};

	return gantry_submit(q, &desc, 1);
}

/**
 * Takes completions. @return the number of packets whose copies have completed; -1 if a copy
 * failed.
 */
static int
release_packets(struct gantry_queue *q)
{
	struct gantry_comp comp[BURST];
	int n = gantry_poll(q, comp, BURST), i;

	for (i = 0; i < n; i++) {
		if (comp[i].status == GANTRY_OK)
			continue;
		fprintf(stderr,
			"embed: packet %" PRIu64 " failed: %s. gantry_desc.h says what to do.\n",
			comp[i].cookie, gantry_status_name((enum gantry_status)comp[i].status));
		return -1;
	}
	return n;
}

static int
loop(struct gantry_queue *q)
{
	unsigned int received = 0, logged = 0, released = 0, turns = 0, i;
	int n;

	while (released < N_PACKETS) {
		turns++;
		/*
		 * A buffer is free when the copy of its last packet has completed. Copies complete
		 * in order.
		 */
		for (i = 0; i < BURST && received < N_PACKETS && received - released < N_BUFFERS;
			i++)
			receive(received++);
		while (logged < received && log_packet(q, logged) == 1)
			logged++;
		n = release_packets(q);
		if (n < 0)
			return 1;
		released += n;
	}
	for (i = 0; i < N_PACKETS * PACKET_LEN; i++)
		if (log_memory[i / PACKET_LEN][i % PACKET_LEN] != (char)(i / PACKET_LEN % 251)) {
			fprintf(stderr, "embed: packet %u is wrong in the log.\n", i / PACKET_LEN);
			return 1;
		}
	printf("embed: %u packets logged in %u turns of the loop, verified\n", N_PACKETS, turns);
	return 0;
}

int
main(int argc, char **argv)
{
	/* At most N_BUFFERS copies are in flight. */
	const struct gantry_queue_conf conf = {.depth = N_BUFFERS};
	struct gantry *g;
	struct gantry_mem *packet_mem, *log_mem;
	struct gantry_queue *q;
	int rc;

	/*
	 * Makes registrations cheaper if DPDK's mlx4 plug-in is loaded. After an error the program
	 * may continue.
	 */
	rc = gantry_before_eal();
	if (rc < 0)
		printf("embed: gantry_before_eal(): %s\n", rte_strerror(-rc));
	rc = rte_eal_init(argc, argv);
	if (rc < 0) {
		fprintf(stderr,
			"embed: EAL did not start: the lines above say why. Without huge pages, add "
			"--no-huge -m 64. While another DPDK program runs, add --file-prefix NAME.\n");
		return 1;
	}
	rc = gantry_create(NULL, &g);
	if (rc < 0)
		return failed("gantry_create()", rc);
	rc = gantry_mem_register(g, packet, sizeof(packet), GANTRY_MEM_READ_ONLY, &packet_mem);
	if (rc < 0)
		return failed("gantry_mem_register()", rc);
	rc = gantry_mem_register(g, log_memory, sizeof(log_memory), 0, &log_mem);
	if (rc < 0)
		return failed("gantry_mem_register()", rc);
	rc = gantry_queue_create(g, &conf, &q);
	if (rc < 0)
		return failed("gantry_queue_create()", rc);

	if (loop(q) != 0)
		return 1;

	rc = gantry_queue_destroy(q);
	if (rc < 0)
		return failed("gantry_queue_destroy()", rc);
	rc = gantry_mem_unregister(packet_mem, 10000);
	if (rc < 0)
		return failed("gantry_mem_unregister()", rc);
	rc = gantry_mem_unregister(log_mem, 10000);
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
