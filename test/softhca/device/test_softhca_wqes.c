/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hand-made WQEs that no library writes, each with one error, and queues of sizes that are not
 * allowed. Each WQE or queue is refused, and no byte moves.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "check.h"
#include "devices.h"
#include "softhca_rig.h"
#include "wire.h"

#define ALWAYS MLX5_WQE_CTRL_CQ_UPDATE
#define INLINE UINT32_C(0x80000000)

static void
set_be32(void *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

/* Checks that the posted WQE has exactly one completion, and its status. */
static void
expect(struct rig *r, const struct rig_wqe *w, uint8_t syndrome, const char *what)
{
	const struct mlx5_cqe64 *cqe;

	rig_post(&r->a, w);
	rig_run(r);
	cqe = rig_poll(&r->a);
	CHECK(cqe != NULL, "%s: no completion", what);
	if (cqe == NULL)
		return;
	CHECK_EQ(cqe->op_own >> 4, syndrome == 0 ? MLX5_CQE_REQ : MLX5_CQE_REQ_ERR, what);
	if (syndrome != 0)
		CHECK_EQ(rig_err(cqe)->syndrome, syndrome, what);
	if (syndrome == MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR)
		CHECK_EQ(rig_check, VEN_LENGTH, what);
	/* A successful read or atomic must have this byte count, as ibv_poll_cq(3) returns it. */
	if (syndrome == 0 &&
		(w->opcode == MLX5_OPCODE_ATOMIC_FA || w->opcode == MLX5_OPCODE_ATOMIC_CS))
		CHECK_EQ(be32toh(cqe->byte_cnt), 8, "bytes of an atomic");
	CHECK(rig_poll(&r->a) == NULL, "%s: a second completion", what);
}

static void
expect_alone(const struct rig_wqe *w, uint8_t syndrome, const char *what)
{
	struct rig r;

	rig_init(&r, NULL);
	expect(&r, w, syndrome, what);
	rig_fini(&r);
}

/* ---- inline data */

/* Inline data must end within their WQE: bytes after it belong to the next WQE. */
static void
case_inline_end(void)
{
	for (uint32_t len = 12; len <= 13; len++) {
		struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND, ALWAYS);
		uint8_t data[12] = {1, 2, 3};
		struct rig r;

		rig_init(&r, NULL);
		rig_recv(&r.b, rig_va(r.b.buf), r.b.key, 4096);
		rig_inline(&w, data,
			sizeof(data)); /* one unit of 16 bytes, of which 4 are the length field */
		set_be32(w.bytes + 16, len | INLINE);
		expect(&r, &w, len == 12 ? 0 : MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, "inline data");
		CHECK_EQ(rig_poll(&r.b) != NULL, len == 12, "received");
		rig_fini(&r);
	}
	{
		struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND, ALWAYS);

		rig_inline(&w, "", 1);
		set_be32(w.bytes + 16, 0x7fffffff | INLINE);
		expect_alone(&w, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, "the longest inline data");
	}
}

/* The result of a read or atomic cannot go to inline data: the WQE would be overwritten. */
static void
case_inline_answer(void)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_RDMA_READ, ALWAYS);
	struct rig r;
	uint8_t zeros[8] = {0};

	rig_init(&r, NULL);
	memset(r.b.buf, 0x5a, 64);
	rig_raddr(&w, rig_va(r.b.buf), r.b.key);
	rig_inline(&w, zeros, 8);
	expect(&r, &w, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, "a read into the WQE");
	CHECK(memcmp(rig_sq_at(&r.a, 0) + 36, zeros, 8) == 0, "the WQE was written");
	rig_fini(&r);

	rig_init(&r, NULL);
	w = rig_wqe(MLX5_OPCODE_ATOMIC_FA, ALWAYS);
	rig_raddr(&w, rig_va(r.b.buf), r.b.key);
	rig_atomic(&w, 1, 0);
	rig_inline(&w, zeros, 8);
	expect(&r, &w, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, "an atomic into the WQE");
	CHECK_EQ(r.b.buf[0] + r.b.buf[7], 0, "the atomic's memory");
	rig_fini(&r);
}

/* ---- lengths */

/*
 * An atomic returns 8 bytes. It is refused with a shorter data segment, which would be overrun, and
 * with a longer one.
 */
static void
case_atomic_length(void)
{
	static const uint32_t lens[] = {4, 7, 8, 9, 16};

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct rig_wqe w = rig_wqe(MLX5_OPCODE_ATOMIC_FA, ALWAYS);
		struct rig r;

		rig_init(&r, NULL);
		rig_raddr(&w, rig_va(r.b.buf), r.b.key);
		rig_atomic(&w, 1, 0);
		rig_sge(&w, rig_va(r.a.buf), r.a.key, lens[i]);
		expect(&r, &w, lens[i] == 8 ? 0 : MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR, "an atomic");
		CHECK_EQ(r.b.buf[7] + r.b.buf[0], lens[i] == 8, "the atomic's memory");
		rig_fini(&r);
	}
}

/*
 * A message of 2 GiB must be accepted (InfiniBand volume 1, 9.7.8). With one more segment the
 * message is too long, and must be refused.
 */
static void
case_message_length(void)
{
	const size_t len = (size_t)1 << 31;
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_RDMA_WRITE, ALWAYS);
	struct softhca_mkey_attr attr = {.pdn = RIG_PDN,
		.len = len,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE};
	struct softhca_mkey *mkey;
	unsigned int n_dev;
	struct rig r;
	void *big = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(big != MAP_FAILED, "no address space");
	rig_init(&r, NULL);
	attr.addr = attr.iova = rig_va(big);
	CHECK_EQ(softhca_mkey_create(softhca_devices(&n_dev), &attr, &mkey), 0, "key");
	rig_raddr(&w, rig_va(r.b.buf), r.b.key);
	rig_sge(&w, rig_va(big), softhca_mkey_key(mkey), 0); /* 2 GiB */
	rig_sge(&w, rig_va(big), softhca_mkey_key(mkey), 1);
	expect(&r, &w, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR, "a message of 2 GiB and a byte");
	CHECK_EQ(softhca_mkey_destroy(mkey), 0, "destroy");
	rig_fini(&r);
	munmap(big, len);
}

/*
 * A receive's list must end at its end marker, which has length 0 and key 0x100, and at no other
 * segment. In any other data segment length 0 means 2 GiB, and no region has the key 0x100.
 */
static void
case_receive_end(void)
{
	static const struct {
		bool end_key;
		uint32_t len;
		uint8_t syndrome;
	} lists[] = {
		{false, 0, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR},
		{true, 64, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR},
		{true, 0, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR},
	};

	for (unsigned int i = 0; i < 3; i++) {
		struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND, ALWAYS);
		const struct mlx5_cqe64 *cqe;
		struct rig r;

		rig_init(&r, NULL);
		rig_recv(&r.b, rig_va(r.b.buf), lists[i].end_key ? MLX5_INVALID_LKEY : r.b.key, 64);
		set_be32(r.b.rq, lists[i].len);
		rig_sge(&w, rig_va(r.a.buf), r.a.key, 10);
		rig_post(&r.a, &w);
		rig_run(&r);
		cqe = rig_poll(&r.b);
		CHECK(cqe != NULL && cqe->op_own >> 4 == MLX5_CQE_RESP_ERR, "list %u: no error", i);
		if (cqe != NULL)
			CHECK_EQ(rig_err(cqe)->syndrome, lists[i].syndrome,
				lists[i].end_key ? "a receive with the end marker's key"
						 : "a receive of 2 GiB");
		rig_fini(&r);
	}
}

/* ---- the DMA engine's WQE has one opcode modifier and one size */

static void
case_mmo(void)
{
	for (unsigned int opmod = 0; opmod < 4; opmod++) {
		for (uint32_t ds = 3; ds <= 5; ds++) {
			bool good = opmod == 1 && ds == 4;
			struct rig_wqe w = rig_wqe(MLX5_OPCODE_MMO, ALWAYS);
			struct rig r;

			rig_init(&r, NULL);
			memset(r.a.buf, 0x33, 16);
			w.opmod = (uint8_t)opmod;
			/* the opaque segment */
			rig_sge(&w, rig_va(r.a.buf) + RIG_BUF - 64, r.a.key, 0);
			rig_sge(&w, rig_va(r.a.buf), r.a.key, 16);
			rig_sge(&w, rig_va(r.a.buf) + 64, r.a.key, 16);
			rig_sge(&w, rig_va(r.a.buf) + 64, r.a.key, 16);
			w.ds = ds;
			expect(&r, &w, good ? 0 : MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, "MMO");
			CHECK_EQ(r.a.buf[64], good ? 0x33 : 0, "copied");
			rig_fini(&r);
		}
	}
}

/* ---- operations inside the adapter have no address segment, whatever the QP's type */

static void
connect_as(struct rig_end *e, enum kind kind, uint8_t timeout)
{
	rig_take(e, kind,
		(struct softhca_qp_attr){.port = 1,
			.path_mtu = IBV_MTU_1024,
			.dest_qpn = 0xabcdef,
			.max_rd_atomic = 1,
			.max_dest_rd_atomic = 1,
			.timeout = timeout,
			.mmo = true});
}

/*
 * Executes the WQE on a QP of that type. Returns opcode, syndrome and vendor syndrome of the WQE's
 * CQE.
 */
static uint32_t
run_on(enum softhca_qp_type type, const struct rig_wqe *wqe, bool copies)
{
	const struct rig_opts o = {.no_connect = true, .type = type};
	struct rig_wqe w = *wqe;
	const struct mlx5_cqe64 *cqe;
	uint32_t result = 0;
	struct rig r;

	rig_init(&r, &o);
	connect_as(&r.a, type == SOFTHCA_QP_DCI ? K_DCI : qp_kind((enum ibv_qp_type)type), 14);
	if (copies) {
		w.opmod = 1;
		rig_sge(&w, rig_va(r.a.buf) + RIG_BUF - 64, r.a.key, 0);
		rig_sge(&w, rig_va(r.a.buf), r.a.key, 16);
		rig_sge(&w, rig_va(r.a.buf) + 64, r.a.key, 16);
	}
	rig_post(&r.a, &w);
	rig_run(&r);
	cqe = rig_poll(&r.a);
	CHECK(cqe != NULL, "type %u: no completion", type);
	if (cqe != NULL) {
		result = cqe->op_own >> 4;
		if (result != MLX5_CQE_REQ)
			result |= (uint32_t)rig_err(cqe)->syndrome << 8 |
				  (uint32_t)rig_err(cqe)->vendor_err_synd << 16 | rig_check << 24;
	}
	rig_fini(&r);
	return result;
}

static void
case_no_address(void)
{
	static const enum softhca_qp_type types[] = {SOFTHCA_QP_DCI, SOFTHCA_QP_XRC_SEND};
	struct rig_wqe wqes[] = {
		rig_wqe(MLX5_OPCODE_NOP, ALWAYS),
		rig_wqe(MLX5_OPCODE_MMO, ALWAYS),
		rig_wqe(MLX5_OPCODE_UMR, ALWAYS),
		rig_wqe(MLX5_OPCODE_SET_PSV, ALWAYS),
	};

	/* control, UMR and context segments; no key has the WQE's key number */
	wqes[2].ds = 1 + 3 + 4;
	wqes[3].ds = 2; /* no PSV has the WQE's PSV number */
	CHECK_EQ(run_on(SOFTHCA_QP_RC, &wqes[0], false), MLX5_CQE_REQ, "a NOP");
	CHECK_EQ(run_on(SOFTHCA_QP_RC, &wqes[1], true), MLX5_CQE_REQ, "a copy");
	for (unsigned int i = 0; i < 4; i++) {
		uint32_t as_rc = run_on(SOFTHCA_QP_RC, &wqes[i], i == 1);

		for (unsigned int t = 0; t < 2; t++)
			CHECK_EQ(run_on(types[t], &wqes[i], i == 1), as_rc,
				"the result on an RC QP");
	}
}

/* ---- opcodes: only the 64 lowest numbers can be operations */

static void
case_opcodes(void)
{
	for (unsigned int opcode = 64; opcode < 256; opcode++) {
		struct rig_wqe w = rig_wqe((uint8_t)opcode, ALWAYS);

		w.ds = 16;
		expect_alone(&w, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, "an opcode above 63");
	}
}

/*
 * ---- a peer that never answers: `timeout` of ibv_modify_qp(3), of which 0 has no limit
 * (InfiniBand, 9.7.6.1.3)
 */

static void
case_no_timeout(void)
{
	for (uint8_t timeout = 0; timeout <= 1; timeout++) {
		const struct rig_opts o = {.no_connect = true};
		struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND, ALWAYS);
		const struct mlx5_cqe64 *cqe;
		struct rig r;

		rig_init(&r, &o);
		connect_as(&r.a, K_RC, timeout);
		rig_sge(&w, rig_va(r.a.buf), r.a.key, 10);
		rig_post(&r.a, &w);
		cqe = rig_wait(&r, &r.a, timeout == 0 ? 20 : CHECK_PATIENCE_MS);
		CHECK_EQ(cqe != NULL, timeout != 0, "a completion");
		if (cqe != NULL)
			CHECK_EQ(rig_err(cqe)->syndrome, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR,
				"given up");
		rig_fini(&r);
	}
}

/*
 * Only raw packet QPs can send raw packets (packet(7): CAP_NET_RAW): a valid TSO WQE on an RC QP is
 * refused.
 */
static void
case_tso_on_rc(void)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_TSO, ALWAYS);
	uint8_t *eth = w.bytes + 16, *frame = eth + 14;
	struct rig r;

	rig_init(&r, NULL);
	eth[7] = 100; /* MSS */
	eth[13] = 54; /* length of the Ethernet, IPv4 and TCP headers */
	frame[12] = 0x08;
	frame[14] = 0x45;
	frame[14 + 9] = 6;
	frame[34 + 12] = 5 << 4;
	w.ds = 1 + 1 + 4;
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 200);
	expect(&r, &w, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR, "TSO on RC");
	rig_fini(&r);
}

/* ---- queues */

/*
 * In ERR, a WQE that is longer than the record announces must be flushed once, and no WQE after it
 * may be flushed.
 */
static void
case_flush_end(void)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_NOP, ALWAYS);
	struct rig r;

	rig_init(&r, NULL);
	w.ds = 8; /* two WQEBBs */
	CHECK_EQ(rig_modify(&r.a, IBV_QPS_ERR), 0, "ERR");
	(void)rig_put(&r.a, &w);
	atomic_store(&r.a.qp_db[MLX5_SND_DBR], htobe32(1));
	rig_run(&r);
	CHECK(rig_poll(&r.a) != NULL, "not flushed");
	CHECK(rig_poll(&r.a) == NULL, "flushed what was not posted");
	rig_fini(&r);
}

static void
expect_no_qp(struct rig *r, uint32_t sq_bb, uint32_t rq_wqe, uint32_t log_rq_stride)
{
	struct softhca_qp_init init = {.type = SOFTHCA_QP_RC,
		.pdn = RIG_PDN,
		.send_cq = r->a.cq,
		.recv_cq = r->a.cq,
		.uar = r->a.uar,
		.buf = r->a.qp_buf,
		.dbrec = r->a.qp_db,
		.sq_bb = sq_bb,
		.rq_wqe = rq_wqe,
		.log_rq_stride = log_rq_stride};
	struct softhca_qp *qp;
	unsigned int n_dev;
	int err = softhca_qp_create(softhca_devices(&n_dev), &init, &qp);

	CHECK_EQ(err, -EINVAL, "the sizes of a QP");
	if (err == 0)
		softhca_qp_destroy(qp);
}

static void
expect_no_srq(struct rig *r, uint32_t n_wqe, uint32_t log_stride)
{
	const struct softhca_srq_attr attr = {.pdn = RIG_PDN,
		.buf = r->a.qp_buf,
		.dbrec = r->a.qp_db,
		.n_wqe = n_wqe,
		.log_stride = log_stride};
	struct softhca_srq *srq;
	unsigned int n_dev;
	int err = softhca_srq_create(softhca_devices(&n_dev), &attr, &srq);

	CHECK_EQ(err, -EINVAL, "the sizes of an SRQ");
	if (err == 0)
		softhca_srq_destroy(srq);
}

/* In CQEs of 128 bytes, padding fills the first half. CQEs of 64 bytes have no padding. */
static void
expect_padded_resize(struct rig *r)
{
	static uint8_t buf[16 * 128] __attribute__((aligned(128)));
	struct softhca_cq_attr attr = {.buf = buf,
		.dbrec = r->b.qp_db + 8,
		.n_cqe = 16,
		.cqe_len = 128,
		.pad = true,
		.uar = r->a.uar};
	struct softhca_cq *cq;
	unsigned int n_dev;

	CHECK_EQ(softhca_cq_create(softhca_devices(&n_dev), &attr, &cq), 0, "a padded CQ");
	CHECK_EQ(softhca_cq_resize(cq, buf, 16, 64), -EINVAL, "padded, of 64 bytes");
	CHECK_EQ(softhca_cq_resize(cq, buf, 8, 128), 0, "padded, of 128 bytes");
	CHECK_EQ(softhca_cq_destroy(cq), 0, "destroy");
}

static void
case_sizes(void)
{
	struct rig r;

	rig_init(&r, NULL);
	expect_no_qp(&r, 3, 16, 6);
	expect_no_qp(&r, 65536, 16, 6);
	expect_no_qp(&r, 64, 3, 6);
	expect_no_qp(&r, 64, 65536, 6);
	expect_no_qp(&r, 64, 16, 3);
	expect_no_qp(&r, 64, 16, 11);
	expect_no_srq(&r, 0, 6);
	expect_no_srq(&r, 3, 6);
	expect_no_srq(&r, 65536, 6);
	expect_no_srq(&r, 16, 4);
	expect_no_srq(&r, 16, 11);
	CHECK_EQ(softhca_cq_resize(r.a.cq, r.a.cq_buf, 0, 64), -EINVAL, "no entries");
	CHECK_EQ(softhca_cq_resize(r.a.cq, r.a.cq_buf, 3, 64), -EINVAL, "3 entries");
	CHECK_EQ(softhca_cq_resize(r.a.cq, r.a.cq_buf, 1u << 24, 64), -EINVAL, "2^24 entries");
	expect_padded_resize(&r);
	CHECK_EQ(softhca_cq_resize(r.a.cq, r.a.cq_buf, 16, 32), -EINVAL, "entries of 32 bytes");
	rig_fini(&r);
}

int
main(void)
{
	RUN("inline data end within their WQE", case_inline_end());
	RUN("results are not written into the WQE", case_inline_answer());
	RUN("an atomic returns 8 bytes", case_atomic_length());
	RUN("a message is 2 GiB at most", case_message_length());
	RUN("a receive's list ends at its end marker only", case_receive_end());
	RUN("a DMA WQE has one opcode modifier and one size", case_mmo());
	RUN("operations inside the adapter have no address segment, on DCI and XRC",
		case_no_address());
	RUN("no opcode above 63 is run", case_opcodes());
	RUN("with timeout 0, an absent peer is waited for without limit", case_no_timeout());
	RUN("an RC queue pair cannot send raw packets", case_tso_on_rc());
	RUN("a flush ends at the last WQE that the record counts", case_flush_end());
	RUN("sizes that queues cannot have are refused", case_sizes());
	return check_failures != 0;
}
