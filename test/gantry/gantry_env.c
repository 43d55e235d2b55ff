/* SPDX-License-Identifier: BSD-3-Clause */
/* Helpers of the engine's tests: see gantry_env.h. */
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <rte_ring.h>

#include <softhca.h>

#include "gantry_engine.h"
#include "gantry_env.h"
#include "gantry_mem.h"
#include "gantry_queue.h"

#define GUARD_LEN 4096
/* MiB of huge pages. EAL's memory also grows in steps of 64 MiB. */
#define N_HUGE_PAGES 64

/*
 * Returns EAL's argument for ordinary pages, or for huge pages if the variable TEST_EAL asks for
 * them.
 */
static char *
memory_option(void)
{
	char *option = getenv("TEST_EAL");
	FILE *pages;
	int n = 0;

	if (option == NULL)
		return "--no-huge";
	pages = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "re");
	if (pages != NULL) {
		CHECK_EQ(fscanf(pages, "%d", &n), 1);
		fclose(pages);
	}
	if (n < N_HUGE_PAGES) {
		printf("skipped: %d huge pages of 2 MiB are free; it takes %d: vm.nr_hugepages\n",
			n, N_HUGE_PAGES);
		exit(CHECK_SKIP);
	}
	return option;
}

void
env_refuse_fork_init(void)
{
	CHECK_EQ(gantry_before_eal(), 0);
	CHECK(ibv_fork_init() != 0);
}

/* Blocks of EAL's heaps that were in use when EAL had started. */
static uint32_t heap_blocks;

static uint32_t
count_heap_blocks(void)
{
	struct rte_malloc_socket_stats stats;
	uint32_t n = 0;
	int i;

	for (i = 0; i < RTE_MAX_NUMA_NODES; i++)
		if (rte_malloc_get_socket_stats(i, &stats) == 0)
			n += stats.alloc_count;
	return n;
}

/* telemetry: EAL's argument --telemetry or --no-telemetry. prefix: the value of --file-prefix. */
static void
init(unsigned int n_workers, char *telemetry, char *prefix)
{
	char lcores[256];
	int cpu[2] = {0, 0};
	char *argv[] = {"test", memory_option(), "--no-pci", "--no-shconf", "-m", "64", "--lcores",
		lcores, telemetry, "--file-prefix", prefix, NULL};
	unsigned int i, n_cpus = 0;
	cpu_set_t cpus;
	int n;

	CHECK_EQ(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	for (i = 0; i < CPU_SETSIZE && n_cpus < RTE_DIM(cpu); i++)
		if (CPU_ISSET(i, &cpus))
			cpu[n_cpus++] = i;
	n = snprintf(lcores, sizeof(lcores), "0@%d", cpu[0]);
	for (i = 1; i <= n_workers; i++)
		n += snprintf(lcores + n, sizeof(lcores) - n, ",%u@%d", i, cpu[n_cpus > 1]);
	if (rte_eal_init(RTE_DIM(argv) - 1, argv) >= 0) {
		heap_blocks = count_heap_blocks();
		return;
	}
	fprintf(stderr,
		"EAL did not start. Its lines above say why.\n"
		"The engine's tests need it; it was given %s -m 64 --lcores %s.\n"
		"Check that DPDK is installed as doc/building.md says, that /var/run/dpdk or\n"
		"$XDG_RUNTIME_DIR is writable, and that 64 MiB of memory can be locked or mapped.\n",
		argv[1], lcores);
	exit(1);
}

void
env_init(unsigned int n_workers)
{
	init(n_workers, "--no-telemetry", "rte");
}

static void
remove_runtime_dir(void)
{
	rmdir(rte_eal_get_runtime_dir());
}

void
env_init_with_telemetry(unsigned int n_workers, const char *prefix)
{
	char name[64];

	/*
	 * Without a prefix, the process gets a name of its own: other programs with EAL may run at
	 * the same time.
	 */
	if (prefix == NULL)
		snprintf(name, sizeof(name), "gantry-test-%d", (int)getpid());
	else
		snprintf(name, sizeof(name), "%s", prefix);
	/*
	 * The handler is registered before EAL starts. So it runs after EAL's own exit handlers,
	 * which empty the folder: atexit(3) calls the handlers in reverse order.
	 */
	atexit(remove_runtime_dir);
	init(n_workers, "--telemetry", name);
}

void
env_unbind(void)
{
	cpu_set_t any;
	int i;

	CPU_ZERO(&any);
	for (i = 0; i < CPU_SETSIZE; i++)
		CPU_SET(i, &any);
	sched_setaffinity(0, sizeof(any), &any);
}

bool
env_lacks(const struct gantry *g, enum env_need need)
{
	const struct hwq_dev_caps *caps = hwq_dev_caps(g->dev);
	const struct {
		bool has;
		const char *name;
	} features[] = {
		[ENV_MMO] = {caps->max_memcpy_len != 0, "DMA MMO"},
		[ENV_MMO_OF_2_GIB] = {caps->max_memcpy_len >> 31 != 0, "DMA MMO of 2 GiB"},
		[ENV_LAYOUTS] = {caps->devx, "DEVX"},
		[ENV_DC] = {caps->dc, "DC"},
		[ENV_DEVICE_MEMORY] = {caps->max_dm_len != 0, "device memory"},
		[ENV_SIGNATURES] = {caps->sig_block_prot != 0, "block signatures"},
	};

	return check_lacks(features[need].has, features[need].name);
}

/* The exit code of a program in which no case has failed. */
static int
exit_code(void)
{
	if (check_lacking[0] == '\0')
		return 0;
	printf("skipped: cases that need %s, which the device lacks\n", check_lacking);
	return CHECK_SKIP;
}

void
env_need(const struct gantry *g, enum env_need need)
{
	if (!env_lacks(g, need))
		return;
	printf("\n");
	exit(exit_code());
}

void
env_run(const struct check_case *cases, unsigned int n, int argc, char **argv)
{
	unsigned int i, ran = 0;

	for (i = 0; i < n; i++) {
		if (argc > 1 && strstr(cases[i].sentence, argv[1]) == NULL)
			continue;
		alarm(4 * CHECK_PATIENCE_MS / 1000);
		CHECK_EQ(check_main(&cases[i], 1, 0, NULL), 0);
		ran++;
	}
	CHECK(ran > 0);
}

static void
judge_streams(const struct gantry_queue *q)
{
	uint32_t i, n_free = 0;

	CHECK_EQ(q->stream.n_cancelled, 0, "cancelled descriptors that still wait");
	CHECK(!q->stream.splitting && q->stream.issue == q->stream.head);
	for (i = 0; i < q->max_peers; i++)
		n_free += q->peer[i].use == GANTRY_PEER_FREE;
	CHECK_EQ(n_free, q->n_free_peers, "free numbers of peers");
}

static void
judge_counters(const struct gantry_queue *q)
{
	const struct gantry_stats s = env_stats(q);
	uint64_t by_status = 0, copies = 0;
	unsigned int i;

	for (i = 0; i < GANTRY_STATS_STATUSES; i++)
		by_status += s.by_status[i];
	for (i = 0; i < GANTRY_STATS_CARRIERS; i++)
		copies += s.copies[i];
	CHECK_EQ(by_status, s.completed, "completions, by status");
	CHECK_EQ(s.submitted, s.completed);
	CHECK(copies <= s.completed, "%llu copies", (unsigned long long)copies);
	CHECK_EQ(s.copies[GANTRY_CARRIER_USUAL], 0);
	CHECK(s.doorbells <= s.wqes);
	CHECK_EQ(s.txn_done, s.txn_opened);
	CHECK(s.txn_cancelled <= s.txn_opened);
	for (i = 0; i < RTE_DIM(s.reserved); i++)
		CHECK_EQ(s.reserved[i], 0);
}

void
env_judge_idle(const struct gantry_queue *q)
{
	const struct gantry_txn_open *t;
	uint32_t n = 0;

	if (q->cells.cell != NULL)
		CHECK_EQ(q->cells.n_free, GANTRY_CELLS, "words for results of atomics");
	if (q->txns.open != NULL) {
		SLIST_FOREACH(t, &q->txns.free, next_free)
		n++;
		CHECK_EQ(n, q->txns.n, "free transactions");
		CHECK_EQ(q->txns.n_stopped, 0, "stopped connections");
	}
	judge_streams(q);
	judge_counters(q);
}

int __real_gantry_queue_destroy(struct gantry_queue *q) __attribute__((weak));
int __wrap_gantry_queue_destroy(struct gantry_queue *q);
int
__wrap_gantry_queue_destroy(struct gantry_queue *q)
{
	if (gantry_in_flight(q) == 0)
		env_judge_idle(q);
	return __real_gantry_queue_destroy(q);
}

void
env_judge_regions(struct gantry *g)
{
	struct gantry_region_dir *dir = &g->regions;
	const struct gantry_region *r;
	uint64_t end = UINT64_MAX, bytes = 0;
	uint32_t n = 0;

	pthread_mutex_lock(&dir->lock);
	for (; (r = gantry_region_overlap(dir, 0, end)) != NULL; end = r->addr) {
		bytes += r->len;
		n++;
	}
	CHECK_EQ(g->n_regions, n, "registered regions");
	CHECK_EQ(g->mem_len, bytes, "registered bytes");
	pthread_mutex_unlock(&dir->lock);
}

int
env_done(struct gantry *g, struct gantry_mem *const *mem, unsigned int n)
{
	unsigned int i;

	env_judge_regions(g);
	for (i = 0; i < n; i++)
		CHECK_EQ(gantry_mem_unregister(mem[i], CHECK_PATIENCE_MS), 0);
	CHECK_EQ(gantry_destroy(g), 0);
	CHECK_EQ(count_heap_blocks(), heap_blocks, "blocks of EAL's heaps");
	rte_eal_cleanup();
	return exit_code();
}

uint64_t
env_patience(void)
{
	return rte_get_timer_cycles() + CHECK_PATIENCE_MS * (rte_get_timer_hz() / 1000);
}

/* rte_ring_empty() cannot be used: it reads the ring as if no other thread wrote to the ring. */
static bool
is_empty(const struct rte_ring *r)
{
	return __atomic_load_n(&r->prod.tail, __ATOMIC_ACQUIRE) ==
	       __atomic_load_n(&r->cons.tail, __ATOMIC_ACQUIRE);
}

void
env_wait_ring(const struct rte_ring *r)
{
	uint64_t end = env_patience();

	while (is_empty(r)) {
		CHECK(rte_get_timer_cycles() < end, "nothing came into the ring");
		sched_yield();
	}
}

void
env_wait_empty(const struct rte_ring *r)
{
	uint64_t end = env_patience();

	while (!is_empty(r)) {
		CHECK(rte_get_timer_cycles() < end, "nothing was taken from the ring");
		sched_yield();
	}
}

uint64_t
env_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

void
env_smaps(const void *at, const char *field, char *line, size_t len)
{
	FILE *smaps = fopen("/proc/self/smaps", "re");
	bool here = false, found = false;
	uint64_t from, to;

	CHECK(smaps != NULL);
	while (!found && fgets(line, len, smaps) != NULL) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2)
			here = (uintptr_t)at - from < to - from;
		else
			found = here && strncmp(line, field, strlen(field)) == 0;
	}
	fclose(smaps);
	CHECK(found, "no %s of %p", field, at);
}

void *
env_map(size_t len)
{
	uint8_t *p = mmap(NULL, len + 2 * GUARD_LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	CHECK_EQ(mprotect(p + GUARD_LEN, len, PROT_READ | PROT_WRITE), 0);
	return p + GUARD_LEN;
}

void
env_unmap(void *p, size_t len)
{
	munmap((uint8_t *)p - GUARD_LEN, len + 2 * GUARD_LEN);
}

uint8_t *
env_mem(struct gantry *g, size_t len, unsigned int flags, struct gantry_mem **mem)
{
	uint8_t *p = env_map(len);

	CHECK_EQ(gantry_mem_register(g, p, len, flags, mem), 0);
	return p;
}

/* The latest message in the log. */
static char said[4096];

static ssize_t
log_keep(void *cookie, const char *text, size_t len)
{
	size_t used = strlen(said);

	memcpy(said + used, text, RTE_MIN(len, sizeof(said) - 1 - used));
	return len;
}

void
env_refused(struct gantry *g, void *p, size_t len, int err, const char *words)
{
	struct gantry_mem *mem = NULL;
	FILE *log = fopencookie(NULL, "w", (cookie_io_functions_t){.write = log_keep});

	memset(said, 0, sizeof(said));
	rte_openlog_stream(log);
	CHECK_EQ(gantry_mem_register(g, p, len, 0, &mem), -err);
	rte_openlog_stream(NULL);
	fclose(log);
	CHECK(mem == NULL);
	CHECK(strstr(said, words) != NULL, "%s", said);
}

void
env_break(struct gantry_mem *mem)
{
	CHECK_EQ(hwq_mr_deregister(&gantry_mem_piece(mem)->mr), 0);
}

void
env_mend(struct gantry_mem *mem)
{
	struct gantry_piece *piece = gantry_mem_piece(mem);

	CHECK_EQ(hwq_mr_register(mem->g->dev, (void *)(uintptr_t)piece->region.addr,
			 piece->region.len, 0, &piece->mr),
		0);
}

void
env_fill(void *p, size_t len, uint64_t seed)
{
	uint8_t *byte = p;
	uint64_t word = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		if (i % 8 == 0)
			word = check_random(&seed);
		byte[i] = word >> i % 8 * 8;
	}
}

bool
env_is_filled(const void *p, size_t len, uint64_t seed)
{
	const uint8_t *byte = p;
	uint64_t word = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		if (i % 8 == 0)
			word = check_random(&seed);
		if (byte[i] != (uint8_t)(word >> i % 8 * 8))
			return false;
	}
	return true;
}

bool
env_is_pumped(void)
{
	const char *threads = getenv("SOFTHCA_THREADS");

	return threads != NULL && atoi(threads) == 0;
}

bool
env_is_moved(const void *src, const void *dst, size_t len)
{
	const uint8_t *d = dst;

	if (memcmp(d, src, len) == 0)
		return true;
	CHECK(d[0] == ENV_UNTOUCHED && memcmp(d, d + 1, len - 1) == 0);
	return false;
}

void
env_pump(void)
{
	if (env_is_pumped())
		softhca_pump();
}

uint16_t
env_poll(struct gantry_queue *q, struct gantry_comp *comp, uint16_t n)
{
	uint16_t got;

	env_pump();
	got = gantry_poll(q, comp, n);
	if (got == 0)
		sched_yield();
	return got;
}

unsigned int
env_dequeue(struct gantry_worker *w, struct gantry_comp *comp, unsigned int n)
{
	n = gantry_dequeue_burst(w, comp, n);
	if (n == 0)
		sched_yield();
	return n;
}

struct gantry_queue *
env_queue(struct gantry *g, uint32_t depth)
{
	/*
	 * This queue has no deadline: a virtual CPU may stop for seconds, and no case that uses
	 * this function tests deadlines.
	 */
	const struct gantry_queue_conf conf = {.depth = depth, .deadline_ms = 60000};
	struct gantry_queue *q;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	return q;
}

void
env_queue_done(struct gantry_queue *q)
{
	CHECK_EQ(gantry_in_flight(q), 0);
	CHECK_EQ(gantry_queue_destroy(q), 0);
}

void
env_collect(struct gantry_queue *q, struct gantry_comp *comp, unsigned int n)
{
	uint64_t end = env_patience();
	unsigned int got = 0;

	while (got < n) {
		got += env_poll(q, comp + got, RTE_MIN(n - got, 256u));
		CHECK(rte_get_timer_cycles() < end);
	}
}

void
env_do(struct gantry_queue *q, const struct gantry_desc *desc, struct gantry_comp *comp,
	unsigned int n)
{
	uint64_t end = env_patience();
	unsigned int put = 0, got = 0;

	while (got < n) {
		put += gantry_submit(q, desc + put, RTE_MIN(n - put, 256u));
		got += env_poll(q, comp + got, RTE_MIN(n - got, 256u));
		CHECK(rte_get_timer_cycles() < end);
	}
}

enum gantry_status
env_do_one(struct gantry_queue *q, struct gantry_desc desc)
{
	struct gantry_comp comp;

	memset(&comp, 0xff, sizeof(comp));
	env_do(q, &desc, &comp, 1);
	CHECK_EQ(comp.cookie, desc.cookie);
	CHECK_EQ(comp.op, desc.op);
	CHECK_EQ(comp.len, desc.len);
	CHECK_EQ(comp.zero, 0);
	/* For these statuses, `result` says whose memory failed. */
	if (comp.status != GANTRY_NOT_REGISTERED && comp.status != GANTRY_READ_ONLY &&
		comp.status != GANTRY_LOCAL_ERROR)
		CHECK_EQ(comp.result, 0);
	/* Only error CQEs carry syndromes, and only these statuses come from error CQEs. */
	if (comp.status < GANTRY_LOCAL_ERROR || comp.status > GANTRY_UNREACHABLE)
		CHECK_EQ(comp.syndrome | comp.vendor_syndrome, 0);
	return comp.status;
}

struct gantry_stats
env_stats(const struct gantry_queue *q)
{
	struct gantry_stats stats;

	gantry_stats_get(q, &stats);
	return stats;
}

void
env_connect(struct gantry_queue *a, uint16_t *pa, struct gantry_queue *b, uint16_t *pb)
{
	struct gantry_addr addr_a, addr_b;

	CHECK_EQ(gantry_peer_open(a, NULL, pa, &addr_a), 0);
	CHECK_EQ(gantry_peer_open(b, NULL, pb, &addr_b), 0);
	CHECK_EQ(gantry_peer_connect(a, *pa, &addr_b), 0);
	CHECK_EQ(gantry_peer_connect(b, *pb, &addr_a), 0);
}
