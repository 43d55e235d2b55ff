/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Bursts of WQEs. The free WQEBBs of the ring are checked once for the whole burst, and wr_ids are
 * not stored.
 *
 *     n = hwq_burst_start(&b, sq, n);          how many of n WQEs may be written
 *     for (i = 0; i < n; i++)
 *         hwq_burst_rdma_write(&b, ...);       flags: constants, so that they fold away
 *     hwq_burst_end(&b);                       the queue counts the WQEs
 *     hwq_sq_ring(sq);                         the device sees them
 *
 * This is for a loop of requests of one kind. The fastest loop prepares once the bytes that all its
 * WQEs have in common:
 *
 *     like = hwq_burst_like_memcpy(&b);
 *     for (i = 0; i < n; i++)
 *         hwq_burst_memcpy_like(&b, &like, ...);
 *     hwq_burst_end_counted(&b, n);
 *
 * WQEs of several kinds, of one or more WQEBBs, can be posted all or not at all:
 *
 *     hwq_burst_reserve(&b, sq, n_bb);         contiguous room for all WQEs
 *     hwq_burst_rdma_with(&b, ...);
 *     hwq_burst_send_inline(&b, ...);
 *     hwq_burst_end_at(&b, n_bb, 1);           1: WQEBBs of the last WQE
 *
 * The WQEs have the same bytes as those of hwq_wqe.h. Between start and end, no other builder may
 * write to the queue.
 *
 * Thread: only the owner of the queue's domain calls the functions of this file.
 */
#ifndef HWQ_BURST_H
#define HWQ_BURST_H

#include "hwq_db.h"
#include "hwq_wqe.h"

/** A burst that is being written, on the caller's stack. Its fields are private. */
struct hwq_burst {
	struct hwq_sq *sq; /**< the send queue */
	uint8_t *at;       /**< address at which the next WQE starts */
	/** index and QPN of the next WQE, as in the first word of its control segment */
	uint64_t index_qpn;
	__be32 signals; /**< fm_ce_se of every WQE, in the form of hwq_fm_ce_se_word() */
	uint32_t fill;  /**< WQEBBs of NOPs before the reserved WQEBBs */
};

static HWQ_INLINE uint16_t
hwq_burst_pi(const struct hwq_burst *b)
{
	return (uint16_t)(b->index_qpn >> HWQ_INDEX_SHIFT);
}

/**
 * Begins a burst.
 * @param b The caller's storage, on the stack; hwq_burst_end() ends its use.
 * @param sq The send queue.
 * @param n How many WQEs the caller wants to write.
 * @return How many WQEs may be written: n, or fewer if the ring has fewer free WQEBBs, or fewer
 *   before its end. A burst does not continue at the ring's start, so after a burst up to the
 *   ring's end another burst may have room. 0 means that the ring is full: poll, complete, try
 *   again.
 */
static HWQ_INLINE unsigned int
hwq_burst_start(struct hwq_burst *b, struct hwq_sq *sq, unsigned int n)
{
	uint32_t room;

	b->sq = sq;
	b->at = (uint8_t *)hwq_sq_at(sq, sq->pi);
	b->index_qpn = hwq_index_qpn(sq->pi, sq->qpn_shifted);
	b->signals = hwq_fm_ce_se_word(sq->sig_bits);
	/* One WQEBB is always contiguous, so only the number of free WQEBBs matters. */
	if (n == 1)
		return !hwq_sq_is_full(sq);
	room = hwq_sq_room_bb(sq, sq->pi);
	return n < room ? n : room;
}

/**
 * Begins a burst of contiguous WQEs that have n_bb WQEBBs together. NOPs fill the ring's end if
 * needed. An empty ring of at least 2 * n_bb - 1 WQEBBs always has room.
 * @param b As hwq_burst_start().
 * @param sq The send queue.
 * @param n_bb WQEBBs of all WQEs.
 * @return True if the ring has room. The caller then writes all WQEs or none: without
 *   hwq_burst_end_at() the queue does not change. False if the ring has no room.
 */
static HWQ_INLINE bool
hwq_burst_reserve(struct hwq_burst *b, struct hwq_sq *sq, unsigned int n_bb)
{
	uint32_t fill;
	uint16_t pi;

	if (!hwq_sq_has_room(sq, sq->pi, n_bb, &fill))
		return false;
	pi = (uint16_t)(sq->pi + fill);
	b->sq = sq;
	b->at = (uint8_t *)hwq_sq_at(sq, pi);
	b->index_qpn = hwq_index_qpn(pi, sq->qpn_shifted);
	b->signals = hwq_fm_ce_se_word(sq->sig_bits);
	b->fill = fill;
	return true;
}

/* Moves the start of the next WQE by n_bb WQEBBs. */
static HWQ_INLINE void
hwq_burst_skip(struct hwq_burst *b, unsigned int n_bb)
{
	b->at += (size_t)n_bb * HWQ_BB_LEN;
	b->index_qpn += n_bb * HWQ_INDEX_STEP;
}

/*
 * Writes the control segment of the next WQE. @return the WQE, whose other segments the caller
 * writes.
 */
static HWQ_INLINE uint8_t *
hwq_burst_next_imm(struct hwq_burst *b, uint8_t opmod, uint8_t opcode, unsigned int ds,
	unsigned int flags, __be32 imm)
{
	uint8_t *wqe = b->at;

	hwq_put_ctrl_first(wqe, b->index_qpn, opmod, opcode, ds);
	hwq_put_pair(wqe + HWQ_DS_LEN / 2, hwq_fm_ce_se_word(flags) | b->signals, imm);
	hwq_burst_skip(b, 1);
	return wqe;
}

static HWQ_INLINE uint8_t *
hwq_burst_next(struct hwq_burst *b, uint8_t opmod, uint8_t opcode, unsigned int ds,
	unsigned int flags)
{
	return hwq_burst_next_imm(b, opmod, opcode, ds, flags, 0);
}

/**
 * Writes an RDMA write of one piece of memory, with the bytes of hwq_wqe_rdma_write()
 * (ibv_wr_rdma_write(3)). The caller writes at most as many WQEs as hwq_burst_start() returned.
 * @param b The burst.
 * @param rkey The key of remote memory.
 * @param raddr The first byte of remote memory.
 * @param lkey The key of local memory.
 * @param addr The first byte of local memory, a virtual address or an offset in the key.
 * @param len Bytes.
 * @param flags Enum hwq_wqe_flags.
 */
static HWQ_INLINE void
hwq_burst_rdma_write(struct hwq_burst *b, uint32_t rkey, uint64_t raddr, uint32_t lkey,
	uint64_t addr, uint32_t len, unsigned int flags)
{
	uint8_t *wqe = hwq_burst_next(b, 0, MLX5_OPCODE_RDMA_WRITE, 3, flags);

	hwq_put_rdma(wqe, rkey, raddr, lkey, addr, len);
	if (__builtin_expect(len == 0, 0))
		/* A message without data has no data segment. DS is byte 7 of the WQE. */
		wqe[7] = 2;
}

/**
 * Writes an RDMA write or read of at least one byte (ibv_wr_rdma_write(3)).
 * @param b The burst.
 * @param opcode MLX5_OPCODE_RDMA_WRITE or _RDMA_READ.
 * @param rkey The key of remote memory.
 * @param raddr The first byte of remote memory.
 * @param local_key hwq_key_word() of the local memory's key.
 * @param addr The first byte of local memory, a virtual address or an offset in the key.
 * @param len Bytes.
 * @param flags Enum hwq_wqe_flags.
 */
static HWQ_INLINE void
hwq_burst_rdma_with(struct hwq_burst *b, uint8_t opcode, uint32_t rkey, uint64_t raddr,
	uint64_t local_key, uint64_t addr, uint32_t len, unsigned int flags)
{
	uint8_t *wqe = hwq_burst_next(b, 0, opcode, 3, flags);

	hwq_put_raddr(hwq_at_ds(wqe, 1), raddr, rkey);
	hwq_put_data_with(hwq_at_ds(wqe, 2), local_key, addr, len);
}

/**
 * Writes a SEND, or an RDMA write or read, of at least one byte. hwq_wqe_one() explains the
 * arguments.
 * @param b The burst.
 * @param opcode MLX5_OPCODE_RDMA_WRITE or MLX5_OPCODE_RDMA_READ.
 * @param rkey The key of remote memory.
 * @param raddr The first byte of remote memory.
 * @param local_key hwq_key_word() of the local memory's key.
 * @param addr The first byte of local memory, a virtual address or an offset in the key.
 * @param len Bytes.
 * @param flags Enum hwq_wqe_flags.
 * @param imm Immediate data, in network byte order.
 */
static HWQ_INLINE void
hwq_burst_one(struct hwq_burst *b, uint8_t opcode, uint32_t rkey, uint64_t raddr,
	uint64_t local_key, uint64_t addr, uint32_t len, unsigned int flags, __be32 imm)
{
	unsigned int head = hwq_wqe_head_ds(opcode);
	uint8_t *wqe = hwq_burst_next_imm(b, 0, opcode, head + 1, flags, imm);

	if (head != 1)
		hwq_put_raddr(hwq_at_ds(wqe, 1), raddr, rkey);
	hwq_put_data_with(hwq_at_ds(wqe, head), local_key, addr, len);
}

/** The most bytes that hwq_burst_write_inline() accepts: with these, the WQE fills one WQEBB. */
#define HWQ_BURST_INLINE_MAX (HWQ_BB_LEN - 2u * HWQ_DS_LEN - HWQ_INLINE_HDR_LEN)

/**
 * Writes an RDMA write whose data are copied into the WQE, as hwq_wqe_inline() does. The WQE has
 * one WQEBB.
 * @param b The burst.
 * @param rkey The key of remote memory.
 * @param raddr The first byte of remote memory.
 * @param data The bytes to copy, read during the call.
 * @param len Bytes: 1 to the smaller of HWQ_BURST_INLINE_MAX and sq->max_inline. It is not checked.
 * @param flags Enum hwq_wqe_flags.
 */
static HWQ_INLINE void
hwq_burst_write_inline(struct hwq_burst *b, uint32_t rkey, uint64_t raddr, const void *data,
	uint32_t len, unsigned int flags)
{
	uint8_t *wqe = hwq_burst_next(b, 0, MLX5_OPCODE_RDMA_WRITE, 2 + hwq_inline_ds(len), flags);

	hwq_put_raddr(hwq_at_ds(wqe, 1), raddr, rkey);
	hwq_put_inline(hwq_at_ds(wqe, 2), data, len);
}

/**
 * Writes a SEND of one piece of memory, with the bytes of hwq_wqe_one() (ibv_wr_send(3)).
 * @param b The burst.
 * @param lkey The key of local memory.
 * @param addr The first byte of local memory, a virtual address or an offset in the key.
 * @param len Bytes, at least 1.
 * @param flags Enum hwq_wqe_flags.
 */
static HWQ_INLINE void
hwq_burst_send(struct hwq_burst *b, uint32_t lkey, uint64_t addr, uint32_t len, unsigned int flags)
{
	uint8_t *wqe = hwq_burst_next(b, 0, MLX5_OPCODE_SEND, 2, flags);

	hwq_put_data(hwq_at_ds(wqe, 1), lkey, addr, len);
}

/**
 * @param len Bytes.
 * @return WQEBBs of the WQE that hwq_burst_send_inline() writes.
 */
static HWQ_INLINE unsigned int
hwq_burst_send_inline_bb(uint32_t len)
{
	return hwq_ds_to_bb(1 + hwq_inline_ds(len));
}

/**
 * Writes a SEND whose data are copied into the WQE, as hwq_wqe_inline() does. The WQE may have
 * several WQEBBs.
 * @param b The burst.
 * @param data The bytes to copy, read during the call.
 * @param len Bytes, 1 to sq->max_inline. It is not checked.
 * @param flags Enum hwq_wqe_flags.
 */
static HWQ_INLINE void
hwq_burst_send_inline(struct hwq_burst *b, const void *data, uint32_t len, unsigned int flags)
{
	uint8_t *wqe;

	if (len == 0)
		__builtin_unreachable();
	wqe = hwq_burst_next(b, 0, MLX5_OPCODE_SEND, 1 + hwq_inline_ds(len), flags);
	hwq_put_inline(hwq_at_ds(wqe, 1), data, len);
	hwq_burst_skip(b, hwq_burst_send_inline_bb(len) - 1);
}

/**
 * Writes a memory copy by the device's DMA engine (mlx5dv_wr_memcpy(3)). One WQEBB.
 * @param b The burst.
 * @param dst_key hwq_key_word() of the destination's key.
 * @param dst The first byte of the destination.
 * @param src_key hwq_key_word() of the source's key.
 * @param src The first byte of the source.
 * @param len Bytes, 1 to sq->easy_memcpy_len. It is not checked.
 * @param flags Enum hwq_wqe_flags.
 */
static HWQ_INLINE void
hwq_burst_memcpy_with(struct hwq_burst *b, uint64_t dst_key, uint64_t dst, uint64_t src_key,
	uint64_t src, uint32_t len, unsigned int flags)
{
	uint8_t *wqe = hwq_burst_next(b, HWQ_OPMOD_MMO_DMA, MLX5_OPCODE_MMO, 4, flags);

	memcpy(hwq_at_ds(wqe, 1), &b->sq->mmo, sizeof(b->sq->mmo));
	hwq_put_data_with(hwq_at_ds(wqe, 2), src_key, src, len);
	hwq_put_data_with(hwq_at_ds(wqe, 3), dst_key, dst, len);
}

/**
 * Writes a memory copy of @p len bytes, with the bytes of hwq_wqe_memcpy() (mlx5dv_wr_memcpy(3)).
 * @param b The burst.
 * @param dst_lkey The key of the destination.
 * @param dst The first byte of the destination.
 * @param src_lkey The key of the source.
 * @param src The first byte of the source.
 * @param len Bytes.
 * @param flags Enum hwq_wqe_flags.
 * @return True if the WQE was written. False if len is 0 or more than sq->max_memcpy_len; then
 * nothing is written.
 */
static HWQ_INLINE bool
hwq_burst_memcpy(struct hwq_burst *b, uint32_t dst_lkey, uint64_t dst, uint32_t src_lkey,
	uint64_t src, uint64_t len, unsigned int flags)
{
	uint32_t byte_count;
	uint8_t *wqe;

	if (__builtin_expect(!hwq_memcpy_count(b->sq, len, &byte_count), 0))
		return false;
	wqe = hwq_burst_next(b, HWQ_OPMOD_MMO_DMA, MLX5_OPCODE_MMO, 4, flags);
	hwq_put_memcpy(wqe, &b->sq->mmo, dst_lkey, dst, src_lkey, src, byte_count);
	return true;
}

/* ------------------------------------------------------------------ loops */

/** 16 bytes that the compiler keeps in one register. */
typedef uint64_t hwq_ds __attribute__((vector_size(HWQ_DS_LEN)));

/**
 * The bytes that the WQEs of a loop have in common. Each WQE gets a copy of these bytes, and then
 * its own index. hwq_burst_end_counted() ends such a burst.
 */
struct hwq_burst_like {
	hwq_ds ctrl;    /**< the control segment without its first 32 bits */
	hwq_ds mmo;     /**< for memory copies: the segment that follows the control segment */
	uint32_t first; /**< the first 32 bits of the next WQE's control segment */
};

/* Prepares the common bytes of WQEs with this opcode. */
static HWQ_INLINE struct hwq_burst_like
hwq_burst_like(const struct hwq_burst *b, uint8_t opmod, uint8_t opcode, unsigned int ds)
{
	const hwq_ds none = {0, 0};
	struct hwq_burst_like like;

	like.mmo = none;
	hwq_put_ctrl_first(&like.ctrl, b->index_qpn, opmod, opcode, ds);
	hwq_put_pair((uint8_t *)&like.ctrl + HWQ_DS_LEN / 2, b->signals, 0);
	like.first = (uint32_t)opmod << 24 | (uint32_t)hwq_burst_pi(b) << 8 | opcode;
	return like;
}

/**
 * Prepares RDMA writes or reads, for hwq_burst_rdma_like().
 * @param b The burst.
 * @param opcode MLX5_OPCODE_RDMA_WRITE or MLX5_OPCODE_RDMA_READ.
 * @return The bytes that the WQEs have in common.
 */
static HWQ_INLINE struct hwq_burst_like
hwq_burst_like_rdma(const struct hwq_burst *b, uint8_t opcode)
{
	return hwq_burst_like(b, 0, opcode, 3);
}

/**
 * Prepares memory copies, for hwq_burst_memcpy_like().
 * @param b The burst.
 * @return The bytes that the WQEs have in common.
 */
static HWQ_INLINE struct hwq_burst_like
hwq_burst_like_memcpy(const struct hwq_burst *b)
{
	struct hwq_burst_like like = hwq_burst_like(b, HWQ_OPMOD_MMO_DMA, MLX5_OPCODE_MMO, 4);

	memcpy(&like.mmo, &b->sq->mmo, sizeof(like.mmo));
	return like;
}

static HWQ_INLINE uint8_t *
hwq_burst_next_like(struct hwq_burst *b, struct hwq_burst_like *like)
{
	__be32 first = htobe32(like->first);
	uint8_t *wqe = b->at;

	memcpy(wqe, &like->ctrl, sizeof(like->ctrl));
	memcpy(wqe, &first, sizeof(first));
	b->at += HWQ_BB_LEN;
	/* The next index. It cannot wrap, because a burst ends at the ring's end. */
	like->first += 1 << 8;
	return wqe;
}

/**
 * As hwq_burst_rdma_with() without flags, for a loop.
 * @param b The burst.
 * @param like The bytes that the WQEs have in common.
 * @param rkey The key of remote memory.
 * @param raddr The first byte of remote memory.
 * @param local_key hwq_key_word() of the key of local memory.
 * @param addr The first byte of local memory, a virtual address or an offset in the key.
 * @param len Bytes.
 */
static HWQ_INLINE void
hwq_burst_rdma_like(struct hwq_burst *b, struct hwq_burst_like *like, uint32_t rkey, uint64_t raddr,
	uint64_t local_key, uint64_t addr, uint32_t len)
{
	uint8_t *wqe = hwq_burst_next_like(b, like);

	hwq_put_raddr(hwq_at_ds(wqe, 1), raddr, rkey);
	hwq_put_data_with(hwq_at_ds(wqe, 2), local_key, addr, len);
}

/**
 * As hwq_burst_memcpy_with() without flags, for a loop.
 * @param b The burst.
 * @param like The bytes that the WQEs have in common.
 * @param dst_key hwq_key_word() of the destination's key.
 * @param dst The first byte of the destination.
 * @param src_key hwq_key_word() of the source's key.
 * @param src The first byte of the source.
 * @param len Bytes.
 */
static HWQ_INLINE void
hwq_burst_memcpy_like(struct hwq_burst *b, struct hwq_burst_like *like, uint64_t dst_key,
	uint64_t dst, uint64_t src_key, uint64_t src, uint32_t len)
{
	uint8_t *wqe = hwq_burst_next_like(b, like);

	memcpy(hwq_at_ds(wqe, 1), &like->mmo, sizeof(like->mmo));
	hwq_put_data_with(hwq_at_ds(wqe, 2), src_key, src, len);
	hwq_put_data_with(hwq_at_ds(wqe, 3), dst_key, dst, len);
}

/* ------------------------------------------------------------------ the end */

/* Ends the burst. pi: index after its last WQE, which has n_bb WQEBBs. */
static HWQ_INLINE void
hwq_burst_commit(struct hwq_burst *b, uint16_t pi, unsigned int n_bb)
{
	b->sq->pi = pi;
	b->sq->last = (uint16_t)(pi - n_bb);
	b->sq->wr.moved = true;
}

/**
 * Commits the WQEs of a burst that hwq_burst_reserve() began, and the NOPs before them.
 * @param b The burst.
 * @param room The n_bb of hwq_burst_reserve(). The caller has written all these WQEBBs.
 * @param n_bb WQEBBs of the last WQE.
 */
static HWQ_INLINE void
hwq_burst_end_at(struct hwq_burst *b, unsigned int room, unsigned int n_bb)
{
	if (__builtin_expect(b->fill != 0, 0))
		hwq_sq_fill_long(b->sq, b->fill);
	hwq_burst_commit(b, (uint16_t)(b->sq->pi + room), n_bb);
}

/**
 * Commits the burst's WQEs, as hwq_sq_commit() commits one WQE. Then hwq_sq_ring() announces the
 * WQEs to the device.
 * @param b The burst.
 */
static HWQ_INLINE void
hwq_burst_end(struct hwq_burst *b)
{
	if (hwq_burst_pi(b) != b->sq->pi)
		hwq_burst_commit(b, hwq_burst_pi(b), 1);
}

/**
 * Does the same as hwq_burst_end(), but the caller gives the number of WQEs. Each WQE has one
 * WQEBB. Call this function after a loop that writes WQEs with a struct hwq_burst_like.
 * @param b The burst.
 * @param n Number of WQEs, at least 1.
 */
static HWQ_INLINE void
hwq_burst_end_counted(struct hwq_burst *b, unsigned int n)
{
	hwq_burst_commit(b, (uint16_t)(b->sq->pi + n), 1);
}

/**
 * hwq_burst_end() and hwq_sq_ring() in one call, for a burst of one WQE. It is faster, because it
 * need not read back the WQE's length and flags. No earlier WQE may wait for its doorbell:
 * hwq_sq_pending_bb() was 0. This call does not publish the CQ's consumer index; the caller
 * publishes it when it polls.
 * @param b The burst.
 * @param ds 16-byte units of the WQE, at least 2. The WQE is no UMR.
 */
static HWQ_INLINE void
hwq_burst_end_and_ring_one(struct hwq_burst *b, unsigned int ds)
{
	struct hwq_sq *sq = b->sq;
	uint16_t last = sq->pi, pi = (uint16_t)(last + 1);

	sq->pi = pi;
	sq->last = last;
	sq->wr.moved = true;
	hwq_sq_announce(sq, pi, b->at - HWQ_BB_LEN, ds, true, false);
}

#endif
