/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EAL's memory, which grows and shrinks.
 *
 * Without huge pages EAL's memory never changes. So this program acts as EAL: it replaces the
 * functions by which the engine registers its callback with EAL, and calls this callback for the
 * program's own pages. In the variant `huge` (meson.build), which has huge pages, EAL's own memory
 * grows and shrinks.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_memory.h>
#include <rte_mempool.h>

#include <softhca.h>

#include "gantry_engine.h"
#include "gantry_env.h"
#include "gantry_mem.h"

#define PAGE    4096
#define N_PAGES 16

static struct gantry *g;
static bool pumped;
static uint8_t *buffer; /* part of buffer_mem, which is not EAL's memory */
static struct gantry_mem *buffer_mem;

/* ------------------------------------------------------------------ the program as EAL */

static rte_mem_event_callback_t callback;
static void *callback_arg;
static unsigned int n_grown, n_shrunk;

/* The callback that EAL calls. */
static void
count_event(enum rte_mem_event type, const void *addr, size_t len, void *arg)
{
	n_grown += type == RTE_MEM_EVENT_ALLOC;
	n_shrunk += type == RTE_MEM_EVENT_FREE;
	callback(type, addr, len, arg);
}

int __real_rte_mem_event_callback_register(const char *name, rte_mem_event_callback_t clb,
	void *arg);
int __real_rte_mem_event_callback_unregister(const char *name, void *arg);
int __wrap_rte_mem_event_callback_register(const char *name, rte_mem_event_callback_t clb,
	void *arg);
int __wrap_rte_mem_event_callback_unregister(const char *name, void *arg);

int
__wrap_rte_mem_event_callback_register(const char *name, rte_mem_event_callback_t clb, void *arg)
{
	callback = clb;
	callback_arg = arg;
	return __real_rte_mem_event_callback_register(name, count_event, arg);
}

int
__wrap_rte_mem_event_callback_unregister(const char *name, void *arg)
{
	CHECK(callback != NULL && arg == callback_arg);
	callback = NULL;
	return __real_rte_mem_event_callback_unregister(name, arg);
}

/* ------------------------------------------------------------------ what the device is told */

/* number of registrations without the flag, and with the flag */
static unsigned int n_strict, n_relaxed;

int __real_hwq_mr_register(struct hwq_dev *dev, void *addr, size_t len, unsigned int access,
	struct hwq_mr *mr);
int __wrap_hwq_mr_register(struct hwq_dev *dev, void *addr, size_t len, unsigned int access,
	struct hwq_mr *mr);

int
__wrap_hwq_mr_register(struct hwq_dev *dev, void *addr, size_t len, unsigned int access,
	struct hwq_mr *mr)
{
	*((access & HWQ_ACCESS_RELAXED_ORDERING) != 0 ? &n_relaxed : &n_strict) += 1;
	return __real_hwq_mr_register(dev, addr, len, access, mr);
}

/* ------------------------------------------------------------------ helpers */

static void
tell(enum rte_mem_event type, const uint8_t *area, unsigned int page, unsigned int n)
{
	callback(type, area + page * PAGE, n * PAGE, callback_arg);
}

static struct gantry_mem *
register_eal(void)
{
	struct gantry_mem *mem;

	CHECK_EQ(gantry_mem_register_eal(g, 0, &mem), 0);
	return mem;
}

/* Returns the number of keys that the engine uses for an area. */
static unsigned int
count_pieces(const struct gantry_mem *mem, const uint8_t *area)
{
	const struct gantry_piece *p;
	unsigned int n = 0;

	TAILQ_FOREACH(p, &mem->pieces, next)
		n += p->region.addr - (uintptr_t)area < N_PAGES * PAGE;
	return n;
}

/* Returns the status of a copy of these pages. If it is GANTRY_OK, every byte must have arrived. */
static enum gantry_status
copy_pages(struct gantry_queue *q, uint8_t *area, unsigned int page, unsigned int n)
{
	enum gantry_status status;

	env_fill(area + page * PAGE, n * PAGE, page + 1);
	memset(buffer, 0, n * PAGE);
	status = env_do_one(q, env_copy(area + page * PAGE, buffer, n * PAGE));
	CHECK_EQ(env_is_filled(buffer, n * PAGE, page + 1), status == GANTRY_OK);
	return status;
}

/* ------------------------------------------------------------------ what EAL has */

static void
all_that_eal_allocates_can_be_named(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *block = rte_malloc(NULL, 2 * PAGE, 64);
	struct gantry_mem *mem, *again = NULL, *part;
	struct rte_mempool *mp;
	unsigned int flag;

	CHECK_EQ(copy_pages(q, block, 0, 2), GANTRY_NOT_REGISTERED);
	for (flag = 1; flag != 0; flag <<= 1)
		if (flag != GANTRY_MEM_RELAXED)
			CHECK_EQ(gantry_mem_register_eal(g, flag, &mem), -EINVAL);
	/*
	 * Registers a part of the block before EAL's memory: this part keeps its own registration,
	 * with rights of peers.
	 */
	CHECK_EQ(gantry_mem_register(g, block, PAGE, GANTRY_MEM_REMOTE_WRITE, &part), 0);
	mem = register_eal();
	CHECK_EQ(gantry_mem_register_eal(g, GANTRY_MEM_RELAXED, &again), -EINVAL);
	CHECK_EQ(copy_pages(q, block, 0, 1), GANTRY_OK);
	CHECK_EQ(copy_pages(q, block, 1, 1), GANTRY_OK);
	CHECK_EQ(copy_pages(q, block, 0, 2), GANTRY_NOT_REGISTERED);
	CHECK_EQ(gantry_mem_unregister(part, 0), 0);
	CHECK_EQ(copy_pages(q, block, 0, 1), GANTRY_NOT_REGISTERED);
	/*
	 * The range of `part` has no registration now: this call registers the range with EAL's
	 * memory.
	 */
	again = register_eal();
	CHECK(again == mem);
	CHECK_EQ(copy_pages(q, block, 0, 2), GANTRY_OK);
	mp = rte_mempool_create("in_eal", 63, PAGE, 0, 0, NULL, NULL, NULL, NULL, SOCKET_ID_ANY, 0);
	CHECK(mp != NULL);
	CHECK_EQ(gantry_mem_register_mempool(g, mp, 0, &part), 0);
	CHECK(TAILQ_EMPTY(&part->pieces));
	CHECK_EQ(gantry_mem_unregister(part, 0), 0);
	rte_mempool_free(mp);
	CHECK_EQ(gantry_mem_unregister(mem, CHECK_PATIENCE_MS), 0);
	CHECK(callback == NULL);
	CHECK_EQ(copy_pages(q, block, 0, 1), GANTRY_NOT_REGISTERED);
	rte_free(block);
	env_queue_done(q);
}

/* GANTRY_MEM_RELAXED is the only flag that is allowed. */
static void
eals_memory_has_relaxed_order_if_asked_for_also_when_it_grows(void)
{
	static const unsigned int flags[] = {0, GANTRY_MEM_RELAXED};
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *block = rte_malloc(NULL, 2 * PAGE, 64), *area = env_map(N_PAGES * PAGE);
	const unsigned int *expected, *other;
	struct gantry_mem *mem, *again;
	unsigned int i, n;

	for (i = 0; i < RTE_DIM(flags); i++) {
		expected = flags[i] == 0 ? &n_strict : &n_relaxed;
		other = flags[i] == 0 ? &n_relaxed : &n_strict;
		n_strict = n_relaxed = 0;
		CHECK_EQ(gantry_mem_register_eal(g, flags[i], &mem), 0);
		CHECK_EQ(mem->flags, flags[i]);
		CHECK_EQ(gantry_mem_register_eal(g, flags[1 - i], &again), -EINVAL);
		CHECK_EQ(copy_pages(q, block, 0, 2), GANTRY_OK);
		CHECK(*expected > 0);
		n = *expected;
		tell(RTE_MEM_EVENT_ALLOC, area, 0, 2);
		CHECK_EQ(copy_pages(q, area, 0, 2), GANTRY_OK);
		CHECK(*expected > n);
		CHECK_EQ(*other, 0);
		CHECK_EQ(gantry_mem_unregister(mem, CHECK_PATIENCE_MS), 0);
	}
	rte_free(block);
	env_queue_done(q);
	env_unmap(area, N_PAGES * PAGE);
}

/*
 * A heap over the caller's memory must count as EAL's memory. Other external memory that is
 * registered with EAL must not count.
 */
static void
heaps_of_external_memory_are_eals_and_other_external_memory_is_not(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *heap = env_map(64 * PAGE), *known = env_map(4 * PAGE), *block;
	struct gantry_mem *mem, *part;

	CHECK_EQ(rte_extmem_register(known, 4 * PAGE, NULL, 4, PAGE), 0);
	mem = register_eal();
	CHECK_EQ(copy_pages(q, known, 0, 4), GANTRY_NOT_REGISTERED);
	CHECK_EQ(gantry_mem_register(g, known, 4 * PAGE, 0, &part), 0);
	CHECK_EQ(copy_pages(q, known, 0, 4), GANTRY_OK);
	CHECK_EQ(gantry_mem_unregister(part, 0), 0);
	CHECK_EQ(rte_extmem_unregister(known, 4 * PAGE), 0);

	CHECK_EQ(rte_malloc_heap_create("outside"), 0);
	CHECK_EQ(rte_malloc_heap_memory_add("outside", heap, 64 * PAGE, NULL, 64, PAGE), 0);
	/* EAL reports the event itself, but not with --no-huge. */
	CHECK(register_eal() == mem);
	block = rte_malloc_socket(NULL, 4 * PAGE, PAGE, rte_malloc_heap_get_socket("outside"));
	CHECK(block >= heap && block < heap + 64 * PAGE);
	CHECK_EQ(copy_pages(q, block, 0, 4), GANTRY_OK);
	rte_free(block);
	CHECK_EQ(gantry_mem_unregister(mem, CHECK_PATIENCE_MS), 0);
	CHECK_EQ(rte_malloc_heap_memory_remove("outside", heap, 64 * PAGE), 0);
	CHECK_EQ(rte_malloc_heap_destroy("outside"), 0);
	env_queue_done(q);
	env_unmap(heap, 64 * PAGE);
	env_unmap(known, 4 * PAGE);
}

static void
a_registration_that_fails_can_be_repeated(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *block = rte_malloc(NULL, PAGE, 64), *heap = env_map(16 * PAGE);
	struct gantry_mem *mem = NULL;

	CHECK_EQ(softhca_fault("refuse call=reg_mr errno=12"), 0);
	CHECK(gantry_mem_register_eal(g, 0, &mem) < 0);
	CHECK(mem == NULL && callback == NULL);
	mem = register_eal();
	CHECK_EQ(copy_pages(q, block, 0, 1), GANTRY_OK);
	CHECK_EQ(gantry_mem_unregister(mem, CHECK_PATIENCE_MS), 0);

	/*
	 * The second area cannot be registered, and the first cannot be deregistered:
	 * gantry_destroy() deregisters it.
	 */
	CHECK_EQ(rte_malloc_heap_create("outside"), 0);
	CHECK_EQ(rte_malloc_heap_memory_add("outside", heap, 16 * PAGE, NULL, 16, PAGE), 0);
	CHECK_EQ(mprotect(heap + 15 * PAGE, PAGE, PROT_READ), 0);
	CHECK_EQ(softhca_fault("refuse call=dereg_mr errno=16"), 0);
	CHECK_EQ(gantry_mem_register_eal(g, 0, &mem), -EACCES);
	CHECK_EQ(copy_pages(q, block, 0, 1), GANTRY_NOT_REGISTERED);
	CHECK_EQ(mprotect(heap + 15 * PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	mem = register_eal();
	CHECK_EQ(copy_pages(q, block, 0, 1), GANTRY_OK);
	CHECK_EQ(gantry_mem_unregister(mem, CHECK_PATIENCE_MS), 0);
	CHECK_EQ(rte_malloc_heap_memory_remove("outside", heap, 16 * PAGE), 0);
	CHECK_EQ(rte_malloc_heap_destroy("outside"), 0);
	rte_free(block);
	env_queue_done(q);
	env_unmap(heap, 16 * PAGE);
}

/* ------------------------------------------------------------------ growing and shrinking */

static void
what_grows_together_is_one_region(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *area = env_map(N_PAGES * PAGE);
	struct gantry_mem *mem = register_eal(), *part;
	uint64_t version, mem_len = g->mem_len;

	tell(RTE_MEM_EVENT_ALLOC, area, 1, 2);
	CHECK_EQ(copy_pages(q, area, 1, 2), GANTRY_OK);
	CHECK_EQ(copy_pages(q, area, 0, 2), GANTRY_NOT_REGISTERED);
	CHECK_EQ(copy_pages(q, area, 2, 2), GANTRY_NOT_REGISTERED);
	/*
	 * Adds pages after, before, apart from and between the existing pages. Each event makes one
	 * edit of the tree, because descriptors can name the existing pages at any time.
	 */
	version = g->regions.version;
	tell(RTE_MEM_EVENT_ALLOC, area, 3, 1);
	CHECK_EQ(g->regions.version, version + 1);
	CHECK_EQ(copy_pages(q, area, 1, 3), GANTRY_OK);
	tell(RTE_MEM_EVENT_ALLOC, area, 0, 1);
	CHECK_EQ(copy_pages(q, area, 0, 4), GANTRY_OK);
	tell(RTE_MEM_EVENT_ALLOC, area, 5, 1);
	CHECK_EQ(copy_pages(q, area, 5, 1), GANTRY_OK);
	CHECK_EQ(copy_pages(q, area, 4, 1), GANTRY_NOT_REGISTERED);
	version = g->regions.version;
	tell(RTE_MEM_EVENT_ALLOC, area, 4, 1);
	CHECK_EQ(g->regions.version, version + 1);
	CHECK_EQ(copy_pages(q, area, 0, 6), GANTRY_OK);
	CHECK_EQ(count_pieces(mem, area), 1);
	/* Telemetry shows the length of all registered memory. */
	CHECK_EQ(g->mem_len, mem_len + 6 * PAGE);
	/* Memory that belongs to another registration stays with that registration. */
	CHECK_EQ(gantry_mem_register(g, area + 7 * PAGE, PAGE, 0, &part), 0);
	tell(RTE_MEM_EVENT_ALLOC, area, 6, 3);
	CHECK_EQ(copy_pages(q, area, 0, 7), GANTRY_OK);
	CHECK_EQ(copy_pages(q, area, 7, 1), GANTRY_OK);
	CHECK_EQ(copy_pages(q, area, 8, 1), GANTRY_OK);
	CHECK_EQ(copy_pages(q, area, 6, 2), GANTRY_NOT_REGISTERED);
	CHECK_EQ(count_pieces(mem, area), 2);
	tell(RTE_MEM_EVENT_FREE, area, 6, 2);
	CHECK_EQ(copy_pages(q, area, 0, 6), GANTRY_OK);
	CHECK_EQ(copy_pages(q, area, 6, 1), GANTRY_NOT_REGISTERED);
	CHECK_EQ(copy_pages(q, area, 7, 1), GANTRY_OK);
	CHECK_EQ(copy_pages(q, area, 8, 1), GANTRY_OK);
	CHECK_EQ(gantry_mem_unregister(mem, CHECK_PATIENCE_MS), 0);
	CHECK_EQ(copy_pages(q, area, 0, 6), GANTRY_NOT_REGISTERED);
	CHECK_EQ(copy_pages(q, area, 7, 1), GANTRY_OK);
	CHECK_EQ(gantry_mem_unregister(part, 0), 0);
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
	env_unmap(area, N_PAGES * PAGE);
}

static void
what_shrinks_is_refused_and_the_rest_is_not(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *area = env_map(N_PAGES * PAGE);
	struct gantry_mem *mem = register_eal();
	unsigned int i;

	tell(RTE_MEM_EVENT_ALLOC, area, 0, N_PAGES);
	/* Removes pages in the middle, at both ends, across a gap, and all pages. */
	tell(RTE_MEM_EVENT_FREE, area, 5, 2);
	CHECK_EQ(copy_pages(q, area, 0, 5), GANTRY_OK);
	CHECK_EQ(copy_pages(q, area, 5, 1), GANTRY_NOT_REGISTERED);
	CHECK_EQ(copy_pages(q, area, 6, 1), GANTRY_NOT_REGISTERED);
	CHECK_EQ(copy_pages(q, area, 7, N_PAGES - 7), GANTRY_OK);
	CHECK_EQ(count_pieces(mem, area), 2);
	tell(RTE_MEM_EVENT_FREE, area, 0, 1);
	tell(RTE_MEM_EVENT_FREE, area, N_PAGES - 1, 1);
	CHECK_EQ(copy_pages(q, area, 0, 1), GANTRY_NOT_REGISTERED);
	CHECK_EQ(copy_pages(q, area, 1, 4), GANTRY_OK);
	CHECK_EQ(copy_pages(q, area, 7, N_PAGES - 8), GANTRY_OK);
	CHECK_EQ(copy_pages(q, area, N_PAGES - 1, 1), GANTRY_NOT_REGISTERED);
	tell(RTE_MEM_EVENT_FREE, area, 4, 4);
	CHECK_EQ(copy_pages(q, area, 1, 3), GANTRY_OK);
	CHECK_EQ(copy_pages(q, area, 8, N_PAGES - 9), GANTRY_OK);
	for (i = 4; i < 8; i++)
		CHECK_EQ(copy_pages(q, area, i, 1), GANTRY_NOT_REGISTERED);
	CHECK_EQ(count_pieces(mem, area), 2);
	/* Adds the pages again. */
	tell(RTE_MEM_EVENT_ALLOC, area, 4, 4);
	CHECK_EQ(copy_pages(q, area, 1, N_PAGES - 2), GANTRY_OK);
	tell(RTE_MEM_EVENT_FREE, area, 0, N_PAGES);
	for (i = 0; i < N_PAGES; i++)
		CHECK_EQ(copy_pages(q, area, i, 1), GANTRY_NOT_REGISTERED);
	CHECK_EQ(count_pieces(mem, area), 0);
	CHECK_EQ(gantry_mem_unregister(mem, CHECK_PATIENCE_MS), 0);
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
	env_unmap(area, N_PAGES * PAGE);
}

/*
 * The thread that frees memory is the queue's owner, so no thread polls the queue during the call.
 * The call must end without a poll. The key that WQEs name must exist until these WQEs have
 * completed.
 */
static void
a_queue_with_work_does_not_hold_eal_up(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *area = env_map(N_PAGES * PAGE);
	struct gantry_mem *mem = register_eal();
	struct gantry_comp comp;
	struct gantry_desc d;

	tell(RTE_MEM_EVENT_ALLOC, area, 0, 4);
	env_fill(area, 2 * PAGE, 3);
	memset(buffer, 0, 2 * PAGE);
	d = env_copy(area, buffer, 2 * PAGE);
	if (!pumped)
		CHECK_EQ(softhca_fault("late ms=50"), 0);
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	tell(RTE_MEM_EVENT_ALLOC, area, 4, 4);
	tell(RTE_MEM_EVENT_FREE, area, 6, 2);
	/*
	 * More than one piece covers the area: the pieces from before the calls stay, because the
	 * WQE may name their keys.
	 */
	CHECK(count_pieces(mem, area) > 1);
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	CHECK(env_is_filled(buffer, 2 * PAGE, 3));
	CHECK_EQ(copy_pages(q, area, 0, 6), GANTRY_OK);
	CHECK(register_eal() == mem);
	CHECK_EQ(count_pieces(mem, area), 1);
	CHECK_EQ(gantry_mem_unregister(mem, CHECK_PATIENCE_MS), 0);
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
	env_unmap(area, N_PAGES * PAGE);
}

/* If the device refuses some pages, the pages beside them stay registered. */
static void
growth_that_fails_leaves_what_was_there(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *area = env_map(N_PAGES * PAGE);
	struct gantry_mem *mem = register_eal();

	tell(RTE_MEM_EVENT_ALLOC, area, 0, 4);
	CHECK_EQ(softhca_fault("refuse call=reg_mr errno=12"), 0);
	tell(RTE_MEM_EVENT_ALLOC, area, 4, 1);
	CHECK_EQ(copy_pages(q, area, 0, 4), GANTRY_OK);
	CHECK_EQ(copy_pages(q, area, 4, 1), GANTRY_NOT_REGISTERED);
	/*
	 * Removed pages are not registered any more, even if the remaining pages cannot be
	 * registered.
	 */
	CHECK_EQ(softhca_fault("refuse call=reg_mr errno=12"), 0);
	tell(RTE_MEM_EVENT_FREE, area, 1, 1);
	CHECK_EQ(copy_pages(q, area, 0, 1), GANTRY_NOT_REGISTERED);
	CHECK_EQ(copy_pages(q, area, 1, 1), GANTRY_NOT_REGISTERED);
	CHECK_EQ(copy_pages(q, area, 2, 2), GANTRY_OK);
	/* A key that the device refuses to deregister is deregistered later. */
	CHECK_EQ(softhca_fault("refuse call=dereg_mr errno=16"), 0);
	tell(RTE_MEM_EVENT_FREE, area, 2, 2);
	CHECK_EQ(count_pieces(mem, area), 1);
	CHECK_EQ(copy_pages(q, area, 2, 1), GANTRY_NOT_REGISTERED);
	CHECK(register_eal() == mem);
	CHECK_EQ(count_pieces(mem, area), 0);
	CHECK_EQ(gantry_mem_unregister(mem, CHECK_PATIENCE_MS), 0);
	env_queue_done(q);
	env_unmap(area, N_PAGES * PAGE);
}

/* ------------------------------------------------------------------ while an owner works */

struct changes {
	uint8_t *area;
	atomic_bool end;
};

/*
 * The first four pages stay. All other pages are removed and added, and each time the first four
 * pages get another key.
 */
static void *
change_all_the_time(void *arg)
{
	struct changes *c = arg;
	uint64_t seed = 3;
	unsigned int i, page, n;

	env_unbind();
	for (i = 0; i < 60; i++) {
		page = 4 + check_random(&seed) % 8;
		n = 1 + check_random(&seed) % 4;
		tell(RTE_MEM_EVENT_ALLOC, c->area, page, n);
		page = 4 + check_random(&seed) % 8;
		n = 1 + check_random(&seed) % 4;
		tell(RTE_MEM_EVENT_FREE, c->area, page, n);
	}
	atomic_store(&c->end, true);
	return NULL;
}

static void
memory_that_stays_can_be_named_at_any_time(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct changes c = {.area = env_map(N_PAGES * PAGE)};
	struct gantry_mem *mem = register_eal();
	struct gantry_desc d[32];
	struct gantry_comp comp[32];
	unsigned int i;
	pthread_t thread;

	tell(RTE_MEM_EVENT_ALLOC, c.area, 0, 4);
	for (i = 0; i < 32; i++)
		d[i] = env_copy(c.area + i * 256, buffer + i * 512, 4 * PAGE - i * 512);
	CHECK_EQ(pthread_create(&thread, NULL, change_all_the_time, &c), 0);
	do {
		env_do(q, d, comp, 32);
		for (i = 0; i < 32; i++)
			CHECK_EQ(comp[i].status, GANTRY_OK);
	} while (!atomic_load(&c.end));
	pthread_join(thread, NULL);
	CHECK(register_eal() == mem);
	CHECK(count_pieces(mem, c.area) <= 5);
	CHECK_EQ(gantry_mem_unregister(mem, CHECK_PATIENCE_MS), 0);
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
	env_unmap(c.area, N_PAGES * PAGE);
}

/* ------------------------------------------------------------------ EAL itself */

/*
 * With huge pages: blocks that exceed the initial 64 MiB make EAL map pages, and unmap them later.
 * Copies of these blocks must succeed.
 */
static void
eal_itself_grows_and_shrinks(void)
{
	const size_t len = 12 << 20;
	struct gantry_queue *q;
	struct gantry_mem *mem;
	uint8_t *block[7];
	unsigned int i, k, n = 0;
	struct gantry_piece *p;

	if (getenv("TEST_EAL") == NULL)
		return;
	q = env_queue(g, 8);
	mem = register_eal();
	n_grown = n_shrunk = 0;
	for (k = 1; k < 4; k++) {
		for (i = 0; i < RTE_DIM(block); i++) {
			block[i] = rte_malloc(NULL, len, PAGE);
			CHECK(block[i] != NULL);
			/*
			 * Copies the whole block in one descriptor, across the ends of its pages.
			 */
			CHECK_EQ(copy_pages(q, block[i], 0, 1), GANTRY_OK);
			CHECK_EQ(env_do_one(q, env_copy(block[i], block[0], i == 0 ? 0 : len)),
				i == 0 ? GANTRY_BAD_LENGTH : GANTRY_OK);
			CHECK(memcmp(block[i], block[0], len) == 0);
		}
		for (i = 0; i < RTE_DIM(block); i++)
			rte_free(block[i * k % RTE_DIM(block)]);
	}
	CHECK(n_grown > 0 && n_shrunk > 0, "%u %u", n_grown, n_shrunk);
	CHECK(register_eal() == mem);
	TAILQ_FOREACH(p, &mem->pieces, next)
		n++;
	CHECK(n <= 4, "%u", n);
	CHECK_EQ(gantry_mem_unregister(mem, CHECK_PATIENCE_MS), 0);
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
}

static const struct check_case cases[] = {
	{"all that EAL allocates can be named", all_that_eal_allocates_can_be_named},
	{"EAL's memory has relaxed order if asked for, also when it grows",
		eals_memory_has_relaxed_order_if_asked_for_also_when_it_grows},
	{"heaps of external memory belong to EAL, other external memory does not",
		heaps_of_external_memory_are_eals_and_other_external_memory_is_not},
	{"a registration that fails can be repeated", a_registration_that_fails_can_be_repeated},
	{"memory that grows together is one region", what_grows_together_is_one_region},
	{"removed memory is refused, the rest is not", what_shrinks_is_refused_and_the_rest_is_not},
	{"a queue with work does not delay EAL", a_queue_with_work_does_not_hold_eal_up},
	{"growth that fails does not change existing memory",
		growth_that_fails_leaves_what_was_there},
	{"memory that stays can be named at any time", memory_that_stays_can_be_named_at_any_time},
	{"EAL itself grows and shrinks", eal_itself_grows_and_shrinks},
};

int
main(int argc, char **argv)
{
	pumped = env_is_pumped();
	env_init(0);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	buffer = env_mem(g, N_PAGES * PAGE, 0, &buffer_mem);
	env_run(cases, RTE_DIM(cases), argc, argv);
	return env_done(g, &buffer_mem, 1);
}
