/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of a receiver: for the first message of a connection (ibv_get_async_event(3)), for a
 * receive record that counts more WQEs than the queue holds, and for a full CQ (ibv_create_cq(3)).
 * Also: which processes may create a raw packet QP (packet(7), CAP_NET_RAW).
 */
#include <linux/capability.h>
#include <sys/syscall.h>

#include "softhca_node.h"

struct link {
	struct node a, b;
	enum kind send, recv;
	struct ibv_qp *from, *to;
	struct node_to dest;
};

static void
link_open(struct link *l, enum kind send, enum ibv_qp_state receiver, int n_recv_cqe)
{
	struct ibv_qp_attr attr;

	memset(l, 0, sizeof(*l));
	l->a = node_open(255);
	l->b = node_open(n_recv_cqe);
	l->send = send;
	l->recv = node_partner(send);
	l->from = node_qp(&l->a, send);
	l->to = node_qp(&l->b, l->recv);
	node_ready(&l->a, l->from, send, l->to->qp_num, IBV_QPS_RTS);
	node_ready(&l->b, l->to, l->recv, l->from->qp_num, receiver);
	attr = node_attr(&l->a, 0);
	l->dest = (struct node_to){ibv_create_ah(l->a.pd, &attr.ah_attr), l->to->qp_num,
		l->b.xrc_srqn};
	CHECK(l->dest.ah != NULL);
}

static void
link_close(struct link *l)
{
	CHECK_EQ(ibv_destroy_ah(l->dest.ah), 0);
	node_close_ends(&l->a, l->from, &l->b, l->to);
}

static void
link_recv(struct link *l)
{
	node_recv_of(&l->b, l->to, l->recv, 9);
}

static enum ibv_wc_status
link_send(struct link *l)
{
	node_send(&l->a, l->from, l->send, &l->dest, false);
	return node_wait(l->a.scq).status;
}

/* ---- the first message */

static void
established(enum kind send, enum ibv_qp_state receiver, bool told)
{
	struct ibv_async_event event;
	struct link l;

	link_open(&l, send, receiver, 255);
	for (int i = 0; i < 3; i++)
		link_recv(&l);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(link_send(&l), IBV_WC_SUCCESS);
		CHECK_EQ(node_wait(l.b.rcq).status, IBV_WC_SUCCESS);
		if (told && i == 0) {
			CHECK_EQ(node_event(&l.b, &event, CHECK_PATIENCE_MS), IBV_EVENT_COMM_EST);
			CHECK(event.element.qp == l.to);
		}
		CHECK_EQ(node_event(&l.b, &event, 2), -1);
		CHECK_EQ(node_event(&l.a, &event, 0), -1);
	}
	/* A RESET begins a new connection, so the event must be sent again. */
	if (told) {
		CHECK_EQ(node_move(l.to, IBV_QPS_RESET), 0);
		node_ready(&l.b, l.to, l.recv, l.from->qp_num, receiver);
		link_recv(&l);
		CHECK_EQ(link_send(&l), IBV_WC_SUCCESS);
		CHECK_EQ(node_event(&l.b, &event, CHECK_PATIENCE_MS), IBV_EVENT_COMM_EST);
	}
	link_close(&l);
}

static void
case_established(void)
{
	established(K_RC, IBV_QPS_RTR, true);
	established(K_UC, IBV_QPS_RTR, true);
	established(K_XRC_SEND, IBV_QPS_RTR, true);
	established(K_RC, IBV_QPS_RTS, false);
	/* QPs of these types have no connection, so no event may be sent. */
	established(K_UD, IBV_QPS_RTR, false);
	established(K_DCI, IBV_QPS_RTR, false);
}

/* ---- a receive record that counts more than the queue holds */

static enum ibv_wc_status
write_imm(struct link *l)
{
	struct ibv_sge sge = {(uintptr_t)l->a.buf, 64, l->a.mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {(uintptr_t)l->b.buf + 4096, l->b.mr->rkey}};
	struct ibv_send_wr *bad;

	pair_publish_to(l->from, NULL);
	CHECK_EQ(ibv_post_send(l->from, &wr, &bad), 0);
	return node_wait(l->a.scq).status;
}

static void
overposted(enum kind send, bool imm)
{
	unsigned long violations = softhca_violations();
	struct ibv_async_event event;
	struct mlx5dv_qp dv = {0};
	struct mlx5dv_obj obj;
	struct link l;

	link_open(&l, send, IBV_QPS_RTS, 255);
	obj = (struct mlx5dv_obj){.qp = {l.to, &dv}};
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
	l.a.buf[0] = 1;
	for (uint32_t i = 0; i < dv.rq.wqe_cnt; i++)
		link_recv(&l);
	CHECK_EQ(link_send(&l), IBV_WC_SUCCESS); /* a full queue must not be an error */
	CHECK_EQ(node_wait(l.b.rcq).status, IBV_WC_SUCCESS);
	__atomic_store_n(&dv.dbrec[MLX5_RCV_DBR], htobe32(dv.rq.wqe_cnt + 2), __ATOMIC_RELEASE);
	CHECK_EQ(imm ? write_imm(&l) : link_send(&l),
		send == K_RC ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
	CHECK_EQ(node_event(&l.b, &event, CHECK_PATIENCE_MS), IBV_EVENT_QP_FATAL);
	CHECK(event.element.qp == l.to);
	CHECK_EQ(pair_state(l.to), IBV_QPS_ERR);
	CHECK(softhca_violations() > violations);
	CHECK_EQ(l.b.buf[4096], 0);
	node_expect_none(l.b.rcq); /* the adapter cannot know which of the receives are valid */
	CHECK_EQ(node_event(&l.b, &event, 2), -1);
	link_close(&l);
}

/* A QP that is connected to itself sends and receives. */
static void
overposted_itself(void)
{
	struct ibv_async_event event;
	struct node n = node_open(255);
	struct ibv_qp *qp = node_qp(&n, K_RC);
	struct mlx5dv_qp dv = {0};
	struct mlx5dv_obj obj = {.qp = {qp, &dv}};

	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
	node_ready(&n, qp, K_RC, qp->qp_num, IBV_QPS_RTS);
	__atomic_store_n(&dv.dbrec[MLX5_RCV_DBR], htobe32(dv.rq.wqe_cnt + 1), __ATOMIC_RELEASE);
	node_send(&n, qp, K_RC, NULL, false);
	CHECK_EQ(node_wait(n.scq).status, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(node_event(&n, &event, CHECK_PATIENCE_MS), IBV_EVENT_QP_FATAL);
	CHECK_EQ(pair_state(qp), IBV_QPS_ERR);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	node_close(&n);
}

static void
case_overposted(void)
{
	overposted_itself();
	overposted(K_RC, false);
	overposted(K_RC, true);
	overposted(K_UC, false);
	overposted(K_UD, false);
}

/* ---- a full completion queue */

/*
 * After the overrun the receiver must fail. The adapter visits connected QPs by itself, but DCTs
 * and XRC targets only when a request arrives.
 */
static void
cq_overrun(enum kind send)
{
	struct ibv_async_event event;
	bool cq = false, qp = false;
	struct link l;

	link_open(&l, send, IBV_QPS_RTS, 3);
	for (int i = 0; i < 8; i++)
		link_recv(&l);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(link_send(&l), IBV_WC_SUCCESS);
	/*
	 * The CQ has no free entry for the fifth completion. The SEND of this completion may
	 * complete before the QP fails, and is the last SEND.
	 */
	CHECK_EQ(link_send(&l), IBV_WC_SUCCESS);
	/* only the next request makes an XRC target or a DCT see the failed CQ */
	if (send == K_XRC_SEND)
		CHECK_EQ(link_send(&l), IBV_WC_RETRY_EXC_ERR);
	for (int i = 0; i < 2; i++) {
		int type = node_event(&l.b, &event, CHECK_PATIENCE_MS);

		cq |= type == IBV_EVENT_CQ_ERR && event.element.cq == l.b.rcq;
		qp |= type == IBV_EVENT_QP_FATAL && event.element.qp == l.to;
	}
	CHECK(cq && qp);
	CHECK_EQ(pair_state(l.to), IBV_QPS_ERR);
	if (send != K_XRC_SEND)
		CHECK_EQ(link_send(&l), IBV_WC_RETRY_EXC_ERR);
	/* It must be possible to destroy a DCT in error. */
	link_close(&l);
}

static void
case_cq_overrun(void)
{
	cq_overrun(K_RC);
	cq_overrun(K_XRC_SEND);
	cq_overrun(K_DCI);
}

/* ---- CAP_NET_RAW */

static void
set_net_raw(bool on)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	CHECK_EQ(syscall(SYS_capget, &header, data), 0);
	if (on)
		data[0].effective |= CAP_TO_MASK(CAP_NET_RAW);
	else
		data[0].effective &= ~CAP_TO_MASK(CAP_NET_RAW);
	CHECK_EQ(syscall(SYS_capset, &header, data), 0);
}

static bool
may_be_raw(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	CHECK_EQ(syscall(SYS_capget, &header, data), 0);
	return (data[0].permitted & CAP_TO_MASK(CAP_NET_RAW)) != 0;
}

static void
case_net_raw(void)
{
	struct node n = node_open(255);
	struct ibv_qp *qp;

	if (may_be_raw()) {
		set_net_raw(true);
		qp = node_qp(&n, K_RAW);
		CHECK_EQ(ibv_destroy_qp(qp), 0);
		set_net_raw(false);
	}
	errno = 0;
	CHECK(node_try_qp(&n, K_RAW) == NULL);
	CHECK_EQ(errno, EPERM);
	/* QPs of other types need no capability. */
	qp = node_qp(&n, K_UD);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	if (may_be_raw())
		set_net_raw(true);
	node_close(&n);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"a connection in RTR sends one event for its first message", case_established},
		{"a record that counts more receives than the queue holds fails the QP",
			case_overposted},
		{"a full CQ fails its QPs, even those that only receive", case_cq_overrun},
		{"a raw packet queue pair needs CAP_NET_RAW", case_net_raw},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
