/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A QP and a CQ in the program's memory, created by firmware commands, with the objects that they
 * need.
 *
 * Fields are set by their bit offset in the structures of the programming manual, not by the
 * adapter's own tables. The bits dbr_umem_valid, cq_umem_valid and wq_umem_valid are not set:
 * mlx5_ib sets them itself (devx_set_umem_valid() of the kernel).
 */
#ifndef SOFTHCA_DEVX_SIDE_H
#define SOFTHCA_DEVX_SIDE_H

#include <sys/mman.h>

#include "devx_bits.h"
#include "softhca_pair.h"

#define CQ_IN  272 /* bytes of CREATE_CQ, without page list */
#define QP_IN  272
#define MOD_IN 264
#define HDR    16
#define CQE_N  16
#define SQ_BB  16
#define RQ_N   16
#define RQ_LEN (RQ_N * 16)

/* One QP and the objects that it needs. */
struct side {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint32_t pdn;
	uint8_t *mem; /* a page each for the CQ, the QP, the doorbell records and the data */
	struct mlx5dv_devx_umem *umem, *read_only;
	struct mlx5dv_devx_uar *uar;
	struct mlx5dv_devx_obj *cq, *qp;
	uint32_t cqn, qpn, eqn;
	uint16_t sq_pi;
	uint32_t cq_ci;
	uint8_t cq_in[CQ_IN], qp_in[QP_IN];
};

enum {
	CQ_AT = 0,
	QP_AT = 4096,
	DB_AT = 8192,
	DATA_AT = 12288,
	MEM_LEN = 16384
};

static inline struct mlx5dv_devx_obj *
create(struct side *s, const uint8_t *in, size_t len, uint8_t out[HDR])
{
	memset(out, 0, HDR);
	return mlx5dv_devx_obj_create(s->ctx, in, len, out, HDR);
}

static inline void
fill_cq(struct side *s)
{
	uint8_t *in = s->cq_in;

	devx_put(in, 0, 16, 0x400);
	devx_put(in, 0x80 + 0x20, 32, s->umem->umem_id);
	devx_put(in, 0x80 + 0x63, 5, 4); /* log_cq_size */
	devx_put(in, 0x80 + 0x68, 24, s->uar->page_id);
	devx_put(in, 0x80 + 0xb8, 8, s->eqn);
	/* dbr_addr, low half: the record's offset in the memory */
	devx_put(in, 0x80 + 0x1e0, 32, DB_AT);
	devx_put(in, 0x2a0, 32, CQ_AT); /* umem offset, low half */
	devx_put(in, 0x2c0, 32, s->umem->umem_id);
}

static inline void
fill_qp(struct side *s)
{
	uint8_t *in = s->qp_in;

	devx_put(in, 0, 16, 0x500);
	devx_put(in, 0xc0 + 0x28, 24, s->pdn);
	devx_put(in, 0xc0 + 0x49, 4, 4); /* log_rq_size */
	devx_put(in, 0xc0 + 0x4d, 3, 0); /* log_rq_stride: entries of 16 bytes */
	devx_put(in, 0xc0 + 0x51, 4, 4); /* log_sq_size */
	devx_put(in, 0xc0 + 0x68, 24, s->uar->page_id);
	devx_put(in, 0xc0 + 0x88, 24, 0xabcde); /* user_index */
	devx_put(in, 0xc0 + 0x3e8, 24, s->cqn);
	devx_put(in, 0xc0 + 0x4e8, 24, s->cqn);
	devx_put(in, 0xc0 + 0x520, 32, DB_AT + 64);
	devx_put(in, 0xc0 + 0x720, 32, s->umem->umem_id);
	devx_put(in, 0x820, 32, QP_AT);
	devx_put(in, 0x840, 32, s->umem->umem_id);
}

static inline void
side_init(struct side *s)
{
	struct mlx5dv_pd dvpd;
	struct mlx5dv_obj obj = {.pd = {.out = &dvpd}};
	uint8_t out[HDR];

	memset(s, 0, sizeof(*s));
	s->ctx = pair_open(0);
	s->pd = ibv_alloc_pd(s->ctx);
	CHECK(s->pd != NULL);
	obj.pd.in = s->pd;
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	s->pdn = dvpd.pdn;
	s->mem = mmap(NULL, MEM_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(s->mem != MAP_FAILED);
	for (unsigned int i = 0; i < CQE_N; i++)
		/* a CQE with an invalid opcode: not written yet */
		s->mem[CQ_AT + i * 64 + 63] = 0xf0;
	s->umem = mlx5dv_devx_umem_reg(s->ctx, s->mem, MEM_LEN, IBV_ACCESS_LOCAL_WRITE);
	s->read_only = mlx5dv_devx_umem_reg(s->ctx, s->mem, MEM_LEN, 0);
	CHECK(s->umem != NULL && s->read_only != NULL);
	s->mr = ibv_reg_mr(s->pd, s->mem + DATA_AT, 4096, PAIR_ALL);
	s->uar = mlx5dv_devx_alloc_uar(s->ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	CHECK(s->mr != NULL && s->uar != NULL);
	CHECK_EQ(mlx5dv_devx_query_eqn(s->ctx, 0, &s->eqn), 0);
	fill_cq(s);
	s->cq = create(s, s->cq_in, CQ_IN, out);
	CHECK(s->cq != NULL);
	s->cqn = devx_get(out, 0x48, 24);
	fill_qp(s);
	s->qp = create(s, s->qp_in, QP_IN, out);
	CHECK(s->qp != NULL);
	s->qpn = devx_get(out, 0x48, 24);
	CHECK(s->cqn != 0 && s->qpn != 0);
}

/*
 * Checks that objects in use cannot be destroyed (EBUSY), and destroys all objects that side_init()
 * created.
 */
static inline void
side_fini(struct side *s)
{
	CHECK(mlx5dv_devx_umem_dereg(s->umem) != 0 && errno == EBUSY);
	CHECK(mlx5dv_devx_obj_destroy(s->cq) != 0 && errno == EBUSY);
	CHECK_EQ(ibv_dealloc_pd(s->pd), EBUSY);
	CHECK_EQ(mlx5dv_devx_obj_destroy(s->qp), 0);
	CHECK(mlx5dv_devx_umem_dereg(s->umem) != 0 && errno == EBUSY);
	CHECK_EQ(mlx5dv_devx_obj_destroy(s->cq), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(s->umem), 0);
	CHECK_EQ(mlx5dv_devx_umem_dereg(s->read_only), 0);
	mlx5dv_devx_free_uar(s->uar);
	CHECK_EQ(ibv_dereg_mr(s->mr), 0);
	CHECK_EQ(ibv_dealloc_pd(s->pd), 0);
	CHECK_EQ(ibv_close_device(s->ctx), 0);
	munmap(s->mem, MEM_LEN);
}

/* ---- states */

static inline void
side_modify(struct side *s, uint16_t opcode, uint8_t in[MOD_IN])
{
	uint8_t out[HDR] = {0};

	devx_put(in, 0, 16, opcode);
	devx_put(in, 0x48, 24, s->qpn);
	CHECK_EQ(mlx5dv_devx_obj_modify(s->qp, in, MOD_IN, out, HDR), 0);
}

/* Queries the QP by QUERY_QP. The QP's context begins at bit 0xc0 of the answer. */
static inline void
side_query(struct mlx5dv_devx_obj *qp, uint32_t qpn, uint8_t out[MOD_IN])
{
	uint8_t in[HDR] = {0};

	devx_put_query_qp(in, qpn);
	memset(out, 0, MOD_IN);
	CHECK_EQ(mlx5dv_devx_obj_query(qp, in, HDR, out, MOD_IN), 0);
}

/* Takes the QP from RESET to RTS with an address and all access rights, as UCX does. */
static inline void
side_connect(struct side *s, uint32_t qpn)
{
	uint8_t init[MOD_IN] = {0}, rtr[MOD_IN] = {0}, rts[MOD_IN] = {0};
	union ibv_gid gid;

	devx_put(init, 0xc0 + 0xc0 + 0x128, 8, 1);
	devx_put(init, 0xc0 + 0x491, 1, 1);
	side_modify(s, 0x502, init);
	CHECK_EQ(ibv_query_gid(s->ctx, 1, 1, &gid), 0);
	devx_put(rtr, 0x80, 32, 7 << 1); /* optional fields: rre, rae, rwe */
	devx_put(rtr, 0xc0 + 0x490, 3, 7);
	devx_put(rtr, 0xc0 + 0x40, 3, IBV_MTU_1024);
	devx_put(rtr, 0xc0 + 0xa8, 24, qpn);
	devx_put(rtr, 0xc0 + 0x4a3, 5, 1);
	devx_put(rtr, 0xc0 + 0x488, 3, 2);
	devx_put(rtr, 0xc0 + 0xc0 + 0x48, 8, 1);
	memcpy(rtr + (0xc0 + 0xc0 + 0x80) / 8, gid.raw, 16);
	side_modify(s, 0x503, rtr);
	devx_put(rts, 0xc0 + 0xc0 + 0x40, 5, 8);
	devx_put(rts, 0xc0 + 0x38d, 3, 1);
	devx_put(rts, 0xc0 + 0x390, 3, 1);
	devx_put(rts, 0xc0 + 0x388, 3, 2);
	side_modify(s, 0x504, rts);
}

/* ---- work */

static inline void
store_be32(struct side *s, unsigned int at, uint32_t v)
{
	__atomic_store_n((uint32_t *)(void *)(s->mem + at), htobe32(v), __ATOMIC_RELEASE);
}

/*
 * Posts receive number `index`. Its memory is 64 bytes in the second half of the data, at an offset
 * that depends on `index`.
 */
static inline void
post_recv(struct side *s, uint16_t index)
{
	uint8_t *seg = s->mem + QP_AT + index % RQ_N * 16;
	uint64_t va = htobe64((uintptr_t)s->mem + DATA_AT + 2048 + index % 16 * 64);

	devx_put(seg, 0, 32, 64);
	devx_put(seg, 32, 32, s->mr->lkey);
	memcpy(seg + 8, &va, 8);
	store_be32(s, DB_AT + 64, (uint32_t)index + 1);
}

/*
 * Writes a SEND with immediate, of 64 bytes of the data, in one WQEBB. Returns the first 8 bytes of
 * the WQE.
 */
static inline uint64_t
write_send(struct side *s, uint32_t imm)
{
	uint8_t *wqe = s->mem + QP_AT + RQ_LEN + s->sq_pi % SQ_BB * 64;
	uint64_t va = htobe64((uintptr_t)s->mem + DATA_AT + s->sq_pi % 16 * 64), word;

	memset(wqe, 0, 64);
	devx_put(wqe, 0, 32, (uint32_t)s->sq_pi << 8 | 0x0b);
	devx_put(wqe, 32, 32, s->qpn << 8 | 2);
	wqe[11] = 8; /* signalled */
	devx_put(wqe, 96, 32, imm);
	devx_put(wqe, 128, 32, 64);
	devx_put(wqe, 160, 32, s->mr->lkey);
	memcpy(wqe + 24, &va, 8);
	s->sq_pi++;
	memcpy(&word, wqe, 8);
	return word;
}

/* Posts the SEND that was written, and rings the doorbell. */
static inline void
post_send(struct side *s, uint32_t imm)
{
	uint64_t word = write_send(s, imm);

	store_be32(s, DB_AT + 68, s->sq_pi);
	__atomic_store_n((uint64_t *)s->uar->reg_addr, word, __ATOMIC_RELEASE);
}

static inline const uint8_t *
poll_one(struct side *s)
{
	const uint8_t *cqe = s->mem + CQ_AT + s->cq_ci % CQE_N * 64;
	uint64_t end = pair_now_ms() + CHECK_PATIENCE_MS;

	for (;;) {
		uint8_t op_own = __atomic_load_n(&cqe[63], __ATOMIC_ACQUIRE);

		if (op_own >> 4 != 15 && (op_own & 1) == (s->cq_ci / CQE_N & 1))
			break;
		CHECK(pair_now_ms() < end);
		pair_run();
	}
	s->cq_ci++;
	store_be32(s, DB_AT, s->cq_ci & 0xffffff);
	return cqe;
}

#endif
