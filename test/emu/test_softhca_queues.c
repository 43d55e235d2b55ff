/* SPDX-License-Identifier: BSD-3-Clause */
/* The emulated adapter's queues, driven by hand: every operation, strictness, BlueFlame, CQs. */
#include <stdlib.h>

#include "../hwq_check.h"
#include "softhca_rig.h"

#define ALWAYS MLX5_WQE_CTRL_CQ_UPDATE

static uint64_t
va(const void *p)
{
	return (uintptr_t)p;
}

static void
fill(uint8_t *p, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(seed + i * 7 + i / 251);
}

static void
expect_req(const struct mlx5_cqe64 *cqe, const struct rig_end *e, uint8_t opcode, uint16_t idx)
{
	CHECK(cqe != NULL, "no completion");
	if (cqe == NULL)
		return;
	CHECK_EQ(cqe->op_own >> 4, MLX5_CQE_REQ, "CQE opcode");
	CHECK_EQ(be32toh(cqe->sop_drop_qpn), (uint32_t)opcode << 24 | e->qpn, "sop_drop_qpn");
	CHECK_EQ(be32toh(cqe->srqn_uidx), e->uidx, "uidx");
	CHECK_EQ(be16toh(cqe->wqe_counter), idx, "wqe_counter");
}

static void
expect_error(const struct mlx5_cqe64 *cqe, const struct rig_end *e, uint8_t cqe_opcode,
	uint8_t syndrome)
{
	CHECK(cqe != NULL, "no completion");
	if (cqe == NULL)
		return;
	CHECK_EQ(cqe->op_own >> 4, cqe_opcode, "CQE opcode");
	CHECK_EQ(rig_err(cqe)->syndrome, syndrome, "syndrome");
	CHECK_EQ(be32toh(cqe->srqn_uidx), e->uidx, "uidx");
}

static void
case_send_recv(void)
{
	struct rig r;
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_SEND_IMM, ALWAYS);
	const struct mlx5_cqe64 *cqe;

	rig_init(&r, NULL);
	fill(r.a.buf, 100, 1);
	rig_recv(&r.b, va(r.b.buf), r.b.key, 4096);
	w.imm = 0x11223344;
	rig_sge(&w, va(r.a.buf), r.a.key, 60);
	rig_sge(&w, va(r.a.buf) + 60, r.a.key, 40);
	rig_post(&r.a, &w);
	rig_run(&r);
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_SEND_IMM, 0);
	cqe = rig_poll(&r.b);
	CHECK(cqe != NULL, "no receive completion");
	if (cqe != NULL) {
		CHECK_EQ(cqe->op_own >> 4, MLX5_CQE_RESP_SEND_IMM, "CQE opcode");
		CHECK_EQ(be32toh(cqe->byte_cnt), 100, "byte_cnt");
		CHECK_EQ(be32toh(cqe->imm_inval_pkey), 0x11223344, "immediate");
		CHECK_EQ(be32toh(cqe->srqn_uidx), r.b.uidx, "uidx");
		CHECK_EQ(be32toh(cqe->sop_drop_qpn) & 0xffffff, r.b.qpn, "QPN");
	}
	check_bytes(r.b.buf, r.a.buf, 100, "message");
	rig_fini(&r);
}

static void
case_write_read(void)
{
	struct rig r;
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_RDMA_WRITE, ALWAYS), rd;

	rig_init(&r, NULL);
	fill(r.a.buf, RIG_BUF, 3);
	rig_raddr(&w, va(r.b.buf) + 8, r.b.key);
	rig_sge(&w, va(r.a.buf), r.a.key, 30000);
	rig_post(&r.a, &w);
	rig_run(&r);
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_RDMA_WRITE, 0);
	check_bytes(r.b.buf + 8, r.a.buf, 30000, "written");
	CHECK_EQ(r.b.buf[7], 0, "byte before");
	CHECK_EQ(r.b.buf[30008], 0, "byte behind");
	rd = rig_wqe(MLX5_OPCODE_RDMA_READ, ALWAYS);
	rig_raddr(&rd, va(r.b.buf) + 8, r.b.key);
	rig_sge(&rd, va(r.a.buf) + 40000, r.a.key, 1000);
	rig_sge(&rd, va(r.a.buf) + 50000, r.a.key, 3);
	rig_post(&r.a, &rd);
	rig_run(&r);
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_RDMA_READ, 1);
	check_bytes(r.a.buf + 40000, r.a.buf, 1000, "read 1");
	check_bytes(r.a.buf + 50000, r.a.buf + 1000, 3, "read 2");
	rig_fini(&r);
}

static struct rig_wqe
memcpy_wqe(struct rig_end *e, uint32_t src, uint32_t dst, uint32_t src_len, uint32_t dst_len)
{
	struct rig_wqe w = rig_wqe(MLX5_OPCODE_MMO, ALWAYS);

	w.opmod = 1;
	rig_sge(&w, va(e->buf) + RIG_BUF - 64, e->key, 0); /* opaque: control 0, key, address */
	rig_sge(&w, va(e->buf) + src, e->key, src_len);
	rig_sge(&w, va(e->buf) + dst, e->key, dst_len);
	return w;
}

static void
case_memcpy(void)
{
	struct rig r;
	struct rig_wqe w;

	rig_init(&r, NULL);
	fill(r.a.buf, 20000, 9);
	w = memcpy_wqe(&r.a, 0, 30000, 20000, 20000);
	rig_post(&r.a, &w);
	rig_run(&r);
	expect_req(rig_poll(&r.a), &r.a, MLX5_OPCODE_MMO, 0);
	check_bytes(r.a.buf + 30000, r.a.buf, 20000, "copy");
	rig_fini(&r);
}

int
main(void)
{
	RUN("a SEND with immediate lands in a receive", case_send_recv());
	RUN("RDMA write and read move the bytes and no others", case_write_read());
	RUN("a DMA MMO memcpy copies", case_memcpy());
	return check_failures != 0;
}
