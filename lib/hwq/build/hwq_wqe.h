/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Functions that build one WQE: each checks, reserves WQEBBs, puts segments (hwq_seg.h), and
 * commits the WQE.
 *
 * Every hwq_wqe_*() returns:
 *
 *     > 0        the WQEBBs of the WQE; it is committed, and the next hwq_sq_ring() posts it
 *     0          the ring is full; nothing is written: poll, complete, try again
 *     -EINVAL    the work request is not possible (each builder says when); nothing was written
 *     -ENOMEM    more inline data or data segments than the QP was created for; nothing was written
 *
 * SEND and RDMA are for RC and UC queues, atomics for RC queues, memcpy for RC queues and DCIs, NOP
 * and raw WQEs for all. Other types of QP need more segments: use the builders of hwq_wr.h, or of
 * hwq_wqe_dc.h for DCIs.
 *
 * All builders are always-inline, so the compiler removes branches on constant flags and counts.
 * After a call that returned a number above 0, sq->last is the index at which the WQE starts; the
 * WQE's CQE has this index as wqe_counter.
 *
 * The bytes are those of libmlx5 (ibv_wr_post(3), mlx5dv_wr_post(3)), except for unused bytes (imm
 * of operations without immediate data, padding of inline data): these bytes are 0 here, and
 * libmlx5 does not write them. A data segment of length 0 is left out. As in libmlx5, lengths above
 * caps.max_msg_len are not checked: the device fails the WQE. doc/hwq.md lists all differences.
 *
 * Arguments of all builders: rkey and raddr are the remote memory; lkey, addr and len (bytes) the
 * local memory, which the device uses until the WQE has completed; lists and inline data are read
 * during the call; flags are enum hwq_wqe_flags.
 *
 * Thread: only the owner of the queue's domain calls the functions of this file.
 */
#ifndef HWQ_WQE_H
#define HWQ_WQE_H

#include <errno.h>
#include <string.h>

#include "hwq_seg.h"
#include "hwq_sq.h"

/* ------------------------------------------------------------------ segments of a queue */

/**
 * Writes a control segment.
 * @param sq The send queue.
 * @param at Address for the segment.
 * @param pi The ring index at which the WQE starts.
 * @param opmod The modifier of the opcode.
 * @param opcode MLX5_OPCODE_*.
 * @param ds 16-byte units of the WQE.
 * @param flags Enum hwq_wqe_flags.
 * @param imm Immediate data, in network byte order.
 */
static HWQ_INLINE void
hwq_put_ctrl(struct hwq_sq *sq, void *at, uint16_t pi, uint8_t opmod, uint8_t opcode,
	unsigned int ds, unsigned int flags, __be32 imm)
{
	hwq_put_ctrl_first(at, hwq_index_qpn(pi, sq->qpn_shifted), opmod, opcode, ds);
	hwq_put_ctrl_rest(at, flags | sq->sig_bits, imm);
}

/*
 * Computes the byte count of a memcpy's data segments. @return false if len is 0, or more than
 * sq->max_memcpy_len.
 */
static HWQ_INLINE bool
hwq_memcpy_count(const struct hwq_sq *sq, uint64_t len, uint32_t *byte_count)
{
	*byte_count = (uint32_t)len;
	/* If len is 0, len - 1 is the largest 64-bit number, which is not below easy_memcpy_len. */
	if (__builtin_expect(len - 1 < sq->easy_memcpy_len, 1))
		return true;
	if (len == 0 || len > sq->max_memcpy_len)
		return false;
	/* 2 GiB, the largest length, is encoded as 0, because the bit for 2 GiB means "inline". */
	*byte_count = (uint32_t)len & ~MLX5_INLINE_SEG;
	return true;
}

/* ------------------------------------------------------------------ whole WQEs */

/**
 * Writes a NOP of one WQEBB: it does nothing, and completes in order. Never returns -EINVAL or
 * -ENOMEM.
 * @param sq The send queue.
 * @param flags Enum hwq_wqe_flags.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_nop(struct hwq_sq *sq, unsigned int flags)
{
	void *wqe = hwq_sq_reserve(sq, 1);

	if (wqe == NULL)
		return 0;
	hwq_put_ctrl(sq, wqe, sq->pi, 0, MLX5_OPCODE_NOP, 1, flags, 0);
	hwq_sq_commit(sq, 1);
	return 1;
}

/**
 * Copies len bytes by the device's DMA engine (mlx5dv_wr_memcpy(3)). One WQEBB: control segment,
 * DMA segment, two data segments. Returns -EINVAL if len is 0 or more than sq->max_memcpy_len, or
 * if the QP was created without mmo.
 * @param sq The send queue.
 * @param dst_lkey The key of the destination.
 * @param dst The first byte of the destination.
 * @param src_lkey The key of the source.
 * @param src The first byte of the source.
 * @param len Bytes.
 * @param flags Enum hwq_wqe_flags.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_memcpy(struct hwq_sq *sq, uint32_t dst_lkey, uint64_t dst, uint32_t src_lkey, uint64_t src,
	uint64_t len, unsigned int flags)
{
	uint32_t byte_count;
	uint8_t *wqe;

	if (__builtin_expect(!hwq_memcpy_count(sq, len, &byte_count), 0))
		return -EINVAL;
	wqe = (uint8_t *)hwq_sq_reserve(sq, 1);
	if (wqe == NULL)
		return 0;
	hwq_put_ctrl(sq, wqe, sq->pi, HWQ_OPMOD_MMO_DMA, MLX5_OPCODE_MMO, 4, flags, 0);
	hwq_put_memcpy(wqe, &sq->mmo, dst_lkey, dst, src_lkey, src, byte_count);
	hwq_sq_commit(sq, 1);
	return 1;
}

/*
 * @return DS units before the data: the control segment, and for RDMA also the remote address
 *   segment.
 */
static HWQ_INLINE unsigned int
hwq_wqe_head_ds(uint8_t opcode)
{
	return opcode == MLX5_OPCODE_SEND || opcode == MLX5_OPCODE_SEND_IMM ||
			       opcode == MLX5_OPCODE_SEND_INVAL
		       ? 1
		       : 2;
}

static HWQ_INLINE void
hwq_put_head(struct hwq_sq *sq, void *wqe, uint8_t opcode, unsigned int ds, uint32_t rkey,
	uint64_t raddr, unsigned int flags, __be32 imm)
{
	hwq_put_ctrl(sq, wqe, sq->pi, 0, opcode, ds, flags, imm);
	if (hwq_wqe_head_ds(opcode) != 1)
		hwq_put_raddr(hwq_at_ds(wqe, 1), raddr, rkey);
}

/**
 * SEND, RDMA write or RDMA read of one piece of memory (ibv_wr_send(3), ibv_wr_rdma_write(3),
 * ibv_wr_set_sge(3)). Length 0 is a message without data. Never returns -EINVAL or -ENOMEM.
 * @param sq The send queue.
 * @param opcode MLX5_OPCODE_SEND, _SEND_IMM, _SEND_INVAL, _RDMA_WRITE, _RDMA_WRITE_IMM or
 *   _RDMA_READ. A SEND ignores rkey and raddr.
 * @param rkey The key of remote memory.
 * @param raddr The first byte of remote memory.
 * @param lkey The key of local memory.
 * @param addr The first byte of local memory, a virtual address or an offset in the key.
 * @param len Bytes.
 * @param flags Enum hwq_wqe_flags.
 * @param imm Immediate data of _SEND_IMM and _RDMA_WRITE_IMM; htobe32() of the key that _SEND_INVAL
 *   invalidates; otherwise 0.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_one(struct hwq_sq *sq, uint8_t opcode, uint32_t rkey, uint64_t raddr, uint32_t lkey,
	uint64_t addr, uint32_t len, unsigned int flags, __be32 imm)
{
	unsigned int head = hwq_wqe_head_ds(opcode);
	void *wqe = hwq_sq_reserve(sq, 1);

	if (wqe == NULL)
		return 0;
	hwq_put_head(sq, wqe, opcode, head + (len != 0), rkey, raddr, flags, imm);
	if (__builtin_expect(len != 0, 1))
		hwq_put_data(hwq_at_ds(wqe, head), lkey, addr, len);
	hwq_sq_commit(sq, 1);
	return 1;
}

/**
 * SEND, RDMA write or RDMA read of a list of pieces of memory (ibv_wr_set_sge_list(3)). Pieces of
 * length 0 write no segment, but count for the limit. Returns -ENOMEM if n_sge is more than
 * sq->max_sge.
 * @param sq The send queue.
 * @param opcode MLX5_OPCODE_*.
 * @param rkey The key of remote memory.
 * @param raddr The first byte of remote memory.
 * @param sge The pieces, read during the call.
 * @param n_sge Number of pieces.
 * @param flags Enum hwq_wqe_flags.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_list(struct hwq_sq *sq, uint8_t opcode, uint32_t rkey, uint64_t raddr,
	const struct hwq_sge *sge, unsigned int n_sge, unsigned int flags)
{
	unsigned int head = hwq_wqe_head_ds(opcode);
	unsigned int i, ds = head;
	void *wqe;

	if (__builtin_expect(n_sge > sq->max_sge, 0))
		return -ENOMEM;
	for (i = 0; i < n_sge; i++)
		ds += sge[i].len != 0;
	wqe = hwq_sq_reserve(sq, hwq_ds_to_bb(ds));
	if (wqe == NULL)
		return 0;
	hwq_put_head(sq, wqe, opcode, ds, rkey, raddr, flags, 0);
	hwq_put_data_list(hwq_at_ds(wqe, head), sge, n_sge);
	hwq_sq_commit(sq, hwq_ds_to_bb(ds));
	return (int)hwq_ds_to_bb(ds);
}

/**
 * SEND or RDMA write of bytes that are copied into the WQE (ibv_wr_set_inline_data(3)). For opcode
 * and imm see hwq_wqe_one(); an RDMA read is not possible. Returns -ENOMEM if len is more than
 * sq->max_inline.
 * @param sq The send queue.
 * @param opcode MLX5_OPCODE_*.
 * @param rkey The key of remote memory.
 * @param raddr The first byte of remote memory.
 * @param data The bytes to copy, read during the call.
 * @param len Bytes.
 * @param flags Enum hwq_wqe_flags.
 * @param imm Immediate data, in network byte order.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_inline(struct hwq_sq *sq, uint8_t opcode, uint32_t rkey, uint64_t raddr, const void *data,
	size_t len, unsigned int flags, __be32 imm)
{
	unsigned int head = hwq_wqe_head_ds(opcode);
	unsigned int ds = head + hwq_inline_ds(len);
	void *wqe;

	if (__builtin_expect(len > sq->max_inline, 0))
		return -ENOMEM;
	wqe = hwq_sq_reserve(sq, hwq_ds_to_bb(ds));
	if (wqe == NULL)
		return 0;
	hwq_put_head(sq, wqe, opcode, ds, rkey, raddr, flags, imm);
	hwq_put_inline(hwq_at_ds(wqe, head), data, len);
	hwq_sq_commit(sq, hwq_ds_to_bb(ds));
	return (int)hwq_ds_to_bb(ds);
}

/**
 * SEND or RDMA write of a list of buffers, which are copied into the WQE as one inline segment
 * (ibv_wr_set_inline_data_list(3)). Returns -ENOMEM if the sum of their lengths is more than
 * sq->max_inline.
 * @param sq The send queue.
 * @param opcode MLX5_OPCODE_*.
 * @param rkey The key of remote memory.
 * @param raddr The first byte of remote memory.
 * @param buf The buffers, read during the call.
 * @param n_buf Number of buffers.
 * @param flags Enum hwq_wqe_flags.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_inline_list(struct hwq_sq *sq, uint8_t opcode, uint32_t rkey, uint64_t raddr,
	const struct hwq_buf *buf, unsigned int n_buf, unsigned int flags)
{
	unsigned int head = hwq_wqe_head_ds(opcode);
	unsigned int i, ds;
	size_t len = 0;
	void *wqe;

	for (i = 0; i < n_buf; i++) {
		/*
		 * Compare in this form, because a sum with a very large length could overflow to a
		 * small number.
		 */
		if (__builtin_expect(buf[i].len > sq->max_inline - len, 0))
			return -ENOMEM;
		len += buf[i].len;
	}
	ds = head + hwq_inline_ds(len);
	wqe = hwq_sq_reserve(sq, hwq_ds_to_bb(ds));
	if (wqe == NULL)
		return 0;
	hwq_put_head(sq, wqe, opcode, ds, rkey, raddr, flags, 0);
	hwq_put_inline_list(hwq_at_ds(wqe, head), buf, n_buf, len);
	hwq_sq_commit(sq, hwq_ds_to_bb(ds));
	return (int)hwq_ds_to_bb(ds);
}

/**
 * RDMA write of one piece of memory to raddr, by hwq_wqe_one() (ibv_wr_rdma_write(3)). Never
 * returns -EINVAL or -ENOMEM.
 * @param sq The send queue.
 * @param rkey The key of remote memory.
 * @param raddr The first byte of remote memory.
 * @param lkey The key of local memory.
 * @param addr The first byte of local memory, a virtual address or an offset in the key.
 * @param len Bytes.
 * @param flags Enum hwq_wqe_flags.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_rdma_write(struct hwq_sq *sq, uint32_t rkey, uint64_t raddr, uint32_t lkey, uint64_t addr,
	uint32_t len, unsigned int flags)
{
	return hwq_wqe_one(sq, MLX5_OPCODE_RDMA_WRITE, rkey, raddr, lkey, addr, len, flags, 0);
}

/**
 * RDMA read from raddr into one piece of memory, by hwq_wqe_one() (ibv_wr_rdma_read(3)). Never
 * returns -EINVAL or -ENOMEM.
 * @param sq The send queue.
 * @param rkey The key of remote memory.
 * @param raddr The first byte of remote memory.
 * @param lkey The key of local memory.
 * @param addr The first byte of local memory, a virtual address or an offset in the key.
 * @param len Bytes.
 * @param flags Enum hwq_wqe_flags.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_rdma_read(struct hwq_sq *sq, uint32_t rkey, uint64_t raddr, uint32_t lkey, uint64_t addr,
	uint32_t len, unsigned int flags)
{
	return hwq_wqe_one(sq, MLX5_OPCODE_RDMA_READ, rkey, raddr, lkey, addr, len, flags, 0);
}

/* ------------------------------------------------------------------ atomics, raw WQEs */

/* Writes one WQEBB: control, remote address, operands, and a data segment for the old value. */
static HWQ_INLINE int
hwq_wqe_atomic(struct hwq_sq *sq, uint8_t opcode, uint32_t rkey, uint64_t raddr, uint32_t lkey,
	uint64_t addr, uint64_t swap_add, uint64_t compare, unsigned int flags)
{
	void *wqe = hwq_sq_reserve(sq, 1);

	if (wqe == NULL)
		return 0;
	hwq_put_head(sq, wqe, opcode, 4, rkey, raddr, flags, 0);
	hwq_put_atomic(hwq_at_ds(wqe, 2), swap_add, compare);
	hwq_put_data(hwq_at_ds(wqe, 3), lkey, addr, sizeof(uint64_t));
	hwq_sq_commit(sq, 1);
	return 1;
}

/**
 * Atomic compare and swap (ibv_wr_atomic_cmp_swp(3)) of 8 bytes at raddr: if the 8 bytes equal
 * `compare`, they become `swap`. The old value is written to addr, in the byte order of the CPU.
 * One WQEBB. Never returns -EINVAL or -ENOMEM.
 * @param sq The send queue.
 * @param rkey The key of remote memory.
 * @param raddr The first byte of remote memory.
 * @param lkey The key of local memory.
 * @param addr The first byte of local memory, a virtual address or an offset in the key.
 * @param compare The value to compare with.
 * @param swap The new value.
 * @param flags Enum hwq_wqe_flags.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_atomic_cmp_swp(struct hwq_sq *sq, uint32_t rkey, uint64_t raddr, uint32_t lkey,
	uint64_t addr, uint64_t compare, uint64_t swap, unsigned int flags)
{
	return hwq_wqe_atomic(sq, MLX5_OPCODE_ATOMIC_CS, rkey, raddr, lkey, addr, swap, compare,
		flags);
}

/**
 * Atomic addition to 8 bytes at raddr (ibv_wr_atomic_fetch_add(3)). The old value is written to
 * addr, in the byte order of the CPU. One WQEBB. Never returns -EINVAL or -ENOMEM.
 * @param sq The send queue.
 * @param rkey The key of remote memory.
 * @param raddr The first byte of remote memory.
 * @param lkey The key of local memory.
 * @param addr The first byte of local memory, a virtual address or an offset in the key.
 * @param add The summand.
 * @param flags Enum hwq_wqe_flags.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_atomic_fetch_add(struct hwq_sq *sq, uint32_t rkey, uint64_t raddr, uint32_t lkey,
	uint64_t addr, uint64_t add, unsigned int flags)
{
	return hwq_wqe_atomic(sq, MLX5_OPCODE_ATOMIC_FA, rkey, raddr, lkey, addr, add, 0, flags);
}

/**
 * @param wqe The WQE.
 * @return The DS of the WQE's control segment: the WQE's length in 16-byte units.
 */
static HWQ_INLINE unsigned int
hwq_raw_ds(const void *wqe)
{
	return ((const uint8_t *)wqe)[7] & HWQ_DS_MAX;
}

/**
 * Posts a WQE that the caller has written (compare mlx5dv_wr_raw_wqe(3)). The WQE is copied. The
 * copy gets the queue's index and QPN, and is signalled if flags say so; HWQ_WQE_SIGNALED is the
 * only flag with an effect. All other bytes stay as the caller wrote them.
 * @param sq The send queue.
 * @param wqe The WQE, of any alignment. The DS of its control segment gives its length. Returns
 *   -EINVAL if DS is 0, or if the ring holds fewer than two WQEs of this length.
 * @param flags Enum hwq_wqe_flags.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_raw(struct hwq_sq *sq, const void *wqe, unsigned int flags)
{
	unsigned int ds = hwq_raw_ds(wqe), n_bb = hwq_ds_to_bb(ds);
	struct mlx5_wqe_ctrl_seg *to;
	uint32_t word;

	if (__builtin_expect(ds == 0 || 2 * n_bb > hwq_sq_n_bb(sq), 0))
		return -EINVAL;
	to = (struct mlx5_wqe_ctrl_seg *)hwq_sq_reserve(sq, n_bb);
	if (to == NULL)
		return 0;
	memcpy(to, wqe, (size_t)ds * HWQ_DS_LEN);
	word = be32toh(to->opmod_idx_opcode);
	hwq_put_ctrl_index(to, word, sq->pi);
	to->qpn_ds = htobe32(sq->qpn_shifted | ds);
	to->fm_ce_se = (uint8_t)((to->fm_ce_se & ~HWQ_WQE_CE_BITS) | (flags & HWQ_WQE_SIGNALED) |
				 sq->sig_bits);
	hwq_sq_commit(sq, n_bb);
	return (int)n_bb;
}

#endif
