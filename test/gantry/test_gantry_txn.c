/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transactions: profiles, refusals, and each status with which a transaction can complete. Expected
 * signatures come from txn/reference.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_common.h>
#include <rte_cycles.h>

#include <softhca.h>

#include "gantry_env.h"
#include "gantry_queue.h"
#include "gantry_sleep.h"
#include "gantry_txn_state.h"
#include "txn/reference.h"

static struct gantry *g;

/* ------------------------------------------------------------------ profiles */

static const struct gantry_sig_domain none;
static const struct gantry_sig_domain dif = {GANTRY_SIG_T10DIF_CRC, 512, GANTRY_SIG_REF_REMAP};
static const struct gantry_sig_domain crc = {GANTRY_SIG_CRC32C, 4096, 0};

static int
profile(struct gantry_sig_domain mem, struct gantry_sig_domain wire, uint8_t check, int copy,
	uint16_t *id)
{
	const struct gantry_profile_conf conf = {.mem = mem,
		.wire = wire,
		.check = check,
		.copy = copy < 0 ? 0 : copy,
		.copy_is_set = copy >= 0};

	return gantry_profile_create(g, &conf, id);
}

static void
a_profile_is_refused_for_each_field_that_is_wrong(void)
{
	const struct gantry_profile_conf copy_alone = {.mem = dif,
		.wire = dif,
		.copy = GANTRY_SIG_GUARD};
	struct gantry_sig_domain d = dif;
	uint16_t id = 77;

	CHECK_EQ(profile(none, none, GANTRY_SIG_ALL, -1, &id), -EINVAL);
	d.kind = GANTRY_SIG_KIND_MAX;
	CHECK_EQ(profile(d, none, 0, -1, &id), -EINVAL);
	d = dif;
	d.block_size = 1024;
	CHECK_EQ(profile(none, d, 0, -1, &id), -EINVAL);
	d.block_size = 0;
	CHECK_EQ(profile(d, none, 0, -1, &id), -EINVAL);
	d = dif;
	d.flags = 1u << 3;
	CHECK_EQ(profile(d, none, 0, -1, &id), -EINVAL);
	d.flags = GANTRY_SIG_APP_ESCAPE | GANTRY_SIG_APP_REF_ESCAPE;
	CHECK_EQ(profile(d, none, 0, -1, &id), -EINVAL);
	CHECK_EQ(profile(none, d, 0, -1, &id), -EINVAL);
	d = crc;
	d.flags = GANTRY_SIG_REF_REMAP;
	CHECK_EQ(profile(none, d, 0, -1, &id), -EINVAL);
	d = none;
	d.block_size = 512;
	CHECK_EQ(profile(dif, d, 0, -1, &id), -EINVAL);
	CHECK_EQ(profile(dif, none, GANTRY_SIG_ALL + 1, -1, &id), -EINVAL);
	CHECK_EQ(profile(dif, dif, 0, GANTRY_SIG_ALL + 1, &id), -EINVAL);
	CHECK_EQ(profile(dif, none, 0, GANTRY_SIG_GUARD, &id), -EINVAL);
	CHECK_EQ(gantry_profile_create(g, &copy_alone, &id), -EINVAL);
	d = dif;
	d.block_size = 4096;
	CHECK_EQ(profile(dif, d, 0, GANTRY_SIG_GUARD, &id), -EINVAL);
	/* A profile that copies signatures unchanged needs domains of the same kind. */
	d = dif;
	d.kind = GANTRY_SIG_T10DIF_CSUM;
	CHECK_EQ(profile(dif, d, 0, GANTRY_SIG_ALL, &id), -EINVAL);
	/*
	 * If both domains have blocks of the same size, either both reference tags count or neither
	 * does, unless `copy` says which parts are copied.
	 */
	d.flags = 0;
	CHECK_EQ(profile(dif, d, 0, -1, &id), -EINVAL);
	d.kind = dif.kind;
	CHECK_EQ(profile(dif, d, 0, -1, &id), -EINVAL);
	CHECK_EQ(profile(d, dif, 0, -1, &id), -EINVAL);
	CHECK_EQ(id, 77);
	CHECK_EQ(profile(d, dif, 0, GANTRY_SIG_GUARD, &id), 0);
	CHECK_EQ(gantry_profile_destroy(g, id), 0);
	d.block_size = 4096;
	CHECK_EQ(profile(d, dif, 0, -1, &id), 0);
	CHECK_EQ(gantry_profile_destroy(g, id), 0);
	CHECK_EQ(profile(dif, dif, 0, GANTRY_SIG_GUARD, &id), 0);
	CHECK_EQ(gantry_profile_destroy(g, id), 0);
}

static void
an_engine_has_so_many_profiles(void)
{
	const uint32_t n = GANTRY_MAX_PROFILES - 3; /* the other three are those of main() */
	uint16_t id[GANTRY_MAX_PROFILES], one = 0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		CHECK_EQ(profile(dif, none, GANTRY_SIG_ALL, -1, &id[i]), 0);
		CHECK_EQ(id[i], i + 4);
	}
	CHECK_EQ(profile(dif, none, GANTRY_SIG_ALL, -1, &one), -ENOSPC);
	CHECK_EQ(gantry_profile_destroy(g, id[7]), 0);
	CHECK_EQ(gantry_profile_destroy(g, id[7]), -EINVAL);
	CHECK_EQ(profile(crc, crc, GANTRY_SIG_GUARD, -1, &one), 0);
	CHECK_EQ(one, id[7]);
	for (i = 0; i < n; i++)
		CHECK_EQ(gantry_profile_destroy(g, id[i]), 0);
	CHECK_EQ(gantry_profile_destroy(g, 0), -EINVAL);
	CHECK_EQ(gantry_profile_destroy(g, GANTRY_MAX_PROFILES + 1), -EINVAL);
	CHECK_EQ(gantry_profile_destroy(g, UINT16_MAX), -EINVAL);
}

/*
 * The engine must report the same features as ibv_devinfo(1) (doc/softhca-reference.md: Block
 * signatures).
 */
static void
the_engine_tells_what_the_device_has(void)
{
	struct gantry_info info;

	gantry_info_get(g, &info);
	CHECK_EQ(info.sig_kinds & ~RTE_BIT32(GANTRY_SIG_CRC64_XP10),
		RTE_BIT32(GANTRY_SIG_T10DIF_CRC) | RTE_BIT32(GANTRY_SIG_T10DIF_CSUM) |
			RTE_BIT32(GANTRY_SIG_CRC32) | RTE_BIT32(GANTRY_SIG_CRC32C));
	CHECK_EQ(info.sig_block_sizes, 0x1f);
}

/*
 * ------------------------------------------------------------------ signatures, and memory with
 * them
 */

#define BLOCKS   8
#define AREA_LEN (UINT64_C(1) << 20)

#define APP   0x1234
#define REF   0xfffffffe /* wraps to 0 in the third block */
#define UNIT  520
#define PLAIN (BLOCKS * 512)
#define DIF   (BLOCKS * UNIT)

static const struct ref_sig ref = {.kind = REF_DIF_CRC,
	.block = 512,
	.app = APP,
	.ref = REF,
	.count = true};

/* Writes BLOCKS blocks of 512 bytes of `data`, each followed by its signature. */
static void
interleave(const uint8_t *data, uint8_t *to)
{
	ref_lay(&ref, data, BLOCKS, to);
}

/* Memory of the target (here) and of the peer (there). */
static uint8_t *here, *there;
static struct gantry_mem *here_mem, *there_mem;
static uint8_t want[DIF], plain[PLAIN];
/* Profiles that check, generate, and pass signatures on. */
static uint16_t checks, generates, passes;

static const struct gantry_txn_tags tags = {.ref_tag = REF, .app_tag = APP};

static struct gantry_queue *
txn_queue(uint32_t n)
{
	const struct gantry_queue_conf conf = {.depth = 64, .transactions = n};
	struct gantry_queue *q;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	return q;
}

static struct gantry_desc
txn_desc(struct gantry_txn *t, uint16_t peer)
{
	return (struct gantry_desc){.op = GANTRY_OP_TXN,
		.peer = peer,
		.src = (uintptr_t)t,
		.len = PLAIN,
		.cookie = (uintptr_t)t};
}

/* Submits one transaction and returns its status. */
static enum gantry_status
txn_do(struct gantry_queue *q, struct gantry_txn *t, uint16_t peer)
{
	return env_do_one(q, txn_desc(t, peer));
}

/* ------------------------------------------------------------------ local transactions */

static void
a_check_moves_nothing_and_finds_what_is_wrong(void)
{
	struct gantry_queue *q = txn_queue(4);
	const struct gantry_sge data = {(uintptr_t)here, DIF};
	struct gantry_txn t = {.profile = checks,
		.op = GANTRY_OP_WRITE,
		.n_data = 1,
		.data = &data,
		.mem = tags};
	uint32_t block, round;

	interleave(plain, here);
	for (round = 0; round < 3; round++) {
		CHECK_EQ(txn_do(q, &t, GANTRY_PEER_OWN), GANTRY_OK);
		block = round * 3;
		here[block * UNIT + 17] ^= 4;
		CHECK_EQ(txn_do(q, &t, GANTRY_PEER_OWN), GANTRY_SIG_ERROR);
		CHECK_EQ(t.error.part, GANTRY_SIG_GUARD);
		CHECK_EQ(t.error.on_wire, false);
		CHECK_EQ(t.error.block, block);
		CHECK_EQ(t.error.expected, ref_guard(REF_DIF_CRC, false, here + block * UNIT, 512));
		CHECK_EQ(t.error.actual, ref_guard(REF_DIF_CRC, false, plain + block * 512, 512));
		here[block * UNIT + 17] ^= 4;
		here[block * UNIT + 513 + 2] ^= 0x80;
		CHECK_EQ(txn_do(q, &t, GANTRY_PEER_OWN), GANTRY_SIG_ERROR);
		CHECK_EQ(t.error.part, GANTRY_SIG_APP_TAG);
		CHECK_EQ(t.error.block, block);
		CHECK_EQ(t.error.expected, APP);
		CHECK_EQ(t.error.actual, APP ^ 0x80);
		here[block * UNIT + 513 + 2] ^= 0x80;
		here[block * UNIT + 519] ^= 1;
		CHECK_EQ(txn_do(q, &t, GANTRY_PEER_OWN), GANTRY_SIG_ERROR);
		CHECK_EQ(t.error.part, GANTRY_SIG_REF_TAG);
		CHECK_EQ(t.error.block, block);
		CHECK_EQ(t.error.expected, (uint32_t)(REF + block));
		CHECK_EQ(t.error.actual, (uint32_t)(REF + block) ^ 1);
		here[block * UNIT + 519] ^= 1;
	}
	CHECK_EQ(env_stats(q).by_status[GANTRY_SIG_ERROR], 9);
	CHECK_EQ(env_stats(q).txn_opened, 12);
	CHECK_EQ(env_stats(q).txn_done, 12);
	CHECK_EQ(env_stats(q).bytes, 3 * PLAIN);
	env_queue_done(q);
}

static void
signatures_are_generated_and_stripped_here(void)
{
	struct gantry_queue *q = txn_queue(2);
	const struct gantry_sge data = {(uintptr_t)here, PLAIN};
	const struct gantry_txn_part part[] = {{(uintptr_t)there, 2 * UNIT},
		{(uintptr_t)there + 100000, 5 * UNIT}, {(uintptr_t)there + 7, UNIT}};
	struct gantry_txn t = {.profile = generates,
		.op = GANTRY_OP_WRITE,
		.n_data = 1,
		.n_parts = 3,
		.data = &data,
		.part = part,
		.wire = tags};
	uint8_t random_bytes[GANTRY_TXN_MAX_PARTS * 512];
	struct gantry_txn_part parts[GANTRY_TXN_MAX_PARTS];
	const struct gantry_sge many = {(uintptr_t)here, sizeof(random_bytes)};
	enum {
		LONG = 20 * BLOCKS
	};
	struct gantry_desc d;
	uint16_t guards;
	uint32_t i;

	CHECK_EQ(profile(none, dif, GANTRY_SIG_GUARD, -1, &guards), 0);

	env_fill(random_bytes, sizeof(random_bytes), 16);
	memcpy(here, plain, PLAIN);
	memset(there, ENV_UNTOUCHED, AREA_LEN);
	/*
	 * The third part overlaps the first part. The third part is written last, so its bytes
	 * stay.
	 */
	CHECK_EQ(txn_do(q, &t, GANTRY_PEER_OWN), GANTRY_OK);
	CHECK(memcmp(there + 100000, want + 2 * UNIT, 5 * UNIT) == 0);
	CHECK(memcmp(there + 7, want + 7 * UNIT, UNIT) == 0);
	CHECK(memcmp(there + 7 + UNIT, want + 7 + UNIT, UNIT - 7) == 0);
	/* The other direction: the wire's signatures are checked and removed. */
	interleave(plain, there);
	t.n_parts = 1;
	t.part = (const struct gantry_txn_part[]){{(uintptr_t)there, DIF}};
	t.op = GANTRY_OP_READ;
	memset(here, ENV_UNTOUCHED, AREA_LEN);
	CHECK_EQ(txn_do(q, &t, GANTRY_PEER_OWN), GANTRY_OK);
	CHECK(memcmp(here, plain, PLAIN) == 0);
	CHECK_EQ(here[PLAIN], ENV_UNTOUCHED);
	there[3 * UNIT + 100] ^= 1;
	CHECK_EQ(txn_do(q, &t, GANTRY_PEER_OWN), GANTRY_SIG_ERROR);
	CHECK_EQ(t.error.on_wire, true);
	CHECK_EQ(t.error.block, 3);
	/* The largest number of parts. The last part has a wrong block. */
	ref_lay(&ref, random_bytes, GANTRY_TXN_MAX_PARTS, there);
	for (i = 0; i < GANTRY_TXN_MAX_PARTS; i++)
		parts[i] = (struct gantry_txn_part){(uintptr_t)there + i * UNIT, UNIT};
	t.data = &many;
	t.part = parts;
	t.n_parts = GANTRY_TXN_MAX_PARTS;
	d = txn_desc(&t, GANTRY_PEER_OWN);
	d.len = sizeof(random_bytes);
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	CHECK(memcmp(here, random_bytes, sizeof(random_bytes)) == 0);
	there[DIF * 2 - 1] ^= 1;
	CHECK_EQ(env_do_one(q, d), GANTRY_SIG_ERROR);
	CHECK_EQ(t.error.part, GANTRY_SIG_REF_TAG);
	CHECK_EQ(t.error.block, GANTRY_TXN_MAX_PARTS - 1);
	/* The signatures of one part have more bytes than one block. */
	for (i = 0; i < LONG; i += BLOCKS)
		ref_lay(&ref, plain, BLOCKS, there + i * UNIT);
	parts[0] = (struct gantry_txn_part){(uintptr_t)there, (LONG - BLOCKS) * UNIT};
	parts[1] = (struct gantry_txn_part){(uintptr_t)there + (LONG - BLOCKS) * UNIT, DIF};
	t.data = &(const struct gantry_sge){(uintptr_t)here, LONG * 512};
	t.profile = guards;
	t.n_parts = 2;
	d.len = LONG * 512;
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	there[(LONG - BLOCKS + 3) * UNIT + 100] ^= 1;
	CHECK_EQ(env_do_one(q, d), GANTRY_SIG_ERROR);
	CHECK_EQ(t.error.part, GANTRY_SIG_GUARD);
	CHECK_EQ(t.error.block, LONG - BLOCKS + 3);
	CHECK_EQ(gantry_profile_destroy(g, guards), 0);
	env_queue_done(q);
}

/*
 * Data and signatures are in separate buffers, and data are in several pieces: all bytes must be
 * right.
 */
static void
buffers_are_lists_or_have_their_signatures_apart(void)
{
	struct gantry_queue *q = txn_queue(2);
	struct gantry_sge data[GANTRY_TXN_MAX_DATA] = {{(uintptr_t)here, PLAIN}};
	const struct gantry_txn_part part = {(uintptr_t)there, DIF};
	struct gantry_txn t = {.profile = passes,
		.op = GANTRY_OP_WRITE,
		.n_data = 1,
		.n_parts = 1,
		.data = data,
		.pi = {(uintptr_t)here + 50000, BLOCKS * 8},
		.part = &part,
		.mem = tags,
		.wire = tags};
	uint32_t i, at = 0;

	memcpy(here, plain, PLAIN);
	for (i = 0; i < BLOCKS; i++)
		memcpy(here + 50000 + i * 8, want + i * UNIT + 512, 8);
	memset(there, ENV_UNTOUCHED, AREA_LEN);
	CHECK_EQ(txn_do(q, &t, GANTRY_PEER_OWN), GANTRY_OK);
	CHECK(memcmp(there, want, DIF) == 0);
	t.op = GANTRY_OP_READ;
	memset(here, ENV_UNTOUCHED, AREA_LEN);
	CHECK_EQ(txn_do(q, &t, GANTRY_PEER_OWN), GANTRY_OK);
	CHECK(memcmp(here, plain, PLAIN) == 0);
	for (i = 0; i < BLOCKS; i++)
		CHECK(memcmp(here + 50000 + i * 8, want + i * UNIT + 512, 8) == 0);
	/* Pieces may end at any byte, also inside a block. */
	t.pi = (struct gantry_sge){0};
	t.n_data = GANTRY_TXN_MAX_DATA;
	for (i = 0; i < GANTRY_TXN_MAX_DATA; i++) {
		data[i].addr = (uintptr_t)here + 3000 * i + i;
		data[i].len = i + 1 < GANTRY_TXN_MAX_DATA ? 251 + i : DIF - at;
		at += data[i].len;
	}
	CHECK_EQ(txn_do(q, &t, GANTRY_PEER_OWN), GANTRY_OK);
	for (i = 0, at = 0; i < GANTRY_TXN_MAX_DATA; at += data[i].len, i++)
		CHECK(memcmp((void *)data[i].addr, want + at, data[i].len) == 0);
	env_queue_done(q);
}

/*
 * The domains have different guards, and the tags of memory are not checked. Tags that are equal in
 * both domains pass unchanged: mlx5dv_wr_set_mkey_sig_block(3), copy_mask. The guard is computed
 * again.
 */
static void
tags_pass_between_the_kinds_of_t10_dif(void)
{
	static const struct gantry_sig_domain csum = {GANTRY_SIG_T10DIF_CSUM, 512,
		GANTRY_SIG_REF_REMAP};
	/*
	 * The first guard is that of RFC 1071 for zeros, the second is the CRC of zeros, which is
	 * 0. The tags are different from those of both domains.
	 */
	static const uint8_t sum[8] = {0xff, 0xff, 0x55, 0x66, 1, 2, 3, 4},
			     crc16[8] = {0, 0, 0x55, 0x66, 1, 2, 3, 4};
	const struct gantry_sge data = {(uintptr_t)here, UNIT};
	const struct gantry_txn_part part = {.addr = (uintptr_t)there, .len = UNIT};
	struct gantry_queue *q = txn_queue(2);
	uint32_t row;

	/*
	 * In row 0 the tags are equal. In rows 1 and 2 one tag differs, and the result has the
	 * wire's tag.
	 */
	for (row = 0; row < 3; row++) {
		struct gantry_txn t = {.op = GANTRY_OP_WRITE,
			.n_data = 1,
			.n_parts = 1,
			.data = &data,
			.part = &part,
			.mem = tags,
			.wire = tags};
		struct gantry_desc d = txn_desc(&t, GANTRY_PEER_OWN);
		uint8_t expect[8];

		memcpy(expect, crc16, 8);
		if (row == 1) {
			t.wire.app_tag = 0x7788;
			memcpy(expect + 2, "\x77\x88", 2);
		} else if (row == 2) {
			t.wire.ref_tag = 0x99aabbcc;
			memcpy(expect + 4, "\x99\xaa\xbb\xcc", 4);
		}
		CHECK_EQ(profile(csum, dif, GANTRY_SIG_GUARD, -1, &t.profile), 0);
		memset(here, 0, 512);
		memcpy(here + 512, sum, 8);
		memset(there, ENV_UNTOUCHED, UNIT);
		d.len = 512;
		CHECK_EQ(env_do_one(q, d), GANTRY_OK);
		CHECK(memcmp(there, here, 512) == 0);
		CHECK(memcmp(there + 512, expect, 8) == 0, "row %u", row);
		CHECK_EQ(gantry_profile_destroy(g, t.profile), 0);
	}
	env_queue_done(q);
}

/* ------------------------------------------------------------------ to peers */

/*
 * Two queues that are connected for transactions. The target's responses arrive in receives of the
 * other queue.
 */
struct pair {
	struct gantry_queue *q, *other;
	uint16_t peer, back;
};

#define REPLY_LEN 16

static void
pair_open(struct pair *p, enum gantry_txn_mode mode, uint32_t n)
{
	struct gantry_peer_conf conf = {.txn = mode, .depth = 256};
	struct gantry_addr a, b;

	p->q = txn_queue(n);
	p->other = env_queue(g, 64);
	CHECK_EQ(gantry_peer_open(p->q, &conf, &p->peer, &a), 0);
	conf = (struct gantry_peer_conf){.recv_depth = 256};
	CHECK_EQ(gantry_peer_open(p->other, &conf, &p->back, &b), 0);
	CHECK_EQ(gantry_peer_connect(p->q, p->peer, &b), 0);
	CHECK_EQ(gantry_peer_connect(p->other, p->back, &a), 0);
}

static void
pair_close(struct pair *p)
{
	struct gantry_recv_comp comp[64];

	CHECK_EQ(gantry_peer_close(p->q, p->peer), 0);
	CHECK_EQ(gantry_peer_close(p->other, p->back), 0);
	while (gantry_recv_poll(p->other, comp, 64) != 0)
		;
	env_queue_done(p->q);
	env_queue_done(p->other);
}

/* Posts n receives of REPLY_LEN bytes each. Their memory begins at offset `from` of `there`. */
static void
pair_receive(struct pair *p, uint64_t at, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		const struct gantry_recv r = {.cookie = i,
			.addr = (uintptr_t)there + at + i * REPLY_LEN,
			.len = REPLY_LEN};

		CHECK_EQ(gantry_recv_post(p->other, p->back, &r, 1), 1);
	}
}

/* The transactions of a burst, with their data, parts and responses. */
struct burst {
	struct gantry_txn t[64];
	struct gantry_sge data[64];
	struct gantry_txn_part part[64];
	char good[64][REPLY_LEN], bad[64][REPLY_LEN];
};

#define SPACE   (16 * 1024)
#define REPLIES (AREA_LEN - 64 * 1024)

/* Makes n WRITEs that check memory. Transaction i has a wrong block if bit i of `wrong` is set. */
static void
burst_make(struct burst *b, uint32_t n, uint64_t wrong)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint8_t *from = here + i * SPACE;

		interleave(plain, from);
		if ((wrong >> i & 1) != 0)
			from[(i % BLOCKS) * UNIT + 99] ^= 1;
		b->data[i] = (struct gantry_sge){(uintptr_t)from, DIF};
		b->part[i] = (struct gantry_txn_part){.addr = (uintptr_t)there + i * SPACE,
			.len = PLAIN,
			.remote_key = gantry_mem_remote_key(there_mem)};
		snprintf(b->good[i], REPLY_LEN, "good %u", i);
		snprintf(b->bad[i], REPLY_LEN, "bad %u", i);
		b->t[i] = (struct gantry_txn){.profile = checks,
			.op = GANTRY_OP_WRITE,
			.n_data = 1,
			.n_parts = 1,
			.data = &b->data[i],
			.part = &b->part[i],
			.mem = tags,
			.good = {(uintptr_t)b->good[i], strlen(b->good[i]) + 1, 0},
			.bad = {(uintptr_t)b->bad[i], strlen(b->bad[i]) + 1, 0}};
	}
}

static void
burst_run(struct pair *p, struct burst *b, uint32_t n, uint64_t wrong)
{
	struct gantry_desc desc[64];
	struct gantry_comp comp[64];
	uint32_t i;

	memset(there, ENV_UNTOUCHED, n * SPACE);
	pair_receive(p, REPLIES, n);
	for (i = 0; i < n; i++)
		desc[i] = txn_desc(&b->t[i], p->peer);
	env_do(p->q, desc, comp, n);
	for (i = 0; i < n; i++) {
		bool bad = (wrong >> i & 1) != 0;

		CHECK_EQ(comp[i].cookie, desc[i].cookie);
		CHECK_EQ(comp[i].status, bad ? GANTRY_SIG_ERROR : GANTRY_OK);
		CHECK_EQ(comp[i].op, GANTRY_OP_TXN);
		CHECK_EQ(comp[i].zero, 0);
		CHECK_EQ(b->t[i].error.part, bad ? GANTRY_SIG_GUARD : 0);
		if (bad)
			CHECK_EQ(b->t[i].error.block, i % BLOCKS);
		else
			CHECK(memcmp(there + i * SPACE, plain, PLAIN) == 0);
	}
}

/*
 * Checks the responses of a burst, which come in any order: each transaction must have exactly one
 * response, with the expected text.
 */
static void
burst_expect(struct pair *p, struct burst *b, uint32_t n, uint64_t wrong)
{
	struct gantry_recv_comp comp;
	uint64_t seen = 0;
	uint32_t i, k;

	for (i = 0; i < n; i++) {
		const char *text;

		while (gantry_recv_poll(p->other, &comp, 1) == 0)
			env_pump();
		CHECK_EQ(comp.status, GANTRY_OK);
		text = (const char *)there + REPLIES + comp.cookie * REPLY_LEN;
		for (k = 0; k < n; k++)
			if (strcmp(text, (wrong >> k & 1) != 0 ? b->bad[k] : b->good[k]) == 0)
				break;
		CHECK(k < n);
		CHECK_EQ(seen >> k & 1, 0);
		seen |= UINT64_C(1) << k;
	}
	CHECK_EQ(gantry_recv_poll(p->other, &comp, 1), 0);
}

static void
the_right_response_follows(enum gantry_txn_mode mode)
{
	static const uint64_t wrongs[] = {0, 1, 1 << 7, 0xff, 0x55, 0x0c, 0x90, 0};
	static struct burst b;
	struct pair p;
	uint32_t i;

	pair_open(&p, mode, 8);
	for (i = 0; i < RTE_DIM(wrongs); i++) {
		burst_make(&b, 8, wrongs[i]);
		burst_run(&p, &b, 8, wrongs[i]);
		burst_expect(&p, &b, 8, wrongs[i]);
	}
	CHECK_EQ(env_stats(p.q).txn_opened, 64);
	CHECK_EQ(env_stats(p.q).txn_done, 64);
	if (mode == GANTRY_TXN_WAIT) {
		CHECK_EQ(env_stats(p.q).txn_stops, 0);
	} else {
		CHECK(env_stats(p.q).txn_stops >= 6);
		CHECK_EQ(env_stats(p.q).txn_cancelled, env_stats(p.q).by_status[GANTRY_SIG_ERROR]);
	}
	pair_close(&p);
}

static void
the_right_response_follows_by_waiting(void)
{
	the_right_response_follows(GANTRY_TXN_WAIT);
}

static void
the_right_response_follows_by_pipelining(void)
{
	the_right_response_follows(GANTRY_TXN_PIPELINED);
}

/*
 * Submits transactions together, all with equal lengths. txn/reference.h computes the expected
 * bytes.
 */
static void
neighbours_may_differ_in_operation_and_profile(void)
{
	enum {
		WRITE,
		READ,
		WRITE_UNCHECKED,
		N
	};

	struct gantry_desc desc[N];
	struct gantry_comp comp[N];
	static struct burst b;
	uint16_t unchecked;
	struct pair p;
	uint32_t i;

	CHECK_EQ(profile(dif, none, 0, -1, &unchecked), 0);
	pair_open(&p, GANTRY_TXN_PIPELINED, N);
	burst_make(&b, N, 1 << WRITE_UNCHECKED);
	b.t[READ].op = GANTRY_OP_READ;
	b.t[WRITE_UNCHECKED].profile = unchecked;
	memset(there, ENV_UNTOUCHED, N * SPACE);
	memset(here + READ * SPACE, ENV_UNTOUCHED, SPACE);
	memcpy(there + READ * SPACE, plain, PLAIN);
	pair_receive(&p, REPLIES, N);
	for (i = 0; i < N; i++)
		desc[i] = txn_desc(&b.t[i], p.peer);
	env_do(p.q, desc, comp, N);
	for (i = 0; i < N; i++) {
		CHECK_EQ(comp[i].cookie, desc[i].cookie);
		CHECK_EQ(comp[i].status, GANTRY_OK);
	}
	CHECK(memcmp(there + WRITE * SPACE, plain, PLAIN) == 0);
	CHECK(memcmp(here + READ * SPACE, want, DIF) == 0);
	CHECK(memcmp(there + READ * SPACE, plain, PLAIN) == 0);
	burst_expect(&p, &b, N, 0);
	pair_close(&p);
	CHECK_EQ(gantry_profile_destroy(g, unchecked), 0);
}

/* Returns how many good responses of n transactions arrive before the engine is polled. */
static uint32_t
count_responses_at_once(enum gantry_txn_mode mode, enum gantry_op op, uint32_t n)
{
	struct gantry_desc desc[4];
	struct gantry_comp comp[4];
	struct gantry_recv_comp recv;
	static struct burst b;
	uint32_t i, at_once, got;
	struct pair p;

	pair_open(&p, mode, 4);
	burst_make(&b, n, 0);
	pair_receive(&p, REPLIES, n);
	for (i = 0; i < n; i++) {
		b.t[i].op = op;
		memcpy(there + i * SPACE, plain, PLAIN);
		desc[i] = txn_desc(&b.t[i], p.peer);
	}
	CHECK_EQ(gantry_submit(p.q, desc, n), n);
	for (i = 0; i < 100; i++)
		env_pump();
	for (at_once = 0; gantry_recv_poll(p.other, &recv, 1) != 0; at_once++)
		CHECK_EQ(recv.status, GANTRY_OK);
	env_collect(p.q, comp, n);
	for (i = 0; i < n; i++)
		CHECK_EQ(comp[i].status, GANTRY_OK);
	for (got = at_once; got < n; got += gantry_recv_poll(p.other, &recv, 1))
		env_pump();
	pair_close(&p);
	return at_once;
}

/*
 * Checks how many responses are posted together with their transfers. The expected numbers follow
 * from the section Responses of gantry_txn.h.
 */
static void
a_pipelined_response_is_posted_with_its_transfers(void)
{
	static const struct {
		enum gantry_txn_mode mode;
		enum gantry_op op;
		uint32_t n, at_once;
	} rows[] = {
		{GANTRY_TXN_WAIT, GANTRY_OP_WRITE, 1, 0},
		{GANTRY_TXN_WAIT, GANTRY_OP_READ, 1, 0},
		{GANTRY_TXN_PIPELINED, GANTRY_OP_WRITE, 4, 4},
		{GANTRY_TXN_PIPELINED, GANTRY_OP_READ, 1, 1},
		/* A READ's response waits while more than one other transaction is open. */
		{GANTRY_TXN_PIPELINED, GANTRY_OP_READ, 2, 2},
		{GANTRY_TXN_PIPELINED, GANTRY_OP_READ, 4, 2},
	};
	uint32_t i;

	if (!env_is_pumped())
		return;
	for (i = 0; i < RTE_DIM(rows); i++)
		CHECK_EQ(count_responses_at_once(rows[i].mode, rows[i].op, rows[i].n),
			rows[i].at_once);
}

/*
 * Submits more transactions than can be open at once, on a queue with a short ring. Each
 * transaction must get its own response.
 */
static void
others_wait_for_room(void)
{
	const uint64_t wrong = UINT64_C(0x8421084210842108);
	static struct burst b;
	struct pair p;

	pair_open(&p, GANTRY_TXN_PIPELINED, 3);
	burst_make(&b, 48, wrong);
	burst_run(&p, &b, 48, wrong);
	burst_expect(&p, &b, 48, wrong);
	pair_close(&p);
}

/* ------------------------------------------------------------------ refusals */

static enum gantry_status
refused_with(struct pair *p, const struct gantry_txn *t, uint64_t len)
{
	struct gantry_txn copy = *t;
	struct gantry_desc d = txn_desc(&copy, p->peer);
	enum gantry_status status;

	d.len = len;
	status = env_do_one(p->q, d);
	CHECK_EQ(copy.error.part, 0);
	return status;
}

/* Each descriptor has one wrong field, and must be refused with the status for this field. */
static void
each_rule_has_its_status(void)
{
	static struct burst b;
	struct gantry_queue *without = env_queue(g, 8);
	struct gantry_txn good, t;
	struct gantry_desc d;
	struct pair p;

	pair_open(&p, GANTRY_TXN_WAIT, 2);
	burst_make(&b, 1, 0);
	good = b.t[0];
#define REFUSED(change, status)                                                                    \
	do {                                                                                       \
		t = good;                                                                          \
		change;                                                                            \
		CHECK_EQ(refused_with(&p, &t, PLAIN), GANTRY_##status);                            \
	} while (0)
	REFUSED(t.profile = 0, BAD_PROFILE);
	REFUSED(t.profile = 200, BAD_PROFILE);
	REFUSED(t.profile = UINT16_MAX, BAD_PROFILE);
	REFUSED(t.op = GANTRY_OP_COPY, BAD_FIELD);
	REFUSED(t.zero[0] = 1, BAD_FIELD);
	REFUSED(t.zero[1] = 1, BAD_FIELD);
	REFUSED(t.zero[2] = 1, BAD_FIELD);
	REFUSED(t.mem.zero = 1, BAD_FIELD);
	REFUSED(t.wire.zero = 1, BAD_FIELD);
	REFUSED(t.wire.ref_tag = 1, BAD_FIELD);
	REFUSED(t.wire.seed_ones = true, BAD_FIELD);
	REFUSED(t.pi.addr = 8, BAD_FIELD);
	REFUSED(t.good.zero = 1, BAD_FIELD);
	REFUSED(t.bad.zero = 1, BAD_FIELD);
	REFUSED(t.bad.len = 0, BAD_FIELD);
	REFUSED(t.n_data = 0, BAD_LENGTH);
	REFUSED(t.n_data = GANTRY_TXN_MAX_DATA + 1, BAD_LENGTH);
	REFUSED(t.n_parts = 0, BAD_LENGTH);
	REFUSED(t.n_parts = GANTRY_TXN_MAX_PARTS + 1, BAD_LENGTH);
	REFUSED(t.data = NULL, BAD_ADDRESS);
	REFUSED(t.part = NULL, BAD_ADDRESS);
	REFUSED(t.part = (const void *)((uintptr_t)t.part + 4), BAD_ADDRESS);
	REFUSED(t.pi = ((struct gantry_sge){(uintptr_t)here, 8}), BAD_LENGTH);
	REFUSED(t.good.len = UINT32_MAX, BAD_LENGTH);
	/* The response is not registered, and too long to be inline. */
	REFUSED(t.good.len = 45, NOT_REGISTERED);
	CHECK_EQ(refused_with(&p, &good, 0), GANTRY_BAD_LENGTH);
	CHECK_EQ(refused_with(&p, &good, PLAIN - 1), GANTRY_BAD_LENGTH);
	CHECK_EQ(refused_with(&p, &good, PLAIN - 512), GANTRY_BAD_LENGTH);
	CHECK_EQ(refused_with(&p, &good, GANTRY_TXN_MAX_LEN + 512), GANTRY_BAD_LENGTH);
	b.data[0].len--;
	CHECK_EQ(refused_with(&p, &good, PLAIN), GANTRY_BAD_LENGTH);
	b.data[0].len += 2;
	CHECK_EQ(refused_with(&p, &good, PLAIN), GANTRY_BAD_LENGTH);
	b.data[0] = (struct gantry_sge){8, DIF};
	CHECK_EQ(refused_with(&p, &good, PLAIN), GANTRY_NOT_REGISTERED);
	b.data[0] = (struct gantry_sge){(uintptr_t)here, DIF};
	b.part[0].zero = 1;
	CHECK_EQ(refused_with(&p, &good, PLAIN), GANTRY_BAD_FIELD);
	b.part[0].zero = 0;
	b.part[0].len -= 1;
	CHECK_EQ(refused_with(&p, &good, PLAIN), GANTRY_BAD_LENGTH);
	b.part[0].len = PLAIN + 512;
	CHECK_EQ(refused_with(&p, &good, PLAIN), GANTRY_BAD_LENGTH);
	b.part[0].len = PLAIN;
	d = txn_desc(&good, p.peer);
	CHECK_EQ(env_do_one(p.q, WITH(d, src, d.src + 4)), GANTRY_BAD_ADDRESS);
	CHECK_EQ(env_do_one(p.q, WITH(d, src, 0)), GANTRY_BAD_ADDRESS);
	CHECK_EQ(env_do_one(p.q, WITH(d, dst, 1)), GANTRY_BAD_FIELD);
	CHECK_EQ(env_do_one(p.q, WITH(d, peer, 1)), GANTRY_BAD_PEER);
	/* Local transactions have no responses and no remote keys. */
	CHECK_EQ(env_do_one(p.q, WITH(d, peer, GANTRY_PEER_OWN)), GANTRY_BAD_FIELD);
	good.good = good.bad = (struct gantry_txn_response){0};
	CHECK_EQ(env_do_one(p.q, WITH(d, peer, GANTRY_PEER_OWN)), GANTRY_BAD_FIELD);
	CHECK_EQ(env_do_one(without, WITH(d, peer, GANTRY_PEER_OWN)), GANTRY_BAD_OP);
	/*
	 * A peer for transactions accepts only transactions, and another peer accepts no
	 * transaction.
	 */
	d = env_copy(here, there, 64);
	d.op = GANTRY_OP_WRITE;
	d.peer = p.peer;
	d.remote_key = gantry_mem_remote_key(there_mem);
	CHECK_EQ(env_do_one(p.q, d), GANTRY_BAD_PEER);
	pair_close(&p);
	env_queue_done(without);
}

/*
 * A response of up to gantry_peer_conf::max_inline bytes, by default 44, must be possible in memory
 * that is not registered.
 */
static void
a_response_that_fits_the_wqe_needs_no_registered_memory(void)
{
	static const int max_inline[] = {-1, 0, 16, 44, 100, 300}; /* -1: the default */
	static char text[400];
	static struct burst b;
	struct pair p;
	uint32_t i;

	for (i = 0; i < RTE_DIM(max_inline); i++) {
		const struct gantry_peer_conf far = {.recv_depth = 4};
		const bool given = max_inline[i] >= 0;
		const struct gantry_peer_conf near = {.txn = GANTRY_TXN_WAIT,
			.mask = given ? GANTRY_PEER_MAX_INLINE : 0,
			.max_inline = given ? max_inline[i] : 0};
		const uint32_t most = given ? (uint32_t)max_inline[i] : 44;
		const struct gantry_recv r = {.addr = (uintptr_t)there + REPLIES, .len = 400};
		struct gantry_recv_comp comp;
		struct gantry_addr x, y;

		p.q = txn_queue(2);
		p.other = env_queue(g, 8);
		CHECK_EQ(gantry_peer_open(p.q, &near, &p.peer, &x), 0);
		CHECK_EQ(gantry_peer_open(p.other, &far, &p.back, &y), 0);
		CHECK_EQ(gantry_peer_connect(p.q, p.peer, &y), 0);
		CHECK_EQ(gantry_peer_connect(p.other, p.back, &x), 0);
		burst_make(&b, 1, 0);
		b.t[0].bad.addr = b.t[0].good.addr = (uintptr_t)text;
		b.t[0].bad.len = b.t[0].good.len = most + 1;
		CHECK_EQ(refused_with(&p, &b.t[0], PLAIN), GANTRY_NOT_REGISTERED);
		if (most != 0) {
			env_fill(text, most, i);
			b.t[0].bad.len = b.t[0].good.len = most;
			CHECK_EQ(gantry_recv_post(p.other, p.back, &r, 1), 1);
			CHECK_EQ(txn_do(p.q, &b.t[0], p.peer), GANTRY_OK);
			while (gantry_recv_poll(p.other, &comp, 1) == 0)
				env_pump();
			CHECK_EQ(comp.status, GANTRY_OK);
			CHECK_EQ(comp.len, most);
			CHECK(env_is_filled(there + REPLIES, most, i));
		}
		pair_close(&p);
	}
}

static void
each_of_several_buffers_and_parts_follows_the_rules(void)
{
	const uint32_t key = gantry_mem_remote_key(there_mem);
	const uint64_t from = (uintptr_t)here, to = (uintptr_t)there;
	struct gantry_sge data[3];
	struct gantry_txn_part part[3];
	static struct burst b;
	struct gantry_txn t;
	struct pair p;

	pair_open(&p, GANTRY_TXN_WAIT, 2);
	burst_make(&b, 1, 0);
	t = b.t[0];
	t.data = data;
	t.part = part;
#define LIST(type, to, n, status, ...)                                                             \
	do {                                                                                       \
		const type list[] = {__VA_ARGS__};                                                 \
		memcpy(to, list, sizeof(list));                                                    \
		t.n = RTE_DIM(list);                                                               \
		CHECK_EQ(refused_with(&p, &t, PLAIN), GANTRY_##status);                            \
	} while (0)
#define BUFFERS(status, ...) LIST(struct gantry_sge, data, n_data, status, __VA_ARGS__)
#define PARTS(status, ...)   LIST(struct gantry_txn_part, part, n_parts, status, __VA_ARGS__)
	part[0] = b.part[0];
	BUFFERS(BAD_LENGTH, {from, 100}, {from, DIF - 101});
	BUFFERS(BAD_LENGTH, {from, 100}, {from, DIF - 99});
	BUFFERS(BAD_LENGTH, {from, DIF}, {from, 0});
	BUFFERS(BAD_LENGTH, {from, DIF}, {from, 8});
	BUFFERS(BAD_LENGTH, {from, 100}, {from, 0}, {from, DIF - 100});
	BUFFERS(NOT_REGISTERED, {from, 100}, {8, DIF - 100});
	BUFFERS(BAD_LENGTH, {UINT64_MAX - 8, DIF});
	/* If signatures have a buffer of their own, all data must be in one buffer. */
	t.pi = (struct gantry_sge){from + PLAIN, DIF - PLAIN};
	BUFFERS(BAD_LENGTH, {from, PLAIN}, {from, 512});
	BUFFERS(BAD_LENGTH, {from, 512}, {from + 512, PLAIN - 512});
	t.pi = (struct gantry_sge){0};
	t.data = b.data;
	t.n_data = 1;
	/* Memory has blocks of 512 bytes; the wire has no signatures. */
	PARTS(BAD_LENGTH, {to, 100, key, 0}, {to, PLAIN - 100, key, 0});
	PARTS(BAD_LENGTH, {to, 512, key, 0}, {to, PLAIN - 1024, key, 0});
	PARTS(BAD_LENGTH, {to, 512, key, 0}, {to, PLAIN, key, 0});
	PARTS(BAD_LENGTH, {to, PLAIN, key, 0}, {to, 0, key, 0});
	PARTS(BAD_LENGTH, {to, PLAIN, key, 0}, {to, 512, key, 0});
	PARTS(BAD_FIELD, {to, 512, key, 0}, {to, PLAIN - 512, key, 1});
	PARTS(BAD_LENGTH, {to, 512, key, 0}, {UINT64_MAX - 8, PLAIN - 512, key, 0});
	PARTS(BAD_LENGTH, {UINT64_MAX - 8, PLAIN, key, 0});
	/* The wire has signatures, memory has no signatures. */
	t.profile = generates;
	t.wire = t.mem;
	t.mem = (struct gantry_txn_tags){0};
	b.data[0].len = PLAIN;
	PARTS(BAD_LENGTH, {to, UNIT + 1, key, 0}, {to, DIF - UNIT - 1, key, 0});
	PARTS(BAD_LENGTH, {to, UNIT - 1, key, 0}, {to, DIF - UNIT + 1, key, 0});
	b.data[0].len = PLAIN - 1;
	part[0].len = DIF - UNIT;
	t.n_parts = 1;
	CHECK_EQ(refused_with(&p, &t, PLAIN - 1), GANTRY_BAD_LENGTH);
#undef BUFFERS
#undef PARTS
	pair_close(&p);
}

/* Data that a peer sends must not go to memory that the device may not write. */
static void
memory_that_is_only_read_takes_no_data(void)
{
	struct gantry_mem *mem;
	uint8_t *page = env_map(8192);
	struct gantry_sge data = {(uintptr_t)page, DIF};
	static struct burst b;
	struct gantry_txn t;
	struct pair p;

	CHECK_EQ(gantry_mem_register(g, page, 8192, GANTRY_MEM_READ_ONLY, &mem), 0);
	pair_open(&p, GANTRY_TXN_WAIT, 2);
	burst_make(&b, 1, 0);
	t = b.t[0];
	t.data = &data;
	t.op = GANTRY_OP_READ;
	CHECK_EQ(refused_with(&p, &t, PLAIN), GANTRY_READ_ONLY);
	pair_close(&p);
	CHECK_EQ(gantry_mem_unregister(mem, CHECK_PATIENCE_MS), 0);
	env_unmap(page, 8192);
}

/*
 * A local transaction has two parts. Peers may write and read the memory of the first part; the
 * second part's memory has other rights in each round.
 */
static void
each_local_part_needs_the_right_of_its_region(void)
{
	static const unsigned int flags[] = {0, GANTRY_MEM_REMOTE_WRITE, GANTRY_MEM_REMOTE_READ,
		ENV_REMOTE, GANTRY_MEM_REMOTE_ATOMIC, GANTRY_MEM_READ_ONLY,
		GANTRY_MEM_READ_ONLY | GANTRY_MEM_REMOTE_READ};
	const struct gantry_sge data = {(uintptr_t)here, PLAIN};
	struct gantry_queue *q = txn_queue(2);
	uint8_t *page = env_map(8192);
	const struct gantry_txn_part part[] = {{(uintptr_t)there, 3 * UNIT},
		{(uintptr_t)page, DIF - 3 * UNIT}};
	struct gantry_txn t = {.profile = generates,
		.n_data = 1,
		.n_parts = 2,
		.data = &data,
		.part = part,
		.wire = tags};
	struct gantry_info info;
	struct gantry_mem *mem;
	uint32_t i;

	gantry_info_get(g, &info);
	for (i = 0; i < RTE_DIM(flags); i++) {
		bool read_only = (flags[i] & GANTRY_MEM_READ_ONLY) != 0;
		/* If copies use RDMA, peers can write every region (see gantry_mem_register()). */
		bool may_write = (flags[i] & GANTRY_MEM_REMOTE_WRITE) != 0 ||
				 (info.carriers & RTE_BIT32(GANTRY_CARRIER_RDMA)) != 0;
		bool may_read = (flags[i] & GANTRY_MEM_REMOTE_READ) != 0;

		CHECK_EQ(gantry_mem_register(g, page, 8192, flags[i], &mem), 0);
		memcpy(here, plain, PLAIN);
		memset(there, ENV_UNTOUCHED, 3 * UNIT);
		memset(page, ENV_UNTOUCHED, 8192);
		t.op = GANTRY_OP_WRITE;
		CHECK_EQ(txn_do(q, &t, GANTRY_PEER_OWN), read_only   ? GANTRY_READ_ONLY
							 : may_write ? GANTRY_OK
								     : GANTRY_NOT_REGISTERED);
		CHECK_EQ(env_is_moved(want, there, 3 * UNIT), !read_only && may_write);
		CHECK_EQ(env_is_moved(want + 3 * UNIT, page, DIF - 3 * UNIT),
			!read_only && may_write);
		memcpy(there, want, 3 * UNIT);
		memcpy(page, want + 3 * UNIT, DIF - 3 * UNIT);
		memset(here, ENV_UNTOUCHED, PLAIN);
		t.op = GANTRY_OP_READ;
		CHECK_EQ(txn_do(q, &t, GANTRY_PEER_OWN),
			may_read ? GANTRY_OK : GANTRY_NOT_REGISTERED);
		CHECK_EQ(env_is_moved(plain, here, PLAIN), may_read);
		CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	}
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
	env_unmap(page, 8192);
}

/*
 * The next profile gets the id of a destroyed profile: the queue must not use its copy of the
 * destroyed profile.
 */
static void
a_profile_is_used_until_it_is_destroyed(void)
{
	struct gantry_queue *q = txn_queue(1);
	struct gantry_sge data = {(uintptr_t)here, DIF};
	struct gantry_txn t = {.op = GANTRY_OP_WRITE, .n_data = 1, .data = &data, .mem = tags};
	struct gantry_desc d = txn_desc(&t, GANTRY_PEER_OWN);
	struct gantry_sig_domain longer = dif;
	struct gantry_comp comp[2];
	uint16_t next;

	longer.block_size = 4096;
	interleave(plain, here);
	CHECK_EQ(profile(dif, none, GANTRY_SIG_ALL, -1, &t.profile), 0);
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	CHECK_EQ(gantry_profile_destroy(g, t.profile), 0);
	CHECK_EQ(env_do_one(q, d), GANTRY_BAD_PROFILE);
	CHECK_EQ(profile(longer, none, GANTRY_SIG_ALL, -1, &next), 0);
	CHECK_EQ(next, t.profile);
	/* One block of 4096 bytes has 8 more bytes in memory, not 64. */
	CHECK_EQ(env_do_one(q, d), GANTRY_BAD_LENGTH);
	CHECK_EQ(gantry_profile_destroy(g, next), 0);
	/*
	 * One transaction is in hardware, and the other one waits for its key: gantry_submit()
	 * polls no CQE.
	 */
	CHECK_EQ(profile(dif, none, GANTRY_SIG_ALL, -1, &t.profile), 0);
	CHECK_EQ(gantry_submit(q, (struct gantry_desc[]){d, d}, 2), 2);
	CHECK_EQ(gantry_profile_destroy(g, t.profile), 0);
	env_collect(q, comp, 2);
	CHECK_EQ(comp[0].status, GANTRY_OK);
	CHECK_EQ(comp[1].status, GANTRY_BAD_PROFILE);
	env_queue_done(q);
}

/*
 * The longest transaction has 1 MiB and must succeed. No signature is checked, so any bytes are
 * accepted.
 */
static void
the_longest_transaction_has_a_mebibyte(void)
{
	const uint64_t len = GANTRY_TXN_MAX_LEN + GANTRY_TXN_MAX_LEN / 4096 * 4;
	struct gantry_queue *q = txn_queue(1);
	struct gantry_mem *mem;
	struct gantry_sge data = {.len = len};
	struct gantry_txn t = {.op = GANTRY_OP_WRITE, .n_data = 1, .data = &data};
	struct gantry_desc d = txn_desc(&t, GANTRY_PEER_OWN);
	uint8_t *memory = env_mem(g, 2 * GANTRY_TXN_MAX_LEN, 0, &mem);

	data.addr = (uintptr_t)memory;
	d.len = GANTRY_TXN_MAX_LEN;
	CHECK_EQ(profile(crc, none, 0, -1, &t.profile), 0);
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	data.len += 4100;
	d.len += 4096;
	CHECK_EQ(env_do_one(q, d), GANTRY_BAD_LENGTH);
	CHECK_EQ(gantry_profile_destroy(g, t.profile), 0);
	env_queue_done(q);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	env_unmap(memory, 2 * GANTRY_TXN_MAX_LEN);
}

static void
connections_and_queues_are_refused(void)
{
	struct gantry_queue_conf conf = {.transactions = GANTRY_MAX_TXNS + 1};
	struct gantry_peer_conf peer = {.txn = GANTRY_TXN_WAIT};
	struct gantry_queue *q = env_queue(g, 8), *other;
	struct gantry_addr addr;
	uint16_t number;

	CHECK_EQ(gantry_queue_create(g, &conf, &other), -EINVAL);
	CHECK_EQ(gantry_peer_open(q, &peer, &number, &addr), -EINVAL);
	env_queue_done(q);
	q = txn_queue(1);
	peer.txn = GANTRY_TXN_WAIT + 1;
	CHECK_EQ(gantry_peer_open(q, &peer, &number, &addr), -EINVAL);
	peer.txn = GANTRY_TXN_PIPELINED;
	peer.transport = GANTRY_TRANSPORT_DC;
	CHECK_EQ(gantry_peer_open(q, &peer, &number, &addr), -EOPNOTSUPP);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ failures */

/*
 * Checks that each transaction completes once, whatever happens, and that afterwards the queue has
 * nothing in flight.
 */
static void
collect_any(struct pair *p, struct burst *b, uint32_t n, uint64_t wrong, uint32_t may)
{
	struct gantry_desc desc[64];
	struct gantry_comp comp[64];
	uint32_t i;

	for (i = 0; i < n; i++)
		desc[i] = txn_desc(&b->t[i], p->peer);
	env_do(p->q, desc, comp, n);
	for (i = 0; i < n; i++) {
		bool bad = (wrong >> i & 1) != 0;

		CHECK_EQ(comp[i].cookie, desc[i].cookie);
		CHECK_EQ(comp[i].zero, 0);
		if (comp[i].status == GANTRY_OK)
			CHECK(!bad);
		else if (comp[i].status == GANTRY_SIG_ERROR)
			CHECK(bad && b->t[i].error.block == i % BLOCKS);
		else
			CHECK((may >> comp[i].status & 1) != 0, "status %s",
				gantry_status_name(comp[i].status));
	}
	CHECK_EQ(p->q->outstanding, 0);
	CHECK_EQ(env_stats(p->q).txn_opened, env_stats(p->q).txn_done);
}

/* Checks that no good response arrived for wrong data, and no bad response for correct data. */
static void
drain_responses(struct pair *p, struct burst *b, uint32_t n, uint64_t wrong)
{
	struct gantry_recv_comp comp;
	uint32_t k;

	while (gantry_recv_poll(p->other, &comp, 1) != 0) {
		const char *text = (const char *)there + REPLIES + comp.cookie * REPLY_LEN;

		if (comp.status != GANTRY_OK)
			continue;
		for (k = 0; k < n; k++)
			if (strcmp(text, (wrong >> k & 1) != 0 ? b->bad[k] : b->good[k]) == 0)
				break;
		CHECK(k < n, "%s", text);
	}
}

static void
arm(const char *line)
{
	CHECK_EQ(softhca_fault(line), 0);
}

/*
 * The remote key of one part is wrong. This transaction must fail, and the connection must be down
 * afterwards.
 */
static void
a_failed_transfer_ends_the_connection(void)
{
	static const enum gantry_txn_mode modes[] = {GANTRY_TXN_PIPELINED, GANTRY_TXN_WAIT};
	const uint32_t may = RTE_BIT32(GANTRY_FLUSHED) | RTE_BIT32(GANTRY_REMOTE_ACCESS) |
			     RTE_BIT32(GANTRY_BAD_PEER);
	static struct burst b;
	struct pair p;
	uint32_t i, at;

	for (i = 0; i < 2; i++)
		for (at = 0; at < 6; at++) {
			pair_open(&p, modes[i], 4);
			burst_make(&b, 6, 0x12);
			b.part[at].remote_key = 0x12345600;
			pair_receive(&p, REPLIES, 6);
			collect_any(&p, &b, 6, 0x12, may);
			/*
			 * If the signature is also wrong, the status must report the wrong
			 * signature, because this says more.
			 */
			CHECK_EQ(env_stats(p.q).by_status[GANTRY_REMOTE_ACCESS],
				(0x12 >> at & 1) == 0);
			CHECK_EQ(txn_do(p.q, &b.t[0], p.peer), GANTRY_BAD_PEER);
			drain_responses(&p, &b, 6, 0x12);
			pair_close(&p);
		}
}

/*
 * The transaction that failed must have the syndromes of its CQE. Transactions after it must have
 * no syndrome.
 */
static void
the_transaction_that_failed_tells_its_syndromes(void)
{
	/* A local protection error, and an error of the remote end, which is local memory, too. */
	static const uint8_t syndromes[] = {0x04, 0x13};
	const struct gantry_sge data = {(uintptr_t)here, DIF};
	struct gantry_queue *q = txn_queue(4);
	struct gantry_txn t[3];
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	char line[80];
	uint32_t i, k;

	interleave(plain, here);
	for (i = 0; i < 3; i++) {
		t[i] = (struct gantry_txn){.profile = checks,
			.op = GANTRY_OP_WRITE,
			.n_data = 1,
			.data = &data,
			.mem = tags};
		desc[i] = txn_desc(&t[i], GANTRY_PEER_OWN);
	}
	for (k = 0; k < RTE_DIM(syndromes); k++) {
		snprintf(line, sizeof(line), "complete syndrome=%u vendor=165", syndromes[k]);
		arm(line);
		env_do(q, desc, comp, 3);
		CHECK_EQ(comp[0].status, GANTRY_LOCAL_ERROR);
		CHECK_EQ(comp[0].syndrome, syndromes[k]);
		CHECK_EQ(comp[0].vendor_syndrome, 165);
		for (i = 1; i < 3; i++) {
			CHECK_EQ(comp[i].status, GANTRY_FLUSHED);
			CHECK_EQ(comp[i].syndrome, 0);
			CHECK_EQ(comp[i].vendor_syndrome, 0);
		}
	}
	env_queue_done(q);
}

/*
 * Causes events and lost CQEs, at each WQE one after the other. Each transaction must complete
 * exactly once.
 */
static void
whatever_happens_each_completes_once(void)
{
	static const char *const faults[] = {"qp_fatal", "cq_overrun", "drop", "sq_drained",
		"complete syndrome=2"};
	const uint32_t may = RTE_BIT32(GANTRY_FLUSHED) | RTE_BIT32(GANTRY_QP_EVENT) |
			     RTE_BIT32(GANTRY_TIMED_OUT) | RTE_BIT32(GANTRY_LOCAL_ERROR) |
			     RTE_BIT32(GANTRY_BAD_PEER);
	static const uint16_t steps[] = {3, 3, 9, 3, 5};
	const uint64_t wrong = 0x0a;
	static struct burst b;
	struct pair p;
	uint32_t f, at, mode;
	char line[80];

	for (f = 0; f < RTE_DIM(faults); f++)
		for (at = 1; at <= 24; at += steps[f])
			for (mode = GANTRY_TXN_PIPELINED; mode <= GANTRY_TXN_WAIT; mode++) {
				pair_open(&p, mode, 3);
				/*
				 * After sq_drained no WQE is lost, so the test waits for the
				 * transaction, however slow the machine is.
				 */
				if (strcmp(faults[f], "sq_drained") != 0)
					p.q->deadline_tsc = rte_get_tsc_hz() / 20;
				burst_make(&b, 5, wrong);
				pair_receive(&p, REPLIES, 5);
				snprintf(line, sizeof(line), "%s op=%u qp=%u", faults[f], at,
					p.q->conn[GANTRY_CONN_PEER + p.peer].qp->qpn);
				arm(line);
				collect_any(&p, &b, 5, wrong, may);
				softhca_faults_clear();
				if (strcmp(faults[f], "sq_drained") == 0)
					CHECK_EQ(env_stats(p.q).by_status[GANTRY_OK], 3);
				drain_responses(&p, &b, 5, wrong);
				pair_close(&p);
			}
}

#define PARTS 3

/* One transaction of PARTS parts, two blocks each. The second block of part `wrong` is wrong. */
struct parted {
	struct gantry_sge data;
	struct gantry_txn_part part[PARTS];
	struct gantry_txn t;
};

static void
parted_make(struct parted *o, uint32_t wrong, uint32_t remote_key)
{
	uint32_t i;

	interleave(plain, here);
	here[(2 * wrong + 1) * UNIT + 44] ^= 0x20;
	o->data = (struct gantry_sge){(uintptr_t)here, 2 * PARTS * UNIT};
	for (i = 0; i < PARTS; i++)
		o->part[i] = (struct gantry_txn_part){.addr = (uintptr_t)there + i * 5000,
			.len = 1024,
			.remote_key = remote_key};
	o->t = (struct gantry_txn){.profile = checks,
		.op = GANTRY_OP_WRITE,
		.n_data = 1,
		.n_parts = PARTS,
		.data = &o->data,
		.part = o->part,
		.mem = tags};
}

#define NO_PART PARTS

/*
 * Returns the number of the block that a connection with this mode reports if the completion of
 * part `lost` is lost.
 */
static uint32_t
block_told(enum gantry_txn_mode mode, uint32_t wrong, uint32_t lost)
{
	struct pair p = {.peer = GANTRY_PEER_OWN};
	uint32_t conn = GANTRY_CONN_TXN_OWN;
	struct gantry_desc d;
	struct parted o;
	char line[80];

	if (mode == GANTRY_TXN_NONE) {
		p.q = txn_queue(3);
	} else {
		pair_open(&p, mode, 3);
		conn = GANTRY_CONN_PEER + p.peer;
	}
	if (lost == PARTS - 1)
		p.q->deadline_tsc = rte_get_tsc_hz() / 20;
	parted_make(&o, wrong, mode == GANTRY_TXN_NONE ? 0 : gantry_mem_remote_key(there_mem));
	/* The first two operations are the UMR and SET_PSV. */
	snprintf(line, sizeof(line), "drop op=%u qp=%u", 3 + lost, p.q->conn[conn].qp->qpn);
	if (lost != NO_PART)
		arm(line);
	d = txn_desc(&o.t, p.peer);
	d.len = 2 * PARTS * 512;
	CHECK_EQ(env_do_one(p.q, d), GANTRY_SIG_ERROR);
	CHECK_EQ(softhca_faults_left(), 0);
	CHECK_EQ(o.t.error.part, GANTRY_SIG_GUARD);
	if (mode == GANTRY_TXN_NONE)
		env_queue_done(p.q);
	else
		pair_close(&p);
	return o.t.error.block;
}

/*
 * The device reports a wrong signature between two completions: that of the previous part, and that
 * of the part itself. If one of these completions is lost, the wrong block can be in either of two
 * parts, so the engine must report GANTRY_SIG_BLOCK_UNKNOWN. No part follows the last part: if only
 * the completion of the last part is lost, the block is known.
 */
static void
a_block_is_right_or_unknown_when_a_completion_is_lost(void)
{
	uint32_t mode, wrong, lost;

	for (mode = GANTRY_TXN_NONE; mode <= GANTRY_TXN_WAIT; mode++)
		for (wrong = 0; wrong < PARTS; wrong++)
			for (lost = 0; lost <= NO_PART; lost++) {
				bool unknown =
					lost + 1 == wrong || (lost == wrong && wrong != PARTS - 1);
				uint32_t want_block =
					unknown ? GANTRY_SIG_BLOCK_UNKNOWN : 2 * wrong + 1;

				/*
				 * If the last completion is lost, a deadline ends the transaction.
				 * The device must have executed the transaction before the
				 * deadline.
				 */
				if (lost != PARTS - 1 || env_is_pumped())
					CHECK_EQ(block_told(mode, wrong, lost), want_block);
			}
}

/*
 * The queue's connection to itself is set up again, and then its keys must still report wrong
 * signatures.
 */
static void
local_transactions_go_on_after_a_failure(void)
{
	static const char *const faults[] = {"qp_fatal", "cq_overrun", "complete syndrome=4"};
	const uint32_t may = RTE_BIT32(GANTRY_FLUSHED) | RTE_BIT32(GANTRY_QP_EVENT) |
			     RTE_BIT32(GANTRY_LOCAL_ERROR);
	static struct burst b;
	struct pair p = {.peer = GANTRY_PEER_OWN};
	uint32_t f, at, i, round;
	char line[80];

	for (f = 0; f < RTE_DIM(faults); f++) {
		p.q = txn_queue(3);
		for (at = 1; at <= 8; at++) {
			burst_make(&b, 4, 0x6);
			for (i = 0; i < 4; i++) {
				b.t[i].good = b.t[i].bad = (struct gantry_txn_response){0};
				b.part[i].remote_key = 0;
			}
			snprintf(line, sizeof(line), "%s op=%u qp=%u", faults[f], at,
				p.q->conn[GANTRY_CONN_TXN_OWN].qp->qpn);
			arm(line);
			collect_any(&p, &b, 4, 0x6, may);
			CHECK_EQ(softhca_faults_left(), 0);
			/* The rounds use all keys of the queue, one after the other. */
			for (round = 0; round < 6; round++)
				collect_any(&p, &b, 4, 0x6, 0);
		}
		CHECK_EQ(env_stats(p.q).recoveries, 8);
		env_queue_done(p.q);
	}
}

/*
 * The device refuses calls that end a stop: the engine repeats the calls, and at last gives the
 * connection up.
 */
static void
a_refused_stop_is_tried_again(void)
{
	static const char *const calls[] = {"modify_qp", "devx_query"};
	const uint32_t may = RTE_BIT32(GANTRY_FLUSHED) | RTE_BIT32(GANTRY_TIMED_OUT);
	static struct burst b;
	struct pair p;
	uint32_t i, times;
	char line[80];

	for (i = 0; i < RTE_DIM(calls); i++)
		for (times = 1; times <= 11; times += 5) {
			pair_open(&p, GANTRY_TXN_PIPELINED, 4);
			burst_make(&b, 8, 0x14);
			pair_receive(&p, REPLIES, 8);
			snprintf(line, sizeof(line), "refuse call=%s errno=4 times=%u", calls[i],
				times);
			arm(line);
			collect_any(&p, &b, 8, 0x14,
				times > 8 ? may | RTE_BIT32(GANTRY_BAD_PEER) : 0);
			softhca_faults_clear();
			drain_responses(&p, &b, 8, 0x14);
			pair_close(&p);
		}
	/* Refused calls of one step do not count for the next step or for the next stop. */
	pair_open(&p, GANTRY_TXN_PIPELINED, 4);
	for (i = 0; i < 2; i++) {
		burst_make(&b, 8, 0x10);
		pair_receive(&p, REPLIES, 8);
		arm("refuse call=devx_query errno=4 times=5");
		arm("refuse call=modify_qp errno=4 times=5");
		collect_any(&p, &b, 8, 0x10, 0);
		CHECK_EQ(softhca_faults_left(), 0);
		drain_responses(&p, &b, 8, 0x10);
	}
	pair_close(&p);
}

/*
 * A stop must cancel all good responses that must not be sent. The device stops before the first
 * such response. The test sets the second transaction to the state in which it would be if the
 * engine had found its wrong signature in an earlier stop, one of whose calls was refused.
 */
static void
each_cancelled_response_counts(void)
{
	uint64_t end = env_patience();
	struct gantry_comp comp[2];
	static struct burst b;
	struct gantry_desc desc[2];
	struct gantry_txn_line *line;
	struct gantry_txn_open *second;
	struct pair p;
	uint32_t i;

	pair_open(&p, GANTRY_TXN_PIPELINED, 4);
	burst_make(&b, 2, 1);
	pair_receive(&p, REPLIES, 2);
	arm("refuse call=devx_query errno=4");
	for (i = 0; i < 2; i++)
		desc[i] = txn_desc(&b.t[i], p.peer);
	CHECK_EQ(gantry_submit(p.q, desc, 2), 2);
	line = p.q->conn[gantry_queue_peer_conn(p.q, p.peer)].txns;
	while (line->tries == 0) {
		CHECK_EQ(env_poll(p.q, comp, 2), 0);
		CHECK(rte_get_timer_cycles() < end);
	}
	second = TAILQ_NEXT(TAILQ_FIRST(&line->open), next);
	CHECK(second->txn == &b.t[1] && second->state == GANTRY_TXN_POSTED && second->has_answer);
	/* No event wakes the lcore when the call can be repeated, so its sleep must be limited. */
	CHECK_EQ(gantry_sleep_limit(p.q), 1);
	second->state = GANTRY_TXN_TO_ANSWER;
	second->status = GANTRY_SIG_ERROR;
	env_collect(p.q, comp, 2);
	for (i = 0; i < 2; i++)
		CHECK_EQ(comp[i].status, GANTRY_SIG_ERROR);
	CHECK_EQ(env_stats(p.q).txn_stops, 1);
	CHECK_EQ(env_stats(p.q).txn_cancelled, 2);
	burst_expect(&p, &b, 2, 3);
	pair_close(&p);
}

/* Number of calls of env_pump() that __wrap_hwq_qp_reset() makes before the QP is reset. */
static unsigned int turns_before_reset;

int __real_hwq_qp_reset(struct hwq_qp *qp);
int __wrap_hwq_qp_reset(struct hwq_qp *qp);

int
__wrap_hwq_qp_reset(struct hwq_qp *qp)
{
	for (; turns_before_reset != 0; turns_before_reset--)
		env_pump();
	return __real_hwq_qp_reset(qp);
}

/*
 * The CQE that reports a wrong signature comes just before the QP is reset, and is lost with it.
 * The device reports no further error of the same key, because the engine does not acknowledge the
 * first error. So the next transaction must get a new key.
 */
static void
a_key_is_made_anew_when_an_error_of_it_may_be_lost(void)
{
	struct gantry_queue *q;
	const struct gantry_sge data = {(uintptr_t)here, DIF};
	struct gantry_txn t = {.profile = checks,
		.op = GANTRY_OP_WRITE,
		.n_data = 1,
		.data = &data,
		.mem = tags};
	const struct gantry_desc desc = txn_desc(&t, GANTRY_PEER_OWN);
	struct gantry_comp comp;

	if (!env_is_pumped())
		return;
	q = txn_queue(1);
	q->deadline_tsc = 4;
	interleave(plain, here);
	here[99] ^= 1;
	/* The device refuses to move the QP to error, so the engine resets the QP. */
	arm("refuse call=modify_qp errno=12");
	turns_before_reset = 10;
	CHECK_EQ(gantry_submit(q, &desc, 1), 1);
	while (gantry_poll(q, &comp, 1) == 0)
		;
	CHECK_EQ(turns_before_reset, 0);
	CHECK_EQ(comp.status, GANTRY_TIMED_OUT);
	q->deadline_tsc = 60 * rte_get_tsc_hz();
	arm("refuse call=create_mkey errno=12");
	CHECK_EQ(txn_do(q, &t, GANTRY_PEER_OWN), GANTRY_NO_RESOURCES);
	CHECK_EQ(txn_do(q, &t, GANTRY_PEER_OWN), GANTRY_SIG_ERROR);
	here[99] ^= 1;
	CHECK_EQ(txn_do(q, &t, GANTRY_PEER_OWN), GANTRY_OK);
	env_queue_done(q);
}

static void
a_lost_device_ends_them(void)
{
	const struct gantry_queue_conf conf = {.depth = 16, .transactions = 3};
	const struct gantry_sge data = {(uintptr_t)here, DIF};
	const struct gantry_profile_conf profile_conf = {.mem = dif, .check = GANTRY_SIG_ALL};
	struct gantry_txn t = {.op = GANTRY_OP_WRITE, .n_data = 1, .data = &data, .mem = tags};
	struct gantry_desc desc[6];
	struct gantry_comp comp[6];
	struct gantry_mem *mem;
	struct gantry_queue *q;
	struct gantry *e;
	uint32_t i, at;

	for (at = 1; at < 12; at += 3) {
		char line[40];

		CHECK_EQ(gantry_create(NULL, &e), 0);
		CHECK_EQ(gantry_mem_register(e, here, AREA_LEN, 0, &mem), 0);
		CHECK_EQ(gantry_profile_create(e, &profile_conf, &t.profile), 0);
		CHECK_EQ(gantry_queue_create(e, &conf, &q), 0);
		interleave(plain, here);
		snprintf(line, sizeof(line), "device_fatal op=%u", at);
		arm(line);
		for (i = 0; i < 6; i++)
			desc[i] = txn_desc(&t, GANTRY_PEER_OWN);
		env_do(q, desc, comp, 6);
		CHECK(comp[0].status == GANTRY_OK || comp[0].status == GANTRY_DEVICE_LOST);
		CHECK_EQ(comp[5].status, GANTRY_DEVICE_LOST);
		CHECK_EQ(env_do_one(q, desc[0]), GANTRY_DEVICE_LOST);
		CHECK_EQ(q->outstanding, 0);
		softhca_faults_clear();
		CHECK_EQ(gantry_queue_destroy(q), 0);
		CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
		CHECK_EQ(gantry_destroy(e), 0);
	}
}

/*
 * ------------------------------------------------------------------ open and waiting transactions
 */

static void
what_waits_can_be_cancelled_and_what_is_open_keeps_the_peer(void)
{
	static struct burst b;
	struct gantry_desc desc[6];
	struct gantry_comp comp[6];
	struct pair p;
	uint32_t i;

	pair_open(&p, GANTRY_TXN_PIPELINED, 3);
	burst_make(&b, 6, 0);
	pair_receive(&p, REPLIES, 6);
	for (i = 0; i < 6; i++)
		desc[i] = txn_desc(&b.t[i], p.peer);
	CHECK_EQ(gantry_submit(p.q, desc, 6), 6);
	CHECK_EQ(gantry_cancel(p.q, desc[1].cookie), 0);
	CHECK_EQ(gantry_cancel(p.q, desc[4].cookie), 1);
	CHECK_EQ(gantry_peer_close(p.q, p.peer), -EBUSY);
	CHECK_EQ(gantry_queue_destroy(p.q), -EBUSY);
	CHECK_EQ(gantry_mem_unregister(here_mem, 0), -ETIMEDOUT);
	env_collect(p.q, comp, 6);
	/* The memory was removed, so transactions that had not begun are refused. */
	for (i = 0; i < 6; i++)
		CHECK_EQ(comp[i].status, i < 3    ? GANTRY_OK
					 : i == 4 ? GANTRY_CANCELLED
						  : GANTRY_NOT_REGISTERED);
	/* Posted receives would keep the memory registered. */
	pair_close(&p);
	CHECK_EQ(gantry_mem_unregister(here_mem, 0), 0);
	CHECK_EQ(gantry_mem_register(g, here, AREA_LEN, ENV_REMOTE, &here_mem), 0);
}

/* Transactions must also work on an unordered queue, and on a worker whose lcore sleeps. */
static void
other_queues_carry_them_too(void)
{
	struct gantry_worker_conf conf = {.queue = {.depth = 16, .transactions = 4},
		.idle = GANTRY_IDLE_SLEEP};
	const uint64_t wrong = 0xa4;
	static struct burst b;
	struct gantry_desc desc[8];
	struct gantry_comp comp[8];
	struct gantry_worker *w;
	struct pair p;
	uint32_t kind, i, n;

	for (kind = 0; kind < 2 && !env_is_pumped(); kind++) {
		struct gantry_peer_conf peer = {.txn = GANTRY_TXN_PIPELINED};
		struct gantry_addr a, back;

		conf.queue.unordered = kind == 1;
		CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), 0);
		p.q = gantry_worker_queue(w);
		p.other = env_queue(g, 8);
		CHECK_EQ(gantry_peer_open(p.q, &peer, &p.peer, &a), 0);
		peer = (struct gantry_peer_conf){.recv_depth = 64};
		CHECK_EQ(gantry_peer_open(p.other, &peer, &p.back, &back), 0);
		CHECK_EQ(gantry_peer_connect(p.q, p.peer, &back), 0);
		CHECK_EQ(gantry_peer_connect(p.other, p.back, &a), 0);
		CHECK_EQ(gantry_start(g), 0);
		burst_make(&b, 8, wrong);
		pair_receive(&p, REPLIES, 8);
		for (i = 0; i < 8; i++)
			desc[i] = txn_desc(&b.t[i], p.peer);
		CHECK_EQ(gantry_enqueue_burst(w, desc, 8), 8);
		for (n = 0; n < 8;)
			n += env_dequeue(w, comp + n, 8 - n);
		for (i = 0; i < 8; i++)
			CHECK_EQ(comp[i].status,
				(wrong >> i & 1) != 0 ? GANTRY_SIG_ERROR : GANTRY_OK);
		burst_expect(&p, &b, 8, wrong);
		CHECK_EQ(gantry_stop(g), 0);
		CHECK_EQ(gantry_peer_close(p.q, p.peer), 0);
		CHECK_EQ(gantry_worker_destroy(w), 0);
		CHECK_EQ(gantry_peer_close(p.other, p.back), 0);
		env_queue_done(p.other);
	}
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"a profile is refused for each field that is wrong",
			a_profile_is_refused_for_each_field_that_is_wrong},
		{"an engine has a limited number of profiles", an_engine_has_so_many_profiles},
		{"the engine reports the features of the device",
			the_engine_tells_what_the_device_has},
		{"a check moves nothing and finds errors",
			a_check_moves_nothing_and_finds_what_is_wrong},
		{"local transactions generate and remove signatures",
			signatures_are_generated_and_stripped_here},
		{"buffers are lists, or have separate signatures",
			buffers_are_lists_or_have_their_signatures_apart},
		{"the right response follows, by waiting", the_right_response_follows_by_waiting},
		{"the right response follows, by pipelining",
			the_right_response_follows_by_pipelining},
		{"neighbouring transactions may differ in operation and profile",
			neighbours_may_differ_in_operation_and_profile},
		{"more transactions wait for room", others_wait_for_room},
		{"a pipelined response is posted with its transfers",
			a_pipelined_response_is_posted_with_its_transfers},
		{"each rule has its status", each_rule_has_its_status},
		{"the rules apply to each of several buffers and parts",
			each_of_several_buffers_and_parts_follows_the_rules},
		{"a response that fits the WQE needs no registered memory",
			a_response_that_fits_the_wqe_needs_no_registered_memory},
		{"read-only memory receives no data", memory_that_is_only_read_takes_no_data},
		{"each local part needs the right of its region",
			each_local_part_needs_the_right_of_its_region},
		{"a profile is used until it is destroyed",
			a_profile_is_used_until_it_is_destroyed},
		{"the longest transaction has 1 MiB", the_longest_transaction_has_a_mebibyte},
		{"connections and queues are refused", connections_and_queues_are_refused},
		{"a failed transfer ends the connection", a_failed_transfer_ends_the_connection},
		{"the transaction that failed reports its syndromes",
			the_transaction_that_failed_tells_its_syndromes},
		{"tags pass between the two kinds of T10-DIF",
			tags_pass_between_the_kinds_of_t10_dif},
		{"whatever happens, each transaction completes once",
			whatever_happens_each_completes_once},
		{"if a completion is lost, the block that is reported is right or unknown",
			a_block_is_right_or_unknown_when_a_completion_is_lost},
		{"local transactions continue after a failure",
			local_transactions_go_on_after_a_failure},
		{"a refused stop is tried again", a_refused_stop_is_tried_again},
		{"each cancelled response counts", each_cancelled_response_counts},
		{"a key is created again if an error of it may be lost",
			a_key_is_made_anew_when_an_error_of_it_may_be_lost},
		{"waiting transactions can be cancelled, and open ones keep the peer",
			what_waits_can_be_cancelled_and_what_is_open_keeps_the_peer},
		{"unordered queues and sleeping workers execute transactions too",
			other_queues_carry_them_too},
		/* This case is the last one, because all engines on the device get this event. */
		{"when the device is lost, transactions end", a_lost_device_ends_them},
	};

	env_refuse_fork_init();
	env_init(1);
	CHECK_EQ(gantry_create(NULL, &g), 0);
	env_need(g, ENV_SIGNATURES);
	here = env_mem(g, AREA_LEN, ENV_REMOTE, &here_mem);
	there = env_mem(g, AREA_LEN, ENV_REMOTE, &there_mem);
	env_fill(plain, sizeof(plain), 5);
	interleave(plain, want);
	CHECK_EQ(profile(dif, none, GANTRY_SIG_ALL, -1, &checks), 0);
	CHECK_EQ(profile(none, dif, GANTRY_SIG_ALL, -1, &generates), 0);
	CHECK_EQ(profile(dif, dif, GANTRY_SIG_ALL, -1, &passes), 0);
	env_run(cases, RTE_DIM(cases), argc, argv);
	return env_done(g, (struct gantry_mem *const[]){here_mem, there_mem}, 2);
}
