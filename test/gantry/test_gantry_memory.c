/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests when the engine frees its own memory: tables of regions, queues, workers. */
#include <stdatomic.h>

#include <rte_common.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "gantry_alloc.h"
#include "gantry_engine.h"
#include "gantry_env.h"

static struct gantry *g;
static uint8_t *memory;

/* The engine's blocks of libc's heap that are in use. The linker leads its calls here. */
static atomic_int libc_blocks;

void *__real_gantry_alloc_libc(size_t len);
void *__wrap_gantry_alloc_libc(size_t len);
void __real_gantry_free_libc(void *block);
void __wrap_gantry_free_libc(void *block);

void *
__wrap_gantry_alloc_libc(size_t len)
{
	void *block = __real_gantry_alloc_libc(len);

	atomic_fetch_add(&libc_blocks, block != NULL);
	return block;
}

void
__wrap_gantry_free_libc(void *block)
{
	atomic_fetch_sub(&libc_blocks, block != NULL);
	__real_gantry_free_libc(block);
}

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

/* A queue's and a worker's latencies, which are measured to the end, or were. */
static void
latencies_leave_no_block_behind(void)
{
	int before = atomic_load(&libc_blocks);
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
	/* With the engine goes what it keeps for later. */
	CHECK_EQ(gantry_destroy(other), 0);
	CHECK_EQ(atomic_load(&libc_blocks), before);
}

/* Many queues, one after the other. */
#ifdef GANTRY_ALLOC_LIBC
#define N_QUEUES 20 /* more take a minute under sanitizers */
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

/* The adapter of this program copies 2 GiB by one WQE. A WQE encodes that length as 0. */
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
	{"a queue that is destroyed makes room for another",
		a_queue_that_is_destroyed_makes_room_for_another},
	{"one WQE never copies more than 1 GiB", one_wqe_never_copies_more_than_1_gib},
};

int
main(int argc, char **argv)
{
	env_init(1);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	memory = env_map(4096);
	env_run(cases, RTE_DIM(cases), argc, argv);
	return env_done(g, NULL, 0);
}
