/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Two processes that connect by rdma_cm: one writes to the memory of the other, and gets an answer.
 * two_processes.c does the same with a socket.
 *
 *     two_processes_cm ... connect HOST PORT     two_processes_cm ... listen PORT
 *                                                gantry_cm_listen
 *     gantry_cm_connect        --- request ->    gantry_cm_request_get
 *                              <-- answer ---    gantry_cm_accept: address and key of memory
 *     gantry_cm_poll           -------------     gantry_cm_poll
 *     GANTRY_OP_WRITE_IMM      --- RDMA --->     gantry_recv_poll
 *     gantry_recv_poll         <-- RDMA ----     GANTRY_OP_SEND
 *     gantry_cm_disconnect     -------------     gantry_cm_poll
 *
 * usage: two_processes_cm [EAL OPTIONS] -- listen PORT, then, on another terminal:
 *        two_processes_cm [EAL OPTIONS] -- connect HOST PORT
 *        without huge pages: two_processes_cm --no-huge --no-shconf -m 64 -- listen 7471
 */
#define GANTRY_ALLOW_EXPERIMENTAL /* gantry_cm.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "gantry.h"
#include "gantry_cm.h"

#define QUESTION "written by the process that connects"
#define ANSWER   "sent by the process that listens"

/** What the listening process tells the other process: memory that may be written. */
struct memory_of {
	uint64_t text;
	uint32_t remote_key;
	uint32_t zero;
};

static struct {
	char text[64], message[64];
} memory;

/** Ends the program if a call has failed. The log lines before this line say what to do. */
static void
check(const char *call, int rc)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "two_processes_cm: %s failed: %s. Correct what the lines above name.\n",
		call, rte_strerror(-rc));
	exit(1);
}

/** Posts the receive when the peer is open, before the other process can send. */
static void
opened(void *arg, struct gantry_queue *q, uint16_t peer)
{
	const struct gantry_recv recv_message = {
		.addr = (uintptr_t)memory.message,
		.len = sizeof(memory.message),
	};

	(void)arg;
	check("gantry_recv_post()",
		gantry_recv_post(q, peer, &recv_message, 1) == 1 ? 0 : -ENOBUFS);
}

/** Waits for the first process that connects, and accepts it. */
static struct gantry_cm_conn *
listen_at(const char *port, struct gantry_queue *q, struct gantry_mem *mem)
{
	const struct memory_of mine = {
		.text = (uintptr_t)memory.text,
		.remote_key = gantry_mem_remote_key(mem),
	};
	const struct gantry_peer_conf peer = {.recv_depth = 1};
	const struct gantry_cm_conf conf = {
		.peer = &peer,
		.data = &mine,
		.data_len = sizeof(mine),
		.opened = opened,
	};
	struct gantry_cm_listener *l;
	struct gantry_cm_request *r;
	struct gantry_cm_conn *conn;

	check("gantry_cm_listen()", gantry_cm_listen(NULL, port, NULL, &l));
	printf("two_processes_cm: listening at port %u\n", gantry_cm_listener_port(l));
	fflush(stdout);
	check("gantry_cm_request_get()", gantry_cm_request_get(l, -1, &r));
	check("gantry_cm_accept()", gantry_cm_accept(r, q, &conf, &conn));
	check("gantry_cm_listener_close()", gantry_cm_listener_close(l));
	return conn;
}

/** Connects to the process that listens. */
static struct gantry_cm_conn *
connect_to(const char *host, const char *port, struct gantry_queue *q)
{
	const struct gantry_peer_conf peer = {.recv_depth = 1};
	const struct gantry_cm_conf conf = {
		.peer = &peer,
		.opened = opened,
		.wait_for_listener = true,
	};
	struct gantry_cm_conn *conn;

	check("gantry_cm_connect()", gantry_cm_connect(host, port, q, &conf, &conn));
	return conn;
}

/** Polls until the connection has this state. */
static void
wait_for(struct gantry_cm_conn *conn, enum gantry_cm_state state)
{
	int now;

	do {
		now = gantry_cm_poll(conn, 1000);
		check("the connection", now);
	} while (now < (int)state);
	check("the connection", now == (int)state ? 0 : -ECONNRESET);
}

/** Submits a descriptor, and polls until it has completed. */
static void
submit(struct gantry_queue *q, const struct gantry_desc *desc)
{
	struct gantry_comp comp;

	/* The queue has room, because it has no other descriptor. */
	check("gantry_submit()", gantry_submit(q, desc, 1) == 1 ? 0 : -ENOBUFS);
	while (gantry_poll(q, &comp, 1) == 0)
		;
	if (comp.status == GANTRY_OK)
		return;
	fprintf(stderr, "two_processes_cm: the other process was not reached: %s.\n",
		gantry_status_name(comp.status));
	exit(1);
}

/** Waits for the message of the other process. */
static void
receive(struct gantry_queue *q)
{
	struct gantry_recv_comp comp;

	while (gantry_recv_poll(q, &comp, 1) == 0)
		;
	check("the receive", comp.status == GANTRY_OK ? 0 : -EIO);
}

/** Writes to the other process, and waits for its answer. */
static const char *
ask(struct gantry_queue *q, struct gantry_cm_conn *conn)
{
	struct gantry_cm_info info;
	struct gantry_desc desc = {
		.op = GANTRY_OP_WRITE_IMM,
		.src = (uintptr_t)memory.text,
		.len = sizeof(memory.text),
	};
	struct memory_of theirs;

	gantry_cm_info_get(conn, &info);
	check("the answer's data", info.data_len == sizeof(theirs) ? 0 : -EPROTO);
	memcpy(&theirs, info.data, sizeof(theirs));
	desc.peer = info.peer;
	desc.dst = theirs.text;
	desc.remote_key = theirs.remote_key;
	strcpy(memory.text, QUESTION);
	submit(q, &desc);
	receive(q);
	/* The other process waits for this: then both have all that they expect. */
	check("gantry_cm_disconnect()", gantry_cm_disconnect(conn));
	return memory.message;
}

/** Waits until the other process has written, and sends an answer. */
static const char *
answer(struct gantry_queue *q, struct gantry_cm_conn *conn)
{
	struct gantry_cm_info info;
	struct gantry_desc desc = {
		.op = GANTRY_OP_SEND,
		.src = (uintptr_t)memory.message,
		.len = sizeof(memory.message),
	};

	gantry_cm_info_get(conn, &info);
	desc.peer = info.peer;
	receive(q); /* the receive completes after all bytes of the write have arrived */
	strcpy(memory.message, ANSWER);
	submit(q, &desc);
	return memory.text;
}

int
main(int argc, char **argv)
{
	struct gantry_cm_conn *conn;
	struct gantry_queue *q;
	struct gantry_mem *mem;
	struct gantry *g;
	const char *got;
	bool listens, good;
	int n;

	n = rte_eal_init(argc, argv);
	if (n < 0) {
		fprintf(stderr,
			"two_processes_cm: EAL did not start: the lines above say why. Without huge pages, add "
			"--no-huge -m 64. While another DPDK program runs, add --file-prefix NAME.\n");
		return 1;
	}
	argc -= n;
	argv += n;
	listens = argc == 3 && strcmp(argv[1], "listen") == 0;
	if (!listens && (argc != 4 || strcmp(argv[1], "connect") != 0)) {
		fprintf(stderr, "usage: two_processes_cm [EAL OPTIONS] -- listen PORT, or "
				"connect HOST PORT\n");
		return 1;
	}
	check("gantry_create()", gantry_create(NULL, &g));
	check("gantry_mem_register()",
		gantry_mem_register(g, &memory, sizeof(memory), GANTRY_MEM_REMOTE_WRITE, &mem));
	check("gantry_queue_create()", gantry_queue_create(g, NULL, &q));
	conn = listens ? listen_at(argv[2], q, mem) : connect_to(argv[2], argv[3], q);
	wait_for(conn, GANTRY_CM_CONNECTED);

	got = listens ? answer(q, conn) : ask(q, conn);
	good = strcmp(got, listens ? QUESTION : ANSWER) == 0;
	printf("two_processes_cm: got \"%s\", %s\n", got, good ? "verified" : "which is wrong");

	wait_for(conn, GANTRY_CM_DISCONNECTED);
	check("gantry_cm_close()", gantry_cm_close(conn));
	check("gantry_queue_destroy()", gantry_queue_destroy(q));
	check("gantry_mem_unregister()", gantry_mem_unregister(mem, 10000));
	check("gantry_destroy()", gantry_destroy(g));
	check("rte_eal_cleanup()", rte_eal_cleanup());
	return good ? 0 : 1;
}
