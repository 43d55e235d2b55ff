/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects of this process, of a child and of a parent, as RDMA netlink reports them.
 *
 * Expected values: those that verbs returned when they created the objects. Types of attributes:
 * uapi rdma/rdma_netlink.h. Attributes of each kind: the kernel's drivers/infiniband/core/nldev.c.
 */
#include <linux/capability.h>
#include <sys/syscall.h>
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

#include "softhca_nl.h"
#include "softhca_node.h"

#define INDEX RDMA_NLDEV_ATTR_DEV_INDEX
#define PORT  RDMA_NLDEV_ATTR_PORT_INDEX
#define N(a)  (sizeof(a) / sizeof((a)[0]))

/* ---- asking */

static const void *
nested(const struct nlattr *attr, size_t *len)
{
	CHECK(attr != NULL);
	*len = attr->nla_len - NLA_HDRLEN;
	return (const uint8_t *)attr + NLA_HDRLEN;
}

/*
 * Returns the number of objects of this kind that an adapter has, as a line of `rdma res` shows it.
 */
static uint64_t
summary(int fd, uint32_t dev, const char *name)
{
	const uint8_t *p;
	struct nl_answer a;
	struct nl_request r;
	size_t len;

	nl_begin(&r, RDMA_NLDEV_CMD_RES_GET, 0, 1);
	nl_add_u32(&r, INDEX, dev);
	p = nested(nl_attr(nl_ask(fd, &r, &a), RDMA_NLDEV_ATTR_RES_SUMMARY), &len);
	while (len > 0) {
		const struct nlattr *entry = (const struct nlattr *)p;
		const void *in;
		size_t in_len;

		CHECK_EQ(entry->nla_type & NLA_TYPE_MASK, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);
		in = nested(entry, &in_len);
		if (strcmp(nl_text(nl_find(in, in_len, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME)),
			    name) == 0)
			return nl_number(nl_find(in, in_len,
						 RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR),
				8);
		p += NLA_ALIGN(entry->nla_len);
		len -= NLA_ALIGN(entry->nla_len);
	}
	CHECK(false, "no %s in the summary", name);
	return 0;
}

/*
 * One kind of resource: its command, the attributes of the list and of an entry, and the attribute
 * of its id.
 */
struct shown_kind {
	uint16_t command, table, entry, id;
};

static const struct shown_kind pds = {RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD,
	RDMA_NLDEV_ATTR_RES_PD_ENTRY, RDMA_NLDEV_ATTR_RES_PDN};
static const struct shown_kind cqs = {RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ,
	RDMA_NLDEV_ATTR_RES_CQ_ENTRY, RDMA_NLDEV_ATTR_RES_CQN};
static const struct shown_kind qps = {RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP,
	RDMA_NLDEV_ATTR_RES_QP_ENTRY, RDMA_NLDEV_ATTR_RES_LQPN};
static const struct shown_kind mrs = {RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR,
	RDMA_NLDEV_ATTR_RES_MR_ENTRY, RDMA_NLDEV_ATTR_RES_MRN};
static const struct shown_kind ctxs = {RDMA_NLDEV_CMD_RES_CTX_GET, RDMA_NLDEV_ATTR_RES_CTX,
	RDMA_NLDEV_ATTR_RES_CTX_ENTRY, RDMA_NLDEV_ATTR_RES_CTXN};
static const struct shown_kind srqs = {RDMA_NLDEV_CMD_RES_SRQ_GET, RDMA_NLDEV_ATTR_RES_SRQ,
	RDMA_NLDEV_ATTR_RES_SRQ_ENTRY, RDMA_NLDEV_ATTR_RES_SRQN};
static const struct shown_kind cm_ids = {RDMA_NLDEV_CMD_RES_CM_ID_GET, RDMA_NLDEV_ATTR_RES_CM_ID,
	RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY, RDMA_NLDEV_ATTR_RES_CM_IDN};

/* All objects of a kind: the entries of the answers. */
struct shown {
	uint8_t bytes[65536 * 8];
	size_t len;
	unsigned int n, datagrams;
};

static struct shown shown; /* the result of the last show() */

static void
request_dump(int fd, const struct shown_kind *kind, uint32_t dev, uint32_t port)
{
	struct nl_request r;

	nl_begin(&r, kind->command, NLM_F_DUMP, 77);
	nl_add_u32(&r, INDEX, dev);
	if (port != 0)
		nl_add_u32(&r, PORT, port);
	nl_send(fd, &r);
}

/* Reads one message of a dump. Returns true if it was the last message. */
static bool
take_message(const struct shown_kind *kind, const struct nlmsghdr *got)
{
	const uint8_t *p;
	size_t len;

	if (got->nlmsg_type == NLMSG_DONE)
		return true;
	CHECK_EQ(got->nlmsg_type, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, kind->command));
	CHECK_EQ(got->nlmsg_flags, NLM_F_MULTI);
	CHECK(nl_attr(got, RDMA_NLDEV_ATTR_DEV_NAME) != NULL);
	p = nested(nl_attr(got, kind->table), &len);
	CHECK(len > 0 && len <= sizeof(shown.bytes) - shown.len);
	memcpy(shown.bytes + shown.len, p, len);
	shown.len += len;
	for (; len > 0; shown.n++) {
		const struct nlattr *entry = (const struct nlattr *)p;

		CHECK_EQ(entry->nla_type & NLA_TYPE_MASK, kind->entry);
		p += NLA_ALIGN(entry->nla_len);
		len -= NLA_ALIGN(entry->nla_len);
	}
	return false;
}

static void
read_dump(int fd, const struct shown_kind *kind)
{
	struct nl_answer a;

	shown.len = shown.n = shown.datagrams = 0;
	for (;;) {
		const struct nlmsghdr *got;

		CHECK(nl_recv(fd, &a));
		shown.datagrams++;
		while ((got = nl_next(&a)) != NULL)
			if (take_message(kind, got))
				return;
	}
}

static unsigned int
show(int fd, const struct shown_kind *kind, uint32_t port)
{
	request_dump(fd, kind, 0, port);
	read_dump(fd, kind);
	return shown.n;
}

/* Returns an attribute of entry i of show(), or NULL if the entry does not have it. */
static const struct nlattr *
of_entry(unsigned int i, unsigned int type)
{
	const uint8_t *p = shown.bytes;
	size_t len;
	const void *in;

	CHECK(i < shown.n);
	for (; i > 0; i--)
		p += NLA_ALIGN(((const struct nlattr *)p)->nla_len);
	in = nested((const struct nlattr *)p, &len);
	return nl_find(in, len, type);
}

static uint32_t
u32_of(unsigned int i, unsigned int type)
{
	return (uint32_t)nl_number(of_entry(i, type), 4);
}

/* Returns the index of the entry with that number. */
static unsigned int
entry_with(unsigned int type, uint32_t value)
{
	for (unsigned int i = 0; i < shown.n; i++)
		if (u32_of(i, type) == value)
			return i;
	CHECK(false, "no entry with %u", value);
	return 0;
}

/* ---- this process */

static void
case_summary(void)
{
	int fd = nl_open();
	struct node n;

	CHECK_EQ(summary(fd, 0, "ctx"), 0);
	n = node_open(255);
	CHECK_EQ(summary(fd, 0, "ctx"), 1);
	CHECK_EQ(summary(fd, 0, "pd"), 1);
	CHECK_EQ(summary(fd, 0, "cq"), 2);
	CHECK_EQ(summary(fd, 0, "mr"), 1);
	CHECK_EQ(summary(fd, 0, "srq"), 2);
	CHECK_EQ(summary(fd, 0, "qp"), 0);
	CHECK_EQ(summary(fd, 0, "cm_id"), 0);
	for (enum kind k = 0; k < N_KINDS; k++) {
		struct ibv_qp *qp;

		if (k == K_RAW && !node_may(&n, k))
			continue;
		qp = node_qp(&n, k);
		CHECK_EQ(summary(fd, 0, "qp"), 1);
		CHECK_EQ(ibv_destroy_qp(qp), 0);
		CHECK_EQ(summary(fd, 0, "qp"), 0);
	}
	CHECK_EQ(summary(fd, 1, "pd"), 0); /* the other adapter has no PD */
	CHECK_EQ(summary(fd, 1, "ctx"), 0);
	node_close(&n);
	for (size_t i = 0; i < 4; i++)
		CHECK_EQ(summary(fd, 0, (const char *[]){"pd", "cq", "mr", "srq"}[i]), 0);
	close(fd);
}

/* Sets or clears this thread's CAP_NET_ADMIN. Returns whether the thread had it before. */
static bool
set_net_admin(bool on)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	bool had;

	CHECK_EQ(syscall(SYS_capget, &header, data), 0);
	had = (data[0].effective & CAP_TO_MASK(CAP_NET_ADMIN)) != 0;
	if (on)
		data[0].effective |= CAP_TO_MASK(CAP_NET_ADMIN);
	else
		data[0].effective &= ~CAP_TO_MASK(CAP_NET_ADMIN);
	CHECK_EQ(syscall(SYS_capset, &header, data), 0);
	return had;
}

static void
case_objects(void)
{
	struct node n = node_open(100);
	const unsigned int own = (unsigned int)getpid();
	uint32_t pd, ctx;
	int fd = nl_open();

	CHECK_EQ(show(fd, &ctxs, 0), 1);
	ctx = u32_of(0, RDMA_NLDEV_ATTR_RES_CTXN);
	CHECK_EQ(u32_of(0, RDMA_NLDEV_ATTR_RES_PID), own);

	CHECK_EQ(show(fd, &pds, 0), 1);
	pd = u32_of(0, RDMA_NLDEV_ATTR_RES_PDN);
	CHECK_EQ(u32_of(0, RDMA_NLDEV_ATTR_RES_CTXN), ctx);
	CHECK_EQ(u32_of(0, RDMA_NLDEV_ATTR_RES_PID), own);
	CHECK_EQ(nl_number(of_entry(0, RDMA_NLDEV_ATTR_RES_USECNT), 8), 3); /* MR, two SRQs */

	CHECK_EQ(show(fd, &cqs, 0), 2);
	CHECK_EQ(u32_of(0, RDMA_NLDEV_ATTR_RES_CQE), n.scq->cqe);
	CHECK_EQ(u32_of(1, RDMA_NLDEV_ATTR_RES_CQE), n.rcq->cqe);
	CHECK(n.scq->cqe != n.rcq->cqe);
	CHECK_EQ(nl_number(of_entry(0, RDMA_NLDEV_ATTR_RES_USECNT), 8), 0);
	CHECK_EQ(nl_number(of_entry(1, RDMA_NLDEV_ATTR_RES_USECNT), 8), 1); /* the XRC SRQ */
	CHECK_EQ(u32_of(1, RDMA_NLDEV_ATTR_RES_CTXN), ctx);
	CHECK_EQ(u32_of(1, RDMA_NLDEV_ATTR_RES_PID), own);
	CHECK_EQ(ibv_resize_cq(n.scq, 1000), 0);
	CHECK_EQ(show(fd, &cqs, 0), 2);
	CHECK_EQ(u32_of(0, RDMA_NLDEV_ATTR_RES_CQE), n.scq->cqe);

	CHECK_EQ(show(fd, &mrs, 0), 1);
	CHECK_EQ(nl_number(of_entry(0, RDMA_NLDEV_ATTR_RES_MRLEN), 8), NODE_BUF);
	CHECK_EQ(u32_of(0, RDMA_NLDEV_ATTR_RES_PDN), pd);
	CHECK_EQ(u32_of(0, RDMA_NLDEV_ATTR_RES_PID), own);
	/* The kernel reports keys only to threads with CAP_NET_ADMIN. */
	CHECK_EQ(of_entry(0, RDMA_NLDEV_ATTR_RES_RKEY) != NULL, set_net_admin(false));
	if (of_entry(0, RDMA_NLDEV_ATTR_RES_RKEY) != NULL) {
		CHECK_EQ(u32_of(0, RDMA_NLDEV_ATTR_RES_RKEY), n.mr->rkey);
		CHECK_EQ(u32_of(0, RDMA_NLDEV_ATTR_RES_LKEY), n.mr->lkey);
		CHECK_EQ(show(fd, &mrs, 0), 1);
		CHECK(of_entry(0, RDMA_NLDEV_ATTR_RES_RKEY) == NULL);
		CHECK(of_entry(0, RDMA_NLDEV_ATTR_RES_LKEY) == NULL);
		(void)set_net_admin(true);
	}
	CHECK_EQ(ibv_rereg_mr(n.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, n.buf, 4096, 0), 0);
	CHECK_EQ(show(fd, &mrs, 0), 1);
	CHECK_EQ(nl_number(of_entry(0, RDMA_NLDEV_ATTR_RES_MRLEN), 8), 4096);
	CHECK_EQ(show(fd, &cm_ids, 0), 0);
	node_close(&n);
	close(fd);
}

/* The answer about an SRQ must have the SRQ's QPs, as ranges of QP numbers. */
static void
case_srqs(void)
{
	struct node n = node_open(255);
	struct ibv_qp *of_srq[4], *between;
	const void *in;
	uint32_t recv_cq;
	int fd = nl_open();
	size_t len;

	for (unsigned int i = 0; i < 3; i++)
		of_srq[i] = node_srq_qp(&n, n.srq);
	between = node_qp(&n, K_RC);
	of_srq[3] = node_srq_qp(&n, n.srq);
	CHECK_EQ(of_srq[3]->qp_num, of_srq[0]->qp_num + 4); /* the QP numbers are consecutive */
	(void)show(fd, &cqs, 0);
	recv_cq = u32_of(1, RDMA_NLDEV_ATTR_RES_CQN);
	CHECK_EQ(show(fd, &srqs, 0), 2);
	CHECK_EQ(nl_number(of_entry(0, RDMA_NLDEV_ATTR_RES_TYPE), 1), IBV_SRQT_BASIC);
	CHECK(of_entry(0, RDMA_NLDEV_ATTR_RES_CQN) == NULL);
	CHECK_EQ(nl_number(of_entry(1, RDMA_NLDEV_ATTR_RES_TYPE), 1), IBV_SRQT_XRC);
	CHECK_EQ(u32_of(1, RDMA_NLDEV_ATTR_RES_CQN), recv_cq);
	CHECK_EQ(u32_of(1, RDMA_NLDEV_ATTR_RES_SRQN), u32_of(0, RDMA_NLDEV_ATTR_RES_SRQN) + 1);
	in = nested(of_entry(0, RDMA_NLDEV_ATTR_RES_QP), &len);
	{
		const struct nlattr *range = in, *one;
		size_t range_len, one_len;
		const void *r, *o;

		one = (const struct nlattr *)((const uint8_t *)in + NLA_ALIGN(range->nla_len));
		CHECK_EQ(range->nla_len + one->nla_len, len);
		r = nested(range, &range_len);
		o = nested(one, &one_len);
		CHECK_EQ(nl_number(nl_find(r, range_len, RDMA_NLDEV_ATTR_MIN_RANGE), 4),
			of_srq[0]->qp_num);
		CHECK_EQ(nl_number(nl_find(r, range_len, RDMA_NLDEV_ATTR_MAX_RANGE), 4),
			of_srq[2]->qp_num);
		CHECK_EQ(nl_number(nl_find(o, one_len, RDMA_NLDEV_ATTR_RES_LQPN), 4),
			of_srq[3]->qp_num);
	}
	(void)nested(of_entry(1, RDMA_NLDEV_ATTR_RES_QP), &len);
	CHECK_EQ(len, 0);
	for (unsigned int i = 0; i < 4; i++)
		CHECK_EQ(ibv_destroy_qp(of_srq[i]), 0);
	CHECK_EQ(ibv_destroy_qp(between), 0);
	node_close(&n);
	close(fd);
}

static unsigned int
state_of(int fd, const struct ibv_qp *qp)
{
	(void)show(fd, &qps, 0);
	return (unsigned int)nl_number(of_entry(entry_with(RDMA_NLDEV_ATTR_RES_LQPN, qp->qp_num),
					       RDMA_NLDEV_ATTR_RES_STATE),
		1);
}

/*
 * The answer must have a QP's present attributes: after verbs changed them, and after the device
 * moved the QP to error.
 */
static void
case_queue_pairs(void)
{
	struct node a = node_open(255), b = node_open(255);
	struct ibv_qp *rc = node_qp(&a, K_RC), *peer = node_qp(&b, K_RC), *ud = node_qp(&a, K_UD);
	struct ibv_qp *dct = node_qp(&a, K_DCT);
	unsigned int i;
	int fd = nl_open();

	CHECK_EQ(show(fd, &qps, 0), 4);
	i = entry_with(RDMA_NLDEV_ATTR_RES_LQPN, rc->qp_num);
	CHECK(of_entry(i, PORT) == NULL);
	CHECK_EQ(show(fd, &qps, 1), 0); /* a QP has no port in RESET */
	node_connect(K_RC, &a, rc, &b, peer);
	node_ready(&a, dct, K_DCT, 0, IBV_QPS_RTR);
	CHECK_EQ(show(fd, &qps, 2), 0);
	CHECK_EQ(show(fd, &qps, 1), 3);
	i = entry_with(RDMA_NLDEV_ATTR_RES_LQPN, rc->qp_num);
	CHECK_EQ(u32_of(i, PORT), 1);
	CHECK_EQ(u32_of(i, RDMA_NLDEV_ATTR_RES_RQPN), peer->qp_num);
	CHECK_EQ(u32_of(i, RDMA_NLDEV_ATTR_RES_RQ_PSN), 0x123456); /* set by node_attr() */
	CHECK_EQ(u32_of(i, RDMA_NLDEV_ATTR_RES_SQ_PSN), 0x654321);
	CHECK_EQ(u32_of(i, RDMA_NLDEV_ATTR_RES_PID), getpid());
	CHECK_EQ(nl_number(of_entry(i, RDMA_NLDEV_ATTR_RES_TYPE), 1), IBV_QPT_RC);
	CHECK_EQ(nl_number(of_entry(i, RDMA_NLDEV_ATTR_RES_STATE), 1), IBV_QPS_RTS);
	CHECK_EQ(nl_number(of_entry(i, RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE), 1), IBV_MIG_MIGRATED);
	i = entry_with(RDMA_NLDEV_ATTR_RES_LQPN, dct->qp_num);
	CHECK_EQ(nl_number(of_entry(i, RDMA_NLDEV_ATTR_RES_TYPE), 1), IBV_QPT_DRIVER);
	CHECK_EQ(nl_number(of_entry(i, RDMA_NLDEV_ATTR_RES_STATE), 1), IBV_QPS_RTR);
	(void)show(fd, &qps, 0);
	i = entry_with(RDMA_NLDEV_ATTR_RES_LQPN, ud->qp_num);
	CHECK(of_entry(i, RDMA_NLDEV_ATTR_RES_RQPN) == NULL);
	CHECK_EQ(nl_number(of_entry(i, RDMA_NLDEV_ATTR_RES_STATE), 1), IBV_QPS_RESET);
	(void)show(fd, &pds, 0);
	i = u32_of(0, RDMA_NLDEV_ATTR_RES_PDN);
	(void)show(fd, &qps, 0);
	CHECK_EQ(u32_of(entry_with(RDMA_NLDEV_ATTR_RES_LQPN, ud->qp_num), RDMA_NLDEV_ATTR_RES_PDN),
		i);
	/* A receive that is too short: the device moves both QPs to error. */
	node_recv_to(peer, NULL, (struct ibv_sge){(uintptr_t)b.buf, 4, b.mr->lkey}, 1);
	node_send(&a, rc, K_RC, NULL, false);
	CHECK_EQ(node_wait(b.rcq).status, IBV_WC_LOC_LEN_ERR);
	CHECK_EQ(node_wait(a.scq).status, IBV_WC_REM_INV_REQ_ERR);
	CHECK_EQ(pair_state(rc), IBV_QPS_ERR);
	CHECK_EQ(state_of(fd, rc), IBV_QPS_ERR);
	CHECK_EQ(state_of(fd, peer), IBV_QPS_ERR);
	CHECK_EQ(node_move(rc, IBV_QPS_RESET), 0);
	CHECK_EQ(state_of(fd, rc), IBV_QPS_RESET);
	node_ready(&a, ud, K_UD, 0, IBV_QPS_RTS);
	/* A new QP has no attributes of a destroyed QP. */
	CHECK_EQ(ibv_destroy_qp(ud), 0);
	ud = node_qp(&a, K_UD);
	(void)show(fd, &qps, 0);
	CHECK(of_entry(entry_with(RDMA_NLDEV_ATTR_RES_LQPN, ud->qp_num), PORT) == NULL);
	CHECK_EQ(ibv_destroy_qp(ud), 0);
	ud = node_qp(&a, K_XRC_RECV); /* an XRC receive QP has no PD */
	(void)show(fd, &qps, 0);
	i = entry_with(RDMA_NLDEV_ATTR_RES_LQPN, ud->qp_num);
	CHECK(of_entry(i, RDMA_NLDEV_ATTR_RES_PDN) == NULL);
	CHECK_EQ(ibv_destroy_qp(ud), 0);
	CHECK_EQ(ibv_destroy_qp(dct), 0);
	node_close_ends(&a, rc, &b, peer);
	close(fd);
}

static void
case_one_of_a_kind(void)
{
	struct node n = node_open(255);
	struct ibv_qp *qp = node_qp(&n, K_UD);
	const struct shown_kind *kinds[] = {&pds, &cqs, &mrs, &ctxs, &srqs};
	const struct nlmsghdr *got;
	struct nl_answer a;
	struct nl_request r;
	int fd = nl_open();

	node_ready(&n, qp, K_UD, 0, IBV_QPS_RTS);
	for (size_t i = 0; i < N(kinds); i++) {
		uint32_t id;

		CHECK(show(fd, kinds[i], 0) > 0);
		id = u32_of(shown.n - 1, kinds[i]->id);
		nl_begin(&r, kinds[i]->command, 0, 1);
		nl_add_u32(&r, INDEX, 0);
		CHECK_EQ(nl_error(fd, &r), EINVAL);
		nl_add_u32(&r, kinds[i]->id, id);
		got = nl_ask(fd, &r, &a);
		CHECK_EQ(got->nlmsg_type, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, kinds[i]->command));
		CHECK_EQ(nl_number(nl_attr(got, kinds[i]->id), 4), id);
		CHECK_EQ(nl_number(nl_attr(got, RDMA_NLDEV_ATTR_RES_PID), 4), getpid());
		nl_add_u32(&r, PORT, 1); /* objects of these kinds have no port */
		CHECK_EQ(nl_error(fd, &r), EINVAL);
		nl_begin(&r, kinds[i]->command, 0, 1);
		nl_add_u32(&r, INDEX, 0);
		nl_add_u32(&r, kinds[i]->id, id + 1);
		CHECK_EQ(nl_error(fd, &r), ENOENT);
	}
	/*
	 * A request for one QP must name the QP's number and its port. Without the port, or with a
	 * wrong port, it is refused.
	 */
	nl_begin(&r, RDMA_NLDEV_CMD_RES_QP_GET, 0, 1);
	nl_add_u32(&r, INDEX, 0);
	nl_add_u32(&r, RDMA_NLDEV_ATTR_RES_LQPN, qp->qp_num);
	CHECK_EQ(nl_error(fd, &r), EINVAL);
	nl_add_u32(&r, PORT, 1);
	CHECK_EQ(nl_number(nl_attr(nl_ask(fd, &r, &a), RDMA_NLDEV_ATTR_RES_LQPN), 4), qp->qp_num);
	nl_begin(&r, RDMA_NLDEV_CMD_RES_QP_GET, 0, 1);
	nl_add_u32(&r, INDEX, 0);
	nl_add_u32(&r, PORT, 3);
	nl_add_u32(&r, RDMA_NLDEV_ATTR_RES_LQPN, qp->qp_num);
	CHECK_EQ(nl_error(fd, &r), EINVAL);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	node_close(&n);
	close(fd);
}

/*
 * A dump of more regions than fit into one datagram, or into a socket's buffer, must contain every
 * region.
 */
static void
case_many(void)
{
	enum {
		MANY = 6000
	};
	struct node n = node_open(255);
	static struct ibv_mr *regions[MANY];
	static bool seen[MANY];
	int fd = nl_open(), room = 0;
	struct nl_request r;
	uint32_t first;

	for (unsigned int i = 0; i < MANY; i++) {
		regions[i] = ibv_reg_mr(n.pd, n.buf, 64, 0);
		CHECK(regions[i] != NULL);
	}
	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
	request_dump(fd, &mrs, 0, 0);
	/* A socket allows one dump at a time. */
	nl_begin(&r, mrs.command, NLM_F_DUMP, 78);
	nl_add_u32(&r, INDEX, 0);
	nl_send(fd, &r);
	read_dump(fd, &mrs);
	CHECK_EQ(shown.n, MANY + 1);
	CHECK(shown.datagrams > 50);
	CHECK_EQ(summary(fd, 0, "mr"), MANY + 1);
	first = u32_of(1, RDMA_NLDEV_ATTR_RES_MRN);
	for (unsigned int i = 1; i <= 20; i++) {
		const uint32_t at = u32_of(shown.n - i, RDMA_NLDEV_ATTR_RES_MRN) - first;

		CHECK(at < MANY && !seen[at]);
		seen[at] = true;
	}
	for (unsigned int i = 0; i < MANY; i++)
		CHECK_EQ(ibv_dereg_mr(regions[i]), 0);
	CHECK_EQ(show(fd, &mrs, 0), 1);
	CHECK_EQ(shown.datagrams, 2);
	node_close(&n);
	close(fd);
}

static void
case_busy(void)
{
	struct node n = node_open(255);
	struct ibv_mr *regions[200];
	int fd = nl_open(), room = 0;
	struct nl_answer a;
	unsigned int busy = 0;

	for (unsigned int i = 0; i < N(regions); i++)
		regions[i] = ibv_reg_mr(n.pd, n.buf, 64, 0);
	CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
	request_dump(fd, &mrs, 0, 0);
	CHECK(nl_recv(fd, &a));
	request_dump(fd, &mrs, 0, 0);
	while (nl_recv(fd, &a)) {
		const struct nlmsghdr *got = nl_next(&a);

		if (got->nlmsg_type == NLMSG_ERROR) {
			CHECK_EQ(*(const int *)((const uint8_t *)got + NLMSG_HDRLEN), -EBUSY);
			busy++;
		}
	}
	CHECK(busy <= 1); /* the buffer may be too full even for the answer */
	CHECK_EQ(show(fd, &mrs, 0), N(regions) + 1);
	for (unsigned int i = 0; i < N(regions); i++)
		CHECK_EQ(ibv_dereg_mr(regions[i]), 0);
	node_close(&n);
	close(fd);
}

/* ---- counters */

#define HW_COUNTERS "/sys/class/infiniband/mlx5_%u/ports/%u/hw_counters"

/* The adapter and the port whose counters are read. */
static unsigned int on_adapter = 0, on_port = 1;

/* Returns a counter's number or index by its name. */
static bool
counter(int fd, unsigned int command, unsigned int attribute, size_t size, const char *name,
	uint64_t *value)
{
	const uint8_t *p;
	struct nl_answer a;
	struct nl_request r;
	size_t len;

	nl_begin(&r, command, 0, 1);
	nl_add_u32(&r, INDEX, on_adapter);
	nl_add_u32(&r, PORT, on_port);
	p = nested(nl_attr(nl_ask(fd, &r, &a), RDMA_NLDEV_ATTR_STAT_HWCOUNTERS), &len);
	while (len > 0) {
		const struct nlattr *entry = (const struct nlattr *)p;
		size_t in_len;
		const void *in = nested(entry, &in_len);

		CHECK_EQ(entry->nla_type, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY | NLA_F_NESTED);
		if (strcmp(name, nl_text(nl_find(in, in_len,
					 RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME))) == 0) {
			*value = nl_number(nl_find(in, in_len, attribute), size);
			return true;
		}
		p += NLA_ALIGN(entry->nla_len);
		len -= NLA_ALIGN(entry->nla_len);
	}
	return false;
}

static uint64_t
counted(int fd, const char *name)
{
	uint64_t value = 0;

	CHECK(counter(fd, RDMA_NLDEV_CMD_STAT_GET, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, 8,
		      name, &value),
		"%s", name);
	return value;
}

static void
write_to(struct node *from, struct ibv_qp *qp, struct node *to)
{
	struct ibv_sge sge = {(uintptr_t)from->buf, 64, from->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {(uintptr_t)to->buf, to->mr->rkey}};
	struct ibv_send_wr *bad;

	pair_publish_to(qp, NULL);
	CHECK_EQ(ibv_post_send(qp, &wr, &bad), 0);
	CHECK_EQ(node_wait(from->scq).status, IBV_WC_SUCCESS);
}

/* Each counter file of sysfs has a counter in the answer, with the same value. */
static unsigned int
compare_with_files(int fd)
{
	struct dirent *entry;
	unsigned int n = 0;
	char folder[80];
	DIR *dir;

	snprintf(folder, sizeof(folder), HW_COUNTERS, on_adapter, on_port);
	dir = opendir(folder);
	CHECK(dir != NULL);
	while ((entry = readdir(dir)) != NULL) {
		unsigned long long in_file;
		uint64_t index;
		char path[400];
		FILE *f;

		if (entry->d_name[0] == '.' || strcmp(entry->d_name, "lifespan") == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		f = fopen(path, "re");
		CHECK(f != NULL && fscanf(f, "%llu", &in_file) == 1, "%s", path);
		fclose(f);
		CHECK_EQ(counted(fd, entry->d_name), in_file);
		CHECK(counter(fd, RDMA_NLDEV_CMD_STAT_GET_STATUS,
			RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX, 4, entry->d_name, &index));
		n++;
	}
	closedir(dir);
	return n;
}

static void
case_counters(void)
{
	struct node a = node_open(255), b = node_open(255);
	struct ibv_qp *qp = node_qp(&a, K_RC), *peer = node_qp(&b, K_RC);
	int fd = nl_open();
	struct nl_answer answer;
	struct nl_request r;
	uint64_t before;

	before = counted(fd, "rx_write_requests");
	node_connect(K_RC, &a, qp, &b, peer);
	for (unsigned int i = 0; i < 3; i++)
		write_to(&a, qp, &b);
	CHECK_EQ(counted(fd, "rx_write_requests"), before + 3);
	/* All other ports have counted nothing. */
	for (on_adapter = 0; on_adapter < 2; on_adapter++)
		for (on_port = 1; on_port <= 2; on_port++) {
			CHECK(compare_with_files(fd) > 10);
			if (on_adapter != 0 || on_port != 1)
				CHECK_EQ(counted(fd, "rx_write_requests"), 0);
		}
	on_adapter = 0;
	on_port = 1;
	/* No counters belong to objects, so such requests must be refused. */
	nl_begin(&r, RDMA_NLDEV_CMD_STAT_GET, 0, 1);
	nl_add_u32(&r, INDEX, 0);
	CHECK_EQ(nl_error(fd, &r), EINVAL);
	nl_add_u32(&r, PORT, 1);
	nl_add_u32(&r, RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_QP);
	CHECK_EQ(nl_error(fd, &r), EINVAL);
	nl_add_u32(&r, RDMA_NLDEV_ATTR_STAT_MODE, 0);
	CHECK_EQ(nl_number(nl_attr(nl_ask(fd, &r, &answer), RDMA_NLDEV_ATTR_STAT_MODE), 4),
		RDMA_COUNTER_MODE_NONE);
	nl_add_u32(&r, RDMA_NLDEV_ATTR_STAT_COUNTER_ID, 1);
	CHECK_EQ(nl_error(fd, &r), ENOENT);
	nl_begin(&r, RDMA_NLDEV_CMD_STAT_GET, 0, 1);
	nl_add_u32(&r, INDEX, 0);
	nl_add_u32(&r, PORT, 3);
	CHECK_EQ(nl_error(fd, &r), EINVAL);
	nl_begin(&r, RDMA_NLDEV_CMD_STAT_GET, NLM_F_DUMP, 1);
	nl_add_u32(&r, INDEX, 0);
	nl_add_u32(&r, RDMA_NLDEV_ATTR_STAT_RES, RDMA_NLDEV_ATTR_RES_QP);
	CHECK_EQ(nl_ask(fd, &r, &answer)->nlmsg_type, NLMSG_DONE);
	node_close_ends(&a, qp, &b, peer);
	close(fd);
}

/* ---- other processes */

/* Executes this program again. The new process prints the objects that it sees. */
static unsigned int
seen_by_child(const char *kind)
{
	char command[100];
	unsigned int n = 0;
	FILE *f;

	snprintf(command, sizeof(command), "exec /proc/%d/exe --count %s", (int)getpid(), kind);
	f = popen(command, "re");
	CHECK(f != NULL && fscanf(f, "%u", &n) == 1);
	CHECK_EQ(pclose(f), 0);
	return n;
}

/* A program that opens no adapter must see the objects of its parent's adapter. */
static void
case_child_program(void)
{
	struct node n;
	struct ibv_qp *qp;

	CHECK_EQ(seen_by_child("ctx"), 0);
	n = node_open(255);
	qp = node_qp(&n, K_RC);
	CHECK_EQ(seen_by_child("ctx"), 1);
	CHECK_EQ(seen_by_child("cq"), 2);
	CHECK_EQ(seen_by_child("qp"), 1);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(seen_by_child("qp"), 0);
	node_close(&n);
}

/* Waits for a child, which must exit with 0. */
static void
expect_end(pid_t child)
{
	int status;

	CHECK(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

/*
 * After fork(2), a child must see the objects of its parent's adapter until the child opens an
 * adapter. Then it must see its own objects.
 */
static void
case_forked_child(void)
{
	struct node n = node_open(255);
	struct ibv_pd *second = ibv_alloc_pd(n.ctx);
	int fd = nl_open();
	pid_t child = fork();

	CHECK(child >= 0 && second != NULL);
	if (child == 0) {
		struct ibv_context *ctx;

		CHECK_EQ(summary(fd, 0, "cq"), 2);
		CHECK_EQ(show(fd, &pds, 0), 2);
		CHECK_EQ(u32_of(0, RDMA_NLDEV_ATTR_RES_PID), getppid());
		ctx = pair_open(0);
		CHECK_EQ(summary(fd, 0, "cq"), 0);
		CHECK(ibv_alloc_pd(ctx) != NULL);
		CHECK_EQ(show(fd, &pds, 0), 1);
		CHECK_EQ(u32_of(0, RDMA_NLDEV_ATTR_RES_PID), getpid());
		CHECK_EQ(seen_by_child("pd"), 1);
		_exit(0);
	}
	expect_end(child);
	CHECK_EQ(summary(fd, 0, "cq"), 2);
	CHECK_EQ(summary(fd, 0, "pd"), 2);
	CHECK_EQ(seen_by_child("pd"), 2);
	CHECK_EQ(ibv_dealloc_pd(second), 0);
	node_close(&n);
	close(fd);
}

/* The file of a parent that was killed must exist while its child uses the tree. */
static void
case_killed_parent(void)
{
	int told[2], killed[2];
	char byte, seen = 'n';
	pid_t owner;

	CHECK_EQ(pipe(told), 0);
	CHECK_EQ(pipe(killed), 0);
	owner = fork();
	CHECK(owner >= 0);
	if (owner == 0) {
		struct node n = node_open(255);
		int fd = nl_open();

		CHECK(n.ctx != NULL);
		if (fork() == 0) {
			CHECK_EQ(summary(fd, 0, "cq"), 2);
			CHECK_EQ(write(told[1], "x", 1), 1);
			CHECK_EQ(read(killed[0], &byte, 1), 1);
			seen = summary(fd, 0, "cq") == 0 ? 'y' : 'n';
			CHECK_EQ(write(told[1], &seen, 1), 1);
			_exit(0);
		}
		pause();
		_exit(1);
	}
	close(told[1]); /* if a child fails, later reads get the end of the file */
	CHECK_EQ(read(told[0], &byte, 1), 1);
	CHECK_EQ(kill(owner, SIGKILL), 0);
	CHECK_EQ(waitpid(owner, NULL, 0), owner);
	CHECK_EQ(write(killed[1], "x", 1), 1);
	CHECK_EQ(read(told[0], &seen, 1), 1);
	CHECK_EQ(seen, 'y');
	close(told[0]);
	close(killed[0]);
	close(killed[1]);
}

static const struct check_case cases[] = {
	{"the objects of a parent that was killed are not shown", case_killed_parent},
	{"a child program sees its parent's objects", case_child_program},
	{"a child by fork sees its parent's objects, until it has its own", case_forked_child},
	{"the summary counts the existing objects", case_summary},
	{"PDs, CQs, MRs and contexts are shown as verbs created them", case_objects},
	{"SRQs name their QPs", case_srqs},
	{"QPs are shown with the attributes of verbs and of the device", case_queue_pairs},
	{"each object is found by its number", case_one_of_a_kind},
	{"counters are the same as in sysfs", case_counters},
	{"a long dump is complete", case_many},
	{"a socket has one dump at a time", case_busy},
};

int
main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--count") == 0) {
		int fd = nl_open();

		printf("%u\n", (unsigned int)summary(fd, 0, argv[2]));
		close(fd);
		return 0;
	}
	return check_main(cases, N(cases), argc, argv);
}
