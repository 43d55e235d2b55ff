/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes connect by libgantry_cm and stock librdmacm, and move bytes. One of them listens,
 * the other one connects. Each is told when the other one is killed.
 *
 * A case is a pair of functions, one for each process. The two processes share a struct board, by
 * which they wait for each other; what is tested goes by rdma_cm alone.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <rdma/rdma_cma.h>
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_log.h>

#include "gantry_cm_conn.h"
#include "gantry_env.h"

#define QUEUES   3
#define TEXT_LEN 64

/* What the two processes share. */
struct board {
	atomic_uint step[2]; /* how often a process has called meet() */
	char port[8];        /* of the listener */
};

/* What the listening process tells in its answers: memory that the other process may write. */
struct answer {
	uint64_t addr;
	uint32_t key;
	uint32_t queue;
};

static struct board *board;
static unsigned int me; /* 0 listens, 1 connects */
static struct gantry *g;
static struct gantry_queue *queue[QUEUES];
static struct gantry_mem *mem;
static uint8_t *memory; /* for each queue: TEXT_LEN bytes to write, TEXT_LEN bytes for messages */
static char said[4096]; /* lines of the log */
static size_t said_len;

/* Waits until the other process has come as far. */
static void
meet(void)
{
	const unsigned int step = ++board->step[me];
	const uint64_t end = env_patience();

	while (board->step[!me] < step) {
		CHECK(rte_get_timer_cycles() < end, "the other process does not come");
		usleep(100);
	}
}

/* ------------------------------------------------------------------ the log */

static ssize_t
keep(void *cookie, const char *text, size_t len)
{
	const size_t n = RTE_MIN(len, sizeof(said) - 1 - said_len);

	(void)cookie;
	memcpy(said + said_len, text, n);
	said_len += n;
	return len;
}

/* From here on, said has what is logged. */
static void
listen_to_log(void)
{
	memset(said, 0, sizeof(said));
	said_len = 0;
	rte_openlog_stream(fopencookie(NULL, "w", (cookie_io_functions_t){.write = keep}));
}

/* Ends listen_to_log(): one line of libgantry_cm must have been logged, with these words. */
static void
check_said(const char *words)
{
	FILE *log = rte_log_get_stream();
	const char *line;

	rte_openlog_stream(NULL);
	fclose(log);
	line = strstr(said, "gantry_cm: ");
	CHECK(line != NULL && strstr(line, words) != NULL, "%s: %s", words, said);
	CHECK(strstr(line + 1, "\ngantry_cm: ") == NULL, "two lines: %s", said);
}

/* Checks that the call has returned the error, with these words in the log. */
#define REFUSED(call, err, words)                                                                  \
	do {                                                                                       \
		listen_to_log();                                                                   \
		CHECK_EQ(call, -(err));                                                            \
		check_said(words);                                                                 \
	} while (0)

/* ------------------------------------------------------------------ both processes */

static uint8_t *
place(unsigned int q)
{
	return memory + (size_t)q * 2 * TEXT_LEN;
}

/* Posts a receive before the other process can send. */
static void
post(void *arg, struct gantry_queue *q, uint16_t peer)
{
	const unsigned int i = *(unsigned int *)arg;
	const struct gantry_recv recv = {.addr = (uintptr_t)place(i) + TEXT_LEN, .len = TEXT_LEN};

	CHECK_EQ(gantry_recv_post(q, peer, &recv, 1), 1);
}

static const struct gantry_peer_conf peer_conf = {.recv_depth = 1};

/* Polls until the state is no longer `from`, and checks the new state. */
static void
wait_for(struct gantry_cm_conn *conn, int from, int state)
{
	const uint64_t end = env_patience();
	int got = gantry_cm_poll(conn, 1000);

	while (got == from && rte_get_timer_cycles() < end)
		got = gantry_cm_poll(conn, 1000);
	CHECK_EQ(got, state);
}

static struct gantry_cm_info
info_of(const struct gantry_cm_conn *conn)
{
	struct gantry_cm_info info;

	gantry_cm_info_get(conn, &info);
	return info;
}

static in_port_t
port_of(const struct sockaddr_storage *a)
{
	return ntohs(a->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_port
					      : ((const struct sockaddr_in *)a)->sin_port);
}

static void
receive(unsigned int i)
{
	const uint64_t end = env_patience();
	struct gantry_recv_comp comp;

	while (gantry_recv_poll(queue[i], &comp, 1) == 0)
		CHECK(rte_get_timer_cycles() < end, "no message");
	CHECK_EQ(comp.status, GANTRY_OK);
}

/* Sends the text of place(i). */
static void
send_text(unsigned int i, uint16_t peer, const char *text)
{
	const struct gantry_desc desc = {.op = GANTRY_OP_SEND,
		.peer = peer,
		.src = (uintptr_t)place(i),
		.len = TEXT_LEN};

	snprintf((char *)place(i), TEXT_LEN, "%s", text);
	CHECK_EQ(env_do_one(queue[i], desc), GANTRY_OK);
}

static void
check_text(const uint8_t *at, const char *text)
{
	CHECK(strcmp((const char *)at, text) == 0, "%s", at);
}

/* ------------------------------------------------------------------ the listening process */

static struct gantry_cm_listener *
open_listener(const char *host)
{
	struct gantry_cm_listener *l;

	CHECK_EQ(gantry_cm_listen(host, "0", NULL, &l), 0);
	CHECK(gantry_cm_listener_port(l) != 0);
	snprintf(board->port, sizeof(board->port), "%u", gantry_cm_listener_port(l));
	return l;
}

static struct gantry_cm_request *
take(struct gantry_cm_listener *l)
{
	struct pollfd in = {.fd = gantry_cm_listener_fd(l), .events = POLLIN};
	struct gantry_cm_request *r = NULL;

	CHECK_EQ(poll(&in, 1, CHECK_PATIENCE_MS), 1, "the descriptor of a listener");
	CHECK_EQ(gantry_cm_request_get(l, CHECK_PATIENCE_MS, &r), 0);
	return r;
}

/* Accepts a request on a queue. */
static struct gantry_cm_conn *
accept_on(struct gantry_cm_request *r, unsigned int i)
{
	const struct answer answer = {(uintptr_t)place(i), gantry_mem_remote_key(mem), i};
	const struct gantry_cm_conf conf = {.peer = &peer_conf,
		.data = &answer,
		.data_len = sizeof(answer),
		.opened = post,
		.arg = &i};
	struct gantry_cm_conn *conn = NULL;

	memset(place(i), 0, 2 * TEXT_LEN);
	CHECK_EQ(gantry_cm_accept(r, queue[i], &conf, &conn), 0);
	return conn;
}

/* ------------------------------------------------------------------ the connecting process */

static struct gantry_cm_conn *
connect_on(const char *host, unsigned int i, const char *data)
{
	const struct gantry_cm_conf conf = {.peer = &peer_conf,
		.data = data,
		.data_len = strlen(data),
		.opened = post,
		.arg = &i};
	struct gantry_cm_conn *conn = NULL;

	CHECK_EQ(gantry_cm_connect(host, board->port, queue[i], &conf, &conn), 0);
	/* The call polls in the frame that has `i`. */
	wait_for(conn, GANTRY_CM_CONNECTING, GANTRY_CM_CONNECTED);
	return conn;
}

/* ------------------------------------------------------------------ by each address */

/* The address of the listener, and the one to which the other process connects. */
static const struct {
	/* NULL: all addresses of this machine, and this machine */
	const char *listener, *to;
} hosts[] = {
	{"127.0.0.1", "127.0.0.1"},
	{NULL, NULL},
	/* The address of the emulated adapter. */
	{"198.51.100.11", "198.51.100.11"},
	{"::1", "::1"},
	{NULL, "::1"},
	{"localhost", "localhost"},
};

/* Not every machine has IPv6. */
static bool
host_is_there(const char *host)
{
	const struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd, rc;

	if (host == NULL || strcmp(host, "::1") != 0)
		return true;
	fd = socket(AF_INET6, SOCK_STREAM, 0);
	rc = fd < 0 ? -1 : bind(fd, (const struct sockaddr *)&a, sizeof(a));
	if (fd >= 0)
		close(fd);
	return rc == 0;
}

static void
listen_by_each_address(void)
{
	struct gantry_cm_request_info asked;
	struct gantry_cm_listener *l;
	struct gantry_cm_request *r;
	struct gantry_cm_conn *conn;
	struct gantry_cm_info info;

	for (size_t i = 0; i < RTE_DIM(hosts); i++) {
		if (!host_is_there(hosts[i].to))
			continue;
		l = open_listener(hosts[i].listener);
		meet();
		r = take(l);
		gantry_cm_request_info_get(r, &asked);
		CHECK_EQ(asked.data_len, 8);
		CHECK(memcmp(asked.data, "12345678", 8) == 0);
		CHECK_EQ(port_of(&asked.to), gantry_cm_listener_port(l));
		CHECK(strcmp(asked.device, "mlx5_0") == 0, "%s", asked.device);
		conn = accept_on(r, 0);
		CHECK_EQ(gantry_cm_listener_close(l), 0, "a connection outlives its listener");
		wait_for(conn, GANTRY_CM_CONNECTING, GANTRY_CM_CONNECTED);
		info = info_of(conn);
		CHECK_EQ(port_of(&info.remote), port_of(&asked.from));
		receive(0);
		check_text(place(0), "written by RDMA");
		send_text(0, info_of(conn).peer, "an answer");
		wait_for(conn, GANTRY_CM_CONNECTED, GANTRY_CM_DISCONNECTED);
		CHECK_EQ(gantry_cm_poll(conn, -1), GANTRY_CM_DISCONNECTED, "it stays so");
		CHECK_EQ(gantry_cm_close(conn), 0);
		meet();
	}
}

static void
connect_by_each_address(void)
{
	struct gantry_cm_conn *conn;
	struct gantry_cm_info info;
	struct gantry_desc desc;
	struct answer answer;
	struct pollfd in = {.events = POLLIN};

	for (size_t i = 0; i < RTE_DIM(hosts); i++) {
		if (!host_is_there(hosts[i].to))
			continue;
		meet();
		conn = connect_on(hosts[i].to, 0, "12345678");
		info = info_of(conn);
		CHECK_EQ(info.data_len, sizeof(answer));
		CHECK_EQ(port_of(&info.remote), atoi(board->port));
		CHECK(info.has_peer && info.qp_num != 0 && info.error == 0);
		memcpy(&answer, info.data, sizeof(answer));
		snprintf((char *)place(0), TEXT_LEN, "written by RDMA");
		desc = (struct gantry_desc){.op = GANTRY_OP_WRITE_IMM,
			.peer = info.peer,
			.src = (uintptr_t)place(0),
			.dst = answer.addr,
			.len = TEXT_LEN,
			.remote_key = answer.key};
		CHECK_EQ(env_do_one(queue[0], desc), GANTRY_OK);
		receive(0);
		check_text(place(0) + TEXT_LEN, "an answer");
		CHECK_EQ(gantry_cm_disconnect(conn), 0);
		in.fd = gantry_cm_fd(conn);
		CHECK_EQ(poll(&in, 1, CHECK_PATIENCE_MS), 1, "the descriptor of a connection");
		wait_for(conn, GANTRY_CM_CONNECTED, GANTRY_CM_DISCONNECTED);
		CHECK_EQ(gantry_cm_disconnect(conn), 0, "nothing happens");
		CHECK_EQ(gantry_cm_close(conn), 0);
		meet();
	}
}

/* ------------------------------------------------------------------ the GID of the address */

/* The GID index that is not the engine's default: the link-local GID as RoCE v2. */
#define GID_INDEX 1

/* Writes the adapter's GID with GID_INDEX as an IPv6 address. */
static void
gid_text(char text[INET6_ADDRSTRLEN])
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *ctx;
	union ibv_gid gid;

	CHECK(devices != NULL && devices[0] != NULL);
	ctx = ibv_open_device(devices[0]);
	CHECK(ctx != NULL);
	CHECK_EQ(ibv_query_gid(ctx, 1, GID_INDEX, &gid), 0);
	inet_ntop(AF_INET6, gid.raw, text, INET6_ADDRSTRLEN);
	ibv_close_device(ctx);
	ibv_free_device_list(devices);
}

static void
listen_at_a_gid(void)
{
	struct gantry_cm_listener *l = open_listener(NULL);
	struct gantry_cm_conn *conn;

	meet();
	conn = accept_on(take(l), 0);
	wait_for(conn, GANTRY_CM_CONNECTING, GANTRY_CM_CONNECTED);
	CHECK_EQ(conn->peer_conf.path.gid_index, GID_INDEX);
	receive(0);
	check_text(place(0) + TEXT_LEN, "by another GID");
	wait_for(conn, GANTRY_CM_CONNECTED, GANTRY_CM_DISCONNECTED);
	CHECK_EQ(gantry_cm_close(conn), 0);
	CHECK_EQ(gantry_cm_listener_close(l), 0);
}

static void
connect_to_a_gid(void)
{
	const struct gantry_peer_conf own = {
		.path = {.mask = GANTRY_PATH_GID_INDEX, .gid_index = GID_INDEX + 2}};
	const struct gantry_cm_conf conf = {.peer = &own, .wait_for_listener = true};
	struct gantry_cm_conn *conn;
	char host[INET6_ADDRSTRLEN];

	gid_text(host);
	meet();
	conn = connect_on(host, 0, "");
	CHECK_EQ(conn->peer_conf.path.gid_index, GID_INDEX);
	CHECK_EQ(conn->peer_conf.path.port, 1);
	send_text(0, info_of(conn).peer, "by another GID");
	CHECK_EQ(gantry_cm_close(conn), 0);
	/* What the program has chosen stays. */
	CHECK_EQ(gantry_cm_connect(host, board->port, queue[0], &conf, &conn), 0);
	/* The listener may be closed by now. */
	while (!info_of(conn).has_peer)
		gantry_cm_poll(conn, 100);
	CHECK_EQ(conn->peer_conf.path.gid_index, GID_INDEX + 2);
	CHECK_EQ(gantry_cm_close(conn), 0);
}

/* ------------------------------------------------------------------ several queues */

static void
listen_on_several_queues(void)
{
	struct gantry_cm_listener *l = open_listener(NULL);
	struct gantry_cm_conn *conn[QUEUES];
	struct gantry_cm_request_info asked;
	struct gantry_cm_request *r;
	unsigned int i, n;
	char text[16];

	meet();
	for (n = 0; n < QUEUES; n++) {
		r = take(l);
		gantry_cm_request_info_get(r, &asked);
		i = asked.data[0] - '0';
		conn[i] = accept_on(r, i);
	}
	for (i = 0; i < QUEUES; i++) {
		wait_for(conn[i], GANTRY_CM_CONNECTING, GANTRY_CM_CONNECTED);
		receive(i);
		snprintf(text, sizeof(text), "to queue %u", i);
		check_text(place(i) + TEXT_LEN, text);
	}
	/* One end closes, and the other ends are told. */
	for (i = 0; i < QUEUES; i++)
		CHECK_EQ(gantry_cm_close(conn[i]), 0);
	CHECK_EQ(gantry_cm_listener_close(l), 0);
	meet();
}

static void
connect_on_several_queues(void)
{
	struct gantry_cm_conn *conn[QUEUES];
	struct answer answer;
	char text[16];
	unsigned int i;

	meet();
	/* In another order than that of the queues. */
	for (i = QUEUES; i-- > 0;) {
		snprintf(text, sizeof(text), "%u", i);
		conn[i] = connect_on(NULL, i, text);
		memcpy(&answer, info_of(conn[i]).data, sizeof(answer));
		CHECK_EQ(answer.queue, i);
	}
	for (i = 0; i < QUEUES; i++) {
		snprintf(text, sizeof(text), "to queue %u", i);
		send_text(i, info_of(conn[i]).peer, text);
	}
	meet();
	for (i = 0; i < QUEUES; i++) {
		wait_for(conn[i], GANTRY_CM_CONNECTED, GANTRY_CM_DISCONNECTED);
		CHECK_EQ(gantry_cm_close(conn[i]), 0);
	}
}

/* ------------------------------------------------------------------ a running worker */

static void
listen_on_a_worker(void)
{
	const struct gantry_worker_conf conf = {.queue = {.max_peers = 4}, .recv_ring_size = 16};
	const struct gantry_recv recv = {.cookie = 5,
		.addr = (uintptr_t)place(0) + TEXT_LEN,
		.len = TEXT_LEN};
	const struct gantry_cm_conf cm = {.peer = &peer_conf};
	struct gantry_cm_listener *l = open_listener(NULL);
	const uint64_t end = env_patience();
	struct gantry_cm_conn *conn;
	struct gantry_recv_comp comp;
	struct gantry_worker *w;

	CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), 0);
	CHECK_EQ(gantry_worker_start(w), 0);
	meet();
	CHECK_EQ(gantry_cm_accept(take(l), gantry_worker_queue(w), &cm, &conn), 0);
	wait_for(conn, GANTRY_CM_CONNECTING, GANTRY_CM_CONNECTED);
	CHECK_EQ(gantry_recv_enqueue_burst(w, info_of(conn).peer, &recv, 1), 1);
	while (gantry_recv_dequeue_burst(w, &comp, 1) == 0) {
		CHECK(rte_get_timer_cycles() < end, "no message");
		sched_yield();
	}
	CHECK_EQ(comp.cookie, 5);
	CHECK_EQ(comp.status, GANTRY_OK);
	check_text(place(0) + TEXT_LEN, "to a worker");
	wait_for(conn, GANTRY_CM_CONNECTED, GANTRY_CM_DISCONNECTED);
	CHECK_EQ(gantry_cm_close(conn), 0);
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	CHECK_EQ(gantry_cm_listener_close(l), 0);
}

static void
connect_to_a_worker(void)
{
	struct gantry_cm_conn *conn;

	meet();
	conn = connect_on(NULL, 0, "");
	send_text(0, info_of(conn).peer, "to a worker");
	CHECK_EQ(gantry_cm_close(conn), 0);
}

/* ------------------------------------------------------------------ requests that are refused */

/*
 * Accepts a request whose sender has given up, or is dead. rdma_cm may learn this before the call
 * or behind it.
 */
static void
accept_too_late(struct gantry_cm_request *r)
{
	const uint64_t end = env_patience();
	struct gantry_cm_conn *conn;
	int rc;

	listen_to_log();
	rc = gantry_cm_accept(r, queue[0], NULL, &conn);
	if (rc != 0) {
		CHECK_EQ(rc, -ECONNRESET);
		CHECK_EQ(gantry_cm_reject(r, NULL), 0);
		check_said("no longer waits for the answer");
		return;
	}
	while ((rc = gantry_cm_poll(conn, 100)) == GANTRY_CM_CONNECTING)
		CHECK(rte_get_timer_cycles() < end, "it waits for a process that does not");
	CHECK_EQ(rc, -ECONNRESET);
	check_said("has given up the connection");
	CHECK_EQ(gantry_cm_close(conn), 0);
}

static void
listen_and_refuse(void)
{
	struct gantry_cm_conf wrong = {.timeout_ms = 1000, .data_len = 1};
	struct gantry_cm_listener *l, *second;
	struct gantry_cm_conn *conn = NULL;
	struct gantry_cm_request *r = NULL;

	CHECK_EQ(gantry_cm_listen("127.0.0.1", "0", NULL, &l), 0);
	snprintf(board->port, sizeof(board->port), "%u", gantry_cm_listener_port(l));
	REFUSED(gantry_cm_listen("127.0.0.1", board->port, NULL, &second), EADDRINUSE,
		"another program does");
	REFUSED(gantry_cm_listen(NULL, board->port, NULL, &second), EADDRINUSE,
		"another program does");
	CHECK_EQ(gantry_cm_request_get(l, 0, &r), -EAGAIN);
	CHECK_EQ(gantry_cm_request_get(l, 20, &r), -EAGAIN);
	meet();
	r = take(l);
	REFUSED(gantry_cm_listener_close(l), EBUSY, "1 requests are not answered");
	REFUSED(gantry_cm_accept(r, queue[0], &wrong, &conn), EINVAL,
		"data_len is 1: 0 to 128 are possible");
	CHECK_EQ(gantry_cm_reject(r, "the house is full"), 0);
	meet();
	/* A request without our private data is rejected before the program sees it. */
	listen_to_log();
	meet();
	while (strstr(said, "rejected") == NULL)
		CHECK_EQ(gantry_cm_request_get(l, 100, &r), -EAGAIN);
	check_said("does not come from libgantry_cm");
	meet();
	/* This request is not answered. Then it is, but nobody waits any more. */
	r = take(l);
	meet();
	accept_too_late(r);
	CHECK_EQ(gantry_cm_listener_close(l), 0);
	meet();
}

/* Connects with these settings, which must fail so. */
static void
fail(const struct gantry_cm_conf *conf, int err, const char *words)
{
	struct gantry_cm_conn *conn;

	listen_to_log();
	CHECK_EQ(gantry_cm_connect("127.0.0.1", board->port, queue[0], conf, &conn), 0);
	wait_for(conn, GANTRY_CM_CONNECTING, -err);
	check_said(words);
	CHECK_EQ(gantry_cm_poll(conn, -1), -err, "the error stays");
	CHECK_EQ(info_of(conn).error, -err);
	CHECK_EQ(gantry_cm_disconnect(conn), 0, "nothing happens");
	CHECK_EQ(gantry_cm_close(conn), 0);
}

/* Connects as another program of librdmacm, which must be rejected. */
static void
connect_as_another_program(void)
{
	const struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP};
	struct rdma_conn_param param = {.qp_num = 77};
	struct rdma_addrinfo *to;
	struct rdma_cm_id *id;

	CHECK_EQ(rdma_getaddrinfo("127.0.0.1", board->port, &hints, &to), 0);
	CHECK_EQ(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
	CHECK_EQ(rdma_resolve_addr(id, NULL, to->ai_dst_addr, 2000), 0);
	CHECK_EQ(rdma_resolve_route(id, 2000), 0);
	CHECK_EQ(rdma_connect(id, &param), -1);
	CHECK_EQ(errno, ECONNREFUSED);
	CHECK_EQ(rdma_destroy_id(id), 0);
	rdma_freeaddrinfo(to);
}

static void
connect_and_be_refused(void)
{
	struct gantry_cm_conf conf = {.timeout_ms = 60000};

	meet();
	fail(&conf, ECONNREFUSED, "has rejected the request: the house is full");
	meet();
	meet();
	connect_as_another_program();
	meet();
	conf.timeout_ms = 300;
	fail(&conf, ETIMEDOUT, "has not answered for 300 ms");
	meet();
	meet();
	/* The listener is closed. */
	fail(&conf, ECONNREFUSED, "nobody listens at 127.0.0.1");
	conf.wait_for_listener = true;
	listen_to_log();
	struct gantry_cm_conn *conn;
	CHECK_EQ(gantry_cm_connect("127.0.0.1", board->port, queue[0], &conf, &conn), 0);
	wait_for(conn, GANTRY_CM_CONNECTING, -ECONNREFUSED);
	rte_openlog_stream(NULL);
	CHECK(strstr(said, "nobody has listened at 127.0.0.1") != NULL, "%s", said);
	CHECK_EQ(gantry_cm_close(conn), 0);
}

/* ------------------------------------------------------------------ addresses that are refused */

int __real_gantry_peer_connect(struct gantry_queue *q, uint16_t peer,
	const struct gantry_addr *addr);
int __wrap_gantry_peer_connect(struct gantry_queue *q, uint16_t peer,
	const struct gantry_addr *addr);

static bool refuses; /* this process refuses the addresses of the other one */

int
__wrap_gantry_peer_connect(struct gantry_queue *q, uint16_t peer, const struct gantry_addr *addr)
{
	return refuses ? -EPROTONOSUPPORT : __real_gantry_peer_connect(q, peer, addr);
}

static void
listen_with_another_version(void)
{
	struct gantry_cm_listener *l = open_listener("127.0.0.1");
	struct gantry_cm_request *r;
	struct gantry_cm_conn *conn;

	/* The listening end refuses the address in the request. */
	meet();
	r = take(l);
	refuses = true;
	REFUSED(gantry_cm_accept(r, queue[0], NULL, &conn), EPROTONOSUPPORT,
		"cannot connect the peer to 127.0.0.1");
	refuses = false;
	CHECK_EQ(gantry_cm_reject(r, "another version"), 0);
	/* The connecting end refuses the address in the answer. */
	meet();
	listen_to_log();
	conn = accept_on(take(l), 0);
	wait_for(conn, GANTRY_CM_CONNECTING, -ECONNRESET);
	check_said("has given up the connection: Protocol not supported");
	CHECK_EQ(gantry_cm_close(conn), 0);
	CHECK_EQ(gantry_cm_listener_close(l), 0);
}

static void
connect_with_another_version(void)
{
	const struct gantry_cm_conf conf = {.timeout_ms = 60000};

	meet();
	fail(&conf, ECONNREFUSED, "has rejected the request: another version");
	meet();
	refuses = true;
	fail(&conf, EPROTONOSUPPORT, "cannot connect the peer to 127.0.0.1");
	refuses = false;
}

/* ------------------------------------------------------------------ a listener that comes later */

static void
listen_later(void)
{
	struct gantry_cm_listener *l = open_listener("127.0.0.1");
	struct gantry_cm_conn *conn;

	CHECK_EQ(gantry_cm_listener_close(l), 0);
	meet();
	usleep(200000);
	CHECK_EQ(gantry_cm_listen("127.0.0.1", board->port, NULL, &l), 0);
	conn = accept_on(take(l), 0);
	wait_for(conn, GANTRY_CM_CONNECTING, GANTRY_CM_CONNECTED);
	wait_for(conn, GANTRY_CM_CONNECTED, GANTRY_CM_DISCONNECTED);
	CHECK_EQ(gantry_cm_close(conn), 0);
	CHECK_EQ(gantry_cm_listener_close(l), 0);
}

static void
connect_early(void)
{
	const struct gantry_cm_conf conf = {.timeout_ms = CHECK_PATIENCE_MS,
		.wait_for_listener = true};
	struct gantry_cm_conn *conn;

	meet();
	CHECK_EQ(gantry_cm_connect("127.0.0.1", board->port, queue[0], &conf, &conn), 0);
	wait_for(conn, GANTRY_CM_CONNECTING, GANTRY_CM_CONNECTED);
	CHECK_EQ(gantry_cm_close(conn), 0);
}

/* ------------------------------------------------------------------ many connections */

#define MANY 20

/*
 * A file that a connection or a listener leaves open is there MANY times. The sockets of the
 * adapters come and go.
 */
static void
check_files(unsigned int before)
{
	const unsigned int now = check_count_fds();

	CHECK(now < before + MANY / 2, "%u files, then %u", before, now);
}

static void
listen_often(void)
{
	const unsigned int before = check_count_fds();
	struct gantry_cm_listener *l;
	struct gantry_cm_conn *conn;

	for (unsigned int i = 0; i < MANY; i++) {
		l = open_listener("127.0.0.1");
		meet();
		if (i % 2 == 0) {
			CHECK_EQ(gantry_cm_reject(take(l), NULL), 0);
		} else {
			conn = accept_on(take(l), 0);
			wait_for(conn, GANTRY_CM_CONNECTING, GANTRY_CM_CONNECTED);
			wait_for(conn, GANTRY_CM_CONNECTED, GANTRY_CM_DISCONNECTED);
			CHECK_EQ(gantry_cm_close(conn), 0);
		}
		CHECK_EQ(gantry_cm_listener_close(l), 0);
	}
	check_files(before);
}

static void
connect_often(void)
{
	const struct gantry_cm_conf conf = {.timeout_ms = 60000};
	const unsigned int before = check_count_fds();

	for (unsigned int i = 0; i < MANY; i++) {
		meet();
		if (i % 2 == 0)
			fail(&conf, ECONNREFUSED, "its own log says why");
		else
			CHECK_EQ(gantry_cm_close(connect_on("127.0.0.1", 0, "")), 0);
	}
	check_files(before);
}

/* ------------------------------------------------------------------ wrong arguments */

static void
listen_wrongly(void)
{
	struct gantry_cm_listen_conf conf = {.reserved = {1}};
	struct gantry_cm_listener *l = NULL;

	REFUSED(gantry_cm_listen(NULL, NULL, NULL, &l), EINVAL, "port is NULL");
	REFUSED(gantry_cm_listen(NULL, "0", &conf, &l), EINVAL, "reserved is not 0");
	REFUSED(gantry_cm_listen("nowhere.invalid", "0", NULL, &l), EADDRNOTAVAIL,
		"there is no address nowhere.invalid");
	REFUSED(gantry_cm_listen("127.0.0.1", "no-such-service", NULL, &l), EADDRNOTAVAIL,
		"port no-such-service");
	REFUSED(gantry_cm_listen("127.0.0.1", "65536", NULL, &l), EADDRNOTAVAIL,
		"there is no port 65536");
	/* 203.0.113.0/24 is for documentation: RFC 5737. */
	REFUSED(gantry_cm_listen("203.0.113.7", "0", NULL, &l), EADDRNOTAVAIL,
		"belongs to no RDMA device");
	CHECK(l == NULL);
}

static void
connect_wrongly(void)
{
	struct gantry_peer_conf dc = {.transport = GANTRY_TRANSPORT_DC};
	struct gantry_cm_conf conf = {.data = "123456789", .data_len = 9};
	struct gantry_cm_conn *conn = NULL;
	struct gantry_peer_conf bad_path = {.path = {.traffic_class = 1}};

	REFUSED(gantry_cm_connect(NULL, NULL, queue[0], NULL, &conn), EINVAL, "port is NULL");
	REFUSED(gantry_cm_connect(NULL, "1", queue[0], &conf, &conn), EINVAL,
		"data_len is 9: 0 to 8 are possible");
	conf = (struct gantry_cm_conf){.zero = {1}};
	REFUSED(gantry_cm_connect(NULL, "1", queue[0], &conf, &conn), EINVAL, "is not 0");
	conf = (struct gantry_cm_conf){.peer = &dc};
	REFUSED(gantry_cm_connect(NULL, "1", queue[0], &conf, &conn), EOPNOTSUPP, "is not RC");
	REFUSED(gantry_cm_connect("nowhere.invalid", "1", queue[0], NULL, &conn), EADDRNOTAVAIL,
		"there is no address nowhere.invalid");
	CHECK(conn == NULL);
	/* Settings of the peer are judged when the address is known. */
	conf = (struct gantry_cm_conf){.peer = &bad_path};
	snprintf(board->port, sizeof(board->port), "1");
	fail(&conf, EINVAL, "cannot open a peer for 127.0.0.1:1");
}

/* ------------------------------------------------------------------ fork(2) */

static void
listen_in_a_child(void)
{
	struct gantry_cm_listener *l = open_listener(NULL);
	struct gantry_cm_request *r;
	struct gantry_cm_conn *conn;
	int status;
	pid_t child;

	meet();
	conn = accept_on(take(l), 0);
	wait_for(conn, GANTRY_CM_CONNECTING, GANTRY_CM_CONNECTED);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		REFUSED(gantry_cm_poll(conn, 0), ECHILD, "is a child of process");
		REFUSED(gantry_cm_close(conn), ECHILD, "is a child of process");
		REFUSED(gantry_cm_disconnect(conn), ECHILD, "is a child of process");
		REFUSED(gantry_cm_request_get(l, 0, &r), ECHILD, "is a child of process");
		REFUSED(gantry_cm_listener_close(l), ECHILD, "is a child of process");
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	/* The connection lives on. */
	CHECK_EQ(gantry_cm_poll(conn, 0), GANTRY_CM_CONNECTED);
	meet();
	wait_for(conn, GANTRY_CM_CONNECTED, GANTRY_CM_DISCONNECTED);
	CHECK_EQ(gantry_cm_close(conn), 0);
	CHECK_EQ(gantry_cm_listener_close(l), 0);
}

static void
connect_to_a_parent(void)
{
	struct gantry_cm_conn *conn;

	meet();
	conn = connect_on(NULL, 0, "");
	meet();
	CHECK_EQ(gantry_cm_poll(conn, 0), GANTRY_CM_CONNECTED);
	CHECK_EQ(gantry_cm_close(conn), 0);
}

/* ------------------------------------------------------------------ the device of an address */

/* The queue's engine has the second adapter, and the address belongs to the first one. */
static void
listen_on_another_device(void)
{
	const struct gantry_conf conf = {.device = "mlx5_1"};
	struct gantry_cm_listener *l;
	struct gantry_cm_request *r;
	struct gantry_cm_conn *conn = NULL;
	struct gantry_queue *other;
	struct gantry *second;

	if (gantry_create(&conf, &second) != 0)
		second = NULL;
	l = open_listener("127.0.0.1");
	meet();
	r = take(l);
	if (second != NULL) {
		CHECK_EQ(gantry_queue_create(second, NULL, &other), 0);
		REFUSED(gantry_cm_accept(r, other, NULL, &conn), EXDEV,
			"belongs to the device mlx5_0, and the queue's engine has mlx5_1");
		CHECK_EQ(gantry_queue_destroy(other), 0);
		CHECK_EQ(gantry_destroy(second), 0);
	}
	/* The same request can still be accepted. */
	conn = accept_on(r, 0);
	wait_for(conn, GANTRY_CM_CONNECTING, GANTRY_CM_CONNECTED);
	wait_for(conn, GANTRY_CM_CONNECTED, GANTRY_CM_DISCONNECTED);
	CHECK_EQ(gantry_cm_close(conn), 0);
	CHECK_EQ(gantry_cm_listener_close(l), 0);
}

static void
connect_to_another_device(void)
{
	struct gantry_cm_conn *conn;

	meet();
	conn = connect_on("127.0.0.1", 0, "");
	CHECK_EQ(gantry_cm_close(conn), 0);
}

/* ------------------------------------------------------------------ a process that is killed */

static void
wait_to_be_killed(void)
{
	meet();
	pause();
}

static void
listen_and_outlive(void)
{
	struct gantry_cm_listener *l = open_listener(NULL);
	struct gantry_cm_conn *conn;

	meet();
	conn = accept_on(take(l), 0);
	wait_for(conn, GANTRY_CM_CONNECTING, GANTRY_CM_CONNECTED);
	meet();
	wait_for(conn, GANTRY_CM_CONNECTED, GANTRY_CM_DISCONNECTED);
	CHECK_EQ(gantry_cm_close(conn), 0);
	CHECK_EQ(gantry_cm_listener_close(l), 0);
}

static void
connect_and_be_killed(void)
{
	meet();
	connect_on(NULL, 0, "");
	wait_to_be_killed();
}

static void
listen_and_be_killed(void)
{
	struct gantry_cm_listener *l = open_listener(NULL);

	meet();
	wait_for(accept_on(take(l), 0), GANTRY_CM_CONNECTING, GANTRY_CM_CONNECTED);
	wait_to_be_killed();
}

static void
connect_and_outlive(void)
{
	const struct gantry_cm_conf conf = {.timeout_ms = 200};
	struct gantry_cm_conn *conn;

	meet();
	conn = connect_on(NULL, 0, "");
	meet();
	wait_for(conn, GANTRY_CM_CONNECTED, GANTRY_CM_DISCONNECTED);
	CHECK_EQ(gantry_cm_close(conn), 0);
	fail(&conf, ECONNREFUSED, "nobody listens");
}

/* Is killed before it has answered a request. */
static void
listen_and_be_killed_early(void)
{
	struct gantry_cm_listener *l = open_listener("127.0.0.1");

	meet();
	take(l);
	wait_to_be_killed();
}

static void
connect_and_get_no_answer(void)
{
	const struct gantry_cm_conf conf = {.timeout_ms = CHECK_PATIENCE_MS};
	struct gantry_cm_conn *conn;

	meet();
	CHECK_EQ(gantry_cm_connect("127.0.0.1", board->port, queue[0], &conf, &conn), 0);
	while (board->step[0] < 3)
		CHECK_EQ(gantry_cm_poll(conn, 10), GANTRY_CM_CONNECTING);
	meet();
	wait_for(conn, GANTRY_CM_CONNECTING, -ECONNREFUSED);
	CHECK_EQ(gantry_cm_close(conn), 0);
}

/* Its process is asked by one that is killed before the answer. */
static void
listen_and_be_left(void)
{
	struct gantry_cm_listener *l = open_listener("127.0.0.1");
	struct gantry_cm_request *r;

	meet();
	r = take(l);
	meet();
	accept_too_late(r);
	CHECK_EQ(gantry_cm_listener_close(l), 0);
}

static void
connect_and_be_killed_early(void)
{
	struct gantry_cm_conn *conn;

	meet();
	CHECK_EQ(gantry_cm_connect("127.0.0.1", board->port, queue[0], NULL, &conn), 0);
	while (board->step[0] < 3)
		CHECK_EQ(gantry_cm_poll(conn, 10), GANTRY_CM_CONNECTING);
	wait_to_be_killed();
}

/* ------------------------------------------------------------------ the run */

struct pair_case {
	const char *sentence;
	void (*run[2])(void);
};

static const struct pair_case cases[] = {
	{"an address of another device is refused",
		{listen_on_another_device, connect_to_another_device}},
	{"peers are connected by each address, and each end is told of the end",
		{listen_by_each_address, connect_by_each_address}},
	{"the peer has the GID of the address", {listen_at_a_gid, connect_to_a_gid}},
	{"each of several queues has a connection of its own",
		{listen_on_several_queues, connect_on_several_queues}},
	{"a worker's queue is connected while the worker runs",
		{listen_on_a_worker, connect_to_a_worker}},
	{"requests are refused with their reason", {listen_and_refuse, connect_and_be_refused}},
	{"an address of another version is refused by either end",
		{listen_with_another_version, connect_with_another_version}},
	{"the connecting process may start first", {listen_later, connect_early}},
	{"connections and listeners leave no file open", {listen_often, connect_often}},
	{"wrong arguments are refused", {listen_wrongly, connect_wrongly}},
	{"a child of fork(2) changes nothing", {listen_in_a_child, connect_to_a_parent}},
};

static const struct pair_case killed[] = {
	{"the listening process is told that the other one was killed",
		{listen_and_outlive, connect_and_be_killed}},
	{"the connecting process is told that the other one was killed",
		{listen_and_be_killed, connect_and_outlive}},
	{"the listening process is told that the asking one was killed",
		{listen_and_be_left, connect_and_be_killed_early}},
	{"the connecting process is told that the asked one was killed",
		{listen_and_be_killed_early, connect_and_get_no_answer}},
};

/* Takes the receives that were posted for peers that are closed. */
static void
take_flushed(void)
{
	struct gantry_recv_comp comp;

	for (unsigned int i = 0; i < QUEUES; i++)
		while (gantry_recv_poll(queue[i], &comp, 1) == 1)
			CHECK_EQ(comp.status, GANTRY_FLUSHED);
}

/* Runs cases in this process, which has the role `me`. victim: as in run_pair(). */
static void
run_cases(const struct pair_case *of, size_t n, int victim)
{
	const struct gantry_queue_conf conf = {.depth = 16, .max_peers = 4};
	const struct gantry_conf first = {.device = "mlx5_0"};

	env_refuse_fork_init();
	env_init(1);
	CHECK_EQ(gantry_create(&first, &g), 0);
	memory = env_mem(g, 4096, ENV_REMOTE, &mem);
	for (unsigned int i = 0; i < QUEUES; i++)
		CHECK_EQ(gantry_queue_create(g, &conf, &queue[i]), 0);
	for (size_t i = 0; i < n; i++) {
		meet();
		of[i].run[me]();
		if (me == (victim == 0))
			printf("ok: %s\n", of[i].sentence);
		fflush(stdout);
		take_flushed();
	}
	for (unsigned int i = 0; i < QUEUES; i++)
		env_queue_done(queue[i]);
	env_done(g, &mem, 1);
}

static pid_t
start(unsigned int role, const struct pair_case *of, size_t n, int victim)
{
	const pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	me = role;
	run_cases(of, n, victim);
	fflush(NULL);
	exit(check_failures != 0);
}

/* Runs cases in two processes. victim: the process that is killed, or -1. */
static void
run_pair(const struct pair_case *of, size_t n, int victim)
{
	pid_t pid[2], ended;
	unsigned int role;
	int status;

	memset(board, 0, sizeof(*board));
	fflush(NULL);
	for (role = 0; role < 2; role++)
		pid[role] = start(role, of, n, victim);
	/* The case of a victim ends at the third meeting. */
	while (victim >= 0 && (board->step[0] < 3 || board->step[1] < 3)) {
		CHECK_EQ(waitpid(-1, &status, WNOHANG), 0, "a process has ended before its time");
		usleep(1000);
	}
	if (victim >= 0)
		kill(pid[victim], SIGKILL);
	for (role = 0; role < 2; role++) {
		ended = wait(&status);
		if (victim >= 0 && ended == pid[victim])
			continue;
		if (status == 0)
			continue;
		kill(pid[ended == pid[0]], SIGKILL);
		exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
}

int
main(int argc, char **argv)
{
	size_t i;

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	CHECK(board != MAP_FAILED);
	if (argc == 1)
		run_pair(cases, RTE_DIM(cases), -1);
	for (i = 0; argc > 1 && i < RTE_DIM(cases); i++)
		if (strstr(cases[i].sentence, argv[1]) != NULL)
			run_pair(&cases[i], 1, -1);
	for (i = 0; i < RTE_DIM(killed); i++)
		if (argc == 1 || strstr(killed[i].sentence, argv[1]) != NULL)
			run_pair(&killed[i], 1, i % 2 == 0);
	return 0;
}
