/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Throughput by queue depth, burst, copy length, regions, peers and lcores: of the engine on the
 * emulated adapter, of memcpy(3), and of DPDK's dma_skeleton, whose device is a thread that copies.
 *
 * At each point the engine, memcpy(3) and dma_skeleton are measured alternately, 15 times or as
 * often as --rounds says, so other load on the machine affects all of them. They copy between the
 * same addresses. Prints CSV: medians of the rounds, and the median of each round's ratio to
 * memcpy. No time makes it fail.
 *
 * usage: bench_throughput [--device NAME] [--rounds N] [AXIS]...
 *        N: 1 to 15. Default: the first mlx5 device, 15, depth burst length regions peers lcores
 */
#define ALLOW_EXPERIMENTAL_API /* dmadev */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_dmadev.h>
#include <rte_eal.h>
#include <rte_lcore.h>

#include "bench_eal.h"
#include "bench_median.h"
#include "gantry.h"

#define ROUNDS_MAX  15
#define SAMPLE_US   5000
#define WARM_US     500
#define BURST_MAX   64
#define LCORES_MAX  4
#define PEERS_MAX   64
#define REGIONS_MAX 1024
#define N_ADDRS     8192
#define YIELD_POLLS 64 /* number of polls without a completion before the thread yields */
#define PAGE_LEN    ((uint64_t)4096)
/* Total bytes of sources and destinations, if copies are short. */
#define LEAST_SET (512u << 10)
#define MOST_SET  (32u << 20)

/* Parameters of one measurement. */
struct point {
	const char *axis;
	uint64_t x;
	uint64_t len;
	uint32_t depth;   /* largest number of operations in flight */
	uint32_t burst;   /* number of operations in one call */
	uint32_t regions; /* number of registered regions; the addresses in them are random */
	/* 0: copies; otherwise writes to this number of peers, one after the other */
	uint32_t peers;
	/*
	 * 0: the main lcore drives the queue; otherwise the number of workers to which it enqueues.
	 */
	uint32_t lcores;
};

static const struct point usual = {.len = 64, .depth = 256, .burst = 32, .regions = 1};

static const char *device; /* NULL: the first device */
static unsigned int n_rounds = ROUNDS_MAX;

/* The operations of the sample in progress, and their addresses. */
static struct {
	uint8_t *mem;
	uint64_t src[N_ADDRS], dst[N_ADDRS];
} arena;

static void
die(const char *what)
{
	fprintf(stderr, "bench_throughput: %s\n", what);
	exit(EXIT_FAILURE);
}

static void
must(bool ok, const char *what)
{
	if (!ok)
		die(what);
}

/* ---- addresses */

static uint32_t
draw(uint32_t n)
{
	static uint64_t seed = 1;

	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % n;
}

/*
 * Returns the length of each region. Sources are in one half of the memory, destinations in the
 * other half.
 */
static uint64_t
region_len(const struct point *p)
{
	uint64_t set = RTE_MAX((uint64_t)LEAST_SET, 16 * p->len);

	return RTE_ALIGN_CEIL(RTE_MAX(set / p->regions, PAGE_LEN), PAGE_LEN);
}

static void
draw_addresses(const struct point *p)
{
	uint64_t half = region_len(p) * p->regions / 2;
	uint32_t n_places = half / p->len;

	must(half <= MOST_SET / 2, "the memory is too short");
	for (unsigned int i = 0; i < N_ADDRS; i++) {
		arena.src[i] = (uintptr_t)arena.mem + draw(n_places) * p->len;
		arena.dst[i] = (uintptr_t)arena.mem + half + draw(n_places) * p->len;
	}
}

/* Yields, because the thread that completes the operations may need this CPU. */
static void
yield_if_idle(unsigned int found, unsigned int *idle)
{
	if (found != 0)
		*idle = 0;
	else if (++*idle % YIELD_POLLS == 0)
		sched_yield();
}

/* ---- memcpy */

static volatile bool stop_copying;

static uint64_t
copy_until(const struct point *p, uint64_t end)
{
	uint64_t n = 0;

	do {
		for (unsigned int i = 0; i < p->burst; i++, n++)
			memcpy((void *)(uintptr_t)arena.dst[n % N_ADDRS],
				(const void *)(uintptr_t)arena.src[n % N_ADDRS], p->len);
	} while (rte_rdtsc() < end && !stop_copying);
	return n;
}

static struct {
	const struct point *p;
	uint64_t n[RTE_MAX_LCORE];
} copiers;

static int
copier(void *arg)
{
	uint64_t *n = arg;

	*n = copy_until(copiers.p, UINT64_MAX);
	return 0;
}

static uint64_t
copy_on_lcores(const struct point *p, uint64_t end)
{
	uint64_t now = rte_rdtsc(), n = 0;

	copiers.p = p;
	for (unsigned int i = 1; i <= p->lcores; i++)
		must(rte_eal_remote_launch(copier, &copiers.n[i], i) == 0, "an lcore is busy");
	usleep((end - now) / (rte_get_tsc_hz() / 1000000));
	stop_copying = true;
	rte_eal_mp_wait_lcore();
	stop_copying = false;
	for (unsigned int i = 1; i <= p->lcores; i++)
		n += copiers.n[i];
	return n;
}

static uint64_t
run_memcpy(const struct point *p, uint64_t end)
{
	return p->lcores > 0 ? copy_on_lcores(p, end) : copy_until(p, end);
}

/* ---- dma_skeleton: device i copies on the CPU of lcore i */

static int16_t skeleton[LCORES_MAX + 1];

static void
open_skeleton(const struct point *p)
{
	const struct rte_dma_conf conf = {.nb_vchans = 1};
	const struct rte_dma_vchan_conf vchan = {.direction = RTE_DMA_DIR_MEM_TO_MEM,
		.nb_desc = 1024};
	char name[32], args[32];

	for (unsigned int i = 1; i <= RTE_MAX(p->lcores, 1u); i++) {
		snprintf(name, sizeof(name), "dma_skeleton%u", i);
		snprintf(args, sizeof(args), "lcore=%u", i);
		must(rte_eal_hotplug_add("vdev", name, args) == 0, "there is no dma_skeleton");
		skeleton[i] = rte_dma_get_dev_id_by_name(name);
		must(skeleton[i] >= 0 && rte_dma_configure(skeleton[i], &conf) == 0 &&
				rte_dma_vchan_setup(skeleton[i], 0, &vchan) == 0,
			"dma_skeleton refuses its settings");
	}
}

static void
close_skeleton(const struct point *p)
{
	char name[32];

	for (unsigned int i = 1; i <= RTE_MAX(p->lcores, 1u); i++) {
		snprintf(name, sizeof(name), "dma_skeleton%u", i);
		must(rte_eal_hotplug_remove("vdev", name) == 0, "dma_skeleton does not go");
	}
}

static uint64_t
run_skeleton(const struct point *p, uint64_t end)
{
	unsigned int n_devices = RTE_MAX(p->lcores, 1u);
	uint64_t put[LCORES_MAX + 1] = {0}, got[LCORES_MAX + 1] = {0}, sum = 0, n = 0;
	bool more = true, error = false;
	unsigned int idle = 0;

	while (more || n > sum) {
		unsigned int found = 0;

		for (unsigned int d = 1; d <= n_devices; d++) {
			uint16_t last, k;

			if (more && put[d] - got[d] + p->burst <= p->depth) {
				for (unsigned int i = 0; i < p->burst; i++, n++)
					must(rte_dma_copy(skeleton[d], 0, arena.src[n % N_ADDRS],
						     arena.dst[n % N_ADDRS], p->len, 0) >= 0,
						"dma_skeleton is full");
				rte_dma_submit(skeleton[d], 0);
				put[d] += p->burst;
			}
			k = rte_dma_completed(skeleton[d], 0, BURST_MAX, &last, &error);
			must(!error, "dma_skeleton failed");
			got[d] += k;
			found += k;
		}
		sum += found;
		yield_if_idle(found, &idle);
		more = more && rte_rdtsc() < end;
	}
	return sum;
}

/* dma_skeleton's thread runs while the device is started, and would disturb other measurements. */
static void
start_skeleton(const struct point *p)
{
	for (unsigned int i = 1; i <= RTE_MAX(p->lcores, 1u); i++)
		must(rte_dma_start(skeleton[i]) == 0, "dma_skeleton does not start");
}

static void
stop_skeleton(const struct point *p)
{
	for (unsigned int i = 1; i <= RTE_MAX(p->lcores, 1u); i++)
		must(rte_dma_stop(skeleton[i]) == 0, "dma_skeleton does not stop");
}

/* ---- the engine */

static struct {
	struct gantry *g;
	struct gantry_mem *mem[REGIONS_MAX];
	struct gantry_queue *q, *target;
	struct gantry_worker *w[LCORES_MAX + 1];
	uint16_t peer[PEERS_MAX], far[PEERS_MAX];
	uint32_t key[REGIONS_MAX];
	struct gantry_desc desc[BURST_MAX];
} eng;

static void
connect_peers(const struct point *p, const struct gantry_queue_conf *conf)
{
	struct gantry_addr near, far;

	must(gantry_queue_create(eng.g, conf, &eng.target) == 0, "no queue for peers");
	for (unsigned int i = 0; i < p->peers; i++)
		must(gantry_peer_open(eng.q, NULL, &eng.peer[i], &near) == 0 &&
				gantry_peer_open(eng.target, NULL, &eng.far[i], &far) == 0 &&
				gantry_peer_connect(eng.q, eng.peer[i], &far) == 0 &&
				gantry_peer_connect(eng.target, eng.far[i], &near) == 0,
			"no peers");
}

static void
open_engine(const struct point *p)
{
	const struct gantry_conf conf = {.device = device};
	const struct gantry_queue_conf queue = {.depth = RTE_MAX(p->depth, 2u)};
	const struct gantry_worker_conf worker = {.queue = queue,
		.burst = p->burst,
		.idle = GANTRY_IDLE_SLEEP};
	uint64_t len = region_len(p);

	must(gantry_create(&conf, &eng.g) == 0, "no device");
	for (unsigned int i = 0; i < p->regions; i++)
		must(gantry_mem_register(eng.g, arena.mem + i * len, len,
			     p->peers > 0 ? GANTRY_MEM_REMOTE_WRITE : 0, &eng.mem[i]) == 0,
			"no region");
	for (unsigned int i = 1; i <= p->lcores; i++)
		must(gantry_worker_create(eng.g, i, &worker, &eng.w[i]) == 0, "no worker");
	if (p->lcores == 0)
		must(gantry_queue_create(eng.g, &queue, &eng.q) == 0, "no queue");
	if (p->peers > 0)
		connect_peers(p, &queue);
	for (unsigned int i = 0; i < p->burst; i++)
		eng.desc[i] = (struct gantry_desc){
			.op = p->peers > 0 ? GANTRY_OP_WRITE : GANTRY_OP_COPY,
			.remote_key = p->peers > 0 ? gantry_mem_remote_key(eng.mem[0]) : 0,
			.len = p->len,
		};
}

static void
close_engine(const struct point *p)
{
	for (unsigned int i = 1; i <= p->lcores; i++)
		must(gantry_worker_destroy(eng.w[i]) == 0, "a worker does not end");
	if (p->lcores == 0)
		must(gantry_queue_destroy(eng.q) == 0, "a queue does not end");
	if (p->peers > 0)
		must(gantry_queue_destroy(eng.target) == 0, "a queue does not end");
	for (unsigned int i = 0; i < p->regions; i++)
		must(gantry_mem_unregister(eng.mem[i], 1000) == 0, "a region does not end");
	must(gantry_destroy(eng.g) == 0, "the engine does not end");
}

/* If the point has no lcores, the main lcore drives the queue, and there are no workers. */
static void
start_workers(const struct point *p)
{
	for (unsigned int i = 1; i <= p->lcores; i++)
		must(gantry_worker_start(eng.w[i]) == 0, "a worker does not start");
}

static void
stop_workers(const struct point *p)
{
	for (unsigned int i = 1; i <= p->lcores; i++)
		must(gantry_worker_stop(eng.w[i]) == 0, "a worker does not stop");
}

static void
check(const struct gantry_comp *comp, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		must(comp[i].status == GANTRY_OK, "an operation failed");
}

/* Draws the addresses and peers of the next burst. */
static void
fill(const struct point *p, uint64_t n)
{
	for (unsigned int i = 0; i < p->burst; i++, n++) {
		eng.desc[i].src = arena.src[n % N_ADDRS];
		eng.desc[i].dst = arena.dst[n % N_ADDRS];
		if (p->peers > 0)
			eng.desc[i].peer = eng.peer[n % p->peers];
	}
}

static uint64_t
run_queue(const struct point *p, uint64_t end)
{
	struct gantry_comp comp[BURST_MAX];
	uint64_t put = 0, got = 0;
	unsigned int idle = 0;
	bool more = true;

	while (more || put > got) {
		unsigned int k;

		if (more && put - got + p->burst <= p->depth) {
			fill(p, put);
			must(gantry_submit(eng.q, eng.desc, p->burst) == p->burst,
				"the queue is full");
			put += p->burst;
		}
		k = gantry_poll(eng.q, comp, BURST_MAX);
		check(comp, k);
		got += k;
		yield_if_idle(k, &idle);
		more = more && rte_rdtsc() < end;
	}
	return got;
}

static uint64_t
run_workers(const struct point *p, uint64_t end)
{
	uint64_t put[LCORES_MAX + 1] = {0}, got[LCORES_MAX + 1] = {0}, sum = 0, n = 0;
	struct gantry_comp comp[BURST_MAX];
	unsigned int idle = 0;
	bool more = true;

	while (more || n > sum) {
		unsigned int found = 0;

		for (unsigned int i = 1; i <= p->lcores; i++) {
			unsigned int k;

			if (more && put[i] - got[i] + p->burst <= p->depth) {
				fill(p, n);
				must(gantry_enqueue_burst(eng.w[i], eng.desc, p->burst) == p->burst,
					"the ring is full");
				put[i] += p->burst;
				n += p->burst;
			}
			k = gantry_dequeue_burst(eng.w[i], comp, BURST_MAX);
			check(comp, k);
			got[i] += k;
			found += k;
		}
		sum += found;
		yield_if_idle(found, &idle);
		more = more && rte_rdtsc() < end;
	}
	return sum;
}

static uint64_t
run_engine(const struct point *p, uint64_t end)
{
	return p->lcores > 0 ? run_workers(p, end) : run_queue(p, end);
}

/* ---- measuring */

static const struct series {
	const char *name;
	void (*open)(const struct point *p);
	void (*start)(const struct point *p);
	/*
	 * Executes operations until the time stamp counter reaches `end`, then waits until all have
	 * completed.
	 */
	uint64_t (*run)(const struct point *p, uint64_t end);
	void (*stop)(const struct point *p);
	void (*close)(const struct point *p);
} series[] = {
	/* The first row is the base of all ratios. */
	{.name = "memcpy", .run = run_memcpy},
	{"dma_skeleton", open_skeleton, start_skeleton, run_skeleton, stop_skeleton,
		close_skeleton},
	{"gantry", open_engine, start_workers, run_engine, stop_workers, close_engine},
};

#define N_SERIES RTE_DIM(series)

static double
sample(const struct series *s, const struct point *p)
{
	uint64_t us = rte_get_tsc_hz() / 1000000, start, n, took;

	if (s->start != NULL)
		s->start(p);
	s->run(p, rte_rdtsc() + WARM_US * us);
	start = rte_rdtsc();
	n = s->run(p, start + SAMPLE_US * us);
	took = rte_rdtsc() - start;
	if (s->stop != NULL)
		s->stop(p);
	return 1e3 * took / us / n;
}

static void
print_row(const struct point *p, const char *name, double *ns, double *ratio)
{
	double median = bench_median(ns, n_rounds);

	printf("%s,%" PRIu64 ",%s,%" PRIu64 ",%u,%u,%u,%u,%u,%.1f,%.1f,%.1f,%.4f,%.4f,%.3f\n",
		p->axis, p->x, name, p->len, p->depth, p->burst, p->regions, p->peers, p->lcores,
		median, ns[0], ns[n_rounds - 1], 1e3 / median, p->len / median,
		bench_median(ratio, n_rounds));
}

static void
measure(const struct point *p)
{
	double ns[N_SERIES][ROUNDS_MAX], ratio[ROUNDS_MAX];

	draw_addresses(p);
	for (unsigned int s = 0; s < N_SERIES; s++)
		if (series[s].open != NULL)
			series[s].open(p);
	for (unsigned int r = 0; r < n_rounds; r++)
		for (unsigned int s = 0; s < N_SERIES; s++)
			ns[s][r] = sample(&series[s], p);
	for (unsigned int s = N_SERIES; s-- > 0;) {
		if (series[s].close != NULL)
			series[s].close(p);
		for (unsigned int r = 0; r < n_rounds; r++)
			ratio[r] = ns[0][r] / ns[s][r]; /* computed before row 0 is sorted */
		print_row(p, series[s].name, ns[s], ratio);
	}
}

/* ---- axes */

static void
set_depth(struct point *p)
{
	p->depth = p->x;
	p->burst = RTE_MIN(p->burst, p->depth);
}

static void
set_burst(struct point *p)
{
	p->burst = p->x;
}

static void
set_length(struct point *p)
{
	p->len = p->x;
	p->depth = 64;
	p->burst = 16;
}

static void
set_regions(struct point *p)
{
	p->regions = p->x;
}

static void
set_peers(struct point *p)
{
	p->peers = p->x;
}

static void
set_lcores(struct point *p)
{
	p->lcores = p->x;
	p->len = 16384;
	p->depth = 64;
	p->burst = 16;
}

static const struct axis {
	const char *name;
	void (*set)(struct point *p);
	uint64_t from, to, factor; /* factor 1: steps of 1 */
} axes[] = {
	{"depth", set_depth, 1, 512, 2},
	{"burst", set_burst, 1, BURST_MAX, 2},
	{"length", set_length, 64, 1 << 20, 4},
	{"regions", set_regions, 1, REGIONS_MAX, 4},
	{"peers", set_peers, 1, PEERS_MAX, 2},
	{"lcores", set_lcores, 1, LCORES_MAX, 1},
};

static void
run_axis(const struct axis *a)
{
	for (uint64_t x = a->from; x <= a->to; x = a->factor == 1 ? x + 1 : x * a->factor) {
		struct point p = usual;

		p.axis = a->name;
		p.x = x;
		a->set(&p);
		measure(&p);
	}
}

/* Reads the options. Returns the index of the first AXIS argument. */
static int
read_options(int argc, char **argv)
{
	int i = 1;

	for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		if (strcmp(argv[i], "--device") == 0)
			device = argv[i + 1];
		else if (strcmp(argv[i], "--rounds") == 0)
			n_rounds = atoi(argv[i + 1]);
		else
			break;
	}
	must(n_rounds >= 1 && n_rounds <= ROUNDS_MAX, "--rounds is a number from 1 to 15");
	must(i == argc || argv[i][0] != '-', "options are --device NAME and --rounds N");
	return i;
}

/*
 * Returns true if the axis is among the arguments from argv[first] on, or if there are no such
 * arguments.
 */
static bool
is_asked(const char *name, int first, int argc, char **argv)
{
	for (int i = first; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return first == argc;
}

static void
start_eal(void)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	char lcores[128] = "0@0";

	for (unsigned int i = 1; i <= LCORES_MAX; i++)
		snprintf(lcores + strlen(lcores), sizeof(lcores) - strlen(lcores), ",%u@%ld", i,
			i % n_cpus);
	must(bench_start_eal("bench_throughput", "128", lcores),
		"EAL did not start: its lines say why");
}

int
main(int argc, char **argv)
{
	int first = read_options(argc, argv);

	setvbuf(stdout, NULL, _IOLBF, 0);
	start_eal();
	arena.mem = mmap(NULL, MOST_SET, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	must(arena.mem != MAP_FAILED, "no memory");
	/* Writes the pages, because untouched pages may all be mapped to one page of zeros. */
	memset(arena.mem, 1, MOST_SET);
	printf("axis,x,series,length,depth,burst,regions,peers,lcores,ns,ns_least,ns_most,mops,gbytes_per_s,"
	       "to_memcpy\n");
	for (unsigned int i = 0; i < RTE_DIM(axes); i++)
		if (is_asked(axes[i].name, first, argc, argv))
			run_axis(&axes[i]);
	rte_eal_cleanup();
	return 0;
}
