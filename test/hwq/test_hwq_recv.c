/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive queues and shared receive queues of hwq and libmlx5: equal posts must write equal bytes
 * and doorbell records, and equal messages must give equal completions. Also tested: full queues,
 * too many pieces, errors, flushes, resets, limits.
 */
#include <fcntl.h>
#include <poll.h>

#include "hwq_emu.h"
#include "hwq_rq.h"
#include "hwq_srq.h"
#include "hwq_wr.h"

#define MEM   (64 * 1024)
#define N_MSG 400

static struct hwq_dev *dev;
static uint8_t mem[2][MEM] __attribute__((aligned(4096))); /* [0] sources, [1] destinations */
static struct hwq_mr mrs[2];
static uint64_t rnd = 11;

static uint32_t
below(uint32_t n)
{
	return (uint32_t)(check_random(&rnd) % n);
}

/*
 * Draws one list for both libraries, of up to max pieces. A piece of length 0 is drawn only where
 * length 0 means "no data" (and not 2 GiB).
 */
static unsigned int
draw_list(struct hwq_sge *sge, struct ibv_sge *stock, unsigned int max, bool empty_ones)
{
	unsigned int i, n = below(max + 1);

	for (i = 0; i < n; i++) {
		uint32_t len = empty_ones && below(4) == 0 ? 0 : 1 + below(64);

		sge[i] = (struct hwq_sge){(uintptr_t)mem[1] + below(MEM - 64), len, mrs[1].lkey};
		stock[i] = (struct ibv_sge){sge[i].addr, len, sge[i].lkey};
	}
	return n;
}

static void
memory_create(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (hwq_mr_register(dev, mem[i], MEM, IBV_ACCESS_LOCAL_WRITE, &mrs[i]) != 0)
			EMU_DIE("registering");
	for (i = 0; i < MEM; i++)
		mem[0][i] = (uint8_t)(i * 7 + i / 256);
}

static void
memory_destroy(void)
{
	if (hwq_mr_deregister(&mrs[0]) != 0 || hwq_mr_deregister(&mrs[1]) != 0)
		EMU_DIE("deregistering");
}

/* ------------------------------------------------------------------ receive queues: bytes */

static void
same_bytes_in_a_receive_queue(uint32_t n_wr, uint32_t n_sge)
{
	struct hwq_qp_conf conf = {.sq_wr = 2, .rq_wr = n_wr, .rq_sge = n_sge};
	struct hwq_sge sge[16];
	struct ibv_sge ibv_sge[16];
	struct ibv_recv_wr wr, *bad;
	struct hwq_rq *rq;
	struct stock s;
	struct twin t;
	unsigned int i, n;
	int ret, stock_ret;

	twin_create(dev, &conf, &t);
	stock_create(dev, &conf, &s);
	rq = &t.qp->rq;
	CHECK_EQ(rq->stride, s.view.rq.stride, "stride");
	CHECK_EQ(rq->mask + 1, s.view.rq.wqe_cnt, "entries");
	CHECK_EQ(rq->max_sge * 16, rq->stride, "pieces");
	for (i = 0; i <= rq->mask + 3; i++) {
		n = draw_list(sge, ibv_sge, rq->max_sge, true);
		if (i == 1) /* also tries one piece too many, while the queue has room */
			n = rq->max_sge + 1u;
		wr = (struct ibv_recv_wr){.wr_id = i, .sg_list = ibv_sge, .num_sge = (int)n};
		ret = hwq_rq_post_list(rq, i, sge, n);
		stock_ret = ibv_post_recv(s.qp, &wr, &bad);
		CHECK_EQ(ret, -stock_ret, "errno");
	}
	hwq_rq_ring(rq);
	CHECK_EQ(hwq_rq_free(rq), 0, "free entries");
	check_bytes(rq->buf, s.view.rq.buf, (size_t)(rq->mask + 1) * rq->stride, "the ring");
	CHECK_EQ(be32toh(rq->dbrec[0]), be32toh(s.view.dbrec[0]), "the record");
	stock_destroy(&s);
	twin_destroy(&t);
}

static void
receive_queue_bytes(void)
{
	static const uint32_t n_wr[] = {1, 3, 8, 100}, n_sge[] = {0, 1, 2, 3, 7, 16};
	unsigned int i, j;

	for (i = 0; i < 4; i++)
		for (j = 0; j < 6; j++)
			same_bytes_in_a_receive_queue(n_wr[i], n_sge[j]);
}

/* ------------------------------------------------------------------ receive queues: effect */

static void
pump_sends(struct twin *t, uint32_t n)
{
	struct hwq_cqe rec = {0};

	for (; n != 0; n--) {
		if (!emu_wait(t->cq, &rec))
			EMU_DIE("a send does not complete");
		CHECK_EQ(rec.syndrome, 0, "syndrome of a send");
		hwq_sq_complete(&t->qp->sq, rec.wqe_counter);
	}
}

/* Messages of every kind must arrive in receives with lists, in bursts, over many laps. */
static void
messages_into_lists(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 64, .max_sge = 1, .rq_wr = 32, .rq_sge = 3};
	static const uint8_t kinds[] = {MLX5_CQE_RESP_SEND, MLX5_CQE_RESP_SEND_IMM,
		MLX5_CQE_RESP_WR_IMM};
	char text[1024], want[128];
	struct hwq_cqe rec[32];
	uint64_t ids[32], next_id = 1000, seen = 1000;
	struct twin a, b;
	struct hwq_rq *rq;
	unsigned int i, j, n, got;

	conf.send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
			IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	twin_create(dev, &conf, &a);
	twin_create(dev, &conf, &b);
	twin_connect(a.qp, b.qp);
	rq = &b.qp->rq;
	for (j = 0; j < N_MSG && check_failures == 0; j++) {
		uint8_t kind[32];
		uint32_t lens[32];

		n = 1 + below(32);
		memset(mem[1], 0, MEM);
		for (i = 0; i < n; i++) {
			uint64_t at = (uintptr_t)mem[1] + i * 1024;
			const struct hwq_sge sge[3] = {{at, 100, mrs[1].lkey},
				{at + 200, 1, mrs[1].lkey}, {at + 300, 500, mrs[1].lkey}};

			kind[i] = (uint8_t)below(3);
			lens[i] = 1 + below(600);
			CHECK_EQ(hwq_rq_post_list(rq, next_id++, sge, 3), 0, "posting");
		}
		hwq_rq_ring(rq);
		for (i = 0; i < n; i++) {
			__be32 imm = htobe32(j * 100 + i);
			struct hwq_wr wr;

			hwq_wr_start(&wr, &a.qp->sq);
			wr.wr_flags = HWQ_WQE_SIGNALED;
			if (kind[i] == 0)
				hwq_wr_send(&wr);
			else if (kind[i] == 1)
				hwq_wr_send_imm(&wr, imm);
			else
				hwq_wr_rdma_write_imm(&wr, 0, 0, imm);
			/* A write without data needs no memory at the peer. */
			hwq_wr_set_sge(&wr, mrs[0].lkey, (uintptr_t)mem[0],
				kind[i] == 2 ? 0 : lens[i]);
			CHECK_EQ(hwq_wr_complete(&wr), 0, "posting");
		}
		pump_sends(&a, n);
		for (got = 0; got < n;) {
			unsigned int more = hwq_rq_poll(rq, rec + got, ids + got, n - got);

			if (more == 0 && softhca_pump() == 0)
				break;
			got += more;
		}
		CHECK_EQ(got, n, "receives");
		for (i = 0; i < got; i++) {
			uint32_t first = lens[i] < 100 ? lens[i] : 100;
			uint32_t rest = lens[i] < 102 ? 0 : lens[i] - 101;

			CHECK_EQ(ids[i], seen++, "wr_id");
			CHECK_EQ(rec[i].opcode, kinds[kind[i]], "kind");
			CHECK_EQ(rec[i].qpn, b.qp->qpn, "QPN");
			CHECK_EQ(rec[i].syndrome, 0, "syndrome");
			CHECK_EQ(!!(rec[i].recv.flags & HWQ_RECV_WITH_IMM), kind[i] != 0, "flag");
			if (kind[i] != 0)
				CHECK_EQ(be32toh(rec[i].imm_inval), j * 100 + i, "immediate");
			if (kind[i] == 2)
				continue;
			CHECK_EQ(rec[i].byte_cnt, lens[i], "bytes");
			check_bytes(mem[1] + i * 1024, mem[0], first, "first piece");
			check_bytes(mem[1] + i * 1024 + 300, mem[0] + 101, rest, "third piece");
		}
		CHECK_EQ(hwq_rq_free(rq), 32, "free entries");
	}
	/*
	 * The first receive fails, because its memory is too small. All later receives are flushed.
	 */
	for (i = 0; i < 32; i++) {
		const struct hwq_sge sge = {(uintptr_t)mem[1], 8, mrs[1].lkey};

		CHECK_EQ(hwq_rq_post_list(rq, i, &sge, 1), 0, "posting");
	}
	hwq_rq_ring(rq);
	CHECK_EQ(hwq_wqe_one(&a.qp->sq, MLX5_OPCODE_SEND, 0, 0, mrs[0].lkey, (uintptr_t)mem[0], 9,
			 0, 0),
		1, "WQEBBs");
	hwq_sq_ring(&a.qp->sq);
	emu_pump();
	for (got = 0; got < 32; got += n) {
		n = hwq_rq_poll(rq, rec + got, ids + got, 32 - got);
		if (n == 0)
			break;
	}
	CHECK_EQ(got, 32, "receives of a queue in error");
	hwq_dump_completion(&rec[0], b.qp, text, sizeof(text));
	snprintf(want, sizeof(want), "\n  receive into addr 0x%016llx len 8 lkey 0x%08x\n",
		(unsigned long long)(uintptr_t)mem[1], mrs[1].lkey);
	CHECK(strstr(text, "RESP_ERR: local length error") != NULL && strstr(text, want) != NULL,
		"a failed receive is %s", text);
	CHECK(hwq_cq_poll(a.cq, rec + 1, 1) == 1 && rec[1].syndrome != 0, "the send fails, too");
	hwq_dump_completion(&rec[1], a.qp, text, sizeof(text));
	snprintf(want, sizeof(want), "\n  data addr 0x%016llx len 9 lkey 0x%08x\n",
		(unsigned long long)(uintptr_t)mem[0], mrs[0].lkey);
	CHECK(strstr(text, "REQ_ERR of SEND") != NULL && strstr(text, want) != NULL,
		"a failed send is %s", text);
	rec[1] = (struct hwq_cqe){.opcode = MLX5_CQE_RESP_ERR,
		.syndrome = MLX5_CQE_SYNDROME_WR_FLUSH_ERR};
	for (i = 0; i < got; i++) {
		CHECK_EQ(ids[i], i, "wr_id");
		CHECK_EQ(rec[i].opcode, MLX5_CQE_RESP_ERR, "kind");
		CHECK_EQ(rec[i].syndrome,
			i == 0 ? MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR
			       : MLX5_CQE_SYNDROME_WR_FLUSH_ERR,
			"syndrome");
	}
	twin_destroy(&a);
	twin_destroy(&b);
}

/*
 * hwq_rq_take() must return receives that succeeded, and must leave a failed receive for
 * hwq_rq_poll().
 */
static void
good_receives_alone(void)
{
	static const struct hwq_recv_done sent[] = {
		{.byte_cnt = 7, .opcode = MLX5_CQE_RESP_SEND},
		{.byte_cnt = 64, .opcode = MLX5_CQE_RESP_SEND_IMM},
		{.byte_cnt = 0, .opcode = MLX5_CQE_RESP_WR_IMM},
		/* a message that is longer than the receive's memory */
		{.byte_cnt = 65, .opcode = MLX5_CQE_RESP_ERR},
	};
	static const uint8_t opcodes[] = {MLX5_OPCODE_SEND, MLX5_OPCODE_SEND_IMM,
		MLX5_OPCODE_RDMA_WRITE_IMM, MLX5_OPCODE_SEND};
	struct hwq_qp_conf conf = {.sq_wr = 8, .rq_wr = 4};
	const struct hwq_sge sge = {(uintptr_t)mem[1], 64, mrs[1].lkey};
	struct hwq_recv_done done;
	struct hwq_cqe rec[4];
	uint64_t ids[4];
	struct twin a, b;
	struct hwq_rq *rq;
	unsigned int i;

	twin_create(dev, &conf, &a);
	twin_create(dev, &conf, &b);
	twin_connect(a.qp, b.qp);
	rq = &b.qp->rq;
	CHECK(!hwq_rq_take(rq, &done), "nothing has come");
	for (i = 0; i < 4; i++) {
		CHECK_EQ(hwq_rq_post_list(rq, i, &sge, 1), 0, "posting");
		CHECK_EQ(hwq_wqe_one(&a.qp->sq, opcodes[i], 0, 0, mrs[0].lkey, (uintptr_t)mem[0],
				 sent[i].byte_cnt, 0,
				 opcodes[i] == MLX5_OPCODE_SEND ? 0 : htobe32(i)),
			1, "WQEBBs");
	}
	hwq_rq_ring(rq);
	hwq_sq_ring(&a.qp->sq);
	emu_pump();
	for (i = 0; i < 3; i++) {
		CHECK(hwq_rq_take(rq, &done), "receive %u", i);
		CHECK_EQ(done.opcode, sent[i].opcode, "kind");
		CHECK_EQ(done.byte_cnt, sent[i].byte_cnt, "bytes");
		if (i != 0)
			CHECK_EQ(be32toh(done.imm_inval), i, "immediate");
		CHECK_EQ(hwq_rq_free(rq), i + 1, "free entries");
	}
	CHECK(!hwq_rq_take(rq, &done), "a receive that failed");
	CHECK_EQ(hwq_rq_poll(rq, rec, ids, 4), 1, "the receive that failed");
	CHECK_EQ(ids[0], 3, "wr_id");
	CHECK_EQ(rec[0].syndrome, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR, "syndrome");
	CHECK(!hwq_rq_take(rq, &done), "nothing is left");
	twin_destroy(&a);
	twin_destroy(&b);
}

/* Receive and send CQEs are on one CQ: a poll for one kind must stop at a CQE of the other kind. */
static void
two_directions_on_one_cq(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 8, .rq_wr = 8};
	const struct hwq_sge sge = {(uintptr_t)mem[1], 64, mrs[1].lkey};
	struct hwq_addr addr;
	struct hwq_cqe rec[4];
	uint64_t ids[4];
	struct twin t;
	unsigned int i;

	twin_create(dev, &conf, &t);
	hwq_qp_addr(t.qp, &addr);
	CHECK_EQ(hwq_qp_connect(t.qp, &addr), 0, "connect");
	for (i = 0; i < 100; i++) {
		CHECK_EQ(hwq_rq_post_list(&t.qp->rq, i, &sge, 1), 0, "posting");
		hwq_rq_ring(&t.qp->rq);
		CHECK_EQ(hwq_wqe_nop(&t.qp->sq, HWQ_WQE_SIGNALED), 1, "WQEBBs");
		CHECK_EQ(hwq_wqe_one(&t.qp->sq, MLX5_OPCODE_SEND, 0, 0, mrs[0].lkey,
				 (uintptr_t)mem[0], 5, HWQ_WQE_SIGNALED, 0),
			1, "WQEBBs");
		hwq_sq_ring(&t.qp->sq);
		emu_pump();
		CHECK_EQ(hwq_rq_poll(&t.qp->rq, rec, ids, 4), 0, "no receive before the NOP");
		CHECK_EQ(hwq_cq_poll(t.cq, rec, 1), 1, "the NOP");
		CHECK_EQ(hwq_rq_poll(&t.qp->rq, rec, ids, 4), 1, "the receive behind the NOP");
		CHECK_EQ(ids[0], i, "wr_id");
		CHECK_EQ(rec[0].byte_cnt, 5, "bytes");
		CHECK_EQ(hwq_cq_poll(t.cq, rec, 4), 1, "the send behind the receive");
		hwq_sq_complete(&t.qp->sq, rec[0].wqe_counter);
	}
	twin_destroy(&t);
}

/* Receives of two QPs alternate on one CQ: a poll for one QP must stop at a CQE of the other QP. */
static void
two_queues_on_one_cq(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 32, .rq_wr = 8};
	const struct hwq_sge sge = {(uintptr_t)mem[1], 64, mrs[1].lkey};
	struct hwq_qp *qp[2];
	struct hwq_domain *domain;
	struct hwq_cqe rec[4];
	struct hwq_cq *cq;
	uint64_t ids[4];
	unsigned int i;

	if (hwq_domain_create(dev, &domain) != 0 ||
		hwq_cq_create(domain, 2 * hwq_qp_cqe_needed(&conf), &cq) != 0 ||
		hwq_qp_create(domain, cq, &conf, &qp[0]) != 0 ||
		hwq_qp_create(domain, cq, &conf, &qp[1]) != 0)
		EMU_DIE("queues");
	twin_connect(qp[0], qp[1]);
	for (i = 0; i < 20; i++) {
		unsigned int to = i / 2 % 2;

		CHECK_EQ(hwq_rq_post_list(&qp[to]->rq, i, &sge, 1), 0, "posting");
		hwq_rq_ring(&qp[to]->rq);
		CHECK_EQ(hwq_wqe_one(&qp[!to]->sq, MLX5_OPCODE_SEND, 0, 0, mrs[0].lkey,
				 (uintptr_t)mem[0], 1 + i, 0, 0),
			1, "WQEBBs");
		hwq_sq_ring(&qp[!to]->sq);
		emu_pump();
		if (i % 4 != 3)
			continue;
		CHECK_EQ(hwq_rq_poll(&qp[1]->rq, rec, ids, 4), 0,
			"no receive before those of the other QP");
		CHECK_EQ(hwq_rq_poll(&qp[0]->rq, rec, ids, 4), 2, "two receives of the first QP");
		CHECK(ids[0] == i - 3 && ids[1] == i - 2, "wr_ids %u", i);
		CHECK_EQ(hwq_rq_poll(&qp[0]->rq, rec, ids, 4), 0,
			"no receive before those of the other QP");
		CHECK_EQ(hwq_rq_poll(&qp[1]->rq, rec, ids, 4), 2, "two receives of the second QP");
		CHECK(ids[0] == i - 1 && ids[1] == i, "wr_ids %u", i);
	}
	if (hwq_qp_destroy(qp[0]) != 0 || hwq_qp_destroy(qp[1]) != 0 || hwq_cq_destroy(cq) != 0 ||
		hwq_domain_destroy(domain) != 0)
		EMU_DIE("destroying");
}

/*
 * One CQ for sends and one CQ for receives, each with the smallest allowed size: neither may get
 * the other's completions, both are full in a flush, and both are emptied by a reset and by the
 * destruction of the QP.
 */
static void
receives_on_a_cq_of_their_own(void)
{
	struct hwq_qp_conf conf = {.sq_wr = 8, .rq_wr = 4};
	const struct hwq_sge sge = {(uintptr_t)mem[1], 64, mrs[1].lkey};
	struct hwq_domain *domain;
	struct hwq_cqe rec[16];
	struct hwq_cq *cq, *small;
	struct hwq_addr addr;
	struct hwq_qp *qp;
	uint64_t ids[16];
	unsigned int i;

	if (hwq_domain_create(dev, &domain) != 0 ||
		hwq_cq_create(domain, hwq_qp_recv_cqe_needed(&conf), &conf.recv_cq) != 0 ||
		hwq_cq_create(domain, hwq_qp_cqe_needed(&conf), &cq) != 0 ||
		hwq_cq_create(domain, 2, &small) != 0)
		EMU_DIE("queues");
	CHECK_EQ(hwq_qp_recv_cqe_needed(&conf), 4, "CQEs of receives");
	CHECK_EQ(hwq_qp_cqe_needed(&conf), 8, "CQEs of sends");
	CHECK_EQ(hwq_qp_create(domain, small, &conf, &qp), -ENOSPC, "a small CQ of sends");
	CHECK_EQ(hwq_qp_create(domain, cq,
			 &(struct hwq_qp_conf){.sq_wr = 8, .rq_wr = 4, .recv_cq = small}, &qp),
		-ENOSPC, "a small CQ of receives");
	CHECK_EQ(hwq_qp_create(domain, cq, &conf, &qp), 0, "creating");
	hwq_qp_addr(qp, &addr);
	CHECK_EQ(hwq_qp_connect(qp, &addr), 0, "connect");
	CHECK_EQ(hwq_cq_destroy(cq), -EBUSY, "the QP uses it");
	CHECK_EQ(hwq_cq_destroy(conf.recv_cq), -EBUSY, "the QP uses it");
	for (i = 0; i < 20; i++) {
		CHECK_EQ(hwq_rq_post_list(&qp->rq, i, &sge, 1), 0, "posting");
		hwq_rq_ring(&qp->rq);
		CHECK_EQ(hwq_wqe_one(&qp->sq, MLX5_OPCODE_SEND, 0, 0, mrs[0].lkey,
				 (uintptr_t)mem[0], 1 + i, HWQ_WQE_SIGNALED, 0),
			1, "WQEBBs");
		hwq_sq_ring(&qp->sq);
		emu_pump();
		CHECK_EQ(hwq_cq_poll(cq, rec, 4), 1, "the send alone");
		CHECK_EQ(rec[0].opcode, MLX5_CQE_REQ, "kind");
		hwq_sq_complete(&qp->sq, rec[0].wqe_counter);
		CHECK_EQ(hwq_rq_poll(&qp->rq, rec, ids, 4), 1, "the receive");
		CHECK(ids[0] == i && rec[0].byte_cnt == 1 + i, "receive %u", i);
	}
	for (i = 0; i < 2; i++) {
		while (hwq_rq_post_list(&qp->rq, 0, &sge, 1) == 0)
			;
		hwq_rq_ring(&qp->rq);
		while (hwq_wqe_nop(&qp->sq, 0) == 1)
			;
		CHECK_EQ(hwq_qp_fail(qp), 0, "to ERR");
		hwq_sq_ring(&qp->sq);
		emu_pump();
		if (i == 0) {
			CHECK_EQ(hwq_cq_poll(cq, rec, 16), 8, "flushed sends");
			CHECK_EQ(hwq_rq_poll(&qp->rq, rec, ids, 16), 4, "flushed receives");
			CHECK_EQ(hwq_qp_reset(qp), 0, "reset");
			CHECK_EQ(hwq_qp_connect(qp, &addr), 0, "connect");
			continue;
		}
		CHECK_EQ(hwq_qp_reset(qp), 0, "reset");
		CHECK_EQ(hwq_cq_poll(cq, rec, 16), 0, "no send is left of before the reset");
		CHECK_EQ(hwq_rq_poll(&qp->rq, rec, ids, 16), 0, "nor a receive");
	}
	if (hwq_qp_destroy(qp) != 0 || hwq_cq_destroy(cq) != 0 || hwq_cq_destroy(small) != 0 ||
		hwq_cq_destroy(conf.recv_cq) != 0 || hwq_domain_destroy(domain) != 0)
		EMU_DIE("destroying");
}

/* ------------------------------------------------------------------ shared receive queues */

struct stock_srq {
	struct ibv_srq *srq;
	struct mlx5dv_srq view;
};

static void
stock_srq_create(const struct hwq_srq_conf *conf, struct stock_srq *s)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = conf->n_wr, .max_sge = conf->max_sge}};
	struct mlx5dv_obj obj;

	s->srq = ibv_create_srq(dev->pd, &attr);
	if (s->srq == NULL)
		EMU_DIE("stock SRQ: %s", strerror(errno));
	memset(&s->view, 0, sizeof(s->view));
	obj.srq.in = s->srq;
	obj.srq.out = &s->view;
	if (mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ) != 0)
		EMU_DIE("stock SRQ's ring");
}

static struct ibv_qp *
stock_qp_on_srq(struct ibv_srq *srq, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.cap = {.max_send_wr = 4, .max_send_sge = 1}};
	struct ibv_qp *qp = ibv_create_qp(dev->pd, &attr);

	if (qp == NULL)
		EMU_DIE("stock QP: %s", strerror(errno));
	stock_to_init(dev, qp);
	return qp;
}

static void
same_srq_bytes(const struct hwq_srq *srq, const struct stock_srq *s)
{
	check_bytes(srq->buf, s->view.buf, (size_t)(srq->mask + 1) * srq->stride, "the entries");
	CHECK_EQ(be32toh(*srq->dbrec), be32toh(*s->view.dbrec), "the record");
}

/* Number of receiving QPs on each SRQ; each has a sender. */
#define N_QP 3

struct srq_twins {
	struct hwq_srq *srq;
	struct stock_srq stock;
	struct hwq_domain *domain;
	struct hwq_cq *cq, *send_cq;
	struct ibv_cq *stock_cq;
	struct hwq_qp *qp[N_QP], *to_hwq[N_QP], *to_stock[N_QP];
	struct ibv_qp *stock_qp[N_QP];
};

static void
stock_peers(struct hwq_qp *a, struct ibv_qp *b)
{
	struct hwq_addr addr;

	a->psn = 0; /* the PSN that stock_connect() uses */
	hwq_qp_addr(a, &addr);
	stock_connect(dev, b, a->qpn);
	addr.qpn = htobe32(b->qp_num);
	addr.psn = 0;
	if (hwq_qp_connect(a, &addr) != 0)
		EMU_DIE("connecting to a stock QP");
}

static void
srq_twins_create(const struct hwq_srq_conf *conf, struct srq_twins *t)
{
	struct hwq_qp_conf recv_conf = {.sq_wr = 2}, send_conf = {.sq_wr = 64};
	unsigned int i;

	memset(t, 0, sizeof(*t));
	if (hwq_domain_create(dev, &t->domain) != 0 || hwq_srq_create(dev, conf, &t->srq) != 0 ||
		hwq_cq_create(t->domain, 256, &t->cq) != 0 ||
		hwq_cq_create(t->domain, 1024, &t->send_cq) != 0)
		EMU_DIE("an SRQ's twins");
	stock_srq_create(conf, &t->stock);
	t->stock_cq = ibv_create_cq(dev->ctx, 255, NULL, NULL, 0);
	recv_conf.srq = t->srq;
	for (i = 0; i < N_QP; i++) {
		if (hwq_qp_create(t->domain, t->cq, &recv_conf, &t->qp[i]) != 0 ||
			hwq_qp_create(t->domain, t->send_cq, &send_conf, &t->to_hwq[i]) != 0 ||
			hwq_qp_create(t->domain, t->send_cq, &send_conf, &t->to_stock[i]) != 0)
			EMU_DIE("QPs of an SRQ");
		t->stock_qp[i] = stock_qp_on_srq(t->stock.srq, t->stock_cq);
		twin_connect(t->to_hwq[i], t->qp[i]);
		stock_peers(t->to_stock[i], t->stock_qp[i]);
	}
	/* The SRQ's entries must be reserved once for all of its QPs. */
	CHECK_EQ(t->cq->reserved, N_QP * hwq_sq_n_bb(&t->qp[0]->sq) + hwq_srq_size(t->srq),
		"CQEs reserved");
}

static void
srq_twins_destroy(struct srq_twins *t)
{
	unsigned int i;

	CHECK_EQ(hwq_srq_destroy(t->srq), -EBUSY, "destroying an SRQ in use");
	for (i = 0; i < N_QP; i++)
		if (hwq_qp_destroy(t->qp[i]) != 0 || hwq_qp_destroy(t->to_hwq[i]) != 0 ||
			hwq_qp_destroy(t->to_stock[i]) != 0 || ibv_destroy_qp(t->stock_qp[i]) != 0)
			EMU_DIE("destroying QPs of an SRQ");
	CHECK_EQ(t->cq->reserved, 0, "CQEs reserved");
	if (hwq_srq_destroy(t->srq) != 0 || ibv_destroy_srq(t->stock.srq) != 0 ||
		hwq_cq_destroy(t->cq) != 0 || hwq_cq_destroy(t->send_cq) != 0 ||
		ibv_destroy_cq(t->stock_cq) != 0 || hwq_domain_destroy(t->domain) != 0)
		EMU_DIE("destroying an SRQ's twins");
}

/* Sends one message to hwq's SRQ and to libmlx5's SRQ. */
static void
send_to_both(struct srq_twins *t, unsigned int i, uint32_t len)
{
	struct hwq_qp *to[2] = {t->to_hwq[i], t->to_stock[i]};
	struct hwq_cqe rec = {0};
	unsigned int k;

	for (k = 0; k < 2; k++) {
		CHECK_EQ(hwq_wqe_one(&to[k]->sq, MLX5_OPCODE_SEND, 0, 0, mrs[0].lkey,
				 (uintptr_t)mem[0], len, HWQ_WQE_SIGNALED, 0),
			1, "WQEBBs");
		hwq_sq_ring(&to[k]->sq);
		if (!emu_wait(t->send_cq, &rec))
			EMU_DIE("a send does not complete");
		CHECK_EQ(rec.syndrome, 0, "syndrome");
		hwq_sq_complete(&to[k]->sq, rec.wqe_counter);
	}
}

static void
take_from_both(struct srq_twins *t, unsigned int n)
{
	struct hwq_cqe rec[64];
	uint64_t ids[64];
	struct ibv_wc wc[64];
	unsigned int i;

	CHECK_EQ(hwq_srq_poll(t->srq, t->cq, rec, ids, n), n, "receives");
	CHECK_EQ(ibv_poll_cq(t->stock_cq, (int)n, wc), n, "libmlx5's receives");
	for (i = 0; i < n && check_failures == 0; i++) {
		unsigned int k = 0;

		while (k < N_QP - 1 && t->qp[k]->qpn != rec[i].qpn)
			k++;
		CHECK_EQ(wc[i].status, IBV_WC_SUCCESS, "status");
		CHECK_EQ(ids[i], wc[i].wr_id, "wr_id");
		CHECK_EQ(rec[i].byte_cnt, wc[i].byte_len, "bytes");
		CHECK_EQ(rec[i].syndrome, 0, "syndrome");
		CHECK_EQ(t->stock_qp[k]->qp_num, wc[i].qp_num, "which QP received");
	}
}

/*
 * hwq's SRQ must work as libmlx5's SRQ if receives and messages are posted at random, over many
 * laps of the SRQ's list.
 */
static void
srq_like_libmlx5(uint32_t n_wr, uint32_t n_sge)
{
	struct hwq_srq_conf conf = {.n_wr = n_wr, .max_sge = n_sge};
	struct hwq_sge sge[16];
	struct ibv_sge ibv_sge[16];
	struct ibv_recv_wr wr, *bad;
	uint32_t posted = 0, unread = 0;
	struct srq_twins t;
	unsigned int step, n;

	srq_twins_create(&conf, &t);
	same_srq_bytes(t.srq, &t.stock);
	for (step = 0; step < 600 && check_failures == 0; step++) {
		uint32_t want = 1 + below(4);

		while (want-- != 0) {
			int ret, stock_ret;

			n = 1 + draw_list(sge, ibv_sge, t.srq->max_sge - 1u, false);
			sge[n - 1] = (struct hwq_sge){(uintptr_t)mem[1], 512, mrs[1].lkey};
			ibv_sge[n - 1] = (struct ibv_sge){(uintptr_t)mem[1], 512, mrs[1].lkey};
			if (below(20) == 0)
				n = t.srq->max_sge + 1u;
			wr = (struct ibv_recv_wr){.wr_id = step * 10 + want,
				.sg_list = ibv_sge,
				.num_sge = (int)n};
			ret = hwq_srq_post_list(t.srq, wr.wr_id, sge, n);
			stock_ret = ibv_post_srq_recv(t.stock.srq, &wr, &bad);
			CHECK_EQ(ret, -stock_ret, "errno");
			posted += ret == 0;
		}
		hwq_srq_ring(t.srq);
		same_srq_bytes(t.srq, &t.stock);
		while (posted != 0 && unread < 60 && below(3) != 0) {
			send_to_both(&t, below(N_QP), 1 + below(512));
			posted--;
			unread++;
		}
		if (unread != 0 && below(2) == 0) {
			n = 1 + below(unread);
			take_from_both(&t, n);
			unread -= n;
		}
		same_srq_bytes(t.srq, &t.stock);
	}
	srq_twins_destroy(&t);
}

static void
srq_twin(void)
{
	srq_like_libmlx5(1, 1);
	srq_like_libmlx5(20, 3);
	srq_like_libmlx5(60, 15);
}

static bool
saw_limit_event(void)
{
	struct ibv_async_event event;
	struct pollfd fd = {.fd = dev->ctx->async_fd, .events = POLLIN};
	bool seen = false;

	while (poll(&fd, 1, 0) == 1 && ibv_get_async_event(dev->ctx, &event) == 0) {
		seen |= event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED;
		ibv_ack_async_event(&event);
	}
	return seen;
}

static void
srq_limit(void)
{
	struct hwq_srq_conf conf = {.n_wr = 8, .max_sge = 1};
	const struct hwq_sge sge = {(uintptr_t)mem[1], 512, mrs[1].lkey};
	struct ibv_recv_wr wr = {0}, *bad;
	struct srq_twins t;
	unsigned int i;

	srq_twins_create(&conf, &t);
	for (i = 0; i < 8; i++) {
		CHECK_EQ(hwq_srq_post_list(t.srq, i, &sge, 1), 0, "posting");
		CHECK_EQ(ibv_post_srq_recv(t.stock.srq, &wr, &bad), 0, "posting");
	}
	hwq_srq_ring(t.srq);
	CHECK_EQ(hwq_srq_arm_limit(t.srq, 6), 0, "arming");
	CHECK_EQ(hwq_srq_arm_limit(t.srq, hwq_srq_size(t.srq) + 1), -EINVAL, "beyond it");
	/* The stock twin sets no limit. Messages are empty, so its receives need no memory. */
	for (i = 0; i < 4; i++) {
		CHECK(!saw_limit_event(), "an event after %u of 8", i);
		send_to_both(&t, 0, 0);
		if (i >= 2)
			break;
	}
	CHECK(saw_limit_event(), "no event when 5 are left");
	send_to_both(&t, 0, 0);
	CHECK(!saw_limit_event(), "a second event without a new arming");
	/*
	 * The largest allowed limit is the number of entries. Fewer entries are posted now, so the
	 * event must come.
	 */
	CHECK_EQ(hwq_srq_arm_limit(t.srq, hwq_srq_size(t.srq)), 0, "as many as it holds");
	CHECK(saw_limit_event(), "no event when 4 are left");
	srq_twins_destroy(&t);
}

/*
 * The reset of a QP must free the SRQ entries of its unread completions. Completions of other QPs
 * must stay.
 */
static void
srq_and_resets(void)
{
	struct hwq_srq_conf conf = {.n_wr = 15, .max_sge = 1};
	const struct hwq_sge sge = {(uintptr_t)mem[1], 512, mrs[1].lkey};
	struct ibv_recv_wr wr = {.sg_list = NULL}, *bad;
	struct hwq_cqe rec[16];
	uint64_t ids[16];
	struct srq_twins t;
	unsigned int round, i;

	srq_twins_create(&conf, &t);
	CHECK_EQ(hwq_srq_size(t.srq), 15, "entries");
	for (round = 0; round < 10; round++) {
		for (i = 0; hwq_srq_post_list(t.srq, round * 100 + i, &sge, 1) == 0; i++)
			;
		CHECK_EQ(i, 15, "the receives that an empty SRQ takes");
		while (ibv_post_srq_recv(t.stock.srq, &wr, &bad) == 0)
			;
		hwq_srq_ring(t.srq);
		for (i = 0; i < 15; i++)
			send_to_both(&t, i % 3, 0);
		CHECK_EQ(hwq_qp_reset(t.qp[1]), 0, "reset");
		CHECK_EQ(hwq_srq_poll(t.srq, t.cq, rec, ids, 16), 10,
			"completions of the other two QPs");
		for (i = 0; i < 10; i++) {
			CHECK_EQ(ids[i], round * 100 + i / 2 * 3 + i % 2 * 2, "wr_id");
			CHECK(rec[i].qpn != t.qp[1]->qpn, "a completion of the QP that was reset");
		}
		while (ibv_poll_cq(t.stock_cq, 16, (struct ibv_wc[16]){0}) > 0)
			;
		CHECK_EQ(hwq_qp_reset(t.to_hwq[1]), 0, "reset");
		twin_connect(t.to_hwq[1], t.qp[1]);
		if (check_failures != 0)
			break;
	}
	srq_twins_destroy(&t);
}

/* A post that is refused must not change the queue, its entries, links and wr_ids. */
static void
srq_refusals_write_nothing(void)
{
	struct hwq_srq_conf conf = {.n_wr = 15, .max_sge = 1};
	const struct hwq_sge sge[2] = {{(uintptr_t)mem[1], 512, mrs[1].lkey}};
	uint8_t entries[16 * 64];
	struct hwq_srq *srq, before;
	uint64_t ids[16];
	unsigned int i;

	if (hwq_srq_create(dev, &conf, &srq) != 0)
		EMU_DIE("an SRQ");
	CHECK(srq->max_sge == 1 && srq->stride <= 64, "entries of %u bytes", srq->stride);
	for (i = 0; i <= 15; i++) {
		unsigned int n = i == 15 ? 1 : 2;

		before = *srq;
		memcpy(ids, srq->wr_ids, sizeof(ids));
		memcpy(entries, srq->buf, 16 * srq->stride);
		CHECK_EQ(hwq_srq_post_list(srq, 1000 + i, sge, n), n == 1 ? -ENOMEM : -EINVAL,
			"a post to a full queue, or of too many pieces");
		check_bytes(srq, &before, sizeof(before), "the queue");
		check_bytes(srq->wr_ids, ids, sizeof(ids), "the wr_ids");
		check_bytes(srq->buf, entries, 16 * srq->stride, "the entries");
		if (n == 2)
			CHECK_EQ(hwq_srq_post_list(srq, i, sge, 1), 0, "posting");
	}
	CHECK_EQ(hwq_srq_destroy(srq), 0, "destroying it with its entries");
}

/* ------------------------------------------------------------------ XRC */

static struct ibv_qp *
xrc_qp(enum ibv_qp_type type, struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr_ex attr = {.qp_type = type,
		.comp_mask = type == IBV_QPT_XRC_RECV ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD,
		.xrcd = xrcd,
		.pd = dev->pd,
		.send_cq = type == IBV_QPT_XRC_SEND ? cq : NULL,
		.cap = {.max_send_wr = type == IBV_QPT_XRC_SEND ? 64 : 0,
			.max_send_sge = type == IBV_QPT_XRC_SEND}};
	struct ibv_qp *qp = ibv_create_qp_ex(dev->ctx, &attr);

	if (qp == NULL)
		EMU_DIE("XRC QP: %s", strerror(errno));
	stock_to_init(dev, qp);
	return qp;
}

static void
xrc(void)
{
	struct ibv_xrcd_init_attr xrcd_attr = {.comp_mask = IBV_XRCD_INIT_ATTR_FD |
							    IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(dev->ctx, &xrcd_attr);
	const struct hwq_sge sge = {(uintptr_t)mem[1], 512, mrs[1].lkey};
	struct ibv_cq *send_cq = ibv_create_cq(dev->ctx, 64, NULL, NULL, 0);
	struct ibv_qp *send, *recv;
	struct hwq_srq_conf conf = {.n_wr = 20, .max_sge = 2};
	struct hwq_domain *domain;
	struct hwq_srq *srq[2], *second, *none = NULL;
	struct hwq_cq *cq[2], *small;
	struct hwq_cqe rec[32];
	uint64_t ids[32];
	struct ibv_wc wc;
	unsigned int i;

	if (xrcd == NULL || send_cq == NULL || hwq_domain_create(dev, &domain) != 0)
		EMU_DIE("XRC domain: %s", strerror(errno));
	conf.xrcd = xrcd;
	CHECK_EQ(hwq_srq_create(dev, &conf, &none), -EINVAL, "without a CQ");
	if (hwq_cq_create(domain, 16, &small) != 0)
		EMU_DIE("a CQ");
	conf.cq = small;
	CHECK_EQ(hwq_srq_create(dev, &conf, &none), -ENOSPC, "with too small a CQ");
	CHECK(none == NULL, "out-pointer");
	for (i = 0; i < 2; i++) {
		if (hwq_cq_create(domain, 64, &cq[i]) != 0)
			EMU_DIE("a CQ");
		conf.cq = cq[i];
		CHECK_EQ(hwq_srq_create(dev, &conf, &srq[i]), 0, "creating");
	}
	CHECK_EQ(hwq_cq_destroy(cq[0]), -EBUSY, "destroying the CQ of an XRC SRQ");
	send = xrc_qp(IBV_QPT_XRC_SEND, NULL, send_cq);
	recv = xrc_qp(IBV_QPT_XRC_RECV, xrcd, NULL);
	stock_connect(dev, send, recv->qp_num);
	stock_connect(dev, recv, send->qp_num);
	for (i = 0; i < 200 && check_failures == 0; i++) {
		struct ibv_sge data = {(uintptr_t)mem[0], i + 1, mrs[0].lkey};
		struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_IMM,
					   .send_flags = IBV_SEND_SIGNALED,
					   .sg_list = &data,
					   .num_sge = 1,
					   .imm_data = htobe32(i),
					   .qp_type.xrc.remote_srqn = srq[i % 2]->srqn},
				   *bad;

		CHECK_EQ(hwq_srq_post_list(srq[i % 2], i, &sge, 1), 0, "posting");
		hwq_srq_ring(srq[i % 2]);
		CHECK_EQ(ibv_post_send(send, &wr, &bad), 0, "sending");
		emu_pump();
		CHECK_EQ(ibv_poll_cq(send_cq, 1, &wc), 1, "sent");
		CHECK_EQ(wc.status, IBV_WC_SUCCESS, "sent");
		CHECK_EQ(hwq_srq_poll(srq[(i + 1) % 2], cq[(i + 1) % 2], rec, ids, 32), 0,
			"the other SRQ");
		CHECK_EQ(hwq_srq_poll(srq[i % 2], cq[i % 2], rec, ids, 32), 1, "receives");
		CHECK_EQ(ids[0], i, "wr_id");
		CHECK_EQ(rec[0].byte_cnt, i + 1, "bytes");
		CHECK_EQ(be32toh(rec[0].imm_inval), i, "immediate");
		CHECK_EQ(rec[0].qpn, recv->qp_num, "the QP that received");
	}
	/*
	 * Unread completions must be dropped when the last SRQ of their CQ is destroyed, not
	 * before.
	 */
	conf.cq = cq[1];
	CHECK_EQ(hwq_srq_create(dev, &conf, &second), 0, "a second SRQ on a CQ");
	for (i = 0; i < 2; i++) {
		struct ibv_send_wr wr = {.opcode = IBV_WR_SEND,
					   .qp_type.xrc.remote_srqn = srq[i]->srqn},
				   *bad;

		CHECK_EQ(hwq_srq_post_list(srq[i], i, &sge, 1), 0, "posting");
		hwq_srq_ring(srq[i]);
		CHECK_EQ(ibv_post_send(send, &wr, &bad), 0, "sending");
	}
	emu_pump();
	if (ibv_destroy_qp(send) != 0 || ibv_destroy_qp(recv) != 0)
		EMU_DIE("destroying XRC QPs");
	for (i = 0; i < 2; i++) {
		CHECK_EQ(hwq_srq_destroy(srq[i]), 0, "destroying");
		/* The consumer index tells the device that the dropped entries are free. */
		CHECK_EQ(be32toh(cq[i]->dbrec[HWQ_CQ_DBR_CI]), 101 - i, "consumer index");
		CHECK_EQ(hwq_cq_poll(cq[i], rec, 32), i, "completions that are left");
	}
	CHECK_EQ(hwq_srq_destroy(second), 0, "destroying");
	for (i = 0; i < 2; i++)
		CHECK_EQ(hwq_cq_destroy(cq[i]), 0, "destroying its CQ");
	CHECK_EQ(hwq_cq_destroy(small), 0, "destroying");
	if (ibv_destroy_cq(send_cq) != 0 || ibv_close_xrcd(xrcd) != 0 ||
		hwq_domain_destroy(domain) != 0)
		EMU_DIE("destroying");
}

/* ------------------------------------------------------------------ refusals */

static void
refusals(void)
{
	struct hwq_srq_conf conf = {.n_wr = 8, .max_sge = 1};
	struct hwq_qp_conf qp_conf = {.sq_wr = 2};
	struct hwq_srq *srq = NULL, *none = NULL;
	struct hwq_domain *domain;
	struct hwq_qp *qp = NULL;
	struct hwq_cq *cq;

	hwq_log_set(emu_count_log);
	if (hwq_domain_create(dev, &domain) != 0 || hwq_cq_create(domain, 8, &cq) != 0)
		EMU_DIE("queues");
	CHECK_EQ(hwq_srq_create(dev, &(struct hwq_srq_conf){0}, &none), -EINVAL, "no entries");
	conf.max_sge = dev->caps.max_sge + 1;
	CHECK_EQ(hwq_srq_create(dev, &conf, &none), -EINVAL, "too many pieces");
	conf.max_sge = 1;
	conf.n_wr = 1 << 30;
	CHECK(hwq_srq_create(dev, &conf, &none) < 0, "too many entries");
	conf.n_wr = 8;
	conf.cq = cq;
	CHECK_EQ(hwq_srq_create(dev, &conf, &none), -EINVAL, "a CQ without an XRC domain");
	conf.cq = NULL;
	setenv("MLX5_SRQ_SIGNATURE", "1", 1);
	CHECK_EQ(hwq_srq_create(dev, &conf, &none), -EOPNOTSUPP, "signed entries");
	unsetenv("MLX5_SRQ_SIGNATURE");
	CHECK(none == NULL, "out-pointer");
	CHECK_EQ(hwq_srq_create(dev, &conf, &srq), 0, "creating");
	qp_conf.srq = srq;
	CHECK_EQ(hwq_qp_create(domain, cq, &qp_conf, &qp), -ENOSPC, "a CQ that is too small");
	qp_conf.rq_wr = 4;
	CHECK_EQ(hwq_qp_create(domain, cq, &qp_conf, &qp), -EINVAL, "receives of two places");
	qp_conf.rq_wr = 4;
	qp_conf.srq = NULL;
	qp_conf.rq_sge = dev->caps.max_sge + 1;
	CHECK_EQ(hwq_qp_create(domain, cq, &qp_conf, &qp), -EINVAL, "too many pieces");
	CHECK(qp == NULL, "out-pointer");
	CHECK_EQ(hwq_srq_destroy(srq), 0, "destroying");
	if (hwq_cq_destroy(cq) != 0 || hwq_domain_destroy(domain) != 0)
		EMU_DIE("destroying");
	hwq_log_set(NULL);
}

int
main(int argc, char **argv)
{
	(void)argc;
	emu_setting(argv, "SOFTHCA_THREADS", "0");
	dev = emu_open();
	memory_create();
	RUN("receive queues: equal posts write libmlx5's bytes", receive_queue_bytes());
	RUN("messages of every kind complete with their wr_ids, also failed and flushed ones",
		messages_into_lists());
	RUN("receives that succeeded are taken alone", good_receives_alone());
	RUN("a poll for receives stops at a completion of a send", two_directions_on_one_cq());
	RUN("a poll for receives stops at a receive of another queue", two_queues_on_one_cq());
	RUN("receives have their own CQ; a flush fills both CQs, and a reset empties both",
		receives_on_a_cq_of_their_own());
	RUN("shared receive queues: libmlx5's bytes, links and completions, lap after lap",
		srq_twin());
	RUN("an SRQ at its limit sends one event", srq_limit());
	RUN("a reset gives an SRQ's entries back", srq_and_resets());
	RUN("a refused post writes nothing into an SRQ", srq_refusals_write_nothing());
	RUN("XRC: each SRQ completes in its own CQ", xrc());
	RUN("impossible receive queues are refused", refusals());
	memory_destroy();
	if (hwq_dev_close(dev) != 0)
		EMU_DIE("closing");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
