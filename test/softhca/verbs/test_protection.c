/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protection rules of the emulated adapter. For each rule there is a case that fails if the adapter
 * does not apply the rule. Requests are posted through stock libibverbs; the statuses are those of
 * ibv_poll_cq(3) and of the InfiniBand architecture (volume 1, chapters 9.9 and 10.6).
 */
#include "softhca_pair.h"

enum op {
	OP_SEND,
	OP_WRITE,
	OP_READ,
	OP_ATOMIC,
	OP_MEMCPY,
	OP_WRITE_IMM
};

/* An operation of 64 bytes (8 for atomics). A case changes one of its values to a wrong value. */
struct request {
	enum op op;
	uint32_t lkey, rkey, dst_lkey;
	uint64_t laddr, raddr, dst;
	uint32_t len;
};

static struct request
good(const struct pair *p, enum op op)
{
	struct request q = {.op = op, .len = op == OP_ATOMIC ? 8 : 64};

	q.lkey = p->client.mr->lkey;
	q.dst_lkey = p->client.mr->lkey;
	q.rkey = p->server.mr->rkey;
	q.laddr = (uintptr_t)p->client.buf;
	q.dst = (uintptr_t)p->client.buf + 4096;
	q.raddr = (uintptr_t)p->server.buf;
	return q;
}

static void
post(struct pair *p, const struct request *q)
{
	struct ibv_qp_ex *x = p->client.qpx;

	pair_publish(&p->client);
	ibv_wr_start(x);
	x->wr_id = 77;
	x->wr_flags = IBV_SEND_SIGNALED;
	switch (q->op) {
	case OP_SEND:
		ibv_wr_send(x);
		break;
	case OP_WRITE:
		ibv_wr_rdma_write(x, q->rkey, q->raddr);
		break;
	case OP_WRITE_IMM:
		ibv_wr_rdma_write_imm(x, q->rkey, q->raddr, htobe32(1));
		break;
	case OP_READ:
		ibv_wr_rdma_read(x, q->rkey, q->raddr);
		break;
	case OP_ATOMIC:
		ibv_wr_atomic_fetch_add(x, q->rkey, q->raddr, 5);
		break;
	case OP_MEMCPY:
		mlx5dv_wr_memcpy(p->client.dvx, q->dst_lkey, q->dst, q->lkey, q->laddr, q->len);
		break;
	}
	if (q->op != OP_MEMCPY)
		ibv_wr_set_sge(x, q->lkey, q->laddr, q->len);
	CHECK_EQ(ibv_wr_complete(x), 0);
}

static void
paint(struct pair *p)
{
	memset(p->client.buf, 0x11, PAIR_BUF);
	memset(p->server.buf, 0x22, PAIR_BUF);
}

/* Checks that the memory of neither side has changed. */
static void
expect_untouched(const struct pair *p)
{
	for (size_t i = 0; i < PAIR_BUF; i++) {
		CHECK(p->client.buf[i] == 0x11);
		CHECK(p->server.buf[i] == 0x22);
	}
}

/*
 * Expects that the request fails with this status, moves no data, and leaves the client's QP in
 * ERR.
 */
static void
expect_refused(struct pair *p, const struct request *q, enum ibv_wc_status status)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_wc wc;

	paint(p);
	if (q->op == OP_SEND || q->op == OP_WRITE_IMM)
		pair_post_recv(&p->server, 5, 8192, 4096);
	post(p, q);
	wc = pair_wait(&p->client);
	CHECK_EQ(wc.status, status);
	CHECK_EQ(wc.wr_id, 77);
	expect_untouched(p);
	CHECK_EQ(ibv_query_qp(p->client.qp, &attr, IBV_QP_STATE, &init), 0);
	CHECK_EQ(attr.qp_state, IBV_QPS_ERR);
}

static void
expect_server_state(struct pair *p, enum ibv_qp_state state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQ(ibv_query_qp(p->server.qp, &attr, IBV_QP_STATE, &init), 0);
	CHECK_EQ(attr.qp_state, state);
}

/* Valid requests must succeed with only the access flags that they need. */
static void
works(enum op op, int client_access, int server_access, unsigned int qp_access)
{
	struct pair p;
	struct request q;
	struct ibv_mr *cmr, *smr;

	pair_init(&p, &(struct pair_opts){.qp_access = qp_access});
	cmr = ibv_reg_mr(p.pd, p.client.buf, PAIR_BUF, client_access);
	smr = ibv_reg_mr(p.pd, p.server.buf, PAIR_BUF, server_access);
	CHECK(cmr != NULL && smr != NULL);
	pair_post_recv(&p.server, 5, 8192, 4096);
	q = good(&p, op);
	q.lkey = q.dst_lkey = cmr->lkey;
	q.rkey = smr->rkey;
	/* The last byte of the region must be accessible. */
	q.laddr = (uintptr_t)p.client.buf + PAIR_BUF - q.len;
	q.raddr = (uintptr_t)p.server.buf + PAIR_BUF - q.len;
	post(&p, &q);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(cmr), 0);
	CHECK_EQ(ibv_dereg_mr(smr), 0);
	pair_fini(&p);
}

static void
case_allowed(void)
{
	works(OP_SEND, 0, 0, PAIR_NONE);
	works(OP_WRITE, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		IBV_ACCESS_REMOTE_WRITE);
	works(OP_READ, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_READ);
	works(OP_ATOMIC, IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
		IBV_ACCESS_REMOTE_ATOMIC);
	works(OP_MEMCPY, IBV_ACCESS_LOCAL_WRITE, 0, PAIR_NONE);
}

static void
local_variant(enum op op, uint32_t flip)
{
	struct pair p;
	struct request q;

	pair_init(&p, NULL);
	q = good(&p, op);
	q.lkey ^= flip;
	expect_refused(&p, &q, IBV_WC_LOC_PROT_ERR);
	expect_server_state(&p, IBV_QPS_RTS);
	CHECK_EQ(pair_async(&p, 5), -1);
	pair_fini(&p);
}

static void
case_local_key(void)
{
	for (enum op op = OP_SEND; op <= OP_MEMCPY; op++) {
		local_variant(op, 1);          /* a wrong variant */
		local_variant(op, 0x80000000); /* a wrong index */
	}
}

static void
remote_key(enum op op, uint32_t flip)
{
	struct pair p;
	struct request q;

	pair_init(&p, NULL);
	q = good(&p, op);
	q.rkey ^= flip;
	expect_refused(&p, &q, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_QP_ACCESS_ERR);
	expect_server_state(&p, IBV_QPS_ERR);
	pair_fini(&p);
}

static void
case_remote_key(void)
{
	for (enum op op = OP_WRITE; op <= OP_ATOMIC; op++) {
		remote_key(op, 1);
		remote_key(op, 0x80000000);
	}
	remote_key(OP_WRITE_IMM, 1);
}

static struct ibv_mr *
reg_pages(const struct pair *p, unsigned int n)
{
	struct ibv_mr *mr = ibv_reg_mr(p->pd, p->server.buf, n * 4096, PAIR_ALL);

	CHECK(mr != NULL);
	return mr;
}

/*
 * Work requests whose doorbells rang before their region is deregistered must run before the
 * deregistration: UCX deregisters memory that its last sends use.
 */
static void
case_rung_before(void)
{
	struct pair p;

	pair_init(&p, NULL);
	for (unsigned int i = 0; i < 8; i++) {
		struct ibv_mr *mr =
			ibv_reg_mr(p.pd, p.client.buf, PAIR_BUF, IBV_ACCESS_LOCAL_WRITE);
		struct request q = good(&p, OP_WRITE);

		CHECK(mr != NULL);
		memset(p.client.buf, 0x30 + (int)i, q.len);
		q.lkey = mr->lkey;
		post(&p, &q);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
		CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
		CHECK_EQ(p.server.buf[0], 0x30 + i);
	}
	pair_fini(&p);
}

/*
 * A deregistered key must be refused, although its memory still exists and is registered with
 * another key.
 */
static void
case_deregistered(void)
{
	struct pair p;
	struct request q;
	struct ibv_mr *mr, *other;

	pair_init(&p, NULL);
	q = good(&p, OP_WRITE);
	mr = reg_pages(&p, 16);
	q.rkey = mr->rkey;
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	other = reg_pages(&p, 8);
	CHECK(other->rkey >> 8 != q.rkey >> 8); /* the index of a key is its upper 24 bits */
	expect_refused(&p, &q, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_QP_ACCESS_ERR);
	CHECK_EQ(ibv_dereg_mr(other), 0);
	pair_fini(&p);
}

/*
 * A region must get the key that was deregistered last, of a region with as many pages. As in
 * mlx5_ib, regions of up to 4 pages, of 5 to 8 pages, of 9 to 16 pages and so on get their keys
 * from different stacks.
 */
static void
case_key_again(void)
{
	struct ibv_mr *small[2], *large, *next[3];
	uint32_t first, second, third;
	struct pair p;

	pair_init(&p, NULL);
	small[0] = reg_pages(&p, 1);
	small[1] = reg_pages(&p, 4);
	large = reg_pages(&p, 8);
	first = small[0]->rkey;
	second = small[1]->rkey;
	third = large->rkey;
	CHECK_EQ(ibv_dereg_mr(small[0]), 0);
	CHECK_EQ(ibv_dereg_mr(small[1]), 0);
	CHECK_EQ(ibv_dereg_mr(large), 0);
	next[0] = reg_pages(&p, 2);
	next[1] = reg_pages(&p, 3);
	next[2] = reg_pages(&p, 4);
	CHECK_EQ(next[0]->rkey, second);
	CHECK_EQ(next[1]->rkey, first);
	CHECK(next[2]->rkey >> 8 != third >> 8);
	large = reg_pages(&p, 5);
	CHECK_EQ(large->rkey, third);
	for (unsigned int i = 0; i < 3; i++)
		CHECK_EQ(ibv_dereg_mr(next[i]), 0);
	CHECK_EQ(ibv_dereg_mr(large), 0);
	pair_fini(&p);
}

/*
 * When a key is used again for another region, no property of the earlier region may remain:
 * neither its memory, nor its PD, nor its rights.
 */
static void
case_key_anew(void)
{
	struct pair p;
	struct request q;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint32_t rkey;

	pair_init(&p, NULL);
	pd = ibv_alloc_pd(p.ctx);
	CHECK(pd != NULL);
	q = good(&p, OP_WRITE);
	mr = ibv_reg_mr(pd, p.client.buf, 4096, IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr != NULL);
	rkey = mr->rkey;
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	mr = reg_pages(&p, 1);
	CHECK_EQ(mr->rkey, rkey);
	q.rkey = rkey;
	paint(&p);
	post(&p, &q);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(p.server.buf[63], 0x11);
	CHECK_EQ(p.server.buf[64], 0x22);
	/* The rights of the earlier region must not remain. */
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(p.pd, p.server.buf, 4096, IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr != NULL);
	CHECK_EQ(mr->rkey, rkey);
	expect_refused(&p, &q, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	pair_fini(&p);
}

static void
local_pd(enum op op)
{
	struct pair p;
	struct request q;
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	pair_init(&p, NULL);
	pd = ibv_alloc_pd(p.ctx);
	mr = ibv_reg_mr(pd, p.client.buf, PAIR_BUF, PAIR_ALL);
	CHECK(mr != NULL);
	q = good(&p, op);
	q.lkey = mr->lkey;
	expect_refused(&p, &q, IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	pair_fini(&p);
}

static void
remote_pd(enum op op)
{
	struct pair p;
	struct request q;
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	pair_init(&p, NULL);
	pd = ibv_alloc_pd(p.ctx);
	mr = ibv_reg_mr(pd, p.server.buf, PAIR_BUF, PAIR_ALL);
	CHECK(mr != NULL);
	q = good(&p, op);
	q.rkey = mr->rkey;
	expect_refused(&p, &q, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_QP_ACCESS_ERR);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	pair_fini(&p);
}

static void
case_protection_domain(void)
{
	for (enum op op = OP_SEND; op <= OP_MEMCPY; op++)
		local_pd(op);
	for (enum op op = OP_WRITE; op <= OP_ATOMIC; op++)
		remote_pd(op);
}

/*
 * Reads, atomics and memcpys write to local memory: the key must allow this, otherwise they must be
 * refused.
 */
static void
case_local_write(void)
{
	static const enum op ops[] = {OP_READ, OP_ATOMIC, OP_MEMCPY};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct pair p;
		struct request q;
		struct ibv_mr *mr;

		pair_init(&p, NULL);
		mr = ibv_reg_mr(p.pd, p.client.buf, PAIR_BUF, 0);
		CHECK(mr != NULL);
		q = good(&p, ops[i]);
		if (ops[i] == OP_MEMCPY)
			q.dst_lkey = mr->lkey;
		else
			q.lkey = mr->lkey;
		expect_refused(&p, &q, IBV_WC_LOC_PROT_ERR);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
		pair_fini(&p);
	}
}

/* The peer's key lacks only the access flag that is needed: the request must be refused. */
static void
remote_right(enum op op, int access)
{
	struct pair p;
	struct request q;
	struct ibv_mr *mr;

	pair_init(&p, NULL);
	mr = ibv_reg_mr(p.pd, p.server.buf, PAIR_BUF, access);
	CHECK(mr != NULL);
	q = good(&p, op);
	q.rkey = mr->rkey;
	expect_refused(&p, &q, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_QP_ACCESS_ERR);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	pair_fini(&p);
}

static void
case_remote_rights(void)
{
	remote_right(OP_WRITE, PAIR_ALL & ~IBV_ACCESS_REMOTE_WRITE);
	remote_right(OP_WRITE_IMM, PAIR_ALL & ~IBV_ACCESS_REMOTE_WRITE);
	remote_right(OP_READ, PAIR_ALL & ~IBV_ACCESS_REMOTE_READ);
	remote_right(OP_ATOMIC, PAIR_ALL & ~IBV_ACCESS_REMOTE_ATOMIC);
}

/*
 * The peer's QP lacks only this access flag: the request must complete as invalid, for any rights
 * of the key.
 */
static void
qp_right(enum op op, unsigned int access)
{
	struct pair p;
	struct request q;

	pair_init(&p, &(struct pair_opts){.qp_access = access});
	q = good(&p, op);
	expect_refused(&p, &q, IBV_WC_REM_INV_REQ_ERR);
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_QP_REQ_ERR);
	expect_server_state(&p, IBV_QPS_ERR);
	pair_fini(&p);
}

static void
case_qp_rights(void)
{
	qp_right(OP_WRITE, PAIR_ALL & ~IBV_ACCESS_REMOTE_WRITE);
	qp_right(OP_READ, PAIR_ALL & ~IBV_ACCESS_REMOTE_READ);
	qp_right(OP_ATOMIC, PAIR_ALL & ~IBV_ACCESS_REMOTE_ATOMIC);
}

struct range {
	uint64_t offset;
	uint32_t len;
};

/*
 * One byte outside at the start or at the end, far outside, and a range whose address plus length
 * overflows: all must be refused.
 */
static const struct range outside[] = {
	{(uint64_t)-1, 64},
	{PAIR_BUF - 63, 64},
	{PAIR_BUF, 64},
	{PAIR_BUF + (UINT64_C(1) << 40), 64},
	{0, PAIR_BUF + 1},
	{0, 0x7fffffff},
};

#define N_OUTSIDE (sizeof(outside) / sizeof(outside[0]))

static void
bounds(enum op op, bool remote, const struct range *r)
{
	struct pair p;
	struct request q;

	pair_init(&p, NULL);
	q = good(&p, op);
	if (op != OP_ATOMIC)
		q.len = r->len;
	if (remote)
		q.raddr += r->offset;
	else
		q.laddr += r->offset;
	expect_refused(&p, &q, remote ? IBV_WC_REM_ACCESS_ERR : IBV_WC_LOC_PROT_ERR);
	if (remote)
		CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_QP_ACCESS_ERR);
	pair_fini(&p);
}

static void
case_local_bounds(void)
{
	for (size_t i = 0; i < N_OUTSIDE; i++) {
		bounds(OP_SEND, false, &outside[i]);
		bounds(OP_WRITE, false, &outside[i]);
		bounds(OP_READ, false, &outside[i]);
	}
	for (size_t i = 0; i < 4; i++)
		bounds(OP_MEMCPY, false, &outside[i]);
}

static void
wraps(enum op op, bool remote)
{
	struct pair p;
	struct request q;

	pair_init(&p, NULL);
	q = good(&p, op);
	if (remote)
		q.raddr = UINT64_MAX - 31;
	else
		q.laddr = UINT64_MAX - 31;
	expect_refused(&p, &q, remote ? IBV_WC_REM_ACCESS_ERR : IBV_WC_LOC_PROT_ERR);
	if (remote)
		CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_QP_ACCESS_ERR);
	pair_fini(&p);
}

static void
case_remote_bounds(void)
{
	static const uint64_t offsets[] = {(uint64_t)-8, PAIR_BUF - 56, PAIR_BUF,
		PAIR_BUF + (UINT64_C(1) << 40)};

	for (size_t i = 0; i < 4; i++) {
		struct range r = {.offset = offsets[i], .len = 64};

		bounds(OP_WRITE, true, &r);
		bounds(OP_READ, true, &r);
		if (i != 1) /* in this case the 8 bytes of an atomic are inside */
			bounds(OP_ATOMIC, true, &r);
	}
}

static void
case_wrap_around(void)
{
	wraps(OP_WRITE, false);
	wraps(OP_MEMCPY, false);
	wraps(OP_WRITE, true);
	wraps(OP_READ, true);
}

/* A length of 0 accesses no memory, so neither the key nor the bounds may be checked. */
static void
case_zero_length(void)
{
	struct pair p;
	struct request q;

	pair_init(&p, NULL);
	q = good(&p, OP_WRITE);
	q.len = 0;
	q.rkey ^= 1;
	post(&p, &q);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	q.op = OP_READ;
	post(&p, &q);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	pair_fini(&p);
}

static void
case_atomic_alignment(void)
{
	struct pair p;
	struct request q;

	pair_init(&p, NULL);
	q = good(&p, OP_ATOMIC);
	q.raddr += 4;
	expect_refused(&p, &q, IBV_WC_REM_INV_REQ_ERR);
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_QP_REQ_ERR);
	pair_fini(&p);
}

/*
 * Tests an operation with these depths: the client has max_rd_atomic `mine`, and the server has
 * max_dest_rd_atomic `peers`. The operation must succeed if `works`, and must be refused otherwise.
 */
static void
rd_atomic(enum op op, uint8_t mine, uint8_t peers, bool works)
{
	struct pair p;
	struct request q;

	pair_init(&p, &(struct pair_opts){.rd_atomic = mine, .dest_rd_atomic = peers});
	q = good(&p, op);
	if (works) {
		post(&p, &q);
		CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	} else {
		expect_refused(&p, &q, IBV_WC_REM_INV_REQ_ERR);
		CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_QP_REQ_ERR);
	}
	pair_fini(&p);
}

/*
 * Depths must have the meaning that mlx5_ib gives them. A requester's depth is stored as its log2,
 * so a depth of 0 counts as 1. A responder's depth of 0 removes the rights to read and to do
 * atomics, but not the right to write.
 */
static void
case_rd_atomic_depth(void)
{
	rd_atomic(OP_READ, PAIR_ZERO, 16, true);
	rd_atomic(OP_ATOMIC, PAIR_ZERO, 16, true);
	rd_atomic(OP_READ, 16, PAIR_ZERO, false);
	rd_atomic(OP_ATOMIC, 16, PAIR_ZERO, false);
	rd_atomic(OP_WRITE, PAIR_ZERO, PAIR_ZERO, true);
}

static unsigned int
access_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQ(ibv_query_qp(qp, &attr, IBV_QP_ACCESS_FLAGS, &init), 0);
	return attr.qp_access_flags;
}

/*
 * Rights and depth depend on each other. A refused modify must change neither of them, and must
 * have no effect when a later modify sets the other: the server may be written and, in the second
 * case, read.
 */
static void
refused_modify(bool of_depth)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = of_depth ? PAIR_ALL : IBV_ACCESS_REMOTE_WRITE};
	const unsigned int before = attr.qp_access_flags;
	struct request q;
	struct pair p;

	pair_init(&p, NULL);
	CHECK_EQ(pair_modify(&p.server, IBV_QPS_RESET), 0);
	if (of_depth) {
		pair_connect(&p, &p.server, p.client.qp->qp_num);
		/* There is no transition from RTS to RTR. */
		attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .max_dest_rd_atomic = 0};
		CHECK_EQ(ibv_modify_qp(p.server.qp, &attr,
				 IBV_QP_STATE | IBV_QP_MAX_DEST_RD_ATOMIC),
			EINVAL);
		attr.qp_access_flags = PAIR_ALL;
		CHECK_EQ(ibv_modify_qp(p.server.qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	} else {
		CHECK_EQ(ibv_modify_qp(p.server.qp, &attr,
				 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					 IBV_QP_ACCESS_FLAGS),
			0);
		/* There is no transition from INIT to RTS. */
		attr.qp_state = IBV_QPS_RTS;
		attr.qp_access_flags = PAIR_ALL;
		CHECK_EQ(ibv_modify_qp(p.server.qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS),
			EINVAL);
		CHECK_EQ(access_of(p.server.qp), before);
		pair_connect_from(&p, &p.server, p.client.qp->qp_num, IBV_QPS_RTR);
	}
	CHECK_EQ(access_of(p.server.qp), before);
	q = good(&p, OP_WRITE);
	post(&p, &q);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	q = good(&p, OP_READ);
	if (of_depth) {
		post(&p, &q);
		CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	} else {
		expect_refused(&p, &q, IBV_WC_REM_INV_REQ_ERR);
		CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_QP_REQ_ERR);
	}
	pair_fini(&p);
}

static void
case_refused_modify(void)
{
	refused_modify(false);
	refused_modify(true);
}

/*
 * The memory of a receive must exist, be writable, and be long enough; otherwise both ends get
 * these statuses.
 */
static void
receive(uint32_t lkey_flip, int access, uint32_t len, enum ibv_wc_status client,
	enum ibv_wc_status server)
{
	struct pair p;
	struct request q;
	struct ibv_mr *mr;
	struct ibv_recv_wr wr = {.wr_id = 9, .num_sge = 1}, *bad;
	struct ibv_sge sge;
	struct ibv_wc wc;

	pair_init(&p, NULL);
	paint(&p);
	mr = ibv_reg_mr(p.pd, p.server.buf, PAIR_BUF, access);
	CHECK(mr != NULL);
	sge = (struct ibv_sge){(uintptr_t)p.server.buf, len, mr->lkey ^ lkey_flip};
	wr.sg_list = &sge;
	pair_publish(&p.server);
	CHECK_EQ(ibv_post_recv(p.server.qp, &wr, &bad), 0);
	pair_post_recv(&p.server, 10, 0, 64);
	q = good(&p, OP_SEND);
	post(&p, &q);
	CHECK_EQ(pair_wait(&p.client).status, client);
	wc = pair_wait(&p.server);
	CHECK_EQ(wc.status, server);
	CHECK_EQ(wc.wr_id, 9);
	if (server != IBV_WC_SUCCESS) {
		expect_untouched(&p);
		wc = pair_wait(&p.server);
		CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
		CHECK_EQ(wc.wr_id, 10);
		expect_server_state(&p, IBV_QPS_ERR);
	}
	/* no event is sent, because the completion reports the error */
	CHECK_EQ(pair_async(&p, 5), -1);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	pair_fini(&p);
}

static void
case_receive(void)
{
	receive(0, PAIR_ALL, 64, IBV_WC_SUCCESS, IBV_WC_SUCCESS);
	receive(0, PAIR_ALL, 63, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR);
	receive(0, 0, 64, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR);
	receive(1, PAIR_ALL, 64, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR);
	receive(0, PAIR_ALL, PAIR_BUF + 1, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR);
}

/*
 * libmlx5 asks for MMO at every INIT of a QP that was created with MMO. A memcpy on a QP without
 * MMO must be refused.
 */
static void
case_mmo_not_allowed(void)
{
	struct pair p, other;
	struct mlx5dv_qp dv = {0};
	struct mlx5dv_obj obj = {0};
	uint32_t *w;

	pair_init(&p, &(struct pair_opts){.no_mmo = true});
	pair_init(&other, NULL);
	obj.qp.in = p.client.qp;
	obj.qp.out = &dv;
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
	w = dv.sq.buf;
	mlx5dv_set_ctrl_seg((struct mlx5_wqe_ctrl_seg *)w, 0, MLX5_OPCODE_MMO, 1,
		p.client.qp->qp_num, MLX5_WQE_CTRL_CQ_UPDATE, 4, 0, 0);
	for (int i = 1; i < 4; i++)
		mlx5dv_set_data_seg((struct mlx5_wqe_data_seg *)(w + 4 * i), i == 1 ? 0 : 64,
			p.client.mr->lkey, (uintptr_t)p.client.buf + 4096 * (unsigned int)i);
	__atomic_store_n(&dv.dbrec[MLX5_SND_DBR], htobe32(1), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)dv.bf.reg, *(uint64_t *)w, __ATOMIC_RELEASE);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_LOC_QP_OP_ERR);
	pair_fini(&other);
	pair_fini(&p);
}

/*
 * After a key is re-registered with other memory or fewer access flags, later work must use the new
 * memory and flags.
 */
static void
case_reregistered(void)
{
	struct pair p;
	struct request q;

	pair_init(&p, NULL);
	q = good(&p, OP_WRITE);
	post(&p, &q);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_rereg_mr(p.server.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
		0);
	q.rkey = p.server.mr->rkey;
	expect_refused(&p, &q, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(pair_async(&p, PAIR_PATIENCE_MS), IBV_EVENT_QP_ACCESS_ERR);
	pair_fini(&p);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{"valid requests succeed with only the access flags that they need", case_allowed},
		{"a local key of another index or variant is refused", case_local_key},
		{"a remote key of another index or variant is refused", case_remote_key},
		{"a deregistered key is refused until a region has it again", case_deregistered},
		{"a request whose doorbell rang before its region is deregistered runs before that",
			case_rung_before},
		{"a region gets the key that was deregistered last, of a region with as many pages",
			case_key_again},
		{"a key that is given out again has the new region's memory and rights",
			case_key_anew},
		{"a key of another PD is refused", case_protection_domain},
		{"local memory is written only if its key allows it", case_local_write},
		{"the peer's key must allow the access", case_remote_rights},
		{"the peer's QP must allow the access", case_qp_rights},
		{"local bounds are checked", case_local_bounds},
		{"remote bounds are checked", case_remote_bounds},
		{"addresses do not wrap around", case_wrap_around},
		{"length 0 needs no key", case_zero_length},
		{"atomics must be aligned", case_atomic_alignment},
		{"a depth of 0 is one read at the requester, and none at the responder",
			case_rd_atomic_depth},
		{"a modify that is refused changes neither rights nor depth", case_refused_modify},
		{"a receive is checked when its message arrives", case_receive},
		{"memcpy needs a QP that allows it", case_mmo_not_allowed},
		{"re-registration takes effect at once", case_reregistered},
	};

	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
