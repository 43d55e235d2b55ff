/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of posting and polling an operation, by stock libmlx5 and by lib/hwq.
 *
 * Both libraries post equal 64-byte operations to queues of equal size, in bursts of 1 and 32 with
 * a doorbell for each burst. Then the adapter runs, which is not measured. Then both libraries
 * poll. libmlx5 gets a thread domain and a CQ of one thread, so that it takes no lock; it is polled
 * by ibv_poll_cq(3) and by ibv_start_poll(3). The measured time includes the caller's loop, which
 * reads addresses, keys, length, wr_id and flags of each operation from memory. The program only
 * prints figures; no time makes it fail.
 *
 * A burst of 1 is measured twice: with the length 1 in a variable and, as "burst 0", with the
 * length 1 as a constant, so that the compiler can omit code.
 *
 * usage: bench_hwq time BURST   prints "FUNCTION NANOSECONDS" for one operation: medians of RUNS
 *        bench_hwq count BURST  each measured function, for callgrind; prints "FUNCTION OPERATIONS"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench_median.h"
#include "hwq_emu.h"
#include "hwq_burst.h"
#include "hwq_umr_image.h"
#include "hwq_wr.h"

#define N_OPS     512 /* number of operations posted before the adapter runs */
#define OP_LEN    64
#define BURST_MAX 32
#define RUNS      101
#define MEM_LEN   (2u * N_OPS * OP_LEN)
#define LIST_LEN  4 /* number of entries in a UMR list */
#define UMR_FLAGS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* One operation, in the form in which a caller might store it. */
struct op {
	uint64_t src, dst, wr_id;
	uint32_t lkey, rkey, len;
	uint32_t stock_flags, hwq_flags;
	struct mlx5dv_mkey *stock_mkey; /* stock_mkey: destination of UMR lists */
	struct hwq_mkey *hwq_mkey;
	struct ibv_sge stock_list[LIST_LEN];
	struct hwq_sge hwq_list[LIST_LEN];
};

struct bench {
	struct hwq_dev *dev;
	struct stock_alone alone;
	struct twin twin;
	struct hwq_mr mr;
	struct hwq_mkey_pool *mkeys;
	struct hwq_umr_image image;
	uint8_t *mem;
	struct op ops[N_OPS];
	uint64_t wr_ids; /* sum of the completions' wr_ids */
};

enum operation {
	WRITE,
	MEMCPY,
	UMR_LIST,
	UMR_IMAGE /* a UMR from a prepared image */
};

/* ---- libmlx5 */

/*
 * Posts n operations. In each function that calls this function, `what` is a constant after
 * inlining.
 */
static ALWAYS_INLINE bool
stock_post(struct bench *b, const struct op *op, unsigned int n, enum operation what)
{
	struct ibv_qp_ex *ex = b->alone.stock.ex;
	struct mlx5dv_qp_ex *dv = b->alone.stock.dv;

	ibv_wr_start(ex);
	for (unsigned int i = 0; i < n; i++) {
		ex->wr_id = op[i].wr_id;
		ex->wr_flags = op[i].stock_flags;
		switch (what) {
		case WRITE:
			ibv_wr_rdma_write(ex, op[i].rkey, op[i].dst);
			ibv_wr_set_sge(ex, op[i].lkey, op[i].src, op[i].len);
			break;
		case MEMCPY:
			mlx5dv_wr_memcpy(dv, op[i].rkey, op[i].dst, op[i].lkey, op[i].src,
				op[i].len);
			break;
		case UMR_LIST:
			mlx5dv_wr_mr_list(dv, op[i].stock_mkey, UMR_FLAGS, LIST_LEN,
				(struct ibv_sge *)op[i].stock_list);
			break;
		case UMR_IMAGE:
			return false; /* libmlx5 has no images */
		}
	}
	return ibv_wr_complete(ex) == 0;
}

static ALWAYS_INLINE bool
stock_cqe_burst(struct bench *b, const struct op *op, unsigned int n)
{
	struct ibv_wc wc[BURST_MAX];

	(void)op;
	if (ibv_poll_cq(b->alone.stock.cq, (int)n, wc) != (int)n)
		return false;
	for (unsigned int i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			return false;
		b->wr_ids += wc[i].wr_id;
	}
	return true;
}

/*
 * As stock_cqe_burst(), but by the calls that return one completion at a time, with the values that
 * a caller reads.
 */
static ALWAYS_INLINE bool
stock_ex_cqe_burst(struct bench *b, const struct op *op, unsigned int n)
{
	struct ibv_poll_cq_attr attr = {0};
	struct ibv_cq_ex *cq = b->alone.cq;
	unsigned int i = 1;

	(void)op;
	if (ibv_start_poll(cq, &attr) != 0)
		return false;
	b->wr_ids += cq->status == IBV_WC_SUCCESS ? cq->wr_id : 0;
	for (; i < n && ibv_next_poll(cq) == 0; i++)
		b->wr_ids += cq->status == IBV_WC_SUCCESS ? cq->wr_id : 0;
	ibv_end_poll(cq);
	return i == n;
}

static ALWAYS_INLINE bool
stock_ex_empty_burst(struct bench *b, const struct op *op, unsigned int n)
{
	struct ibv_poll_cq_attr attr = {0};

	(void)op;
	(void)n;
	return ibv_start_poll(b->alone.cq, &attr) == ENOENT;
}

static ALWAYS_INLINE bool
stock_empty_burst(struct bench *b, const struct op *op, unsigned int n)
{
	struct ibv_wc wc[BURST_MAX];

	(void)op;
	return ibv_poll_cq(b->alone.stock.cq, (int)n, wc) == 0;
}

/* ---- lib/hwq: the critical region of hwq_wr.h */

static ALWAYS_INLINE bool
hwq_post(struct bench *b, const struct op *op, unsigned int n, enum operation what)
{
	struct hwq_wr wr;

	hwq_wr_start(&wr, &b->twin.qp->sq);
	for (unsigned int i = 0; i < n; i++) {
		wr.wr_id = op[i].wr_id;
		wr.wr_flags = op[i].hwq_flags;
		switch (what) {
		case WRITE:
			hwq_wr_rdma_write(&wr, op[i].rkey, op[i].dst);
			hwq_wr_set_sge(&wr, op[i].lkey, op[i].src, op[i].len);
			break;
		case MEMCPY:
			hwq_wr_memcpy(&wr, op[i].rkey, op[i].dst, op[i].lkey, op[i].src, op[i].len);
			break;
		case UMR_LIST:
			hwq_wr_mr_list(&wr, op[i].hwq_mkey, UMR_FLAGS, LIST_LEN, op[i].hwq_list);
			break;
		case UMR_IMAGE:
			hwq_wr_umr_image(&wr, op[i].hwq_mkey, &b->image);
			break;
		}
	}
	return hwq_wr_complete(&wr) == 0;
}

/* lib/hwq: bursts with constant flags, without wr_id */

static ALWAYS_INLINE bool
burst_put(struct bench *b, struct hwq_burst *burst, const struct op *op, unsigned int n,
	enum operation what)
{
	for (unsigned int i = 0; i < n; i++) {
		if (what == WRITE)
			hwq_burst_rdma_write(burst, op[i].rkey, op[i].dst, op[i].lkey, op[i].src,
				op[i].len, HWQ_WQE_SIGNALED);
		else if (what != MEMCPY ||
			 !hwq_burst_memcpy(burst, op[i].rkey, op[i].dst, op[i].lkey, op[i].src,
				 op[i].len, HWQ_WQE_SIGNALED))
			return false;
	}
	hwq_burst_end(burst);
	return true;
}

/*
 * At the ring's end, `got` WQEs are reserved. The remaining n - got WQEs are at the ring's
 * beginning.
 */
static __attribute__((noinline)) bool
burst_put_parts(struct bench *b, struct hwq_burst *burst, const struct op *op, unsigned int n,
	unsigned int got, enum operation what)
{
	if (got == 0 || !burst_put(b, burst, op, got, what))
		return false;
	return hwq_burst_start(burst, &b->twin.qp->sq, n - got) == n - got &&
	       burst_put(b, burst, op + got, n - got, what);
}

static ALWAYS_INLINE bool
burst_post(struct bench *b, const struct op *op, unsigned int n, enum operation what)
{
	struct hwq_sq *sq = &b->twin.qp->sq;
	struct hwq_burst burst;
	unsigned int got = hwq_burst_start(&burst, sq, n);

	if (got == n ? !burst_put(b, &burst, op, n, what)
		     : !burst_put_parts(b, &burst, op, n, got, what))
		return false;
	hwq_sq_ring(sq);
	return true;
}

#define POST(by, name, what)                                                                       \
	static ALWAYS_INLINE bool by##_##name##_burst(struct bench *b, const struct op *op,        \
		unsigned int n)                                                                    \
	{                                                                                          \
		return by##_post(b, op, n, what);                                                  \
	}

POST(stock, write, WRITE)
POST(stock, memcpy, MEMCPY)
POST(stock, umr, UMR_LIST)
POST(hwq, write, WRITE)
POST(hwq, memcpy, MEMCPY)
POST(hwq, umr, UMR_LIST)
POST(hwq, image, UMR_IMAGE)
POST(burst, write, WRITE)
POST(burst, memcpy, MEMCPY)

/* ---- lib/hwq: completions */

static ALWAYS_INLINE bool
hwq_cqe_burst(struct bench *b, const struct op *op, unsigned int n)
{
	uint64_t wr_id[BURST_MAX];

	(void)op;
	if (hwq_wr_poll(&b->twin.qp->sq, wr_id, n) != n)
		return false;
	for (unsigned int i = 0; i < n; i++)
		b->wr_ids += wr_id[i];
	return true;
}

/*
 * The same code as for hwq_cqe_burst() under another name, so that WQEs of several WQEBBs are
 * counted separately.
 */
static ALWAYS_INLINE bool
hwq_long_cqe_burst(struct bench *b, const struct op *op, unsigned int n)
{
	return hwq_cqe_burst(b, op, n);
}

static ALWAYS_INLINE bool
hwq_empty_burst(struct bench *b, const struct op *op, unsigned int n)
{
	uint64_t wr_id[BURST_MAX];

	(void)op;
	return hwq_wr_poll(&b->twin.qp->sq, wr_id, n) == 0;
}

/*
 * The caller's loop posts N_OPS operations in bursts. Burst 0 means bursts of 1, with the 1 as a
 * constant.
 */
#define MEASURED(x)                                                                                \
	static __attribute__((noinline, noclone)) bool measured_##x(struct bench *b,               \
		unsigned int burst)                                                                \
	{                                                                                          \
		if (burst == 0) {                                                                  \
			for (unsigned int i = 0; i < N_OPS; i++)                                   \
				if (!x##_burst(b, &b->ops[i], 1))                                  \
					return false;                                              \
			return true;                                                               \
		}                                                                                  \
		for (unsigned int i = 0; i < N_OPS; i += burst)                                    \
			if (!x##_burst(b, &b->ops[i], burst))                                      \
				return false;                                                      \
		return true;                                                                       \
	}

MEASURED(stock_write)
MEASURED(stock_memcpy)
MEASURED(stock_umr)
MEASURED(stock_cqe)
MEASURED(stock_ex_cqe)
MEASURED(hwq_write)
MEASURED(hwq_memcpy)
MEASURED(hwq_umr)
MEASURED(hwq_image)
MEASURED(burst_write)
MEASURED(burst_memcpy)
MEASURED(hwq_cqe)
MEASURED(hwq_long_cqe)

#define MEASURED_EMPTY(x)                                                                          \
	static __attribute__((noinline, noclone)) bool measured_##x(struct bench *b,               \
		unsigned int burst)                                                                \
	{                                                                                          \
		for (unsigned int i = 0; i < N_OPS; i++)                                           \
			if (!x##_burst(b, b->ops, burst != 0 ? burst : 1))                         \
				return false;                                                      \
		return true;                                                                       \
	}

MEASURED_EMPTY(stock_empty)
MEASURED_EMPTY(stock_ex_empty)
MEASURED_EMPTY(hwq_empty)

/* ---- measuring */

struct function {
	const char *name;
	bool (*call)(struct bench *b, unsigned int burst);
	uint64_t n_ops; /* number of operations executed so far */
	double ns[RUNS];
};

#define FUNCTION(x)                                                                                \
	{                                                                                          \
		.name = #x, .call = x                                                              \
	}

/* A pair of functions: one that posts, and the one that polls its completions. */
struct way {
	struct function *post, *poll, *empty;
	bool only_poll; /* the figures of this posting function are measured elsewhere */
};

static struct function stock_cqe = FUNCTION(measured_stock_cqe);
static struct function stock_empty = FUNCTION(measured_stock_empty);
static struct function stock_ex_cqe = FUNCTION(measured_stock_ex_cqe);
static struct function stock_ex_empty = FUNCTION(measured_stock_ex_empty);
static struct function hwq_cqe = FUNCTION(measured_hwq_cqe);
static struct function hwq_long_cqe = FUNCTION(measured_hwq_long_cqe);
static struct function hwq_empty = FUNCTION(measured_hwq_empty);
static struct function stock_write = FUNCTION(measured_stock_write);
static struct function stock_memcpy = FUNCTION(measured_stock_memcpy);
static struct function stock_umr = FUNCTION(measured_stock_umr);
static struct function hwq_umr = FUNCTION(measured_hwq_umr);
static struct function hwq_image = FUNCTION(measured_hwq_image);
static struct function hwq_write = FUNCTION(measured_hwq_write);
static struct function hwq_memcpy = FUNCTION(measured_hwq_memcpy);
static struct function burst_write = FUNCTION(measured_burst_write);
static struct function burst_memcpy = FUNCTION(measured_burst_memcpy);

static const struct way ways[] = {
	{&stock_write, &stock_ex_cqe, &stock_ex_empty, true},
	{&stock_write, &stock_cqe, &stock_empty, false},
	{&hwq_write, &hwq_cqe, &hwq_empty, false},
	{&burst_write, &hwq_cqe, &hwq_empty, false},
	{&stock_memcpy, &stock_cqe, &stock_empty, false},
	{&hwq_memcpy, &hwq_cqe, &hwq_empty, false},
	{&burst_memcpy, &hwq_cqe, &hwq_empty, false},
	{&stock_umr, &stock_cqe, &stock_empty, false},
	{&hwq_umr, &hwq_long_cqe, &hwq_empty, false},
	{&hwq_image, &hwq_long_cqe, &hwq_empty, false},
};

#define N_WAYS (sizeof(ways) / sizeof(ways[0]))

/*
 * Opens, for each operation, a key of each library and the four pieces of memory of the key's
 * layout.
 */
static void
bench_open_keys(struct bench *b)
{
	struct mlx5dv_mkey_init_attr attr = {.pd = b->dev->pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
		.max_entries = LIST_LEN};
	struct hwq_mkey_conf conf = {.n = N_OPS, .max_entries = LIST_LEN};
	int ret = hwq_mkey_pool_create(b->twin.domain, &conf, &b->mkeys);

	if (ret != 0)
		EMU_DIE("keys: %s", strerror(-ret));
	for (unsigned int i = 0; i < N_OPS; i++) {
		struct op *op = &b->ops[i];

		op->hwq_mkey = hwq_mkey_get(b->mkeys);
		op->stock_mkey = mlx5dv_create_mkey(&attr);
		if (op->stock_mkey == NULL)
			EMU_DIE("libmlx5's keys: %s", strerror(errno));
		for (unsigned int k = 0; k < LIST_LEN; k++) {
			uint64_t addr = op->src + (uint64_t)(LIST_LEN - 1 - k) * OP_LEN / LIST_LEN;

			op->stock_list[k] = (struct ibv_sge){addr, OP_LEN / LIST_LEN, op->lkey};
			op->hwq_list[k] = (struct hwq_sge){addr, OP_LEN / LIST_LEN, op->lkey};
		}
	}
	if (hwq_umr_image_list(&b->image, UMR_FLAGS, LIST_LEN, b->ops[0].hwq_list) != 0)
		EMU_DIE("an image");
}

static void
bench_open(struct bench *b)
{
	struct hwq_qp_conf conf = {.sq_wr = 2 * N_OPS,
		.max_sge = 1,
		.mmo = true,
		.mlx5_ops = MLX5DV_QP_EX_WITH_MR_LIST};
	int ret;

	memset(b, 0, sizeof(*b));
	b->dev = emu_open();
	twin_create(b->dev, &conf, &b->twin);
	twin_connect_self(&b->twin);
	stock_create_alone(b->dev, &conf, &b->alone);
	stock_connect(b->dev, b->alone.stock.qp, b->alone.stock.qp->qp_num);
	b->mem = mmap(NULL, MEM_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (b->mem == MAP_FAILED)
		EMU_DIE("no memory");
	ret = hwq_mr_register(b->dev, b->mem, MEM_LEN,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, &b->mr);
	if (ret != 0)
		EMU_DIE("registering: %s", strerror(-ret));
	for (unsigned int i = 0; i < N_OPS; i++)
		b->ops[i] = (struct op){
			.src = (uintptr_t)b->mem + (uint64_t)i * OP_LEN,
			.dst = (uintptr_t)b->mem + (uint64_t)(N_OPS + i) * OP_LEN,
			.wr_id = i,
			.lkey = b->mr.lkey,
			.rkey = b->mr.rkey,
			.len = OP_LEN,
			.stock_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
			.hwq_flags = HWQ_WQE_SIGNALED | HWQ_WQE_INLINE,
		};
	bench_open_keys(b);
}

static void
bench_close_keys(struct bench *b)
{
	for (unsigned int i = 0; i < N_OPS; i++) {
		hwq_mkey_put(b->ops[i].hwq_mkey);
		if (mlx5dv_destroy_mkey(b->ops[i].stock_mkey) != 0)
			EMU_DIE("closing");
	}
	if (hwq_mkey_pool_destroy(b->mkeys) != 0)
		EMU_DIE("closing");
}

static void
bench_close(struct bench *b)
{
	bench_close_keys(b);
	stock_destroy_alone(&b->alone);
	twin_destroy(&b->twin);
	if (hwq_mr_deregister(&b->mr) != 0)
		EMU_DIE("closing");
	munmap(b->mem, MEM_LEN);
	hwq_dev_close(b->dev);
}

/* Executes all operations with f, in bursts. Returns ns per operation. */
static double
run(struct bench *b, struct function *f, unsigned int burst)
{
	uint64_t start = emu_now_ns();

	if (!f->call(b, burst))
		EMU_DIE("%s: an operation failed", f->name);
	f->n_ops += N_OPS;
	return (double)(emu_now_ns() - start) / N_OPS;
}

static void
run_way(struct bench *b, const struct way *w, unsigned int burst, unsigned int r)
{
	w->post->ns[r] = run(b, w->post, burst);
	emu_pump();
	w->poll->ns[r] = run(b, w->poll, burst);
	w->empty->ns[r] = run(b, w->empty, burst);
}

/* ---- what is printed */

static struct function *const polls[] = {&stock_cqe, &stock_ex_cqe, &hwq_cqe, &hwq_long_cqe,
	&stock_empty, &stock_ex_empty, &hwq_empty};

#define N_POLLS (sizeof(polls) / sizeof(polls[0]))

static void
print_times(struct bench *b, unsigned int burst)
{
	for (unsigned int r = 0; r < RUNS; r++)
		for (unsigned int i = 0; i < N_WAYS; i++)
			run_way(b, &ways[i], burst, r);
	for (unsigned int i = 0; i < N_WAYS; i++)
		if (!ways[i].only_poll)
			printf("%s %.1f\n", ways[i].post->name,
				bench_median(ways[i].post->ns, RUNS));
	for (unsigned int i = 0; i < N_POLLS; i++)
		printf("%s %.1f\n", polls[i]->name, bench_median(polls[i]->ns, RUNS));
}

static void
count(struct bench *b, unsigned int burst)
{
	for (unsigned int i = 0; i < N_WAYS; i++) {
		run_way(b, &ways[i], burst, 0);
		if (ways[i].only_poll)
			continue;
		printf("%s %llu\n", ways[i].post->name, (unsigned long long)ways[i].post->n_ops);
	}
	for (unsigned int i = 0; i < N_POLLS; i++)
		printf("%s %llu\n", polls[i]->name, (unsigned long long)polls[i]->n_ops);
}

int
main(int argc, char **argv)
{
	static struct bench b;

	emu_setting(argv, "SOFTHCA_THREADS", "0");
	if (argc != 3 || (strcmp(argv[1], "time") != 0 && strcmp(argv[1], "count") != 0))
		EMU_DIE("usage: bench_hwq time|count BURST");
	bench_open(&b);
	if (strcmp(argv[1], "time") == 0)
		print_times(&b, (unsigned int)strtoul(argv[2], NULL, 0));
	else
		count(&b, (unsigned int)strtoul(argv[2], NULL, 0));
	bench_close(&b);
	return 0;
}
