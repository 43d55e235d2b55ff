/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cancelling pending work requests. On the first lap of the ring, hwq is compared with libmlx5's
 * mlx5dv_qp_cancel_posted_send_wrs(): count, bytes and effect. On later laps libmlx5 is wrong,
 * because it compares a masked index with a free-running index. There hwq is compared with the
 * manual page, by a list of pending requests that this test keeps.
 */
#include "hwq_cancel.h"
#include "hwq_emu.h"
#include "hwq_wqe.h"
#include "hwq_wr.h"

#define N_SLOT   256
#define SLOT     256
#define N_WR_IDS 4
#define MAX_LEN  150 /* inline data, so a WQE has up to three WQEBBs */

static struct hwq_dev *dev;
static uint64_t rnd = 3;
static uint8_t mem[2][N_SLOT][SLOT]; /* destinations: [0] of libmlx5, [1] of hwq */
static struct hwq_mr mr;
static uint8_t data[MAX_LEN];

static const struct hwq_qp_conf conf = {.sq_wr = 32,
	.max_inline = MAX_LEN,
	.send_ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ};

/*
 * One request: an inline write of len bytes to the slot with its number; or a raw NOP, which has no
 * length.
 */
struct request {
	uint64_t wr_id;
	uint32_t len;
	uint16_t slot;
	bool signaled, cancelled;
};

static const uint8_t raw_nop[2][16] = {{[7] = 1}, {[7] = 1, [11] = MLX5_WQE_CTRL_CQ_UPDATE}};

static struct request
draw(uint16_t slot)
{
	return (struct request){.wr_id = 100 + check_random(&rnd) % N_WR_IDS,
		.len = 1 + (uint32_t)(check_random(&rnd) % MAX_LEN),
		.slot = slot,
		.signaled = check_random(&rnd) % 2};
}

static void
stock_post(struct stock *s, const struct request *r)
{
	ibv_wr_start(s->ex);
	s->ex->wr_id = r->wr_id;
	s->ex->wr_flags = r->signaled ? IBV_SEND_SIGNALED : 0;
	if (r->len != 0) {
		ibv_wr_rdma_write(s->ex, mr.rkey, (uintptr_t)mem[0][r->slot]);
		ibv_wr_set_inline_data(s->ex, data, r->len);
	} else {
		uint8_t nop[16];

		/* The application must set the QPN of a raw WQE. */
		memcpy(nop, raw_nop[r->signaled], sizeof(nop));
		nop[4] = (uint8_t)(s->qp->qp_num >> 16);
		nop[5] = (uint8_t)(s->qp->qp_num >> 8);
		nop[6] = (uint8_t)s->qp->qp_num;
		mlx5dv_wr_raw_wqe(s->dv, nop);
	}
	CHECK_EQ(ibv_wr_complete(s->ex), 0, "libmlx5's posting");
}

static int
hwq_post(struct hwq_qp *qp, const struct request *r)
{
	struct hwq_wr wr;

	hwq_wr_start(&wr, &qp->sq);
	wr.wr_id = r->wr_id;
	wr.wr_flags = r->signaled ? HWQ_WQE_SIGNALED : 0;
	if (r->len != 0) {
		hwq_wr_rdma_write(&wr, mr.rkey, (uintptr_t)mem[1][r->slot]);
		hwq_wr_set_inline_data(&wr, data, r->len);
	} else {
		hwq_wr_nop(&wr);
	}
	return hwq_wr_complete(&wr);
}

/* ------------------------------------------------------------------ the first lap */

/* Compares the bytes up to DS, without QPN and address, because the destinations differ. */
static void
same_wqes(const struct stock *s, const struct hwq_sq *sq)
{
	uint16_t i = 0;

	while (i != sq->pi && check_failures == 0) {
		uint8_t a[192], b[192];
		const uint8_t *stock = (const uint8_t *)s->view.sq.buf + i * 64u;
		const uint8_t *ours = (const uint8_t *)hwq_sq_at(sq, i);
		uint32_t len = (ours[7] & 0x3f) * 16u, used = len;

		memcpy(a, stock, len);
		memcpy(b, ours, len);
		memset(a + 4, 0, 3);
		memset(b + 4, 0, 3);
		memset(a + 16, 0, 8);
		memset(b + 16, 0, 8);
		/* libmlx5 does not write the padding of inline data. A NOP has no inline data. */
		used = 32 + 4 + (be32toh(*(const __be32 *)(const void *)(ours + 32)) & 0x3ff);
		check_bytes(b, a, used < len ? used : len, "a WQE");
		i = (uint16_t)(i + (len + 63) / 64);
	}
}

static void
modify(struct ibv_qp *qp, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = {.qp_state = to};

	stock_modify(qp, &attr, IBV_QP_STATE);
}

static void
same_completions(struct stock *s, struct twin *t, const struct request *r, unsigned int n)
{
	uint64_t ids[64];
	struct ibv_wc wc[64];
	unsigned int i, n_signaled = 0;

	for (i = 0; i < n; i++)
		n_signaled += r[i].signaled;
	emu_pump();
	CHECK_EQ(hwq_wr_poll(&t->qp->sq, ids, 64), n_signaled, "completions");
	CHECK_EQ(ibv_poll_cq(s->cq, 64, wc), n_signaled, "libmlx5's completions");
	for (i = 0, n_signaled = 0; i < n; i++) {
		if (!r[i].signaled)
			continue;
		CHECK_EQ(ids[n_signaled], r[i].wr_id, "wr_id");
		CHECK_EQ(wc[n_signaled].wr_id, r[i].wr_id, "libmlx5's wr_id");
		CHECK_EQ(wc[n_signaled].status, IBV_WC_SUCCESS, "status");
		n_signaled++;
	}
	check_bytes(mem[1], mem[0], sizeof(mem[0]), "what was written");
}

/* Posts some requests on both queues. About every fifth request is a NOP. */
static void
post_both(struct stock *s, struct twin *t, struct request *r, unsigned int from, unsigned int to)
{
	unsigned int i;

	for (i = from; i < to; i++) {
		r[i] = draw((uint16_t)i);
		if (check_random(&rnd) % 5 == 0)
			r[i].len = 0;
		stock_post(s, &r[i]);
		CHECK_EQ(hwq_post(t->qp, &r[i]), 0, "posting");
	}
}

/* Cancels on both queues, which must return the same. */
static int
cancel_both(struct stock *s, struct twin *t, uint64_t wr_id)
{
	int ret = mlx5dv_qp_cancel_posted_send_wrs(s->dv, wr_id);

	CHECK_EQ(hwq_qp_cancel_posted_send_wrs(t->qp, wr_id), ret, "how many");
	return ret;
}

static void
stop_both(struct stock *s, struct twin *t)
{
	emu_pump();
	CHECK_EQ(cancel_both(s, t, 100), -EINVAL, "in RTS");
	modify(s->qp, IBV_QPS_SQD);
	CHECK_EQ(hwq_qp_stop(t->qp), 0, "stop");
	emu_pump();
}

static void
resume_both(struct stock *s, struct twin *t)
{
	modify(s->qp, IBV_QPS_RTS);
	CHECK_EQ(hwq_qp_resume(t->qp), 0, "resume");
}

static struct {
	unsigned int cancelled, again, stopped_again;
} seen;

/*
 * Cancels some requests, cancels some of these again, and cancels some requests that were posted
 * later.
 */
static void
cancel_and_again(struct stock *s, struct twin *t, struct request *r, unsigned int n,
	unsigned int more)
{
	unsigned int i;
	int ret;

	for (i = 0; i < N_WR_IDS; i += 2) {
		ret = cancel_both(s, t, 100 + i);
		seen.cancelled += ret > 0 ? (unsigned int)ret : 0;
	}
	cancel_both(s, t, 99);
	post_both(s, t, r, n, n + more);
	emu_pump();
	for (i = 0; i < N_WR_IDS - 1; i++)
		seen.again += cancel_both(s, t, 100 + i) == -EINVAL;
}

static void
like_libmlx5(void)
{
	unsigned int round, n, more, n_run;

	for (round = 0; round < 300 && check_failures == 0; round++) {
		struct request r[32];
		struct stock s;
		struct twin t;

		memset(mem, 0, sizeof(mem));
		twin_create(dev, &conf, &t);
		stock_create(dev, &conf, &s);
		CHECK_EQ(hwq_sq_n_bb(&t.qp->sq), s.view.sq.wqe_cnt, "WQEBBs");
		CHECK_EQ(cancel_both(&s, &t, 100), -EINVAL, "in INIT");
		stock_connect(dev, s.qp, s.qp->qp_num);
		twin_connect_self(&t);
		n = 1 + (unsigned int)(check_random(&rnd) % 16);
		more = (unsigned int)(check_random(&rnd) % 5);
		n_run = (unsigned int)(check_random(&rnd) % n);
		post_both(&s, &t, r, 0, n_run);
		stop_both(&s, &t);
		post_both(&s, &t, r, n_run, n);
		emu_pump();
		cancel_and_again(&s, &t, r, n, more);
		same_wqes(&s, &t.qp->sq);
		/*
		 * After a stop and a restart, requests that were cancelled and are still pending
		 * must stay cancelled.
		 */
		if (round % 4 == 0) {
			resume_both(&s, &t);
			modify(s.qp, IBV_QPS_SQD);
			CHECK_EQ(hwq_qp_stop(t.qp), 0, "stop");
			emu_pump();
			seen.stopped_again += cancel_both(&s, &t, 100) == -EINVAL;
		}
		resume_both(&s, &t);
		same_completions(&s, &t, r, n + more);
		stock_destroy(&s);
		twin_destroy(&t);
	}
	printf("  %u cancelled on both, %u times something that was, %u times after a stop\n",
		seen.cancelled, seen.again, seen.stopped_again);
	CHECK(seen.cancelled > 100 && seen.again > 100, "too few");
}

/*
 * Opcode and modifier must become those of a NOP. A memcpy is tested, because its modifier is not
 * 0.
 */
static void
a_memcpy_like_libmlx5(void)
{
	struct hwq_qp_conf with_mmo = conf;
	uint16_t index = 0;
	const uint8_t *ours;
	unsigned int by_index;
	struct hwq_wr wr;
	struct stock s;
	struct twin t;
	bool cancelled;

	with_mmo.mmo = true;
	for (by_index = 0; by_index < 2; by_index++) {
		memset(mem, 0, sizeof(mem));
		memset(mem[0][1], 7, SLOT);
		memset(mem[1][1], 7, SLOT);
		twin_create(dev, &with_mmo, &t);
		stock_create(dev, &with_mmo, &s);
		stock_connect(dev, s.qp, s.qp->qp_num);
		twin_connect_self(&t);
		stop_both(&s, &t);
		ibv_wr_start(s.ex);
		s.ex->wr_id = 100;
		s.ex->wr_flags = IBV_SEND_SIGNALED;
		mlx5dv_wr_memcpy(s.dv, mr.lkey, (uintptr_t)mem[1][0], mr.lkey, (uintptr_t)mem[1][1],
			SLOT);
		CHECK_EQ(ibv_wr_complete(s.ex), 0, "libmlx5's posting");
		hwq_wr_start(&wr, &t.qp->sq);
		wr.wr_id = 100;
		wr.wr_flags = HWQ_WQE_SIGNALED;
		hwq_wr_memcpy(&wr, mr.lkey, (uintptr_t)mem[1][0], mr.lkey, (uintptr_t)mem[1][1],
			SLOT);
		CHECK_EQ(hwq_wr_complete(&wr), 0, "posting");
		ours = hwq_sq_at(&t.qp->sq, 0);
		CHECK_EQ(ours[0], 1, "the modifier of DMA memcpy");
		CHECK_EQ(mlx5dv_qp_cancel_posted_send_wrs(s.dv, 100), 1, "how many");
		if (by_index)
			CHECK_EQ(hwq_qp_cancel_wqes(t.qp, &index, 1, &cancelled), 1, "how many");
		else
			CHECK_EQ(hwq_qp_cancel_posted_send_wrs(t.qp, 100), 1, "how many");
		check_bytes(ours, s.view.sq.buf, 4, "modifier, index and opcode");
		resume_both(&s, &t);
		same_completions(&s, &t, &(struct request){.wr_id = 100, .signaled = true}, 1);
		stock_destroy(&s);
		twin_destroy(&t);
	}
}

/* ------------------------------------------------------------------ later laps */

/* Posts requests until the ring of the stopped queue is full. */
static unsigned int
post_while_stopped(struct twin *t, struct request *r, unsigned int max)
{
	unsigned int n = 0;

	while (n < max) {
		r[n] = draw((uint16_t)n);
		if (hwq_post(t->qp, &r[n]) != 0)
			break;
		n++;
	}
	return n;
}

static unsigned int
mark_cancelled(struct request *r, unsigned int n, uint64_t wr_id)
{
	unsigned int i, count = 0;

	for (i = 0; i < n; i++) {
		if (r[i].wr_id != wr_id)
			continue;
		r[i].cancelled = true;
		count++;
	}
	return count;
}

static void
check_effect(const struct request *r, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		CHECK((mem[1][r[i].slot][0] == data[0]) == !r[i].cancelled,
			"request %u of %u bytes, cancelled %d", i, r[i].len, r[i].cancelled);
}

static bool
has_fill(const struct hwq_sq *sq)
{
	uint16_t i = hwq_sq_ci(sq);

	while (i != sq->pi && !hwq_sq_is_fill(sq, i))
		i = hwq_sq_end_of(sq, i, i & sq->mask);
	return i != sq->pi;
}

static void
by_the_manual(void)
{
	static struct request r[N_SLOT];
	unsigned int round, i, n, total = 0, fills = 0;
	uint64_t ids[64];
	struct twin t;

	twin_create(dev, &conf, &t);
	twin_connect_self(&t);
	for (round = 0; round < 4000 && check_failures == 0; round++) {
		struct hwq_sq *sq = &t.qp->sq;
		unsigned int n_signaled = 0;
		uint64_t victim = 100 + check_random(&rnd) % N_WR_IDS;

		memset(mem[1], 0, sizeof(mem[1]));
		CHECK_EQ(hwq_qp_stop(t.qp), 0, "stop");
		n = post_while_stopped(&t, r, 1 + (unsigned int)(check_random(&rnd) % 40));
		fills += has_fill(sq);
		emu_pump();
		i = mark_cancelled(r, n, victim);
		CHECK_EQ(hwq_qp_cancel_posted_send_wrs(t.qp, victim), i, "how many");
		CHECK_EQ(hwq_qp_cancel_posted_send_wrs(t.qp, victim), i == 0 ? 0 : -EINVAL,
			"the same wr_id again");
		total += i;
		CHECK_EQ(hwq_qp_resume(t.qp), 0, "resume");
		emu_pump();
		check_effect(r, n);
		CHECK_EQ(hwq_qp_cancel_posted_send_wrs(t.qp, victim), -EINVAL, "in RTS");
		for (i = 0; i < n; i++)
			n_signaled += r[i].signaled;
		CHECK_EQ(hwq_wr_poll(sq, ids, 64), n_signaled, "completions");
		for (i = 0, n_signaled = 0; i < n; i++)
			if (r[i].signaled)
				CHECK_EQ(ids[n_signaled++], r[i].wr_id, "wr_id");
		/* This signalled NOP frees the unsignalled WQEs at the end. */
		CHECK_EQ(hwq_wqe_nop(sq, HWQ_WQE_SIGNALED), 1, "WQEBBs");
		hwq_sq_ring(sq);
		emu_pump();
		CHECK_EQ(hwq_wr_poll(sq, ids, 1), 1, "a completion");
	}
	CHECK(fills > 100, "%u fills", fills);
	printf("  %u cancelled, %u rounds with a fill pending\n", total, fills);
	twin_destroy(&t);
}

/*
 * Requests that the device has executed are not pending, so they must not be cancelled, even if
 * they have the given wr_id.
 */
static void
from_the_device_on(void)
{
	static struct request r[16];
	struct hwq_cqe rec = {0};
	struct twin t;
	unsigned int i;

	twin_create(dev, &conf, &t);
	twin_connect_self(&t);
	memset(mem[1], 0, sizeof(mem[1]));
	for (i = 0; i < 16; i++) {
		r[i] = (struct request){.wr_id = 7, .len = 100, .slot = (uint16_t)i};
		if (i == 6) {
			emu_pump();
			CHECK_EQ(hwq_qp_stop(t.qp), 0, "stop");
		}
		CHECK_EQ(hwq_post(t.qp, &r[i]), 0, "posting");
	}
	/* Until the device has processed the stop, it may still execute requests. */
	emu_pump();
	CHECK_EQ(hwq_qp_cancel_posted_send_wrs(t.qp, 7), 10, "how many");
	/* In ERR, a cancelled request must be flushed like any other request. */
	CHECK_EQ(hwq_qp_fail(t.qp), 0, "to ERR");
	CHECK_EQ(hwq_qp_cancel_posted_send_wrs(t.qp, 7), -EINVAL, "in ERR");
	emu_pump();
	for (i = 0; i < 16; i++)
		CHECK((mem[1][i][0] == data[0]) == (i < 6), "request %u", i);
	for (i = 6; i < 16; i++) {
		CHECK(hwq_cq_poll(t.cq, &rec, 1) == 1, "flush %u", i);
		CHECK_EQ(rec.syndrome, MLX5_CQE_SYNDROME_WR_FLUSH_ERR, "syndrome");
		CHECK_EQ(hwq_sq_wr_id(&t.qp->sq, rec.wqe_counter), 7, "wr_id");
	}
	/* After a reset, no request may count as cancelled. */
	CHECK_EQ(hwq_qp_reset(t.qp), 0, "reset");
	twin_connect_self(&t);
	CHECK_EQ(hwq_qp_stop(t.qp), 0, "stop");
	emu_pump();
	r[0].len = 0;
	for (i = 0; i < 40; i++)
		CHECK_EQ(hwq_post(t.qp, &r[0]), 0, "posting");
	CHECK_EQ(hwq_qp_cancel_posted_send_wrs(t.qp, 7), 40, "how many");
	twin_destroy(&t);
}

/*
 * WQEBB 3 has the same wqe_index in three laps of the 16-bit index: two writes, then a NOP. A mark
 * of an earlier lap must not count for the later request.
 */
static void
one_index_three_requests(void)
{
	struct request r = {.wr_id = 7, .slot = 0, .signaled = true};
	uint64_t id = 0;
	struct twin t;
	uint32_t n;

	twin_create(dev, &conf, &t);
	twin_connect_self(&t);
	for (n = 0; n < 2 * 65536 + 4 && check_failures == 0; n++) {
		bool is_third = (n & 0xffff) == 3, between = n == 65536 + 1000;

		r.len = n < 65536 * 2 ? 8 : 0;
		memset(mem[1][0], 0, SLOT);
		if (is_third || between) {
			CHECK_EQ(hwq_qp_stop(t.qp), 0, "stop");
			emu_pump();
		}
		CHECK_EQ(hwq_post(t.qp, &r), 0, "posting");
		emu_pump();
		if (between)
			CHECK_EQ(hwq_qp_cancel_posted_send_wrs(t.qp, 99), 0, "of nothing");
		if (is_third) {
			CHECK_EQ(hwq_qp_cancel_posted_send_wrs(t.qp, 7), 1, "how many");
			CHECK_EQ(hwq_qp_cancel_posted_send_wrs(t.qp, 7), r.len == 0 ? 1 : -EINVAL,
				"again");
		}
		if (is_third || between) {
			CHECK_EQ(hwq_qp_resume(t.qp), 0, "resume");
			emu_pump();
		}
		CHECK((mem[1][0][0] == data[0]) == (r.len != 0 && !is_third), "request %u", n);
		CHECK_EQ(hwq_wr_poll(&t.qp->sq, &id, 1), 1, "completions");
	}
	CHECK_EQ(t.qp->sq.pi, 4, "the index");
	twin_destroy(&t);
}

/* ------------------------------------------------------------------ by index */

/* Posts a request by a builder that stores no wr_id. Returns false if the ring is full. */
static bool
post_by_index(struct hwq_sq *sq, struct request *r, uint16_t *index, unsigned int i)
{
	int ret;

	r[i] = draw((uint16_t)i);
	ret = hwq_wqe_inline(sq, MLX5_OPCODE_RDMA_WRITE, mr.rkey, (uintptr_t)mem[1][i], data,
		r[i].len, r[i].signaled ? HWQ_WQE_SIGNALED : 0, 0);
	CHECK(ret >= 0, "posting: %d", ret);
	index[i] = sq->last;
	return ret > 0;
}

/*
 * Cancels some of n requests, of which the device has executed the first n_run. Returns the number
 * of cancelled requests.
 */
static unsigned int
cancel_some(struct hwq_qp *qp, struct request *r, const uint16_t *index, unsigned int n,
	unsigned int n_run)
{
	unsigned int i, k = 0, pending = 0, at[N_SLOT];
	uint16_t some[N_SLOT];
	bool cancelled[N_SLOT + 1];

	for (i = 0; i < n; i++) {
		if (check_random(&rnd) % 2)
			continue;
		r[i].cancelled = i >= n_run;
		pending += i >= n_run;
		at[k] = i;
		some[k++] = index[i];
	}
	memset(cancelled, 0x55, sizeof(cancelled));
	CHECK_EQ(hwq_qp_cancel_wqes(qp, some, k, cancelled), pending, "how many");
	CHECK_EQ(hwq_qp_cancel_wqes(qp, some, k, cancelled), pending, "the same ones again");
	for (i = 0; i < k; i++)
		CHECK(cancelled[i] == (at[i] >= n_run), "request %u, of which %u were run", at[i],
			n_run);
	CHECK_EQ(((const uint8_t *)cancelled)[k], 0x55, "behind the last one");
	return pending;
}

static void
by_index(void)
{
	static struct request r[N_SLOT];
	static uint16_t index[N_SLOT];
	unsigned int round, i, n, n_run, max, n_signaled, total = 0;
	struct hwq_cqe rec;
	struct twin t;
	bool one;

	twin_create(dev, &conf, &t);
	twin_connect_self(&t);
	for (round = 0; round < 1000 && check_failures == 0; round++) {
		struct hwq_sq *sq = &t.qp->sq;

		memset(mem[1], 0, sizeof(mem[1]));
		n_run = (unsigned int)(check_random(&rnd) % 8);
		max = n_run + (unsigned int)(check_random(&rnd) % 40);
		for (n = 0; n < n_run && post_by_index(sq, r, index, n); n++)
			;
		n_run = n;
		hwq_sq_ring(sq);
		emu_pump();
		CHECK_EQ(hwq_qp_cancel_wqes(t.qp, index, 1, &one), -EINVAL, "in RTS");
		CHECK_EQ(hwq_qp_stop(t.qp), 0, "stop");
		emu_pump();
		while (n < max && post_by_index(sq, r, index, n))
			n++;
		hwq_sq_ring(sq);
		/*
		 * In odd rounds the device processes the doorbell only after its WQE was cancelled.
		 */
		if (round % 2 == 0)
			emu_pump();
		total += cancel_some(t.qp, r, index, n, n_run);
		CHECK_EQ(hwq_qp_resume(t.qp), 0, "resume");
		emu_pump();
		check_effect(r, n);
		for (i = 0, n_signaled = 0; i < n; i++)
			if (r[i].signaled) {
				CHECK(hwq_cq_poll(t.cq, &rec, 1) == 1 && rec.syndrome == 0 &&
						rec.wqe_counter == index[i],
					"the completion of request %u", i);
				n_signaled++;
				hwq_sq_complete(sq, rec.wqe_counter);
			}
		/* The completion of this signalled NOP frees the unsignalled WQEs before it. */
		CHECK_EQ(hwq_wqe_nop(sq, HWQ_WQE_SIGNALED), 1, "WQEBBs");
		hwq_sq_ring(sq);
		emu_pump();
		CHECK(hwq_cq_poll(t.cq, &rec, 1) == 1, "the NOP's completion");
		hwq_sq_complete(sq, rec.wqe_counter);
		CHECK(hwq_cq_poll(t.cq, &rec, 1) == 0, "%u completions too many", n_signaled);
	}
	CHECK(total > 1000, "%u cancelled", total);
	CHECK_EQ(softhca_violations(), 0, "broken rules");
	printf("  %u cancelled\n", total);
	twin_destroy(&t);
}

int
main(int argc, char **argv)
{
	unsigned int i;

	(void)argc;
	/*
	 * libmlx5 finds the next WQE by a table, and writes only the entries at which WQEs start.
	 * Random bytes of malloc(3) in the other entries could match by chance, so this setting
	 * makes malloc fill its memory (mallopt(3)).
	 */
	setenv("SOFTHCA_THREADS", "0", 1);
	emu_setting(argv, "GLIBC_TUNABLES", "glibc.malloc.perturb=90:glibc.malloc.tcache_count=0");
	hwq_log_set(emu_count_log);
	dev = emu_open();
	for (i = 0; i < MAX_LEN; i++)
		data[i] = (uint8_t)(i * 3 + 1);
	if (hwq_mr_register(dev, mem, sizeof(mem), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		    &mr) != 0)
		EMU_DIE("registering");
	RUN("on the first lap, cancelling does what libmlx5 does", like_libmlx5());
	RUN("a cancelled memcpy is a NOP without a modifier, as with libmlx5",
		a_memcpy_like_libmlx5());
	RUN("on later laps and past fills, cancelling does what the manual page says",
		by_the_manual());
	RUN("requests that the device has run are not pending", from_the_device_on());
	RUN("a request that has the index of a cancelled one is not cancelled",
		one_index_three_requests());
	RUN("WQEs are cancelled by index, except those that the device has begun", by_index());
	if (hwq_mr_deregister(&mr) != 0 || hwq_dev_close(dev) != 0)
		EMU_DIE("closing");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
