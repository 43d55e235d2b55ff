/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists and fills, compared with loops of the CPU: random lists of all shapes, every refusal, fills
 * of every length, more patterns than buffers, split work, and recovery.
 */
#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_log.h>

#include <softhca.h>

#include "gantry_env.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_queue.h"

#define ARENA_LEN (UINT64_C(1) << 18)
#define N_REGIONS 4
#define PART      (ARENA_LEN / N_REGIONS)

static struct gantry *g;
static struct gantry_info info;
/*
 * src is registered in N_REGIONS regions, dst in one region. model is the expected content of dst.
 */
static uint8_t *src, *dst, *model;
static struct gantry_mem *mem[N_REGIONS + 1];

static void
reset(uint64_t seed)
{
	env_fill(src, ARENA_LEN, seed);
	env_fill(dst, ARENA_LEN, seed + 1);
	memcpy(model, dst, ARENA_LEN);
}

static struct gantry_desc
copy_sg(const struct gantry_sge *from, uint32_t n_from, const struct gantry_sge *to, uint32_t n_to,
	uint64_t len)
{
	struct gantry_desc d = env_copy(from, (void *)(uintptr_t)to, len);

	d.op = GANTRY_OP_COPY_SG;
	d.arg[0] = n_from | (uint64_t)n_to << 32;
	return d;
}

static struct gantry_desc
fill(void *to, uint64_t len, uint64_t pattern)
{
	return (struct gantry_desc){
		.op = GANTRY_OP_FILL,
		.dst = (uintptr_t)to,
		.len = len,
		.arg[0] = pattern,
	};
}

/* ------------------------------------------------------------------ lists */

/*
 * Divides len bytes into n entries, some of them empty. Each entry lies at a random offset of
 * `within`.
 */
static void
cut(uint64_t *seed, struct gantry_sge *e, uint32_t n, uint64_t len)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint64_t left = i + 1 == n ? len : check_random(seed) % (len / (n - i) * 2 + 1);

		e[i].len = check_random(seed) % 4 == 0 && i + 1 != n ? 0 : RTE_MIN(left, len);
		len -= e[i].len;
	}
}

/*
 * Puts the entries of a source at any addresses, each entry in one region. Empty entries need no
 * region.
 */
static void
place_src(uint64_t *seed, struct gantry_sge *e, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		e[i].addr = e[i].len == 0
				    ? check_random(seed)
				    : (uintptr_t)src + PART * (check_random(seed) % N_REGIONS) +
					      check_random(seed) % (PART - e[i].len + 1);
}

/*
 * Puts the entries of a destination one after the other, with gaps: entries of a destination must
 * not overlap.
 */
static void
place_dst(uint64_t *seed, struct gantry_sge *e, uint32_t n)
{
	uint64_t at = (uintptr_t)dst;
	uint32_t i;

	for (i = 0; i < n; i++) {
		at += check_random(seed) % 100;
		e[i].addr = at;
		at += e[i].len;
	}
}

/* Applies the copy to the model, byte by byte. */
static void
model_copy(const struct gantry_sge *from, const struct gantry_sge *to, uint64_t len)
{
	uint64_t i = 0, k = 0;

	for (; len != 0; len--) {
		for (; i == from->len; from++)
			i = 0;
		for (; k == to->len; to++)
			k = 0;
		model[to->addr + k++ - (uintptr_t)dst] = *(uint8_t *)(uintptr_t)(from->addr + i++);
	}
}

static void
random_lists_copy_what_loops_of_the_cpu_copy(void)
{
	static struct gantry_sge from[16][GANTRY_SGE_MAX], to[16][GANTRY_SGE_MAX];
	struct gantry_queue *q = env_queue(g, 16);
	uint64_t seed = 7;
	uint32_t round, i;

	for (round = 0; round < 24; round++) {
		struct gantry_desc desc[16];
		struct gantry_comp comp[16];

		reset(round);
		for (i = 0; i < RTE_DIM(desc); i++) {
			uint32_t most = round % 8 < 2 ? GANTRY_SGE_MAX : 12;
			uint32_t n = 1 + check_random(&seed) % most;
			uint32_t m = 1 + check_random(&seed) % most;
			uint64_t len = 1 + check_random(&seed) % 12000;

			cut(&seed, from[i], n, len);
			cut(&seed, to[i], m, len);
			place_src(&seed, from[i], n);
			place_dst(&seed, to[i], m);
			desc[i] = copy_sg(from[i], n, to[i], m, len);
			/*
			 * All copies write to the same memory, so each copy waits for the previous
			 * one.
			 */
			desc[i].flags = round % 2 == 0 ? GANTRY_DESC_FENCE : 0;
			desc[i].cookie = i;
			model_copy(from[i], to[i], len);
			if (round % 2 != 0)
				env_do(q, &desc[i], &comp[i], 1);
		}
		if (round % 2 == 0)
			env_do(q, desc, comp, RTE_DIM(desc));
		for (i = 0; i < RTE_DIM(desc); i++) {
			CHECK_EQ(comp[i].cookie, i);
			CHECK_EQ(comp[i].status, GANTRY_OK);
			CHECK_EQ(comp[i].zero, 0);
			CHECK_EQ(comp[i].len, desc[i].len);
		}
		CHECK(memcmp(dst, model, ARENA_LEN) == 0);
	}
	env_queue_done(q);
}

static void
the_longest_lists_of_single_bytes_are_copied(void)
{
	static struct gantry_sge from[GANTRY_SGE_MAX], to[GANTRY_SGE_MAX];
	/* The ring holds 64 WQEs, so the copy is split. */
	struct gantry_queue *q = env_queue(g, 2);
	uint32_t i;

	reset(1);
	for (i = 0; i < GANTRY_SGE_MAX; i++) {
		from[i] = (struct gantry_sge){(uintptr_t)src + 3 * i, 1};
		to[i] = (struct gantry_sge){(uintptr_t)dst + 2 * (GANTRY_SGE_MAX - i), 1};
	}
	model_copy(from, to, GANTRY_SGE_MAX);
	CHECK_EQ(env_do_one(q, copy_sg(from, GANTRY_SGE_MAX, to, GANTRY_SGE_MAX, GANTRY_SGE_MAX)),
		GANTRY_OK);
	CHECK(memcmp(dst, model, ARENA_LEN) == 0);
	CHECK_EQ(env_stats(q).wqes, GANTRY_SGE_MAX);
	CHECK_EQ(env_stats(q).bytes, GANTRY_SGE_MAX);
	env_queue_done(q);
}

static void
each_bad_list_gets_its_own_status_and_no_wqe(void)
{
	const uint64_t s = (uintptr_t)src, t = (uintptr_t)dst;
	static struct gantry_sge many[GANTRY_SGE_MAX + 1];
	const struct gantry_sge from[2] = {{s, 10}, {s + 100, 20}}, to[2] = {{t, 5}, {t + 50, 25}};
	const struct gantry_sge across[2] = {{s + PART - 5, 10}, {s + 100, 20}};
	const struct gantry_sge unknown[2] = {{t, 5}, {(uintptr_t)model, 25}};
	const struct gantry_sge null[2] = {{0, 10}, {s, 20}};
	const struct gantry_sge wraps[2] = {{UINT64_MAX - 5, 10}, {s, 20}};
	const struct gantry_sge more[2] = {{s, UINT64_MAX}, {s, 31}};
	const struct gantry_sge onto[2] = {{s + 500, 5}, {s + 119, 25}};
	const struct gantry_sge beside[3] = {{s + 10, 5}, {s + 50, 0}, {s + 120, 25}};
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_desc good = copy_sg(from, 2, to, 2, 30), bad;

	many[0] = from[0];
	many[GANTRY_SGE_MAX] = from[1];
	CHECK_EQ(env_do_one(q, WITH(good, arg[0], 2)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, WITH(good, arg[0], UINT64_C(2) << 32)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, WITH(good, arg[0], UINT64_C(2) << 32 | 1)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, WITH(good, arg[0], UINT64_C(1) << 32 | 2)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, copy_sg(many, GANTRY_SGE_MAX + 1, to, 2, 30)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, copy_sg(to, 2, many, GANTRY_SGE_MAX + 1, 30)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, WITH(good, len, 29)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, WITH(good, len, 31)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, WITH(good, len, 0)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, copy_sg(wraps, 2, to, 2, 30)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, copy_sg(more, 2, to, 2, 30)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, copy_sg(null, 2, to, 2, 30)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, WITH(good, src, good.src + 4)), GANTRY_BAD_ADDRESS);
	CHECK_EQ(env_do_one(q, WITH(good, dst, good.dst + 4)), GANTRY_BAD_ADDRESS);
	CHECK_EQ(env_do_one(q, WITH(good, src, 0)), GANTRY_BAD_ADDRESS);
	CHECK_EQ(env_do_one(q, WITH(good, dst, 0)), GANTRY_BAD_ADDRESS);
	CHECK_EQ(env_do_one(q, WITH(good, arg[1], 1)), GANTRY_BAD_FIELD);
	CHECK_EQ(env_do_one(q, WITH(good, peer, 1)), GANTRY_BAD_FIELD);
	CHECK_EQ(env_do_one(q, copy_sg(across, 2, to, 2, 30)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, copy_sg(from, 2, unknown, 2, 30)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, copy_sg(from, 2, onto, 2, 30)), GANTRY_OVERLAP);
	CHECK_EQ(env_stats(q).wqes, 0);
	bad = copy_sg(from, 2, beside, 3, 30);
	CHECK_EQ(env_do_one(q, bad), GANTRY_OK);
	CHECK_EQ(env_do_one(q, good), GANTRY_OK);
	env_queue_done(q);
}

/*
 * The memory of a later entry is removed after earlier entries were copied. So the status must not
 * promise that no byte was moved.
 */
static void
a_list_whose_memory_goes_half_way_fails(void)
{
	static const unsigned int carriers[] = {0, GANTRY_DESC_BY_CPU};
	unsigned int i;

	for (i = 0; i < RTE_DIM(carriers); i++) {
		struct gantry_queue *q = env_queue(g, 2);
		/* More WQEs than the send queue has, and more than the CPU copies in one call. */
		struct gantry_sge from[GANTRY_SGE_MAX], to = {(uintptr_t)dst, ARENA_LEN};
		struct gantry_mem *mem_b;
		uint8_t *b = env_mem(g, ARENA_LEN, 0, &mem_b);
		struct gantry_desc d;
		struct gantry_comp comp;
		uint32_t k;

		reset(i);
		for (k = 0; k < GANTRY_SGE_MAX; k++)
			from[k] = (struct gantry_sge){(uintptr_t)src, ARENA_LEN / GANTRY_SGE_MAX};
		from[GANTRY_SGE_MAX - 1].addr = (uintptr_t)b;
		d = copy_sg(from, GANTRY_SGE_MAX, &to, 1, ARENA_LEN);
		d.flags = carriers[i];
		CHECK_EQ(gantry_submit(q, &d, 1), 1);
		CHECK_EQ(gantry_mem_unregister(mem_b, 0), -ETIMEDOUT);
		env_collect(q, &comp, 1);
		CHECK_EQ(comp.status, GANTRY_LOCAL_ERROR);
		CHECK_EQ(comp.syndrome, 0);
		CHECK(memcmp(dst, src, ARENA_LEN / GANTRY_SGE_MAX) == 0);
		CHECK_EQ(env_stats(q).by_status[GANTRY_LOCAL_ERROR], 1);
		CHECK_EQ(env_stats(q).recoveries, 0);
		CHECK_EQ(gantry_mem_unregister(mem_b, CHECK_PATIENCE_MS), 0);
		/* Now the memory is not registered when the copy begins, so no byte is moved. */
		memset(dst, ENV_UNTOUCHED, ARENA_LEN);
		CHECK_EQ(env_do_one(q, d), GANTRY_NOT_REGISTERED);
		CHECK_EQ(dst[0], ENV_UNTOUCHED);
		env_queue_done(q);
		env_unmap(b, ARENA_LEN);
	}
}

/* ------------------------------------------------------------------ fills */

/*
 * Computes the expected bytes of a fill, as the header says: byte i of dst is byte i % 8 of the
 * pattern in memory.
 */
static void
model_fill(uint64_t at, uint64_t len, uint64_t pattern)
{
	uint8_t bytes[8];
	uint64_t i;

	memcpy(bytes, &pattern, sizeof(bytes));
	for (i = 0; i < len; i++)
		model[at + i] = bytes[i % 8];
}

static void
fills_of_every_length_and_place(void)
{
	static const uint64_t lens[] = {1, 2, 7, 8, 9, 63, 1023, 1024, 1025, 32767, 32768, 32769,
		65536, 200001};
	struct gantry_queue *q = env_queue(g, 16);
	uint64_t seed = 3;
	uint32_t i;

	reset(5);
	for (i = 0; i < RTE_DIM(lens); i++) {
		uint64_t at = check_random(&seed) % 9000, pattern = check_random(&seed);

		CHECK_EQ(env_do_one(q, fill(dst + at, lens[i], pattern)), GANTRY_OK);
		model_fill(at, lens[i], pattern);
		CHECK(memcmp(dst, model, ARENA_LEN) == 0);
	}
	CHECK_EQ(env_do_one(q, fill(dst, 100, 0)), GANTRY_OK);
	model_fill(0, 100, 0);
	CHECK(memcmp(dst, model, ARENA_LEN) == 0);
	env_queue_done(q);
}

/*
 * The lengths of the WQEs are not multiples of eight: each WQE must continue the pattern where the
 * previous WQE ended.
 */
static void
fills_keep_their_pattern_across_wqes(void)
{
	struct gantry_queue *q = env_queue(g, 16);
	uint32_t i;

	q->conn[GANTRY_CONN_OWN].max_len = 61;
	reset(6);
	for (i = 1; i < 200; i += 7) {
		CHECK_EQ(env_do_one(q, fill(dst + i, 10 * i, UINT64_C(0x0807060504030201) * i)),
			GANTRY_OK);
		model_fill(i, 10 * i, UINT64_C(0x0807060504030201) * i);
	}
	CHECK(memcmp(dst, model, ARENA_LEN) == 0);
	env_queue_done(q);
}

/*
 * There are more patterns than buffers, so fills wait: none may be lost. Each fill writes to its
 * own memory, so the order of the fills has no effect.
 */
static void
more_patterns_than_buffers_wait_and_none_is_lost(void)
{
	struct gantry_queue *q = env_queue(g, 256);
	static struct gantry_desc desc[256];
	static struct gantry_comp comp[256];
	uint32_t i;

	reset(9);
	for (i = 0; i < RTE_DIM(desc); i++) {
		/* 48 patterns are used again and again, and the lengths for one pattern grow. */
		uint64_t pattern = UINT64_C(0x0102030405060708) * (i % 48 + 1), len = 1 + 3 * i;

		desc[i] = fill(dst + i * 1000, len, pattern);
		desc[i].cookie = i;
		model_fill(i * 1000, len, pattern);
	}
	env_do(q, desc, comp, RTE_DIM(desc));
	for (i = 0; i < RTE_DIM(desc); i++) {
		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].status, GANTRY_OK);
	}
	CHECK(memcmp(dst, model, ARENA_LEN) == 0);
	env_queue_done(q);
}

/*
 * First fills with as many short patterns as there are buffers, then with as many long patterns. No
 * fill may wait for a buffer.
 */
static void
as_many_patterns_as_buffers_do_not_wait(void)
{
	const struct {
		uint32_t n;
		uint64_t len;
	} kinds[] = {{32, 4096}, {4, 32768}};
	struct gantry_queue *q = env_queue(g, 256);
	static struct gantry_desc desc[32];
	static struct gantry_comp comp[32];
	uint32_t kind, round, i;

	for (kind = 0; kind < RTE_DIM(kinds); kind++) {
		uint64_t len = RTE_MIN(kinds[kind].len, info.max_copy_len);
		uint32_t n = kinds[kind].n;

		for (round = 0; round < 3; round++) {
			reset(round);
			for (i = 0; i < n; i++) {
				uint64_t pattern = UINT64_C(0x1020304050607080) + 32 * kind + i;

				desc[i] = fill(dst + i * len, len, pattern);
				model_fill(i * len, len, pattern);
			}
			CHECK_EQ(gantry_submit(q, desc, n), n);
			CHECK(!gantry_stream_waits(&q->stream));
			env_collect(q, comp, n);
			for (i = 0; i < n; i++)
				CHECK_EQ(comp[i].status, GANTRY_OK);
			CHECK(memcmp(dst, model, ARENA_LEN) == 0);
		}
	}
	env_queue_done(q);
}

/*
 * Long patterns get the buffers of short patterns, and short patterns get those of long patterns.
 * Each fill must write its own pattern to its own destination.
 */
static void
buffers_join_and_part_while_others_are_read(void)
{
	enum {
		N = 64,
		PLACE = ARENA_LEN / N
	};
	static struct gantry_desc desc[N];
	static struct gantry_comp comp[N];
	struct gantry_queue *q = env_queue(g, N);
	uint64_t seed = 11;
	uint32_t round, i;

	for (round = 0; round < 20; round++) {
		uint64_t at = 0;

		reset(round);
		for (i = 0; i < N; i++) {
			uint64_t pattern = UINT64_C(0x8090a0b0c0d0e0f) * (check_random(&seed) % 40);
			uint64_t most = check_random(&seed) % 8 == 0 ? 9 * PLACE : PLACE / 2;
			uint64_t len = 1 + check_random(&seed) % most;

			if (at + len > ARENA_LEN)
				break;
			desc[i] = fill(dst + at, len, pattern);
			model_fill(at, len, pattern);
			at += len;
		}
		env_do(q, desc, comp, i);
		while (i-- != 0)
			CHECK_EQ(comp[i].status, GANTRY_OK);
		CHECK(memcmp(dst, model, ARENA_LEN) == 0);
	}
	env_queue_done(q);
}

static void
read_only_memory_is_no_destination(void)
{
	struct gantry_queue *q = env_queue(g, 16);
	uint8_t *page = env_map(4096);
	const struct gantry_sge from = {(uintptr_t)src, 64}, to = {(uintptr_t)page, 64};
	const struct gantry_sge out = {(uintptr_t)dst, 64};
	struct gantry_mem *ro;

	CHECK_EQ(gantry_mem_register(g, page, 4096, GANTRY_MEM_READ_ONLY, &ro), 0);
	CHECK_EQ(env_do_one(q, copy_sg(&from, 1, &to, 1, 64)), GANTRY_READ_ONLY);
	CHECK_EQ(env_do_one(q, fill(page, 64, 1)), GANTRY_READ_ONLY);
	CHECK_EQ(env_stats(q).wqes, 0);
	CHECK_EQ(env_do_one(q, copy_sg(&to, 1, &out, 1, 64)), GANTRY_OK);
	env_queue_done(q);
	CHECK_EQ(gantry_mem_unregister(ro, CHECK_PATIENCE_MS), 0);
	env_unmap(page, 4096);
}

static void
each_bad_fill_gets_its_own_status_and_no_wqe(void)
{
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_desc good = fill(dst, 100, 1);

	CHECK_EQ(env_do_one(q, WITH(good, len, 0)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, WITH(good, len, UINT64_MAX)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, WITH(good, dst, 0)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, WITH(good, src, good.dst)), GANTRY_BAD_FIELD);
	CHECK_EQ(env_do_one(q, WITH(good, arg[1], 1)), GANTRY_BAD_FIELD);
	CHECK_EQ(env_do_one(q, WITH(good, imm, 1)), GANTRY_BAD_FIELD);
	CHECK_EQ(env_do_one(q, WITH(good, peer, 1)), GANTRY_BAD_FIELD);
	CHECK_EQ(env_do_one(q, WITH(good, len, ARENA_LEN + 1)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_stats(q).wqes, 0);
	CHECK_EQ(env_do_one(q, good), GANTRY_OK);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ recovery */

static void
fills_and_lists_behind_a_failed_copy_are_carried_out_again(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_sge from[3], to[2];
	struct gantry_desc desc[16];
	struct gantry_comp comp[16];
	struct gantry_mem *broken_mem;
	uint8_t *broken = env_mem(g, 4096, 0, &broken_mem);
	uint32_t i;

	rte_log_set_level(gantry_logtype, RTE_LOG_CRIT);
	env_break(broken_mem);
	reset(11);
	for (i = 0; i < 3; i++)
		from[i] = (struct gantry_sge){(uintptr_t)src + i * 1000, 200};
	to[0] = (struct gantry_sge){(uintptr_t)dst + 170000, 250};
	to[1] = (struct gantry_sge){(uintptr_t)dst + 180000, 350};
	model_copy(from, to, 600);
	for (i = 0; i < RTE_DIM(desc); i++) {
		uint64_t pattern = UINT64_C(0x1111111111111111) * (i % 7);

		desc[i] = fill(dst + 10000 * i, 3000, pattern);
		if (i == 1)
			desc[i] = env_copy(broken, dst + 200000, 100);
		else if (i == 2)
			desc[i] = copy_sg(from, 3, to, 2, 600);
		else
			model_fill(10000 * i, 3000, pattern);
		desc[i].cookie = i;
	}
	env_do(q, desc, comp, RTE_DIM(desc));
	for (i = 0; i < RTE_DIM(desc); i++) {
		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].status, i == 1 ? GANTRY_LOCAL_ERROR : GANTRY_OK);
		CHECK_EQ(comp[i].zero, 0);
	}
	CHECK(memcmp(dst, model, ARENA_LEN) == 0);
	CHECK(env_stats(q).replays != 0);
	env_queue_done(q);
	env_mend(broken_mem);
	CHECK_EQ(gantry_mem_unregister(broken_mem, CHECK_PATIENCE_MS), 0);
	env_unmap(broken, 4096);
}

/*
 * Fills fail and are posted again. While they are in hardware for the second time, more patterns
 * are needed than there are buffers. Each fill must still write its own pattern.
 */
static void
fills_that_are_carried_out_again_keep_their_pattern(void)
{
	const uint64_t len = 5000, n = 12; /* each pattern needs a long buffer */
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_desc desc[12];
	struct gantry_comp comp[12];
	struct gantry_mem *broken_mem;
	uint8_t *broken = env_mem(g, 4096, 0, &broken_mem);
	uint64_t end = env_patience();
	uint32_t i;

	rte_log_set_level(gantry_logtype, RTE_LOG_CRIT);
	env_break(broken_mem);
	reset(12);
	desc[0] = env_copy(broken, dst, 100);
	for (i = 1; i < n; i++) {
		desc[i] = fill(dst + 10000 * i, len, UINT64_C(0x0101010101010101) * i);
		model_fill(10000 * i, len, desc[i].arg[0]);
	}
	CHECK_EQ(gantry_submit(q, desc, 5), 5);
	/*
	 * At this time, an adapter without a thread has not executed any of the fills that were
	 * posted again.
	 */
	while (env_stats(q).replays == 0) {
		CHECK_EQ(env_poll(q, comp, 0), 0);
		CHECK(rte_get_timer_cycles() < end);
	}
	CHECK_EQ(gantry_submit(q, desc + 5, n - 5), n - 5);
	env_collect(q, comp, n);
	for (i = 0; i < n; i++)
		CHECK_EQ(comp[i].status, i == 0 ? GANTRY_LOCAL_ERROR : GANTRY_OK);
	CHECK(memcmp(dst, model, ARENA_LEN) == 0);
	env_queue_done(q);
	env_mend(broken_mem);
	CHECK_EQ(gantry_mem_unregister(broken_mem, CHECK_PATIENCE_MS), 0);
	env_unmap(broken, 4096);
}

/*
 * With gantry_queue_conf::prepare, the first descriptor succeeds although the device refuses new
 * memory and keys.
 */
static void
what_is_prepared_is_there_from_the_beginning(void)
{
	struct gantry_queue_conf conf = {.depth = 8};
	const struct gantry_block block = {.offset = 8, .len = 16};
	const struct gantry_layout_conf layout = {.block = &block, .n = 1};
	static const char *const calls[] = {"reg_mr", "create_mkey"};
	struct gantry_desc first[2] = {fill(dst, 64, 5), env_copy(src, dst + 4096, 16)};
	struct gantry_queue *q;
	char line[64];
	uint32_t i;

	if (env_lacks(g, ENV_LAYOUTS))
		return;
	rte_log_set_level(gantry_logtype, RTE_LOG_EMERG);
	first[1].op = GANTRY_OP_GATHER;
	CHECK_EQ(gantry_layout_create(g, &layout, &first[1].layout), 0);
	reset(30);
	for (i = 0; i < RTE_DIM(calls); i++) {
		snprintf(line, sizeof(line), "refuse call=%s errno=12", calls[i]);
		conf.prepare = 0;
		CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
		CHECK_EQ(softhca_fault(line), 0);
		CHECK_EQ(env_do_one(q, first[i]), GANTRY_NO_RESOURCES);
		CHECK_EQ(softhca_faults_left(), 0);
		CHECK_EQ(env_do_one(q, first[i]), GANTRY_OK);
		env_queue_done(q);

		conf.prepare = GANTRY_PREPARE_FILL | GANTRY_PREPARE_LAYOUTS;
		CHECK_EQ(softhca_fault(line), 0);
		CHECK_EQ(gantry_queue_create(g, &conf, &q), -ENOMEM);
		CHECK_EQ(softhca_faults_left(), 0);
		CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
		CHECK_EQ(softhca_fault(line), 0);
		CHECK_EQ(env_do_one(q, first[i]), GANTRY_OK);
		CHECK_EQ(softhca_faults_left(), 1);
		softhca_faults_clear();
		env_queue_done(q);
	}
	conf.prepare = 4;
	CHECK_EQ(gantry_queue_create(g, &conf, &q), -EINVAL);
	CHECK_EQ(gantry_layout_destroy(g, first[1].layout), 0);
}

static const struct check_case cases[] = {
	{"prepared objects exist from the beginning", what_is_prepared_is_there_from_the_beginning},
	{"random lists copy the same as loops of the CPU",
		random_lists_copy_what_loops_of_the_cpu_copy},
	{"the longest lists of single bytes are copied",
		the_longest_lists_of_single_bytes_are_copied},
	{"a list whose memory is removed half-way fails", a_list_whose_memory_goes_half_way_fails},
	{"each bad list gets its own status and no WQE",
		each_bad_list_gets_its_own_status_and_no_wqe},
	{"fills of every length at random addresses", fills_of_every_length_and_place},
	{"fills keep their pattern across WQEs", fills_keep_their_pattern_across_wqes},
	{"more patterns than buffers wait, and none is lost",
		more_patterns_than_buffers_wait_and_none_is_lost},
	{"as many patterns as buffers do not wait", as_many_patterns_as_buffers_do_not_wait},
	{"buffers are joined and divided while other buffers are read",
		buffers_join_and_part_while_others_are_read},
	{"read-only memory cannot be a destination", read_only_memory_is_no_destination},
	{"each bad fill gets its own status and no WQE",
		each_bad_fill_gets_its_own_status_and_no_wqe},
	{"fills and lists after a failed copy are executed again",
		fills_and_lists_behind_a_failed_copy_are_carried_out_again},
	{"fills that are executed again keep their pattern",
		fills_that_are_carried_out_again_keep_their_pattern},
};

int
main(int argc, char **argv)
{
	uint32_t i;

	env_init(0);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	gantry_info_get(g, &info);
	src = env_map(ARENA_LEN);
	dst = env_map(ARENA_LEN);
	model = env_map(ARENA_LEN);
	for (i = 0; i < N_REGIONS; i++)
		CHECK_EQ(gantry_mem_register(g, src + i * PART, PART, 0, &mem[i]), 0);
	CHECK_EQ(gantry_mem_register(g, dst, ARENA_LEN, 0, &mem[N_REGIONS]), 0);
	env_run(cases, RTE_DIM(cases), argc, argv);
	return env_done(g, mem, RTE_DIM(mem));
}
