/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations to peers: the rules of their fields, atomics, and WQEs that the caller has written. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include <hwq_event.h>
#include <hwq_mkey.h>
#include <hwq_wr.h>
#include <hwq_wr_umr.h>

#include "gantry_engine.h"
#include "gantry_mem.h"
#include "gantry_queue.h"
#include "gantry_queue_life.h"
#include "gantry_recv_ring.h"
#include "gantry_sleep.h"

#include "gantry_arena.h"

/* ------------------------------------------------------------------ rules */

/* Bits of `uses`: the fields that an operation uses, by the table in gantry_desc.h. */
enum {
	SRC = 1,
	DST = 2,
	KEY = 4,
	IMM = 8,
	ARG0 = 16,
	ARG1 = 32,
	SOLICITED = 64,
	EMPTY = 128,  /* len may be 0 */
	LAYOUT = 256, /* a layout may describe one side */
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

static uint8_t raw_nop[1024]; /* a WQE with DS 4 */

/* Returns a correct descriptor of row i, in which each field is 0 if it may be 0. */
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

/* Checks that the engine refuses d with this status and writes no WQE for d. */
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
 * Tests each unused field of each operation, and each flag. The peer is not connected: a correct
 * descriptor is refused only because of that.
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
		if (d.dst != 0)
			expect_refused(q, WITH(d, dst, UINT64_MAX - 7), GANTRY_BAD_LENGTH);
		if (d.op == GANTRY_OP_RAW)
			expect_refused(q, WITH(d, src, 0), GANTRY_BAD_ADDRESS);
		if (d.src != 0 && d.op != GANTRY_OP_RAW && d.op != GANTRY_OP_READ) {
			expect_refused(q, WITH(d, src, 0), GANTRY_NOT_REGISTERED);
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
	/* The longest message of a port is much longer than the arena. */
	for (i = GANTRY_OP_SEND; i <= GANTRY_OP_SEND_INV; i++) {
		struct gantry_desc d = {.op = i, .peer = peer, .src = (uintptr_t)src};

		q->conn[GANTRY_CONN_PEER + peer].max_len = 100;
		d.len = 101;
		expect_refused(q, d, GANTRY_BAD_LENGTH);
	}
	/* In a RAW descriptor, len must be the size in the control segment. */
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

/* True if the last WQE in the peer's send queue names no data in memory. */
static bool
last_is_inline(const struct gantry_queue *q, uint16_t peer)
{
	const struct hwq_sq *sq = q->conn[GANTRY_CONN_PEER + peer].sq;
	const uint8_t *wqe = hwq_sq_at(sq, sq->last);

	/*
	 * Byte 32 follows the control segment and the remote address. Its top bit says that the
	 * data are inline: mlx5_wqe_inl_data_seg.
	 */
	return (wqe[32] & 0x80) != 0;
}

/*
 * Tests the default limit, a longer limit, and no inline data. Lengths just below and above the
 * limit move the same bytes.
 */
static void
short_messages_travel_in_the_wqe(void)
{
	static const struct {
		uint32_t mask;
		uint16_t conf, limit;
	} rows[] = {{0, 0, 28}, {GANTRY_PEER_MAX_INLINE, 0, 0}, {GANTRY_PEER_MAX_INLINE, 1, 1},
		{GANTRY_PEER_MAX_INLINE, 28, 28}, {GANTRY_PEER_MAX_INLINE, 100, 100},
		{GANTRY_PEER_MAX_INLINE, 512, 512}};
	struct gantry_queue *q = env_queue(g, 8);
	const struct gantry_peer_conf huge = {.mask = GANTRY_PEER_MAX_INLINE, .max_inline = 2000};
	struct gantry_addr addr, back_addr;
	uint16_t peer, back;
	uint64_t wqes;
	static const uint16_t lens[] = {1, 2, 12, 13, 27, 28, 29, 44, 45, 99, 100, 101, 511, 512,
		513};
	unsigned int i, k;

	CHECK_EQ(gantry_peer_open(q, &huge, &peer, &addr), -EINVAL);
	for (i = 0; i < RTE_DIM(rows); i++) {
		const struct gantry_peer_conf conf = {.mask = rows[i].mask,
			.max_inline = rows[i].conf};

		CHECK_EQ(gantry_peer_open(q, &conf, &peer, &addr), 0);
		CHECK_EQ(gantry_peer_open(q, NULL, &back, &back_addr), 0);
		CHECK_EQ(gantry_peer_connect(q, peer, &back_addr), 0);
		CHECK_EQ(gantry_peer_connect(q, back, &addr), 0);
		for (k = 0; k < RTE_DIM(lens); k++) {
			unsigned int len = lens[k];
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

/* ------------------------------------------------------------------ messages and receives */

/* Opens two peers that can have receives posted, and connects them. */
static void
connect_with(struct gantry_queue *a, uint16_t *pa, uint16_t depth_a, struct gantry_queue *b,
	uint16_t *pb, uint16_t depth_b)
{
	const struct gantry_peer_conf conf_a = {.recv_depth = depth_a},
				      conf_b = {.recv_depth = depth_b};
	struct gantry_addr addr_a, addr_b;

	CHECK_EQ(gantry_peer_open(a, &conf_a, pa, &addr_a), 0);
	CHECK_EQ(gantry_peer_open(b, &conf_b, pb, &addr_b), 0);
	CHECK_EQ(gantry_peer_connect(a, *pa, &addr_b), 0);
	CHECK_EQ(gantry_peer_connect(b, *pb, &addr_a), 0);
}

/* Collects n completions of receives, and checks that there are no further completions. */
static void
recv_collect(struct gantry_queue *q, struct gantry_recv_comp *comp, unsigned int n)
{
	struct gantry_recv_comp more;
	struct gantry_comp none;
	unsigned int got = 0;

	while (got < n) {
		got += gantry_recv_poll(q, comp + got, RTE_MIN(n - got, 100u));
		CHECK_EQ(env_poll(q, &none, 1), 0);
	}
	CHECK_EQ(gantry_recv_poll(q, &more, 1), 0);
}

/*
 * Opens a peer, which gets number 0. All other peers have other numbers, so a test notices a field
 * that was wrongly left 0.
 */
static void
take_number_0(struct gantry_queue *q)
{
	struct gantry_addr addr;
	uint16_t peer;

	CHECK_EQ(gantry_peer_open(q, NULL, &peer, &addr), 0);
	CHECK_EQ(peer, 0);
}

static struct gantry_recv
recv_at(uint64_t cookie, const void *at, uint64_t len)
{
	return (struct gantry_recv){.cookie = cookie, .addr = (uintptr_t)at, .len = len};
}

static struct gantry_desc
message(enum gantry_op op, uint16_t peer, uint64_t len, uint32_t imm)
{
	struct gantry_desc d = {.op = op, .peer = peer, .len = len, .imm = imm};

	if (len == 0)
		return d;
	d.src = (uintptr_t)src;
	if (op == GANTRY_OP_WRITE_IMM) {
		d.dst = (uintptr_t)dst;
		d.remote_key = gantry_mem_remote_key(dst_mem);
	}
	return d;
}

/* Executes each operation that uses a receive, with data and without, inline and in memory. */
static void
messages_arrive_with_their_data(void)
{
	static const uint8_t kinds[] = {GANTRY_OP_SEND, GANTRY_OP_SEND_IMM, GANTRY_OP_WRITE_IMM};
	static const uint32_t lens[] = {0, 1, 27, 28, 29, 100, 4096, 100000};
	struct gantry_queue *a = env_queue(g, 8), *b = env_queue(g, 8);
	struct gantry_recv_comp comp;
	struct gantry_recv r;
	uint16_t to, from;
	unsigned int i, k, flag;

	connect_with(a, &to, 0, b, &from, 4);
	for (i = 0; i < RTE_DIM(kinds); i++) {
		for (k = 0; k < RTE_DIM(lens); k++) {
			uint8_t *at = kinds[i] == GANTRY_OP_WRITE_IMM ? dst : dst + 200000;
			uint32_t imm = kinds[i] == GANTRY_OP_SEND ? 0 : 0x81020304 + k;

			flag = k % 2 ? GANTRY_DESC_SOLICITED : 0;
			env_fill(src, lens[k], k + 10 * i);
			memset(dst, 0, 400000);
			r = recv_at(i * 100 + k, lens[k] == 0 ? NULL : dst + 200000, lens[k]);
			CHECK_EQ(gantry_recv_post(b, from, &r, 1), 1);
			CHECK_EQ(env_do_one(a,
					 WITH(message(kinds[i], to, lens[k], imm), flags, flag)),
				GANTRY_OK);
			recv_collect(b, &comp, 1);
			CHECK_EQ(comp.cookie, i * 100 + k);
			CHECK_EQ(comp.status, GANTRY_OK);
			CHECK_EQ(comp.op, kinds[i]);
			CHECK_EQ(comp.len, lens[k]);
			CHECK_EQ(comp.imm, imm);
			CHECK_EQ(comp.peer, from);
			CHECK_EQ(comp.syndrome | comp.vendor_syndrome | comp.zero | comp.zero2, 0);
			CHECK(env_is_filled(at, lens[k], k + 10 * i));
			CHECK_EQ(at[lens[k]], 0);
		}
	}
	CHECK_EQ(env_stats(b).recv_posted, RTE_DIM(kinds) * RTE_DIM(lens));
	CHECK_EQ(env_stats(b).recv_done, RTE_DIM(kinds) * RTE_DIM(lens));
	CHECK_EQ(env_stats(b).submitted, 0);
	env_queue_done(a);
	env_queue_done(b);
}

/* gantry_recv_post() must be allowed as soon as gantry_peer_open() has returned. */
static void
receives_are_posted_before_their_peer_is_connected(void)
{
	const struct gantry_peer_conf conf = {.recv_depth = 2};
	const struct gantry_recv recv = recv_at(6, dst, 100), more = recv_at(7, dst + 100, 100);
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_recv_comp comp[2];
	struct gantry_addr a, b;
	uint16_t to, from;
	uint32_t i;

	CHECK_EQ(gantry_peer_open(q, NULL, &to, &a), 0);
	CHECK_EQ(gantry_peer_open(q, &conf, &from, &b), 0);
	CHECK_EQ(gantry_recv_post(q, from, &recv, 1), 1);
	CHECK_EQ(gantry_peer_connect(q, to, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, from, &a), 0);
	CHECK_EQ(gantry_recv_post(q, from, &more, 1), 1);
	for (i = 0; i < 2; i++)
		CHECK_EQ(env_do_one(q, message(GANTRY_OP_SEND_IMM, to, 60 + i, i)), GANTRY_OK);
	recv_collect(q, comp, 2);
	for (i = 0; i < 2; i++)
		CHECK(comp[i].status == GANTRY_OK && comp[i].cookie == 6 + i &&
			comp[i].len == 60 + i && comp[i].imm == i);
	env_queue_done(q);
}

/* The split write must use one receive, because only its last WQE has the immediate data. */
static void
a_split_write_takes_one_receive(void)
{
	struct gantry_queue *a = env_queue(g, 8), *b = env_queue(g, 8);
	struct gantry_recv_comp comp;
	struct gantry_recv r = recv_at(5, NULL, 0);
	uint16_t to, from;

	connect_with(a, &to, 0, b, &from, 4);
	a->conn[GANTRY_CONN_PEER + to].max_len = 1000;
	env_fill(src, 100010, 77);
	memset(dst, 0, 100011);
	CHECK_EQ(gantry_recv_post(b, from, &r, 1), 1);
	CHECK_EQ(env_do_one(a, message(GANTRY_OP_WRITE_IMM, to, 100010, 0xdeadbeef)), GANTRY_OK);
	recv_collect(b, &comp, 1);
	CHECK_EQ(comp.op, GANTRY_OP_WRITE_IMM);
	CHECK_EQ(comp.imm, 0xdeadbeef);
	CHECK_EQ(comp.len, 10);
	CHECK(env_is_filled(dst, 100010, 77));
	CHECK_EQ(dst[100010], 0);
	CHECK_EQ(env_stats(a).wqes, 101);
	env_queue_done(a);
	env_queue_done(b);
}

/* A QP of the test's own, and a key for 100 bytes of dst that peers may invalidate. */
struct keys {
	struct hwq_domain *domain;
	struct hwq_cq *cq;
	struct hwq_qp *qp;
	struct hwq_mkey_pool *pool;
	struct hwq_mkey *key;
};

static void
keys_open(struct keys *k)
{
	const struct hwq_mkey_conf key_conf = {.n = 1,
		.max_entries = 4,
		.flags = HWQ_MKEY_REMOTE_INV};
	const struct hwq_qp_conf conf = {.sq_wr = 4,
		.max_inline = 64,
		.mlx5_ops = MLX5DV_QP_EX_WITH_MR_LIST};
	const struct hwq_sge sge = {(uintptr_t)dst + 8192, 100, gantry_mem_piece(dst_mem)->mr.lkey};
	struct hwq_addr addr;
	struct hwq_cqe cqe;
	struct hwq_wr wr;

	CHECK_EQ(hwq_domain_create(g->dev, &k->domain), 0);
	CHECK_EQ(hwq_cq_create(k->domain, hwq_qp_cqe_needed(&conf), &k->cq), 0);
	CHECK_EQ(hwq_qp_create(k->domain, k->cq, &conf, &k->qp), 0);
	hwq_qp_addr(k->qp, &addr);
	CHECK_EQ(hwq_qp_connect(k->qp, &addr), 0);
	CHECK_EQ(hwq_mkey_pool_create(k->domain, &key_conf, &k->pool), 0);
	k->key = hwq_mkey_get(k->pool);
	hwq_wr_start(&wr, &k->qp->sq);
	wr.wr_flags = HWQ_WQE_INLINE | HWQ_WQE_SIGNALED;
	hwq_wr_mr_list(&wr, k->key, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 1, &sge);
	CHECK_EQ(hwq_wr_complete(&wr), 0);
	while (hwq_cq_poll(k->cq, &cqe, 1) == 0)
		env_pump();
	CHECK_EQ(cqe.syndrome, 0);
}

static void
keys_close(struct keys *k)
{
	hwq_mkey_put(k->key);
	CHECK_EQ(hwq_mkey_pool_destroy(k->pool), 0);
	CHECK_EQ(hwq_qp_destroy(k->qp), 0);
	CHECK_EQ(hwq_cq_destroy(k->cq), 0);
	CHECK_EQ(hwq_domain_destroy(k->domain), 0);
}

/* The peer's key must work until it is invalidated, and must be refused afterwards. */
static void
a_send_invalidates_a_key(void)
{
	struct gantry_recv r = recv_at(5, dst + 4096, 100);
	struct gantry_queue *a, *b;
	struct gantry_recv_comp comp;
	struct gantry_desc w;
	uint16_t to, from;
	struct keys k;

	if (env_lacks(g, ENV_LAYOUTS))
		return;
	a = env_queue(g, 8);
	b = env_queue(g, 8);
	keys_open(&k);
	connect_with(a, &to, 0, b, &from, 4);
	w = env_copy(src, (void *)8, 50);
	w.op = GANTRY_OP_WRITE;
	w.peer = to;
	w.remote_key = k.key->rkey;
	env_fill(src, 100, 6);
	memset(dst + 8192, 0, 100);
	CHECK_EQ(env_do_one(a, w), GANTRY_OK);
	CHECK(env_is_filled(dst + 8192 + 8, 50, 6));
	CHECK_EQ(gantry_recv_post(b, from, &r, 1), 1);
	CHECK_EQ(env_do_one(a, message(GANTRY_OP_SEND_INV, to, 10, k.key->rkey)), GANTRY_OK);
	recv_collect(b, &comp, 1);
	CHECK_EQ(comp.status, GANTRY_OK);
	CHECK_EQ(comp.op, GANTRY_OP_SEND_INV);
	CHECK_EQ(comp.imm, k.key->rkey);
	CHECK_EQ(comp.len, 10);
	CHECK_EQ(env_do_one(a, w), GANTRY_REMOTE_ACCESS);
	CHECK_EQ(gantry_peer_close(a, to), 0);
	env_queue_done(a);
	env_queue_done(b);
	keys_close(&k);
}

/* Refused receives must complete in order with correct receives, and must get no message. */
static void
wrong_receives_are_refused_in_their_place(void)
{
	struct gantry_queue *a = env_queue(g, 8), *b = env_queue(g, 8);
	const struct gantry_recv good = recv_at(1, dst, 64);
	struct gantry_recv bad[] = {good, good, good, good, good, good, good, good};
	static const uint8_t want[] = {GANTRY_BAD_FIELD, GANTRY_OK, GANTRY_BAD_FIELD,
		GANTRY_BAD_LENGTH, GANTRY_BAD_LENGTH, GANTRY_OK, GANTRY_NOT_REGISTERED,
		GANTRY_NOT_REGISTERED};
	struct gantry_recv_comp comp[8];
	struct gantry_desc d[2];
	struct gantry_comp done[2];
	uint16_t to, from, none;
	struct gantry_addr addr;
	unsigned int i;

	take_number_0(b);
	connect_with(a, &to, 0, b, &from, 8);
	CHECK_EQ(gantry_peer_open(b, NULL, &none, &addr), 0);
	CHECK_EQ(gantry_recv_post(b, none, &good, 1), -EINVAL);
	CHECK_EQ(gantry_recv_post(b, 60, &good, 1), -EINVAL);
	CHECK_EQ(gantry_recv_post(b, UINT16_MAX, &good, 1), -EINVAL);
	CHECK_EQ(gantry_recv_post(b, from, &good, 0), 0);
	bad[0].zero = 1;
	bad[2].len = 0; /* wrong, because the address is not 0 */
	bad[3].len = g->info.max_msg_len + 1;
	bad[4].addr = UINT64_MAX - 60;
	bad[6].addr = 0;
	bad[7].addr = (uintptr_t)dst + ARENA_LEN - 63;
	for (i = 0; i < 8; i++)
		bad[i].cookie = i;
	CHECK_EQ(gantry_recv_post(b, from, bad, 8), 8);
	CHECK_EQ(gantry_recv_post(b, from, &good, 1), 0);
	/* the first receive is refused, the others wait */
	CHECK_EQ(gantry_recv_poll(b, comp, 8), 1);
	CHECK_EQ(comp[0].status, GANTRY_BAD_FIELD);
	d[0] = message(GANTRY_OP_SEND, to, 60, 0);
	d[1] = message(GANTRY_OP_SEND_IMM, to, 61, 9);
	env_do(a, d, done, 2);
	recv_collect(b, comp + 1, 7);
	for (i = 0; i < 8; i++) {
		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].status, want[i]);
		CHECK_EQ(comp[i].len, i == 1 ? 60 : i == 5 ? 61 : 0);
		CHECK_EQ(comp[i].op, i == 1 ? GANTRY_OP_SEND : i == 5 ? GANTRY_OP_SEND_IMM : 0);
		CHECK_EQ(comp[i].imm, i == 5 ? 9 : 0);
		CHECK_EQ(comp[i].peer, from);
		CHECK_EQ(comp[i].syndrome | comp[i].vendor_syndrome | comp[i].zero | comp[i].zero2,
			0);
	}
	env_queue_done(a);
	env_queue_done(b);
}

/*
 * Random bursts of messages to two peers, which post receives and poll at random. No message may be
 * lost or received twice.
 */
static void
receives_complete_once_and_in_order(void)
{
	enum {
		N = 3000,
		DEPTH = 20,
		LEN = 512
	};
	struct gantry_queue *a = env_queue(g, 64), *b = env_queue(g, 8);
	uint64_t sent[2] = {0}, posted[2] = {0}, got[2] = {0}, acked = 0, seed = 4;
	uint16_t to[2], from[2];
	unsigned int i, k, n;

	for (i = 0; i < 2; i++)
		connect_with(a, &to[i], 0, b, &from[i], DEPTH);
	CHECK(from[0] != from[1]);
	memset(dst, 0, 2 * 64 * LEN);
	while (got[0] < N || got[1] < N || acked < sent[0] + sent[1]) {
		struct gantry_recv_comp comp[16];
		struct gantry_recv recv[DEPTH];
		struct gantry_comp done[16];

		i = check_random(&seed) % 2;
		n = check_random(&seed) % DEPTH;
		for (k = 0; k < n; k++)
			recv[k] = recv_at(posted[i] + k,
				dst + (i * 64 + (posted[i] + k) % 64) * LEN, LEN);
		n = gantry_recv_post(b, from[i], recv, n);
		posted[i] += n;
		CHECK(posted[i] - got[i] <= DEPTH);
		/*
		 * The test sends no message without a posted receive, because the device would
		 * retry the message.
		 */
		for (n = check_random(&seed) % 16; n > 0 && sent[i] < posted[i] && sent[i] < N;
			n--) {
			struct gantry_desc d =
				message(GANTRY_OP_SEND_IMM, to[i], 1 + sent[i] % LEN, sent[i]);

			d.src += sent[i] % 1000;
			if (gantry_submit(a, &d, 1) == 0)
				break;
			sent[i]++;
		}
		acked += env_poll(a, done, 16);
		n = gantry_recv_poll(b, comp, check_random(&seed) % 16);
		for (k = 0; k < n; k++) {
			unsigned int p = comp[k].peer == from[1];
			uint64_t seq = got[p]++;
			const uint8_t *at = dst + (p * 64 + seq % 64) * LEN;

			CHECK_EQ(comp[k].peer, from[p]);
			CHECK_EQ(comp[k].cookie, seq);
			CHECK_EQ(comp[k].status, GANTRY_OK);
			CHECK_EQ(comp[k].imm, seq);
			CHECK_EQ(comp[k].len, 1 + seq % LEN);
			CHECK_EQ(memcmp(at, src + seq % 1000, 1 + seq % LEN), 0);
		}
	}
	for (i = 0; i < 2; i++) {
		CHECK_EQ(gantry_peer_close(b, from[i]), 0);
		CHECK_EQ(gantry_peer_close(a, to[i]), 0);
	}
	/* Receives that were posted but not used. */
	for (n = posted[0] + posted[1] - got[0] - got[1]; n > 0; n--) {
		struct gantry_recv_comp comp;

		CHECK_EQ(gantry_queue_destroy(b), -EBUSY);
		CHECK_EQ(gantry_recv_poll(b, &comp, 1), 1);
		CHECK_EQ(comp.status, GANTRY_FLUSHED);
	}
	env_queue_done(a);
	env_queue_done(b);
}

/*
 * One call must collect completed receives of all peers, up to the size of its array. The next call
 * must collect the remaining ones.
 */
static void
one_call_collects_receives_of_all_peers(void)
{
	enum {
		PEERS = 3,
		EACH = 2
	};
	struct gantry_queue *a = env_queue(g, 8), *b = env_queue(g, 8);
	struct gantry_recv_comp comp[PEERS * EACH];
	unsigned int room, i, k, seen[PEERS];
	uint16_t to[PEERS], from[PEERS];

	take_number_0(b);
	for (i = 0; i < PEERS; i++)
		connect_with(a, &to[i], 0, b, &from[i], EACH);
	for (room = EACH; room <= PEERS * EACH; room++) {
		memset(seen, 0, sizeof(seen));
		for (i = 0; i < PEERS; i++) {
			struct gantry_recv recv[EACH];

			for (k = 0; k < EACH; k++)
				recv[k] = recv_at(i * EACH + k, dst + 100 * (i * EACH + k), 100);
			CHECK_EQ(gantry_recv_post(b, from[i], recv, EACH), EACH);
			for (k = 0; k < EACH; k++)
				CHECK_EQ(env_do_one(a, message(GANTRY_OP_SEND, to[i], 50, 0)),
					GANTRY_OK);
		}
		CHECK_EQ(gantry_recv_poll(b, comp, room), room);
		recv_collect(b, comp + room, PEERS * EACH - room);
		for (k = 0; k < PEERS * EACH; k++) {
			i = comp[k].cookie / EACH;
			CHECK_EQ(comp[k].peer, from[i]);
			CHECK_EQ(comp[k].status, GANTRY_OK);
			CHECK_EQ(comp[k].cookie % EACH, seen[i]++);
		}
	}
	env_queue_done(a);
	env_queue_done(b);
}

/*
 * A message is longer than its receive: that receive fails, later receives are flushed, and the
 * connection is down at both ends. Receives that are posted afterwards are refused.
 */
static void
a_failed_connection_gives_its_receives_back(void)
{
	struct gantry_queue *a = env_queue(g, 8), *b = env_queue(g, 8);
	struct gantry_recv recv[6];
	struct gantry_recv_comp comp[6];
	struct gantry_desc d[2];
	struct gantry_comp done[2];
	uint16_t to, from;
	unsigned int i;

	take_number_0(b);
	connect_with(a, &to, 0, b, &from, 6);
	for (i = 0; i < 6; i++)
		recv[i] = recv_at(i, dst + 100 * i, 100);
	recv[4].addr = 0; /* this receive is refused, not flushed */
	CHECK_EQ(gantry_recv_post(b, from, recv, 6), 6);
	d[0] = message(GANTRY_OP_SEND, to, 100, 0);
	d[1] = message(GANTRY_OP_SEND, to, 101, 0);
	env_do(a, d, done, 2);
	CHECK_EQ(done[0].status, GANTRY_OK);
	CHECK_EQ(done[1].status, GANTRY_REMOTE_ERROR);
	recv_collect(b, comp, 6);
	for (i = 0; i < 6; i++) {
		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].status, i == 0   ? GANTRY_OK
					 : i == 1 ? GANTRY_LOCAL_ERROR
					 : i == 4 ? GANTRY_NOT_REGISTERED
						  : GANTRY_FLUSHED);
		CHECK_EQ(comp[i].syndrome, i == 0 || i == 4 ? 0
					   : i == 1         ? MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR
							    : MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
		CHECK_EQ(comp[i].op, i == 0 ? GANTRY_OP_SEND : 0);
		CHECK_EQ(comp[i].peer, from);
		CHECK_EQ(comp[i].len, i == 0 ? 100 : 0);
		CHECK_EQ(comp[i].imm | comp[i].zero | comp[i].zero2, 0);
	}
	CHECK_EQ(gantry_recv_post(b, from, recv, 1), 1);
	memset(comp, 0xff, sizeof(comp));
	recv_collect(b, comp, 1);
	CHECK_EQ(comp[0].status, GANTRY_BAD_PEER);
	CHECK_EQ(comp[0].peer, from);
	CHECK_EQ(comp[0].len | comp[0].imm | comp[0].op | comp[0].syndrome |
			 comp[0].vendor_syndrome | comp[0].zero | comp[0].zero2,
		0);
	expect_refused(b, message(GANTRY_OP_SEND, from, 1, 0), GANTRY_BAD_PEER);
	CHECK_EQ(gantry_peer_close(b, from), 0);
	CHECK_EQ(gantry_peer_close(a, to), 0);
	connect_with(a, &to, 0, b, &from, 6);
	CHECK_EQ(gantry_recv_post(b, from, recv, 1), 1);
	CHECK_EQ(env_do_one(a, message(GANTRY_OP_SEND, to, 100, 0)), GANTRY_OK);
	recv_collect(b, comp, 1);
	CHECK_EQ(comp[0].status, GANTRY_OK);
	env_queue_done(a);
	env_queue_done(b);
}

/*
 * When a connection is closed, receives that got a message must complete with that message, even if
 * they were not polled before. The other receives must be flushed. The next connection with this
 * number must have only its own receives.
 */
static void
a_closed_connection_gives_its_receives_back(void)
{
	struct gantry_queue *a = env_queue(g, 8), *b = env_queue(g, 8);
	struct gantry_recv recv[5];
	struct gantry_recv_comp comp[7];
	uint16_t to, from, from2;
	unsigned int i;

	take_number_0(b);
	connect_with(a, &to, 0, b, &from, 5);
	for (i = 0; i < 5; i++)
		recv[i] = recv_at(i, dst + 100 * i, 100);
	recv[3].zero = 1;
	CHECK_EQ(gantry_recv_post(b, from, recv, 5), 5);
	CHECK_EQ(env_do_one(a, message(GANTRY_OP_SEND, to, 50, 0)), GANTRY_OK);
	CHECK_EQ(env_do_one(a, message(GANTRY_OP_SEND_IMM, to, 51, 4)), GANTRY_OK);
	CHECK_EQ(gantry_peer_close(a, to), 0);
	CHECK_EQ(gantry_peer_close(b, from), 0);
	CHECK_EQ(gantry_recv_post(b, from, recv, 1), -EINVAL);
	CHECK_EQ(gantry_recv_poll(b, comp, 3), 3);
	CHECK_EQ(gantry_queue_destroy(b), -EBUSY);
	connect_with(a, &to, 0, b, &from2, 5);
	CHECK_EQ(from2, from);
	CHECK_EQ(gantry_recv_post(b, from, recv, 2), 2);
	CHECK_EQ(gantry_recv_poll(b, comp + 3, 2), 2);
	CHECK_EQ(env_do_one(a, message(GANTRY_OP_SEND, to, 50, 0)), GANTRY_OK);
	CHECK_EQ(gantry_peer_close(b, from), 0);
	recv_collect(b, comp + 5, 2);
	for (i = 0; i < 5; i++) {
		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].status, i < 2    ? GANTRY_OK
					 : i == 3 ? GANTRY_BAD_FIELD
						  : GANTRY_FLUSHED);
		CHECK_EQ(comp[i].len, i < 2 ? 50 + i : 0);
		CHECK_EQ(comp[i].op, i == 0 ? GANTRY_OP_SEND : i == 1 ? GANTRY_OP_SEND_IMM : 0);
		CHECK_EQ(comp[i].imm, i == 1 ? 4 : 0);
		CHECK_EQ(comp[i].peer, from);
		CHECK_EQ(comp[i].zero | comp[i].zero2, 0);
	}
	CHECK(comp[5].cookie == 0 && comp[5].status == GANTRY_OK);
	CHECK(comp[6].cookie == 1 && comp[6].status == GANTRY_FLUSHED);
	/* Closes peers without receives, and peers that have receives but were never connected. */
	connect_with(a, &to, 3, b, &from, 16384);
	CHECK_EQ(gantry_peer_close(b, from), 0);
	CHECK_EQ(gantry_recv_post(a, to, recv, 5), 3);
	CHECK_EQ(gantry_peer_close(a, to), 0);
	recv_collect(a, comp, 3);
	CHECK_EQ(gantry_peer_open(a, &(struct gantry_peer_conf){.recv_depth = 16385}, &to,
			 &(struct gantry_addr){{0}}),
		-EINVAL);
	env_queue_done(a);
	env_queue_done(b);
}

/* gantry_mem_unregister() must wait until each receive that names the memory has completed. */
static void
a_receive_keeps_its_memory(void)
{
	struct gantry_queue *a = env_queue(g, 8), *b = env_queue(g, 8);
	uint8_t *page = env_map(4096);
	struct gantry_recv recv[2] = {recv_at(1, page, 100), recv_at(2, page + 100, 100)};
	struct gantry_recv_comp comp[2];
	struct gantry_comp none;
	struct gantry_mem *mem;
	uint16_t to, from;

	connect_with(a, &to, 0, b, &from, 4);
	CHECK_EQ(gantry_mem_register(g, page, 4096, 0, &mem), 0);
	CHECK_EQ(gantry_recv_post(b, from, recv, 2), 2);
	CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
	CHECK_EQ(env_do_one(a, message(GANTRY_OP_SEND, to, 10, 0)), GANTRY_OK);
	CHECK_EQ(env_poll(b, &none, 1), 0);
	CHECK_EQ(env_poll(b, &none, 1), 0);
	CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
	/* refused, because its memory was removed */
	CHECK_EQ(gantry_recv_post(b, from, recv, 1), 1);
	CHECK_EQ(env_do_one(a, message(GANTRY_OP_SEND, to, 10, 0)), GANTRY_OK);
	CHECK_EQ(env_poll(b, &none, 1), 0);
	CHECK_EQ(env_poll(b, &none, 1), 0);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	CHECK_EQ(gantry_recv_poll(b, comp, 2), 2);
	CHECK(comp[0].status == GANTRY_OK && comp[1].status == GANTRY_OK);
	CHECK_EQ(gantry_recv_poll(b, comp, 2), 1);
	CHECK_EQ(comp[0].status, GANTRY_NOT_REGISTERED);
	CHECK_EQ(gantry_mem_register(g, page, 4096, GANTRY_MEM_READ_ONLY, &mem), 0);
	CHECK_EQ(gantry_recv_post(b, from, recv, 1), 1);
	CHECK_EQ(gantry_recv_poll(b, comp, 2), 1);
	CHECK_EQ(comp[0].status, GANTRY_READ_ONLY);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	env_unmap(page, 4096);
	env_queue_done(a);
	env_queue_done(b);
}

/*
 * gantry_mem_unregister() must wait for receives of two peers. In each of the two rounds, the
 * receive of another peer completes last.
 */
static void
a_removal_waits_for_receives_of_all_peers(void)
{
	struct gantry_queue *a = env_queue(g, 8), *b = env_queue(g, 8);
	uint8_t *page = env_map(4096);
	uint16_t to[2], from[2];
	struct gantry_recv_comp comp;
	struct gantry_comp none;
	struct gantry_mem *mem;
	uint32_t last, i, k;

	for (i = 0; i < 2; i++)
		connect_with(a, &to[i], 0, b, &from[i], 4);
	for (last = 0; last < 2; last++) {
		CHECK_EQ(gantry_mem_register(g, page, 4096, 0, &mem), 0);
		for (i = 0; i < 2; i++) {
			const struct gantry_recv recv = recv_at(i, page + 100 * i, 100);

			CHECK_EQ(gantry_recv_post(b, from[i], &recv, 1), 1);
		}
		for (k = 0; k < 2; k++) {
			i = k ^ last ^ 1;
			CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
			CHECK_EQ(env_do_one(a, message(GANTRY_OP_SEND, to[i], 10, 0)), GANTRY_OK);
			while (gantry_recv_poll(b, &comp, 1) == 0)
				env_pump();
			CHECK(comp.cookie == i && comp.status == GANTRY_OK);
			CHECK_EQ(env_poll(b, &none, 1), 0);
			CHECK_EQ(env_poll(b, &none, 1), 0);
		}
		CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	}
	env_unmap(page, 4096);
	env_queue_done(a);
	env_queue_done(b);
}

/*
 * Returns true if an event reaches the peer's program within ms milliseconds. The event is
 * consumed.
 */
static bool
event_comes(struct gantry_queue *q, int ms)
{
	uint64_t end = rte_get_timer_cycles() + ms * (rte_get_timer_hz() / 1000);
	struct pollfd wait = {.fd = gantry_sleep_fd(q), .events = POLLIN};

	do {
		env_pump();
		if (poll(&wait, 1, 1) == 1) {
			gantry_sleep_take_events(q);
			return true;
		}
	} while (rte_get_timer_cycles() < end);
	return false;
}

/* As connect_with() without settings, but from a DC peer to a target. */
static void
connect_dc(struct gantry_queue *a, uint16_t *to, struct gantry_queue *b, uint16_t *from,
	uint16_t recv_depth)
{
	const struct gantry_peer_conf near = {.transport = GANTRY_TRANSPORT_DC};
	const struct gantry_peer_conf far = {.transport = GANTRY_TRANSPORT_DC_TARGET,
		.recv_depth = recv_depth};
	struct gantry_addr addr;

	CHECK_EQ(gantry_peer_open(b, &far, from, &addr), 0);
	CHECK_EQ(gantry_peer_open(a, &near, to, NULL), 0);
	CHECK_EQ(gantry_peer_connect(a, *to, &addr), 0);
}

/*
 * The peer's program asks for events of solicited messages only (ibv_req_notify_cq(3)): it must get
 * an event for a solicited message, and for no other message.
 */
static void
solicited_messages_raise_an_event_and_others_do_not(bool dc)
{
	static const uint8_t kinds[] = {GANTRY_OP_SEND, GANTRY_OP_SEND_IMM, GANTRY_OP_WRITE_IMM};
	const struct gantry_queue_conf conf = {.depth = 8};
	struct gantry_queue *a = env_queue(g, 8), *b;
	const struct gantry_block block = {.len = 4096};
	const struct gantry_layout_conf plain = {.block = &block, .n = 1};
	struct gantry_recv_comp comp;
	uint16_t to, from, layout = 0;
	unsigned int i, k;

	if (g->info.layouts)
		CHECK_EQ(gantry_layout_create(g, &plain, &layout), 0);
	CHECK_EQ(gantry_queue_create_with(g, &conf, true, &b), 0);
	for (i = 0; i < RTE_DIM(kinds); i++) {
		/* Inline data, data in memory, a write of two WQEs, and data with a layout. */
		for (k = 0; k < (layout != 0 ? 4 : 3); k++) {
			struct gantry_recv r = recv_at(7, dst + 200000, 4096);
			struct gantry_desc d;
			uint64_t max_len = g->max_msg_len;

			if (k == 2 && kinds[i] != GANTRY_OP_WRITE_IMM)
				continue;
			if (k == 2)
				g->max_msg_len = 2048;
			if (dc)
				connect_dc(a, &to, b, &from, 4);
			else
				connect_with(a, &to, 0, b, &from, 4);
			g->max_msg_len = max_len;
			d = message(kinds[i], to, k == 0 ? 8 : 4096, 0);
			d.layout = k == 3 ? layout : 0;
			CHECK_EQ(gantry_recv_post(b, from, &r, 1), 1);
			hwq_cq_arm(gantry_recv_ring_cq(
					   b->conn[gantry_queue_peer_conn(b, from)].recv),
				true);
			CHECK_EQ(env_do_one(a, d), GANTRY_OK);
			recv_collect(b, &comp, 1);
			CHECK(!event_comes(b, 2));
			CHECK_EQ(gantry_recv_post(b, from, &r, 1), 1);
			d.flags = GANTRY_DESC_SOLICITED;
			CHECK_EQ(env_do_one(a, d), GANTRY_OK);
			CHECK(event_comes(b, CHECK_PATIENCE_MS));
			recv_collect(b, &comp, 1);
			CHECK_EQ(comp.status, GANTRY_OK);
			CHECK_EQ(gantry_peer_close(a, to), 0);
			CHECK_EQ(gantry_peer_close(b, from), 0);
		}
	}
	if (layout != 0)
		CHECK_EQ(gantry_layout_destroy(g, layout), 0);
	env_queue_done(a);
	env_queue_done(b);
}

static void
solicited_messages_of_a_connection_raise_an_event(void)
{
	solicited_messages_raise_an_event_and_others_do_not(false);
}

static void
solicited_messages_to_a_dc_target_raise_an_event(void)
{
	if (!env_lacks(g, ENV_DC))
		solicited_messages_raise_an_event_and_others_do_not(true);
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

/* Executes one atomic, which must succeed. Returns its result. */
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

/*
 * There are more atomics than cells for results, and copies between the atomics. Each atomic must
 * get its own result.
 */
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

/*
 * The send queue has room for only some of the atomics. The engine must try the other atomics again
 * until there is room, and must lose no cell.
 */
static void
atomics_that_wait_for_room_lose_no_cell(void)
{
	enum {
		N = 64
	};
	const struct gantry_peer_conf conf = {.depth = 4};
	struct gantry_queue *q = env_queue(g, N);
	struct gantry_desc desc[N];
	struct gantry_comp comp[N];
	struct gantry_addr a, b;
	uint16_t peer, back;
	unsigned int round, i;

	CHECK_EQ(gantry_peer_open(q, &conf, &peer, &a), 0);
	CHECK_EQ(gantry_peer_open(q, &conf, &back, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, peer, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, back, &a), 0);
	CHECK(q->conn[gantry_queue_peer_conn(q, peer)].n_bb < N);
	memset(dst, 0, 8);
	for (i = 0; i < N; i++)
		desc[i] = atomic(GANTRY_OP_FETCH_ADD, peer, dst, 1, 0);
	for (round = 0; round < GANTRY_CELLS; round++) {
		CHECK_EQ(gantry_submit(q, desc, N), N);
		env_collect(q, comp, N);
		for (i = 0; i < N; i++) {
			CHECK_EQ(comp[i].status, GANTRY_OK);
			CHECK_EQ(comp[i].result, round * N + i);
		}
		CHECK_EQ(q->cells.n_free, GANTRY_CELLS);
	}
	env_queue_done(q);
}

/*
 * The memory does not allow atomics: the first atomic fails, later atomics are flushed, and no cell
 * is lost.
 */
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
		/*
		 * Fills the cells with old results. A failed atomic must not return an old result.
		 */
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
 * Writes a WQE to buf with stock libmlx5's functions: an RDMA write of n pieces of 100 bytes of src
 * to the start of dst. Its index and QPN are wrong. At random, it asks for a CQE or does not.
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
		/* Alternates between two alignments of buf. */
		CHECK_EQ(env_do_one(q, raw_write(buf + i % 2, to[i % 3], n, &seed)), GANTRY_OK);
		for (k = 0; k < n; k++)
			CHECK(memcmp(dst + 100 * k, src + 200 * k, 100) == 0);
		CHECK_EQ(dst[100 * n], 0);
	}
	env_queue_done(q);
	env_queue_done(other);
}

/*
 * WQEs of 1 to 16 WQEBBs between other descriptors, over many laps of the ring. All must complete,
 * in order.
 */
static void
raw_wqes_of_every_length_keep_order(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	/* enough for all WQEs in flight and those not yet accepted */
	static uint8_t bufs[128][1024];
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

/*
 * Bits of fm_ce_se in a control segment, as mlx5dv.h defines them. The engine sets the bits that
 * ask for a CQE.
 */
#define CQE_BITS 0x0c

/*
 * A raw WQE must keep its bits, except those that ask for a CQE. gantry_stats::wqes must also count
 * the NOP WQEs that fill the end of the ring.
 */
static void
a_raw_wqe_keeps_its_bits_and_what_fills_the_ring_counts(void)
{
	static const uint8_t bits[] = {0, MLX5_WQE_CTRL_SOLICITED, MLX5_WQE_CTRL_FENCE,
		MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE | MLX5_WQE_CTRL_SOLICITED};
	struct gantry_queue *q = env_queue(g, 64);
	const struct hwq_sq *sq = q->conn[GANTRY_CONN_OWN].sq;
	uint32_t n_bb = hwq_sq_n_bb(sq), i, k;
	uint8_t wqe[192] = {0};
	struct gantry_desc d = {.op = GANTRY_OP_RAW,
		.peer = GANTRY_PEER_OWN,
		.src = (uintptr_t)wqe,
		.len = sizeof(wqe)};

	CHECK(n_bb % 3 != 0);
	for (i = 0; i <= n_bb / 3; i++) {
		uint8_t set = bits[i % RTE_DIM(bits)];

		mlx5dv_set_ctrl_seg((void *)wqe, 0, MLX5_OPCODE_NOP, 0, 0, set | CQE_BITS * (i % 2),
			sizeof(wqe) / 16, 0, 0);
		CHECK_EQ(env_do_one(q, d), GANTRY_OK);
		k = ((const uint8_t *)hwq_sq_at(sq, sq->last))[11];
		CHECK_EQ(k & ~CQE_BITS, set);
	}
	/* The last WQE did not fit before the end of the ring, and is at its beginning. */
	CHECK_EQ(env_stats(q).wqes, n_bb + 3);
	env_queue_done(q);
}

/* A raw WQE that is longer than half of the send queue's ring must be refused. */
static void
a_raw_wqe_that_is_too_long_for_a_peer_is_refused(void)
{
	const struct gantry_peer_conf narrow = {.depth = 8};
	struct gantry_desc d = {.op = GANTRY_OP_RAW};
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_addr a, b;
	uint8_t wqe[1024] = {0};
	uint16_t back;
	uint32_t ds;

	CHECK_EQ(gantry_peer_open(q, &narrow, &d.peer, &a), 0);
	CHECK_EQ(gantry_peer_open(q, NULL, &back, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, d.peer, &b), 0);
	CHECK_EQ(gantry_peer_connect(q, back, &a), 0);
	d.src = (uintptr_t)wqe;
	for (ds = 15; ds <= 18; ds++) {
		mlx5dv_set_ctrl_seg((void *)wqe, 0, MLX5_OPCODE_NOP, 0, 0, 0, ds, 0, 0);
		d.len = 16 * ds;
		if (ds <= 16)
			CHECK_EQ(env_do_one(q, d), GANTRY_OK);
		else
			expect_refused(q, d, GANTRY_BAD_LENGTH);
		CHECK_EQ(env_do_one(q, WITH(d, peer, back)), GANTRY_OK);
	}
	env_queue_done(q);
}

/* If a RAW WQE fails, only its descriptor fails. */
static void
a_wrong_raw_wqe_fails_alone(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	uint8_t buf[1024];
	uint64_t seed = 4;
	struct gantry_desc d;

	d = raw_write(buf, GANTRY_PEER_OWN, 2, &seed);
	buf[32 + 4] ^= 0x55; /* the lkey of the first piece */
	CHECK_EQ(env_do_one(q, d), GANTRY_LOCAL_ERROR);
	CHECK_EQ(env_do_one(q, raw_write(buf, GANTRY_PEER_OWN, 2, &seed)), GANTRY_OK);
	CHECK_EQ(env_do_one(q, env_copy(src, dst, 64)), GANTRY_OK);
	CHECK_EQ(env_stats(q).recoveries, 1);
	env_queue_done(q);
}

static const struct check_case cases[] = {
	{"fields that an operation does not use must be zero", unused_fields_must_be_zero},
	{"wrong lengths and addresses are refused", wrong_lengths_and_addresses_are_refused},
	{"short messages are inline", short_messages_travel_in_the_wqe},
	{"messages arrive with their data", messages_arrive_with_their_data},
	{"receives are posted before their peer is connected",
		receives_are_posted_before_their_peer_is_connected},
	{"a split write takes one receive", a_split_write_takes_one_receive},
	{"a send invalidates a key", a_send_invalidates_a_key},
	{"wrong receives are refused in order", wrong_receives_are_refused_in_their_place},
	{"receives complete once and in order", receives_complete_once_and_in_order},
	{"one call collects receives of all peers", one_call_collects_receives_of_all_peers},
	{"a failed connection gives its receives back",
		a_failed_connection_gives_its_receives_back},
	{"only solicited messages of a connection raise an event",
		solicited_messages_of_a_connection_raise_an_event},
	{"only solicited messages to a DC target raise an event",
		solicited_messages_to_a_dc_target_raise_an_event},
	{"a closed connection gives its receives back",
		a_closed_connection_gives_its_receives_back},
	{"a receive keeps its memory", a_receive_keeps_its_memory},
	{"a removal waits for receives of all peers", a_removal_waits_for_receives_of_all_peers},
	{"atomics return the old value", atomics_return_the_old_value},
	{"many atomics in flight keep their results", many_atomics_in_flight_keep_their_results},
	{"atomics that wait for room lose no result cell", atomics_that_wait_for_room_lose_no_cell},
	{"failed atomics have no result", failed_atomics_have_no_result},
	{"a device without atomics refuses them", a_device_without_atomics_refuses_them},
	{"a raw WQE is executed", a_raw_wqe_does_what_it_says},
	{"raw WQEs of every length keep order", raw_wqes_of_every_length_keep_order},
	{"a raw WQE keeps its bits, and WQEs that fill the ring are counted",
		a_raw_wqe_keeps_its_bits_and_what_fills_the_ring_counts},
	{"a raw WQE that is too long for a peer is refused",
		a_raw_wqe_that_is_too_long_for_a_peer_is_refused},
	{"only the wrong raw WQE fails", a_wrong_raw_wqe_fails_alone},
};

int
main(int argc, char **argv)
{
	mlx5dv_set_ctrl_seg((void *)raw_nop, 0, MLX5_OPCODE_NOP, 0, 0, 0, 4, 0, 0);
	env_init(0);
	arena_create(NULL);
	return arena_run(cases, RTE_DIM(cases), argc, argv);
}
