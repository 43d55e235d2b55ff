/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions that the engine executes for one 64-byte operation, on the thread that owns the
 * queue.
 *
 * Every round submits a burst, and polls the completions of the previous round's burst; then the
 * adapter runs, which is not measured. Ring to ring: one turn of a worker (one iteration of its
 * loop), from its ring of descriptors to its ring of completions; the application's ends of the
 * rings are not measured. Inline: gantry_submit() and gantry_poll(). Idle: an operation is a turn
 * of a worker on its lcore. Enqueue: only the application's end of a worker's ring. The program
 * only prints figures; no time makes it fail.
 *
 * usage: bench_gantry list                the names of the cases, and what they are
 *        bench_gantry time BURST CASE...  nanoseconds per operation: median of RUNS
 *        bench_gantry ratio MANY ONE      two cases in turn: nanoseconds of both, and the median of
 *                                         their ratios
 *        bench_gantry count BURST CASE... cases for callgrind --instr-atstart=no: each
 *                                         measured_CASE() and its callees are N_ROUNDS bursts;
 *                                         prints how many operations those are
 *        bench_gantry memory DEPTH        bytes of EAL's heap and of malloc(3) that a connection
 *                                         takes, by the kind of its queue
 */
#include <malloc.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_malloc.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

#include "bench_median.h"
#include "gantry_engine.h"
#include "gantry_env.h"
#include "gantry_loop.h"
#include "gantry_queue.h"
#include "gantry_worker.h"
#include "hwq_emu.h"

#define OP_LEN    64
#define BURST_MAX 32
/* Number of rounds before the measured rounds. They execute all code and map all pages once. */
#define N_WARM   64
#define N_ROUNDS 256 /* number of measured rounds */
#define N_PEERS  64
#define N_QUEUES 64
#define N_IDLE   64 /* number of workers; a burst is this number of turns */
#define PAGE_LEN ((size_t)4096)
/* number of pages of the sources, and of the destinations, in one region */
#define N_PAGES   64u
#define N_REGIONS 100000u /* largest number of regions; half of them are for sources */
#define RUNS      15

/* Largest total length of regions of mixed lengths, for sources and for destinations. */
#define MIXED_LEN       ((size_t)256 << 20)
#define MIXED_LEAST_LOG 8u
#define MIXED_MOST_LOG  20u

#define N_SGE_MAX 4
#define N_LAYOUTS 8
#define N_BLOCKS  4 /* number of blocks of a layout; a gap is as long as a block */
#define BLOCK_LEN (OP_LEN / N_BLOCKS)

struct bench {
	struct gantry *g;
	struct gantry_mem *mem;
	size_t len; /* length of the region with both sources and destinations */
	uint8_t *src, *dst;
	struct gantry_region *regions;
	struct gantry_queue *target; /* queue at the other end of connections to peers */
	struct gantry_worker *w;
	struct gantry_queue *q;
	struct gantry_queue *one; /* the first queue */
	/* queues used alternately; q is the queue to which the last burst was submitted */
	struct gantry_queue *queue[N_QUEUES];
	struct gantry_worker *idle[N_IDLE];
	struct gantry_worker *filled; /* the worker whose ring is filled; it is not started */
	unsigned int turn;
	uint16_t peer[N_PEERS];
	uint16_t other; /* the target queue's end of the last connection */
	uint16_t layout[N_LAYOUTS];
	uint64_t seed;
	struct gantry_sge sge[BURST_MAX][2][N_SGE_MAX];
	struct gantry_recv recv[BURST_MAX];
	struct gantry_recv_comp recv_comp[BURST_MAX];
	struct gantry_desc desc[BURST_MAX];
	struct gantry_comp comp[BURST_MAX];
};

static void
die(const char *what)
{
	fprintf(stderr, "bench_gantry: %s\n", what);
	exit(EXIT_FAILURE);
}

/* ---- what is measured */

/* Polls completions and submits the burst. Returns false if not all descriptors were accepted. */
static inline bool
turn(struct bench *b, unsigned int burst, unsigned int *done)
{
	*done += gantry_poll(b->q, b->comp, BURST_MAX);
	return gantry_submit(b->q, b->desc, burst) == burst;
}

/* Polls completions of one queue, and submits the burst to the next queue. */
static inline bool
turn_of_queues(struct bench *b, unsigned int burst, unsigned int *done)
{
	*done += gantry_poll(b->q, b->comp, BURST_MAX);
	b->q = b->queue[b->turn++ % N_QUEUES];
	return gantry_submit(b->q, b->desc, burst) == burst;
}

/*
 * The target's queue polls received messages, and posts receives for the burst. Then the other
 * queue polls completions, and submits the burst.
 */
static inline bool
turn_of_both(struct bench *b, unsigned int burst, unsigned int *done)
{
	gantry_recv_poll(b->target, b->recv_comp, BURST_MAX);
	return gantry_recv_post(b->target, b->other, b->recv, burst) == (int)burst &&
	       turn(b, burst, done);
}

/* One turn of a worker, from ring to ring: the application's ends of the rings are not measured. */
static inline bool
turn_of_worker(struct bench *b, unsigned int burst, unsigned int *done)
{
	RTE_SET_USED(burst);
	RTE_SET_USED(done);
	gantry_worker_turn(b->w, false);
	return true;
}

/* As an lcore does: runs one turn of each of its idle workers. */
static inline bool
turn_of_idle(struct bench *b, unsigned int burst, unsigned int *done)
{
	*done += burst;
	return burst == 0 || !gantry_loop_turn(&b->idle[b->turn++ * burst % N_IDLE]);
}

/*
 * Enqueues the burst to a worker's ring, as an application does. No worker takes the descriptors.
 */
static inline bool
turn_of_producer(struct bench *b, unsigned int burst, unsigned int *done)
{
	*done += burst;
	return gantry_enqueue_burst(b->filled, b->desc, burst) == burst;
}

/*
 * Turns that callgrind counts. Each case has a function of its own, so one run can measure all
 * cases.
 */
#define MEASURED(x, turn)                                                                          \
	static __attribute__((noinline, noclone)) bool measured_##x(struct bench *b,               \
		unsigned int burst, unsigned int *done)                                            \
	{                                                                                          \
		return turn(b, burst, done);                                                       \
	}

MEASURED(copy, turn_of_worker)
MEASURED(write, turn_of_worker)
MEASURED(read, turn_of_worker)
MEASURED(nop, turn_of_worker)
MEASURED(inline, turn)
MEASURED(inline_write, turn)
MEASURED(short_write, turn_of_worker)
MEASURED(fill, turn_of_worker)
MEASURED(regions8, turn_of_worker)
MEASURED(regions1000, turn_of_worker)
MEASURED(regions, turn_of_worker)
MEASURED(mixed, turn)
MEASURED(peers, turn_of_worker)
MEASURED(queues, turn_of_queues)
MEASURED(copy_mmo, turn)
MEASURED(fence8, turn)
MEASURED(fence1, turn)
MEASURED(send, turn)
MEASURED(write_imm, turn)
MEASURED(fetch_add, turn)
MEASURED(compare_swap, turn)
MEASURED(send_recv, turn_of_both)
MEASURED(write56, turn)
MEASURED(write200, turn)
MEASURED(dc_write, turn)
MEASURED(dc_short, turn)
MEASURED(dc_peers, turn)
MEASURED(sg1, turn)
MEASURED(sg4, turn)
MEASURED(gather, turn)
MEASURED(scatter, turn)
MEASURED(layouts8, turn)
MEASURED(layouts, turn)
MEASURED(one_fill, turn)
MEASURED(patterns, turn)
MEASURED(copy_write, turn)
MEASURED(read_write, turn)
MEASURED(any_order, turn)
MEASURED(idle, turn_of_idle)
MEASURED(enqueue, turn_of_producer)
MEASURED(enqueue_hts, turn_of_producer)
MEASURED(enqueue_mp, turn_of_producer)

/* ---- a case */

struct bench_case {
	const char *name, *what;
	bool (*measured)(struct bench *b, unsigned int burst, unsigned int *done);
	bool ring;
	/* op: operation of each descriptor; other: operation of every second descriptor, or 0 */
	enum gantry_op op, other;
	unsigned int n_peers; /* number of peers, which are used one after the other */
	uint16_t max_inline;  /* max_inline of the connections to these peers; 0: the default */
	bool dc;              /* the peers are DC peers */
	bool both;            /* the peer's receives are included in the measurement */
	bool unordered;       /* the queue is unordered */
	bool moves;           /* each layout has a different base address */
	uint8_t n_sge;        /* number of entries in each list */
	uint8_t n_layouts;    /* number of layouts, which are used one after the other */
	uint8_t n_patterns;   /* number of patterns, which fills use one after the other */
	/* every n-th operation of this kind has the flags; 0: each operation has them */
	uint8_t every;
	bool queues; /* bursts are submitted to N_QUEUES queues, one after the other */
	bool idle;   /* N_IDLE idle workers are measured */
	/* enqueueing to a worker's ring with this kind of producer is measured */
	bool enqueues;
	enum gantry_producers producers;
	/* Number of regions, which are used at random: half for sources, half for destinations. */
	unsigned int n_regions;
	bool mixed; /* the length of regions is 256 bytes to 1 MiB; otherwise one page */
	uint16_t flags;
	uint32_t len; /* length of an operation; 0: OP_LEN */
};

#define CASE(x) .name = #x, .measured = measured_##x

static const struct bench_case cases[] = {
	{CASE(copy), .what = "copy, ring to ring", .ring = true, .op = GANTRY_OP_COPY},
	{CASE(write), .what = "write, ring to ring", .ring = true, .op = GANTRY_OP_WRITE,
		.n_peers = 1},
	{CASE(read), .what = "read, ring to ring", .ring = true, .op = GANTRY_OP_READ,
		.n_peers = 1},
	{CASE(nop), .what = "NOP, ring to ring", .ring = true, .op = GANTRY_OP_NOP},
	{CASE(inline), .what = "copy, inline", .op = GANTRY_OP_COPY},
	{CASE(inline_write), .what = "write, inline", .op = GANTRY_OP_WRITE, .n_peers = 1},
	{CASE(short_write), .what = "write of 28 bytes, ring to ring", .ring = true,
		.op = GANTRY_OP_WRITE, .n_peers = 1, .len = 28},
	{CASE(fill), .what = "fill, ring to ring", .ring = true, .op = GANTRY_OP_FILL},
	{CASE(regions8), .what = "copy, 8 regions in random order", .ring = true,
		.op = GANTRY_OP_COPY, .n_regions = 8},
	{CASE(regions1000), .what = "copy, 1,000 regions in random order", .ring = true,
		.op = GANTRY_OP_COPY, .n_regions = 1000},
	{CASE(regions), .what = "copy, 100,000 regions in random order", .ring = true,
		.op = GANTRY_OP_COPY, .n_regions = N_REGIONS},
	{CASE(mixed), .what = "copy, 1,000 regions of 256 B to 1 MiB, inline", .op = GANTRY_OP_COPY,
		.n_regions = 1000, .mixed = true},
	{CASE(peers), .what = "write, 64 peers in turn", .ring = true, .op = GANTRY_OP_WRITE,
		.n_peers = N_PEERS},
	{CASE(queues), .what = "copy, inline, 64 queues in turn", .op = GANTRY_OP_COPY,
		.queues = true},
	{CASE(copy_mmo), .what = "copy by MMO by a flag, inline", .op = GANTRY_OP_COPY,
		.flags = GANTRY_DESC_BY_MMO},
	{CASE(fence8), .what = "copy, each 8th fenced, inline", .op = GANTRY_OP_COPY,
		.flags = GANTRY_DESC_FENCE, .every = 8},
	{CASE(fence1), .what = "copy, all fenced, inline", .op = GANTRY_OP_COPY,
		.flags = GANTRY_DESC_FENCE},
	{CASE(send), .what = "send, inline", .op = GANTRY_OP_SEND, .n_peers = 1},
	{CASE(write_imm), .what = "write with immediate data, inline", .op = GANTRY_OP_WRITE_IMM,
		.n_peers = 1},
	{CASE(fetch_add), .what = "fetch and add, inline", .op = GANTRY_OP_FETCH_ADD, .n_peers = 1,
		.len = 8},
	{CASE(compare_swap), .what = "compare and swap, inline", .op = GANTRY_OP_COMPARE_SWAP,
		.n_peers = 1, .len = 8},
	{CASE(send_recv), .what = "send and its receive, inline", .op = GANTRY_OP_SEND,
		.n_peers = 1, .both = true},
	{CASE(write56), .what = "write of 56 of at most 256 bytes in WQE", .op = GANTRY_OP_WRITE,
		.n_peers = 1, .len = 56, .max_inline = 256},
	{CASE(write200), .what = "write of 200 of at most 256 bytes in WQE", .op = GANTRY_OP_WRITE,
		.n_peers = 1, .len = 200, .max_inline = 256},
	{CASE(dc_write), .what = "write to a DC peer, inline", .op = GANTRY_OP_WRITE, .n_peers = 1,
		.dc = true},
	{CASE(dc_short), .what = "write of 28 bytes to a DC peer, inline", .op = GANTRY_OP_WRITE,
		.n_peers = 1, .dc = true, .len = 28},
	{CASE(dc_peers), .what = "write, 4 DC peers in turn, inline", .op = GANTRY_OP_WRITE,
		.n_peers = 4, .dc = true},
	{CASE(sg1), .what = "copy of lists, 1 to 1, inline", .op = GANTRY_OP_COPY_SG, .n_sge = 1},
	{CASE(sg4), .what = "copy of lists, 4 to 4, inline", .op = GANTRY_OP_COPY_SG, .n_sge = 4},
	{CASE(gather), .what = "gather, inline", .op = GANTRY_OP_GATHER, .n_layouts = 1},
	{CASE(scatter), .what = "scatter, inline", .op = GANTRY_OP_SCATTER, .n_layouts = 1},
	{CASE(layouts8), .what = "gather, 8 layouts in turn, inline", .op = GANTRY_OP_GATHER,
		.n_layouts = N_LAYOUTS},
	{CASE(layouts), .what = "gather, a UMR each, inline", .op = GANTRY_OP_GATHER,
		.n_layouts = 1, .moves = true},
	{CASE(one_fill), .what = "fill, inline", .op = GANTRY_OP_FILL},
	{CASE(patterns), .what = "fill, 32 patterns in turn, inline", .op = GANTRY_OP_FILL,
		.n_patterns = 32},
	{CASE(copy_write), .what = "copy and write in turn, inline", .op = GANTRY_OP_COPY,
		.other = GANTRY_OP_WRITE, .n_peers = 1},
	{CASE(read_write), .what = "read and write in turn, inline", .op = GANTRY_OP_READ,
		.other = GANTRY_OP_WRITE, .n_peers = 1},
	{CASE(any_order), .what = "write, 4 peers in turn, unordered, inline",
		.op = GANTRY_OP_WRITE, .n_peers = 4, .unordered = true},
	{CASE(idle), .what = "turn of an idle worker, 64 in turn", .op = GANTRY_OP_NOP,
		.idle = true},
	{CASE(enqueue), .what = "enqueue, one producer", .op = GANTRY_OP_COPY, .enqueues = true},
	{CASE(enqueue_hts), .what = "enqueue, producers one after the other", .op = GANTRY_OP_COPY,
		.enqueues = true, .producers = GANTRY_PRODUCERS_MP_HTS},
	{CASE(enqueue_mp), .what = "enqueue, producers side by side", .op = GANTRY_OP_COPY,
		.enqueues = true, .producers = GANTRY_PRODUCERS_MP},
};

/* Returns a random address in a random region of mixed lengths. */
static uint64_t
mixed_address(struct bench *b, const struct bench_case *c, bool src)
{
	const struct gantry_region *r = &b->regions[(src ? 0 : c->n_regions / 2) +
						    check_random(&b->seed) % (c->n_regions / 2)];

	return r->addr + check_random(&b->seed) % (r->len / OP_LEN) * OP_LEN;
}

static uint64_t
address(struct bench *b, const struct bench_case *c, const uint8_t *base)
{
	unsigned int page, step;

	if (c->mixed)
		return mixed_address(b, c, base == b->src);
	page = c->n_regions > 1 ? check_random(&b->seed) % (c->n_regions / 2)
				: check_random(&b->seed) % N_PAGES;
	/* A power of two that divides a page. */
	step = c->len > OP_LEN ? 256 : OP_LEN;
	return (uintptr_t)base + (uint64_t)page * PAGE_LEN +
	       check_random(&b->seed) % (PAGE_LEN / step) * step;
}

/* Sets the additional fields that some operations have. The operation is number i of its burst. */
static void
draw_more(struct bench *b, const struct bench_case *c, unsigned int i, unsigned int next)
{
	struct gantry_desc *d = &b->desc[i];
	unsigned int k;

	switch ((enum gantry_op)d->op) {
	case GANTRY_OP_FILL:
		d->src = 0;
		d->arg[0] = 0x5a + (c->n_patterns != 0 ? next % c->n_patterns : 0);
		break;
	case GANTRY_OP_FETCH_ADD:
	case GANTRY_OP_COMPARE_SWAP:
		d->src = 0;
		d->arg[0] = 1;
		break;
	case GANTRY_OP_WRITE_IMM:
		d->imm = next;
		break;
	case GANTRY_OP_SEND:
		d->dst = d->remote_key = 0;
		break;
	case GANTRY_OP_COPY_SG:
		for (k = 0; k < c->n_sge; k++) {
			b->sge[i][0][k] = (struct gantry_sge){address(b, c, b->src), OP_LEN};
			b->sge[i][1][k] = (struct gantry_sge){address(b, c, b->dst), OP_LEN};
		}
		d->src = (uintptr_t)b->sge[i][0];
		d->dst = (uintptr_t)b->sge[i][1];
		d->len = (uint64_t)OP_LEN * c->n_sge;
		d->arg[0] = c->n_sge | (uint64_t)c->n_sge << 32;
		break;
	case GANTRY_OP_GATHER:
		d->layout = b->layout[next % c->n_layouts];
		d->src = (uintptr_t)b->src + (c->moves ? next % 2048 * OP_LEN : 0);
		break;
	case GANTRY_OP_SCATTER:
		d->layout = b->layout[next % c->n_layouts];
		d->dst = (uintptr_t)b->dst;
		break;
	default:
		break;
	}
}

static void
draw(struct bench *b, const struct bench_case *c, unsigned int burst, unsigned int *next)
{
	unsigned int i;

	for (i = 0; i < burst; i++, (*next)++) {
		struct gantry_desc *d = &b->desc[i];

		*d = (struct gantry_desc){
			.op = c->other != 0 && *next % 2 != 0 ? c->other : c->op,
			.cookie = *next,
			.flags = c->every == 0 || *next % c->every == 0 ? c->flags : 0,
		};
		if (c->op == GANTRY_OP_NOP)
			continue;
		d->len = c->len != 0 ? c->len : OP_LEN;
		d->dst = address(b, c, b->dst);
		d->src = address(b, c, b->src);
		if (c->n_peers != 0 && d->op != GANTRY_OP_COPY) {
			d->peer = b->peer[*next % c->n_peers];
			d->remote_key = gantry_mem_remote_key(b->mem);
		}
		draw_more(b, c, i, *next);
		b->recv[i] = (struct gantry_recv){.cookie = *next,
			.addr = (uintptr_t)b->dst + i * PAGE_LEN,
			.len = OP_LEN};
	}
}

/* Dequeues completions from the worker's ring, and checks them. */
static unsigned int
take(struct bench *b)
{
	unsigned int i, n = gantry_dequeue_burst(b->w, b->comp, BURST_MAX);

	for (i = 0; i < n; i++)
		if (b->comp[i].status != GANTRY_OK)
			die("an operation failed");
	return n;
}

static void
run_device(void)
{
	while (softhca_pump() != 0)
		;
}

/*
 * Runs one turn of a case, which submits `burst` operations. Adds the number of completions to
 * *done. Returns the cycles of the turn.
 */
static uint64_t
take_turn(struct bench *b, const struct bench_case *c, unsigned int burst, bool counted,
	unsigned int *done)
{
	const bool messages = c->op == GANTRY_OP_SEND || c->op == GANTRY_OP_WRITE_IMM;
	unsigned int i, before = *done;
	uint64_t start, cycles;
	bool ok;

	if (messages && !c->both &&
		gantry_recv_post(b->target, b->other, b->recv, burst) != (int)burst)
		die("the ring of receives is full");
	start = rte_rdtsc_precise();
	ok = counted       ? c->measured(b, burst, done)
	     : c->ring     ? turn_of_worker(b, 0, done)
	     : c->queues   ? turn_of_queues(b, burst, done)
	     : c->both     ? turn_of_both(b, burst, done)
	     : c->idle     ? turn_of_idle(b, burst, done)
	     : c->enqueues ? turn_of_producer(b, burst, done)
			   : turn(b, burst, done);
	cycles = rte_rdtsc_precise() - start;
	if (!ok)
		die("the queue is full");
	for (i = 0; i < *done - before; i++)
		if (b->comp[i].status != GANTRY_OK)
			die("an operation failed");
	run_device();
	if (b->w != NULL)
		*done += take(b);
	if (b->filled != NULL)
		gantry_reclaim_burst(b->filled, b->desc, BURST_MAX);
	if (messages && !c->both)
		gantry_recv_poll(b->target, b->recv_comp, BURST_MAX);
	return cycles;
}

/* Runs n rounds. Returns the cycles of their turns. */
static uint64_t
rounds(struct bench *b, const struct bench_case *c, unsigned int burst, unsigned int n,
	bool counted)
{
	unsigned int next = 0, done = 0, i;
	uint64_t cycles = 0;

	for (i = 0; i <= n; i++) {
		/* The last round submits nothing, and only polls. */
		draw(b, c, i < n ? burst : 0, &next);
		if (b->w != NULL && i < n && gantry_enqueue_burst(b->w, b->desc, burst) != burst)
			die("the ring is full");
		cycles += take_turn(b, c, i < n ? burst : 0, counted, &done);
		/* Runs the adapter until no operation of the burst waits for another. */
		while (gantry_stream_waits(&b->q->stream))
			cycles += take_turn(b, c, 0, counted, &done);
		if (done < i * burst)
			die("completions are missing");
	}
	if (done != n * burst)
		die("completions are missing");
	return cycles;
}

/* ---- setting up */

/* Chooses the address of a region at *at or a little higher, and sets *at to the region's end. */
static void
place_region(struct bench *b, const struct bench_case *c, struct gantry_region *r, uint64_t *at)
{
	uint64_t least;

	r->addr = *at;
	r->len = PAGE_LEN;
	if (c->mixed) {
		/*
		 * Lengths are drawn so that each power of two is equally likely. A region longer
		 * than a page begins at a page.
		 */
		least = UINT64_C(1)
			<< (MIXED_LEAST_LOG +
				   check_random(&b->seed) % (MIXED_MOST_LOG - MIXED_LEAST_LOG));
		r->len = least + check_random(&b->seed) % (least / OP_LEN + 1) * OP_LEN;
		r->addr = RTE_ALIGN_CEIL(*at, RTE_MIN(least, PAGE_LEN));
	}
	*at = r->addr + r->len;
}

/* Replaces each region by smaller regions with the same key. */
static void
split_regions(struct bench *b, const struct bench_case *c)
{
	struct gantry_region_dir *dir = &b->g->regions;
	const struct gantry_region *whole = gantry_region_overlap(dir, (uintptr_t)b->src, 1);
	const unsigned int n = c->n_regions;
	uint64_t at = (uintptr_t)b->src;
	unsigned int i;

	b->regions = aligned_alloc(alignof(struct gantry_region), n * sizeof(*b->regions));
	if (b->regions == NULL)
		die("no memory");
	pthread_mutex_lock(&dir->lock);
	if (gantry_region_remove(dir, whole) == 0)
		die("no memory");
	for (i = 0; i < n; i++) {
		struct gantry_region *r = &b->regions[i];

		if (i == n / 2)
			at = (uintptr_t)b->dst;
		*r = *whole;
		place_region(b, c, r, &at);
		CHECK(at <= (uintptr_t)(i < n / 2 ? b->dst : b->src + b->len));
		gantry_region_set_plain(r);
		if (gantry_region_add(dir, r) == 0)
			die("no memory");
	}
	pthread_mutex_unlock(&dir->lock);
}

/* Opens connections from the queue to the target's queue. */
static void
open_peers(struct bench *b, const struct bench_case *c)
{
	const struct gantry_peer_conf near = {.mask = c->max_inline != 0 ? GANTRY_PEER_MAX_INLINE
									 : 0,
		.max_inline = c->max_inline,
		.transport = c->dc ? GANTRY_TRANSPORT_DC : GANTRY_TRANSPORT_RC};
	const struct gantry_peer_conf far = {.recv_depth = 2 * BURST_MAX,
		.transport = c->dc ? GANTRY_TRANSPORT_DC_TARGET : GANTRY_TRANSPORT_RC};
	struct gantry_addr here, there;
	unsigned int i;

	for (i = 0; i < c->n_peers; i++) {
		CHECK_EQ(gantry_peer_open(b->q, &near, &b->peer[i], &here), 0);
		CHECK_EQ(gantry_peer_open(b->target, &far, &b->other, &there), 0);
		CHECK_EQ(gantry_peer_connect(b->q, b->peer[i], &there), 0);
		if (!c->dc)
			CHECK_EQ(gantry_peer_connect(b->target, b->other, &here), 0);
	}
}

static void
make_layouts(struct bench *b, unsigned int n)
{
	unsigned int i, k;

	for (i = 0; i < n; i++) {
		struct gantry_block block[N_BLOCKS];
		const struct gantry_layout_conf conf = {.block = block, .n = N_BLOCKS};

		for (k = 0; k < N_BLOCKS; k++)
			block[k] = (struct gantry_block){.offset = 2 * k * BLOCK_LEN,
				.len = BLOCK_LEN};
		CHECK_EQ(gantry_layout_create(b->g, &conf, &b->layout[i]), 0);
	}
}

/* Creates the idle workers, `burst` on each lcore. */
static void
open_idle(struct bench *b, unsigned int burst)
{
	const struct gantry_worker_conf conf = {.ring_size = 16, .queue = {.depth = 16}};
	unsigned int i;

	for (i = 0; i < N_IDLE; i++) {
		CHECK_EQ(gantry_worker_create(b->g, 1, &conf, &b->idle[i]), 0);
		gantry_worker_begin(b->idle[i]);
	}
	for (i = 0; i < N_IDLE; i++)
		b->idle[i]->next_in_loop = (i + 1) % burst != 0 ? b->idle[i + 1] : NULL;
}

static void
open_case(struct bench *b, const struct bench_case *c, unsigned int burst)
{
	const struct gantry_conf conf = {0};
	/* The queue has more keys for layouts than a burst uses. */
	const struct gantry_queue_conf queue = {.depth = 512,
		.unordered = c->unordered,
		.layout_keys = 2 * BURST_MAX};
	const struct gantry_worker_conf worker = {.queue = queue, .burst = burst};
	unsigned int i;

	*b = (struct bench){.seed = 1,
		.len = c->mixed ? 2 * MIXED_LEN : RTE_MAX(c->n_regions, 2 * N_PAGES) * PAGE_LEN};
	CHECK_EQ(gantry_create(&conf, &b->g), 0);
	b->src = env_mem(b->g, b->len, ENV_REMOTE | GANTRY_MEM_REMOTE_ATOMIC, &b->mem);
	b->dst = b->src + b->len / 2;
	if (c->ring) {
		CHECK_EQ(gantry_worker_create(b->g, 1, &worker, &b->w), 0);
		b->q = gantry_worker_queue(b->w);
	} else {
		CHECK_EQ(gantry_queue_create(b->g, &queue, &b->q), 0);
	}
	CHECK_EQ(gantry_queue_create(b->g, &queue, &b->target), 0);
	for (i = 0; c->queues && i < N_QUEUES; i++)
		CHECK_EQ(gantry_queue_create(b->g, &queue, &b->queue[i]), 0);
	if (c->idle)
		open_idle(b, burst);
	if (c->enqueues)
		CHECK_EQ(gantry_worker_create(b->g, 1,
				 &(struct gantry_worker_conf){.producers = c->producers},
				 &b->filled),
			0);
	b->one = b->q;
	open_peers(b, c);
	make_layouts(b, c->n_layouts);
	if (c->n_regions > 1)
		split_regions(b, c);
	/* From now on, this thread acts as the worker's lcore. */
	if (b->w != NULL)
		gantry_worker_begin(b->w);
}

/* Closes a case. This is not measured. At the program's end the engine may stay open. */
static void
close_case(struct bench *b)
{
	unsigned int i;

	if (b->w != NULL) {
		gantry_worker_end(b->w);
		CHECK_EQ(gantry_worker_destroy(b->w), 0);
	} else {
		CHECK_EQ(gantry_queue_destroy(b->one), 0);
	}
	if (b->filled != NULL)
		CHECK_EQ(gantry_worker_destroy(b->filled), 0);
	for (i = 0; i < N_IDLE && b->idle[i] != NULL; i++) {
		gantry_worker_end(b->idle[i]);
		CHECK_EQ(gantry_worker_destroy(b->idle[i]), 0);
	}
	CHECK_EQ(gantry_queue_destroy(b->target), 0);
	for (i = 0; i < N_QUEUES && b->queue[i] != NULL; i++)
		CHECK_EQ(gantry_queue_destroy(b->queue[i]), 0);
	if (b->regions == NULL) {
		CHECK_EQ(gantry_mem_unregister(b->mem, 1000), 0);
		CHECK_EQ(gantry_destroy(b->g), 0);
		env_unmap(b->src, b->len);
	}
}

/*
 * For measurements of time: writes all pages before, because page faults would replace contents of
 * the caches.
 */
static void
open_case_with_pages(struct bench *b, const struct bench_case *c, unsigned int burst)
{
	open_case(b, c, burst);
	memset(b->src, 0, b->len);
}

/* ---- what is printed */

static double
nanoseconds(struct bench *b, const struct bench_case *c, unsigned int burst)
{
	double ns[RUNS];
	unsigned int i;

	for (i = 0; i < RUNS; i++)
		ns[i] = 1e9 * rounds(b, c, burst, N_ROUNDS, false) / rte_get_tsc_hz() /
			(N_ROUNDS * burst);
	return bench_median(ns, RUNS);
}

static const struct bench_case *
case_named(const char *name)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(cases) && strcmp(cases[i].name, name) != 0; i++)
		;
	if (i == RTE_DIM(cases))
		die("no such case: see bench_gantry list");
	return &cases[i];
}

static void
count(unsigned int burst, const char *name)
{
	const struct bench_case *c = case_named(name);
	struct bench b;

	open_case(&b, c, burst);
	CALLGRIND_START_INSTRUMENTATION;
	rounds(&b, c, burst, N_WARM, false);
	rounds(&b, c, burst, N_ROUNDS, true);
	CALLGRIND_STOP_INSTRUMENTATION;
	close_case(&b);
}

static void
print_time(unsigned int burst, const char *name)
{
	const struct bench_case *c = case_named(name);
	struct bench b;

	open_case_with_pages(&b, c, burst);
	printf("%s %.1f\n", name, nanoseconds(&b, c, burst));
	close_case(&b);
}

/*
 * Compares a case that has many of an object with a case that has one. Both are measured
 * alternately, so other load on the machine affects both.
 */
static void
print_ratio(const char *many, const char *one)
{
	const struct bench_case *c[2] = {case_named(many), case_named(one)};
	double ns[2][RUNS], ratio[RUNS];
	static struct bench b[2];
	const unsigned int burst = 32;
	unsigned int i, k;

	for (k = 0; k < 2; k++) {
		open_case_with_pages(&b[k], c[k], burst);
		rounds(&b[k], c[k], burst, N_WARM, false);
	}
	for (i = 0; i < RUNS; i++) {
		for (k = 0; k < 2; k++)
			ns[k][i] = 1e9 * rounds(&b[k], c[k], burst, N_ROUNDS, false) /
				   rte_get_tsc_hz() / (N_ROUNDS * burst);
		ratio[i] = ns[0][i] / ns[1][i];
	}
	for (k = 0; k < 2; k++)
		close_case(&b[k]);
	printf("%.1f %.1f %.2f\n", bench_median(ns[0], RUNS), bench_median(ns[1], RUNS),
		bench_median(ratio, RUNS));
}

static size_t
c_heap(void)
{
	struct mallinfo2 all = mallinfo2();

	return all.uordblks + all.hblkhd;
}

static size_t
eal_heap(void)
{
	struct rte_malloc_socket_stats stats;
	size_t all = 0;
	int socket;

	for (socket = 0; socket < RTE_MAX_NUMA_NODES; socket++)
		if (rte_malloc_get_socket_stats(socket, &stats) == 0)
			all += stats.heap_allocsz_bytes;
	return all;
}

/*
 * Computes the mean of N_PEERS pairs of connections. A first pair, which is not counted, allocates
 * the memory that all pairs share.
 */
static void
print_memory(bool unordered, unsigned int depth)
{
	const struct gantry_queue_conf conf = {.depth = depth,
		.max_peers = N_PEERS + 1,
		.unordered = unordered};
	struct gantry_queue *q, *target;
	struct gantry *g;
	uint16_t peer, other;
	size_t eal, c;
	unsigned int i;

	CHECK_EQ(gantry_create(&(struct gantry_conf){0}, &g), 0);
	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	CHECK_EQ(gantry_queue_create(g, &conf, &target), 0);
	env_connect(q, &peer, target, &other);
	eal = eal_heap();
	c = c_heap();
	for (i = 0; i < N_PEERS; i++)
		env_connect(q, &peer, target, &other);
	printf("%s %zu %zu\n", unordered ? "unordered" : "ordered",
		(eal_heap() - eal) / (2 * (size_t)N_PEERS), (c_heap() - c) / (2 * (size_t)N_PEERS));
	CHECK_EQ(gantry_queue_destroy(q), 0);
	CHECK_EQ(gantry_queue_destroy(target), 0);
	CHECK_EQ(gantry_destroy(g), 0);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned int i, number = argc > 2 ? (unsigned int)atoi(argv[2]) : 0;

	emu_setting(argv, "SOFTHCA_THREADS", "0");
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && strcmp(what, "list") == 0) {
		for (i = 0; i < RTE_DIM(cases); i++)
			printf("%s\t%s\n", cases[i].name, cases[i].what);
		return 0;
	}
	env_init(1);
	if (argc == 4 && strcmp(what, "ratio") == 0) {
		print_ratio(argv[2], argv[3]);
	} else if (argc == 3 && strcmp(what, "memory") == 0 && number != 0) {
		print_memory(false, number);
		print_memory(true, number);
	} else if (argc > 3 && strcmp(what, "time") == 0 && number >= 1 && number <= BURST_MAX) {
		for (i = 3; i < (unsigned int)argc; i++)
			print_time(number, argv[i]);
	} else if (argc > 3 && strcmp(what, "count") == 0 && number >= 1 && number <= BURST_MAX) {
		for (i = 3; i < (unsigned int)argc; i++)
			count(number, argv[i]);
		printf("%u\n", N_ROUNDS * number);
	} else {
		die("usage: bench_gantry list | time BURST CASE... | ratio MANY ONE | count BURST CASE... | memory DEPTH");
	}
	rte_eal_cleanup();
	return 0;
}
