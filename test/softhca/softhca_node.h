/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes: a node is one end of a connection, with all objects that QPs of any type need. The
 * functions create QPs of every type, and post their work.
 */
#ifndef SOFTHCA_NODE_H
#define SOFTHCA_NODE_H

#include <fcntl.h>

#include "qp_ready.h"
#include "softhca_pair.h"

#define NODE_BUF  65536
#define NODE_QKEY 0x1234567u
#define NODE_DC   0x1122334455667788ull

/* Returns the type of QP that receives messages from a QP of this type. */
static inline enum kind
node_partner(enum kind send)
{
	return send == K_XRC_SEND ? K_XRC_RECV : send == K_DCI ? K_DCT : send;
}

struct node {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *scq, *rcq;
	struct ibv_srq *srq, *xrc_srq;
	struct ibv_xrcd *xrcd;
	struct ibv_mr *mr;
	uint8_t *buf;
	uint32_t xrc_srqn;
};

static inline struct ibv_srq *
node_xrc_srq(struct node *n)
{
	struct ibv_srq_init_attr_ex init = {.attr = {.max_wr = 15, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC,
		.pd = n->pd,
		.xrcd = n->xrcd,
		.cq = n->rcq};

	return ibv_create_srq_ex(n->ctx, &init);
}

static inline struct node
node_open(int n_recv_cqe)
{
	struct node n = {.ctx = pair_open(0)};
	struct ibv_xrcd_init_attr xrcd = {.fd = -1,
		.oflags = O_CREAT,
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS};
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 15, .max_sge = 1}};

	n.pd = ibv_alloc_pd(n.ctx);
	n.scq = ibv_create_cq(n.ctx, 255, NULL, NULL, 0);
	n.rcq = ibv_create_cq(n.ctx, n_recv_cqe, NULL, NULL, 0);
	n.buf = calloc(1, NODE_BUF);
	CHECK(n.pd != NULL && n.scq != NULL && n.rcq != NULL && n.buf != NULL);
	n.mr = ibv_reg_mr(n.pd, n.buf, NODE_BUF, PAIR_ALL | pair_on_demand());
	n.srq = ibv_create_srq(n.pd, &srq);
	n.xrcd = ibv_open_xrcd(n.ctx, &xrcd);
	CHECK(n.mr != NULL && n.srq != NULL && n.xrcd != NULL);
	n.xrc_srq = node_xrc_srq(&n);
	CHECK(n.xrc_srq != NULL);
	CHECK_EQ(ibv_get_srq_num(n.xrc_srq, &n.xrc_srqn), 0);
	return n;
}

static inline void
node_close(struct node *n)
{
	CHECK_EQ(ibv_destroy_srq(n->xrc_srq), 0);
	CHECK_EQ(ibv_destroy_srq(n->srq), 0);
	CHECK_EQ(ibv_close_xrcd(n->xrcd), 0);
	CHECK_EQ(ibv_dereg_mr(n->mr), 0);
	CHECK_EQ(ibv_destroy_cq(n->scq), 0);
	CHECK_EQ(ibv_destroy_cq(n->rcq), 0);
	CHECK_EQ(ibv_dealloc_pd(n->pd), 0);
	CHECK_EQ(ibv_close_device(n->ctx), 0);
	free(n->buf);
}

/* Destroys one QP of each of two nodes, and closes the nodes. */
static inline void
node_close_ends(struct node *a, struct ibv_qp *of_a, struct node *b, struct ibv_qp *of_b)
{
	CHECK_EQ(ibv_destroy_qp(of_a), 0);
	CHECK_EQ(ibv_destroy_qp(of_b), 0);
	node_close(a);
	node_close(b);
}

/* ---- queue pairs */

/*
 * Creates a DCI or DCT, and returns NULL if this fails. With log_errored >= 0, a DCI has 4 streams,
 * of which 2^log_errored may be in error.
 */
static inline struct ibv_qp *
node_try_dc(struct node *n, enum kind kind, int log_errored)
{
	struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_DRIVER,
		.send_cq = n->scq,
		.recv_cq = n->rcq,
		.srq = kind == K_DCT ? n->srq : NULL,
		.pd = n->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD};
	struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCT, .dct_access_key = NODE_DC}};

	if (kind == K_DCI) {
		dv.dc_init_attr.dc_type = MLX5DV_DCTYPE_DCI;
		dv.dc_init_attr.dct_access_key = 0;
		init.cap = (struct ibv_qp_cap){.max_send_wr = 16, .max_send_sge = 1};
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		init.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND;
	}
	if (log_errored >= 0) {
		dv.comp_mask |= MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS;
		dv.dc_init_attr.dci_streams.log_num_concurent = 2;
		dv.dc_init_attr.dci_streams.log_num_errored = (uint8_t)log_errored;
	}
	return mlx5dv_create_qp(n->ctx, &init, &dv);
}

/* Creates a QP of this type in RESET. Returns NULL if this fails. */
static inline struct ibv_qp *
node_try_qp(struct node *n, enum kind kind)
{
	struct ibv_qp_init_attr_ex init = {.pd = n->pd,
		.send_cq = n->scq,
		.recv_cq = n->rcq,
		.cap = {.max_send_wr = 16, .max_send_sge = 1, .max_recv_wr = 16, .max_recv_sge = 1},
		.comp_mask = IBV_QP_INIT_ATTR_PD};

	if (kind == K_DCI || kind == K_DCT)
		return node_try_dc(n, kind, -1);
	init.qp_type = qp_type(kind);
	if (kind == K_XRC_RECV)
		init = (struct ibv_qp_init_attr_ex){.qp_type = IBV_QPT_XRC_RECV,
			.xrcd = n->xrcd,
			.comp_mask = IBV_QP_INIT_ATTR_XRCD};
	if (kind == K_XRC_SEND) {
		init.recv_cq = NULL;
		init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
	}
	return ibv_create_qp_ex(n->ctx, &init);
}

static inline struct ibv_qp *
node_qp(struct node *n, enum kind kind)
{
	struct ibv_qp *qp = node_try_qp(n, kind);

	CHECK(qp != NULL);
	return qp;
}

/* Creates a DCI with streams in RESET: see node_try_dc(). */
static inline struct ibv_qp *
node_stream_dci(struct node *n, int log_errored)
{
	struct ibv_qp *qp = node_try_dc(n, K_DCI, log_errored);

	CHECK(qp != NULL);
	return qp;
}

/* Creates an RC QP in RESET that takes its receives from an SRQ. */
static inline struct ibv_qp *
node_srq_qp(struct node *n, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
		.send_cq = n->scq,
		.recv_cq = n->rcq,
		.srq = srq,
		.cap = {.max_send_wr = 16, .max_send_sge = 1}};
	struct ibv_qp *qp = ibv_create_qp(n->pd, &init);

	CHECK(qp != NULL);
	return qp;
}

/* True if the process may create QPs of this type: raw packets need CAP_NET_RAW. */
static inline bool
node_may(struct node *n, enum kind kind)
{
	struct ibv_qp *qp = node_try_qp(n, kind);

	CHECK(qp != NULL || (kind == K_RAW && errno == EPERM));
	return qp != NULL && ibv_destroy_qp(qp) == 0;
}

/*
 * Returns a valid value for every attribute. The peer's address is that of the port itself: on
 * Ethernet its GID of RoCE v2, on InfiniBand its LID and its GID.
 */
static inline struct ibv_qp_attr
node_attr(struct node *n, uint32_t dest)
{
	struct ibv_qp_attr attr = {.port_num = 1,
		.qp_access_flags = PAIR_ALL & ~IBV_ACCESS_LOCAL_WRITE,
		.qkey = NODE_QKEY,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.rq_psn = 0x123456,
		.sq_psn = 0x654321,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 8,
		.min_rnr_timer = 1,
		.timeout = 8,
		.retry_cnt = 1,
		.rnr_retry = 1,
		.ah_attr = {.is_global = 1,
			.port_num = 1,
			.sl = 3,
			.grh = {.sgid_index = 1, .hop_limit = 33}}};
	struct ibv_port_attr port;

	CHECK_EQ(ibv_query_port(n->ctx, 1, &port), 0);
	attr.ah_attr.dlid = port.lid;
	attr.ah_attr.grh.sgid_index = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	CHECK_EQ(ibv_query_gid(n->ctx, 1, attr.ah_attr.grh.sgid_index, &attr.ah_attr.grh.dgid), 0);
	return attr;
}

/* Moves the QP from RESET to the state `to`, at most RTS. A DCT stops in RTR. */
static inline void
node_ready(struct node *n, struct ibv_qp *qp, enum kind kind, uint32_t dest, enum ibv_qp_state to)
{
	CHECK_EQ(qp_take(qp, kind, node_attr(n, dest), IBV_QPS_INIT, to), 0);
}

/* Moves two QPs of a type to RTS. If the type is connected, each QP is the peer of the other QP. */
static inline void
node_connect(enum kind kind, struct node *a, struct ibv_qp *of_a, struct node *b,
	struct ibv_qp *of_b)
{
	node_ready(a, of_a, kind, of_b->qp_num, IBV_QPS_RTS);
	node_ready(b, of_b, kind, of_a->qp_num, IBV_QPS_RTS);
}

static inline int
node_move(struct ibv_qp *qp, enum ibv_qp_state to)
{
	return ibv_modify_qp(qp, &(struct ibv_qp_attr){.qp_state = to}, IBV_QP_STATE);
}

/* ---- work */

static inline bool
node_try_wait(struct ibv_cq *cq, struct ibv_wc *wc, unsigned int ms)
{
	uint64_t end = pair_now_ms() + ms;

	while (ibv_poll_cq(cq, 1, wc) == 0) {
		if (pair_now_ms() >= end)
			return false;
		pair_run();
	}
	pair_observe_cq(cq);
	return true;
}

static inline struct ibv_wc
node_wait(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	CHECK(node_try_wait(cq, &wc, PAIR_PATIENCE_MS));
	return wc;
}

static inline void
node_expect_none(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	CHECK(!node_try_wait(cq, &wc, pair_is_pumped() ? 1 : 20));
}

/* Posts a receive to the QP, or to the SRQ if `srq` is not NULL. */
static inline void
node_recv_to(struct ibv_qp *qp, struct ibv_srq *srq, struct ibv_sge sge, uint64_t id)
{
	struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1}, *bad;

	pair_publish_to(qp, srq);
	CHECK_EQ(srq != NULL ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad), 0);
}

/* Posts a receive of 128 bytes, in the second half of the node's memory. */
static inline void
node_recv(struct node *n, struct ibv_qp *qp, struct ibv_srq *srq, uint64_t id)
{
	struct ibv_sge sge = {(uintptr_t)n->buf + NODE_BUF / 2, 128, n->mr->lkey};

	node_recv_to(qp, srq, sge, id);
}

/* As node_recv(), to the QP, or to the SRQ from which a QP of this type takes its receives. */
static inline void
node_recv_of(struct node *n, struct ibv_qp *qp, enum kind kind, uint64_t id)
{
	struct ibv_srq *srq = kind == K_XRC_RECV ? n->xrc_srq : kind == K_DCT ? n->srq : NULL;

	node_recv(n, srq != NULL ? NULL : qp, srq, id);
}

/*
 * The destination of a message, for the types of QPs whose work requests contain the destination.
 */
struct node_to {
	struct ibv_ah *ah;
	uint32_t qpn, srqn;
};

/* Posts a SEND of this memory on a DCI, with this DC key. */
static inline void
node_dc_send(struct ibv_qp *dci, const struct node_to *to, uint64_t dc_key, struct ibv_sge sge)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(dci);

	pair_publish_to(dci, NULL);
	ibv_wr_start(qpx);
	qpx->wr_id = 77;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qpx);
	mlx5dv_wr_set_dc_addr(mlx5dv_qp_ex_from_ibv_qp_ex(qpx), to->ah, to->qpn, dc_key);
	ibv_wr_set_sge(qpx, sge.lkey, sge.addr, sge.length);
	CHECK_EQ(ibv_wr_complete(qpx), 0);
}

/* Posts a SEND of 64 bytes. With bad_key, the key does not exist. */
static inline void
node_send(struct node *n, struct ibv_qp *qp, enum kind kind, const struct node_to *to, bool bad_key)
{
	struct ibv_sge sge = {(uintptr_t)n->buf, 64, n->mr->lkey ^ (bad_key ? 0x100 : 0)};
	struct ibv_send_wr wr = {.wr_id = 77,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	if (kind == K_DCI) {
		node_dc_send(qp, to, NODE_DC, sge);
		return;
	}
	pair_publish_to(qp, NULL);
	if (kind == K_XRC_SEND)
		wr.qp_type.xrc.remote_srqn = to->srqn;
	if (kind == K_UD) {
		wr.wr.ud.ah = to->ah;
		wr.wr.ud.remote_qpn = to->qpn;
		wr.wr.ud.remote_qkey = NODE_QKEY;
	}
	CHECK_EQ(ibv_post_send(qp, &wr, &bad), 0);
}

/*
 * Writes 64 bytes from the start of the memory of `from` to offset `at` of the memory of `to`, on a
 * stream of a DCI. With bad_key, the local key does not exist.
 */
static inline enum ibv_wc_status
node_stream_write(struct node *from, struct ibv_qp *dci, const struct node_to *dest,
	struct node *to, uint32_t at, uint16_t stream, bool bad_key)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(dci);

	pair_publish_to(dci, NULL);
	ibv_wr_start(qpx);
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qpx, to->mr->rkey, (uintptr_t)to->buf + at);
	mlx5dv_wr_set_dc_addr_stream(mlx5dv_qp_ex_from_ibv_qp_ex(qpx), dest->ah, dest->qpn, NODE_DC,
		stream);
	ibv_wr_set_sge(qpx, from->mr->lkey ^ (bad_key ? 0x100 : 0), (uintptr_t)from->buf, 64);
	CHECK_EQ(ibv_wr_complete(qpx), 0);
	return node_wait(from->scq).status;
}

/* Waits up to ms milliseconds for the next asynchronous event. Returns its type, or -1. */
static inline int
node_event(struct node *n, struct ibv_async_event *event, unsigned int ms)
{
	struct pollfd fd = {.fd = n->ctx->async_fd, .events = POLLIN};
	uint64_t end = pair_now_ms() + ms;

	while (poll(&fd, 1, 0) != 1) {
		if (pair_now_ms() >= end)
			return -1;
		pair_run();
	}
	CHECK_EQ(ibv_get_async_event(n->ctx, event), 0);
	ibv_ack_async_event(event);
	return (int)event->event_type;
}

#endif
