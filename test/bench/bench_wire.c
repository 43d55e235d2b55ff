/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes that use the emulated adapter by stock libibverbs, compared with the same two
 * processes on a SOCK_SEQPACKET socket, and with memcpy(3), all in one run:
 *
 * - A ping-pong of 64 bytes, of 64 KiB and of 1 MiB: by RDMA writes, with memory that the other
 *   process polls; and on the socket, in records of at most 64 KiB.
 * - A stream of 64 KiB in one direction: writes, 16 in flight on one queue pair; and records.
 *
 * Each process has a CPU of its own, and both poll: the adapter, or the socket. Each figure is the
 * median of several rounds, in which all are measured in turn. So other load on the machine affects
 * all of them.
 *
 * The bounds hold where each thread that polls has a CPU: with softhca_pump() two threads poll, and
 * with device threads four. On fewer CPUs the figures are printed without bounds.
 *
 * usage: bench_wire           prints the figures
 *        bench_wire check     ends with 1 if a bound is missed
 *        bench_wire short     a short form, whose figures mean nothing
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <softhca.h>

#include "bench_median.h"
#include "qp_ready.h"

#define ROUNDS_MAX 9
#define SMALL      64
#define RECORD     (64u << 10)
#define LARGE      (1u << 20)
#define DEPTH      16
#define MEM_LEN    ((size_t)LARGE)

/* Bounds of the adapter's latency and of its bytes per second, relative to those of the socket. */
#define LATENCY_MOST 3.0
#define BYTES_LEAST  0.5

enum what {
	SOCKET_SMALL,
	WRITE_SMALL,
	SOCKET_RECORD,
	SOCKET_LARGE,
	SOCKET_STREAM,
	WRITE_RECORD,
	WRITE_LARGE,
	WRITE_STREAM,
	MEMCPY_RECORD,
	MEMCPY_LARGE,
	N_WHAT
};

/* The data that each process sends to the other process over the socket. */
struct address {
	uint32_t qpn, rkey;
	uint64_t addr;
	union ibv_gid gid;
	uint16_t lid;
};

static int sock;
static bool pumped, is_child;
static uint8_t *mem;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static struct address there;
static unsigned int n_posted;

static void
must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_wire: %s\n", what);
	exit(EXIT_FAILURE);
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/* ------------------------------------------------------------------ the socket */

static void
say(const void *p, size_t len)
{
	must(send(sock, p, len, 0) == (ssize_t)len, "send");
}

static void
hear(void *p, size_t len, bool polls)
{
	ssize_t n;

	do
		n = recv(sock, p, len, polls ? MSG_DONTWAIT : 0);
	while (polls && n < 0);
	must(n == (ssize_t)len, "recv");
}

/*
 * Returns when both processes have called this function. Meanwhile the adapter may have work for
 * the other process.
 */
static void
meet(void)
{
	char c = 0;

	say(&c, 1);
	while (pumped && recv(sock, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0)
		softhca_pump();
	hear(&c, 1, false);
}

/* ------------------------------------------------------------------ the adapter */

static void
open_adapter(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 64,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = SMALL}};
	struct ibv_qp_attr attr = {.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_1024,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
		.ah_attr = {.port_num = 1, .is_global = 1, .grh = {.hop_limit = 1}}};
	struct address here;
	struct ibv_pd *pd;

	must(list != NULL && list[0] != NULL, "no device");
	ctx = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	must(ctx != NULL, "ibv_open_device");
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 128, NULL, NULL, 0);
	must(pd != NULL && cq != NULL, "ibv_create_cq");
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	mr = ibv_reg_mr(pd, mem, MEM_LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	must(qp != NULL && mr != NULL, "ibv_create_qp");
	here = (struct address){.qpn = qp->qp_num, .rkey = mr->rkey, .addr = (uintptr_t)mem};
	must(ibv_query_gid(ctx, 1, 1, &here.gid) == 0, "ibv_query_gid");
	say(&here, sizeof(here));
	hear(&there, sizeof(there), false);
	attr.dest_qp_num = there.qpn;
	attr.ah_attr.grh.dgid = there.gid;
	attr.ah_attr.grh.sgid_index = 1;
	must(qp_take(qp, K_RC, attr, IBV_QPS_INIT, IBV_QPS_RTS) == 0, "ibv_modify_qp");
	meet();
}

static void
post(uint64_t at, uint32_t len, bool is_inline)
{
	struct ibv_sge sge = {(uintptr_t)mem + at, len, mr->lkey};
	struct ibv_send_wr *bad,
		wr = {.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED | (is_inline ? IBV_SEND_INLINE : 0),
			.wr.rdma = {there.addr + at, there.rkey}};

	must(ibv_post_send(qp, &wr, &bad) == 0, "ibv_post_send");
	n_posted++;
}

/* Takes completions, until at most `most` writes are in flight. */
static void
reap(unsigned int most)
{
	struct ibv_wc wc[DEPTH];
	int i, n;

	do {
		if (pumped)
			softhca_pump();
		n = ibv_poll_cq(cq, DEPTH, wc);
		for (i = 0; i < n; i++)
			must(wc[i].status == IBV_WC_SUCCESS, ibv_wc_status_str(wc[i].status));
		n_posted -= n;
	} while (n_posted > most);
}

/* ------------------------------------------------------------------ what is measured */

/* Sends len bytes in records, or receives them. The socket may be full for a while. */
static void
say_records(uint32_t len)
{
	const uint32_t record = len < RECORD ? len : RECORD;
	uint32_t at;

	for (at = 0; at < len; at += record)
		while (send(sock, mem + at, record, MSG_DONTWAIT) < 0)
			;
}

static void
hear_records(uint32_t len)
{
	const uint32_t record = len < RECORD ? len : RECORD;
	uint32_t at;

	for (at = 0; at < len; at += record)
		hear(mem + at, record, true);
}

/* Seconds of half a round trip. */
static double
ping_sockets(unsigned int n, uint32_t len)
{
	double start;
	unsigned int i;

	meet();
	start = now();
	for (i = 0; i < n; i++) {
		if (!is_child)
			say_records(len);
		hear_records(len);
		if (is_child)
			say_records(len);
	}
	return (now() - start) / n / 2;
}

static void
wait_for_write(const uint8_t *at, uint8_t want)
{
	while (__atomic_load_n(at, __ATOMIC_ACQUIRE) != want)
		reap(UINT32_MAX);
}

/*
 * Measures half of a round trip, in seconds. Each process writes bytes from an offset of its memory
 * to the same offset of the other process's memory. The last byte counts the writes.
 */
static double
ping_writes(unsigned int n, uint32_t len)
{
	uint8_t *last = mem + len - 1;
	double start;
	unsigned int i;

	*last = 0;
	meet();
	start = now();
	for (i = 1; i <= n; i++) {
		if (is_child)
			wait_for_write(last, 2 * i - 1);
		*last = is_child ? 2 * i : 2 * i - 1;
		post(0, len, len <= SMALL);
		if (!is_child)
			wait_for_write(last, 2 * i);
	}
	reap(0);
	start = (now() - start) / n / 2;
	meet();
	return start;
}

/* Bytes per second on the socket, from one process to the other one. */
static double
stream_socket(unsigned int n)
{
	double start;
	unsigned int i;

	meet();
	start = now();
	for (i = 0; i < n; i++)
		is_child ? hear_records(RECORD) : say_records(RECORD);
	meet();
	return n * (double)RECORD / (now() - start);
}

static double
stream_writes(unsigned int n)
{
	double start;
	unsigned int i;

	meet();
	start = now();
	for (i = 0; i < n && !is_child; i++) {
		post(0, RECORD, false);
		reap(DEPTH - 1);
	}
	reap(0);
	meet();
	return n * (double)RECORD / (now() - start);
}

static double
stream_memcpy(unsigned int n, uint32_t len)
{
	static uint8_t to[MEM_LEN];
	double start = now();
	unsigned int i;

	for (i = 0; i < n; i++) {
		memcpy(to, mem, len);
		/* The compiler must not leave out a copy. */
		__asm__ volatile("" : : : "memory");
	}
	return n * (double)len / (now() - start);
}

/* ------------------------------------------------------------------ the whole run */

/* Gives each process, with the threads of its adapter, a CPU of its own, if there are two. */
static void
pin(const cpu_set_t *cpus)
{
	cpu_set_t own;
	int cpu = 0, left = is_child && CPU_COUNT(cpus) > 1;

	while (!CPU_ISSET(cpu, cpus) || left-- > 0)
		cpu++;
	CPU_ZERO(&own);
	CPU_SET(cpu, &own);
	must(sched_setaffinity(0, sizeof(own), &own) == 0, "sched_setaffinity");
}

static void
measure(double value[N_WHAT], unsigned int scale)
{
	value[SOCKET_SMALL] = ping_sockets(20 * scale, SMALL);
	value[WRITE_SMALL] = ping_writes(20 * scale, SMALL);
	value[SOCKET_RECORD] = RECORD / ping_sockets(4 * scale, RECORD);
	value[SOCKET_LARGE] = LARGE / ping_sockets(scale / 2, LARGE);
	value[SOCKET_STREAM] = stream_socket(16 * scale);
	value[WRITE_RECORD] = RECORD / ping_writes(4 * scale, RECORD);
	value[WRITE_LARGE] = LARGE / ping_writes(scale / 2, LARGE);
	value[WRITE_STREAM] = stream_writes(16 * scale);
	value[MEMCPY_RECORD] = is_child ? 0 : stream_memcpy(16 * scale, RECORD);
	value[MEMCPY_LARGE] = is_child ? 0 : stream_memcpy(scale, LARGE);
}

static bool
bound(const char *text, double ratio, double limit, bool most, bool holds)
{
	bool good = most ? ratio <= limit : ratio >= limit;

	printf("  %-50s %6.2f   ", text, ratio);
	if (!holds)
		printf("too few CPUs for a bound\n");
	else
		printf("at %s %.1f%s\n", most ? "most " : "least", limit, good ? "" : "   MISSED");
	return good || !holds;
}

/* Returns false if a bound is missed. */
static bool
print(const double v[N_WHAT], int n_cpus)
{
	bool good = true, holds = n_cpus >= (pumped ? 2 : 4);

	printf("two processes, %s, %d CPUs\n", pumped ? "softhca_pump()" : "device threads",
		n_cpus);
	printf("  half a round trip of 64 bytes, us: writes %.2f, SEQPACKET %.2f\n",
		v[WRITE_SMALL] * 1e6, v[SOCKET_SMALL] * 1e6);
	printf("  GB/s by 64 KiB: writes %.2f, SEQPACKET %.2f, memcpy %.2f; streams: writes %.2f, "
	       "SEQPACKET %.2f\n",
		v[WRITE_RECORD] / 1e9, v[SOCKET_RECORD] / 1e9, v[MEMCPY_RECORD] / 1e9,
		v[WRITE_STREAM] / 1e9, v[SOCKET_STREAM] / 1e9);
	printf("  GB/s by 1 MiB: writes %.2f, SEQPACKET %.2f, memcpy %.2f\n", v[WRITE_LARGE] / 1e9,
		v[SOCKET_LARGE] / 1e9, v[MEMCPY_LARGE] / 1e9);
	good &= bound("latency of 64 bytes, in that of SEQPACKET", v[WRITE_SMALL] / v[SOCKET_SMALL],
		LATENCY_MOST, true, holds);
	good &= bound("bytes by writes of 64 KiB, in those of SEQPACKET",
		v[WRITE_RECORD] / v[SOCKET_RECORD], BYTES_LEAST, false, holds);
	good &= bound("bytes by writes of 1 MiB, in those of SEQPACKET",
		v[WRITE_LARGE] / v[SOCKET_LARGE], BYTES_LEAST, false, holds);
	return good;
}

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "", *threads = getenv("SOFTHCA_THREADS");
	bool is_short = strcmp(how, "short") == 0, good;
	unsigned int rounds = is_short ? 1 : ROUNDS_MAX, i, k;
	double value[ROUNDS_MAX][N_WHAT], median[N_WHAT], column[ROUNDS_MAX];
	int pair[2], status;
	cpu_set_t cpus;
	pid_t child;

	must(argc == 1 || is_short || strcmp(how, "check") == 0, "bench_wire [check|short]");
	must(sched_getaffinity(0, sizeof(cpus), &cpus) == 0, "sched_getaffinity");
	pumped = threads != NULL && strcmp(threads, "0") == 0;
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
	child = fork();
	must(child >= 0, "fork");
	is_child = child == 0;
	if (is_child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	sock = pair[is_child];
	/*
	 * This end is closed, so that the calls of the other process fail when this process ends.
	 */
	close(pair[!is_child]);
	mem = mmap(NULL, MEM_LEN, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	must(mem != MAP_FAILED, "mmap");
	pin(&cpus);
	open_adapter();
	for (i = 0; i < rounds; i++)
		measure(value[i], is_short ? 10 : 200);
	meet();
	if (is_child)
		return 0;
	must(waitpid(child, &status, 0) == child && status == 0, "the other process failed");
	for (k = 0; k < N_WHAT; k++) {
		for (i = 0; i < rounds; i++)
			column[i] = value[i][k];
		median[k] = bench_median(column, rounds);
	}
	good = print(median, CPU_COUNT(&cpus));
	return !good && strcmp(how, "check") == 0;
}
