/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carriers of copies: flags and policies. The test checks the bytes and the opcode of the WQE in
 * the send queue. It also copies memory that only the CPU can use.
 */
#define GANTRY_ALLOW_EXPERIMENTAL /* the text form of policies */

#include <string.h>

#include <rte_common.h>
#include <rte_log.h>

#include <softhca.h>

#include "gantry_env.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_queue.h"
#include "gantry_sleep.h"

#define ARENA_LEN (UINT64_C(1) << 20)
/*
 * The largest number of bytes that the CPU copies in one call of the owner, as gantry_desc.h
 * promises.
 */
#define CALL_LEN (64 * 1024)
/* Opcodes of a control segment: mlx5dv.h of rdma-core. */
#define OPCODE_RDMA_WRITE 0x08
#define OPCODE_MMO        0x2f

static struct gantry *g;
static bool has_mmo;
static uint8_t *src, *dst;
static struct gantry_mem *mem[2];

static struct gantry_desc
by(struct gantry_desc d, unsigned int flags)
{
	d.flags |= flags;
	return d;
}

static struct gantry_desc
fill_of(void *to, uint64_t len, uint64_t pattern)
{
	return (struct gantry_desc){.op = GANTRY_OP_FILL,
		.dst = (uintptr_t)to,
		.len = len,
		.arg[0] = pattern};
}

static struct gantry_desc
lists(const struct gantry_sge *from, const struct gantry_sge *to, uint64_t len)
{
	struct gantry_desc d = env_copy(from, (void *)(uintptr_t)to, len);

	d.op = GANTRY_OP_COPY_SG;
	d.arg[0] = UINT64_C(2) << 32 | 2;
	return d;
}

/* Returns the opcode of the last WQE of the queue's connection to itself. */
static uint8_t
last_opcode(const struct gantry_queue *q)
{
	const struct hwq_sq *sq = q->conn[GANTRY_CONN_OWN].sq;

	return sq->buf[(sq->last & sq->mask) * 64 + 3];
}

/* Returns the number of copies for which the queue has used a carrier. */
static uint64_t
copies(const struct gantry_queue *q, enum gantry_carrier carrier)
{
	return env_stats(q).copies[carrier];
}

static struct gantry_queue *
queue_with(struct gantry *engine, uint32_t depth, const struct gantry_policy *policy)
{
	const struct gantry_queue_conf conf = {.depth = depth, .policy = policy};
	struct gantry_queue *q;

	CHECK_EQ(gantry_queue_create(engine, &conf, &q), 0);
	return q;
}

/* ------------------------------------------------------------------ flags */

/*
 * Executes d, whose bytes must come from src. Then checks that the last WQE has the opcode
 * `opcode`, or that there is no WQE.
 */
static void
expect_carried(struct gantry_queue *q, struct gantry_desc d, enum gantry_carrier carrier,
	uint8_t opcode)
{
	struct gantry_stats before = env_stats(q), after;
	unsigned int i;

	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	after = env_stats(q);
	for (i = 0; i < GANTRY_CARRIER_MAX; i++)
		CHECK_EQ(after.copies[i] - before.copies[i], i == carrier);
	CHECK_EQ(after.bytes - before.bytes, d.len);
	if (opcode == 0)
		CHECK_EQ(after.wqes, before.wqes);
	else
		CHECK_EQ(last_opcode(q), opcode);
}

static void
each_flag_has_its_carrier_move_the_bytes(void)
{
	static const struct {
		unsigned int flag;
		enum gantry_carrier carrier;
		uint8_t opcode;
	} rows[] = {
		{GANTRY_DESC_BY_CPU, GANTRY_CARRIER_CPU, 0},
		{GANTRY_DESC_BY_MMO, GANTRY_CARRIER_MMO, OPCODE_MMO},
		{GANTRY_DESC_BY_RDMA, GANTRY_CARRIER_RDMA, OPCODE_RDMA_WRITE},
	};
	static const uint64_t lens[] = {1, 7, 64, 4096, CALL_LEN - 1, CALL_LEN, CALL_LEN + 9,
		300000};
	struct gantry_queue *q = env_queue(g, 16);
	uint64_t pattern = 0x1122334455667788, len, i;
	unsigned int r, l;

	for (r = 0; r < RTE_DIM(rows); r++) {
		if (rows[r].carrier == GANTRY_CARRIER_MMO && !has_mmo)
			continue;
		for (l = 0; l < RTE_DIM(lens); l++) {
			const struct gantry_sge from[2] = {{(uintptr_t)src + 5, lens[l]},
				{(uintptr_t)src + 400000, 3}};
			const struct gantry_sge to[2] = {{(uintptr_t)dst + 9, 1},
				{(uintptr_t)dst + 100, lens[l] + 2}};

			len = lens[l];
			/*
			 * The longest lengths are tested only with the CPU, which copies them in
			 * several calls.
			 */
			if (rows[r].opcode != 0 && len > CALL_LEN / 4)
				continue;
			env_fill(src, ARENA_LEN, l);
			memset(dst, 0xee, ARENA_LEN);
			expect_carried(q, by(env_copy(src + 3, dst + 1, len), rows[r].flag),
				rows[r].carrier, rows[r].opcode);
			CHECK(memcmp(dst + 1, src + 3, len) == 0);
			CHECK(dst[0] == 0xee && dst[len + 1] == 0xee);

			expect_carried(q, by(fill_of(dst + 1, len, pattern), rows[r].flag),
				rows[r].carrier, rows[r].opcode);
			for (i = 0; i < len; i++)
				CHECK_EQ(dst[1 + i], ((const uint8_t *)&pattern)[i % 8]);
			CHECK(dst[0] == 0xee && dst[len + 1] == 0xee);

			memset(dst, 0xee, ARENA_LEN);
			expect_carried(q, by(lists(from, to, len + 3), rows[r].flag),
				rows[r].carrier, rows[r].opcode);
			CHECK_EQ(dst[9], src[5]);
			CHECK(memcmp(dst + 100, src + 6, len - 1) == 0);
			CHECK(memcmp(dst + 100 + len - 1, src + 400000, 3) == 0);
			CHECK(dst[99] == 0xee && dst[102 + len] == 0xee);
		}
	}
	env_queue_done(q);
}

static void
flags_that_nobody_can_follow_are_refused(void)
{
	const unsigned int both[] = {GANTRY_DESC_BY_CPU | GANTRY_DESC_BY_RDMA,
		GANTRY_DESC_BY_CPU | GANTRY_DESC_BY_MMO, GANTRY_DESC_BY_MMO | GANTRY_DESC_BY_RDMA};
	struct gantry_queue *q = env_queue(g, 16), *plain_q;
	struct gantry_desc d = env_copy(src, dst, 64), w = d, nop = {.op = GANTRY_OP_NOP};
	const struct gantry_conf conf = {.copy_path = has_mmo ? GANTRY_COPY_MMO : GANTRY_COPY_RDMA};
	struct gantry_mem *plain_mem;
	struct gantry *plain;
	uint8_t *m;
	unsigned int i;

	env_fill(src, ARENA_LEN, 1);
	memset(dst, 0, 64);
	for (i = 0; i < RTE_DIM(both); i++) {
		CHECK_EQ(env_do_one(q, by(d, both[i])), GANTRY_BAD_CARRIER);
		CHECK_EQ(env_do_one(q, by(fill_of(dst, 64, 1), both[i])), GANTRY_BAD_CARRIER);
	}
	if (!has_mmo)
		CHECK_EQ(env_do_one(q, by(d, GANTRY_DESC_BY_MMO)), GANTRY_BAD_CARRIER);
	/* Operations other than copies have no choice of carrier. */
	w.op = GANTRY_OP_WRITE;
	CHECK_EQ(env_do_one(q, by(w, GANTRY_DESC_BY_CPU)), GANTRY_BAD_FIELD);
	CHECK_EQ(env_do_one(q, by(nop, GANTRY_DESC_BY_CPU)), GANTRY_BAD_FIELD);
	CHECK_EQ(env_do_one(q, by(d, GANTRY_DESC_BY_CPU | GANTRY_DESC_SOLICITED)),
		GANTRY_BAD_FIELD);
	CHECK(env_is_filled(src, ARENA_LEN, 1) && dst[0] == 0);
	for (i = 0; i < GANTRY_CARRIER_MAX; i++)
		CHECK_EQ(copies(q, i), 0);
	env_queue_done(q);

	/*
	 * Creates an engine whose configuration allows copies by RDMA only if the device has no
	 * MMO.
	 */
	CHECK_EQ(gantry_create(&conf, &plain), 0);
	m = env_mem(plain, 4096, 0, &plain_mem);
	plain_q = env_queue(plain, 16);
	d = env_copy(m, m + 2048, 64);
	CHECK_EQ(env_do_one(plain_q, by(d, GANTRY_DESC_BY_RDMA)),
		has_mmo ? GANTRY_BAD_CARRIER : GANTRY_OK);
	CHECK_EQ(env_do_one(plain_q, by(d, GANTRY_DESC_BY_MMO)),
		has_mmo ? GANTRY_OK : GANTRY_BAD_CARRIER);
	CHECK_EQ(env_do_one(plain_q, by(d, GANTRY_DESC_BY_CPU)), GANTRY_OK);
	env_queue_done(plain_q);
	CHECK_EQ(gantry_mem_unregister(plain_mem, CHECK_PATIENCE_MS), 0);
	CHECK_EQ(gantry_destroy(plain), 0);
}

static void
the_cpu_obeys_the_rules_of_memory_as_the_hardware_does(void)
{
	const struct gantry_sge from[2] = {{(uintptr_t)src, 8},
		{(uintptr_t)src + ARENA_LEN - 4, 8}};
	const struct gantry_sge to[2] = {{(uintptr_t)dst, 8}, {(uintptr_t)dst + 50, 8}};
	struct gantry_desc d = by(env_copy(src, dst, 64), GANTRY_DESC_BY_CPU);
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_mem *ro_mem;
	uint8_t *ro = env_mem(g, 4096, GANTRY_MEM_READ_ONLY, &ro_mem), *unknown = env_map(4096);

	memset(unknown, 7, 4096);
	memset(ro, 9, 4096);
	memset(dst, 0, 64);
	/* The page after the arena cannot be accessed. */
	CHECK_EQ(env_do_one(q, WITH(d, src, (uintptr_t)src + ARENA_LEN - 63)),
		GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, WITH(d, dst, (uintptr_t)dst + ARENA_LEN - 63)),
		GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, WITH(d, dst, (uintptr_t)unknown)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, WITH(d, dst, (uintptr_t)ro)), GANTRY_READ_ONLY);
	CHECK_EQ(env_do_one(q, WITH(d, dst, (uintptr_t)src + 63)), GANTRY_OVERLAP);
	CHECK_EQ(env_do_one(q, WITH(d, len, 0)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, WITH(d, len, UINT64_MAX)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, WITH(d, src, 0)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, by(lists(from, to, 16), GANTRY_DESC_BY_CPU)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, by(fill_of(ro, 8, 1), GANTRY_DESC_BY_CPU)), GANTRY_READ_ONLY);
	CHECK_EQ(dst[0], 0);
	CHECK_EQ(unknown[0], 7);
	CHECK_EQ(ro[0], 9);
	CHECK_EQ(copies(q, GANTRY_CARRIER_CPU), 0);
	/* Read-only memory can be a source. */
	CHECK_EQ(env_do_one(q, WITH(d, src, (uintptr_t)ro)), GANTRY_OK);
	CHECK_EQ(dst[63], 9);
	CHECK_EQ(gantry_mem_unregister(ro_mem, CHECK_PATIENCE_MS), 0);
	CHECK_EQ(env_do_one(q, WITH(d, src, (uintptr_t)ro)), GANTRY_NOT_REGISTERED);
	env_unmap(ro, 4096);
	env_unmap(unknown, 4096);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ order */

/*
 * A chain of fenced copies with alternating carriers: each copy must read the bytes that the
 * previous copy wrote. Without the fences, the bytes would be wrong on a device that reorders.
 */
static void
a_fence_orders_copies_of_different_carriers(void)
{
	static const unsigned int flags[] = {GANTRY_DESC_BY_CPU, 0, GANTRY_DESC_BY_RDMA,
		GANTRY_DESC_BY_CPU, GANTRY_DESC_BY_RDMA, 0};
	enum {
		N = 96,
		LEN = 1000
	};
	struct gantry_queue *q = env_queue(g, 128);
	struct gantry_desc desc[N];
	struct gantry_comp comp[N];
	unsigned int round, i;

	for (round = 0; round < 4; round++) {
		env_fill(src, ARENA_LEN, round);
		memset(dst, 0, ARENA_LEN);
		for (i = 0; i < N; i++) {
			desc[i] = env_copy(i == 0 ? src : dst + (i - 1) * LEN, dst + i * LEN, LEN);
			desc[i].flags =
				flags[i % RTE_DIM(flags)] | (i == 0 ? 0 : GANTRY_DESC_FENCE);
			desc[i].cookie = i;
		}
		env_do(q, desc, comp, N);
		for (i = 0; i < N; i++) {
			CHECK_EQ(comp[i].cookie, i);
			CHECK_EQ(comp[i].status, GANTRY_OK);
		}
		CHECK(memcmp(dst + (N - 1) * LEN, src, LEN) == 0);
	}
	CHECK(copies(q, GANTRY_CARRIER_CPU) == 4 * N / 3);
	env_queue_done(q);
}

static void
a_fence_waits_for_the_last_piece_of_a_long_copy_by_the_cpu(void)
{
	const uint64_t len = 5 * CALL_LEN + 100;
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];

	env_fill(src, ARENA_LEN, 1);
	memset(dst, 0, ARENA_LEN);
	desc[0] = by(env_copy(src, dst, len), GANTRY_DESC_BY_CPU);
	desc[1] = by(env_copy(dst + len - 200, dst + len, 200), GANTRY_DESC_FENCE);
	desc[2] = by(env_copy(dst + len, dst + len + 200, 200),
		GANTRY_DESC_FENCE | GANTRY_DESC_BY_CPU);
	env_do(q, desc, comp, 3);
	CHECK_EQ(comp[2].status, GANTRY_OK);
	CHECK(memcmp(dst, src, len) == 0);
	CHECK(memcmp(dst + len + 200, src + len - 200, 200) == 0);
	env_queue_done(q);
}

/* Returns the number of bytes at dst that are equal to those in src. */
static uint64_t
copied(void)
{
	uint64_t n = 0;

	while (n < ARENA_LEN && dst[n] == src[n])
		n++;
	return n;
}

static const struct gantry_policy all_by_cpu = {1, {{UINT64_MAX, UINT32_MAX, GANTRY_CARRIER_CPU}}};

static void
expect_short_copies_in_turns(struct gantry_queue *q, unsigned int flags)
{
	enum {
		N = 12,
		LEN = 32768
	};
	struct gantry_desc desc[N];
	struct gantry_comp comp[N];
	uint64_t before;
	unsigned int i;

	memset(dst, 0, ARENA_LEN);
	for (i = 0; i < N; i++)
		desc[i] = by(env_copy(src, dst + i * LEN, LEN), flags);
	CHECK_EQ(gantry_submit(q, desc, N), N);
	CHECK(copied() <= CALL_LEN);
	while (gantry_in_flight(q) != 0) {
		before = copied();
		gantry_poll(q, comp, N);
		CHECK(copied() - before <= CALL_LEN);
	}
	CHECK_EQ(copied(), N * LEN);
	CHECK_EQ(env_stats(q).wqes, 0);
}

static void
a_call_copies_64_kib_by_the_cpu_at_most(void)
{
	const uint64_t len = ARENA_LEN - 1;
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_desc desc[2] = {by(env_copy(src, dst, len), GANTRY_DESC_BY_CPU),
		{.op = GANTRY_OP_NOP, .cookie = 1}};
	struct gantry_comp comp[2];
	unsigned int polls = 0, got = 0, turn;
	uint64_t before, now;

	memset(src, 1, ARENA_LEN);
	memset(dst, 0, ARENA_LEN);
	CHECK_EQ(gantry_submit(q, desc, 2), 2);
	before = copied();
	CHECK(before <= CALL_LEN);
	/* An lcore must not sleep while the CPU has bytes to copy. */
	CHECK_EQ(gantry_sleep_limit(q), 0);
	for (; got == 0; polls++) {
		got = gantry_poll(q, comp, 2);
		now = copied();
		CHECK(now - before <= CALL_LEN);
		CHECK(now > before);
		before = now;
	}
	CHECK(polls >= len / CALL_LEN);
	CHECK_EQ(got, 2);
	CHECK_EQ(comp[1].cookie, 1);
	CHECK_EQ(gantry_sleep_limit(q), GANTRY_SLEEP_FOR_EVER);

	/*
	 * The limit applies to the sum of many short copies. In the first turn flags name the CPU,
	 * in the second turn a rule names the CPU.
	 */
	for (turn = 0; turn < 2; turn++) {
		CHECK_EQ(gantry_policy_set(q, turn == 0 ? NULL : &all_by_cpu), 0);
		expect_short_copies_in_turns(q, turn == 0 ? GANTRY_DESC_BY_CPU : 0);
	}
	env_queue_done(q);
}

static void
a_copy_by_the_cpu_completes_behind_those_before_it(void)
{
	enum {
		N = 40
	};
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc desc[N];
	struct gantry_comp comp[N];
	unsigned int i;

	env_fill(src, ARENA_LEN, 5);
	memset(dst, 0, ARENA_LEN);
	for (i = 0; i < N; i++) {
		desc[i] = env_copy(src + i * 100, dst + i * 100, 100);
		desc[i].flags = i % 3 == 0 ? 0 : GANTRY_DESC_BY_CPU;
		desc[i].cookie = i;
		if (i == 20)
			desc[i].len = 0;
	}
	CHECK_EQ(softhca_fault("late ms=5"), 0);
	env_do(q, desc, comp, N);
	for (i = 0; i < N; i++) {
		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].status, i == 20 ? GANTRY_BAD_LENGTH : GANTRY_OK);
	}
	env_queue_done(q);
}

/* ------------------------------------------------------------------ beside other features */

static void
a_long_copy_by_the_cpu_keeps_its_memory_registered(void)
{
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_mem *m_mem;
	uint8_t *m = env_mem(g, ARENA_LEN, 0, &m_mem);
	struct gantry_desc d = by(env_copy(src, m, ARENA_LEN), GANTRY_DESC_BY_CPU);
	struct gantry_comp comp;

	env_fill(src, ARENA_LEN, 3);
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	CHECK_EQ(gantry_mem_unregister(m_mem, 0), -ETIMEDOUT);
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	CHECK_EQ(gantry_mem_unregister(m_mem, 0), 0);
	CHECK(memcmp(src, m, ARENA_LEN) == 0);
	env_unmap(m, ARENA_LEN);
	env_queue_done(q);
}

/*
 * Each piece of a list is looked up when it is copied. So if memory is removed, the remaining
 * pieces are refused.
 */
static void
lists_whose_memory_goes_end_by_their_status(void)
{
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_mem *m_mem;
	uint8_t *m = env_mem(g, ARENA_LEN, 0, &m_mem);
	const struct gantry_sge from[2] = {{(uintptr_t)src, 1000}, {(uintptr_t)src + 1000, 399000}};
	const struct gantry_sge to[2] = {{(uintptr_t)m, 200000}, {(uintptr_t)m + 300000, 200000}};
	struct gantry_desc d = by(lists(from, to, 400000), GANTRY_DESC_BY_CPU);
	struct gantry_comp comp;

	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	CHECK_EQ(gantry_mem_unregister(m_mem, 0), -ETIMEDOUT);
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_LOCAL_ERROR);
	CHECK_EQ(comp.zero, 0);
	CHECK_EQ(gantry_mem_unregister(m_mem, 0), 0);
	env_unmap(m, ARENA_LEN);
	env_queue_done(q);
}

static void
what_the_cpu_has_begun_is_not_cancelled(void)
{
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	unsigned int i;

	env_fill(src, ARENA_LEN, 3);
	memset(dst, 0, ARENA_LEN);
	for (i = 0; i < 3; i++) {
		desc[i] = by(env_copy(src + i * 300000, dst + i * 300000, 300000),
			GANTRY_DESC_BY_CPU);
		desc[i].cookie = i;
	}
	CHECK_EQ(gantry_submit(q, desc, 3), 3);
	CHECK_EQ(gantry_poll(q, comp, 3), 0);
	CHECK_EQ(gantry_cancel(q, 0), 0);
	CHECK_EQ(gantry_cancel(q, 1), 1);
	env_collect(q, comp, 3);
	CHECK_EQ(comp[0].status, GANTRY_OK);
	CHECK_EQ(comp[1].status, GANTRY_CANCELLED);
	CHECK_EQ(comp[2].status, GANTRY_OK);
	CHECK(memcmp(dst, src, 300000) == 0);
	CHECK_EQ(dst[300000], 0);
	CHECK(memcmp(dst + 600000, src + 600000, 300000) == 0);
	env_queue_done(q);
}

/*
 * The queue's connection to itself fails while the CPU copies, and cannot be set up again. The CPU
 * must finish its copies, and can begin new ones.
 */
static void
the_cpu_copies_on_when_the_connection_is_lost(void)
{
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_mem *bad_mem;
	uint8_t *bad = env_mem(g, 4096, 0, &bad_mem);
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];

	env_break(bad_mem);
	env_fill(src, ARENA_LEN, 3);
	memset(dst, 0, ARENA_LEN);
	CHECK_EQ(softhca_fault("refuse call=modify_qp errno=5 times=1000"), 0);
	desc[0] = env_copy(bad, dst, 64);
	desc[1] = by(env_copy(src, dst + 64, 300000), GANTRY_DESC_BY_CPU);
	desc[2] = by(env_copy(dst + 64, dst + 500000, 64), GANTRY_DESC_BY_CPU | GANTRY_DESC_FENCE);
	env_do(q, desc, comp, 3);
	CHECK_EQ(comp[0].status, GANTRY_LOCAL_ERROR);
	CHECK_EQ(comp[1].status, GANTRY_OK);
	CHECK_EQ(comp[2].status, GANTRY_OK);
	CHECK(memcmp(dst + 64, src, 300000) == 0);
	CHECK(memcmp(dst + 500000, src, 64) == 0);
	CHECK_EQ(env_do_one(q, env_copy(src, dst, 64)), GANTRY_DEVICE_LOST);
	CHECK_EQ(env_do_one(q, by(env_copy(src + 64, dst, 64), GANTRY_DESC_BY_CPU)), GANTRY_OK);
	CHECK(memcmp(dst, src + 64, 64) == 0);
	softhca_faults_clear();
	env_mend(bad_mem);
	CHECK_EQ(gantry_mem_unregister(bad_mem, CHECK_PATIENCE_MS), 0);
	env_unmap(bad, 4096);
	env_queue_done(q);
}

/*
 * The CPU's copies use slots that WQEs to a peer used before. Such a copy must not keep that peer
 * busy.
 */
static void
copies_by_the_cpu_keep_no_peer_busy(void)
{
	struct gantry_queue *q = env_queue(g, 2);
	struct gantry_desc d = env_copy(src, dst, 64);
	struct gantry_comp comp[2];
	uint16_t near, far;
	unsigned int i;

	env_connect(q, &near, q, &far);
	d.op = GANTRY_OP_WRITE;
	d.peer = near;
	d.remote_key = gantry_mem_remote_key(mem[1]);
	for (i = 0; i < 2; i++)
		CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	/* Two consecutive copies by the CPU: the first by its flag, the second by a rule. */
	CHECK_EQ(gantry_policy_set(q, &all_by_cpu), 0);
	d = by(env_copy(src, dst, 64), GANTRY_DESC_BY_CPU);
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	d.flags = 0;
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	CHECK_EQ(gantry_peer_close(q, near), 0);
	CHECK_EQ(gantry_peer_close(q, far), 0);
	env_collect(q, comp, 2);
	env_queue_done(q);
}

/*
 * In an unordered queue, the fence of a descriptor to a peer must also wait for copies by the CPU.
 */
static void
a_peers_fence_waits_for_a_long_copy_by_the_cpu(void)
{
	const struct gantry_queue_conf conf = {.depth = 16, .unordered = true};
	struct gantry_queue *q;
	struct gantry_desc desc[2];
	struct gantry_comp comp[2];
	uint16_t near, far;
	uint64_t posted;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	env_connect(q, &near, q, &far);
	env_fill(src, ARENA_LEN, 3);
	memset(dst, 0, ARENA_LEN);
	desc[0] = by(env_copy(src, dst, 400000), GANTRY_DESC_BY_CPU);
	desc[1] = env_copy(dst + 399000, dst + 500000, 1000);
	desc[1].op = GANTRY_OP_WRITE;
	desc[1].peer = near;
	desc[1].remote_key = gantry_mem_remote_key(mem[1]);
	desc[1].flags = GANTRY_DESC_FENCE;
	env_do(q, desc, comp, 2);
	CHECK(memcmp(dst, src, 400000) == 0);
	CHECK(memcmp(dst + 500000, src + 399000, 1000) == 0);
	/*
	 * Without a fence, the peer's descriptor is posted before the CPU has finished, so it must
	 * not read bytes that the CPU writes.
	 */
	desc[1].src = (uintptr_t)src;
	desc[1].flags = 0;
	posted = q->conn[GANTRY_CONN_PEER + near].posted;
	CHECK_EQ(gantry_submit(q, desc, 2), 2);
	CHECK(q->conn[GANTRY_CONN_PEER + near].posted > posted);
	env_collect(q, comp, 2);
	CHECK_EQ(gantry_peer_close(q, near), 0);
	CHECK_EQ(gantry_peer_close(q, far), 0);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ policies */

static const struct gantry_policy three_rules = {3,
	{{4096, 1, GANTRY_CARRIER_CPU}, {256, UINT32_MAX, GANTRY_CARRIER_CPU},
		{UINT64_MAX, 4, GANTRY_CARRIER_RDMA}}};

/* Copies `len` bytes n times in one call, and checks the number of copies for each carrier. */
static void
expect_shared(struct gantry_queue *q, unsigned int n, uint64_t len, unsigned int cpu,
	unsigned int rdma)
{
	struct gantry_stats before = env_stats(q), after;
	struct gantry_desc desc[16];
	struct gantry_comp comp[16];
	unsigned int i;

	memset(dst, 0, ARENA_LEN);
	for (i = 0; i < n; i++)
		desc[i] = env_copy(src + i * len, dst + i * len, len);
	CHECK_EQ(gantry_submit(q, desc, n), n);
	env_collect(q, comp, n);
	for (i = 0; i < n; i++)
		CHECK_EQ(comp[i].status, GANTRY_OK);
	CHECK(memcmp(dst, src, n * len) == 0);
	after = env_stats(q);
	CHECK_EQ(after.copies[GANTRY_CARRIER_CPU] - before.copies[GANTRY_CARRIER_CPU], cpu);
	if (has_mmo) {
		CHECK_EQ(after.copies[GANTRY_CARRIER_RDMA] - before.copies[GANTRY_CARRIER_RDMA],
			rdma);
		CHECK_EQ(after.copies[GANTRY_CARRIER_MMO] - before.copies[GANTRY_CARRIER_MMO],
			n - cpu - rdma);
	}
	if (cpu == n)
		CHECK_EQ(after.wqes, before.wqes);
	else if (has_mmo)
		CHECK_EQ(last_opcode(q), rdma != 0 ? OPCODE_RDMA_WRITE : OPCODE_MMO);
}

static void
the_first_rule_that_fits_says_who_copies(void)
{
	struct gantry_queue *q = queue_with(g, 64, &three_rules);
	struct gantry_policy got;
	unsigned int i;

	env_fill(src, ARENA_LEN, 9);
	gantry_policy_get(q, &got);
	CHECK_EQ(got.n, 3);
	CHECK(memcmp(got.rule, three_rules.rule, sizeof(got.rule)) == 0);
	for (i = 0; i < 4; i++) {
		expect_shared(q, 1, 4096, 1, 0);
		expect_shared(q, 1, 4097, 0, 1);
		expect_shared(q, 2, 4096, 0, 2);
		expect_shared(q, 16, 256, 16, 0);
		expect_shared(q, 4, 257, 0, 4);
		expect_shared(q, 5, 257, 0, 0);
	}
	/* Flags override rules. */
	CHECK_EQ(env_do_one(q, by(env_copy(src, dst, 64), GANTRY_DESC_BY_RDMA)), GANTRY_OK);
	CHECK_EQ(last_opcode(q), OPCODE_RDMA_WRITE);
	/* Rules also apply to lists and fills. */
	expect_carried(q, fill_of(dst, 64, 1), GANTRY_CARRIER_CPU, 0);
	CHECK_EQ(gantry_policy_set(q, NULL), 0);
	gantry_policy_get(q, &got);
	CHECK_EQ(got.n, 0);
	expect_shared(q, 16, 256, 0, 0);
	env_queue_done(q);
}

/*
 * The first rule names the carrier that would also be used without rules. The rules after it must
 * still apply.
 */
static void
a_rule_counts_behind_one_for_the_usual_carrier(void)
{
	const struct gantry_policy policy = {.n = 2,
		.rule = {{.max_in_flight = UINT32_MAX,
				 .max_len = 64,
				 .carrier = GANTRY_CARRIER_USUAL},
			{.max_in_flight = UINT32_MAX,
				.max_len = UINT64_MAX,
				.carrier = GANTRY_CARRIER_CPU}}};
	const struct gantry_queue_conf conf = {.depth = 8, .policy = &policy};
	struct gantry_queue *q;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	CHECK_EQ(env_do_one(q, env_copy(src, dst, 64)), GANTRY_OK);
	CHECK_EQ(copies(q, GANTRY_CARRIER_CPU), 0);
	CHECK_EQ(env_do_one(q, env_copy(src, dst, 65)), GANTRY_OK);
	CHECK_EQ(copies(q, GANTRY_CARRIER_CPU), 1);
	env_queue_done(q);
}

static void
descriptors_in_flight_count_for_rules(void)
{
	struct gantry_queue *q = queue_with(g, 64, &three_rules);
	struct gantry_desc d[2] = {env_copy(src, dst, 1000), env_copy(src, dst + 1000, 1000)};
	struct gantry_comp comp[2];

	/* A copy counts as in flight until its completion is polled. */
	CHECK_EQ(gantry_submit(q, &d[0], 1), 1);
	CHECK_EQ(copies(q, GANTRY_CARRIER_CPU), 0 + 1);
	CHECK_EQ(gantry_submit(q, &d[1], 1), 1);
	CHECK_EQ(copies(q, GANTRY_CARRIER_CPU), 1);
	env_collect(q, comp, 2);
	CHECK_EQ(gantry_submit(q, &d[1], 1), 1);
	CHECK_EQ(copies(q, GANTRY_CARRIER_CPU), 2);
	env_collect(q, comp, 1);
	env_queue_done(q);
}

/*
 * While the connection for copies is under repair, rules must count the descriptors that are in
 * flight then, and not those of an earlier call.
 */
static void
descriptors_in_flight_count_during_a_repair(void)
{
	static const struct gantry_policy lonely_by_cpu = {.n = 1,
		.rule = {{UINT64_MAX, 1, GANTRY_CARRIER_CPU}}};
	struct gantry_queue *q = queue_with(g, 16, &lonely_by_cpu);
	struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];
	struct gantry_desc d[2] = {env_copy(src, dst, 64), {.op = GANTRY_OP_NOP}};
	struct gantry_desc good = env_copy(src, dst + 64, 64);
	struct gantry_comp comp[2];

	CHECK_EQ(softhca_fault("refuse call=modify_qp errno=5 times=1"), 0);
	CHECK_EQ(softhca_fault("complete syndrome=0x04"), 0);
	env_do(q, d, comp, 2);
	CHECK_EQ(comp[0].status, GANTRY_LOCAL_ERROR);
	CHECK_EQ(own->state, GANTRY_CONN_BROKEN);
	own->repair_tsc = UINT64_MAX;
	CHECK_EQ(copies(q, GANTRY_CARRIER_CPU), 0);
	CHECK_EQ(gantry_submit(q, &good, 1), 1);
	CHECK_EQ(copies(q, GANTRY_CARRIER_CPU), 1);
	env_collect(q, comp, 1);
	CHECK_EQ(comp[0].status, GANTRY_OK);
	CHECK(memcmp(dst + 64, src, 64) == 0);
	/* Two copies are too many for the CPU, so they wait for the repair. */
	CHECK_EQ(gantry_submit(q, &good, 1), 1);
	d[0] = good;
	d[1] = env_copy(src, dst + 128, 64);
	CHECK_EQ(gantry_submit(q, d, 2), 2);
	CHECK_EQ(copies(q, GANTRY_CARRIER_CPU), 2);
	own->repair_tsc = 0;
	env_collect(q, comp, 2);
	env_collect(q, comp, 1);
	CHECK_EQ(copies(q, GANTRY_CARRIER_CPU), 2);
	CHECK_EQ(env_stats(q).recoveries, 1);
	CHECK_EQ(softhca_faults_left(), 0);
	env_queue_done(q);
}

/*
 * A policy must apply to every copy whose carrier is chosen after the policy was set, even if the
 * copy was submitted before. In this case the copy was submitted before, and waits for its fence.
 */
static void
a_policy_is_for_copies_that_wait_too(void)
{
	struct gantry_desc d[3] = {env_copy(src, dst, 1000),
		by(env_copy(src, dst + 1000, 1000), GANTRY_DESC_FENCE),
		by(fill_of(dst + 2000, 1000, 7), GANTRY_DESC_FENCE)};
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_comp comp[3];
	uint32_t i;

	memset(dst, 0, 3000);
	CHECK_EQ(gantry_submit(q, d, 3), 3);
	CHECK_EQ(gantry_policy_set(q, &all_by_cpu), 0);
	env_collect(q, comp, 3);
	for (i = 0; i < 3; i++)
		CHECK_EQ(comp[i].status, GANTRY_OK);
	CHECK_EQ(copies(q, GANTRY_CARRIER_CPU), 2);
	CHECK(memcmp(dst + 1000, src, 1000) == 0 && dst[2000] == 7);
	env_queue_done(q);
}

/*
 * gantry_policy_rule::max_in_flight must also count descriptors of the same call, and writes to a
 * peer that have not been polled. In an unordered queue it must not count writes to a peer, because
 * they belong to another connection.
 */
static void
of_an_unordered_queue_only_copies_count_for_rules(void)
{
	struct gantry_desc d[2] = {env_copy(src, dst, 1000), env_copy(src, dst + 1000, 1000)};
	struct gantry_desc write = env_copy(src, dst + 4096, 64);
	struct gantry_queue_conf conf = {.depth = 64, .policy = &three_rules};
	struct gantry_comp comp[5];
	struct gantry_queue *q;
	uint16_t to, back;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		conf.unordered = i == 1;
		CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
		env_connect(q, &to, q, &back);
		write.op = GANTRY_OP_WRITE;
		write.peer = to;
		write.remote_key = gantry_mem_remote_key(mem[1]);
		CHECK_EQ(gantry_submit(q, d, 2), 2);
		CHECK_EQ(copies(q, GANTRY_CARRIER_CPU), 0);
		env_collect(q, comp, 2);
		CHECK_EQ(gantry_submit(q, &write, 1), 1);
		CHECK_EQ(gantry_submit(q, &write, 1), 1);
		CHECK_EQ(gantry_submit(q, &d[0], 1), 1);
		CHECK_EQ(copies(q, GANTRY_CARRIER_CPU), conf.unordered);
		CHECK_EQ(gantry_submit(q, &d[1], 1), 1);
		CHECK_EQ(copies(q, GANTRY_CARRIER_CPU), conf.unordered);
		env_collect(q, comp, 4);
		env_queue_done(q);
	}
}

static void
a_policy_may_name_what_the_engine_has(void)
{
	const struct gantry_policy mmo = {1, {{1, 1, GANTRY_CARRIER_MMO}}};
	const struct gantry_policy rdma = {1, {{1, 1, GANTRY_CARRIER_RDMA}}};
	const struct gantry_policy all = {3,
		{{1, 1, GANTRY_CARRIER_USUAL}, {2, 1, GANTRY_CARRIER_CPU},
			{3, 1, GANTRY_CARRIER_USUAL}}};
	const struct gantry_policy odd = {1, {{1, 1, GANTRY_CARRIER_MAX}}};
	const struct gantry_policy many = {.n = GANTRY_POLICY_MAX + 1};
	struct gantry_queue *q = queue_with(g, 16, &all);
	const struct gantry_conf conf = {.policy = &all};
	struct gantry_policy got;
	struct gantry_info info;
	struct gantry *other;

	gantry_info_get(g, &info);
	CHECK_EQ(info.carriers, has_mmo ? 0xf : 0xb);
	CHECK_EQ(gantry_policy_set(q, &mmo), has_mmo ? 0 : -EOPNOTSUPP);
	CHECK_EQ(gantry_policy_set(q, &odd), -EINVAL);
	CHECK_EQ(gantry_policy_set(q, &many), -EINVAL);
	gantry_policy_get(q, &got);
	CHECK_EQ(got.n, has_mmo ? 1 : 3);
	env_queue_done(q);
	CHECK_EQ(gantry_queue_create(g, &(struct gantry_queue_conf){.policy = &odd}, &q), -EINVAL);

	/* An engine's policy applies to its queues. */
	CHECK_EQ(gantry_create(&conf, &other), 0);
	gantry_info_get(other, &info);
	CHECK_EQ(info.carriers, has_mmo ? 0x7 : 0xb);
	q = queue_with(other, 16, NULL);
	gantry_policy_get(q, &got);
	CHECK(got.n == 3 && got.rule[1].carrier == GANTRY_CARRIER_CPU);
	CHECK_EQ(gantry_policy_set(q, &rdma), has_mmo ? -EOPNOTSUPP : 0);
	env_queue_done(q);
	/* A queue's policy without rules replaces the engine's policy. */
	q = queue_with(other, 16, &(const struct gantry_policy){0});
	gantry_policy_get(q, &got);
	CHECK_EQ(got.n, 0);
	env_queue_done(q);
	CHECK_EQ(gantry_destroy(other), 0);
	CHECK_EQ(gantry_create(&(struct gantry_conf){.policy = &odd}, &other), -EINVAL);
	CHECK_EQ(gantry_create(&(struct gantry_conf){.policy = &rdma}, &other),
		has_mmo ? -EOPNOTSUPP : 0);
	if (!has_mmo)
		CHECK_EQ(gantry_destroy(other), 0);
}

/*
 * The policy of a worker's queue changes while the worker runs. Each copy must use the carrier of
 * the policy that was set last.
 */
static void
the_policy_of_a_running_worker_changes(void)
{
	struct gantry_worker *w;
	struct gantry_desc d = env_copy(src, dst, 512);
	struct gantry_comp comp;
	uint64_t by_cpu = 0, n = 0;
	unsigned int i;

	CHECK_EQ(gantry_worker_create(g, 1, NULL, &w), 0);
	CHECK_EQ(gantry_worker_start(w), 0);
	for (i = 0; i < 40; i++) {
		CHECK_EQ(gantry_policy_set(gantry_worker_queue(w), i % 2 ? &all_by_cpu : NULL), 0);
		CHECK_EQ(gantry_enqueue_burst(w, &d, 1), 1);
		while (gantry_dequeue_burst(w, &comp, 1) == 0)
			env_pump();
		CHECK_EQ(comp.status, GANTRY_OK);
		by_cpu += i % 2;
		n++;
	}
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(copies(gantry_worker_queue(w), GANTRY_CARRIER_CPU), by_cpu);
	CHECK_EQ(copies(gantry_worker_queue(w), has_mmo ? GANTRY_CARRIER_MMO : GANTRY_CARRIER_RDMA),
		n - by_cpu);
	CHECK_EQ(gantry_worker_destroy(w), 0);
}

/* ------------------------------------------------------------------ text */

static void
text_becomes_the_policy_that_it_says(void)
{
	static const char text[] = "# comment 1 2 cpu\n"
				   "\n"
				   "  1\t4096   cpu # few\r\n"
				   "any 256 cpu\n"
				   "4 any rdma\n"
				   "4294967294 18446744073709551614 mmo\n"
				   "any any usual";
	struct gantry_policy p, again;
	char out[512], cut[20];
	int len;

	CHECK_EQ(gantry_policy_parse(text, &p), 0);
	CHECK_EQ(p.n, 5);
	CHECK(memcmp(p.rule, three_rules.rule, 3 * sizeof(p.rule[0])) == 0);
	CHECK_EQ(p.rule[3].max_in_flight, UINT32_MAX - 1);
	CHECK_EQ(p.rule[3].max_len, UINT64_MAX - 1);
	CHECK_EQ(p.rule[3].carrier, GANTRY_CARRIER_MMO);
	CHECK_EQ(p.rule[4].max_in_flight, UINT32_MAX);
	CHECK_EQ(p.rule[4].max_len, UINT64_MAX);
	CHECK_EQ(p.rule[4].carrier, GANTRY_CARRIER_USUAL);
	len = gantry_policy_print(&p, out, sizeof(out));
	CHECK_EQ(len, strlen(out));
	CHECK(strstr(out, "\n1 4096 cpu\nany 256 cpu\n4 any rdma\n") != NULL);
	CHECK_EQ(gantry_policy_parse(out, &again), 0);
	CHECK(again.n == 5 && memcmp(again.rule, p.rule, 5 * sizeof(p.rule[0])) == 0);
	CHECK_EQ(gantry_policy_print(&p, cut, sizeof(cut)), len);
	CHECK_EQ(strlen(cut), sizeof(cut) - 1);
	CHECK_EQ(gantry_policy_print(&p, NULL, 0), len);
	CHECK_EQ(gantry_policy_parse("", &p), 0);
	CHECK_EQ(p.n, 0);
	/* The longest line is accepted, even if its comment exceeds the limit. */
	snprintf(out, sizeof(out), "%255s# %200s", "1 4096 cpu", "few");
	CHECK_EQ(gantry_policy_parse(out, &p), 0);
	CHECK(p.n == 1 && memcmp(p.rule, three_rules.rule, sizeof(p.rule[0])) == 0);
	p.rule[0].carrier = GANTRY_CARRIER_MAX;
	CHECK_EQ(gantry_policy_print(&p, out, sizeof(out)), -EINVAL);
	p.rule[0].carrier = GANTRY_CARRIER_CPU;
	CHECK(gantry_policy_print(&p, out, sizeof(out)) > 0);
	p.n = GANTRY_POLICY_MAX + 1;
	CHECK_EQ(gantry_policy_print(&p, out, sizeof(out)), -EINVAL);
}

static void
text_that_is_no_policy_is_refused(void)
{
	static const char *const bad[] = {"1 2", "1 2 cpu 3", "cpu", "0 64 cpu", "1 0 cpu",
		"1 2 gpu", "-1 2 cpu", "4294967296 1 cpu", "1 18446744073709551616 cpu", "1 4K cpu",
		"1 2 cpux", "1,2,cpu", "0x10 2 cpu", "1 2 cpu\n3"};
	char many[GANTRY_POLICY_MAX * 8 + 16] = "", line[400];
	struct gantry_policy p = {.n = 77};
	unsigned int i;

	for (i = 0; i < RTE_DIM(bad); i++)
		CHECK_EQ(gantry_policy_parse(bad[i], &p), -EINVAL, "%s", bad[i]);
	memset(line, '1', sizeof(line));
	strcpy(line + sizeof(line) - 7, " 2 cpu");
	CHECK_EQ(gantry_policy_parse(line, &p), -EINVAL);
	memset(line, ' ', sizeof(line) - 7);
	CHECK_EQ(gantry_policy_parse(line, &p), -EINVAL);
	/*
	 * A line that is one byte too long, without and with a comment, as the last line and before
	 * another line, is refused.
	 */
	strcpy(line + 256 - 7, "1 2 cpu");
	CHECK_EQ(gantry_policy_parse(line, &p), -EINVAL);
	strcat(line, "# few\n1 2 cpu\n");
	CHECK_EQ(gantry_policy_parse(line, &p), -EINVAL);
	for (i = 0; i < GANTRY_POLICY_MAX; i++)
		strcat(many, "1 2 cpu\n");
	CHECK_EQ(p.n, 77);
	CHECK_EQ(gantry_policy_parse(many, &p), 0);
	CHECK_EQ(p.n, GANTRY_POLICY_MAX);
	strcat(many, "1 2 cpu\n");
	p.n = 77;
	CHECK_EQ(gantry_policy_parse(many, &p), -E2BIG);
	CHECK_EQ(p.n, 77);
}

static const struct check_case cases[] = {
	{"each flag makes its carrier move the bytes", each_flag_has_its_carrier_move_the_bytes},
	{"flags that name an impossible carrier are refused",
		flags_that_nobody_can_follow_are_refused},
	{"the CPU obeys the rules of memory as the hardware does",
		the_cpu_obeys_the_rules_of_memory_as_the_hardware_does},
	{"a fence orders copies of different carriers",
		a_fence_orders_copies_of_different_carriers},
	{"a fence waits for the last piece of a long copy by the CPU",
		a_fence_waits_for_the_last_piece_of_a_long_copy_by_the_cpu},
	{"a call copies 64 KiB by the CPU at most", a_call_copies_64_kib_by_the_cpu_at_most},
	{"a copy by the CPU completes after the copies before it",
		a_copy_by_the_cpu_completes_behind_those_before_it},
	{"a long copy by the CPU keeps its memory registered",
		a_long_copy_by_the_cpu_keeps_its_memory_registered},
	{"lists whose memory is removed end with a status",
		lists_whose_memory_goes_end_by_their_status},
	{"a copy that the CPU has begun is not cancelled", what_the_cpu_has_begun_is_not_cancelled},
	{"the CPU continues to copy when the connection is lost",
		the_cpu_copies_on_when_the_connection_is_lost},
	{"copies by the CPU keep no peer busy", copies_by_the_cpu_keep_no_peer_busy},
	{"a peer's fence waits for a long copy by the CPU",
		a_peers_fence_waits_for_a_long_copy_by_the_cpu},
	{"the first rule that applies names the carrier", the_first_rule_that_fits_says_who_copies},
	{"a rule after a rule for the usual carrier applies",
		a_rule_counts_behind_one_for_the_usual_carrier},
	{"descriptors in flight count for rules", descriptors_in_flight_count_for_rules},
	{"descriptors in flight count during a repair",
		descriptors_in_flight_count_during_a_repair},
	{"a policy applies to waiting copies too", a_policy_is_for_copies_that_wait_too},
	{"in an unordered queue, only copies count for rules",
		of_an_unordered_queue_only_copies_count_for_rules},
	{"a policy may name only carriers that the engine has",
		a_policy_may_name_what_the_engine_has},
	{"the policy of a running worker changes", the_policy_of_a_running_worker_changes},
	{"text becomes the policy that it describes", text_becomes_the_policy_that_it_says},
	{"text that is not a policy is refused", text_that_is_no_policy_is_refused},
};

int
main(int argc, char **argv)
{
	struct gantry_conf conf = {.rdma_copies = true};
	struct gantry_info info;

	env_init(1);
	CHECK_EQ(gantry_create(&conf, &g), 0);
	gantry_info_get(g, &info);
	has_mmo = info.copy_path == GANTRY_COPY_MMO;
	rte_log_set_level(gantry_logtype, RTE_LOG_CRIT);
	/* If the engine may use RDMA for copies, peers can write every region. */
	src = env_mem(g, ARENA_LEN, 0, &mem[0]);
	dst = env_mem(g, ARENA_LEN, 0, &mem[1]);
	env_run(cases, RTE_DIM(cases), argc, argv);
	return env_done(g, mem, 2);
}
