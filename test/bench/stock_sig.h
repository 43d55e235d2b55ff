/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signature transactions by stock libmlx5, for comparison in the benchmarks: a key is configured
 * for T10-DIF in memory and on the wire (UMR and two SET_PSVs), a block is written to a peer
 * through it, and a fenced SEND follows. The profile stays the same; key, reference tag and
 * addresses change each time. Then the completion is taken, and the key is checked for wrong
 * signatures.
 */
#ifndef STOCK_SIG_H
#define STOCK_SIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hwq_emu.h"
#include "hwq_mkey.h"

#define STOCK_SIG_BLOCK    512 /* length of the shortest block in bytes */
#define STOCK_SIG_LEN      8   /* length of a T10-DIF in bytes */
#define STOCK_SIG_RESPONSE 16
#define STOCK_SIG_ACCESS   IBV_ACCESS_LOCAL_WRITE
#define STOCK_SIG_OPS      128
#define STOCK_SIG_BURST    16

#define ALWAYS_INLINE inline __attribute__((always_inline))

/*
 * Defines a function that runs n operations in bursts. callgrind counts functions whose names begin
 * with measured_. `how` is an expression that posts operation i and the following operations of its
 * burst, and is true if this succeeded. Functions with equal code are not merged.
 */
#define STOCK_SIG_BURSTS(name, n, how)                                                             \
	static __attribute__((noinline, noclone, no_icf)) bool name(struct bench *b,               \
		unsigned int burst)                                                                \
	{                                                                                          \
		for (unsigned int i = 0; i < (n); i += burst)                                      \
			if (!(how))                                                                \
				return false;                                                      \
		return true;                                                                       \
	}

/* One transaction, in the form in which a caller might store it. */
struct stock_sig_op {
	uint64_t block, remote, wr_id;
	uint32_t ref_tag;
	struct mlx5dv_mkey *stock_mkey;
	struct hwq_mkey *hwq_mkey; /* a key of lib/hwq, for use by the caller */
};

struct stock_sig {
	struct hwq_dev *dev;
	struct stock_alone alone;
	struct twin server; /* the peer: a QP with posted receives */
	struct hwq_mr mr;
	uint8_t *mem; /* the blocks, the peer's blocks, and the response */
	size_t mem_len;
	uint32_t data_len; /* length of a block without its signature */
	uint64_t response;
	struct mlx5dv_sig_t10dif dif;
	struct mlx5dv_sig_block_domain domain;
	struct mlx5dv_sig_block_attr attr;
	struct stock_sig_op ops[STOCK_SIG_OPS];
	uint64_t wr_ids; /* sum of the completions' wr_ids */
};

/* The last stage of a transaction that is posted. */
enum stock_sig_end {
	STOCK_SIG_CONFIGURE,
	STOCK_SIG_TRANSFER,
	STOCK_SIG_ALL
};

/* ---- what is measured */

/* Posts n transactions, and rings the doorbell. `end` is a constant after inlining. */
static ALWAYS_INLINE bool
stock_sig_post(struct stock_sig *b, struct stock_sig_op *op, unsigned int n, enum stock_sig_end end)
{
	struct mlx5dv_mkey_conf_attr conf = {0};
	struct ibv_qp_ex *ex = b->alone.stock.ex;
	struct mlx5dv_qp_ex *dv = b->alone.stock.dv;

	ibv_wr_start(ex);
	for (unsigned int i = 0; i < n; i++) {
		struct ibv_sge sge = {op[i].block, b->data_len + STOCK_SIG_LEN, b->mr.lkey};

		b->dif.ref_tag = op[i].ref_tag++;
		ex->wr_id = op[i].wr_id;
		ex->wr_flags =
			IBV_SEND_INLINE | (end == STOCK_SIG_CONFIGURE ? IBV_SEND_SIGNALED : 0);
		mlx5dv_wr_mkey_configure(dv, op[i].stock_mkey, 3, &conf);
		mlx5dv_wr_set_mkey_access_flags(dv, STOCK_SIG_ACCESS);
		mlx5dv_wr_set_mkey_layout_list(dv, 1, &sge);
		mlx5dv_wr_set_mkey_sig_block(dv, &b->attr);
		if (end == STOCK_SIG_CONFIGURE)
			continue;
		ex->wr_flags = end == STOCK_SIG_TRANSFER ? IBV_SEND_SIGNALED : 0;
		ibv_wr_rdma_write(ex, b->mr.rkey, op[i].remote);
		ibv_wr_set_sge(ex, op[i].stock_mkey->lkey, 0, b->data_len + STOCK_SIG_LEN);
		if (end == STOCK_SIG_TRANSFER)
			continue;
		ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, b->mr.lkey, b->response, STOCK_SIG_RESPONSE);
	}
	return ibv_wr_complete(ex) == 0;
}

/* Polls the completions of n transactions, and checks their keys. */
static ALWAYS_INLINE bool
stock_sig_done(struct stock_sig *b, struct stock_sig_op *op, unsigned int n)
{
	struct ibv_wc wc[STOCK_SIG_BURST];
	struct mlx5dv_mkey_err err;

	if (ibv_poll_cq(b->alone.stock.cq, (int)n, wc) != (int)n)
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

/* ---- opening and closing */

/*
 * For the length of a WQE, libmlx5 counts four units of layout and four units of BSF, minus 4
 * bytes.
 */
static const struct hwq_qp_conf stock_sig_qp = {.sq_wr = 4 * STOCK_SIG_OPS,
	.max_sge = 1,
	.max_inline = 124,
	.send_ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND,
	.mlx5_ops = MLX5DV_QP_EX_WITH_MKEY_CONFIGURE};

/* Frees the receives that have completed, and posts receives until the receive queue is full. */
static inline void
stock_sig_receive(struct stock_sig *b, struct twin *s)
{
	struct hwq_sge sge = {(uintptr_t)b->mem + b->mem_len - STOCK_SIG_RESPONSE,
		STOCK_SIG_RESPONSE, b->mr.lkey};
	struct hwq_rq *rq = &s->qp->rq;
	struct hwq_cqe rec;

	while (hwq_cq_poll(s->cq, &rec, 1) == 1)
		hwq_rq_complete(rq, rec.wqe_counter);
	while (hwq_rq_post_list(rq, 0, &sge, 1) == 0)
		;
	hwq_rq_ring(rq);
}

/* Creates the QP that receives the messages. */
static inline void
stock_sig_server(struct stock_sig *b, struct twin *s)
{
	struct hwq_qp_conf conf = {.sq_wr = 1, .max_sge = 1, .rq_wr = STOCK_SIG_OPS};

	twin_create(b->dev, &conf, s);
}

static inline void
stock_sig_open_qp(struct stock_sig *b)
{
	struct ibv_qp *qp;
	struct hwq_addr addr;

	stock_create_alone(b->dev, &stock_sig_qp, &b->alone);
	qp = b->alone.stock.qp;
	stock_sig_server(b, &b->server);
	hwq_qp_addr(b->server.qp, &addr);
	stock_connect(b->dev, qp, be32toh(addr.qpn));
	/* The requests of a QP of stock_connect() start at PSN 0. */
	addr.qpn = htobe32(qp->qp_num);
	addr.psn = 0;
	if (hwq_qp_connect(b->server.qp, &addr) != 0)
		EMU_DIE("connecting");
}

/*
 * Opens the device, and prepares n transactions. Each has one block of the size selector `size`,
 * which has data_len bytes.
 */
static inline void
stock_sig_open(struct stock_sig *b, unsigned int n, enum mlx5dv_block_size size, uint32_t data_len)
{
	struct mlx5dv_mkey_init_attr key_attr =
		{.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				 MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE,
			.max_entries = 4};
	uint64_t block_len = data_len + STOCK_SIG_LEN;

	/*
	 * The blocks are zeros, so their guard is 0. Tags are not checked, because their values do
	 * not change the number of instructions.
	 */
	b->dif = (struct mlx5dv_sig_t10dif){.bg_type = MLX5DV_SIG_T10DIF_CRC,
		.flags = MLX5DV_SIG_T10DIF_FLAG_REF_REMAP};
	b->domain = (struct mlx5dv_sig_block_domain){.sig_type = MLX5DV_SIG_TYPE_T10DIF,
		.sig = {.dif = &b->dif},
		.block_size = size};
	b->attr = (struct mlx5dv_sig_block_attr){.mem = &b->domain,
		.wire = &b->domain,
		.check_mask = MLX5DV_SIG_MASK_T10DIF_GUARD};
	b->dev = emu_open();
	b->data_len = data_len;
	b->mem_len = 2 * n * block_len + STOCK_SIG_RESPONSE;
	b->mem = calloc(1, b->mem_len);
	if (b->mem == NULL ||
		hwq_mr_register(b->dev, b->mem, b->mem_len,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, &b->mr) != 0)
		EMU_DIE("memory");
	b->response = (uintptr_t)b->mem + b->mem_len - STOCK_SIG_RESPONSE;
	stock_sig_open_qp(b);
	key_attr.pd = b->dev->pd;
	for (unsigned int i = 0; i < n; i++) {
		b->ops[i] = (struct stock_sig_op){.block = (uintptr_t)b->mem + i * block_len,
			.remote = (uintptr_t)b->mem + (n + i) * block_len,
			.wr_id = i,
			.ref_tag = i,
			.stock_mkey = mlx5dv_create_mkey(&key_attr)};
		if (b->ops[i].stock_mkey == NULL)
			EMU_DIE("libmlx5's keys: %s", strerror(errno));
	}
}

static inline void
stock_sig_close(struct stock_sig *b)
{
	for (unsigned int i = 0; i < STOCK_SIG_OPS; i++)
		if (b->ops[i].stock_mkey != NULL && mlx5dv_destroy_mkey(b->ops[i].stock_mkey) != 0)
			EMU_DIE("closing");
	stock_destroy_alone(&b->alone);
	twin_destroy(&b->server);
	if (hwq_mr_deregister(&b->mr) != 0)
		EMU_DIE("closing");
	free(b->mem);
	hwq_dev_close(b->dev);
}

#endif
