/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A host and its DPU: one side exports memory, the other side copies from it and to it.
 *
 *     host_and_dpu ... owner PORT DEVICE         host_and_dpu ... importer HOST PORT DEVICE
 *     gantry_mem_export
 *     struct gantry_mem_record   -- TCP -->      gantry_mem_import
 *                                                GANTRY_OP_COPY from the import, and back to it
 *     "the bytes are there"      <-- TCP --
 *     gantry_mem_unregister                      gantry_mem_unregister
 *
 * The record is a secret. So use a connection that nobody else can read, such as the virtual
 * network between a host and its BlueField (tmfifo_net0).
 *
 * Without arguments both sides are in this process, on two functions of one card. So the example
 * also runs without a BlueField, with SOFTHCA_DEVICES=2 and SOFTHCA_FUNCTIONS=2 in the environment
 * even without an mlx5 device.
 *
 * usage: host_and_dpu [EAL OPTIONS]            both sides, on mlx5_0 and mlx5_1
 *        host_and_dpu [EAL OPTIONS] -- owner PORT DEVICE
 *        host_and_dpu [EAL OPTIONS] -- importer HOST PORT DEVICE
 *        without huge pages: host_and_dpu --no-huge -m 64
 */
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "gantry.h"

#define QUESTION "written by the owner's CPU"
#define ANSWER   "copied by the importer's engine"
#define LEN      64

/** One side: its device, and the connection to the other side. */
struct side {
	const char *device;
	int fd;
};

/** Ends the program if a call has failed. The log lines before this line say what to do. */
static void
check(const char *call, int rc)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "host_and_dpu: %s failed: %s. Correct what the lines above name.\n", call,
		rte_strerror(-rc));
	exit(1);
}

static void
send_all(int fd, const void *bytes, size_t len)
{
	check("send(2)", send(fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len ? 0 : -EPIPE);
}

static void
receive_all(int fd, void *bytes, size_t len)
{
	check("recv(2)", recv(fd, bytes, len, MSG_WAITALL) == (ssize_t)len ? 0 : -EPIPE);
}

static struct gantry *
open_device(const char *device)
{
	const struct gantry_conf conf = {.device = device};
	struct gantry *g;

	check("gantry_create()", gantry_create(&conf, &g));
	return g;
}

/** Exports memory, and waits until the importer has answered in it. */
static void *
own(void *arg)
{
	const struct side *side = arg;
	static char memory[2][LEN] = {QUESTION};
	struct gantry *g = open_device(side->device);
	struct gantry_mem_record record;
	struct gantry_mem *mem;
	char done;

	check("gantry_mem_register()", gantry_mem_register(g, memory, sizeof(memory), 0, &mem));
	check("gantry_mem_export()", gantry_mem_export(mem, 0, &record));
	send_all(side->fd, &record, sizeof(record));
	explicit_bzero(&record, sizeof(record));
	receive_all(side->fd, &done, sizeof(done));
	check("the importer's copy", strcmp(memory[1], ANSWER) == 0 ? 0 : -EIO);
	printf("host_and_dpu: the owner got \"%s\", verified\n", memory[1]);
	/* From here on, nobody reaches the memory by the record. */
	check("gantry_mem_unregister()", gantry_mem_unregister(mem, 0));
	check("gantry_destroy()", gantry_destroy(g));
	close(side->fd);
	return NULL;
}

/** Copies, and waits until all bytes are there. */
static void
copy(struct gantry_queue *q, const void *src, void *dst)
{
	const struct gantry_desc desc = {.op = GANTRY_OP_COPY,
		.src = (uintptr_t)src,
		.dst = (uintptr_t)dst,
		.len = LEN};
	struct gantry_comp comp;

	/* The queue has room, because it has no other descriptor. */
	check("gantry_submit()", gantry_submit(q, &desc, 1) == 1 ? 0 : -ENOBUFS);
	while (gantry_poll(q, &comp, 1) == 0)
		;
	if (comp.status == GANTRY_OK)
		return;
	fprintf(stderr, "host_and_dpu: a copy ended with %s.\n", gantry_status_name(comp.status));
	exit(1);
}

/** Imports the owner's memory, reads the question, and writes the answer. */
static void
import(const struct side *side)
{
	const struct gantry_queue_conf conf = {.depth = 8};
	static char memory[2][LEN] = {"", ANSWER};
	struct gantry *g = open_device(side->device);
	struct gantry_mem *mem, *theirs;
	struct gantry_mem_record record;
	struct gantry_queue *q;
	void *at;

	check("gantry_mem_register()", gantry_mem_register(g, memory, sizeof(memory), 0, &mem));
	check("gantry_queue_create()", gantry_queue_create(g, &conf, &q));
	receive_all(side->fd, &record, sizeof(record));
	check("gantry_mem_import()", gantry_mem_import(g, &record, 0, &theirs, &at));
	explicit_bzero(&record, sizeof(record));
	copy(q, at, memory[0]);
	check("the copy", strcmp(memory[0], QUESTION) == 0 ? 0 : -EIO);
	printf("host_and_dpu: the importer got \"%s\", verified\n", memory[0]);
	copy(q, memory[1], (char *)at + LEN);
	send_all(side->fd, "", 1);
	check("gantry_mem_unregister()", gantry_mem_unregister(theirs, 0));
	check("gantry_queue_destroy()", gantry_queue_destroy(q));
	check("gantry_mem_unregister()", gantry_mem_unregister(mem, 0));
	check("gantry_destroy()", gantry_destroy(g));
	close(side->fd);
}

/** Returns a TCP socket that is connected to the other side. host: NULL to listen. */
static int
meet(const char *host, const char *port)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = host == NULL ? AI_PASSIVE : 0};
	struct addrinfo *found;
	int s, fd, rc = getaddrinfo(host, port, &hints, &found);

	if (rc != 0) {
		fprintf(stderr, "host_and_dpu: %s: %s\n", host != NULL ? host : port,
			gai_strerror(rc));
		exit(1);
	}
	s = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
	check("socket(2)", s < 0 ? -errno : 0);
	if (host != NULL) {
		rc = connect(s, found->ai_addr, found->ai_addrlen);
		check("connect(2)", rc < 0 ? -errno : 0);
		freeaddrinfo(found);
		return s;
	}
	rc = bind(s, found->ai_addr, found->ai_addrlen);
	check("bind(2)", rc < 0 ? -errno : 0);
	freeaddrinfo(found);
	rc = listen(s, 1);
	check("listen(2)", rc < 0 ? -errno : 0);
	printf("host_and_dpu: listening at port %s\n", port);
	fflush(stdout);
	fd = accept(s, NULL, NULL);
	check("accept(2)", fd < 0 ? -errno : 0);
	close(s);
	return fd;
}

/** Runs both sides in this process. */
static void
run_both(void)
{
	struct side owner = {.device = "mlx5_0"}, importer = {.device = "mlx5_1"};
	pthread_t thread;
	int fd[2];

	check("socketpair(2)", socketpair(AF_UNIX, SOCK_STREAM, 0, fd) < 0 ? -errno : 0);
	owner.fd = fd[0];
	importer.fd = fd[1];
	check("pthread_create(3)", -pthread_create(&thread, NULL, own, &owner));
	import(&importer);
	pthread_join(thread, NULL);
}

int
main(int argc, char **argv)
{
	int used;

	used = rte_eal_init(argc, argv);
	if (used < 0) {
		fprintf(stderr,
			"host_and_dpu: EAL did not start: the lines above say why. Without huge pages, add "
			"--no-huge -m 64. While another DPDK program runs, add --file-prefix NAME.\n");
		return 1;
	}
	argc -= used;
	argv += used;
	if (argc == 1) {
		run_both();
	} else if (argc == 4 && strcmp(argv[1], "owner") == 0) {
		struct side side = {.device = argv[3], .fd = meet(NULL, argv[2])};

		own(&side);
	} else if (argc == 5 && strcmp(argv[1], "importer") == 0) {
		const struct side side = {.device = argv[4], .fd = meet(argv[2], argv[3])};

		import(&side);
	} else {
		fprintf(stderr, "usage: host_and_dpu [EAL OPTIONS] [-- owner PORT DEVICE | "
				"importer HOST PORT DEVICE]\n");
		return 1;
	}
	rte_eal_cleanup();
	return 0;
}
