/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The send queue's ring, compared with a model that counts in 64 bits and lists the WQEs in flight:
 * free WQEBBs, fills (NOPs up to the ring's end), a full ring at every index, completion,
 * doorbells.
 */
#include <stdlib.h>

#include "check.h"

#include "hwq_burst.h"
#include "hwq_db.h"
#include "hwq_sq_save.h"
#include "hwq_wqe.h"

#define QPN    0xabcdef
#define MAX_BB 64
#define START  65530

static uint8_t ring[MAX_BB * 64] __attribute__((aligned(64)));
static uint8_t seen[MAX_BB * 64];
static uint8_t reg[1024] __attribute__((aligned(64)));
static __be32 dbrec[2], cq_dbrec[2];
static struct hwq_bf bf;
static struct hwq_cq cq;
static struct hwq_sq sq;

static void
start(uint32_t n_bb, uint16_t index)
{
	memset(ring, 0xa5, sizeof(ring));
	memset(reg, 0, sizeof(reg));
	memset(&cq, 0, sizeof(cq));
	cq.dbrec = cq_dbrec;
	bf = (struct hwq_bf){.reg = reg, .toggle = 256, .max_ds = 16};
	hwq_sq_init(&sq, ring, n_bb, QPN, dbrec, &bf, &cq);
	sq.max_inline = 200;
	hwq_sq_start_at(&sq, index);
}

/* ------------------------------------------------------------------ the model */

struct model {
	uint64_t n, pi, ci;
	/* WQEs number head to tail - 1 are in flight; their indexes in wqe are modulo its length */
	unsigned int head, tail;
	struct {
		uint64_t at;
		unsigned int bb;
		bool fill;
	} wqe[2 * MAX_BB];
};

static void
model_put(struct model *m, unsigned int bb, bool fill)
{
	m->wqe[m->tail % (2 * MAX_BB)].at = m->pi;
	m->wqe[m->tail % (2 * MAX_BB)].bb = bb;
	m->wqe[m->tail++ % (2 * MAX_BB)].fill = fill;
	m->pi += bb;
}

/*
 * Takes contiguous room of bb WQEBBs, with the fill before it. Returns true if there is such room.
 */
static bool
model_take(struct model *m, unsigned int bb)
{
	uint64_t left = m->n - m->pi % m->n;
	uint64_t fill = bb > left ? left : 0;

	if (m->pi - m->ci + fill + bb > m->n)
		return false;
	if (fill != 0)
		model_put(m, (unsigned int)fill, true);
	model_put(m, bb, false);
	return true;
}

/* Completes all WQEs up to the i-th in flight, which must not be a fill. Returns its index. */
static uint16_t
model_complete(struct model *m, unsigned int i)
{
	uint64_t at;

	m->head += i;
	at = m->wqe[m->head % (2 * MAX_BB)].at;
	m->ci = at + m->wqe[m->head % (2 * MAX_BB)].bb;
	m->head++;
	return (uint16_t)at;
}

/* ------------------------------------------------------------------ cases */

/* Checks a fill: opcode 0, no CE bit, and a DS that covers the ring up to its end. */
static void
check_fill(uint64_t at, unsigned int bb)
{
	uint8_t want[16] = {0, (uint8_t)(at >> 8), (uint8_t)at, 0, 0xab, 0xcd, 0xef,
		(uint8_t)(bb * 4)};

	check_bytes(hwq_sq_at(&sq, (uint16_t)at), want, sizeof(want), "fill");
}

static void
take_both(struct model *m, unsigned int bb)
{
	uint64_t old_pi = m->pi;
	uint8_t *at;
	bool room;

	memcpy(seen, ring, sizeof(ring));
	room = model_take(m, bb);
	at = hwq_sq_reserve(&sq, bb);
	CHECK(room == (at != NULL), "%u WQEBBs at %llu of %llu: model says %d", bb,
		(unsigned long long)old_pi, (unsigned long long)m->n, room);
	if (at == NULL) {
		CHECK(memcmp(seen, ring, sizeof(ring)) == 0, "a full ring was written");
		CHECK_EQ(sq.pi, (uint16_t)m->pi, "producer index of a full ring");
		return;
	}
	CHECK(at == ring + (m->pi - bb) % m->n * 64, "place of the WQE");
	CHECK(at + bb * 64 <= ring + m->n * 64, "WQE beyond the ring's end");
	if (m->pi - bb != old_pi)
		check_fill(old_pi, (unsigned int)(m->pi - bb - old_pi));
	/*
	 * hwq_sq_complete() reads DS from the control segment, so the test writes a control segment
	 * here.
	 */
	memset(at, 0x11, bb * 64);
	((struct mlx5_wqe_ctrl_seg *)at)->qpn_ds =
		htobe32((uint32_t)QPN << 8 | (bb < 16 ? bb * 4 : 63));
	hwq_sq_commit(&sq, bb);
	CHECK_EQ(sq.last, (uint16_t)(m->pi - bb), "where the last WQE starts");
}

static void
random_against_model(uint64_t seed)
{
	uint64_t rnd = seed, op;
	uint32_t log_n;

	for (log_n = 1; log_n <= 6; log_n++) {
		struct model m = {.n = 1ull << log_n, .pi = START, .ci = START};
		unsigned int max_bb = m.n / 2 < 16 ? (unsigned int)m.n / 2 : 16;

		start(1u << log_n, START);
		for (op = 0; op < 200000; op++) {
			unsigned int in_flight = m.tail - m.head, i;

			if (check_random(&rnd) % 3 != 0 || in_flight == 0) {
				take_both(&m, 1 + (unsigned int)(check_random(&rnd) % max_bb));
			} else {
				i = (unsigned int)(check_random(&rnd) % in_flight);
				while (m.wqe[(m.head + i) % (2 * MAX_BB)].fill)
					i++;
				hwq_sq_complete(&sq, model_complete(&m, i));
			}
			CHECK_EQ(hwq_sq_used_bb(&sq), m.pi - m.ci, "used");
			CHECK_EQ(hwq_sq_free_bb(&sq), m.n - (m.pi - m.ci), "free");
			CHECK_EQ(sq.pi, (uint16_t)m.pi, "producer index");
			CHECK_EQ(hwq_sq_ci(&sq), (uint16_t)m.ci, "consumer index");
		}
	}
}

/*
 * From every start, with WQEs of every size: counts how many WQEs the ring accepts before it is
 * full, and checks that it accepts no more.
 */
static void
full_at_every_position(void)
{
	uint32_t n, at, w, taken;

	for (n = 2; n <= 32; n *= 2) {
		for (at = 0; at < 2 * n; at++) {
			for (w = 1; w <= n / 2 && w <= 16; w++) {
				uint16_t index = (uint16_t)(START + at);
				uint32_t left = n - index % n;
				/*
				 * Whole WQEs up to the end; then the fill; then whole WQEs from the
				 * start of the ring.
				 */
				uint32_t fill = left % w;
				uint32_t want = left / w;

				if (n - left >= w)
					want += (n - left) / w;
				start(n, index);
				for (taken = 0; hwq_sq_reserve(&sq, w) != NULL; taken++)
					hwq_sq_commit(&sq, w);
				CHECK(taken == want, "%u of %u WQEBBs from %u: %u taken, %u fit", w,
					n, index, taken, want);
				CHECK(taken * w + w - 1 + fill >= n - (w - 1),
					"the bound of hwq_sq.h");
				CHECK(taken * w + w > n - (w - 1), "the bound of hwq_sq.h");
			}
		}
	}
}

static void
drained_ring_always_takes_one(void)
{
	uint32_t n, at, w;

	for (n = 2; n <= 32; n *= 2) {
		for (at = 0; at < 2 * n; at++) {
			for (w = 1; w <= n / 2 && w <= 16; w++) {
				start(n, (uint16_t)(START + at));
				CHECK(hwq_sq_reserve(&sq, w) != NULL, "%u of %u at %u", w, n, at);
			}
		}
	}
}

static void
largest_ring(void)
{
	uint8_t *big = aligned_alloc(64, 32768u * 64);
	uint32_t i;

	if (big == NULL)
		return;
	start(2, 0);
	hwq_sq_init(&sq, big, 32768, QPN, dbrec, &bf, &cq);
	hwq_sq_start_at(&sq, START);
	for (i = 0; hwq_wqe_nop(&sq, 0) == 1; i++)
		;
	CHECK_EQ(i, 32768, "NOPs in the largest ring");
	CHECK_EQ(hwq_sq_used_bb(&sq), 32768, "used");
	CHECK_EQ(hwq_sq_free_bb(&sq), 0, "free");
	CHECK_EQ(hwq_sq_complete(&sq, (uint16_t)(START + 32767)), 32768,
		"one completion frees all WQEBBs");
	free(big);
}

static void
doorbell(void)
{
	static const uint8_t pattern[40] = "forty bytes of inline data for BlueFlame";
	uint64_t word;

	start(16, START);
	cq.ci = 3;
	hwq_sq_ring(&sq);
	CHECK_EQ(be32toh(dbrec[1]), 0, "doorbell record without work");
	CHECK_EQ(bf.offset, 0, "register half without work");

	CHECK_EQ(hwq_wqe_inline(&sq, MLX5_OPCODE_SEND, 0, 0, pattern, 40, HWQ_WQE_SIGNALED, 0), 1,
		"WQEBBs");
	hwq_sq_ring(&sq);
	CHECK_EQ(be32toh(dbrec[1]), START + 1, "doorbell record");
	CHECK_EQ(be32toh(cq_dbrec[0]), 3, "the doorbell publishes the CQ's consumer index");
	check_bytes(reg, hwq_sq_at(&sq, START), 64, "BlueFlame");
	CHECK_EQ(bf.offset, 256, "the other half is next");

	CHECK_EQ(hwq_wqe_inline(&sq, MLX5_OPCODE_SEND, 0, 0, pattern, 40, HWQ_WQE_SIGNALED, 0), 1,
		"WQEBBs");
	CHECK_EQ(hwq_wqe_rdma_write(&sq, 1, 2, 3, 4, 5, HWQ_WQE_SIGNALED), 1, "WQEBBs");
	hwq_sq_ring(&sq);
	check_bytes(reg + 256, hwq_sq_at(&sq, START + 2), 8,
		"doorbell: the last WQE's first 8 bytes");
	memcpy(&word, reg + 264, 8);
	CHECK_EQ(word, 0, "no BlueFlame for two WQEs");
	CHECK_EQ(bf.offset, 0, "the first half is next");

	memset(reg, 0, sizeof(reg));
	CHECK_EQ(hwq_wqe_nop(&sq, HWQ_WQE_SIGNALED), 1, "WQEBBs");
	hwq_sq_ring(&sq);
	memcpy(&word, reg + 8, 8);
	CHECK_EQ(word, 0, "no BlueFlame for one DS");
	CHECK_EQ(be32toh(dbrec[1]), START + 4, "doorbell record");

	bf.max_ds = 0;
	memset(reg, 0, sizeof(reg));
	CHECK_EQ(hwq_wqe_inline(&sq, MLX5_OPCODE_SEND, 0, 0, pattern, 40, HWQ_WQE_SIGNALED, 0), 1,
		"WQEBBs");
	hwq_sq_ring(&sq);
	memcpy(&word, reg + 256 + 8, 8);
	CHECK_EQ(word, 0, "no BlueFlame where it is off");
	CHECK_EQ(be32toh(dbrec[1]), START + 5, "doorbell record");
	CHECK_EQ(hwq_wqe_nop(&sq, HWQ_WQE_SIGNALED), 1, "WQEBBs");
	hwq_sq_ring(&sq);
	CHECK_EQ(be32toh(dbrec[1]), 0, "doorbell record: 65536 is 0");
}

/*
 * A fill and the WQE after it are two WQEs. BlueFlame sends only one WQE, so it must not be used.
 */
static void
fill_is_no_blueflame(void)
{
	static const uint8_t data[100];
	uint64_t word;

	start(16, 15);
	CHECK_EQ(hwq_wqe_inline(&sq, MLX5_OPCODE_SEND, 0, 0, data, 100, HWQ_WQE_SIGNALED, 0), 2,
		"WQEBBs");
	CHECK_EQ(hwq_sq_pending_bb(&sq), 3, "pending, with the fill");
	hwq_sq_ring(&sq);
	check_bytes(reg, ring, 8, "doorbell of the WQE, not of the fill");
	memcpy(&word, reg + 8, 8);
	CHECK_EQ(word, 0, "no BlueFlame");
	CHECK_EQ(be32toh(dbrec[1]), 18, "doorbell record counts the fill");
	CHECK_EQ(hwq_sq_complete(&sq, 16), 3, "freed, with the fill");
	CHECK_EQ(hwq_sq_free_bb(&sq), 16, "free");
}

/*
 * Posts a write and announces it. one: by hwq_burst_end_and_ring_one(); otherwise by hwq_sq_ring().
 */
static void
post_and_ring(unsigned int index, uint32_t max_ds, bool one)
{
	struct hwq_burst b;

	start(16, (uint16_t)index);
	bf.max_ds = max_ds;
	cq.ci = 7;
	if (!one) {
		CHECK_EQ(hwq_wqe_rdma_write(&sq, 1, 2, 3, 4, 5, HWQ_WQE_SIGNALED), 1, "WQEBBs");
		hwq_sq_ring(&sq);
		return;
	}
	CHECK_EQ(hwq_burst_start(&b, &sq, 1), 1, "room");
	hwq_burst_rdma_write(&b, 1, 2, 3, 4, 5, HWQ_WQE_SIGNALED);
	hwq_burst_end_and_ring_one(&b, 3);
	hwq_cq_publish(&cq);
}

/*
 * hwq_burst_end_and_ring_one(), for a burst of one WQE, must have the same effect as posting the
 * WQE and calling hwq_sq_ring(), with and without BlueFlame.
 */
static void
a_burst_of_one_is_announced_as_any(void)
{
	static uint8_t want_ring[sizeof(ring)], want_reg[sizeof(reg)];
	unsigned int index, max_ds;

	for (index = START; index < START + 32; index++) {
		for (max_ds = 0; max_ds <= 16; max_ds += 2) {
			struct hwq_sq want;
			__be32 want_dbrec;

			post_and_ring(index, max_ds, false);
			memcpy(want_ring, ring, sizeof(ring));
			memcpy(want_reg, reg, sizeof(reg));
			want = sq;
			want_dbrec = dbrec[1];
			dbrec[1] = cq_dbrec[0] = 0;
			post_and_ring(index, max_ds, true);
			check_bytes(ring, want_ring, sizeof(ring), "the ring");
			check_bytes(reg, want_reg, sizeof(reg), "the register");
			check_bytes((uint8_t *)&sq, (uint8_t *)&want, sizeof(sq), "the queue");
			CHECK_EQ(dbrec[1], want_dbrec, "doorbell record");
			CHECK_EQ(be32toh(cq_dbrec[0]), 7, "the CQ's consumer index");
			CHECK_EQ(bf.offset, 256, "the other half is next");
		}
	}
}

/* ------------------------------------------------------------------ several queues */

#define N_QUEUES   4
#define N_POSTINGS 5

/* Three queues share a doorbell register. One of the four queues has its own register. */
static struct {
	uint8_t ring[N_QUEUES][16 * 64] __attribute__((aligned(64)));
	uint8_t reg[2][1024] __attribute__((aligned(64)));
	__be32 dbrec[N_QUEUES][2];
	struct hwq_bf bf[2];
	struct hwq_sq sq[N_QUEUES];
} rig, other;

/* Posts one of several kinds of work, without a doorbell. */
static void
post_some(struct hwq_sq *to, unsigned int what)
{
	static const uint8_t data[100];

	if (what == 0 || what == 1)
		hwq_wqe_rdma_write(to, 1, 2, 3, 4, 5, 0);
	if (what == 1)
		hwq_wqe_rdma_write(to, 6, 7, 8, 9, 10, 0);
	if (what == 2)
		hwq_wqe_nop(to, 0); /* one DS */
	if (what == 3)
		hwq_wqe_inline(to, MLX5_OPCODE_SEND, 0, 0, data, 100, 0, 0); /* two WQEBBs */
	if (what == 4)
		hwq_wqe_inline(to, MLX5_OPCODE_SEND, 0, 0, data, 40, 0, 0); /* four DS */
}

/*
 * Posts the work that the digits of `what` select. Then rings all queues together (by_bells), or
 * each queue by hwq_sq_ring(). Returns the number of WQEBBs.
 */
static uint32_t
ring_them(unsigned int what, uint32_t max_ds, bool by_bells)
{
	struct hwq_bells bells = {.bf = NULL};
	uint32_t n_bb = 0;
	unsigned int i;

	memset(&rig, 0, sizeof(rig));
	for (i = 0; i < 2; i++)
		rig.bf[i] = (struct hwq_bf){.reg = rig.reg[i],
			.toggle = i == 0 ? 256 : 0,
			.max_ds = max_ds};
	for (i = 0; i < N_QUEUES; i++, what /= N_POSTINGS) {
		hwq_sq_init(&rig.sq[i], rig.ring[i], 16, QPN + i, rig.dbrec[i], &rig.bf[i == 2],
			&cq);
		hwq_sq_start_at(&rig.sq[i], (uint16_t)(START + i));
		rig.sq[i].max_inline = 200;
		post_some(&rig.sq[i], what % N_POSTINGS);
	}
	for (i = 0; i < N_QUEUES; i++) {
		if (by_bells) {
			n_bb += hwq_bells_signal_and_ring(&bells, &rig.sq[i]);
			continue;
		}
		n_bb += hwq_sq_pending_bb(&rig.sq[i]);
		hwq_sq_signal_last(&rig.sq[i]);
		hwq_sq_ring(&rig.sq[i]);
	}
	if (by_bells)
		hwq_bells_end(&bells);
	return n_bb;
}

/* Ringing all queues together must have the same effect as hwq_sq_ring() for each queue. */
static void
bells_ring_as_one_by_one(void)
{
	unsigned int what, max_ds;

	start(16, START);
	for (what = 0; what < N_POSTINGS * N_POSTINGS * N_POSTINGS * N_POSTINGS; what++) {
		for (max_ds = 0; max_ds <= 16; max_ds += 2) {
			uint32_t n_bb = ring_them(what, max_ds, false);

			memcpy(&other, &rig, sizeof(rig));
			CHECK_EQ(ring_them(what, max_ds, true), n_bb, "WQEBBs announced");
			check_bytes((uint8_t *)&rig, (uint8_t *)&other, sizeof(rig),
				"rings, registers, records");
		}
	}
}

/* ------------------------------------------------------------------ saved WQEs */

#define N_KINDS 5

/*
 * Builds a WQE of one to four WQEBBs; the kinds differ in operation, length and flags. Returns the
 * number of WQEBBs.
 */
static int
build(unsigned int kind)
{
	static uint8_t data[200];
	size_t i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + 1);
	switch (kind) {
	case 0:
		return hwq_wqe_memcpy(&sq, 0x1100, 0x2222, 0x3300, 0x4444, 555, HWQ_WQE_SIGNALED);
	case 1:
		return hwq_wqe_rdma_write(&sq, 0x6600, 0x7777, 0x8800, 0x9999, 1010, 0);
	case 2:
		return hwq_wqe_rdma_read(&sq, 0x1200, 0x1313, 0x1400, 0x1515, 16,
			HWQ_WQE_FENCE | HWQ_WQE_SIGNALED);
	case 3:
		return hwq_wqe_inline(&sq, MLX5_OPCODE_SEND, 0, 0, data, 100, HWQ_WQE_SOLICITED, 0);
	default:
		return hwq_wqe_inline(&sq, MLX5_OPCODE_RDMA_WRITE, 0x1600, 0x1717, data, 200, 0, 0);
	}
}

/*
 * For every pair of indices in a ring: a WQE is built at the first index and posted again at the
 * second. It must have the bytes of a WQE that is built at the second index. A fill precedes the
 * WQE if needed.
 */
static void
saved_is_as_built(void)
{
	static uint8_t image[HWQ_WQE_MAX_BB * HWQ_BB_LEN] __attribute__((aligned(64)));
	static uint8_t want[sizeof(ring)] __attribute__((aligned(64)));
	unsigned int kind, from, to;

	for (kind = 0; kind < N_KINDS; kind++) {
		for (from = START; from < START + 16; from++) {
			for (to = 0; to < 16; to++) {
				uint16_t index, pi;
				uint32_t n_bb;
				int n;

				start(16, (uint16_t)to);
				hwq_sq_set_memcpy(&sq, 0x1700, 0x1800, 1 << 20);
				n = build(kind);
				CHECK(n > 0);
				pi = sq.pi;
				memcpy(want, ring, sizeof(want));

				/*
				 * The WQE is built in a queue with another QPN and other scratch
				 * memory.
				 */
				start(16, (uint16_t)from);
				hwq_sq_set_memcpy(&sq, 0x1a00, 0x1b00, 1 << 20);
				sq.qpn_shifted = 0x1919 << 8;
				CHECK_EQ(build(kind), n);
				index = sq.last;
				CHECK(!hwq_sq_is_umr(&sq, index));
				CHECK_EQ(hwq_sq_bb_at(&sq, index), (uint32_t)n, "WQEBBs");
				n_bb = hwq_sq_save(&sq, index, image);
				CHECK_EQ(n_bb, (uint32_t)n, "WQEBBs saved");
				CHECK_EQ((uint16_t)(index + n_bb), sq.pi, "the index behind it");

				start(16, (uint16_t)to);
				hwq_sq_set_memcpy(&sq, 0x1700, 0x1800, 1 << 20);
				CHECK_EQ(hwq_sq_put_saved(&sq, image), (unsigned int)n, "WQEBBs");
				CHECK_EQ(sq.pi, pi, "index");
				CHECK_EQ(hwq_sq_bb_at(&sq, sq.last), (uint32_t)n, "WQEBBs again");
				/* A builder does not write the bytes after the last segment. */
				n = (ring[(sq.last % 16) * 64 + 7] & 63) * 16;
				check_bytes(hwq_sq_at(&sq, sq.last), want + (sq.last % 16) * 64,
					(size_t)n, "a WQE that is posted again");
				if (sq.last != to)
					check_bytes(hwq_sq_at(&sq, (uint16_t)to), want + to * 64,
						16, "the fill before it");
			}
		}
	}
}

static void
saved_finds_no_room(void)
{
	static uint8_t image[HWQ_WQE_MAX_BB * HWQ_BB_LEN] __attribute__((aligned(64)));
	static uint8_t before[sizeof(ring)];
	unsigned int used;

	start(16, START);
	CHECK_EQ(build(3), 2, "WQEBBs");
	CHECK_EQ(hwq_sq_save(&sq, sq.last, image), 2, "WQEBBs saved");
	for (used = 0; used <= 16; used++) {
		bool room = used <= 14;

		start(16, 32);
		sq.pi = (uint16_t)(sq.pi + used);
		memcpy(before, ring, sizeof(before));
		CHECK_EQ(hwq_sq_put_saved(&sq, image), room ? 2u : 0u, "WQEBBs");
		if (!room) {
			CHECK_EQ(sq.pi, 32 + used, "index");
			check_bytes(ring, before, sizeof(ring), "a full ring");
		}
	}
}

/* Only the last of three WQEs is signalled, and its CQE must free all three. */
static void
the_last_completes_all(void)
{
	start(16, 65530);
	for (unsigned int i = 0; i < 3; i++) {
		CHECK(hwq_sq_reserve(&sq, 2) != NULL, "room");
		hwq_sq_commit(&sq, 2);
	}
	CHECK(!hwq_sq_complete_last(&sq, 65532) && !hwq_sq_complete_last(&sq, 0), "others");
	CHECK_EQ(hwq_sq_free_bb(&sq), 10, "nothing was freed");
	CHECK(hwq_sq_complete_last(&sq, 65534), "the last");
	CHECK_EQ(hwq_sq_free_bb(&sq), 16, "all is free");
	CHECK_EQ(hwq_sq_ci(&sq), 0, "the first index that is not complete");
}

int
main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;

	printf("seed %llu\n", (unsigned long long)seed);
	RUN("random reserve, commit, complete agree with a model", random_against_model(seed));
	RUN("the ring is full exactly when it must be, at every position and size",
		full_at_every_position());
	RUN("an empty ring takes one more WQE of half its size", drained_ring_always_takes_one());
	RUN("a ring with 32768 used WQEBBs is not taken for an empty one", largest_ring());
	RUN("doorbell record, doorbell and BlueFlame", doorbell());
	RUN("a fill and its WQE go out by doorbell", fill_is_no_blueflame());
	RUN("a burst of one WQE is announced like any burst", a_burst_of_one_is_announced_as_any());
	RUN("bells of several queues have the effect of separate doorbells",
		bells_ring_as_one_by_one());
	RUN("a saved WQE, posted again, has the bytes of a new WQE at that place",
		saved_is_as_built());
	RUN("the last WQE completes all, and no other does", the_last_completes_all());
	RUN("a saved WQE without room is not posted", saved_finds_no_room());
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
