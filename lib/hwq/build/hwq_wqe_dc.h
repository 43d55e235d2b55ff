/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Functions that build one WQE of a DCI. Each takes the DC target that receives the WQE. Return
 * values, arguments and the thread rule are those of hwq_wqe.h.
 *
 *     hwq_dct_addr --- the peer --- hwq_ah_create_on(dev, &path, &addr, &ah)
 *                                   hwq_dc_dest_set(&dest, &ah, be32toh(addr.qpn), key)
 *                                   hwq_wqe_dc_one(sq, &dest, MLX5_OPCODE_RDMA_WRITE, ...)
 *
 * The address vector takes three units of each WQE. A WQE with data has two WQEBBs or more. In two
 * WQEBBs there is room for 44 bytes of inline data of an RDMA write, or 60 bytes of a SEND.
 *
 * The bytes are those of libmlx5's builders followed by mlx5dv_wr_set_dc_addr(3).
 */
#ifndef HWQ_WQE_DC_H
#define HWQ_WQE_DC_H

#include "hwq_ah.h"
#include "hwq_wqe.h"

/** A DC target, in the form that WQEs have, in the caller's storage. It need not be freed. */
struct hwq_dc_dest {
	/** address vector: the path to the target's port, the target's number and its key */
	struct mlx5_wqe_av av;
};

/**
 * Makes *dest describe a DC target. Any thread may call it while no other thread uses *dest.
 * @param dest The destination to write.
 * @param ah The path to the target's port; read during the call.
 * @param dctn The target's number: qpn of hwq_dct_addr().
 * @param key The target's DC key.
 */
static inline void
hwq_dc_dest_set(struct hwq_dc_dest *dest, const struct hwq_ah *ah, uint32_t dctn, uint64_t key)
{
	hwq_put_av(&dest->av, &ah->av, dctn, key);
}

/*
 * @return DS units of the segments before the data: those of hwq_wqe_head_ds(), and the address
 *   vector.
 */
static HWQ_INLINE unsigned int
hwq_wqe_dc_head_ds(uint8_t opcode)
{
	return hwq_wqe_head_ds(opcode) + HWQ_AV_DS;
}

/* Writes the segments before the data. */
static HWQ_INLINE void
hwq_put_dc_head(struct hwq_sq *sq, void *wqe, const struct hwq_dc_dest *dest, uint8_t opcode,
	unsigned int ds, uint32_t rkey, uint64_t raddr, unsigned int flags, __be32 imm)
{
	hwq_put_ctrl(sq, wqe, sq->pi, 0, opcode, ds, flags, imm);
	memcpy(hwq_at_ds(wqe, 1), &dest->av, sizeof(dest->av));
	if (hwq_wqe_head_ds(opcode) != 1)
		hwq_put_raddr(hwq_at_ds(wqe, 1 + HWQ_AV_DS), raddr, rkey);
}

/**
 * SEND, RDMA write or RDMA read of one piece of memory: hwq_wqe_one() to a DC target. Never returns
 * -EINVAL or -ENOMEM.
 * @param sq The send queue.
 * @param dest The DC target.
 * @param opcode MLX5_OPCODE_*.
 * @param rkey The key of remote memory.
 * @param raddr The first byte of remote memory.
 * @param lkey The key of local memory.
 * @param addr The first byte of local memory, a virtual address or an offset in the key.
 * @param len Bytes.
 * @param flags Enum hwq_wqe_flags.
 * @param imm Immediate data, in network byte order.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_dc_one(struct hwq_sq *sq, const struct hwq_dc_dest *dest, uint8_t opcode, uint32_t rkey,
	uint64_t raddr, uint32_t lkey, uint64_t addr, uint32_t len, unsigned int flags, __be32 imm)
{
	unsigned int head = hwq_wqe_dc_head_ds(opcode);
	unsigned int ds = head + (len != 0), n_bb = hwq_ds_to_bb(ds);
	void *wqe = hwq_sq_reserve(sq, n_bb);

	if (wqe == NULL)
		return 0;
	hwq_put_dc_head(sq, wqe, dest, opcode, ds, rkey, raddr, flags, imm);
	if (__builtin_expect(len != 0, 1))
		hwq_put_data(hwq_at_ds(wqe, head), lkey, addr, len);
	hwq_sq_commit(sq, n_bb);
	return (int)n_bb;
}

/**
 * SEND or RDMA write of bytes copied into the WQE: hwq_wqe_inline() to a DC target. Returns -ENOMEM
 * if len is more than sq->max_inline.
 * @param sq The send queue.
 * @param dest The DC target.
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
hwq_wqe_dc_inline(struct hwq_sq *sq, const struct hwq_dc_dest *dest, uint8_t opcode, uint32_t rkey,
	uint64_t raddr, const void *data, size_t len, unsigned int flags, __be32 imm)
{
	unsigned int head = hwq_wqe_dc_head_ds(opcode);
	unsigned int ds = head + hwq_inline_ds(len), n_bb = hwq_ds_to_bb(ds);
	void *wqe;

	if (__builtin_expect(len > sq->max_inline, 0))
		return -ENOMEM;
	wqe = hwq_sq_reserve(sq, n_bb);
	if (wqe == NULL)
		return 0;
	hwq_put_dc_head(sq, wqe, dest, opcode, ds, rkey, raddr, flags, imm);
	hwq_put_inline(hwq_at_ds(wqe, head), data, len);
	hwq_sq_commit(sq, n_bb);
	return (int)n_bb;
}

/*
 * Writes two WQEBBs: control, address vector, remote address, operands, and a data segment for the
 * old value.
 */
static HWQ_INLINE int
hwq_wqe_dc_atomic(struct hwq_sq *sq, const struct hwq_dc_dest *dest, uint8_t opcode, uint32_t rkey,
	uint64_t raddr, uint32_t lkey, uint64_t addr, uint64_t swap_add, uint64_t compare,
	unsigned int flags)
{
	unsigned int head = hwq_wqe_dc_head_ds(opcode), ds = head + 2, n_bb = hwq_ds_to_bb(ds);
	void *wqe = hwq_sq_reserve(sq, n_bb);

	if (wqe == NULL)
		return 0;
	hwq_put_dc_head(sq, wqe, dest, opcode, ds, rkey, raddr, flags, 0);
	hwq_put_atomic(hwq_at_ds(wqe, head), swap_add, compare);
	hwq_put_data(hwq_at_ds(wqe, head + 1), lkey, addr, sizeof(uint64_t));
	hwq_sq_commit(sq, n_bb);
	return (int)n_bb;
}

/**
 * hwq_wqe_atomic_cmp_swp() to a DC target. Two WQEBBs. Never returns -EINVAL or -ENOMEM.
 * @param sq The send queue.
 * @param dest The DC target.
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
hwq_wqe_dc_atomic_cmp_swp(struct hwq_sq *sq, const struct hwq_dc_dest *dest, uint32_t rkey,
	uint64_t raddr, uint32_t lkey, uint64_t addr, uint64_t compare, uint64_t swap,
	unsigned int flags)
{
	return hwq_wqe_dc_atomic(sq, dest, MLX5_OPCODE_ATOMIC_CS, rkey, raddr, lkey, addr, swap,
		compare, flags);
}

/**
 * hwq_wqe_atomic_fetch_add() to a DC target. Two WQEBBs. Never returns -EINVAL or -ENOMEM.
 * @param sq The send queue.
 * @param dest The DC target.
 * @param rkey The key of remote memory.
 * @param raddr The first byte of remote memory.
 * @param lkey The key of local memory.
 * @param addr The first byte of local memory, a virtual address or an offset in the key.
 * @param add The summand.
 * @param flags Enum hwq_wqe_flags.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_dc_atomic_fetch_add(struct hwq_sq *sq, const struct hwq_dc_dest *dest, uint32_t rkey,
	uint64_t raddr, uint32_t lkey, uint64_t addr, uint64_t add, unsigned int flags)
{
	return hwq_wqe_dc_atomic(sq, dest, MLX5_OPCODE_ATOMIC_FA, rkey, raddr, lkey, addr, add, 0,
		flags);
}

/**
 * @param wqe The WQE.
 * @return True if a WQE of this opcode has an address vector, in units 1 to 3: SEND, RDMA, and
 *   atomics with or without masks.
 */
static HWQ_INLINE bool
hwq_raw_has_av(const void *wqe)
{
	switch (((const uint8_t *)wqe)[3]) {
	case MLX5_OPCODE_SEND:
	case MLX5_OPCODE_SEND_IMM:
	case MLX5_OPCODE_SEND_INVAL:
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
	case MLX5_OPCODE_RDMA_READ:
	case MLX5_OPCODE_ATOMIC_CS:
	case MLX5_OPCODE_ATOMIC_FA:
	case MLX5_OPCODE_ATOMIC_MASKED_CS:
	case MLX5_OPCODE_ATOMIC_MASKED_FA:
		return true;
	default:
		return false;
	}
}

/**
 * @param wqe The WQE.
 * @return False if the WQE must have an address vector and is too short for it.
 */
static HWQ_INLINE bool
hwq_dc_raw_is_possible(const void *wqe)
{
	return !hwq_raw_has_av(wqe) || hwq_raw_ds(wqe) >= 1 + HWQ_AV_DS;
}

/**
 * hwq_wqe_raw() to a DC target. If hwq_raw_has_av() is true, units 1 to 3 of the copy become the
 * address vector of dest; the caller's units 1 to 3 are ignored. Returns -EINVAL as hwq_wqe_raw(),
 * or if hwq_dc_raw_is_possible() is false.
 * @param sq The send queue.
 * @param dest The DC target.
 * @param wqe The WQE.
 * @param flags Enum hwq_wqe_flags.
 * @return WQEBBs of the WQEs, 0 or a negative error: see hwq_wqe.h.
 */
static HWQ_INLINE int
hwq_wqe_dc_raw(struct hwq_sq *sq, const struct hwq_dc_dest *dest, const void *wqe,
	unsigned int flags)
{
	int n_bb;

	if (__builtin_expect(!hwq_dc_raw_is_possible(wqe), 0))
		return -EINVAL;
	n_bb = hwq_wqe_raw(sq, wqe, flags);
	if (hwq_raw_has_av(wqe) && n_bb > 0)
		memcpy(hwq_at_ds(hwq_sq_at(sq, sq->last), 1), &dest->av, sizeof(dest->av));
	return n_bb;
}

#endif
