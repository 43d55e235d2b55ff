/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UD, UC, XRC and DC QPs and SRQs, through stock libibverbs and libmlx5: which messages arrive,
 * which are dropped, and which are refused. Headers are compared with the specifications:
 * InfiniBand volume 1 chapter 8.3 and annex A17, RFC 791, RFC 8200.
 */
#include <sys/mman.h>

#include "softhca_node.h"

#define GRH 40
#define SL  7 /* service level */

/*
 * On Ethernet the service level in a receive's CQE describes the headers of the packet: bit 3 is
 * UDP, bits 2:0 are MLX5_CQE_ROCE_L3_HEADER_TYPE_* of Linux's include/linux/mlx5/cq.h.
 */
enum packet_type {
	PACKET_GRH = 0,
	PACKET_UDP_IPV6 = 9,
	PACKET_UDP_IPV4 = 10
};

static struct ibv_ah_attr
address(struct node *n, int gid_index)
{
	struct ibv_ah_attr ah = {.is_global = 1, .port_num = 1, .sl = SL};

	CHECK_EQ(ibv_query_gid(n->ctx, 1, gid_index, &ah.grh.dgid), 0);
	ah.grh.sgid_index = (uint8_t)gid_index;
	ah.grh.hop_limit = 33;
	ah.grh.traffic_class = 0x5a;
	ah.grh.flow_label = 0x12345;
	return ah;
}

static void
post_recv(struct ibv_qp *qp, struct ibv_mr *mr, uint64_t addr, uint32_t len, uint64_t id)
{
	node_recv_to(qp, NULL, (struct ibv_sge){addr, len, mr->lkey}, id);
}

/* Posts a receive of 64 bytes at an offset of the node's memory. */
static void
post_srq(struct node *n, struct ibv_srq *srq, uint32_t at, uint64_t id)
{
	node_recv_to(NULL, srq, (struct ibv_sge){(uintptr_t)n->buf + at, 64, n->mr->lkey}, id);
}

/* A send request for the first len bytes of the node's memory. */
struct send {
	struct ibv_sge sge;
	struct ibv_send_wr wr;
};

static struct ibv_send_wr *
send_wr(struct send *s, struct node *n, enum ibv_wr_opcode op, uint32_t len)
{
	*s = (struct send){.sge = {(uintptr_t)n->buf, len, n->mr->lkey},
		.wr = {.opcode = op, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED}};
	s->wr.sg_list = &s->sge;
	return &s->wr;
}

static int
send_status(struct ibv_qp *qp, struct node *n, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	pair_publish_to(qp, NULL);
	CHECK_EQ(ibv_post_send(qp, wr, &bad), 0);
	return node_wait(n->scq).status;
}

/* ---------------------------------------------------------------- UD */

struct ud {
	struct node a, b;
	struct ibv_qp *from, *to;
	struct ibv_ah *ah;
};

static struct ud
ud_open(int gid_index)
{
	struct ud u = {.a = node_open(255), .b = node_open(255)};
	struct ibv_ah_attr ah = address(&u.b, gid_index);

	u.from = node_qp(&u.a, K_UD);
	u.to = node_qp(&u.b, K_UD);
	node_ready(&u.a, u.from, K_UD, 0, IBV_QPS_RTS);
	node_ready(&u.b, u.to, K_UD, 0, IBV_QPS_RTR);
	u.ah = ibv_create_ah(u.a.pd, &ah);
	CHECK(u.ah != NULL);
	for (unsigned int i = 0; i < NODE_BUF; i++)
		u.a.buf[i] = (uint8_t)(i * 7 + 1);
	return u;
}

static void
ud_close(struct ud *u)
{
	CHECK_EQ(ibv_destroy_ah(u->ah), 0);
	node_close_ends(&u->a, u->from, &u->b, u->to);
}

static int
ud_send(struct ud *u, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey, uint32_t len)
{
	struct send s;
	struct ibv_send_wr *wr = send_wr(&s, &u->a, IBV_WR_SEND_WITH_IMM, len);

	wr->imm_data = htobe32(0xcafe);
	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = qpn;
	wr->wr.ud.remote_qkey = qkey;
	return send_status(u->from, &u->a, wr);
}

static struct ibv_wc
ud_arrives(struct ud *u, uint32_t qkey, uint32_t len)
{
	struct ibv_wc wc;

	memset(u->b.buf, 0xee, NODE_BUF);
	post_recv(u->to, u->b.mr, (uintptr_t)u->b.buf, NODE_BUF, 9);
	CHECK_EQ(ud_send(u, u->ah, u->to->qp_num, qkey, len), IBV_WC_SUCCESS);
	wc = node_wait(u->b.rcq);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.byte_len, GRH + len);
	CHECK_EQ(wc.src_qp, u->from->qp_num);
	CHECK_EQ(wc.imm_data, htobe32(0xcafe));
	CHECK_EQ(wc.wc_flags, IBV_WC_WITH_IMM | IBV_WC_GRH);
	CHECK(memcmp(u->b.buf + GRH, u->a.buf, len) == 0);
	CHECK_EQ(u->b.buf[GRH + len], 0xee);
	return wc;
}

/*
 * Returns the length of a packet without its network header: BTH 12, DETH 8, immediate 4, payload
 * rounded up to a multiple of 4, ICRC 4.
 */
static unsigned int
packet_len(unsigned int payload)
{
	return 12 + 8 + 4 + (payload + 3) / 4 * 4 + 4;
}

static void
check_ipv6(const uint8_t *p, const union ibv_gid *gid, unsigned int len, uint8_t next)
{
	/* IPv6 version, traffic class, flow label */
	static const uint8_t first[4] = {0x65, 0xa1, 0x23, 0x45};

	CHECK(memcmp(p, first, 4) == 0);
	CHECK_EQ(p[4] << 8 | p[5], len);
	CHECK_EQ(p[6], next);
	CHECK_EQ(p[7], 33);
	CHECK(memcmp(p + 8, gid->raw, 16) == 0);
	CHECK(memcmp(p + 24, gid->raw, 16) == 0);
}

static void
case_ud_grh(void)
{
	union ibv_gid gid;
	struct ud u = ud_open(0);

	CHECK_EQ(ibv_query_gid(u.b.ctx, 1, 0, &gid), 0);
	CHECK_EQ(ud_arrives(&u, NODE_QKEY, 101).sl, PACKET_GRH);
	check_ipv6(u.b.buf, &gid, packet_len(101), 0x1b); /* RoCE v1: the packet has a GRH */
	ud_close(&u);
	u = ud_open(1);
	CHECK_EQ(ud_arrives(&u, NODE_QKEY, 0).sl, PACKET_UDP_IPV6);
	/* RoCE v2: the packet has an IPv6 header, then a UDP header */
	check_ipv6(u.b.buf, &gid, 8 + packet_len(0), 17);
	ud_close(&u);
}

static void
case_ud_ipv4(void)
{
	static const uint8_t ip[4] = {198, 51, 100, 11};
	struct ud u = ud_open(3);
	const uint8_t *p = u.b.buf + 20;
	uint32_t sum = 0;

	CHECK_EQ(ud_arrives(&u, NODE_QKEY, 1000).sl, PACKET_UDP_IPV4);
	CHECK_EQ(p[0], 0x45);
	CHECK_EQ(p[1], 0x5a);
	CHECK_EQ(p[2] << 8 | p[3], 20 + 8 + packet_len(1000));
	CHECK_EQ(p[4] << 8 | p[5], 0);
	CHECK_EQ(p[6] << 8 | p[7], 0x4000); /* "don't fragment": annex A17.4.5.2 */
	CHECK_EQ(p[8], 33);
	CHECK_EQ(p[9], 17);
	CHECK(memcmp(p + 12, ip, 4) == 0 && memcmp(p + 16, ip, 4) == 0);
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)(p[i] << 8 | p[i + 1]);
	CHECK_EQ((sum & 0xffff) + (sum >> 16), 0xffff);
	ud_close(&u);
}

/* Each GID of each adapter of the process gets an address handle. */
static void
case_ud_adapters(void)
{
	struct node n = node_open(255);
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (unsigned int i = 0; list[i] != NULL; i++) {
		struct ibv_context *ctx = ibv_open_device(list[i]);

		CHECK(ctx != NULL);
		for (int k = 0; k < 4; k++) {
			struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
			struct ibv_ah *ah;

			CHECK_EQ(ibv_query_gid(ctx, 1, k, &attr.grh.dgid), 0);
			ah = ibv_create_ah(n.pd, &attr);
			CHECK(ah != NULL, "GID %d of %s", k, ibv_get_device_name(list[i]));
			CHECK_EQ(ibv_destroy_ah(ah), 0);
		}
		CHECK_EQ(ibv_close_device(ctx), 0);
	}
	ibv_free_device_list(list);
	node_close(&n);
}

/*
 * Sends to a copy of the address with one wrong byte, in its Ethernet address or in its GID. The
 * message must not arrive.
 */
static void
ud_misses(struct ud *u, unsigned int at)
{
	struct ibv_ah_attr attr = address(&u->b, 1);
	struct ibv_ah *ah = ibv_create_ah(u->a.pd, &attr);
	struct mlx5dv_ah dv = {0};
	struct mlx5dv_obj obj = {.ah = {.in = ah, .out = &dv}};

	CHECK(ah != NULL);
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH), 0);
	((uint8_t *)dv.av)[at] ^= 1;
	CHECK_EQ(ud_send(u, ah, u->to->qp_num, NODE_QKEY, 8), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
}

static void
case_ud_drops(void)
{
	struct ud u = ud_open(1);
	struct ibv_ah_attr other = address(&u.b, 1);
	struct ibv_ah *ah;

	/*
	 * Without a receive, the message must be dropped, and must not be kept for a later receive.
	 */
	CHECK_EQ(ud_send(&u, u.ah, u.to->qp_num, NODE_QKEY, 8), IBV_WC_SUCCESS);
	post_recv(u.to, u.b.mr, (uintptr_t)u.b.buf, NODE_BUF, 1);
	/*
	 * Another qkey, a QP number that does not exist, a QP of another type, and a port that does
	 * not exist: the message must be dropped.
	 */
	CHECK_EQ(ud_send(&u, u.ah, u.to->qp_num, NODE_QKEY + 1, 8), IBV_WC_SUCCESS);
	CHECK_EQ(ud_send(&u, u.ah, u.to->qp_num, NODE_QKEY ^ 2, 8), IBV_WC_SUCCESS);
	CHECK_EQ(ud_send(&u, u.ah, 1, NODE_QKEY, 8), IBV_WC_SUCCESS);
	other.grh.dgid.raw[15] ^= 0x40;
	ah = ibv_create_ah(u.a.pd, &other);
	CHECK(ah != NULL);
	CHECK_EQ(ud_send(&u, ah, u.to->qp_num, NODE_QKEY, 8), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	ud_misses(&u, offsetof(struct mlx5_wqe_av, rmac));
	ud_misses(&u, offsetof(struct mlx5_wqe_av, rgid) + 15);
	node_expect_none(u.b.rcq);
	CHECK_EQ(pair_state(u.to), IBV_QPS_RTR);
	CHECK_EQ(pair_state(u.from), IBV_QPS_RTS);
	/* If the high bit of the qkey is set, the sender's own qkey must be used. */
	CHECK_EQ(ud_send(&u, u.ah, u.to->qp_num, 0x80000000u, 8), IBV_WC_SUCCESS);
	CHECK_EQ(node_wait(u.b.rcq).wr_id, 1);
	ud_close(&u);
}

static void
case_ud_states(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};
	struct ud u = ud_open(1);
	struct ibv_qp *init = node_qp(&u.b, K_UD), *rc = node_qp(&u.b, K_RC);

	node_ready(&u.b, init, K_UD, 0, IBV_QPS_INIT);
	post_recv(init, u.b.mr, (uintptr_t)u.b.buf, NODE_BUF, 1);
	CHECK_EQ(ud_send(&u, u.ah, init->qp_num, NODE_QKEY, 8), IBV_WC_SUCCESS);
	node_ready(&u.b, rc, K_RC, rc->qp_num, IBV_QPS_RTS);
	post_recv(rc, u.b.mr, (uintptr_t)u.b.buf, NODE_BUF, 1);
	CHECK_EQ(ud_send(&u, u.ah, rc->qp_num, 0, 8), IBV_WC_SUCCESS);
	node_expect_none(u.b.rcq);
	/*
	 * A message is longer than the MTU: the send queue must stop, receives must still work, and
	 * RTS must restart the send queue.
	 */
	ud_arrives(&u, NODE_QKEY, 4096);
	CHECK_EQ(ud_send(&u, u.ah, u.to->qp_num, NODE_QKEY, 4097), IBV_WC_LOC_LEN_ERR);
	CHECK_EQ(pair_state(u.from), IBV_QPS_SQE);
	CHECK_EQ(ud_send(&u, u.ah, u.to->qp_num, NODE_QKEY, 8), IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(pair_state(u.to), IBV_QPS_RTR);
	CHECK_EQ(ibv_modify_qp(u.from, &attr, IBV_QP_STATE), 0);
	ud_arrives(&u, NODE_QKEY, 8);
	CHECK_EQ(ibv_destroy_qp(init), 0);
	CHECK_EQ(ibv_destroy_qp(rc), 0);
	ud_close(&u);
}

/*
 * A receive needs 40 bytes more than the message. The sender must not be told of the receiver's
 * error.
 */
static void
case_ud_short_receive(void)
{
	struct ud u = ud_open(1);

	post_recv(u.to, u.b.mr, (uintptr_t)u.b.buf, GRH + 8, 1);
	post_recv(u.to, u.b.mr, (uintptr_t)u.b.buf, GRH + 7, 2);
	CHECK_EQ(ud_send(&u, u.ah, u.to->qp_num, NODE_QKEY, 8), IBV_WC_SUCCESS);
	CHECK_EQ(node_wait(u.b.rcq).status, IBV_WC_SUCCESS);
	CHECK_EQ(ud_send(&u, u.ah, u.to->qp_num, NODE_QKEY, 8), IBV_WC_SUCCESS);
	CHECK_EQ(node_wait(u.b.rcq).status, IBV_WC_LOC_LEN_ERR);
	CHECK_EQ(pair_state(u.to), IBV_QPS_ERR);
	CHECK_EQ(pair_state(u.from), IBV_QPS_RTS);
	ud_close(&u);
}

/* ---------------------------------------------------------------- UC */

/* Waits for a byte of a write: with wire = loop, a UC write completes before its data arrive. */
static void
expect_arrival(const uint8_t *at, uint8_t want)
{
	for (int left = 5 * PAIR_PATIENCE_MS;
		left != 0 && __atomic_load_n(at, __ATOMIC_ACQUIRE) != want; left--)
		pair_run();
	CHECK_EQ(__atomic_load_n(at, __ATOMIC_ACQUIRE), want);
}

static void
case_uc(void)
{
	struct node a = node_open(255), b = node_open(255);
	struct ibv_qp *from = node_qp(&a, K_UC), *to = node_qp(&b, K_UC);
	struct ibv_send_wr *wr;
	struct send s;

	node_connect(K_UC, &a, from, &b, to);
	a.buf[0] = 77;
	/*
	 * A message without a receive, and a write with an invalid key: both must be dropped, and
	 * no QP may move to ERR.
	 */
	CHECK_EQ(send_status(from, &a, send_wr(&s, &a, IBV_WR_SEND, 64)), IBV_WC_SUCCESS);
	wr = send_wr(&s, &a, IBV_WR_RDMA_WRITE, 64);
	wr->wr.rdma.remote_addr = (uintptr_t)b.buf;
	wr->wr.rdma.rkey = b.mr->rkey ^ 0x100;
	CHECK_EQ(send_status(from, &a, wr), IBV_WC_SUCCESS);
	CHECK_EQ(b.buf[0], 0);
	CHECK_EQ(pair_state(to), IBV_QPS_RTS);
	wr->wr.rdma.rkey = b.mr->rkey;
	CHECK_EQ(send_status(from, &a, wr), IBV_WC_SUCCESS);
	expect_arrival(&b.buf[0], 77);
	post_recv(to, b.mr, (uintptr_t)b.buf + 4096, 64, 5);
	CHECK_EQ(send_status(from, &a, send_wr(&s, &a, IBV_WR_SEND, 64)), IBV_WC_SUCCESS);
	CHECK_EQ(node_wait(b.rcq).wr_id, 5);
	CHECK_EQ(b.buf[4096], 77);
	/* UC has no SEND with invalidate, so it must be refused. */
	post_recv(to, b.mr, (uintptr_t)b.buf, 64, 6);
	wr = send_wr(&s, &a, IBV_WR_SEND_WITH_INV, 64);
	wr->invalidate_rkey = b.mr->rkey;
	CHECK_EQ(send_status(from, &a, wr), IBV_WC_LOC_QP_OP_ERR);
	CHECK_EQ(pair_state(from), IBV_QPS_SQE);
	node_close_ends(&a, from, &b, to);
}

/* ---------------------------------------------------------------- memory on demand */

/* Returns a key over memory that exists, but cannot be accessed. */
static struct ibv_mr *
nothing_there(struct node *n)
{
	void *p = mmap(NULL, NODE_BUF, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	CHECK(p != MAP_FAILED);
	mr = ibv_reg_mr(n->pd, p, NODE_BUF, PAIR_ALL | IBV_ACCESS_ON_DEMAND);
	CHECK(mr != NULL);
	return mr;
}

static void
drop(struct ibv_mr *mr)
{
	void *p = mr->addr;

	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(munmap(p, NODE_BUF), 0);
}

static void
case_ud_on_demand(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};
	struct ud u = ud_open(1);
	struct ibv_mr *from = nothing_there(&u.a), *to = nothing_there(&u.b);
	struct node a = u.a;

	/*
	 * The sender's memory is missing: no message may arrive, and the sender's send queue must
	 * stop.
	 */
	post_recv(u.to, u.b.mr, (uintptr_t)u.b.buf, NODE_BUF, 1);
	u.a.buf = from->addr;
	u.a.mr = from;
	CHECK_EQ(ud_send(&u, u.ah, u.to->qp_num, NODE_QKEY, 8), IBV_WC_LOC_PROT_ERR);
	u.a = a;
	node_expect_none(u.b.rcq);
	CHECK_EQ(pair_state(u.from), IBV_QPS_SQE);
	CHECK_EQ(ibv_modify_qp(u.from, &attr, IBV_QP_STATE), 0);
	CHECK_EQ(ud_send(&u, u.ah, u.to->qp_num, NODE_QKEY, 8), IBV_WC_SUCCESS);
	CHECK_EQ(node_wait(u.b.rcq).status, IBV_WC_SUCCESS);
	/* The receiver's memory is missing: the sender must not be told of this. */
	post_recv(u.to, to, (uintptr_t)to->addr, NODE_BUF, 2);
	CHECK_EQ(ud_send(&u, u.ah, u.to->qp_num, NODE_QKEY, 8), IBV_WC_SUCCESS);
	CHECK_EQ(node_wait(u.b.rcq).status, IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(pair_state(u.to), IBV_QPS_ERR);
	CHECK_EQ(pair_state(u.from), IBV_QPS_RTS);
	drop(from);
	drop(to);
	ud_close(&u);
}

static void
case_uc_on_demand(void)
{
	struct node a = node_open(255), b = node_open(255);
	struct ibv_qp *from = node_qp(&a, K_UC), *to = node_qp(&b, K_UC);
	struct ibv_mr *mr = nothing_there(&b);
	struct ibv_send_wr *wr;
	struct send s;

	node_connect(K_UC, &a, from, &b, to);
	wr = send_wr(&s, &a, IBV_WR_RDMA_WRITE, 64);
	wr->wr.rdma.remote_addr = (uintptr_t)mr->addr;
	wr->wr.rdma.rkey = mr->rkey;
	CHECK_EQ(send_status(from, &a, wr), IBV_WC_SUCCESS);
	CHECK_EQ(pair_state(to), IBV_QPS_RTS);
	post_recv(to, mr, (uintptr_t)mr->addr, 64, 5);
	CHECK_EQ(send_status(from, &a, send_wr(&s, &a, IBV_WR_SEND, 64)), IBV_WC_SUCCESS);
	CHECK_EQ(node_wait(b.rcq).status, IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(pair_state(from), IBV_QPS_RTS);
	drop(mr);
	node_close_ends(&a, from, &b, to);
}

/* ---------------------------------------------------------------- shared receive queues */

static struct ibv_srq *
srq_open(struct node *n, uint32_t max_wr)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = max_wr, .max_sge = 2}};
	struct ibv_srq *srq = ibv_create_srq(n->pd, &init);

	CHECK(srq != NULL);
	return srq;
}

/*
 * Two QPs use one SRQ, for many laps of the SRQ's list: every message must get a receive of its
 * own.
 */
static void
case_srq(void)
{
	struct node a = node_open(255), b = node_open(255);
	struct ibv_srq *srq = srq_open(&b, 8);
	struct ibv_qp *from[2], *to[2];
	struct send s;

	for (int i = 0; i < 2; i++) {
		from[i] = node_qp(&a, K_RC);
		to[i] = node_srq_qp(&b, srq);
		node_connect(K_RC, &a, from[i], &b, to[i]);
	}
	for (uint32_t round = 0; round < 100; round++) {
		struct ibv_wc wc;

		for (uint32_t i = 0; i < 3; i++)
			post_srq(&b, srq, i * 64, round * 10 + i);
		for (uint32_t i = 0; i < 3; i++) {
			int which = (int)((round + i) % 2);

			a.buf[0] = (uint8_t)(round + i);
			CHECK_EQ(send_status(from[which], &a, send_wr(&s, &a, IBV_WR_SEND, 64)),
				IBV_WC_SUCCESS);
			wc = node_wait(b.rcq);
			CHECK_EQ(wc.wr_id, round * 10 + i);
			CHECK_EQ(wc.qp_num, to[which]->qp_num);
			CHECK_EQ(b.buf[i * 64], (uint8_t)(round + i));
		}
	}
	CHECK_EQ(ibv_destroy_srq(srq), EBUSY);
	/*
	 * The SRQ is empty: the sender's RNR retries must end with an error. The QP with the SRQ
	 * must not change.
	 */
	CHECK_EQ(send_status(from[0], &a, send_wr(&s, &a, IBV_WR_SEND, 64)),
		IBV_WC_RNR_RETRY_EXC_ERR);
	CHECK_EQ(pair_state(to[0]), IBV_QPS_RTS);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(ibv_destroy_qp(from[i]), 0);
		CHECK_EQ(ibv_destroy_qp(to[i]), 0);
	}
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	node_close(&a);
	node_close(&b);
}

static void
case_srq_events(void)
{
	struct node a = node_open(255), b = node_open(255);
	struct ibv_srq *srq = srq_open(&b, 15);
	struct ibv_srq_attr limit = {.srq_limit = 3}, now;
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_async_event ev;
	struct ibv_qp *from, *to;
	struct send s;

	from = node_qp(&a, K_RC);
	to = node_srq_qp(&b, srq);
	node_connect(K_RC, &a, from, &b, to);
	for (uint32_t i = 0; i < 5; i++)
		post_srq(&b, srq, i * 64, i);
	CHECK_EQ(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
	CHECK_EQ(ibv_query_srq(srq, &now), 0);
	CHECK_EQ(now.srq_limit, 3);
	for (uint32_t i = 0; i < 2; i++)
		CHECK_EQ(send_status(from, &a, send_wr(&s, &a, IBV_WR_SEND, 64)), IBV_WC_SUCCESS);
	/* Three receives are left, which is not fewer than the limit. */
	CHECK_EQ(node_event(&b, &ev, 20), -1);
	CHECK_EQ(send_status(from, &a, send_wr(&s, &a, IBV_WR_SEND, 64)), IBV_WC_SUCCESS);
	CHECK_EQ(node_event(&b, &ev, CHECK_PATIENCE_MS), IBV_EVENT_SRQ_LIMIT_REACHED);
	CHECK(ev.element.srq == srq);
	CHECK_EQ(send_status(from, &a, send_wr(&s, &a, IBV_WR_SEND, 64)), IBV_WC_SUCCESS);
	CHECK_EQ(node_event(&b, &ev, 20), -1); /* one event for each arming */
	CHECK_EQ(ibv_query_srq(srq, &now), 0);
	CHECK_EQ(now.srq_limit, 0);
	limit.srq_limit = now.max_wr + 1;
	CHECK_EQ(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), EINVAL);
	CHECK_EQ(ibv_modify_srq(srq, &limit, IBV_SRQ_MAX_WR), EINVAL);
	/* One receive is left, which is fewer than this limit: the event must be sent at once. */
	limit.srq_limit = 2;
	CHECK_EQ(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
	CHECK_EQ(node_event(&b, &ev, CHECK_PATIENCE_MS), IBV_EVENT_SRQ_LIMIT_REACHED);
	/*
	 * In ERR the QP must take no more receives from the SRQ: it must send the last-WQE event,
	 * and flush no receives.
	 */
	CHECK_EQ(ibv_modify_qp(to, &err, IBV_QP_STATE), 0);
	CHECK_EQ(node_event(&b, &ev, CHECK_PATIENCE_MS), IBV_EVENT_QP_LAST_WQE_REACHED);
	CHECK(ev.element.qp == to);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(node_wait(b.rcq).status, IBV_WC_SUCCESS);
	node_expect_none(b.rcq);
	CHECK_EQ(ibv_destroy_qp(from), 0);
	CHECK_EQ(ibv_destroy_qp(to), 0);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	node_close(&a);
	node_close(&b);
}

/* The reason why the queue pair of an SRQ moves to error, other than a modify to ERR. */
enum last_wqe {
	LAST_OWN,     /* a work request of this QP fails */
	LAST_FATAL,   /* the adapter reports a fatal error of this QP */
	LAST_REFUSED, /* the QP refuses a request of its peer */
	LAST_SELF,    /* the QP is connected to itself, and refuses its own request */
	LAST_SHORT,   /* a message is longer than its receive */
	LAST_OVERRUN, /* the CQ of this QP fails */
	LAST_N
};

/*
 * The event that the QP takes no more receives from the SRQ must be sent once. The peer, which has
 * no SRQ, must get no such event.
 */
static void
last_wqe(enum last_wqe how)
{
	static const int others[LAST_N] = {[LAST_FATAL] = 1 << IBV_EVENT_QP_FATAL,
		[LAST_REFUSED] = 1 << IBV_EVENT_QP_ACCESS_ERR,
		[LAST_SELF] = 1 << IBV_EVENT_QP_ACCESS_ERR,
		[LAST_OVERRUN] = 1 << IBV_EVENT_QP_FATAL | 1 << IBV_EVENT_CQ_ERR};
	struct node a = node_open(255), b = node_open(255);
	struct ibv_srq *srq = srq_open(&b, 15);
	struct ibv_qp *from = node_qp(&a, K_RC), *to = node_srq_qp(&b, srq);
	const bool own =
		how == LAST_OWN || how == LAST_FATAL || how == LAST_OVERRUN || how == LAST_SELF;
	const bool refused = how == LAST_REFUSED || how == LAST_SELF;
	struct ibv_send_wr *wr, *bad;
	struct ibv_async_event ev;
	int events = 0, want;
	struct send s;
	char line[64];

	if (how == LAST_SELF)
		node_ready(&b, to, K_RC, to->qp_num, IBV_QPS_RTS);
	else
		node_connect(K_RC, &a, from, &b, to);
	post_srq(&b, srq, 0, 1);
	wr = send_wr(&s, own ? &b : &a, refused ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, 128);
	if (how == LAST_OWN)
		s.sge.lkey ^= 0x100;
	if (refused)
		s.wr.wr.rdma.rkey = b.mr->rkey ^ 0x100;
	snprintf(line, sizeof(line), "%s qp=%u", how == LAST_FATAL ? "qp_fatal" : "cq_overrun",
		to->qp_num);
	if (how == LAST_FATAL || how == LAST_OVERRUN)
		CHECK_EQ(softhca_fault(line), 0);
	pair_publish_to(own ? to : from, NULL);
	CHECK_EQ(ibv_post_send(own ? to : from, wr, &bad), 0);
	want = 1 << IBV_EVENT_QP_LAST_WQE_REACHED | others[how];
	while (events != want) {
		int event = node_event(&b, &ev, PAIR_PATIENCE_MS);

		CHECK(event >= 0 && (want & ~events & 1 << event) != 0, "event %d", event);
		events |= 1 << event;
		if (event == IBV_EVENT_QP_LAST_WQE_REACHED)
			CHECK(ev.element.qp == to);
	}
	CHECK_EQ(pair_state(to), IBV_QPS_ERR);
	CHECK_EQ(node_move(to, IBV_QPS_ERR), 0);
	CHECK_EQ(node_event(&b, &ev, 20), -1);
	CHECK_EQ(node_event(&a, &ev, 0), -1);
	CHECK_EQ(ibv_destroy_qp(from), 0);
	CHECK_EQ(ibv_destroy_qp(to), 0);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	node_close(&a);
	node_close(&b);
	CHECK_EQ(softhca_faults_left(), 0);
}

static void
case_last_wqe(void)
{
	for (int how = 0; how < LAST_N; how++)
		last_wqe(how);
}

/* Receives of an SRQ must be checked against the SRQ's PD, not against the QP's PD. */
static void
case_srq_pd(void)
{
	struct node a = node_open(255), b = node_open(255);
	struct ibv_srq *srq = srq_open(&b, 8);
	struct ibv_pd *qp_pd = ibv_alloc_pd(b.ctx), *srq_pd = b.pd;
	struct ibv_qp *from, *to;
	struct send s;

	from = node_qp(&a, K_RC);
	b.pd = qp_pd;
	to = node_srq_qp(&b, srq);
	b.pd = srq_pd;
	node_connect(K_RC, &a, from, &b, to);
	post_srq(&b, srq, 0, 1);
	CHECK_EQ(send_status(from, &a, send_wr(&s, &a, IBV_WR_SEND, 64)), IBV_WC_SUCCESS);
	CHECK_EQ(node_wait(b.rcq).status, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_destroy_qp(from), 0);
	CHECK_EQ(ibv_destroy_qp(to), 0);
	CHECK_EQ(ibv_dealloc_pd(qp_pd), 0);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	node_close(&a);
	node_close(&b);
}

static void
case_srq_limits(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 32767, .max_sge = 30}};
	struct node n = node_open(255);
	struct ibv_device_attr dev;
	struct ibv_srq *srq;

	CHECK_EQ(ibv_query_device(n.ctx, &dev), 0);
	for (uint32_t sge = 0; sge <= (uint32_t)dev.max_srq_sge; sge++) {
		init.attr = (struct ibv_srq_attr){.max_wr = 100, .max_sge = sge};
		srq = ibv_create_srq(n.pd, &init);
		CHECK(srq != NULL && init.attr.max_sge >= sge && init.attr.max_wr >= 100);
		CHECK_EQ(ibv_destroy_srq(srq), 0);
	}
	init.attr = (struct ibv_srq_attr){.max_wr = (uint32_t)dev.max_srq_wr, .max_sge = 1};
	srq = ibv_create_srq(n.pd, &init);
	CHECK(srq != NULL);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	init.attr.max_wr = (uint32_t)dev.max_srq_wr + 1;
	CHECK(ibv_create_srq(n.pd, &init) == NULL && errno == EINVAL);
	init.attr = (struct ibv_srq_attr){.max_wr = 8, .max_sge = 32};
	CHECK(ibv_create_srq(n.pd, &init) == NULL && errno == EINVAL);
	node_close(&n);
}

/* With an invalid list or doorbell record, the SRQ must fail, and must send an event. */
static void
case_srq_broken(void)
{
	for (int broken = 0; broken < 2; broken++) {
		struct node a = node_open(255), b = node_open(255);
		struct ibv_srq *srq = srq_open(&b, 8);
		struct mlx5dv_srq dv = {0};
		struct mlx5dv_obj obj = {.srq = {.out = &dv}};
		struct ibv_async_event ev;
		struct ibv_qp *from, *to;
		struct send s;

		obj.srq.in = srq;
		CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ), 0);
		from = node_qp(&a, K_RC);
		to = node_srq_qp(&b, srq);
		node_connect(K_RC, &a, from, &b, to);
		for (uint32_t i = 0; i < 3; i++)
			post_srq(&b, srq, i * 64, i);
		if (broken == 0) {
			((struct mlx5_wqe_srq_next_seg *)dv.buf)->next_wqe_index = htobe16(0x7fff);
			CHECK_EQ(send_status(from, &a, send_wr(&s, &a, IBV_WR_SEND, 64)),
				IBV_WC_SUCCESS);
		} else {
			dv.dbrec[0] = htobe32(1000);
		}
		CHECK_EQ(send_status(from, &a, send_wr(&s, &a, IBV_WR_SEND, 64)),
			IBV_WC_RNR_RETRY_EXC_ERR);
		CHECK_EQ(node_event(&b, &ev, CHECK_PATIENCE_MS), IBV_EVENT_SRQ_ERR);
		CHECK(ev.element.srq == srq);
		CHECK_EQ(ibv_destroy_qp(from), 0);
		CHECK_EQ(ibv_destroy_qp(to), 0);
		CHECK_EQ(ibv_destroy_srq(srq), 0);
		node_close(&a);
		node_close(&b);
	}
}

/* ---------------------------------------------------------------- XRC */

struct xrc {
	struct node a, b;
	struct ibv_qp *from, *to;
};

static struct ibv_xrcd *
xrcd_open(struct ibv_context *ctx, int fd, int oflags)
{
	struct ibv_xrcd_init_attr init = {.fd = fd,
		.oflags = oflags,
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS};

	return ibv_open_xrcd(ctx, &init);
}

static struct xrc
xrc_open(void)
{
	struct xrc x = {.a = node_open(255), .b = node_open(255)};

	x.from = node_qp(&x.a, K_XRC_SEND);
	x.to = node_qp(&x.b, K_XRC_RECV);
	node_ready(&x.a, x.from, K_XRC_SEND, x.to->qp_num, IBV_QPS_RTS);
	node_ready(&x.b, x.to, K_XRC_RECV, x.from->qp_num, IBV_QPS_RTS);
	return x;
}

static void
xrc_close(struct xrc *x)
{
	CHECK_EQ(ibv_close_xrcd(x->b.xrcd), EBUSY);
	node_close_ends(&x->a, x->from, &x->b, x->to);
}

static int
xrc_post(struct xrc *x, enum ibv_wr_opcode op, uint32_t srqn, uint32_t rkey)
{
	struct send s;
	struct ibv_send_wr *wr = send_wr(&s, &x->a, op, 64);

	wr->qp_type.xrc.remote_srqn = srqn;
	wr->wr.rdma.remote_addr = (uintptr_t)x->b.buf + 4096;
	wr->wr.rdma.rkey = rkey;
	return send_status(x->from, &x->a, wr);
}

static void
case_xrc(void)
{
	struct xrc x = xrc_open();

	x.a.buf[0] = 42;
	post_srq(&x.b, x.b.xrc_srq, 0, 7);
	CHECK_EQ(xrc_post(&x, IBV_WR_SEND, x.b.xrc_srqn, 0), IBV_WC_SUCCESS);
	CHECK_EQ(node_wait(x.b.rcq).wr_id, 7);
	CHECK_EQ(x.b.buf[0], 42);
	CHECK_EQ(xrc_post(&x, IBV_WR_RDMA_WRITE, x.b.xrc_srqn, x.b.mr->rkey), IBV_WC_SUCCESS);
	CHECK_EQ(x.b.buf[4096], 42);
	/* The SRQ is not in the responder's domain, so the request must be refused. */
	CHECK_EQ(xrc_post(&x, IBV_WR_SEND, x.b.xrc_srqn + 1, 0), IBV_WC_REM_INV_REQ_ERR);
	CHECK_EQ(pair_state(x.to), IBV_QPS_ERR);
	xrc_close(&x);
}

static void
case_xrc_protection(void)
{
	struct xrc x = xrc_open();
	struct node c = node_open(255);

	post_srq(&c, c.xrc_srq, 0, 1);
	CHECK_EQ(xrc_post(&x, IBV_WR_SEND, c.xrc_srqn, 0), IBV_WC_REM_INV_REQ_ERR);
	node_expect_none(c.rcq);
	xrc_close(&x);
	/* Memory must be checked against the PD of the request's SRQ. */
	x = xrc_open();
	CHECK_EQ(xrc_post(&x, IBV_WR_RDMA_WRITE, x.b.xrc_srqn, c.mr->rkey), IBV_WC_REM_ACCESS_ERR);
	xrc_close(&x);
	node_close(&c);
}

/* A file with a domain of one adapter has no domain of another adapter: ibv_open_xrcd(3). */
static void
xrcd_of_another_adapter(int fd)
{
	const char *devices = getenv("SOFTHCA_DEVICES");
	struct ibv_context *ctx;
	struct ibv_xrcd *xrcd;

	if (devices == NULL || atoi(devices) < 2)
		return;
	ctx = pair_open(1);
	CHECK(xrcd_open(ctx, fd, 0) == NULL && errno == EAGAIN);
	xrcd = xrcd_open(ctx, fd, O_CREAT | O_EXCL);
	CHECK(xrcd != NULL);
	CHECK_EQ(ibv_close_xrcd(xrcd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static void
case_xrc_domains(void)
{
	struct node a = node_open(255), b = node_open(255);
	char path[] = "/tmp/softhca_xrc_XXXXXX";
	int fd = mkstemp(path);
	struct ibv_xrcd *one, *two;

	CHECK(fd >= 0);
	CHECK(xrcd_open(a.ctx, fd, 0) == NULL && errno == EAGAIN);
	one = xrcd_open(a.ctx, fd, O_CREAT | O_EXCL);
	CHECK(one != NULL);
	CHECK(xrcd_open(b.ctx, fd, O_CREAT | O_EXCL) == NULL && errno == EINVAL);
	two = xrcd_open(b.ctx, fd, 0);
	CHECK(two != NULL);
	xrcd_of_another_adapter(fd);
	CHECK_EQ(ibv_close_xrcd(one), 0);
	CHECK_EQ(ibv_close_xrcd(two), 0);
	CHECK(xrcd_open(a.ctx, fd, 0) == NULL && errno == EAGAIN);
	CHECK(xrcd_open(a.ctx, 1000000, O_CREAT) == NULL && errno == EBADF);
	close(fd);
	unlink(path);
	node_close(&a);
	node_close(&b);
}

/* ---------------------------------------------------------------- DC */

static int
dc_write(struct node *a, struct ibv_qp *dci, struct ibv_ah *ah, uint32_t dctn, uint64_t key,
	struct node *b)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(dci);
	struct mlx5dv_qp_ex *dvx = mlx5dv_qp_ex_from_ibv_qp_ex(qpx);

	pair_publish_to(dci, NULL);
	ibv_wr_start(qpx);
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qpx, b->mr->rkey, (uintptr_t)b->buf);
	mlx5dv_wr_set_dc_addr(dvx, ah, dctn, key);
	ibv_wr_set_sge(qpx, a->mr->lkey, (uintptr_t)a->buf, 64);
	CHECK_EQ(ibv_wr_complete(qpx), 0);
	return node_wait(a->scq).status;
}

static void
case_dc(void)
{
	struct node a = node_open(255), b = node_open(255);
	struct ibv_ah_attr ah_attr = address(&b, 1);
	struct ibv_ah *ah = ibv_create_ah(a.pd, &ah_attr);
	struct ibv_qp *dci = node_qp(&a, K_DCI), *dct[2];

	for (int i = 0; i < 2; i++) {
		dct[i] = node_qp(&b, K_DCT);
		CHECK_EQ(dct[i]->qp_num, 0); /* a DCT has no number before RTR */
		node_ready(&b, dct[i], K_DCT, 0, IBV_QPS_RTR);
		CHECK(dct[i]->qp_num != 0);
	}
	node_ready(&a, dci, K_DCI, 0, IBV_QPS_RTS);
	/* One initiator sends to two targets alternately. */
	for (int i = 0; i < 8; i++) {
		a.buf[0] = (uint8_t)(i + 1);
		CHECK_EQ(dc_write(&a, dci, ah, dct[i % 2]->qp_num, NODE_DC, &b), IBV_WC_SUCCESS);
		CHECK_EQ(b.buf[0], i + 1);
	}
	a.buf[0] = 99;
	CHECK_EQ(dc_write(&a, dci, ah, dct[0]->qp_num, NODE_DC + 1, &b), IBV_WC_RETRY_EXC_ERR);
	CHECK_EQ(b.buf[0], 8);
	CHECK_EQ(pair_state(dci), IBV_QPS_ERR);
	CHECK_EQ(ibv_destroy_qp(dci), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(ibv_destroy_qp(dct[i]), 0);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	node_close(&a);
	node_close(&b);
}

/* The initiator fails and is restarted. The target must not fail, and must send no event. */
static void
dc_refused(struct node *a, struct ibv_qp *dci, struct node *b)
{
	struct ibv_async_event event;

	CHECK_EQ(pair_state(dci), IBV_QPS_ERR);
	CHECK_EQ(node_event(b, &event, 20), -1);
	CHECK_EQ(node_move(dci, IBV_QPS_RESET), 0);
	node_ready(a, dci, K_DCI, 0, IBV_QPS_RTS);
}

/*
 * A target refuses a request because of its key, its kind, or a receive that is too short. The
 * target must serve the next request (rdma-core's test_mlx5_dc.py, test_dc_stream_ids_recovery).
 */
static void
case_dc_refused(void)
{
	struct node a = node_open(255), b = node_open(255);
	struct ibv_ah_attr ah_attr = address(&b, 1);
	struct node_to dest = {.ah = ibv_create_ah(a.pd, &ah_attr)};
	struct ibv_qp *dci = node_qp(&a, K_DCI), *dct = node_qp(&b, K_DCT);
	struct ibv_mr *mr = b.mr, *readonly = ibv_reg_mr(b.pd, b.buf, NODE_BUF, 0);

	CHECK(dest.ah != NULL && readonly != NULL);
	node_ready(&b, dct, K_DCT, 0, IBV_QPS_RTR);
	node_ready(&a, dci, K_DCI, 0, IBV_QPS_RTS);
	dest.qpn = dct->qp_num;
	b.mr = readonly;
	CHECK_EQ(dc_write(&a, dci, dest.ah, dest.qpn, NODE_DC, &b), IBV_WC_REM_ACCESS_ERR);
	b.mr = mr;
	dc_refused(&a, dci, &b);
	node_recv_to(NULL, b.srq, (struct ibv_sge){(uintptr_t)b.buf, 1, mr->lkey}, 3);
	node_send(&a, dci, K_DCI, &dest, false);
	CHECK_EQ(node_wait(a.scq).status, IBV_WC_REM_INV_REQ_ERR);
	CHECK_EQ(node_wait(b.rcq).status, IBV_WC_LOC_LEN_ERR);
	dc_refused(&a, dci, &b);
	a.buf[0] = 77;
	CHECK_EQ(dc_write(&a, dci, dest.ah, dest.qpn, NODE_DC, &b), IBV_WC_SUCCESS);
	CHECK_EQ(b.buf[0], 77);
	node_recv(&b, NULL, b.srq, 4);
	node_send(&a, dci, K_DCI, &dest, false);
	CHECK_EQ(node_wait(a.scq).status, IBV_WC_SUCCESS);
	CHECK_EQ(node_wait(b.rcq).wr_id, 4);
	CHECK_EQ(ibv_destroy_qp(dci), 0);
	CHECK_EQ(ibv_destroy_qp(dct), 0);
	CHECK_EQ(ibv_destroy_ah(dest.ah), 0);
	CHECK_EQ(ibv_dereg_mr(readonly), 0);
	node_close(&a);
	node_close(&b);
}

/*
 * An error must stop only its stream, until 2^log_num_errored streams are in error:
 * mlx5dv_create_qp(3).
 */
static void
case_dc_streams(void)
{
	struct node a = node_open(255), b = node_open(255);
	struct ibv_ah_attr ah_attr = address(&b, 1);
	struct node_to dest = {.ah = ibv_create_ah(a.pd, &ah_attr)};
	struct ibv_qp *dci = node_stream_dci(&a, 1), *dct = node_qp(&b, K_DCT);

	CHECK(dest.ah != NULL);
	node_ready(&b, dct, K_DCT, 0, IBV_QPS_RTR);
	node_ready(&a, dci, K_DCI, 0, IBV_QPS_RTS);
	dest.qpn = dct->qp_num;
	CHECK_EQ(node_stream_write(&a, dci, &dest, &b, 0, 1, true), IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(node_stream_write(&a, dci, &dest, &b, 0, 1, false), IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(node_stream_write(&a, dci, &dest, &b, 0, 2, false), IBV_WC_SUCCESS);
	CHECK(mlx5dv_dci_stream_id_reset(dci, 2) != 0); /* stream 2 is not in error */
	CHECK_EQ(mlx5dv_dci_stream_id_reset(dci, 1), 0);
	CHECK_EQ(node_stream_write(&a, dci, &dest, &b, 0, 1, false), IBV_WC_SUCCESS);
	CHECK_EQ(pair_state(dci), IBV_QPS_RTS);
	CHECK_EQ(node_stream_write(&a, dci, &dest, &b, 0, 7, true), IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(pair_state(dci), IBV_QPS_RTS);
	CHECK_EQ(node_stream_write(&a, dci, &dest, &b, 0, 9, true), IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(pair_state(dci), IBV_QPS_ERR);
	/* RESET must clear the errors of all streams, and the number of these errors. */
	CHECK_EQ(node_move(dci, IBV_QPS_RESET), 0);
	node_ready(&a, dci, K_DCI, 0, IBV_QPS_RTS);
	CHECK_EQ(node_stream_write(&a, dci, &dest, &b, 0, 7, false), IBV_WC_SUCCESS);
	CHECK_EQ(node_stream_write(&a, dci, &dest, &b, 0, 9, true), IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(pair_state(dci), IBV_QPS_RTS);
	CHECK_EQ(ibv_destroy_qp(dci), 0);
	CHECK_EQ(ibv_destroy_qp(dct), 0);
	CHECK_EQ(ibv_destroy_ah(dest.ah), 0);
	node_close(&a);
	node_close(&b);
}

/* ---------------------------------------------------------------- InfiniBand */

/*
 * UD over InfiniBand: the receiver is addressed by a LID. Without a GRH, the receive begins with 40
 * bytes that have no meaning.
 */
static void
case_infiniband(void)
{
	struct ud u = {.a = node_open(255), .b = node_open(255)};
	struct ibv_ah_attr ah = {.port_num = 1};
	struct ibv_port_attr port;
	union ibv_gid gid;
	struct ibv_wc wc;

	CHECK_EQ(ibv_query_port(u.a.ctx, 1, &port), 0);
	CHECK_EQ(port.link_layer, IBV_LINK_LAYER_INFINIBAND);
	u.from = node_qp(&u.a, K_UD);
	u.to = node_qp(&u.b, K_UD);
	node_ready(&u.a, u.from, K_UD, 0, IBV_QPS_RTS);
	node_ready(&u.b, u.to, K_UD, 0, IBV_QPS_RTR);
	ah.dlid = (uint16_t)(port.lid + 1);
	u.ah = ibv_create_ah(u.a.pd, &ah);
	CHECK(u.ah != NULL);
	post_recv(u.to, u.b.mr, (uintptr_t)u.b.buf, NODE_BUF, 9);
	u.a.buf[0] = 66;
	CHECK_EQ(ud_send(&u, u.ah, u.to->qp_num, NODE_QKEY, 8), IBV_WC_SUCCESS);
	node_expect_none(u.b.rcq);
	CHECK_EQ(ibv_destroy_ah(u.ah), 0);
	ah.dlid = port.lid;
	u.ah = ibv_create_ah(u.a.pd, &ah);
	CHECK_EQ(ud_send(&u, u.ah, u.to->qp_num, NODE_QKEY, 8), IBV_WC_SUCCESS);
	wc = node_wait(u.b.rcq);
	CHECK_EQ(wc.wc_flags, IBV_WC_WITH_IMM);
	CHECK_EQ(wc.slid, port.lid);
	CHECK_EQ(wc.byte_len, GRH + 8);
	CHECK_EQ(u.b.buf[GRH], 66);
	CHECK_EQ(ibv_destroy_ah(u.ah), 0);
	/* With a global address, the packet has a header also on InfiniBand. */
	ah = address(&u.b, 0);
	ah.dlid = port.lid;
	u.ah = ibv_create_ah(u.a.pd, &ah);
	CHECK(u.ah != NULL);
	wc = ud_arrives(&u, NODE_QKEY, 8);
	CHECK_EQ(wc.sl, SL);
	CHECK_EQ(ibv_query_gid(u.b.ctx, 1, 0, &gid), 0);
	check_ipv6(u.b.buf, &gid, packet_len(8), 0x1b);
	ud_close(&u);
}

/* ---------------------------------------------------------------- reserved numbers */

#define N_RESERVED 100
#define N_QPS      150

static void
case_reserved_qpns(void)
{
	struct ud u = ud_open(1);
	uint32_t reserved[N_RESERVED];
	struct ibv_qp *qps[N_QPS];

	for (int i = 0; i < N_RESERVED; i++)
		CHECK_EQ(mlx5dv_reserved_qpn_alloc(u.a.ctx, &reserved[i]), 0);
	for (int i = 0; i < N_QPS; i++) {
		qps[i] = node_qp(&u.b, K_UD);
		for (int k = 0; k < N_RESERVED; k++)
			CHECK(qps[i]->qp_num != reserved[k]);
	}
	for (int k = 1; k < N_RESERVED; k++)
		CHECK(reserved[k] != reserved[k - 1]);
	/* A message to a reserved number must not reach a QP. */
	CHECK_EQ(ud_send(&u, u.ah, reserved[0], NODE_QKEY, 8), IBV_WC_SUCCESS);
	for (int i = 0; i < N_RESERVED; i++)
		CHECK_EQ(mlx5dv_reserved_qpn_dealloc(u.a.ctx, reserved[i]), 0);
	CHECK_EQ(mlx5dv_reserved_qpn_dealloc(u.a.ctx, reserved[0]), EINVAL);
	for (int i = 0; i < N_QPS; i++)
		CHECK_EQ(ibv_destroy_qp(qps[i]), 0);
	ud_close(&u);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"UD over IPv6: 40 bytes of header come first", case_ud_grh},
		{"UD over IPv4: the header is in the last 20 of them", case_ud_ipv4},
		{"a GID of any adapter of the process gets an address handle", case_ud_adapters},
		{"UD drops messages without receive, or with a wrong qkey or port", case_ud_drops},
		{"UD stops sending after its own error, and restarts after RTS", case_ud_states},
		{"UD needs room for the header", case_ud_short_receive},
		{"UC drops messages that RC would refuse", case_uc},
		{"UD without memory on demand fails at the end whose memory is missing",
			case_ud_on_demand},
		{"UC drops messages without memory on demand, and only a receive reports it",
			case_uc_on_demand},
		{"an SRQ serves two QPs", case_srq},
		{"an SRQ sends a limit event, and a QP a last-WQE event", case_srq_events},
		{"a queue pair of an SRQ reports once that it takes no more, however it fails",
			case_last_wqe},
		{"receives of an SRQ are checked against its own PD", case_srq_pd},
		{"an SRQ can be as large as the limits say", case_srq_limits},
		{"an SRQ whose list or record is broken fails", case_srq_broken},
		{"XRC: a request names its SRQ", case_xrc},
		{"XRC: an SRQ of another domain or memory of another PD is refused",
			case_xrc_protection},
		{"XRC: domains are shared by file", case_xrc_domains},
		{"DC: one initiator reaches two targets, but not with a wrong key", case_dc},
		{"DC: a target that refuses a request serves the next one", case_dc_refused},
		{"DC: an error stops only its stream, until there are too many", case_dc_streams},
		{"no queue pair gets a reserved number", case_reserved_qpns},
	};
	static const struct check_case infiniband[] = {
		{"UD over InfiniBand: addressed by LID, with a GRH if the address is global",
			case_infiniband},
	};
	const char *link = getenv("SOFTHCA_LINK_LAYER");

	if (link != NULL && strcmp(link, "infiniband") == 0)
		return check_main(infiniband, 1, argc, argv);
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
