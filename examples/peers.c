/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Two queues that access each other's memory: by a write, a read, an atomic and a message.
 *
 *     one queue                                    the other queue
 *     gantry_peer_open      --- gantry_addr -->
 *                           <-- gantry_addr ---    gantry_peer_open
 *     gantry_peer_connect                          gantry_peer_connect
 *                                                  gantry_recv_post
 *     gantry_submit, gantry_poll                   gantry_recv_poll
 *
 * Here both queues are in one process. Between processes or machines, send the addresses, the
 * remote key and the memory's address by any means, for example a socket.
 *
 * usage: peers [EAL OPTIONS]      without huge pages: peers --no-huge -m 64
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include "gantry.h"

/** Memory of the queue that submits. */
static struct {
	char text[64], read_back[64], message[64];
} mine;

/**
 * Memory of the other queue. Its peer may write and read this memory, and may use atomics on the
 * counter.
 */
static struct {
	uint64_t counter;
	char text[64], inbox[64];
} theirs;

/** Reports which call failed. The log lines before this line say what the user can do. */
static int
failed(const char *call, int rc)
{
	fprintf(stderr, "peers: %s failed: %s. Correct what the lines above name.\n", call,
		rte_strerror(-rc));
	return 1;
}

/** Opens and connects both ends. */
static int
connect_ends(struct gantry_queue *q[2], uint16_t peer[2])
{
	const struct gantry_peer_conf conf = {.recv_depth = 16};
	struct gantry_addr addr[2];
	int i, rc;

	for (i = 0; i < 2; i++) {
		rc = gantry_peer_open(q[i], &conf, &peer[i], &addr[i]);
		if (rc < 0)
			return failed("gantry_peer_open()", rc);
	}
	for (i = 0; i < 2; i++) {
		rc = gantry_peer_connect(q[i], peer[i], &addr[!i]);
		if (rc < 0)
			return failed("gantry_peer_connect()", rc);
	}
	return 0;
}

/** Submits n descriptors, and polls until they and one receive have completed. */
static int
run(struct gantry_queue *q[2], const struct gantry_desc *desc, unsigned int n,
	struct gantry_comp *comp, struct gantry_recv_comp *received)
{
	unsigned int submitted = 0, done = 0, i;

	while (done < n) {
		/*
		 * A full queue accepts only some descriptors. The remaining descriptors are
		 * submitted when completions have freed entries.
		 */
		submitted += gantry_submit(q[0], desc + submitted, n - submitted);
		done += gantry_poll(q[0], comp + done, n - done);
	}
	for (i = 0; i < n; i++) {
		if (comp[i].status == GANTRY_OK)
			continue;
		fprintf(stderr,
			"peers: operation %" PRIu64 " failed: %s. gantry_desc.h says what to do.\n",
			comp[i].cookie, gantry_status_name(comp[i].status));
		return 1;
	}
	while (gantry_recv_poll(q[1], received, 1) == 0)
		;
	if (received->status != GANTRY_OK) {
		fprintf(stderr, "peers: the receive failed: %s. gantry_desc.h says what to do.\n",
			gantry_status_name(received->status));
		return 1;
	}
	return 0;
}

static int
talk(struct gantry_queue *q[2], const uint16_t peer[2], uint32_t remote_key)
{
	const struct gantry_recv recv = {
		.addr = (uintptr_t)theirs.inbox,
		.len = sizeof(theirs.inbox),
	};
	const struct gantry_desc desc[] = {
		{
			.op = GANTRY_OP_WRITE,
			.peer = peer[0],
			.cookie = 0,
			.src = (uintptr_t)mine.text,
			.dst = (uintptr_t)theirs.text,
			.len = sizeof(mine.text),
			.remote_key = remote_key,
		},
		{
			.op = GANTRY_OP_READ,
			/*
			 * This read must return the bytes of the write, so the fence makes it wait.
			 */
			.flags = GANTRY_DESC_FENCE,
			.peer = peer[0],
			.cookie = 1,
			.src = (uintptr_t)theirs.text,
			.dst = (uintptr_t)mine.read_back,
			.len = sizeof(mine.read_back),
			.remote_key = remote_key,
		},
		{
			.op = GANTRY_OP_FETCH_ADD,
			.peer = peer[0],
			.cookie = 2,
			.dst = (uintptr_t)&theirs.counter,
			.len = sizeof(theirs.counter),
			.remote_key = remote_key,
			.arg = {5},
		},
		{
			.op = GANTRY_OP_SEND_IMM,
			/*
			 * The fence makes the message wait, so that all earlier writes have arrived
			 * when the message arrives.
			 */
			.flags = GANTRY_DESC_FENCE,
			.peer = peer[0],
			.cookie = 3,
			.src = (uintptr_t)mine.message,
			.len = sizeof(mine.message),
			.imm = 7,
		},
	};
	struct gantry_comp comp[RTE_DIM(desc)];
	struct gantry_recv_comp received;

	strcpy(mine.text, "written by the first queue");
	strcpy(mine.message, "sent by the first queue");
	theirs.counter = 37;
	if (gantry_recv_post(q[1], peer[1], &recv, 1) != 1) {
		fprintf(stderr, "peers: the receive was not accepted: check recv_depth.\n");
		return 1;
	}
	if (run(q, desc, RTE_DIM(desc), comp, &received) != 0)
		return 1;
	if (strcmp(theirs.text, mine.text) != 0 || strcmp(mine.read_back, mine.text) != 0 ||
		strcmp(theirs.inbox, mine.message) != 0 || received.len != sizeof(mine.message) ||
		received.imm != 7 || comp[2].result != 37 || theirs.counter != 42) {
		fprintf(stderr,
			"peers: the memory of one end is not what the operations make it.\n");
		return 1;
	}
	printf("peers: wrote \"%s\" and read it back, counted %" PRIu64 " up to %" PRIu64
	       ", received \"%s\" with %" PRIu32 ", verified\n",
		theirs.text, comp[2].result, theirs.counter, theirs.inbox, received.imm);
	return 0;
}

int
main(int argc, char **argv)
{
	const unsigned int remote =
		GANTRY_MEM_REMOTE_WRITE | GANTRY_MEM_REMOTE_READ | GANTRY_MEM_REMOTE_ATOMIC;
	struct gantry *g;
	struct gantry_mem *my_mem, *their_mem;
	struct gantry_queue *q[2];
	uint16_t peer[2];
	int rc, i;

	/*
	 * Makes registrations cheaper if DPDK's mlx4 plug-in is loaded. After an error the program
	 * may continue.
	 */
	rc = gantry_before_eal();
	if (rc < 0)
		printf("peers: gantry_before_eal(): %s\n", rte_strerror(-rc));
	rc = rte_eal_init(argc, argv);
	if (rc < 0) {
		fprintf(stderr,
			"peers: EAL did not start: the lines above say why. Without huge pages, add "
			"--no-huge -m 64. While another DPDK program runs, add --file-prefix NAME.\n");
		return 1;
	}
	rc = gantry_create(NULL, &g);
	if (rc < 0)
		return failed("gantry_create()", rc);
	rc = gantry_mem_register(g, &mine, sizeof(mine), 0, &my_mem);
	if (rc < 0)
		return failed("gantry_mem_register()", rc);
	rc = gantry_mem_register(g, &theirs, sizeof(theirs), remote, &their_mem);
	if (rc < 0)
		return failed("gantry_mem_register()", rc);
	for (i = 0; i < 2; i++) {
		rc = gantry_queue_create(g, NULL, &q[i]);
		if (rc < 0)
			return failed("gantry_queue_create()", rc);
	}

	if (connect_ends(q, peer) != 0 || talk(q, peer, gantry_mem_remote_key(their_mem)) != 0)
		return 1;

	for (i = 0; i < 2; i++) {
		rc = gantry_peer_close(q[i], peer[i]);
		if (rc < 0)
			return failed("gantry_peer_close()", rc);
		rc = gantry_queue_destroy(q[i]);
		if (rc < 0)
			return failed("gantry_queue_destroy()", rc);
	}
	rc = gantry_mem_unregister(their_mem, 10000);
	if (rc < 0)
		return failed("gantry_mem_unregister()", rc);
	rc = gantry_mem_unregister(my_mem, 10000);
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
