/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random descriptors, compared with a model, in both modes at once. Each completes exactly once, in
 * order, with the status that the model expects. At the end, memory and counters must be as in the
 * model.
 *
 * usage: test_gantry_random [SEED [DESCRIPTORS]]      DESCRIPTORS: for each queue, at least 4000
 *
 * The model executes every descriptor when it is drawn, one after the other. The engine may run them
 * in any order, so a descriptor is fenced if it uses memory that another one has used since the last
 * fence. Copies that fail in hardware stop the own connection at any time; the engine carries out again
 * what was flushed, so the model need not know of them.
 */
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_lcore.h>

#include "gantry_env.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_queue.h"

#define N_STREAMS    3 /* one queue of the main lcore, two workers */
#define SLICE_LEN    65536
#define MAX_UNFENCED 48
#define RING         512
#define PATIENCE     60 /* seconds without any completion */

struct range {
	uint64_t addr, len;
};

struct expected {
	enum gantry_status status;
	uint8_t op;
	uint64_t len;
	uint64_t result;
};

/* One queue, the slice of memory that only its descriptors use, and the model of the slice. */
struct stream {
	struct gantry_worker *w; /* NULL: inline */
	struct gantry_queue *q;
	uint16_t peer, back;
	uint8_t *mem, *model;
	struct gantry_mem *reg;
	uint64_t seed;
	struct range wrote[MAX_UNFENCED], read[MAX_UNFENCED];
	unsigned int n_unfenced;
	uint64_t made, put, got;
	struct gantry_desc desc[1024]; /* descriptor n is at n % 1024 until it is submitted */
	/* the expected completion n is at n % 8192 until it is received */
	struct expected exp[8192];
	/* the lists of descriptor n are at n % 8192 until it has completed */
	struct gantry_sge sge[8192][5];
	uint64_t bytes, failures, by_status[GANTRY_STATUS_MAX], by_op_ok[GANTRY_OP_MAX];
};

/* Two layouts: a list, and rounds. `span` is the bytes from the base to the end of the last block. */
static const struct shape {
	struct gantry_block block[3];
	uint32_t n, rounds;
	uint64_t len, span;
} shapes[2] = {
	{{{0, 40, 0}, {100, 7, 0}, {60, 20, 0}}, 3, 1, 67, 107},
	{{{0, 8, 24}, {16, 4, 28}}, 2, 90, 1080, 89 * 32 + 20},
};
static uint16_t shape_id[2];

static struct gantry *g;
static struct stream streams[N_STREAMS];
static uint8_t *broken;
static struct gantry_mem *broken_mem;

static bool
overlap(struct range a, struct range b)
{
	return a.addr < b.addr + b.len && b.addr < a.addr + a.len;
}

static bool
conflicts(const struct stream *s, struct range src, struct range dst)
{
	unsigned int i;

	for (i = 0; i < s->n_unfenced; i++)
		if (overlap(dst, s->wrote[i]) || overlap(dst, s->read[i]) ||
			overlap(src, s->wrote[i]))
			return true;
	return s->n_unfenced == MAX_UNFENCED;
}

static uint64_t
pick_len(struct stream *s)
{
	uint64_t r = check_random(&s->seed);

	/* Mostly short, sometimes up to a quarter of the slice. */
	return 1 + (r >> 8) % (r % 32 == 0 ? SLICE_LEN / 4 : 256);
}

/* A good COPY, WRITE or READ within the slice. Its source and destination do not overlap. */
static void
make_good(struct stream *s, struct gantry_desc *d)
{
	static const uint8_t ops[4] = {GANTRY_OP_COPY, GANTRY_OP_COPY, GANTRY_OP_WRITE,
		GANTRY_OP_READ};
	struct range src, dst;
	uint64_t len = pick_len(s);

	src.len = dst.len = len;
	do {
		src.addr = check_random(&s->seed) % (SLICE_LEN - len + 1);
		dst.addr = check_random(&s->seed) % (SLICE_LEN - len + 1);
	} while (overlap(src, dst));
	d->op = ops[check_random(&s->seed) % 4];
	d->src = (uintptr_t)s->mem + src.addr;
	d->dst = (uintptr_t)s->mem + dst.addr;
	d->len = len;
	if (d->op != GANTRY_OP_COPY) {
		d->peer = check_random(&s->seed) % 2 ? s->peer : s->back;
		d->remote_key = gantry_mem_remote_key(s->reg);
	}
	if (conflicts(s, src, dst)) {
		d->flags |= GANTRY_DESC_FENCE;
		s->n_unfenced = 0;
	}
	s->read[s->n_unfenced] = src;
	s->wrote[s->n_unfenced++] = dst;
	memcpy(s->model + dst.addr, s->model + src.addr, len);
}

/* Two ranges of len bytes in the slice that do not overlap. */
static void
pick_ranges(struct stream *s, uint64_t src_len, uint64_t dst_len, struct range *src,
	struct range *dst)
{
	src->len = src_len;
	dst->len = dst_len;
	do {
		src->addr = check_random(&s->seed) % (SLICE_LEN - src_len + 1);
		dst->addr = check_random(&s->seed) % (SLICE_LEN - dst_len + 1);
	} while (overlap(*src, *dst));
}

/* The descriptor uses these ranges; if one before it does, a fence goes before it. */
static void
note_ranges(struct stream *s, struct gantry_desc *d, struct range src, struct range dst)
{
	if (conflicts(s, src, dst)) {
		d->flags |= GANTRY_DESC_FENCE;
		s->n_unfenced = 0;
	}
	s->read[s->n_unfenced] = src;
	s->wrote[s->n_unfenced++] = dst;
}

static void
make_fill(struct stream *s, struct gantry_desc *d)
{
	struct range none, dst;
	uint64_t i;

	d->op = GANTRY_OP_FILL;
	d->len = pick_len(s);
	/* Few patterns repeat, most do not. */
	d->arg[0] = check_random(&s->seed) % 2 ? check_random(&s->seed) : 0;
	pick_ranges(s, 1, d->len, &none, &dst);
	d->dst = (uintptr_t)s->mem + dst.addr;
	note_ranges(s, d, (struct range){0, 0}, dst);
	for (i = 0; i < d->len; i++)
		s->model[dst.addr + i] = ((const uint8_t *)&d->arg[0])[i % 8];
}

/* Three sources, 10 bytes apart, to two destinations, 5 bytes apart. */
static void
make_lists(struct stream *s, struct gantry_desc *d)
{
	struct gantry_sge *from = s->sge[s->made % RTE_DIM(s->sge)], *to = from + 3;
	uint64_t a = check_random(&s->seed) % 100, b = check_random(&s->seed) % 100;
	uint64_t c = check_random(&s->seed) % 100, x, i;
	struct range src, dst;

	d->op = GANTRY_OP_COPY_SG;
	d->len = a + b + c + 1;
	d->arg[0] = UINT64_C(2) << 32 | 3;
	x = check_random(&s->seed) % (d->len + 1);
	pick_ranges(s, d->len + 20, d->len + 5, &src, &dst);
	from[0] = (struct gantry_sge){(uintptr_t)s->mem + src.addr, a};
	from[1] = (struct gantry_sge){from[0].addr + a + 10, b};
	from[2] = (struct gantry_sge){from[1].addr + b + 10, c + 1};
	to[0] = (struct gantry_sge){(uintptr_t)s->mem + dst.addr, x};
	to[1] = (struct gantry_sge){to[0].addr + x + 5, d->len - x};
	d->src = (uintptr_t)from;
	d->dst = (uintptr_t)to;
	note_ranges(s, d, src, dst);
	for (i = 0; i < d->len; i++)
		s->model[dst.addr + i + (i >= x ? 5 : 0)] =
			s->model[src.addr + i + (i >= a ? 10 : 0) + (i >= a + b ? 10 : 0)];
}

/* Where byte i of a layout is. */
static uint64_t
place(const struct shape *l, uint64_t i)
{
	uint64_t round = i / (l->len / l->rounds);
	const struct gantry_block *b = l->block;

	for (i %= l->len / l->rounds; i >= b->len; b++)
		i -= b->len;
	return b->offset + round * (b->len + b->skip) + i;
}

/* GATHER, SCATTER, or WRITE or READ of a layout. Few bases, so that keys are found again. */
static void
make_layout(struct stream *s, struct gantry_desc *d)
{
	static const uint8_t ops[4] = {GANTRY_OP_GATHER, GANTRY_OP_SCATTER, GANTRY_OP_WRITE,
		GANTRY_OP_READ};
	uint64_t which = check_random(&s->seed) % 2, op = check_random(&s->seed) % 4, i;
	const struct shape *l = &shapes[which];
	struct range base = {check_random(&s->seed) % 24 * 2500, l->span}, plain = {0, 0};
	bool from = op % 2 == 0;

	d->op = ops[op];
	d->layout = shape_id[which];
	d->len = plain.len =
		check_random(&s->seed) % 2 ? l->len : 1 + check_random(&s->seed) % l->len;
	do
		plain.addr = check_random(&s->seed) % (SLICE_LEN - d->len + 1);
	while (overlap(base, plain));
	d->src = (uintptr_t)s->mem + (from ? base.addr : plain.addr);
	d->dst = (uintptr_t)s->mem + (from ? plain.addr : base.addr);
	if (op >= 2) {
		d->peer = check_random(&s->seed) % 2 ? s->peer : s->back;
		d->remote_key = gantry_mem_remote_key(s->reg);
	}
	note_ranges(s, d, from ? base : plain, from ? plain : base);
	for (i = 0; i < d->len; i++) {
		uint64_t at = base.addr + place(l, i);

		if (from)
			s->model[plain.addr + i] = s->model[at];
		else
			s->model[at] = s->model[plain.addr + i];
	}
}

/* An atomic on any word of the slice. Returns the result that it must have. */
static uint64_t
make_atomic(struct stream *s, struct gantry_desc *d)
{
	struct range word = {check_random(&s->seed) % (SLICE_LEN / 8) * 8, 8};
	uint64_t old, new;

	memcpy(&old, s->model + word.addr, sizeof(old));
	d->op = check_random(&s->seed) % 2 ? GANTRY_OP_FETCH_ADD : GANTRY_OP_COMPARE_SWAP;
	d->peer = check_random(&s->seed) % 2 ? s->peer : s->back;
	d->remote_key = gantry_mem_remote_key(s->reg);
	d->dst = (uintptr_t)s->mem + word.addr;
	d->len = 8;
	d->arg[0] = check_random(&s->seed);
	if (d->op == GANTRY_OP_FETCH_ADD) {
		new = old + d->arg[0];
	} else {
		if (d->arg[0] % 2 == 0)
			d->arg[0] = old;
		d->arg[1] = check_random(&s->seed);
		new = d->arg[0] == old ? d->arg[1] : old;
	}
	note_ranges(s, d, word, word);
	memcpy(s->model + word.addr, &new, sizeof(new));
	return old;
}

/* Makes a descriptor that breaks one rule. Returns the status that it must get. */
static enum gantry_status
make_bad(struct stream *s, struct gantry_desc *d)
{
	*d = env_copy(s->mem, s->mem + 8192, 1 + check_random(&s->seed) % 8000);
	switch (check_random(&s->seed) % 12) {
	case 0:
		d->op = GANTRY_OP_MAX + check_random(&s->seed) % 200;
		return GANTRY_BAD_OP;
	case 1:
		d->op = 0;
		return GANTRY_BAD_OP;
	case 2:
		d->arg[check_random(&s->seed) % 2] = 1 + check_random(&s->seed) % 1000;
		return GANTRY_BAD_FIELD;
	case 3:
		d->layout = 1;
		return GANTRY_BAD_FIELD;
	case 4:
		d->len = 0;
		return GANTRY_BAD_LENGTH;
	case 5:
		d->len = UINT64_MAX - check_random(&s->seed) % 1000;
		return GANTRY_BAD_LENGTH;
	case 6:
		*(check_random(&s->seed) % 2 ? &d->src : &d->dst) = 0;
		return GANTRY_BAD_ADDRESS;
	case 7:
		d->src = (uintptr_t)s->mem + SLICE_LEN - d->len + 1;
		return GANTRY_NOT_REGISTERED;
	case 8:
		d->src = d->dst;
		d->dst = (uintptr_t)s->mem - 1;
		return GANTRY_NOT_REGISTERED;
	case 9:
		d->dst = d->src + check_random(&s->seed) % d->len;
		return GANTRY_OVERLAP;
	case 10:
		d->op = check_random(&s->seed) % 2 ? GANTRY_OP_GATHER : GANTRY_OP_SCATTER;
		d->layout = 3 + check_random(&s->seed) % 65000;
		return GANTRY_BAD_LAYOUT;
	default:
		d->op = check_random(&s->seed) % 2 ? GANTRY_OP_WRITE : GANTRY_OP_READ;
		d->peer = 2 + check_random(&s->seed) % 1000;
		return GANTRY_BAD_PEER;
	}
}

/* A copy that the device refuses: its source has a key that is no longer valid. */
static enum gantry_status
make_failing(struct stream *s, struct gantry_desc *d)
{
	*d = env_copy(broken, s->mem, pick_len(s));
	s->failures++;
	return GANTRY_LOCAL_ERROR;
}

static void
make_one(struct stream *s)
{
	struct gantry_desc *d = &s->desc[s->made % RTE_DIM(s->desc)];
	struct expected *e = &s->exp[s->made % RTE_DIM(s->exp)];
	uint64_t kind = check_random(&s->seed) % 400;

	memset(d, 0, sizeof(*d));
	e->status = GANTRY_OK;
	e->result = 0;
	if (kind == 0) {
		e->status = make_failing(s, d);
	} else if (kind < 40) {
		e->status = make_bad(s, d);
	} else if (kind < 60) {
		d->op = GANTRY_OP_NOP;
		d->flags = kind % 2 ? GANTRY_DESC_FENCE : 0;
	} else if (kind < 90) {
		make_fill(s, d);
	} else if (kind < 120) {
		make_lists(s, d);
	} else if (kind < 180) {
		make_layout(s, d);
	} else if (kind < 220) {
		e->result = make_atomic(s, d);
	} else {
		make_good(s, d);
	}
	d->cookie = s->made * 0x10001;
	e->op = d->op;
	e->len = d->len;
	s->by_status[e->status]++;
	if (e->status == GANTRY_OK) {
		s->bytes += d->len;
		s->by_op_ok[d->op]++;
	}
	s->made++;
}

static void
stream_put(struct stream *s, uint64_t goal)
{
	uint64_t n = check_random(&s->seed) % 100;
	uint32_t first;

	while (s->made < goal && s->made < s->put + n && s->made < s->got + RTE_DIM(s->exp))
		make_one(s);
	first = s->put % RTE_DIM(s->desc);
	n = RTE_MIN(s->made - s->put, RTE_DIM(s->desc) - first);
	if (s->w != NULL)
		s->put += gantry_enqueue_burst(s->w, &s->desc[first], n);
	else
		s->put += gantry_submit(s->q, &s->desc[first], n);
}

static void
stream_take(struct stream *s)
{
	struct gantry_comp comp[100];
	uint32_t n = check_random(&s->seed) % 100, i;

	n = s->w != NULL ? gantry_dequeue_burst(s->w, comp, n) : env_poll(s->q, comp, n);
	for (i = 0; i < n; i++, s->got++) {
		const struct expected *e = &s->exp[s->got % RTE_DIM(s->exp)];

		CHECK(s->got < s->put);
		CHECK_EQ(comp[i].cookie, s->got * 0x10001);
		CHECK_EQ(comp[i].status, e->status);
		CHECK_EQ(comp[i].op, e->op);
		CHECK_EQ(comp[i].len, e->len);
		CHECK_EQ(comp[i].result, e->result);
		CHECK_EQ(comp[i].zero, 0);
		CHECK_EQ(comp[i].syndrome != 0, e->status == GANTRY_LOCAL_ERROR);
	}
}

static void
stream_open(struct stream *s, unsigned int i, uint64_t seed)
{
	const struct gantry_worker_conf conf = {
		.queue.depth = 16u << 3 * i,
		/* More failures than are ever in flight behind each other. */
		.queue.replays = 100,
		.ring_size = RING,
		.burst = 8 + 50 * i,
	};

	s->seed = seed * 1000 + i;
	s->mem = env_map(SLICE_LEN);
	s->model = env_map(SLICE_LEN);
	env_fill(s->mem, SLICE_LEN, s->seed);
	memcpy(s->model, s->mem, SLICE_LEN);
	CHECK_EQ(gantry_mem_register(g, s->mem, SLICE_LEN,
			 GANTRY_MEM_REMOTE_WRITE | GANTRY_MEM_REMOTE_READ |
				 GANTRY_MEM_REMOTE_ATOMIC,
			 &s->reg),
		0);
	if (i == 0) {
		CHECK_EQ(gantry_queue_create(g, &conf.queue, &s->q), 0);
	} else {
		CHECK_EQ(gantry_worker_create(g, i, &conf, &s->w), 0);
		s->q = gantry_worker_queue(s->w);
	}
	env_connect(s->q, &s->peer, s->q, &s->back);
	CHECK(s->peer < 2 && s->back < 2);
}

/* Even in a short run, each operation and each status that the model can foresee was drawn. */
static void
check_variety(const struct stream *s)
{
	static const uint8_t statuses[] = {GANTRY_OK, GANTRY_BAD_OP, GANTRY_BAD_FIELD,
		GANTRY_BAD_LENGTH, GANTRY_BAD_ADDRESS, GANTRY_OVERLAP, GANTRY_NOT_REGISTERED,
		GANTRY_BAD_PEER, GANTRY_BAD_LAYOUT, GANTRY_LOCAL_ERROR};
	static const uint8_t ops[] = {GANTRY_OP_NOP, GANTRY_OP_COPY, GANTRY_OP_WRITE,
		GANTRY_OP_READ, GANTRY_OP_COPY_SG, GANTRY_OP_FILL, GANTRY_OP_GATHER,
		GANTRY_OP_SCATTER, GANTRY_OP_COMPARE_SWAP, GANTRY_OP_FETCH_ADD};
	unsigned int i;

	for (i = 0; i < RTE_DIM(statuses); i++)
		CHECK(s->by_status[statuses[i]] >= 1, "status %u", statuses[i]);
	for (i = 0; i < RTE_DIM(ops); i++)
		CHECK(s->by_op_ok[ops[i]] >= 100, "operation %u", ops[i]);
}

static void
stream_close(struct stream *s)
{
	struct gantry_stats stats = env_stats(s->q);
	int i;

	CHECK(memcmp(s->mem, s->model, SLICE_LEN) == 0);
	CHECK_EQ(stats.submitted, s->made);
	CHECK_EQ(stats.completed, s->made);
	CHECK_EQ(stats.bytes, s->bytes);
	CHECK_EQ(stats.recoveries, s->failures);
	for (i = 0; i < GANTRY_STATUS_MAX; i++)
		CHECK_EQ(stats.by_status[i], s->by_status[i]);
	check_variety(s);
	CHECK_EQ(gantry_peer_close(s->q, s->peer), 0);
	CHECK_EQ(gantry_peer_close(s->q, s->back), 0);
	CHECK_EQ(s->w != NULL ? gantry_worker_destroy(s->w) : gantry_queue_destroy(s->q), 0);
}

/* The number for the suite, a fifth of it under sanitizers. usertools/random.sh runs more. */
#ifdef GANTRY_ALLOC_LIBC
#define GOAL 4000
#else
#define GOAL 20000
#endif

static uint64_t seed = 1, goal = GOAL;

static void
every_descriptor_does_what_the_model_says(void)
{
	uint64_t end = 0, got = 0, now_got = 0;
	bool busy = true;
	unsigned int i;

	CHECK_EQ(gantry_create(NULL, &g), 0);
	rte_log_set_level(gantry_logtype, RTE_LOG_CRIT);
	broken = env_mem(g, SLICE_LEN, 0, &broken_mem);
	env_break(broken_mem);
	for (i = 0; i < RTE_DIM(shapes); i++)
		CHECK_EQ(gantry_layout_create(g,
				 &(struct gantry_layout_conf){shapes[i].block, shapes[i].n,
					 shapes[i].rounds},
				 &shape_id[i]),
			0);
	for (i = 0; i < N_STREAMS; i++)
		stream_open(&streams[i], i, seed);
	CHECK_EQ(gantry_start(g), 0);
	while (busy) {
		busy = false;
		if (now_got != got || end == 0) {
			end = rte_get_timer_cycles() + PATIENCE * rte_get_timer_hz();
			alarm(2 * PATIENCE); /* ends a call that never returns */
		}
		got = now_got;
		now_got = 0;
		for (i = 0; i < N_STREAMS; i++) {
			stream_put(&streams[i], goal);
			stream_take(&streams[i]);
			busy |= streams[i].got < goal;
			now_got += streams[i].got;
		}
		CHECK(rte_get_timer_cycles() < end);
	}
	CHECK_EQ(gantry_stop(g), 0);
	for (i = 0; i < N_STREAMS; i++) {
		stream_close(&streams[i]);
		CHECK_EQ(gantry_mem_unregister(streams[i].reg, 0), 0);
	}
	env_mend(broken_mem);
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
		(unsigned long long)goal, N_STREAMS);
	env_init(N_STREAMS - 1);
	env_run(cases, RTE_DIM(cases), 1, argv);
	return env_done(g, &broken_mem, 1);
}
