/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The effect of work requests: SENDs, RDMA writes, invalidations, raw WQEs and frames are posted
 * through stock libmlx5 and through hwq, and must have equal effects. Each poster has its own
 * receiver, created by stock verbs. The receivers' completions must be equal, and so must every
 * byte of the memory for receives and writes. Frames are compared in the emulated adapter's capture
 * file.
 *
 * usage: test_hwq_effects [--device NAME] [CASES [SEED]]
 */
#include <fcntl.h>

#include "hwq_ah.h"
#include "hwq_twin_wr.h"
#include "hwq_wr_umr.h"

#define DC_KEY 0x1122334455667788ull
/* bytes of each poster's memory: the first half for receives, the second half for writes */
#define AREA    8192u
#define GRH     40u
#define MAX_LEN 400u /* bytes of one piece of data: two pieces do not exceed a datagram's MTU */
#define STOCK   0
#define HWQ     1

/* The receiver of one poster. */
struct receiver {
	struct ibv_qp *qp;
	struct ibv_srq *srq; /* NULL: qp has its own receive queue */
	struct ibv_cq *cq;
	uint32_t srqn;
	uint8_t *area;
};

static struct hwq_qp_conf conf;
static struct twin_pair pair; /* the two posters */
static struct receiver rcv[2];
static struct ibv_xrcd *xrcd;
static struct ibv_ah *stock_ah;
static struct hwq_ah hwq_ah;

/* ------------------------------------------------------------------ receivers */

static void
open_srq(struct receiver *r, bool xrc)
{
	struct ibv_srq_init_attr_ex init = {.attr = {.max_wr = 16, .max_sge = 1},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     (xrc ? IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ : 0),
		.srq_type = xrc ? IBV_SRQT_XRC : IBV_SRQT_BASIC,
		.pd = twin_dev->pd,
		.xrcd = xrcd,
		.cq = r->cq};

	r->srq = ibv_create_srq_ex(twin_dev->ctx, &init);
	if (r->srq == NULL || (xrc && ibv_get_srq_num(r->srq, &r->srqn) != 0))
		EMU_DIE("an SRQ: %s", strerror(errno));
}

static struct ibv_qp *
create_xrc_target(void)
{
	struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd};

	return ibv_create_qp_ex(twin_dev->ctx, &init);
}

static struct ibv_qp *
create_dct(struct receiver *r)
{
	struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_DRIVER,
		.send_cq = r->cq,
		.recv_cq = r->cq,
		.srq = r->srq,
		.pd = twin_dev->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD};
	struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCT, .dct_access_key = DC_KEY}};

	return mlx5dv_create_qp(twin_dev->ctx, &init, &dv);
}

static struct ibv_qp *
create_plain(struct receiver *r)
{
	struct ibv_qp_init_attr init = {.qp_type = stock_type(conf.type),
		.send_cq = r->cq,
		.recv_cq = r->cq,
		.cap = {.max_send_wr = 8, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1}};

	return ibv_create_qp(twin_dev->pd, &init);
}

static void
receiver_open(struct receiver *r, uint8_t *area)
{
	memset(r, 0, sizeof(*r));
	r->area = area;
	r->cq = ibv_create_cq(twin_dev->ctx, 64, NULL, NULL, 0);
	if (r->cq == NULL)
		EMU_DIE("a receiver's CQ");
	if (conf.type == HWQ_QP_XRC_SEND || conf.type == HWQ_QP_DCI)
		open_srq(r, conf.type == HWQ_QP_XRC_SEND);
	if (conf.type == HWQ_QP_XRC_SEND)
		r->qp = create_xrc_target();
	else if (conf.type == HWQ_QP_DCI)
		r->qp = create_dct(r);
	else
		r->qp = create_plain(r);
	if (r->qp == NULL)
		EMU_DIE("a receiver: %s", strerror(errno));
	/* A DCT stays in RTR. It gets its number there. */
	if (conf.type == HWQ_QP_DCI)
		stock_take(twin_dev, r->qp, K_DCT, 0, IBV_QPS_INIT, IBV_QPS_RTR);
	else
		stock_to_init(twin_dev, r->qp);
}

static void
receiver_close(struct receiver *r)
{
	if (ibv_destroy_qp(r->qp) != 0 || (r->srq != NULL && ibv_destroy_srq(r->srq) != 0) ||
		ibv_destroy_cq(r->cq) != 0)
		EMU_DIE("destroying a receiver: %s", strerror(errno));
}

static void
post_receive(struct receiver *r)
{
	struct ibv_sge sge = {(uintptr_t)r->area, AREA / 2, twin_mr.lkey};
	struct ibv_recv_wr wr = {.wr_id = 5, .sg_list = &sge, .num_sge = 1}, *bad;
	int ret = r->srq != NULL ? ibv_post_srq_recv(r->srq, &wr, &bad)
				 : ibv_post_recv(r->qp, &wr, &bad);

	CHECK_EQ(ret, 0, "posting a receive");
}

/* ------------------------------------------------------------------ posters */

static void
open_all(enum hwq_qp_type type, uint64_t ops)
{
	struct hwq_addr peer;
	unsigned int k;

	conf = (struct hwq_qp_conf){.type = type,
		.sq_wr = 8,
		.max_sge = 2,
		.max_inline = 200,
		.qkey = EMU_QKEY,
		.send_ops = ops};
	for (k = 0; k < 2; k++)
		receiver_open(&rcv[k], twin_mem + TWIN_MEM_LEN / 2 + k * AREA);
	pair = (struct twin_pair){.name = "effects", .conf = conf};
	stock_create(twin_dev, &conf, &pair.stock);
	twin_create(twin_dev, &conf, &pair.twin);
	stock_connect(twin_dev, pair.stock.qp, rcv[STOCK].qp->qp_num);
	if (type == HWQ_QP_RC || type == HWQ_QP_UC || type == HWQ_QP_XRC_SEND) {
		hwq_qp_addr(pair.twin.qp, &peer);
		peer.qpn = htobe32(rcv[HWQ].qp->qp_num);
		peer.psn = 0;
		CHECK_EQ(hwq_qp_connect(pair.twin.qp, &peer), 0, "connect");
	} else {
		CHECK_EQ(hwq_qp_ready(pair.twin.qp), 0, "ready");
	}
	if (type != HWQ_QP_DCI) {
		stock_connect(twin_dev, rcv[STOCK].qp, pair.stock.qp->qp_num);
		stock_connect(twin_dev, rcv[HWQ].qp, pair.twin.qp->qpn);
	}
}

static void
close_all(void)
{
	twin_close(&pair, 1);
	receiver_close(&rcv[STOCK]);
	receiver_close(&rcv[HWQ]);
}

static void
stock_address(unsigned int to)
{
	switch (conf.type) {
	case HWQ_QP_UD:
		ibv_wr_set_ud_addr(pair.stock.ex, stock_ah, rcv[to].qp->qp_num, EMU_QKEY);
		break;
	case HWQ_QP_XRC_SEND:
		ibv_wr_set_xrc_srqn(pair.stock.ex, rcv[to].srqn);
		break;
	case HWQ_QP_DCI:
		mlx5dv_wr_set_dc_addr(pair.stock.dv, stock_ah, rcv[to].qp->qp_num, DC_KEY);
		break;
	default:
		break;
	}
}

static HWQ_INLINE void
hwq_address(struct hwq_wr *wr, unsigned int to, enum hwq_qp_type type)
{
	if (type == HWQ_QP_UD)
		hwq_wr_set_ud_addr(wr, &hwq_ah, rcv[to].qp->qp_num, EMU_QKEY);
	else if (type == HWQ_QP_XRC_SEND)
		hwq_wr_set_xrc_srqn(wr, rcv[to].srqn);
	else if (type == HWQ_QP_DCI)
		hwq_wr_set_dc_addr(wr, &hwq_ah, rcv[to].qp->qp_num, DC_KEY);
}

/*
 * Takes one completion of the posted work. Returns its status, an enum ibv_wc_status, or -1 if none
 * came.
 */
static int
stock_status(void)
{
	struct ibv_wc wc;
	uint64_t end = 0;
	int n;

	while ((n = ibv_poll_cq(pair.stock.cq, 1, &wc)) == 0 && twin_patience(&end))
		;
	return n == 1 ? (int)wc.status : -1;
}

/*
 * Takes one completion of hwq's work. Returns libmlx5's status for its syndrome, for the syndromes
 * that occur here.
 */
static int
hwq_status(void)
{
	struct hwq_cqe rec;
	uint64_t end = 0;

	while (hwq_cq_poll(pair.twin.cq, &rec, 1) != 1)
		if (!twin_patience(&end))
			return -1;
	hwq_sq_complete(&pair.twin.qp->sq, rec.wqe_counter);
	switch (rec.syndrome) {
	case 0:
		return IBV_WC_SUCCESS;
	case MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR:
		return IBV_WC_REM_ACCESS_ERR;
	case MLX5_CQE_SYNDROME_WR_FLUSH_ERR:
		return IBV_WC_WR_FLUSH_ERR;
	default:
		return 1000 + rec.syndrome;
	}
}

/* ------------------------------------------------------------------ messages */

struct message {
	enum twin_code code;
	enum twin_setter setter;
	bool address_first;
	unsigned int flags;
	struct twin_args args;
	struct twin_data data;
};

static void
draw_message(struct message *m)
{
	static const enum twin_code codes[] = {TWIN_SEND, TWIN_SEND_IMM, TWIN_WRITE_IMM,
		TWIN_WRITE};
	unsigned int i;

	m->code = codes[twin_draw(conf.type == HWQ_QP_UD ? 2 : 4)];
	m->setter = (enum twin_setter)twin_draw(TWIN_DATA_SETTERS);
	m->address_first = twin_draw(2) == 0;
	m->flags = IBV_SEND_SIGNALED | (twin_draw(2) == 0 ? IBV_SEND_SOLICITED : 0) |
		   (twin_draw(2) == 0 ? IBV_SEND_FENCE : 0);
	twin_draw_args(&pair, &m->args);
	twin_draw_data(&pair, m->setter, &m->data);
	for (i = 0; i < m->data.n && m->setter <= TWIN_SGE_LIST; i++)
		m->data.sge[i].length %= MAX_LEN;
}

static void
post_stock(const struct message *m)
{
	struct twin_args a = m->args;

	a.raddr = (uintptr_t)rcv[STOCK].area + AREA / 2;
	ibv_wr_start(pair.stock.ex);
	pair.stock.ex->wr_id = 1;
	pair.stock.ex->wr_flags = m->flags;
	twin_stock_op(&pair, m->code, &a);
	if (m->address_first)
		stock_address(STOCK);
	twin_stock_data(&pair, m->setter, &m->data);
	if (!m->address_first)
		stock_address(STOCK);
	CHECK_EQ(ibv_wr_complete(pair.stock.ex), 0, "ibv_wr_complete");
}

/* type is a constant, as in a program that uses one type. */
static HWQ_INLINE int
post_hwq_as(const struct message *m, enum hwq_qp_type type)
{
	struct twin_args a = m->args;
	struct hwq_wr wr;

	a.raddr = (uintptr_t)rcv[HWQ].area + AREA / 2;
	twin_start(&wr, &pair.twin.qp->sq, type);
	wr.wr_id = 1;
	wr.wr_flags = twin_hwq_flags(m->flags);
	twin_hwq_op(&wr, m->code, &a);
	if (m->address_first)
		hwq_address(&wr, HWQ, type);
	twin_hwq_data(&wr, m->setter, &m->data);
	if (!m->address_first)
		hwq_address(&wr, HWQ, type);
	return hwq_wr_complete(&wr);
}

static int
post_hwq(const struct message *m)
{
	switch (conf.type) {
	case HWQ_QP_UD:
		return post_hwq_as(m, HWQ_QP_UD);
	case HWQ_QP_XRC_SEND:
		return post_hwq_as(m, HWQ_QP_XRC_SEND);
	case HWQ_QP_DCI:
		return post_hwq_as(m, HWQ_QP_DCI);
	default:
		return post_hwq_as(m, HWQ_QP_RC);
	}
}

/* Takes a receiver's next completion. `comes`: a completion must come. */
static int
take_arrival(struct receiver *r, struct ibv_wc *wc, bool comes)
{
	uint64_t end = 0;
	int n;

	while ((n = ibv_poll_cq(r->cq, 1, wc)) == 0 && comes && twin_patience(&end))
		;
	return n;
}

/*
 * Compares both receivers' completions, except for the sender, and their memory. If no completion
 * comes, the bytes of an unreliable write may arrive later than the poster's completion.
 */
static unsigned int
compare_arrivals(bool comes)
{
	struct ibv_wc wc[2];
	uint64_t end = 0;
	int n[2];
	unsigned int k;

	memset(wc, 0, sizeof(wc));
	for (k = 0; k < 2; k++) {
		n[k] = take_arrival(&rcv[k], &wc[k], comes);
		wc[k].qp_num = wc[k].src_qp = 0;
		/* pkey_index is defined only for a GSI QP (ibv_poll_cq(3)). */
		wc[k].pkey_index = 0;
	}
	CHECK(n[STOCK] == n[HWQ], "%d completions, of libmlx5's %d", n[HWQ], n[STOCK]);
	check_bytes(&wc[HWQ], &wc[STOCK], sizeof(wc[0]), "a receiver's completion");
	if (twin_device != NULL && !comes)
		usleep(100);
	while (memcmp(rcv[HWQ].area, rcv[STOCK].area, AREA) != 0 && twin_patience(&end))
		;
	check_bytes(rcv[HWQ].area, rcv[STOCK].area, AREA, "a receiver's memory");
	return n[STOCK] == 1 && wc[STOCK].status == IBV_WC_SUCCESS;
}

static void
messages(enum hwq_qp_type type)
{
	uint64_t rdma = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	unsigned long i, arrived = 0, written = 0, pending = 0;

	open_all(type, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
			       (type == HWQ_QP_UD ? 0 : rdma));
	for (i = 0; i < twin_cases && check_failures == 0; i++) {
		static struct message m;
		bool takes_receive;

		draw_message(&m);
		takes_receive = m.code != TWIN_WRITE;
		memset(rcv[STOCK].area, 0xee, AREA);
		memset(rcv[HWQ].area, 0xee, AREA);
		if (pending == 0) {
			post_receive(&rcv[STOCK]);
			post_receive(&rcv[HWQ]);
		}
		pending = takes_receive ? 0 : 1;
		post_stock(&m);
		CHECK_EQ(stock_status(), IBV_WC_SUCCESS, "libmlx5's status");
		CHECK_EQ(post_hwq(&m), 0, "hwq_wr_complete");
		CHECK_EQ(hwq_status(), IBV_WC_SUCCESS, "hwq's status");
		written += !takes_receive;
		arrived += compare_arrivals(takes_receive);
		if (check_failures != 0)
			fprintf(stderr, "  op %d, setter %s, flags 0x%x\n", m.code,
				twin_data_setters[m.setter], m.flags);
	}
	printf("  type %d: %lu messages arrived, %lu writes without one\n", (int)type, arrived,
		written);
	CHECK(arrived + written == i && arrived > 0, "%lu of %lu messages arrived", arrived, i);
	close_all();
}

/* ------------------------------------------------------------------ windows */

static void
receiver_posts(struct receiver *r, struct ibv_send_wr *wr, int want, const char *what)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	wr->send_flags |= IBV_SEND_SIGNALED;
	CHECK_EQ(ibv_post_send(r->qp, wr, &bad), 0, what);
	CHECK_EQ(take_arrival(r, &wc, true), 1, what);
	CHECK_EQ(wc.status, want, what);
}

/* Binds a window of the receiver to the second half of the receiver's area, which is for writes. */
static void
receiver_binds(struct receiver *r, struct ibv_mw *mw, uint32_t rkey)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_BIND_MW,
		.bind_mw = {.mw = mw,
			.rkey = rkey,
			.bind_info = {.mr = twin_mr.mr,
				.addr = (uintptr_t)r->area + AREA / 2,
				.length = AREA / 2,
				.mw_access_flags = IBV_ACCESS_REMOTE_WRITE}}};

	receiver_posts(r, &wr, IBV_WC_SUCCESS, "the receiver's bind");
}

static struct ibv_mw *
alloc_window(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(twin_dev->pd, IBV_MW_TYPE_2);

	if (mw == NULL)
		EMU_DIE("a memory window: %s", strerror(errno));
	return mw;
}

/* Both posters write to rkey, or send a SEND that invalidates rkey. */
static void
post_to_keys(enum twin_code code, const uint32_t *rkey, int want, const char *what)
{
	static struct message m;
	unsigned int k;

	m = (struct message){.code = code, .flags = IBV_SEND_SIGNALED};
	m.data.n = 1;
	m.data.sge[0] = (struct ibv_sge){(uintptr_t)twin_mem, 64, twin_mr.lkey};
	for (k = 0; k < 2; k++) {
		m.args.rkey = m.args.imm = rkey[k];
		if (k == STOCK)
			post_stock(&m);
		else
			CHECK_EQ(post_hwq(&m), 0, "hwq_wr_complete");
		CHECK_EQ(k == STOCK ? stock_status() : hwq_status(), want, what);
	}
}

static void
send_inv(void)
{
	struct ibv_mw *mw[2] = {alloc_window(), alloc_window()};
	uint32_t rkey[2];
	struct ibv_wc wc;
	unsigned int k;

	open_all(HWQ_QP_RC, IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_RDMA_WRITE);
	for (k = 0; k < 2; k++) {
		rkey[k] = ibv_inc_rkey(mw[k]->rkey);
		receiver_binds(&rcv[k], mw[k], rkey[k]);
		post_receive(&rcv[k]);
		memset(rcv[k].area, 0xee, AREA);
	}
	post_to_keys(TWIN_WRITE, rkey, IBV_WC_SUCCESS, "a write through the window");
	CHECK(memcmp(rcv[HWQ].area + AREA / 2, twin_mem, 64) == 0, "the write did not arrive");
	post_to_keys(TWIN_SEND_INV, rkey, IBV_WC_SUCCESS, "the SEND that invalidates it");
	for (k = 0; k < 2; k++) {
		CHECK_EQ(take_arrival(&rcv[k], &wc, true), 1, "the receive");
		CHECK_EQ(wc.status, IBV_WC_SUCCESS, "the receive");
		CHECK((wc.wc_flags & IBV_WC_WITH_INV) != 0 && wc.invalidated_rkey == rkey[k],
			"key 0x%x was invalidated, not 0x%x", wc.invalidated_rkey, rkey[k]);
	}
	post_to_keys(TWIN_WRITE, rkey, IBV_WC_REM_ACCESS_ERR,
		"a write through a window that is gone");
	close_all();
	for (k = 0; k < 2; k++)
		CHECK_EQ(ibv_dealloc_mw(mw[k]), 0, "the window");
}

static struct ibv_mw_bind_info
own_window(unsigned int k)
{
	return (struct ibv_mw_bind_info){.mr = twin_mr.mr,
		.addr = (uintptr_t)rcv[k].area,
		.length = 64,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
}

/* The receiver writes through the poster's window, and must get the status `want`. */
static void
write_back(const uint32_t *rkey, int want, const char *what)
{
	unsigned int k;

	for (k = 0; k < 2; k++) {
		struct ibv_sge sge = {(uintptr_t)twin_mem + 64, 64, twin_mr.lkey};
		struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE,
			.sg_list = &sge,
			.num_sge = 1,
			.wr.rdma = {(uintptr_t)rcv[k].area, rkey[k]}};

		receiver_posts(&rcv[k], &wr, want, what);
	}
}

static void
local_inv(void)
{
	struct ibv_mw *mw[2] = {alloc_window(), alloc_window()};
	uint32_t rkey[2] = {ibv_inc_rkey(mw[0]->rkey), ibv_inc_rkey(mw[1]->rkey)};
	struct ibv_mw_bind_info info;
	struct hwq_wr wr;

	open_all(HWQ_QP_RC, IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW);
	memset(rcv[HWQ].area, 0xee, AREA);
	ibv_wr_start(pair.stock.ex);
	info = own_window(STOCK);
	pair.stock.ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(pair.stock.ex, mw[STOCK], rkey[STOCK], &info);
	CHECK_EQ(ibv_wr_complete(pair.stock.ex), 0, "libmlx5's bind");
	CHECK_EQ(stock_status(), IBV_WC_SUCCESS, "libmlx5's bind");
	hwq_wr_start(&wr, &pair.twin.qp->sq);
	info = own_window(HWQ);
	wr.wr_flags = HWQ_WQE_SIGNALED;
	hwq_wr_bind_mw(&wr, mw[HWQ], rkey[HWQ], &info);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "hwq's bind");
	CHECK_EQ(hwq_status(), IBV_WC_SUCCESS, "hwq's bind");
	write_back(rkey, IBV_WC_SUCCESS, "a write through the window");
	CHECK(memcmp(rcv[HWQ].area, twin_mem + 64, 64) == 0, "the write did not arrive");

	ibv_wr_start(pair.stock.ex);
	ibv_wr_local_inv(pair.stock.ex, rkey[STOCK]);
	CHECK_EQ(ibv_wr_complete(pair.stock.ex), 0, "libmlx5's LOCAL_INV");
	CHECK_EQ(stock_status(), IBV_WC_SUCCESS, "libmlx5's LOCAL_INV");
	hwq_wr_start(&wr, &pair.twin.qp->sq);
	wr.wr_flags = HWQ_WQE_SIGNALED;
	hwq_wr_local_inv(&wr, rkey[HWQ]);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "hwq's LOCAL_INV");
	CHECK_EQ(hwq_status(), IBV_WC_SUCCESS, "hwq's LOCAL_INV");
	write_back(rkey, IBV_WC_REM_ACCESS_ERR, "a write through a window that is gone");
	close_all();
	CHECK_EQ(ibv_dealloc_mw(mw[STOCK]), 0, "the window");
	CHECK_EQ(ibv_dealloc_mw(mw[HWQ]), 0, "the window");
}

/* ------------------------------------------------------------------ raw WQEs */

/* Writes the bytes of an RDMA write, of 64 bytes into a receiver's area. */
static void
write_by_hand(uint8_t *wqe, uint32_t qpn, const struct receiver *r)
{
	struct mlx5_wqe_raddr_seg *raddr = (struct mlx5_wqe_raddr_seg *)(void *)(wqe + 16);

	mlx5dv_set_ctrl_seg((struct mlx5_wqe_ctrl_seg *)(void *)wqe, 0, MLX5_OPCODE_RDMA_WRITE, 0,
		qpn, MLX5_WQE_CTRL_CQ_UPDATE, 3, 0, 0);
	raddr->raddr = htobe64((uintptr_t)r->area);
	raddr->rkey = htobe32(twin_mr.rkey);
	raddr->reserved = 0;
	mlx5dv_set_data_seg((struct mlx5_wqe_data_seg *)(void *)(wqe + 32), 64, twin_mr.lkey,
		(uintptr_t)twin_mem + 128);
}

static void
raw_wqe(void)
{
	uint8_t wqe[48];
	struct hwq_wr wr;

	open_all(HWQ_QP_RC, IBV_QP_EX_WITH_RDMA_WRITE);
	memset(rcv[STOCK].area, 0xee, AREA);
	memset(rcv[HWQ].area, 0xee, AREA);
	write_by_hand(wqe, pair.stock.qp->qp_num, &rcv[STOCK]);
	ibv_wr_start(pair.stock.ex);
	mlx5dv_wr_raw_wqe(pair.stock.dv, wqe);
	CHECK_EQ(ibv_wr_complete(pair.stock.ex), 0, "libmlx5's raw WQE");
	CHECK_EQ(stock_status(), IBV_WC_SUCCESS, "libmlx5's raw WQE");
	write_by_hand(wqe, pair.twin.qp->qpn, &rcv[HWQ]);
	hwq_wr_start(&wr, &pair.twin.qp->sq);
	hwq_wr_raw_wqe(&wr, wqe);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "hwq's raw WQE");
	CHECK_EQ(hwq_status(), IBV_WC_SUCCESS, "hwq's raw WQE");
	CHECK(memcmp(rcv[HWQ].area, twin_mem + 128, 64) == 0, "the write did not arrive");
	check_bytes(rcv[HWQ].area, rcv[STOCK].area, AREA, "what it wrote");
	close_all();
}

/* ------------------------------------------------------------------ frames */

#define CAPTURE_MAX (1u << 20)
#define TCP_HEADERS 54u /* Ethernet, IPv4, TCP without options */

static int capture = -1;
static uint8_t frames[2][CAPTURE_MAX];

/* Reads the frames that were captured since the last call, without their times. */
static size_t
read_frames(uint8_t *to)
{
	ssize_t got = read(capture, to, CAPTURE_MAX), at, left;

	for (at = 0; at + 16 <= got; at += 16 + left) {
		uint32_t len;

		memcpy(&len, to + at + 8, sizeof(len));
		left = (ssize_t)len;
		memset(to + at, 0, 8);
	}
	return got < 0 ? 0 : (size_t)got;
}

/* Headers of a TCP packet. The device fills in lengths and checksums. */
static void
tcp_headers(uint8_t *hdr)
{
	static const uint8_t eth_ip[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 40,
		0, 1, 0, 0, 64, 6, 0, 0, 198, 51, 100, 1, 198, 51, 100, 2};

	memset(hdr, 0, TCP_HEADERS);
	memcpy(hdr, eth_ip, sizeof(eth_ip));
	hdr[34] = hdr[36] = 0x9c;
	hdr[46] = 0x50;
	hdr[47] = 0x18;
}

struct frame {
	bool tso;
	unsigned int flags;
	uint16_t mss;
	enum twin_setter setter;
	struct twin_data data;
	uint8_t hdr[TCP_HEADERS];
};

static void
draw_frame(struct frame *f)
{
	memset(f, 0, sizeof(*f));
	f->tso = twin_draw(2) == 0;
	f->flags = IBV_SEND_SIGNALED | (twin_draw(2) == 0 ? IBV_SEND_IP_CSUM : 0);
	f->mss = (uint16_t)(50 + twin_draw(500));
	f->setter = f->tso ? TWIN_SGE_LIST : (enum twin_setter)twin_draw(TWIN_DATA_SETTERS);
	tcp_headers(f->hdr);
	/*
	 * A frame is in memory with its headers. The data of a TSO request are in memory without
	 * headers.
	 */
	memcpy(twin_mem, f->hdr, TCP_HEADERS);
	f->data.n = 1 + (unsigned int)twin_draw(2);
	f->data.sge[0] = (struct ibv_sge){(uintptr_t)twin_mem,
		TCP_HEADERS + (uint32_t)twin_draw(MAX_LEN), twin_mr.lkey};
	f->data.sge[1] = (struct ibv_sge){(uintptr_t)twin_mem + 4096,
		1 + (uint32_t)twin_draw(MAX_LEN), twin_mr.lkey};
	f->data.bytes = twin_mem;
	f->data.len = TCP_HEADERS + twin_draw(100);
	f->data.buf[0] = (struct ibv_data_buf){twin_mem, f->data.len};
	f->data.buf[1] = (struct ibv_data_buf){twin_mem + 4096, 30};
}

static void
frame_by_stock(const struct frame *f)
{
	ibv_wr_start(pair.stock.ex);
	pair.stock.ex->wr_flags = f->flags;
	if (f->tso)
		ibv_wr_send_tso(pair.stock.ex, (void *)(uintptr_t)f->hdr, TCP_HEADERS, f->mss);
	else
		ibv_wr_send(pair.stock.ex);
	twin_stock_data(&pair, f->setter, &f->data);
	CHECK_EQ(ibv_wr_complete(pair.stock.ex), 0, "libmlx5's frame");
	CHECK_EQ(stock_status(), IBV_WC_SUCCESS, "libmlx5's frame");
}

static void
frame_by_hwq(const struct frame *f)
{
	struct hwq_wr wr;

	hwq_wr_start_raw(&wr, &pair.twin.qp->sq);
	wr.wr_flags = twin_hwq_flags(f->flags);
	if (f->tso)
		hwq_wr_send_tso(&wr, f->hdr, TCP_HEADERS, f->mss);
	else
		hwq_wr_send(&wr);
	twin_hwq_data(&wr, f->setter, &f->data);
	CHECK_EQ(hwq_wr_complete(&wr), 0, "hwq's frame");
	CHECK_EQ(hwq_status(), IBV_WC_SUCCESS, "hwq's frame");
}

/*
 * libmlx5 44 writes wrong TSO requests if their headers reach the ring's end (doc/hwq.md), so NOPs
 * move its next WQE past the end.
 */
static void
stock_nop(void)
{
	struct mlx5_wqe_ctrl_seg nop;

	mlx5dv_set_ctrl_seg(&nop, 0, MLX5_OPCODE_NOP, 0, pair.stock.qp->qp_num,
		MLX5_WQE_CTRL_CQ_UPDATE, 1, 0, 0);
	ibv_wr_start(pair.stock.ex);
	mlx5dv_wr_raw_wqe(pair.stock.dv, &nop);
	CHECK_EQ(ibv_wr_complete(pair.stock.ex), 0, "a NOP");
	CHECK_EQ(stock_status(), IBV_WC_SUCCESS, "a NOP");
}

static uint32_t
stock_index(void)
{
	return be32toh(pair.stock.view.dbrec[MLX5_SND_DBR]);
}

static void
frames_in_the_capture_file(const char *path)
{
	unsigned long i, n_tso = 0, bytes = 0;
	static struct frame f;

	conf = (struct hwq_qp_conf){.type = HWQ_QP_RAW_PACKET,
		.sq_wr = 8,
		.max_sge = 2,
		.max_inline = 200,
		.max_tso_header = 128,
		.send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO};
	pair = (struct twin_pair){.name = "frames", .conf = conf};
	stock_create(twin_dev, &conf, &pair.stock);
	twin_create(twin_dev, &conf, &pair.twin);
	stock_connect(twin_dev, pair.stock.qp, 0);
	CHECK_EQ(hwq_qp_ready(pair.twin.qp), 0, "ready");
	for (i = 0; i < twin_cases && check_failures == 0; i++) {
		size_t len[2];

		draw_frame(&f);
		while (f.tso && (stock_index() + 2) % pair.stock.view.sq.wqe_cnt < 2)
			stock_nop();
		frame_by_stock(&f);
		if (capture < 0) {
			/* The first frame created the file. */
			capture = open(path, O_RDONLY | O_CLOEXEC);
			if (capture < 0 || lseek(capture, 24, SEEK_SET) != 24)
				EMU_DIE("%s: %s", path, strerror(errno));
		}
		len[STOCK] = read_frames(frames[STOCK]);
		frame_by_hwq(&f);
		len[HWQ] = read_frames(frames[HWQ]);
		CHECK(len[STOCK] > 16 && len[HWQ] == len[STOCK],
			"%zu bytes of frames, libmlx5's %zu", len[HWQ], len[STOCK]);
		check_bytes(frames[HWQ], frames[STOCK], len[HWQ], f.tso ? "TSO" : "a frame");
		n_tso += f.tso;
		bytes += len[HWQ];
	}
	printf("  %lu requests, %lu of TSO, %lu bytes captured of each\n", i, n_tso, bytes);
	CHECK(n_tso > 0, "no TSO");
	twin_close(&pair, 1);
	close(capture);
	unlink(path);
}

/* ------------------------------------------------------------------ the run */

static void
open_shared(void)
{
	struct ibv_xrcd_init_attr attr = {.fd = -1,
		.oflags = O_CREAT,
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS};
	struct ibv_ah_attr ah = {.is_global = 1,
		.port_num = twin_dev->port.port,
		.dlid = twin_dev->port.lid,
		.grh = {.sgid_index = twin_dev->port.gid_index, .hop_limit = 64}};

	memcpy(ah.grh.dgid.raw, twin_dev->port.gid, 16);
	xrcd = ibv_open_xrcd(twin_dev->ctx, &attr);
	stock_ah = ibv_create_ah(twin_dev->pd, &ah);
	if (xrcd == NULL || stock_ah == NULL)
		EMU_DIE("XRC domain and address handle: %s", strerror(errno));
	CHECK_EQ(hwq_ah_from_verbs(stock_ah, &hwq_ah), 0, "an address handle");
}

int
main(int argc, char **argv)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/hwq_effects.%d.pcap", P_tmpdir, (int)getpid());
	if (argc == 1 || strcmp(argv[1], "--device") != 0) {
		setenv("SOFTHCA_THREADS", "0", 1);
		emu_setting(argv, "SOFTHCA_CAPTURE", path);
	}
	twin_begin(argc, argv, 4000);
	open_shared();
	RUN("messages of RC arrive in the same way", messages(HWQ_QP_RC));
	RUN("messages of UC arrive in the same way", messages(HWQ_QP_UC));
	RUN("messages of UD arrive in the same way", messages(HWQ_QP_UD));
	RUN("messages of XRC arrive in the same way", messages(HWQ_QP_XRC_SEND));
	RUN("messages of DC arrive in the same way", messages(HWQ_QP_DCI));
	RUN("a SEND with invalidate ends the receiver's window", send_inv());
	RUN("LOCAL_INV ends the poster's own window", local_inv());
	RUN("a raw WQE is executed as it is", raw_wqe());
	if (twin_device == NULL)
		RUN("frames and TSO segments are equal", frames_in_the_capture_file(path));
	CHECK_EQ(ibv_destroy_ah(stock_ah), 0, "address handle");
	CHECK_EQ(ibv_close_xrcd(xrcd), 0, "XRC domain");
	return twin_end(NULL, 0);
}
