/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs created by firmware commands, in the forms that other programs use: without a receive
 * queue, without any queue, of services other than RC, with memory that the adapter only reads.
 * Also queue pairs of verbs that commands take from RESET to RTS (mlx5dv_devx_qp_modify(3)), as
 * SPDK does.
 *
 * Fields are set by their bit offset in the structures of the programming manual. Expected values
 * come from verbs: ibv_query_qp(3) must return what a command has set.
 */
#include "softhca_devx_side.h"

enum status {
	OK = 0,
	BAD_PARAM = 3,
	BAD_RES = 5,
	BUSY = 6,
	BAD_QP_STATE = 0x10
};

enum {
	OPT = 0x80, /* offset of the optional mask */
	QPC = 0xc0,
	ADS = QPC + 0xc0,
	OPT_RRE = 1 << 1,
	OPT_RAE = 1 << 2,
	OPT_RWE = 1 << 3
};

/* ---------------------------------------------------------------- creation */

/* Creates a QP by s->qp_in with some fields changed. *out: the answer. */
static struct mlx5dv_devx_obj *
create_with(struct side *s, const uint32_t (*fields)[3], unsigned int n, uint8_t out[HDR])
{
	uint8_t in[QP_IN];

	memcpy(in, s->qp_in, QP_IN);
	for (unsigned int i = 0; i < n; i++)
		devx_put(in, fields[i][0], fields[i][1], fields[i][2]);
	return create(s, in, QP_IN, out);
}

/*
 * The objects that a QP must name depend on its queues: DPDK's compress driver names no receive CQ,
 * and a QP without queues needs no CQ, no UAR page and no memory.
 */
static void
case_parts(void)
{
	static const uint32_t no_receive[][3] = {{QPC + 0x565, 3, 3}, {QPC + 0x4e8, 24, 0}},
			      no_send[][3] = {{QPC + 0x50, 1, 1}, {QPC + 0x3e8, 24, 0}},
			      none[][3] = {{QPC + 0x565, 3, 3}, {QPC + 0x50, 1, 1},
				      {QPC + 0x3e8, 24, 0}, {QPC + 0x4e8, 24, 0},
				      {QPC + 0x68, 24, 0}, {0x840, 32, 0}, {QPC + 0x720, 32, 0}},
			      wrong[][3] = {{QPC + 0x565, 3, 3}, {QPC + 0x4e8, 24, 0xffffff}};
	const struct {
		const uint32_t (*fields)[3];
		unsigned int n;
		bool send, receive;
	} good[] = {{no_receive, 2, true, false}, {no_send, 2, false, true},
		{none, 7, false, false}};
	uint8_t out[HDR], qpc[MOD_IN];
	struct mlx5dv_devx_obj *obj;
	struct side s;

	side_init(&s);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		obj = create_with(&s, good[i].fields, good[i].n, out);
		CHECK(obj != NULL, "QP %zu: status 0x%x, syndrome 0x%x", i, out[0],
			devx_get(out, 0x20, 32));
		side_query(obj, devx_get(out, 0x48, 24), qpc);
		CHECK_EQ(devx_get(qpc, QPC + 0x3e8, 24), good[i].send ? s.cqn : 0);
		CHECK_EQ(devx_get(qpc, QPC + 0x4e8, 24), good[i].receive ? s.cqn : 0);
		CHECK_EQ(devx_get(qpc, QPC + 0x50, 1), !good[i].send);
		CHECK_EQ(devx_get(qpc, QPC + 0x51, 4), good[i].send ? 4 : 0);
		CHECK_EQ(devx_get(qpc, QPC + 0x49, 4), good[i].receive ? 4 : 0);
		CHECK_EQ(devx_get(qpc, QPC + 0x565, 3), good[i].receive ? 0 : 3);
		CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	}
	/* The command is refused if it names an object that does not exist. */
	CHECK(create_with(&s, wrong, 2, out) == NULL);
	CHECK_EQ(out[0], BAD_RES);
	/* The command is refused if a queue has no CQ. */
	CHECK(create_with(&s, &no_send[1], 1, out) == NULL);
	CHECK_EQ(out[0], BAD_RES);
	CHECK(create_with(&s, &no_receive[1], 1, out) == NULL);
	CHECK_EQ(out[0], BAD_RES);
	side_fini(&s);
}

/*
 * The adapter only reads queues and doorbell records: UCX registers their memory without any access
 * right.
 */
static void
case_read_only_memory(void)
{
	uint8_t out[HDR], cq_in[CQ_IN];
	struct mlx5dv_devx_obj *obj;
	struct side s;

	side_init(&s);
	memcpy(cq_in, s.cq_in, CQ_IN);
	devx_put(cq_in, 0x80 + 0x20, 32, s.read_only->umem_id);
	obj = create(&s, cq_in, CQ_IN, out);
	CHECK(obj != NULL);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	obj = create_with(&s,
		(const uint32_t[][3]){{0x840, 32, s.read_only->umem_id},
			{QPC + 0x720, 32, s.read_only->umem_id}},
		2, out);
	CHECK(obj != NULL);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	side_fini(&s);
}

static enum status
modify_obj(struct mlx5dv_devx_obj *obj, uint32_t qpn, uint16_t opcode, uint8_t in[MOD_IN])
{
	uint8_t out[HDR] = {0};
	int rc;

	devx_put(in, 0, 16, opcode);
	devx_put(in, 0x48, 24, qpn);
	rc = mlx5dv_devx_obj_modify(obj, in, MOD_IN, out, HDR);
	CHECK_EQ(rc == 0, out[0] == 0);
	return (enum status)out[0];
}

/*
 * Commands must take UC, UD and DCI QPs to RTS, each with the fields of the QP context that its
 * type needs.
 */
static void
case_services(void)
{
	static const struct {
		uint32_t service;
		bool qkey, connected;
	} kinds[] = {{1, false, true}, {2, true, false}, {5, false, false}};

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		const uint32_t fields[][3] = {{QPC + 0x08, 8, kinds[k].service},
			{QPC + 0x565, 3, 3}, {QPC + 0x4e8, 24, 0},
			{QPC + 0x3e3, 5, kinds[k].service == 5 ? 3 : 0}};
		uint8_t init[MOD_IN] = {0}, rtr[MOD_IN] = {0}, rts[MOD_IN] = {0}, out[MOD_IN];
		struct mlx5dv_devx_obj *obj;
		struct side s;
		uint32_t qpn;

		side_init(&s);
		obj = create_with(&s, fields, 4, out);
		CHECK(obj != NULL, "service %u: status 0x%x, syndrome 0x%x", kinds[k].service,
			out[0], devx_get(out, 0x20, 32));
		qpn = devx_get(out, 0x48, 24);
		devx_put(init, ADS + 0x128, 8, 1);
		devx_put(init, QPC + 0x540, 32, 0x11223344);
		devx_put(init, QPC + 0x490, 3, 7);
		CHECK_EQ(modify_obj(obj, qpn, 0x502, init), OK);
		devx_put(rtr, QPC + 0x40, 3, IBV_MTU_2048);
		devx_put(rtr, QPC + 0xa8, 24, s.qpn);
		/*
		 * Access rights are meant for a responder, and a DCI is no responder. UCX still
		 * sets one of the bits.
		 */
		devx_put(rtr, OPT, 32, kinds[k].service == 5 ? OPT_RAE : 0);
		devx_put(rtr, QPC + 0x492, 1, 1);
		CHECK_EQ(modify_obj(obj, qpn, 0x503, rtr), OK);
		devx_put(rts, QPC + 0x3c8, 24, 0x4321);
		CHECK_EQ(modify_obj(obj, qpn, 0x504, rts), OK);
		side_query(obj, qpn, out);
		CHECK_EQ(devx_get(out, QPC, 4), 3);
		CHECK_EQ(devx_get(out, QPC + 0x08, 8), kinds[k].service);
		CHECK_EQ(devx_get(out, QPC + 0x540, 32), kinds[k].qkey ? 0x11223344 : 0);
		CHECK_EQ(devx_get(out, QPC + 0xa8, 24), kinds[k].connected ? s.qpn : 0);
		CHECK_EQ(devx_get(out, QPC + 0x490, 3), kinds[k].connected ? 7 : 0);
		CHECK_EQ(devx_get(out, QPC + 0x3c8, 24), 0x4321);
		CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
		side_fini(&s);
	}
}

/*
 * DPDK requests DMA MMO when it creates the QP, in the extension of the QP context. The adapter
 * must accept this if it has MMO.
 */
static void
case_mmo(void)
{
	uint8_t in[QP_IN + 4] = {0}, out[HDR];
	struct mlx5dv_devx_obj *obj;
	struct side s;

	side_init(&s);
	memcpy(in, s.qp_in, QP_IN);
	devx_put(in, 0x40, 1, 1); /* qpc_ext */
	devx_put(in, 0x882, 1, 1);
	obj = create(&s, in, sizeof(in), out);
	if (getenv("SOFTHCA_MAX_MEMCPY") != NULL) { /* the adapter has no MMO */
		CHECK(obj == NULL);
		CHECK_EQ(devx_get(out, 0x20, 32), 0x10882);
		side_fini(&s);
		return;
	}
	CHECK(obj != NULL);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	/* Without the extension the command must be refused. */
	CHECK(create(&s, in, QP_IN, out) == NULL);
	CHECK_EQ(out[0], 0x50);
	side_fini(&s);
}

/* ---------------------------------------------------------------- without a doorbell record */

enum {
	NO_DBR_EXT = 1,       /* send_dbr_mode, at QPC + 0x80 */
	NO_RECORD_AT = 0x600, /* offset in a UAR page: rdma-core, tests/mlx5_base.py */
	SEND_REC_AT = DB_AT + 68
};

/*
 * Replaces s->qp by a QP without a doorbell record for its send queue, and connects the new QP to
 * itself.
 */
static void
side_init_no_record(struct side *s)
{
	static const uint32_t mode[][3] = {{QPC + 0x80, 2, NO_DBR_EXT}};
	uint8_t out[HDR];

	side_init(s);
	CHECK_EQ(mlx5dv_devx_obj_destroy(s->qp), 0);
	s->qp = create_with(s, mode, 1, out);
	CHECK(s->qp != NULL, "status 0x%x, syndrome 0x%x", out[0], devx_get(out, 0x20, 32));
	s->qpn = devx_get(out, 0x48, 24);
	store_be32(s, SEND_REC_AT, 0x7777); /* a value without effect */
	side_connect(s, s->qpn);
}

static void
ring_no_record(struct side *s, uint64_t word)
{
#ifdef __SANITIZE_THREAD__
	uint8_t out[MOD_IN];

	/*
	 * The adapter reads the doorbell through another mapping of the page, so TSan does not see
	 * that the WQE is written before the doorbell. A doorbell record would show this order, but
	 * the QP has none. So the test makes a query: the query's lock shows the order to TSan.
	 */
	side_query(s->qp, s->qpn, out);
#endif
	__atomic_store_n((uint64_t *)((uint8_t *)s->uar->base_addr + NO_RECORD_AT), word,
		__ATOMIC_RELEASE);
}

/* A doorbell as UCX and DOCA write it: the producer index and the QP number. */
static uint64_t
index_word(const struct side *s)
{
	return htobe64((uint64_t)s->sq_pi << 40 | s->qpn << 8);
}

/* Polls two completions in either order: one of the send, one of the receive. */
static void
expect_transfer(struct side *s, uint32_t imm)
{
	unsigned int sends = 0, receives = 0;

	for (unsigned int i = 0; i < 2; i++) {
		const uint8_t *cqe = poll_one(s);

		sends += cqe[63] >> 4 == 0;
		receives += cqe[63] >> 4 == 3; /* a receive with immediate */
		if (cqe[63] >> 4 == 3)
			CHECK_EQ(devx_get(cqe, 0x120, 32), imm);
	}
	CHECK_EQ(sends, 1);
	CHECK_EQ(receives, 1);
}

/* Posts NOPs until the producer index is 65530. Each NOP has its own doorbell and CQE. */
static void
skip_to_65530(struct side *s)
{
	while (s->sq_pi != 65530) {
		unsigned int n = 65530 - s->sq_pi < SQ_BB ? 65530 - s->sq_pi : SQ_BB;

		for (unsigned int i = 0; i < n; i++) {
			uint8_t *wqe = s->mem + QP_AT + RQ_LEN + s->sq_pi % SQ_BB * 64;

			memset(wqe, 0, 16);
			devx_put(wqe, 0, 32, (uint32_t)s->sq_pi << 8);
			devx_put(wqe, 32, 32, s->qpn << 8 | 1);
			wqe[11] = i == n - 1 ? 8 : 0;
			s->sq_pi++;
		}
		ring_no_record(s, index_word(s));
		CHECK_EQ(poll_one(s)[63] >> 4, 0);
	}
}

/*
 * Tests both forms of the doorbell, until after the index has wrapped. The adapter is pumped,
 * because that is faster.
 */
static void
case_no_record(void)
{
	unsigned long violations;
	uint8_t out[MOD_IN];
	uint64_t word, end;
	struct side s;

	side_init_no_record(&s);
	side_query(s.qp, s.qpn, out);
	CHECK_EQ(devx_get(out, QPC + 0x80, 2), NO_DBR_EXT);
	for (uint16_t i = 0; i < 1024; i++)
		s.mem[DATA_AT + i] = (uint8_t)(i * 7 + 3);
	if (pair_is_pumped())
		skip_to_65530(&s);
	for (uint16_t i = 0; i < 40; i++) {
		unsigned int from = s.sq_pi % 16 * 64, to = 2048 + i % 16 * 64;

		memset(s.mem + DATA_AT + to, 0, 64);
		post_recv(&s, i);
		word = write_send(&s, 0x1000 + i);
		ring_no_record(&s, i % 2 == 0 ? word : index_word(&s));
		expect_transfer(&s, 0x1000 + i);
		CHECK(check_bytes(s.mem + DATA_AT + to, s.mem + DATA_AT + from, 64, "sent bytes"));
	}
	/* A WQE without a doorbell is not executed; then one doorbell announces two WQEs. */
	post_recv(&s, 40);
	post_recv(&s, 41);
	word = write_send(&s, 0x2000);
	violations = softhca_violations();
	__atomic_store_n((uint64_t *)s.uar->reg_addr, word, __ATOMIC_RELEASE);
	end = pair_now_ms() + CHECK_PATIENCE_MS;
	while (softhca_violations() == violations && pair_now_ms() < end)
		pair_run();
	CHECK_EQ(softhca_violations(), violations + 1);
	side_query(s.qp, s.qpn, out);
	CHECK_EQ(devx_get(out, QPC + 0x5a0, 16), (uint16_t)(s.sq_pi - 1)); /* hw_sq_wqebb_counter */
	word = write_send(&s, 0x2001);
	ring_no_record(&s, word);
	for (unsigned int i = 0; i < 4; i++)
		CHECK(poll_one(&s)[63] >> 4 <= 3);
	side_query(s.qp, s.qpn, out);
	CHECK_EQ(devx_get(out, QPC + 0x5a0, 16), s.sq_pi);
	side_fini(&s);
}

/* After RESET, the producer index of the queue must be 0 again. */
static void
case_no_record_reset(void)
{
	uint8_t in[MOD_IN] = {0};
	struct side s;

	side_init_no_record(&s);
	post_recv(&s, 0);
	ring_no_record(&s, write_send(&s, 1));
	expect_transfer(&s, 1);
	side_modify(&s, 0x50a, in);
	store_be32(&s, DB_AT + 64, 0);
	s.sq_pi = 0;
	side_connect(&s, s.qpn);
	post_recv(&s, 0);
	ring_no_record(&s, write_send(&s, 2));
	expect_transfer(&s, 2);
	side_fini(&s);
}

/* Waits until the QP is in error. */
static void
wait_for_error(struct side *s)
{
	uint64_t end = pair_now_ms() + CHECK_PATIENCE_MS;
	uint8_t out[MOD_IN];

	do {
		CHECK(pair_now_ms() < end);
		pair_run();
		side_query(s->qp, s->qpn, out);
	} while (devx_get(out, QPC, 4) != 6);
}

/*
 * A doorbell for more WQEs than the queue holds, and then a doorbell that differs from its WQE:
 * both fail.
 */
static void
case_no_record_wrong(void)
{
	struct side s;

	side_init_no_record(&s);
	s.sq_pi = SQ_BB + 1;
	ring_no_record(&s, index_word(&s));
	wait_for_error(&s);
	side_fini(&s);
	side_init_no_record(&s);
	post_recv(&s, 0);
	ring_no_record(&s, write_send(&s, 1) ^ htobe64(UINT64_C(1) << 32)); /* a different opcode */
	CHECK_EQ(poll_one(&s)[63] >> 4, 13);                                /* error of a request */
	wait_for_error(&s);
	side_fini(&s);
}

static void
case_no_record_refused(void)
{
	static const uint32_t mode[][3] = {{QPC + 0x80, 2, NO_DBR_EXT}},
			      internal[][3] = {{QPC + 0x80, 2, 2}},
			      bare[][3] = {{QPC + 0x80, 2, NO_DBR_EXT}, {QPC + 0x565, 3, 3},
				      {QPC + 0x4e8, 24, 0}, {QPC + 0x720, 32, 0}};
	uint8_t out[HDR];
	struct mlx5dv_devx_obj *obj;
	struct side s;

	side_init(&s);
	/*
	 * This QP has no doorbell record for its send queue, and no receive queue. So it needs no
	 * memory for doorbell records.
	 */
	obj = create_with(&s, bare, 4, out);
	CHECK(obj != NULL, "status 0x%x, syndrome 0x%x", out[0], devx_get(out, 0x20, 32));
	/*
	 * Refused: the UAR page has such a QP already. The doorbell for the device's own processor
	 * is not emulated.
	 */
	CHECK(create_with(&s, mode, 1, out) == NULL);
	CHECK_EQ(out[0], BUSY);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	obj = create_with(&s, mode, 1, out);
	CHECK(obj != NULL);
	CHECK_EQ(mlx5dv_devx_obj_destroy(obj), 0);
	CHECK(create_with(&s, internal, 1, out) == NULL);
	CHECK_EQ(out[0], BAD_PARAM);
	CHECK_EQ(devx_get(out, 0x20, 32), 0x10000 + QPC + 0x80);
	side_fini(&s);
}

/* ---------------------------------------------------------------- queue pairs of verbs */

static enum status
modify_qp(struct ibv_qp *qp, uint16_t opcode, uint8_t in[MOD_IN])
{
	uint8_t out[HDR] = {0};
	int rc;

	devx_put(in, 0, 16, opcode);
	devx_put(in, 0x48, 24, qp->qp_num);
	rc = mlx5dv_devx_qp_modify(qp, in, MOD_IN, out, HDR);
	CHECK_EQ(rc == 0, out[0] == 0);
	return (enum status)out[0];
}

static struct ibv_qp_attr
query_qp(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	return attr;
}

/*
 * Connects a QP to itself as SPDK does: with the port that ibv_query_qp() returns for a QP in
 * RESET, with a path that has no address but the force-loopback bit, and without a port in
 * INIT2RTR.
 */
static void
connect_as_spdk(struct ibv_qp *qp, uint32_t dest)
{
	uint8_t init[MOD_IN] = {0}, rtr[MOD_IN] = {0}, rts[MOD_IN] = {0};
	struct ibv_qp_attr attr = query_qp(qp);

	CHECK_EQ(attr.qp_state, IBV_QPS_RESET);
	CHECK_EQ(attr.port_num, 1);
	devx_put(init, ADS + 0x128, 8, attr.port_num);
	devx_put(init, QPC + 0x13, 2, 3);  /* pm_state: migrated */
	devx_put(init, QPC + 0x490, 2, 3); /* rre, rwe */
	CHECK_EQ(modify_qp(qp, 0x502, init), OK);
	devx_put(rtr, QPC + 0x43, 5, 30);
	devx_put(rtr, QPC + 0x40, 3, IBV_MTU_4096);
	devx_put(rtr, QPC + 0xa8, 24, dest);
	devx_put(rtr, QPC + 0x4a8, 24, 0x4242);
	devx_put(rtr, QPC + 0x488, 3, 4);
	devx_put(rtr, QPC + 0x4a3, 5, 12);
	devx_put(rtr, ADS, 1, 1); /* fl */
	CHECK_EQ(modify_qp(qp, 0x503, rtr), OK);
	devx_put(rts, ADS + 0x40, 5, 14);
	devx_put(rts, QPC + 0x38d, 3, 7);
	devx_put(rts, QPC + 0x390, 3, 7);
	devx_put(rts, QPC + 0x3c8, 24, 0x4242);
	devx_put(rts, QPC + 0x388, 3, 4);
	CHECK_EQ(modify_qp(qp, 0x504, rts), OK);
}

static void
case_verbs_qp(void)
{
	struct pair p;
	struct ibv_qp_attr attr;
	uint8_t in[MOD_IN] = {0};
	struct ibv_wc wc;

	pair_init(&p, &(struct pair_opts){.no_connect = true});
	connect_as_spdk(p.client.qp, p.client.qp->qp_num);
	attr = query_qp(p.client.qp);
	CHECK_EQ(attr.qp_state, IBV_QPS_RTS);
	CHECK_EQ(attr.port_num, 1);
	CHECK_EQ(attr.path_mtu, IBV_MTU_4096);
	CHECK_EQ(attr.dest_qp_num, p.client.qp->qp_num);
	CHECK_EQ(attr.rq_psn, 0x4242);
	CHECK_EQ(attr.sq_psn, 0x4242);
	CHECK_EQ(attr.max_rd_atomic, 16);
	CHECK_EQ(attr.max_dest_rd_atomic, 16);
	CHECK_EQ(attr.min_rnr_timer, 12);
	CHECK_EQ(attr.timeout, 14);
	CHECK_EQ(attr.retry_cnt, 7);
	CHECK_EQ(attr.rnr_retry, 7);
	CHECK_EQ(attr.qp_access_flags, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	/* The QP sends data to itself. */
	for (unsigned int i = 0; i < 1000; i++)
		p.client.buf[i] = (uint8_t)(i * 3 + 1);
	pair_publish(&p.client);
	ibv_wr_start(p.client.qpx);
	p.client.qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(p.client.qpx, p.client.mr->rkey, (uintptr_t)p.client.buf + 4096);
	ibv_wr_set_sge(p.client.qpx, p.client.mr->lkey, (uintptr_t)p.client.buf, 1000);
	CHECK_EQ(ibv_wr_complete(p.client.qpx), 0);
	wc = pair_wait(&p.client);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK(check_bytes(p.client.buf + 4096, p.client.buf, 1000, "the written bytes"));
	/* A command takes the QP back to RESET, where it has the attributes of a new QP. */
	CHECK_EQ(modify_qp(p.client.qp, 0x507, in), OK);
	CHECK_EQ(query_qp(p.client.qp).qp_state, IBV_QPS_ERR);
	CHECK_EQ(modify_qp(p.client.qp, 0x50a, in), OK);
	CHECK_EQ(query_qp(p.client.qp).qp_state, IBV_QPS_RESET);
	CHECK_EQ(query_qp(p.client.qp).port_num, 1);
	CHECK_EQ(modify_qp(p.client.qp, 0x504, in), BAD_QP_STATE);
	pair_fini(&p);
}

/* Each bit of the optional mask names one access right, the P_Key index, or the RNR timer. */
static void
case_options(void)
{
	uint8_t init[MOD_IN] = {0}, in[MOD_IN] = {0};
	struct pair p;

	pair_init(&p, &(struct pair_opts){.no_connect = true});
	devx_put(init, ADS + 0x128, 8, 1);
	devx_put(init, QPC + 0x490, 3, 3); /* write and atomic */
	CHECK_EQ(modify_qp(p.client.qp, 0x502, init), OK);
	CHECK_EQ(query_qp(p.client.qp).qp_access_flags,
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	devx_put(in, QPC + 0x40, 3, IBV_MTU_1024);
	devx_put(in, QPC + 0x490, 3, 4); /* read */
	devx_put(in, OPT, 32, OPT_RRE | OPT_RWE);
	CHECK_EQ(modify_qp(p.client.qp, 0x503, in), OK);
	CHECK_EQ(query_qp(p.client.qp).qp_access_flags,
		IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	memset(in, 0, sizeof(in));
	devx_put(in, QPC + 0x4a3, 5, 9);
	devx_put(in, OPT, 32, OPT_RAE | 1 << 6); /* also the RNR timer */
	CHECK_EQ(modify_qp(p.client.qp, 0x504, in), OK);
	CHECK_EQ(query_qp(p.client.qp).qp_access_flags, IBV_ACCESS_REMOTE_READ);
	CHECK_EQ(query_qp(p.client.qp).min_rnr_timer, 9);
	/* Verbs and commands can alternate: verbs continue in the state that a command has set. */
	CHECK_EQ(modify_qp(p.server.qp, 0x502, init), OK);
	CHECK_EQ(pair_modify(&p.server, IBV_QPS_ERR), 0);
	CHECK_EQ(query_qp(p.server.qp).qp_state, IBV_QPS_ERR);
	pair_fini(&p);
}

/*
 * Each right must have its own bit. The three bits of the context are, from the highest to the
 * lowest: read, write, atomic.
 */
static void
case_rights(void)
{
	struct pair p;

	pair_init(&p, &(struct pair_opts){.no_connect = true});
	for (uint32_t bits = 0; bits < 8; bits++) {
		uint8_t init[MOD_IN] = {0};

		devx_put(init, ADS + 0x128, 8, 1);
		devx_put(init, QPC + 0x490, 3, bits);
		CHECK_EQ(pair_modify(&p.client, IBV_QPS_RESET), 0);
		CHECK_EQ(modify_qp(p.client.qp, 0x502, init), OK);
		CHECK_EQ(query_qp(p.client.qp).qp_access_flags,
			(bits & 4 ? IBV_ACCESS_REMOTE_READ : 0u) |
				(bits & 2 ? IBV_ACCESS_REMOTE_WRITE : 0u) |
				(bits & 1 ? IBV_ACCESS_REMOTE_ATOMIC : 0u));
	}
	pair_fini(&p);
}

static const struct check_case cases[] = {
	{"a queue pair names what its queues need, and no more", case_parts},
	{"the adapter reads queues from memory that it may not write", case_read_only_memory},
	{"commands take UC, UD and DC queue pairs through the states", case_services},
	{"DMA MMO can be allowed at creation", case_mmo},
	{"a send queue without a doorbell record is run by its doorbells", case_no_record},
	{"a send queue without a doorbell record begins at 0 after RESET", case_no_record_reset},
	{"a doorbell that overruns a send queue without a record fails it", case_no_record_wrong},
	{"a page has one send queue without a doorbell record", case_no_record_refused},
	{"commands connect a queue pair of verbs", case_verbs_qp},
	{"optional fields are set one by one", case_options},
	{"each right has its own bit", case_rights},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
