/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CQEs of every kind, read by libmlx5 and by hwq. A CQE of 64 random bytes, with the right queue
 * number, is written to the entry that libmlx5 reads next. hwq must report the same fields as
 * libmlx5 (ibv_start_poll(3), mlx5dv_mkey_check(3)). The QP is idle, so nothing else writes this
 * CQ.
 */
#include "hwq_emu.h"

static struct hwq_dev *dev;
static uint64_t rnd = 5;

/* The CQ entry that libmlx5 reads next, and the number of entries that it has read. */
struct place {
	struct mlx5dv_cq view;
	uint32_t ci;
};

static void
place_init(struct place *p, struct ibv_cq *cq)
{
	struct mlx5dv_obj obj;

	memset(p, 0, sizeof(*p));
	obj.cq.in = cq;
	obj.cq.out = &p->view;
	if (mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ) != 0 || p->view.cqe_size != 64)
		EMU_DIE("where the CQ is");
}

static uint8_t *
place_next(const struct place *p)
{
	return (uint8_t *)p->view.buf + (size_t)(p->ci & (p->view.cqe_cnt - 1)) * 64;
}

/* Writes the bytes to the CQ as a device does. */
static void
place_put(struct place *p, uint8_t cqe[64])
{
	cqe[63] = (uint8_t)((cqe[63] & ~1) | ((p->ci / p->view.cqe_cnt) & 1));
	memcpy(place_next(p), cqe, 64);
	p->ci++;
}

/* ------------------------------------------------------------------ work and receives */

struct reader {
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;
	struct place place;
	uint8_t sent[64], received[64]; /* a real CQE of a send and of a receive */
};

static void
reader_create(struct reader *r)
{
	struct ibv_cq_init_attr_ex cq_attr = {.cqe = 7,
		.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			    IBV_WC_EX_WITH_CVLAN};
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED},
			   *bad_send;
	struct ibv_recv_wr recv = {0}, *bad_recv;
	struct ibv_wc wc[2];

	r->cq = ibv_create_cq_ex(dev->ctx, &cq_attr);
	if (r->cq == NULL)
		EMU_DIE("CQ: %s", strerror(errno));
	attr.send_cq = attr.recv_cq = ibv_cq_ex_to_cq(r->cq);
	r->qp = ibv_create_qp(dev->pd, &attr);
	if (r->qp == NULL)
		EMU_DIE("QP: %s", strerror(errno));
	stock_to_init(dev, r->qp);
	stock_connect(dev, r->qp, r->qp->qp_num);
	place_init(&r->place, attr.send_cq);
	if (ibv_post_recv(r->qp, &recv, &bad_recv) != 0 ||
		ibv_post_send(r->qp, &send, &bad_send) != 0)
		EMU_DIE("a message");
	emu_pump();
	memcpy(r->received, place_next(&r->place), 64);
	r->place.ci++;
	memcpy(r->sent, place_next(&r->place), 64);
	r->place.ci++;
	if (ibv_poll_cq(attr.send_cq, 2, wc) != 2 || wc[0].opcode != IBV_WC_RECV ||
		wc[1].opcode != IBV_WC_SEND)
		EMU_DIE("a message's completions");
}

static void
reader_destroy(struct reader *r)
{
	if (ibv_destroy_qp(r->qp) != 0 || ibv_destroy_cq(ibv_cq_ex_to_cq(r->cq)) != 0)
		EMU_DIE("destroying");
}

static void
draw(struct reader *r, uint8_t opcode, uint8_t cqe[64])
{
	static const uint8_t work[] = {MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE_IMM,
		MLX5_OPCODE_SEND, MLX5_OPCODE_SEND_IMM, MLX5_OPCODE_RDMA_READ,
		MLX5_OPCODE_ATOMIC_CS, MLX5_OPCODE_ATOMIC_FA};
	bool requester = opcode == MLX5_CQE_REQ || opcode == MLX5_CQE_REQ_ERR;
	const uint8_t *real = requester ? r->sent : r->received;
	unsigned int i;

	for (i = 0; i < 64; i++)
		cqe[i] = (uint8_t)check_random(&rnd);
	memcpy(cqe + 32, real + 32, 4); /* user index */
	cqe[40] = 0;                    /* no tag matching */
	cqe[56] = work[check_random(&rnd) % sizeof(work)];
	memcpy(cqe + 57, real + 57, 5); /* QPN, counter */
	cqe[63] = (uint8_t)(opcode << 4 | (check_random(&rnd) & 2));
	/* Draws a known syndrome in most error CQEs, otherwise any value. */
	if (opcode >= MLX5_CQE_REQ_ERR && check_random(&rnd) % 4 != 0)
		cqe[55] = (uint8_t)(check_random(&rnd) % 0x24);
	/* An error CQE must not have syndrome 0. */
	if (cqe[55] == 0)
		cqe[55] = 1;
	/*
	 * Vendor syndrome 0x93 is a page fault: libmlx5 would then post an SRQ's entry again. So it
	 * is not drawn.
	 */
	if (cqe[54] == 0x93)
		cqe[54] = 0;
}

static unsigned int
verbs_flags(const struct hwq_cqe *rec)
{
	return (rec->recv.flags & HWQ_RECV_WITH_IMM ? IBV_WC_WITH_IMM : 0) |
	       (rec->recv.flags & HWQ_RECV_WITH_INV ? IBV_WC_WITH_INV : 0) |
	       (rec->recv.flags & HWQ_RECV_GRH ? IBV_WC_GRH : 0);
}

static void
compare_recv(struct ibv_cq_ex *cq, const struct hwq_cqe *rec)
{
	CHECK_EQ(verbs_flags(rec), ibv_wc_read_wc_flags(cq), "flags");
	if (rec->recv.flags & HWQ_RECV_WITH_INV)
		CHECK_EQ(hwq_cqe_inval_rkey(rec), ibv_wc_read_invalidated_rkey(cq), "key");
	else
		CHECK_EQ(rec->imm_inval, ibv_wc_read_imm_data(cq), "immediate");
	CHECK_EQ(rec->recv.src_qp, ibv_wc_read_src_qp(cq), "sender's QPN");
	CHECK_EQ(rec->recv.slid, ibv_wc_read_slid(cq), "LID");
	CHECK_EQ(rec->recv.sl, ibv_wc_read_sl(cq), "service level");
	CHECK_EQ(rec->recv.dlid_path_bits, ibv_wc_read_dlid_path_bits(cq), "path bits");
	CHECK_EQ(rec->recv.vlan, ibv_wc_read_cvlan(cq), "VLAN");
}

static void
work_and_receives(void)
{
	static const uint8_t opcodes[] = {MLX5_CQE_REQ, MLX5_CQE_RESP_WR_IMM, MLX5_CQE_RESP_SEND,
		MLX5_CQE_RESP_SEND_IMM, MLX5_CQE_RESP_SEND_INV, MLX5_CQE_REQ_ERR,
		MLX5_CQE_RESP_ERR};
	static const enum ibv_wc_opcode verbs[] = {[MLX5_CQE_RESP_WR_IMM] =
							   IBV_WC_RECV_RDMA_WITH_IMM,
		[MLX5_CQE_RESP_SEND] = IBV_WC_RECV,
		[MLX5_CQE_RESP_SEND_IMM] = IBV_WC_RECV,
		[MLX5_CQE_RESP_SEND_INV] = IBV_WC_RECV};
	struct ibv_poll_cq_attr attr = {0};
	uint32_t counts[16] = {0};
	struct hwq_cqe rec = {0};
	struct reader r;
	uint8_t cqe[64];
	unsigned int i;

	reader_create(&r);
	for (i = 0; i < 100000 && check_failures == 0; i++) {
		uint8_t opcode = opcodes[check_random(&rnd) % sizeof(opcodes)];

		draw(&r, opcode, cqe);
		place_put(&r.place, cqe);
		hwq_cqe_decode((const struct mlx5_cqe64 *)cqe, &rec);
		counts[opcode]++;
		CHECK_EQ(ibv_start_poll(r.cq, &attr), 0, "ibv_start_poll()");
		CHECK_EQ(rec.opcode, opcode, "opcode");
		CHECK_EQ(rec.qpn, ibv_wc_read_qp_num(r.cq), "QPN");
		CHECK_EQ(hwq_syndrome_status(rec.syndrome), r.cq->status, "status");
		if (opcode >= MLX5_CQE_REQ_ERR) {
			CHECK_EQ(rec.vendor_err, ibv_wc_read_vendor_err(r.cq), "vendor syndrome");
			CHECK_EQ(rec.hw_syndrome, cqe[52], "hardware syndrome");
		} else {
			CHECK_EQ(rec.byte_cnt, ibv_wc_read_byte_len(r.cq), "bytes");
			CHECK_EQ(rec.timestamp, ibv_wc_read_completion_ts(r.cq), "timestamp");
		}
		if (opcode == MLX5_CQE_REQ || opcode == MLX5_CQE_REQ_ERR)
			CHECK_EQ(rec.wqe_opcode, cqe[56], "the WQE's opcode");
		if (opcode >= MLX5_CQE_RESP_WR_IMM && opcode <= MLX5_CQE_RESP_SEND_INV) {
			CHECK_EQ(verbs[opcode], ibv_wc_read_opcode(r.cq), "opcode of a receive");
			compare_recv(r.cq, &rec);
		}
		ibv_end_poll(r.cq);
	}
	for (i = 0; i < sizeof(opcodes); i++)
		printf("  opcode %u: %u CQEs\n", opcodes[i], counts[opcodes[i]]);
	reader_destroy(&r);
}

/* ------------------------------------------------------------------ signature errors */

/* Signatures of two kinds out of T10-DIF, CRC32 and CRC64: one in memory, the other on the wire. */
struct signer {
	struct stock s;
	struct mlx5dv_mkey *mkey;
	struct place place;
	unsigned int guard_bits[2]; /* number of guard bits on the wire and in memory */
};

static void
signer_configure(struct signer *g, const struct mlx5dv_sig_block_domain *mem,
	const struct mlx5dv_sig_block_domain *wire)
{
	struct mlx5dv_sig_block_attr block = {.mem = mem, .wire = wire, .check_mask = 0xff};
	struct mlx5dv_mkey_conf_attr conf = {0};
	static uint8_t data[4096];
	struct hwq_mr mr;
	struct ibv_sge sge;
	struct ibv_wc wc;

	if (hwq_mr_register(dev, data, sizeof(data), IBV_ACCESS_LOCAL_WRITE, &mr) != 0)
		EMU_DIE("registering");
	sge = (struct ibv_sge){(uintptr_t)data, 512, mr.lkey};
	ibv_wr_start(g->s.ex);
	g->s.ex->wr_id = 1;
	g->s.ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(g->s.dv, g->mkey, 3, &conf);
	mlx5dv_wr_set_mkey_access_flags(g->s.dv, IBV_ACCESS_LOCAL_WRITE);
	mlx5dv_wr_set_mkey_layout_list(g->s.dv, 1, &sge);
	mlx5dv_wr_set_mkey_sig_block(g->s.dv, &block);
	if (ibv_wr_complete(g->s.ex) != 0)
		EMU_DIE("configuring a key");
	emu_pump();
	/* The work may fail. It only has to make libmlx5 store the key's signatures. */
	while (ibv_poll_cq(g->s.cq, 1, &wc) == 1)
		g->place.ci++;
	if (hwq_mr_deregister(&mr) != 0)
		EMU_DIE("deregistering");
}

static void
signer_create(struct signer *g, const struct mlx5dv_sig_block_domain *mem,
	const struct mlx5dv_sig_block_domain *wire)
{
	struct hwq_qp_conf conf = {.sq_wr = 8,
		.max_inline = 512,
		.mlx5_ops = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE};
	struct mlx5dv_mkey_init_attr attr = {.pd = dev->pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE,
		.max_entries = 4};

	stock_create(dev, &conf, &g->s);
	stock_connect(dev, g->s.qp, g->s.qp->qp_num);
	place_init(&g->place, g->s.cq);
	g->mkey = mlx5dv_create_mkey(&attr);
	if (g->mkey == NULL)
		EMU_DIE("a key: %s", strerror(errno));
	signer_configure(g, mem, wire);
}

static void
signer_destroy(struct signer *g)
{
	if (mlx5dv_destroy_mkey(g->mkey) != 0)
		EMU_DIE("destroying a key");
	stock_destroy(&g->s);
}

static void
compare_sig(struct signer *g, uint32_t counts[4])
{
	static const enum mlx5dv_mkey_err_type types[] = {[HWQ_SIG_REFTAG] =
								  MLX5DV_MKEY_SIG_BLOCK_BAD_REFTAG,
		[HWQ_SIG_APPTAG] = MLX5DV_MKEY_SIG_BLOCK_BAD_APPTAG,
		[HWQ_SIG_GUARD] = MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD};
	struct mlx5dv_mkey_err err;
	struct hwq_cqe rec = {0};
	uint64_t expected, actual;
	uint8_t cqe[64];
	struct ibv_wc wc;
	unsigned int i;
	int ret;

	for (i = 0; i < 64; i++)
		cqe[i] = (uint8_t)check_random(&rnd);
	cqe[32] = (uint8_t)(check_random(&rnd) & 0x38);
	cqe[34] = check_random(&rnd) % 8 == 0;
	cqe[35] = (uint8_t)(check_random(&rnd) % 2);
	memcpy(cqe + 36, &(__be32){htobe32(g->mkey->lkey)}, 4);
	cqe[63] = MLX5_CQE_SIG_ERR << 4;
	place_put(&g->place, cqe);
	CHECK_EQ(ibv_poll_cq(g->s.cq, 1, &wc), 0, "completions");
	hwq_cqe_decode((const struct mlx5_cqe64 *)cqe, &rec);
	ret = mlx5dv_mkey_check(g->mkey, &err);
	CHECK_EQ(rec.sig.mkey, g->mkey->lkey, "key");
	counts[rec.sig.kind]++;
	if (rec.sig.kind == HWQ_SIG_UNKNOWN || rec.sig.transaction) {
		CHECK_EQ(ret, EINVAL, "an error that libmlx5 does not know");
		return;
	}
	CHECK_EQ(ret, 0, "mlx5dv_mkey_check()");
	CHECK_EQ(types[rec.sig.kind], err.err_type, "kind");
	expected = rec.sig.expected;
	actual = rec.sig.actual;
	if (rec.sig.kind == HWQ_SIG_GUARD) {
		expected = hwq_sig_guard(expected, g->guard_bits[rec.sig.memory]);
		actual = hwq_sig_guard(actual, g->guard_bits[rec.sig.memory]);
	}
	CHECK_EQ(expected, err.err.sig.expected_value, "expected");
	CHECK_EQ(actual, err.err.sig.actual_value, "actual");
	CHECK_EQ(rec.sig.offset, err.err.sig.offset, "offset");
}

static void
signature_errors(void)
{
	struct mlx5dv_sig_t10dif dif = {.bg_type = MLX5DV_SIG_T10DIF_CRC,
		.app_tag = 1,
		.ref_tag = 2,
		.flags = MLX5DV_SIG_T10DIF_FLAG_REF_REMAP};
	struct mlx5dv_sig_crc crc[2] = {{.type = MLX5DV_SIG_CRC_TYPE_CRC32C},
		{.type = MLX5DV_SIG_CRC_TYPE_CRC64_XP10}};
	struct mlx5dv_sig_block_domain domain[3] = {
		{.sig_type = MLX5DV_SIG_TYPE_T10DIF,
			.block_size = MLX5DV_BLOCK_SIZE_512,
			.sig = {.dif = &dif}},
		{.sig_type = MLX5DV_SIG_TYPE_CRC,
			.block_size = MLX5DV_BLOCK_SIZE_512,
			.sig = {.crc = &crc[0]}},
		{.sig_type = MLX5DV_SIG_TYPE_CRC,
			.block_size = MLX5DV_BLOCK_SIZE_512,
			.sig = {.crc = &crc[1]}},
	};
	static const unsigned int bits[] = {16, 32, 64};
	uint32_t counts[4] = {0};
	unsigned int mem, i;

	for (mem = 0; mem < 3; mem++) {
		unsigned int wire = (mem + 1) % 3;
		struct signer g = {.guard_bits = {bits[wire], bits[mem]}};

		signer_create(&g, &domain[mem], &domain[wire]);
		for (i = 0; i < 5000 && check_failures == 0; i++)
			compare_sig(&g, counts);
		signer_destroy(&g);
	}
	printf("  reference tags %u, application tags %u, guards %u, unknown %u\n",
		counts[HWQ_SIG_REFTAG], counts[HWQ_SIG_APPTAG], counts[HWQ_SIG_GUARD],
		counts[HWQ_SIG_UNKNOWN]);
}

int
main(int argc, char **argv)
{
	(void)argc;
	setenv("SOFTHCA_THREADS", "0", 1);
	/* libmlx5 prints every error CQE that it reads. */
	emu_setting(argv, "MLX5_DEBUG_FILE", "/dev/null");
	dev = emu_open();
	RUN("work, receives and errors: hwq reads in a CQE what libmlx5 reads",
		work_and_receives());
	RUN("signature errors: hwq reports what mlx5dv_mkey_check() reports", signature_errors());
	if (hwq_dev_close(dev) != 0)
		EMU_DIE("closing");
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
