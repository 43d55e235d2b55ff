/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may send what to whom: a responder of another type, of another connection, at another address,
 * or in another domain is none (InfiniBand architecture, volume 1, chapters 9.2, 9.6 and 9.7; annex
 * A14 for XRC); and an operation that its transport has not is an error of the sender.
 */
#include "softhca_node.h"

static const enum kind listeners[] = {K_RC, K_UC, K_UD, K_XRC_RECV, K_DCT};

#define N_LISTENERS (sizeof(listeners) / sizeof(listeners[0]))

static enum kind
partner(enum kind send)
{
	return send == K_XRC_SEND ? K_XRC_RECV : send == K_DCI ? K_DCT : send;
}

/* A message from a sender to a listener that is connected to `back`: arrives, or does not. */
static void
message(enum kind send, enum kind recv, bool connected, bool arrives)
{
	struct node a = node_open(255), b = node_open(255);
	struct ibv_qp *from = node_qp(&a, send), *to = node_qp(&b, recv), *other;
	struct ibv_qp_attr attr = node_attr(&a, 0);
	bool silent = send == K_UC || send == K_UD;
	struct node_to dest;
	struct ibv_wc wc;

	other = node_qp(&a, send);
	node_ready(&b, to, recv, connected ? from->qp_num : other->qp_num, IBV_QPS_RTS);
	node_ready(&a, from, send, to->qp_num, IBV_QPS_RTS);
	dest = (struct node_to){ibv_create_ah(a.pd, &attr.ah_attr), to->qp_num, b.xrc_srqn};
	CHECK(dest.ah != NULL);
	node_recv(&b, recv <= K_UD ? to : NULL, recv == K_DCT ? b.srq : b.xrc_srq, 9);
	if (recv <= K_UD)
		node_recv(&b, to, NULL, 9);
	node_send(&a, from, send, &dest, false);
	CHECK_EQ(node_wait(a.scq).status,
		arrives || silent ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR);
	if (arrives) {
		wc = node_wait(b.rcq);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	} else {
		node_expect_none(b.rcq);
	}
	CHECK(node_state(to) != IBV_QPS_ERR);
	CHECK_EQ(ibv_destroy_ah(dest.ah), 0);
	CHECK_EQ(ibv_destroy_qp(from), 0);
	CHECK_EQ(ibv_destroy_qp(other), 0);
	CHECK_EQ(ibv_destroy_qp(to), 0);
	node_close(&a);
	node_close(&b);
}

static void
case_types(void)
{
	static const enum kind senders[] = {K_RC, K_UC, K_UD, K_XRC_SEND, K_DCI};

	for (size_t s = 0; s < sizeof(senders) / sizeof(senders[0]); s++)
		for (size_t l = 0; l < N_LISTENERS; l++)
			message(senders[s], listeners[l], true,
				listeners[l] == partner(senders[s]));
}

static void
case_connections(void)
{
	message(K_RC, K_RC, false, false);
	message(K_UC, K_UC, false, false);
	message(K_XRC_SEND, K_XRC_RECV, false, false);
	/* These are connected to nobody. */
	message(K_UD, K_UD, false, true);
	message(K_DCI, K_DCT, false, true);
}

/* ---- DC */

static void
dc_address(size_t at, enum ibv_wc_status status)
{
	struct node a = node_open(255), b = node_open(255);
	struct ibv_qp *dci = node_qp(&a, K_DCI), *dct = node_qp(&b, K_DCT);
	struct ibv_qp_attr attr = node_attr(&a, 0);
	struct mlx5dv_ah dv = {0};
	struct mlx5dv_obj obj;
	struct node_to dest;

	node_ready(&a, dci, K_DCI, 0, IBV_QPS_RTS);
	node_ready(&b, dct, K_DCT, 0, IBV_QPS_RTR);
	dest = (struct node_to){.ah = ibv_create_ah(a.pd, &attr.ah_attr), .qpn = dct->qp_num};
	obj = (struct mlx5dv_obj){.ah = {dest.ah, &dv}};
	CHECK(dest.ah != NULL);
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH), 0);
	if (at != 0)
		((uint8_t *)dv.av)[at] ^= 1;
	node_recv(&b, NULL, b.srq, 9);
	node_send(&a, dci, K_DCI, &dest, false);
	CHECK_EQ(node_wait(a.scq).status, status);
	if (status != IBV_WC_SUCCESS)
		node_expect_none(b.rcq);
	CHECK_EQ(ibv_destroy_ah(dest.ah), 0);
	CHECK_EQ(ibv_destroy_qp(dci), 0);
	CHECK_EQ(ibv_destroy_qp(dct), 0);
	node_close(&a);
	node_close(&b);
}

static void
case_dc_address(void)
{
	dc_address(0, IBV_WC_SUCCESS);
	dc_address(offsetof(struct mlx5_wqe_av, rmac), IBV_WC_RETRY_EXC_ERR);
	dc_address(offsetof(struct mlx5_wqe_av, rgid) + 15, IBV_WC_RETRY_EXC_ERR);
}

/* ---- XRC */

/* A shared receive queue that is not of XRC, though it is the same program's. */
static void
case_xrc_basic(void)
{
	struct node a = node_open(255), b = node_open(255);
	struct ibv_qp *from = node_qp(&a, K_XRC_SEND), *to = node_qp(&b, K_XRC_RECV);
	struct node_to dest = {0};

	node_ready(&a, from, K_XRC_SEND, to->qp_num, IBV_QPS_RTS);
	node_ready(&b, to, K_XRC_RECV, from->qp_num, IBV_QPS_RTS);
	CHECK_EQ(ibv_get_srq_num(b.srq, &dest.srqn), 0);
	node_recv(&b, NULL, b.srq, 9);
	node_send(&a, from, K_XRC_SEND, &dest, false);
	CHECK_EQ(node_wait(a.scq).status, IBV_WC_REM_INV_REQ_ERR);
	node_expect_none(b.rcq);
	CHECK_EQ(ibv_destroy_qp(from), 0);
	CHECK_EQ(ibv_destroy_qp(to), 0);
	node_close(&a);
	node_close(&b);
}

/* ---- operations */

static void
operation(enum kind kind, enum ibv_wr_opcode op, enum ibv_wc_status status)
{
	struct node a = node_open(255), b = node_open(255);
	struct ibv_qp *from = node_qp(&a, kind), *to = node_qp(&b, kind);
	struct ibv_qp_attr attr = node_attr(&a, 0);
	struct ibv_ah *ah = ibv_create_ah(a.pd, &attr.ah_attr);
	struct ibv_sge sge = {(uintptr_t)a.buf, 8, a.mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	CHECK(ah != NULL);
	node_ready(&a, from, kind, to->qp_num, IBV_QPS_RTS);
	node_ready(&b, to, kind, from->qp_num, IBV_QPS_RTS);
	memset(a.buf, 0x77, 4096);
	if (kind == K_UD) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = to->qp_num;
		wr.wr.ud.remote_qkey = NODE_QKEY;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)b.buf;
		wr.wr.rdma.rkey = b.mr->rkey;
	}
	node_recv(&b, to, NULL, 9);
	node_publish(from, NULL);
	CHECK_EQ(ibv_post_send(from, &wr, &bad), 0);
	CHECK_EQ(node_wait(a.scq).status, status);
	if (status != IBV_WC_SUCCESS) {
		CHECK_EQ(node_state(from), IBV_QPS_SQE);
		CHECK_EQ(b.buf[0], 0);
		CHECK_EQ(a.buf[0], 0x77);
		node_expect_none(b.rcq);
	}
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	CHECK_EQ(ibv_destroy_qp(from), 0);
	CHECK_EQ(ibv_destroy_qp(to), 0);
	node_close(&a);
	node_close(&b);
}

static void
case_operations(void)
{
	operation(K_UC, IBV_WR_SEND, IBV_WC_SUCCESS);
	operation(K_UC, IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS);
	operation(K_UC, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_SUCCESS);
	operation(K_UC, IBV_WR_RDMA_READ, IBV_WC_LOC_QP_OP_ERR);
	operation(K_UC, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_LOC_QP_OP_ERR);
	operation(K_UD, IBV_WR_SEND, IBV_WC_SUCCESS);
	operation(K_UD, IBV_WR_RDMA_WRITE, IBV_WC_LOC_QP_OP_ERR);
	operation(K_UD, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_LOC_QP_OP_ERR);
	operation(K_UD, IBV_WR_RDMA_READ, IBV_WC_LOC_QP_OP_ERR);
	operation(K_UD, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_LOC_QP_OP_ERR);
	operation(K_UD, IBV_WR_SEND_WITH_INV, IBV_WC_LOC_QP_OP_ERR);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"a message reaches its own transport alone", case_types},
		{"a connection is between two", case_connections},
		{"a DCT is at its port", case_dc_address},
		{"XRC reaches the receive queues of XRC alone", case_xrc_basic},
		{"what a transport has not is the sender's error", case_operations},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
