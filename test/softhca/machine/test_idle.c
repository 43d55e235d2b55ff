/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An idle adapter sleeps, and wakes up for every event that it must notice. It counts as asleep
 * when none of its threads has run for some time: proc(5) shows how often each thread gave up its
 * CPU. Before the adapter sleeps, it closes the doorbell pages: the first use of a closed page
 * wakes the adapter.
 */
#include <dirent.h>
#include <linux/userfaultfd.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "hwq_emu.h"
#include "no_userfaultfd.h"
#include "raw_ioctl.h"
#include "softhca_faults.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

#define PAGE 4096

/* ---- sleeping */

struct naps {
	uint64_t switches;
	unsigned int threads, runnable;
};

/*
 * Reads the status of a thread of this process. Returns false if the thread is not a thread of the
 * adapter, or has ended.
 */
static bool
read_status(const char *task, char *text, size_t len)
{
	char path[300];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", task);
	f = fopen(path, "r");
	if (f != NULL) {
		n = fread(text, 1, len - 1, f);
		fclose(f);
	}
	text[n] = '\0';
	return strncmp(text, "Name:\tsofthca", 13) == 0;
}

/* Returns the text that follows a name in the status. */
static const char *
field(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	CHECK(at != NULL, "%s", name);
	return at + strlen(name);
}

static void
add_naps(struct naps *naps, const char *task)
{
	char status[4096];

	if (!read_status(task, status, sizeof(status)))
		return;
	naps->switches += strtoull(field(status, "\nvoluntary_ctxt_switches:"), NULL, 10);
	naps->switches += strtoull(field(status, "\nnonvoluntary_ctxt_switches:"), NULL, 10);
	naps->threads++;
	naps->runnable += *field(status, "\nState:\t") != 'S';
}

static struct naps
count_naps(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct naps naps = {0};
	struct dirent *entry;

	CHECK(dir != NULL);
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			add_naps(&naps, entry->d_name);
	closedir(dir);
	return naps;
}

/* Waits until no thread of the adapter has run for `ms` milliseconds. */
static bool
falls_asleep(unsigned int ms)
{
	uint64_t end = pair_now_ms() + CHECK_PATIENCE_MS;

	do {
		struct naps before = count_naps(), after;

		usleep(ms * 1000);
		after = count_naps();
		CHECK(after.threads != 0);
		if (after.runnable == 0 && after.switches == before.switches)
			return true;
	} while (pair_now_ms() < end);
	return false;
}

static void
let_sleep(void)
{
	CHECK(falls_asleep(40));
}

/* ---- one queue pair of hwq, whose code writes doorbells itself */

static struct hwq_dev *dev;
static struct twin twin;

static bool
runs_nop(struct twin *t)
{
	struct hwq_cqe cqe = {0};
	uint64_t end = emu_now_ns() + CHECK_PATIENCE_NS;

	CHECK_EQ(hwq_wqe_nop(&t->qp->sq, HWQ_WQE_SIGNALED), 1);
	hwq_sq_ring(&t->qp->sq);
	while (hwq_cq_poll(t->cq, &cqe, 1) == 0)
		if (emu_now_ns() > end)
			return false;
	CHECK_EQ(cqe.syndrome, 0);
	hwq_sq_complete(&t->qp->sq, cqe.wqe_counter);
	return true;
}

static void
case_sleep(void)
{
	CHECK(runs_nop(&twin));
	CHECK(falls_asleep(300));
}

static void
case_doorbell(void)
{
	for (unsigned int i = 0; i < 10; i++) {
		let_sleep();
		/* The doorbell and both BlueFlame registers are used alternately. */
		for (unsigned int n = 0; n <= i % 3; n++)
			CHECK(runs_nop(&twin));
	}
}

#define CPUS_LEN 1024

/* Copies the list of CPUs on which a thread may run, as the kernel writes it. */
static void
get_cpus(const char *status, char cpus[CPUS_LEN])
{
	const char *at = field(status, "\nCpus_allowed_list:\t");

	snprintf(cpus, CPUS_LEN, "%.*s", (int)strcspn(at, "\n"), at);
}

/*
 * The thread that a doorbell wakes moves to another CPU. After this it must be allowed to run on
 * all CPUs of the process again.
 */
/* The CPUs on which the program's main thread may run. */
static void
get_own_cpus(char cpus[CPUS_LEN])
{
	char status[4096], pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	CHECK(!read_status(pid, status, sizeof(status)));
	get_cpus(status, cpus);
}

/* All threads of the adapter may run on these CPUs. */
static void
expect_threads_on(const char *cpus)
{
	char status[4096], thread_cpus[CPUS_LEN];
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned int n = 0;

	CHECK(dir != NULL);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' || !read_status(entry->d_name, status, sizeof(status)))
			continue;
		get_cpus(status, thread_cpus);
		/* A new thread may not have set its CPUs yet. */
		for (int i = 0; i < 10000 && strcmp(thread_cpus, cpus) != 0; i++) {
			usleep(1000);
			if (read_status(entry->d_name, status, sizeof(status)))
				get_cpus(status, thread_cpus);
		}
		CHECK(strcmp(thread_cpus, cpus) == 0, "%s, not %s", thread_cpus, cpus);
		n++;
	}
	closedir(dir);
	CHECK(n != 0);
}

static void
case_cpus(void)
{
	char cpus[CPUS_LEN];

	for (unsigned int i = 0; i < 5; i++) {
		let_sleep();
		for (unsigned int k = 0; k < 20; k++)
			CHECK(runs_nop(&twin));
	}
	let_sleep();
	get_own_cpus(cpus);
	expect_threads_on(cpus);
}

/*
 * Writes doorbells when the adapter is about to sleep: the pauses between them are about as long as
 * the time after which the adapter sleeps.
 */
static void
case_race(void)
{
	for (unsigned int i = 0; i < 1500; i++) {
		uint64_t until = emu_now_ns() + i % 500 * 400;

		CHECK(runs_nop(&twin));
		while (emu_now_ns() < until)
			;
	}
}

/* ---- mappings */

static off_t
offset_of(const struct twin *t)
{
	struct mlx5dv_qp dv = {.comp_mask = MLX5DV_QP_MASK_UAR_MMAP_OFFSET};
	struct mlx5dv_obj obj = {.qp = {t->qp->qp, &dv}};

	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
	CHECK((dv.comp_mask & MLX5DV_QP_MASK_UAR_MMAP_OFFSET) != 0);
	return dv.uar_mmap_offset;
}

/* Maps the doorbell page of the twin once more. */
static uint8_t *
map_again(void)
{
	uint8_t *page =
		mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, dev->ctx->cmd_fd, offset_of(&twin));

	CHECK(page != MAP_FAILED);
	return page;
}

/* Writes a doorbell through another mapping of the twin's page. */
static bool
runs_nop_at(struct twin *t, uint8_t *page)
{
	struct hwq_bf *bf = t->qp->sq.bf;
	uint8_t *reg = bf->reg;
	bool ran;

	bf->reg = page + (uintptr_t)reg % PAGE;
	ran = runs_nop(t);
	bf->reg = reg;
	return ran;
}

static bool
runs_nop_by(uint8_t *page)
{
	return runs_nop_at(&twin, page);
}

static void
case_two_mappings(void)
{
	uint8_t *second = map_again();

	for (unsigned int i = 0; i < 4; i++) {
		let_sleep();
		CHECK(i % 2 != 0 ? runs_nop(&twin) : runs_nop_by(second));
	}
	CHECK_EQ(munmap(second, PAGE), 0);
	CHECK(runs_nop(&twin));
	/* The adapter is not told that the mapping was removed. */
	let_sleep();
	CHECK(runs_nop(&twin));
}

static void
case_unmapped_asleep(void)
{
	uint8_t *second = map_again(), *other;

	let_sleep();
	CHECK_EQ(munmap(second, PAGE), 0);
	/*
	 * If the program maps other memory at the address of a closed page, the adapter must not
	 * touch this memory.
	 */
	other = mmap(second, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		-1, 0);
	CHECK(other == second);
	memset(other, 0x5a, PAGE);
	CHECK(runs_nop(&twin));
	let_sleep();
	for (unsigned int i = 0; i < PAGE; i++)
		CHECK(other[i] == 0x5a);
	memset(other, 0xa5, PAGE);
	CHECK_EQ(munmap(other, PAGE), 0);
}

static void
case_moved(void)
{
	uint8_t *second = map_again(), *moved;
	void *room = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(room != MAP_FAILED);
	let_sleep();
	moved = mremap(second, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room);
	CHECK(moved == room);
	let_sleep();
	CHECK(runs_nop_by(moved));
	let_sleep();
	CHECK(runs_nop_by(moved));
	CHECK_EQ(munmap(moved, PAGE), 0);
}

/*
 * Two doorbell pages are mapped again, one after the other, and are moved together. A doorbell at
 * either new address wakes the adapter.
 */
static void
move_together(struct twin *more)
{
	uint8_t *room, *both, *moved;
	unsigned int first = 0;

	/* The kernel moves both by one call only if the pages follow each other in the file. */
	while (first < 3 && offset_of(&more[first + 1]) != offset_of(&more[first]) + PAGE)
		first++;
	CHECK(first < 3, "no two pages follow each other");
	both = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	room = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(both != MAP_FAILED && room != MAP_FAILED);
	for (unsigned int i = 0; i < 2; i++)
		CHECK(mmap(both + i * PAGE, PAGE, PROT_WRITE, MAP_SHARED | MAP_FIXED,
			      dev->ctx->cmd_fd, offset_of(&more[first + i])) == both + i * PAGE);
	let_sleep();
	moved = mremap(both, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room);
	CHECK(moved == room);
	for (unsigned int i = 0; i < 4; i++) {
		let_sleep();
		CHECK(runs_nop_at(&more[first + i % 2], moved + i % 2 * PAGE), "page %u", i % 2);
	}
	CHECK_EQ(munmap(moved, 2 * PAGE), 0);
}

static void
case_moved_together(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 4};
	static struct twin more[4];

	for (unsigned int i = 0; i < 4; i++) {
		twin_create(dev, &conf, &more[i]);
		twin_connect_self(&more[i]);
	}
	/* Without BlueFlame all queues share one page, and there are no two pages to move. */
	if (offset_of(&more[0]) != offset_of(&more[1]))
		move_together(more);
	for (unsigned int i = 0; i < 4; i++)
		twin_destroy(&more[i]);
}

/*
 * The adapter does not notice the use of a page that the program mapped without libc. While such a
 * page exists, the adapter's threads must sleep only for short times.
 */
static void
case_unseen_mapping(void)
{
	struct raw_ioctl call = raw_start(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC);
	struct ib_uverbs_attr *handle = raw_handle(&call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, 0);
	uint64_t offset, end = pair_now_ms() + CHECK_PATIENCE_MS;
	uint32_t len, page_id, number;
	struct naps before;

	raw_u32(&call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC);
	raw_out(&call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset));
	raw_out(&call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &len, sizeof(len));
	raw_out(&call, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &page_id, sizeof(page_id));
	let_sleep();
	CHECK_EQ(raw_run(dev->ctx->cmd_fd, &call), 0);
	number = (uint32_t)handle->data;
	before = count_naps();
	/* 500 is more than 3 * 128: each of three threads yields 128 times before it sleeps. */
	while (count_naps().switches < before.switches + 500)
		CHECK(pair_now_ms() < end);
	CHECK(runs_nop(&twin));
	call = raw_start(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY);
	raw_handle(&call, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, number);
	CHECK_EQ(raw_run(dev->ctx->cmd_fd, &call), 0);
	let_sleep();
	CHECK(runs_nop(&twin));
}

static void
case_import(void)
{
	struct ibv_context *import = ibv_import_device(dup(dev->ctx->cmd_fd));
	struct ibv_cq *cq;
	struct ibv_comp_channel *channel;
	struct pollfd fd;

	CHECK(import != NULL);
	channel = ibv_create_comp_channel(import);
	CHECK(channel != NULL);
	cq = ibv_create_cq(import, 15, NULL, channel, 0);
	CHECK(cq != NULL);
	let_sleep();
	CHECK(runs_nop(&twin));
	let_sleep();
	/* Arming writes a doorbell to a page of the imported context. */
	CHECK_EQ(ibv_req_notify_cq(cq, 0), 0);
	let_sleep();
	fd = (struct pollfd){.fd = channel->fd, .events = POLLIN};
	CHECK_EQ(poll(&fd, 1, 0), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_close_device(import), 0);
	CHECK(runs_nop(&twin));
}

/* A doorbell page that is created later must be closed together with the other pages. */
static void
case_many_pages(void)
{
	static struct twin more[12];
	struct hwq_qp_conf conf = {.sq_wr = 4};

	for (unsigned int i = 0; i < 12; i++) {
		twin_create(dev, &conf, &more[i]);
		twin_connect_self(&more[i]);
	}
	let_sleep();
	for (unsigned int i = 0; i < 12; i++) {
		CHECK(runs_nop(&more[i]));
		if (i % 4 == 0)
			let_sleep();
	}
	for (unsigned int i = 0; i < 12; i += 2)
		twin_destroy(&more[i]);
	let_sleep();
	for (unsigned int i = 1; i < 12; i += 2) {
		CHECK(runs_nop(&more[i]));
		twin_destroy(&more[i]);
	}
	let_sleep();
	CHECK(runs_nop(&twin));
}

/* Several threads ring closed pages at the same time. */
static void *
ring_loop(void *arg)
{
	for (unsigned int i = 0; i < 200; i++) {
		CHECK(runs_nop(arg));
		usleep(i % 7 * 150);
	}
	return NULL;
}

static void
case_threads(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 4};
	static struct twin more[3];
	pthread_t threads[3];

	for (unsigned int i = 0; i < 3; i++) {
		twin_create(dev, &conf, &more[i]);
		twin_connect_self(&more[i]);
	}
	let_sleep();
	for (unsigned int i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, ring_loop, &more[i]), 0);
	for (unsigned int i = 0; i < 3; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	for (unsigned int i = 0; i < 3; i++)
		twin_destroy(&more[i]);
}

static uintptr_t
page_of(const struct twin *t)
{
	return (uintptr_t)t->qp->sq.bf->reg / PAGE;
}

#define LONG_LEN (32u << 20)
#define LONG_WRS 12
/* PUMPED_WRS writes of PUMPED_LEN bytes: one visit to a page executes only a part of them. */
#define PUMPED_LEN (1u << 20)
#define PUMPED_WRS 400

/* Posts n writes to `to`, which take a long time together, with one doorbell. */
static void
start_long_work(struct twin *t, struct hwq_mr *mr, uint8_t *to, unsigned int n, uint32_t len)
{
	for (unsigned int i = 0; i < n; i++)
		CHECK(hwq_wqe_rdma_write(&t->qp->sq, mr->rkey, (uintptr_t)to, mr->lkey,
			      (uintptr_t)mr->addr, len, i == n - 1 ? HWQ_WQE_SIGNALED : 0) > 0);
	hwq_sq_ring(&t->qp->sq);
}

/* As emu_wait(), but does not call softhca_pump(). */
static void
expect_end(struct twin *t)
{
	uint64_t end = emu_now_ns() + CHECK_PATIENCE_NS;
	struct hwq_cqe cqe = {0};

	while (hwq_cq_poll(t->cq, &cqe, 1) == 0) {
		CHECK(emu_now_ns() < end, "work is left, and the adapter sleeps");
		sched_yield();
	}
	CHECK_EQ(cqe.syndrome, 0);
	hwq_sq_complete(&t->qp->sq, cqe.wqe_counter);
}

/*
 * Returns true if a store to a protected page finished while the adapter executed long writes of
 * another page.
 */
static bool
store_overtakes(struct twin *t)
{
	struct hwq_cqe cqe = {0};
	bool overtook;

	CHECK_EQ(hwq_wqe_nop(&twin.qp->sq, HWQ_WQE_SIGNALED), 1);
	hwq_sq_ring(&twin.qp->sq);
	overtook = hwq_cq_poll(t->cq, &cqe, 1) == 0;
	if (overtook)
		CHECK(emu_wait(t->cq, &cqe));
	CHECK_EQ(cqe.syndrome, 0);
	hwq_sq_complete(&t->qp->sq, cqe.wqe_counter);
	CHECK(emu_wait(twin.cq, &cqe));
	hwq_sq_complete(&twin.qp->sq, cqe.wqe_counter);
	return overtook;
}

/*
 * Calls run() with two queues on two pages: t, and one more. Without BlueFlame, libmlx5 puts all
 * queues on one page, and the function does nothing.
 */
static void
with_long_work(void (*run)(struct twin *t, struct hwq_mr *mr, uint8_t *mem))
{
	uint8_t *mem = mmap(NULL, 3 * LONG_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);
	struct hwq_qp_conf conf = {.sq_wr = PUMPED_WRS};
	struct twin pair[2], *t = &pair[0];
	struct hwq_mr mr;

	CHECK(mem != MAP_FAILED);
	for (unsigned int i = 0; i < 2; i++) {
		twin_create(dev, &conf, &pair[i]);
		twin_connect_self(&pair[i]);
	}
	/*
	 * libmlx5 puts two thread domains on one page. If the first queue of a pair shares its page
	 * with the twin, the second queue of the pair is used.
	 */
	if (page_of(t) == page_of(&twin))
		t = &pair[1];
	CHECK_EQ(hwq_mr_register(dev, mem, 3 * LONG_LEN,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, &mr),
		0);
	if (page_of(t) != page_of(&twin)) {
		run(t, &mr, mem);
	} else {
		CHECK(twin.qp->sq.bf->max_ds == 0);
		printf("(there is one page for all) ");
	}
	CHECK_EQ(hwq_mr_deregister(&mr), 0);
	twin_destroy(&pair[1]);
	twin_destroy(&pair[0]);
	CHECK_EQ(munmap(mem, 3 * LONG_LEN), 0);
}

/*
 * A thread of the program may lose its CPU for the whole time of the long work, so the function
 * tries several times.
 */
static void
run_busy(struct twin *t, struct hwq_mr *mr, uint8_t *mem)
{
	unsigned int overtook = 0;

	for (unsigned int i = 0; i < 10 && overtook == 0; i++) {
		let_sleep();
		start_long_work(t, mr, mem + LONG_LEN, LONG_WRS, LONG_LEN);
		overtook += store_overtakes(t);
	}
	CHECK(overtook != 0);
}

static void
case_busy(void)
{
	with_long_work(run_busy);
}

static _Atomic bool is_asleep, was_held;

static void
hold(int number)
{
	(void)number;
	atomic_store(&was_held, true);
	while (!atomic_load(&is_asleep))
		usleep(1000);
}

struct holder {
	pthread_t thread;
	const volatile uint8_t *to;
};

/*
 * Reads memory that the adapter writes, as a program does with a real adapter. ThreadSanitizer must
 * not report this as a race.
 */
__attribute__((no_sanitize("thread"))) static bool
is_written(const struct holder *h)
{
	return *h->to != 0;
}

/*
 * The main function of a thread: interrupts h->thread after h->thread has written to `to`. The
 * interrupted thread is held until the adapter's threads are asleep.
 */
static void *
hold_until_asleep(void *arg)
{
	const struct holder *h = arg;

	while (!is_written(h))
		sched_yield();
	CHECK_EQ(pthread_kill(h->thread, SIGUSR1), 0);
	CHECK(falls_asleep(40));
	atomic_store(&is_asleep, true);
	return NULL;
}

/*
 * While the adapter's thread works for the twin, this thread runs a part of t's work, which needs
 * more than one visit. Then this thread is held until the adapter's thread finds no work and
 * sleeps. The adapter's thread must wake and run the rest of the work. Returns true if this thread
 * ran the first part and was held.
 */
static bool
pump_a_part(struct twin *t, struct hwq_mr *mr, uint8_t *mem)
{
	struct holder holder = {pthread_self(), mem + 2 * LONG_LEN};
	pthread_t thread;
	bool pumped;

	mem[0] = 1;
	mem[2 * LONG_LEN] = 0;
	atomic_store(&is_asleep, false);
	atomic_store(&was_held, false);
	let_sleep();
	CHECK_EQ(pthread_create(&thread, NULL, hold_until_asleep, &holder), 0);
	start_long_work(&twin, mr, mem + LONG_LEN, 2, LONG_LEN);
	start_long_work(t, mr, mem + 2 * LONG_LEN, PUMPED_WRS, PUMPED_LEN);
	pumped = softhca_pump() != 0 && atomic_load(&was_held);
	expect_end(t);
	expect_end(&twin);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	return pumped;
}

/* On a busy machine the adapter's thread may get the work, so the function tries several times. */
static void
run_rest(struct twin *t, struct hwq_mr *mr, uint8_t *mem)
{
	struct sigaction action = {.sa_handler = hold, .sa_flags = SA_RESTART}, before;

	CHECK_EQ(sigaction(SIGUSR1, &action, &before), 0);
	for (unsigned int i = 0; i < 5 && !pump_a_part(t, mr, mem); i++)
		;
	CHECK_EQ(sigaction(SIGUSR1, &before, NULL), 0);
}

static void
case_rest(void)
{
	with_long_work(run_rest);
}

/* ---- other things that an idle adapter notices */

static struct pair p;

/* The clock must be as new as the call, although no thread has run the adapter since. */
static void
case_clock(void)
{
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};

	for (unsigned int i = 0; i < 3; i++) {
		uint64_t before, clock;

		let_sleep();
		before = emu_now_ns();
		CHECK_EQ(ibv_query_rt_values_ex(dev->ctx, &values), 0);
		clock = (uint64_t)values.raw_clock.tv_sec * 1000000000u +
			(uint64_t)values.raw_clock.tv_nsec;
		CHECK(clock >= before && clock <= emu_now_ns());
	}
}

/* config/tsan.supp has the name of this function. */
static void __attribute__((noinline)) take_event(struct ibv_comp_channel *channel)
{
	struct pollfd fd = {.fd = channel->fd, .events = POLLIN};
	struct ibv_cq *cq;
	void *context;

	CHECK_EQ(poll(&fd, 1, CHECK_PATIENCE_MS), 1);
	CHECK_EQ(ibv_get_cq_event(channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
}

static void
case_arming(void)
{
	pair_init(&p, NULL);
	faults_post(&p, 1, IBV_WR_RDMA_WRITE);
	let_sleep();
	/* If a completion is already there, the event must be sent at once. */
	CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
	take_event(p.client.channel);
	faults_expect(&p.client, 1, IBV_WC_SUCCESS);
	pair_fini(&p);
}

/*
 * Receives ring no doorbell. They must be noticed by a SEND that waits for a receive, and by a
 * queue in error.
 */
static void
case_receives(void)
{
	struct ibv_wc wc;

	pair_init(&p, NULL);
	let_sleep();
	faults_post(&p, 1, IBV_WR_SEND);
	usleep(50000);
	pair_post_recv(&p.server, 2, 0, 64);
	faults_expect(&p.client, 1, IBV_WC_SUCCESS);
	faults_expect(&p.server, 2, IBV_WC_SUCCESS);
	let_sleep();
	CHECK_EQ(pair_modify(&p.server, IBV_QPS_ERR), 0);
	usleep(50000);
	pair_post_recv(&p.server, 3, 0, 64);
	wc = pair_wait(&p.server);
	CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	pair_fini(&p);
	let_sleep();
}

static void
case_timers(void)
{
	pair_init(&p, NULL);
	CHECK_EQ(ibv_modify_cq(p.client.cq,
			 &(struct ibv_modify_cq_attr){.attr_mask = IBV_CQ_ATTR_MODERATE,
				 .moderate = {8, 4000}}),
		0);
	/* The first event must be sent at once, and the second event a period later. */
	for (unsigned int i = 0; i < 2; i++) {
		CHECK_EQ(ibv_req_notify_cq(p.client.cq, 0), 0);
		if (i == 0)
			let_sleep();
		faults_post(&p, 1, IBV_WR_RDMA_WRITE);
		take_event(p.client.channel);
		faults_expect(&p.client, 1, IBV_WC_SUCCESS);
	}
	let_sleep();
	fault("late ms=30");
	faults_post(&p, 2, IBV_WR_RDMA_WRITE);
	faults_expect(&p.client, 2, IBV_WC_SUCCESS);
	pair_fini(&p);
}

static void
case_port(void)
{
	pair_init(&p, NULL);
	for (unsigned int port = 1; port <= 2; port++) {
		let_sleep();
		fault(port == 1 ? "port_down ms=50" : "port_down ms=50 port=2");
		CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_PORT_ERR);
		CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_PORT_ACTIVE);
	}
	let_sleep();
	pair_fini(&p);
}

/*
 * The adapter must sleep while it watches a file of faults, and must see each change of the file.
 */
static void
case_fault_file(void)
{
	FILE *f;

	pair_init(&p, NULL);
	let_sleep();
	faults_write("port_down\n"); /* the file is replaced by rename(2) */
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_PORT_ERR);
	let_sleep();
	f = fopen(fault_file, "w"); /* the file is changed by write(2) */
	CHECK(f != NULL);
	fputs("port_up # a line of another length\n", f);
	fclose(f);
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_PORT_ACTIVE);
	let_sleep();
	CHECK_EQ(unlink(fault_file), 0);
	let_sleep();
	faults_write("port_down\n"); /* the file is created again */
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_PORT_ERR);
	faults_write("");
	softhca_faults_clear();
	let_sleep();
	pair_fini(&p);
}

/* ---- other processes */

#ifndef __SANITIZE_THREAD__
/* Opens an adapter on a thread that is pinned to one CPU, as EAL pins its lcores. */
static void
open_pinned(void)
{
	struct hwq_dev *own;
	char cpus[CPUS_LEN];
	cpu_set_t one;

	get_own_cpus(cpus);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	CHECK_EQ(hwq_dev_open(NULL, &own), 0);
	expect_threads_on(cpus);
	_exit(check_failures == 0 ? 0 : 1);
}

static void
case_pinned(void)
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		open_pinned();
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void
child_main(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 4};
	struct hwq_dev *own = emu_open();
	static struct twin t;

	twin_create(own, &conf, &t);
	twin_connect_self(&t);
	let_sleep();
	CHECK(runs_nop(&t));
	_exit(check_failures != 0);
}

static void
case_fork(void)
{
	int status = -1;
	pid_t pid;

	let_sleep();
	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		child_main();
	CHECK(runs_nop(&twin));
	let_sleep();
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	let_sleep();
	CHECK(runs_nop(&twin));
}

#endif

#define REFUSED "IDLE_TEST_REFUSED"

/*
 * If the kernel refuses userfaultfd(2), the adapter must still work, and print no additional lines.
 */
static void
case_refused(void)
{
	char text[512] = "";
	size_t len = 0;
	int out[2], status = -1;
	ssize_t n;
	pid_t pid;

	CHECK_EQ(pipe(out), 0);
	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		dup2(out[1], STDERR_FILENO);
		setenv(REFUSED, "1", 1);
		refuse_traps();
		execl("/proc/self/exe", "test_idle", NULL);
		_exit(127);
	}
	close(out[1]);
	while ((n = read(out[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK(strstr(text, "softhca: no mlx5 device here") == text &&
			strchr(text, '\n') == text + len - 1,
		"it prints: %s", text);
	close(out[0]);
}

static int
refused_main(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 4};

	dev = emu_open();
	twin_create(dev, &conf, &twin);
	twin_connect_self(&twin);
	for (unsigned int i = 0; i < 5; i++) {
		CHECK(runs_nop(&twin));
		usleep(10000);
	}
	return check_failures != 0;
}

/* ---- */

static bool
kernel_traps(void)
{
	struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_WP_HUGETLBFS_SHMEM};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	bool can = fd >= 0 && syscall(SYS_ioctl, fd, UFFDIO_API, &api) == 0;

	if (fd >= 0)
		close(fd);
	return can;
}

static const struct check_case cases[] = {
	{"no thread of an idle adapter wakes", case_sleep},
	{"a doorbell wakes the adapter", case_doorbell},
	{"a thread that was woken may run on the CPUs that it had", case_cpus},
	{"no doorbell is lost while the adapter goes to sleep", case_race},
	{"a page that is mapped twice wakes it by both mappings", case_two_mappings},
	{"a closed page can be unmapped, and its address used again", case_unmapped_asleep},
	{"a doorbell page that was moved wakes it", case_moved},
	{"each of two doorbell pages that were moved together wakes it", case_moved_together},
	{"while a page is not watched, the adapter sleeps only for short times",
		case_unseen_mapping},
	{"pages of an imported context wake it", case_import},
	{"each of many pages wakes it", case_many_pages},
	{"threads that ring at the same time wake it", case_threads},
	{"a doorbell does not wait for work of another page", case_busy},
	{"the adapter's thread does the work that softhca_pump() leaves", case_rest},
	{"reading the clock wakes it", case_clock},
	{"arming a CQ wakes it", case_arming},
	{"receives are noticed if work waits for them", case_receives},
	{"the end of a waiting time is noticed", case_timers},
	{"a fault of the port wakes it", case_port},
	{"a change of the file of faults wakes it", case_fault_file},
#ifndef __SANITIZE_THREAD__ /* TSan does not allow threads in the child of a process with threads */
	{"parent and child of fork(2) sleep and wake", case_fork},
	{"the adapter's threads may run on all CPUs, also if a pinned thread opens the device",
		case_pinned},
#endif
	{"without userfaultfd the adapter works, and prints no warning", case_refused},
};

int
main(int argc, char **argv)
{
	struct hwq_qp_conf conf = {.sq_wr = 4};

	if (getenv(REFUSED) != NULL)
		return refused_main();
	if (!kernel_traps()) {
		printf("skipped: userfaultfd(2) does not protect shared memory here\n");
		return CHECK_SKIP;
	}
	if (getenv("SOFTHCA_FAULTS") != NULL) {
		dev = emu_open();
		twin_create(dev, &conf, &twin);
		twin_connect_self(&twin);
	}
	return faults_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
