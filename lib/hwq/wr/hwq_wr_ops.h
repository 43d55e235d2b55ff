/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Builders of work requests. Call order, errors and the thread rule are those of hwq_wr.h.
 *
 *     builder                       then call
 *     hwq_wr_send*, _rdma_*         a data setter (hwq_wr_set.h); UD, XRC, DC: address setter too
 *     hwq_wr_atomic_*               the same; the data setter gives 8 bytes for the old value
 *     hwq_wr_memcpy, _local_inv,    no setter
 *       _nop, _raw_wqe
 *
 * Each builder uses wr_id and wr_flags (enum hwq_wqe_flags) of the batch. On a UD or RAW_PACKET
 * queue, a builder of RDMA or atomics makes hwq_wr_complete() return -EINVAL.
 */
#ifndef HWQ_WR_OPS_H
#define HWQ_WR_OPS_H

#include "hwq_umr.h"
#include "hwq_wqe.h"
#include "hwq_wr_batch.h"
#include "hwq_wr_eth.h"

/*
 * @return DS units of the transport's segment, which follows the control segment. An address setter
 * writes this segment.
 */
static HWQ_INLINE unsigned int
hwq_wr_transport_ds(const struct hwq_wr *wr)
{
	switch (wr->transport) {
	case HWQ_TRANSPORT_UD:
	case HWQ_TRANSPORT_DC:
		return HWQ_AV_DS;
	case HWQ_TRANSPORT_XRC:
		return 1;
	default:
		return 0;
	}
}

/*
 * Opens a WQE that takes data. The data follow op_ds units (control segment and operation) and the
 * transport's segment. @return the address at which the operation's segments start; NULL if the
 * batch has failed.
 */
static HWQ_INLINE uint8_t *
hwq_wr_begin_op(struct hwq_wr *wr, uint8_t opcode, __be32 imm, unsigned int op_ds)
{
	unsigned int transport_ds = hwq_wr_transport_ds(wr);

	/* Set even if the batch has failed, as in hwq_wr_memcpy(). */
	wr->ds = op_ds + transport_ds;
	if (!hwq_wr_begin(wr, 0, opcode, imm, hwq_ds_to_bb(op_ds + transport_ds)))
		return NULL;
	if (transport_ds != 0)
		wr->open = HWQ_WR_DATA | HWQ_WR_ADDR;
	return (uint8_t *)hwq_at_ds(wr->wqe, 1 + transport_ds);
}

static HWQ_INLINE void
hwq_wr_send_op(struct hwq_wr *wr, uint8_t opcode, __be32 imm)
{
	if (wr->transport == HWQ_TRANSPORT_ETH)
		hwq_wr_fail(wr, -EINVAL);
	hwq_wr_begin_op(wr, opcode, imm, 1);
}

/**
 * SEND (ibv_wr_send(3)); on a RAW_PACKET queue, a frame. A data setter must follow; on UD, XRC and
 * DC queues also an address setter, in either order.
 * @param wr The batch.
 */
static HWQ_INLINE void
hwq_wr_send(struct hwq_wr *wr)
{
	if (wr->transport == HWQ_TRANSPORT_ETH)
		hwq_wr_eth_send(wr);
	else
		hwq_wr_send_op(wr, MLX5_OPCODE_SEND, 0);
}

/**
 * SEND with immediate data (ibv_wr_send_imm(3)). Setters follow as after hwq_wr_send().
 * @param wr The batch.
 * @param imm_data Immediate data, in network byte order.
 */
static HWQ_INLINE void
hwq_wr_send_imm(struct hwq_wr *wr, __be32 imm_data)
{
	hwq_wr_send_op(wr, MLX5_OPCODE_SEND_IMM, imm_data);
}

/**
 * SEND that invalidates a key of the receiver (ibv_wr_send_inv(3)). Setters follow as after
 * hwq_wr_send().
 * @param wr The batch.
 * @param invalidate_rkey The key to invalidate.
 */
static HWQ_INLINE void
hwq_wr_send_inv(struct hwq_wr *wr, uint32_t invalidate_rkey)
{
	hwq_wr_send_op(wr, MLX5_OPCODE_SEND_INVAL, htobe32(invalidate_rkey));
}

/* Opens a WQE with a remote address segment. Datagrams and frames have no remote memory. */
static HWQ_INLINE uint8_t *
hwq_wr_begin_remote(struct hwq_wr *wr, uint8_t opcode, uint32_t rkey, uint64_t remote_addr,
	__be32 imm, unsigned int op_ds)
{
	uint8_t *seg;

	if (wr->transport == HWQ_TRANSPORT_ETH || wr->transport == HWQ_TRANSPORT_UD)
		hwq_wr_fail(wr, -EINVAL);
	seg = hwq_wr_begin_op(wr, opcode, imm, op_ds);
	if (seg == NULL)
		return NULL;
	hwq_put_raddr(seg, remote_addr, rkey);
	return seg + HWQ_DS_LEN;
}

static HWQ_INLINE void
hwq_wr_rdma_op(struct hwq_wr *wr, uint8_t opcode, uint32_t rkey, uint64_t remote_addr, __be32 imm)
{
	hwq_wr_begin_remote(wr, opcode, rkey, remote_addr, imm, 2);
}

/**
 * RDMA write to remote_addr (ibv_wr_rdma_write(3)). Writes the remote address segment. A data
 * setter must follow, which gives the memory or the bytes to write.
 * @param wr The batch.
 * @param rkey The key of remote memory.
 * @param remote_addr The first byte of remote memory.
 */
static HWQ_INLINE void
hwq_wr_rdma_write(struct hwq_wr *wr, uint32_t rkey, uint64_t remote_addr)
{
	hwq_wr_rdma_op(wr, MLX5_OPCODE_RDMA_WRITE, rkey, remote_addr, 0);
}

/**
 * RDMA write with immediate data (ibv_wr_rdma_write_imm(3)); it consumes a receive that the peer
 * has posted. Setters follow as after hwq_wr_rdma_write().
 * @param wr The batch.
 * @param rkey The key of remote memory.
 * @param remote_addr The first byte of remote memory.
 * @param imm_data Immediate data, in network byte order.
 */
static HWQ_INLINE void
hwq_wr_rdma_write_imm(struct hwq_wr *wr, uint32_t rkey, uint64_t remote_addr, __be32 imm_data)
{
	hwq_wr_rdma_op(wr, MLX5_OPCODE_RDMA_WRITE_IMM, rkey, remote_addr, imm_data);
}

/**
 * RDMA read from remote_addr (ibv_wr_rdma_read(3)). A data setter must follow, which gives the
 * memory for the data; inline data are not possible.
 * @param wr The batch.
 * @param rkey The key of remote memory.
 * @param remote_addr The first byte of remote memory.
 */
static HWQ_INLINE void
hwq_wr_rdma_read(struct hwq_wr *wr, uint32_t rkey, uint64_t remote_addr)
{
	hwq_wr_rdma_op(wr, MLX5_OPCODE_RDMA_READ, rkey, remote_addr, 0);
}

static HWQ_INLINE void
hwq_wr_atomic_op(struct hwq_wr *wr, uint8_t opcode, uint32_t rkey, uint64_t remote_addr,
	uint64_t swap_add, uint64_t compare)
{
	uint8_t *seg = hwq_wr_begin_remote(wr, opcode, rkey, remote_addr, 0, 3);

	if (seg != NULL)
		hwq_put_atomic(seg, swap_add, compare);
}

/**
 * Atomic compare and swap (ibv_wr_atomic_cmp_swp(3)) of 8 bytes at remote_addr: if the 8 bytes
 * equal `compare`, they become `swap`. A data setter must follow: its 8 bytes receive the old
 * value.
 * @param wr The batch.
 * @param rkey The key of remote memory.
 * @param remote_addr The first byte of remote memory.
 * @param compare The value to compare with.
 * @param swap The new value.
 */
static HWQ_INLINE void
hwq_wr_atomic_cmp_swp(struct hwq_wr *wr, uint32_t rkey, uint64_t remote_addr, uint64_t compare,
	uint64_t swap)
{
	hwq_wr_atomic_op(wr, MLX5_OPCODE_ATOMIC_CS, rkey, remote_addr, swap, compare);
}

/**
 * Atomic addition to 8 bytes at remote_addr (ibv_wr_atomic_fetch_add(3)). A data setter must
 * follow: its 8 bytes receive the old value.
 * @param wr The batch.
 * @param rkey The key of remote memory.
 * @param remote_addr The first byte of remote memory.
 * @param add The summand.
 */
static HWQ_INLINE void
hwq_wr_atomic_fetch_add(struct hwq_wr *wr, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	hwq_wr_atomic_op(wr, MLX5_OPCODE_ATOMIC_FA, rkey, remote_addr, add, 0);
}

/**
 * Copies memory by the device's DMA engine (mlx5dv_wr_memcpy(3)); takes no setter. One WQEBB.
 * @param wr The batch.
 * @param dest_lkey The key of the destination.
 * @param dest_addr The first byte of the destination.
 * @param src_lkey The key of the source.
 * @param src_addr The first byte of the source.
 * @param length Bytes; -EINVAL if 0, or if more than sq->max_memcpy_len, which is 0 if the QP was
 *   created without mmo.
 */
static HWQ_INLINE void
hwq_wr_memcpy(struct hwq_wr *wr, uint32_t dest_lkey, uint64_t dest_addr, uint32_t src_lkey,
	uint64_t src_addr, uint64_t length)
{
	uint32_t byte_count;

	/*
	 * Set this even if the batch has failed, so that it is a constant after the caller's loop.
	 */
	wr->ds = 4;
	if (__builtin_expect(!hwq_memcpy_count(wr->sq, length, &byte_count), 0)) {
		hwq_wr_fail(wr, -EINVAL);
		return;
	}
	if (!hwq_wr_begin(wr, HWQ_OPMOD_MMO_DMA, MLX5_OPCODE_MMO, 0, 1))
		return;
	hwq_put_memcpy(wr->wqe, &wr->sq->mmo, dest_lkey, dest_addr, src_lkey, src_addr, byte_count);
	hwq_wr_end(wr, 4);
}

/**
 * Invalidates a memory window of type 2 (ibv_wr_local_inv(3)); takes no setter. The next WQE has a
 * small fence: it waits for the invalidation.
 * @param wr The batch.
 * @param invalidate_rkey The key to invalidate.
 */
static HWQ_INLINE void
hwq_wr_local_inv(struct hwq_wr *wr, uint32_t invalidate_rkey)
{
	if (!hwq_wr_begin(wr, 0, MLX5_OPCODE_UMR, htobe32(invalidate_rkey), 2))
		return;
	hwq_put_umr_head(wr->wqe,
		MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET | MLX5_WQE_UMR_CTRL_FLAG_INLINE |
			MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN,
		0,
		MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE | MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY |
			MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN,
		MLX5_WQE_MKEY_CONTEXT_FREE, 0, 0xffffff00, 0, 0);
	hwq_wr_end(wr, HWQ_UMR_HEAD_DS);
	hwq_wr_leave_fence(wr);
}

/**
 * NOP: does nothing, and completes in order; takes no setter. libmlx5 has no such builder. Like a
 * NOP by mlx5dv_wr_raw_wqe(3), it drops the fence that an earlier WQE requires.
 * @param wr The batch.
 */
static HWQ_INLINE void
hwq_wr_nop(struct hwq_wr *wr)
{
	if (!hwq_wr_begin(wr, 0, MLX5_OPCODE_NOP, 0, 1))
		return;
	hwq_put_ctrl_rest(wr->wqe, wr->wr_flags | wr->sq->sig_bits, 0);
	hwq_wr_end(wr, 1);
}

/**
 * Posts a WQE that the caller has written (mlx5dv_wr_raw_wqe(3)); takes no setter. The WQE is
 * copied, and only its wqe_index is replaced: wr_flags, sq_sig_all and the fence that an earlier
 * WQE requires have no effect on it.
 * @param wr The batch.
 * @param wqe The WQE; the DS of its control segment is its length. The error is -EINVAL if DS is 0.
 *   If the WQE is longer than the longest WQE for which the QP was created, the ring may never have
 *   room for it.
 */
static HWQ_INLINE void
hwq_wr_raw_wqe(struct hwq_wr *wr, const void *wqe)
{
	const struct mlx5_wqe_ctrl_seg *from = (const struct mlx5_wqe_ctrl_seg *)wqe;
	unsigned int ds = be32toh(from->qpn_ds) & HWQ_DS_MAX;
	uint32_t word = be32toh(from->opmod_idx_opcode);
	uint32_t ignored = 0;

	if (__builtin_expect(wr->open != HWQ_WR_CLOSED || ds == 0, 0))
		hwq_wr_fail(wr, -EINVAL);
	if (__builtin_expect(wr->at == wr->end, 0) && !hwq_wr_rare(wr, &ignored))
		return;
	hwq_wr_set_fence(wr, 0);
	if (!hwq_wr_make_room(wr, hwq_ds_to_bb(ds), 0))
		return;
	hwq_wr_place(wr);
	memcpy(wr->wqe, wqe, (size_t)ds * HWQ_DS_LEN);
	hwq_put_ctrl_index(wr->wqe, word, hwq_wr_pi(wr));
	hwq_wr_pass(wr, ds);
}

#endif
