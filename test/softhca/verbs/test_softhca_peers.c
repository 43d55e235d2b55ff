/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which QPs can receive a message. A QP of another type, of another connection, at another address,
 * or in another domain must not receive it (InfiniBand architecture, volume 1, chapters 9.2, 9.6
 * and 9.7; annex A14 for XRC). An operation that a transport does not have must be an error of the
 * sender.
 */
#include "softhca_node.h"

static const enum kind listeners[] = {K_RC, K_UC, K_UD, K_XRC_RECV, K_DCT};

#define N_LISTENERS (sizeof(listeners) / sizeof(listeners[0]))

/* Posts a receive to every queue from which a QP of this type could take a receive. */
static void
listen_on(struct node *n, struct ibv_qp *qp, enum kind kind)
{
	node_recv(n, NULL, kind == K_DCT ? n->srq : n->xrc_srq, 9);
	if (kind <= K_UD)
		node_recv(n, qp, NULL, 9);
}

/*
 * Sends a message to a listener that is connected to `back`. Expects that it arrives or does not
 * arrive.
 */
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
	listen_on(&b, to, recv);
	node_send(&a, from, send, &dest, false);
	CHECK_EQ(node_wait(a.scq).status,
		arrives || silent ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR);
	if (arrives) {
		wc = node_wait(b.rcq);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	} else {
		node_expect_none(b.rcq);
	}
	CHECK(pair_state(to) != IBV_QPS_ERR);
	CHECK_EQ(ibv_destroy_ah(dest.ah), 0);
	CHECK_EQ(ibv_destroy_qp(from), 0);
	node_close_ends(&a, other, &b, to);
}

static void
case_types(void)
{
	static const enum kind senders[] = {K_RC, K_UC, K_UD, K_XRC_SEND, K_DCI};

	for (size_t s = 0; s < sizeof(senders) / sizeof(senders[0]); s++)
		for (size_t l = 0; l < N_LISTENERS; l++)
			message(senders[s], listeners[l], true,
				listeners[l] == node_partner(senders[s]));
}

static void
case_connections(void)
{
	message(K_RC, K_RC, false, false);
	message(K_UC, K_UC, false, false);
	message(K_XRC_SEND, K_XRC_RECV, false, false);
	/* QPs of these types have no connection. */
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
	node_close_ends(&a, dci, &b, dct);
}

static void
case_dc_address(void)
{
	dc_address(0, IBV_WC_SUCCESS);
	dc_address(offsetof(struct mlx5_wqe_av, rmac), IBV_WC_RETRY_EXC_ERR);
	dc_address(offsetof(struct mlx5_wqe_av, rgid) + 15, IBV_WC_RETRY_EXC_ERR);
}

/*
 * A DCI sends to a QP that is not a DCT. Such a QP has no DC key, so no key may match, not even key
 * 0.
 */
static void
case_dc_key(void)
{
	static const uint64_t keys[] = {0, NODE_DC};

	for (size_t l = 0; l < N_LISTENERS; l++) {
		for (size_t k = 0; k < 2; k++) {
			struct node a = node_open(255), b = node_open(255);
			struct ibv_qp *dci = node_qp(&a, K_DCI), *to = node_qp(&b, listeners[l]);
			struct ibv_qp_attr attr = node_attr(&a, 0);
			struct node_to dest = {.ah = ibv_create_ah(a.pd, &attr.ah_attr)};
			struct ibv_sge sge = {(uintptr_t)a.buf, 64, a.mr->lkey};
			bool good = listeners[l] == K_DCT && keys[k] == NODE_DC;

			CHECK(dest.ah != NULL);
			node_ready(&a, dci, K_DCI, 0, IBV_QPS_RTS);
			node_ready(&b, to, listeners[l], dci->qp_num, IBV_QPS_RTS);
			listen_on(&b, to, listeners[l]);
			dest.qpn = to->qp_num; /* a DCT has had its number since RTR */
			node_dc_send(dci, &dest, keys[k], sge);
			CHECK_EQ(node_wait(a.scq).status,
				good ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR);
			if (good)
				CHECK_EQ(node_wait(b.rcq).status, IBV_WC_SUCCESS);
			else
				node_expect_none(b.rcq);
			CHECK_EQ(ibv_destroy_ah(dest.ah), 0);
			node_close_ends(&a, dci, &b, to);
		}
	}
}

/* ---- UD */

/*
 * The address has the index of the sender's GID. If the index is after the last GID, there is no
 * such GID, so the packet must have no header (libmlx5's mlx5_wqe_av: bits 27:20 of grh_gid_fl).
 */
static void
case_ud_gid_index(void)
{
	struct ibv_gid_entry gids[64];
	struct node a = node_open(255), b = node_open(255);
	struct ibv_qp *from = node_qp(&a, K_UD), *to = node_qp(&b, K_UD);
	struct ibv_qp_attr attr = node_attr(&a, 0);
	struct node_to dest = {ibv_create_ah(a.pd, &attr.ah_attr), to->qp_num, 0};
	ssize_t n_gids = ibv_query_gid_table(a.ctx, gids, 64, 0);
	uint8_t zeros[40] = {0};
	struct mlx5dv_ah dv = {0};
	struct mlx5dv_obj obj = {.ah = {dest.ah, &dv}};

	CHECK(dest.ah != NULL && n_gids >= 2);
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH), 0);
	node_connect(K_UD, &a, from, &b, to);
	for (uint32_t i = 0; i <= (uint32_t)n_gids + 1; i++) {
		uint32_t index = i <= (uint32_t)n_gids ? i : 255;
		struct ibv_wc wc;

		dv.av->grh_gid_fl = htobe32(1u << 30 | index << 20);
		memset(b.buf + NODE_BUF / 2, 0xee, 104);
		node_recv(&b, to, NULL, 9);
		node_send(&a, from, K_UD, &dest, false);
		CHECK_EQ(node_wait(a.scq).status, IBV_WC_SUCCESS);
		wc = node_wait(b.rcq);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ((wc.wc_flags & IBV_WC_GRH) != 0, index < (uint32_t)n_gids);
		CHECK_EQ(memcmp(b.buf + NODE_BUF / 2, zeros, 40) == 0, index >= (uint32_t)n_gids);
		CHECK_EQ(wc.byte_len, 104);
	}
	CHECK_EQ(ibv_destroy_ah(dest.ah), 0);
	node_close_ends(&a, from, &b, to);
}

/* ---- XRC */

/* An XRC message must not reach an SRQ that is not an XRC SRQ. */
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
	node_close_ends(&a, from, &b, to);
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
	node_connect(kind, &a, from, &b, to);
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
	pair_publish_to(from, NULL);
	CHECK_EQ(ibv_post_send(from, &wr, &bad), 0);
	CHECK_EQ(node_wait(a.scq).status, status);
	if (status != IBV_WC_SUCCESS) {
		CHECK_EQ(pair_state(from), IBV_QPS_SQE);
		CHECK_EQ(b.buf[0], 0);
		CHECK_EQ(a.buf[0], 0x77);
		node_expect_none(b.rcq);
	}
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	node_close_ends(&a, from, &b, to);
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

/* Only a UD QP has a qkey: qkey 0 must not match a QP of another type. */
static void
case_ud_key(void)
{
	for (size_t l = 0; l < N_LISTENERS; l++) {
		struct node a = node_open(255), b = node_open(255);
		struct ibv_qp *from = node_qp(&a, K_UD), *to = node_qp(&b, listeners[l]);
		struct ibv_qp_attr attr = node_attr(&a, 0);
		struct ibv_ah *ah = ibv_create_ah(a.pd, &attr.ah_attr);
		struct ibv_sge sge = {(uintptr_t)a.buf, 64, a.mr->lkey};
		struct ibv_send_wr wr = {.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED};
		struct ibv_send_wr *bad;

		CHECK(ah != NULL);
		node_ready(&b, to, listeners[l], from->qp_num, IBV_QPS_RTS);
		node_ready(&a, from, K_UD, 0, IBV_QPS_RTS);
		listen_on(&b, to, listeners[l]);
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = to->qp_num;
		pair_publish_to(from, NULL);
		CHECK_EQ(ibv_post_send(from, &wr, &bad), 0);
		CHECK_EQ(node_wait(a.scq).status, IBV_WC_SUCCESS);
		node_expect_none(b.rcq);
		CHECK_EQ(ibv_destroy_ah(ah), 0);
		node_close_ends(&a, from, &b, to);
	}
}

/* ---- states */

/* In SQE only the send queue has stopped: receives must still work (ibv_modify_qp(3)). */
static void
receives_in_sqe(enum kind kind)
{
	struct node a = node_open(255), b = node_open(255);
	struct ibv_qp *from = node_qp(&a, kind), *to = node_qp(&b, kind);
	struct ibv_qp_attr attr = node_attr(&a, 0);
	struct node_to dest = {ibv_create_ah(a.pd, &attr.ah_attr), to->qp_num, 0};
	struct node_to back = {ibv_create_ah(b.pd, &attr.ah_attr), from->qp_num, 0};

	CHECK(dest.ah != NULL && back.ah != NULL);
	node_connect(kind, &a, from, &b, to);
	node_recv(&b, to, NULL, 9);
	node_send(&b, to, kind, &back, true);
	CHECK_EQ(node_wait(b.scq).status, IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(pair_state(to), IBV_QPS_SQE);
	node_send(&a, from, kind, &dest, false);
	CHECK_EQ(node_wait(a.scq).status, IBV_WC_SUCCESS);
	CHECK_EQ(node_wait(b.rcq).status, IBV_WC_SUCCESS);
	CHECK_EQ(pair_state(to), IBV_QPS_SQE);
	CHECK_EQ(ibv_destroy_ah(dest.ah), 0);
	CHECK_EQ(ibv_destroy_ah(back.ah), 0);
	node_close_ends(&a, from, &b, to);
}

static void
case_sqe(void)
{
	receives_in_sqe(K_UC);
	receives_in_sqe(K_UD);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"a message reaches only QPs of its own transport", case_types},
		{"a connection has exactly two ends", case_connections},
		{"a DCT is reached only at its port", case_dc_address},
		{"only a DCT answers a DCI, and only with its key", case_dc_key},
		{"qkey 0 reaches no QP but a UD one", case_ud_key},
		{"a UD message names its sender only by an existing GID", case_ud_gid_index},
		{"XRC reaches only XRC SRQs", case_xrc_basic},
		{"a queue pair whose send queue has stopped still receives", case_sqe},
		{"an operation that a transport does not have is the sender's error",
			case_operations},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
