/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors that only some versions of libmlx5 have. The program tests whether libmlx5 has such an
 * error. It does not rely on the version number.
 */
#ifndef HWQ_FLAWS_H
#define HWQ_FLAWS_H

#include "hwq_emu.h"

/* Offset of a key's length in a UMR WQE (mlx5dv.h). */
#define FLAW_LEN_AT                                                                                \
	(sizeof(struct mlx5_wqe_ctrl_seg) + sizeof(struct mlx5_wqe_umr_ctrl_seg) +                 \
		offsetof(struct mlx5_wqe_mkey_context_seg, len))

/*
 * Returns the length that libmlx5 gives a key whose list has len bytes, if libmlx5 adds the pieces
 * as signed 32-bit numbers. rdma-core before version 61 does that.
 */
static inline uint64_t
flaw_list_len(uint64_t len)
{
	return (uint64_t)(int64_t)(int32_t)(uint32_t)len;
}

/*
 * Posts a list of two pieces of 1 GiB each, and reads the key's length from the WQE. Returns true,
 * and prints a line, if libmlx5 adds lengths in 32 bits.
 */
static inline bool
flaw_measure_lists(const struct hwq_dev *dev)
{
	static const struct hwq_qp_conf conf = {.sq_wr = 4,
		.max_sge = 1,
		.mlx5_ops = MLX5DV_QP_EX_WITH_MR_LIST};
	struct mlx5dv_mkey_init_attr attr = {.pd = dev->pd,
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
		.max_entries = 4};
	struct ibv_sge sge[2] = {{0, 1u << 30, 1}, {0, 1u << 30, 1}};
	struct mlx5dv_mkey *mkey = mlx5dv_create_mkey(&attr);
	struct stock s;
	__be64 len_be;
	uint64_t len;

	if (mkey == NULL)
		EMU_DIE("libmlx5's key: %s", strerror(errno));
	stock_create(dev, &conf, &s);
	stock_connect(dev, s.qp, s.qp->qp_num);
	stock_to_err(&s);
	ibv_wr_start(s.ex);
	s.ex->wr_flags = IBV_SEND_INLINE;
	mlx5dv_wr_mr_list(s.dv, mkey, IBV_ACCESS_LOCAL_WRITE, 2, sge);
	if (ibv_wr_complete(s.ex) != 0)
		EMU_DIE("a list through libmlx5");
	memcpy(&len_be, (const uint8_t *)s.view.sq.buf + FLAW_LEN_AT, sizeof(len_be));
	len = be64toh(len_be);
	stock_destroy(&s);
	if (mlx5dv_destroy_mkey(mkey) != 0)
		EMU_DIE("destroying libmlx5's key");
	CHECK(len == 1ull << 31 || len == flaw_list_len(1ull << 31),
		"libmlx5 adds 1 GiB and 1 GiB up to 0x%llx", (unsigned long long)len);
	if (len == 1ull << 31)
		return false;
	printf("  this libmlx5 adds the pieces of a list up in 32 bits, with a sign; hwq in 64\n");
	return true;
}

#endif
