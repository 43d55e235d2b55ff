/* SPDX-License-Identifier: BSD-3-Clause */
/* fork(2): what a child may do with its parent's engine, and how a fork affects the parent. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include "gantry_arena.h"

#define PIECE 4096

static int
status_of(pid_t child)
{
	int status;

	CHECK(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	return status;
}

/* ------------------------------------------------------------------ what a child may call */

/*
 * This case does not run with TSan. When a child shares the memory of this process (CLONE_VM), TSan
 * no longer sees the locks and atomics of this process. Then TSan reports a race for each object
 * that both this process and the device's threads use.
 */
#ifndef __SANITIZE_THREAD__

/* The objects of the parent. */
struct objects {
	struct gantry_queue *q;
	struct gantry_worker *running, *stopped;
	struct gantry_mem *mem;
	struct rte_mempool *pool;
	struct gantry_addr addr;
	uint16_t peer;
};

/* Registers a pool whose objects are in these 16 pages. */
static struct gantry_mem *
mem_of_pool(uint8_t *m, struct rte_mempool **pool)
{
	struct gantry_mem *mem;

	*pool = rte_mempool_create_empty("pool", 100, 256, 0, 0, SOCKET_ID_ANY, 0);
	CHECK(*pool != NULL);
	CHECK_EQ(rte_mempool_set_ops_byname(*pool, "ring_mp_mc", NULL), 0);
	CHECK(rte_mempool_populate_iova(*pool, (char *)m, RTE_BAD_IOVA, 16 * 4096, NULL, NULL) > 0);
	CHECK_EQ(gantry_mem_register_mempool(g, *pool, 0, &mem), 0);
	return mem;
}

/* Calls functions in a child. Returns the number of the first call that is not refused, or 0. */
static int
child_calls(void *arg)
{
	struct objects *o = arg;
	struct gantry_mem *mem;
	struct gantry_queue *q;
	struct gantry_worker *w;
	struct gantry_addr addr;
	uint16_t peer;
	void *at;
	const int got[] = {
		gantry_mem_register(g, dst, 100, 0, &mem),
		gantry_mem_register_mempool(g, o->pool, 0, &mem),
		gantry_mem_register_eal(g, 0, &mem),
		gantry_mem_register_any(g, &mem),
		gantry_mem_alloc_dm(g, 64, 0, &mem, &at),
		gantry_mem_unregister(o->mem, 0),
		gantry_queue_create(g, NULL, &q),
		gantry_queue_destroy(o->q),
		gantry_peer_open(o->q, NULL, &peer, &addr),
		gantry_peer_connect(o->q, o->peer, &o->addr),
		gantry_peer_close(o->q, o->peer),
		gantry_policy_set(gantry_worker_queue(o->running), NULL),
		gantry_worker_create(g, 1, NULL, &w),
		gantry_worker_start(o->stopped),
		gantry_worker_stop(o->running),
		gantry_worker_destroy(o->stopped),
		gantry_start(g),
		gantry_stop(g),
		gantry_destroy(g),
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(got); i++)
		if (got[i] != -ECHILD)
			return 1 + i;
	return 0;
}

/*
 * The child shares this memory with the parent: after ibv_fork_init(3), pages of the heap may be
 * missing in the child.
 */
static int
run_sharing(int (*child)(void *), void *arg)
{
	static uint8_t stack[256 * 1024] __attribute__((aligned(64)));

	return status_of(
		clone(child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, arg));
}

static void
calls_of_a_child_are_refused_and_change_nothing(void)
{
	struct objects o = {.q = env_queue(g, 8)};
	uint8_t *m = env_map(16 * 4096);
	struct gantry_desc d = env_copy(src, dst, PIECE);
	struct gantry_comp comp;
	struct gantry_mem *again;
	int status;

	o.mem = mem_of_pool(m, &o.pool);
	CHECK_EQ(gantry_peer_open(o.q, NULL, &o.peer, &o.addr), 0);
	CHECK_EQ(gantry_worker_create(g, 1, NULL, &o.running), 0);
	CHECK_EQ(gantry_worker_create(g, 1, NULL, &o.stopped), 0);
	CHECK_EQ(gantry_worker_start(o.running), 0);
	status = run_sharing(child_calls, &o);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%#x", status);

	/* The child's calls have changed nothing for the parent. */
	CHECK_EQ(gantry_peer_connect(o.q, o.peer, &o.addr), 0);
	d.op = GANTRY_OP_WRITE;
	d.peer = o.peer;
	d.remote_key = gantry_mem_remote_key(dst_mem);
	env_fill(src, PIECE, 1);
	CHECK_EQ(env_do_one(o.q, d), GANTRY_OK);
	CHECK(env_is_filled(dst, PIECE, 1));
	CHECK_EQ(gantry_peer_close(o.q, o.peer), 0);
	env_queue_done(o.q);
	CHECK_EQ(gantry_worker_start(o.stopped), 0);
	d = env_copy(m, dst, PIECE);
	CHECK_EQ(gantry_enqueue_burst(o.running, &d, 1), 1);
	while (env_dequeue(o.running, &comp, 1) == 0)
		;
	CHECK_EQ(comp.status, GANTRY_OK);
	CHECK_EQ(gantry_stop(g), 0);
	CHECK_EQ(gantry_worker_destroy(o.running), 0);
	CHECK_EQ(gantry_worker_destroy(o.stopped), 0);
	CHECK_EQ(gantry_mem_register_mempool(g, o.pool, 0, &again), 0);
	CHECK(again == o.mem);
	CHECK_EQ(gantry_mem_unregister(o.mem, CHECK_PATIENCE_MS), 0);
	rte_mempool_free(o.pool);
	env_unmap(m, 16 * 4096);
}

#endif

/* ------------------------------------------------------------------ memory */

/*
 * True if a child does not get this page, because of ibv_fork_init(3). proc_pid_smaps(5), VmFlags.
 */
static bool
is_withheld(const void *at)
{
	char line[512];

	env_smaps(at, "VmFlags:", line, sizeof(line));
	return strstr(line, " dc ") != NULL;
}

/*
 * At the address of registered memory, a child has a copy of the memory, or no memory. The device
 * must move the parent's bytes, not those of the child.
 */
static void
a_child_writes_to_memory_of_its_own(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	bool withheld = is_withheld(src);
	unsigned int i;
	pid_t child;
	int status;

	printf("(the child %s) ", withheld ? "does not have it" : "has a copy");
	for (i = 0; i < 2; i++) {
		env_fill(src, PIECE, 2 + i);
		child = fork();
		if (child == 0) {
			signal(SIGSEGV, SIG_DFL);
			memset(src, 0, PIECE);
			_exit(0);
		}
		/*
		 * In the first round the copy runs after the child has ended, in the second round
		 * while the child runs.
		 */
		status = i == 0 ? status_of(child) : 0;
		CHECK_EQ(env_do_one(q, env_copy(src, dst, PIECE)), GANTRY_OK);
		CHECK(env_is_filled(dst, PIECE, 2 + i));
		status = i == 0 ? status : status_of(child);
		if (withheld)
			CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "%#x", status);
		else
			CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%#x", status);
	}
	env_queue_done(q);
}

/* ------------------------------------------------------------------ the parent */

#define N_CHILDREN 20
#define BURST      32
#define N_BLOCKS   512

/* Blocks of the heap. The free memory between them serves small allocations of the engine. */
static uint8_t *heap[N_BLOCKS];

static void
heap_begin(void)
{
	unsigned int i;

	for (i = 0; i < N_BLOCKS; i++) {
		CHECK_EQ(posix_memalign((void **)&heap[i], 64, 64), 0);
		heap[i][0] = i;
	}
	for (i = 1; i < N_BLOCKS; i += 2) {
		free(heap[i]);
		heap[i] = NULL;
	}
}

static void
heap_end(void)
{
	unsigned int i;

	for (i = 0; i < N_BLOCKS; i++)
		free(heap[i]);
}

/*
 * Returns true if the heap's blocks have their bytes. A child that lacks a page of the heap is
 * killed by SIGSEGV.
 */
static bool
heap_is_whole(void)
{
	unsigned int i;

	for (i = 0; i < N_BLOCKS; i += 2)
		if (heap[i][0] != (uint8_t)i)
			return false;
	return true;
}

/* Children end by _exit(2), or execute another program. */
static pid_t
start_child(unsigned int i)
{
	pid_t child = fork();

	if (child == 0) {
		if (i % 2 == 0)
			_exit(heap_is_whole() ? 0 : 3);
		execl("/bin/true", "true", (char *)NULL);
		_exit(2);
	}
	CHECK(child > 0);
	return child;
}

/*
 * A worker copies while the process forks; each copy completes once, in order, and with the right
 * bytes.
 */
static void
workers_go_on_while_children_come_and_go(void)
{
	struct gantry_desc d[BURST];
	struct gantry_comp comp[BURST];
	struct gantry_worker *w;
	unsigned int i, k, n;
	pid_t child;
	int status;

	heap_begin();
	CHECK_EQ(gantry_worker_create(g, 1, NULL, &w), 0);
	CHECK_EQ(gantry_worker_start(w), 0);
	for (i = 0; i < N_CHILDREN; i++) {
		env_fill(src, BURST * PIECE, 10 + i);
		for (k = 0; k < BURST; k++) {
			d[k] = env_copy(src + k * PIECE, dst + k * PIECE, PIECE);
			d[k].cookie = i * BURST + k;
		}
		CHECK_EQ(gantry_enqueue_burst(w, d, BURST), BURST);
		child = start_child(i);
		for (n = 0; n < BURST;)
			n += env_dequeue(w, comp + n, BURST - n);
		for (k = 0; k < BURST; k++) {
			CHECK_EQ(comp[k].cookie, i * BURST + k);
			CHECK_EQ(comp[k].status, GANTRY_OK);
		}
		CHECK(env_is_filled(dst, BURST * PIECE, 10 + i));
		status = status_of(child);
		CHECK_EQ(status, 0);
	}
	CHECK_EQ(env_stats(gantry_worker_queue(w)).recoveries, 0);
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	heap_end();
}

static const struct check_case cases[] = {
#ifndef __SANITIZE_THREAD__
	{"calls of a child are refused and change nothing",
		calls_of_a_child_are_refused_and_change_nothing},
#endif
	{"a child writes to its own memory", a_child_writes_to_memory_of_its_own},
	{"workers continue while children are created and end",
		workers_go_on_while_children_come_and_go},
};

/*
 * Runs all cases twice: in a process that refuses ibv_fork_init(3), and in a process in which
 * DPDK's mlx4 plug-in has called it.
 */
int
main(int argc, char **argv)
{
	pid_t child = fork();

	if (child == 0)
		env_refuse_fork_init();
	else
		CHECK_EQ(status_of(child), 0);
	env_init(1);
	arena_create(NULL);
	return arena_run(cases, RTE_DIM(cases), argc, argv);
}
