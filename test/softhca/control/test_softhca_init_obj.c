/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that mlx5dv_init_obj(3) describes the emulated adapter's objects correctly: each field is
 * compared with the program's request, with the answer of another call, or with what is at the
 * address in the field.
 */
#include <sys/mman.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "raw_ioctl.h"
#include "softhca_pair.h"

static uint16_t
be16_at(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static uint32_t
be32_at(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

/* Returns the adapter's number of a protection domain, from a method of mlx5_ib. */
static uint32_t
query_pdn(struct ibv_pd *pd)
{
	struct raw_ioctl c = raw_start(UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY);
	uint32_t pdn = 0;

	raw_handle(&c, MLX5_IB_ATTR_QUERY_PD_HANDLE, pd->handle);
	raw_out(&c, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &pdn, sizeof(pdn));
	CHECK_EQ(raw_run(pd->context->cmd_fd, &c), 0);
	return pdn;
}

/*
 * Checks that the last doorbell (the first 8 bytes of the WQE) is in the register that
 * mlx5dv_init_obj() returned, where it stays until the adapter runs. The page at the mmap offset
 * must show the same register.
 */
static void
check_doorbell(struct ibv_context *ctx, const struct mlx5dv_qp *qp)
{
	size_t within = (uintptr_t)qp->bf.reg % 4096;
	uint8_t *page =
		mmap(NULL, 4096, PROT_READ, MAP_SHARED, ctx->cmd_fd, (off_t)qp->uar_mmap_offset);

	CHECK(page != MAP_FAILED);
	CHECK_EQ(memcmp(qp->bf.reg, qp->sq.buf, 8), 0);
	CHECK_EQ(memcmp(page + within, qp->sq.buf, 8), 0);
	CHECK_EQ(munmap(page, 4096), 0);
}

/* Returns the size of each of a register's two buffers; 0 without BlueFlame. */
static uint32_t
bf_size(void)
{
	const char *reg = getenv("SOFTHCA_BF_REG_SIZE");

	return reg != NULL ? (uint32_t)atoi(reg) / 2 : 512 / 2;
}

/*
 * As check_doorbell(), for a CQ: the arm doorbell names the CQ, at offset 0x20 of its page
 * (MLX5_CQ_DOORBELL of libmlx5).
 */
static void
check_arm(struct ibv_cq *ibcq, const struct mlx5dv_cq *cq)
{
	CHECK_EQ(ibv_req_notify_cq(ibcq, 0), 0);
	CHECK_EQ(be32_at((uint8_t *)cq->cq_uar + 0x20 + 4), cq->cqn);
	CHECK_EQ(be32_at((uint8_t *)cq->cq_uar + 0x20), be32toh(cq->dbrec[1]));
}

static void
case_queues(void)
{
	struct mlx5dv_qp qp = {.comp_mask = MLX5DV_QP_MASK_UAR_MMAP_OFFSET};
	struct mlx5dv_cq cq = {0};
	struct mlx5dv_pd pd = {0};
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
	struct mlx5dv_obj obj;
	struct ibv_wc wc;
	struct pair p;

	pair_init(&p, &(struct pair_opts){.cqe = 100, .max_send_wr = 8, .max_recv_wr = 30});
	obj = (struct mlx5dv_obj){.qp = {p.client.qp, &qp},
		.cq = {p.client.cq, &cq},
		.pd = {p.pd, &pd}};
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ | MLX5DV_OBJ_PD), 0);
	CHECK(pd.pdn != 0);
	CHECK_EQ(pd.pdn, query_pdn(p.pd));
	CHECK(cq.buf != NULL && cq.dbrec != NULL && cq.cq_uar != NULL && cq.cqn != 0);
	CHECK_EQ(cq.cqe_cnt, 128);
	CHECK_EQ(cq.cqe_size, 64);
	CHECK_EQ(qp.sq.stride, 64);
	CHECK(qp.sq.wqe_cnt >= 8 && (qp.sq.wqe_cnt & (qp.sq.wqe_cnt - 1)) == 0);
	CHECK_EQ(qp.rq.wqe_cnt, 32);
	CHECK_EQ(qp.rq.stride, 64); /* 4 segments of 16 bytes */
	CHECK((uint8_t *)qp.sq.buf >= (uint8_t *)qp.rq.buf + (size_t)qp.rq.wqe_cnt * qp.rq.stride);
	CHECK(qp.bf.reg != NULL && qp.comp_mask == MLX5DV_QP_MASK_UAR_MMAP_OFFSET);
	CHECK(qp.uar_mmap_offset != 0);
	CHECK_EQ(qp.bf.size, bf_size());

	/* A receive, a SEND and both CQEs are at the addresses that mlx5dv_init_obj() returned. */
	pair_post_recv(&p.server, 1, 0, 64);
	sge = (struct ibv_sge){(uintptr_t)p.client.buf, 64, p.client.mr->lkey};
	wr.sg_list = &sge;
	wr.num_sge = 1;
	pair_publish(&p.client);
	CHECK_EQ(ibv_post_send(p.client.qp, &wr, &bad), 0);
	if (pair_is_pumped()) {
		check_doorbell(p.ctx, &qp);
		check_arm(p.client.cq, &cq);
	}
	CHECK_EQ(be32toh(qp.dbrec[MLX5_SND_DBR]), 1);
	CHECK_EQ(be32toh(*(uint32_t *)((uint8_t *)qp.sq.buf + 4)) >> 8, p.client.qp->qp_num);
	wc = pair_wait(&p.client);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(be32toh(*(uint32_t *)((uint8_t *)cq.buf + 56)) & 0xffffff, p.client.qp->qp_num);
	CHECK_EQ(be32toh(cq.dbrec[0]) & 0xffffff, 1);
	(void)pair_wait(&p.server);
	/* The second receive is one stride after the first receive. */
	pair_post_recv(&p.client, 1, 8, 40);
	pair_post_recv(&p.client, 2, 16, 48);
	CHECK_EQ(be32toh(qp.dbrec[MLX5_RCV_DBR]), 2);
	CHECK_EQ(be32_at(qp.rq.buf), 40);
	CHECK_EQ(be32_at((uint8_t *)qp.rq.buf + qp.rq.stride), 48);
	CHECK_EQ(be32_at((uint8_t *)qp.rq.buf + qp.rq.stride + 4), p.client.mr->lkey);
	pair_fini(&p);
}

static void
case_srq(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 20, .max_sge = 3}};
	struct mlx5dv_srq out = {.comp_mask = MLX5DV_SRQ_MASK_SRQN};
	struct ibv_sge sge = {0x12345678, 99, 0x4567};
	struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1}, *bad;
	struct mlx5dv_obj obj;
	struct ibv_srq *srq;
	uint32_t number = 0, at, n = 1;

	CHECK(pd != NULL);
	srq = ibv_create_srq(pd, &attr);
	CHECK(srq != NULL);
	obj = (struct mlx5dv_obj){.srq = {srq, &out}};
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_SRQ), 0);
	CHECK(out.buf != NULL && out.dbrec != NULL);
	CHECK_EQ(out.stride, 64); /* a link segment and 3 data segments of 16 bytes */
	CHECK_EQ(out.head, 0);
	CHECK(out.tail >= 20);
	/*
	 * Each WQE names the next WQE, from head to tail. A byte in the wrong order or a wrong
	 * stride would break the chain.
	 */
	for (at = (uint32_t)out.head; at != (uint32_t)out.tail && n < 64; n++)
		at = be16_at((uint8_t *)out.buf + (size_t)at * out.stride + 2);
	CHECK_EQ(at, out.tail);
	CHECK_EQ(n, attr.attr.max_wr + 1);
	CHECK_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
	CHECK_EQ(be32toh(*out.dbrec), 1);
	CHECK_EQ(be32_at((uint8_t *)out.buf + 16), 99);
	CHECK_EQ(be32_at((uint8_t *)out.buf + 20), 0x4567);
	CHECK_EQ(be32_at((uint8_t *)out.buf + 28), 0x12345678);
	CHECK_EQ(out.comp_mask, MLX5DV_SRQ_MASK_SRQN);
	CHECK_EQ(ibv_get_srq_num(srq, &number), 0);
	CHECK(number != 0);
	CHECK_EQ(out.srqn, number);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/*
 * Each posted WQE must be at the returned address: data segments of 16 bytes (length, key,
 * address), and an end marker. The doorbell record must count the WQEs.
 */
static void
case_wq(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	struct ibv_wq_init_attr attr = {.wq_type = IBV_WQT_RQ,
		.max_wr = 20,
		.max_sge = 3,
		.pd = pd,
		.cq = cq};
	struct ibv_wq *wq = ibv_create_wq(ctx, &attr);
	struct ibv_wq_attr rdy = {.attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY};
	struct mlx5dv_rwq out = {0};
	struct mlx5dv_obj obj = {.rwq = {wq, &out}};

	CHECK(pd != NULL && cq != NULL && wq != NULL);
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_RWQ), 0);
	CHECK_EQ(out.wqe_cnt, 32);
	CHECK_EQ(out.stride, 64); /* 3 data segments of 16 bytes */
	CHECK_EQ(ibv_modify_wq(wq, &rdy), 0);
	CHECK_EQ(be32toh(*out.dbrec), 0);
	for (uint32_t i = 0; i < 20; i++) {
		struct ibv_sge sge[2] = {{0x10000 + i, 100 + i, 0xabcd00 + i}, {0x20000, 7, 9}};
		struct ibv_recv_wr wr = {.sg_list = sge, .num_sge = 2}, *bad;
		const uint8_t *wqe = (uint8_t *)out.buf + i * out.stride;

		CHECK_EQ(ibv_post_wq_recv(wq, &wr, &bad), 0);
		CHECK_EQ(be32toh(*out.dbrec), i + 1);
		CHECK_EQ(be32_at(wqe), 100 + i);
		CHECK_EQ(be32_at(wqe + 4), 0xabcd00 + i);
		CHECK_EQ(be32_at(wqe + 8), 0);
		CHECK_EQ(be32_at(wqe + 12), 0x10000 + i);
		CHECK_EQ(be32_at(wqe + 16), 7);
		CHECK_EQ(be32_at(wqe + 36), 0x100);
	}
	CHECK_EQ(ibv_destroy_wq(wq), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

/*
 * Bytes that the program copies to device memory, or that the adapter writes to it, must be at the
 * returned address.
 */
static void
case_dm(void)
{
	static const uint8_t first[8] = "abcdefg", second[8] = "ABCDEFG";
	struct mlx5dv_dm out = {0};
	struct mlx5dv_obj obj;
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE,
				   .send_flags = IBV_SEND_SIGNALED,
				   .sg_list = &sge,
				   .num_sge = 1},
			   *bad;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	struct pair p;

	pair_init(&p, NULL);
	dm = ibv_alloc_dm(p.ctx, &(struct ibv_alloc_dm_attr){.length = 9000, .log_align_req = 7});
	CHECK(dm != NULL);
	obj = (struct mlx5dv_obj){.dm = {dm, &out}};
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_DM), 0);
	CHECK_EQ(out.length, 9000);
	CHECK_EQ((uintptr_t)out.buf % 128, 0);
	CHECK_EQ(ibv_memcpy_to_dm(dm, 8992, first, 8), 0);
	CHECK_EQ(memcmp((uint8_t *)out.buf + 8992, first, 8), 0);
	/*
	 * With this mask bit, the call also returns the address that a region over the memory uses.
	 */
	out = (struct mlx5dv_dm){.comp_mask = MLX5DV_DM_MASK_REMOTE_VA};
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_DM), 0);
	CHECK_EQ(out.comp_mask & MLX5DV_DM_MASK_REMOTE_VA, MLX5DV_DM_MASK_REMOTE_VA);
	mr = ibv_reg_dm_mr(p.pd, dm, 0, 9000, PAIR_ALL | IBV_ACCESS_ZERO_BASED);
	CHECK(mr != NULL);
	memcpy(p.client.buf, second, 8);
	sge = (struct ibv_sge){(uintptr_t)p.client.buf, 8, p.client.mr->lkey};
	wr.wr.rdma.rkey = mr->rkey;
	wr.wr.rdma.remote_addr = out.remote_va + 4096;
	pair_publish(&p.client);
	CHECK_EQ(ibv_post_send(p.client.qp, &wr, &bad), 0);
	CHECK_EQ(pair_wait(&p.client).status, IBV_WC_SUCCESS);
	CHECK_EQ(memcmp((uint8_t *)out.buf + 4096, second, 8), 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	pair_fini(&p);
}

/* The address vector in a UD WQE must have the GID, and the MAC of that GID. */
static void
case_ah(void)
{
	struct ibv_context *ctx = pair_open(0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_ah_attr attr = {.is_global = 1,
		.port_num = 1,
		.sl = 3,
		.grh = {.sgid_index = 1,
			.hop_limit = 9,
			.traffic_class = 0x5c,
			.flow_label = 0x12345}};
	struct mlx5dv_ah out = {0};
	struct mlx5dv_obj obj;
	struct ibv_ah *ah;

	CHECK(pd != NULL && ibv_query_gid(ctx, 1, 1, &attr.grh.dgid) == 0);
	ah = ibv_create_ah(pd, &attr);
	CHECK(ah != NULL);
	obj = (struct mlx5dv_obj){.ah = {ah, &out}};
	CHECK_EQ(mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH), 0);
	CHECK(out.av != NULL);
	CHECK_EQ(memcmp(out.av->rgid, attr.grh.dgid.raw, 16), 0);
	CHECK_EQ(out.av->hop_limit, 9);
	CHECK_EQ(out.av->tclass, 0x5c);
	CHECK_EQ(out.av->stat_rate_sl & 0xf, 3 << 1);
	/* Index of the source GID, flow label. */
	CHECK_EQ(be32toh(out.av->grh_gid_fl), 1 << 20 | 0x12345);
	/* A link-local address contains the MAC address: RFC 4291, appendix A. */
	CHECK_EQ(out.av->rmac[0], attr.grh.dgid.raw[8] ^ 2);
	CHECK_EQ(memcmp(out.av->rmac + 3, attr.grh.dgid.raw + 13, 3), 0);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_close_device(ctx), 0);
}

static const struct check_case cases[] = {
	{"a QP, its CQ and its PD are described correctly", case_queues},
	{"a shared receive queue is described correctly", case_srq},
	{"a work queue is described correctly", case_wq},
	{"device memory is described correctly", case_dm},
	{"an address handle contains the address", case_ah},
};

int
main(int argc, char **argv)
{
	return check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
