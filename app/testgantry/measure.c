/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Measures which carrier copies fastest, for each length and each number of copies in flight.
 *
 * A sample is a number of bursts, in which one carrier makes n copies. One call submits the n
 * copies of a burst; the next burst follows when all n copies have completed. The carriers take
 * turns, one sample each, so that other load of the machine affects all carriers. The result is the
 * median of a carrier's samples.
 */
#define GANTRY_ALLOW_EXPERIMENTAL /* the text form of policies */

#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_common.h>

#include "device.h"
#include "job.h"
#include "quote.h"
#include "report.h"

#define ARENA_LEN       (32u << 20) /* bytes of all sources; the destinations have as many bytes */
#define ROUNDS          7           /* samples of each carrier */
#define SAMPLE_NS       500000
#define POLICY_TEXT_LEN 4096
/*
 * Neighbouring lengths keep the same carrier, unless another carrier is faster by this factor. So
 * noise does not change the rules.
 */
#define CLEARLY 1.05

static const uint64_t lens[] = {64, 256, 1024, 4096, 16384, 65536, 262144};
static const uint32_t in_flight[] = {1, 4, 16, 64};

#define N_LENS     RTE_DIM(lens)
#define N_LEVELS   RTE_DIM(in_flight)
#define MAX_FLIGHT 64

static_assert(N_LENS * N_LEVELS <= GANTRY_POLICY_MAX, "whatever is measured fits in a policy");

static const struct {
	const char *name;
	uint16_t flag;
} carriers[GANTRY_CARRIER_MAX] = {
	[GANTRY_CARRIER_CPU] = {"cpu", GANTRY_DESC_BY_CPU},
	[GANTRY_CARRIER_MMO] = {"mmo", GANTRY_DESC_BY_MMO},
	[GANTRY_CARRIER_RDMA] = {"rdma", GANTRY_DESC_BY_RDMA},
};

/* The measurements of one length and one number in flight. */
struct cell {
	/* time of one copy; 0: the device does not have the carrier */
	double ns[GANTRY_CARRIER_MAX];
	enum gantry_carrier best;
};

struct bench {
	struct gantry *engine;
	struct gantry_queue *queue;
	struct gantry_info info;
	struct gantry_mem *mem;
	uint8_t *arena; /* ARENA_LEN of sources, then ARENA_LEN of destinations */
	uint64_t at;    /* offset of the next copy in the sources and in the destinations */
	struct cell cell[N_LEVELS][N_LENS];
};

/* ------------------------------------------------------------------ set up */

static int
bench_open(struct bench *b, const struct options *o)
{
	const struct gantry_conf conf = {.copy_path = o->copy_path, .rdma_copies = true};
	const struct gantry_queue_conf queue_conf = {.depth = MAX_FLIGHT};
	const char *what = "create a queue";
	int rc;

	b->arena = mmap(NULL, 2 * (size_t)ARENA_LEN, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (b->arena == MAP_FAILED) {
		b->arena = NULL;
		error_print("no memory for %u MiB to copy", 2 * ARENA_LEN >> 20);
		return -1;
	}
	/* Write all pages: the kernel may map all untouched pages to a single page of zeros. */
	memset(b->arena, 1, 2 * (size_t)ARENA_LEN);
	if (device_open(o, conf, &b->engine) != 0)
		return -1;
	gantry_info_get(b->engine, &b->info);
	rc = gantry_queue_create(b->engine, &queue_conf, &b->queue);
	if (rc == 0) {
		what = "register memory";
		rc = gantry_mem_register(b->engine, b->arena, 2 * (size_t)ARENA_LEN, 0, &b->mem);
	}
	if (rc == 0)
		return 0;
	error_print("cannot %s to measure: %s; the log lines above say more", what, strerror(-rc));
	return -1;
}

static void
bench_close(struct bench *b)
{
	if (b->mem != NULL)
		gantry_mem_unregister(b->mem, 1000);
	if (b->queue != NULL)
		gantry_queue_destroy(b->queue);
	if (b->engine != NULL)
		gantry_destroy(b->engine);
	if (b->arena != NULL)
		munmap(b->arena, 2 * (size_t)ARENA_LEN);
}

static bool
has(const struct bench *b, enum gantry_carrier carrier)
{
	return carrier != GANTRY_CARRIER_USUAL && (b->info.carriers & 1u << carrier) != 0;
}

/* ------------------------------------------------------------------ measuring */

/* Makes n copies, and waits until all have completed. Returns 0, or -1 with the error printed. */
static int
burst(struct bench *b, enum gantry_carrier carrier, uint64_t len, uint32_t n)
{
	struct gantry_desc desc[MAX_FLIGHT];
	struct gantry_comp comp[MAX_FLIGHT];
	uint32_t put = 0, got = 0, k;

	for (uint32_t i = 0; i < n; i++) {
		if (b->at + len > ARENA_LEN)
			b->at = 0;
		desc[i] = (struct gantry_desc){
			.op = GANTRY_OP_COPY,
			.flags = carriers[carrier].flag,
			.src = (uintptr_t)b->arena + b->at,
			.dst = (uintptr_t)b->arena + ARENA_LEN + b->at,
			.len = len,
		};
		b->at += len;
	}
	while (got < n) {
		put += gantry_submit(b->queue, desc + put, n - put);
		k = gantry_poll(b->queue, comp, n - got);
		for (uint32_t i = 0; i < k; i++) {
			if (comp[i].status == GANTRY_OK)
				continue;
			error_print("a copy of %" PRIu64 " bytes by %s failed: %s", len,
				carriers[carrier].name, gantry_status_name(comp[i].status));
			return -1;
		}
		got += k;
	}
	return 0;
}

/* Returns the time of one copy in nanoseconds, or -1 with the error printed. */
static double
sample(struct bench *b, enum gantry_carrier carrier, uint64_t len, uint32_t n)
{
	uint64_t start, now, copies = 0;

	/* Do not measure the first burst after a change of the carrier. */
	if (burst(b, carrier, len, n) != 0)
		return -1;
	start = now_ns();
	do {
		if (burst(b, carrier, len, n) != 0)
			return -1;
		copies += n;
		now = now_ns();
	} while (now - start < SAMPLE_NS);
	return (double)(now - start) / copies;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns 0, JOB_STOPPED, or -1 with the error printed. */
static int
measure_cell(struct bench *b, struct cell *c, uint64_t len, uint32_t n)
{
	double ns[GANTRY_CARRIER_MAX][ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		for (int i = 0; i < GANTRY_CARRIER_MAX; i++) {
			int carrier = (i + r) % GANTRY_CARRIER_MAX;

			if (!has(b, carrier))
				continue;
			if (stop_signal != 0)
				return JOB_STOPPED;
			ns[carrier][r] = sample(b, carrier, len, n);
			if (ns[carrier][r] < 0)
				return -1;
		}
	}
	for (int i = 0; i < GANTRY_CARRIER_MAX; i++) {
		if (!has(b, i))
			continue;
		qsort(ns[i], ROUNDS, sizeof(ns[i][0]), compare);
		c->ns[i] = ns[i][ROUNDS / 2];
	}
	return 0;
}

static enum gantry_carrier
fastest(const struct cell *c)
{
	enum gantry_carrier best = GANTRY_CARRIER_USUAL;

	for (int i = 0; i < GANTRY_CARRIER_MAX; i++)
		if (c->ns[i] != 0 && (best == GANTRY_CARRIER_USUAL || c->ns[i] < c->ns[best]))
			best = i;
	return best;
}

/* For one number of copies in flight: chooses the best carrier for each length. */
static void
choose(struct cell *cell)
{
	for (size_t i = 0; i < N_LENS; i++) {
		enum gantry_carrier best = fastest(&cell[i]);

		if (i > 0 && cell[i].ns[cell[i - 1].best] < cell[i].ns[best] * CLEARLY)
			best = cell[i - 1].best;
		cell[i].best = best;
	}
}

static int
measure_all(struct bench *b)
{
	int rc = 0;

	for (size_t level = 0; level < N_LEVELS; level++) {
		for (size_t i = 0; rc == 0 && i < N_LENS; i++)
			rc = measure_cell(b, &b->cell[level][i], lens[i], in_flight[level]);
		if (rc != 0)
			return rc;
		choose(b->cell[level]);
	}
	return 0;
}

/* ------------------------------------------------------------------ the policy */

static bool
same_choice(const struct cell *a, const struct cell *b)
{
	for (size_t i = 0; i < N_LENS; i++)
		if (a[i].best != b[i].best)
			return false;
	return true;
}

static void
add_rules(struct gantry_policy *p, const struct cell *cell, uint32_t max_in_flight)
{
	for (size_t i = 0; i < N_LENS; i++) {
		bool last = i + 1 == N_LENS;

		if (!last && cell[i + 1].best == cell[i].best)
			continue;
		p->rule[p->n++] = (struct gantry_policy_rule){
			.max_len = last ? UINT64_MAX : lens[i],
			.max_in_flight = max_in_flight,
			.carrier = cell[i].best,
		};
	}
}

/*
 * Writes rules for each number in flight. Leaves out a number if the next number has the same
 * rules.
 */
static void
make_policy(const struct bench *b, struct gantry_policy *p)
{
	p->n = 0;
	for (size_t level = 0; level < N_LEVELS; level++) {
		bool last = level + 1 == N_LEVELS;

		if (last || !same_choice(b->cell[level], b->cell[level + 1]))
			add_rules(p, b->cell[level], last ? UINT32_MAX : in_flight[level]);
	}
}

static void
print_level(const struct bench *b, size_t level)
{
	printf("\n%3u in flight", in_flight[level]);
	for (int i = 0; i < GANTRY_CARRIER_MAX; i++)
		if (has(b, i))
			printf(" %11s", carriers[i].name);
	printf("\n");
	for (size_t k = 0; k < N_LENS; k++) {
		const struct cell *c = &b->cell[level][k];

		printf("%13" PRIu64, lens[k]);
		for (int i = 0; i < GANTRY_CARRIER_MAX; i++)
			if (has(b, i))
				printf(" %10.0f%c", c->ns[i], (int)c->best == i ? '*' : ' ');
		printf("\n");
	}
}

static void
print_result(const struct bench *b, const char *rules)
{
	printf("\nNanoseconds for one copy by each carrier of %s. Rows: bytes of the copy, and copies in\n"
	       "flight. * marks the carrier in the policy. The CPU's time is not counted: while a device\n"
	       "copies, the CPU is free for other work. An emulated adapter copies on CPUs, so\n"
	       "its figures say nothing about hardware.\n",
		b->info.device);
	for (size_t level = 0; level < N_LEVELS; level++)
		print_level(b, level);
	printf("\nThe policy:\n%s", rules);
}

/* Prints why the path is refused. Returns -1. */
static int
refuse_path(const char *path)
{
	error_print("--measure-policy: cannot write the policy to %s: %s; name a file that can be "
		    "written",
		quote_name(path), strerror(errno));
	return -1;
}

/*
 * Opens the file before measuring, so that a wrong path is reported at once. *made: true if the
 * file is new and empty. Returns 0, or -1 with the error printed.
 */
static int
check_path(const char *path, bool *made)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	*made = fd < 0 && errno == ENOENT;
	if (*made)
		fd = open(path, O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0666);
	if (fd < 0)
		return refuse_path(path);
	close(fd);
	return 0;
}

/* Writes the policy over the old content. Returns 0, or -1 with the error printed. */
static int
save(const char *path, const char *device, const char *rules)
{
	FILE *f = fopen(path, "we");
	bool ok;

	if (f == NULL)
		return refuse_path(path);
	ok = fprintf(f, "# Measured by testgantry on %s.\n%s", device, rules) > 0;
	ok = fclose(f) == 0 && ok;
	return ok ? 0 : refuse_path(path);
}

int
measure_run(const struct options *o)
{
	static struct bench b;
	struct gantry_policy policy = {0};
	char rules[POLICY_TEXT_LEN];
	bool made;
	int rc;

	if (check_path(o->measure_policy, &made) != 0)
		return -1;
	rc = bench_open(&b, o);
	if (rc == 0) {
		printf("measuring which carrier copies fastest on %s ...\n", b.info.device);
		fflush(stdout);
		rc = measure_all(&b);
	}
	if (rc != 0) {
		if (made)
			remove(o->measure_policy);
	} else {
		make_policy(&b, &policy);
		rc = gantry_policy_print(&policy, rules, sizeof(rules));
		if (rc >= 0) {
			print_result(&b, rules);
			rc = save(o->measure_policy, b.info.device, rules);
		}
	}
	if (rc == 0)
		printf("\nThe policy is in %s: testgantry --policy, or gantry_policy_parse(), reads it.\n",
			quote_name(o->measure_policy));
	bench_close(&b);
	if (rc == JOB_STOPPED)
		job_say_stopped("no policy was written");
	return rc;
}
