/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations to peers: the rules of their fields, atomics, and WQEs that the caller has written. */
#include <errno.h>
#include <string.h>

#include <infiniband/mlx5dv.h>

#include <rte_common.h>

#include "gantry_env.h"
#include "gantry_engine.h"
#include "gantry_mem.h"
#include "gantry_queue.h"

#define ARENA_LEN (UINT64_C(1) << 20)

static struct gantry *g;
static uint8_t *src, *dst; /* two regions of ARENA_LEN each */
static struct gantry_mem *src_mem, *dst_mem;

/* ------------------------------------------------------------------ rules */

/* Bits of `uses`: which fields an operation has by the table of gantry_desc.h. */
enum {
	SRC = 1,
	DST = 2,
	KEY = 4,
	IMM = 8,
	ARG0 = 16,
	ARG1 = 32,
	SOLICITED = 64,
	EMPTY = 128,  /* len may be 0 */
	LAYOUT = 256, /* one side may be a layout */
	REMOTE = SRC | DST | KEY,
};

static const struct {
	uint8_t op;
	uint16_t uses;
	uint16_t len;
} ops[] = {
	{GANTRY_OP_WRITE, REMOTE | LAYOUT, 64},
	{GANTRY_OP_READ, REMOTE | LAYOUT, 64},
	{GANTRY_OP_WRITE_IMM, REMOTE | IMM | SOLICITED | EMPTY | LAYOUT, 64},
	{GANTRY_OP_SEND, SRC | SOLICITED | EMPTY | LAYOUT, 64},
	{GANTRY_OP_SEND_IMM, SRC | IMM | SOLICITED | EMPTY | LAYOUT, 64},
	{GANTRY_OP_SEND_INV, SRC | IMM | SOLICITED | EMPTY | LAYOUT, 64},
	{GANTRY_OP_COMPARE_SWAP, DST | KEY | ARG0 | ARG1, 8},
	{GANTRY_OP_FETCH_ADD, DST | KEY | ARG0, 8},
	{GANTRY_OP_RAW, SRC, 64},
};

static uint8_t raw_nop[1024]; /* DS 4 */

/* A correct descriptor of row i, all of whose fields that may be 0 are 0. */
static struct gantry_desc
good(unsigned int i, uint16_t peer)
{
	struct gantry_desc d = {.op = ops[i].op, .len = ops[i].len, .peer = peer};

	if ((ops[i].uses & SRC) != 0)
		d.src = (uintptr_t)(d.op == GANTRY_OP_RAW ? raw_nop : src);
	if ((ops[i].uses & DST) != 0)
		d.dst = (uintptr_t)dst;
	if ((ops[i].uses & KEY) != 0)
		d.remote_key = gantry_mem_remote_key(d.op == GANTRY_OP_READ ? src_mem : dst_mem);
	return d;
}

/* The engine refuses d with that status, and no WQE is written for it. */
static void
expect_refused(struct gantry_queue *q, struct gantry_desc d, enum gantry_status want)
{
	uint64_t wqes = env_stats(q).wqes;
	enum gantry_status status = env_do_one(q, d);

	CHECK(status == want, "operation %u: %s, not %s", d.op, gantry_status_name(status),
		gantry_status_name(want));
	CHECK_EQ(env_stats(q).wqes, wqes);
}

/*
 * Each field that an operation does not use, and each flag. The peer is not connected: a correct
 * descriptor is refused for that reason alone.
 */
static void
unused_fields_must_be_zero(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_addr addr;
	uint16_t peer;
	unsigned int i, bit;

	CHECK_EQ(gantry_peer_open(q, NULL, &peer, &addr), 0);
	for (i = 0; i < RTE_DIM(ops); i++) {
		struct gantry_desc d = good(i, peer);
		unsigned int uses = ops[i].uses;
#define STATUS(use) ((uses & (use)) != 0 ? GANTRY_BAD_PEER : GANTRY_BAD_FIELD)

		expect_refused(q, d, GANTRY_BAD_PEER);
		expect_refused(q, WITH(d, zero, 1), GANTRY_BAD_FIELD);
		expect_refused(q, WITH(d, layout, 1),
			(uses & LAYOUT) != 0 ? GANTRY_BAD_LAYOUT : GANTRY_BAD_FIELD);
		for (bit = 0; bit < 16; bit++)
			expect_refused(q, WITH(d, flags, 1u << bit),
				bit == 0   ? GANTRY_BAD_PEER
				: bit == 1 ? STATUS(SOLICITED)
					   : GANTRY_BAD_FIELD);
		if (d.src == 0)
			expect_refused(q, WITH(d, src, (uintptr_t)src), GANTRY_BAD_FIELD);
		if (d.dst == 0)
			expect_refused(q, WITH(d, dst, (uintptr_t)dst), GANTRY_BAD_FIELD);
		expect_refused(q, WITH(d, remote_key, 7), STATUS(KEY));
		expect_refused(q, WITH(d, imm, 7), STATUS(IMM));
		expect_refused(q, WITH(d, arg[0], 7), STATUS(ARG0));
		expect_refused(q, WITH(d, arg[1], UINT64_C(7) << 40), STATUS(ARG1));
		expect_refused(q, WITH(d, peer, 63), GANTRY_BAD_PEER);
		expect_refused(q, WITH(d, peer, 40000), GANTRY_BAD_PEER);
		if (d.op != GANTRY_OP_RAW)
			expect_refused(q, WITH(d, peer, GANTRY_PEER_OWN), GANTRY_BAD_PEER);
#undef STATUS
	}
	env_queue_done(q);
}

static void
wrong_lengths_and_addresses_are_refused(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_info info;
	uint16_t peer, back;
	unsigned int i;

	gantry_info_get(g, &info);
	CHECK(info.max_msg_len > 0 && info.atomics);
	env_connect(q, &peer, q, &back);
	for (i = 0; i < RTE_DIM(ops); i++) {
		struct gantry_desc d = good(i, peer), none = {.op = d.op, .peer = peer};
		unsigned int uses = ops[i].uses;

		if ((uses & EMPTY) == 0) {
			expect_refused(q, WITH(d, len, 0), GANTRY_BAD_LENGTH);
		} else {
			if (d.src != 0)
				expect_refused(q, WITH(none, src, d.src), GANTRY_BAD_FIELD);
			if (d.dst != 0)
				expect_refused(q, WITH(none, dst, d.dst), GANTRY_BAD_FIELD);
			if (d.remote_key != 0)
				expect_refused(q, WITH(none, remote_key, 7), GANTRY_BAD_FIELD);
		}
		expect_refused(q, WITH(d, len, UINT64_MAX), GANTRY_BAD_LENGTH);
		if (d.src != 0)
			expect_refused(q, WITH(d, src, 0), GANTRY_BAD_ADDRESS);
		if (d.dst != 0) {
			expect_refused(q, WITH(d, dst, 0), GANTRY_BAD_ADDRESS);
			expect_refused(q, WITH(d, dst, UINT64_MAX - 7), GANTRY_BAD_LENGTH);
		}
		if (d.src != 0 && d.op != GANTRY_OP_RAW && d.op != GANTRY_OP_READ) {
			expect_refused(q, WITH(d, src, (uintptr_t)&d), GANTRY_NOT_REGISTERED);
			expect_refused(q, WITH(d, src, (uintptr_t)src + ARENA_LEN - 63),
				GANTRY_NOT_REGISTERED);
		}
		if (d.len == 8) {
			expect_refused(q, WITH(d, len, 7), GANTRY_BAD_LENGTH);
			expect_refused(q, WITH(d, len, 16), GANTRY_BAD_LENGTH);
			expect_refused(q, WITH(d, dst, d.dst + 4), GANTRY_BAD_ADDRESS);
		}
	}
	/* What a port carries in one message is far more than the arena. */
	for (i = GANTRY_OP_SEND; i <= GANTRY_OP_SEND_INV; i++) {
		struct gantry_desc d = {.op = i, .peer = peer, .src = (uintptr_t)src};

		q->conn[GANTRY_CONN_PEER + peer].max_len = 100;
		d.len = 101;
		expect_refused(q, d, GANTRY_BAD_LENGTH);
	}
	/* Of raw WQEs, len is what the control segment says. */
	{
		struct gantry_desc d = good(RTE_DIM(ops) - 1, peer);

		expect_refused(q, WITH(d, len, 48), GANTRY_BAD_LENGTH);
		expect_refused(q, WITH(d, len, 80), GANTRY_BAD_LENGTH);
		expect_refused(q, WITH(d, len, 65), GANTRY_BAD_LENGTH);
		expect_refused(q, WITH(d, len, 1024), GANTRY_BAD_LENGTH);
		expect_refused(q, WITH(d, len, (UINT64_C(1) << 32) + 64), GANTRY_BAD_LENGTH);
	}
	env_queue_done(q);
}

/* ------------------------------------------------------------------ short messages */

/* True: the WQE that the peer's send queue has last names no data in memory. */
static bool
last_is_inline(const struct gantry_queue *q, uint16_t peer)
{
	const struct hwq_sq *sq = q->conn[GANTRY_CONN_PEER + peer].sq;
	const uint8_t *wqe = hwq_sq_at(sq, sq->last);

	/* The top bit of the segment behind the remote address, as mlx5_wqe_inl_data_seg has it. */
	return (wqe[32] & 0x80) != 0;
}

/* By default, by a longer limit, and by none. Around the limit both ways move the same bytes. */
static void
short_messages_travel_in_the_wqe(void)
{
	static const struct {
		uint16_t conf, limit;
	} rows[] = {{0, 28}, {1, 0}, {2, 1}, {29, 28}, {101, 100}, {513, 512}};
	struct gantry_queue *q = env_queue(g, 8);
	const struct gantry_peer_conf huge = {.max_inline = 2000};
	struct gantry_addr addr, back_addr;
	uint16_t peer, back;
	uint64_t wqes;
	unsigned int i, len;

	CHECK_EQ(gantry_peer_open(q, &huge, &peer, &addr), -EINVAL);
	for (i = 0; i < RTE_DIM(rows); i++) {
		const struct gantry_peer_conf conf = {.max_inline = rows[i].conf};

		CHECK_EQ(gantry_peer_open(q, &conf, &peer, &addr), 0);
		CHECK_EQ(gantry_peer_open(q, NULL, &back, &back_addr), 0);
		CHECK_EQ(gantry_peer_connect(q, peer, &back_addr), 0);
		CHECK_EQ(gantry_peer_connect(q, back, &addr), 0);
		for (len = 1; len < 600; len += len < 130 ? 1 : 17) {
			struct gantry_desc d = env_copy(src + len, dst + 3 * len, len);

			env_fill(src + len, len, i * 1000 + len);
			memset(dst, 0, 3000);
			d.op = GANTRY_OP_WRITE;
			d.peer = peer;
			d.remote_key = gantry_mem_remote_key(dst_mem);
			wqes = env_stats(q).wqes;
			CHECK_EQ(env_do_one(q, d), GANTRY_OK);
			CHECK(env_is_filled(dst + 3 * len, len, i * 1000 + len));
			CHECK(dst[3 * len - 1] == 0 && dst[4 * len] == 0);
			CHECK_EQ(last_is_inline(q, peer), len <= rows[i].limit);
			CHECK(rows[i].limit > 28 || env_stats(q).wqes == wqes + 1);
		}
		CHECK_EQ(gantry_peer_close(q, peer), 0);
		CHECK_EQ(gantry_peer_close(q, back), 0);
	}
	env_queue_done(q);
}

/* ------------------------------------------------------------------ atomics */

static struct gantry_desc
atomic(enum gantry_op op, uint16_t peer, void *at, uint64_t arg0, uint64_t arg1)
{
	return (struct gantry_desc){.op = op,
		.peer = peer,
		.dst = (uintptr_t)at,
		.len = 8,
		.remote_key = gantry_mem_remote_key(dst_mem),
		.arg = {arg0, arg1}};
}

/* Does one atomic, which must succeed. Returns the result. */
static uint64_t
do_atomic(struct gantry_queue *q, struct gantry_desc d)
{
	struct gantry_comp comp;

	env_do(q, &d, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	CHECK_EQ(comp.zero, 0);
	return comp.result;
}

static void
atomics_return_the_old_value(void)
{
	struct gantry_queue *q = env_queue(g, 8), *other = env_queue(g, 8);
	uint64_t *word = (uint64_t *)dst;
	uint16_t peer, back;

	env_connect(q, &peer, other, &back);
	word[0] = 1;
	word[1] = 0x1122334455667788;
	word[2] = 2;
	CHECK_EQ(do_atomic(q, atomic(GANTRY_OP_COMPARE_SWAP, peer, &word[1], 5, 6)),
		0x1122334455667788);
	CHECK_EQ(word[1], 0x1122334455667788);
	CHECK_EQ(do_atomic(q, atomic(GANTRY_OP_COMPARE_SWAP, peer, &word[1], 0x1122334455667788,
				      0x99aabbccddeeff01)),
		0x1122334455667788);
	CHECK_EQ(word[1], 0x99aabbccddeeff01);
	CHECK_EQ(do_atomic(q, atomic(GANTRY_OP_FETCH_ADD, peer, &word[1], 0xff, 0)),
		0x99aabbccddeeff01);
	CHECK_EQ(word[1], 0x99aabbccddef0000);
	CHECK_EQ(do_atomic(q, atomic(GANTRY_OP_FETCH_ADD, peer, &word[1], -word[1], 0)),
		0x99aabbccddef0000);
	CHECK_EQ(do_atomic(q, atomic(GANTRY_OP_FETCH_ADD, peer, &word[1], 0, 0)), 0);
	CHECK_EQ(word[0], 1);
	CHECK_EQ(word[2], 2);
	CHECK_EQ(env_stats(q).bytes, 5 * 8);
	CHECK_EQ(env_stats(q).by_status[GANTRY_OK], 5);
	env_queue_done(q);
	env_queue_done(other);
}

/* More than there are cells for results, and copies between them. Each result comes once. */
static void
many_atomics_in_flight_keep_their_results(void)
{
	enum {
		N = 2 * GANTRY_CELLS + 20
	};
	struct gantry_queue *q = env_queue(g, 1024);
	static struct gantry_desc desc[2 * N];
	static struct gantry_comp comp[2 * N];
	static bool seen[N];
	uint16_t peer, back;
	unsigned int i;

	env_connect(q, &peer, q, &back);
	memset(dst, 0, 8);
	for (i = 0; i < 2 * N; i += 2) {
		desc[i] = env_copy(src, dst + 4096 + i * 64, 64);
		desc[i + 1] = atomic(GANTRY_OP_FETCH_ADD, peer, dst, 1, 0);
	}
	env_do(q, desc, comp, 2 * N);
	CHECK_EQ(*(uint64_t *)dst, N);
	for (i = 0; i < 2 * N; i++) {
		CHECK_EQ(comp[i].status, GANTRY_OK);
		CHECK_EQ(comp[i].zero, 0);
		if (i % 2 == 0) {
			CHECK_EQ(comp[i].result, 0);
		} else {
			CHECK(comp[i].result < N && !seen[comp[i].result]);
			seen[comp[i].result] = true;
		}
	}
	CHECK_EQ(q->cells.n_free, GANTRY_CELLS);
	env_queue_done(q);
}

/* The memory does not allow atomics: one fails, those behind it are flushed, no cell is lost. */
static void
failed_atomics_have_no_result(void)
{
	struct gantry_queue *q = env_queue(g, 512);
	static struct gantry_desc desc[300];
	static struct gantry_comp comp[300];
	uint16_t peer, back;
	unsigned int round, i;

	memset(src, 0xff, 64);
	for (round = 0; round < 3; round++) {
		env_connect(q, &peer, q, &back);
		/* Results that the cells hold when they are used again. */
		*(uint64_t *)dst = 1000;
		for (i = 0; i < 300; i++)
			desc[i] = atomic(GANTRY_OP_FETCH_ADD, peer, dst, 1, 0);
		env_do(q, desc, comp, 300);
		for (i = 0; i < 300; i++)
			desc[i] = WITH(atomic(GANTRY_OP_FETCH_ADD, peer, src, 1, 0), remote_key,
				gantry_mem_remote_key(src_mem));
		env_do(q, desc, comp, 300);
		CHECK_EQ(comp[0].status, GANTRY_REMOTE_ACCESS);
		for (i = 0; i < 300; i++) {
			CHECK_EQ(comp[i].result, 0);
			CHECK_EQ(comp[i].zero, 0);
			CHECK(i == 0 || comp[i].status == GANTRY_FLUSHED ||
				comp[i].status == GANTRY_BAD_PEER);
		}
		CHECK_EQ(q->cells.n_free, GANTRY_CELLS);
		CHECK_EQ(*(uint64_t *)src, UINT64_MAX);
		CHECK_EQ(gantry_peer_close(q, peer), 0);
		CHECK_EQ(gantry_peer_close(q, back), 0);
	}
	env_queue_done(q);
}

static void
a_device_without_atomics_refuses_them(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint16_t peer, back;

	env_connect(q, &peer, q, &back);
	g->info.atomics = false;
	expect_refused(q, atomic(GANTRY_OP_FETCH_ADD, peer, dst, 1, 0), GANTRY_BAD_OP);
	expect_refused(q, atomic(GANTRY_OP_COMPARE_SWAP, peer, dst, 1, 0), GANTRY_BAD_OP);
	g->info.atomics = true;
	memset(dst + 4096, 0, 8);
	CHECK_EQ(env_do_one(q, atomic(GANTRY_OP_COMPARE_SWAP, peer, dst + 4096, 0, 0)), GANTRY_OK);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ raw WQEs */

/*
 * Writes a WQE to buf by stock libmlx5's functions: an RDMA write of n pieces of 100 bytes of src to
 * the start of dst. Its index and QPN are wrong, and it asks for a CQE or not, at random.
 */
static struct gantry_desc
raw_write(uint8_t *buf, uint16_t peer, unsigned int n, uint64_t *seed)
{
	uint64_t wqe[1024 / 8] = {0};
	struct mlx5_wqe_raddr_seg *raddr = (void *)&wqe[2];
	unsigned int i;

	mlx5dv_set_ctrl_seg((void *)wqe, check_random(seed), MLX5_OPCODE_RDMA_WRITE, 0, 0xabcdef,
		check_random(seed) % 4 << 2, 2 + n, 0, 0);
	raddr->raddr = htobe64((uintptr_t)dst);
	raddr->rkey = htobe32(gantry_mem_remote_key(dst_mem));
	for (i = 0; i < n; i++)
		mlx5dv_set_data_seg((void *)&wqe[4 + 2 * i], 100,
			gantry_mem_piece(src_mem)->mr.lkey, (uintptr_t)src + 200 * i);
	memcpy(buf, wqe, sizeof(wqe));
	return (struct gantry_desc){.op = GANTRY_OP_RAW,
		.peer = peer,
		.src = (uintptr_t)buf,
		.len = 16 * (2 + n)};
}

static void
a_raw_wqe_does_what_it_says(void)
{
	struct gantry_queue *q = env_queue(g, 8), *other = env_queue(g, 8);
	uint16_t to[3] = {0, 0, GANTRY_PEER_OWN}, back;
	uint64_t seed = 3;
	uint8_t buf[1025];
	unsigned int i, k, n;

	env_connect(q, &to[0], other, &back);
	env_connect(q, &to[1], q, &back);
	env_fill(src, 20000, 5);
	for (i = 0; i < 200; i++) {
		n = 1 + check_random(&seed) % 28;
		memset(dst, 0, 100 * n + 1);
		/* At any alignment. */
		CHECK_EQ(env_do_one(q, raw_write(buf + i % 2, to[i % 3], n, &seed)), GANTRY_OK);
		for (k = 0; k < n; k++)
			CHECK(memcmp(dst + 100 * k, src + 200 * k, 100) == 0);
		CHECK_EQ(dst[100 * n], 0);
	}
	env_queue_done(q);
	env_queue_done(other);
}

/* WQEs of 1 to 16 WQEBBs among others, over many laps of the ring. All complete, in order. */
static void
raw_wqes_of_every_length_keep_order(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	static uint8_t bufs[128]
			   [1024]; /* more than are in flight, and those that are not accepted */
	static struct gantry_desc desc[64];
	static struct gantry_comp comp[64];
	uint64_t seed = 9, put = 0, got = 0;
	uint16_t peer, back;
	uint32_t i, n;

	env_connect(q, &peer, q, &back);
	while (got < 5000) {
		n = check_random(&seed) % 20;
		for (i = 0; i < n; i++) {
			uint64_t kind = check_random(&seed) % 4;
			uint8_t *buf = bufs[(put + i) % 128];
			uint32_t ds = 1 + check_random(&seed) % 63;

			memset(buf, 0, 1024);
			mlx5dv_set_ctrl_seg((void *)buf, 0, MLX5_OPCODE_NOP, 0, 0, 0, ds, 0, 0);
			desc[i] = kind == 0   ? env_copy(src, dst, 64)
				  : kind == 1 ? atomic(GANTRY_OP_FETCH_ADD, peer, dst + 4096, 1, 0)
					      : (struct gantry_desc){.op = GANTRY_OP_RAW,
							.src = (uintptr_t)buf,
							.len = 16 * ds,
							.peer = kind == 2 ? GANTRY_PEER_OWN : peer};
			desc[i].cookie = put + i;
		}
		put += gantry_submit(q, desc, n);
		n = env_poll(q, comp, check_random(&seed) % 64);
		for (i = 0; i < n; i++, got++) {
			CHECK_EQ(comp[i].cookie, got);
			CHECK_EQ(comp[i].status, GANTRY_OK);
		}
	}
	env_collect(q, comp, put - got);
	env_queue_done(q);
}

/* A raw WQE that fails is its descriptor's failure. */
static void
a_wrong_raw_wqe_fails_alone(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t buf[1024];
	uint64_t seed = 4;
	struct gantry_desc d;

	d = raw_write(buf, GANTRY_PEER_OWN, 2, &seed);
	buf[32 + 4] ^= 0x55; /* lkey of the first piece */
	CHECK_EQ(env_do_one(q, d), GANTRY_LOCAL_ERROR);
	CHECK_EQ(env_do_one(q, raw_write(buf, GANTRY_PEER_OWN, 2, &seed)), GANTRY_OK);
	CHECK_EQ(env_do_one(q, env_copy(src, dst, 64)), GANTRY_OK);
	CHECK_EQ(env_stats(q).recoveries, 1);
	env_queue_done(q);
}

static const struct check_case cases[] = {
	{"fields that an operation does not use must be zero", unused_fields_must_be_zero},
	{"wrong lengths and addresses are refused", wrong_lengths_and_addresses_are_refused},
	{"short messages travel in the WQE", short_messages_travel_in_the_wqe},
	{"atomics return the old value", atomics_return_the_old_value},
	{"many atomics in flight keep their results", many_atomics_in_flight_keep_their_results},
	{"failed atomics have no result", failed_atomics_have_no_result},
	{"a device without atomics refuses them", a_device_without_atomics_refuses_them},
	{"a raw WQE does what it says", a_raw_wqe_does_what_it_says},
	{"raw WQEs of every length keep order", raw_wqes_of_every_length_keep_order},
	{"a wrong raw WQE fails alone", a_wrong_raw_wqe_fails_alone},
};

int
main(int argc, char **argv)
{
	const unsigned int remote = GANTRY_MEM_REMOTE_WRITE | GANTRY_MEM_REMOTE_READ;

	mlx5dv_set_ctrl_seg((void *)raw_nop, 0, MLX5_OPCODE_NOP, 0, 0, 0, 4, 0, 0);
	env_init(0);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	src = env_map(ARENA_LEN);
	dst = env_map(ARENA_LEN);
	CHECK_EQ(gantry_mem_register(g, src, ARENA_LEN, remote, &src_mem), 0);
	CHECK_EQ(gantry_mem_register(g, dst, ARENA_LEN, remote | GANTRY_MEM_REMOTE_ATOMIC,
			 &dst_mem),
		0);
	env_run(cases, RTE_DIM(cases), argc, argv);
	return env_done(g, (struct gantry_mem *const[]){src_mem, dst_mem}, 2);
}
