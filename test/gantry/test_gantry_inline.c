/* SPDX-License-Identifier: BSD-3-Clause */
/* Inline mode: every operation, every refusal, order, full queues, splitting, fences and memory. */
#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "gantry_env.h"

#define ARENA_LEN (UINT64_C(4) << 20)

static struct gantry *g;
static struct gantry_info info;
static uint8_t *src, *dst; /* two regions of ARENA_LEN each */
static struct gantry_mem *src_mem, *dst_mem;

/* Returns the number of WQEs that one copy needs. */
static uint64_t
wqes_of(uint64_t len)
{
	return (len + info.max_copy_len - 1) / info.max_copy_len;
}

/* ------------------------------------------------------------------ operations */

static void
copies_of_every_length(void)
{
	static const uint64_t lens[] = {1, 2, 3, 7, 63, 64, 65, 255, 4095, 4096, 4097, 65536,
		100003};
	struct gantry_queue *q = env_queue(g, 16);
	uint64_t bytes = 0, wqes = 0;
	unsigned int i;

	for (i = 0; i < RTE_DIM(lens); i++) {
		uint8_t *s = src + 17 * i, *d = dst + 64 + 5 * i;

		env_fill(src, ARENA_LEN, i);
		env_fill(s, lens[i], 1000 + i);
		memset(dst, 0xee, lens[i] + 4096);
		CHECK_EQ(env_do_one(q, env_copy(s, d, lens[i])), GANTRY_OK);
		CHECK(env_is_filled(d, lens[i], 1000 + i));
		CHECK_EQ(d[-1], 0xee);
		CHECK_EQ(d[lens[i]], 0xee);
		bytes += lens[i];
		wqes += wqes_of(lens[i]);
	}
	CHECK_EQ(env_stats(q).bytes, bytes);
	CHECK_EQ(env_stats(q).wqes, wqes);
	CHECK_EQ(env_stats(q).submitted, RTE_DIM(lens));
	CHECK_EQ(env_stats(q).completed, RTE_DIM(lens));
	CHECK_EQ(env_stats(q).by_status[GANTRY_OK], RTE_DIM(lens));
	env_queue_done(q);
}

static void
a_nop_uses_no_hardware_and_waits_its_turn(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_desc desc[3] = {{.op = GANTRY_OP_NOP, .cookie = 1}, env_copy(src, dst, 100),
		{.op = GANTRY_OP_NOP, .cookie = 3}};
	struct gantry_comp comp[3];
	int i;

	desc[1].cookie = 2;
	env_do(q, desc, comp, 3);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(comp[i].cookie, i + 1);
		CHECK_EQ(comp[i].status, GANTRY_OK);
	}
	CHECK_EQ(env_stats(q).wqes, wqes_of(100));
	CHECK_EQ(env_stats(q).bytes, 100);
	env_queue_done(q);
}

/* Writes in both directions between two queues, and from a queue to itself. */
static void
write_and_read_reach_a_peer(void)
{
	struct gantry_queue *a = env_queue(g, 8), *b = env_queue(g, 8);
	uint32_t key = gantry_mem_remote_key(dst_mem);
	struct gantry_desc d;
	uint16_t pa, pb, loop1, loop2;

	env_connect(a, &pa, b, &pb);
	env_connect(a, &loop1, a, &loop2);
	CHECK(loop1 != pa && loop2 != pa && loop1 != loop2);

	env_fill(src, 9000, 1);
	memset(dst, 0, 9001);
	d = env_copy(src, dst, 9000);
	d.op = GANTRY_OP_WRITE;
	d.peer = pa;
	d.remote_key = key;
	CHECK_EQ(env_do_one(a, d), GANTRY_OK);
	CHECK(env_is_filled(dst, 9000, 1));
	CHECK_EQ(dst[9000], 0);

	env_fill(dst, 9000, 2);
	memset(src, 0, 9001);
	d = env_copy(dst, src, 9000);
	d.op = GANTRY_OP_READ;
	d.peer = pb;
	d.remote_key = key;
	CHECK_EQ(env_do_one(b, d), GANTRY_OK);
	CHECK(env_is_filled(src, 9000, 2));
	CHECK_EQ(src[9000], 0);

	env_fill(src, 300, 3);
	d = env_copy(src, dst, 300);
	d.op = GANTRY_OP_WRITE;
	d.peer = loop2;
	d.remote_key = key;
	CHECK_EQ(env_do_one(a, d), GANTRY_OK);
	CHECK(env_is_filled(dst, 300, 3));

	CHECK_EQ(env_stats(a).bytes, 9300);
	CHECK_EQ(env_stats(b).bytes, 9000);
	CHECK_EQ(gantry_peer_close(a, pa), 0);
	CHECK_EQ(gantry_peer_close(a, pa), -EINVAL);
	env_queue_done(a); /* also closes the peers that are still open */
	env_queue_done(b);
}

/* ------------------------------------------------------------------ refusals */

static void
each_bad_descriptor_gets_its_own_status_and_no_wqe(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	uint16_t peer, back, unconnected;
	struct gantry_addr addr;
	struct gantry_desc c = env_copy(src, dst, 64);
	struct gantry_desc nop = {.op = GANTRY_OP_NOP};
	struct gantry_desc w, r;

	env_connect(q, &peer, q, &back);
	CHECK_EQ(gantry_peer_open(q, NULL, &unconnected, &addr), 0);
	w = WITH(WITH(WITH(c, op, GANTRY_OP_WRITE), peer, peer), remote_key,
		gantry_mem_remote_key(dst_mem));
	r = WITH(WITH(WITH(c, op, GANTRY_OP_READ), peer, peer), remote_key,
		gantry_mem_remote_key(src_mem));

	const struct {
		struct gantry_desc desc;
		enum gantry_status status;
	} bad[] = {
		{WITH(c, op, 0), GANTRY_BAD_OP},
		{WITH(c, op, GANTRY_OP_MAX), GANTRY_BAD_OP},
		{WITH(c, op, 255), GANTRY_BAD_OP},
		{WITH(c, zero, 1), GANTRY_BAD_FIELD},
		{WITH(c, flags, 2), GANTRY_BAD_FIELD},
		{WITH(c, flags, 0x8000), GANTRY_BAD_FIELD},
		{WITH(c, peer, 1), GANTRY_BAD_FIELD},
		{WITH(c, layout, 1), GANTRY_BAD_FIELD},
		{WITH(c, remote_key, 1), GANTRY_BAD_FIELD},
		{WITH(c, imm, 1), GANTRY_BAD_FIELD},
		{WITH(c, arg[0], 1), GANTRY_BAD_FIELD},
		{WITH(c, arg[1], 1), GANTRY_BAD_FIELD},
		{WITH(nop, src, 1), GANTRY_BAD_FIELD},
		{WITH(nop, dst, 1), GANTRY_BAD_FIELD},
		{WITH(nop, len, 1), GANTRY_BAD_FIELD},
		{WITH(nop, peer, 1), GANTRY_BAD_FIELD},
		{WITH(w, zero, 1), GANTRY_BAD_FIELD},
		{WITH(w, layout, 1), GANTRY_BAD_LAYOUT},
		{WITH(w, imm, 1), GANTRY_BAD_FIELD},
		{WITH(r, arg[0], 1), GANTRY_BAD_FIELD},
		{WITH(r, arg[1], 1), GANTRY_BAD_FIELD},
		{WITH(r, flags, 4), GANTRY_BAD_FIELD},
		{WITH(c, len, 0), GANTRY_BAD_LENGTH},
		{WITH(c, len, UINT64_MAX), GANTRY_BAD_LENGTH},
		{WITH(c, len, -(uintptr_t)src), GANTRY_BAD_LENGTH},
		{WITH(w, len, 0), GANTRY_BAD_LENGTH},
		{WITH(w, dst, UINT64_MAX - 62), GANTRY_BAD_LENGTH},
		{WITH(r, src, UINT64_MAX - 62), GANTRY_BAD_LENGTH},
		{WITH(c, src, 0), GANTRY_NOT_REGISTERED},
		{WITH(c, dst, 0), GANTRY_NOT_REGISTERED},
		{WITH(w, src, 0), GANTRY_NOT_REGISTERED},
		{WITH(r, dst, 0), GANTRY_NOT_REGISTERED},
		{WITH(c, src, (uintptr_t)&c), GANTRY_NOT_REGISTERED},
		{WITH(c, dst, (uintptr_t)&c), GANTRY_NOT_REGISTERED},
		{WITH(c, src, 1), GANTRY_NOT_REGISTERED},
		{WITH(c, src, (uintptr_t)src - 1), GANTRY_NOT_REGISTERED},
		{WITH(c, src, (uintptr_t)src + ARENA_LEN - 63), GANTRY_NOT_REGISTERED},
		{WITH(c, dst, (uintptr_t)dst + ARENA_LEN), GANTRY_NOT_REGISTERED},
		{WITH(c, len, ARENA_LEN + 1), GANTRY_NOT_REGISTERED},
		{WITH(w, src, (uintptr_t)&c), GANTRY_NOT_REGISTERED},
		{WITH(r, dst, (uintptr_t)&c), GANTRY_NOT_REGISTERED},
		{WITH(w, peer, unconnected), GANTRY_BAD_PEER},
		{WITH(r, peer, unconnected), GANTRY_BAD_PEER},
		{WITH(w, peer, 17), GANTRY_BAD_PEER},
		{WITH(w, peer, 64), GANTRY_BAD_PEER},
		{WITH(w, peer, UINT16_MAX), GANTRY_BAD_PEER},
	};
	unsigned int i;

	memset(dst, 0x5a, 4096);
	env_fill(src, 4096, 7);
	for (i = 0; i < RTE_DIM(bad); i++) {
		struct gantry_stats before = env_stats(q);
		enum gantry_status status = env_do_one(q, WITH(bad[i].desc, cookie, i));

		if (status != bad[i].status)
			fprintf(stderr, "row %u: ", i);
		CHECK_EQ(status, bad[i].status);
		CHECK_EQ(env_stats(q).wqes, before.wqes);
		CHECK_EQ(env_stats(q).doorbells, before.doorbells);
		CHECK_EQ(env_stats(q).by_status[status], before.by_status[status] + 1);
		CHECK_EQ(env_stats(q).bytes, before.bytes);
		CHECK_EQ(dst[0], 0x5a);
	}
	/*
	 * The descriptors succeed without the changes of the rows, so each refusal above is due to
	 * its row's change.
	 */
	CHECK_EQ(env_do_one(q, c), GANTRY_OK);
	CHECK_EQ(env_do_one(q, nop), GANTRY_OK);
	CHECK_EQ(env_do_one(q, WITH(nop, flags, GANTRY_DESC_FENCE)), GANTRY_OK);
	CHECK_EQ(env_do_one(q, w), GANTRY_OK);
	CHECK_EQ(env_do_one(q, r), GANTRY_OK);
	CHECK_EQ(env_do_one(q, WITH(c, src, (uintptr_t)src + ARENA_LEN - 64)), GANTRY_OK);
	CHECK_EQ(gantry_peer_close(q, unconnected), 0);
	env_queue_done(q);
}

/*
 * Tests every distance of source and destination around the length of the copy, after look-ups of
 * the same regions and after look-ups of other regions.
 */
static void
copies_that_overlap_are_refused(void)
{
	static const uint64_t lens[] = {1, 2, 64, 3000};
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *s = src + 8192;
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(lens); i++) {
		int64_t len = lens[i];
		const int64_t by[] = {0, 1, len - 1, len, len + 1, -1, 1 - len, -len, -len - 1};

		for (k = 0; k < 2 * RTE_DIM(by); k++) {
			int64_t distance = by[k / 2];
			bool common = distance < len && -distance < len;

			CHECK_EQ(env_do_one(q, env_copy(src, k % 2 ? dst : src + 4096, 64)),
				GANTRY_OK);
			env_fill(src, 16384, i);
			CHECK_EQ(env_do_one(q, env_copy(s, s + distance, len)),
				common ? GANTRY_OVERLAP : GANTRY_OK);
			if (common)
				CHECK(env_is_filled(src, 16384, i));
			else
				CHECK_EQ(memcmp(s, s + distance, len), 0);
		}
	}
	env_queue_done(q);
}

static void
bad_descriptors_among_good_ones_harm_no_other(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc desc[48];
	struct gantry_comp comp[48];
	unsigned int i;

	memset(dst, 0, 48 * 64);
	env_fill(src, 48 * 64, 11);
	for (i = 0; i < 48; i++) {
		desc[i] = env_copy(src + i * 64, dst + i * 64, 64);
		desc[i].cookie = i;
		if (i % 5 == 2)
			desc[i].src = 0;
	}
	env_do(q, desc, comp, 48);
	for (i = 0; i < 48; i++) {
		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].status, i % 5 == 2 ? GANTRY_NOT_REGISTERED : GANTRY_OK);
		CHECK_EQ(memcmp(src + i * 64, dst + i * 64, 64) == 0, i % 5 != 2);
	}
	env_queue_done(q);
}

/* ------------------------------------------------------------------ queues */

static void
a_full_queue_accepts_fewer_and_loses_nothing(void)
{
	static const uint32_t depths[] = {2, 4, 64, 1024};
	unsigned int k;

	for (k = 0; k < RTE_DIM(depths); k++) {
		struct gantry_queue *q = env_queue(g, depths[k]);
		uint32_t depth = depths[k], i;
		struct gantry_desc *desc = calloc(depth + 7, sizeof(*desc));
		struct gantry_comp *comp = calloc(depth + 7, sizeof(*comp));

		for (i = 0; i < depth + 7; i++) {
			desc[i] = env_copy(src + i, dst + i * 64, 64);
			desc[i].cookie = i;
		}
		CHECK_EQ(gantry_submit(q, desc, depth + 7), depth);
		CHECK_EQ(gantry_in_flight(q), depth);
		CHECK_EQ(gantry_submit(q, desc, 1), 0);
		CHECK_EQ(gantry_queue_destroy(q), -EBUSY);
		env_collect(q, comp, 1);
		CHECK_EQ(gantry_submit(q, desc + depth, 7), 1);
		CHECK_EQ(gantry_submit(q, desc + depth + 1, 6), 0);
		env_collect(q, comp + 1, depth);
		CHECK_EQ(gantry_submit(q, desc + depth + 1, RTE_MIN(6u, depth)),
			RTE_MIN(6u, depth));
		env_collect(q, comp, RTE_MIN(6u, depth));
		for (i = 0; i < RTE_MIN(6u, depth); i++)
			CHECK_EQ(comp[i].cookie, depth + 1 + i);
		CHECK_EQ(env_stats(q).completed, depth + 1 + RTE_MIN(6u, depth));
		env_queue_done(q);
		free(desc);
		free(comp);
	}
}

static void
many_laps_keep_order(void)
{
	struct gantry_queue *q = env_queue(g, 32);
	uint64_t put = 0, got = 0, seed = 5;
	struct gantry_comp comp[64];
	struct gantry_desc desc[64];

	/* More than 65,536 WQEs, so that the hardware's 16-bit indices wrap. */
	while (got < 70000) {
		uint32_t n = check_random(&seed) % 40, i, k;

		for (i = 0; i < n; i++) {
			desc[i] = env_copy(src + (put + i) % 1000, dst, 1 + (put + i) % 64);
			desc[i].cookie = put + i;
		}
		put += gantry_submit(q, desc, n);
		k = env_poll(q, comp, check_random(&seed) % 48);
		for (i = 0; i < k; i++) {
			CHECK_EQ(comp[i].cookie, got + i);
			CHECK_EQ(comp[i].len, 1 + (got + i) % 64);
			CHECK_EQ(comp[i].status, GANTRY_OK);
		}
		got += k;
		CHECK_EQ(gantry_in_flight(q), put - got);
	}
	env_collect(q, comp, put - got);
	env_queue_done(q);
}

/*
 * A queue that is never without work must still publish its consumer index, because otherwise the
 * CQ overruns. When a poll finds a copy done, the next copy is already posted. This continues for
 * many laps of the CQ.
 */
static void
a_queue_that_is_never_idle_goes_on(void)
{
	enum {
		N = 3000
	};
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_desc d = env_copy(src, dst, 64);
	struct gantry_comp comp;
	bool failed;
	uint32_t i;

	if (!env_is_pumped()) {
		env_queue_done(q);
		return;
	}
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	for (i = 0; i < N; i++) {
		env_pump();
		CHECK_EQ(gantry_submit(q, &d, 1), 1);
		if (i < N / 2) {
			CHECK_EQ(gantry_poll(q, &comp, 1), 1);
			CHECK_EQ(comp.status, GANTRY_OK);
		} else {
			CHECK_EQ(gantry_poll_good(q, 1, &failed), 1);
			CHECK(!failed);
		}
		CHECK_EQ(gantry_in_flight(q), 1);
	}
	env_collect(q, &comp, 1);
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
}

static void
one_doorbell_and_one_cqe_for_a_burst(void)
{
	struct gantry_queue *q = env_queue(g, 256);
	struct gantry_desc desc[32];
	struct gantry_comp comp[32];
	unsigned int i;

	for (i = 0; i < 32; i++)
		desc[i] = env_copy(src, dst + i * 64, 64);
	CHECK_EQ(gantry_submit(q, desc, 32), 32);
	env_collect(q, comp, 32);
	CHECK_EQ(env_stats(q).doorbells, 1);
	CHECK_EQ(env_stats(q).wqes, 32 * wqes_of(64));
	CHECK_EQ(env_stats(q).cqes, 1);
	env_queue_done(q);
}

/*
 * Random bursts. Some descriptors fail, and some need a full check. The test knows in advance which
 * descriptors fail, so it also knows the values that the counters must have.
 */
static void
good_completions_are_counted_up_to_a_failure(void)
{
	enum {
		/* A quarter of them are atomics, and a queue has fewer words for their results. */
		N = 3000,
		DEPTH = 64
	};
	struct gantry_queue *q = env_queue(g, DEPTH);
	uint64_t seed = 5, bytes = 0, adds = 0;
	struct gantry_desc d, add;
	static bool fails[N];
	uint16_t peer, back, k;
	unsigned int in = 0, out = 0;
	struct gantry_comp comp;
	struct gantry_mem *mem;
	uint64_t *sum = (uint64_t *)env_mem(g, 4096, GANTRY_MEM_REMOTE_ATOMIC, &mem);
	bool failed;

	env_connect(q, &peer, q, &back);
	*sum = 0;
	add = (struct gantry_desc){.op = GANTRY_OP_FETCH_ADD,
		.peer = peer,
		.len = 8,
		.dst = (uintptr_t)sum,
		.remote_key = gantry_mem_remote_key(mem),
		.arg = {1}};
	while (out < N) {
		unsigned int burst = check_random(&seed) % 20;

		for (; burst != 0 && in < N && in - out < DEPTH; burst--, in++) {
			unsigned int kind = check_random(&seed) % 16;

			d = kind == 0       ? (struct gantry_desc){.op = GANTRY_OP_NOP}
			    : kind % 4 == 1 ? add
					    : env_copy(src, dst + 64 * (in % DEPTH), 64);
			d.cookie = in;
			fails[in] = kind == 2;
			if (fails[in])
				d.imm = 1;
			else
				bytes += d.len;
			adds += kind % 4 == 1;
			CHECK_EQ(gantry_submit(q, &d, 1), 1);
		}
		env_pump();
		burst = check_random(&seed) % 20;
		failed = true;
		k = gantry_poll_good(q, burst, &failed);
		CHECK(k <= burst);
		for (; k != 0; k--, out++)
			CHECK(!fails[out]);
		if (failed) {
			CHECK(fails[out]);
			CHECK_EQ(gantry_poll_good(q, 8, &failed), 0);
			CHECK(failed);
			CHECK_EQ(gantry_poll(q, &comp, 1), 1);
			CHECK_EQ(comp.status, GANTRY_BAD_FIELD);
			CHECK_EQ(comp.cookie, out++);
		}
		CHECK_EQ(gantry_in_flight(q), in - out);
	}
	CHECK_EQ(gantry_poll_good(q, 8, &failed), 0);
	CHECK(!failed);
	CHECK_EQ(env_stats(q).bytes, bytes);
	CHECK_EQ(env_stats(q).completed, N);
	CHECK_EQ(*sum, adds);
	env_queue_done(q);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	env_unmap(sum, 4096);
}

static void
wrong_configurations_are_refused(void)
{
	static const struct gantry_queue_conf bad[] = {{.depth = 1}, {.depth = 3}, {.depth = 32768},
		{.depth = 100}, {.numa_node = 1}, {.mask = GANTRY_QUEUE_NUMA_NODE, .numa_node = -1},
		{.mask = GANTRY_QUEUE_NUMA_NODE, .numa_node = 1000}, {.mask = 2},
		{.reserved[7] = 1}};
	struct gantry_queue *q = NULL;
	struct gantry *none = NULL;
	unsigned int i;

	for (i = 0; i < RTE_DIM(bad); i++)
		CHECK_EQ(gantry_queue_create(g, &bad[i], &q), -EINVAL);
	CHECK(q == NULL);
	CHECK_EQ(gantry_create(&(struct gantry_conf){.device = "nosuch0"}, &none), -ENODEV);
	CHECK_EQ(gantry_create(&(struct gantry_conf){.copy_path = 3}, &none), -EINVAL);
	CHECK(none == NULL);
	CHECK_EQ(gantry_destroy(g), -EBUSY); /* -EBUSY, because memory is registered */
}

/* ------------------------------------------------------------------ splitting, fences */

static void
a_long_copy_is_split_and_completes_once(void)
{
	/*
	 * Lengths at and around the limit of one WQE, and many times the length that fits the send
	 * queue.
	 */
	uint64_t max = RTE_MIN(info.max_copy_len, UINT64_C(1) << 20);
	const uint64_t lens[] = {max - 1, max, max + 1, 2 * max - 1, 2 * max, 3 * max + 5,
		RTE_MIN(max * 1000 + 3, ARENA_LEN)};
	struct gantry_queue *q = env_queue(g, 4);
	unsigned int i;

	for (i = 0; i < RTE_DIM(lens); i++) {
		struct gantry_stats before = env_stats(q);

		env_fill(src, lens[i], 40 + i);
		memset(dst, 0, ARENA_LEN);
		CHECK_EQ(env_do_one(q, env_copy(src, dst, lens[i])), GANTRY_OK);
		CHECK(env_is_filled(dst, lens[i], 40 + i));
		if (lens[i] < ARENA_LEN)
			CHECK_EQ(dst[lens[i]], 0);
		CHECK_EQ(env_stats(q).wqes - before.wqes, wqes_of(lens[i]));
		CHECK_EQ(env_stats(q).completed - before.completed, 1);
		CHECK_EQ(env_stats(q).bytes - before.bytes, lens[i]);
	}
	env_queue_done(q);
}

static void
descriptors_behind_a_split_copy_wait_and_none_is_lost(void)
{
	struct gantry_queue *q = env_queue(g, 16);
	uint64_t len = RTE_MIN(info.max_copy_len * 200, ARENA_LEN / 16);
	struct gantry_desc desc[16];
	struct gantry_comp comp[16];
	unsigned int i;

	env_fill(src, ARENA_LEN, 77);
	memset(dst, 0, ARENA_LEN);
	for (i = 0; i < 16; i++) {
		desc[i] = env_copy(src + i * (ARENA_LEN / 16), dst + i * (ARENA_LEN / 16),
			i % 3 == 0 ? len : 10 + i);
		desc[i].cookie = i;
		if (i == 7)
			desc[i].op = 99;
	}
	CHECK_EQ(gantry_submit(q, desc, 9), 9);
	CHECK_EQ(gantry_submit(q, desc + 9, 7), 7);
	CHECK_EQ(gantry_submit(q, desc, 1), 0);
	/* The caller may reuse the memory of accepted descriptors. */
	memset(desc, 0xff, sizeof(desc));
	env_collect(q, comp, 16);
	for (i = 0; i < 16; i++) {
		uint64_t n = i % 3 == 0 ? len : 10 + i, at = i * (ARENA_LEN / 16);

		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].status, i == 7 ? GANTRY_BAD_OP : GANTRY_OK);
		CHECK_EQ(comp[i].len, n);
		CHECK_EQ(memcmp(src + at, dst + at, n) == 0, i != 7);
	}
	env_queue_done(q);
}

/*
 * Fenced copies from a to b, from b to c, and so on: at the end, the last buffer must have the
 * bytes of the first buffer.
 */
static void
fenced_copies_see_what_came_before(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	uint64_t len = RTE_MIN(2 * info.max_copy_len + 3, UINT64_C(1) << 16);
	struct gantry_desc desc[32];
	struct gantry_comp comp[32];
	unsigned int round, i;

	for (round = 0; round < 20; round++) {
		env_fill(src, len, round);
		memset(dst, 0, 34 * len);
		for (i = 0; i < 32; i++) {
			desc[i] = env_copy(i == 0 ? src : dst + (i - 1) * len, dst + i * len, len);
			desc[i].flags = GANTRY_DESC_FENCE;
		}
		env_do(q, desc, comp, 32);
		for (i = 0; i < 32; i++)
			CHECK_EQ(comp[i].status, GANTRY_OK);
		CHECK(env_is_filled(dst + 31 * len, len, round));
	}
	env_queue_done(q);
}

static void
a_fence_holds_across_connections(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	uint16_t peer, back;
	unsigned int round;

	env_connect(q, &peer, q, &back);
	for (round = 0; round < 50; round++) {
		env_fill(src, 4096, round);
		memset(dst, 0, 3 * 4096);
		desc[0] = env_copy(src, dst, 4096);
		desc[1] = env_copy(dst, dst + 4096, 4096);
		desc[1].op = GANTRY_OP_WRITE;
		desc[1].peer = peer;
		desc[1].remote_key = gantry_mem_remote_key(dst_mem);
		desc[1].flags = GANTRY_DESC_FENCE;
		desc[2] = env_copy(dst + 4096, dst + 2 * 4096, 4096);
		desc[2].flags = GANTRY_DESC_FENCE;
		/*
		 * The fenced descriptors are accepted. They wait until the device has finished the
		 * earlier descriptors.
		 */
		uint64_t wqes = env_stats(q).wqes;
		CHECK_EQ(gantry_submit(q, desc, 3), 3);
		CHECK_EQ(env_stats(q).wqes - wqes, RTE_MIN(wqes_of(4096), UINT64_C(64)));
		env_collect(q, comp, 3);
		CHECK(env_is_filled(dst + 2 * 4096, 4096, round));
	}
	env_queue_done(q);
}

/* ------------------------------------------------------------------ peers */

static void
connections_have_an_end_and_rules(void)
{
	struct gantry_queue *q = env_queue(g, 4), *other = env_queue(g, 4);
	struct gantry_addr addr[64], spare, junk;
	uint16_t peer[64], back, none;
	struct gantry_desc d;
	struct gantry_comp comp;
	unsigned int i;

	for (i = 0; i < 64; i++)
		CHECK_EQ(gantry_peer_open(q, NULL, &peer[i], &addr[i]), 0);
	CHECK_EQ(gantry_peer_open(q, NULL, &none, &spare), -ENOSPC);
	CHECK_EQ(gantry_peer_open(other, NULL, &back, &spare), 0);

	memset(&junk, 0, sizeof(junk));
	CHECK_EQ(gantry_peer_connect(q, peer[5], &junk), -EINVAL);
	memset(&junk, 0xff, sizeof(junk));
	CHECK_EQ(gantry_peer_connect(q, peer[5], &junk), -EINVAL);
	CHECK_EQ(gantry_peer_connect(q, 64, &spare), -EINVAL);
	CHECK_EQ(gantry_peer_connect(q, peer[5], &spare), 0);
	CHECK_EQ(gantry_peer_connect(q, peer[5], &spare), -EISCONN);
	CHECK_EQ(gantry_peer_connect(other, back, &addr[5]), 0);

	d = env_copy(src, dst, 8);
	d.op = GANTRY_OP_WRITE;
	d.peer = peer[5];
	d.remote_key = gantry_mem_remote_key(dst_mem);
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	CHECK_EQ(gantry_peer_close(q, peer[5]), -EBUSY);
	env_collect(q, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	CHECK_EQ(gantry_peer_close(q, peer[5]), 0);
	CHECK_EQ(env_do_one(q, d), GANTRY_BAD_PEER);
	CHECK_EQ(gantry_peer_close(q, peer[5]), -EINVAL);
	CHECK_EQ(gantry_peer_open(q, NULL, &none, &spare), 0);
	CHECK_EQ(none, peer[5]);
	env_queue_done(q);
	env_queue_done(other);
}

/* ------------------------------------------------------------------ memory */

static void
memory_is_known_from_registration_to_its_end(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t *m = env_map(16 * 4096);
	struct gantry_mem *a, *b, *c = NULL;
	struct gantry_desc d;
	struct gantry_comp comp;
	unsigned int flag;

	CHECK_EQ(env_do_one(q, env_copy(m, dst, 100)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(gantry_mem_register(g, m + 4096, 2 * 4096, 0, &a), 0);
	CHECK_EQ(gantry_mem_register(g, m + 3 * 4096, 4096, 0, &b), 0);
	CHECK_EQ(env_do_one(q, env_copy(m + 4096, dst, 100)), GANTRY_OK);
	/* No descriptor may reach from one region into the next. */
	CHECK_EQ(env_do_one(q, env_copy(m + 3 * 4096 - 50, dst, 100)), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, env_copy(m + 3 * 4096 - 50, dst, 50)), GANTRY_OK);

	CHECK_EQ(gantry_mem_register(g, m, 4097, 0, &c), -EEXIST);
	CHECK_EQ(gantry_mem_register(g, m, 16 * 4096, 0, &c), -EEXIST);
	CHECK_EQ(gantry_mem_register(g, m + 4096 + 8, 8, 0, &c), -EEXIST);
	CHECK_EQ(gantry_mem_register(g, m + 4 * 4096 - 1, 10, 0, &c), -EEXIST);
	CHECK_EQ(gantry_mem_register(g, m, 0, 0, &c), -EINVAL);
	CHECK_EQ(gantry_mem_register(g, NULL, 4096, 0, &c), -EINVAL);
	for (flag = GANTRY_MEM_RELAXED << 1; flag != 0; flag <<= 1)
		CHECK_EQ(gantry_mem_register(g, m, 4096, flag, &c), -EINVAL);
	CHECK_EQ(gantry_mem_register(g, m, SIZE_MAX - 100, 0, &c), -EINVAL);
	CHECK(c == NULL);

	d = env_copy(m + 4096, dst, 100);
	CHECK_EQ(gantry_submit(q, &d, 1), 1);
	CHECK_EQ(gantry_mem_unregister(a, 0), -ETIMEDOUT);
	env_collect(q, &comp, 1);
	CHECK_EQ(gantry_mem_unregister(a, 0), 0);
	CHECK_EQ(env_do_one(q, d), GANTRY_NOT_REGISTERED);
	CHECK_EQ(env_do_one(q, env_copy(m + 3 * 4096, dst, 100)), GANTRY_OK);
	CHECK_EQ(gantry_mem_register(g, m, 3 * 4096, 0, &a), 0);
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	CHECK_EQ(gantry_mem_unregister(a, 0), 0);
	CHECK_EQ(gantry_mem_unregister(b, 0), 0);
	env_queue_done(q);
	env_unmap(m, 16 * 4096);
}

/*
 * Pieces are registered in random order, with holes between them. A copy must find the region of
 * its addresses, and must be refused in a hole.
 */
static void
the_right_region_is_found_among_many(void)
{
	enum {
		N = 300,
		PIECE = 256,
		STRIDE = 320
	};
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_mem *mem[N];
	uint8_t *m = env_map(N * STRIDE);
	unsigned int i;

	for (i = 0; i < N; i++)
		CHECK_EQ(gantry_mem_register(g, m + i * 7 % N * STRIDE, PIECE, 0, &mem[i]), 0);
	for (i = 0; i < N; i++) {
		uint8_t *p = m + i * STRIDE, *o = m + (N - 1 - i) * STRIDE;

		env_fill(p, PIECE / 2, i);
		CHECK_EQ(env_do_one(q, env_copy(p, o + PIECE / 2, PIECE / 2)), GANTRY_OK);
		CHECK(env_is_filled(o + PIECE / 2, PIECE / 2, i));
		CHECK_EQ(env_do_one(q, env_copy(p, dst, PIECE + 1)), GANTRY_NOT_REGISTERED);
		CHECK_EQ(env_do_one(q, env_copy(p + PIECE, dst, 1)), GANTRY_NOT_REGISTERED);
	}
	for (i = 0; i < N; i++)
		CHECK_EQ(gantry_mem_unregister(mem[i], 0), 0);
	env_queue_done(q);
	env_unmap(m, N * STRIDE);
}

static void
statuses_have_names(void)
{
	int i, k;

	for (i = 0; i < GANTRY_STATUS_MAX; i++)
		for (k = 0; k < i; k++)
			CHECK(strcmp(gantry_status_name(i), gantry_status_name(k)) != 0);
	CHECK(strcmp(gantry_status_name(GANTRY_STATUS_MAX), "unknown status") == 0);
	CHECK(strcmp(gantry_status_name(-1), "unknown status") == 0);
}

static const struct check_case cases[] = {
	{"copies of every length move exactly their bytes", copies_of_every_length},
	{"a NOP uses no hardware and waits its turn", a_nop_uses_no_hardware_and_waits_its_turn},
	{"write and read reach a peer", write_and_read_reach_a_peer},
	{"each bad descriptor gets its own status and no WQE",
		each_bad_descriptor_gets_its_own_status_and_no_wqe},
	{"copies that overlap are refused", copies_that_overlap_are_refused},
	{"bad descriptors do not affect the good ones beside them",
		bad_descriptors_among_good_ones_harm_no_other},
	{"a full queue accepts fewer and loses nothing",
		a_full_queue_accepts_fewer_and_loses_nothing},
	{"many laps keep order", many_laps_keep_order},
	{"a queue that is never idle continues to work", a_queue_that_is_never_idle_goes_on},
	{"one doorbell and one CQE for a burst", one_doorbell_and_one_cqe_for_a_burst},
	{"good completions are counted, up to one that failed",
		good_completions_are_counted_up_to_a_failure},
	{"wrong configurations are refused", wrong_configurations_are_refused},
	{"a long copy is split and completes once", a_long_copy_is_split_and_completes_once},
	{"descriptors after a split copy wait, and none is lost",
		descriptors_behind_a_split_copy_wait_and_none_is_lost},
	{"fenced copies see the results of earlier copies", fenced_copies_see_what_came_before},
	{"a fence holds across connections", a_fence_holds_across_connections},
	{"connections are closed, and wrong calls on them are refused",
		connections_have_an_end_and_rules},
	{"memory can be used from its registration to its release",
		memory_is_known_from_registration_to_its_end},
	{"the right region is found among many", the_right_region_is_found_among_many},
	{"statuses have names", statuses_have_names},
};

int
main(int argc, char **argv)
{
	const char *max_memcpy = getenv("SOFTHCA_MAX_MEMCPY");

	env_init(0);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	gantry_info_get(g, &info);
	/* The adapter's setting decides which carrier the engine uses for copies. */
	if (max_memcpy != NULL) {
		uint64_t limit = strtoull(max_memcpy, NULL, 0);

		CHECK_EQ(info.copy_path, limit != 0 ? GANTRY_COPY_MMO : GANTRY_COPY_RDMA);
		if (limit != 0)
			CHECK_EQ(info.max_copy_len, limit);
	}
	src = env_mem(g, ARENA_LEN, ENV_REMOTE, &src_mem);
	dst = env_mem(g, ARENA_LEN, ENV_REMOTE, &dst_mem);
	env_run(cases, RTE_DIM(cases), argc, argv);
	return env_done(g, (struct gantry_mem *const[]){src_mem, dst_mem}, 2);
}
