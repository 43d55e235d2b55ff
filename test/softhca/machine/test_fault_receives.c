/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults on demand in receives: a completion fails, is hidden, or is late. */
#include <sys/mman.h>

#include "softhca_faults.h"

#define GRH 40

static struct pair p;

/* Posts receives 101, 102, ... of the server, each with 64 bytes of its own. */
static void
begin(unsigned int receives)
{
	pair_init(&p, &(struct pair_opts){.timeout = 8, .retry_cnt = 1});
	memset(p.client.buf, 0x5c, 64);
	memset(p.server.buf, 0, 1024);
	for (unsigned int i = 0; i < receives; i++)
		pair_post_recv(&p.server, 101 + i, 64 * i, 64);
}

static void
end(void)
{
	CHECK_EQ(softhca_faults_left(), 0);
	pair_fini(&p);
}

/*
 * A receive must be able to fail with any syndrome of mlx5dv.h. libmlx5 must return the status for
 * this syndrome (ibv_poll_cq(3)).
 */
static void
case_syndromes(void)
{
	static const struct {
		unsigned int syndrome;
		enum ibv_wc_status status;
	} known[] = {
		{MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR, IBV_WC_LOC_LEN_ERR},
		{MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, IBV_WC_LOC_PROT_ERR},
		{MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR},
		{MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR, IBV_WC_REM_INV_REQ_ERR},
		{0x77, IBV_WC_GENERAL_ERR},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char line[80];
		struct ibv_wc wc;

		begin(3);
		snprintf(line, sizeof(line), "recv_complete syndrome=0x%x vendor=0x9%zx op=2 qp=%u",
			known[i].syndrome, i, p.server.qp->qp_num);
		fault(line);
		faults_post(&p, 1, IBV_WR_SEND);
		faults_post(&p, 2, IBV_WR_SEND);
		faults_expect(&p.server, 101, IBV_WC_SUCCESS);
		wc = pair_wait(&p.server);
		CHECK_EQ(wc.wr_id, 102);
		CHECK_EQ(wc.status, known[i].status);
		CHECK_EQ(wc.vendor_err, 0x90 + i);
		faults_expect(&p.server, 103, IBV_WC_WR_FLUSH_ERR);
		faults_expect(&p.client, 1, IBV_WC_SUCCESS);
		faults_expect(&p.client, 2, IBV_WC_REM_OP_ERR);
		CHECK_EQ(p.server.buf[0], 0x5c);
		CHECK_EQ(p.server.buf[64], 0); /* the failed message did not arrive */
		end();
	}
}

/*
 * Waits for the completion of receive id, after the completion of one earlier receive was lost.
 * Before version 55 of rdma-core, libmlx5 counts a QP's receives by their completions, so it then
 * returns the previous receive's wr_id.
 */
static void
expect_behind_lost(uint64_t id, enum ibv_wc_status status)
{
	struct ibv_wc wc = pair_wait(&p.server);

	CHECK(wc.wr_id == id || wc.wr_id == id - 1);
	CHECK_EQ(wc.status, status);
}

static void
case_drop(void)
{
	begin(3);
	fault("recv_drop op=2");
	for (uint64_t id = 1; id <= 3; id++)
		faults_post(&p, id, IBV_WR_SEND);
	for (uint64_t id = 1; id <= 3; id++)
		faults_expect(&p.client, id, IBV_WC_SUCCESS);
	faults_expect(&p.server, 101, IBV_WC_SUCCESS);
	expect_behind_lost(103, IBV_WC_SUCCESS);
	pair_expect_none(&p.server);
	for (unsigned int i = 0; i < 3; i++)
		CHECK_EQ(p.server.buf[64 * i + 63], 0x5c); /* all messages have arrived */
	end();
}

/*
 * After a receive whose completion was lost, a failed write moves the QP to error: the remaining
 * receives must complete as flushed.
 */
static void
case_drop_and_failure(void)
{
	struct ibv_sge sge = {.length = 64};
	struct ibv_send_wr wr[2] = {{.wr_id = 1,
					    .next = &wr[1],
					    .sg_list = &sge,
					    .num_sge = 1,
					    .opcode = IBV_WR_SEND,
					    .send_flags = IBV_SEND_SIGNALED},
		{.wr_id = 2, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE}};
	struct ibv_send_wr *bad;

	begin(3);
	sge.addr = (uintptr_t)p.client.buf;
	sge.lkey = p.client.mr->lkey;
	wr[1].wr.rdma.remote_addr = (uintptr_t)p.server.buf;
	wr[1].wr.rdma.rkey = p.server.mr->rkey ^ 0xff;
	fault("recv_drop");
	pair_publish(&p.client);
	CHECK_EQ(ibv_post_send(p.client.qp, wr, &bad), 0);
	faults_expect(&p.client, 1, IBV_WC_SUCCESS);
	faults_expect(&p.client, 2, IBV_WC_REM_ACCESS_ERR);
	expect_behind_lost(102, IBV_WC_WR_FLUSH_ERR);
	expect_behind_lost(103, IBV_WC_WR_FLUSH_ERR);
	end();
}

/*
 * A fault is armed that loses a receive's completion. But the receive names memory that does not
 * exist, so no message arrives, and the fault must not apply: the receive is flushed, and the
 * completion of this flush must arrive.
 */
static void
case_drop_of_nothing(void)
{
	void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_sge sge = {(uintptr_t)gone, 64};
	struct ibv_send_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct ibv_send_wr *bad;
	struct ibv_mr *mr;

	begin(1);
	CHECK(gone != MAP_FAILED);
	mr = ibv_reg_mr(p.pd, gone, 4096, IBV_ACCESS_ON_DEMAND);
	CHECK(mr != NULL);
	sge.lkey = mr->lkey;
	pair_post_recv(&p.client, 201, 0, 64);
	fault("recv_drop");
	pair_publish(&p.client);
	CHECK_EQ(ibv_post_send(p.client.qp, &wr, &bad), 0);
	faults_expect(&p.client, 1, IBV_WC_LOC_PROT_ERR);
	faults_expect(&p.client, 201, IBV_WC_WR_FLUSH_ERR);
	pair_expect_none(&p.server);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(munmap(gone, 4096), 0);
	/* Nothing is sent to another process, so the fault stays armed. */
	if (pair_is_loop())
		softhca_faults_clear();
	end();
}

static void
case_late(void)
{
	begin(3);
	fault("recv_late ms=60 op=2"); /* test_softhca_waits tests the exact delay */
	for (uint64_t id = 1; id <= 3; id++)
		faults_post(&p, id, IBV_WR_SEND);
	faults_expect(&p.server, 101, IBV_WC_SUCCESS);
	faults_expect(&p.server, 102, IBV_WC_SUCCESS);
	faults_expect(&p.server, 103, IBV_WC_SUCCESS);
	for (uint64_t id = 1; id <= 3; id++)
		faults_expect(&p.client, id, IBV_WC_SUCCESS);
	/* A message is counted once, however often it is retried. */
	pair_post_recv(&p.server, 104, 0, 64);
	fault("recv_late ms=20 times=2");
	faults_post(&p, 4, IBV_WR_SEND);
	faults_expect(&p.server, 104, IBV_WC_SUCCESS);
	faults_expect(&p.client, 4, IBV_WC_SUCCESS);
	CHECK_EQ(softhca_faults_left(), 1);
	softhca_faults_clear();
	end();
}

/*
 * A message that its responder refuses does not arrive, so the fault must not apply to it: its
 * receive must complete with an error.
 */
static void
case_drop_of_refused(void)
{
	struct ibv_sge sge = {.length = 64};
	struct ibv_send_wr wr = {.wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_INV};
	struct ibv_send_wr *bad;

	begin(1);
	sge.addr = (uintptr_t)p.client.buf;
	sge.lkey = p.client.mr->lkey;
	/* the key of a region, which may not be invalidated */
	wr.invalidate_rkey = p.server.mr->rkey;
	fault("recv_drop");
	pair_publish(&p.client);
	CHECK_EQ(ibv_post_send(p.client.qp, &wr, &bad), 0);
	faults_expect(&p.client, 1, IBV_WC_REM_OP_ERR);
	faults_expect(&p.server, 101, IBV_WC_REM_INV_REQ_ERR);
	end();
}

/*
 * RESET must end the delay of a message. The message after the RESET counts as a new operation, so
 * the second fault must apply to this message.
 */
static void
case_late_and_reset(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	begin(1);
	fault("recv_late ms=3600000");
	faults_post(&p, 1, IBV_WR_SEND);
	while (softhca_faults_left() != 0)
		pair_run();
	/* The query returns after the visit in which the fault was applied. */
	CHECK_EQ(ibv_query_qp(p.client.qp, &attr, IBV_QP_STATE, &init), 0);
	CHECK_EQ(pair_modify(&p.client, IBV_QPS_RESET), 0);
	pair_connect(&p, &p.client, p.server.qp->qp_num);
	fault("recv_complete syndrome=4");
	faults_post(&p, 2, IBV_WR_SEND);
	faults_expect(&p.server, 101, IBV_WC_LOC_PROT_ERR);
	faults_expect(&p.client, 2, IBV_WC_REM_OP_ERR);
	end();
}

/*
 * Only operations that use a receive may be counted, and only those on the QP that the fault names.
 */
static void
case_counting(void)
{
	char line[80];

	begin(2);
	snprintf(line, sizeof(line), "recv_drop qp=%u", p.client.qp->qp_num);
	fault(line);
	faults_post(&p, 1, IBV_WR_RDMA_WRITE);
	faults_post(&p, 2, IBV_WR_RDMA_WRITE_WITH_IMM);
	faults_post(&p, 3, IBV_WR_SEND);
	for (uint64_t id = 1; id <= 3; id++)
		faults_expect(&p.client, id, IBV_WC_SUCCESS);
	faults_expect(&p.server, 101, IBV_WC_SUCCESS);
	faults_expect(&p.server, 102, IBV_WC_SUCCESS);
	CHECK_EQ(softhca_faults_left(), 1);
	softhca_faults_clear();
	end();
}

/*
 * Posts a write and then a request that has no receive, by one doorbell. Returns when the device
 * has tried that request: the visit that completed the write continued with the request, and a
 * query waits until the visit has ended.
 */
static void
begin_to_wait(enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = {(uintptr_t)p.client.buf, 64, p.client.mr->lkey};
	struct ibv_send_wr wr[2] = {{.opcode = IBV_WR_RDMA_WRITE, .next = &wr[1]},
		{.opcode = opcode}};
	struct ibv_qp_init_attr init;
	struct ibv_send_wr *bad;
	struct ibv_qp_attr attr;

	for (unsigned int i = 0; i < 2; i++) {
		wr[i].wr_id = i;
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].wr.rdma.remote_addr = (uintptr_t)p.server.buf;
		wr[i].wr.rdma.rkey = p.server.mr->rkey;
	}
	pair_publish(&p.client);
	CHECK_EQ(ibv_post_send(p.client.qp, wr, &bad), 0);
	faults_expect(&p.client, 0, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_query_qp(p.client.qp, &attr, IBV_QP_STATE, &init), 0);
}

/* If a sender waits for a receive, the fault must apply once, when a receive is posted. */
static void
case_waiting(void)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE_WITH_IMM};

	for (size_t i = 0; i < 2; i++) {
		begin(0);
		fault("recv_complete syndrome=4");
		begin_to_wait(opcodes[i]);
		CHECK_EQ(softhca_faults_left(), 1);
		pair_post_recv(&p.server, 101, 0, 64);
		faults_expect(&p.server, 101, IBV_WC_LOC_PROT_ERR);
		faults_expect(&p.client, 1, IBV_WC_REM_OP_ERR);
		end();
	}
}

static void
case_file(void)
{
	begin(3);
	faults_write("recv_drop\nrecv_late ms=40 op=1 # of those that are left\n"
		     "recv_complete syndrome=1 op=1\n");
	faults_await(3);
	for (uint64_t id = 1; id <= 3; id++)
		faults_post(&p, id, IBV_WR_SEND);
	expect_behind_lost(102, IBV_WC_SUCCESS);
	expect_behind_lost(103, IBV_WC_LOC_LEN_ERR);
	faults_expect(&p.client, 1, IBV_WC_SUCCESS);
	faults_expect(&p.client, 2, IBV_WC_SUCCESS);
	faults_expect(&p.client, 3, IBV_WC_REM_OP_ERR);
	faults_write("");
	end();
}

/* ---- UD, into a shared receive queue */

static struct {
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
} ud;

static void
ud_init(void)
{
	ud.srq = ibv_create_srq(p.pd, &(struct ibv_srq_init_attr){.attr = {8, 1, 0}});
	CHECK(ud.srq != NULL);
	ud.qp = pair_datagram_qp(&p, ud.srq);
	ud.ah = pair_own_ah(&p, 1);
}

static void
ud_send(uint64_t id)
{
	struct ibv_sge from = {(uintptr_t)p.client.buf, 64, p.client.mr->lkey};
	struct ibv_sge to = {(uintptr_t)p.server.buf, 64 + GRH, p.server.mr->lkey};
	struct ibv_recv_wr recv = {.wr_id = 100 + id, .sg_list = &to, .num_sge = 1}, *bad_recv;
	struct ibv_send_wr wr = {.wr_id = id,
		.sg_list = &from,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	pair_make_datagram(&wr, ud.ah, ud.qp);
	CHECK_EQ(ibv_post_srq_recv(ud.srq, &recv, &bad_recv), 0);
	pair_publish(&p.client);
	CHECK_EQ(ibv_post_send(ud.qp, &wr, &bad), 0);
}

static void
case_ud(void)
{
	begin(0);
	ud_init();
	fault("recv_drop");
	ud_send(1);
	faults_expect(&p.client, 1, IBV_WC_SUCCESS);
	pair_expect_none(&p.server);
	CHECK_EQ(p.server.buf[GRH], 0x5c);
	fault("recv_late ms=40");
	ud_send(2);
	faults_expect(&p.server, 102, IBV_WC_SUCCESS);
	faults_expect(&p.client, 2, IBV_WC_SUCCESS);
	fault("recv_complete syndrome=1");
	ud_send(3);
	faults_expect(&p.server, 103, IBV_WC_LOC_LEN_ERR);
	faults_expect(&p.client, 3, IBV_WC_SUCCESS); /* the sender is not told of the fault */
	CHECK_EQ(ibv_destroy_ah(ud.ah), 0);
	CHECK_EQ(ibv_destroy_qp(ud.qp), 0);
	CHECK_EQ(ibv_destroy_srq(ud.srq), 0);
	end();
}

static const struct check_case cases[] = {
	{"a receive fails with any syndrome", case_syndromes},
	{"a receive's completion is lost, its message is not", case_drop},
	{"after a lost completion, the remaining receives are flushed", case_drop_and_failure},
	{"a message that cannot arrive does not use up the fault", case_drop_of_nothing},
	{"a message that arrives late delays those after it", case_late},
	{"the completion of a failed receive is not lost", case_drop_of_refused},
	{"RESET ends the delay of a message", case_late_and_reset},
	{"operations without a receive, or on another QP, are not counted", case_counting},
	{"a fault acts on a waiting message when there is a receive", case_waiting},
	{"faults of the control file act on receives, in the order of the file", case_file},
	{"faults act on unreliable messages, and on receives of an SRQ", case_ud},
};

int
main(int argc, char **argv)
{
	return faults_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
