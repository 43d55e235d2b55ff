/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random descriptors against a model, in both modes at once: each comes back exactly once, in order,
 * with the status that was known beforehand; at the end memory and counters are what the model says.
 *
 * usage: test_gantry_random [SEED [DESCRIPTORS]]
 *
 * The model carries every descriptor out when it is made, one after the other. The engine may run
 * them in any order, so a descriptor that touches what another one since the last fence touches is
 * fenced; so is one that will fail in hardware, and its successor, so that it flushes nobody.
 */
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_lcore.h>

#include "gantry_env.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_mem.h"
#include "gantry_queue.h"

#define N_LANES      3 /* one queue of the main lcore, two workers */
#define SLICE_LEN    65536
#define MAX_UNFENCED 48
#define RING         512
#define PATIENCE     150

struct range {
	uint64_t addr, len;
};

struct expected {
	enum gantry_status status;
	uint8_t op;
	uint64_t len;
};

/* One queue with memory of its own, and the model of both. */
struct lane {
	struct gantry_worker *w; /* NULL: inline */
	struct gantry_queue *q;
	uint16_t peer, back;
	uint8_t *mem, *model;
	struct gantry_mem *reg;
	uint64_t seed;
	struct range wrote[MAX_UNFENCED], read[MAX_UNFENCED];
	unsigned int n_unfenced;
	bool fence_next;
	uint64_t made, put, got;
	struct gantry_desc desc[1024]; /* made, not put: at made & 1023 */
	struct expected exp[8192];     /* put or made, not got */
	uint64_t bytes, failures, by_status[GANTRY_STATUS_MAX];
};

static struct gantry *g;
static struct lane lanes[N_LANES];
static uint8_t *broken;
static struct gantry_mem *broken_mem;

static bool
overlap(struct range a, struct range b)
{
	return a.addr < b.addr + b.len && b.addr < a.addr + a.len;
}

static bool
conflicts(const struct lane *l, struct range src, struct range dst)
{
	unsigned int i;

	for (i = 0; i < l->n_unfenced; i++)
		if (overlap(dst, l->wrote[i]) || overlap(dst, l->read[i]) ||
			overlap(src, l->wrote[i]))
			return true;
	return l->n_unfenced == MAX_UNFENCED;
}

static uint64_t
pick_len(struct lane *l)
{
	uint64_t r = check_random(&l->seed);

	/* Mostly short, sometimes up to a quarter of the slice. */
	return 1 + (r >> 8) % (r % 32 == 0 ? SLICE_LEN / 4 : 256);
}

/* A good COPY, WRITE or READ within the slice; what it reads and writes never overlaps. */
static void
make_good(struct lane *l, struct gantry_desc *d)
{
	static const uint8_t ops[4] = {GANTRY_OP_COPY, GANTRY_OP_COPY, GANTRY_OP_WRITE,
		GANTRY_OP_READ};
	struct range src, dst;
	uint64_t len = pick_len(l);

	src.len = dst.len = len;
	do {
		src.addr = check_random(&l->seed) % (SLICE_LEN - len + 1);
		dst.addr = check_random(&l->seed) % (SLICE_LEN - len + 1);
	} while (overlap(src, dst));
	d->op = ops[check_random(&l->seed) % 4];
	d->src = (uintptr_t)l->mem + src.addr;
	d->dst = (uintptr_t)l->mem + dst.addr;
	d->len = len;
	if (d->op != GANTRY_OP_COPY) {
		d->peer = check_random(&l->seed) % 2 ? l->peer : l->back;
		d->remote_key = gantry_mem_remote_key(l->reg);
	}
	if (l->fence_next || conflicts(l, src, dst)) {
		d->flags |= GANTRY_DESC_FENCE;
		l->n_unfenced = 0;
		l->fence_next = false;
	}
	l->read[l->n_unfenced] = src;
	l->wrote[l->n_unfenced++] = dst;
	memcpy(l->model + dst.addr, l->model + src.addr, len);
}

/* Breaks a good descriptor that the model has not seen. Returns its status. */
static enum gantry_status
make_bad(struct lane *l, struct gantry_desc *d)
{
	*d = env_copy(l->mem, l->mem + 8192, 1 + check_random(&l->seed) % 8000);
	switch (check_random(&l->seed) % 10) {
	case 0:
		d->op = GANTRY_OP_MAX + check_random(&l->seed) % 200;
		return GANTRY_BAD_OP;
	case 1:
		d->op = 0;
		return GANTRY_BAD_OP;
	case 2:
		d->arg[check_random(&l->seed) % 2] = 1 + check_random(&l->seed) % 1000;
		return GANTRY_BAD_FIELD;
	case 3:
		d->layout = 1;
		return GANTRY_BAD_FIELD;
	case 4:
		d->len = 0;
		return GANTRY_BAD_LENGTH;
	case 5:
		d->len = UINT64_MAX - check_random(&l->seed) % 1000;
		return GANTRY_BAD_LENGTH;
	case 6:
		*(check_random(&l->seed) % 2 ? &d->src : &d->dst) = 0;
		return GANTRY_BAD_ADDRESS;
	case 7:
		d->src = (uintptr_t)l->mem + SLICE_LEN - d->len + 1;
		return GANTRY_NOT_REGISTERED;
	case 8:
		d->dst = (uintptr_t)l->mem - 1;
		return GANTRY_NOT_REGISTERED;
	default:
		d->op = check_random(&l->seed) % 2 ? GANTRY_OP_WRITE : GANTRY_OP_READ;
		d->peer = 2 + check_random(&l->seed) % 1000;
		return GANTRY_BAD_PEER;
	}
}

/* A copy that the device refuses: its source has a key that is no longer valid. */
static enum gantry_status
make_failing(struct lane *l, struct gantry_desc *d)
{
	*d = env_copy(broken, l->mem, pick_len(l));
	d->flags = GANTRY_DESC_FENCE;
	l->n_unfenced = 0;
	l->fence_next = true;
	l->failures++;
	return GANTRY_LOCAL_ERROR;
}

static void
make_one(struct lane *l)
{
	struct gantry_desc *d = &l->desc[l->made % RTE_DIM(l->desc)];
	struct expected *e = &l->exp[l->made % RTE_DIM(l->exp)];
	uint64_t kind = check_random(&l->seed) % 400;

	memset(d, 0, sizeof(*d));
	e->status = GANTRY_OK;
	if (kind == 0) {
		e->status = make_failing(l, d);
	} else if (kind < 40) {
		e->status = make_bad(l, d);
	} else if (kind < 60) {
		d->op = GANTRY_OP_NOP;
		d->flags = kind % 2 ? GANTRY_DESC_FENCE : 0;
	} else {
		make_good(l, d);
	}
	d->cookie = l->made * 0x10001;
	e->op = d->op;
	e->len = d->len;
	l->by_status[e->status]++;
	if (e->status == GANTRY_OK)
		l->bytes += d->len;
	l->made++;
}

static void
lane_put(struct lane *l, uint64_t goal)
{
	uint64_t n = check_random(&l->seed) % 100;
	uint32_t first;

	while (l->made < goal && l->made < l->put + n && l->made < l->got + RTE_DIM(l->exp))
		make_one(l);
	first = l->put % RTE_DIM(l->desc);
	n = RTE_MIN(l->made - l->put, RTE_DIM(l->desc) - first);
	if (l->w != NULL)
		l->put += gantry_enqueue_burst(l->w, &l->desc[first], n);
	else
		l->put += gantry_submit(l->q, &l->desc[first], n);
}

static void
lane_take(struct lane *l)
{
	struct gantry_comp comp[100];
	uint32_t n = check_random(&l->seed) % 100, i;

	n = l->w != NULL ? gantry_dequeue_burst(l->w, comp, n) : env_poll(l->q, comp, n);
	for (i = 0; i < n; i++, l->got++) {
		const struct expected *e = &l->exp[l->got % RTE_DIM(l->exp)];

		CHECK(l->got < l->put);
		CHECK_EQ(comp[i].cookie, l->got * 0x10001);
		CHECK_EQ(comp[i].status, e->status);
		CHECK_EQ(comp[i].op, e->op);
		CHECK_EQ(comp[i].len, e->len);
		CHECK_EQ(comp[i].result, 0);
		CHECK_EQ(comp[i].zero, 0);
		CHECK_EQ(comp[i].syndrome != 0, e->status == GANTRY_LOCAL_ERROR);
	}
}

static void
lane_open(struct lane *l, unsigned int i, uint64_t seed)
{
	const struct gantry_worker_conf conf = {
		.queue.depth = 16u << 3 * i,
		.ring_size = RING,
		.burst = 8 + 50 * i,
	};

	l->seed = seed * 1000 + i;
	l->mem = env_map(SLICE_LEN);
	l->model = env_map(SLICE_LEN);
	env_fill(l->mem, SLICE_LEN, l->seed);
	memcpy(l->model, l->mem, SLICE_LEN);
	CHECK_EQ(gantry_mem_register(g, l->mem, SLICE_LEN,
			 GANTRY_MEM_REMOTE_WRITE | GANTRY_MEM_REMOTE_READ, &l->reg),
		0);
	if (i == 0) {
		CHECK_EQ(gantry_queue_create(g, &conf.queue, &l->q), 0);
	} else {
		CHECK_EQ(gantry_worker_create(g, i, &conf, &l->w), 0);
		l->q = gantry_worker_queue(l->w);
	}
	env_connect(l->q, &l->peer, l->q, &l->back);
	CHECK(l->peer < 2 && l->back < 2);
}

static void
lane_close(struct lane *l)
{
	struct gantry_stats s = env_stats(l->q);
	int i;

	CHECK(memcmp(l->mem, l->model, SLICE_LEN) == 0);
	CHECK_EQ(s.submitted, l->made);
	CHECK_EQ(s.completed, l->made);
	CHECK_EQ(s.bytes, l->bytes);
	CHECK_EQ(s.recoveries, l->failures);
	for (i = 0; i < GANTRY_STATUS_MAX; i++)
		CHECK_EQ(s.by_status[i], l->by_status[i]);
	CHECK_EQ(gantry_peer_close(l->q, l->peer), 0);
	CHECK_EQ(gantry_peer_close(l->q, l->back), 0);
	CHECK_EQ(l->w != NULL ? gantry_worker_destroy(l->w) : gantry_queue_destroy(l->q), 0);
}

#ifdef __SANITIZE_THREAD__
#define GOAL 15000 /* twenty times slower */
#else
#define GOAL 100000
#endif

static uint64_t seed = 1, goal = GOAL;

static void
every_descriptor_does_what_the_model_says(void)
{
	uint64_t end = rte_get_timer_cycles() + PATIENCE * rte_get_timer_hz();
	bool busy = true;
	unsigned int i;

	CHECK_EQ(gantry_create(NULL, &g), 0);
	rte_log_set_level(gantry_logtype, RTE_LOG_CRIT);
	broken = env_map(SLICE_LEN);
	CHECK_EQ(gantry_mem_register(g, broken, SLICE_LEN, 0, &broken_mem), 0);
	CHECK_EQ(hwq_mr_deregister(&broken_mem->mr), 0);
	for (i = 0; i < N_LANES; i++)
		lane_open(&lanes[i], i, seed);
	CHECK_EQ(gantry_start(g), 0);
	while (busy) {
		busy = false;
		for (i = 0; i < N_LANES; i++) {
			lane_put(&lanes[i], goal);
			lane_take(&lanes[i]);
			busy |= lanes[i].got < goal;
		}
		CHECK(rte_get_timer_cycles() < end);
	}
	CHECK_EQ(gantry_stop(g), 0);
	for (i = 0; i < N_LANES; i++) {
		lane_close(&lanes[i]);
		CHECK_EQ(gantry_mem_unregister(lanes[i].reg), 0);
	}
	/* Make the broken one whole, so that it can be taken back. */
	CHECK_EQ(hwq_mr_register(g->dev, broken, SLICE_LEN, 0, &broken_mem->mr), 0);
}

static const struct check_case cases[] = {
	{"every descriptor does what the model says", every_descriptor_does_what_the_model_says},
};

int
main(int argc, char **argv)
{
	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		goal = strtoull(argv[2], NULL, 0);
	printf("seed %llu, %llu descriptors on each of %d queues\n", (unsigned long long)seed,
		(unsigned long long)goal, N_LANES);
	env_init(N_LANES - 1);
	env_run(cases, RTE_DIM(cases), 1, argv);
	return env_done(g, &broken_mem, 1);
}
