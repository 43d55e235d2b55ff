/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of telemetry, tested over the socket, which dpdk-telemetry.py also uses. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_lcore.h>

#include <softhca.h>

#include <gantry_engine.h>
#include <gantry_queue.h>

#include "gantry_arena.h"

/* ------------------------------------------------------------------ the socket */

/*
 * Connects to telemetry's socket, as DPDK's documentation describes it. DPDK's first message is a
 * greeting. While DPDK has ten connections, it closes a new connection at once. On a busy machine
 * DPDK notices late that a client has closed its connection. So this function connects again until
 * it gets a greeting.
 */
static int
tel_open(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const uint64_t end = env_patience();
	char greeting[1024];
	int fd;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/dpdk_telemetry.v2",
		rte_eal_get_runtime_dir());
	for (;;) {
		fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		CHECK(fd >= 0);
		CHECK_EQ(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
		if (recv(fd, greeting, sizeof(greeting), 0) > 0)
			return fd;
		CHECK(rte_get_timer_cycles() < end);
		close(fd);
		sched_yield();
	}
}

/* Returns the answer to a command. The answer is valid until the thread's next call. */
static const char *
tel_ask_on(int fd, const char *command)
{
	static __thread char answer[65536];
	ssize_t n;

	CHECK_EQ(send(fd, command, strlen(command), 0), (ssize_t)strlen(command));
	n = recv(fd, answer, sizeof(answer) - 1, 0);
	CHECK(n > 0);
	answer[n] = '\0';
	return answer;
}

static const char *
tel_ask(const char *command, uint32_t number)
{
	int fd = tel_open();
	char text[128];
	const char *answer;

	snprintf(text, sizeof(text), command, number);
	answer = tel_ask_on(fd, text);
	close(fd);
	return answer;
}

/* Returns the number after the first key of this name in JSON text. */
static uint64_t
value_of(const char *json, const char *key)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = strstr(json, quoted);
	if (at == NULL)
		fprintf(stderr, "no %s in %s\n", quoted, json);
	CHECK(at != NULL);
	return strtoull(at + strlen(quoted), NULL, 10);
}

static bool
has(const char *json, const char *text)
{
	if (strstr(json, text) != NULL)
		return true;
	fprintf(stderr, "no %s in %s\n", text, json);
	return false;
}

/* Lists of objects are JSON dictionaries, whose keys are the numbers of the objects. */
static bool
has_key(const char *json, uint64_t key)
{
	char text[32];

	snprintf(text, sizeof(text), "\"%llu\":{", (unsigned long long)key);
	return has(json, text);
}

static unsigned int
count_of(const char *json, const char *text)
{
	unsigned int n = 0;

	for (; (json = strstr(json, text)) != NULL; json++)
		n++;
	return n;
}

static uint32_t
number_of(const struct gantry_queue *q)
{
	struct gantry_queue_info info;

	gantry_queue_info_get(q, &info);
	return info.number;
}

static uint32_t
number_of_engine(const struct gantry *engine)
{
	struct gantry_info info;

	gantry_info_get(engine, &info);
	return info.number;
}

/* ------------------------------------------------------------------ cases */

static void
every_engine_is_told_until_it_is_destroyed(void)
{
	uint32_t first = number_of_engine(g), second;
	struct gantry *other;
	const char *answer;

	CHECK_EQ(gantry_create(NULL, &other), 0);
	second = number_of_engine(other);
	CHECK(second != first);
	answer = tel_ask("/gantry/engines", 0);
	CHECK_EQ(count_of(answer, "\"device\":"), 2);
	CHECK(has_key(answer, second));
	CHECK_EQ(gantry_destroy(other), 0);
	answer = tel_ask("/gantry/engines", 0);
	CHECK_EQ(count_of(answer, "\"device\":"), 1);
	CHECK(has_key(answer, first));
	CHECK(has(tel_ask("/gantry/queues,%u", second), "there is no such engine"));
	/* Two objects never have the same number. */
	CHECK_EQ(gantry_create(NULL, &other), 0);
	CHECK(number_of_engine(other) > second);
	CHECK_EQ(gantry_destroy(other), 0);
}

static void
a_queue_and_its_counters_are_told(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc desc[5];
	struct gantry_comp comp[5];
	uint32_t number = number_of(q), i;
	const char *answer;
	char text[32];

	snprintf(text, sizeof(text), "\"queues\":[%u]", number);
	CHECK(has(tel_ask("/gantry/queues,%u", number_of_engine(g)), text));
	for (i = 0; i < 5; i++)
		desc[i] = env_copy(src + 64 * i, dst + 64 * i, 64);
	CHECK_EQ(gantry_submit(q, desc, 5), 5);
	answer = tel_ask("/gantry/queue,%u", number);
	CHECK_EQ(value_of(answer, "depth"), 64);
	CHECK_EQ(value_of(answer, "in_flight"), 5);
	CHECK(has(answer, "\"mode\":\"inline\""));
	CHECK(has(answer, "\"state\":\"ready\""));
	env_collect(q, comp, 5);
	CHECK_EQ(value_of(tel_ask("/gantry/queue,%u", number), "in_flight"), 0);
	answer = tel_ask("/gantry/counters,%u", number);
	CHECK_EQ(value_of(answer, "submitted"), 5);
	CHECK_EQ(value_of(answer, "completed"), 5);
	CHECK_EQ(value_of(answer, "bytes"), 5 * 64);
	CHECK_EQ(value_of(answer, "doorbells"), 1);
	CHECK_EQ(value_of(answer, "ok"), 5);
	CHECK_EQ(value_of(answer, "cpu"), 0);
	CHECK_EQ(value_of(answer, "mmo") + value_of(answer, "rdma"), 5);
	env_queue_done(q);
	CHECK(has(tel_ask("/gantry/counters,%u", number), "there is no such queue"));
	q = env_queue(g, 64);
	CHECK(number_of(q) > number);
	env_queue_done(q);
}

static void
wrong_parameters_get_an_answer_that_says_what_to_give(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	static const struct {
		const char *command, *why, *give;
	} wrong[] = {
		{"/gantry/queue", "a number is missing", "give /gantry/queue,QUEUE;"},
		{"/gantry/queue,", "a number is missing", "give /gantry/queue,QUEUE;"},
		{"/gantry/queue,x", "not a number", "give /gantry/queue,QUEUE;"},
		{"/gantry/queue,-1", "not a number", "give /gantry/queue,QUEUE;"},
		{"/gantry/queue,1x", "not a number", "give /gantry/queue,QUEUE;"},
		{"/gantry/queue, 1", "not a number", "give /gantry/queue,QUEUE;"},
		{"/gantry/queue,99999999999999999999", "not a number", "give /gantry/queue,QUEUE;"},
		{"/gantry/queue,4294967296", "none of that number", "/gantry/queues,ENGINE has"},
		{"/gantry/queue,99999", "no such queue", "/gantry/queues,ENGINE has"},
		{"/gantry/memory,99999", "no such engine", "/gantry/engines has"},
		{"/gantry/engines,1", "too many parameters", "give /gantry/engines"},
		{"/gantry/lcores,1,2", "too many parameters", "give /gantry/lcores[,LCORE]"},
		{"/gantry/lcores,x", "not a number", "give /gantry/lcores[,LCORE]"},
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(wrong); i++) {
		const char *answer = tel_ask(wrong[i].command, 0);

		CHECK(has(answer, "\"error\":"));
		CHECK(has(answer, wrong[i].why));
		CHECK(has(answer, wrong[i].give));
	}
	CHECK(has(tel_ask("/gantry/peers,%u,", number_of(q)), "not a number"));
	CHECK(has(tel_ask("/gantry/peers,%u,0,0", number_of(q)), "too many parameters"));
	CHECK(has(tel_ask("/gantry/counters,%u,1", number_of(q)), "too many parameters"));
	env_queue_done(q);
}

static void
memory_is_told_with_its_rights_in_pages(void)
{
	enum {
		N = 70 /* more objects than one answer lists */
	};
	uint32_t engine = number_of_engine(g);
	struct gantry_mem *mem[N];
	uint8_t *p[N];
	const char *answer;
	char text[64];
	unsigned int i;
	uint64_t next;

	answer = tel_ask("/gantry/memory,%u", engine);
	CHECK_EQ(value_of(answer, "registrations"), 2);
	CHECK_EQ(value_of(answer, "regions"), 2);
	CHECK_EQ(value_of(answer, "bytes"), 2 * ARENA_LEN);
	CHECK_EQ(count_of(answer, "\"remote_write\":1"), 2);
	snprintf(text, sizeof(text), "\"%p\":{", (void *)src);
	CHECK(has(answer, text));
	for (i = 0; i < N; i++)
		p[i] = env_mem(g, 4096, GANTRY_MEM_READ_ONLY, &mem[i]);
	answer = tel_ask("/gantry/memory,%u", engine);
	CHECK_EQ(value_of(answer, "regions"), N + 2);
	CHECK_EQ(value_of(answer, "bytes"), 2 * ARENA_LEN + N * 4096);
	/*
	 * The answer has "bytes" once for each region that it lists, and once for the sum of all
	 * regions.
	 */
	i = count_of(answer, "\"bytes\":") - 1;
	CHECK(i < N);
	next = value_of(answer, "next");
	snprintf(text, sizeof(text), "/gantry/memory,%u,%llu", engine, (unsigned long long)next);
	answer = tel_ask(text, 0);
	CHECK_EQ(i + count_of(answer, "\"bytes\":") - 1, N + 2);
	for (i = 0; i < N; i++) {
		CHECK_EQ(gantry_mem_unregister(mem[i], CHECK_PATIENCE_MS), 0);
		env_unmap(p[i], 4096);
	}
	answer = tel_ask("/gantry/memory,%u", engine);
	CHECK_EQ(value_of(answer, "registrations"), 2);
	CHECK_EQ(value_of(answer, "regions"), 2);
	CHECK_EQ(value_of(answer, "bytes"), 2 * ARENA_LEN);
}

static void
peers_are_told_with_their_state(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	uint32_t number = number_of(q);
	struct gantry_addr addr;
	const char *answer;
	uint16_t a, b, open;

	CHECK(has(tel_ask("/gantry/peers,%u", number), "\"peers\":{}"));
	env_connect(q, &a, q, &b);
	CHECK_EQ(gantry_peer_open(q, &(struct gantry_peer_conf){.recv_depth = 16}, &open, &addr),
		0);
	answer = tel_ask("/gantry/peers,%u", number);
	CHECK_EQ(count_of(answer, "\"transport\":\"rc\""), 3);
	CHECK_EQ(count_of(answer, "\"state\":\"ready\""), 2);
	CHECK_EQ(count_of(answer, "\"state\":\"open\""), 1);
	CHECK_EQ(count_of(answer, "\"recv_depth\":16"), 1);
	CHECK_EQ(value_of(tel_ask("/gantry/queue,%u", number), "peers"), 3);
	CHECK_EQ(gantry_peer_close(q, a), 0);
	answer = tel_ask("/gantry/peers,%u", number);
	CHECK_EQ(count_of(answer, "\"transport\":"), 2);
	CHECK_EQ(count_of(answer, "\"state\":"), 2);
	CHECK(has_key(answer, b));
	CHECK_EQ(count_of(tel_ask("/gantry/peers,%u,1000", number), "\"transport\":"), 0);
	CHECK_EQ(gantry_peer_close(q, b), 0);
	CHECK_EQ(gantry_peer_close(q, open), 0);
	env_queue_done(q);
}

/* Checks the words of the WQE, and opcodes with the names of infiniband/mlx5dv.h. */
static void
a_failure_of_the_hardware_is_told_with_its_wqe(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	uint32_t engine = number_of_engine(g);
	struct gantry_desc d = env_copy(src, dst, 64);
	struct gantry_comp comp;
	uint64_t before = value_of(tel_ask("/gantry/errors,%u", engine), "failures");
	struct gantry_info info;
	const char *answer;

	gantry_info_get(g, &info);
	env_break(dst_mem);
	d.cookie = 4711;
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_LOCAL_ERROR);
	answer = tel_ask("/gantry/errors,%u", engine);
	CHECK_EQ(value_of(answer, "failures"), before + 1);
	CHECK(has_key(answer, before));
	CHECK_EQ(value_of(answer, "times"), 1);
	CHECK_EQ(value_of(answer, "queue"), number_of(q));
	CHECK_EQ(value_of(answer, "cookie"), 4711);
	CHECK(has(answer, "\"connection\":\"own\""));
	CHECK(has(answer, "\"status\":\"local_error\""));
	CHECK(has(answer, "\"op\":\"copy\""));
	CHECK(has(answer, "\"time\":\"20"));
	CHECK(strstr(answer, "\"syndrome\":\"0x0\"") == NULL);
	CHECK(has(answer, info.copy_path == GANTRY_COPY_MMO ? "MMO" : "RDMA_WRITE"));
	env_mend(dst_mem);
	env_queue_done(q);
}

/*
 * Of three descriptors in hardware, the first succeeds, the second fails, and the third is flushed.
 * The list of failures must have the WQE of the second descriptor, and no other WQE.
 */
static void
the_wqe_that_failed_is_told_and_no_other_one(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	uint32_t engine = number_of_engine(g), i;
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	const char *answer, *wqe;
	uint16_t a, b;
	char text[64];

	env_connect(q, &a, q, &b);
	for (i = 0; i < 3; i++) {
		desc[i] = env_copy(dst + 256 * i, src + 4096 + 256 * i, 64);
		desc[i].op = GANTRY_OP_WRITE;
		desc[i].peer = a;
		desc[i].cookie = 80 + i;
		desc[i].remote_key = gantry_mem_remote_key(src_mem) + i % 2;
	}
	CHECK_EQ(gantry_submit(q, desc, 3), 3);
	env_collect(q, comp, 3);
	CHECK_EQ(comp[0].status, GANTRY_OK);
	CHECK_EQ(comp[1].status, GANTRY_REMOTE_ACCESS);
	CHECK_EQ(comp[2].status, GANTRY_FLUSHED);
	snprintf(text, sizeof(text), "/gantry/errors,%u,%llu", engine,
		(unsigned long long)value_of(tel_ask("/gantry/errors,%u", engine), "failures") - 1);
	answer = tel_ask(text, 0);
	CHECK_EQ(value_of(answer, "cookie"), 81);
	wqe = strstr(answer, "\"wqe\":");
	CHECK(wqe != NULL);
	for (i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "%llx", (unsigned long long)desc[i].dst);
		CHECK_EQ(strstr(wqe, text) != NULL, i == 1, "%s in %s", text, wqe);
	}
	CHECK_EQ(gantry_peer_close(q, a), 0);
	CHECK_EQ(gantry_peer_close(q, b), 0);
	env_queue_done(q);
}

static void
a_peers_failure_names_the_peer(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc d = env_copy(src, dst, 64);
	const char *answer;
	uint16_t a, b;

	env_connect(q, &a, q, &b);
	d.op = GANTRY_OP_WRITE;
	d.peer = b;
	d.remote_key = gantry_mem_remote_key(dst_mem) + 1;
	CHECK_EQ(env_do_one(q, d), GANTRY_REMOTE_ACCESS);
	answer = tel_ask("/gantry/errors,%u", number_of_engine(g));
	CHECK(has(answer, "\"connection\":\"peer\""));
	CHECK_EQ(value_of(answer, "peer"), b);
	CHECK(has(answer, "\"status\":\"remote_access\""));
	CHECK(has(answer, "\"op\":\"write\""));
	/* The other end learns of the failure by an event, or does not learn of it. */
	CHECK(count_of(tel_ask("/gantry/peers,%u", number_of(q)), "\"state\":\"down\"") >= 1);
	CHECK_EQ(gantry_peer_close(q, a), 0);
	CHECK_EQ(gantry_peer_close(q, b), 0);
	env_queue_done(q);
}

/* Tests each status of gantry_desc.h that refuses a descriptor, except GANTRY_NO_RESOURCES. */
static void
every_refusal_is_told(void)
{
	const struct gantry_queue_conf conf = {.depth = 8, .transactions = 1};
	uint8_t *page = env_map(4096);
	struct gantry_desc copy = env_copy(src, dst, 64), txn = {.op = GANTRY_OP_TXN, .len = 512};
	struct gantry_txn t = {.profile = 200, .op = GANTRY_OP_WRITE};
	uint32_t engine = number_of_engine(g), i;
	struct gantry_queue *q;
	struct gantry_mem *mem;

	CHECK_EQ(gantry_mem_register(g, page, 4096, GANTRY_MEM_READ_ONLY, &mem), 0);
	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	txn.peer = GANTRY_PEER_OWN;
	txn.src = (uintptr_t)&t;
	const struct {
		struct gantry_desc desc;
		enum gantry_status status;
		const char *name;
	} rows[] = {
		{WITH(copy, op, GANTRY_OP_MAX), GANTRY_BAD_OP, "bad_op"},
		{WITH(copy, imm, 1), GANTRY_BAD_FIELD, "bad_field"},
		{WITH(copy, flags, GANTRY_DESC_BY_CPU | GANTRY_DESC_BY_RDMA), GANTRY_BAD_CARRIER,
			"bad_carrier"},
		{WITH(copy, op, GANTRY_OP_GATHER), GANTRY_BAD_LAYOUT, "bad_layout"},
		{txn, GANTRY_BAD_PROFILE, "bad_profile"},
		{WITH(copy, len, 0), GANTRY_BAD_LENGTH, "bad_length"},
		{WITH(txn, src, txn.src + 1), GANTRY_BAD_ADDRESS, "bad_address"},
		{WITH(copy, dst, copy.src + 63), GANTRY_OVERLAP, "overlap"},
		{WITH(copy, src, 8), GANTRY_NOT_REGISTERED, "not_registered"},
		{WITH(copy, dst, (uintptr_t)page), GANTRY_READ_ONLY, "read_only"},
		{WITH(copy, op, GANTRY_OP_WRITE), GANTRY_BAD_PEER, "bad_peer"},
	};
	for (i = 0; i < RTE_DIM(rows); i++) {
		uint64_t before = value_of(tel_ask("/gantry/errors,%u", engine), "failures");
		const char *answer, *newest;
		char text[64];

		CHECK_EQ(env_do_one(q, WITH(rows[i].desc, cookie, 70 + i)), rows[i].status);
		answer = tel_ask("/gantry/errors,%u", engine);
		CHECK_EQ(value_of(answer, "failures"), before + 1);
		snprintf(text, sizeof(text), "\"%llu\":{", (unsigned long long)before);
		newest = strstr(answer, text);
		CHECK(newest != NULL);
		CHECK_EQ(value_of(newest, "queue"), number_of(q));
		CHECK_EQ(value_of(newest, "cookie"), 70 + i);
		snprintf(text, sizeof(text), "\"status\":\"%s\"", rows[i].name);
		CHECK(has(newest, text));
	}
	env_queue_done(q);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	env_unmap(page, 4096);
}

static void
the_same_refusal_again_only_counts(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc d = env_copy(src, dst, 64);
	uint32_t engine = number_of_engine(g), i;
	uint64_t before = value_of(tel_ask("/gantry/errors,%u", engine), "failures");
	const char *answer;

	d.src = (uintptr_t)src + 2 * ARENA_LEN;
	for (i = 0; i < 100; i++)
		CHECK_EQ(env_do_one(q, d), GANTRY_NOT_REGISTERED);
	answer = tel_ask("/gantry/errors,%u", engine);
	CHECK_EQ(value_of(answer, "failures"), before + 1);
	CHECK_EQ(value_of(answer, "times"), 100);
	CHECK(has(answer, "\"status\":\"not_registered\""));
	/*
	 * Two failures alternate: the oldest entries are overwritten, and the remaining ones need
	 * several answers.
	 */
	for (i = 0; i < 100; i++) {
		CHECK_EQ(env_do_one(q, WITH(d, len, 0)), GANTRY_BAD_LENGTH);
		CHECK_EQ(env_do_one(q, d), GANTRY_NOT_REGISTERED);
	}
	answer = tel_ask("/gantry/errors,%u", engine);
	CHECK_EQ(value_of(answer, "failures"), before + 201);
	CHECK(has_key(answer, before + 200));
	i = count_of(answer, "\"time\":");
	while (strstr(answer, "\"next\":") != NULL) {
		char text[64];

		snprintf(text, sizeof(text), "/gantry/errors,%u,%u", engine,
			(unsigned int)value_of(answer, "next"));
		answer = tel_ask(text, 0);
		i += count_of(answer, "\"time\":");
	}
	CHECK_EQ(i, 32);
	env_queue_done(q);
}

/* If several equal failures share an entry, its time is that of the last failure, in UTC. */
static void
a_failure_is_told_with_the_time_of_the_last_one(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc d = {.op = GANTRY_OP_MAX};
	struct gantry_failure first, last;
	uint64_t number;
	char text[48], date[32];
	time_t seconds;
	struct tm tm;

	CHECK_EQ(env_do_one(q, d), GANTRY_BAD_OP);
	number = gantry_failures_count(&g->failures) - 1;
	CHECK(gantry_failures_get(&g->failures, number, &first));
	CHECK_EQ(env_do_one(q, WITH(d, cookie, 9)), GANTRY_BAD_OP);
	CHECK(gantry_failures_get(&g->failures, number, &last));
	CHECK_EQ(last.times, first.times + 1);
	CHECK(last.time_ns > first.time_ns);
	CHECK_EQ(last.cookie, 9);
	seconds = last.time_ns / 1000000000;
	CHECK(strftime(date, sizeof(date), "%FT%T", gmtime_r(&seconds, &tm)) != 0);
	snprintf(text, sizeof(text), "\"time\":\"%s.%03uZ\"", date,
		(unsigned int)(last.time_ns / 1000000 % 1000));
	CHECK(has(tel_ask("/gantry/errors,%u", number_of_engine(g)), text));
	env_queue_done(q);
}

/*
 * Two failures that differ in one number (operation, queue, connection or syndrome) must get
 * separate entries.
 */
static void
different_failures_are_told_apart(void)
{
	struct gantry_queue *q[2] = {env_queue(g, 64), env_queue(g, 64)};
	uint32_t engine = number_of_engine(g), i, n = 0;
	uint64_t before = value_of(tel_ask("/gantry/errors,%u", engine), "failures");
	struct gantry_desc copy = env_copy(src + 2 * ARENA_LEN, dst, 64),
			   fill =
				   {
					   .op = GANTRY_OP_FILL,
					   .dst = (uintptr_t)src + 2 * ARENA_LEN,
					   .len = 64,
				   },
			   d;
	uint16_t peer[4];
	char line[80];

	for (i = 0; i < 4; i += 2)
		env_connect(q[0], &peer[i], q[0], &peer[i + 1]);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(env_do_one(q[0], copy), GANTRY_NOT_REGISTERED);
		CHECK_EQ(env_do_one(q[0], fill), GANTRY_NOT_REGISTERED);
		CHECK_EQ(env_do_one(q[1], fill), GANTRY_NOT_REGISTERED);
		n += 3;
		CHECK_EQ(value_of(tel_ask("/gantry/errors,%u", engine), "failures"), before + n);
	}
	/*
	 * Failures with the same operation, status and queue, but with another syndrome or vendor
	 * syndrome.
	 */
	d = env_copy(src, dst, 64);
	for (i = 0; i < 4; i++) {
		snprintf(line, sizeof(line), "complete syndrome=%u vendor=%u", 2 + i / 2 * 2,
			7 + i);
		CHECK_EQ(softhca_fault(line), 0);
		CHECK_EQ(env_do_one(q[1], d), GANTRY_LOCAL_ERROR);
		CHECK_EQ(value_of(tel_ask("/gantry/errors,%u", engine), "failures"), before + ++n);
	}
	d.op = GANTRY_OP_WRITE;
	d.remote_key = gantry_mem_remote_key(dst_mem);
	for (i = 0; i < 4; i += 2) {
		d.peer = peer[i];
		CHECK_EQ(softhca_fault("complete syndrome=4"), 0);
		CHECK_EQ(env_do_one(q[0], d), GANTRY_LOCAL_ERROR);
		CHECK_EQ(value_of(tel_ask("/gantry/errors,%u", engine), "failures"), before + ++n);
	}
	for (i = 0; i < 2; i++)
		env_queue_done(q[i]);
}

/* ------------------------------------------------------------------ each field */

static bool
has_field(const char *json, const char *key, const char *value)
{
	char text[96];

	snprintf(text, sizeof(text), "\"%s\":\"%s\"", key, value);
	return has(json, text);
}

/*
 * Each counter must be shown under its own name. So the case writes a different value to each
 * counter of the queue.
 */
static void
each_counter_is_told_by_its_name(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct {
		const char *name;
		gantry_counter *counter;
	} rows[] = {
		{"bytes", &q->stats.bytes},
		{"doorbells", &q->stats.doorbells},
		{"wqes", &q->stats.peer_wqes},
		{"cqes", &q->stats.cqes},
		{"recv_posted", &q->stats.recv_posted},
		{"recv_done", &q->stats.recv_done},
		{"recoveries", &q->rare.recoveries},
		{"replays", &q->rare.replays},
		{"layout_hits", &q->keys.hits},
		{"layout_misses", &q->keys.misses},
		{"txn_opened", &q->txns.counts.opened},
		{"txn_done", &q->txns.counts.done},
		{"txn_stops", &q->txns.counts.stops},
		{"txn_cancelled", &q->txns.counts.cancelled},
		{"cpu", &q->rare.copies[GANTRY_CARRIER_CPU]},
		{"mmo", &q->rare.copies[GANTRY_CARRIER_MMO]},
		{"rdma", &q->rare.copies[GANTRY_CARRIER_RDMA]},
#define OF_STATUS(STATUS, name) {name, &q->rare.by_status[GANTRY_##STATUS]}
		OF_STATUS(BAD_OP, "bad_op"),
		OF_STATUS(BAD_FIELD, "bad_field"),
		OF_STATUS(BAD_CARRIER, "bad_carrier"),
		OF_STATUS(BAD_LAYOUT, "bad_layout"),
		OF_STATUS(BAD_PROFILE, "bad_profile"),
		OF_STATUS(BAD_DEK, "bad_dek"),
		OF_STATUS(BAD_LENGTH, "bad_length"),
		OF_STATUS(BAD_ADDRESS, "bad_address"),
		OF_STATUS(OVERLAP, "overlap"),
		OF_STATUS(NOT_REGISTERED, "not_registered"),
		OF_STATUS(NO_RESOURCES, "no_resources"),
		OF_STATUS(READ_ONLY, "read_only"),
		OF_STATUS(BAD_PEER, "bad_peer"),
		OF_STATUS(SIG_ERROR, "sig_error"),
		OF_STATUS(LOCAL_ERROR, "local_error"),
		OF_STATUS(REMOTE_ACCESS, "remote_access"),
		OF_STATUS(REMOTE_ERROR, "remote_error"),
		OF_STATUS(UNREACHABLE, "unreachable"),
		OF_STATUS(CANCELLED, "cancelled"),
		OF_STATUS(FLUSHED, "flushed"),
		OF_STATUS(TIMED_OUT, "timed_out"),
		OF_STATUS(QP_EVENT, "qp_event"),
		OF_STATUS(DEVICE_LOST, "device_lost"),
	};
	const char *answer;
	unsigned int i;

	for (i = 0; i < RTE_DIM(rows); i++)
		atomic_store(rows[i].counter, 100 + i);
	answer = tel_ask("/gantry/counters,%u", number_of(q));
	for (i = 0; i < RTE_DIM(rows); i++)
		CHECK_EQ(value_of(answer, rows[i].name), 100 + i, "%s", rows[i].name);
	for (i = 0; i < RTE_DIM(rows); i++)
		atomic_store(rows[i].counter, 0);
	env_queue_done(q);
}

static void
each_field_of_an_engine_is_told(void)
{
	struct gantry_queue *q[2];
	struct gantry_info info;
	struct gantry *other;
	const char *answer;
	char text[32];

	CHECK_EQ(gantry_create(NULL, &other), 0);
	gantry_info_get(other, &info);
	q[0] = env_queue(other, 8);
	q[1] = env_queue(other, 8);
	CHECK_EQ(env_do_one(q[0], (struct gantry_desc){.op = GANTRY_OP_MAX}), GANTRY_BAD_OP);
	snprintf(text, sizeof(text), "\"%u\":{", info.number);
	answer = strstr(tel_ask("/gantry/engines", 0), text);
	CHECK(answer != NULL);
	CHECK(has_field(answer, "device", info.device));
	CHECK(has_field(answer, "copies_by", info.copy_path == GANTRY_COPY_MMO ? "mmo" : "rdma"));
	CHECK_EQ((int)value_of(answer, "numa_node"), info.numa_node);
	CHECK_EQ(value_of(answer, "queues"), 2);
	CHECK_EQ(value_of(answer, "failures"), 1);
	CHECK_EQ(value_of(answer, "device_lost"), 0);
	CHECK(has_field(answer, "ports_down", "0x0"));
	atomic_store(&other->device_lost, true);
	atomic_store(&other->ports_down, 5);
	answer = strstr(tel_ask("/gantry/engines", 0), text);
	CHECK_EQ(value_of(answer, "device_lost"), 1);
	CHECK(has_field(answer, "ports_down", "0x5"));
	atomic_store(&other->device_lost, false);
	atomic_store(&other->ports_down, 0);
	env_queue_done(q[0]);
	env_queue_done(q[1]);
	CHECK_EQ(gantry_destroy(other), 0);
}

static void
each_field_of_a_queue_and_its_worker_is_told(void)
{
	static const struct {
		enum gantry_idle idle;
		const char *name;
	} rows[] = {{GANTRY_IDLE_SPIN, "spin"}, {GANTRY_IDLE_SLEEP, "sleep"}};
	const struct gantry_peer_conf receives = {.recv_depth = 4};
	const struct gantry_recv recv = {.cookie = 1};
	const struct gantry_desc nop = {.op = GANTRY_OP_NOP};
	struct gantry_recv_comp comp;
	struct gantry_info info;
	struct gantry_addr addr;
	unsigned int i, n;
	const char *answer;
	uint16_t peer;

	gantry_info_get(g, &info);
	for (i = 0; i < RTE_DIM(rows); i++) {
		const struct gantry_worker_conf conf = {.queue = {.unordered = i == 1,
								.depth = 16,
								.mask = GANTRY_QUEUE_NUMA_NODE,
								.numa_node = 0},
			.ring_size = 64 << i,
			.burst = 7 + i,
			.idle = rows[i].idle};
		struct gantry_queue_info of_queue;
		struct gantry_queue *q;
		struct gantry_worker *w;

		CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), 0);
		q = gantry_worker_queue(w);
		gantry_queue_info_get(q, &of_queue);
		CHECK_EQ(gantry_peer_open(q, &receives, &peer, &addr), 0);
		for (n = 0; n < 3; n++)
			CHECK_EQ(gantry_recv_post(q, peer, &recv, 1), 1);
		CHECK_EQ(gantry_enqueue_burst(w, &nop, 1), 1);
		/* Counts one of the posted receives as completed. */
		atomic_fetch_add(&q->stats.recv_done, 1);
		answer = tel_ask("/gantry/queue,%u", number_of(q));
		atomic_fetch_sub(&q->stats.recv_done, 1);
		CHECK_EQ(value_of(answer, "queue"), number_of(q));
		CHECK_EQ(value_of(answer, "engine"), number_of_engine(g));
		CHECK_EQ(value_of(answer, "unordered"), i == 1);
		CHECK_EQ(value_of(answer, "depth"), 16);
		CHECK_EQ(value_of(answer, "receives_posted"), 2);
		CHECK_EQ((int)value_of(answer, "numa_node"), of_queue.numa_node);
		CHECK(has_field(answer, "copies_by",
			info.copy_path == GANTRY_COPY_MMO ? "mmo" : "rdma"));
		CHECK_EQ(value_of(answer, "lcore"), 1);
		CHECK(has_field(answer, "idle", rows[i].name));
		CHECK_EQ(value_of(answer, "burst"), 7 + i);
		CHECK_EQ(value_of(answer, "ring_size"), 64 << i);
		CHECK_EQ(value_of(answer, "descriptors_waiting"), 1);
		CHECK_EQ(value_of(answer, "completions_waiting"), 0);
		CHECK_EQ(gantry_reclaim_burst(w, &(struct gantry_desc){0}, 1), 1);
		CHECK_EQ(gantry_peer_close(q, peer), 0);
		while (gantry_recv_poll(q, &comp, 1) != 0)
			;
		CHECK_EQ(gantry_worker_destroy(w), 0);
	}
}

static void
each_right_of_a_region_is_told(void)
{
	static const struct {
		unsigned int flags;
		const char *name;
	} rows[] = {
		{GANTRY_MEM_READ_ONLY, "read_only"},
		{GANTRY_MEM_REMOTE_WRITE, "remote_write"},
		{GANTRY_MEM_REMOTE_READ, "remote_read"},
		{GANTRY_MEM_REMOTE_ATOMIC, "remote_atomic"},
		{GANTRY_MEM_RELAXED, "relaxed"},
	};
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(rows); i++) {
		struct gantry_mem *mem;
		uint8_t *p = env_mem(g, 8192, rows[i].flags, &mem);
		const char *answer;
		char text[32];

		snprintf(text, sizeof(text), "\"%p\":{", (void *)p);
		answer = strstr(tel_ask("/gantry/memory,%u", number_of_engine(g)), text);
		CHECK(answer != NULL);
		CHECK_EQ(value_of(answer, "bytes"), 8192);
		for (k = 0; k < RTE_DIM(rows); k++)
			CHECK_EQ(value_of(answer, rows[k].name), k == i, "%s", rows[k].name);
		CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
		env_unmap(p, 8192);
	}
}

static void
each_field_of_a_peer_is_told(void)
{
	const struct gantry_peer_conf rc_conf = {.depth = 128, .recv_depth = 7},
				      dc_conf = {.transport = GANTRY_TRANSPORT_DC},
				      target_conf = {.transport = GANTRY_TRANSPORT_DC_TARGET,
					      .recv_depth = 13};
	struct gantry_queue *q = env_queue(g, 64);
	const struct gantry_conn *c;
	struct gantry_addr addr;
	uint16_t rc, dc, target;
	const char *answer;
	char text[32];

	CHECK_EQ(gantry_peer_open(q, &rc_conf, &rc, &addr), 0);
	c = &q->conn[gantry_queue_peer_conn(q, rc)];
	answer = tel_ask("/gantry/peers,%u", number_of(q));
	snprintf(text, sizeof(text), "0x%x", c->qp->qpn);
	CHECK(has_field(answer, "qpn", text));
	CHECK(value_of(answer, "wqes") >= 128);
	CHECK_EQ(value_of(answer, "recv_depth"), 7);
	CHECK_EQ(gantry_peer_close(q, rc), 0);
	if (!env_lacks(g, ENV_DC)) {
		CHECK_EQ(gantry_peer_open(q, &dc_conf, &dc, NULL), 0);
		answer = tel_ask("/gantry/peers,%u", number_of(q));
		CHECK(has_field(answer, "transport", "dc"));
		CHECK(has_field(answer, "state", "open"));
		CHECK_EQ(gantry_peer_open(q, &target_conf, &target, &addr), 0);
		CHECK_EQ(gantry_peer_connect(q, dc, &addr), 0);
		snprintf(text, sizeof(text), "/gantry/peers,%u,%u", number_of(q), dc);
		CHECK(has_field(tel_ask(text, 0), "state", "ready"));
		snprintf(text, sizeof(text), "\"%u\":{", target);
		answer = strstr(tel_ask("/gantry/peers,%u", number_of(q)), text);
		CHECK(answer != NULL);
		CHECK(has_field(answer, "transport", "dc_target"));
		CHECK(has_field(answer, "state", "target"));
		CHECK_EQ(value_of(answer, "recv_depth"), 13);
		/* The failure belongs to the connection of the initiator, not to a peer. */
		CHECK_EQ(softhca_fault("complete syndrome=4 vendor=165"), 0);
		CHECK_EQ(env_do_one(q, (struct gantry_desc){.op = GANTRY_OP_WRITE,
					       .peer = dc,
					       .src = (uintptr_t)src,
					       .dst = (uintptr_t)src + 4096,
					       .len = 64,
					       .remote_key = gantry_mem_remote_key(src_mem)}),
			GANTRY_LOCAL_ERROR);
		answer = tel_ask("/gantry/errors,%u", number_of_engine(g));
		CHECK(has_field(answer, "connection", "dc_initiator"));
		CHECK(has_field(answer, "syndrome", "0x4"));
		CHECK(has_field(answer, "vendor_syndrome", "0xa5"));
		CHECK_EQ(gantry_peer_close(q, dc), 0);
		CHECK_EQ(gantry_peer_close(q, target), 0);
	}
	env_queue_done(q);
}

/* An answer lists at most 64 peers, and names the peer with which the next answer must begin. */
static void
many_peers_are_told_in_parts(void)
{
	const struct gantry_peer_conf small = {.depth = 64};
	const struct gantry_queue_conf conf = {.depth = 8, .max_peers = 70};
	struct gantry_addr addr;
	struct gantry_queue *q;
	const char *answer;
	uint16_t peer[70];
	unsigned int i;
	char text[64];

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	for (i = 0; i < RTE_DIM(peer); i++)
		CHECK_EQ(gantry_peer_open(q, &small, &peer[i], &addr), 0);
	answer = tel_ask("/gantry/peers,%u", number_of(q));
	CHECK_EQ(count_of(answer, "\"transport\":"), 64);
	snprintf(text, sizeof(text), "/gantry/peers,%u,%u", number_of(q),
		(unsigned int)value_of(answer, "next"));
	answer = tel_ask(text, 0);
	CHECK_EQ(count_of(answer, "\"transport\":"), 6);
	CHECK_EQ(count_of(answer, "\"next\":"), 0);
	for (i = 0; i < RTE_DIM(peer); i++)
		CHECK_EQ(gantry_peer_close(q, peer[i]), 0);
	CHECK_EQ(gantry_queue_destroy(q), 0);
}

static void
many_queues_are_told_in_parts(void)
{
	enum {
		N = 514
	};
	const uint32_t engine = number_of_engine(g);
	struct gantry_queue *q[N];
	char text[64], last[32];
	const char *answer;
	unsigned int i;

	for (i = 0; i < N; i++)
		q[i] = env_queue(g, 2);
	answer = tel_ask("/gantry/queues,%u", engine);
	snprintf(last, sizeof(last), ",%u]", number_of(q[511]));
	CHECK(has(answer, last));
	CHECK_EQ(value_of(answer, "next"), number_of(q[512]));
	snprintf(text, sizeof(text), "/gantry/queues,%u,%u", engine, number_of(q[512]));
	answer = tel_ask(text, 0);
	snprintf(text, sizeof(text), "\"queues\":[%u,%u]", number_of(q[512]), number_of(q[513]));
	CHECK(has(answer, text));
	CHECK_EQ(count_of(answer, "\"next\":"), 0);
	for (i = 0; i < N; i++)
		env_queue_done(q[i]);
}

/* ------------------------------------------------------------------ workers */

static void
a_worker_and_the_load_of_its_lcore_are_told(void)
{
	struct gantry_desc d = env_copy(src, dst, 64);
	struct gantry_worker *w;
	struct gantry_comp comp;
	struct gantry_lcore_load load;
	uint64_t cycles, busy, end = env_patience();
	const char *answer;
	uint32_t queue;

	CHECK_EQ(gantry_worker_create(g, 1, NULL, &w), 0);
	queue = number_of(gantry_worker_queue(w));
	answer = tel_ask("/gantry/queue,%u", queue);
	CHECK(has(answer, "\"mode\":\"ring\""));
	CHECK_EQ(value_of(answer, "lcore"), 1);
	CHECK_EQ(value_of(answer, "running"), 0);
	CHECK_EQ(gantry_enqueue_burst(w, &d, 1), 1);
	answer = tel_ask("/gantry/queue,%u", queue);
	CHECK_EQ(value_of(answer, "descriptors_waiting"), 1);
	CHECK_EQ(gantry_worker_start(w), 0);
	CHECK_EQ(value_of(tel_ask("/gantry/queue,%u", queue), "running"), 1);
	while (value_of(tel_ask("/gantry/queue,%u", queue), "completions_waiting") == 0)
		;
	while (env_dequeue(w, &comp, 1) == 0)
		;
	/* The lcore has executed copies, and has been idle since. */
	answer = tel_ask("/gantry/lcores", 0);
	CHECK_EQ(value_of(answer, "cycles_per_second"), rte_get_tsc_hz());
	CHECK(has_key(answer, 1));
	CHECK_EQ(value_of(answer, "workers"), 1);
	cycles = value_of(answer, "cycles");
	busy = value_of(answer, "busy_cycles");
	CHECK(busy > 0);
	CHECK(busy <= cycles);
	/*
	 * Without descriptors, only idle time increases, also between two measurements by the
	 * lcore. The lcore may still be in the turn that gave the completion, so the first attempts
	 * may see a busy turn.
	 */
	do {
		CHECK(rte_get_timer_cycles() < end);
		gantry_lcore_load_get(1, &load);
		cycles = load.cycles;
		busy = load.busy_cycles;
		while (load.cycles < cycles + rte_get_tsc_hz() / 100)
			gantry_lcore_load_get(1, &load);
	} while (load.busy_cycles != busy);
	CHECK_EQ(gantry_worker_stop(w), 0);
	/* No worker runs on this lcore, so no time is counted. */
	cycles = value_of(tel_ask("/gantry/lcores", 0), "cycles");
	CHECK_EQ(value_of(tel_ask("/gantry/lcores", 0), "cycles"), cycles);
	gantry_lcore_load_get(RTE_MAX_LCORE, &load);
	CHECK_EQ(load.cycles, 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
}

static void
latencies_are_switched_on_read_and_switched_off(void)
{
	struct gantry_desc d = env_copy(src, dst, 64);
	struct gantry_worker *w;
	struct gantry_comp comp;
	const char *answer;
	uint32_t queue;
	uint64_t count;

	CHECK_EQ(gantry_worker_create(g, 1, NULL, &w), 0);
	queue = number_of(gantry_worker_queue(w));
	CHECK_EQ(gantry_worker_start(w), 0);
	CHECK(has(tel_ask("/gantry/latency,%u", queue), "{\"on\":0,\"ops\":{}}"));
	CHECK(has(tel_ask("/gantry/latency,%u,maybe", queue),
		"neither on nor off: give /gantry/latency,QUEUE[,on|off]"));
	CHECK(has(tel_ask("/gantry/latency,%u,on", queue), "\"on\":1"));
	do {
		CHECK_EQ(gantry_enqueue_burst(w, &d, 1), 1);
		while (env_dequeue(w, &comp, 1) == 0)
			;
		answer = tel_ask("/gantry/latency,%u", queue);
	} while (strstr(answer, "\"copy\":{\"count\":") == NULL || value_of(answer, "count") < 20);
	CHECK(value_of(answer, "p50_ns") > 0);
	CHECK(value_of(answer, "p99_ns") >= value_of(answer, "p50_ns"));
	CHECK(value_of(answer, "max_ns") >= value_of(answer, "p99_ns"));
	CHECK(has(tel_ask("/gantry/latency,%u,off", queue), "\"on\":0"));
	CHECK_EQ(gantry_worker_stop(w), 0);
	count = value_of(tel_ask("/gantry/latency,%u", queue), "count");
	CHECK_EQ(gantry_worker_start(w), 0);
	CHECK_EQ(gantry_enqueue_burst(w, &d, 1), 1);
	while (env_dequeue(w, &comp, 1) == 0)
		;
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(value_of(tel_ask("/gantry/latency,%u", queue), "count"), count);
	CHECK_EQ(gantry_worker_destroy(w), 0);
}

static void *
ask_often(void *arg)
{
	atomic_bool *done = arg;
	int fd = tel_open();
	uint32_t engine = number_of_engine(g), i;
	char text[64];

	while (!atomic_load(done)) {
		tel_ask_on(fd, "/gantry/engines");
		tel_ask_on(fd, "/gantry/lcores");
		snprintf(text, sizeof(text), "/gantry/queues,%u", engine);
		tel_ask_on(fd, text);
		snprintf(text, sizeof(text), "/gantry/memory,%u", engine);
		tel_ask_on(fd, text);
		snprintf(text, sizeof(text), "/gantry/errors,%u", engine);
		tel_ask_on(fd, text);
		for (i = 0; i < 80; i++) {
			static const char *const of_queue[] = {"queue", "counters", "peers",
				"latency"};

			snprintf(text, sizeof(text), "/gantry/%s,%u%s", of_queue[i % 4], i / 4,
				i % 8 == 3 ? ",on" : "");
			tel_ask_on(fd, text);
		}
	}
	close(fd);
	return NULL;
}

/*
 * For sanitizers: queues, peers and memory are created and removed, and descriptors fail, while
 * other threads read telemetry.
 */
static void
others_look_while_everything_comes_and_goes(void)
{
	struct gantry_desc d = env_copy(src, dst, 64), comp_of[2];
	struct gantry_worker *w;
	struct gantry_comp comp;
	struct gantry *other;
	static atomic_bool done;
	pthread_t looker;
	unsigned int i;

	CHECK_EQ(pthread_create(&looker, NULL, ask_often, &done), 0);
	CHECK_EQ(gantry_worker_create(g, 1, NULL, &w), 0);
	for (i = 0; i < 10; i++) {
		struct gantry_queue *q = env_queue(g, 8);
		struct gantry_mem *mem;
		uint8_t *p = env_mem(g, 4096, 0, &mem);
		uint16_t a, b;

		CHECK_EQ(gantry_worker_start(w), 0);
		env_connect(q, &a, q, &b);
		comp_of[0] = d;
		comp_of[0].op = GANTRY_OP_WRITE;
		comp_of[0].peer = b;
		comp_of[0].remote_key = 1;
		CHECK_EQ(gantry_enqueue_burst(w, &d, 1), 1);
		CHECK_EQ(env_do_one(q, comp_of[0]), GANTRY_REMOTE_ACCESS);
		CHECK_EQ(env_do_one(q, WITH(d, len, 0)), GANTRY_BAD_LENGTH);
		while (env_dequeue(w, &comp, 1) == 0)
			;
		CHECK_EQ(gantry_peer_close(q, a), 0);
		CHECK_EQ(gantry_peer_close(q, b), 0);
		CHECK_EQ(gantry_mem_unregister(mem, CHECK_PATIENCE_MS), 0);
		env_unmap(p, 4096);
		env_queue_done(q);
		CHECK_EQ(gantry_worker_stop(w), 0);
		CHECK_EQ(gantry_create(NULL, &other), 0);
		CHECK_EQ(gantry_destroy(other), 0);
	}
	atomic_store(&done, true);
	CHECK_EQ(pthread_join(looker, NULL), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
}

static const struct check_case cases[] = {
	{"every engine is shown, until it is destroyed",
		every_engine_is_told_until_it_is_destroyed},
	{"a queue and its counters are shown", a_queue_and_its_counters_are_told},
	{"wrong parameters get an answer that names the right ones",
		wrong_parameters_get_an_answer_that_says_what_to_give},
	{"memory is shown with its rights, in several answers",
		memory_is_told_with_its_rights_in_pages},
	{"peers are shown with their state", peers_are_told_with_their_state},
	{"a failure in hardware is shown with its WQE",
		a_failure_of_the_hardware_is_told_with_its_wqe},
	{"only the WQE that failed is shown", the_wqe_that_failed_is_told_and_no_other_one},
	{"a peer's failure names the peer", a_peers_failure_names_the_peer},
	{"every refusal is shown", every_refusal_is_told},
	{"a repeated refusal is only counted", the_same_refusal_again_only_counts},
	{"repeated failures are shown with the time of the last one",
		a_failure_is_told_with_the_time_of_the_last_one},
	{"different failures are shown separately", different_failures_are_told_apart},
	{"each counter is shown by its name", each_counter_is_told_by_its_name},
	{"each field of an engine is shown", each_field_of_an_engine_is_told},
	{"each field of a queue and its worker is shown",
		each_field_of_a_queue_and_its_worker_is_told},
	{"each right of a region is shown", each_right_of_a_region_is_told},
	{"each field of a peer is shown", each_field_of_a_peer_is_told},
	{"many peers are shown in several answers", many_peers_are_told_in_parts},
	{"many queues are shown in several answers", many_queues_are_told_in_parts},
	{"a worker and the load of its lcore are shown",
		a_worker_and_the_load_of_its_lcore_are_told},
	{"latencies are switched on, read, and switched off",
		latencies_are_switched_on_read_and_switched_off},
	{"other threads read while objects are created and destroyed",
		others_look_while_everything_comes_and_goes},
};

int
main(int argc, char **argv)
{
	env_init_with_telemetry(1, NULL);
	arena_create(NULL);
	return arena_run(cases, RTE_DIM(cases), argc, argv);
}
