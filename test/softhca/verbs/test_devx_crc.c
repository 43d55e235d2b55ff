/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC32C of whole transactions, as SPDK's accel module requests it: keys are made by CREATE_MKEY,
 * and their UMR has a BSF of 32 bytes without a block size (lib/mlx5 of SPDK: mlx5_priv.h, struct
 * mlx5_sig_bsf_seg). ISA-L computes the expected CRCs.
 */
#include <isa-l.h>

#include "softhca_devx_key.h"

#define PIECES  4 /* number of pieces of a key's layout */
#define CRC_AT  60000
#define FORMAT  0x40 /* CRC32C, with a seed of all ones */
#define SEED_0  0x01
#define OF_512  1 /* selector for blocks of 512 bytes */
#define SET_PSV 0x20
#define SIG_ERR 12 /* opcode of a CQE */
#define BSF_AT  (128 + 16 * PIECES)
#define UMR_LEN (BSF_AT + 64)

/* Bits of the BSF's word t_init_gen_pro_size. */
#define MEM_LAST   (1u << 24)
#define MEM_FIRST  (1u << 25)
#define WIRE_LAST  (1u << 28)
#define WIRE_FIRST (1u << 29)

static struct pair p;

struct psv {
	struct mlx5dv_devx_obj *obj;
	uint32_t index;
};

static struct psv
psv_make(struct ibv_pd *pd)
{
	uint8_t in[16] = {0}, out[32] = {0};
	struct psv psv;

	devx_put(in, 0, 16, 0x600);
	devx_put(in, 0x40, 4, 1);
	devx_put(in, 0x48, 24, key_pdn(pd));
	psv.obj = mlx5dv_devx_obj_create(p.ctx, in, sizeof(in), out, sizeof(out));
	CHECK(psv.obj != NULL);
	psv.index = devx_get(out, 0x88, 24);
	return psv;
}

struct sig_key {
	struct mlx5dv_devx_obj *obj;
	uint32_t key;
};

/* Makes a key as SPDK does: free, with at most 128 parts, with a BSF, and with all rights. */
static struct sig_key
sig_key_make(void)
{
	struct key_command c = key_command(p.pd, KEY_KLM,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE, 0, 0);
	struct sig_key k;

	devx_put(c.bytes, MKC + 0x01, 1, 1);
	devx_put(c.bytes, MKC + 0x10, 1, 1);
	devx_put(c.bytes, MKC + 0x61, 1, 1);
	devx_put(c.bytes, MKC + 0x100, 32, 4);
	devx_put(c.bytes, MKC + 0x1a0, 32, 128);
	k.obj = key_make(p.ctx, &c, &k.key);
	return k;
}

static void
start_pair(void)
{
	pair_init(&p, &(struct pair_opts){.keys = true, .retry_cnt = 1, .timeout = 8});
	for (uint32_t i = 0; i < PAIR_BUF; i++) {
		p.server.buf[i] = (uint8_t)(i * 13 + i / 100);
		p.client.buf[i] = 0x11;
	}
}

/* ---------------------------------------------------------------- work requests */

static enum ibv_wc_status
post_raw(uint8_t *wqe, uint32_t ds, uint8_t opcode, uint32_t imm)
{
	struct mlx5_wqe_ctrl_seg ctrl = {.opmod_idx_opcode = htobe32(opcode),
		.qpn_ds = htobe32(p.client.qp->qp_num << 8 | ds),
		.fm_ce_se = MLX5_WQE_CTRL_CQ_UPDATE,
		.imm = htobe32(imm)};

	memcpy(wqe, &ctrl, sizeof(ctrl));
	pair_publish(&p.client);
	ibv_wr_start(p.client.qpx);
	p.client.qpx->wr_flags = IBV_SEND_SIGNALED;
	mlx5dv_wr_raw_wqe(p.client.dvx, wqe);
	CHECK_EQ(ibv_wr_complete(p.client.qpx), 0);
	return pair_wait(&p.client).status;
}

static enum ibv_wc_status
set_psv(uint32_t index, uint32_t value)
{
	uint8_t wqe[64] = {0};

	devx_put(wqe, 16 * 8, 32, index);
	devx_put(wqe, 24 * 8, 32, value); /* upper half of the transient signature */
	return post_raw(wqe, 2, SET_PSV, 0);
}

struct bsf {
	uint8_t size_sbs, check_mask, wire_block, mem_block;
	uint32_t raw_len, wire_block_psv, mem_block_psv;
	uint32_t flags, epilogue, wire_psv, mem_psv;
};

/*
 * Posts the UMR of SPDK: it makes the key free, and sets its length, its layout and its BSF. BSFs
 * are enabled since the key's creation.
 */
static enum ibv_wc_status
configure(const struct sig_key *k, uint64_t len, const struct ibv_sge *sge, unsigned int n,
	const struct bsf *bsf)
{
	struct mlx5_wqe_umr_ctrl_seg umr = {.flags = MLX5_WQE_UMR_CTRL_FLAG_INLINE,
		.klm_octowords = htobe16(PIECES),
		.translation_offset = htobe16(4), /* length of the BSF in units */
		.mkey_mask = htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE |
				     MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN | 1 << 9)};
	struct mlx5_wqe_mkey_context_seg mkc = {.len = htobe64(len),
		.flags_pd = htobe32(1u << 26)}; /* number of errors up to now: 1 */
	const uint32_t words[] = {(uint32_t)bsf->size_sbs << 24 | (uint32_t)bsf->check_mask << 16 |
					  (uint32_t)bsf->wire_block << 8 | bsf->mem_block,
		bsf->raw_len, bsf->wire_block_psv, bsf->mem_block_psv, bsf->flags, bsf->epilogue,
		bsf->wire_psv, bsf->mem_psv};
	uint8_t wqe[UMR_LEN] = {0};

	memcpy(wqe + 16, &umr, sizeof(umr));
	memcpy(wqe + 64, &mkc, sizeof(mkc));
	for (unsigned int i = 0; i < n; i++) {
		struct mlx5_wqe_umr_klm_seg klm = {.byte_count = htobe32(sge[i].length),
			.mkey = htobe32(sge[i].lkey),
			.address = htobe64(sge[i].addr)};

		memcpy(wqe + 128 + 16 * i, &klm, sizeof(klm));
	}
	for (unsigned int i = 0; i < 8; i++)
		devx_put(wqe, (BSF_AT + 4 * i) * 8, 32, words[i]);
	return post_raw(wqe, UMR_LEN / 16, MLX5_OPCODE_UMR, k->key);
}

static struct bsf
crc_of_wire(const struct psv *psv, uint32_t len, uint8_t format, uint32_t flags)
{
	return (struct bsf){.size_sbs = 1 << 6,
		.check_mask = 0xff,
		.raw_len = len,
		.flags = flags,
		.wire_psv = (uint32_t)format << 24 | psv->index};
}

static struct ibv_sge
server_sge(uint32_t at, uint32_t len)
{
	return (struct ibv_sge){(uintptr_t)p.server.buf + at, len, p.server.mr->lkey};
}

/*
 * Moves data into the client's memory, or out of it: `len` bytes at offset `at`, and `crc_len`
 * bytes at CRC_AT.
 */
static enum ibv_wc_status
move(enum ibv_wr_opcode op, uint32_t rkey, uint64_t raddr, uint32_t at, uint32_t len,
	uint32_t crc_len)
{
	struct ibv_sge sge[2] = {{(uintptr_t)p.client.buf + at, len, p.client.mr->lkey},
		{(uintptr_t)p.client.buf + CRC_AT, crc_len, p.client.mr->lkey}};
	struct ibv_send_wr wr = {.sg_list = len != 0 ? sge : sge + 1,
		.num_sge = (len != 0) + (crc_len != 0),
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = raddr, .rkey = rkey}};
	struct ibv_send_wr *bad;

	pair_publish(&p.client);
	CHECK_EQ(ibv_post_send(p.client.qp, &wr, &bad), 0);
	return pair_wait(&p.client).status;
}

static uint32_t
crc_read(const uint8_t *at)
{
	uint32_t le;

	memcpy(&le, at, 4);
	return le32toh(le);
}

static uint32_t
crc_expected(const uint8_t *data, uint32_t len, uint32_t seed)
{
	return ~crc32_iscsi((uint8_t *)(uintptr_t)data, (int)len, seed);
}

/*
 * Expects that the next CQE of the server is a signature error of this key. It reads the CQE
 * itself, because libmlx5 does not know the key.
 */
static void
expect_sig_err(uint32_t cqe_index, uint32_t key)
{
	struct mlx5dv_cq dv = {0};
	struct mlx5dv_obj obj = {.cq = {p.server.cq, &dv}};
	const uint8_t *cqe;
	uint64_t end = pair_now_ms() + CHECK_PATIENCE_MS;

	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	cqe = (const uint8_t *)dv.buf + (size_t)cqe_index * dv.cqe_size;
	while (__atomic_load_n(&cqe[63], __ATOMIC_ACQUIRE) >> 4 != SIG_ERR) {
		CHECK(pair_now_ms() < end);
		pair_run();
	}
	CHECK_EQ(devx_get(cqe, 36 * 8, 32), key);
	CHECK_EQ(devx_get(cqe, 32 * 8, 16), 1 << 13); /* the guard was wrong */
}

static void
open_pair(struct psv *psv, struct sig_key *keys, unsigned int n)
{
	start_pair();
	*psv = psv_make(p.pd);
	for (unsigned int i = 0; i < n; i++)
		keys[i] = sig_key_make();
}

/*
 * Opens a key over `len` bytes of the server's memory at offset `at`; on the wire a CRC follows the
 * data.
 */
static void
open_crc(struct psv *psv, struct sig_key *k, uint32_t at, uint32_t len, uint32_t flags)
{
	struct ibv_sge sge;
	struct bsf bsf;

	open_pair(psv, k, 1);
	sge = server_sge(at, len);
	bsf = crc_of_wire(psv, len, FORMAT, flags);
	CHECK_EQ(configure(k, len, &sge, 1, &bsf), IBV_WC_SUCCESS);
}

static void
close_pair(struct psv *psv, struct sig_key *keys, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		CHECK_EQ(mlx5dv_devx_obj_destroy(keys[i].obj), 0);
	CHECK_EQ(mlx5dv_devx_obj_destroy(psv->obj), 0);
	pair_fini(&p);
}

/* ---------------------------------------------------------------- out of memory */

/* One request must transfer the data from several pieces, followed by the CRC. */
static void
case_one(void)
{
	static const uint32_t lens[][PIECES] = {{9}, {4096}, {1, 2, 3, 4}, {512, 1, 8191, 77},
		{20000, 16, 1000, 30}};
	struct sig_key k;
	struct psv psv;

	open_pair(&psv, &k, 1);
	memcpy(p.server.buf, "123456789", 9);
	for (size_t i = 0; i < 2 * sizeof(lens) / sizeof(lens[0]); i++) {
		uint32_t seed = i % 2 == 0 ? UINT32_MAX : 0, len = 0, n = 0;
		uint8_t data[32768];
		struct ibv_sge sge[PIECES];
		struct bsf bsf;

		for (; n < PIECES && lens[i / 2][n] != 0; n++) {
			sge[n] = server_sge(n * 9000 * (len < 20000), lens[i / 2][n]);
			memcpy(data + len, (void *)(uintptr_t)sge[n].addr, sge[n].length);
			len += sge[n].length;
		}
		bsf = crc_of_wire(&psv, len, FORMAT | (seed == 0), WIRE_FIRST | WIRE_LAST);
		CHECK_EQ(configure(&k, len, sge, n, &bsf), IBV_WC_SUCCESS);
		memset(p.client.buf, 0x11, PAIR_BUF);
		CHECK_EQ(move(IBV_WR_RDMA_READ, k.key, 0, 0, len, 4), IBV_WC_SUCCESS);
		CHECK(check_bytes(p.client.buf, data, len, "the data"));
		CHECK_EQ(p.client.buf[len], 0x11);
		CHECK_EQ(crc_read(p.client.buf + CRC_AT), crc_expected(data, len, seed));
		/*
		 * The CRC-32C of the nine digits is known as the check value. RFC 3720, appendix
		 * B.4, has more values.
		 */
		if (i == 0)
			CHECK_EQ(crc_read(p.client.buf + CRC_AT), 0xe3069283);
	}
	close_pair(&psv, &k, 1);
}

/*
 * Several requests of one transaction, each with its own key: the CRC must cover the data of all
 * requests. The last request also transfers the CRC, or a separate request reads the CRC after the
 * data.
 */
static void
case_several(void)
{
	static const uint32_t at[] = {100, 20000, 40000}, lens[] = {3000, 777, 12345};
	struct sig_key k[3];
	struct psv psv;

	open_pair(&psv, k, 3);
	for (unsigned int alone = 0; alone < 2; alone++) {
		uint8_t data[16384];
		uint32_t len = 0;

		for (unsigned int i = 0; i < 3; i++) {
			struct ibv_sge sge = server_sge(at[i], lens[i]);
			struct bsf bsf = crc_of_wire(&psv, lens[i], FORMAT,
				(i == 0 ? WIRE_FIRST : 0) | (i == 2 ? WIRE_LAST : 0));

			CHECK_EQ(configure(&k[i], lens[i], &sge, 1, &bsf), IBV_WC_SUCCESS);
			memcpy(data + len, p.server.buf + at[i], lens[i]);
			len += lens[i];
		}
		len = 0;
		memset(p.client.buf, 0x11, PAIR_BUF);
		for (unsigned int i = 0; i < 3; i++) {
			CHECK_EQ(move(IBV_WR_RDMA_READ, k[i].key, 0, len, lens[i],
					 i == 2 && !alone ? 4 : 0),
				IBV_WC_SUCCESS);
			len += lens[i];
		}
		/* A part of the CRC can also be read. */
		for (unsigned int part = 0; alone && part < 2; part++)
			CHECK_EQ(move(IBV_WR_RDMA_READ, k[2].key, lens[2] + 2 * part,
					 CRC_AT + 2 * part, 2, 0),
				IBV_WC_SUCCESS);
		CHECK(check_bytes(p.client.buf, data, len, "the data"));
		CHECK_EQ(crc_read(p.client.buf + CRC_AT), crc_expected(data, len, UINT32_MAX));
	}
	/* A key that is not the last key has no CRC after its data. */
	CHECK_EQ(move(IBV_WR_RDMA_READ, k[0].key, 0, 0, lens[0], 4), IBV_WC_REM_ACCESS_ERR);
	close_pair(&psv, k, 3);
}

/* Without the first key, the transaction must continue from the state that SET_PSV has set. */
static void
case_set_psv(void)
{
	struct sig_key k;
	struct psv psv;

	open_crc(&psv, &k, 300, 5000, WIRE_LAST);
	CHECK_EQ(set_psv(psv.index, 0x12345678), IBV_WC_SUCCESS);
	CHECK_EQ(move(IBV_WR_RDMA_READ, k.key, 0, 0, 5000, 4), IBV_WC_SUCCESS);
	CHECK_EQ(crc_read(p.client.buf + CRC_AT),
		crc_expected(p.server.buf + 300, 5000, 0x12345678));
	close_pair(&psv, &k, 1);
}

/* A SEND that waits for its receive is retried. Its data must count once. */
static void
case_retry(void)
{
	struct pair_end *e = &p.server;
	struct sig_key k;
	struct psv psv;

	open_crc(&psv, &k, 300, 5000, WIRE_LAST);
	CHECK_EQ(set_psv(psv.index, UINT32_MAX), IBV_WC_SUCCESS);
	pair_publish(e);
	ibv_wr_start(e->qpx);
	e->qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(e->qpx);
	ibv_wr_set_sge(e->qpx, k.key, 0, 5004);
	CHECK_EQ(ibv_wr_complete(e->qpx), 0);
	pair_expect_none(e);
	pair_post_recv(&p.client, 0, 0, 5004);
	CHECK_EQ(pair_wait(e).status, IBV_WC_SUCCESS);
	CHECK_EQ(pair_wait(&p.client).byte_len, 5004);
	CHECK_EQ(crc_read(p.client.buf + 5000), crc_expected(p.server.buf + 300, 5000, UINT32_MAX));
	close_pair(&psv, &k, 1);
}

/* ---------------------------------------------------------------- into memory, and checks */

/*
 * On the wire the CRC follows the data; only the data are written to memory. A wrong CRC must be
 * reported.
 */
static void
case_strip(void)
{
	struct sig_key k;
	struct psv psv;
	uint32_t crc;

	open_crc(&psv, &k, 1000, 2000, WIRE_FIRST | WIRE_LAST);
	for (uint32_t i = 0; i < 2000; i++)
		p.client.buf[i] = (uint8_t)(i * 3);
	crc = htole32(crc_expected(p.client.buf, 2000, UINT32_MAX));
	for (unsigned int wrong = 0; wrong < 2; wrong++) {
		memset(p.server.buf + 990, 0x22, 2020);
		memcpy(p.client.buf + CRC_AT, &crc, 4);
		p.client.buf[CRC_AT + 3] ^= (uint8_t)(wrong << 7);
		CHECK_EQ(move(IBV_WR_RDMA_WRITE, k.key, 0, 0, 2000, 4), IBV_WC_SUCCESS);
		CHECK(check_bytes(p.server.buf + 1000, p.client.buf, 2000, "the data"));
		CHECK_EQ(p.server.buf[999], 0x22);
		CHECK_EQ(p.server.buf[3000], 0x22);
		if (wrong)
			expect_sig_err(0, k.key);
	}
	close_pair(&psv, &k, 1);
}

/*
 * The memory domain has a CRC after the data: for incoming data it must be written, and for
 * outgoing data it must be checked.
 */
static void
case_memory(void)
{
	struct ibv_sge sge;
	struct sig_key k;
	struct bsf bsf;
	struct psv psv;

	open_pair(&psv, &k, 1);
	sge = server_sge(1000, 2004);
	bsf = crc_of_wire(&psv, 2000, FORMAT, 0);
	bsf.mem_psv = bsf.wire_psv;
	bsf.wire_psv = 0;
	bsf.flags = MEM_FIRST | MEM_LAST;
	CHECK_EQ(configure(&k, 2004, &sge, 1, &bsf), IBV_WC_SUCCESS);
	for (uint32_t i = 0; i < 2000; i++)
		p.client.buf[i] = (uint8_t)(i * 5);
	memset(p.server.buf, 0x22, 4000);
	CHECK_EQ(move(IBV_WR_RDMA_WRITE, k.key, 0, 0, 2000, 0), IBV_WC_SUCCESS);
	CHECK(check_bytes(p.server.buf + 1000, p.client.buf, 2000, "the data"));
	CHECK_EQ(crc_read(p.server.buf + 3000), crc_expected(p.client.buf, 2000, UINT32_MAX));
	CHECK_EQ(p.server.buf[3004], 0x22);
	CHECK_EQ(move(IBV_WR_RDMA_READ, k.key, 0, 8000, 2000, 0), IBV_WC_SUCCESS);
	CHECK(check_bytes(p.client.buf + 8000, p.client.buf, 2000, "the data that were read"));
	p.server.buf[2999] ^= 1;
	CHECK_EQ(move(IBV_WR_RDMA_READ, k.key, 0, 8000, 2000, 0), IBV_WC_SUCCESS);
	expect_sig_err(0, k.key);
	close_pair(&psv, &k, 1);
}

/* ---------------------------------------------------------------- other BSFs */

/*
 * A BSF of 32 bytes must also be able to have signatures of blocks by CRCs. It has no fields for
 * T10-DIF.
 */
static void
case_blocks(void)
{
	struct ibv_sge sge;
	struct sig_key k;
	struct psv psv;
	struct bsf bsf;

	open_pair(&psv, &k, 1);
	sge = server_sge(0, 1024);
	bsf = (struct bsf){.size_sbs = 1 << 6,
		.check_mask = 0xff,
		.wire_block = OF_512,
		.raw_len = 1024,
		.wire_block_psv = FORMAT << 24 | psv.index};
	CHECK_EQ(configure(&k, 1024, &sge, 1, &bsf), IBV_WC_SUCCESS);
	CHECK_EQ(move(IBV_WR_RDMA_READ, k.key, 0, 0, 1032, 0), IBV_WC_SUCCESS);
	for (unsigned int i = 0; i < 2; i++) {
		CHECK(check_bytes(p.client.buf + 516 * i, p.server.buf + 512 * i, 512, "a block"));
		CHECK_EQ(crc_read(p.client.buf + 516 * i + 512),
			crc_expected(p.server.buf + 512 * i, 512, UINT32_MAX));
	}
	close_pair(&psv, &k, 1);
}

/* Fields that contradict each other, or that ask for an unsupported feature, must be refused. */
static void
case_refused(void)
{
	const uint32_t flags = WIRE_FIRST | WIRE_LAST;

	for (unsigned int i = 0; i < 10; i++) {
		struct ibv_sge sge;
		struct sig_key k;
		struct psv psv;
		struct bsf bsf;

		open_pair(&psv, &k, 1);
		sge = server_sge(0, 1024);
		bsf = crc_of_wire(&psv, 1024, FORMAT, flags);
		switch (i) {
		case 0:
			bsf.size_sbs = 0;
			break;
		case 1:
			bsf.size_sbs = 2 << 6; /* a size with T10-DIF */
			break;
		case 2:
			/* the bit says that both domains have the same structure */
			bsf.size_sbs |= 0x10;
			break;
		case 3:
			bsf.wire_block = OF_512;
			break;
		case 4:
			bsf.mem_block_psv = FORMAT << 24 | psv.index;
			break;
		case 5:
			bsf.raw_len = 0;
			break;
		case 6:
			bsf.flags |= 8; /* with a prologue */
			break;
		case 7:
			bsf.epilogue = 8;
			break;
		case 8:
			bsf.wire_psv ^= 0x10u << 24; /* CRC64 */
			break;
		default:
			bsf.wire_psv ^= 0x30u << 24; /* no such format */
			break;
		}
		CHECK_EQ(configure(&k, 1024, &sge, 1, &bsf), IBV_WC_LOC_QP_OP_ERR);
		close_pair(&psv, &k, 1);
	}
}

/* The PSV must be in the key's PD, and a request must be inside the data and the CRC. */
static void
case_bounds(void)
{
	for (unsigned int i = 0; i < 4; i++) {
		struct ibv_pd *other;
		struct ibv_sge sge;
		struct sig_key k;
		struct psv psv;
		struct bsf bsf;

		start_pair();
		other = ibv_alloc_pd(p.ctx);
		CHECK(other != NULL);
		psv = psv_make(i == 0 ? other : p.pd);
		k = sig_key_make();
		sge = server_sge(0, 1024);
		bsf = crc_of_wire(&psv, 1024, FORMAT, WIRE_FIRST | WIRE_LAST);
		CHECK_EQ(configure(&k, 1024, &sge, 1, &bsf), IBV_WC_SUCCESS);
		CHECK_EQ(move(IBV_WR_RDMA_READ, k.key,
				 i == 2   ? 1025
				 : i == 3 ? UINT64_MAX
					  : 0,
				 0,
				 i == 1  ? 1025
				 : i < 1 ? 1024
					 : 0,
				 4),
			IBV_WC_REM_ACCESS_ERR);
		CHECK_EQ(mlx5dv_devx_obj_destroy(psv.obj), 0);
		CHECK_EQ(mlx5dv_devx_obj_destroy(k.obj), 0);
		CHECK_EQ(ibv_dealloc_pd(other), 0);
		pair_fini(&p);
	}
}

static const struct check_case cases[] = {
	{"a CRC follows the data of a request", case_one},
	{"a CRC follows the data of several requests", case_several},
	{"a transaction continues from a PSV's state", case_set_psv},
	{"a retried SEND counts once", case_retry},
	{"a CRC on the wire is checked and removed", case_strip},
	{"a CRC in memory is written and checked", case_memory},
	{"a short BSF has CRCs of blocks", case_blocks},
	{"a BSF whose fields contradict each other is refused", case_refused},
	{"a request beyond the data and the CRC is refused", case_bounds},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
