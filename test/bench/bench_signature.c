/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a signature transaction costs its poster, by stock libmlx5 and by lib/hwq: a key is configured for T10-DIF in
 * memory and on the wire (UMR and two SET_PSVs), a block is written to a peer through it, and a fenced SEND follows.
 * The profile stays; key, reference tag and addresses are others each time. Then the completion is taken and the key
 * asked for wrong signatures.
 *
 * Each library posts the beginning of a transaction too, so that the difference is the cost of a stage:
 *
 *     configure     UMR and SET_PSVs
 *     transfer      those and the RDMA write
 *     all           those and the SEND
 *     done          polling, and the question to the key
 *
 * by: stock (libmlx5), wr (hwq_wr_mkey.h, batches), image (hwq_sig_image.h and hwq_wqe.h). The program is run by
 * callgrind; it measures no time.
 *
 * usage: bench_signature BURST    transactions for each doorbell; prints "FUNCTION TRANSACTIONS"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hwq_emu.h"
#include "hwq_mkey_check.h"
#include "hwq_sig_image.h"
#include "hwq_wr_mkey.h"

#define N_OPS        128
#define BURST_MAX    16
#define DATA_LEN     512 /* a block, which is what a local segment counts */
#define BLOCK_LEN    520 /* with its T10-DIF */
#define RESPONSE_LEN 16
#define ACCESS       IBV_ACCESS_LOCAL_WRITE
#define MEM_LEN      (2u * N_OPS * BLOCK_LEN + RESPONSE_LEN)

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* One transaction, as a caller might store it. */
struct op {
	uint64_t block, remote, wr_id;
	uint32_t ref_tag;
	struct mlx5dv_mkey *stock_mkey;
	struct hwq_mkey *hwq_mkey;
};

struct bench {
	struct hwq_dev *dev;
	struct ibv_td *td;
	struct ibv_pd *pd; /* libmlx5's PD, with td */
	struct stock stock;
	struct twin twin;
	struct twin stock_server, twin_server; /* where the messages go: QPs with receives */
	struct hwq_mkey_pool *mkeys;
	struct hwq_sig_image image;
	struct hwq_mr mr;
	uint8_t *mem; /* the blocks, the peer's blocks, the response */
	uint64_t response;
	struct op ops[N_OPS];
	uint64_t wr_ids; /* sum of the wr_ids that completions returned */
};

enum end {
	CONFIGURE,
	TRANSFER,
	ALL
};

static struct mlx5dv_sig_t10dif dif = {.bg_type = MLX5DV_SIG_T10DIF_CRC,
	.flags = MLX5DV_SIG_T10DIF_FLAG_REF_REMAP};
static const struct mlx5dv_sig_block_domain domain = {.sig_type = MLX5DV_SIG_TYPE_T10DIF,
	.sig = {.dif = &dif},
	.block_size = MLX5DV_BLOCK_SIZE_512};
/* The blocks are zeros, whose guard is 0. Tags are not checked: what they are changes no instruction. */
static const struct mlx5dv_sig_block_attr attr = {.mem = &domain,
	.wire = &domain,
	.check_mask = MLX5DV_SIG_MASK_T10DIF_GUARD};

/* ---- libmlx5 */

/* In each of these functions, `end` is a constant after inlining. */
static ALWAYS_INLINE bool
stock_post(struct bench *b, struct op *op, unsigned int n, enum end end)
{
	struct mlx5dv_mkey_conf_attr conf = {0};
	struct ibv_qp_ex *ex = b->stock.ex;
	struct mlx5dv_qp_ex *dv = b->stock.dv;

	ibv_wr_start(ex);
	for (unsigned int i = 0; i < n; i++) {
		struct ibv_sge sge = {op[i].block, BLOCK_LEN, b->mr.lkey};

		dif.ref_tag = op[i].ref_tag++;
		ex->wr_id = op[i].wr_id;
		ex->wr_flags = IBV_SEND_INLINE | (end == CONFIGURE ? IBV_SEND_SIGNALED : 0);
		mlx5dv_wr_mkey_configure(dv, op[i].stock_mkey, 3, &conf);
		mlx5dv_wr_set_mkey_access_flags(dv, ACCESS);
		mlx5dv_wr_set_mkey_layout_list(dv, 1, &sge);
		mlx5dv_wr_set_mkey_sig_block(dv, &attr);
		if (end == CONFIGURE)
			continue;
		ex->wr_flags = end == TRANSFER ? IBV_SEND_SIGNALED : 0;
		ibv_wr_rdma_write(ex, b->mr.rkey, op[i].remote);
		ibv_wr_set_sge(ex, op[i].stock_mkey->lkey, 0, DATA_LEN);
		if (end == TRANSFER)
			continue;
		ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, b->mr.lkey, b->response, RESPONSE_LEN);
	}
	return ibv_wr_complete(ex) == 0;
}

static ALWAYS_INLINE bool
stock_done_burst(struct bench *b, struct op *op, unsigned int n)
{
	struct mlx5dv_mkey_err err;
	struct ibv_wc wc[BURST_MAX];

	if (ibv_poll_cq(b->stock.cq, (int)n, wc) != (int)n)
		return false;
	for (unsigned int i = 0; i < n; i++) {
		b->wr_ids += wc[i].wr_id;
		if (wc[i].status != IBV_WC_SUCCESS ||
			mlx5dv_mkey_check(op[i].stock_mkey, &err) != 0 ||
			err.err_type != MLX5DV_MKEY_NO_ERR)
			return false;
	}
	return true;
}

/* ---- lib/hwq */

static ALWAYS_INLINE bool
wr_post(struct bench *b, struct op *op, unsigned int n, enum end end)
{
	const struct mlx5dv_mkey_conf_attr conf = {0};
	struct hwq_wr wr;

	hwq_wr_start(&wr, &b->twin.qp->sq);
	for (unsigned int i = 0; i < n; i++) {
		struct hwq_sge sge = {op[i].block, BLOCK_LEN, b->mr.lkey};

		dif.ref_tag = op[i].ref_tag++;
		wr.wr_id = op[i].wr_id;
		wr.wr_flags = HWQ_WQE_INLINE | (end == CONFIGURE ? HWQ_WQE_SIGNALED : 0);
		hwq_wr_mkey_configure(&wr, op[i].hwq_mkey, 3, &conf);
		hwq_wr_set_mkey_access_flags(&wr, ACCESS);
		hwq_wr_set_mkey_layout_list(&wr, 1, &sge);
		hwq_wr_set_mkey_sig_block(&wr, &attr);
		if (end == CONFIGURE)
			continue;
		wr.wr_flags = end == TRANSFER ? HWQ_WQE_SIGNALED : 0;
		hwq_wr_rdma_write(&wr, b->mr.rkey, op[i].remote);
		hwq_wr_set_sge(&wr, op[i].hwq_mkey->lkey, 0, DATA_LEN);
		if (end == TRANSFER)
			continue;
		wr.wr_flags = HWQ_WQE_SIGNALED | HWQ_WQE_FENCE;
		hwq_wr_send(&wr);
		hwq_wr_set_sge(&wr, b->mr.lkey, b->response, RESPONSE_LEN);
	}
	return hwq_wr_complete(&wr) == 0;
}

static ALWAYS_INLINE bool
image_post(struct bench *b, struct op *op, unsigned int n, enum end end)
{
	struct hwq_sq *sq = &b->twin.qp->sq;

	for (unsigned int i = 0; i < n; i++) {
		struct hwq_sge sge = {op[i].block, BLOCK_LEN, b->mr.lkey};
		struct hwq_sig_tags tags = {.ref_tag = op[i].ref_tag++};

		if (hwq_wqe_sig_list(sq, op[i].hwq_mkey, &b->image, 1, &sge, &tags, &tags,
			    end == CONFIGURE ? HWQ_WQE_SIGNALED : 0) <= 0)
			return false;
		if (end == CONFIGURE)
			continue;
		if (hwq_wqe_rdma_write(sq, b->mr.rkey, op[i].remote, op[i].hwq_mkey->lkey, 0,
			    DATA_LEN,
			    HWQ_WQE_AFTER_UMR | (end == TRANSFER ? HWQ_WQE_SIGNALED : 0)) <= 0)
			return false;
		if (end == ALL && hwq_wqe_send(sq, b->mr.lkey, b->response, RESPONSE_LEN,
					  HWQ_WQE_SIGNALED | HWQ_WQE_FENCE) <= 0)
			return false;
	}
	hwq_sq_ring(sq);
	return true;
}

static ALWAYS_INLINE bool
hwq_done_burst(struct bench *b, struct op *op, unsigned int n)
{
	struct hwq_cqe rec[BURST_MAX];
	struct mlx5dv_mkey_err err;

	if (hwq_cq_poll(b->twin.cq, rec, n) != n)
		return false;
	for (unsigned int i = 0; i < n; i++) {
		if (rec[i].opcode != MLX5_CQE_REQ)
			return false;
		hwq_sq_complete(&b->twin.qp->sq, rec[i].wqe_counter);
		if (hwq_mkey_check(op[i].hwq_mkey, &err) != 0 || err.err_type != MLX5DV_MKEY_NO_ERR)
			return false;
	}
	return true;
}

/* ---- the caller's loop: N_OPS transactions in bursts */

#define MEASURED(x, how)                                                                           \
	static __attribute__((noinline, noclone)) bool measured_##x(struct bench *b,               \
		unsigned int burst)                                                                \
	{                                                                                          \
		for (unsigned int i = 0; i < N_OPS; i += burst)                                    \
			if (!how)                                                                  \
				return false;                                                      \
		return true;                                                                       \
	}

MEASURED(stock_configure, stock_post(b, &b->ops[i], burst, CONFIGURE))
MEASURED(stock_transfer, stock_post(b, &b->ops[i], burst, TRANSFER))
MEASURED(stock_all, stock_post(b, &b->ops[i], burst, ALL))
MEASURED(stock_done, stock_done_burst(b, &b->ops[i], burst))
MEASURED(wr_configure, wr_post(b, &b->ops[i], burst, CONFIGURE))
MEASURED(wr_transfer, wr_post(b, &b->ops[i], burst, TRANSFER))
MEASURED(wr_all, wr_post(b, &b->ops[i], burst, ALL))
MEASURED(image_configure, image_post(b, &b->ops[i], burst, CONFIGURE))
MEASURED(image_transfer, image_post(b, &b->ops[i], burst, TRANSFER))
MEASURED(image_all, image_post(b, &b->ops[i], burst, ALL))
MEASURED(hwq_done, hwq_done_burst(b, &b->ops[i], burst))

/* ---- opening, running, closing */

static void
receive(struct bench *b, struct twin *s)
{
	struct hwq_sge sge = {(uintptr_t)b->mem + MEM_LEN - RESPONSE_LEN, RESPONSE_LEN, b->mr.lkey};
	struct hwq_rq *rq = &s->qp->rq;
	struct hwq_cqe rec;

	while (hwq_cq_poll(s->cq, &rec, 1) == 1)
		hwq_rq_complete(rq, rec.wqe_counter);
	while (hwq_rq_post_list(rq, 0, &sge, 1) == 0)
		;
	hwq_rq_ring(rq);
}

static void
server_open(struct bench *b, struct twin *s, struct hwq_addr *addr)
{
	struct hwq_qp_conf conf = {.sq_wr = 1, .max_sge = 1, .rq_wr = N_OPS};

	twin_create(b->dev, &conf, s);
	hwq_qp_addr(s->qp, addr);
}

static void
bench_open_stock(struct bench *b, const struct hwq_qp_conf *conf)
{
	struct ibv_cq_init_attr_ex cq_attr = {.cqe = STOCK_N_CQE,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED};
	struct ibv_parent_domain_init_attr pd_attr = {0};
	struct ibv_td_init_attr td_attr = {0};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(b->dev->ctx, &cq_attr);
	struct hwq_addr addr, server;
	struct hwq_dev with_td;

	b->td = ibv_alloc_td(b->dev->ctx, &td_attr);
	pd_attr.pd = b->dev->pd;
	pd_attr.td = b->td;
	b->pd = ibv_alloc_parent_domain(b->dev->ctx, &pd_attr);
	if (b->td == NULL || b->pd == NULL)
		EMU_DIE("a thread domain: %s", strerror(errno));
	memcpy(&with_td, b->dev, sizeof(with_td));
	with_td.pd = b->pd;
	stock_create_on(&with_td, conf, cq != NULL ? ibv_cq_ex_to_cq(cq) : NULL, &b->stock);
	server_open(b, &b->stock_server, &server);
	stock_connect(b->dev, b->stock.qp, be32toh(server.qpn));
	/* stock_connect() starts at PSN 0. */
	addr = server;
	addr.qpn = htobe32(b->stock.qp->qp_num);
	addr.psn = 0;
	if (hwq_qp_connect(b->stock_server.qp, &addr) != 0)
		EMU_DIE("connecting");
}

static void
bench_open_keys(struct bench *b)
{
	struct mlx5dv_mkey_init_attr key_attr = {.pd = b->dev->pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE,
		.max_entries = 4};
	struct hwq_mkey_conf conf = {.n = N_OPS, .max_entries = 4, .flags = HWQ_MKEY_SIG};
	int ret = hwq_mkey_pool_create(b->twin.domain, &conf, &b->mkeys);

	if (ret == 0)
		ret = hwq_sig_image_init(&b->image, hwq_dev_caps(b->dev), ACCESS, &attr);
	if (ret != 0)
		EMU_DIE("keys: %s", strerror(-ret));
	for (unsigned int i = 0; i < N_OPS; i++) {
		b->ops[i] = (struct op){.block = (uintptr_t)b->mem + (uint64_t)i * BLOCK_LEN,
			.remote = (uintptr_t)b->mem + (uint64_t)(N_OPS + i) * BLOCK_LEN,
			.wr_id = i,
			.ref_tag = i,
			.hwq_mkey = hwq_mkey_get(b->mkeys),
			.stock_mkey = mlx5dv_create_mkey(&key_attr)};
		if (b->ops[i].stock_mkey == NULL)
			EMU_DIE("libmlx5's keys: %s", strerror(errno));
	}
}

static void
bench_open(struct bench *b)
{
	/* As libmlx5 counts: four units of layout and four of BSF, less 4 bytes. */
	struct hwq_qp_conf conf = {.sq_wr = 4 * N_OPS,
		.max_sge = 1,
		.max_inline = 124,
		.send_ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND,
		.mlx5_ops = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE};
	struct hwq_addr server;

	b->dev = emu_open();
	b->mem = calloc(1, MEM_LEN);
	if (b->mem == NULL ||
		hwq_mr_register(b->dev, b->mem, MEM_LEN,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, &b->mr) != 0)
		EMU_DIE("memory");
	b->response = (uintptr_t)b->mem + MEM_LEN - RESPONSE_LEN;
	twin_create(b->dev, &conf, &b->twin);
	server_open(b, &b->twin_server, &server);
	twin_connect(b->twin.qp, b->twin_server.qp);
	bench_open_stock(b, &conf);
	bench_open_keys(b);
}

static void
bench_close(struct bench *b)
{
	for (unsigned int i = 0; i < N_OPS; i++) {
		hwq_mkey_put(b->ops[i].hwq_mkey);
		if (mlx5dv_destroy_mkey(b->ops[i].stock_mkey) != 0)
			EMU_DIE("closing");
	}
	if (hwq_mkey_pool_destroy(b->mkeys) != 0)
		EMU_DIE("closing");
	stock_destroy(&b->stock);
	twin_destroy(&b->twin);
	twin_destroy(&b->stock_server);
	twin_destroy(&b->twin_server);
	if (ibv_dealloc_pd(b->pd) != 0 || ibv_dealloc_td(b->td) != 0 ||
		hwq_mr_deregister(&b->mr) != 0)
		EMU_DIE("closing");
	free(b->mem);
	hwq_dev_close(b->dev);
}

#define WAY(x, y)                                                                                  \
	{                                                                                          \
		.name = "measured_" #x, .post = measured_##x, .done = measured_##y                 \
	}

/* Each way, the last of which for each library is complete: its completions are of interest. */
static const struct way {
	const char *name;
	bool (*post)(struct bench *b, unsigned int burst);
	bool (*done)(struct bench *b, unsigned int burst);
} ways[] = {WAY(stock_configure, stock_done), WAY(stock_transfer, stock_done),
	WAY(stock_all, stock_done), WAY(wr_configure, hwq_done), WAY(wr_transfer, hwq_done),
	WAY(wr_all, hwq_done), WAY(image_configure, hwq_done), WAY(image_transfer, hwq_done),
	WAY(image_all, hwq_done)};

int
main(int argc, char **argv)
{
	unsigned int burst = argc == 2 ? (unsigned int)strtoul(argv[1], NULL, 0) : 0;
	unsigned int i, n_stock = 0, n_hwq = 0;
	static struct bench b;

	if (burst == 0 || burst > BURST_MAX || N_OPS % burst != 0)
		EMU_DIE("usage: bench_signature BURST: 1, 2, 4, 8 or 16");
	emu_setting(argv, "SOFTHCA_THREADS", "0");
	bench_open(&b);
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const struct way *w = &ways[i];

		receive(&b, &b.stock_server);
		receive(&b, &b.twin_server);
		if (!w->post(&b, burst))
			EMU_DIE("%s: posting failed", w->name);
		emu_pump();
		if (!w->done(&b, burst))
			EMU_DIE("%s: a transaction failed", w->name);
		printf("%s %u\n", w->name, N_OPS);
		n_stock += w->done == measured_stock_done ? N_OPS : 0;
		n_hwq += w->done == measured_hwq_done ? N_OPS : 0;
	}
	printf("measured_stock_done %u\nmeasured_hwq_done %u\n", n_stock, n_hwq);
	bench_close(&b);
	return 0;
}
