/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The states of every type of QP: each transition with each attribute must be accepted or refused
 * as by the kernel. Also what a query returns afterwards, and what happens to work requests in SQD
 * and in ERR.
 *
 * The rules are the kernel's: qp_state_table in drivers/infiniband/core/verbs.c, and for DC
 * modify_dci_qp_is_ok() and mlx5_ib_modify_dct() in drivers/infiniband/hw/mlx5/qp.c.
 */
#include "softhca_node.h"

#define N_STATES 7
#define N_BITS   21

/* ---- accepted transitions */

struct rule {
	bool valid;
	int need, may;
};

#define CUR    IBV_QP_CUR_STATE
#define ACCESS IBV_QP_ACCESS_FLAGS
#define PKEY   IBV_QP_PKEY_INDEX
#define RNR    IBV_QP_MIN_RNR_TIMER

static bool
responds_reliably(enum kind k)
{
	return k == K_RC || k == K_XRC_RECV;
}

/*
 * Returns the attributes that may change when a QP moves to RTS from SQD or SQE, or stays in RTS.
 */
static int
may_in_rts(enum kind k)
{
	if (k == K_UD)
		return CUR | IBV_QP_QKEY;
	if (k == K_RAW)
		return 0;
	if (k == K_DCI)
		return RNR;
	return CUR | ACCESS | (responds_reliably(k) ? RNR : 0);
}

static int
may_in_sqd(enum kind k)
{
	const int rc = PKEY | IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | ACCESS;

	switch (k) {
	case K_RC:
		return rc | IBV_QP_MAX_DEST_RD_ATOMIC | RNR;
	case K_XRC_SEND:
		return rc;
	case K_UC:
		return IBV_QP_AV | ACCESS | PKEY;
	case K_UD:
		return PKEY | IBV_QP_QKEY;
	default:
		return 0;
	}
}

/*
 * Returns the rule for a connected type. Attributes of alternate paths are left out, because the
 * adapter has none.
 */
static struct rule
connected_rule(enum kind k, int from, int to)
{
	const bool dc = k == K_DCI || k == K_DCT;

	if (from == IBV_QPS_RESET && to == IBV_QPS_INIT)
		return (struct rule){true, qp_need(k, to), 0};
	if (from == IBV_QPS_INIT && to == IBV_QPS_INIT && k != K_DCT)
		return (struct rule){true, 0, qp_need(k, IBV_QPS_INIT)};
	if (from == IBV_QPS_INIT && to == IBV_QPS_RTR) {
		int may = k == K_UD ? PKEY | IBV_QP_QKEY : k == K_RAW ? 0 : ACCESS | PKEY;

		return (struct rule){true, qp_need(k, to),
			k == K_DCI ? PKEY | IBV_QP_AV
			: dc       ? 0
				   : may};
	}
	if (k == K_DCT)
		return (struct rule){0};
	if (from == IBV_QPS_RTR && to == IBV_QPS_RTS)
		return (struct rule){true, qp_need(k, to), may_in_rts(k)};
	if (from == IBV_QPS_RTS && to == IBV_QPS_RTS)
		return (struct rule){true, 0, may_in_rts(k)};
	return (struct rule){0};
}

static struct rule
rule_of(enum kind k, int from, int to)
{
	/* An XRC target has no send queue to drain, and DC has no state SQD. */
	const bool drains = k != K_XRC_RECV && k != K_DCI && k != K_DCT;

	if (k != K_DCT && (to == IBV_QPS_RESET || (to == IBV_QPS_ERR && from != IBV_QPS_RESET)))
		return (struct rule){true, 0, 0};
	if (drains && from == IBV_QPS_RTS && to == IBV_QPS_SQD)
		return (struct rule){true, 0, k == K_RAW ? 0 : IBV_QP_EN_SQD_ASYNC_NOTIFY};
	if (drains && from == IBV_QPS_SQD && to == IBV_QPS_RTS)
		return (struct rule){true, 0, may_in_rts(k)};
	if (drains && k != K_RAW && from == IBV_QPS_SQD && to == IBV_QPS_SQD)
		return (struct rule){true, 0, may_in_sqd(k)};
	if (from == IBV_QPS_SQE && to == IBV_QPS_RTS)
		return (struct rule){true, 0, k == K_UD ? CUR | IBV_QP_QKEY : CUR | ACCESS};
	return connected_rule(k, from, to);
}

/* ---- every transition with every attribute */

/* Moves a UC or UD QP to SQE by an error of its own work request. */
static void
make_sqe(struct node *n, struct ibv_qp *qp, enum kind k)
{
	struct ibv_qp_attr attr = node_attr(n, 0);
	struct node_to to = {.ah = ibv_create_ah(n->pd, &attr.ah_attr), .qpn = qp->qp_num};

	CHECK(to.ah != NULL);
	node_send(n, qp, k, &to, true);
	CHECK_EQ(node_wait(n->scq).status, IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(ibv_destroy_ah(to.ah), 0);
}

/*
 * Returns the attributes of the other end of an XRC connection, which the kernel ignores
 * (modify_qp_mask() in drivers/infiniband/core/uverbs_cmd.c). ib_write_bw(1) gives them.
 */
static int
ignored(enum kind k)
{
	if (k == K_XRC_SEND)
		return IBV_QP_MAX_DEST_RD_ATOMIC | RNR;
	return k == K_XRC_RECV ? IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY : 0;
}

static bool
can_be_in(enum kind k, int state)
{
	if (k == K_DCT)
		return state <= IBV_QPS_RTR;
	if (state == IBV_QPS_SQE)
		return k == K_UC || k == K_UD;
	if (state == IBV_QPS_SQD)
		return k != K_XRC_RECV && k != K_DCI;
	return true;
}

static struct ibv_qp *
qp_in(struct node *n, struct ibv_qp *qp, enum kind k, int state)
{
	if (k == K_DCT && qp != NULL) {
		CHECK_EQ(ibv_destroy_qp(qp), 0);
		qp = NULL;
	}
	if (qp == NULL)
		qp = node_qp(n, k);
	else
		CHECK_EQ(node_move(qp, IBV_QPS_RESET), 0);
	node_ready(n, qp, k, qp->qp_num, state > IBV_QPS_RTS ? IBV_QPS_RTS : state);
	if (state == IBV_QPS_SQE)
		make_sqe(n, qp, k);
	else if (state > IBV_QPS_RTS)
		CHECK_EQ(node_move(qp, state), 0);
	CHECK_EQ(pair_state(qp), state);
	return qp;
}

/*
 * Tries the transition with the needed attributes, without one of them, and with one more. Compares
 * the results with the rule.
 */
static struct ibv_qp *
try_transition(struct node *n, struct ibv_qp *qp, enum kind k, int from, int to)
{
	struct rule r = rule_of(k, from, to);

	for (int i = -1; i < N_BITS; i++) {
		int bit = i < 0 ? 0 : 1 << i, mask = IBV_QP_STATE | (r.need ^ bit);
		bool right = r.valid && (r.need & bit) == 0 && (bit & ~(r.may | ignored(k))) == 0;
		struct ibv_qp_attr attr = node_attr(n, qp->qp_num);
		int rc;

		if (bit == IBV_QP_STATE)
			continue;
		attr.qp_state = to;
		attr.cur_qp_state = from;
		rc = ibv_modify_qp(qp, &attr, mask);
		if ((rc == 0) != right) {
			fprintf(stderr, "type %d, from %d to %d, mask 0x%x: %d\n", k, from, to,
				mask, rc);
			exit(1);
		}
		if (rc == 0) {
			CHECK_EQ(pair_state(qp), to);
			qp = qp_in(n, qp, k, from);
			continue;
		}
		if (bit == IBV_QP_ALT_PATH || bit == IBV_QP_PATH_MIG_STATE)
			CHECK_EQ(rc, EOPNOTSUPP);
		else
			CHECK_EQ(rc, EINVAL);
		CHECK_EQ(pair_state(qp), from);
	}
	return qp;
}

static void
case_transitions(void)
{
	struct node n = node_open(255);

	for (enum kind k = 0; k < N_KINDS; k++) {
		struct ibv_qp *qp = NULL;

		if (!node_may(&n, k))
			continue;
		for (int from = 0; from < N_STATES; from++) {
			if (!can_be_in(k, from))
				continue;
			qp = qp_in(&n, qp, k, from);
			for (int to = 0; to < N_STATES; to++)
				qp = try_transition(&n, qp, k, from, to);
			/*
			 * Without IBV_QP_STATE in the mask the state must not change. The call must
			 * succeed if the rule allows a transition from the state to itself.
			 */
			CHECK_EQ(ibv_modify_qp(qp, &(struct ibv_qp_attr){0}, 0),
				rule_of(k, from, from).valid ? 0 : EINVAL);
		}
		CHECK_EQ(ibv_destroy_qp(qp), 0);
	}
	node_close(&n);
}

/*
 * Values that are out of range by the manual page, ibv_query_device(3) or ibv_query_port(3) must be
 * refused.
 */
static void
case_values(void)
{
	struct node n = node_open(255);
	struct ibv_qp *qp = node_qp(&n, K_RC);
	const struct {
		size_t at;
		enum ibv_qp_state to;
		uint32_t value;
		size_t len;
	} bad[] = {
#define FIELD(f) offsetof(struct ibv_qp_attr, f)
		{FIELD(port_num), IBV_QPS_INIT, 0, 1},
		{FIELD(port_num), IBV_QPS_INIT, 2, 1},
		{FIELD(pkey_index), IBV_QPS_INIT, 1, 2},
		{FIELD(path_mtu), IBV_QPS_RTR, 0, 4},
		{FIELD(path_mtu), IBV_QPS_RTR, 6, 4},
		{FIELD(min_rnr_timer), IBV_QPS_RTR, 32, 1},
		{FIELD(max_dest_rd_atomic), IBV_QPS_RTR, 17, 1},
		{FIELD(ah_attr.port_num), IBV_QPS_RTR, 0, 1},
		{FIELD(ah_attr.port_num), IBV_QPS_RTR, 2, 1},
		{FIELD(ah_attr.is_global), IBV_QPS_RTR, 0, 1},
		{FIELD(ah_attr.grh.sgid_index), IBV_QPS_RTR, 200, 1},
		{FIELD(timeout), IBV_QPS_RTS, 32, 1},
		{FIELD(retry_cnt), IBV_QPS_RTS, 8, 1},
		{FIELD(rnr_retry), IBV_QPS_RTS, 8, 1},
		{FIELD(max_rd_atomic), IBV_QPS_RTS, 17, 1},
#undef FIELD
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ibv_qp_attr attr = node_attr(&n, qp->qp_num);
		int mask = IBV_QP_STATE | qp_need(K_RC, bad[i].to);

		qp = qp_in(&n, qp, K_RC, bad[i].to - 1);
		attr.qp_state = bad[i].to;
		/* the fields are little endian */
		memcpy((uint8_t *)&attr + bad[i].at, &bad[i].value, bad[i].len);
		CHECK_EQ(ibv_modify_qp(qp, &attr, mask), EINVAL);
		CHECK_EQ(pair_state(qp), bad[i].to - 1);
	}
	/* States that do not exist must be refused. */
	CHECK_EQ(node_move(qp, 7), EINVAL);
	CHECK_EQ(ibv_modify_qp(qp, &(struct ibv_qp_attr){.cur_qp_state = 7}, CUR), EINVAL);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	node_close(&n);
}

static void
case_rate_limit(void)
{
	struct ibv_qp_rate_limit_attr limit = {.rate_limit = 1000};
	struct node n = node_open(255);

	for (enum kind k = K_RC; k <= K_RAW; k++) {
		struct ibv_qp *qp;

		if (!node_may(&n, k))
			continue;
		qp = qp_in(&n, NULL, k, IBV_QPS_RTS);
		CHECK_EQ(ibv_modify_qp_rate_limit(qp, &limit), EOPNOTSUPP);
		CHECK_EQ(ibv_modify_qp(qp,
				 &(struct ibv_qp_attr){.qp_state = IBV_QPS_SQD, .rate_limit = 1000},
				 IBV_QP_STATE | IBV_QP_RATE_LIMIT),
			EOPNOTSUPP);
		CHECK_EQ(pair_state(qp), IBV_QPS_RTS);
		CHECK_EQ(ibv_destroy_qp(qp), 0);
	}
	node_close(&n);
}

/* ---- queries */

/*
 * Returns the rights that mlx5_ib sets in the QP context (set_qpc_atomic_flags()): until the
 * responder's depth is set, the peer may only write.
 */
static unsigned int
granted(unsigned int asked, int set)
{
	return set & IBV_QP_MAX_DEST_RD_ATOMIC ? asked : asked & IBV_ACCESS_REMOTE_WRITE;
}

/* Checks the attributes of the mask, which a query returns after a modify. */
static void
expect_query(struct ibv_qp *qp, int state, const struct ibv_qp_attr *w, int set)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	CHECK_EQ(ibv_query_qp(qp, &a, (1 << N_BITS) - 1, &init), 0);
	CHECK_EQ(a.qp_state, state);
	CHECK_EQ(a.cur_qp_state, state);
#define SAME(bit, field) CHECK_EQ(a.field, set &(bit) ? w->field : 0)
	/*
	 * Before the program sets a port, the QP is on port 1: mlx5_ib makes the QP on this port.
	 */
	CHECK_EQ(a.port_num, set & IBV_QP_PORT ? w->port_num : 1);
	SAME(IBV_QP_QKEY, qkey);
	SAME(IBV_QP_PATH_MTU, path_mtu);
	SAME(IBV_QP_TIMEOUT, timeout);
	SAME(IBV_QP_RETRY_CNT, retry_cnt);
	SAME(IBV_QP_RNR_RETRY, rnr_retry);
	SAME(IBV_QP_RQ_PSN, rq_psn);
	SAME(IBV_QP_SQ_PSN, sq_psn);
	SAME(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	SAME(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	SAME(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	SAME(IBV_QP_DEST_QPN, dest_qp_num);
	SAME(IBV_QP_AV, ah_attr.is_global);
	SAME(IBV_QP_AV, ah_attr.sl);
	SAME(IBV_QP_AV, ah_attr.grh.sgid_index);
	SAME(IBV_QP_AV, ah_attr.grh.hop_limit);
#undef SAME
	if (set & IBV_QP_AV)
		CHECK_EQ(memcmp(a.ah_attr.grh.dgid.raw, w->ah_attr.grh.dgid.raw, 16), 0);
	CHECK_EQ(init.qp_type, qp->qp_type);
	CHECK(init.send_cq == qp->send_cq && init.recv_cq == qp->recv_cq && init.srq == qp->srq);
	CHECK_EQ(a.qp_access_flags,
		set & IBV_QP_ACCESS_FLAGS ? granted(w->qp_access_flags, set) : 0);
	CHECK_EQ(init.sq_sig_all, 0);
}

/*
 * In SQD: each modify of two attributes is refused because of one of them. The query shows no trace
 * of the other one, neither at once nor after the next modify.
 */
static void
expect_no_trace(struct ibv_qp *qp, enum kind kind, const struct ibv_qp_attr *now, int set)
{
	struct ibv_qp_attr bad = *now;

	bad.qp_access_flags ^= IBV_ACCESS_REMOTE_WRITE;
	bad.qkey++;
	bad.timeout--;
	bad.retry_cnt--;
	bad.rnr_retry--;
	bad.max_rd_atomic--;
	bad.max_dest_rd_atomic = 0;
	bad.min_rnr_timer--;
	bad.ah_attr.sl--;
	bad.cur_qp_state = IBV_QPS_RTR;
	for (int bit = 1; bit < 1 << N_BITS; bit <<= 1) {
		struct ibv_qp_attr same = *now;

		if ((may_in_sqd(kind) & bit) == 0)
			continue;
		CHECK_EQ(ibv_modify_qp(qp, &bad, bit | IBV_QP_CUR_STATE), EINVAL);
		expect_query(qp, IBV_QPS_SQD, now, set);
		if ((may_in_sqd(kind) & ACCESS) == 0)
			continue;
		CHECK_EQ(ibv_modify_qp(qp, &same, ACCESS), 0);
		expect_query(qp, IBV_QPS_SQD, now, set);
	}
}

static void
case_query(void)
{
	static const enum kind kinds[] = {K_RC, K_UC, K_UD, K_RAW};
	struct node n = node_open(255);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct ibv_qp_attr attr;
		struct ibv_qp *qp;
		int set = 0;

		if (!node_may(&n, kinds[i]))
			continue;
		qp = node_qp(&n, kinds[i]);
		attr = node_attr(&n, qp->qp_num);
		expect_query(qp, IBV_QPS_RESET, &attr, 0);
		for (int to = IBV_QPS_INIT; to <= IBV_QPS_RTS; to++) {
			attr.qp_state = to;
			CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | qp_need(kinds[i], to)), 0);
			set |= qp_need(kinds[i], to);
			expect_query(qp, to, &attr, set);
		}
		/* Each attribute that may change in SQD is changed alone. */
		CHECK_EQ(node_move(qp, IBV_QPS_SQD), 0);
		pair_run();
		for (int bit = 1; bit < 1 << N_BITS; bit <<= 1) {
			if ((may_in_sqd(kinds[i]) & bit) == 0)
				continue;
			attr.qp_access_flags ^= bit == ACCESS ? IBV_ACCESS_REMOTE_READ : 0;
			attr.qkey += bit == IBV_QP_QKEY;
			attr.timeout += bit == IBV_QP_TIMEOUT;
			attr.retry_cnt += bit == IBV_QP_RETRY_CNT;
			attr.rnr_retry += bit == IBV_QP_RNR_RETRY;
			attr.max_rd_atomic -= bit == IBV_QP_MAX_QP_RD_ATOMIC;
			attr.max_dest_rd_atomic -= bit == IBV_QP_MAX_DEST_RD_ATOMIC;
			attr.min_rnr_timer += bit == RNR;
			attr.ah_attr.sl += bit == IBV_QP_AV;
			attr.ah_attr.grh.hop_limit -= bit == IBV_QP_AV;
			CHECK_EQ(ibv_modify_qp(qp, &attr, bit), 0);
			expect_query(qp, IBV_QPS_SQD, &attr, set);
		}
		expect_no_trace(qp, kinds[i], &attr, set);
		/* In ERR the attributes must stay. RESET must clear them. */
		CHECK_EQ(node_move(qp, IBV_QPS_ERR), 0);
		expect_query(qp, IBV_QPS_ERR, &attr, set);
		CHECK_EQ(node_move(qp, IBV_QPS_RESET), 0);
		expect_query(qp, IBV_QPS_RESET, &attr, 0);
		CHECK_EQ(ibv_destroy_qp(qp), 0);
	}
	node_close(&n);
}

static void
case_query_sizes(void)
{
	struct node n = node_open(255);
	struct ibv_qp_init_attr want = {.send_cq = n.scq,
		.recv_cq = n.rcq,
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {.max_send_wr = 10,
			.max_recv_wr = 20,
			.max_send_sge = 3,
			.max_recv_sge = 5,
			.max_inline_data = 100}};
	struct ibv_qp_init_attr given = want, init;
	struct ibv_qp *qp = ibv_create_qp(n.pd, &given);
	struct ibv_srq_init_attr given_srq = {.attr = {.max_wr = 20, .max_sge = 3}};
	struct ibv_srq *shared = ibv_create_srq(n.pd, &given_srq);
	struct ibv_srq_attr srq = {.srq_limit = 7};
	struct ibv_qp_attr attr;

	CHECK(qp != NULL && shared != NULL);
	CHECK_EQ(ibv_query_qp(qp, &attr, IBV_QP_CAP, &init), 0);
	CHECK_EQ(init.sq_sig_all, 1);
	CHECK(attr.cap.max_send_wr >= 10 && attr.cap.max_recv_wr >= 20);
	CHECK(attr.cap.max_send_sge >= 3 && attr.cap.max_recv_sge >= 5);
	CHECK(attr.cap.max_inline_data >= 100);
	/* A query must return the sizes that the creation returned. */
	CHECK_EQ(attr.cap.max_send_wr, given.cap.max_send_wr);
	CHECK_EQ(attr.cap.max_recv_wr, given.cap.max_recv_wr);
	CHECK_EQ(attr.cap.max_inline_data, given.cap.max_inline_data);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	/*
	 * A query of an SRQ must return the size from the creation, and the limit from the modify.
	 */
	CHECK(given_srq.attr.max_wr >= 20 && given_srq.attr.max_sge >= 3);
	for (int i = 0; i < 10; i++)
		node_recv(&n, NULL, shared, 1);
	for (uint32_t limit = 8; limit != 0; limit /= 2) {
		srq.srq_limit = limit;
		CHECK_EQ(ibv_modify_srq(shared, &srq, IBV_SRQ_LIMIT), 0);
		CHECK_EQ(ibv_query_srq(shared, &srq), 0);
		CHECK_EQ(srq.srq_limit, limit);
		/*
		 * The size includes libmlx5's wait queue: 2 * 20 + 1, rounded up to a power of two,
		 * minus one.
		 */
		CHECK_EQ(srq.max_wr, 63);
		CHECK_EQ(srq.max_sge, given_srq.attr.max_sge);
	}
	CHECK_EQ(ibv_destroy_srq(shared), 0);
	node_close(&n);
}

/* ---- work */

/* Two QPs of a type that send to each other, or a sender and a receiver. */
struct duo {
	struct node n;
	enum kind send, recv;
	struct ibv_qp *from, *to;
	struct node_to dest;
};

static void
duo_connect(struct duo *d)
{
	node_ready(&d->n, d->from, d->send, d->to->qp_num, IBV_QPS_RTS);
	node_ready(&d->n, d->to, d->recv, d->from->qp_num, IBV_QPS_RTS);
	d->dest.qpn = d->to->qp_num;
}

static void
duo_open(struct duo *d, enum kind send)
{
	struct ibv_qp_attr attr;

	memset(d, 0, sizeof(*d));
	d->n = node_open(255);
	d->send = send;
	d->recv = node_partner(send);
	d->from = node_qp(&d->n, send);
	d->to = node_qp(&d->n, d->recv);
	attr = node_attr(&d->n, 0);
	d->dest = (struct node_to){.ah = ibv_create_ah(d->n.pd, &attr.ah_attr),
		.srqn = d->n.xrc_srqn};
	CHECK(d->dest.ah != NULL);
	duo_connect(d);
}

static void
duo_close(struct duo *d)
{
	CHECK_EQ(ibv_destroy_ah(d->dest.ah), 0);
	CHECK_EQ(ibv_destroy_qp(d->from), 0);
	CHECK_EQ(ibv_destroy_qp(d->to), 0);
	node_close(&d->n);
}

static void
duo_recv(struct duo *d, uint64_t id)
{
	node_recv_of(&d->n, d->to, d->recv, id);
}

static void
duo_message(struct duo *d)
{
	d->n.buf[0]++;
	duo_recv(d, 5);
	node_send(&d->n, d->from, d->send, &d->dest, false);
	CHECK_EQ(node_wait(d->n.scq).status, IBV_WC_SUCCESS);
	CHECK_EQ(node_wait(d->n.rcq).status, IBV_WC_SUCCESS);
	CHECK_EQ(d->n.buf[NODE_BUF / 2 + (d->recv == K_UD ? 40 : 0)], d->n.buf[0]);
}

static const enum kind senders[] = {K_RC, K_UC, K_UD, K_XRC_SEND, K_DCI};

#define N_SENDERS (sizeof(senders) / sizeof(senders[0]))

/*
 * After an error, flushed work requests, RESET and RTS, new messages must arrive, and no old
 * message.
 */
static void
case_restart(void)
{
	for (size_t i = 0; i < N_SENDERS; i++) {
		struct duo d;

		duo_open(&d, senders[i]);
		for (int round = 0; round < 4; round++) {
			bool unreliable = d.send == K_UC || d.send == K_UD;

			duo_message(&d);
			node_send(&d.n, d.from, d.send, &d.dest, true);
			node_send(&d.n, d.from, d.send, &d.dest, false);
			CHECK_EQ(node_wait(d.n.scq).status, IBV_WC_LOC_PROT_ERR);
			CHECK_EQ(node_wait(d.n.scq).status, IBV_WC_WR_FLUSH_ERR);
			CHECK_EQ(pair_state(d.from), unreliable ? IBV_QPS_SQE : IBV_QPS_ERR);
			if (unreliable)
				CHECK_EQ(node_move(d.from, IBV_QPS_ERR), 0);
			/* In ERR, a receive must be flushed if it is in the QP's own queue. */
			if (d.send <= K_UD) {
				node_recv(&d.n, d.from, NULL, 6);
				CHECK_EQ(node_wait(d.n.rcq).status, IBV_WC_WR_FLUSH_ERR);
			}
			CHECK_EQ(node_move(d.from, IBV_QPS_RESET), 0);
			if (d.recv == K_DCT) {
				node_ready(&d.n, d.from, d.send, 0, IBV_QPS_RTS);
				continue;
			}
			CHECK_EQ(node_move(d.to, IBV_QPS_ERR), 0);
			CHECK_EQ(node_move(d.to, IBV_QPS_RESET), 0);
			duo_connect(&d);
		}
		duo_message(&d);
		node_expect_none(d.n.scq);
		node_expect_none(d.n.rcq);
		duo_close(&d);
	}
}

/*
 * SQD, for each type that has this state: posted work requests must wait, an event must report that
 * the queue is drained, and RTS must restart the queue.
 */
static void
case_sqd(void)
{
	for (size_t i = 0; i < N_SENDERS; i++) {
		struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
		struct ibv_async_event event;
		struct duo d;

		if (senders[i] == K_DCI)
			continue;
		duo_open(&d, senders[i]);
		duo_message(&d);
		CHECK_EQ(ibv_modify_qp(d.from, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY),
			0);
		CHECK_EQ(node_event(&d.n, &event, CHECK_PATIENCE_MS), IBV_EVENT_SQ_DRAINED);
		CHECK(event.element.qp == d.from);
		CHECK_EQ(node_event(&d.n, &event, 2), -1);
		for (int w = 0; w < 3; w++) {
			duo_recv(&d, 5);
			node_send(&d.n, d.from, d.send, &d.dest, false);
		}
		node_expect_none(d.n.scq);
		attr.qp_state = IBV_QPS_RTS;
		attr.cur_qp_state = IBV_QPS_RTS;
		CHECK_EQ(ibv_modify_qp(d.from, &attr, IBV_QP_STATE | CUR), EINVAL);
		attr.cur_qp_state = IBV_QPS_SQD;
		CHECK_EQ(ibv_modify_qp(d.from, &attr, IBV_QP_STATE | CUR), 0);
		for (int w = 0; w < 3; w++) {
			CHECK_EQ(node_wait(d.n.scq).status, IBV_WC_SUCCESS);
			CHECK_EQ(node_wait(d.n.rcq).status, IBV_WC_SUCCESS);
		}
		/*
		 * If the program did not ask for the event, none may be sent. When the QP moves
		 * from SQD to ERR, its work requests must be flushed.
		 */
		CHECK_EQ(node_move(d.from, IBV_QPS_SQD), 0);
		CHECK_EQ(node_event(&d.n, &event, 5), -1);
		node_send(&d.n, d.from, d.send, &d.dest, false);
		node_expect_none(d.n.scq);
		CHECK_EQ(node_move(d.from, IBV_QPS_ERR), 0);
		CHECK_EQ(node_wait(d.n.scq).status, IBV_WC_WR_FLUSH_ERR);
		duo_close(&d);
	}
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"every transition takes the attributes of the kernel's table, and no other",
			case_transitions},
		{"values out of range are refused, and change nothing", case_values},
		{"rate limits are refused", case_rate_limit},
		{"a query reports what each modify set, and nothing after RESET", case_query},
		{"sizes and limits are those that were asked for", case_query_sizes},
		{"each type goes from ERR through RESET to RTS", case_restart},
		{"each type that sends stops in SQD, sends an event, and can be restarted",
			case_sqd},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
