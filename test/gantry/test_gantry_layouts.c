/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layouts, compared with loops of the CPU: random lists and patterns, to and from own memory and a
 * peer's; keys that keep their layout, keys that get another layout, and too few keys; refusals;
 * recovery.
 */
#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_log.h>

#include <softhca.h>

#include "gantry_env.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_queue.h"

#define ARENA_LEN (UINT64_C(1) << 18)
#define N_REGIONS 4
#define PART      (ARENA_LEN / N_REGIONS)
#define BLOCKS    52 /* the most blocks that the device accepts: gantry.h */

static struct gantry *g;
/* src and dst are registered in N_REGIONS regions each. model is the expected content of dst. */
static uint8_t *src, *dst, *model;
static struct gantry_mem *mem[2 * N_REGIONS];

/* A layout as gantry.h describes it, at a base address. */
struct shape {
	struct gantry_block block[BLOCKS];
	uint32_t n, rounds;
	uint64_t len;
	uint16_t id;
};

static void
reset(uint64_t seed)
{
	env_fill(src, ARENA_LEN, seed);
	env_fill(dst, ARENA_LEN, seed + 1);
	memcpy(model, dst, ARENA_LEN);
}

static void
create(struct shape *s)
{
	const struct gantry_layout_conf conf = {s->block, s->n, s->rounds};
	uint32_t i;

	s->len = 0;
	for (i = 0; i < s->n; i++)
		s->len += s->block[i].len * RTE_MAX(s->rounds, 1u);
	CHECK_EQ(gantry_layout_create(g, &conf, &s->id), 0);
}

static void
destroy(const struct shape *s)
{
	CHECK_EQ(gantry_layout_destroy(g, s->id), 0);
}

/* Returns the offset of byte `at` of the layout from the base address, as gantry.h defines it. */
static uint64_t
place(const struct shape *s, uint64_t at)
{
	uint64_t round_len = s->len / RTE_MAX(s->rounds, 1u), round = at / round_len;
	const struct gantry_block *b = s->block;

	for (at %= round_len; at >= b->len; b++)
		at -= b->len;
	return b->offset + round * (b->len + b->skip) + at;
}

/*
 * Draws a list whose blocks lie in several regions, or a pattern within one region. Blocks do not
 * overlap, and lie in [0, ARENA_LEN / 2).
 */
static void
draw(uint64_t *seed, struct shape *s)
{
	bool list = check_random(seed) % 2 == 0;
	uint64_t at = 0;
	uint32_t i;

	memset(s, 0, sizeof(*s));
	s->n = 1 + check_random(seed) % (list ? BLOCKS : 6);
	s->rounds = list ? check_random(seed) % 2 : 2 + check_random(seed) % 60;
	for (i = 0; i < s->n; i++) {
		struct gantry_block *b = &s->block[i];

		b->len = 1 + check_random(seed) % (list ? 1000 : 40);
		b->skip = list ? 0 : check_random(seed) % 100;
		at += check_random(seed) % 64;
		/* A block does not cross from one region to the next. */
		if (list && at / PART != (at + b->len) / PART)
			at = (at + b->len) / PART * PART;
		b->offset = at;
		at += (b->len + b->skip) * RTE_MAX(s->rounds, 1u);
	}
	/* The blocks of a list can be in any order. */
	for (i = 0; list && i < s->n; i++) {
		struct gantry_block *b = &s->block[check_random(seed) % s->n], other = *b;

		*b = s->block[i];
		s->block[i] = other;
	}
	create(s);
}

static struct gantry_desc
gather(const struct shape *s, const void *from, void *to, uint64_t len)
{
	struct gantry_desc d = env_copy(from, to, len);

	d.op = GANTRY_OP_GATHER;
	d.layout = s->id;
	return d;
}

static struct gantry_desc
scatter(const struct shape *s, const void *from, void *to, uint64_t len)
{
	struct gantry_desc d = gather(s, from, to, len);

	d.op = GANTRY_OP_SCATTER;
	return d;
}

static void
model_gather(const struct shape *s, uint64_t from, uint64_t to, uint64_t len)
{
	uint64_t i;

	for (i = 0; i < len; i++)
		model[to + i] = src[from + place(s, i)];
}

static void
model_scatter(const struct shape *s, uint64_t from, uint64_t to, uint64_t len)
{
	uint64_t i;

	for (i = 0; i < len; i++)
		model[to + place(s, i)] = src[from + i];
}

/* ------------------------------------------------------------------ bytes */

static void
check_all_ok(const struct gantry_comp *comp, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].status, GANTRY_OK);
		CHECK_EQ(comp[i].zero, 0);
	}
	CHECK(memcmp(dst, model, ARENA_LEN) == 0);
}

#define N_DRAWN 8

static void
random_layouts_move_what_loops_of_the_cpu_move(void)
{
	const struct gantry_queue_conf conf = {.depth = 64, .layout_keys = 5};
	struct gantry_queue *q;
	struct gantry_desc desc[4 * N_DRAWN];
	struct gantry_comp comp[RTE_DIM(desc)];
	uint16_t peer, back;
	uint64_t seed = 5, max_msg_len = g->max_msg_len;
	uint32_t round, i;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	env_connect(q, &peer, q, &back);
	for (round = 0; round < 25; round++) {
		struct shape s[N_DRAWN];

		reset(round);
		/*
		 * In every other round, most descriptors on the queue's connection to itself are
		 * split into several WQEs.
		 */
		g->max_msg_len = round % 2 == 0 ? max_msg_len : 1000;
		for (i = 0; i < N_DRAWN; i++)
			draw(&seed, &s[i]);
		for (i = 0; i < RTE_DIM(desc); i++) {
			const struct shape *l = &s[i % N_DRAWN];
			uint64_t len = 1 + check_random(&seed) % l->len;
			/*
			 * The offsets are multiples of a region's length, so that each block of a
			 * list stays in one region.
			 */
			uint64_t at = PART * (check_random(&seed) % 2);
			uint64_t plain = check_random(&seed) % 4 * PART;

			len = RTE_MIN(check_random(&seed) % 2 ? l->len : len, PART);
			switch (i / N_DRAWN) {
			case 0:
				desc[i] = gather(l, src + at, dst + plain, len);
				model_gather(l, at, plain, len);
				break;
			case 1:
				desc[i] = scatter(l, src + plain, dst + at, len);
				model_scatter(l, plain, at, len);
				break;
			case 2:
				desc[i] = gather(l, src + at, dst + plain, len);
				desc[i].op = GANTRY_OP_WRITE;
				desc[i].remote_key = gantry_mem_remote_key(mem[4 + plain / PART]);
				desc[i].peer = peer;
				model_gather(l, at, plain, len);
				break;
			default:
				desc[i] = scatter(l, src + plain, dst + at, len);
				desc[i].op = GANTRY_OP_READ;
				desc[i].remote_key = gantry_mem_remote_key(mem[plain / PART]);
				desc[i].peer = peer;
				model_scatter(l, plain, at, len);
			}
			/*
			 * The descriptors write to the same memory, so each of them waits for the
			 * previous one.
			 */
			desc[i].flags = GANTRY_DESC_FENCE;
			desc[i].cookie = i;
		}
		env_do(q, desc, comp, RTE_DIM(desc));
		check_all_ok(comp, RTE_DIM(desc));
		for (i = 0; i < N_DRAWN; i++)
			destroy(&s[i]);
	}
	g->max_msg_len = max_msg_len;
	CHECK_EQ(gantry_peer_close(q, peer), 0);
	CHECK_EQ(gantry_peer_close(q, back), 0);
	env_queue_done(q);
}

static void
a_column_of_a_matrix_is_one_descriptor(void)
{
	/* 100 rows of 64 doubles; the layout is column 3. */
	struct shape s = {.block[0] = {24, 8, 504}, .n = 1, .rounds = 100};
	struct gantry_queue *q = env_queue(g, 8);

	reset(3);
	create(&s);
	CHECK_EQ(env_do_one(q, gather(&s, src, dst, 800)), GANTRY_OK);
	model_gather(&s, 0, 0, 800);
	CHECK(memcmp(dst, model, ARENA_LEN) == 0);
	CHECK_EQ(env_stats(q).cqes, 1);
	destroy(&s);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ keys */

static void
a_layout_that_repeats_is_given_to_the_hardware_once(void)
{
	struct shape s = {.block = {{0, 10, 0}, {100, 20, 0}}, .n = 2}, t = s;
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_mem *more;
	uint8_t *page = env_map(4096);
	uint32_t i;

	reset(4);
	create(&s);
	for (i = 0; i < 10; i++)
		CHECK_EQ(env_do_one(q, gather(&s, src, dst + 1000 * i, 30)), GANTRY_OK);
	CHECK_EQ(env_stats(q).layout_misses, 1);
	CHECK_EQ(env_stats(q).layout_hits, 9);
	/* The same layout at another base address. */
	CHECK_EQ(env_do_one(q, gather(&s, src + 1, dst, 30)), GANTRY_OK);
	CHECK_EQ(env_stats(q).layout_misses, 2);
	/*
	 * The next layout gets the id of the destroyed layout. Then a layout with the destroyed
	 * layout's blocks is created, with another id. For each id, the queue must use the blocks
	 * of the layout that has the id now.
	 */
	destroy(&s);
	CHECK_EQ(env_do_one(q, gather(&s, src, dst, 30)), GANTRY_BAD_LAYOUT);
	t.block[1].offset = 200;
	create(&t);
	CHECK_EQ(t.id, s.id);
	CHECK_EQ(env_do_one(q, gather(&t, src, dst, 30)), GANTRY_OK);
	CHECK(memcmp(dst + 10, src + 200, 20) == 0);
	CHECK_EQ(env_stats(q).layout_misses, 3);
	create(&s);
	CHECK(s.id != t.id);
	CHECK_EQ(env_do_one(q, gather(&s, src, dst, 30)), GANTRY_OK);
	CHECK(memcmp(dst + 10, src + 100, 20) == 0);
	/* Read-only memory can be gathered; a key with such a layout cannot be written. */
	CHECK_EQ(gantry_mem_register(g, page, 4096, GANTRY_MEM_READ_ONLY, &more), 0);
	CHECK_EQ(env_do_one(q, gather(&s, page, dst, 30)), GANTRY_OK);
	CHECK_EQ(env_do_one(q, scatter(&s, src, page, 30)), GANTRY_READ_ONLY);
	CHECK_EQ(env_do_one(q, gather(&s, src, page, 30)), GANTRY_READ_ONLY);
	CHECK_EQ(gantry_mem_unregister(more, CHECK_PATIENCE_MS), 0);
	/*
	 * Memory of a layout's blocks is removed, and is registered again with another key: a
	 * gather must use the key of the present registration.
	 */
	CHECK_EQ(gantry_mem_register(g, page, 4096, 0, &more), 0);
	env_fill(page, 4096, 77);
	CHECK_EQ(env_do_one(q, gather(&s, page, dst, 30)), GANTRY_OK);
	CHECK_EQ(gantry_mem_unregister(more, CHECK_PATIENCE_MS), 0);
	CHECK_EQ(env_do_one(q, gather(&s, page, dst, 30)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(gantry_mem_register(g, page, 4096, 0, &more), 0);
	env_fill(page, 4096, 78);
	CHECK_EQ(env_do_one(q, gather(&s, page, dst, 30)), GANTRY_OK);
	CHECK(memcmp(dst + 10, page + 100, 20) == 0);
	CHECK_EQ(gantry_mem_unregister(more, CHECK_PATIENCE_MS), 0);
	destroy(&s);
	destroy(&t);
	env_queue_done(q);
	env_unmap(page, 4096);
}

static void
more_layouts_than_keys_wait_and_none_is_lost(void)
{
	const struct gantry_queue_conf conf = {.depth = 256, .layout_keys = 2};
	static struct gantry_desc desc[256];
	static struct gantry_comp comp[256];
	struct gantry_queue *q;
	struct shape s[8];
	uint64_t seed = 8;
	uint32_t i, k;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	reset(6);
	for (i = 0; i < RTE_DIM(s); i++) {
		s[i] = (struct shape){.n = 3};
		for (k = 0; k < 3; k++)
			s[i].block[k] = (struct gantry_block){100 * k + i, 50, 0};
		create(&s[i]);
	}
	for (i = 0; i < RTE_DIM(desc); i++) {
		const struct shape *l = &s[check_random(&seed) % RTE_DIM(s)];

		desc[i] = gather(l, src, dst + 1024 * i, 150);
		desc[i].cookie = i;
		model_gather(l, 0, 1024 * i, 150);
	}
	/* A call of gantry_submit() polls no CQE, so no key becomes free before it returns. */
	CHECK_EQ(gantry_submit(q, desc, RTE_DIM(desc)), RTE_DIM(desc));
	CHECK_EQ(env_stats(q).layout_misses, 2);
	env_collect(q, comp, RTE_DIM(desc));
	check_all_ok(comp, RTE_DIM(desc));
	CHECK(env_stats(q).layout_misses > RTE_DIM(s));
	for (i = 0; i < RTE_DIM(s); i++)
		destroy(&s[i]);
	env_queue_done(q);
}

/* A descriptor that waits is tried at each poll, and counts once. */
static void
a_layout_that_waits_is_counted_once(void)
{
	struct shape s = {.block = {{0, 4, 0}, {500, 4, 0}}, .n = 2};
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc desc[5];
	struct gantry_comp comp[5];
	struct gantry_info info;
	uint32_t i;

	reset(23);
	create(&s);
	CHECK_EQ(env_do_one(q, gather(&s, src, dst, 8)), GANTRY_OK);
	/* This copy fills the send queue. */
	gantry_info_get(g, &info);
	desc[0] = env_copy(src, dst,
		RTE_MIN(q->conn[GANTRY_CONN_OWN].n_bb * info.max_copy_len, ARENA_LEN));
	for (i = 1; i < 5; i++)
		desc[i] = gather(&s, src, dst, 8);
	CHECK_EQ(gantry_submit(q, desc, 5), 5);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(gantry_poll(q, comp, 0), 0);
	env_collect(q, comp, 5);
	CHECK_EQ(env_stats(q).layout_misses, 1);
	CHECK_EQ(env_stats(q).layout_hits, 4);
	destroy(&s);
	env_queue_done(q);
}

/*
 * By default a queue has 16 keys. A seventeenth layout must take the key of the layout that was not
 * used for the longest time.
 */
static void
the_layout_that_was_idle_longest_gives_its_key_up(void)
{
	const uint32_t n = 16;
	struct gantry_queue *q = env_queue(g, 16);
	struct shape s[17];
	uint32_t i, k;

	reset(22);
	for (i = 0; i <= n; i++) {
		s[i] = (struct shape){.block = {{8 * i, 4, 0}, {500, 4, 0}}, .n = 2};
		create(&s[i]);
	}
	for (k = 0; k < 2; k++) {
		for (i = 0; i < n; i++)
			CHECK_EQ(env_do_one(q, gather(&s[i], src, dst, 8)), GANTRY_OK);
		CHECK_EQ(env_stats(q).layout_misses, n);
		CHECK_EQ(env_stats(q).layout_hits, k * n);
	}
	/*
	 * The first layout is used once more. So the second layout is now the least recently used
	 * one, and must lose its key to layout n.
	 */
	CHECK_EQ(env_do_one(q, gather(&s[0], src, dst, 8)), GANTRY_OK);
	CHECK_EQ(env_do_one(q, gather(&s[n], src, dst, 8)), GANTRY_OK);
	CHECK_EQ(env_stats(q).layout_misses, n + 1);
	for (i = 0; i <= n; i++)
		if (i != 1)
			CHECK_EQ(env_do_one(q, gather(&s[i], src, dst, 8)), GANTRY_OK);
	CHECK_EQ(env_stats(q).layout_misses, n + 1);
	CHECK_EQ(env_stats(q).layout_hits, 2 * n + 1);
	CHECK_EQ(env_do_one(q, gather(&s[1], src, dst, 8)), GANTRY_OK);
	CHECK_EQ(env_stats(q).layout_misses, n + 2);
	for (i = 0; i <= n; i++)
		destroy(&s[i]);
	env_queue_done(q);
}

/*
 * Layouts must lose their keys in the order of last use. The test keeps a list of used layouts,
 * with the most recently used layout at the end. So it knows which descriptors must find their
 * layout in a key.
 */
static void
keys_are_found_and_given_up_as_a_list_says(void)
{
	const struct gantry_queue_conf conf = {.depth = 16, .layout_keys = 37};
	uint32_t used[37], n = 0, hits = 0, misses = 0, step, i;
	struct gantry_queue *q;
	struct shape s[3];
	uint64_t seed = 31;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	reset(31);
	for (i = 0; i < RTE_DIM(s); i++) {
		s[i] = (struct shape){.block = {{8 * i, 4, 0}, {500, 4, 0}}, .n = 2};
		create(&s[i]);
	}
	for (step = 0; step < 1500; step++) {
		uint32_t at = check_random(&seed) % 14, l = check_random(&seed) % RTE_DIM(s);
		uint32_t what = at * RTE_DIM(s) + l;

		CHECK_EQ(env_do_one(q, gather(&s[l], src + 64 * at, dst, 8)), GANTRY_OK);
		CHECK(memcmp(dst, src + 64 * at + 8 * l, 4) == 0);
		for (i = 0; i < n && used[i] != what; i++)
			;
		if (i < n)
			hits++;
		else
			misses++;
		/*
		 * A layout that is used again is removed from its position. Otherwise, if the list
		 * is full, the first layout is removed.
		 */
		if (i == n && n == RTE_DIM(used))
			i = 0;
		if (i == n)
			n++;
		memmove(&used[i], &used[i + 1], (n - 1 - i) * sizeof(used[0]));
		used[n - 1] = what;
		CHECK_EQ(env_stats(q).layout_hits, hits);
		CHECK_EQ(env_stats(q).layout_misses, misses);
	}
	CHECK(misses > RTE_DIM(used) && hits > misses);
	for (i = 0; i < RTE_DIM(s); i++)
		destroy(&s[i]);
	env_queue_done(q);
}

static void
keys_of_a_closed_peer_serve_others(void)
{
	const struct gantry_queue_conf conf = {.depth = 16, .layout_keys = 1};
	const struct gantry_queue_conf too_many = {.layout_keys = 257};
	struct shape s = {.block = {{0, 10, 0}, {100, 20, 0}}, .n = 2};
	struct gantry_queue *q;
	struct gantry_desc d;
	uint16_t peer, back;
	uint32_t i;

	CHECK_EQ(gantry_queue_create(g, &too_many, &q), -EINVAL);
	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	create(&s);
	reset(12);
	for (i = 0; i < 3; i++) {
		env_connect(q, &peer, q, &back);
		d = gather(&s, src, dst, 30);
		d.op = GANTRY_OP_WRITE;
		d.peer = peer;
		d.remote_key = gantry_mem_remote_key(mem[4]);
		CHECK_EQ(env_do_one(q, d), GANTRY_OK);
		CHECK(memcmp(dst + 10, src + 100, 20) == 0);
		CHECK_EQ(gantry_peer_close(q, peer), 0);
		CHECK_EQ(gantry_peer_close(q, back), 0);
		CHECK_EQ(env_do_one(q, gather(&s, src, dst, 30)), GANTRY_OK);
	}
	CHECK_EQ(env_stats(q).layout_misses, 6);
	destroy(&s);
	env_queue_done(q);
}

/* The base address 0 must be allowed: then the offsets of the blocks are addresses. */
static void
a_layout_may_lie_at_0(void)
{
	struct shape s = {.block = {{(uintptr_t)src + 100, 20, 0}, {(uintptr_t)src, 10, 0}},
		.n = 2};
	struct gantry_queue *q = env_queue(g, 16);

	create(&s);
	reset(1);
	CHECK_EQ(env_do_one(q, gather(&s, NULL, dst, 30)), GANTRY_OK);
	CHECK(memcmp(dst, src + 100, 20) == 0 && memcmp(dst + 20, src, 10) == 0);
	destroy(&s);
	env_queue_done(q);
}

/*
 * With BLOCKS + 1 rounds the engine passes the layout to the device as a pattern, in which a block
 * with its gap has at most 65535 bytes. A gather through such a pattern must return the right
 * bytes.
 */
static void
a_pattern_has_the_longest_stride(void)
{
	static const uint32_t lens[] = {1, 10, 65535};
	const uint32_t rounds = BLOCKS + 1;
	const size_t len = (size_t)rounds * 65535;
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_mem *far_mem, *near_mem;
	uint8_t *far = env_mem(g, len, 0, &far_mem), *near = env_mem(g, len, 0, &near_mem);
	uint32_t i, r;

	env_fill(far, len, 9);
	for (i = 0; i < RTE_DIM(lens); i++) {
		struct shape s = {.block = {{0, lens[i], 65535 - lens[i]}},
			.n = 1,
			.rounds = rounds};

		create(&s);
		CHECK_EQ(env_do_one(q, gather(&s, far, near, rounds * lens[i])), GANTRY_OK);
		for (r = 0; r < rounds; r++)
			CHECK(memcmp(near + r * lens[i], far + r * 65535, lens[i]) == 0);
		destroy(&s);
	}
	env_queue_done(q);
	CHECK_EQ(gantry_mem_unregister(far_mem, 0), 0);
	CHECK_EQ(gantry_mem_unregister(near_mem, 0), 0);
	env_unmap(far, len);
	env_unmap(near, len);
}

/* ------------------------------------------------------------------ refusals */

static void
each_bad_use_of_a_layout_gets_its_own_status_and_no_wqe(void)
{
	struct shape s = {.block = {{0, 10, 90}, {50, 10, 90}}, .n = 2, .rounds = 100};
	struct shape far = {.block = {{0, 10, 0}, {UINT64_MAX - 100, 10, 0}}, .n = 2};
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_desc good, over;
	uint16_t peer, back;

	create(&s);
	create(&far);
	env_connect(q, &peer, q, &back);
	good = gather(&s, src, dst, 2000);
	CHECK_EQ(env_do_one(q, WITH(good, layout, 0)), GANTRY_BAD_LAYOUT);
	CHECK_EQ(env_do_one(q, WITH(good, layout, far.id + 1)), GANTRY_BAD_LAYOUT);
	CHECK_EQ(env_do_one(q, WITH(good, layout, 1024)), GANTRY_BAD_LAYOUT);
	CHECK_EQ(env_do_one(q, WITH(good, layout, 65535)), GANTRY_BAD_LAYOUT);
	CHECK_EQ(env_do_one(q, WITH(good, op, GANTRY_OP_COPY)), GANTRY_BAD_FIELD);
	CHECK_EQ(env_do_one(q, WITH(good, op, GANTRY_OP_NOP)), GANTRY_BAD_FIELD);
	CHECK_EQ(env_do_one(q, WITH(good, op, GANTRY_OP_FETCH_ADD)), GANTRY_BAD_FIELD);
	CHECK_EQ(env_do_one(q, WITH(good, peer, 1)), GANTRY_BAD_FIELD);
	CHECK_EQ(env_do_one(q, WITH(good, remote_key, 1)), GANTRY_BAD_FIELD);
	CHECK_EQ(env_do_one(q, WITH(good, len, 2001)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, WITH(good, len, 0)), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_do_one(q, WITH(good, src, 0)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, WITH(good, dst, 0)), GANTRY_NOT_REGISTERED);
	/* The last block of the last round ends 9960 bytes after the base. */
	CHECK_EQ(env_do_one(q, WITH(good, src, (uintptr_t)src + PART - 9959)),
		GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, WITH(good, dst, (uintptr_t)dst + PART - 1999)),
		GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, gather(&far, src, dst, 20)), GANTRY_NOT_REGISTERED);
	over = gather(&s, dst, dst, 20);
	CHECK_EQ(env_do_one(q, over), GANTRY_OVERLAP);
	CHECK_EQ(env_do_one(q, WITH(over, dst, over.src + 9909)), GANTRY_OVERLAP);
	CHECK_EQ(env_do_one(q, WITH(over, dst, over.src + 4941)), GANTRY_OVERLAP);
	over.op = GANTRY_OP_SCATTER;
	CHECK_EQ(env_do_one(q, WITH(over, src, over.dst + 131)), GANTRY_OVERLAP);
	over = WITH(good, op, GANTRY_OP_WRITE);
	CHECK_EQ(env_do_one(q, WITH(over, peer, 9)), GANTRY_BAD_PEER);
	over.len = 0;
	over.op = GANTRY_OP_SEND;
	over.dst = 0;
	over.src = 0;
	CHECK_EQ(env_do_one(q, WITH(over, peer, peer)), GANTRY_BAD_FIELD);
	CHECK_EQ(env_stats(q).wqes, 0);
	/* The gaps between the blocks may overlap the other side. */
	over = gather(&s, dst, dst + 4910, 40);
	CHECK_EQ(env_do_one(q, over), GANTRY_OK);
	CHECK_EQ(env_do_one(q, WITH(over, dst, over.src + 9960)), GANTRY_OK);
	CHECK_EQ(env_do_one(q, WITH(good, src, (uintptr_t)src + PART - 9960)), GANTRY_OK);
	CHECK_EQ(gantry_peer_close(q, peer), 0);
	CHECK_EQ(gantry_peer_close(q, back), 0);
	destroy(&s);
	destroy(&far);
	env_queue_done(q);
}

/*
 * When the layout is destroyed, one descriptor is in hardware and one waits for its fence, because
 * gantry_submit() polls no CQE. Only the descriptor that waits is refused.
 */
static void
what_the_hardware_has_of_a_layout_that_ends_is_carried_out(void)
{
	struct shape s = {.block = {{0, 10, 0}, {100, 20, 0}}, .n = 2}, next = s;
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_desc d[2];
	struct gantry_comp comp[2];

	create(&s);
	reset(40);
	d[0] = gather(&s, src, dst, 30);
	model_gather(&s, 0, 0, 30);
	d[1] = WITH(gather(&s, src, dst + 1000, 30), flags, GANTRY_DESC_FENCE);
	CHECK_EQ(gantry_submit(q, d, 2), 2);
	destroy(&s);
	env_collect(q, comp, 2);
	CHECK_EQ(comp[0].status, GANTRY_OK);
	CHECK_EQ(comp[1].status, GANTRY_BAD_LAYOUT);
	CHECK(memcmp(dst, model, ARENA_LEN) == 0);
	/* The next layout gets the id of the destroyed layout. */
	create(&next);
	CHECK_EQ(next.id, s.id);
	destroy(&next);
	env_queue_done(q);
}

/* The first block of a layout is correct, and another block is not: the descriptor is refused. */
static void
every_block_of_a_layout_is_judged(void)
{
	struct shape s = {.block = {{0, 10, 0}, {4096, 10, 0}, {20, 10, 0}}, .n = 3};
	struct gantry_queue *q = env_queue(g, 16);
	uint8_t *pages = env_map(2 * 4096);
	struct gantry_mem *first, *second;

	create(&s);
	CHECK_EQ(gantry_mem_register(g, pages, 4096, 0, &first), 0);
	CHECK_EQ(env_do_one(q, scatter(&s, src, pages, 30)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(gantry_mem_register(g, pages + 4096, 4096, GANTRY_MEM_READ_ONLY, &second), 0);
	CHECK_EQ(env_do_one(q, scatter(&s, src, pages, 30)), GANTRY_READ_ONLY);
	CHECK_EQ(env_stats(q).wqes, 0);
	CHECK_EQ(env_do_one(q, gather(&s, pages, dst, 30)), GANTRY_OK);
	CHECK_EQ(env_do_one(q, scatter(&s, src, pages, 30)), GANTRY_READ_ONLY);
	destroy(&s);
	env_queue_done(q);
	CHECK_EQ(gantry_mem_unregister(first, CHECK_PATIENCE_MS), 0);
	CHECK_EQ(gantry_mem_unregister(second, CHECK_PATIENCE_MS), 0);
	env_unmap(pages, 2 * 4096);
}

/*
 * The UMR of a layout for a peer is posted to the peer's send queue. If this send queue has no room
 * for the UMR, the descriptor must be refused.
 */
static void
a_layout_that_is_too_long_for_a_peer_is_refused(void)
{
	const struct gantry_peer_conf narrow = {.depth = 8};
	struct shape small = {.block = {{0, 10, 0}, {100, 20, 0}}, .n = 2}, big = {.n = BLOCKS};
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_addr a, b;
	struct gantry_desc d;
	uint16_t peer, back;
	uint32_t i;

	for (i = 0; i < BLOCKS; i++)
		big.block[i] = (struct gantry_block){20 * i, 1, 0};
	create(&small);
	create(&big);
	reset(23);
	CHECK_EQ(gantry_peer_open(q, &narrow, &peer, &a), 0);
	CHECK_EQ(gantry_peer_open(q, NULL, &back, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, peer, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, back, &a), 0);
	d = gather(&big, src, dst, BLOCKS);
	d.op = GANTRY_OP_WRITE;
	d.peer = peer;
	d.remote_key = gantry_mem_remote_key(mem[N_REGIONS]);
	CHECK_EQ(env_do_one(q, d), GANTRY_BAD_LAYOUT);
	CHECK_EQ(env_stats(q).wqes, 0);
	d.len = 30;
	CHECK_EQ(env_do_one(q, WITH(d, layout, small.id)), GANTRY_OK);
	CHECK(memcmp(dst, src, 10) == 0 && memcmp(dst + 10, src + 100, 20) == 0);
	d.len = BLOCKS;
	CHECK_EQ(env_do_one(q, WITH(d, peer, back)), GANTRY_OK);
	for (i = 0; i < BLOCKS; i++)
		CHECK_EQ(dst[i], src[20 * i]);
	destroy(&small);
	destroy(&big);
	env_queue_done(q);
}

/* True if [at, at + len) contains a byte of the layout at `base`. */
static bool
is_met(const struct shape *s, uint64_t base, uint64_t at, uint64_t len)
{
	uint64_t i;

	for (i = 0; i < s->len; i++)
		if (base + place(s, i) - at < len)
			return true;
	return false;
}

/*
 * Pieces of up to 12 bytes at the beginning of a layout, and at its end. The engine passes a layout
 * of up to BLOCKS blocks, counted in all rounds, to the device as a list, and a longer layout as a
 * pattern.
 */
static void
a_piece_overlaps_if_it_has_a_byte_of_the_layout(void)
{
	struct shape shapes[] = {
		{.block = {{4, 2, 3}}, .n = 1, .rounds = 4},
		{.block = {{12, 3, 0}, {4, 2, 0}, {8, 1, 0}}, .n = 3},
		{.block = {{4, 2, 3}}, .n = 1, .rounds = BLOCKS + 1},
		{.block = {{4, 3, 0}}, .n = 1, .rounds = BLOCKS + 1},
		{.block = {{9, 1, 5}, {4, 2, 4}}, .n = 2, .rounds = 27},
	};
	struct gantry_queue *q = env_queue(g, 8);
	uint64_t base = (uintptr_t)dst + 64, at, end, len;
	uint32_t i, n_met = 0, n_free = 0;

	for (i = 0; i < RTE_DIM(shapes); i++) {
		create(&shapes[i]);
		end = base + place(&shapes[i], shapes[i].len - 1);
		for (at = base - 8; at < end + 8; at++) {
			if (at > base + 24 && at + 24 < end)
				continue;
			for (len = 1; len <= RTE_MIN(shapes[i].len, 12u); len++) {
				bool met = is_met(&shapes[i], base, at, len);
				enum gantry_status want = met ? GANTRY_OVERLAP : GANTRY_OK;
				struct gantry_desc d = gather(&shapes[i], dst + 64, NULL, len);

				CHECK_EQ(env_do_one(q, WITH(d, dst, at)), want);
				d = scatter(&shapes[i], NULL, dst + 64, len);
				CHECK_EQ(env_do_one(q, WITH(d, src, at)), want);
				n_met += met;
				n_free += !met;
			}
		}
		destroy(&shapes[i]);
	}
	CHECK(n_met > 200 && n_free > 200, "%u %u", n_met, n_free);
	env_queue_done(q);
}

static void
layouts_that_the_device_cannot_have_are_refused(void)
{
	static struct gantry_block b[BLOCKS + 1];
	struct gantry_layout_conf conf = {b, 1, 1};
	uint16_t id = 7, all[GANTRY_MAX_LAYOUTS];
	uint32_t i;

	rte_log_set_level(gantry_logtype, RTE_LOG_CRIT);
	for (i = 0; i <= BLOCKS; i++)
		b[i] = (struct gantry_block){100 * i, 10, 20};
	CHECK_EQ(gantry_layout_create(g, &(struct gantry_layout_conf){NULL, 1, 1}, &id), -EINVAL);
	CHECK_EQ(gantry_layout_create(g, &(struct gantry_layout_conf){b, 0, 1}, &id), -EINVAL);
	CHECK_EQ(gantry_layout_create(g, &(struct gantry_layout_conf){b, BLOCKS + 1, 1}, &id),
		-E2BIG);
	CHECK_EQ(gantry_layout_create(g, &(struct gantry_layout_conf){b, BLOCKS, 2}, &id), -E2BIG);
	b[0].len = 0;
	CHECK_EQ(gantry_layout_create(g, &conf, &id), -EINVAL);
	b[0].len = (UINT64_C(1) << 30) + 1;
	CHECK_EQ(gantry_layout_create(g, &conf, &id), -EINVAL);
	b[0] = (struct gantry_block){UINT64_MAX - 5, 10, 0};
	CHECK_EQ(gantry_layout_create(g, &conf, &id), -EINVAL);
	b[0] = (struct gantry_block){0, 10, UINT64_MAX - 5};
	CHECK_EQ(gantry_layout_create(g, &conf, &id), -EINVAL);
	/* Only the blocks of the last rounds end beyond the address space. */
	conf.rounds = 3;
	b[0] = (struct gantry_block){UINT64_C(3) << 62, 10, (UINT64_C(1) << 61) - 10};
	CHECK_EQ(gantry_layout_create(g, &conf, &id), -EINVAL);
	b[0] = (struct gantry_block){0, 10, (UINT64_C(1) << 63) - 10};
	CHECK_EQ(gantry_layout_create(g, &conf, &id), -EINVAL);
	b[0] = (struct gantry_block){0, 10, 65526};
	conf.rounds = BLOCKS + 1;
	CHECK_EQ(gantry_layout_create(g, &conf, &id), -E2BIG);
	b[0] = (struct gantry_block){0, 65536, 0};
	CHECK_EQ(gantry_layout_create(g, &conf, &id), -E2BIG);
	/* Now only the stride of the third block is too long. */
	b[0] = (struct gantry_block){0, 10, 10};
	b[2] = (struct gantry_block){0, 10, 65526};
	conf.n = 3;
	CHECK_EQ(gantry_layout_create(g, &conf, &id), -E2BIG);
	conf.n = 1;
	CHECK_EQ(id, 7);
	/*
	 * The largest values that are accepted: the longest block, and as many blocks as a pattern
	 * may have.
	 */
	b[0] = (struct gantry_block){0, UINT64_C(1) << 30, 0};
	b[2] = (struct gantry_block){200, 10, 20};
	conf.rounds = 1;
	CHECK_EQ(gantry_layout_create(g, &conf, &id), 0);
	CHECK_EQ(gantry_layout_destroy(g, id), 0);
	b[0] = (struct gantry_block){0, 10, 65525};
	CHECK_EQ(gantry_layout_create(g, &(struct gantry_layout_conf){b, BLOCKS - 1, 2}, &id), 0);
	CHECK_EQ(gantry_layout_destroy(g, id), 0);
	b[0] = (struct gantry_block){0, 10, 10};
	CHECK_EQ(gantry_layout_destroy(g, 0), -EINVAL);
	CHECK_EQ(gantry_layout_destroy(g, 1), -EINVAL);
	CHECK_EQ(gantry_layout_destroy(g, UINT16_MAX), -EINVAL);
	/* Long strides are accepted where the device takes the rounds as a list. */
	conf.rounds = BLOCKS;
	CHECK_EQ(gantry_layout_create(g, &conf, &id), 0);
	CHECK_EQ(gantry_layout_destroy(g, id), 0);
	CHECK_EQ(gantry_layout_destroy(g, id), -EINVAL);
	for (i = 0; i < GANTRY_MAX_LAYOUTS; i++)
		CHECK_EQ(gantry_layout_create(g, &conf, &all[i]), 0);
	CHECK_EQ(gantry_layout_create(g, &conf, &id), -ENOSPC);
	for (i = 0; i < GANTRY_MAX_LAYOUTS; i++)
		CHECK_EQ(gantry_layout_destroy(g, all[i]), 0);
}

/* ------------------------------------------------------------------ recovery */

/*
 * Whichever operation fails, each descriptor completes once. Descriptors with GANTRY_OK have moved
 * the right bytes, other descriptors have moved none. The queue has one key, which had another
 * layout before: so wrong bytes show that a descriptor used the key before its UMR was executed.
 */
static void
whatever_fails_no_descriptor_moves_the_bytes_of_another_layout(void)
{
	const struct gantry_queue_conf conf = {.depth = 64, .layout_keys = 1};
	struct shape old = {.block = {{5000, 300, 0}}, .n = 1};
	struct shape s = {.block = {{0, 100, 0}, {1000, 200, 0}}, .n = 2};
	struct shape t = {.block = {{2000, 100, 0}, {3000, 200, 0}}, .n = 2};
	struct gantry_desc desc[12];
	struct gantry_comp comp[RTE_DIM(desc)];
	uint32_t op, i, n_ok = 0, n_flushed = 0;
	struct gantry_queue *q;
	char line[64];

	rte_log_set_level(gantry_logtype, RTE_LOG_CRIT);
	create(&old);
	create(&s);
	create(&t);
	for (op = 1; op <= 16; op++) {
		CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
		reset(op);
		CHECK_EQ(env_do_one(q, gather(&old, src, dst + 100000, 300)), GANTRY_OK);
		model_gather(&old, 0, 100000, 300);
		snprintf(line, sizeof(line), "complete op=%u syndrome=0x04", op);
		CHECK_EQ(softhca_fault(line), 0);
		for (i = 0; i < RTE_DIM(desc); i++) {
			desc[i] = gather(i < 8 ? &s : &t, src, dst + 1000 * i, 300);
			desc[i].cookie = i;
		}
		env_do(q, desc, comp, RTE_DIM(desc));
		for (i = 0; i < RTE_DIM(desc); i++) {
			CHECK_EQ(comp[i].cookie, i);
			CHECK_EQ(comp[i].zero, 0);
			n_ok += comp[i].status == GANTRY_OK;
			n_flushed += comp[i].status == GANTRY_FLUSHED;
			if (comp[i].status == GANTRY_OK)
				model_gather(i < 8 ? &s : &t, 0, 1000 * i, 300);
			else
				CHECK(comp[i].status == GANTRY_LOCAL_ERROR ||
					comp[i].status == GANTRY_FLUSHED);
		}
		CHECK(memcmp(dst, model, ARENA_LEN) == 0, "operation %u failed", op);
		softhca_faults_clear();
		/* A later descriptor finds no key whose UMR was not executed. */
		CHECK_EQ(env_do_one(q, gather(&t, src, dst, 300)), GANTRY_OK);
		CHECK(memcmp(dst, src + 2000, 100) == 0 && memcmp(dst + 100, src + 3000, 200) == 0);
		CHECK_EQ(env_do_one(q, gather(&s, src, dst, 300)), GANTRY_OK);
		CHECK(memcmp(dst, src, 100) == 0 && memcmp(dst + 100, src + 1000, 200) == 0);
		env_queue_done(q);
	}
	/* Most descriptors were executed again. */
	CHECK(n_ok > 8 * RTE_DIM(desc) && n_flushed != 0, "%u ok, %u flushed", n_ok, n_flushed);
	destroy(&old);
	destroy(&s);
	destroy(&t);
}

/*
 * A gather was flushed and is posted again. Its key is in use until the gather is done, so a
 * descriptor with another layout must wait.
 */
static void
a_key_of_replayed_work_is_not_given_to_another_layout(void)
{
	const struct gantry_queue_conf conf = {.depth = 16, .layout_keys = 1};
	struct shape s = {.block = {{0, 100, 0}, {1000, 200, 0}}, .n = 2};
	struct shape t = {.block = {{2000, 100, 0}, {3000, 200, 0}}, .n = 2};
	struct gantry_comp comp[3];
	struct gantry_desc desc[3];
	struct gantry_queue *q;

	create(&s);
	create(&t);
	reset(20);
	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	desc[0] = env_copy(src, dst + 4000, 64);
	desc[1] = gather(&s, src, dst, 300);
	desc[2] = gather(&t, src, dst + 1000, 300);
	CHECK_EQ(softhca_fault("complete op=1 syndrome=0x04"), 0);
	CHECK_EQ(gantry_submit(q, desc, 3), 3);
	while (env_stats(q).recoveries == 0)
		CHECK_EQ(env_poll(q, NULL, 0), 0);
	/*
	 * The gather is posted again. An adapter without a thread has not executed any part of the
	 * gather yet.
	 */
	if (env_is_pumped()) {
		CHECK_EQ(gantry_poll(q, comp, 0), 0);
		CHECK_EQ(env_stats(q).replays, 1);
		CHECK_EQ(env_stats(q).layout_misses, 1);
	}
	env_collect(q, comp, 3);
	CHECK_EQ(comp[0].status, GANTRY_LOCAL_ERROR);
	CHECK_EQ(comp[1].status, GANTRY_OK);
	CHECK_EQ(comp[2].status, GANTRY_OK);
	CHECK_EQ(env_stats(q).layout_misses, 2);
	CHECK(memcmp(dst, src, 100) == 0 && memcmp(dst + 100, src + 1000, 200) == 0);
	CHECK(memcmp(dst + 1000, src + 2000, 100) == 0 && memcmp(dst + 1100, src + 3000, 200) == 0);
	destroy(&s);
	destroy(&t);
	env_queue_done(q);
}

/*
 * A gather waits until the queue's connection to itself is set up again. Meanwhile a message to a
 * peer needs the key with another layout, and must not get it. The peer posts its receive only
 * after the gather is done.
 */
static void
a_key_of_work_that_waits_for_a_repair_is_not_given_to_a_peer(void)
{
	const struct gantry_queue_conf conf = {.depth = 16, .layout_keys = 1};
	const struct gantry_peer_conf receives = {.recv_depth = 1};
	const struct gantry_recv recv = {.addr = (uintptr_t)dst + 1000, .len = 300};
	struct shape s = {.block = {{0, 100, 0}, {1000, 200, 0}}, .n = 2};
	struct shape t = {.block = {{2000, 100, 0}, {3000, 200, 0}}, .n = 2};
	struct gantry_recv_comp recv_comp;
	struct gantry_addr a, b;
	struct gantry_comp comp[3];
	struct gantry_desc desc[3];
	struct gantry_queue *q;
	uint16_t peer, back;
	char line[80];

	create(&s);
	create(&t);
	reset(21);
	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	CHECK_EQ(gantry_peer_open(q, NULL, &peer, &a), 0);
	CHECK_EQ(gantry_peer_open(q, &receives, &back, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, peer, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, back, &a), 0);
	desc[0] = env_copy(src, dst + 4000, 64);
	desc[1] = gather(&s, src, dst, 300);
	desc[2] = gather(&t, src, NULL, 300);
	desc[2].op = GANTRY_OP_SEND;
	desc[2].peer = peer;
	snprintf(line, sizeof(line), "complete qp=%u syndrome=0x04",
		q->conn[GANTRY_CONN_OWN].qp->qpn);
	CHECK_EQ(softhca_fault(line), 0);
	CHECK_EQ(softhca_fault("refuse call=modify_qp errno=5 times=5"), 0);
	CHECK_EQ(gantry_submit(q, desc, 2), 2);
	while (q->conn[GANTRY_CONN_OWN].state != GANTRY_CONN_BROKEN)
		CHECK_EQ(env_poll(q, NULL, 0), 0);
	CHECK_EQ(gantry_submit(q, desc + 2, 1), 1);
	env_collect(q, comp, 2);
	CHECK_EQ(comp[0].status, GANTRY_LOCAL_ERROR);
	CHECK_EQ(comp[1].status, GANTRY_OK);
	CHECK(memcmp(dst, src, 100) == 0 && memcmp(dst + 100, src + 1000, 200) == 0);
	CHECK_EQ(gantry_recv_post(q, back, &recv, 1), 1);
	env_collect(q, comp, 1);
	CHECK_EQ(comp[0].status, GANTRY_OK);
	while (gantry_recv_poll(q, &recv_comp, 1) == 0)
		env_pump();
	CHECK_EQ(recv_comp.status, GANTRY_OK);
	CHECK(memcmp(dst + 1000, src + 2000, 100) == 0 && memcmp(dst + 1100, src + 3000, 200) == 0);
	CHECK_EQ(env_stats(q).recoveries, 1);
	destroy(&s);
	destroy(&t);
	env_queue_done(q);
}

static const struct check_case cases[] = {
	{"random layouts move the same as loops of the CPU",
		random_layouts_move_what_loops_of_the_cpu_move},
	{"a column of a matrix is one descriptor", a_column_of_a_matrix_is_one_descriptor},
	{"a repeated layout is configured in hardware once",
		a_layout_that_repeats_is_given_to_the_hardware_once},
	{"more layouts than keys wait, and none is lost",
		more_layouts_than_keys_wait_and_none_is_lost},
	{"a layout that waits is counted once", a_layout_that_waits_is_counted_once},
	{"the layout that was idle for longest loses its key",
		the_layout_that_was_idle_longest_gives_its_key_up},
	{"keys are found and lost in the order of last use",
		keys_are_found_and_given_up_as_a_list_says},
	{"other peers use the keys of a closed peer", keys_of_a_closed_peer_serve_others},
	{"a layout may lie at 0", a_layout_may_lie_at_0},
	{"a pattern has the longest stride", a_pattern_has_the_longest_stride},
	{"each bad use of a layout gets its own status and no WQE",
		each_bad_use_of_a_layout_gets_its_own_status_and_no_wqe},
	{"every block of a layout is checked", every_block_of_a_layout_is_judged},
	{"descriptors in hardware are executed when their layout is destroyed",
		what_the_hardware_has_of_a_layout_that_ends_is_carried_out},
	{"a layout that is too long for a peer is refused",
		a_layout_that_is_too_long_for_a_peer_is_refused},
	{"a piece overlaps if it has a byte of the layout",
		a_piece_overlaps_if_it_has_a_byte_of_the_layout},
	{"layouts that the device cannot have are refused",
		layouts_that_the_device_cannot_have_are_refused},
	{"whatever fails, no descriptor moves the bytes of another layout",
		whatever_fails_no_descriptor_moves_the_bytes_of_another_layout},
	{"a key of descriptors that are executed again is not given to another layout",
		a_key_of_replayed_work_is_not_given_to_another_layout},
	{"a key of descriptors that wait for a repair is not given to a peer",
		a_key_of_work_that_waits_for_a_repair_is_not_given_to_a_peer},
};

int
main(int argc, char **argv)
{
	uint32_t i;

	env_init(0);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	env_need(g, ENV_LAYOUTS);
	src = env_map(ARENA_LEN);
	dst = env_map(ARENA_LEN);
	model = env_map(ARENA_LEN);
	for (i = 0; i < 2 * N_REGIONS; i++)
		CHECK_EQ(gantry_mem_register(g, (i < N_REGIONS ? src : dst) + i % N_REGIONS * PART,
				 PART, ENV_REMOTE, &mem[i]),
			0);
	env_run(cases, RTE_DIM(cases), argc, argv);
	return env_done(g, mem, RTE_DIM(mem));
}
