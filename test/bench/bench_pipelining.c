/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gain of signature pipelining: transactions with GANTRY_TXN_PIPELINED compared with
 * GANTRY_TXN_WAIT, on the emulated adapter's timing model and a virtual clock. The figures come
 * from the model, so they are the same on each machine and in each run.
 *
 *     doorbell -> host delay -> send queue: 100 ns each -> round trip -> CQE, polled at once
 *
 * The host delay is the time from a CQE until the adapter reads the doorbell of the WQEs that the
 * host posts in response: poll, check, post, doorbell. A stop also takes an event and two commands
 * (EVENT_NS, COMMAND_NS), which this program adds. The port has no limit of bandwidth.
 *
 * A transaction moves one block of 512 bytes with T10-DIF: WRITE checks memory, READ checks the
 * wire. `depth` transactions are open at once; they use the queue pairs in turn. Each response is
 * checked.
 *
 * usage: bench_pipelining ROUND_TRIP_NS HOST_NS    prints CSV
 *        bench_pipelining check                    a few points, and checks of their figures
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>

#include <hwq_cancel.h>
#include <softhca.h>

#include "gantry_env.h"
#include "gantry_queue.h"
#include "gantry_txn_stop.h"
#include "virtual_clock.h"

#define STEP_NS    100
#define LATENCY_NS 100   /* time of each work request */
#define EVENT_NS   10000 /* time from a stop until the queue's owner gets the event */
/* time of QUERY_QP, and time of the change to RTS; the owner waits for both */
#define COMMAND_NS 10000

#define BLOCK_LEN  512
#define SIGNED_LEN (BLOCK_LEN + 8)
#define DEPTH_MAX  64
#define QPS_MAX    4
#define N_MAX      2000 /* largest number of transactions in one measurement */
#define APP_TAG    0x4754

/* Parameters of one measurement. */
struct point {
	enum gantry_txn_mode mode;
	enum gantry_op op;
	uint32_t depth, qps;
	uint32_t bad_ppm; /* number of transactions with a wrong signature, per million */
	uint32_t n;       /* number of transactions */
};

/* Results: medians and 99th percentiles, in ns. */
struct figures {
	uint64_t response[2]; /* time from submission to the arrival of the response at the peer */
	uint64_t done[2];     /* time from submission to completion */
	double response_mean, per_second;
	uint64_t stops;
};

struct response {
	uint32_t number; /* number of the transaction */
	uint32_t good;
	uint64_t pad;
};

/* A transaction with the objects that it names. */
struct slot {
	struct gantry_txn txn;
	struct gantry_sge data;
	struct gantry_txn_part part;
	struct response good, bad;
};

/* Registered memory of an end: a correct block, a wrong block, and a block for each slot. */
struct end {
	struct gantry_queue *q;
	uint8_t *mem;
	struct gantry_mem *reg;
	uint16_t peer[QPS_MAX];
};

static struct {
	uint64_t round_trip;
	struct gantry *g;
	struct end target, initiator;
	uint16_t checks_mem, checks_wire, generates;
	struct slot slot[DEPTH_MAX];
	uint32_t free_slot[DEPTH_MAX], n_free;
	struct response *received; /* memory of the initiator for responses */
	uint64_t stop_due
		/*
		 * For each connection, the time when its owner gets the stop event; 0: not stopped.
		 */
		[UINT8_MAX];
	/* The measurement in progress; the arrays are indexed by the transaction's number. */
	struct point p;
	uint32_t n_submitted, n_answered, n_done;
	uint64_t seed;
	bool is_bad[N_MAX];
	uint64_t begin[N_MAX], response[N_MAX], done[N_MAX];
} b;

#define ROOM       (2 * SIGNED_LEN)               /* offset of the slots' blocks */
#define RECEIVED   (ROOM + DEPTH_MAX * BLOCK_LEN) /* offset of the responses */
#define N_RECEIVES (2 * DEPTH_MAX)                /* number of receives for each queue pair */

/* ------------------------------------------------------------------ time */

static void
settle(void)
{
	while (softhca_pump() != 0)
		;
}

/*
 * Polls the responses that have arrived. In the model a response's receive completes when its SEND
 * completes, which is half a round trip after its arrival.
 */
static void
take_responses(void)
{
	struct gantry_recv_comp comp;

	while (gantry_recv_poll(b.initiator.q, &comp, 1) == 1) {
		const struct response *r = &b.received[comp.cookie];
		const struct gantry_recv again = {.cookie = comp.cookie,
			.addr = (uintptr_t)r,
			.len = sizeof(*r)};

		CHECK_EQ(comp.status, GANTRY_OK);
		CHECK(r->number < b.n_submitted && b.response[r->number] == 0);
		CHECK_EQ(r->good, !b.is_bad[r->number]);
		b.response[r->number] = clock_ns - b.round_trip / 2;
		b.n_answered++;
		CHECK_EQ(gantry_recv_post(b.initiator.q, comp.peer, &again, 1), 1);
	}
}

/* Advances the time for the adapter and the initiator, while the target does not poll. */
static void
pass(uint64_t ns)
{
	uint64_t end = clock_ns + ns;

	while (clock_ns < end) {
		clock_ns += STEP_NS;
		settle();
		take_responses();
	}
}

/* ------------------------------------------------------------------ the time of a stop */

bool __real_gantry_txn_stop_has_come(struct gantry_queue *q, struct gantry_conn *c);
bool __wrap_gantry_txn_stop_has_come(struct gantry_queue *q, struct gantry_conn *c);
int __real_hwq_qp_cancel_wqes(struct hwq_qp *qp, const uint16_t *index, unsigned int n,
	bool *cancelled);
int __wrap_hwq_qp_cancel_wqes(struct hwq_qp *qp, const uint16_t *index, unsigned int n,
	bool *cancelled);
int __real_hwq_qp_resume(struct hwq_qp *qp);
int __wrap_hwq_qp_resume(struct hwq_qp *qp);

bool
__wrap_gantry_txn_stop_has_come(struct gantry_queue *q, struct gantry_conn *c)
{
	uint64_t *due = &b.stop_due[c - q->conn];

	if (*due == 0 || clock_ns < *due)
		return false;
	*due = 0;
	return __real_gantry_txn_stop_has_come(q, c);
}

int
__wrap_hwq_qp_cancel_wqes(struct hwq_qp *qp, const uint16_t *index, unsigned int n, bool *cancelled)
{
	pass(COMMAND_NS);
	return __real_hwq_qp_cancel_wqes(qp, index, n, cancelled);
}

int
__wrap_hwq_qp_resume(struct hwq_qp *qp)
{
	pass(COMMAND_NS);
	return __real_hwq_qp_resume(qp);
}

/* Stop events are delivered by another thread, which does not use the virtual clock. */
static void
note_stops(void)
{
	uint32_t i;

	for (i = 0; i < b.p.qps; i++) {
		uint32_t conn = gantry_queue_peer_conn(b.target.q, b.target.peer[i]);
		struct gantry_conn *c = &b.target.q->conn[conn];

		if (c->txns->stop != GANTRY_TXN_STOPPING || b.stop_due[conn] != 0)
			continue;
		while ((atomic_load(&c->events) & GANTRY_CONN_EVENT_DRAINED) == 0)
			sched_yield();
		b.stop_due[conn] = clock_ns + EVENT_NS;
	}
}

/* ------------------------------------------------------------------ transactions */

static const struct gantry_txn_tags tags = {.ref_tag = 1, .app_tag = APP_TAG}, none;

static void
submit(void)
{
	const bool write = b.p.op == GANTRY_OP_WRITE;
	const uint32_t number = b.n_submitted++, i = b.free_slot[--b.n_free];
	const bool bad = check_random(&b.seed) % 1000000 < b.p.bad_ppm;
	struct slot *s = &b.slot[i];
	const struct gantry_desc desc = {.op = GANTRY_OP_TXN,
		.peer = b.target.peer[number % b.p.qps],
		.src = (uintptr_t)&s->txn,
		.len = BLOCK_LEN,
		.cookie = i};
	uint64_t block = bad ? SIGNED_LEN : 0, room = ROOM + i * BLOCK_LEN;

	s->good = (struct response){.number = number, .good = 1};
	s->bad = (struct response){.number = number};
	s->data = (struct gantry_sge){(uintptr_t)b.target.mem + (write ? block : room),
		write ? SIGNED_LEN : BLOCK_LEN};
	s->part = (struct gantry_txn_part){.addr = (uintptr_t)b.initiator.mem +
						   (write ? room : block),
		.len = write ? BLOCK_LEN : SIGNED_LEN,
		.remote_key = gantry_mem_remote_key(b.initiator.reg)};
	s->txn = (struct gantry_txn){.profile = write ? b.checks_mem : b.checks_wire,
		.op = b.p.op,
		.n_data = 1,
		.n_parts = 1,
		.data = &s->data,
		.part = &s->part,
		.mem = write ? tags : none,
		.wire = write ? none : tags,
		.good = {.addr = (uintptr_t)&s->good, .len = sizeof(s->good)},
		.bad = {.addr = (uintptr_t)&s->bad, .len = sizeof(s->bad)}};
	b.is_bad[number] = bad;
	b.begin[number] = clock_ns;
	CHECK_EQ(gantry_submit(b.target.q, &desc, 1), 1);
}

static void
take_completions(void)
{
	struct gantry_comp comp[DEPTH_MAX];
	uint16_t n = gantry_poll(b.target.q, comp, RTE_DIM(comp)), i;

	for (i = 0; i < n; i++) {
		uint32_t number = b.slot[comp[i].cookie].good.number;

		CHECK_EQ(comp[i].status, b.is_bad[number] ? GANTRY_SIG_ERROR : GANTRY_OK);
		b.done[number] = clock_ns;
		b.n_done++;
		b.free_slot[b.n_free++] = comp[i].cookie;
	}
}

/* ------------------------------------------------------------------ both ends */

static void
connect_ends(void)
{
	const struct gantry_queue_conf target = {.depth = DEPTH_MAX,
		.transactions = DEPTH_MAX,
		.unordered = true};
	const struct gantry_peer_conf txn = {.txn = b.p.mode},
				      receives = {.recv_depth = N_RECEIVES};
	struct gantry_addr here, there;
	uint32_t i, k;

	CHECK_EQ(gantry_queue_create(b.g, &target, &b.target.q), 0);
	b.initiator.q = env_queue(b.g, DEPTH_MAX);
	for (i = 0; i < b.p.qps; i++) {
		CHECK_EQ(gantry_peer_open(b.target.q, &txn, &b.target.peer[i], &here), 0);
		CHECK_EQ(gantry_peer_open(b.initiator.q, &receives, &b.initiator.peer[i], &there),
			0);
		CHECK_EQ(gantry_peer_connect(b.target.q, b.target.peer[i], &there), 0);
		CHECK_EQ(gantry_peer_connect(b.initiator.q, b.initiator.peer[i], &here), 0);
		for (k = 0; k < N_RECEIVES; k++) {
			const uint64_t cookie = i * N_RECEIVES + k;
			const struct gantry_recv r = {.cookie = cookie,
				.addr = (uintptr_t)&b.received[cookie],
				.len = sizeof(b.received[0])};

			CHECK_EQ(gantry_recv_post(b.initiator.q, b.initiator.peer[i], &r, 1), 1);
		}
	}
}

static void
disconnect_ends(void)
{
	struct gantry_recv_comp comp;
	uint32_t i;

	for (i = 0; i < b.p.qps; i++) {
		CHECK_EQ(gantry_peer_close(b.target.q, b.target.peer[i]), 0);
		CHECK_EQ(gantry_peer_close(b.initiator.q, b.initiator.peer[i]), 0);
	}
	while (gantry_recv_poll(b.initiator.q, &comp, 1) == 1)
		;
	env_queue_done(b.target.q);
	env_queue_done(b.initiator.q);
}

/*
 * The device generates the signature of a block. Correct and wrong blocks are copied to the memory
 * of both ends.
 */
static void
make_blocks(void)
{
	const struct gantry_queue_conf conf = {.depth = 2, .transactions = 1};
	struct gantry_sge data = {(uintptr_t)b.target.mem + ROOM, BLOCK_LEN};
	struct gantry_txn_part part = {.addr = (uintptr_t)b.target.mem, .len = SIGNED_LEN};
	struct gantry_txn txn = {.profile = b.generates,
		.op = GANTRY_OP_WRITE,
		.n_data = 1,
		.n_parts = 1,
		.data = &data,
		.part = &part,
		.wire = tags};
	const struct gantry_desc desc = {.op = GANTRY_OP_TXN,
		.peer = GANTRY_PEER_OWN,
		.src = (uintptr_t)&txn,
		.len = BLOCK_LEN};
	struct gantry_comp comp;
	struct gantry_queue *q;

	env_fill(b.target.mem + ROOM, BLOCK_LEN, 1);
	CHECK_EQ(gantry_queue_create(b.g, &conf, &q), 0);
	CHECK_EQ(gantry_submit(q, &desc, 1), 1);
	do {
		settle();
		clock_ns += STEP_NS;
	} while (gantry_poll(q, &comp, 1) == 0);
	CHECK_EQ(comp.status, GANTRY_OK);
	env_queue_done(q);
	memcpy(b.target.mem + SIGNED_LEN, b.target.mem, SIGNED_LEN);
	b.target.mem[SIGNED_LEN + 99] ^= 1;
	memcpy(b.initiator.mem, b.target.mem, ROOM);
}

static void
open_engine(void)
{
	const struct gantry_sig_domain no_sig = {0}, dif = {GANTRY_SIG_T10DIF_CRC, BLOCK_LEN,
							     GANTRY_SIG_REF_REMAP};
	const struct gantry_profile_conf mem = {.mem = dif,
						 .wire = no_sig,
						 .check = GANTRY_SIG_ALL},
					 wire = {.mem = no_sig,
						 .wire = dif,
						 .check = GANTRY_SIG_ALL};
	const struct gantry_conf conf = {0};
	const size_t len = RECEIVED + QPS_MAX * N_RECEIVES * sizeof(*b.received);

	env_init(0);
	CHECK_EQ(gantry_create(&conf, &b.g), 0);
	b.target.mem = env_mem(b.g, len, ENV_REMOTE, &b.target.reg);
	b.initiator.mem = env_mem(b.g, len, ENV_REMOTE, &b.initiator.reg);
	b.received = (struct response *)(b.initiator.mem + RECEIVED);
	CHECK_EQ(gantry_profile_create(b.g, &mem, &b.checks_mem), 0);
	CHECK_EQ(gantry_profile_create(b.g, &wire, &b.checks_wire), 0);
	b.generates = b.checks_wire;
	make_blocks();
}

/* ------------------------------------------------------------------ a point */

static int
by_value(const void *a, const void *c)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)c;

	return (x > y) - (x < y);
}

/*
 * Returns the median, or the 99th percentile, of the times since submission. The first transactions
 * are left out.
 */
static double
percentiles(const uint64_t *end, uint32_t first, uint64_t out[2])
{
	static uint64_t ns[N_MAX];
	uint32_t n = b.p.n - first, i;
	double sum = 0;

	for (i = 0; i < n; i++) {
		ns[i] = end[first + i] - b.begin[first + i];
		sum += ns[i];
	}
	qsort(ns, n, sizeof(*ns), by_value);
	out[0] = ns[n / 2];
	out[1] = ns[n * 99 / 100];
	return sum / n;
}

static struct figures
measure(struct point p)
{
	struct figures f = {0};
	uint64_t begin;
	uint32_t first = p.depth, i;

	b.p = p;
	b.seed = 1;
	b.n_submitted = b.n_answered = b.n_done = b.n_free = 0;
	memset(b.response, 0, sizeof(b.response));
	connect_ends();
	for (i = 0; i < p.depth; i++)
		b.free_slot[b.n_free++] = i;
	begin = clock_ns;
	while (b.n_done < p.n || b.n_answered < p.n) {
		while (b.n_free != 0 && b.n_submitted < p.n)
			submit();
		settle(); /* the adapter reads the doorbells */
		pass(STEP_NS);
		take_completions();
		note_stops();
	}
	f.per_second = p.n * 1e9 / (clock_ns - begin);
	f.response_mean = percentiles(b.response, first, f.response);
	percentiles(b.done, first, f.done);
	f.stops = env_stats(b.target.q).txn_stops;
	disconnect_ends();
	return f;
}

static void
print_point(uint64_t host_ns, struct point p)
{
	const struct figures f = measure(p);

	printf("%" PRIu64 ",%" PRIu64 ",%s,%u,%g,%u,%s,%u,%.2f,%.2f,%.2f,%.2f,%.2f,%.0f,%" PRIu64
	       "\n",
		b.round_trip, host_ns, p.op == GANTRY_OP_WRITE ? "write" : "read", p.qps,
		p.bad_ppm / 1e4, p.depth, p.mode == GANTRY_TXN_PIPELINED ? "pipelined" : "waiting",
		p.n, f.response[0] / 1e3, f.response[1] / 1e3, f.response_mean / 1e3,
		f.done[0] / 1e3, f.done[1] / 1e3, f.per_second, f.stops);
}

/*
 * Measures depths that are powers of two, with both modes, both operations, and all numbers of
 * queue pairs.
 */
static void
print_points(uint64_t host_ns, uint32_t depth, const uint32_t *ppm, uint32_t n_ppm)
{
	uint32_t i, qps;

	for (i = 0; i < n_ppm; i++)
		for (qps = 1; qps <= QPS_MAX; qps *= QPS_MAX)
			for (int read = 0; read < 2; read++)
				for (int m = GANTRY_TXN_PIPELINED; m <= GANTRY_TXN_WAIT; m++)
					print_point(host_ns, (struct point){.mode = m,
								     .op = read ? GANTRY_OP_READ
										: GANTRY_OP_WRITE,
								     .depth = depth,
								     .qps = qps,
								     .bad_ppm = ppm[i],
								     .n = N_MAX});
}

/*
 * The adapter reads its settings when a program starts, so the program sets them and executes
 * itself again.
 */
static void
set_times(char **argv, uint64_t round_trip, uint64_t host)
{
	const struct {
		const char *name;
		uint64_t value;
	} settings[] = {{"SOFTHCA_THREADS", 0}, {"SOFTHCA_FORCE", 1}, {"SOFTHCA_DOORBELL_NS", host},
		{"SOFTHCA_ROUND_TRIP_NS", round_trip}, {"SOFTHCA_LATENCY_NS", LATENCY_NS}};
	bool all = true;

	for (size_t i = 0; i < RTE_DIM(settings); i++) {
		const char *was = getenv(settings[i].name);
		char text[24];

		snprintf(text, sizeof(text), "%" PRIu64, settings[i].value);
		all = all && was != NULL && strcmp(was, text) == 0;
		setenv(settings[i].name, text, 1);
	}
	if (!all)
		execv("/proc/self/exe", argv);
	CHECK(all);
	b.round_trip = round_trip;
}

static int
close_engine(void)
{
	struct gantry_mem *const mem[] = {b.target.reg, b.initiator.reg};

	return env_done(b.g, mem, RTE_DIM(mem));
}

/* ------------------------------------------------------------------ checks */

#define CHECK_ROUND_TRIP 20000
#define CHECK_HOST       5000

static struct figures
quick(enum gantry_txn_mode mode, enum gantry_op op, uint32_t depth, uint32_t qps)
{
	return measure((struct point){.mode = mode,
		.op = op,
		.depth = depth,
		.qps = qps,
		.n = 4 * depth + 16});
}

static int
check(char **argv)
{
	const uint64_t trip = CHECK_ROUND_TRIP, host = CHECK_HOST;
	struct figures pipelined, waiting;

	set_times(argv, trip, host);
	open_engine();
	pipelined = quick(GANTRY_TXN_PIPELINED, GANTRY_OP_WRITE, 1, 1);
	waiting = quick(GANTRY_TXN_WAIT, GANTRY_OP_WRITE, 1, 1);
	/*
	 * The response takes the time of the doorbell, of four WQEs (UMR, SET_PSV, write and SEND),
	 * half a round trip, and at most 1 us more.
	 */
	CHECK(pipelined.response[0] >= host + 4 * LATENCY_NS + trip / 2);
	CHECK(pipelined.response[0] <= host + 4 * LATENCY_NS + trip / 2 + 1000);
	/* GANTRY_TXN_WAIT adds the round trip of the transfer and the host's delay. */
	CHECK(waiting.response[0] >= pipelined.response[0] + host + trip);
	CHECK(waiting.response[0] <= pipelined.response[0] + host + trip + 1000);
	pipelined = quick(GANTRY_TXN_PIPELINED, GANTRY_OP_READ, 1, 1);
	waiting = quick(GANTRY_TXN_WAIT, GANTRY_OP_READ, 1, 1);
	/* The fenced response also waits for the round trip of the read. */
	CHECK(pipelined.response[0] >= host + 4 * LATENCY_NS + trip * 3 / 2);
	CHECK(waiting.response[0] >= pipelined.response[0] + host);
	CHECK(waiting.response[0] <= pipelined.response[0] + host + 1000);
	/*
	 * Many reads overlap as writes do, because reads have no fences, with pipelining and
	 * without.
	 */
	pipelined = quick(GANTRY_TXN_PIPELINED, GANTRY_OP_READ, DEPTH_MAX, 1);
	waiting = quick(GANTRY_TXN_WAIT, GANTRY_OP_READ, DEPTH_MAX, 1);
	CHECK(waiting.per_second >=
		0.99 * quick(GANTRY_TXN_WAIT, GANTRY_OP_WRITE, DEPTH_MAX, 1).per_second);
	CHECK(pipelined.per_second >= 0.8 * waiting.per_second);
	/* Each stop adds the time of its event and its commands. */
	pipelined = measure((struct point){.mode = GANTRY_TXN_PIPELINED,
		.op = GANTRY_OP_WRITE,
		.depth = 1,
		.qps = 1,
		.bad_ppm = 1000000,
		.n = 8});
	CHECK_EQ(pipelined.stops, 8);
	CHECK(pipelined.response[0] >= host + trip * 3 / 2 + EVENT_NS + 2 * COMMAND_NS);
	return close_engine();
}

int
main(int argc, char **argv)
{
	static const uint32_t shares[] = {0, 10000, 200000};
	static const uint32_t more[] = {1000, 2000, 5000, 20000, 50000, 100000};
	uint64_t host;

	if (argc == 2 && strcmp(argv[1], "check") == 0)
		return check(argv);
	if (argc != 3) {
		fprintf(stderr, "usage: bench_pipelining ROUND_TRIP_NS HOST_NS | check\n");
		return EXIT_FAILURE;
	}
	host = strtoull(argv[2], NULL, 10);
	set_times(argv, strtoull(argv[1], NULL, 10), host);
	open_engine();
	printf("round_trip_ns,host_ns,op,qps,bad_percent,depth,mode,transactions,response_median_us,"
	       "response_p99_us,response_mean_us,done_median_us,done_p99_us,per_second,stops\n");
	for (uint32_t depth = 1; depth <= DEPTH_MAX; depth *= 2) {
		print_points(host, depth, shares, RTE_DIM(shares));
		if (depth == 1 || depth == 16)
			print_points(host, depth, more, RTE_DIM(more));
	}
	return close_engine();
}
