/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests that the engine frees its own memory: tables of regions, queues, workers. */
#include <errno.h>
#include <stdatomic.h>

#include <rte_common.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#include <softhca.h>

#include "gantry_alloc.h"
#include "gantry_engine.h"
#include "gantry_env.h"
#include "gantry_log.h"
#include "gantry_queue.h"

static struct gantry *g;
static uint8_t *memory;

/* ------------------------------------------------------------------ the engine's allocations */

/* The linker redirects the library's allocation calls to the functions below. */
static atomic_int held; /* blocks and rings that are allocated and not freed */
static atomic_uint
	/*
	 * Allocation number `until_refusal` from now, counting the next one as 1, fails; 0: none
	 * fails.
	 */
	until_refusal;

static bool
is_refused(void)
{
	unsigned int left = atomic_load(&until_refusal);

	return left != 0 && atomic_fetch_sub(&until_refusal, 1) == 1;
}

static void *
count(void *block)
{
	atomic_fetch_add(&held, block != NULL);
	return block;
}

#define WRAP(type, name, ...)                                                                      \
	type __real_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__)

WRAP(void *, gantry_alloc, const char *name, size_t len, int socket)
{
	return is_refused() ? NULL : count(__real_gantry_alloc(name, len, socket));
}

WRAP(void *, gantry_alloc_if_free, const char *name, size_t len, int socket)
{
	return is_refused() ? NULL : count(__real_gantry_alloc_if_free(name, len, socket));
}

WRAP(void *, gantry_alloc_near, const char *name, size_t len, int *socket)
{
	return is_refused() ? NULL : count(__real_gantry_alloc_near(name, len, socket));
}

WRAP(void *, gantry_alloc_libc, size_t len)
{
	return is_refused() ? NULL : count(__real_gantry_alloc_libc(len));
}

WRAP(void *, gantry_alloc_libc_lines, size_t len)
{
	return is_refused() ? NULL : count(__real_gantry_alloc_libc_lines(len));
}

WRAP(int, gantry_alloc_ring, const char *name, uint32_t elem_len, uint32_t n, int socket,
	unsigned int producers, struct rte_ring **out)
{
	int ret = is_refused()
			  ? -ENOMEM
			  : __real_gantry_alloc_ring(name, elem_len, n, socket, producers, out);

	atomic_fetch_add(&held, ret == 0);
	return ret;
}

WRAP(void, gantry_free, void *block)
{
	atomic_fetch_sub(&held, block != NULL);
	__real_gantry_free(block);
}

WRAP(void, gantry_free_libc, void *block)
{
	atomic_fetch_sub(&held, block != NULL);
	__real_gantry_free_libc(block);
}

WRAP(void, gantry_free_ring, struct rte_ring *ring)
{
	atomic_fetch_sub(&held, ring != NULL);
	__real_gantry_free_ring(ring);
}

/* ------------------------------------------------------------------ leaks */

/*
 * Returns the number of blocks in EAL's heap. Under sanitizers the engine's blocks are libc's, and
 * LeakSanitizer counts them.
 */
static unsigned int
blocks(void)
{
	struct rte_malloc_socket_stats stats;

	CHECK_EQ(rte_malloc_get_socket_stats(rte_socket_id(), &stats), 0);
	return stats.alloc_count;
}

static void
what_is_created_and_destroyed_leaves_no_block_behind(void)
{
	unsigned int before, i;
	struct gantry_queue *q;
	struct gantry_worker *w;
	struct gantry_mem *mem;
	struct gantry *other;

	before = blocks();
	for (i = 0; i < 3; i++) {
		q = env_queue(g, 1024);
#ifndef GANTRY_ALLOC_LIBC
		CHECK(blocks() > before);
#endif
		env_queue_done(q);
		CHECK_EQ(blocks(), before);
	}
	CHECK_EQ(gantry_worker_create(g, 1, NULL, &w), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	CHECK_EQ(blocks(), before);
	CHECK_EQ(gantry_mem_register(g, memory, 4096, 0, &mem), 0);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	CHECK_EQ(blocks(), before);
	CHECK_EQ(gantry_create(NULL, &other), 0);
	CHECK_EQ(gantry_destroy(other), 0);
	CHECK_EQ(blocks(), before);
}

/*
 * Measures latencies of a queue and of a worker. In one round the measurement is still on when the
 * queue is destroyed, in the other round it was switched off before.
 */
static void
latencies_leave_no_block_behind(void)
{
	int before = atomic_load(&held);
	struct gantry_worker *w;
	struct gantry_queue *q;
	struct gantry *other;
	unsigned int i;

	CHECK_EQ(gantry_create(NULL, &other), 0);
	for (i = 0; i < 2; i++) {
		q = env_queue(other, 64);
		CHECK_EQ(gantry_latency_set(q, true), 0);
		CHECK_EQ(gantry_latency_set(q, i == 0), 0);
		env_queue_done(q);
		CHECK_EQ(gantry_worker_create(other, 1, NULL, &w), 0);
		CHECK_EQ(gantry_latency_set(gantry_worker_queue(w), true), 0);
		CHECK_EQ(gantry_latency_set(gantry_worker_queue(w), i == 0), 0);
		CHECK_EQ(gantry_worker_destroy(w), 0);
	}
	/* Memory that the engine keeps for later is freed with the engine. */
	CHECK_EQ(gantry_destroy(other), 0);
	CHECK_EQ(atomic_load(&held), before);
}

/* Collects n completions of receives of a closed peer. */
static void
collect_flushed(struct gantry_queue *q, unsigned int n)
{
	struct gantry_recv_comp comp;

	while (n != 0) {
		if (gantry_recv_poll(q, &comp, 1) == 0)
			continue;
		CHECK_EQ(comp.status, GANTRY_FLUSHED);
		n--;
	}
}

/* Opens and closes peers of both kinds, with posted receives and without. */
static void
open_and_close_peers(struct gantry_queue *q)
{
	const struct gantry_peer_conf conf[] = {{.recv_depth = 4}, {.depth = 8, .recv_depth = 4}};
	const struct gantry_peer_conf target = {.transport = GANTRY_TRANSPORT_DC_TARGET,
		.recv_depth = 4};
	const struct gantry_peer_conf dc = {.transport = GANTRY_TRANSPORT_DC};
	const struct gantry_recv recv[2] = {{.cookie = 1}, {.cookie = 2}};
	const bool has_dc = q->g->dev->caps.dc;
	struct gantry_addr addr[2];
	uint16_t peer[4];
	unsigned int i;

	for (i = 0; i < 2; i++)
		CHECK_EQ(gantry_peer_open(q, &conf[i], &peer[i], &addr[i]), 0);
	for (i = 0; i < 2; i++)
		CHECK_EQ(gantry_peer_connect(q, peer[i], &addr[1 - i]), 0);
	CHECK_EQ(gantry_recv_post(q, peer[0], recv, 2), 2);
	if (has_dc) {
		CHECK_EQ(gantry_peer_open(q, &target, &peer[2], &addr[0]), 0);
		CHECK_EQ(gantry_peer_open(q, &dc, &peer[3], NULL), 0);
		CHECK_EQ(gantry_peer_connect(q, peer[3], &addr[0]), 0);
		CHECK_EQ(gantry_recv_post(q, peer[2], recv, 2), 2);
	}
	for (i = 0; i < (has_dc ? 4 : 2); i++)
		CHECK_EQ(gantry_peer_close(q, peer[i]), 0);
	collect_flushed(q, has_dc ? 4 : 2);
}

/*
 * Peers are opened and closed again, and the queue's connection to itself is set up again. No block
 * of memory may be left.
 */
static void
what_comes_and_goes_leaves_no_block_behind(void)
{
	static const struct gantry_block block = {.len = 64};
	const struct gantry_layout_conf layout = {.block = &block, .n = 1};
	struct gantry_queue_conf conf = {.depth = 16};
	struct gantry_desc fill = {.op = GANTRY_OP_FILL, .dst = (uintptr_t)memory, .len = 64};
	struct rte_mempool *pool = rte_mempool_create("comes and goes", 16, 64, 0, 0, NULL, NULL,
		NULL, NULL, SOCKET_ID_ANY, 0);
	unsigned int round, in_eal = blocks();
	int before = atomic_load(&held);
	struct gantry_mem *mem, *of_pool;
	struct gantry_queue *q;
	struct gantry *other;
	uint16_t id;

	CHECK(pool != NULL);
	CHECK_EQ(gantry_create(NULL, &other), 0);
	for (round = 0; round < 6; round++) {
		conf.unordered = round % 2 == 1;
		CHECK_EQ(gantry_mem_register_mempool(other, pool, 0, &of_pool), 0);
		CHECK_EQ(gantry_mem_register(other, memory, 4096, 0, &mem), 0);
		CHECK_EQ(gantry_queue_create(other, &conf, &q), 0);
		open_and_close_peers(q);
		CHECK_EQ(env_do_one(q, fill), GANTRY_OK);
		if (other->info.layouts) {
			CHECK_EQ(gantry_layout_create(other, &layout, &id), 0);
			CHECK_EQ(gantry_layout_destroy(other, id), 0);
		}
		CHECK_EQ(softhca_fault("cq_overrun"), 0);
		CHECK_EQ(env_do_one(q, env_copy(memory, memory + 2048, 64)), GANTRY_OK);
		open_and_close_peers(q);
		env_queue_done(q);
		CHECK_EQ(gantry_mem_unregister(mem, 1000), 0);
		CHECK_EQ(gantry_mem_unregister(of_pool, 1000), 0);
	}
	CHECK_EQ(gantry_destroy(other), 0);
	CHECK_EQ(atomic_load(&held), before);
	CHECK_EQ(blocks(), in_eal);
	rte_mempool_free(pool);
}

/* ------------------------------------------------------------------ failures in the middle */

/* True if the device lacks a feature that one of the objects below needs. */
static bool
lacks_an_object(void)
{
	struct gantry_info info;

	gantry_info_get(g, &info);
	return env_lacks(g, ENV_LAYOUTS) || env_lacks(g, ENV_SIGNATURES) || env_lacks(g, ENV_DC) ||
	       env_lacks(g, ENV_DEVICE_MEMORY) || check_lacks(info.any_memory, "memory on demand");
}

/* One object of each kind. NULL, or 0, means that it was not created. */
struct world {
	struct gantry *g;
	struct gantry_mem *mem, *dm, *any;
	uint16_t layout, profile;
	struct gantry_queue *q;
	struct gantry_worker *w;
};

/* Opens a connection of queue q to itself. */
static int
connect_to_itself(struct gantry_queue *q, const struct gantry_peer_conf *conf)
{
	struct gantry_addr a, b;
	uint16_t pa, pb;
	int ret;

	ret = gantry_peer_open(q, conf, &pa, &a);
	if (ret == 0)
		ret = gantry_peer_open(q, conf, &pb, &b);
	if (ret == 0)
		ret = gantry_peer_connect(q, pa, &b);
	return ret == 0 ? gantry_peer_connect(q, pb, &a) : ret;
}

static int
connect_dc(struct gantry_queue *q)
{
	const struct gantry_peer_conf target = {.transport = GANTRY_TRANSPORT_DC_TARGET,
		.recv_depth = 8};
	const struct gantry_peer_conf dc = {.transport = GANTRY_TRANSPORT_DC};
	struct gantry_addr addr;
	uint16_t peer;
	int ret;

	ret = gantry_peer_open(q, &target, &peer, &addr);
	if (ret == 0)
		ret = gantry_peer_open(q, &dc, &peer, NULL);
	return ret == 0 ? gantry_peer_connect(q, peer, &addr) : ret;
}

static int
make_peers(struct gantry_queue *q)
{
	static const struct gantry_peer_conf receives = {.recv_depth = 8};
	static const struct gantry_peer_conf txns = {.recv_depth = 8, .txn = GANTRY_TXN_WAIT};
	int ret;

	ret = connect_to_itself(q, &receives);
	if (ret == 0)
		ret = connect_to_itself(q, &txns);
	return ret == 0 ? connect_dc(q) : ret;
}

/*
 * Creates the objects in order, until one cannot be created. Returns 0, or the error of the failed
 * call.
 */
static int
make_all(struct world *o)
{
	static const struct gantry_block block = {.len = 8, .skip = 8};
	static const struct gantry_layout_conf layout = {.block = &block, .n = 1, .rounds = 8};
	static const struct gantry_profile_conf profile = {.mem = {GANTRY_SIG_CRC32C, 4096, 0}};
	static const struct gantry_queue_conf queue = {.depth = 16,
		.max_peers = 8,
		.transactions = 2,
		.prepare = GANTRY_PREPARE_FILL | GANTRY_PREPARE_LAYOUTS};
	static const struct gantry_worker_conf worker = {.queue.depth = 16,
		.queue.unordered = true,
		.recv_ring_size = 16,
		.ring_size = 16,
		.idle = GANTRY_IDLE_SLEEP};
	void *addr;
	int ret;

	ret = gantry_create(NULL, &o->g);
	if (ret == 0)
		ret = gantry_mem_register(o->g, memory, 4096, 0, &o->mem);
	if (ret == 0)
		ret = gantry_mem_alloc_dm(o->g, 4096, 0, &o->dm, &addr);
	if (ret == 0)
		ret = gantry_mem_register_any(o->g, &o->any);
	if (ret == 0)
		ret = gantry_layout_create(o->g, &layout, &o->layout);
	if (ret == 0)
		ret = gantry_profile_create(o->g, &profile, &o->profile);
	if (ret == 0)
		ret = gantry_queue_create(o->g, &queue, &o->q);
	if (ret == 0)
		ret = gantry_latency_set(o->q, true);
	if (ret == 0)
		ret = make_peers(o->q);
	if (ret == 0)
		ret = gantry_worker_create(o->g, 1, &worker, &o->w);
	return ret == 0 ? gantry_latency_set(gantry_worker_queue(o->w), true) : ret;
}

/* Repeats a call until it succeeds. gantry.h: a refused call can be made again. */
#define AGAIN(call)                                                                                \
	do {                                                                                       \
		unsigned int tries_;                                                               \
		int ret_ = (call);                                                                 \
		for (tries_ = 0; ret_ != 0 && tries_ < 8; tries_++)                                \
			ret_ = (call);                                                             \
		CHECK_EQ(ret_, 0, #call);                                                          \
	} while (0)

static void
end_all(struct world *o)
{
	if (o->w != NULL)
		AGAIN(gantry_worker_destroy(o->w));
	if (o->q != NULL)
		AGAIN(gantry_queue_destroy(o->q));
	if (o->profile != 0)
		AGAIN(gantry_profile_destroy(o->g, o->profile));
	if (o->layout != 0)
		AGAIN(gantry_layout_destroy(o->g, o->layout));
	if (o->any != NULL)
		AGAIN(gantry_mem_unregister(o->any, 0));
	if (o->dm != NULL)
		AGAIN(gantry_mem_unregister(o->dm, 0));
	if (o->mem != NULL)
		AGAIN(gantry_mem_unregister(o->mem, 0));
	if (o->g != NULL)
		AGAIN(gantry_destroy(o->g));
}

/*
 * The use of memory and file descriptors before a test. Each object was created and destroyed once
 * before. So this use includes memory that the process never frees.
 */
struct usage {
	int held;
	unsigned int in_eal, fds;
};

static struct usage
usage_begin(void)
{
	struct world o = {0};

	CHECK_EQ(make_all(&o), 0);
	end_all(&o);
	return (struct usage){atomic_load(&held), blocks(), check_count_fds()};
}

static void
check_usage(const struct usage *u, const char *after)
{
	CHECK_EQ(atomic_load(&held), u->held, after);
	CHECK_EQ(blocks(), u->in_eal, after);
	/* A run that created no engine has one open file descriptor less. */
	CHECK(check_count_fds() <= u->fds, "%s: %u", after, check_count_fds());
}

/*
 * Fails each allocation once, in separate runs. refused: names of device calls that also fail once
 * in each run.
 */
static void
fail_each_allocation(const char *const *refused, unsigned int n_refused)
{
	unsigned int n, i, failed = 0;
	struct usage usage;
	struct world o;
	bool struck;
	char line[80];
	int ret;

	if (lacks_an_object())
		return;
	usage = usage_begin();
	for (n = 1, struck = true; struck; n++) {
		o = (struct world){0};
		for (i = 0; i < n_refused; i++) {
			snprintf(line, sizeof(line), "refuse call=%s errno=16", refused[i]);
			CHECK_EQ(softhca_fault(line), 0);
		}
		atomic_store(&until_refusal, n);
		ret = make_all(&o);
		if (n_refused == 0)
			CHECK(ret == 0 || ret == -ENOMEM, "allocation %u: %d", n, ret);
		failed += ret != 0;
		end_all(&o);
		struck = atomic_exchange(&until_refusal, 0) == 0;
		softhca_faults_clear();
		snprintf(line, sizeof(line), "allocation %u", n);
		check_usage(&usage, line);
	}
	printf("%u allocations, %u of them needed; ", n - 2, failed);
	CHECK(failed > 20);
}

static void
whatever_finds_no_memory_leaves_nothing_behind(void)
{
	fail_each_allocation(NULL, 0);
}

/*
 * An allocation fails, and the device refuses at first to destroy the objects that exist. Later
 * calls must destroy all objects.
 */
static void
whatever_finds_no_memory_and_is_not_ended_at_once_ends_later(void)
{
	static const char *const ends[] = {"destroy_cq", "destroy_qp", "dereg_mr", "devx_destroy",
		"free_dm", "free_uar", "destroy_ah"};

	fail_each_allocation(ends, RTE_DIM(ends));
}

/* Fails each device call that creates or destroys an object once, in separate runs. */
static void
whatever_the_device_refuses_leaves_nothing_behind(void)
{
	static const char *const calls[] = {"alloc_pd", "dealloc_pd", "reg_mr", "dereg_mr",
		"alloc_dm", "free_dm", "reg_dm_mr", "create_cq", "destroy_cq",
		"create_comp_channel", "create_srq", "destroy_srq", "create_qp", "modify_qp",
		"destroy_qp", "create_ah", "destroy_ah", "alloc_uar", "free_uar", "reg_umem",
		"dereg_umem", "query_eqn", "devx", "devx_create", "devx_modify", "devx_query",
		"devx_destroy", "create_mkey", "create_psv"};
	unsigned int n, i, struck = 0;
	struct usage usage;
	struct world o;
	char line[80];

	if (lacks_an_object())
		return;
	usage = usage_begin();
	for (i = 0; i < RTE_DIM(calls); i++) {
		for (n = 1;; n++) {
			o = (struct world){0};
			snprintf(line, sizeof(line), "refuse call=%s errno=16 op=%u", calls[i], n);
			CHECK_EQ(softhca_fault(line), 0);
			make_all(&o);
			end_all(&o);
			check_usage(&usage, line);
			if (softhca_faults_left() != 0)
				break;
			struck++;
		}
		softhca_faults_clear();
	}
	printf("%u calls; ", struck);
	CHECK(struck > 20);
}

/* ------------------------------------------------------------------ what waits in software */

/*
 * A connection of WAIT_DEPTH descriptors is created with memory for WAIT_FEW waiting descriptors.
 */
#define WAIT_DEPTH 256
#define WAIT_FEW   (WAIT_DEPTH / 8)
#define WAIT_ALL   100

/* Collects n completions of a connection. The first of them has cookie `first`. */
static void
collect_good(struct gantry_queue *q, uint64_t first, unsigned int n)
{
	struct gantry_comp comp[WAIT_ALL];
	unsigned int i;

	env_collect(q, comp, n);
	for (i = 0; i < n; i++) {
		CHECK_EQ(comp[i].status, GANTRY_OK);
		CHECK_EQ(comp[i].cookie, first + i);
	}
	CHECK_EQ(gantry_in_flight(q), 0);
}

/*
 * After a fence, all descriptors wait. Memory for more than a few waiting descriptors is allocated
 * only when it is needed, and this allocation may fail.
 */
static void
without_memory_for_what_waits_an_unordered_queue_is_full(void)
{
	const struct gantry_queue_conf conf = {.depth = WAIT_DEPTH, .unordered = true};
	struct gantry_desc desc[WAIT_ALL] = {0};
	struct gantry_comp comp[1 + WAIT_FEW];
	struct gantry_mem *mem;
	struct gantry_queue *q;
	int opened;
	uint16_t to, from;
	uint32_t key, i;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	CHECK_EQ(gantry_mem_register(g, memory, 4096, ENV_REMOTE, &mem), 0);
	key = gantry_mem_remote_key(mem);
	env_connect(q, &to, q, &from);
	for (i = 0; i < WAIT_ALL; i++)
		desc[i] = (struct gantry_desc){
			.op = GANTRY_OP_WRITE,
			.flags = i == 1 ? GANTRY_DESC_FENCE : 0,
			.peer = to,
			.cookie = i,
			.src = (uintptr_t)memory,
			.dst = (uintptr_t)memory + 2048,
			.len = 1 + i,
			.remote_key = key,
		};
	opened = atomic_load(&held);

	atomic_store(&until_refusal, 1);
	CHECK_EQ(gantry_submit(q, desc, WAIT_ALL), 1 + WAIT_FEW);
	CHECK_EQ(atomic_load(&until_refusal), 0);
	/* The queue is full until it is polled, even though an allocation would now succeed. */
	CHECK_EQ(gantry_submit(q, desc + 1 + WAIT_FEW, 1), 0);
	CHECK_EQ(gantry_in_flight(q), 1 + WAIT_FEW);
	CHECK_EQ(gantry_cancel(q, 1), 1);
	CHECK_EQ(gantry_cancel(q, 1), 0);
	CHECK_EQ(gantry_cancel(q, WAIT_FEW + 1), 0);
	env_collect(q, comp, 1 + WAIT_FEW);
	for (i = 0; i < 1 + WAIT_FEW; i++) {
		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].status, i == 1 ? GANTRY_CANCELLED : GANTRY_OK);
	}
	CHECK_EQ(atomic_load(&held), opened);
	CHECK_EQ(gantry_submit(q, desc + 1 + WAIT_FEW, WAIT_ALL - 1 - WAIT_FEW),
		WAIT_ALL - 1 - WAIT_FEW);
	collect_good(q, 1 + WAIT_FEW, WAIT_ALL - 1 - WAIT_FEW);

	/*
	 * If the allocation succeeds, all descriptors are accepted, also in two calls: waiting
	 * descriptors move to the new block.
	 */
	for (i = 0; i < 2; i++) {
		CHECK_EQ(gantry_submit(q, desc, 20), 20);
		CHECK_EQ(gantry_submit(q, desc + 20, WAIT_ALL - 20), WAIT_ALL - 20);
		CHECK_EQ(atomic_load(&held), opened);
		collect_good(q, 0, WAIT_ALL);
	}
	env_queue_done(q);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
}

/* ------------------------------------------------------------------ other limits */

/* Many queues, created and destroyed one after the other. */
#ifdef GANTRY_ALLOC_LIBC
#define N_QUEUES 20 /* few: more queues take a minute under sanitizers */
#else
#define N_QUEUES 1034
#endif

static void
a_queue_that_is_destroyed_makes_room_for_another(void)
{
	unsigned int i;

	for (i = 0; i < N_QUEUES; i++)
		env_queue_done(env_queue(g, 2));
}

/*
 * In a WQE, the length 2 GiB is encoded as 0. The adapter of this program copies 2 GiB with one
 * WQE, but the engine must split such a copy.
 */
static void
one_wqe_never_copies_more_than_1_gib(void)
{
	struct gantry_info info;

	if (env_lacks(g, ENV_MMO_OF_2_GIB))
		return;
	gantry_info_get(g, &info);
	CHECK_EQ(info.copy_path, GANTRY_COPY_MMO);
	CHECK_EQ(info.max_copy_len, UINT64_C(1) << 30);
}

static const struct check_case cases[] = {
	{"creating and destroying every object leaves no block of memory behind",
		what_is_created_and_destroyed_leaves_no_block_behind},
	{"latencies leave no block of memory behind", latencies_leave_no_block_behind},
	{"objects that are created and destroyed leave no block of memory behind",
		what_comes_and_goes_leaves_no_block_behind},
	{"calls that get no memory leave nothing behind",
		whatever_finds_no_memory_leaves_nothing_behind},
	{"objects that cannot be destroyed after a call got no memory are destroyed later",
		whatever_finds_no_memory_and_is_not_ended_at_once_ends_later},
	{"calls that the device refuses leave nothing behind",
		whatever_the_device_refuses_leaves_nothing_behind},
	{"without memory for waiting descriptors, an unordered queue is full",
		without_memory_for_what_waits_an_unordered_queue_is_full},
	{"a queue that is destroyed makes room for another",
		a_queue_that_is_destroyed_makes_room_for_another},
	{"one WQE never copies more than 1 GiB", one_wqe_never_copies_more_than_1_gib},
};

int
main(int argc, char **argv)
{
	env_refuse_fork_init();
	env_init(1);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	memory = env_map(4096);
	rte_log_set_level(gantry_logtype, RTE_LOG_EMERG);
	env_run(cases, RTE_DIM(cases), argc, argv);
	return env_done(g, NULL, 0);
}
