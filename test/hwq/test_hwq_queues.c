/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests hwq's queues on the emulated adapter: laps, errors, flushes, resets, shared CQs, receive
 * queues, refusals and threads. meson.build runs the test in many modes: with device threads or
 * softhca_pump(); with BlueFlame, with MLX5_SHUT_UP_BF, and on an adapter without BlueFlame; on
 * both link layers; without MMO.
 *
 * usage: test_hwq_queues [SEED]
 */
#include <pthread.h>
#include <sys/mman.h>

#include "check.h"

#include "hwq_emu.h"
#include "hwq_rq.h"

#define MEM_LEN (64u * 1024)
#define HALF    (MEM_LEN / 2)

static struct hwq_dev *dev;
static uint64_t seed;
static bool has_mmo;

struct memory {
	uint8_t *at;
	struct hwq_mr mr;
};

static void
memory_create(struct memory *m)
{
	size_t i;
	int ret;

	m->at = aligned_alloc(4096, MEM_LEN);
	if (m->at == NULL)
		EMU_DIE("no memory");
	for (i = 0; i < MEM_LEN; i++)
		m->at[i] = (uint8_t)(1 + (i * 31 + i / 256) % 255);
	ret = hwq_mr_register(dev, m->at, MEM_LEN,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ, &m->mr);
	if (ret != 0)
		EMU_DIE("registering memory: %s", strerror(-ret));
}

static void
memory_destroy(struct memory *m)
{
	CHECK_EQ(hwq_mr_deregister(&m->mr), 0, "deregister");
	free(m->at);
}

/* Takes completions until the ring is empty. Each completion must be good. */
static void
drain(struct twin *t)
{
	struct hwq_cqe rec = {0};

	while (hwq_sq_used_bb(&t->qp->sq) != 0) {
		if (!emu_wait(t->cq, &rec)) {
			CHECK(false, "%u WQEBBs never completed", hwq_sq_used_bb(&t->qp->sq));
			return;
		}
		CHECK(rec.syndrome == 0, "syndrome 0x%x vendor 0x%x", rec.syndrome, rec.vendor_err);
		hwq_sq_complete(&t->qp->sq, rec.wqe_counter);
	}
}

/* ------------------------------------------------------------------ laps */

/* Copies len bytes at offset by a random builder. Returns the builder's result. */
static int
copy_some(struct hwq_sq *sq, const struct memory *m, uint64_t *rnd, uint32_t at, uint32_t len,
	unsigned int flags)
{
	uintptr_t src = (uintptr_t)m->at + at, dst = src + HALF;
	struct hwq_sge sge[3] = {{src, len / 2, m->mr.lkey}, {src, 0, m->mr.lkey},
		{src + len / 2, len - len / 2, m->mr.lkey}};
	struct hwq_sge into[3] = {{dst, len / 2, m->mr.lkey}, {dst, 0, m->mr.lkey},
		{dst + len / 2, len - len / 2, m->mr.lkey}};

	switch (check_random(rnd) % 6) {
	case 0:
		if (has_mmo)
			return hwq_wqe_memcpy(sq, m->mr.lkey, dst, m->mr.lkey, src, len, flags);
		/* fall through */
	case 1:
		return hwq_wqe_rdma_write(sq, m->mr.rkey, dst, m->mr.lkey, src, len, flags);
	case 2:
		return hwq_wqe_rdma_read(sq, m->mr.rkey, src, m->mr.lkey, dst, len, flags);
	case 3:
		return hwq_wqe_list(sq, MLX5_OPCODE_RDMA_WRITE, m->mr.rkey, dst, sge, 3, flags);
	case 4:
		return hwq_wqe_list(sq, MLX5_OPCODE_RDMA_READ, m->mr.rkey, src, into, 3, flags);
	default:
		return hwq_wqe_inline(sq, MLX5_OPCODE_RDMA_WRITE, m->mr.rkey, dst, m->at + at, len,
			flags, 0);
	}
}

/*
 * Posts random bursts of random work with random signalling. Every byte is checked when all work
 * has completed.
 */
static void
many_laps(struct twin *t, const struct memory *m, uint64_t rnd, unsigned int n_work)
{
	struct hwq_sq *sq = &t->qp->sq;
	unsigned int done = 0, burst, unsignalled = 0, i;
	uint32_t first_cqe = t->cq->ci;
	uint64_t last = emu_now_ns();
	struct hwq_cqe rec[8];
	/*
	 * The expected second half: each byte is 0, or equals the source's byte. No byte of the
	 * source is 0.
	 */
	uint8_t *want = calloc(1, HALF);

	if (want == NULL)
		EMU_DIE("no memory");
	memset(m->at + HALF, 0, HALF);
	while (done < n_work) {
		burst = 1 + (unsigned int)(check_random(&rnd) % 8);
		for (i = 0; i < burst; i++) {
			uint32_t len = 1 + (uint32_t)(check_random(&rnd) % 128);
			uint32_t at = done % (HALF / 128) * 128;
			bool signal = ++unsignalled >= 8 || check_random(&rnd) % 4 == 0;

			if (copy_some(sq, m, &rnd, at, len, signal ? HWQ_WQE_SIGNALED : 0) == 0)
				break;
			memcpy(want + at, m->at + at, len);
			done++;
			if (signal)
				unsignalled = 0;
		}
		hwq_sq_ring(sq);
		if (i != burst && hwq_sq_pending_bb(sq) != 0)
			CHECK(false, "pending after the doorbell");
		softhca_pump();
		burst = hwq_cq_poll(t->cq, rec, 8);
		if (burst != 0 || i != 0)
			last = emu_now_ns();
		CHECK(emu_now_ns() - last < CHECK_PATIENCE_NS, "the queue makes no progress");
		for (i = 0; i < burst; i++) {
			CHECK(rec[i].syndrome == 0 && rec[i].qpn == t->qp->qpn, "syndrome 0x%x",
				rec[i].syndrome);
			hwq_sq_complete(sq, rec[i].wqe_counter);
		}
		if (check_failures != 0) {
			free(want);
			return;
		}
	}
	while (hwq_wqe_nop(sq, HWQ_WQE_SIGNALED) == 0) {
		CHECK(emu_wait(t->cq, rec), "full, and nothing completes");
		hwq_sq_complete(sq, rec[0].wqe_counter);
	}
	hwq_sq_ring(sq);
	drain(t);
	check_bytes(m->at + HALF, want, HALF, "what was copied");
	free(want);
	CHECK(n_work < 50000 || t->cq->ci - first_cqe > 4 * t->cq->n_cqe, "no laps of the CQ");
}

static const struct hwq_qp_conf laps_conf = {.sq_wr = 16, .max_sge = 4, .max_inline = 128};

static void
laps_on_itself(void)
{
	struct hwq_qp_conf conf = laps_conf;
	struct memory m;
	struct twin t;

	conf.mmo = has_mmo;
	memory_create(&m);
	twin_create(dev, &conf, &t);
	twin_connect_self(&t);
	many_laps(&t, &m, seed, 100000);
	twin_destroy(&t);
	memory_destroy(&m);
}

static void *
thread_main(void *arg)
{
	struct twin *t = arg;
	struct memory m;

	memory_create(&m);
	many_laps(t, &m, seed + t->qp->qpn, 20000);
	memory_destroy(&m);
	return NULL;
}

/*
 * Four owner threads, each with its own domain, must not disturb each other. Two of the domains
 * share a page, but not a register.
 */
static void
threads(void)
{
	struct hwq_qp_conf conf = laps_conf;
	struct twin t[4];
	pthread_t id[4];
	unsigned int i;

	conf.mmo = has_mmo;
	for (i = 0; i < 4; i++) {
		twin_create(dev, &conf, &t[i]);
		twin_connect_self(&t[i]);
	}
	for (i = 0; i < 4; i++) {
		if (pthread_create(&id[i], NULL, thread_main, &t[i]) != 0)
			EMU_DIE("creating a thread");
	}
	for (i = 0; i < 4; i++)
		pthread_join(id[i], NULL);
	for (i = 0; i < 4; i++) {
		unsigned int j;

		for (j = 0; j < i; j++)
			CHECK(t[i].domain->bf.reg != t[j].domain->bf.reg ||
					t[i].domain->bf.toggle == 0,
				"two domains share a BlueFlame register");
	}
	for (i = 0; i < 4; i++)
		twin_destroy(&t[i]);
}

/* ------------------------------------------------------------------ doorbells by mode */

static void
blueflame_by_mode(void)
{
	const char *size = getenv("SOFTHCA_BF_REG_SIZE"), *shut_up = getenv("MLX5_SHUT_UP_BF");
	const char *lanes = getenv("SOFTHCA_THREADS");
	struct hwq_qp_conf conf = {.sq_wr = 8, .max_inline = 60};
	bool bf = (size == NULL || strcmp(size, "0") != 0) && shut_up == NULL;
	struct hwq_bf *reg;
	uint64_t word[2];
	struct twin t;

	twin_create(dev, &conf, &t);
	twin_connect_self(&t);
	reg = t.qp->sq.bf;
	CHECK((reg->max_ds != 0) == bf, "BlueFlame: up to %u DS", reg->max_ds);
	CHECK(dev->no_bf == (shut_up != NULL), "MLX5_SHUT_UP_BF");
	if (lanes == NULL || strcmp(lanes, "0") != 0)
		/*
		 * With a device thread, the adapter reads the register's content at once, so the
		 * test cannot read it.
		 */
		goto out;
	CHECK_EQ(hwq_wqe_inline(&t.qp->sq, MLX5_OPCODE_RDMA_WRITE, 1, 2, "data", 0,
			 HWQ_WQE_SIGNALED, 0),
		1, "WQEBBs");
	memcpy(word, reg->reg + reg->offset, 16);
	hwq_sq_ring(&t.qp->sq);
	CHECK_EQ((memcmp(reg->reg + (reg->offset ^ reg->toggle) + 8,
			  (uint8_t *)hwq_sq_at(&t.qp->sq, 0) + 8, 8) == 0),
		bf, "the WQE's second word is in the register");
	drain(&t);
out:
	twin_destroy(&t);
}

/* ------------------------------------------------------------------ full */

static bool
peek_wait(const struct hwq_cq *cq, struct hwq_cqe *rec)
{
	uint64_t end = emu_now_ns() + CHECK_PATIENCE_NS;

	while (!hwq_cq_peek(cq, rec)) {
		if (softhca_pump() == 0 && emu_now_ns() > end)
			return false;
	}
	return true;
}

/* The CQ has exactly hwq_qp_cqe_needed() entries, and must never overrun. */
static void
full_and_flushed(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 32};
	uint32_t n = 0, lap;
	struct hwq_cqe rec = {0};
	struct twin t;

	twin_create(dev, &conf, &t);
	CHECK_EQ(t.cq->n_cqe, hwq_sq_n_bb(&t.qp->sq), "CQEs");
	for (lap = 0; lap < 5; lap++) {
		twin_connect_self(&t);
		while (hwq_wqe_nop(&t.qp->sq, HWQ_WQE_SIGNALED) == 1)
			n++;
		hwq_sq_ring(&t.qp->sq);
		/* WQEBBs become free one by one, and each is used at once. */
		for (n = 0; n < 200; n++) {
			CHECK(peek_wait(t.cq, &rec), "no completion");
			/* The index is not published here: hwq_sq_ring() must publish it. */
			hwq_cq_advance(t.cq);
			hwq_sq_complete(&t.qp->sq, rec.wqe_counter);
			CHECK_EQ(hwq_wqe_nop(&t.qp->sq, HWQ_WQE_SIGNALED), 1, "WQEBBs");
			hwq_sq_ring(&t.qp->sq);
			if (check_failures != 0)
				return;
		}
		drain(&t);
		/* A full ring of unsignalled WQEs is flushed: each must make one CQE. */
		CHECK_EQ(hwq_qp_fail(t.qp), 0, "to ERR");
		for (n = 0; hwq_wqe_nop(&t.qp->sq, 0) == 1; n++)
			;
		CHECK_EQ(n, hwq_sq_n_bb(&t.qp->sq), "NOPs in an empty ring");
		hwq_sq_ring(&t.qp->sq);
		for (; n != 0; n--) {
			CHECK(emu_wait(t.cq, &rec), "%u flushes missing", n);
			CHECK_EQ(rec.syndrome, MLX5_CQE_SYNDROME_WR_FLUSH_ERR, "syndrome");
			CHECK_EQ(hwq_sq_complete(&t.qp->sq, rec.wqe_counter), 1, "freed");
			if (check_failures != 0)
				return;
		}
		CHECK_EQ(hwq_qp_reset(t.qp), 0, "reset");
	}
	twin_destroy(&t);
}

/* ------------------------------------------------------------------ errors and resets */

static int
bad_work(struct hwq_sq *sq, const struct memory *m)
{
	if (has_mmo)
		return hwq_wqe_memcpy(sq, m->mr.lkey, (uintptr_t)m->at + HALF, m->mr.lkey ^ 0x5500,
			(uintptr_t)m->at, 64, 0);
	return hwq_wqe_rdma_write(sq, m->mr.rkey, (uintptr_t)m->at + HALF, m->mr.lkey ^ 0x5500,
		(uintptr_t)m->at, 64, 0);
}

/*
 * One good WQE, one bad WQE, a NOP that fills the ring's end, and later WQEs: expected are a
 * success, an error and flushes, in order.
 */
static void
error_and_flush(void)
{
	static const uint8_t data[128];
	struct hwq_qp_conf conf = laps_conf;
	struct hwq_cqe rec = {0};
	char text[1024];
	struct memory m;
	struct twin t;
	struct hwq_sq *sq;
	uint32_t i, n;

	conf.mmo = has_mmo;
	memory_create(&m);
	twin_create(dev, &conf, &t);
	twin_connect_self(&t);
	sq = &t.qp->sq;
	n = hwq_sq_n_bb(sq);
	for (i = 0; i < n - 4; i++)
		CHECK_EQ(hwq_wqe_nop(sq, i + 5 == n ? HWQ_WQE_SIGNALED : 0), 1, "WQEBBs");
	hwq_sq_ring(sq);
	drain(&t);
	CHECK_EQ(hwq_wqe_nop(sq, HWQ_WQE_SIGNALED), 1, "the good one");
	CHECK_EQ(bad_work(sq, &m), 1, "the bad one");
	CHECK_EQ(hwq_wqe_inline(sq, MLX5_OPCODE_RDMA_WRITE, 1, 2, data, 128, 0, 0), 3,
		"behind a fill");
	CHECK_EQ(hwq_wqe_nop(sq, 0), 1, "the last");
	hwq_sq_ring(sq);
	CHECK(emu_wait(t.cq, &rec), "no completion");
	CHECK(rec.syndrome == 0 && rec.wqe_counter == n - 4, "the good one: WQE 0x%x",
		rec.wqe_counter);
	CHECK_EQ(hwq_sq_complete(sq, rec.wqe_counter), 1, "freed");
	CHECK(emu_wait(t.cq, &rec), "no completion");
	CHECK_EQ(rec.opcode, MLX5_CQE_REQ_ERR, "CQE opcode");
	CHECK_EQ(rec.wqe_opcode, has_mmo ? MLX5_OPCODE_MMO : MLX5_OPCODE_RDMA_WRITE, "WQE opcode");
	CHECK_EQ(rec.syndrome, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, "syndrome");
	CHECK_EQ(rec.wqe_counter, n - 3, "the bad one");
	CHECK_EQ(rec.qpn, t.qp->qpn, "QPN");
	hwq_dump_sq_wqe(sq, rec.wqe_counter, text, sizeof(text));
	CHECK(strstr(text, has_mmo ? "MMO" : "RDMA_WRITE") != NULL, "%s", text);
	CHECK_EQ(hwq_sq_complete(sq, rec.wqe_counter), 1, "freed");
	/*
	 * The fill is flushed like any other WQE: it must make a CQE, although it is unsignalled.
	 */
	for (i = 0; i < 3; i++) {
		static const uint32_t freed[] = {2, 3, 1};

		CHECK(emu_wait(t.cq, &rec), "flush %u missing", i);
		CHECK_EQ(rec.syndrome, MLX5_CQE_SYNDROME_WR_FLUSH_ERR, "syndrome");
		CHECK_EQ(hwq_sq_complete(sq, rec.wqe_counter), freed[i], "freed");
	}
	CHECK_EQ(hwq_sq_used_bb(sq), 0, "used");
	CHECK_EQ(hwq_qp_state(t.qp), IBV_QPS_ERR, "state");
	CHECK_EQ(hwq_cq_poll(t.cq, &rec, 1), 0, "more completions than WQEs");
	/* After a reset the QP must work like a new QP, including MMO. */
	CHECK_EQ(hwq_qp_reset(t.qp), 0, "reset");
	CHECK_EQ(hwq_qp_state(t.qp), IBV_QPS_INIT, "state");
	twin_connect_self(&t);
	CHECK_EQ(hwq_qp_state(t.qp), IBV_QPS_RTS, "state");
	many_laps(&t, &m, seed, 5000);
	twin_destroy(&t);
	memory_destroy(&m);
}

/*
 * Two QPs share a CQ. One QP is reset or destroyed while completions are unread and WQEs have no
 * doorbell yet. Its completions must disappear.
 */
static void
stale_completions(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 16};
	uint32_t need = hwq_qp_cqe_needed(&conf), round, i;
	struct hwq_qp *a, *b;
	struct hwq_domain *domain;
	struct hwq_addr addr;
	struct hwq_cqe rec = {0};
	uint64_t deadline;
	struct hwq_cq *cq;

	if (hwq_domain_create(dev, &domain) != 0 || hwq_cq_create(domain, 2 * need, &cq) != 0 ||
		hwq_qp_create(domain, cq, &conf, &a) != 0)
		EMU_DIE("queues");
	hwq_qp_addr(a, &addr);
	CHECK_EQ(hwq_qp_connect(a, &addr), 0, "connect");
	/*
	 * In odd rounds the entries to drop cross the end of the CQ. Both values of the owner bit
	 * occur.
	 */
	for (round = 0; round < 40; round++) {
		uint16_t first = a->sq.pi;

		if (hwq_qp_create(domain, cq, &conf, &b) != 0)
			EMU_DIE("a second QP");
		hwq_qp_addr(b, &addr);
		CHECK_EQ(hwq_qp_connect(b, &addr), 0, "connect");
		for (i = 0; i < 5; i++) {
			CHECK_EQ(hwq_wqe_nop(&a->sq, HWQ_WQE_SIGNALED), 1, "WQEBBs");
			hwq_sq_ring(&a->sq);
			CHECK_EQ(hwq_wqe_nop(&b->sq, HWQ_WQE_SIGNALED), 1, "WQEBBs");
			CHECK_EQ(hwq_wqe_nop(&b->sq, HWQ_WQE_SIGNALED), 1, "WQEBBs");
			hwq_sq_ring(&b->sq);
		}
		CHECK_EQ(hwq_wqe_nop(&b->sq, HWQ_WQE_SIGNALED), 1, "never announced");
		/*
		 * Waits until the device has completed all WQEs, so that the last entry is written.
		 */
		for (deadline = emu_now_ns() + CHECK_PATIENCE_NS;
			!hwq_cq_is_ours(cq, cq->ci + 14) && emu_now_ns() < deadline;) {
			emu_pump();
			usleep(100);
		}
		if (round % 2 == 0) {
			CHECK_EQ(hwq_qp_reset(b), 0, "reset");
			CHECK_EQ(hwq_sq_used_bb(&b->sq), 0, "used after a reset");
			CHECK_EQ(hwq_sq_pending_bb(&b->sq), 0, "pending after a reset");
		} else {
			CHECK_EQ(hwq_qp_destroy(b), 0, "destroy");
			b = NULL;
		}
		for (i = 0; i < 5; i++) {
			CHECK_EQ(hwq_cq_poll(cq, &rec, 1), 1, "a completion of the other QP");
			CHECK(rec.qpn == a->qpn && rec.wqe_counter == (uint16_t)(first + i),
				"QP 0x%x WQE 0x%x", rec.qpn, rec.wqe_counter);
			hwq_sq_complete(&a->sq, rec.wqe_counter);
		}
		CHECK_EQ(hwq_cq_poll(cq, &rec, 1), 0, "a stale completion");
		if (b != NULL)
			CHECK_EQ(hwq_qp_destroy(b), 0, "destroy");
		if (check_failures != 0)
			break;
	}
	CHECK_EQ(hwq_qp_destroy(a), 0, "destroy");
	CHECK_EQ(hwq_cq_destroy(cq), 0, "destroy");
	CHECK_EQ(hwq_domain_destroy(domain), 0, "destroy");
}

/* ------------------------------------------------------------------ two ends */

/* SENDs of every kind must arrive in a receive queue, over many laps. */
static void
send_and_receive(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 16, .max_sge = 3, .max_inline = 60, .rq_wr = 8};
	struct hwq_cqe rec = {0};
	struct memory m;
	struct twin a, b;
	uint32_t i;

	memory_create(&m);
	twin_create(dev, &conf, &a);
	twin_create(dev, &conf, &b);
	twin_connect(a.qp, b.qp);
	for (i = 0; i < 1000; i++) {
		uintptr_t src = (uintptr_t)m.at + i % 64 * 64, dst = (uintptr_t)m.at + HALF;
		const struct hwq_sge sge[2] = {{src, 20, m.mr.lkey}, {src + 20, 40, m.mr.lkey}};
		const struct hwq_buf buf[2] = {{(void *)src, 59}, {(void *)(src + 59), 1}};
		unsigned int flags = HWQ_WQE_SIGNALED | (i % 2 ? HWQ_WQE_SOLICITED : 0);
		int bb;

		memset(m.at + HALF, 0, 64);
		CHECK(hwq_rq_post(&b.qp->rq, m.mr.lkey, dst, 64), "receive queue full");
		hwq_rq_ring(&b.qp->rq);
		if (i % 4 == 0)
			bb = hwq_wqe_one(&a.qp->sq, MLX5_OPCODE_SEND, 0, 0, m.mr.lkey, src, 60,
				flags, 0);
		else if (i % 4 == 1)
			bb = hwq_wqe_list(&a.qp->sq, MLX5_OPCODE_SEND, 0, 0, sge, 2, flags);
		else if (i % 4 == 2)
			bb = hwq_wqe_inline(&a.qp->sq, MLX5_OPCODE_SEND, 0, 0, (void *)src, 60,
				flags, 0);
		else
			bb = hwq_wqe_inline_list(&a.qp->sq, MLX5_OPCODE_SEND, 0, 0, buf, 2, flags);
		CHECK(bb > 0, "%d WQEBBs", bb);
		hwq_sq_ring(&a.qp->sq);
		CHECK(emu_wait(b.cq, &rec), "nothing received");
		CHECK_EQ(rec.opcode, MLX5_CQE_RESP_SEND, "CQE opcode");
		CHECK_EQ(rec.byte_cnt, 60, "bytes");
		CHECK_EQ(rec.wqe_counter, (uint16_t)i, "entry");
		CHECK_EQ(rec.solicited, i % 2, "solicited");
		hwq_rq_complete(&b.qp->rq, rec.wqe_counter);
		CHECK_EQ(hwq_rq_free(&b.qp->rq), 8, "free entries");
		drain(&a);
		CHECK(memcmp((void *)src, m.at + HALF, 60) == 0, "data");
		if (check_failures != 0)
			break;
	}
	for (i = 0; hwq_rq_post(&b.qp->rq, m.mr.lkey, (uintptr_t)m.at, 1); i++)
		;
	CHECK_EQ(i, 8, "entries of a receive queue");
	twin_destroy(&a);
	twin_destroy(&b);
	memory_destroy(&m);
}

/* ------------------------------------------------------------------ refusals */

static int
try_qp(struct hwq_domain *domain, struct hwq_cq *cq, struct hwq_qp_conf conf)
{
	struct hwq_qp *qp = NULL;
	int ret = hwq_qp_create(domain, cq, &conf, &qp);

	CHECK((ret == 0) == (qp != NULL), "out-pointer after %d", ret);
	if (ret == 0)
		CHECK_EQ(hwq_qp_destroy(qp), 0, "destroy");
	return ret;
}

static unsigned int log_lines;

static void
count_log(const char *text)
{
	log_lines++;
	CHECK(text != NULL && strncmp(text, "hwq: ", 5) == 0);
	CHECK(text != NULL && strchr(text, '\n') == NULL);
}

static void
refused_queues(void)
{
	struct hwq_domain *domain;
	struct hwq_cq *cq, *none = NULL;
	struct hwq_qp *qp;
	struct hwq_qp_conf ok = {.sq_wr = 16};
	uint32_t n;

	if (hwq_domain_create(dev, &domain) != 0 || hwq_cq_create(domain, 64, &cq) != 0)
		EMU_DIE("queues");
	log_lines = 0;
	CHECK_EQ(hwq_cq_create(domain, 0, &none), -EINVAL, "CQ of 0");
	CHECK_EQ(hwq_cq_create(domain, dev->caps.max_cqe + 1, &none), -EINVAL, "CQ too large");
	CHECK(none == NULL, "out-pointer of a refused CQ");
	CHECK_EQ(try_qp(domain, cq, ok), 0, "a good QP");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){0}), -EINVAL, "no WQEs");
	/*
	 * These queues have neither flush nor atomic write, and bit 40 is unknown: all three must
	 * be refused.
	 */
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 4, .send_ops = 1u << 11}),
		-EOPNOTSUPP, "flush");
	CHECK_EQ(try_qp(domain, cq,
			 (struct hwq_qp_conf){.sq_wr = 4,
				 .send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_ATOMIC_WRITE}),
		-EOPNOTSUPP, "atomic write");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 4, .send_ops = 1ull << 40}),
		-EOPNOTSUPP, "an unknown operation");
	CHECK_EQ(try_qp(domain, cq,
			 (struct hwq_qp_conf){.sq_wr = 4, .send_ops = IBV_QP_EX_WITH_TSO}),
		-EOPNOTSUPP, "TSO, which RC does not do");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 1u << 20}), -EINVAL, "sq_wr");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = UINT32_MAX}), -EINVAL, "sq_wr");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 1, .rq_wr = UINT32_MAX}), -EINVAL,
		"rq_wr");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 4, .max_sge = 62}), -EINVAL,
		"sge");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 4, .max_sge = UINT32_MAX}),
		-EINVAL, "sge");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 4, .max_inline = 973}), -EINVAL,
		"inline");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 4, .max_inline = UINT32_MAX}),
		-EINVAL, "inline");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 4, .max_inline = 972}), 0, "972");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 65}), -ENOSPC, "a CQ too small");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 64, .rq_wr = 1}), -ENOSPC,
		"and RQ");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 64}), 0, "and just enough");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 4, .mmo = true}),
		has_mmo ? 0 : -EOPNOTSUPP, "MMO");
	setenv("MLX5_QP_SIGNATURE", "1", 1);
	CHECK_EQ(try_qp(domain, cq, ok), -EOPNOTSUPP, "signed WQEs");
	unsetenv("MLX5_QP_SIGNATURE");
	for (n = 1; n <= 32; n++) {
		CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = n, .rq_wr = n}), 0, "n");
		CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 1, .max_sge = n % 30}), 0,
			"max_sge");
		CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 1, .max_inline = n * 30}),
			0, "max_inline");
	}
	CHECK_EQ(hwq_qp_create(domain, cq, &ok, &qp), 0, "a good QP");
	CHECK_EQ(hwq_cq_destroy(cq), -EBUSY, "a CQ in use");
	CHECK_EQ(hwq_domain_destroy(domain), -EBUSY, "a domain in use");
	CHECK_EQ(hwq_dev_close(dev), -EBUSY, "a device in use");
	CHECK_EQ(log_lines, has_mmo ? 20 : 21, "log lines: one for each refusal");
	CHECK_EQ(hwq_qp_destroy(qp), 0, "destroy");
	CHECK_EQ(hwq_cq_destroy(cq), 0, "destroy");
	CHECK_EQ(hwq_domain_destroy(domain), 0, "destroy");
}

/* Queues as large as ibv_query_device(3) reports can be created; larger queues are refused. */
static void
largest_queues(void)
{
	struct ibv_device_attr attr;
	struct hwq_domain *domain;
	struct hwq_cq *cq;
	uint32_t wr, sge;

	CHECK_EQ(ibv_query_device(dev->ctx, &attr), 0, "the device's limits");
	wr = (uint32_t)attr.max_qp_wr;
	sge = (uint32_t)attr.max_sge;
	if (hwq_domain_create(dev, &domain) != 0 || hwq_cq_create(domain, 2 * wr, &cq) != 0)
		EMU_DIE("queues");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = wr}), 0, "sends");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = wr + 1}), -EINVAL, "sends");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 1, .rq_wr = wr}), 0, "receives");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 1, .rq_wr = wr + 1}), -EINVAL,
		"receives");
	/* A WQE with four pieces takes two WQEBBs, and the ring has at most max_qp_wr WQEBBs. */
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = wr / 2, .max_sge = 4}), 0,
		"WQEBBs");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = wr / 2 + 1, .max_sge = 4}),
		-EINVAL, "WQEBBs");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 1, .max_sge = sge}), 0, "pieces");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 1, .max_sge = sge + 1}), -EINVAL,
		"pieces");
	CHECK_EQ(try_qp(domain, cq, (struct hwq_qp_conf){.sq_wr = 1, .rq_wr = 1, .rq_sge = sge}), 0,
		"pieces of a receive");
	CHECK_EQ(try_qp(domain, cq,
			 (struct hwq_qp_conf){.sq_wr = 1, .rq_wr = 1, .rq_sge = sge + 1}),
		-EINVAL, "pieces of a receive");
	CHECK_EQ(hwq_cq_destroy(cq), 0, "destroy");
	CHECK_EQ(hwq_domain_destroy(domain), 0, "destroy");
}

static void
refused_addresses(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 4};
	struct hwq_addr good, bad;
	struct twin t;

	twin_create(dev, &conf, &t);
	hwq_qp_addr(t.qp, &good);
	memset(&bad, 0, sizeof(bad));
	CHECK_EQ(hwq_qp_connect(t.qp, &bad), -EINVAL, "zeros");
	bad = good;
	bad.version = 9;
	CHECK_EQ(hwq_qp_connect(t.qp, &bad), -EPROTONOSUPPORT, "version");
	bad = good;
	bad.link_layer = (uint8_t)(3 - good.link_layer);
	bad.has_gid = 1;
	CHECK_EQ(hwq_qp_connect(t.qp, &bad), -EPROTONOSUPPORT, "link layer");
	bad = good;
	bad.mtu = 6;
	CHECK_EQ(hwq_qp_connect(t.qp, &bad), -EINVAL, "MTU");
	CHECK_EQ(hwq_qp_state(t.qp), IBV_QPS_INIT, "state");
	CHECK_EQ(hwq_qp_connect(t.qp, &good), 0, "a good one");
	CHECK_EQ(hwq_qp_connect(t.qp, &good), -EINVAL, "twice");
	twin_destroy(&t);
}

static void
refused_memory(void)
{
	struct hwq_mr mr = {0};
	uint8_t *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(page, 4096);
	CHECK_EQ(hwq_mr_register(dev, &mr, 0, 0, &mr), -EINVAL, "no bytes");
	CHECK_EQ(hwq_mr_register(dev, (void *)(UINTPTR_MAX - 10), 100, 0, &mr), -EINVAL,
		"overflow");
	CHECK_EQ(hwq_mr_register(dev, page, 4096, 0, &mr), -EFAULT, "not mapped");
	CHECK_EQ(hwq_mr_register(dev, &mr, sizeof(mr), IBV_ACCESS_REMOTE_WRITE, &mr), -EINVAL,
		"remote write without local write");
	CHECK(mr.mr == NULL && mr.lkey == 0, "a refused registration wrote its output");
}

static void
devices(void)
{
	struct hwq_dev *other = NULL;

	CHECK_EQ(hwq_dev_open("no_such_device", &other), -ENODEV, "open");
	CHECK(other == NULL, "out-pointer");
	CHECK_EQ(hwq_dev_open(hwq_dev_name(dev), &other), 0, "a second open, by name");
	CHECK_EQ(hwq_dev_close(other), 0, "close");
	CHECK(hwq_dev_caps(dev)->max_qp_wr > 0 && hwq_dev_caps(dev)->max_cqe > 0 &&
			hwq_dev_caps(dev)->max_sge > 0 && hwq_dev_caps(dev)->max_msg_len > 0 &&
			hwq_dev_caps(dev)->max_rd_atomic > 0,
		"a limit of 0");
	CHECK(dev->port.link_layer != IBV_LINK_LAYER_ETHERNET || dev->port.has_gid, "no GID");
}

static void
quiet(const char *text)
{
	(void)text;
}

int
main(int argc, char **argv)
{
	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	printf("seed %llu\n", (unsigned long long)seed);
	dev = emu_open();
	has_mmo = hwq_dev_caps(dev)->max_memcpy_len != 0;
	RUN("BlueFlame is used if the adapter has it and the environment allows it",
		blueflame_by_mode());
	RUN("a QP that is connected to itself moves every byte, over many laps", laps_on_itself());
	RUN("a CQ of the computed size never overruns, with a full or a flushed queue",
		full_and_flushed());
	RUN("failed and flushed work completes in order, and a reset repairs the QP",
		error_and_flush());
	RUN("a QP that is reset or destroyed takes its own completions from the CQ",
		stale_completions());
	RUN("every SEND is received", send_and_receive());
	RUN("threads with their own domains do not disturb each other", threads());
	hwq_log_set(count_log);
	RUN("impossible queues are refused, each with a reason", refused_queues());
	hwq_log_set(quiet);
	RUN("the largest queues that the device promises can be created", largest_queues());
	RUN("impossible addresses are refused", refused_addresses());
	RUN("impossible memory is refused", refused_memory());
	RUN("devices open by name, more than once", devices());
	hwq_log_set(NULL);
	CHECK_EQ(softhca_violations(), 0, "violations");
	CHECK_EQ(hwq_dev_close(dev), 0, "close");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
