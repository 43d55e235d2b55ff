/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Segments of a UMR: a work request that changes the attributes of a key, and its layout.
 *
 *     DS  0        control: opcode UMR, imm is the key
 *         1 - 3    UMR control: which fields change (a mask), how long the layout is
 *         4 - 7    key context: the fields' new values
 *         8 - ...  layout, a multiple of four units: a list of KLMs, or a pattern and its entries;
 *                  then the BSF of a key for signatures or encryption
 *
 * Bytes are those of libmlx5 (mlx5dv_wr_post(3), mlx5dv_wr_mkey_configure(3)). The builders of
 * hwq_wr_umr.h, hwq_wr_mkey.h and hwq_wr_ops.h call these functions. The functions have no errors:
 * the caller has checked the arguments and has reserved room for the bytes.
 *
 * Thread: only the owner of the memory that the functions write calls these functions.
 */
#ifndef HWQ_UMR_H
#define HWQ_UMR_H

#include "hwq_mkey.h"
#include "hwq_seg.h"

#define HWQ_UMR_CTRL_DS    1u /**< DS unit of a UMR at which the UMR control segment starts */
#define HWQ_UMR_CONTEXT_DS 4u /**< DS unit at which the key context starts */

/** All access flags that a key may have. */
#define HWQ_UMR_ACCESS_ALL                                                                         \
	((unsigned int)(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |                         \
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC))

/** Bits of mkey_mask in the UMR control segment by which access flags change. */
#define HWQ_UMR_MASK_ACCESS                                                                        \
	(MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE |                                          \
		MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ |                                   \
		MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE |                                  \
		MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC)

static_assert(IBV_ACCESS_LOCAL_WRITE == 1 << 0 && IBV_ACCESS_REMOTE_WRITE == 1 << 1 &&
		      IBV_ACCESS_REMOTE_READ == 1 << 2 && IBV_ACCESS_REMOTE_ATOMIC == 1 << 3,
	"hwq_umr_access() counts on it");

/**
 * Converts access flags to the flags of a key context.
 * @param access IBV_ACCESS_* flags; flags that are not in HWQ_UMR_ACCESS_ALL are ignored.
 * @return MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_*.
 */
static HWQ_INLINE uint8_t
hwq_umr_access(unsigned int access)
{
	return (uint8_t)((access & IBV_ACCESS_LOCAL_WRITE
					 ? MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE
					 : 0) |
			 (access & IBV_ACCESS_REMOTE_WRITE
					 ? MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE
					 : 0) |
			 (access & IBV_ACCESS_REMOTE_READ
					 ? MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ
					 : 0) |
			 (access & IBV_ACCESS_REMOTE_ATOMIC
					 ? MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_ATOMIC
					 : 0));
}

/**
 * Adds the padding of a layout.
 * @param units DS units of the layout.
 * @return DS units, a multiple of four.
 */
static HWQ_INLINE unsigned int
hwq_umr_pad(unsigned int units)
{
	return (units + HWQ_DS_PER_BB - 1) & ~(HWQ_DS_PER_BB - 1);
}

/**
 * Writes the UMR control segment and the key context.
 * @param wqe Address at which the WQE starts.
 * @param flags MLX5_WQE_UMR_CTRL_FLAG_*.
 * @param units DS units of the layout, padding included.
 * @param mask MLX5_WQE_UMR_CTRL_MKEY_MASK_*: which of the key's fields change to the values below.
 * @param free MLX5_WQE_MKEY_CONTEXT_FREE or 0.
 * @param access A result of hwq_umr_access().
 * @param qpn_mkey QPN << 8 of the only QP that may use the key, 0xffffff00 for any; and the key's
 *   variant.
 * @param start First address of the key.
 * @param len Length of the key, bytes.
 */
static HWQ_INLINE void
hwq_put_umr_head(uint8_t *wqe, uint8_t flags, unsigned int units, uint64_t mask, uint8_t free,
	uint8_t access, uint32_t qpn_mkey, uint64_t start, uint64_t len)
{
	uint8_t *umr = (uint8_t *)hwq_at_ds(wqe, HWQ_UMR_CTRL_DS);
	uint8_t *context = (uint8_t *)hwq_at_ds(wqe, HWQ_UMR_CONTEXT_DS);
	__be64 start_be = htobe64(start), len_be = htobe64(len);
	__be64 first_be = htobe64((uint64_t)flags << 56 | (uint64_t)units << 16);
	__be64 who_be = htobe64((uint64_t)free << 56 | (uint64_t)access << 40 | qpn_mkey);
	__be64 mask_be = htobe64(mask);

	memcpy(umr, &first_be, sizeof(first_be));
	memcpy(umr + 8, &mask_be, sizeof(mask_be));
	memset(umr + 16, 0, 32);
	memcpy(context, &who_be, sizeof(who_be));
	/* In most calls, start is the constant 0. Then no separate store of start is needed. */
	memset(context + 8, 0, 16);
	if (!__builtin_constant_p(start) || start != 0)
		memcpy(context + 16, &start_be, sizeof(start_be));
	memcpy(context + 24, &len_be, sizeof(len_be));
	memset(context + 32, 0, 32);
}

/*
 * Writes UMR control segment and key context for the layout of a key that neither signs nor
 * encrypts.
 */
static HWQ_INLINE void
hwq_put_layout_head(uint8_t *wqe, uint8_t variant, unsigned int access, unsigned int units,
	uint64_t len)
{
	hwq_put_umr_head(wqe, MLX5_WQE_UMR_CTRL_FLAG_INLINE, units,
		MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE | MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY |
			MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN | HWQ_UMR_MASK_ACCESS,
		0, hwq_umr_access(access), 0xffffff00 | variant, 0, len);
}

static_assert(offsetof(struct hwq_sge, lkey) == offsetof(struct hwq_sge, len) + 4,
	"hwq_put_klm() takes both at once");

/* Writes one KLM, which has the layout of a data segment. @return its length, bytes. */
static HWQ_INLINE uint32_t
hwq_put_klm(struct mlx5_wqe_umr_klm_seg *klm, const struct hwq_sge *sge)
{
#if __BYTE_ORDER == __LITTLE_ENDIAN
	uint64_t both;

	/* Length and key by one load, one swap and one store. */
	memcpy(&both, &sge->len, sizeof(both));
	klm->address = htobe64(sge->addr);
	both = __builtin_bswap64(both);
	both = both << 32 | both >> 32;
	memcpy(klm, &both, sizeof(both));
#else
	klm->address = sge->addr;
	hwq_put_pair(klm, sge->len, sge->lkey);
#endif
	return sge->len;
}

/**
 * Writes a layout that is a list of pieces, one after the other, and zeros up to a multiple of four
 * units.
 * @param at Address for the bytes; room for them is reserved.
 * @param sge The pieces.
 * @param n Number of pieces.
 * @return Bytes that the layout describes.
 */
static HWQ_INLINE uint64_t
hwq_put_klm_list(void *at, const struct hwq_sge *sge, unsigned int n)
{
	struct mlx5_wqe_umr_klm_seg *klm = (struct mlx5_wqe_umr_klm_seg *)at;
	uint64_t len = 0;
	unsigned int k;

	for (; n >= 4; n -= 4, klm += 4, sge += 4)
		for (k = 0; k < 4; k++)
			len += hwq_put_klm(&klm[k], &sge[k]);
	if (n != 0) {
		memset(klm, 0, 4 * sizeof(*klm));
		do
			len += hwq_put_klm(klm++, sge++);
		while (--n != 0);
	}
	return len;
}

/**
 * Returns how many bytes a pattern describes: the result of hwq_put_pattern().
 * @param repeat Number of rounds.
 * @param data The entries.
 * @param n Number of entries.
 * @return Bytes; UINT64_MAX if the number does not fit into 64 bits.
 */
static HWQ_INLINE uint64_t
hwq_pattern_len(uint32_t repeat, const struct mlx5dv_mr_interleaved *data, unsigned int n)
{
	uint64_t len = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		len += (uint32_t)data[i].bytes_count;
	return __builtin_mul_overflow(len, (uint64_t)repeat, &len) ? UINT64_MAX : len;
}

/**
 * Writes a layout that repeats. A round takes bytes_count bytes of each entry; in the next round,
 * the bytes of the entry begin bytes_count + bytes_skip bytes later. The layout has one unit more
 * than entries, and zeros up to a multiple of four units.
 * @param at Address for the bytes; room for them is reserved.
 * @param repeat Number of rounds.
 * @param data The entries.
 * @param n Number of entries.
 * @return Bytes that the layout describes, modulo 2^64.
 */
static HWQ_INLINE uint64_t
hwq_put_pattern(void *at, uint32_t repeat, const struct mlx5dv_mr_interleaved *data, unsigned int n)
{
	struct mlx5_wqe_umr_repeat_block_seg *block = (struct mlx5_wqe_umr_repeat_block_seg *)at;
	struct mlx5_wqe_umr_repeat_ent_seg *entry = block->entries;
	uint64_t len = 0;
	unsigned int i;

	memset((uint8_t *)at + (size_t)n / 4 * HWQ_BB_LEN, 0, HWQ_BB_LEN);
	for (i = 0; i < n; i++) {
		uint32_t bytes = data[i].bytes_count;

		len += bytes;
		entry[i].stride = htobe16((uint16_t)(bytes + data[i].bytes_skip));
		entry[i].byte_count = htobe16((uint16_t)bytes);
		entry[i].memkey = htobe32(data[i].lkey);
		entry[i].va = htobe64(data[i].addr);
	}
	block->byte_count = htobe32((uint32_t)len);
	block->op = htobe32(HWQ_UMR_OP_PATTERN);
	block->repeat_count = htobe32(repeat);
	block->reserved = 0;
	block->num_ent = htobe16((uint16_t)n);
	return len * repeat;
}

#endif
