/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Two processes: one writes to the memory of the other, and gets an answer.
 *
 *     two_processes ... connect PATH             two_processes ... listen PATH
 *     gantry_peer_open                           gantry_peer_open
 *     struct hello             <-- socket -->    struct hello
 *     gantry_peer_connect                        gantry_peer_connect
 *     a byte: connected        <-- socket -->    a byte: connected
 *     GANTRY_OP_WRITE_IMM      --- RDMA --->     gantry_recv_poll
 *     gantry_recv_poll         <-- RDMA ----     GANTRY_OP_SEND
 *
 * The socket carries only what both ends need before they can use RDMA. PATH is that of a Unix
 * socket; between machines, use TCP.
 *
 * usage: two_processes [EAL OPTIONS] -- listen PATH, then, on another terminal:
 *        two_processes [EAL OPTIONS] -- connect PATH
 *        without huge pages: two_processes --no-huge --no-shconf -m 64 -- listen PATH
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "gantry.h"

#define QUESTION "written by the process that connects"
#define ANSWER   "sent by the process that listens"

/** The data that each process sends to the other process over the socket. */
struct hello {
	struct gantry_addr addr;
	uint64_t text; /* address of the memory that the other process may write */
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
	fprintf(stderr, "two_processes: %s failed: %s. Correct what the lines above name.\n", call,
		rte_strerror(-rc));
	exit(1);
}

/** As check(), for a system call that returns -1 and sets errno. */
static int
check_system(const char *call, int rc)
{
	check(call, rc < 0 ? -errno : 0);
	return rc;
}

/**
 * Binds s to a name. A process that was killed has left its socket at PATH: such a socket is
 * removed. A connection attempt tells it from the socket of a running process (unix(7)): the first
 * gives ECONNREFUSED. The second gives EPROTOTYPE, because a datagram socket cannot connect to a
 * stream socket. So the attempt does not disturb the running process.
 */
static void
bind_to(int s, const struct sockaddr_un *name)
{
	const int probe = check_system("socket(2)", socket(AF_UNIX, SOCK_DGRAM, 0));
	const int rc = connect(probe, (const struct sockaddr *)name, sizeof(*name));
	struct stat st;

	if (rc == 0 || errno == EPROTOTYPE) {
		fprintf(stderr,
			"two_processes: another process listens at %s. End it, or use another PATH.\n",
			name->sun_path);
		exit(1);
	}
	/* A file that is no socket also gives ECONNREFUSED. */
	if (errno == ECONNREFUSED && lstat(name->sun_path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(name->sun_path);
	close(probe);
	if (bind(s, (const struct sockaddr *)name, sizeof(*name)) == 0)
		return;
	fprintf(stderr, "two_processes: cannot make a socket at %s: %s. Use another PATH.\n",
		name->sun_path, strerror(errno));
	exit(1);
}

/** Returns a socket that is connected to the other process. */
static int
meet(bool listens, const char *path)
{
	const int s = check_system("socket(2)", socket(AF_UNIX, SOCK_STREAM, 0));
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(name.sun_path)) {
		fprintf(stderr, "two_processes: the path is longer than %zu bytes: %s\n",
			sizeof(name.sun_path) - 1, path);
		exit(1);
	}
	strcpy(name.sun_path, path);
	if (!listens) {
		if (connect(s, (struct sockaddr *)&name, sizeof(name)) == 0)
			return s;
		fprintf(stderr,
			"two_processes: cannot connect to %s: %s. First start the process that listens: "
			"two_processes [EAL OPTIONS] -- listen %s\n",
			path, strerror(errno), path);
		exit(1);
	}
	bind_to(s, &name);
	check_system("listen(2)", listen(s, 1));
	printf("two_processes: listening at %s\n", path);
	fflush(stdout);
	fd = check_system("accept(2)", accept(s, NULL, NULL));
	unlink(path);
	close(s);
	return fd;
}

/** Opens a connection, and connects it to that of the other process. */
static uint16_t
connect_queues(struct gantry_queue *q, int fd, struct gantry_mem *mem, struct hello *theirs)
{
	const struct gantry_peer_conf conf = {.recv_depth = 1};
	const struct gantry_recv recv_message = {
		.addr = (uintptr_t)memory.message,
		.len = sizeof(memory.message),
	};
	struct hello mine = {
		.text = (uintptr_t)memory.text,
		.remote_key = gantry_mem_remote_key(mem),
	};
	uint16_t peer;
	char ready;

	check("gantry_peer_open()", gantry_peer_open(q, &conf, &peer, &mine.addr));
	/* Post the receive before the other process can send. */
	check("gantry_recv_post()",
		gantry_recv_post(q, peer, &recv_message, 1) == 1 ? 0 : -ENOBUFS);
	check("send(2)", send(fd, &mine, sizeof(mine), 0) == sizeof(mine) ? 0 : -EPIPE);
	check("recv(2)",
		recv(fd, theirs, sizeof(*theirs), MSG_WAITALL) == sizeof(*theirs) ? 0 : -EPIPE);
	check("gantry_peer_connect()", gantry_peer_connect(q, peer, &theirs->addr));
	/* Send no message before the other process has connected its peer, too. */
	check("send(2)", send(fd, "", 1, 0) == 1 ? 0 : -EPIPE);
	check("recv(2)", recv(fd, &ready, 1, MSG_WAITALL) == 1 ? 0 : -EPIPE);
	return peer;
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
	fprintf(stderr, "two_processes: the other process was not reached: %s.\n",
		gantry_status_name(comp.status));
	exit(1);
}

/** Waits for the message of the other process. Ends if the other process has ended before. */
static void
receive(struct gantry_queue *q, int fd)
{
	struct gantry_recv_comp comp;
	bool ended = false;
	char byte;

	while (gantry_recv_poll(q, &comp, 1) == 0) {
		check("the other process", ended ? -EPIPE : 0);
		/* If the socket has ended, a message may have come since the last poll. */
		ended = recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
	}
	check("the receive", comp.status == GANTRY_OK ? 0 : -EIO);
}

/** Writes to the other process, and waits for its answer. */
static const char *
ask(struct gantry_queue *q, uint16_t peer, const struct hello *theirs, int fd)
{
	const struct gantry_desc desc = {
		.op = GANTRY_OP_WRITE_IMM,
		.peer = peer,
		.src = (uintptr_t)memory.text,
		.dst = theirs->text,
		.len = sizeof(memory.text),
		.remote_key = theirs->remote_key,
	};

	strcpy(memory.text, QUESTION);
	submit(q, &desc);
	receive(q, fd);
	return memory.message;
}

/** Waits until the other process has written, and sends an answer. */
static const char *
answer(struct gantry_queue *q, uint16_t peer, int fd)
{
	const struct gantry_desc desc = {
		.op = GANTRY_OP_SEND,
		.peer = peer,
		.src = (uintptr_t)memory.message,
		.len = sizeof(memory.message),
	};

	receive(q, fd); /* the receive completes after all bytes of the write have arrived */
	strcpy(memory.message, ANSWER);
	submit(q, &desc);
	return memory.text;
}

int
main(int argc, char **argv)
{
	struct gantry_queue *q;
	struct gantry_mem *mem;
	struct hello theirs;
	struct gantry *g;
	const char *got;
	bool listens, connects, good;
	uint16_t peer;
	int n, fd;

	n = rte_eal_init(argc, argv);
	if (n < 0) {
		fprintf(stderr,
			"two_processes: EAL did not start: the lines above say why. Without huge pages, add "
			"--no-huge -m 64. While another DPDK program runs, add --file-prefix NAME.\n");
		return 1;
	}
	listens = argc - n == 3 && strcmp(argv[n + 1], "listen") == 0;
	connects = argc - n == 3 && strcmp(argv[n + 1], "connect") == 0;
	if (!listens && !connects) {
		fprintf(stderr, "usage: two_processes [EAL OPTIONS] -- listen|connect PATH\n");
		return 1;
	}
	check("gantry_create()", gantry_create(NULL, &g));
	check("gantry_mem_register()",
		gantry_mem_register(g, &memory, sizeof(memory), GANTRY_MEM_REMOTE_WRITE, &mem));
	check("gantry_queue_create()", gantry_queue_create(g, NULL, &q));
	fd = meet(listens, argv[n + 2]);
	peer = connect_queues(q, fd, mem, &theirs);

	got = listens ? answer(q, peer, fd) : ask(q, peer, &theirs, fd);
	good = strcmp(got, listens ? QUESTION : ANSWER) == 0;
	printf("two_processes: got \"%s\", %s\n", got, good ? "verified" : "which is wrong");

	check("gantry_peer_close()", gantry_peer_close(q, peer));
	check("gantry_queue_destroy()", gantry_queue_destroy(q));
	check("gantry_mem_unregister()", gantry_mem_unregister(mem, 10000));
	check("gantry_destroy()", gantry_destroy(g));
	check("rte_eal_cleanup()", rte_eal_cleanup());
	close(fd);
	return good ? 0 : 1;
}
