/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of the emulated adapter: small operations, copies compared with memcpy, and idle queues.
 *
 * One thread posts with lib/hwq, runs the adapter with softhca_pump(), and polls. The program only
 * prints figures; no time makes it fail.
 *
 * usage: bench_softhca [ops|copies|idle]...    default: all
 *        bench_softhca count OPERATION         64 bursts, for a counter of instructions
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench_median.h"
#include "hwq_emu.h"

#define BURST    32
#define ROUNDS   4000 /* number of bursts in one run */
#define RUNS     9
#define OP_LEN   64
#define WALK_LEN (16u << 20)
#define COPY_LEN (64u << 10)

enum op {
	OP_MEMCPY,
	OP_WRITE,
	OP_READ,
	OP_INLINE,
	OP_SEND,
	OP_NOP,
	N_OPS
};

static const char *const op_names[N_OPS] = {"memcpy", "write", "read", "inline", "send", "nop"};

struct bench {
	struct hwq_dev *dev;
	struct twin twin;
	struct hwq_mr mr;
	uint8_t *mem; /* memory of the sources, then of the destinations */
};

static void *
bench_alloc(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		EMU_DIE("no memory");
	memset(p, 0x5a, len);
	return p;
}

static void
bench_open(struct bench *b)
{
	struct hwq_qp_conf conf = {.sq_wr = 4 * BURST,
		.max_inline = OP_LEN,
		.mmo = true,
		.rq_wr = 4 * BURST};
	int ret;

	b->dev = emu_open();
	twin_create(b->dev, &conf, &b->twin);
	twin_connect_self(&b->twin);
	b->mem = bench_alloc(2 * WALK_LEN);
	ret = hwq_mr_register(b->dev, b->mem, 2 * WALK_LEN,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ, &b->mr);
	if (ret != 0)
		EMU_DIE("registering: %s", strerror(-ret));
}

static void
bench_close(struct bench *b)
{
	twin_destroy(&b->twin);
	hwq_mr_deregister(&b->mr);
	munmap(b->mem, 2 * WALK_LEN);
	hwq_dev_close(b->dev);
}

static void
post(struct bench *b, enum op op, uint64_t off, uint32_t len, unsigned int flags)
{
	struct hwq_sq *sq = &b->twin.qp->sq;
	uint64_t src = (uintptr_t)b->mem + off, dst = src + WALK_LEN;
	int ret;

	switch (op) {
	case OP_MEMCPY:
		ret = hwq_wqe_memcpy(sq, b->mr.lkey, dst, b->mr.lkey, src, len, flags);
		break;
	case OP_WRITE:
		ret = hwq_wqe_rdma_write(sq, b->mr.rkey, dst, b->mr.lkey, src, len, flags);
		break;
	case OP_READ:
		ret = hwq_wqe_rdma_read(sq, b->mr.rkey, src, b->mr.lkey, dst, len, flags);
		break;
	case OP_INLINE:
		ret = hwq_wqe_inline(sq, MLX5_OPCODE_RDMA_WRITE, b->mr.rkey, dst, b->mem + off, len,
			flags, 0);
		break;
	case OP_SEND:
		ret = hwq_wqe_one(sq, MLX5_OPCODE_SEND, 0, 0, b->mr.lkey, src, len, flags, 0);
		break;
	default:
		ret = hwq_wqe_nop(sq, flags);
	}
	if (ret <= 0)
		EMU_DIE("posting: %s", ret == 0 ? "the ring is full" : strerror(-ret));
}

/* Posts receives for the SENDs. */
static void
post_receives(struct bench *b)
{
	struct hwq_rq *rq = &b->twin.qp->rq;

	for (unsigned int i = 0; i < BURST; i++)
		if (!hwq_rq_post(rq, b->mr.lkey, (uintptr_t)b->mem + WALK_LEN + i * OP_LEN, OP_LEN))
			EMU_DIE("posting a receive");
	hwq_rq_ring(rq);
}

static void
expect_good(const struct hwq_cqe *cqe)
{
	if (cqe->syndrome != 0)
		EMU_DIE("an operation failed with syndrome 0x%x", cqe->syndrome);
}

static unsigned int
reap_receives(struct bench *b)
{
	struct hwq_cqe cqes[BURST];
	uint64_t wr_ids[BURST];
	unsigned int got = hwq_rq_poll(&b->twin.qp->rq, cqes, wr_ids, BURST);

	for (unsigned int i = 0; i < got; i++)
		expect_good(&cqes[i]);
	return got;
}

/* Polls n completions of send WQEs; with OP_SEND, also the completions of receives between them. */
static void
reap(struct bench *b, enum op op, unsigned int n)
{
	struct hwq_cqe cqes[BURST];
	unsigned int most = op == OP_SEND ? 1 : BURST;

	while (n != 0) {
		unsigned int got;

		if (op == OP_SEND && reap_receives(b) != 0)
			continue;
		got = hwq_cq_poll(b->twin.cq, cqes, n < most ? n : most);
		for (unsigned int i = 0; i < got; i++) {
			expect_good(&cqes[i]);
			hwq_sq_complete(&b->twin.qp->sq, cqes[i].wqe_counter);
		}
		n -= got;
		if (got == 0)
			softhca_pump();
	}
}

struct cost {
	double device, all; /* ns per operation */
};

/*
 * Measures operations in bursts. every: each operation is signalled; if false, only the last
 * operation of a burst is signalled.
 */
static struct cost
run_ops(struct bench *b, enum op op, bool every, unsigned int rounds)
{
	uint64_t device = 0, start = emu_now_ns();
	struct cost cost;

	for (unsigned int r = 0; r < rounds; r++) {
		uint64_t before;

		if (op == OP_SEND)
			post_receives(b);
		for (unsigned int i = 0; i < BURST; i++) {
			bool last = i == BURST - 1;

			post(b, op, (uint64_t)i * OP_LEN, OP_LEN,
				every || last ? HWQ_WQE_SIGNALED : 0);
		}
		hwq_sq_ring(&b->twin.qp->sq);
		before = emu_now_ns();
		softhca_pump();
		device += emu_now_ns() - before;
		reap(b, op, every ? BURST : 1);
	}
	cost.all = (double)(emu_now_ns() - start) / rounds / BURST;
	cost.device = (double)device / rounds / BURST;
	return cost;
}

static void
bench_ops(void)
{
	struct bench b;

	bench_open(&b);
	printf("%u-byte operations, bursts of %u, pumped inline, ns per operation (median of %u)\n",
		OP_LEN, BURST, RUNS);
	printf("  %-8s %-18s %8s %8s\n", "", "completions", "device", "in all");
	for (unsigned int i = 0; i < 2u * N_OPS; i++) {
		enum op op = (enum op)(i / 2);
		double device[RUNS], all[RUNS];

		run_ops(&b, op, i % 2 != 0, ROUNDS / 4);
		for (unsigned int r = 0; r < RUNS; r++) {
			struct cost cost = run_ops(&b, op, i % 2 != 0, ROUNDS);

			device[r] = cost.device;
			all[r] = cost.all;
		}
		printf("  %-8s %-18s %8.1f %8.1f\n", op_names[op],
			i % 2 != 0 ? "of every WQE" : "of the last WQE", bench_median(device, RUNS),
			bench_median(all, RUNS));
	}
	bench_close(&b);
}

/* ---- copies compared with memcpy: both use the same memory */

static double
copy_by_device(struct bench *b, enum op op)
{
	uint64_t start = emu_now_ns();

	for (uint64_t off = 0; off < WALK_LEN;) {
		unsigned int n = 0;

		for (; n < BURST && off < WALK_LEN; n++, off += COPY_LEN)
			post(b, op, off, COPY_LEN, HWQ_WQE_SIGNALED);
		hwq_sq_ring(&b->twin.qp->sq);
		softhca_pump();
		reap(b, op, n);
	}
	return (double)(emu_now_ns() - start);
}

static double
copy_by_memcpy(struct bench *b)
{
	uint64_t start = emu_now_ns();

	for (uint64_t off = 0; off < WALK_LEN; off += COPY_LEN) {
		memcpy(b->mem + WALK_LEN + off, b->mem + off, COPY_LEN);
		__asm__ volatile("" ::: "memory");
	}
	return (double)(emu_now_ns() - start);
}

#define PAIRS 101

static void
bench_copies_by(struct bench *b, enum op op)
{
	double ratio[PAIRS], device[PAIRS], plain[PAIRS];

	for (unsigned int i = 0; i < PAIRS; i++) {
		/*
		 * The adapter and memcpy are measured in pairs of runs; which of them is first
		 * alternates.
		 */
		if (i % 2 == 0)
			device[i] = copy_by_device(b, op);
		plain[i] = copy_by_memcpy(b);
		if (i % 2 != 0)
			device[i] = copy_by_device(b, op);
		ratio[i] = plain[i] / device[i];
	}
	printf("  %-8s %7.2f GB/s   memcpy(3) %7.2f GB/s   ratio %5.1f %%\n", op_names[op],
		WALK_LEN / bench_median(device, PAIRS), WALK_LEN / bench_median(plain, PAIRS),
		100 * bench_median(ratio, PAIRS));
}

static void
bench_copies(void)
{
	struct bench b;

	bench_open(&b);
	printf("copies of %u KiB over %u MiB, pumped inline (median of %u pairs)\n", COPY_LEN >> 10,
		WALK_LEN >> 20, PAIRS);
	bench_copies_by(&b, OP_MEMCPY);
	bench_copies_by(&b, OP_WRITE);
	bench_copies_by(&b, OP_READ);
	bench_close(&b);
}

/*
 * ---- idle queues, on other pages (libmlx5 puts two thread domains on one page) or on the busy
 * queue's page
 */

#define IDLE_MAX 1000

static double
busy_cost(struct bench *b)
{
	double v[RUNS];

	for (unsigned int r = 0; r < RUNS; r++)
		v[r] = run_ops(b, OP_WRITE, false, ROUNDS / 4).device * BURST;
	return bench_median(v, RUNS);
}

static void
bench_idle_elsewhere(struct bench *b)
{
	static struct twin idle[IDLE_MAX];
	struct hwq_qp_conf conf = {.sq_wr = 4};
	double before = busy_cost(b), after;

	for (unsigned int i = 0; i < IDLE_MAX; i++)
		twin_create(b->dev, &conf, &idle[i]);
	for (unsigned int i = 0; i < IDLE_MAX; i++)
		twin_connect_self(&idle[i]);
	emu_pump();
	after = busy_cost(b);
	printf("  %u idle QPs on other UARs: a turn of %u writes takes %.0f ns, "
	       "without them %.0f\n",
		IDLE_MAX, BURST, after, before);
	for (unsigned int i = 0; i < IDLE_MAX; i++)
		twin_destroy(&idle[i]);
}

static void
bench_idle_beside(struct bench *b)
{
	static const unsigned int counts[] = {0, 1, 10, 100, IDLE_MAX};
	static struct hwq_cq *cqs[IDLE_MAX];
	static struct hwq_qp *qps[IDLE_MAX];
	struct hwq_qp_conf conf = {.sq_wr = 4};
	unsigned int n = 0;

	for (unsigned int c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		double ns;

		for (; n < counts[c]; n++) {
			struct hwq_addr addr;

			if (hwq_cq_create(b->twin.domain, 64, &cqs[n]) != 0 ||
				hwq_qp_create(b->twin.domain, cqs[n], &conf, &qps[n]) != 0)
				EMU_DIE("creating an idle QP");
			hwq_qp_addr(qps[n], &addr);
			if (hwq_qp_connect(qps[n], &addr) != 0)
				EMU_DIE("connecting an idle QP");
		}
		emu_pump();
		ns = busy_cost(b);
		printf("  %4u idle QPs on the same UAR: a turn of %u writes takes %.0f ns\n", n,
			BURST, ns);
	}
	while (n-- > 0)
		if (hwq_qp_destroy(qps[n]) != 0 || hwq_cq_destroy(cqs[n]) != 0)
			EMU_DIE("destroying an idle QP");
}

static void
bench_idle(void)
{
	struct bench b;

	bench_open(&b);
	printf("idle queues beside one that works, ns of one turn (median of %u)\n", RUNS);
	bench_idle_elsewhere(&b);
	bench_idle_beside(&b);
	bench_close(&b);
}

/* ---- */

static void
count_ops(const char *name)
{
	struct bench b;

	for (unsigned int op = 0; op < N_OPS; op++) {
		if (strcmp(op_names[op], name) != 0)
			continue;
		bench_open(&b);
		run_ops(&b, (enum op)op, false, 64);
		bench_close(&b);
		return;
	}
	EMU_DIE("no operation %s", name);
}

int
main(int argc, char **argv)
{
	emu_setting(argv, "SOFTHCA_THREADS", "0");
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && strcmp(argv[1], "count") == 0) {
		count_ops(argv[2]);
		return 0;
	}
	for (int i = 1; i < argc || i == 1; i++) {
		const char *what = argc > 1 ? argv[i] : "all";
		bool all = strcmp(what, "all") == 0;

		if (all || strcmp(what, "ops") == 0)
			bench_ops();
		if (all || strcmp(what, "copies") == 0)
			bench_copies();
		if (all || strcmp(what, "idle") == 0)
			bench_idle();
	}
	return 0;
}
