/* SPDX-License-Identifier: BSD-3-Clause */
/* Twin builders that several QP types have. */
#include "hwq_burst.h"
#include "hwq_twin.h"

#define TYPE(type)   (1u << HWQ_QP_##type)
#define TYPES_ANY    ((1u << TWIN_TYPES) - 1)
#define TYPES_WINDOW (TYPE(RC) | TYPE(UC) | TYPE(XRC_SEND) | TYPE(DCI))

/* ------------------------------------------------------------------ SEND, RDMA, atomics */

void
twin_draw_args(const struct twin_pair *p, struct twin_args *a)
{
	a->rkey = p->wild ? (uint32_t)twin_random() : twin_mr.rkey;
	a->raddr = p->wild ? twin_random() : (uintptr_t)twin_mem + TWIN_MEM_LEN / 2;
	a->imm = (uint32_t)twin_random();
	a->operand[0] = twin_random();
	a->operand[1] = twin_random();
}

void
twin_stock_op(struct twin_pair *p, enum twin_code code, const struct twin_args *a)
{
	struct ibv_qp_ex *ex = p->stock.ex;

	switch (code) {
	case TWIN_SEND:
		ibv_wr_send(ex);
		break;
	case TWIN_SEND_IMM:
		ibv_wr_send_imm(ex, a->imm);
		break;
	case TWIN_SEND_INV:
		ibv_wr_send_inv(ex, a->imm);
		break;
	case TWIN_WRITE:
		ibv_wr_rdma_write(ex, a->rkey, a->raddr);
		break;
	case TWIN_WRITE_IMM:
		ibv_wr_rdma_write_imm(ex, a->rkey, a->raddr, a->imm);
		break;
	case TWIN_READ:
		ibv_wr_rdma_read(ex, a->rkey, a->raddr);
		break;
	case TWIN_CMP_SWP:
		ibv_wr_atomic_cmp_swp(ex, a->rkey, a->raddr, a->operand[0], a->operand[1]);
		break;
	case TWIN_FETCH_ADD:
		ibv_wr_atomic_fetch_add(ex, a->rkey, a->raddr, a->operand[0]);
		break;
	}
}

/* ------------------------------------------------------------------ NOP */

static void
draw_nothing(struct twin_pair *p, struct twin_work *w)
{
	(void)p, (void)w;
}

/* libmlx5 has no builder for NOP, so this posts a raw WQE with that opcode. */
static void
stock_nop(struct twin_pair *p, const struct twin_work *w)
{
	struct mlx5_wqe_ctrl_seg nop;
	uint8_t fm_ce_se = (uint8_t)((w->flags & IBV_SEND_FENCE ? MLX5_WQE_CTRL_FENCE : 0) |
				     (w->flags & IBV_SEND_SIGNALED || p->conf.sq_sig_all
						     ? MLX5_WQE_CTRL_CQ_UPDATE
						     : 0) |
				     (w->flags & IBV_SEND_SOLICITED ? MLX5_WQE_CTRL_SOLICITED : 0));

	memset(&nop, 0, sizeof(nop));
	mlx5dv_set_ctrl_seg(&nop, 0, MLX5_OPCODE_NOP, 0, p->stock.qp->qp_num, fm_ce_se, 1, 0, 0);
	mlx5dv_wr_raw_wqe(p->stock.dv, &nop);
}

static int
direct_nop(struct twin_pair *p, const struct twin_work *w)
{
	return hwq_wqe_nop(&p->twin.qp->sq, twin_hwq_flags(w->flags));
}

const struct twin_builder twin_nop = {.name = "nop",
	.common = TWIN_NOP,
	.types = TYPES_ANY,
	.setters = twin_no_setter,
	.flags = TWIN_RDMA_FLAGS,
	.draw = draw_nothing,
	.stock = stock_nop,
	.direct = direct_nop};

/* ------------------------------------------------------------------ raw WQEs */

struct raw {
	uint8_t wqe[TWIN_RAW_LEN];
};

/* Draws a control segment and any bytes after it. In ERR, only the length of the WQE matters. */
static void
draw_raw(struct twin_pair *p, struct twin_work *w)
{
	static const uint8_t opcode[] = {MLX5_OPCODE_NOP, MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_SEND};
	uint8_t fm_ce_se = (uint8_t)((w->flags & IBV_SEND_FENCE ? MLX5_WQE_CTRL_FENCE : 0) |
				     (w->flags & IBV_SEND_SIGNALED ? MLX5_WQE_CTRL_CQ_UPDATE : 0) |
				     (w->flags & IBV_SEND_SOLICITED ? MLX5_WQE_CTRL_SOLICITED : 0));
	struct raw *raw = TWIN_OWN(w, struct raw);
	struct mlx5_wqe_ctrl_seg *ctrl = (struct mlx5_wqe_ctrl_seg *)(void *)raw->wqe;
	unsigned int i;

	for (i = 0; i < sizeof(raw->wqe); i++)
		raw->wqe[i] = (uint8_t)twin_random();
	ctrl->opmod_idx_opcode = htobe32((uint32_t)twin_draw(1u << 24) << 8 | opcode[twin_draw(3)]);
	ctrl->qpn_ds = htobe32(1 + (uint32_t)twin_draw(p->conf.max_sge + 2));
	ctrl->signature = 0;
	ctrl->dci_stream_channel_id = 0;
	/* The raw WQE has its own flags. wr_flags are drawn, and must have no effect. */
	ctrl->fm_ce_se = fm_ce_se;
	if (twin_draw(2) == 0)
		w->flags ^= IBV_SEND_SIGNALED | IBV_SEND_FENCE;
}

/* The caller of a raw WQE sets its QPN. */
const void *
twin_raw_for(const struct twin_work *w, uint32_t qpn, uint8_t *wqe)
{
	memcpy(wqe, TWIN_OWN(w, struct raw), TWIN_RAW_LEN);
	wqe[4] = (uint8_t)(qpn >> 16);
	wqe[5] = (uint8_t)(qpn >> 8);
	wqe[6] = (uint8_t)qpn;
	return wqe;
}

static void
stock_raw(struct twin_pair *p, const struct twin_work *w)
{
	uint8_t wqe[TWIN_RAW_LEN];

	mlx5dv_wr_raw_wqe(p->stock.dv, twin_raw_for(w, p->stock.qp->qp_num, wqe));
}

/*
 * The builder sets the QPN. Only the flags decide whether the WQE is signalled; the WQE's own CE
 * bits are ignored.
 */
static int
direct_raw(struct twin_pair *p, const struct twin_work *w)
{
	uint8_t wqe[TWIN_RAW_LEN];
	unsigned int signaled;

	if (p->conf.sq_sig_all)
		return TWIN_HAS_NOT;
	twin_raw_for(w, 0xabcdef, wqe);
	signaled = wqe[11] & MLX5_WQE_CTRL_CQ_UPDATE;
	wqe[11] ^= (uint8_t)(twin_draw(4) << 2);
	return hwq_wqe_raw(&p->twin.qp->sq, wqe, signaled);
}

const struct twin_builder twin_raw_wqe = {.name = "raw_wqe",
	.common = TWIN_RAW_WQE,
	.types = TYPES_ANY,
	.setters = twin_no_setter,
	.flags = TWIN_RDMA_FLAGS,
	.draw = draw_raw,
	.stock = stock_raw,
	.direct = direct_raw};

/* ------------------------------------------------------------------ memcpy */

static void
draw_memcpy(struct twin_pair *p, struct twin_work *w)
{
	struct twin_copy *c = TWIN_OWN(w, struct twin_copy);
	uint64_t max = twin_dev->caps.max_memcpy_len;

	twin_draw_sge(p, &c->src);
	if (!p->wild) {
		c->len = 1 + twin_draw(2048);
		c->dst =
			(uintptr_t)twin_mem + TWIN_MEM_LEN / 2 + twin_draw(TWIN_MEM_LEN / 2 - 2048);
		c->dst_lkey = twin_mr.lkey;
		return;
	}
	c->dst = twin_random();
	c->dst_lkey = (uint32_t)twin_random();
	c->len = twin_draw(8) == 0 ? max : 1 + twin_draw(max);
	if (twin_draw(200) == 0)
		c->len = twin_draw(2) == 0 ? 0 : max + 1 + twin_draw(1ull << 33);
}

static void
stock_memcpy(struct twin_pair *p, const struct twin_work *w)
{
	const struct twin_copy *c = TWIN_OWN(w, const struct twin_copy);

	mlx5dv_wr_memcpy(p->stock.dv, c->dst_lkey, c->dst, c->src.lkey, c->src.addr, c->len);
}

static int
direct_memcpy(struct twin_pair *p, const struct twin_work *w)
{
	const struct twin_copy *c = TWIN_OWN(w, const struct twin_copy);
	unsigned int flags = twin_direct_flags(p, w);
	struct hwq_sq *sq = &p->twin.qp->sq;
	struct hwq_burst b;

	if (twin_draw(2) == 0)
		return hwq_wqe_memcpy(sq, c->dst_lkey, c->dst, c->src.lkey, c->src.addr, c->len,
			flags);
	if (hwq_burst_start(&b, sq, 1) == 0)
		return 0;
	if (!hwq_burst_memcpy(&b, c->dst_lkey, c->dst, c->src.lkey, c->src.addr, c->len, flags))
		return -EINVAL;
	hwq_burst_end(&b);
	return 1;
}

/*
 * The key and address of the opaque buffer. Those of libmlx5 are known from its first memcpy; those
 * of hwq are in the queue.
 */
static void
names_memcpy(struct twin_pair *p, const struct twin_work *w, unsigned int nth, uint8_t *theirs,
	uint8_t *ours)
{
	const struct hwq_mr *opaque = &p->twin.qp->opaque;

	(void)w, (void)nth;
	if (p->stock_opaque_addr == 0) {
		p->stock_opaque_lkey = twin_get32(theirs + 20);
		p->stock_opaque_addr = twin_get64(theirs + 24);
	}
	CHECK(twin_get32(theirs + 20) == p->stock_opaque_lkey &&
			twin_get64(theirs + 24) == p->stock_opaque_addr,
		"libmlx5's opaque buffer moved");
	CHECK(twin_get32(ours + 20) == opaque->lkey &&
			twin_get64(ours + 24) == (uintptr_t)opaque->addr,
		"opaque buffer 0x%llx key 0x%x is not the queue's",
		(unsigned long long)twin_get64(ours + 24), twin_get32(ours + 20));
	CHECK(opaque->len >= 64 && (uintptr_t)opaque->addr % 64 == 0, "opaque buffer too small");
	memset(theirs + 20, 0, 12);
	memset(ours + 20, 0, 12);
}

const struct twin_builder twin_memcpy = {.name = "memcpy",
	.common = TWIN_MEMCPY,
	.types = TYPE(RC) | TYPE(DCI),
	.setters = twin_no_setter,
	.flags = TWIN_RDMA_FLAGS,
	.draw = draw_memcpy,
	.stock = stock_memcpy,
	.direct = direct_memcpy,
	.names = names_memcpy};

/* ------------------------------------------------------------------ LOCAL_INV */

static void
draw_inv(struct twin_pair *p, struct twin_work *w)
{
	(void)p;
	TWIN_OWN(w, struct twin_inv)->rkey = (uint32_t)twin_random();
}

static void
stock_inv(struct twin_pair *p, const struct twin_work *w)
{
	ibv_wr_local_inv(p->stock.ex, TWIN_OWN(w, const struct twin_inv)->rkey);
}

const struct twin_builder twin_local_inv = {.name = "local_inv",
	.common = TWIN_LOCAL_INV,
	.types = TYPES_WINDOW,
	.send_ops = IBV_QP_EX_WITH_LOCAL_INV,
	.setters = twin_no_setter,
	.flags = TWIN_RDMA_FLAGS,
	.draw = draw_inv,
	.stock = stock_inv};
