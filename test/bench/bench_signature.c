/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost of a signature transaction for its poster, by stock libmlx5 and by lib/hwq: a key is
 * configured for T10-DIF in memory and on the wire (UMR and two SET_PSVs), a block is written to a
 * peer through it, and a fenced SEND follows. The profile stays the same; key, reference tag and
 * addresses change each time. Then the completion is taken, and the key is checked for wrong
 * signatures.
 *
 * Each library is also measured with only the first stages of a transaction, so a difference is the
 * cost of a stage:
 *
 *     configure     UMR and SET_PSVs
 *     transfer      the same and the RDMA write
 *     all           the same and the SEND
 *     done          polling, and the check of the key
 *
 * Transactions are posted by stock (libmlx5), wr (hwq_wr_mkey.h, batches), or image
 * (hwq_sig_image.h and hwq_wqe.h). Run the program under callgrind; it measures no time.
 *
 * usage: bench_signature BURST    transactions for each doorbell; prints "FUNCTION TRANSACTIONS"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hwq_mkey_check.h"
#include "hwq_sig_image.h"
#include "hwq_wr_mkey.h"
#include "stock_sig.h"

#define BLOCK_LEN (STOCK_SIG_BLOCK + STOCK_SIG_LEN)

struct bench {
	struct stock_sig stock;
	struct twin twin, server;
	struct hwq_mkey_pool *mkeys;
	struct hwq_sig_image image;
};

/* ---- lib/hwq */

static ALWAYS_INLINE bool
wr_post(struct bench *b, struct stock_sig_op *op, unsigned int n, enum stock_sig_end end)
{
	const struct mlx5dv_mkey_conf_attr conf = {0};
	struct hwq_wr wr;

	hwq_wr_start(&wr, &b->twin.qp->sq);
	for (unsigned int i = 0; i < n; i++) {
		struct hwq_sge sge = {op[i].block, BLOCK_LEN, b->stock.mr.lkey};

		b->stock.dif.ref_tag = op[i].ref_tag++;
		wr.wr_id = op[i].wr_id;
		wr.wr_flags = HWQ_WQE_INLINE | (end == STOCK_SIG_CONFIGURE ? HWQ_WQE_SIGNALED : 0);
		hwq_wr_mkey_configure(&wr, op[i].hwq_mkey, 3, &conf);
		hwq_wr_set_mkey_access_flags(&wr, STOCK_SIG_ACCESS);
		hwq_wr_set_mkey_layout_list(&wr, 1, &sge);
		hwq_wr_set_mkey_sig_block(&wr, &b->stock.attr);
		if (end == STOCK_SIG_CONFIGURE)
			continue;
		wr.wr_flags = end == STOCK_SIG_TRANSFER ? HWQ_WQE_SIGNALED : 0;
		hwq_wr_rdma_write(&wr, b->stock.mr.rkey, op[i].remote);
		hwq_wr_set_sge(&wr, op[i].hwq_mkey->lkey, 0, BLOCK_LEN);
		if (end == STOCK_SIG_TRANSFER)
			continue;
		wr.wr_flags = HWQ_WQE_SIGNALED | HWQ_WQE_FENCE;
		hwq_wr_send(&wr);
		hwq_wr_set_sge(&wr, b->stock.mr.lkey, b->stock.response, STOCK_SIG_RESPONSE);
	}
	return hwq_wr_complete(&wr) == 0;
}

static ALWAYS_INLINE bool
image_post(struct bench *b, struct stock_sig_op *op, unsigned int n, enum stock_sig_end end)
{
	struct hwq_sq *sq = &b->twin.qp->sq;

	for (unsigned int i = 0; i < n; i++) {
		struct hwq_sge sge = {op[i].block, BLOCK_LEN, b->stock.mr.lkey};
		struct hwq_sig_tags tags = {.ref_tag = op[i].ref_tag++};

		if (hwq_wqe_sig_list(sq, op[i].hwq_mkey, &b->image, 1, &sge, &tags, &tags,
			    end == STOCK_SIG_CONFIGURE ? HWQ_WQE_SIGNALED : 0) <= 0)
			return false;
		if (end == STOCK_SIG_CONFIGURE)
			continue;
		if (hwq_wqe_rdma_write(sq, b->stock.mr.rkey, op[i].remote, op[i].hwq_mkey->lkey, 0,
			    BLOCK_LEN,
			    HWQ_WQE_AFTER_UMR |
				    (end == STOCK_SIG_TRANSFER ? HWQ_WQE_SIGNALED : 0)) <= 0)
			return false;
		if (end == STOCK_SIG_ALL &&
			hwq_wqe_one(sq, MLX5_OPCODE_SEND, 0, 0, b->stock.mr.lkey, b->stock.response,
				STOCK_SIG_RESPONSE, HWQ_WQE_SIGNALED | HWQ_WQE_FENCE, 0) <= 0)
			return false;
	}
	hwq_sq_ring(sq);
	return true;
}

static ALWAYS_INLINE bool
hwq_done_burst(struct bench *b, struct stock_sig_op *op, unsigned int n)
{
	struct hwq_cqe rec[STOCK_SIG_BURST];
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

/* ---- the caller's loop: STOCK_SIG_OPS transactions in bursts */

#define MEASURED(x, how) STOCK_SIG_BURSTS(measured_##x, STOCK_SIG_OPS, how)

MEASURED(stock_configure, stock_sig_post(&b->stock, &b->stock.ops[i], burst, STOCK_SIG_CONFIGURE))
MEASURED(stock_transfer, stock_sig_post(&b->stock, &b->stock.ops[i], burst, STOCK_SIG_TRANSFER))
MEASURED(stock_all, stock_sig_post(&b->stock, &b->stock.ops[i], burst, STOCK_SIG_ALL))
MEASURED(stock_done, stock_sig_done(&b->stock, &b->stock.ops[i], burst))
MEASURED(wr_configure, wr_post(b, &b->stock.ops[i], burst, STOCK_SIG_CONFIGURE))
MEASURED(wr_transfer, wr_post(b, &b->stock.ops[i], burst, STOCK_SIG_TRANSFER))
MEASURED(wr_all, wr_post(b, &b->stock.ops[i], burst, STOCK_SIG_ALL))
MEASURED(image_configure, image_post(b, &b->stock.ops[i], burst, STOCK_SIG_CONFIGURE))
MEASURED(image_transfer, image_post(b, &b->stock.ops[i], burst, STOCK_SIG_TRANSFER))
MEASURED(image_all, image_post(b, &b->stock.ops[i], burst, STOCK_SIG_ALL))
MEASURED(hwq_done, hwq_done_burst(b, &b->stock.ops[i], burst))

/* ---- opening, running, closing */

static void
bench_open(struct bench *b)
{
	struct hwq_mkey_conf conf = {.n = STOCK_SIG_OPS, .max_entries = 4, .flags = HWQ_MKEY_SIG};
	int ret;

	stock_sig_open(&b->stock, STOCK_SIG_OPS, MLX5DV_BLOCK_SIZE_512, STOCK_SIG_BLOCK);
	twin_create(b->stock.dev, &stock_sig_qp, &b->twin);
	stock_sig_server(&b->stock, &b->server);
	twin_connect(b->twin.qp, b->server.qp);
	ret = hwq_mkey_pool_create(b->twin.domain, &conf, &b->mkeys);
	if (ret == 0)
		ret = hwq_sig_image_init(&b->image, hwq_dev_caps(b->stock.dev), STOCK_SIG_ACCESS,
			&b->stock.attr);
	if (ret != 0)
		EMU_DIE("keys: %s", strerror(-ret));
	for (unsigned int i = 0; i < STOCK_SIG_OPS; i++)
		b->stock.ops[i].hwq_mkey = hwq_mkey_get(b->mkeys);
}

static void
bench_close(struct bench *b)
{
	for (unsigned int i = 0; i < STOCK_SIG_OPS; i++)
		hwq_mkey_put(b->stock.ops[i].hwq_mkey);
	if (hwq_mkey_pool_destroy(b->mkeys) != 0)
		EMU_DIE("closing");
	twin_destroy(&b->twin);
	twin_destroy(&b->server);
	stock_sig_close(&b->stock);
}

#define WAY(x, y)                                                                                  \
	{                                                                                          \
		.name = "measured_" #x, .post = measured_##x, .done = measured_##y                 \
	}

/*
 * The functions that post. The last function of each library posts whole transactions, and the
 * polling of their completions is measured.
 */
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

	if (burst == 0 || burst > STOCK_SIG_BURST || STOCK_SIG_OPS % burst != 0)
		EMU_DIE("usage: bench_signature BURST: 1, 2, 4, 8 or 16");
	emu_setting(argv, "SOFTHCA_THREADS", "0");
	bench_open(&b);
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const struct way *w = &ways[i];

		stock_sig_receive(&b.stock, &b.stock.server);
		stock_sig_receive(&b.stock, &b.server);
		if (!w->post(&b, burst))
			EMU_DIE("%s: posting failed", w->name);
		emu_pump();
		if (!w->done(&b, burst))
			EMU_DIE("%s: a transaction failed", w->name);
		printf("%s %u\n", w->name, STOCK_SIG_OPS);
		n_stock += w->done == measured_stock_done ? STOCK_SIG_OPS : 0;
		n_hwq += w->done == measured_hwq_done ? STOCK_SIG_OPS : 0;
	}
	printf("measured_stock_done %u\nmeasured_hwq_done %u\n", n_stock, n_hwq);
	bench_close(&b);
	return 0;
}
