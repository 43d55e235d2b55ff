/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same work posted through stock libmlx5 and through hwq leaves the same bytes in the send
 * queue.
 *
 * Each work request is read from its ring by its own start and DS, unwrapped where libmlx5 split
 * it, without the NOPs that hwq fills its ring's end with (which are checked on their own).
 * Renamed, and checked against its own queue, are wqe_index, QPN and the memcpy's opaque key and
 * address; all else up to DS must be equal. libmlx5 leaves some bytes as the last lap of its ring
 * left them (imm, the padding of inline data): its ring is cleared ahead, hwq's ring is filled with
 * 0xa5 ahead.
 *
 * Two ways to run: "wild", where both QPs are in ERR, so that any address, key and length at all
 * can be posted and is flushed; and "real", where the work is carried out and what it moved is
 * compared.
 *
 * Both write batches by their critical region; where hwq has a builder for a whole WQE too
 * (hwq_wqe.h), half of the work of a queue without LOCAL_INV goes through that.
 *
 * usage: test_hwq_bytes [CASES [SEED]]
 */
#include "hwq_burst.h"
#include "hwq_emu.h"
#include "hwq_wr.h"

#define MEM_LEN     (256u * 1024)
#define MAX_SGE     30
#define MAX_BUF     8
#define INLINE_DATA 4096

/* Every bit of send_ops that libmlx5 gives an RC QP. */
#define OPS_RC                                                                                     \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |                          \
		IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |    \
		IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |                 \
		IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV)

enum builder {
	B_NOP,
	B_MEMCPY,
	B_WRITE,
	B_READ,
	B_SEND,
	/* From here on in batches only. */
	B_WRITE_IMM,
	B_SEND_IMM,
	B_SEND_INV,
	B_CMP_SWP,
	B_FETCH_ADD,
	B_LOCAL_INV,
	B_RAW,
	N_BUILDERS
};
enum setter {
	S_NONE,
	S_SGE,
	S_SGE_LIST,
	S_INLINE,
	S_INLINE_LIST,
	N_SETTERS
};

static const char *const builder_names[] = {"NOP", "memcpy", "rdma_write", "rdma_read", "send",
	"rdma_write_imm", "send_imm", "send_inv", "atomic_cmp_swp", "atomic_fetch_add", "local_inv",
	"raw_wqe"};

/* What a QP must be created for. */
static const uint64_t builder_ops[] = {
	[B_WRITE_IMM] = IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
	[B_SEND_IMM] = IBV_QP_EX_WITH_SEND_WITH_IMM,
	[B_SEND_INV] = IBV_QP_EX_WITH_SEND_WITH_INV,
	[B_CMP_SWP] = IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
	[B_FETCH_ADD] = IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
	[B_LOCAL_INV] = IBV_QP_EX_WITH_LOCAL_INV,
	[B_RAW] = 0,
};

/* What runs to its end without a receiver, a window or a key to invalidate. */
#define REAL_BUILDERS                                                                              \
	(1u << B_NOP | 1u << B_MEMCPY | 1u << B_WRITE | 1u << B_READ | 1u << B_CMP_SWP |           \
		1u << B_FETCH_ADD)
static const char *const setter_names[] = {"-", "sge", "sge_list", "inline", "inline_list"};

/* One work request, as drawn. */
struct work {
	enum builder builder;
	enum setter setter;
	unsigned int flags; /* IBV_SEND_* */
	uint32_t rkey, dst_lkey;
	uint64_t raddr, dst;
	uint64_t len; /* of memcpy and inline data */
	unsigned int n;
	struct ibv_sge sge[MAX_SGE + 2];
	struct ibv_data_buf buf[MAX_BUF];
	size_t data;         /* offset of the inline data */
	uint64_t operand[2]; /* of atomics */
	uint32_t imm;        /* or the key to invalidate */
	uint8_t raw[1024];   /* a raw WQE, but for its QPN */
};

struct pair {
	const char *name;
	struct hwq_qp_conf conf;
	struct stock stock;
	struct twin twin;
	uint32_t stock_opaque_lkey; /* learnt from the first memcpy; one for the PD's life */
	uint64_t stock_opaque_addr;
};

static struct {
	unsigned long cases[N_BUILDERS][N_SETTERS];
	unsigned long flags[8], refused, split, fills, moved, batches, aborted, small_fences,
		bursts;
} count;

static uint64_t rnd;
static struct hwq_dev *dev;
static struct hwq_mr mr;
static uint8_t *mem, *before, *after_stock;
static uint8_t inline_data[INLINE_DATA];

static uint64_t
draw(uint64_t n)
{
	return check_random(&rnd) % n;
}

/* ------------------------------------------------------------------ drawing work */

/* Anything at all, with the edges often. */
static uint32_t
wild_len(void)
{
	static const uint32_t edge[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 64, 4096};

	return draw(3) == 0 ? edge[draw(7)] : (uint32_t)check_random(&rnd);
}

static void
draw_sge(struct ibv_sge *sge, bool wild)
{
	if (wild) {
		sge->addr = check_random(&rnd);
		sge->lkey = (uint32_t)check_random(&rnd);
		sge->length = wild_len();
		return;
	}
	sge->length = draw(4) == 0 ? 0 : (uint32_t)draw(2048);
	sge->addr = (uintptr_t)mem + draw(MEM_LEN / 2 - 2048);
	sge->lkey = mr.lkey;
}

static void
draw_inline(const struct pair *p, struct work *w)
{
	/* DS ends at 63: libmlx5 would build a WQE of 64, which hwq refuses (doc/hwq.md). */
	uint32_t max = p->twin.qp->sq.max_inline;
	size_t left;
	unsigned int i;

	w->len = draw(6) == 0 ? max : draw(max + 1);
	if (draw(200) == 0)
		w->len = p->stock.max_inline + 1 + draw(100);
	w->data = draw(INLINE_DATA - w->len);
	if (w->setter == S_INLINE)
		return;
	w->n = 1 + (unsigned int)draw(MAX_BUF);
	for (i = 0, left = w->len; i < w->n; i++) {
		size_t len = i + 1 == w->n ? left : draw(left + 1);

		w->buf[i].addr = inline_data + w->data + (w->len - left);
		w->buf[i].length = len;
		left -= len;
	}
}

static void
draw_memcpy(struct work *w, bool wild)
{
	uint64_t max = dev->caps.max_memcpy_len;

	draw_sge(&w->sge[0], wild);
	w->dst = check_random(&rnd);
	w->dst_lkey = (uint32_t)check_random(&rnd);
	w->len = draw(8) == 0 ? max : 1 + draw(max);
	if (draw(200) == 0)
		w->len = draw(2) == 0 ? 0 : max + 1 + draw(1ull << 33);
	if (!wild) {
		w->len = 1 + draw(2048);
		w->dst = (uintptr_t)mem + MEM_LEN / 2 + draw(MEM_LEN / 2 - 2048);
		w->dst_lkey = mr.lkey;
	}
}

/* Control segment of a kind whose length alone matters to a QP in ERR, and any bytes behind. */
static void
draw_raw(const struct pair *p, struct work *w)
{
	static const uint8_t fm_ce_se[] = {0, 0x08, 0x88, 0x0a};
	static const uint8_t opcode[] = {MLX5_OPCODE_NOP, MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_SEND};
	struct mlx5_wqe_ctrl_seg *ctrl = (struct mlx5_wqe_ctrl_seg *)(void *)w->raw;
	unsigned int max = p->conf.max_sge + 2, i;

	for (i = 0; i < sizeof(w->raw); i++)
		w->raw[i] = (uint8_t)check_random(&rnd);
	ctrl->opmod_idx_opcode = htobe32((uint32_t)draw(1u << 24) << 8 | opcode[draw(3)]);
	ctrl->qpn_ds = htobe32(1 + (uint32_t)draw(max));
	ctrl->signature = 0;
	ctrl->dci_stream_channel_id = 0;
	ctrl->fm_ce_se = fm_ce_se[draw(4)];
}

/* Eight bytes each, where the work is to run. */
static void
draw_atomic(struct work *w, bool wild)
{
	w->operand[0] = check_random(&rnd);
	w->operand[1] = check_random(&rnd);
	if (wild)
		return;
	w->setter = S_SGE;
	w->n = 1;
	w->sge[0].length = 8;
	w->sge[0].addr &= ~7ull;
	if (draw(2) == 0)
		memcpy(&w->operand[0], (const void *)(uintptr_t)w->raddr, 8);
}

static bool
may_draw(const struct pair *p, enum builder builder, bool wild, bool batch)
{
	if (!wild)
		return (REAL_BUILDERS >> builder & 1) != 0 && (batch || builder < B_WRITE_IMM) &&
		       (p->conf.send_ops & builder_ops[builder]) == builder_ops[builder];
	if (builder < B_WRITE_IMM)
		return true;
	return batch && (p->conf.send_ops & builder_ops[builder]) == builder_ops[builder];
}

static void
draw_work(const struct pair *p, struct work *w, bool wild, bool batch)
{
	unsigned int i;

	memset(w, 0, sizeof(*w));
	/* A SEND needs a receiver: the wild way shows its bytes. */
	do
		w->builder = (enum builder)draw(N_BUILDERS);
	while (!may_draw(p, w->builder, wild, batch));
	w->imm = (uint32_t)check_random(&rnd);
	w->flags = (unsigned int)draw(8) << 1; /* FENCE 1, SIGNALED 2, SOLICITED 4: see below */
	w->flags = (w->flags & 2 ? IBV_SEND_FENCE : 0) | (w->flags & 4 ? IBV_SEND_SIGNALED : 0) |
		   (w->flags & 8 ? IBV_SEND_SOLICITED : 0);
	w->rkey = wild ? (uint32_t)check_random(&rnd) : mr.rkey;
	w->raddr = wild ? check_random(&rnd) : (uintptr_t)mem + MEM_LEN / 2;
	switch (w->builder) {
	case B_NOP:
	case B_LOCAL_INV:
		return;
	case B_RAW:
		draw_raw(p, w);
		return;
	case B_MEMCPY:
		draw_memcpy(w, wild);
		return;
	case B_READ:
	case B_CMP_SWP:
	case B_FETCH_ADD:
		w->setter = draw(2) == 0 ? S_SGE : S_SGE_LIST;
		break;
	default:
		w->setter = (enum setter)(S_SGE + draw(4));
		break;
	}
	if (w->setter == S_INLINE || w->setter == S_INLINE_LIST) {
		draw_inline(p, w);
		return;
	}
	w->n = w->setter == S_SGE ? 1 : (unsigned int)draw(p->conf.max_sge + 1);
	if (w->setter == S_SGE_LIST && draw(200) == 0)
		w->n = p->conf.max_sge + 1;
	for (i = 0; i < w->n || i == 0; i++)
		draw_sge(&w->sge[i], wild);
	if (w->builder == B_CMP_SWP || w->builder == B_FETCH_ADD)
		draw_atomic(w, wild);
}

/* ------------------------------------------------------------------ posting it, twice */

static void
stock_nop(struct pair *p, const struct work *w)
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

static void
raw_for(const struct work *w, uint32_t qpn, uint8_t *raw)
{
	memcpy(raw, w->raw, sizeof(w->raw));
	raw[4] = (uint8_t)(qpn >> 16);
	raw[5] = (uint8_t)(qpn >> 8);
	raw[6] = (uint8_t)qpn;
}

/* ibv_wr_complete() says what became of it. */
static void
stock_post(struct pair *p, const struct work *w)
{
	struct ibv_qp_ex *ex = p->stock.ex;
	uint8_t raw[sizeof(w->raw)];

	ex->wr_id = (uintptr_t)w;
	ex->wr_flags = w->flags;
	switch (w->builder) {
	case B_NOP:
		stock_nop(p, w);
		return;
	case B_MEMCPY:
		mlx5dv_wr_memcpy(p->stock.dv, w->dst_lkey, w->dst, w->sge[0].lkey, w->sge[0].addr,
			w->len);
		return;
	case B_WRITE:
		ibv_wr_rdma_write(ex, w->rkey, w->raddr);
		break;
	case B_READ:
		ibv_wr_rdma_read(ex, w->rkey, w->raddr);
		break;
	case B_WRITE_IMM:
		ibv_wr_rdma_write_imm(ex, w->rkey, w->raddr, w->imm);
		break;
	case B_SEND_IMM:
		ibv_wr_send_imm(ex, w->imm);
		break;
	case B_SEND_INV:
		ibv_wr_send_inv(ex, w->imm);
		break;
	case B_CMP_SWP:
		ibv_wr_atomic_cmp_swp(ex, w->rkey, w->raddr, w->operand[0], w->operand[1]);
		break;
	case B_FETCH_ADD:
		ibv_wr_atomic_fetch_add(ex, w->rkey, w->raddr, w->operand[0]);
		break;
	case B_LOCAL_INV:
		ibv_wr_local_inv(ex, w->imm);
		return;
	case B_RAW:
		raw_for(w, p->stock.qp->qp_num, raw);
		mlx5dv_wr_raw_wqe(p->stock.dv, raw);
		return;
	default:
		ibv_wr_send(ex);
		break;
	}
	switch (w->setter) {
	case S_SGE:
		ibv_wr_set_sge(ex, w->sge[0].lkey, w->sge[0].addr, w->sge[0].length);
		break;
	case S_SGE_LIST:
		ibv_wr_set_sge_list(ex, w->n, w->sge);
		break;
	case S_INLINE:
		ibv_wr_set_inline_data(ex, inline_data + w->data, w->len);
		break;
	default:
		ibv_wr_set_inline_data_list(ex, w->n, w->buf);
		break;
	}
}

static unsigned int
hwq_flags(unsigned int flags)
{
	return (flags & IBV_SEND_FENCE ? HWQ_WQE_FENCE : 0) |
	       (flags & IBV_SEND_SIGNALED ? HWQ_WQE_SIGNALED : 0) |
	       (flags & IBV_SEND_SOLICITED ? HWQ_WQE_SOLICITED : 0);
}

static int
hwq_post_send(struct hwq_sq *sq, const struct work *w, const struct hwq_sge *sge,
	const struct hwq_buf *buf, unsigned int flags)
{
	switch (w->setter) {
	case S_SGE:
		return hwq_wqe_send(sq, sge->lkey, sge->addr, sge->len, flags);
	case S_SGE_LIST:
		return hwq_wqe_send_list(sq, sge, w->n, flags);
	case S_INLINE:
		return hwq_wqe_send_inline(sq, inline_data + w->data, w->len, flags);
	default:
		return hwq_wqe_send_inline_list(sq, buf, w->n, flags);
	}
}

static int
hwq_post_write(struct hwq_sq *sq, const struct work *w, const struct hwq_sge *sge,
	const struct hwq_buf *buf, unsigned int flags)
{
	switch (w->setter) {
	case S_SGE:
		return hwq_wqe_rdma_write(sq, w->rkey, w->raddr, sge->lkey, sge->addr, sge->len,
			flags);
	case S_SGE_LIST:
		return hwq_wqe_rdma_write_list(sq, w->rkey, w->raddr, sge, w->n, flags);
	case S_INLINE:
		return hwq_wqe_rdma_write_inline(sq, w->rkey, w->raddr, inline_data + w->data,
			w->len, flags);
	default:
		return hwq_wqe_rdma_write_inline_list(sq, w->rkey, w->raddr, buf, w->n, flags);
	}
}

/* A burst of this one alone. */
static int
hwq_post_burst(struct hwq_sq *sq, const struct work *w, unsigned int flags)
{
	const struct ibv_sge *sge = &w->sge[0];
	struct hwq_burst b;

	if (hwq_burst_start(&b, sq, 1) == 0)
		return 0;
	count.bursts++;
	if (w->builder == B_WRITE)
		hwq_burst_rdma_write(&b, w->rkey, w->raddr, sge->lkey, sge->addr, sge->length,
			flags);
	else if (!hwq_burst_memcpy(&b, w->dst_lkey, w->dst, sge->lkey, sge->addr, w->len, flags))
		return -EINVAL;
	hwq_burst_end(&b);
	return 1;
}

static int
hwq_post(struct pair *p, const struct work *w)
{
	struct hwq_sq *sq = &p->twin.qp->sq;
	unsigned int flags = hwq_flags(w->flags), i;
	struct hwq_sge sge[MAX_SGE + 2];
	struct hwq_buf buf[MAX_BUF];

	for (i = 0; i < MAX_SGE + 2; i++)
		sge[i] = (struct hwq_sge){w->sge[i].addr, w->sge[i].length, w->sge[i].lkey};
	for (i = 0; i < MAX_BUF; i++)
		buf[i] = (struct hwq_buf){w->buf[i].addr, w->buf[i].length};
	if ((w->builder == B_MEMCPY || (w->builder == B_WRITE && w->setter == S_SGE)) &&
		draw(2) == 0)
		return hwq_post_burst(sq, w, flags);
	switch (w->builder) {
	case B_NOP:
		return hwq_wqe_nop(sq, flags);
	case B_MEMCPY:
		return hwq_wqe_memcpy(sq, w->dst_lkey, w->dst, sge[0].lkey, sge[0].addr, w->len,
			flags);
	case B_WRITE:
		return hwq_post_write(sq, w, sge, buf, flags);
	case B_READ:
		if (w->setter == S_SGE)
			return hwq_wqe_rdma_read(sq, w->rkey, w->raddr, sge->lkey, sge->addr,
				sge->len, flags);
		return hwq_wqe_rdma_read_list(sq, w->rkey, w->raddr, sge, w->n, flags);
	default:
		return hwq_post_send(sq, w, sge, buf, flags);
	}
}

/* hwq_wr_complete() says what became of it. */
static void
hwq_wr_setter(struct hwq_wr *wr, const struct work *w)
{
	struct hwq_sge sge[MAX_SGE + 2];
	struct hwq_buf buf[MAX_BUF];
	unsigned int i;

	for (i = 0; i < MAX_SGE + 2; i++)
		sge[i] = (struct hwq_sge){w->sge[i].addr, w->sge[i].length, w->sge[i].lkey};
	for (i = 0; i < MAX_BUF; i++)
		buf[i] = (struct hwq_buf){w->buf[i].addr, w->buf[i].length};
	switch (w->setter) {
	case S_SGE:
		hwq_wr_set_sge(wr, sge->lkey, sge->addr, sge->len);
		break;
	case S_SGE_LIST:
		hwq_wr_set_sge_list(wr, w->n, sge);
		break;
	case S_INLINE:
		hwq_wr_set_inline_data(wr, inline_data + w->data, w->len);
		break;
	default:
		hwq_wr_set_inline_data_list(wr, w->n, buf);
		break;
	}
}

static void
hwq_wr_post(struct pair *p, struct hwq_wr *wr, const struct work *w)
{
	uint8_t raw[sizeof(w->raw)];

	wr->wr_id = (uintptr_t)w;
	wr->wr_flags = hwq_flags(w->flags);
	switch (w->builder) {
	case B_NOP:
		hwq_wr_nop(wr);
		return;
	case B_MEMCPY:
		hwq_wr_memcpy(wr, w->dst_lkey, w->dst, w->sge[0].lkey, w->sge[0].addr, w->len);
		return;
	case B_LOCAL_INV:
		hwq_wr_local_inv(wr, w->imm);
		return;
	case B_RAW:
		raw_for(w, p->twin.qp->qpn, raw);
		hwq_wr_raw_wqe(wr, raw);
		return;
	case B_WRITE:
		hwq_wr_rdma_write(wr, w->rkey, w->raddr);
		break;
	case B_READ:
		hwq_wr_rdma_read(wr, w->rkey, w->raddr);
		break;
	case B_WRITE_IMM:
		hwq_wr_rdma_write_imm(wr, w->rkey, w->raddr, w->imm);
		break;
	case B_SEND_IMM:
		hwq_wr_send_imm(wr, w->imm);
		break;
	case B_SEND_INV:
		hwq_wr_send_inv(wr, w->imm);
		break;
	case B_CMP_SWP:
		hwq_wr_atomic_cmp_swp(wr, w->rkey, w->raddr, w->operand[0], w->operand[1]);
		break;
	case B_FETCH_ADD:
		hwq_wr_atomic_fetch_add(wr, w->rkey, w->raddr, w->operand[0]);
		break;
	default:
		hwq_wr_send(wr);
		break;
	}
	hwq_wr_setter(wr, w);
}

/* ------------------------------------------------------------------ comparing */

/* The next WQE of the stock ring, in one piece; returns its DS. */
static unsigned int
stock_read(struct stock *s, uint8_t *wqe)
{
	uint32_t n = s->view.sq.wqe_cnt;
	const uint8_t *ring = s->view.sq.buf;
	unsigned int ds = ring[s->at % n * 64 + 7] & 63, i;

	for (i = 0; i < ds; i++)
		memcpy(wqe + i * 16, ring + (s->at * 64 + i * 16) % (n * 64), 16);
	if (s->at % n + (ds + 3) / 4 > n)
		count.split++;
	s->at += (ds + 3) / 4;
	return ds;
}

static uint32_t
get32(const uint8_t *p)
{
	__be32 v;

	memcpy(&v, p, 4);
	return be32toh(v);
}

static uint64_t
get64(const uint8_t *p)
{
	return (uint64_t)get32(p) << 32 | get32(p + 4);
}

/* wqe_index and QPN are those of the queue itself; then they are blanked. */
static void
check_names(uint8_t *wqe, uint64_t index, uint32_t qpn, const char *who)
{
	CHECK((get32(wqe) >> 8 & 0xffff) == (index & 0xffff), "%s: wqe_index 0x%04x at 0x%04llx",
		who, get32(wqe) >> 8 & 0xffff, (unsigned long long)index & 0xffff);
	CHECK(get32(wqe + 4) >> 8 == qpn, "%s: QPN 0x%06x in QP 0x%06x", who, get32(wqe + 4) >> 8,
		qpn);
	memset(wqe + 1, 0, 2);
	memset(wqe + 4, 0, 3);
}

static void
check_opaque(struct pair *p, uint8_t *theirs, uint8_t *ours)
{
	const struct hwq_mr *opaque = &p->twin.qp->opaque;

	if (p->stock_opaque_addr == 0) {
		p->stock_opaque_lkey = get32(theirs + 20);
		p->stock_opaque_addr = get64(theirs + 24);
	}
	CHECK(get32(theirs + 20) == p->stock_opaque_lkey &&
			get64(theirs + 24) == p->stock_opaque_addr,
		"libmlx5's opaque buffer moved");
	CHECK(get32(ours + 20) == opaque->lkey && get64(ours + 24) == (uintptr_t)opaque->addr,
		"opaque buffer 0x%llx key 0x%x is not the queue's",
		(unsigned long long)get64(ours + 24), get32(ours + 20));
	CHECK(opaque->len >= 64 && (uintptr_t)opaque->addr % 64 == 0, "opaque buffer too small");
	memset(theirs + 20, 0, 12);
	memset(ours + 20, 0, 12);
}

/* What lies between the WQE before and this one can only be a fill to the ring's end. */
static void
check_fill(struct pair *p, uint16_t from, uint16_t to)
{
	struct hwq_sq *sq = &p->twin.qp->sq;
	uint16_t bb = (uint16_t)(to - from);
	const uint8_t *nop = hwq_sq_at(sq, from);

	if (bb == 0)
		return;
	count.fills++;
	CHECK((to & sq->mask) == 0, "a fill that does not end at the ring's end");
	CHECK(get32(nop) == (uint32_t)from << 8 &&
			get32(nop + 4) == (p->twin.qp->qpn << 8 | bb * 4u) && get64(nop + 8) == 0,
		"a fill is an unsignalled NOP of its length");
}

/* Where a WQE of bb WQEBBs must start that comes behind index from. */
static uint16_t
place_of(const struct hwq_sq *sq, uint16_t from, unsigned int bb)
{
	uint32_t tail = sq->mask + 1 - (from & sq->mask);

	return (uint16_t)(tail < bb ? from + tail : from);
}

/* The work of both at their next place: *from, which moves behind it. */
static bool
compare(struct pair *p, const struct work *w, uint16_t *from)
{
	uint8_t theirs[1024], ours[1024];
	struct hwq_sq *sq = &p->twin.qp->sq;
	uint64_t at = p->stock.at;
	unsigned int ds = stock_read(&p->stock, theirs);
	unsigned int before_failures = check_failures;
	uint16_t place = place_of(sq, *from, (ds + 3) / 4);

	check_fill(p, *from, place);
	*from = (uint16_t)(place + (ds + 3) / 4);
	memcpy(ours, hwq_sq_at(sq, place), ds * 16);
	CHECK(ours[7] == theirs[7], "DS %u, libmlx5 %u", ours[7], theirs[7]);
	check_names(theirs, at, p->stock.qp->qp_num, "libmlx5");
	check_names(ours, place, p->twin.qp->qpn, "hwq");
	if (w->builder == B_MEMCPY)
		check_opaque(p, theirs, ours);
	if (w->builder != B_RAW && theirs[11] >> 5 == 1)
		count.small_fences++;
	check_bytes(ours, theirs, ds * 16, builder_names[w->builder]);
	if (check_failures == before_failures)
		return true;
	fprintf(stderr, "  %s: %s, %s, flags 0x%x, n %u, len %llu\n", p->name,
		builder_names[w->builder], setter_names[w->setter], w->flags, w->n,
		(unsigned long long)w->len);
	return false;
}

/* ------------------------------------------------------------------ batches */

/* libmlx5's room for n_work WQEs is cleared, ours holds old bytes: see the top. */
static void
prepare_rings(struct pair *p, unsigned int n_work)
{
	struct hwq_sq *sq = &p->twin.qp->sq;
	uint32_t n = p->stock.view.sq.wqe_cnt, i;

	for (i = 0; i < n_work * HWQ_WQE_MAX_BB && i < n; i++)
		memset((uint8_t *)p->stock.view.sq.buf + (p->stock.at + i) % n * 64, 0, 64);
	/* And behind the fill. */
	for (i = 0; i < (n_work + 1) * HWQ_WQE_MAX_BB && i < hwq_sq_free_bb(sq); i++)
		memset(hwq_sq_at(sq, (uint16_t)(sq->pi + i)), 0xa5, 64);
}

/* Takes every completion of both. In ERR each WQE has made one; in RTS the last one did. */
static void
drain(struct pair *p, unsigned int want_status)
{
	struct hwq_cqe rec;
	struct ibv_wc wc;
	uint64_t end = emu_now_ns() + 5000000000ull;
	struct hwq_sq *sq = &p->twin.qp->sq;

	emu_pump();
	while (ibv_poll_cq(p->stock.cq, 1, &wc) > 0)
		CHECK((unsigned int)wc.status == want_status, "stock status %d", wc.status);
	while (hwq_sq_used_bb(sq) != 0 && emu_now_ns() < end) {
		emu_pump();
		while (hwq_cq_poll(p->twin.cq, &rec, 1) == 1) {
			CHECK(rec.syndrome == (want_status == IBV_WC_SUCCESS ? 0 : 5),
				"syndrome 0x%x of WQE 0x%x", rec.syndrome, rec.wqe_counter);
			hwq_sq_complete(sq, rec.wqe_counter);
		}
	}
	CHECK(hwq_sq_used_bb(sq) == 0, "%u WQEBBs never completed", hwq_sq_used_bb(sq));
	if (hwq_sq_used_bb(sq) != 0)
		exit(EXIT_FAILURE);
}

static void
count_work(const struct work *w)
{
	count.cases[w->builder][w->setter]++;
	count.flags[(w->flags & IBV_SEND_FENCE ? 1 : 0) | (w->flags & IBV_SEND_SIGNALED ? 2 : 0) |
		    (w->flags & IBV_SEND_SOLICITED ? 4 : 0)]++;
}

/* One work request on each; both refuse it, with the same errno, or neither does. */
static bool
post_both(struct pair *p, const struct work *w)
{
	struct hwq_sq *sq = &p->twin.qp->sq;
	uint16_t from = sq->pi;
	int theirs, ours;

	prepare_rings(p, 1);
	ibv_wr_start(p->stock.ex);
	stock_post(p, w);
	theirs = ibv_wr_complete(p->stock.ex);
	ours = hwq_post(p, w);
	CHECK(ours != 0, "hwq says full, drained as it is");
	CHECK(theirs == (ours < 0 ? -ours : 0), "%s %s n %u len %llu: libmlx5 says %d, hwq %d",
		builder_names[w->builder], setter_names[w->setter], w->n,
		(unsigned long long)w->len, theirs, ours);
	if (theirs != 0 || ours <= 0) {
		count.refused++;
		CHECK(sq->pi == from, "refused work took room");
		return true;
	}
	count_work(w);
	return compare(p, w, &from) && from == sq->pi;
}

/* Begins a batch of each and forgets it: neither shows a trace of it. */
static void
abort_both(struct pair *p, const struct work *w, unsigned int n)
{
	struct hwq_sq before_abort = p->twin.qp->sq;
	struct hwq_wr wr;
	unsigned int i;

	ibv_wr_start(p->stock.ex);
	hwq_wr_start(&wr, &p->twin.qp->sq);
	for (i = 0; i < n; i++) {
		stock_post(p, &w[i]);
		hwq_wr_post(p, &wr, &w[i]);
	}
	ibv_wr_abort(p->stock.ex);
	hwq_wr_abort(&wr);
	CHECK(memcmp(&before_abort, &p->twin.qp->sq, sizeof(before_abort)) == 0,
		"an aborted batch left a trace");
	count.aborted++;
}

/* A batch by each critical region; both refuse it whole, with the same errno, or neither does. */
static bool
region_both(struct pair *p, const struct work *w, unsigned int n)
{
	struct hwq_sq *sq = &p->twin.qp->sq, before_batch = *sq;
	uint16_t from = sq->pi;
	struct hwq_wr wr;
	unsigned int i;
	int theirs, ours;

	prepare_rings(p, n);
	ibv_wr_start(p->stock.ex);
	hwq_wr_start(&wr, sq);
	for (i = 0; i < n; i++) {
		stock_post(p, &w[i]);
		hwq_wr_post(p, &wr, &w[i]);
	}
	theirs = ibv_wr_complete(p->stock.ex);
	ours = hwq_wr_complete(&wr);
	CHECK(theirs == -ours, "a batch of %u: libmlx5 says %d, hwq %d", n, theirs, ours);
	if (theirs != 0 || ours != 0) {
		count.refused++;
		CHECK(memcmp(&before_batch, sq, sizeof(before_batch)) == 0,
			"a refused batch left a trace");
		return theirs == -ours;
	}
	for (i = 0; i < n; i++) {
		count_work(&w[i]);
		if (!compare(p, &w[i], &from))
			return false;
	}
	CHECK(from == sq->pi, "the batch ends at 0x%04x, not at 0x%04x", sq->pi, from);
	return true;
}

static unsigned long
wild_regions(struct pair *p)
{
	unsigned int n = 1 + (unsigned int)draw(4), i;
	static struct work w[4];

	for (i = 0; i < n; i++)
		draw_work(p, &w[i], true, true);
	if (draw(8) == 0)
		abort_both(p, w, n);
	region_both(p, w, n);
	drain(p, IBV_WC_WR_FLUSH_ERR);
	count.batches++;
	return n;
}

static unsigned long
wild_batch(struct pair *p)
{
	unsigned int n = 1 + (unsigned int)draw(4), i;
	static struct work w;

	/* The fence that LOCAL_INV leaves is hwq_wr.h's alone. */
	if ((p->conf.send_ops & IBV_QP_EX_WITH_LOCAL_INV) != 0 || draw(2) == 0)
		return wild_regions(p);
	for (i = 0; i < n; i++) {
		draw_work(p, &w, true, false);
		if (!post_both(p, &w))
			break;
	}
	hwq_sq_ring(&p->twin.qp->sq);
	drain(p, IBV_WC_WR_FLUSH_ERR);
	count.batches++;
	return i;
}

/* Both hand back the same wr_ids: those of signalled work, in order. */
static void
drain_wr_ids(struct pair *p)
{
	struct hwq_sq *sq = &p->twin.qp->sq;
	uint64_t ids[4];
	struct ibv_wc wc[5];
	unsigned int n, i;
	int theirs;

	emu_pump();
	theirs = ibv_poll_cq(p->stock.cq, 5, wc);
	for (n = 0; n < 4 && hwq_wr_poll(sq, &ids[n], 1) == 1; n++)
		;
	CHECK((int)n == theirs, "%u completions, libmlx5 has %d", n, theirs);
	for (i = 0; i < n; i++)
		CHECK(ids[i] == wc[i].wr_id, "wr_id 0x%llx, libmlx5 has 0x%llx",
			(unsigned long long)ids[i], (unsigned long long)wc[i].wr_id);
	CHECK(hwq_wr_poll(sq, ids, 4) == 0, "a completion too many");
	CHECK(hwq_sq_used_bb(sq) == 0, "%u WQEBBs never completed", hwq_sq_used_bb(sq));
}

/* In RTS: libmlx5's work runs first, then the memory is as before, then ours. */
static unsigned long
real_batch(struct pair *p)
{
	struct hwq_sq *sq = &p->twin.qp->sq;
	unsigned int n = 1 + (unsigned int)draw(4), i;
	bool batch = draw(2) == 0;
	static struct work w[4];
	uint16_t from = sq->pi;
	struct hwq_wr wr;

	prepare_rings(p, n);
	memcpy(mem, before, MEM_LEN);
	for (i = 0; i < n; i++) {
		draw_work(p, &w[i], false, batch);
		/* Later work of a batch reads what earlier work wrote: fenced, or it is a race. */
		w[i].flags |= IBV_SEND_FENCE;
		if (i + 1 == n)
			w[i].flags |= IBV_SEND_SIGNALED;
		if (w[i].len > p->twin.qp->sq.max_inline && w[i].builder != B_MEMCPY)
			w[i].len = 0, w[i].n = 0;
		if (w[i].n > p->conf.max_sge && w[i].setter == S_SGE_LIST)
			w[i].n = p->conf.max_sge;
	}
	ibv_wr_start(p->stock.ex);
	for (i = 0; i < n; i++)
		stock_post(p, &w[i]);
	CHECK_EQ(ibv_wr_complete(p->stock.ex), 0, "ibv_wr_complete");
	emu_pump();
	memcpy(after_stock, mem, MEM_LEN);
	if (memcmp(before, mem, MEM_LEN) != 0)
		count.moved++;
	memcpy(mem, before, MEM_LEN);
	hwq_wr_start(&wr, sq);
	for (i = 0; i < n; i++) {
		if (batch)
			hwq_wr_post(p, &wr, &w[i]);
		else
			CHECK(hwq_post(p, &w[i]) > 0, "hwq refuses %s",
				builder_names[w[i].builder]);
		count_work(&w[i]);
	}
	if (batch)
		CHECK_EQ(hwq_wr_complete(&wr), 0, "hwq_wr_complete");
	else
		hwq_sq_ring(sq);
	for (i = 0; i < n && compare(p, &w[i], &from); i++)
		;
	if (batch)
		drain_wr_ids(p);
	else
		drain(p, IBV_WC_SUCCESS);
	CHECK(memcmp(after_stock, mem, MEM_LEN) == 0, "the work moved other bytes than libmlx5's");
	count.batches++;
	return n;
}

/* ------------------------------------------------------------------ the run */

static struct pair pairs[] = {
	{"one segment", {.sq_wr = 64,
				.max_sge = 1,
				.mmo = true,
				.send_ops = OPS_RC & ~IBV_QP_EX_WITH_LOCAL_INV}},
	{"sixteen WQEBBs",
		{.sq_wr = 16,
			.max_sge = 30,
			.max_inline = 972,
			.mmo = true,
			.send_ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
				    IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				    IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_SEND_WITH_INV}},
	{"local_inv", {.sq_wr = 32,
			      .max_sge = 4,
			      .max_inline = 60,
			      .mmo = true,
			      .send_ops = OPS_RC}},
	{"sq_sig_all", {.sq_wr = 16,
			       .max_sge = 13,
			       .max_inline = 220,
			       .mmo = true,
			       .sq_sig_all = true,
			       .send_ops = OPS_RC}},
};

#define N_PAIRS (sizeof(pairs) / sizeof(pairs[0]))

static void
pair_start(struct pair *p)
{
	stock_create(dev, &p->conf, &p->stock);
	twin_create(dev, &p->conf, &p->twin);
	CHECK(p->stock.view.sq.wqe_cnt == hwq_sq_n_bb(&p->twin.qp->sq),
		"rings of different length");
	stock_connect(dev, p->stock.qp, p->stock.qp->qp_num);
	twin_connect_self(&p->twin);
}

/* By NOPs of sixteen WQEBBs, to where the wire's 16-bit index soon wraps. */
static void
skip_first_lap(struct pair *p)
{
	struct hwq_sq *sq = &p->twin.qp->sq;
	uint8_t nop[1024] = {0};

	while (p->stock.at < 65000) {
		mlx5dv_set_ctrl_seg((struct mlx5_wqe_ctrl_seg *)nop, 0, MLX5_OPCODE_NOP, 0,
			p->stock.qp->qp_num, MLX5_WQE_CTRL_CQ_UPDATE, 63, 0, 0);
		ibv_wr_start(p->stock.ex);
		mlx5dv_wr_raw_wqe(p->stock.dv, nop);
		CHECK_EQ(ibv_wr_complete(p->stock.ex), 0, "a NOP");
		p->stock.at += 16;
		hwq_put_ctrl(sq, hwq_sq_reserve(sq, 16), sq->pi, 0, MLX5_OPCODE_NOP, 63,
			HWQ_WQE_SIGNALED, 0);
		hwq_sq_commit(sq, 16);
		hwq_sq_ring(sq);
		drain(p, IBV_WC_WR_FLUSH_ERR);
	}
}

static void
run_wild(unsigned long cases)
{
	unsigned long done = 0;
	unsigned int i;

	for (i = 0; i < N_PAIRS; i++) {
		pair_start(&pairs[i]);
		stock_to_err(&pairs[i].stock);
		CHECK_EQ(hwq_qp_fail(pairs[i].twin.qp), 0, "to ERR");
		skip_first_lap(&pairs[i]);
	}
	while (done < cases && check_failures == 0)
		done += wild_batch(&pairs[draw(N_PAIRS)]);
	for (i = 0; i < N_PAIRS; i++) {
		CHECK(cases < 10000 || pairs[i].stock.at > 65536, "%s: no lap of the wire's index",
			pairs[i].name);
		twin_destroy(&pairs[i].twin);
		stock_destroy(&pairs[i].stock);
	}
}

static void
run_real(unsigned long cases)
{
	unsigned long done = 0;
	unsigned int i;

	for (i = 0; i < N_PAIRS; i++)
		pair_start(&pairs[i]);
	while (done < cases && check_failures == 0)
		done += real_batch(&pairs[draw(N_PAIRS)]);
	for (i = 0; i < N_PAIRS; i++) {
		twin_destroy(&pairs[i].twin);
		stock_destroy(&pairs[i].stock);
	}
}

static void
print_counts(void)
{
	unsigned int b, s;

	for (b = 0; b < N_BUILDERS; b++) {
		for (s = 0; s < N_SETTERS; s++) {
			if (count.cases[b][s] != 0)
				printf("  %-16s %-11s %lu\n", builder_names[b], setter_names[s],
					count.cases[b][s]);
		}
	}
	for (b = 0; b < 8; b++)
		printf("  flags%s%s%s%s %lu\n", b == 0 ? " none" : "", b & 1 ? " FENCE" : "",
			b & 2 ? " SIGNALED" : "", b & 4 ? " SOLICITED" : "", count.flags[b]);
	printf("  split by libmlx5 %lu, filled by hwq %lu, refused by both %lu, batches %lu, "
	       "of which moved bytes %lu, aborted %lu, small fences %lu, by hwq_burst.h %lu\n",
		count.split, count.fills, count.refused, count.batches, count.moved, count.aborted,
		count.small_fences, count.bursts);
}

static void
check_coverage(unsigned long cases)
{
	unsigned int b;

	if (cases < 10000)
		return;
	CHECK(count.split > 0 && count.fills > 0 && count.refused > 0 && count.moved > 0,
		"a case that must come up did not");
	for (b = 0; b < 8; b++)
		CHECK(count.flags[b] > 0, "flags %u never drawn", b);
	CHECK(count.aborted > 0 && count.small_fences > 0 && count.bursts > 0,
		"aborts, fences of LOCAL_INV, and bursts");
	CHECK(count.cases[B_NOP][S_NONE] && count.cases[B_MEMCPY][S_NONE] &&
			count.cases[B_LOCAL_INV][S_NONE] && count.cases[B_RAW][S_NONE],
		"a builder never drawn");
	for (b = S_SGE; b < N_SETTERS; b++)
		CHECK(count.cases[B_WRITE][b] && count.cases[B_SEND][b] &&
				count.cases[B_WRITE_IMM][b] && count.cases[B_SEND_IMM][b] &&
				count.cases[B_SEND_INV][b],
			"setter %s", setter_names[b]);
	for (b = S_SGE; b <= S_SGE_LIST; b++)
		CHECK(count.cases[B_READ][b] && count.cases[B_CMP_SWP][b] &&
				count.cases[B_FETCH_ADD][b],
			"setter %s of reads and atomics", setter_names[b]);
}

static void
start_memory(void)
{
	size_t i;
	int ret;

	mem = aligned_alloc(4096, MEM_LEN);
	before = malloc(MEM_LEN);
	after_stock = malloc(MEM_LEN);
	if (mem == NULL || before == NULL || after_stock == NULL)
		EMU_DIE("no memory");
	for (i = 0; i < MEM_LEN; i++)
		before[i] = (uint8_t)check_random(&rnd);
	for (i = 0; i < INLINE_DATA; i++)
		inline_data[i] = (uint8_t)check_random(&rnd);
	memcpy(mem, before, MEM_LEN);
	ret = hwq_mr_register(dev, mem, MEM_LEN,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_ATOMIC,
		&mr);
	if (ret != 0)
		EMU_DIE("registering memory: %s", strerror(-ret));
}

int
main(int argc, char **argv)
{
	unsigned long cases = argc > 1 ? strtoul(argv[1], NULL, 0) : 200000;

	emu_setting(argv, "SOFTHCA_THREADS", "0");
	rnd = argc > 2 ? strtoull(argv[2], NULL, 0) : emu_now_ns();
	printf("seed %llu, %lu cases\n", (unsigned long long)rnd, cases);
	dev = emu_open();
	start_memory();
	RUN("any work at all has libmlx5's bytes and errors", run_wild(cases - cases / 6));
	RUN("work that runs has libmlx5's bytes and effect", run_real(cases / 6));
	print_counts();
	check_coverage(cases);
	CHECK_EQ(hwq_mr_deregister(&mr), 0, "deregister");
	CHECK_EQ(hwq_dev_close(dev), 0, "close");
	free(mem);
	free(before);
	free(after_stock);
	return check_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
