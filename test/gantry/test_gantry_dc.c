/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DC peers: every operation through a queue's only initiator; the effect on other peers when a
 * descriptor to one peer fails; targets and their receives; settings, refusals, and many peers.
 */
#include <endian.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_log.h>
#include <rte_malloc.h>

#include <softhca.h>

#include "gantry_defer.h"
#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_mem.h"
#include "gantry_queue.h"
#include "gantry_watch.h"
#include "gantry_worker.h"

#include "gantry_arena.h"

#define N_PEERS 64

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER true
#else
#define UNDER_SANITIZER false
#endif

static const struct gantry_peer_conf dc = {.transport = GANTRY_TRANSPORT_DC};

/* Opens a target of a queue. At most n receives can be posted to it. */
static uint16_t
target(struct gantry_queue *q, uint16_t n, struct gantry_addr *addr)
{
	const struct gantry_peer_conf conf = {.transport = GANTRY_TRANSPORT_DC_TARGET,
		.recv_depth = n};
	uint16_t peer;

	CHECK_EQ(gantry_peer_open(q, &conf, &peer, addr), 0);
	return peer;
}

/* Opens a DC peer of a queue and connects it to a target. */
static uint16_t
peer_to(struct gantry_queue *q, const struct gantry_addr *addr)
{
	uint16_t peer;

	CHECK_EQ(gantry_peer_open(q, &dc, &peer, NULL), 0);
	CHECK_EQ(gantry_peer_connect(q, peer, addr), 0);
	return peer;
}

static struct gantry_conn *
dci(struct gantry_queue *q)
{
	return &q->conn[GANTRY_CONN_DCI];
}

static struct gantry_desc
op_to(enum gantry_op op, uint16_t peer, const void *from, void *to, uint64_t len)
{
	struct gantry_desc d = env_copy(from, to, len);

	d.op = op;
	d.peer = peer;
	if (to != NULL)
		d.remote_key = gantry_mem_remote_key(op == GANTRY_OP_READ ? src_mem : dst_mem);
	return d;
}

/* Returns a descriptor that writes 64 bytes from offset i * 64 of src to the same offset of dst. */
static struct gantry_desc
good_write(uint32_t i, uint16_t peer)
{
	return WITH(op_to(GANTRY_OP_WRITE, peer, src + i * 64, dst + i * 64, 64), cookie, i);
}

static bool
is_moved(uint32_t i)
{
	return memcmp(dst + i * 64, src + i * 64, 64) == 0;
}

static void
submit_all(struct gantry_queue *q, const struct gantry_desc *desc, struct gantry_comp *comp,
	uint32_t n)
{
	uint32_t i;

	CHECK_EQ(gantry_submit(q, desc, n), n);
	env_collect(q, comp, n);
	for (i = 0; i < n; i++)
		CHECK_EQ(comp[i].cookie, desc[i].cookie);
}

static bool
carries(struct gantry_queue *q, uint16_t peer)
{
	memset(dst, 0x11, 64);
	return env_do_one(q, good_write(0, peer)) == GANTRY_OK && is_moved(0);
}

static void
arm(const char *line)
{
	CHECK_EQ(softhca_fault(line), 0);
}

static struct gantry_recv
recv_at(uint64_t cookie, void *addr, uint64_t len)
{
	return (struct gantry_recv){.cookie = cookie, .addr = (uintptr_t)addr, .len = len};
}

static void
recv_collect(struct gantry_queue *q, struct gantry_recv_comp *comp, unsigned int n)
{
	uint64_t end = rte_get_timer_cycles() + 40 * rte_get_timer_hz();
	unsigned int got = 0;

	while (got < n) {
		env_pump();
		got += gantry_recv_poll(q, comp + got, n - got);
		CHECK(rte_get_timer_cycles() < end);
	}
}

/* ------------------------------------------------------------------ addresses */

static void
an_address_of_a_target_with_any_flipped_bit_is_refused(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_addr a, b, rc, bad;
	uint16_t peer, by_rc;
	unsigned int bit;

	target(q, 0, &a);
	target(q, 0, &b);
	CHECK_EQ(a.bytes[7], 1);
	/* Each target has its own DC key, which cannot be guessed. */
	CHECK(memcmp(a.bytes + 40, b.bytes + 40, 8) != 0);
	CHECK(memcmp(a.bytes + 48, "\0\0\0\0\0\0\0\0\0\0\0\0", 12) == 0);
	memset(&bad, 0xff, sizeof(bad));
	CHECK_EQ(gantry_peer_open(q, &dc, &peer, &bad), 0);
	for (bit = 0; bit < sizeof(bad); bit++)
		CHECK_EQ(bad.bytes[bit], 0);
	CHECK_EQ(gantry_peer_connect(q, peer, &bad), -EINVAL);
	for (bit = 0; bit < 8 * sizeof(a); bit++) {
		bad = a;
		bad.bytes[bit / 8] ^= 1u << bit % 8;
		CHECK_EQ(gantry_peer_connect(q, peer, &bad), -EINVAL);
	}
	CHECK_EQ(gantry_peer_open(q, NULL, &by_rc, &rc), 0);
	CHECK_EQ(gantry_peer_connect(q, peer, &rc), -EPROTONOSUPPORT);
	CHECK_EQ(gantry_peer_connect(q, by_rc, &a), -EPROTONOSUPPORT);
	CHECK_EQ(env_do_one(q, good_write(0, peer)), GANTRY_BAD_PEER);
	CHECK_EQ(gantry_peer_connect(q, peer, &a), 0);
	CHECK_EQ(gantry_peer_connect(q, peer, &a), -EISCONN);
	CHECK(carries(q, peer));
	env_queue_done(q);
}

/* ------------------------------------------------------------------ operations */

/*
 * WRITE and READ with lengths around the limit for data in the WQE, over many laps of the ring: all
 * bytes must be right.
 */
static void
data_go_both_ways(void)
{
	static const uint32_t lens[] = {1, 43, 44, 45, 64, 1000, 70000};
	struct gantry_queue *a = env_queue(g, 8), *b = env_queue(g, 8);
	struct gantry_addr addr;
	unsigned int i, k;
	uint16_t to;

	target(b, 0, &addr);
	to = peer_to(a, &addr);
	for (k = 0; k < 30; k++) {
		for (i = 0; i < RTE_DIM(lens); i++) {
			env_fill(src, lens[i], k * 10 + i);
			memset(dst, 0, lens[i] + 1);
			CHECK_EQ(env_do_one(a, op_to(k % 2 ? GANTRY_OP_READ : GANTRY_OP_WRITE, to,
						       src, dst, lens[i])),
				GANTRY_OK);
			CHECK(env_is_filled(dst, lens[i], k * 10 + i));
			CHECK_EQ(dst[lens[i]], 0);
		}
	}
	CHECK_EQ(env_stats(a).recoveries, 0);
	env_queue_done(a);
	env_queue_done(b);
}

/*
 * A short message must need no registered memory: its data are in the last WQE, which names no
 * memory.
 */
static void
short_messages_travel_in_the_wqe(void)
{
	const struct gantry_peer_conf long_ones = {.transport = GANTRY_TRANSPORT_DC,
		.mask = GANTRY_PEER_MAX_INLINE,
		.max_inline = 200};
	struct gantry_queue *q = env_queue(g, 8), *r = env_queue(g, 8);
	struct gantry_addr addr;
	uint16_t peer;

	target(q, 0, &addr);
	peer = peer_to(q, &addr);
	CHECK_EQ(dci(q)->max_inline, 44);
	CHECK_EQ(env_do_one(q, op_to(GANTRY_OP_WRITE, peer, src, dst, 44)), GANTRY_OK);
	CHECK_EQ(dci(q)->done, 2);
	CHECK_EQ(gantry_peer_open(r, &long_ones, &peer, NULL), 0);
	CHECK_EQ(gantry_peer_connect(r, peer, &addr), 0);
	env_fill(src, 200, 3);
	memset(dst, 0, 200);
	CHECK_EQ(env_do_one(r, op_to(GANTRY_OP_WRITE, peer, src, dst, 200)), GANTRY_OK);
	CHECK(env_is_filled(dst, 200, 3));
	/*
	 * Five units of 16 bytes (control segment, address vector, remote address), then the length
	 * field and 200 bytes of data, rounded up to units of 16 bytes: five WQEBBs.
	 */
	CHECK_EQ(dci(r)->done, 5);
	env_queue_done(q);
	env_queue_done(r);
}

static struct gantry_desc
message(enum gantry_op op, uint16_t peer, uint64_t len, uint32_t imm)
{
	struct gantry_desc d = {.op = op, .peer = peer, .len = len, .imm = imm};

	if (len != 0 && op == GANTRY_OP_WRITE_IMM)
		d = WITH(op_to(op, peer, src, dst, len), imm, imm);
	else if (len != 0)
		d.src = (uintptr_t)src;
	return d;
}

static void
messages_arrive_at_the_target(void)
{
	static const uint8_t kinds[] = {GANTRY_OP_SEND, GANTRY_OP_SEND_IMM, GANTRY_OP_WRITE_IMM};
	static const uint32_t lens[] = {0, 1, 44, 45, 5000};
	struct gantry_queue *a = env_queue(g, 8), *b = env_queue(g, 8);
	struct gantry_recv_comp comp;
	struct gantry_addr addr;
	struct gantry_recv r;
	uint16_t to, at, first;
	unsigned int i, k;

	first = target(b, 4, &addr);
	at = target(b, 4, &addr);
	to = peer_to(a, &addr);
	for (i = 0; i < RTE_DIM(kinds); i++) {
		for (k = 0; k < RTE_DIM(lens); k++) {
			uint8_t *place = kinds[i] == GANTRY_OP_WRITE_IMM ? dst : dst + 20000;
			uint32_t imm = kinds[i] == GANTRY_OP_SEND ? 0 : 0x81020304 + k;

			env_fill(src, lens[k], k + 10 * i);
			memset(dst, 0, 40000);
			r = recv_at(i * 100 + k, lens[k] == 0 ? NULL : dst + 20000, lens[k]);
			CHECK_EQ(gantry_recv_post(b, at, &r, 1), 1);
			CHECK_EQ(env_do_one(a, message(kinds[i], to, lens[k], imm)), GANTRY_OK);
			recv_collect(b, &comp, 1);
			CHECK_EQ(comp.cookie, i * 100 + k);
			CHECK_EQ(comp.status, GANTRY_OK);
			CHECK_EQ(comp.op, kinds[i]);
			CHECK_EQ(comp.len, lens[k]);
			CHECK_EQ(comp.imm, imm);
			CHECK_EQ(comp.peer, at);
			CHECK_EQ(comp.syndrome | comp.vendor_syndrome | comp.zero | comp.zero2, 0);
			CHECK(env_is_filled(place, lens[k], k + 10 * i));
			CHECK_EQ(place[lens[k]], 0);
		}
	}
	/* SEND_INV names a key that the target's device does not have. */
	r = recv_at(7, dst, 64);
	CHECK_EQ(gantry_recv_post(b, at, &r, 1), 1);
	CHECK_EQ(env_do_one(a, message(GANTRY_OP_SEND_INV, to, 10, 0xffffff00)),
		GANTRY_REMOTE_ERROR);
	CHECK_EQ(gantry_peer_close(b, at), 0);
	recv_collect(b, &comp, 1);
	CHECK(comp.cookie == 7 && comp.status != GANTRY_OK);
	/* A target accepts no descriptors and cannot be connected. */
	CHECK_EQ(env_do_one(b, good_write(0, first)), GANTRY_BAD_PEER);
	CHECK_EQ(gantry_peer_connect(b, first, &addr), -EINVAL);
	env_queue_done(a);
	env_queue_done(b);
}

static void
atomics_return_the_old_value(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	uint64_t *word = (uint64_t *)(void *)(dst + 4096);
	struct gantry_desc desc[32];
	struct gantry_comp comp[32];
	struct gantry_addr addr;
	uint16_t peer;
	uint32_t i;

	target(q, 0, &addr);
	peer = peer_to(q, &addr);
	*word = 5;
	for (i = 0; i < 32; i++) {
		desc[i] = op_to(GANTRY_OP_FETCH_ADD, peer, NULL, word, 8);
		desc[i].arg[0] = 10;
		desc[i].cookie = i;
	}
	submit_all(q, desc, comp, 32);
	for (i = 0; i < 32; i++)
		CHECK_EQ(comp[i].result, 5 + 10 * i);
	desc[0] = op_to(GANTRY_OP_COMPARE_SWAP, peer, NULL, word, 8);
	desc[0].arg[0] = 325;
	desc[0].arg[1] = 7;
	submit_all(q, desc, comp, 1);
	CHECK_EQ(comp[0].result, 325);
	CHECK_EQ(*word, 7);
	submit_all(q, desc, comp, 1);
	CHECK_EQ(comp[0].result, 7);
	CHECK_EQ(*word, 7);
	env_queue_done(q);
}

/*
 * A RAW WQE with two pieces of memory, built with stock libmlx5's functions. The bytes of its
 * address vector are wrong, and the engine must write the peer's address into them.
 */
static void
a_raw_wqe_gets_the_peers_address(void)
{
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_desc d = {.op = GANTRY_OP_RAW};
	struct mlx5_wqe_raddr_seg *raddr;
	struct gantry_addr addr;
	uint64_t wqe[16];

	target(q, 0, &addr);
	d.peer = peer_to(q, &addr);
	d.src = (uintptr_t)wqe;
	memset(wqe, 0xa5, sizeof(wqe));
	mlx5dv_set_ctrl_seg((void *)wqe, 77, MLX5_OPCODE_RDMA_WRITE, 0, 0xabcdef, 0, 7, 0, 0);
	raddr = (void *)&wqe[8];
	raddr->raddr = htobe64((uintptr_t)dst);
	raddr->rkey = htobe32(gantry_mem_remote_key(dst_mem));
	mlx5dv_set_data_seg((void *)&wqe[10], 100, gantry_mem_piece(src_mem)->mr.lkey,
		(uintptr_t)src);
	mlx5dv_set_data_seg((void *)&wqe[12], 50, gantry_mem_piece(src_mem)->mr.lkey,
		(uintptr_t)src + 500);
	env_fill(src, 1000, 9);
	memset(dst, 0, 151);
	d.len = 7 * 16;
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	CHECK(memcmp(dst, src, 100) == 0 && memcmp(dst + 100, src + 500, 50) == 0);
	CHECK_EQ(dst[150], 0);
	/*
	 * A WQE that needs no address vector is accepted. A WQE that is too short for an address
	 * vector is refused.
	 */
	mlx5dv_set_ctrl_seg((void *)wqe, 0, MLX5_OPCODE_NOP, 0, 0, 0, 1, 0, 0);
	d.len = 16;
	CHECK_EQ(env_do_one(q, d), GANTRY_OK);
	mlx5dv_set_ctrl_seg((void *)wqe, 0, MLX5_OPCODE_SEND, 0, 0, 0, 3, 0, 0);
	d.len = 48;
	CHECK_EQ(env_do_one(q, d), GANTRY_BAD_LENGTH);
	CHECK_EQ(env_stats(q).recoveries, 0);
	env_queue_done(q);
}

static void
a_long_operation_is_split(void)
{
	struct gantry_queue *a = env_queue(g, 8), *b = env_queue(g, 8);
	struct gantry_recv r = recv_at(5, NULL, 0);
	struct gantry_recv_comp comp;
	struct gantry_addr addr;
	uint16_t to, at;

	at = target(b, 4, &addr);
	to = peer_to(a, &addr);
	dci(a)->max_len = 1000;
	env_fill(src, 100010, 77);
	memset(dst, 0, 100011);
	CHECK_EQ(gantry_recv_post(b, at, &r, 1), 1);
	CHECK_EQ(env_do_one(a, message(GANTRY_OP_WRITE_IMM, to, 100010, 0xdeadbeef)), GANTRY_OK);
	recv_collect(b, &comp, 1);
	CHECK(comp.imm == 0xdeadbeef && comp.len == 10);
	CHECK(env_is_filled(dst, 100010, 77) && dst[100010] == 0);
	memset(dst, 0, 100011);
	CHECK_EQ(env_do_one(a, op_to(GANTRY_OP_READ, to, src, dst, 100010)), GANTRY_OK);
	CHECK(env_is_filled(dst, 100010, 77) && dst[100010] == 0);
	CHECK_EQ(env_do_one(a, message(GANTRY_OP_SEND, to, 1001, 0)), GANTRY_BAD_LENGTH);
	env_queue_done(a);
	env_queue_done(b);
}

/* ------------------------------------------------------------------ order */

/*
 * A chain of fenced descriptors: each step copies the result of the previous step, alternately by a
 * copy, a write and a read. Without the fences, an adapter that reorders (SOFTHCA_REORDER) reads
 * bytes that have not arrived yet.
 */
static void
a_fence_orders_the_initiator_and_copies(void)
{
	enum {
		N = 48,
		STEP = 2048
	};
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc desc[N];
	struct gantry_comp comp[N];
	struct gantry_addr addr;
	uint16_t peer[2];
	uint32_t i, round;

	target(q, 0, &addr);
	peer[0] = peer_to(q, &addr);
	target(q, 0, &addr);
	peer[1] = peer_to(q, &addr);
	for (round = 0; round < 10; round++) {
		memset(dst, 0, N * STEP + STEP);
		env_fill(dst, STEP, round);
		for (i = 0; i < N; i++) {
			uint8_t *from = dst + i * STEP, *to = from + STEP;

			desc[i] = env_copy(from, to, STEP);
			if (i % 3 != 0) {
				desc[i].op = i % 3 == 1 ? GANTRY_OP_WRITE : GANTRY_OP_READ;
				desc[i].peer = peer[i % 2];
				desc[i].remote_key = gantry_mem_remote_key(dst_mem);
			}
			desc[i].flags = GANTRY_DESC_FENCE;
			desc[i].cookie = i;
		}
		submit_all(q, desc, comp, N);
		for (i = 0; i < N; i++)
			CHECK_EQ(comp[i].status, GANTRY_OK);
		CHECK(env_is_filled(dst + N * STEP, STEP, round));
	}
	env_queue_done(q);
}

/* Descriptors that wait for the fence are cancelled. The other descriptors must complete. */
static void
what_waits_is_cancelled(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	struct gantry_addr addr;
	uint16_t peer;

	target(q, 0, &addr);
	peer = peer_to(q, &addr);
	memset(dst, 0x11, 256);
	arm("late ms=20");
	desc[0] = good_write(0, peer);
	desc[1] = WITH(good_write(1, peer), flags, GANTRY_DESC_FENCE);
	desc[2] = good_write(2, peer);
	CHECK_EQ(gantry_submit(q, desc, 3), 3);
	CHECK_EQ(gantry_cancel(q, 1), 1);
	env_collect(q, comp, 3);
	CHECK_EQ(comp[0].status, GANTRY_OK);
	CHECK_EQ(comp[1].status, GANTRY_CANCELLED);
	CHECK_EQ(comp[2].status, GANTRY_OK);
	CHECK(is_moved(0) && !is_moved(1) && is_moved(2));
	env_queue_done(q);
}

/*
 * In an unordered queue, descriptors to all DC peers must complete in the order of submission, but
 * other descriptors must not wait for them.
 */
static void
an_unordered_queue_has_one_stream_for_its_dc_peers(void)
{
	const struct gantry_queue_conf conf = {.depth = 16, .unordered = true};
	struct gantry_desc desc[4];
	struct gantry_comp comp[4];
	struct gantry_queue *q;
	struct gantry_addr addr;
	uint16_t a, b, rc, back;
	uint32_t i, first;
	uint64_t late;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	target(q, 0, &addr);
	a = peer_to(q, &addr);
	target(q, 0, &addr);
	b = peer_to(q, &addr);
	env_connect(q, &rc, q, &back);
	memset(dst, 0x11, 256);
	late = rte_get_timer_cycles() + rte_get_timer_hz() / 10;
	arm("late ms=100");
	desc[0] = good_write(0, a);
	CHECK_EQ(gantry_submit(q, desc, 1), 1);
	while (softhca_faults_left() != 0)
		CHECK_EQ(env_poll(q, comp, 4), 0);
	desc[0] = good_write(1, b);
	desc[1] = good_write(2, rc);
	desc[2] = WITH(env_copy(src + 3 * 64, dst + 3 * 64, 64), cookie, 3);
	CHECK_EQ(gantry_submit(q, desc, 3), 3);
	env_collect(q, comp, 2);
	/*
	 * The descriptors to DC peers complete last. This is checked only if this thread did not
	 * wait long for a CPU: after the time `late`, any order is possible.
	 */
	if (rte_get_timer_cycles() < late)
		CHECK(comp[0].cookie + comp[1].cookie == 5);
	env_collect(q, comp + 2, 2);
	for (i = first = 0; i < 4; i++)
		if (comp[i].cookie < 2)
			CHECK_EQ(comp[i].cookie, first++);
	CHECK(is_moved(0) && is_moved(1) && is_moved(2) && is_moved(3));
	env_queue_done(q);
}

/* ------------------------------------------------------------------ layouts */

/* Creates a layout of every second page of the arena's first half, as a list or as a pattern. */
static uint16_t
layout(bool pattern)
{
	struct gantry_block block[8];
	struct gantry_layout_conf conf = {.block = block, .n = 8};
	uint16_t id;
	uint32_t i;

	for (i = 0; i < 8; i++)
		block[i] = (struct gantry_block){.offset = i * 2000, .len = 1000};
	if (pattern) {
		block[0].skip = 1000;
		conf.n = 1;
		conf.rounds = 8;
	}
	CHECK_EQ(gantry_layout_create(g, &conf, &id), 0);
	return id;
}

static void
a_layout_is_gathered_and_scattered(void)
{
	struct gantry_recv r = recv_at(1, dst, 8000);
	struct gantry_queue *a, *b;
	struct gantry_recv_comp got;
	struct gantry_desc desc[24];
	struct gantry_comp comp[24];
	struct gantry_addr addr;
	uint16_t id, at, to;
	uint32_t i, k;

	if (env_lacks(g, ENV_LAYOUTS))
		return;
	a = env_queue(g, 64);
	b = env_queue(g, 8);
	at = target(b, 4, &addr);
	to = peer_to(a, &addr);
	env_fill(src, ARENA_LEN, 4);
	for (k = 0; k < 2; k++) {
		id = layout(k == 1);
		/*
		 * The descriptors have three base addresses, so the layout needs three keys. Copies
		 * are between these descriptors.
		 */
		memset(dst, 0, ARENA_LEN);
		for (i = 0; i < 24; i++) {
			desc[i] = op_to(GANTRY_OP_WRITE, to, src + i % 3 * 8, dst + i * 8192, 8000);
			desc[i].layout = id;
			if (i % 4 == 3)
				desc[i] = env_copy(src + i, dst + i * 8192, 8000);
			desc[i].cookie = i;
		}
		submit_all(a, desc, comp, 24);
		for (i = 0; i < 24 * 8; i++) {
			uint32_t d = i / 8, part = i % 8;
			const uint8_t *from =
				d % 4 == 3 ? src + d + part * 1000 : src + d % 3 * 8 + part * 2000;

			CHECK_EQ(comp[d].status, GANTRY_OK);
			CHECK(memcmp(dst + d * 8192 + part * 1000, from, 1000) == 0);
		}
		CHECK_EQ(env_stats(a).layout_misses, 3 + k * 4);
		CHECK_EQ(env_stats(a).layout_hits, 15 + k * 16);
		/*
		 * A READ with the layout writes to the pieces of dst, and a SEND with the layout
		 * reads the pieces of src.
		 */
		memset(dst, 0, 20000);
		desc[0] = op_to(GANTRY_OP_READ, to, src, dst, 8000);
		desc[0].layout = id;
		CHECK_EQ(env_do_one(a, desc[0]), GANTRY_OK);
		for (i = 0; i < 8; i++) {
			CHECK(memcmp(dst + i * 2000, src + i * 1000, 1000) == 0);
			CHECK_EQ(dst[i * 2000 + 1000], 0);
		}
		memset(dst, 0, 8001);
		CHECK_EQ(gantry_recv_post(b, at, &r, 1), 1);
		CHECK_EQ(env_do_one(a, WITH(message(GANTRY_OP_SEND, to, 8000, 0), layout, id)),
			GANTRY_OK);
		recv_collect(b, &got, 1);
		CHECK_EQ(got.len, 8000);
		for (i = 0; i < 8; i++)
			CHECK(memcmp(dst + i * 1000, src + i * 2000, 1000) == 0);
		CHECK_EQ(dst[8000], 0);
		CHECK_EQ(gantry_layout_destroy(g, id), 0);
	}
	CHECK_EQ(env_stats(a).recoveries, 0);
	env_queue_done(a);
	env_queue_done(b);
}

/*
 * The queue's connection to itself configures the key. If that fails, the descriptor that needs the
 * key fails.
 */
static void
a_layout_that_fails_is_its_descriptors_failure(void)
{
	const struct gantry_queue_conf confs[2] = {{.depth = 64}, {.depth = 64, .unordered = true}};
	struct gantry_desc desc[4];
	struct gantry_comp comp[4];
	struct gantry_addr addr;
	struct gantry_queue *q;
	uint16_t id, to;
	uint32_t k, i, copies;
	char line[80];

	if (env_lacks(g, ENV_LAYOUTS))
		return;
	id = layout(false);
	for (k = 0; k < 4; k++) {
		CHECK_EQ(gantry_queue_create(g, &confs[k % 2], &q), 0);
		target(q, 0, &addr);
		to = peer_to(q, &addr);
		memset(dst, 0x11, ARENA_LEN);
		/* number of copies before the layout's UMR, on the own connection */
		copies = k / 2;
		snprintf(line, sizeof(line), "complete syndrome=4 op=%u qp=%u", copies + 1,
			q->conn[GANTRY_CONN_OWN].qp->qpn);
		arm(line);
		desc[0] = WITH(env_copy(src, dst, 64), cookie, 100);
		desc[copies] = op_to(GANTRY_OP_WRITE, to, src, dst + 8192, 8000);
		desc[copies].layout = id;
		desc[copies + 1] = WITH(env_copy(src + 64, dst + 64, 64), cookie, 101);
		desc[copies + 2] = WITH(good_write(2, to), cookie, 102);
		CHECK_EQ(gantry_submit(q, desc, copies + 3), copies + 3);
		env_collect(q, comp, copies + 3);
		CHECK_EQ(softhca_faults_left(), 0);
		for (i = 0; i < copies + 3; i++)
			CHECK_EQ(comp[i].status,
				comp[i].cookie == 0 ? GANTRY_LOCAL_ERROR : GANTRY_OK);
		CHECK(is_moved(1) && is_moved(2));
		CHECK_EQ(env_stats(q).recoveries, 1);
		/* The same descriptor succeeds when it is submitted again. */
		CHECK_EQ(env_do_one(q, desc[copies]), GANTRY_OK);
		CHECK(memcmp(dst + 8192 + 1000, src + 2000, 1000) == 0);
		env_queue_done(q);
	}
	/* When a copy fails, the UMR after it is flushed and posted again. */
	q = env_queue(g, 64);
	target(q, 0, &addr);
	to = peer_to(q, &addr);
	memset(dst, 0x11, ARENA_LEN);
	snprintf(line, sizeof(line), "complete syndrome=4 qp=%u", q->conn[GANTRY_CONN_OWN].qp->qpn);
	arm(line);
	desc[0] = env_copy(src, dst, 64);
	desc[1] = op_to(GANTRY_OP_WRITE, to, src, dst + 8192, 8000);
	desc[1].layout = id;
	submit_all(q, desc, comp, 2);
	CHECK_EQ(comp[0].status, GANTRY_LOCAL_ERROR);
	CHECK_EQ(comp[1].status, GANTRY_OK);
	CHECK(memcmp(dst + 8192 + 1000, src + 2000, 1000) == 0);
	/* The two UMRs are one descriptor's. */
	CHECK_EQ(env_stats(q).layout_misses, 1);
	CHECK_EQ(env_stats(q).layout_hits, 0);
	/* A gather waits for a UMR that is late. */
	snprintf(line, sizeof(line), "late ms=50 qp=%u", q->conn[GANTRY_CONN_OWN].qp->qpn);
	arm(line);
	desc[1] = op_to(GANTRY_OP_WRITE, to, src + 8, dst + 8192, 8000);
	desc[1].layout = id;
	CHECK_EQ(env_do_one(q, desc[1]), GANTRY_OK);
	CHECK_EQ(softhca_faults_left(), 0);
	CHECK(memcmp(dst + 8192 + 1000, src + 8 + 2000, 1000) == 0);
	env_queue_done(q);
	CHECK_EQ(gantry_layout_destroy(g, id), 0);
}

/* Returns the queue's key for the DC initiator, or NULL if there is none. */
static const struct gantry_key *
dc_key(const struct gantry_queue *q)
{
	uint32_t i;

	for (i = 0; q->keys.key != NULL && i < q->keys.n; i++)
		if (q->keys.key[i].conn == GANTRY_CONN_DCI)
			return &q->keys.key[i];
	return NULL;
}

static bool
is_gathered(const uint8_t *to, const uint8_t *from)
{
	uint32_t i;

	for (i = 0; i < 8; i++)
		if (memcmp(to + i * 1000, from + i * 2000, 1000) != 0)
			return false;
	return true;
}

/*
 * The own connection posts WQEs in this order: 20 copies, one part of a list, a UMR for a write to
 * a DC peer, and the rest of the list. The write is cancelled, and copy 19 fails. The list is
 * carried out again, later than a write to an RC peer, which gives the UMR's key another base. If
 * the UMR was carried out again too, the second write to the RC peer would move other bytes.
 *
 * ms: how late copy 18 and the first WQE after the repair run. Returns false if the copy ran before
 * the UMR was posted.
 */
static bool
a_list_is_carried_out_again_without_the_umr(uint16_t id, unsigned int ms)
{
	const struct gantry_queue_conf conf = {.depth = 64, .unordered = true, .layout_keys = 4};
	struct gantry_sge from[200], list_to[200];
	struct gantry_queue *q, *o = env_queue(g, 16);
	struct gantry_comp comp[25];
	struct gantry_desc desc[22];
	const struct gantry_key *k;
	uint16_t to, rc, rc_end;
	struct gantry_addr addr;
	struct gantry_conn *own;
	unsigned int i, n;
	char line[80];
	bool between;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	own = &q->conn[GANTRY_CONN_OWN];
	env_connect(q, &rc, o, &rc_end);
	target(o, 0, &addr);
	to = peer_to(q, &addr);
	memset(dst, 0x11, ARENA_LEN);
	/* A fault does not count the operations to which earlier faults are applied. */
	snprintf(line, sizeof(line), "late ms=%u op=19 qp=%u", ms, own->qp->qpn);
	arm(line);
	snprintf(line, sizeof(line), "complete syndrome=4 op=19 qp=%u", own->qp->qpn);
	arm(line);
	snprintf(line, sizeof(line), "late ms=%u op=19 qp=%u", ms, own->qp->qpn);
	arm(line);
	/* No completion is taken for now, so the initiator's stream stays first. */
	desc[0] = WITH(good_write(1, to), cookie, 100);
	for (i = 0; i < 20; i++)
		desc[1 + i] = WITH(env_copy(src, dst, 64), cookie, i);
	for (i = 0; i < RTE_DIM(from); i++) {
		from[i] = (struct gantry_sge){(uintptr_t)src + i * 128, 64};
		list_to[i] = (struct gantry_sge){(uintptr_t)dst + 65536 + i * 128, 64};
	}
	desc[21] = (struct gantry_desc){.op = GANTRY_OP_COPY_SG,
		.src = (uintptr_t)from,
		.dst = (uintptr_t)list_to,
		.len = RTE_DIM(from) * 64,
		.arg[0] = RTE_DIM(from) | RTE_DIM(list_to) << 32,
		.cookie = 20};
	CHECK_EQ(gantry_submit(q, desc, 22), 22);
	desc[0] = op_to(GANTRY_OP_WRITE, to, src, dst + 8192, 8000);
	desc[0].layout = id;
	desc[0].cookie = 101;
	CHECK_EQ(gantry_submit(q, desc, 1), 1);
	while (dc_key(q) == NULL) {
		env_pump();
		gantry_poll(q, NULL, 0);
	}
	k = dc_key(q);
	between = env_stats(q).recoveries == 0 && q->stream.splitting && k->laid_out < own->posted;
	if (between)
		CHECK_EQ(gantry_cancel(q, 101), 1);
	while (env_stats(q).recoveries == 0) {
		env_pump();
		gantry_poll(q, NULL, 0);
	}
	/* If the write to the DC peer was not cancelled, it may still run. */
	desc[0] = WITH(WITH(desc[0], peer, rc), cookie, 102);
	desc[0].src += 8;
	desc[0].dst += 8192;
	CHECK_EQ(gantry_submit(q, desc, 1), 1);
	for (n = 0; n == 0 || comp[n - 1].cookie != 102; n++)
		env_collect(q, &comp[n], 1);
	while (own->done != own->posted) {
		env_pump();
		gantry_poll(q, NULL, 0);
	}
	desc[0] = WITH(desc[0], cookie, 103);
	desc[0].dst += 8192;
	CHECK_EQ(gantry_submit(q, desc, 1), 1);
	env_collect(q, comp + n, RTE_DIM(comp) - n);
	for (i = 0; i < RTE_DIM(comp); i++)
		CHECK_EQ(comp[i].status, comp[i].cookie == 19               ? GANTRY_LOCAL_ERROR
					 : comp[i].cookie == 101 && between ? GANTRY_CANCELLED
									    : GANTRY_OK);
	CHECK(is_gathered(dst + 16384, src + 8));
	CHECK(is_gathered(dst + 24576, src + 8));
	for (i = 0; i < RTE_DIM(from); i++)
		CHECK(memcmp(dst + 65536 + i * 128, src + i * 128, 64) == 0);
	CHECK_EQ(softhca_faults_left(), 0);
	env_queue_done(q);
	env_queue_done(o);
	return between;
}

static void
a_key_that_was_given_up_is_not_laid_out_again(void)
{
	unsigned int ms = 20;
	uint16_t id;

	if (env_lacks(g, ENV_LAYOUTS))
		return;
	env_fill(src, ARENA_LEN, 6);
	id = layout(false);
	while (!a_list_is_carried_out_again_without_the_umr(id, ms))
		ms *= 2;
	CHECK_EQ(gantry_layout_destroy(g, id), 0);
}

/* ------------------------------------------------------------------ failures */

/*
 * Writes go to three peers alternately. The failed write has its own status, earlier writes have
 * completed, and later writes are flushed. Then all peers work, including the peer of the failed
 * write.
 */
static void
one_peers_failure_flushes_the_others_and_all_go_on(void)
{
	struct gantry_queue *q = env_queue(g, 64), *t = env_queue(g, 8);
	struct gantry_desc desc[12];
	struct gantry_comp comp[12];
	struct gantry_addr addr;
	uint16_t peer[3];
	uint32_t i, bad;

	for (i = 0; i < 3; i++) {
		target(t, 0, &addr);
		peer[i] = peer_to(q, &addr);
	}
	for (bad = 0; bad < 9; bad++) {
		memset(dst, 0x11, 12 * 64);
		for (i = 0; i < 12; i++)
			desc[i] = good_write(i, peer[i % 3]);
		desc[bad].remote_key ^= 0x5500;
		desc[11] = WITH(env_copy(src + 11 * 64, dst + 11 * 64, 64), cookie, 11);
		desc[11].flags = GANTRY_DESC_FENCE;
		submit_all(q, desc, comp, 12);
		for (i = 0; i < 11; i++) {
			CHECK_EQ(comp[i].status, i < bad    ? GANTRY_OK
						 : i == bad ? GANTRY_REMOTE_ACCESS
							    : GANTRY_FLUSHED);
			CHECK_EQ(comp[i].syndrome,
				i == bad ? MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR : 0);
			CHECK_EQ(is_moved(i), i < bad);
		}
		CHECK(comp[11].status == GANTRY_OK && is_moved(11));
		CHECK_EQ(env_stats(q).recoveries, bad + 1);
		CHECK_EQ(q->outstanding, 0);
		for (i = 0; i < 3; i++)
			CHECK(carries(q, peer[i]));
	}
	CHECK_EQ(env_stats(q).replays, 0);
	env_queue_done(q);
	env_queue_done(t);
}

static void
a_target_that_is_gone_is_not_reached(void)
{
	struct gantry_queue *q = env_queue(g, 64), *t = env_queue(g, 8);
	struct gantry_addr a, b;
	uint16_t gone, there, to_gone, to_there;

	gone = target(t, 0, &a);
	there = target(t, 0, &b);
	to_gone = peer_to(q, &a);
	to_there = peer_to(q, &b);
	CHECK(carries(q, to_gone) && carries(q, to_there));
	CHECK_EQ(gantry_peer_close(t, gone), 0);
	CHECK_EQ(env_do_one(q, good_write(1, to_gone)), GANTRY_UNREACHABLE);
	CHECK(carries(q, to_there));
	CHECK_EQ(env_do_one(q, good_write(1, to_gone)), GANTRY_UNREACHABLE);
	CHECK_EQ(gantry_peer_close(q, to_gone), 0);
	CHECK(carries(q, to_there));
	CHECK_EQ(gantry_peer_close(t, there), 0);
	env_queue_done(q);
	env_queue_done(t);
}

/*
 * A stopped initiator cannot be resumed, and without a deadline nothing else would end its
 * descriptors.
 */
static void
an_initiator_that_is_drained_is_set_up_again(void)
{
	const struct gantry_queue_conf conf = {.deadline_ms = GANTRY_NO_DEADLINE};
	struct gantry_queue *q;
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	struct gantry_addr addr;
	char line[80];
	uint16_t peer;
	uint32_t i;

	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	target(q, 0, &addr);
	peer = peer_to(q, &addr);
	memset(dst, 0x11, 256);
	for (i = 0; i < 3; i++)
		desc[i] = good_write(i, peer);
	snprintf(line, sizeof(line), "sq_drained qp=%u op=2", dci(q)->qp->qpn);
	arm(line);
	/*
	 * The first call of ibv_modify_qp(3) tries to resume the initiator, which is not possible.
	 * The second call flushes the initiator: the device refuses this call, and the engine
	 * repeats it.
	 */
	arm("refuse call=modify_qp errno=12 op=2");
	submit_all(q, desc, comp, 3);
	CHECK(comp[0].status == GANTRY_OK && is_moved(0));
	CHECK_EQ(comp[1].status, GANTRY_QP_EVENT);
	CHECK_EQ(comp[2].status, GANTRY_QP_EVENT);
	CHECK_EQ(softhca_faults_left(), 0);
	CHECK_EQ(env_stats(q).recoveries, 1);
	CHECK(carries(q, peer));
	env_queue_done(q);
}

/*
 * While the initiator is broken, descriptors that need it must wait, and descriptors submitted
 * before them must complete.
 */
static void
a_repair_that_is_refused_is_tried_again(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	struct gantry_addr addr;
	uint16_t peer;
	char line[80];
	uint32_t step, i;

	target(q, 0, &addr);
	peer = peer_to(q, &addr);
	/*
	 * Each step refuses one of the changes of a repair: to RESET, INIT, RTR or RTS
	 * (ibv_modify_qp(3)).
	 */
	for (step = 1; step <= 4; step++) {
		snprintf(line, sizeof(line), "refuse call=modify_qp errno=5 op=%u times=3", step);
		arm(line);
		memset(dst, 0x11, 256);
		desc[0] = WITH(good_write(0, peer), remote_key, 77);
		desc[1] = WITH(good_write(1, peer), flags, GANTRY_DESC_FENCE);
		desc[2] = good_write(2, peer);
		submit_all(q, desc, comp, 3);
		CHECK_EQ(softhca_faults_left(), 0);
		CHECK_EQ(comp[0].status, GANTRY_REMOTE_ACCESS);
		CHECK(comp[1].status == GANTRY_OK && comp[2].status == GANTRY_OK);
		CHECK(!is_moved(0) && is_moved(1) && is_moved(2));
		CHECK_EQ(env_stats(q).recoveries, step);
	}
	arm("refuse call=modify_qp errno=5 times=1");
	CHECK_EQ(env_do_one(q, WITH(good_write(0, peer), remote_key, 77)), GANTRY_REMOTE_ACCESS);
	while (softhca_faults_left() != 0)
		CHECK_EQ(env_poll(q, comp, 1), 0);
	CHECK_EQ(dci(q)->state, GANTRY_CONN_BROKEN);
	dci(q)->repair_tsc = UINT64_MAX;
	desc[0] = WITH(env_copy(src + 128, dst + 128, 64), cookie, 2);
	desc[1] = good_write(3, peer);
	CHECK_EQ(gantry_submit(q, desc, 2), 2);
	env_collect(q, comp, 1);
	CHECK(comp[0].status == GANTRY_OK && is_moved(2));
	for (i = 0; i < 1000; i++)
		CHECK_EQ(env_poll(q, comp, 1), 0);
	dci(q)->repair_tsc = 0;
	env_collect(q, comp, 1);
	CHECK(comp[0].status == GANTRY_OK && is_moved(3));
	env_queue_done(q);
}

static void
when_the_initiator_is_lost_all_else_goes_on(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc desc[4];
	struct gantry_comp comp[4];
	struct gantry_addr addr;
	uint16_t peer, rc, back;
	uint64_t start;

	target(q, 0, &addr);
	peer = peer_to(q, &addr);
	env_connect(q, &rc, q, &back);
	memset(dst, 0x11, 512);
	arm("refuse call=modify_qp errno=5 times=1000");
	desc[0] = WITH(good_write(0, peer), remote_key, 77);
	desc[1] = WITH(good_write(1, peer), flags, GANTRY_DESC_FENCE);
	desc[2] = good_write(2, rc);
	desc[3] = WITH(env_copy(src + 192, dst + 192, 64), cookie, 3);
	start = rte_get_timer_cycles();
	submit_all(q, desc, comp, 4);
	/*
	 * The engine has retried for at least a quarter of a second, as for a queue's connection to
	 * itself.
	 */
	CHECK((rte_get_timer_cycles() - start) * 4 >= rte_get_timer_hz());
	softhca_faults_clear();
	CHECK_EQ(comp[0].status, GANTRY_REMOTE_ACCESS);
	CHECK_EQ(comp[1].status, GANTRY_DEVICE_LOST);
	CHECK(comp[2].status == GANTRY_OK && comp[3].status == GANTRY_OK);
	CHECK(!is_moved(1) && is_moved(2) && is_moved(3));
	CHECK_EQ(env_do_one(q, good_write(1, peer)), GANTRY_DEVICE_LOST);
	CHECK_EQ(q->outstanding, 0);
	CHECK_EQ(gantry_peer_close(q, peer), 0);
	env_queue_done(q);
}

/*
 * The queue's connection to itself configures the keys that the initiator uses. If that connection
 * fails, descriptors without such a key still work.
 */
static void
when_the_own_connection_is_lost_layouts_are_too(void)
{
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_addr addr;
	struct gantry_desc d;
	char line[80];
	uint16_t peer;

	if (env_lacks(g, ENV_LAYOUTS))
		return;
	target(q, 0, &addr);
	peer = peer_to(q, &addr);
	memset(dst, 0x11, ARENA_LEN);
	snprintf(line, sizeof(line), "complete syndrome=4 qp=%u", q->conn[GANTRY_CONN_OWN].qp->qpn);
	arm(line);
	arm("refuse call=modify_qp errno=5 times=1000");
	CHECK_EQ(env_do_one(q, env_copy(src, dst, 64)), GANTRY_LOCAL_ERROR);
	CHECK_EQ(env_do_one(q, env_copy(src, dst, 64)), GANTRY_DEVICE_LOST);
	softhca_faults_clear();
	CHECK_EQ(env_do_one(q, good_write(2, peer)), GANTRY_OK);
	d = op_to(GANTRY_OP_WRITE, peer, src, dst + 8192, 8000);
	d.layout = layout(false);
	CHECK_EQ(env_do_one(q, d), GANTRY_DEVICE_LOST);
	CHECK_EQ(env_do_one(q, good_write(3, peer)), GANTRY_OK);
	CHECK(is_moved(2) && is_moved(3));
	CHECK_EQ(gantry_layout_destroy(g, d.layout), 0);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ events and deadlines */

/*
 * The fault sq_drained has a case of its own, because ibv_modify_qp(3) has no transition for a DCI
 * out of SQD.
 */
static void
events_of_the_initiator_end_in_a_repair(void)
{
	static const char *const faults[] = {"qp_fatal op=2", "cq_overrun op=2"};
	struct gantry_queue *q = env_queue(g, 64);
	struct gantry_desc desc[5];
	struct gantry_comp comp[5];
	struct gantry_addr addr;
	uint16_t peer[2];
	uint32_t f, i;

	for (i = 0; i < 2; i++) {
		target(q, 0, &addr);
		peer[i] = peer_to(q, &addr);
	}
	for (f = 0; f < RTE_DIM(faults); f++) {
		memset(dst, 0x11, 512);
		for (i = 0; i < 5; i++)
			desc[i] = good_write(i, peer[i % 2]);
		arm(faults[f]);
		/* The CQ that overran is created again. The device refuses this twice. */
		if (f == 1)
			arm("refuse call=create_cq errno=12 times=2");
		submit_all(q, desc, comp, 5);
		for (i = 0; i < 5; i++) {
			CHECK_EQ(comp[i].status,
				f == 2 || (f == 0 && i == 0) ? GANTRY_OK : GANTRY_QP_EVENT);
			CHECK_EQ(is_moved(i), i == 0);
		}
		CHECK(carries(q, peer[0]) && carries(q, peer[1]));
		CHECK_EQ(softhca_faults_left(), 0);
	}
	CHECK_EQ(env_stats(q).recoveries, 2);
	env_queue_done(q);
}

static void
a_stuck_initiator_is_given_up_and_set_up_again(void)
{
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	struct gantry_addr addr;
	uint16_t peer;
	uint32_t i;

	target(q, 0, &addr);
	peer = peer_to(q, &addr);
	memset(dst, 0x11, 512);
	arm("drop");
	desc[0] = good_write(0, peer);
	CHECK_EQ(gantry_submit(q, desc, 1), 1);
	while (softhca_faults_left() != 0)
		CHECK_EQ(env_poll(q, comp, 1), 0);
	desc[0] = WITH(env_copy(src + 64, dst + 64, 64), cookie, 1);
	desc[1] = WITH(good_write(2, peer), flags, GANTRY_DESC_FENCE);
	CHECK_EQ(gantry_submit(q, desc, 2), 2);
	/*
	 * The test makes the deadline of the stuck descriptor pass twice, and no other deadline.
	 * With a short deadline, operations that only wait for a CPU could also time out.
	 */
	for (i = 0; i < 2; i++) {
		CHECK_EQ(dci(q)->state, i == 0 ? GANTRY_CONN_READY : GANTRY_CONN_FAILING);
		dci(q)->watched = dci(q)->done + 1;
		dci(q)->still_tsc = q->deadline_tsc;
		gantry_watch(q);
	}
	env_collect(q, comp, 3);
	CHECK_EQ(comp[0].status, GANTRY_TIMED_OUT);
	CHECK(comp[1].status == GANTRY_OK && is_moved(1));
	CHECK(comp[2].status == GANTRY_OK && is_moved(2));
	CHECK_EQ(q->outstanding, 0);
	CHECK(carries(q, peer));
	CHECK_EQ(env_stats(q).recoveries, 1);
	env_queue_done(q);
}

/* When the device is lost, every descriptor and every receive must complete. */
static void
everything_comes_back_when_the_device_is_lost(void)
{
	struct gantry_recv r[2] = {recv_at(1, dst, 64), recv_at(2, dst, 64)};
	struct gantry_queue *q = env_queue(g, 16);
	struct gantry_recv_comp got[2];
	struct gantry_desc desc[4];
	struct gantry_comp comp[4];
	struct gantry_addr addr;
	uint16_t peer, at;
	uint32_t i;

	at = target(q, 4, &addr);
	peer = peer_to(q, &addr);
	CHECK_EQ(gantry_recv_post(q, at, r, 2), 2);
	arm("device_fatal op=2");
	for (i = 0; i < 4; i++)
		desc[i] = good_write(i, peer);
	submit_all(q, desc, comp, 4);
	for (i = 1; i < 4; i++)
		CHECK_EQ(comp[i].status, GANTRY_DEVICE_LOST);
	recv_collect(q, got, 2);
	CHECK(got[0].status == GANTRY_DEVICE_LOST && got[1].status == GANTRY_DEVICE_LOST);
	CHECK_EQ(got[0].cookie + got[1].cookie, 3);
	CHECK_EQ(env_do_one(q, good_write(1, peer)), GANTRY_DEVICE_LOST);
	CHECK_EQ(gantry_recv_post(q, at, r, 1), 1);
	recv_collect(q, got, 1);
	CHECK_EQ(got[0].status, GANTRY_BAD_PEER);
	CHECK_EQ(gantry_peer_close(q, peer), 0);
	CHECK_EQ(gantry_peer_close(q, at), 0);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ receives */

/*
 * Ten initiators send to one target: each message must be received once, and each receive must
 * complete once.
 */
static void
many_initiators_share_a_target(void)
{
	enum {
		N = 10,
		EACH = 30
	};
	struct gantry_queue *t = env_queue(g, 8), *q[N];
	struct gantry_recv_comp comp[8];
	unsigned int seen[N] = {0}, posted = 0, got = 0, sent = 0, done = 0, i, n;
	bool cookie_seen[N * EACH + 8] = {false};
	struct gantry_addr addr;
	uint16_t at, to[N];

	at = target(t, 8, &addr);
	for (i = 0; i < N; i++) {
		q[i] = env_queue(g, 8);
		to[i] = peer_to(q[i], &addr);
		memset(src + i * 64, i, 64);
	}
	while (got < N * EACH || done < N * EACH) {
		struct gantry_recv r = recv_at(posted, dst + posted % 8 * 64, 64);
		struct gantry_desc d;
		struct gantry_comp c;

		/*
		 * Slots of dst are used again in any order, so only the immediate data are
		 * compared.
		 */
		if (posted < N * EACH)
			posted += gantry_recv_post(t, at, &r, 1);
		if (sent < N * EACH) {
			d = message(GANTRY_OP_SEND_IMM, to[sent % N], 64, sent % N);
			sent += gantry_submit(q[sent % N], &d, 1);
		}
		for (i = 0; i < N; i++) {
			n = env_poll(q[i], &c, 1);
			CHECK(n == 0 || c.status == GANTRY_OK);
			done += n;
		}
		n = gantry_recv_poll(t, comp, 8);
		for (i = 0; i < n; i++) {
			CHECK_EQ(comp[i].status, GANTRY_OK);
			CHECK(comp[i].cookie < N * EACH && !cookie_seen[comp[i].cookie]);
			cookie_seen[comp[i].cookie] = true;
			seen[comp[i].imm]++;
			got++;
		}
	}
	for (i = 0; i < N; i++) {
		CHECK_EQ(seen[i], EACH);
		env_queue_done(q[i]);
	}
	env_queue_done(t);
}

/*
 * Refused receives must complete at once. Posted receives must complete when the target is closed.
 */
static void
a_target_gives_its_receives_back(void)
{
	struct gantry_queue *t = env_queue(g, 8);
	struct gantry_recv r[6];
	struct gantry_recv_comp comp[6];
	bool seen[6] = {false};
	struct gantry_addr addr;
	uint16_t at, mute;
	uint32_t i;

	mute = target(t, 0, &addr);
	at = target(t, 5, &addr);
	for (i = 0; i < 6; i++)
		r[i] = recv_at(i, dst + i * 64, 64);
	r[1].zero = 1;
	CHECK_EQ(gantry_recv_post(t, mute, r, 1), -EINVAL);
	CHECK_EQ(gantry_recv_post(t, at, r, 6), 5);
	CHECK_EQ(gantry_recv_poll(t, comp, 6), 1);
	CHECK(comp[0].cookie == 1 && comp[0].status == GANTRY_BAD_FIELD && comp[0].peer == at);
	CHECK_EQ(gantry_recv_post(t, at, r + 5, 1), 1);
	CHECK_EQ(gantry_recv_poll(t, comp, 6), 0);
	arm("refuse call=destroy_qp errno=16");
	CHECK_EQ(gantry_peer_close(t, at), -EBUSY);
	CHECK_EQ(gantry_recv_poll(t, comp, 6), 0);
	arm("refuse call=destroy_srq errno=16");
	CHECK_EQ(gantry_peer_close(t, at), -EBUSY);
	recv_collect(t, comp, 5);
	for (i = 0; i < 5; i++) {
		CHECK_EQ(comp[i].status, GANTRY_FLUSHED);
		CHECK(comp[i].cookie != 1 && !seen[comp[i].cookie]);
		seen[comp[i].cookie] = true;
	}
	CHECK_EQ(gantry_peer_close(t, at), 0);
	CHECK_EQ(gantry_peer_close(t, at), -EINVAL);
	CHECK_EQ(env_stats(t).recv_posted, 6);
	CHECK_EQ(env_stats(t).recv_done, 6);
	env_queue_done(t);
}

/*
 * A message that has arrived keeps its receive, even if the target is closed before the next poll.
 */
static void
a_closed_target_gives_messages_that_have_arrived(void)
{
	enum {
		POSTED = 5,
		SENT = 3
	};
	struct gantry_queue *t = env_queue(g, 8), *q = env_queue(g, 8);
	struct gantry_recv_comp comp[POSTED];
	struct gantry_recv r[POSTED];
	struct gantry_addr addr;
	bool seen[SENT] = {false};
	unsigned int i, flushed = 0;
	uint16_t at, to;

	at = target(t, POSTED, &addr);
	to = peer_to(q, &addr);
	for (i = 0; i < POSTED; i++)
		r[i] = recv_at(i, dst + i * 64, 64);
	CHECK_EQ(gantry_recv_post(t, at, r, POSTED), POSTED);
	for (i = 0; i < SENT; i++)
		CHECK_EQ(env_do_one(q, message(GANTRY_OP_SEND_IMM, to, 10 + i, i)), GANTRY_OK);
	CHECK_EQ(gantry_peer_close(t, at), 0);
	recv_collect(t, comp, POSTED);
	for (i = 0; i < POSTED; i++) {
		if (comp[i].status == GANTRY_FLUSHED) {
			flushed++;
			continue;
		}
		CHECK_EQ(comp[i].status, GANTRY_OK);
		CHECK(comp[i].imm < SENT && !seen[comp[i].imm]);
		CHECK_EQ(comp[i].len, 10 + comp[i].imm);
		seen[comp[i].imm] = true;
	}
	CHECK_EQ(flushed, POSTED - SENT);
	env_queue_done(q);
	env_queue_done(t);
}

/*
 * gantry_mem_unregister() must wait for receives that were posted before the call, and must not
 * wait for later receives.
 */
static void
a_removal_waits_for_receives_posted_before(void)
{
	struct gantry_queue *t = env_queue(g, 8), *q = env_queue(g, 8);
	struct gantry_recv r[2] = {recv_at(1, dst, 64), recv_at(2, dst + 64, 64)}, more;
	struct gantry_recv_comp comp[2];
	struct gantry_mem *mem;
	struct gantry_addr addr;
	uint8_t *other = env_map(4096);
	uint16_t at, to;

	at = target(t, 4, &addr);
	to = peer_to(q, &addr);
	CHECK_EQ(gantry_mem_register(g, other, 4096, 0, &mem), 0);
	CHECK_EQ(gantry_recv_post(t, at, r, 2), 2);
	CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
	CHECK_EQ(gantry_recv_poll(t, comp, 2), 0);
	more = recv_at(3, dst + 128, 64);
	CHECK_EQ(gantry_recv_post(t, at, &more, 1), 1);
	CHECK_EQ(env_do_one(q, message(GANTRY_OP_SEND, to, 64, 0)), GANTRY_OK);
	recv_collect(t, comp, 1);
	CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
	CHECK_EQ(env_do_one(q, message(GANTRY_OP_SEND, to, 64, 0)), GANTRY_OK);
	recv_collect(t, comp, 1);
	CHECK_EQ(gantry_recv_poll(t, comp, 1), 0);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	CHECK_EQ(gantry_peer_close(t, at), 0);
	recv_collect(t, comp, 1);
	CHECK(comp[0].cookie == 3 && comp[0].status == GANTRY_FLUSHED);
	env_queue_done(q);
	env_queue_done(t);
	env_unmap(other, 4096);
}

/*
 * As above, while copies of the target's queue wait for a repair: when they are posted again,
 * gantry_mem_unregister() waits for them too. It must still wait for each receive once only.
 */
static void
a_removal_waits_for_receives_and_for_a_repair(void)
{
	struct gantry_queue *t = env_queue(g, 8), *q = env_queue(g, 8);
	struct gantry_conn *own = &t->conn[GANTRY_CONN_OWN];
	struct gantry_desc copy[2] = {env_copy(src, dst + 4096, 64), env_copy(src, dst + 8192, 64)};
	struct gantry_recv r = recv_at(1, dst, 64), more;
	struct gantry_recv_comp recv_comp;
	struct gantry_comp comp[2];
	struct gantry_mem *mem;
	struct gantry_addr addr;
	uint8_t *other = env_map(4096);
	uint64_t end = env_patience();
	uint16_t at, to;

	at = target(t, 4, &addr);
	to = peer_to(q, &addr);
	CHECK_EQ(gantry_mem_register(g, other, 4096, 0, &mem), 0);
	CHECK_EQ(gantry_recv_post(t, at, &r, 1), 1);
	arm("refuse call=modify_qp errno=5 times=1");
	arm("complete syndrome=0x04");
	CHECK_EQ(gantry_submit(t, copy, 2), 2);
	while (own->state != GANTRY_CONN_BROKEN) {
		gantry_rest(t);
		env_pump();
		CHECK(rte_get_timer_cycles() < end);
	}
	own->repair_tsc = UINT64_MAX;
	CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
	gantry_rest(t);
	CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
	own->repair_tsc = 0;
	env_collect(t, comp, 2);
	CHECK_EQ(comp[0].status, GANTRY_LOCAL_ERROR);
	CHECK_EQ(comp[1].status, GANTRY_OK);
	CHECK_EQ(env_stats(t).replays, 1);
	gantry_rest(t);
	CHECK_EQ(gantry_mem_unregister(mem, 0), -ETIMEDOUT);
	more = recv_at(2, dst + 64, 64);
	CHECK_EQ(gantry_recv_post(t, at, &more, 1), 1);
	CHECK_EQ(env_do_one(q, message(GANTRY_OP_SEND, to, 64, 0)), GANTRY_OK);
	recv_collect(t, &recv_comp, 1);
	CHECK_EQ(recv_comp.cookie, 1);
	gantry_rest(t);
	CHECK_EQ(gantry_mem_unregister(mem, 0), 0);
	CHECK_EQ(gantry_peer_close(t, at), 0);
	recv_collect(t, &recv_comp, 1);
	CHECK(recv_comp.cookie == 2 && recv_comp.status == GANTRY_FLUSHED);
	env_queue_done(q);
	env_queue_done(t);
	env_unmap(other, 4096);
}

/* ------------------------------------------------------------------ settings and refusals */

static void
settings_are_those_of_the_first_dc_peer(void)
{
	const struct gantry_path path = {.mask = GANTRY_PATH_TIMEOUT | GANTRY_PATH_RETRIES |
						 GANTRY_PATH_RNR_RETRIES |
						 GANTRY_PATH_TRAFFIC_CLASS,
		.port = 1,
		.mtu = 512,
		.timeout = 9,
		.retries = 3,
		.rnr_retries = 2,
		.traffic_class = 0x20};
	struct gantry_peer_conf first = {.transport = GANTRY_TRANSPORT_DC,
		.depth = 20,
		.path = path};
	struct gantry_peer_conf conf = first, at = {.transport = GANTRY_TRANSPORT_DC_TARGET};
	struct gantry_queue *q = env_queue(g, 8);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct gantry_addr small, big, none;
	uint16_t a, b, peer = 77;

	/* A DC peer has no address, because nothing can connect to it. */
	memset(&none, 0xff, sizeof(none));
	CHECK_EQ(gantry_peer_open(q, &first, &a, &none), 0);
	for (b = 0; b < sizeof(none); b++)
		CHECK_EQ(none.bytes[b], 0);
	CHECK_EQ(ibv_query_qp(dci(q)->qp->qp, &attr, IBV_QP_STATE, &init), 0);
	CHECK_EQ(attr.qp_state, IBV_QPS_RTS);
	CHECK_EQ(attr.path_mtu, IBV_MTU_512);
	CHECK_EQ(attr.timeout, 9);
	CHECK_EQ(attr.retry_cnt, 3);
	CHECK_EQ(attr.rnr_retry, 2);
	CHECK_EQ(hwq_sq_n_bb(dci(q)->sq), 64);
	/* Opens peers with the same conf, with no conf, and with another traffic class. */
	CHECK_EQ(gantry_peer_open(q, &conf, &b, NULL), 0);
	CHECK_EQ(gantry_peer_close(q, b), 0);
	conf.path.traffic_class = 0x40;
	CHECK_EQ(gantry_peer_open(q, &conf, &b, NULL), 0);
#define REFUSED(field, value)                                                                      \
	do {                                                                                       \
		conf = first;                                                                      \
		conf.field = value;                                                                \
		CHECK_EQ(gantry_peer_open(q, &conf, &peer, NULL), -EINVAL);                        \
	} while (0)
	REFUSED(depth, 21);
	conf = first;
	conf.mask = GANTRY_PEER_MAX_INLINE;
	conf.max_inline = 9;
	CHECK_EQ(gantry_peer_open(q, &conf, &peer, NULL), -EINVAL);
	REFUSED(recv_depth, 1);
	REFUSED(path.port, 2);
	REFUSED(path.mask, path.mask | GANTRY_PATH_GID_INDEX);
	REFUSED(path.mtu, 1024);
	REFUSED(path.mtu, 1000);
	REFUSED(path.timeout, 8);
	REFUSED(path.retries, 5);
	REFUSED(path.rnr_retries, 5);
	REFUSED(transport, 3);
#undef REFUSED
	/* Targets have their own settings, but the MTU must be equal at both ends. */
	CHECK_EQ(gantry_peer_open(q, &at, &peer, &big), 0);
	at.path.mtu = 512;
	CHECK_EQ(gantry_peer_open(q, &at, &peer, &small), 0);
	at.depth = 1;
	CHECK_EQ(gantry_peer_open(q, &at, &peer, &small), -EINVAL);
	at.depth = 0;
	at.mask = GANTRY_PEER_MAX_INLINE;
	at.max_inline = 1;
	CHECK_EQ(gantry_peer_open(q, &at, &peer, &small), -EINVAL);
	CHECK_EQ(gantry_peer_connect(q, a, &big), -EINVAL);
	CHECK_EQ(gantry_peer_connect(q, a, &small), 0);
	CHECK_EQ(gantry_peer_connect(q, b, &small), 0);
	CHECK(carries(q, a) && carries(q, b));
	/*
	 * Byte 5 of the second half of the address vector must be what ibv_create_ah(3) of libmlx5
	 * writes.
	 */
	CHECK_EQ(((const struct mlx5_wqe_av *)(const void *)q->peer_more[a].dc)->tclass, 0x20);
	CHECK_EQ(((const struct mlx5_wqe_av *)(const void *)q->peer_more[b].dc)->tclass, 0x40);
	env_queue_done(q);
}

static void
a_device_without_dc_is_told(void)
{
	const struct gantry_peer_conf at = {.transport = GANTRY_TRANSPORT_DC_TARGET,
		.recv_depth = 4};
	static const char *const lines[] = {"refuse call=create_qp errno=95",
		"refuse call=create_cq errno=12", "refuse call=modify_qp errno=12",
		"refuse call=modify_qp errno=12 op=2"};
	struct gantry_queue *q = env_queue(g, 8);
	struct gantry_addr addr;
	uint16_t peer = 77;
	uint32_t i;

	for (i = 0; i < RTE_DIM(lines); i++) {
		int want = i == 0 ? -EOPNOTSUPP : -ENOMEM;

		arm(lines[i]);
		CHECK_EQ(gantry_peer_open(q, &dc, &peer, NULL), want);
		CHECK_EQ(softhca_faults_left(), 0);
		arm(lines[i]);
		CHECK_EQ(gantry_peer_open(q, &at, &peer, &addr), want);
		CHECK_EQ(softhca_faults_left(), 0);
		CHECK_EQ(peer, 77);
	}
	arm("refuse call=create_srq errno=12");
	CHECK_EQ(gantry_peer_open(q, &at, &peer, &addr), -ENOMEM);
	/*
	 * The device refuses to create an object, and then to destroy the objects that were created
	 * before. The next call destroys them first.
	 */
	arm("refuse call=create_qp errno=12");
	arm("refuse call=destroy_cq errno=16");
	CHECK_EQ(gantry_peer_open(q, &at, &peer, &addr), -ENOMEM);
	CHECK_EQ(softhca_faults_left(), 0);
	CHECK_EQ(gantry_peer_open(q, &at, &peer, &addr), 0);
	arm("refuse call=create_qp errno=12");
	arm("refuse call=destroy_cq errno=16");
	CHECK_EQ(gantry_peer_open(q, &dc, &peer, NULL), -ENOMEM);
	CHECK_EQ(softhca_faults_left(), 0);
	CHECK_EQ(gantry_peer_open(q, &dc, &peer, NULL), 0);
	arm("refuse call=create_ah errno=12");
	CHECK_EQ(gantry_peer_connect(q, peer, &addr), -ENOMEM);
	CHECK_EQ(gantry_peer_connect(q, peer, &addr), 0);
	CHECK(carries(q, peer));
	arm("refuse call=destroy_ah errno=16");
	CHECK_EQ(gantry_peer_close(q, peer), -EBUSY);
	CHECK_EQ(env_do_one(q, good_write(0, peer)), GANTRY_BAD_PEER);
	CHECK_EQ(gantry_peer_connect(q, peer, &addr), -EINVAL);
	CHECK_EQ(gantry_peer_close(q, peer), 0);
	peer = peer_to(q, &addr);
	CHECK(carries(q, peer));
	arm("refuse call=destroy_ah errno=16");
	CHECK_EQ(gantry_queue_destroy(q), -EBUSY);
	env_queue_done(q);
}

/* ------------------------------------------------------------------ many */

/*
 * Returns the data memory that the process has mapped (VmData of proc(5)), and the allocated bytes
 * of EAL's heap.
 */
static uint64_t
data_bytes(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	struct rte_malloc_socket_stats heap;
	unsigned long kib = 0;
	char line[200];

	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "VmData: %lu", &kib) == 1)
			break;
	fclose(f);
	CHECK(kib != 0);
	CHECK_EQ(rte_malloc_get_socket_stats(0, &heap), 0);
	return (uint64_t)kib * 1024 + heap.heap_allocsz_bytes;
}

/* 64 peers on one initiator: the targets belong to four queues of two engines. */
static void
an_initiator_reaches_many_targets(void)
{
	const struct gantry_queue_conf conf = {.depth = 1024, .max_peers = 2048};
	struct gantry_desc desc[N_PEERS * 4];
	struct gantry_comp comp[N_PEERS * 4];
	struct gantry_queue *q, *t[4];
	struct gantry_addr addr[N_PEERS];
	uint16_t peer[N_PEERS], many[1900];
	struct gantry_mem *mem;
	struct gantry *other;
	uint64_t before;
	uint32_t i, key[2];

	CHECK_EQ(gantry_create(NULL, &other), 0);
	CHECK_EQ(gantry_mem_register(other, dst, ARENA_LEN, GANTRY_MEM_REMOTE_WRITE, &mem), 0);
	key[0] = gantry_mem_remote_key(dst_mem);
	key[1] = gantry_mem_remote_key(mem);
	for (i = 0; i < 4; i++)
		t[i] = env_queue(i % 2 == 0 ? g : other, 8);
	CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
	for (i = 0; i < N_PEERS; i++) {
		target(t[i % 4], 0, &addr[i]);
		peer[i] = peer_to(q, &addr[i]);
	}
	memset(dst, 0x11, sizeof(desc));
	env_fill(src, ARENA_LEN, 5);
	for (i = 0; i < RTE_DIM(desc); i++) {
		uint32_t k = i * 37 % N_PEERS;

		desc[i] = WITH(good_write(i, peer[k]), remote_key, key[k % 2]);
	}
	submit_all(q, desc, comp, RTE_DIM(desc));
	for (i = 0; i < RTE_DIM(desc); i++)
		CHECK(comp[i].status == GANTRY_OK && is_moved(i));
	/*
	 * The device of this peer does not know a key of the other engine's memory, so this write
	 * fails. The other peers still work.
	 */
	CHECK_EQ(env_do_one(q, WITH(good_write(0, peer[1]), remote_key, key[0])),
		GANTRY_REMOTE_ACCESS);
	CHECK(carries(q, peer[0]));

	malloc_trim(0);
	before = data_bytes();
	for (i = 0; i < RTE_DIM(many); i++)
		many[i] = peer_to(q, &addr[i % 2 * 4]);
	printf("a DC peer: %u bytes\n", (unsigned int)((data_bytes() - before) / RTE_DIM(many)));
	if (!UNDER_SANITIZER)
		CHECK(data_bytes() - before <= RTE_DIM(many) * 1024);
	CHECK(carries(q, many[RTE_DIM(many) - 1]));
	for (i = 0; i < RTE_DIM(many); i += 100)
		CHECK_EQ(gantry_peer_close(q, many[i]), 0);
	env_queue_done(q);
	for (i = 0; i < 4; i++)
		env_queue_done(t[i]);
	CHECK_EQ(gantry_mem_unregister(mem, CHECK_PATIENCE_MS), 0);
	CHECK_EQ(gantry_destroy(other), 0);
}

/*
 * A peer must be busy while a descriptor to it is in flight, whatever descriptors to other peers of
 * the initiator do.
 */
static void
one_peer_is_closed_while_others_run(void)
{
	const struct gantry_queue_conf confs[2] = {{.depth = 64}, {.depth = 64, .unordered = true}};
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	struct gantry_queue *q;
	struct gantry_addr addr;
	uint16_t a, b, c;
	uint32_t k;

	for (k = 0; k < 2; k++) {
		CHECK_EQ(gantry_queue_create(g, &confs[k], &q), 0);
		target(q, 0, &addr);
		a = peer_to(q, &addr);
		b = peer_to(q, &addr);
		c = peer_to(q, &addr);
		memset(dst, 0x11, 256);
		arm("late ms=100");
		desc[0] = good_write(0, a);
		desc[1] = WITH(good_write(1, b), flags, GANTRY_DESC_FENCE);
		CHECK_EQ(gantry_submit(q, desc, 2), 2);
		CHECK_EQ(gantry_peer_close(q, a), -EBUSY);
		CHECK_EQ(gantry_peer_close(q, b), -EBUSY);
		CHECK_EQ(gantry_peer_close(q, c), 0);
		env_collect(q, comp, 2);
		CHECK(comp[0].status == GANTRY_OK && comp[1].status == GANTRY_OK);
		CHECK(is_moved(0) && is_moved(1));
		CHECK_EQ(gantry_peer_close(q, a), 0);
		CHECK(carries(q, b));
		CHECK_EQ(env_do_one(q, good_write(0, a)), GANTRY_BAD_PEER);
		/* A descriptor to a peer that is not connected does not make another peer busy. */
		CHECK_EQ(gantry_peer_open(q, &dc, &a, NULL), 0);
		arm("late ms=50");
		desc[0] = env_copy(src, dst, 64);
		desc[1] = WITH(good_write(1, a), flags, GANTRY_DESC_FENCE);
		CHECK_EQ(gantry_submit(q, desc, 2), 2);
		CHECK_EQ(gantry_peer_close(q, a), -EBUSY);
		env_collect(q, comp, 2);
		CHECK_EQ(comp[1].status, GANTRY_BAD_PEER);
		CHECK_EQ(gantry_peer_close(q, a), 0);
		env_queue_done(q);
	}
}

/*
 * A peer must be busy until the completion of its descriptor is polled, not only while the
 * descriptor runs.
 */
static void
each_operation_keeps_its_own_peer_alone(void)
{
	const struct gantry_recv r = recv_at(1, dst + 4096, 4096);
	uint64_t *word = (uint64_t *)(void *)dst;
	/* A NOP WQE of 16 bytes: its control segment as in the PRM, with opcode and DS. */
	static const uint8_t nop[16] = {[7] = 1};
	struct gantry_queue *q, *t = env_queue(g, 8);
	uint16_t at, busy, idle, id = 0;
	struct gantry_addr addr;
	uint32_t k, i;

	at = target(t, 64, &addr);
	if (!env_lacks(g, ENV_LAYOUTS))
		id = layout(false);
	for (k = 0; k < 2; k++) {
		const struct gantry_queue_conf conf = {.depth = 64, .unordered = k == 1};

		CHECK_EQ(gantry_queue_create(g, &conf, &q), 0);
		idle = peer_to(q, &addr);
		busy = peer_to(q, &addr);
		const struct gantry_desc desc[] = {
			good_write(0, busy),
			op_to(GANTRY_OP_WRITE, busy, src, dst, 8000),
			WITH(op_to(GANTRY_OP_WRITE, busy, src, dst, 8000), layout, id),
			op_to(GANTRY_OP_READ, busy, src, dst, 8000),
			WITH(op_to(GANTRY_OP_READ, busy, src, dst, 8000), layout, id),
			message(GANTRY_OP_WRITE_IMM, busy, 64, 7),
			message(GANTRY_OP_SEND, busy, 0, 0),
			message(GANTRY_OP_SEND, busy, 64, 0),
			message(GANTRY_OP_SEND, busy, 4000, 0),
			message(GANTRY_OP_SEND_IMM, busy, 64, 7),
			op_to(GANTRY_OP_COMPARE_SWAP, busy, NULL, word, 8),
			op_to(GANTRY_OP_FETCH_ADD, busy, NULL, word, 8),
			{.op = GANTRY_OP_RAW,
				.peer = busy,
				.src = (uintptr_t)nop,
				.len = sizeof(nop)},
			/*
			 * This descriptor fails, so it must be the last one: the target has no such
			 * key.
			 */
			message(GANTRY_OP_SEND_INV, busy, 64, 0xffffff00),
		};

		for (i = 0; i < RTE_DIM(desc); i++) {
			struct gantry_recv_comp got;
			struct gantry_comp comp;

			CHECK_EQ(gantry_recv_post(t, at, &r, 1), 1);
			CHECK_EQ(gantry_submit(q, &desc[i], 1), 1);
			CHECK_EQ(gantry_peer_close(q, busy), -EBUSY);
			CHECK_EQ(gantry_peer_close(q, idle), 0);
			idle = peer_to(q, &addr);
			while (q->outstanding != 0)
				CHECK_EQ(env_poll(q, NULL, 0), 0);
			CHECK_EQ(gantry_peer_close(q, busy), -EBUSY);
			env_collect(q, &comp, 1);
			CHECK_EQ(comp.status,
				desc[i].op == GANTRY_OP_SEND_INV ? GANTRY_REMOTE_ERROR : GANTRY_OK);
			while (gantry_recv_poll(t, &got, 1) != 0)
				;
		}
		CHECK_EQ(gantry_peer_close(q, busy), 0);
		env_queue_done(q);
	}
	if (id != 0)
		CHECK_EQ(gantry_layout_destroy(g, id), 0);
	CHECK_EQ(gantry_peer_close(t, at), 0);
	while (gantry_recv_poll(t, &(struct gantry_recv_comp){0}, 1) != 0)
		;
	env_queue_done(t);
}

/* Writes through a worker to one DC peer, until the test stops the worker. */
struct load {
	struct gantry_worker *w;
	uint16_t peer;
	atomic_bool stop;
	uint64_t n_done;
};

static void *
load_main(void *arg)
{
	struct load *load = arg;
	struct gantry_comp comp[32];
	uint64_t next = 0;
	unsigned int i, n;

	while (!atomic_load(&load->stop) || load->n_done != next) {
		if (!atomic_load(&load->stop) && next - load->n_done < 32) {
			struct gantry_desc d = WITH(good_write(1, load->peer), cookie, next);

			next += gantry_enqueue_burst(load->w, &d, 1);
		}
		n = env_dequeue(load->w, comp, 32);
		for (i = 0; i < n; i++) {
			CHECK_EQ(comp[i].cookie, load->n_done++);
			CHECK_EQ(comp[i].status, GANTRY_OK);
		}
	}
	return NULL;
}

static void
dc_peers_come_and_go_while_a_worker_runs(void)
{
	struct gantry_queue *t = env_queue(g, 8), *q;
	struct gantry_worker *w;
	struct load load = {0};
	struct gantry_addr addr, rc;
	pthread_t thread;
	uint16_t peer, at;
	unsigned int i;
	int ret;

	CHECK_EQ(gantry_worker_create(g, 1, NULL, &w), 0);
	CHECK_EQ(gantry_worker_start(w), 0);
	q = gantry_worker_queue(w);
	target(t, 0, &addr);
	load.w = w;
	load.peer = peer_to(q, &addr);
	CHECK_EQ(pthread_create(&thread, NULL, load_main, &load), 0);
	for (i = 0; i < 30; i++) {
		at = target(q, 4, &rc);
		peer = peer_to(q, i % 2 ? &rc : &addr);
		do
			ret = gantry_peer_close(q, peer);
		while (ret == -EBUSY);
		CHECK_EQ(ret, 0);
		CHECK_EQ(gantry_peer_close(q, at), 0);
	}
	atomic_store(&load.stop, true);
	pthread_join(thread, NULL);
	CHECK(load.n_done > 0 && is_moved(1));
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	env_queue_done(t);
}

/*
 * The initiator's stream is full of descriptors to one peer, and the worker defers a descriptor to
 * another peer. This other peer cannot be closed yet. The test's thread carries out the turns.
 */
static void
a_peer_with_a_deferred_descriptor_is_not_closed(void)
{
	const struct gantry_peer_conf short_dc = {.transport = GANTRY_TRANSPORT_DC, .depth = 2};
	const struct gantry_worker_conf conf = {.queue = {.depth = 16, .unordered = true},
		.ring_size = 64};
	struct gantry_queue *q, *t = env_queue(g, 16);
	struct gantry_desc desc[3];
	struct gantry_comp comp[3];
	struct gantry_addr addr;
	struct gantry_worker *w;
	uint64_t end = env_patience();
	uint16_t at, peer[2];
	unsigned int i, n = 0;

	CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), 0);
	q = gantry_worker_queue(w);
	at = target(t, 0, &addr);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(gantry_peer_open(q, &short_dc, &peer[i], NULL), 0);
		CHECK_EQ(gantry_peer_connect(q, peer[i], &addr), 0);
	}
	for (i = 0; i < 3; i++)
		desc[i] = good_write(i, peer[i / 2]);
	CHECK_EQ(gantry_enqueue_burst(w, desc, 3), 3);
	gantry_worker_turn(w, false);
	CHECK_EQ(w->defer->n, 1);
	CHECK_EQ(gantry_peer_close(q, peer[1]), -EBUSY);
	while (n < 3) {
		env_pump();
		gantry_worker_turn(w, false);
		n += gantry_dequeue_burst(w, comp + n, 3 - n);
		CHECK(rte_get_timer_cycles() < end);
	}
	for (i = 0; i < 3; i++)
		CHECK_EQ(comp[i].status, GANTRY_OK);
	CHECK_EQ(gantry_peer_close(q, peer[1]), 0);
	CHECK_EQ(gantry_peer_close(q, peer[0]), 0);
	CHECK_EQ(gantry_peer_close(t, at), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	env_queue_done(t);
}

/*
 * A descriptor that names a DC target fails in the own connection's stream, in which copies run. So
 * a worker whose stream is full must keep both in one order.
 */
static void
a_worker_keeps_the_order_of_copies_and_of_descriptors_that_name_a_target(void)
{
	const struct gantry_worker_conf conf = {
		.queue = {.depth = 16, .unordered = true},
		.ring_size = 256,
		.burst = 64,
	};
	struct gantry_desc desc[192];
	struct gantry_comp comp[192];
	struct gantry_addr addr;
	struct gantry_worker *w;
	uint64_t end = env_patience();
	uint16_t t;
	uint32_t i;

	CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), 0);
	t = target(gantry_worker_queue(w), 0, &addr);
	for (i = 0; i < RTE_DIM(desc); i++) {
		desc[i] = i / 3 % 2 == 0 ? env_copy(src, dst, 64) : good_write(0, t);
		desc[i].cookie = i;
	}
	/* The worker takes bursts that are longer than the stream. */
	CHECK_EQ(gantry_enqueue_burst(w, desc, RTE_DIM(desc)), RTE_DIM(desc));
	CHECK_EQ(gantry_worker_start(w), 0);
	for (i = 0; i < RTE_DIM(comp);) {
		i += env_dequeue(w, comp + i, RTE_DIM(comp) - i);
		CHECK(rte_get_timer_cycles() < end);
	}
	for (i = 0; i < RTE_DIM(comp); i++) {
		CHECK_EQ(comp[i].cookie, i);
		CHECK_EQ(comp[i].status, i / 3 % 2 == 0 ? GANTRY_OK : GANTRY_BAD_PEER);
	}
	CHECK_EQ(gantry_worker_stop(w), 0);
	CHECK_EQ(gantry_peer_close(gantry_worker_queue(w), t), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
}

/*
 * A worker defers a descriptor to a peer that is not connected. The peer is connected before the
 * descriptor is submitted. The descriptor still fails. Otherwise it would be carried out after a
 * later descriptor to the same peer. The test's thread carries out the turns.
 */
static void
a_deferred_descriptor_to_a_peer_that_is_not_connected_fails(void)
{
	const struct gantry_worker_conf conf = {.queue = {.depth = 2, .unordered = true},
		.ring_size = 64};
	struct gantry_queue *q, *t = env_queue(g, 16);
	struct gantry_desc desc[5];
	struct gantry_comp comp[5];
	struct gantry_addr addr;
	struct gantry_worker *w;
	uint64_t end = env_patience();
	uint16_t peer;
	unsigned int i, n = 0;

	CHECK_EQ(gantry_worker_create(g, 1, &conf, &w), 0);
	q = gantry_worker_queue(w);
	target(t, 0, &addr);
	CHECK_EQ(gantry_peer_open(q, &dc, &peer, NULL), 0);
	for (i = 0; i < 5; i++)
		desc[i] = i < 3 ? WITH(env_copy(src, dst, 64), cookie, i) : good_write(i, peer);
	CHECK_EQ(gantry_enqueue_burst(w, desc, 4), 4);
	gantry_worker_turn(w, false);
	CHECK_EQ(w->defer->n, 2);
	CHECK_EQ(gantry_peer_connect(q, peer, &addr), 0);
	CHECK_EQ(gantry_enqueue_burst(w, &desc[4], 1), 1);
	while (n < 5) {
		gantry_worker_turn(w, false);
		n += gantry_dequeue_burst(w, comp + n, 5 - n);
		env_pump();
		CHECK(rte_get_timer_cycles() < end);
	}
	for (i = 0; i < 5; i++)
		CHECK_EQ(comp[i].status, comp[i].cookie == 3 ? GANTRY_BAD_PEER : GANTRY_OK);
	CHECK_EQ(gantry_peer_close(q, peer), 0);
	CHECK_EQ(gantry_worker_destroy(w), 0);
	env_queue_done(t);
}

static const struct check_case cases[] = {
	{"an address of a target with any flipped bit is refused",
		an_address_of_a_target_with_any_flipped_bit_is_refused},
	{"data go both ways", data_go_both_ways},
	{"short messages are inline", short_messages_travel_in_the_wqe},
	{"messages arrive at the target", messages_arrive_at_the_target},
	{"atomics return the old value", atomics_return_the_old_value},
	{"a raw WQE gets the peer's address", a_raw_wqe_gets_the_peers_address},
	{"a long operation is split", a_long_operation_is_split},
	{"a fence orders the initiator and copies", a_fence_orders_the_initiator_and_copies},
	{"waiting descriptors are cancelled", what_waits_is_cancelled},
	{"an unordered queue has one stream for its DC peers",
		an_unordered_queue_has_one_stream_for_its_dc_peers},
	{"a layout is gathered and scattered", a_layout_is_gathered_and_scattered},
	{"if a layout fails, its descriptor fails", a_layout_that_fails_is_its_descriptors_failure},
	{"a key that was given up is not laid out again",
		a_key_that_was_given_up_is_not_laid_out_again},
	{"a failure of one peer flushes the other peers, and then all peers work",
		one_peers_failure_flushes_the_others_and_all_go_on},
	{"a closed target is not reached", a_target_that_is_gone_is_not_reached},
	{"a refused repair is tried again", a_repair_that_is_refused_is_tried_again},
	{"a drained initiator is set up again", an_initiator_that_is_drained_is_set_up_again},
	{"when the initiator is lost, everything else continues",
		when_the_initiator_is_lost_all_else_goes_on},
	{"when the own connection is lost, layouts are lost too",
		when_the_own_connection_is_lost_layouts_are_too},
	{"events of the initiator end in a repair", events_of_the_initiator_end_in_a_repair},
	{"a stuck initiator is given up and set up again",
		a_stuck_initiator_is_given_up_and_set_up_again},
	{"many initiators share a target", many_initiators_share_a_target},
	{"a closed target gives its receives back", a_target_gives_its_receives_back},
	{"a closed target completes receives of messages that have arrived",
		a_closed_target_gives_messages_that_have_arrived},
	{"a removal waits for receives that were posted before it",
		a_removal_waits_for_receives_posted_before},
	{"a removal waits for receives and for a repair",
		a_removal_waits_for_receives_and_for_a_repair},
	{"settings are those of the first DC peer", settings_are_those_of_the_first_dc_peer},
	{"a device without DC is reported", a_device_without_dc_is_told},
	{"an initiator reaches many targets", an_initiator_reaches_many_targets},
	{"one peer is closed while others run", one_peer_is_closed_while_others_run},
	{"each operation keeps only its own peer busy", each_operation_keeps_its_own_peer_alone},
	{"a peer with a deferred descriptor is not closed",
		a_peer_with_a_deferred_descriptor_is_not_closed},
	{"a worker keeps the order of copies and of descriptors that name a target",
		a_worker_keeps_the_order_of_copies_and_of_descriptors_that_name_a_target},
	{"a deferred descriptor to a peer that is not connected fails",
		a_deferred_descriptor_to_a_peer_that_is_not_connected_fails},
	{"DC peers are opened and closed while a worker runs",
		dc_peers_come_and_go_while_a_worker_runs},
	{"every descriptor completes when the device is lost",
		everything_comes_back_when_the_device_is_lost},
};

int
main(int argc, char **argv)
{
	env_init(1);
	arena_create(NULL);
	env_need(g, ENV_DC);
	rte_log_set_level(gantry_logtype, RTE_LOG_EMERG);
	return arena_run(cases, RTE_DIM(cases), argc, argv);
}
