/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulated adapter's queues with WQEs that the test itself writes: every operation, strict
 * checks of WQEs and doorbells, BlueFlame, CQs, errors and flushes.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "check.h"
#include "cq.h"
#include "devices.h"
#include "key.h"
#include "softhca.h"
#include "softhca_rig.h"

#define ALWAYS MLX5_WQE_CTRL_CQ_UPDATE

static void
fill(uint8_t *p, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(seed + i * 7 + i / 251);
}

static void
expect_req(const struct mlx5_cqe64 *cqe, const struct rig_end *e, uint8_t opcode, uint16_t idx)
{
	CHECK(cqe != NULL, "no completion");
	if (cqe == NULL)
		return;
	CHECK_EQ(cqe->op_own >> 4, MLX5_CQE_REQ, "CQE opcode");
	CHECK_EQ(be32toh(cqe->sop_drop_qpn), (uint32_t)opcode << 24 | e->qpn, "sop_drop_qpn");
	CHECK_EQ(be32toh(cqe->srqn_uidx), e->uidx, "uidx");
	CHECK_EQ(be16toh(cqe->wqe_counter), idx, "wqe_counter");
}

static void
expect_error(const struct mlx5_cqe64 *cqe, const struct rig_end *e, uint8_t cqe_opcode,
	uint8_t syndrome)
{
	CHECK(cqe != NULL, "no completion");
	if (cqe == NULL)
		return;
	CHECK_EQ(cqe->op_own >> 4, cqe_opcode, "CQE opcode");
	CHECK_EQ(rig_err(cqe)->syndrome, syndrome, "syndrome");
	CHECK_EQ(be32toh(cqe->srqn_uidx), e->uidx, "uidx");
}

static void
case_send_recv(void)
{
	struct rig r;
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND_IMM, ALWAYS);
	const struct mlx5_cqe64 *cqe;

	rig_init(&r, NULL);
	fill(r.a.buf, 100, 1);
	rig_recv(&r.b, rig_va(r.b.buf), r.b.key, 4096);
	w.imm = 0x11223344;
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 60);
	rig_sge(&w, rig_va(r.a.buf) + 60, r.a.key, 40);
	rig_post(&r.a, &w);
	rig_run(&r);
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_SEND_IMM, 0);
	cqe = rig_poll(&r.b);
	CHECK(cqe != NULL, "no receive completion");
	if (cqe != NULL) {
		CHECK_EQ(cqe->op_own >> 4, MLX5_CQE_RESP_SEND_IMM, "CQE opcode");
		CHECK_EQ(be32toh(cqe->byte_cnt), 100, "byte_cnt");
		CHECK_EQ(be32toh(cqe->imm_inval_pkey), 0x11223344, "immediate");
		CHECK_EQ(be32toh(cqe->srqn_uidx), r.b.uidx, "uidx");
		CHECK_EQ(be32toh(cqe->sop_drop_qpn) & 0xffffff, r.b.qpn, "QPN");
	}
	check_bytes(r.b.buf, r.a.buf, 100, "message");
	rig_fini(&r);
}

static void
case_write_read(void)
{
	struct rig r;
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_RDMA_WRITE, ALWAYS), rd;

	rig_init(&r, NULL);
	fill(r.a.buf, RIG_BUF, 3);
	rig_raddr(&w, rig_va(r.b.buf) + 8, r.b.key);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 30000);
	rig_post(&r.a, &w);
	rig_run(&r);
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_RDMA_WRITE, 0);
	check_bytes(r.b.buf + 8, r.a.buf, 30000, "written");
	CHECK_EQ(r.b.buf[7], 0, "byte before");
	CHECK_EQ(r.b.buf[30008], 0, "byte behind");
	rd = rig_wqe(MLX5_OPCODE_RDMA_READ, ALWAYS);
	rig_raddr(&rd, rig_va(r.b.buf) + 8, r.b.key);
	rig_sge(&rd, rig_va(r.a.buf) + 40000, r.a.key, 1000);
	rig_sge(&rd, rig_va(r.a.buf) + 50000, r.a.key, 3);
	rig_post(&r.a, &rd);
	rig_run(&r);
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_RDMA_READ, 1);
	check_bytes(r.a.buf + 40000, r.a.buf, 1000, "read 1");
	check_bytes(r.a.buf + 50000, r.a.buf + 1000, 3, "read 2");
	rig_fini(&r);
}

static struct rig_wqe
memcpy_wqe(struct rig_end *e, uint32_t src, uint32_t dst, uint32_t src_len, uint32_t dst_len)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_MMO, ALWAYS);

	w.opmod = 1;
	/* the opaque segment: control 0, key, address */
	rig_sge(&w, rig_va(e->buf) + RIG_BUF - 64, e->key, 0);
	rig_sge(&w, rig_va(e->buf) + src, e->key, src_len);
	rig_sge(&w, rig_va(e->buf) + dst, e->key, dst_len);
	return w;
}

static void
case_memcpy(void)
{
	struct rig r;
	struct rig_wqe w;

	rig_init(&r, NULL);
	fill(r.a.buf, 20000, 9);
	w = memcpy_wqe(&r.a, 0, 30000, 20000, 20000);
	rig_post(&r.a, &w);
	rig_run(&r);
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_MMO, 0);
	check_bytes(r.a.buf + 30000, r.a.buf, 20000, "copy");
	rig_fini(&r);
}

/* ---- strict checks of WQEs and doorbells */

/* Steps of a program and of the device. */
enum step {
	END,
	PUT,          /* posts a NOP that completes into the SQ */
	PUT_QUIET,    /* posts a NOP that does not complete */
	PUT_EMPTY,    /* posts a WQE whose DS is 0 */
	BREAK,        /* inverts the bits `flip` of byte `byte` of the last WQE's control segment */
	RECORD,       /* sets the doorbell record to the number of posted WQEs */
	BELL,         /* rings a doorbell for the last WQE */
	BELL_BEFORE,  /* rings a doorbell for the WQE before the last one */
	BELL_BROKEN,  /* rings a doorbell for the last WQE, but with another opcode */
	CHANGE,       /* modifies the QP, which makes the device check the queue */
	RUN_ALL,      /* runs the device until it is idle */
	DONE,         /* expects the completion of the next NOP that completes */
	FAILED,       /* expects a completion with a QP operation error */
	FATAL,        /* expects the event that the QP has failed */
	NONE,         /* expects that there is no completion */
	LAST_IS_NEXT, /* expects that the device has not passed the last WQE */
	VIOLATION,    /* expects a violation; steps without it expect none */
};

struct steps {
	const char *sentence;
	struct rig_opts opts;
	uint8_t byte, flip; /* the byte that BREAK changes, and the bits to invert */
	enum step step[24]; /* ends with END */
};

static void
run_steps(const struct steps *s)
{
	const struct rig_wqe nop = rig_wqe(MLX5_OPCODE_NOP, ALWAYS);
	const struct rig_wqe quiet = rig_wqe(MLX5_OPCODE_NOP, 0);
	unsigned long violations = rig_violations();
	uint16_t idx = 0, posted[8];
	unsigned int n_posted = 0, n_done = 0;
	struct rig_wqe empty = nop;
	struct softhca_qp_attr attr;
	struct rig r;
	uint32_t next;

	empty.ds = 0;
	rig_init(&r, &s->opts);
	for (const enum step *step = s->step; *step != END; step++) {
		switch (*step) {
		case PUT:
			idx = posted[n_posted++] = rig_put(&r.a, &nop);
			break;
		case PUT_QUIET:
			idx = rig_put(&r.a, &quiet);
			break;
		case PUT_EMPTY:
			idx = rig_put(&r.a, &empty);
			r.a.sq_pi++; /* rig_put() added 0 WQEBBs, because DS is 0 */
			break;
		case BREAK:
			rig_sq_at(&r.a, idx)[s->byte] ^= s->flip;
			break;
		case RECORD:
			rig_record(&r.a);
			break;
		case BELL:
		case BELL_BEFORE:
			rig_bell(&r.a, (uint16_t)(idx - (*step == BELL_BEFORE)));
			break;
		case BELL_BROKEN:
			rig_bell(&r.a, idx);
			atomic_fetch_xor(rig_bf_word(&r.a, r.a.bf ^ 1, 0),
				htobe64(UINT64_C(1) << 32));
			break;
		case CHANGE:
			CHECK_EQ(rig_modify(&r.a, IBV_QPS_RTS), 0, "a change");
			break;
		case RUN_ALL:
			rig_run(&r);
			break;
		case DONE:
			expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_NOP, posted[n_done++]);
			break;
		case FAILED:
			expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_REQ_ERR,
				MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
			break;
		case FATAL:
			CHECK_EQ(r.a.qp_event.async[IBV_EVENT_QP_FATAL], 1, "QP_FATAL events");
			break;
		case NONE:
			CHECK(rig_poll(&r.a) == NULL, "a completion too many, after %d", idx);
			break;
		case LAST_IS_NEXT:
			softhca_qp_query(r.a.qp, &attr, &next);
			CHECK_EQ(next, idx, "the next WQE");
			break;
		case VIOLATION:
			CHECK(rig_violations() > violations, "no violation was counted: %s",
				s->sentence);
			violations = rig_violations();
			break;
		case END:
			break;
		}
	}
	CHECK_EQ(rig_violations(), violations, s->sentence);
	rig_fini(&r);
}

static const struct steps doorbells[] = {
	{"a WQE that no doorbell announced does not run",
		.step = {PUT, RECORD, RUN_ALL, NONE,
			/* The next doorbell announces both WQEs. */
			PUT, RECORD, BELL, RUN_ALL, DONE, DONE,
			/*
			 * The second WQE is posted after the doorbell was rung and before the
			 * device read the doorbell.
			 */
			PUT, RECORD, BELL, PUT, RECORD, RUN_ALL, DONE, NONE}},
	{"a lenient device runs it", {.lenient = 1},
		.step = {PUT, RECORD, BELL, PUT, RECORD, RUN_ALL, DONE, DONE}},
	/*
	 * The WQE of the second doorbell has already been executed. Modifying the QP makes the
	 * device check the queue.
	 */
	{"a late doorbell announces no later WQE",
		.step = {PUT, RECORD, BELL, RUN_ALL, DONE, BELL, RUN_ALL, PUT_EMPTY, RECORD, CHANGE,
			RUN_ALL, NONE}},
	{"a doorbell ahead of its record is reported",
		.step = {PUT, BELL, RUN_ALL, VIOLATION, NONE, RECORD, BELL, RUN_ALL, DONE}},
	/* A doorbell must have the first 8 bytes of its WQE. */
	{"a doorbell that differs from its WQE is caught",
		.step = {PUT, RECORD, BELL_BROKEN, RUN_ALL, VIOLATION, FAILED}},
	{"posting more than the queue holds is fatal", {.sq_bb = 4},
		.step = {PUT, PUT, PUT, PUT, PUT, RECORD, BELL, RUN_ALL, VIOLATION, FATAL, NONE}},
	/* A turn of the device ends at each of these NOPs. BREAK changes the WQE index. */
	{"a NOP that completes, is broken or is not announced is not passed", .byte = 2, .flip = 1,
		.step = {PUT, PUT_QUIET, RECORD, BELL_BEFORE, RUN_ALL, DONE, LAST_IS_NEXT, PUT, PUT,
			RECORD, BELL, RUN_ALL, DONE, DONE, PUT, PUT_QUIET, RECORD, BELL, BREAK,
			RUN_ALL, DONE, FAILED, VIOLATION}},
};

static void
case_broken_control_segment(void)
{
	static const struct steps fields[] = {
		{"wqe_index one low", .byte = 2, .flip = 1},
		{"wqe_index two ahead", .byte = 2, .flip = 3},
		{"wqe_index far away", .byte = 1, .flip = 0x40},
		{"QPN", .byte = 6, .flip = 1},
		{"QPN, high byte", .byte = 4, .flip = 0x80},
		{"DS 0", .byte = 7, .flip = 1},
		{"DS beyond what is posted", .byte = 7, .flip = 0x20},
	};
	static const enum step step[] = {PUT, RECORD, BELL, RUN_ALL, DONE, PUT, BREAK, RECORD, BELL,
		RUN_ALL, VIOLATION, FAILED, NONE, END};

	for (unsigned int i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct steps s = fields[i];

		memcpy(s.step, step, sizeof(step));
		run_steps(&s);
	}
}

/*
 * An unknown opcode must not count as a violation: the WQE must complete in error, and no line may
 * be logged.
 */
static void
unknown_opcode(uint8_t opcode)
{
	struct rig r;
	struct rig_wqe w = rig_wqe(opcode, 0);
	unsigned long before = rig_violations();

	rig_init(&r, NULL);
	rig_post(&r.a, &w);
	rig_run(&r);
	expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	CHECK_EQ(rig_violations(), before, "violations");
	rig_fini(&r);
}

static void
case_unknown_opcode(void)
{
	unknown_opcode(MLX5_OPCODE_UMR);
	unknown_opcode(MLX5_OPCODE_TSO);
	unknown_opcode(0x3f);
	unknown_opcode(0xff);
}

/*
 * DS of a WQE is too small: the device then expects the next WQE at an offset inside the posted
 * WQE, and must fail there.
 */
static void
case_short_ds(void)
{
	struct rig r;
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND, ALWAYS);
	uint8_t data[100] = {1};
	uint16_t idx;

	rig_init(&r, NULL);
	rig_recv(&r.b, rig_va(r.b.buf), r.b.key, 4096);
	rig_inline(&w, data, sizeof(data)); /* 2 WQEBBs */
	idx = rig_put(&r.a, &w);
	rig_sq_at(&r.a, idx)[7] = 1;
	rig_record(&r.a);
	rig_bell(&r.a, idx);
	rig_run(&r);
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_SEND, 0);
	expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	rig_fini(&r);
}

/*
 * DPDK's crypto_mlx5 fills a queue with WQEs that complete, each followed by NOPs. When it sees the
 * completion of a WQE, it reuses the WQE and its NOPs. So the adapter must have passed these NOPs
 * by then. One turn of the adapter executes 256 WQEs, and in this test ends before such a NOP.
 */
static void
case_nops_reused(void)
{
	enum {
		TURN = 256,
		BB = 512
	};
	struct rig r;
	struct rig_opts o = {.sq_bb = BB, .n_cqe = 16};
	struct rig_wqe quiet = rig_wqe(MLX5_OPCODE_NOP, 0), loud = rig_wqe(MLX5_OPCODE_NOP, ALWAYS);
	unsigned long before = rig_violations();
	uint16_t idx = 0;

	quiet.ds = 8;
	rig_init(&r, &o);
	rig_run(&r);
	for (unsigned int lap = 0; lap < 3; lap++) {
		const uint16_t start = (uint16_t)(lap * BB);

		for (unsigned int i = 0; i < TURN - 2; i++)
			rig_put(&r.a, &quiet);
		rig_put(&r.a, &loud);
		rig_put(&r.a, &loud);
		idx = rig_put(&r.a, &quiet);
		CHECK_EQ((uint16_t)(r.a.sq_pi - start), BB, "the queue is full");
		rig_record(&r.a);
		rig_bell(&r.a, idx);
		softhca_pump();
		expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_NOP, (uint16_t)(start + BB - 4));
		expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_NOP, (uint16_t)(start + BB - 3));
		rig_sync_ci(&r.a);
	}
	rig_run(&r);
	CHECK(rig_poll(&r.a) == NULL, "a completion too many");
	CHECK_EQ(rig_violations(), before, "violations");
	rig_fini(&r);
}

/*
 * When UCX resets a DCI, it leaves the old counter in the doorbell record. This counter must post
 * no WQE. An adapter reads the record when the next doorbell is rung.
 */
static void
case_old_record(bool shared)
{
	struct rig r;
	struct rig_opts o = {.sq_bb = 4, .shared_uar = shared};
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_NOP, ALWAYS);
	unsigned long before = rig_violations();

	rig_init(&r, &o);
	for (unsigned int posted = 1; posted < 8; posted++) {
		for (uint16_t i = 0; i < posted; i++) {
			rig_post(&r.a, &w);
			rig_run(&r);
			expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_NOP, i);
		}
		CHECK_EQ(rig_modify(&r.a, IBV_QPS_RESET), 0, "to RESET");
		r.a.sq_pi = 0;
		rig_connect(&r.a, r.b.qpn, 7, 12);
		rig_run(&r);
		CHECK(rig_poll(&r.a) == NULL, "a WQE of before the reset ran");
		if (!shared)
			continue;
		r.b.bf = r.a.bf;
		rig_post(&r.b, &w);
		rig_run(&r);
		CHECK(rig_poll(&r.b) != NULL, "the other queue of the page");
		CHECK(rig_poll(&r.a) == NULL, "a WQE of before the reset ran with another queue's");
	}
	CHECK_EQ(rig_violations(), before, "violations");
	rig_fini(&r);
}

/* BlueFlame: valid copies must never be violations, and wrong copies must always be violations. */

static struct rig_wqe
inline_send(unsigned int seed, uint32_t len)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND, ALWAYS);
	uint8_t data[256];

	fill(data, sizeof(data), seed);
	rig_inline(&w, data, len);
	return w;
}

static void
receives(struct rig *r, unsigned int n)
{
	while (n-- != 0)
		rig_recv(&r->b, rig_va(r->b.buf), r->b.key, 4096);
}

/*
 * Correct copies must cause no violation. They have different sizes, and some doorbells come
 * between them. Some copies are read late, some are overwritten before they are read.
 */
static void
case_blueflame_good(void)
{
	struct rig r;
	struct rig_opts o = {.sq_bb = 64, .rq_n = 64, .n_cqe = 4096};
	unsigned long before = rig_violations();
	uint64_t seed = 42;
	unsigned int pending = 0;

	rig_init(&r, &o);
	for (unsigned int i = 0; i < 20000; i++) {
		struct rig_wqe w = inline_send(i, 1 + (uint32_t)(check_random(&seed) % 200));
		uint16_t idx = rig_put(&r.a, &w);

		rig_record(&r.a);
		if (check_random(&seed) % 2)
			rig_blueflame(&r.a, idx);
		else
			rig_bell(&r.a, idx);
		if (++pending < 10 && check_random(&seed) % 3 != 0)
			continue;
		receives(&r, pending);
		rig_run(&r);
		for (; pending != 0; pending--) {
			const struct mlx5_cqe64 *cqe = rig_poll(&r.a);

			CHECK(cqe != NULL && cqe->op_own >> 4 == MLX5_CQE_REQ, "send %u failed", i);
			CHECK(rig_poll(&r.b) != NULL, "receive %u", i);
		}
		rig_sync_ci(&r.a);
		rig_sync_ci(&r.b);
	}
	CHECK_EQ(rig_violations(), before, "false alarms");
	rig_fini(&r);
}

/*
 * Posts a BlueFlame copy in which this word is wrong, after `twin_uses` correct copies: the device
 * must report a violation.
 */
static void
blueflame_broken(unsigned int twin_uses, unsigned int word, uint32_t len)
{
	struct rig r;
	struct rig_wqe w = inline_send(7, len);
	unsigned long before = rig_violations();
	uint16_t idx;

	rig_init(&r, NULL);
	receives(&r, twin_uses + 1);
	for (unsigned int i = 0; i < twin_uses; i++) {
		idx = rig_put(&r.a, &w);
		rig_record(&r.a);
		rig_blueflame(&r.a, idx);
		rig_run(&r);
		expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_SEND, idx);
	}
	CHECK_EQ(rig_violations(), before, "false alarms");
	w = inline_send(99, len);
	idx = rig_put(&r.a, &w);
	rig_record(&r.a);
	rig_blueflame(&r.a, idx);
	atomic_fetch_xor(rig_bf_word(&r.a, r.a.bf ^ 1, word), UINT64_C(1) << (word % 64));
	rig_run(&r);
	CHECK(rig_violations() > before, "a broken BlueFlame copy");
	expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	rig_fini(&r);
}

static void
case_blueflame_broken(void)
{
	for (unsigned int uses = 0; uses < 4; uses++)
		for (unsigned int word = 1; word < 8; word++)
			blueflame_broken(uses, word, 40);
	for (unsigned int word = 1; word < 16; word++)
		blueflame_broken(2, word, 100);
	blueflame_broken(1, 31, 220);
}

/*
 * The last words of a copy arrive after the device has read the first words. Then the other buffer
 * is used, and then the first buffer again.
 */
static void
case_blueflame_late(void)
{
	struct rig r;
	unsigned long before = rig_violations();

	rig_init(&r, NULL);
	receives(&r, 12);
	for (unsigned int i = 0; i < 12; i++) {
		struct rig_wqe w = inline_send(i, 150);
		uint16_t idx = rig_put(&r.a, &w);
		unsigned int twin = r.a.bf, late = i % 24;

		rig_record(&r.a);
		if (i % 3 == 2) {
			rig_bell(&r.a, idx);
		} else {
			rig_blueflame(&r.a, idx);
			/* These words are not written yet: the device reads the old words. */
			for (unsigned int j = late + 1; j < 24; j++)
				atomic_store(rig_bf_word(&r.a, twin, j),
					atomic_load(rig_bf_word(&r.a, twin, 31)));
		}
		rig_run(&r);
		expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_SEND, idx);
		for (unsigned int j = late + 1; i % 3 != 2 && j < 24; j++) {
			uint64_t v;

			memcpy(&v, rig_sq_at(&r.a, (uint16_t)(idx + j / 8)) + 8 * (j % 8), 8);
			atomic_store(rig_bf_word(&r.a, twin, j), v);
		}
		rig_run(&r);
	}
	CHECK_EQ(rig_violations(), before, "false alarms");
	rig_fini(&r);
}

/*
 * A late copy may leave words after the end of the next, shorter copy. The device must not take
 * these words for a part of a later copy.
 */
static void
case_blueflame_late_sizes(void)
{
	struct rig r;
	struct rig_opts o = {.sq_bb = 64, .rq_n = 64, .n_cqe = 4096};
	unsigned long before = rig_violations();
	uint64_t seed = 7;

	rig_init(&r, &o);
	for (unsigned int i = 0; i < 5000; i++) {
		struct rig_wqe w = inline_send(i, 1 + (uint32_t)(check_random(&seed) % 200));
		uint16_t idx = rig_put(&r.a, &w);
		unsigned int twin = r.a.bf, words = (w.ds + 3) / 4 * 8, j;
		unsigned int late = 1 + (unsigned int)(check_random(&seed) % words);
		uint64_t old[32], v;

		receives(&r, 1);
		rig_record(&r.a);
		for (j = 0; j < 32; j++)
			old[j] = atomic_load(rig_bf_word(&r.a, twin, j));
		if (check_random(&seed) % 3 == 0) {
			rig_bell(&r.a, idx);
			words = 0;
		} else {
			rig_blueflame(&r.a, idx);
		}
		for (j = late; j < words; j++)
			atomic_store(rig_bf_word(&r.a, twin, j), old[j]);
		rig_run(&r);
		expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_SEND, idx);
		CHECK(rig_poll(&r.b) != NULL, "receive %u", i);
		for (j = late; j < words; j++) {
			memcpy(&v, rig_sq_at(&r.a, (uint16_t)(idx + j / 8)) + 8 * (j % 8), 8);
			atomic_store(rig_bf_word(&r.a, twin, j), v);
		}
		rig_sync_ci(&r.a);
		rig_sync_ci(&r.b);
	}
	CHECK_EQ(rig_violations(), before, "false alarms");
	rig_fini(&r);
}

/* ---- rings and laps */

static void
case_laps(void)
{
	struct rig r;
	struct rig_opts o = {.sq_bb = 16, .rq_n = 8, .n_cqe = 32, .cqe_len = 128};
	uint64_t seed = 1;

	rig_init(&r, &o);
	for (unsigned int i = 0; i < 70000; i++) {
		struct rig_wqe w = inline_send(i, (uint32_t)(check_random(&seed) % 190));
		const struct mlx5_cqe64 *cqe;
		uint32_t len = w.ds == 1 ? 0 : be32toh(*(uint32_t *)(w.bytes + 16)) & 0x7fffffff;
		uint16_t idx;

		rig_recv(&r.b, rig_va(r.b.buf), r.b.key, 4096);
		w.flags = i % 4 == 3 ? ALWAYS : 0;
		idx = rig_put(&r.a, &w);
		rig_record(&r.a);
		rig_bell(&r.a, idx);
		rig_run(&r);
		cqe = rig_poll(&r.b);
		if (cqe == NULL || be32toh(cqe->byte_cnt) != len ||
			be16toh(cqe->wqe_counter) != (i & 0xffff)) {
			CHECK(false, "receive %u", i);
			break;
		}
		check_bytes(r.b.buf, w.bytes + 20, len, "inline data");
		if (w.flags != 0)
			expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_SEND, idx);
		CHECK(rig_poll(&r.a) == NULL && rig_poll(&r.b) == NULL, "too many completions");
		rig_sync_ci(&r.a);
		rig_sync_ci(&r.b);
	}
	rig_fini(&r);
}

/* ---- completion queues */

static void
post_nops(struct rig_end *e, unsigned int n)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_NOP, ALWAYS);

	while (n-- != 0)
		rig_post(e, &w);
}

static void
case_cq_overrun(void)
{
	struct rig r;
	struct rig_opts o = {.n_cqe = 8};

	rig_init(&r, &o);
	post_nops(&r.a, 8);
	rig_run(&r);
	CHECK_EQ(r.a.cq_event.async[IBV_EVENT_CQ_ERR], 0, "CQ_ERR with a full CQ");
	post_nops(&r.a, 1);
	rig_run(&r);
	CHECK_EQ(r.a.cq_event.async[IBV_EVENT_CQ_ERR], 1, "CQ_ERR");
	CHECK_EQ(r.a.qp_event.async[IBV_EVENT_QP_FATAL], 1, "QP_FATAL");
	for (int i = 0; i < 8; i++)
		expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_NOP, (uint16_t)i);
	CHECK(rig_poll(&r.a) == NULL, "the ninth");
	post_nops(&r.a, 1);
	rig_sync_ci(&r.a);
	rig_run(&r);
	CHECK(rig_poll(&r.a) == NULL, "a failed CQ completes");
	rig_fini(&r);

	o.ignore_overrun = true;
	rig_init(&r, &o);
	post_nops(&r.a, 12);
	rig_run(&r);
	CHECK_EQ(r.a.cq_event.async[IBV_EVENT_CQ_ERR], 0, "CQ_ERR");
	r.a.cq_ci = 8;
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_NOP, 8);
	rig_fini(&r);
}

/*
 * Completes two operations while the CQ's lock is held. Returns true if both completions are
 * compressed under one title CQE, whose format is 3.
 */
static bool
are_compressed(struct rig_end *e, const struct cqe *first, const struct cqe *second)
{
	const struct mlx5_cqe64 *title;

	spin_lock(&e->cq->lock);
	cq_push(e->cq, first);
	cq_push(e->cq, second);
	cq_unlock(e->cq);
	title = rig_poll(e);
	CHECK(title != NULL, "no completion");
	e->cq_ci++;
	return title != NULL && (title->op_own >> 2 & 3) == 3;
}

/*
 * A mini CQE contains the length of a receive, but no field that describes its sender. So
 * completions that differ in such a field must not be compressed together.
 */
static void
case_compressed(void)
{
	const struct cqe first = {.opcode = CQE_RESP_SEND_IMM,
		.uidx = 7,
		.imm = 1,
		.byte_cnt = 10,
		.opcode_qpn = 0x123456,
		.wqe_counter = 0xffff,
		.flags_rqpn = 0x654321,
		.slid = 3};
	struct cqe next = first;
	struct rig r;

	rig_init(&r, &(struct rig_opts){.compress = true});
	next.byte_cnt = 20;
	next.wqe_counter = 0;
	CHECK(are_compressed(&r.b, &first, &next), "another length");
	next.slid = 4;
	CHECK(!are_compressed(&r.b, &first, &next), "another port");
	next.slid = 3;
	next.flags_rqpn++;
	CHECK(!are_compressed(&r.b, &first, &next), "another sender");
	next.flags_rqpn--;
	next.imm = 2;
	CHECK(!are_compressed(&r.b, &first, &next), "another immediate");
	next.imm = 1;
	next.opcode = CQE_RESP_WRITE_IMM;
	CHECK(!are_compressed(&r.b, &first, &next), "another opcode");
	next.opcode = first.opcode;
	next.opcode_qpn++;
	CHECK(!are_compressed(&r.b, &first, &next), "another QP");
	next.opcode_qpn--;
	next.wqe_counter = 1;
	CHECK(!are_compressed(&r.b, &first, &next), "not the next receive");
	next.wqe_counter = 0;
	next.solicited = true;
	CHECK(!are_compressed(&r.b, &first, &next), "solicited");
	next.solicited = false;
	CHECK(are_compressed(&r.b, &first, &next), "all is as it was");
	rig_fini(&r);
}

static void
case_arming(void)
{
	struct rig r;
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND, ALWAYS);

	rig_init(&r, NULL);
	post_nops(&r.a, 1);
	rig_run(&r);
	CHECK_EQ(r.a.cq_event.comp, 0, "events unarmed");
	rig_poll(&r.a);
	rig_arm(&r.a, false);
	rig_run(&r);
	CHECK_EQ(r.a.cq_event.comp, 0, "events, armed and empty");
	post_nops(&r.a, 3);
	rig_run(&r);
	CHECK_EQ(r.a.cq_event.comp, 1, "events of one arming");
	/*
	 * The CQ is armed at an index where a completion already exists: the event must be raised
	 * at once.
	 */
	rig_arm(&r.a, false);
	rig_run(&r);
	CHECK_EQ(r.a.cq_event.comp, 2, "events for what was missed");
	/*
	 * The CQ is armed for solicited completions. A SEND that is not solicited must raise no
	 * event at its receiver.
	 */
	receives(&r, 3);
	rig_arm(&r.b, true);
	rig_run(&r);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 8);
	rig_post(&r.a, &w);
	rig_run(&r);
	CHECK_EQ(r.b.cq_event.comp, 0, "events, unsolicited");
	w.flags |= MLX5_WQE_CTRL_SOLICITED;
	rig_post(&r.a, &w);
	rig_run(&r);
	CHECK_EQ(r.b.cq_event.comp, 1, "events, solicited");
	rig_arm(&r.b, true);
	rig_run(&r);
	CHECK_EQ(r.b.cq_event.comp, 2, "a solicited one was missed");
	rig_fini(&r);
}

/*
 * An arm doorbell says only that one of the page's CQs was armed. The page's other CQs must stay
 * unarmed.
 */
static void
case_arming_one_of_two(void)
{
	struct rig r;
	struct rig_opts o = {.shared_uar = true};

	rig_init(&r, &o);
	rig_arm(&r.a, false);
	rig_run(&r);
	post_nops(&r.b, 1);
	rig_run(&r);
	CHECK_EQ(r.b.cq_event.comp, 0, "events of the CQ that was never armed");
	post_nops(&r.a, 1);
	rig_run(&r);
	CHECK_EQ(r.a.cq_event.comp, 1, "events of the armed CQ");
	rig_fini(&r);
}

/*
 * The first arm word of a new CQ may be 0, which is also the initial value of the record. This word
 * must arm the CQ.
 */
static void
case_first_arm(void)
{
	struct rig r;

	rig_init(&r, NULL);
	rig_arm(&r.a, false);
	rig_run(&r);
	post_nops(&r.a, 1);
	rig_run(&r);
	CHECK_EQ(r.a.cq_event.comp, 1, "events");
	rig_fini(&r);
}

/* ---- errors and flushes */

static void
case_flush(void)
{
	struct rig r;
	struct rig_wqe bad = rig_wqe(MLX5_OPCODE_RDMA_WRITE, 0), nop = rig_wqe(MLX5_OPCODE_NOP, 0);
	struct rig_wqe quiet = rig_wqe(MLX5_OPCODE_NOP, 1 << 2);
	const struct mlx5_cqe64 *cqe;

	rig_init(&r, NULL);
	rig_recv(&r.a, rig_va(r.a.buf), r.a.key, 16);
	rig_raddr(&bad, rig_va(r.b.buf), r.b.key);
	rig_sge(&bad, rig_va(r.a.buf), r.a.key + 1, 8); /* a key with a wrong variant */
	rig_post(&r.a, &bad);
	rig_post(&r.a, &nop);
	rig_post(&r.a, &quiet);
	rig_post(&r.a, &nop);
	rig_run(&r);
	expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
	expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_RESP_ERR, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
	cqe = rig_poll(&r.a);
	expect_error(cqe, &r.a, MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
	CHECK(cqe != NULL && be16toh(cqe->wqe_counter) == 1, "flushed out of order");
	cqe = rig_poll(&r.a);
	expect_error(cqe, &r.a, MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
	CHECK(cqe != NULL && be16toh(cqe->wqe_counter) == 3, "a NO_FLUSH WQE completed");
	CHECK(rig_poll(&r.a) == NULL, "too many completions");
	/* Work requests that are posted later are flushed too, on both sides. */
	rig_post(&r.a, &nop);
	rig_recv(&r.a, rig_va(r.a.buf), r.a.key, 16);
	rig_run(&r);
	expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
	expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_RESP_ERR, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
	rig_recv(&r.a, rig_va(r.a.buf), r.a.key, 16);
	rig_run(&r);
	expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_RESP_ERR, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
	/* A NO_FLUSH WQE that fails itself does complete. */
	CHECK_EQ(rig_modify(&r.a, IBV_QPS_RESET), 0, "to RESET");
	r.a.sq_pi = r.a.rq_pi = 0;
	atomic_store(&r.a.qp_db[0], 0);
	atomic_store(&r.a.qp_db[1], 0);
	rig_connect(&r.a, r.b.qpn, 7, 1);
	bad.flags = 1 << 2;
	rig_post(&r.a, &bad);
	rig_run(&r);
	expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
	rig_fini(&r);
}

static void
case_rnr(void)
{
	struct rig r;
	struct rig_opts o = {.no_connect = true};
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND, 0);

	rig_init(&r, &o);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 8);
	rig_connect(&r.a, r.b.qpn, 0, 1);
	rig_connect(&r.b, r.a.qpn, 0, 1);
	rig_post(&r.a, &w);
	rig_run(&r);
	expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR);
	CHECK(rig_poll(&r.b) == NULL, "the responder saw something");
	rig_fini(&r);

	/* Two retries, 1.28 ms apart, and then an error. */
	rig_init(&r, &o);
	rig_connect(&r.a, r.b.qpn, 2, 1);
	rig_connect(&r.b, r.a.qpn, 2, 14);
	w = rig_wqe(MLX5_OPCODE_SEND, 0);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 8);
	rig_post(&r.a, &w);
	rig_run(&r);
	CHECK(rig_poll(&r.a) == NULL, "gave up without retrying");
	expect_error(rig_wait(&r, &r.a, CHECK_PATIENCE_MS), &r.a, MLX5_CQE_REQ_ERR,
		MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR);
	rig_fini(&r);

	/* With rnr_retry 7 a QP retries for ever. A QP that waits does not delay other QPs. */
	rig_init(&r, NULL);
	w = rig_wqe(MLX5_OPCODE_SEND, ALWAYS);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 8);
	rig_post(&r.a, &w);
	CHECK(rig_wait(&r, &r.a, 30) == NULL, "completed without a receive");
	post_nops(&r.b, 1);
	rig_run(&r);
	expect_req(rig_poll(&r.b), &r.b, MLX5_OPCODE_NOP, 0);
	receives(&r, 1);
	rig_run(&r);
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_SEND, 0);
	rig_fini(&r);
}

static void
case_no_peer(void)
{
	struct rig r;
	struct rig_opts o = {.no_connect = true};
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_RDMA_WRITE, 0);

	rig_init(&r, &o);
	rig_connect(&r.a, r.b.qpn, 7, 1); /* b's QP stays in RESET */
	rig_raddr(&w, rig_va(r.b.buf), r.b.key);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 8);
	rig_post(&r.a, &w);
	rig_run(&r);
	CHECK(rig_poll(&r.a) == NULL, "gave up without retrying");
	expect_error(rig_wait(&r, &r.a, CHECK_PATIENCE_MS), &r.a, MLX5_CQE_REQ_ERR,
		MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
	rig_fini(&r);

	/*
	 * If the peer becomes ready in time, the message arrives. A QP that is connected to another
	 * QP is not the peer.
	 */
	rig_init(&r, &o);
	rig_connect(&r.a, r.b.qpn, 7, 1);
	w = rig_wqe(MLX5_OPCODE_RDMA_WRITE, ALWAYS);
	rig_raddr(&w, rig_va(r.b.buf), r.b.key);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 8);
	rig_post(&r.a, &w);
	rig_run(&r);
	rig_connect(&r.b, r.a.qpn ^ 1, 7, 1);
	rig_run(&r);
	CHECK(rig_poll(&r.a) == NULL, "served by a QP that is connected to another");
	CHECK_EQ(rig_modify(&r.b, IBV_QPS_RESET), 0, "to RESET");
	rig_connect(&r.b, r.a.qpn, 7, 1);
	rig_run(&r);
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_RDMA_WRITE, 0);
	rig_fini(&r);
}

/* ---- send with invalidate */

static void
case_invalidate(void)
{
	struct rig r;
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND_INVAL, ALWAYS);
	struct rig_wqe wr = rig_wqe(MLX5_OPCODE_RDMA_WRITE, ALWAYS);
	struct softhca_mkey_attr attr = {.pdn = RIG_PDN,
		.len = 64,
		.rinval = true,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE};
	unsigned int n_dev;
	struct softhca_mkey *mkey;
	const struct mlx5_cqe64 *cqe;

	rig_init(&r, NULL);
	attr.addr = attr.iova = rig_va(r.b.buf) + 256;
	CHECK_EQ(softhca_mkey_create(softhca_devices(&n_dev), &attr, &mkey), 0, "key");
	receives(&r, 3);
	w.imm = softhca_mkey_key(mkey);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 8);
	rig_post(&r.a, &w);
	rig_run(&r);
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_SEND_INVAL, 0);
	cqe = rig_poll(&r.b);
	CHECK(cqe != NULL && cqe->op_own >> 4 == MLX5_CQE_RESP_SEND_INV, "CQE opcode");
	CHECK(cqe != NULL && be32toh(cqe->imm_inval_pkey) == w.imm, "invalidated rkey");
	/* The key does not exist any more, so the write fails. */
	rig_raddr(&wr, attr.iova, w.imm);
	rig_sge(&wr, rig_va(r.a.buf), r.a.key, 8);
	rig_post(&r.a, &wr);
	rig_run(&r);
	expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
	CHECK_EQ(softhca_mkey_destroy(mkey), 0, "destroy");
	rig_fini(&r);

	/* The key was created without remote invalidation, so it must be refused. */
	rig_init(&r, NULL);
	receives(&r, 1);
	w.imm = r.b.key;
	w.ds = 1;
	rig_post(&r.a, &w);
	rig_run(&r);
	expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
	expect_error(rig_poll(&r.b), &r.b, MLX5_CQE_RESP_ERR,
		MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
	rig_fini(&r);
}

/* ---- several queues on a page */

static void
case_shared_page(void)
{
	struct rig r;
	struct rig_opts o = {.shared_uar = true};
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_NOP, ALWAYS);
	unsigned long before = rig_violations();

	rig_init(&r, &o);
	/*
	 * Queues are checked once after their creation, without a doorbell. After this run they are
	 * not.
	 */
	rig_run(&r);
	/* The second doorbell overwrites the first. Both queues must be served. */
	rig_post(&r.a, &w);
	r.b.bf = r.a.bf ^ 1;
	rig_post(&r.b, &w);
	rig_run(&r);
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_NOP, 0);
	expect_req(rig_poll(&r.b), &r.b, MLX5_OPCODE_NOP, 0);
	CHECK_EQ(rig_violations(), before, "violations");
	rig_fini(&r);
}

/*
 * The first doorbell is overwritten by the doorbell of a queue that is destroyed before the adapter
 * looks. The remaining queue has its page alone now, and runs up to its record.
 */
static void
case_page_is_left(void)
{
	struct rig r;
	struct rig_opts o = {.shared_uar = true};
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_NOP, ALWAYS);
	unsigned long before = rig_violations();

	rig_init(&r, &o);
	rig_run(&r);
	rig_post(&r.a, &w);
	r.b.bf = r.a.bf ^ 1;
	rig_post(&r.b, &w);
	CHECK_EQ(softhca_qp_destroy(r.b.qp), 0, "destroy");
	rig_run(&r);
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_NOP, 0);
	CHECK_EQ(rig_violations(), before, "violations");
	r.b.qp = NULL;
	rig_fini(&r);
}

/* ---- memory */

static void
case_null_key(void)
{
	struct rig r;
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_RDMA_WRITE, ALWAYS);

	rig_init(&r, NULL);
	fill(r.b.buf, 64, 5);
	rig_raddr(&w, rig_va(r.b.buf), r.b.key);
	rig_sge(&w, 0, SOFTHCA_DUMP_FILL_KEY, 16);
	rig_post(&r.a, &w);
	w = rig_wqe(MLX5_OPCODE_RDMA_READ, ALWAYS);
	rig_raddr(&w, rig_va(r.b.buf) + 16, r.b.key);
	rig_sge(&w, 0, SOFTHCA_DUMP_FILL_KEY, 16);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 16);
	rig_post(&r.a, &w);
	rig_run(&r);
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_RDMA_WRITE, 0);
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_RDMA_READ, 1);
	check_bytes(r.b.buf, (uint8_t[16]){0}, 16, "zeros");
	check_bytes(r.a.buf, r.b.buf + 32, 16, "read behind the null key");
	rig_fini(&r);
}

static void
memcpy_expect(uint32_t src_len, uint32_t dst_len, uint8_t syndrome)
{
	struct rig r;
	struct rig_opts o = {.max_memcpy = 4096};
	struct rig_wqe w;

	rig_init(&r, &o);
	w = memcpy_wqe(&r.a, 0, 8192, src_len, dst_len);
	rig_post(&r.a, &w);
	rig_run(&r);
	if (syndrome == 0)
		expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_MMO, 0);
	else
		expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_REQ_ERR, syndrome);
	rig_fini(&r);
}

static void
case_memcpy_limits(void)
{
	memcpy_expect(4096, 4096, 0);
	memcpy_expect(4097, 4097, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
	memcpy_expect(0, 0, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR); /* 2 GiB */
	memcpy_expect(100, 101, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
}

/*
 * A memcpy whose opaque memory has a wrong key must be refused, because the device may write to
 * this memory.
 */
static void
case_memcpy_opaque(void)
{
	struct rig r;
	struct rig_wqe w;

	rig_init(&r, NULL);
	w = memcpy_wqe(&r.a, 0, 8192, 64, 64);
	w.bytes[16 + 7] ^= 1;
	rig_post(&r.a, &w);
	rig_run(&r);
	expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
	rig_fini(&r);
}

/*
 * The length 0 in a data segment means 2 GiB. The key covers less, so the request must be refused.
 */
static void
case_zero_is_2_gib(void)
{
	struct rig r;
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_RDMA_WRITE, ALWAYS);

	rig_init(&r, NULL);
	rig_raddr(&w, rig_va(r.b.buf), r.b.key);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 0);
	rig_post(&r.a, &w);
	rig_run(&r);
	expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_REQ_ERR, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
	rig_fini(&r);
}

/*
 * For an atomic, both the iova and the address in memory must be aligned. The iova may be aligned
 * when the address is not, if a region's iova is not its address.
 */
static void
atomic_alignment(uint64_t shift, uint64_t offset)
{
	struct rig r;
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_ATOMIC_FA, ALWAYS);
	struct softhca_mkey_attr attr = {.pdn = RIG_PDN,
		.len = 64,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC};
	struct softhca_mkey *mkey;
	unsigned int n_dev;

	rig_init(&r, NULL);
	attr.addr = rig_va(r.b.buf);
	attr.iova = attr.addr + shift;
	CHECK_EQ(softhca_mkey_create(softhca_devices(&n_dev), &attr, &mkey), 0, "key");
	rig_raddr(&w, attr.iova + offset, softhca_mkey_key(mkey));
	rig_atomic(&w, 1, 0);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 8);
	rig_post(&r.a, &w);
	rig_run(&r);
	if ((shift | offset) == 0)
		expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_ATOMIC_FA, 0);
	else
		expect_error(rig_poll(&r.a), &r.a, MLX5_CQE_REQ_ERR,
			MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
	CHECK_EQ(softhca_mkey_destroy(mkey), 0, "destroy");
	rig_fini(&r);
}

static void
case_atomic_alignment(void)
{
	atomic_alignment(0, 0);
	atomic_alignment(0, 4);
	atomic_alignment(4, 0);
	atomic_alignment(4, 4);
}

/* With device threads, no work request may be lost while the threads back off and sleep. */
static void
case_threads(void)
{
	struct rig r;
	struct rig_opts o = {.threads = 2, .rq_n = 16};

	rig_init(&r, &o);
	for (unsigned int i = 0; i < 300; i++) {
		struct rig_wqe w = inline_send(i, 1 + i % 200);
		uint16_t idx;

		rig_recv(&r.b, rig_va(r.b.buf), r.b.key, 4096);
		idx = rig_put(&r.a, &w);
		rig_record(&r.a);
		rig_blueflame(&r.a, idx);
		expect_req(rig_wait(&r, &r.a, CHECK_PATIENCE_MS), &r.a, MLX5_OPCODE_SEND, idx);
		CHECK(rig_wait(&r, &r.b, CHECK_PATIENCE_MS) != NULL, "receive");
		check_bytes(r.b.buf, w.bytes + 20, 1 + i % 200, "message");
		rig_sync_ci(&r.a);
		rig_sync_ci(&r.b);
	}
	rig_fini(&r);
}

static void *
register_on_demand(void *arg)
{
	struct rig_end *e = arg;
	const struct softhca_mkey_attr attr = {.pdn = RIG_PDN,
		.access = ACC_LOCAL_WRITE | ACC_ON_DEMAND,
		.addr = rig_va(e->buf),
		.iova = rig_va(e->buf),
		.len = RIG_BUF};

	CHECK_EQ(softhca_mkey_modify(e->mkey, &attr), 0);
	return NULL;
}

/* Called during a turn, when a lane is about to execute a UMR: the key's lock must be free. */
static void
case_on_demand_waits_unlocked(void)
{
	unsigned int n;
	struct softhca_lanes *lanes;
	struct lane_slot *slot;
	pthread_t thread;
	struct rig r;
	bool is_free;

	rig_init(&r, NULL);
	lanes = softhca_devices(&n)[0].lanes;
	slot = turn_claim(lanes);
	CHECK_EQ(pthread_create(&thread, NULL, register_on_demand, &r.a), 0);
	while (!atomic_load(&lanes->odp))
		sched_yield();
	is_free = spin_trylock(&r.a.mkey->lock);
	CHECK(is_free, "the key is locked while lanes are waited for");
	if (is_free)
		spin_unlock(&r.a.mkey->lock);
	turn_end(slot);
	pthread_join(thread, NULL);
	rig_fini(&r);
}

int
main(void)
{
	RUN("a SEND with immediate arrives in a receive", case_send_recv());
	RUN("RDMA write and read move exactly the bytes that they name", case_write_read());
	RUN("a DMA MMO memcpy copies", case_memcpy());
	RUN("memcpy keeps its limits", case_memcpy_limits());
	RUN("memcpy's opaque memory needs a valid key", case_memcpy_opaque());
	RUN("a data segment of length 0 is 2 GiB", case_zero_is_2_gib());
	RUN("the null key reads as zeros and ignores writes", case_null_key());
	RUN("SEND with invalidate invalidates a key that allows it", case_invalidate());
	RUN("index, QPN and DS of a WQE are checked", case_broken_control_segment());
	RUN("an opcode that is not supported fails without a log line", case_unknown_opcode());
	RUN("a DS that is too small is caught", case_short_ds());
	for (unsigned int i = 0; i < sizeof(doorbells) / sizeof(doorbells[0]); i++)
		RUN(doorbells[i].sentence, run_steps(&doorbells[i]));
	RUN("after a WQE has completed, the NOPs that follow it can be reused", case_nops_reused());
	RUN("a doorbell record from before a reset posts nothing", case_old_record(false));
	RUN("an old doorbell record posts nothing when another queue of the page rings",
		case_old_record(true));
	RUN("valid BlueFlame copies are no violations", case_blueflame_good());
	RUN("a broken BlueFlame copy is caught, in each word", case_blueflame_broken());
	RUN("a BlueFlame copy that arrives late is no violation", case_blueflame_late());
	RUN("late BlueFlame copies of any size are no violation", case_blueflame_late_sizes());
	RUN("queues and CQs of 128 bytes wrap for many laps", case_laps());
	RUN("a CQ that is overrun fails its QP, or overwrites old entries if that was asked for",
		case_cq_overrun());
	RUN("completions that differ in more than a mini CQE are not compressed",
		case_compressed());
	RUN("an armed CQ sends one event, also for completions before the arming", case_arming());
	RUN("arming one CQ of a page arms no other", case_arming_one_of_two());
	RUN("an arm word of 0 arms a new CQ", case_first_arm());
	RUN("an error flushes both queues, later posts too", case_flush());
	RUN("without a receive, an RNR error comes at once, after retries, or not at all",
		case_rnr());
	RUN("requests to an absent or unready peer are retried, then fail", case_no_peer());
	RUN("a doorbell makes all queues of its page run", case_shared_page());
	RUN("a queue whose doorbell was overwritten runs when the page's other queue is destroyed",
		case_page_is_left());
	RUN("an atomic's address and memory must be aligned", case_atomic_alignment());
	RUN("registering on demand does not hold the key's lock while it waits for lanes",
		case_on_demand_waits_unlocked());
	RUN("device threads lose no doorbell", case_threads());
	return check_failures != 0;
}
