/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each check that can fail a request: its name in the log (enum wire_vendor), and the vendor
 * syndrome of the completion. For each check of a QP there is one request with one error.
 *
 * Vendor syndromes with a source below were seen in completions of real adapters. Vendor syndromes
 * without a source follow from the table of libdpcp (NVIDIA; src/dpcp/err_cqe.cpp).
 */
#include <stdlib.h>

#include "check.h"
#include "devices.h"
#include "qp.h"
#include "softhca.h"
#include "softhca_rig.h"
#include "wire.h"

#define ALWAYS MLX5_WQE_CTRL_CQ_UPDATE

enum vendor {
	RECEIVE_KEY = 0x32,   /* openucx/ucx PR 7801 */
	WRITE_ACCESS = 0x33,  /* READ without LOCAL_WRITE, ConnectX-6, 100 times */
	READ_KEY = 0x52,      /* openucx/ucx 6414, spdk/spdk 961; ConnectX-6, 100 times */
	READ_ACCESS = 0x53,   /* access beyond a region's end: spdk/spdk 500, 507 */
	BAD_WQE = 0x68,       /* openucx/ucx 1151, 3618 */
	RETRIES = 0x81,       /* openucx/ucx 6000, 7416 */
	RNR = 0x87,           /* ConnectX-6, 100 times */
	NAK_ACCESS = 0x88,    /* openucx/ucx 1569, 1834; open-mpi/ompi 1241 */
	NAK_OPERATION = 0x89, /* openucx/ucx 5472 */
	NAK_INVALID = 0x8a,   /* openucx/ucx 1770, 4176 */
	/* the first WQE after the QP was modified to ERR, ConnectX-6, each time */
	MOVED = 0xf5,
	FLUSHED = 0xf9, /* NVIDIA/nccl 1353, 1405, 1698; openucx/ucx 3851 */
	/* The following values are only in libdpcp's table. */
	RECEIVE_LENGTH = 0x2c,
	WRITE_LENGTH = 0x34,
	TOO_LONG = 0x69,
	RESERVED_OPCODE = 0x71,
	INVALIDATE = 0xcb
};

static struct rig r;

static void
begin(const struct rig_opts *o)
{
	rig_check = VEN_NONE;
	rig_init(&r, o);
}

/* Checks the completion of the posted WQE, and destroys the rig. */
static void
end(uint8_t syndrome, unsigned int check, uint8_t vendor, const char *what)
{
	const struct mlx5_cqe64 *cqe;

	rig_run(&r);
	cqe = rig_poll(&r.a);
	CHECK(cqe != NULL && cqe->op_own >> 4 == MLX5_CQE_REQ_ERR, "%s: no error", what);
	if (cqe != NULL && cqe->op_own >> 4 == MLX5_CQE_REQ_ERR) {
		CHECK_EQ(rig_err(cqe)->syndrome, syndrome, what);
		CHECK_EQ(rig_err(cqe)->vendor_err_synd, vendor, what);
		CHECK_EQ(rig_check, check, what);
	}
	rig_fini(&r);
}

static struct softhca_dev *
device(void)
{
	unsigned int n;

	return softhca_devices(&n);
}

/* ---- the control segment */

static void
break_control(unsigned int byte, uint8_t flip, unsigned int check, const char *what)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_NOP, ALWAYS);
	uint16_t idx;

	begin(NULL);
	idx = rig_put(&r.a, &w);
	rig_sq_at(&r.a, idx)[byte] ^= flip;
	rig_record(&r.a);
	rig_bell(&r.a, idx);
	end(SYN_QP_OP, check, BAD_WQE, what);
}

static void
case_control(void)
{
	struct rig_wqe w;

	break_control(2, 1, VEN_WQE_INDEX, "another index");
	break_control(6, 1, VEN_WQE_QPN, "another QP");
	break_control(7, 1, VEN_WQE_DS, "no DS");
	break_control(7, 0x3f, VEN_WQE_DS, "a DS beyond the record");
	for (unsigned int opcode = 0x3e; opcode <= 0x40; opcode += 2) {
		w = rig_wqe((uint8_t)opcode, ALWAYS);
		begin(NULL);
		rig_post(&r.a, &w);
		end(SYN_QP_OP, VEN_WQE_OPCODE, RESERVED_OPCODE, "an unknown opcode");
	}
	w = rig_wqe(MLX5_OPCODE_RDMA_WRITE, ALWAYS);
	begin(NULL);
	rig_post(&r.a, &w);
	end(SYN_QP_OP, VEN_WQE_DS, BAD_WQE, "a write without an address");
	w = rig_wqe(MLX5_OPCODE_TSO, ALWAYS);
	w.ds = 6;
	begin(NULL);
	rig_post(&r.a, &w);
	end(SYN_QP_OP, VEN_QP_TYPE, BAD_WQE, "TSO on RC");
}

static void
case_doorbell(void)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_NOP, ALWAYS);
	uint16_t idx;

	/* The doorbell differs from its WQE. */
	begin(NULL);
	idx = rig_put(&r.a, &w);
	rig_record(&r.a);
	rig_bell(&r.a, idx);
	rig_sq_at(&r.a, idx)[3] = MLX5_OPCODE_SEND;
	end(SYN_QP_OP, VEN_DOORBELL, BAD_WQE, "a doorbell that differs");

	w = rig_wqe(MLX5_OPCODE_SEND, ALWAYS);
	begin(NULL);
	rig_inline(&w, "0123456789abcdef", 16);
	idx = rig_put(&r.a, &w);
	rig_record(&r.a);
	rig_blueflame(&r.a, idx);
	rig_sq_at(&r.a, idx)[24] ^= 1;
	end(SYN_QP_OP, VEN_BLUEFLAME, BAD_WQE, "a BlueFlame copy that differs");

	/*
	 * If one doorbell announces several WQEs, it contains the start of the last WQE: the WQEs
	 * before it are executed.
	 */
	w = rig_wqe(MLX5_OPCODE_NOP, 0);
	begin(NULL);
	for (unsigned int i = 0; i < 3; i++)
		idx = rig_put(&r.a, &w);
	rig_record(&r.a);
	rig_bell(&r.a, idx);
	rig_sq_at(&r.a, idx)[3] = MLX5_OPCODE_SEND;
	end(SYN_QP_OP, VEN_DOORBELL, BAD_WQE, "the last of several, whose doorbell differs");
}

/* ---- data segments */

static void
case_segments(void)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND, ALWAYS);
	uint32_t len = htobe32(13 | MLX5_INLINE_SEG);

	begin(NULL);
	rig_inline(&w, "0123456789ab", 12);
	memcpy(w.bytes + 16, &len, 4);
	rig_post(&r.a, &w);
	end(SYN_QP_OP, VEN_SEGMENT, BAD_WQE, "inline data beyond the WQE");

	w = rig_wqe(MLX5_OPCODE_RDMA_READ, ALWAYS);
	begin(NULL);
	rig_raddr(&w, rig_va(r.b.buf), r.b.key);
	rig_inline(&w, "", 1);
	rig_post(&r.a, &w);
	end(SYN_QP_OP, VEN_SEGMENT, BAD_WQE, "a read into the WQE");

	w = rig_wqe(MLX5_OPCODE_ATOMIC_FA, ALWAYS);
	begin(NULL);
	rig_raddr(&w, rig_va(r.b.buf), r.b.key);
	rig_atomic(&w, 1, 0);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 16);
	rig_post(&r.a, &w);
	end(SYN_LOC_LEN, VEN_LENGTH, WRITE_LENGTH, "an atomic of 16 bytes");

	w = rig_wqe(MLX5_OPCODE_ATOMIC_FA, ALWAYS);
	begin(NULL);
	rig_raddr(&w, rig_va(r.b.buf) + 4, r.b.key);
	rig_atomic(&w, 1, 0);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 8);
	rig_post(&r.a, &w);
	end(SYN_REM_INV_REQ, VEN_ALIGNMENT, NAK_INVALID, "an atomic across 8 bytes");
}

/* ---- the DMA engine */

static void
copy(uint8_t opmod, uint32_t ds, uint32_t len, uint8_t syndrome, unsigned int check, uint8_t vendor)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_MMO, ALWAYS);

	begin(&(struct rig_opts){.max_memcpy = 64});
	w.opmod = opmod;
	rig_sge(&w, rig_va(r.a.buf) + RIG_BUF - 64, r.a.key, 0);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, len);
	rig_sge(&w, rig_va(r.a.buf) + 128, r.a.key, len);
	w.ds = ds;
	rig_post(&r.a, &w);
	end(syndrome, check, vendor, "a copy");
}

static void
case_copies(void)
{
	copy(0, 4, 64, SYN_QP_OP, VEN_WQE_OPCODE, RESERVED_OPCODE);
	copy(1, 3, 64, SYN_QP_OP, VEN_WQE_DS, BAD_WQE);
	copy(1, 4, 65, SYN_LOC_LEN, VEN_LENGTH, TOO_LONG);
}

/* ---- keys, at both ends */

enum wrong {
	INDEX,
	VARIANT,
	PD,
	ACCESS,
	BOUNDS,
	N_WRONG
};

static const struct {
	unsigned int check;
	uint8_t reads, writes; /* vendor syndromes if local memory is read, and if it is written */
} key_errors[N_WRONG] = {
	[INDEX] = {VEN_KEY_INDEX, READ_KEY, RECEIVE_KEY},
	[VARIANT] = {VEN_KEY_VARIANT, READ_KEY, RECEIVE_KEY},
	[PD] = {VEN_KEY_PD, READ_KEY, RECEIVE_KEY},
	[ACCESS] = {VEN_KEY_ACCESS, 0, WRITE_ACCESS}, /* every key allows local reads */
	[BOUNDS] = {VEN_KEY_BOUNDS, READ_ACCESS, WRITE_ACCESS},
};

/* Makes a key over the end's buffer with one error. */
static uint32_t
wrong_key(struct rig_end *e, enum wrong wrong, struct softhca_mkey **mkey)
{
	struct softhca_mkey_attr attr = {.pdn = wrong == PD ? RIG_PDN + 1 : RIG_PDN,
		.access = wrong == ACCESS ? IBV_ACCESS_LOCAL_WRITE
					  : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
						    IBV_ACCESS_REMOTE_READ,
		.addr = rig_va(e->buf),
		.iova = rig_va(e->buf),
		.len = wrong == BOUNDS ? 63 : RIG_BUF};

	if (wrong == ACCESS && e == &r.a)
		attr.access = 0;
	CHECK_EQ(softhca_mkey_create(device(), &attr, mkey), 0, "key");
	return softhca_mkey_key(*mkey) ^ (wrong == VARIANT ? 1 : wrong == INDEX ? 0x80000000 : 0);
}

/* The access for which the key is used. */
enum use {
	READS,  /* source of a write */
	WRITES, /* destination of a read */
	REMOTE,
	N_USES
};

static void
use_wrong_key(enum wrong wrong, enum use use)
{
	static const uint8_t syndrome[N_USES] = {SYN_LOC_PROT, SYN_LOC_PROT, SYN_REM_ACCESS};
	const uint8_t vendor[N_USES] = {key_errors[wrong].reads, key_errors[wrong].writes,
		NAK_ACCESS};
	struct rig_wqe w =
		rig_wqe(use == WRITES ? MLX5_OPCODE_RDMA_READ : MLX5_OPCODE_RDMA_WRITE, ALWAYS);
	struct softhca_mkey *mkey;
	uint32_t key;

	begin(NULL);
	key = wrong_key(use == REMOTE ? &r.b : &r.a, wrong, &mkey);
	rig_raddr(&w, rig_va(r.b.buf), use == REMOTE ? key : r.b.key);
	rig_sge(&w, rig_va(r.a.buf), use == REMOTE ? r.a.key : key, 64);
	rig_post(&r.a, &w);
	rig_run(&r);
	CHECK_EQ(softhca_mkey_destroy(mkey), 0, "destroy");
	end(syndrome[use], key_errors[wrong].check, vendor[use], "a key");
}

static void
case_keys(void)
{
	for (enum wrong wrong = 0; wrong < N_WRONG; wrong++)
		for (enum use use = 0; use < N_USES; use++)
			if (wrong != ACCESS || use != READS)
				use_wrong_key(wrong, use);
}

/* A free key: no UMR has configured it, so a write to it is refused. */
static void
case_free_key(void)
{
	struct softhca_mkey_attr attr = {.pdn = RIG_PDN,
		.kind = SOFTHCA_MKEY_INDIRECT,
		.free = true,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		.max_entries = 4};
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_RDMA_WRITE, ALWAYS);
	struct softhca_mkey *mkey;

	begin(NULL);
	CHECK_EQ(softhca_mkey_create(device(), &attr, &mkey), 0, "key");
	rig_raddr(&w, 0, softhca_mkey_key(mkey));
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 64);
	rig_post(&r.a, &w);
	rig_run(&r);
	CHECK_EQ(softhca_mkey_destroy(mkey), 0, "destroy");
	end(SYN_REM_ACCESS, VEN_KEY_FREE, NAK_ACCESS, "a key that is not configured");
}

/* ---- access flags and limits of the QPs */

static void
connect_b(uint32_t access)
{
	struct softhca_qp_attr attr = {.state = IBV_QPS_RTS, .access = access};

	CHECK_EQ(softhca_qp_modify(r.b.qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS), 0, "rights");
}

static void
case_qp(void)
{
	static const uint8_t opcodes[] = {MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_READ,
		MLX5_OPCODE_ATOMIC_FA};
	static const uint32_t rights[] = {IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_REMOTE_ATOMIC};

	for (unsigned int i = 0; i < 3; i++) {
		struct rig_wqe w = rig_wqe(opcodes[i], ALWAYS);

		begin(NULL);
		connect_b((rights[0] | rights[1] | rights[2]) & ~rights[i]);
		rig_raddr(&w, rig_va(r.b.buf), r.b.key);
		if (i == 2)
			rig_atomic(&w, 1, 0);
		rig_sge(&w, rig_va(r.a.buf), r.a.key, 8);
		rig_post(&r.a, &w);
		end(SYN_REM_INV_REQ, VEN_QP_ACCESS, NAK_INVALID,
			"an access that the QP does not allow");
	}
}

static void
case_receives(void)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND, ALWAYS);

	begin(&(struct rig_opts){.no_connect = true});
	rig_connect(&r.a, r.b.qpn, 0, 1);
	rig_connect(&r.b, r.a.qpn, 0, 1);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 8);
	rig_post(&r.a, &w);
	end(SYN_RNR, VEN_RNR, RNR, "no receive");

	w = rig_wqe(MLX5_OPCODE_SEND, ALWAYS);
	begin(NULL);
	rig_recv(&r.b, rig_va(r.b.buf), r.b.key, 7);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 8);
	rig_post(&r.a, &w);
	rig_run(&r);
	{
		const struct mlx5_cqe64 *cqe = rig_poll(&r.b);

		CHECK(cqe != NULL && rig_err(cqe)->syndrome == SYN_LOC_LEN, "a short receive");
		if (cqe != NULL)
			CHECK_EQ(rig_err(cqe)->vendor_err_synd, RECEIVE_LENGTH, "a short receive");
	}
	end(SYN_REM_INV_REQ, VEN_PEER_RECEIVE, NAK_INVALID, "a short receive at the peer");

	w = rig_wqe(MLX5_OPCODE_SEND, ALWAYS);
	begin(NULL);
	rig_recv(&r.b, rig_va(r.b.buf), r.b.key ^ 1, 64);
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 8);
	rig_post(&r.a, &w);
	rig_run(&r);
	{
		const struct mlx5_cqe64 *cqe = rig_poll(&r.b);

		CHECK(cqe != NULL && rig_err(cqe)->syndrome == SYN_LOC_PROT, "a receive's key");
		if (cqe != NULL)
			CHECK_EQ(rig_err(cqe)->vendor_err_synd, RECEIVE_KEY, "a receive's key");
	}
	end(SYN_REM_OP, VEN_PEER_RECEIVE, NAK_OPERATION, "a receive's key at the peer");
}

/* Returns the vendor syndrome of an end's next completion, which must be "flushed". */
static uint8_t
flushed(struct rig_end *e, uint8_t opcode)
{
	const struct mlx5_cqe64 *cqe = rig_poll(e);

	CHECK(cqe != NULL, "no completion");
	if (cqe == NULL)
		return 0;
	CHECK_EQ(cqe->op_own >> 4, opcode, "flushed");
	CHECK_EQ(rig_err(cqe)->syndrome, SYN_FLUSH, "flushed");
	return rig_err(cqe)->vendor_err_synd;
}

static void
case_flushed(void)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_NOP, ALWAYS);
	struct rig_wqe bad = rig_wqe(0x3e, ALWAYS);

	begin(NULL);
	rig_recv(&r.a, rig_va(r.a.buf), r.a.key, 64);
	CHECK_EQ(rig_modify(&r.a, IBV_QPS_ERR), 0, "ERR");
	rig_run(&r);
	CHECK_EQ(flushed(&r.a, MLX5_CQE_RESP_ERR), FLUSHED, "a receive");
	for (unsigned int i = 0; i < 3; i++)
		rig_post(&r.a, &w);
	rig_run(&r);
	CHECK_EQ(flushed(&r.a, MLX5_CQE_REQ_ERR), MOVED, "the first WQE");
	CHECK_EQ(flushed(&r.a, MLX5_CQE_REQ_ERR), FLUSHED, "the second WQE");
	CHECK_EQ(flushed(&r.a, MLX5_CQE_REQ_ERR), FLUSHED, "the third WQE");
	rig_fini(&r);
	/*
	 * No command moves the QP to ERR here, but a failed WQE does. The WQE after the failed WQE
	 * must have the ordinary vendor syndrome, although a command moved the QP to ERR before the
	 * last RESET.
	 */
	begin(NULL);
	CHECK_EQ(rig_modify(&r.a, IBV_QPS_ERR), 0, "to ERR");
	rig_run(&r);
	CHECK_EQ(rig_modify(&r.a, IBV_QPS_RESET), 0, "to RESET");
	r.a.sq_pi = 0;
	rig_connect(&r.a, r.b.qpn, 7, 1);
	(void)rig_put(&r.a, &bad);
	rig_post(&r.a, &w);
	rig_run(&r);
	CHECK(rig_poll(&r.a) != NULL, "the error");
	CHECK_EQ(flushed(&r.a, MLX5_CQE_REQ_ERR), FLUSHED, "behind an error");
	CHECK_EQ(rig_check, VEN_WQE_OPCODE, "nothing is logged of flushed work");
	rig_fini(&r);
}

/* ---- keys to invalidate, links, and other fields of a CQE */

/*
 * A SEND with invalidate names a region without the right of remote invalidation: both ends get an
 * error.
 */
static void
case_invalidate(void)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND_INVAL, ALWAYS);
	const struct mlx5_cqe64 *cqe;

	begin(NULL);
	rig_recv(&r.b, rig_va(r.b.buf), r.b.key, 64);
	w.imm = r.b.key;
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 8);
	rig_post(&r.a, &w);
	rig_run(&r);
	cqe = rig_poll(&r.b);
	CHECK(cqe != NULL && cqe->op_own >> 4 == MLX5_CQE_RESP_ERR, "the receive fails");
	if (cqe != NULL)
		CHECK_EQ(rig_err(cqe)->vendor_err_synd, INVALIDATE, "the receive");
	end(SYN_REM_OP, VEN_KEY_ACCESS, NAK_OPERATION, "a SEND with invalidate");
}

/*
 * If the link is down, the retries must end with the same vendor syndrome as if the peer did not
 * exist.
 */
static void
case_no_link(void)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND, ALWAYS);
	const struct mlx5_cqe64 *cqe;

	begin(NULL);
	r.a.qp->attr.timeout = 1;
	r.a.qp->attr.retry_cnt = 0;
	CHECK_EQ(softhca_fault("port_down"), 0, "the fault");
	rig_sge(&w, rig_va(r.a.buf), r.a.key, 8);
	rig_post(&r.a, &w);
	cqe = rig_wait(&r, &r.a, CHECK_PATIENCE_MS);
	CHECK(cqe != NULL, "no completion");
	if (cqe != NULL) {
		CHECK_EQ(rig_err(cqe)->syndrome, SYN_RETRY, "without a link");
		CHECK_EQ(rig_err(cqe)->vendor_err_synd, RETRIES, "without a link");
	}
	softhca_faults_clear();
	rig_fini(&r);
}

/* All bytes of a CQE must be written: bytes without a meaning for this completion must become 0. */
static void
case_whole(void)
{
	struct rig_wqe nop = rig_wqe(MLX5_OPCODE_NOP, ALWAYS);
	struct rig_wqe add = rig_wqe(MLX5_OPCODE_ATOMIC_FA, ALWAYS);
	struct rig_wqe bad = rig_wqe(0x3e, ALWAYS);
	struct mlx5_cqe64 want = {.srqn_uidx = htobe32(0xaa)}, got;
	struct mlx5_err_cqe error = {.srqn = htobe32(0xaa),
		.vendor_err_synd = RESERVED_OPCODE,
		.syndrome = SYN_QP_OP};

	begin(NULL);
	memset(r.a.cq_buf + 64, 0xa5, 63);
	memset(r.a.cq_buf + 128, 0xa5, 63);
	/* The CQE before was that of an atomic, whose byte count is 8. */
	rig_raddr(&add, rig_va(r.b.buf), r.b.key);
	rig_atomic(&add, 1, 0);
	rig_sge(&add, rig_va(r.a.buf), r.a.key, 8);
	(void)rig_put(&r.a, &add);
	(void)rig_put(&r.a, &nop);
	rig_post(&r.a, &bad);
	rig_run(&r);
	memcpy(&got, r.a.cq_buf + 64, sizeof(got));
	CHECK(got.timestamp != 0, "a timestamp");
	want.timestamp = got.timestamp;
	want.sop_drop_qpn = htobe32(r.a.qpn | (uint32_t)MLX5_OPCODE_NOP << 24);
	want.wqe_counter = htobe16(1);
	want.op_own = MLX5_CQE_REQ << 4;
	check_bytes(&got, &want, sizeof(got), "the CQE of a NOP");
	error.s_wqe_opcode_qpn = htobe32(r.a.qpn | 0x3eu << 24);
	error.wqe_counter = htobe16(2);
	error.op_own = MLX5_CQE_REQ_ERR << 4;
	check_bytes(r.a.cq_buf + 128, &error, sizeof(error), "the CQE of an error");
	rig_fini(&r);
}

int
main(void)
{
	RUN("each error of a control segment has its own vendor syndrome", case_control());
	RUN("a doorbell that differs from its WQE has its vendor syndrome", case_doorbell());
	RUN("each error of a data segment has its own vendor syndrome", case_segments());
	RUN("a copy that the DMA engine refuses has its vendor syndrome", case_copies());
	RUN("each refusal of a key has its vendor syndrome, at both ends", case_keys());
	RUN("a key that is free has its vendor syndrome", case_free_key());
	RUN("each refusal of the responder's QP has its vendor syndrome", case_qp());
	RUN("a receive that fails has its vendor syndrome, at both ends", case_receives());
	RUN("flushed work has one of two vendor syndromes", case_flushed());
	RUN("a key that may not be invalidated has its vendor syndrome, at both ends",
		case_invalidate());
	RUN("without a link, a request fails as if it had no peer", case_no_link());
	RUN("all bytes of a CQE are written", case_whole());
	return check_failures != 0;
}
