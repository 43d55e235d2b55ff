/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Builders: the only code that writes segments.
 *
 *     hwq_put_*   one segment, at a given place; the caller has reserved and knows it fits
 *     hwq_wqe_*   one whole WQE: check, reserve, put, commit
 *
 * Every hwq_wqe_*() returns:
 *   > 0         the WQEBBs of the WQE; it is committed, and goes out with the next hwq_sq_ring()
 *   0           the ring is full; nothing was written. Poll, complete, try again.
 *   -EINVAL     the work request is not possible (each builder says when); nothing was written
 *   -ENOMEM     more inline data or data segments than the QP was created for; nothing was written
 *
 * SEND and RDMA are those of RC and UC queues, memcpy of RC and DCI, NOP of all: the other types have
 * segments of their own, which hwq_wr.h writes.
 *
 * They are always-inline: with constant flags and counts the branches fold away. The WQE starts at
 * sq->last after a call that returned > 0, which is the wqe_counter that its CQE will carry.
 *
 * Bytes are those of libmlx5 (ibv_wr_post(3), mlx5dv_wr_post(3)), with what it leaves from the
 * ring's last lap (imm of operations without one, padding of inline data) written as 0. A data
 * segment of length 0 is left out. Lengths above caps.max_msg_len are not checked, as libmlx5 does
 * not either: the device fails them. doc/hwq.md has all differences.
 *
 * Thread: the owner of the queue's domain, alone.
 */
#ifndef HWQ_WQE_H
#define HWQ_WQE_H

#include <errno.h>
#include <string.h>

#include "hwq_sq.h"
#include "hwq_wire.h"

#define HWQ_INLINE inline __attribute__((always_inline))

/** Flags of a WQE: bits of the control segment's fm_ce_se, as IBV_SEND_* of ibv_wr_post(3) mean. */
enum hwq_wqe_flags {
	HWQ_WQE_SIGNALED = MLX5_WQE_CTRL_CQ_UPDATE,  /**< make a CQE */
	HWQ_WQE_SOLICITED = MLX5_WQE_CTRL_SOLICITED, /**< the receiver's CQE raises an event */
	HWQ_WQE_FENCE = MLX5_WQE_CTRL_FENCE,         /**< after earlier RDMA reads and atomics */
	/* Not the control segment's: builders of hwq_wr.h alone know them, others ignore them. */
	HWQ_WQE_INLINE = 1 << 8,  /**< layouts of keys want it */
	HWQ_WQE_IP_CSUM = 1 << 9, /**< raw packets: the device computes IP, TCP and UDP checksums */
};

/** One piece of local memory, as struct ibv_sge. */
struct hwq_sge {
	uint64_t addr;
	uint32_t len; /**< bytes */
	uint32_t lkey;
};

/** One piece of inline data, as struct ibv_data_buf. */
struct hwq_buf {
	const void *addr;
	size_t len; /**< bytes */
};

/* ------------------------------------------------------------------ segments */

/* Two words by one store. */
static HWQ_INLINE void
hwq_put_pair(void *at, __be32 first, __be32 second)
{
#if __BYTE_ORDER == __LITTLE_ENDIAN
	uint64_t both = first | (uint64_t)second << 32;
#else
	uint64_t both = (uint64_t)first << 32 | second;
#endif

	memcpy(at, &both, sizeof(both));
}

/* The word whose last byte is fm_ce_se: flags above that byte are not the device's. */
static HWQ_INLINE __be32
hwq_fm_ce_se_word(uint32_t flags)
{
#if __BYTE_ORDER == __LITTLE_ENDIAN
	return flags << 24;
#else
	return flags & 0xff;
#endif
}

/** Control segment of a WQE of @p ds units that starts at ring index @p pi. */
static HWQ_INLINE void
hwq_put_ctrl(struct hwq_sq *sq, void *at, uint16_t pi, uint8_t opmod, uint8_t opcode,
	unsigned int ds, unsigned int flags, __be32 imm)
{
	struct mlx5_wqe_ctrl_seg *ctrl = (struct mlx5_wqe_ctrl_seg *)at;

	ctrl->opmod_idx_opcode = htobe32((uint32_t)opmod << 24 | (uint32_t)pi << 8 | opcode);
	ctrl->qpn_ds = htobe32(sq->qpn_shifted | ds);
	ctrl->signature = 0;
	ctrl->dci_stream_channel_id = 0;
	ctrl->fm_ce_se = (uint8_t)(flags | sq->sig_bits);
	ctrl->imm = imm;
}

/** Remote address segment. */
static HWQ_INLINE void
hwq_put_raddr(void *at, uint64_t raddr, uint32_t rkey)
{
	struct mlx5_wqe_raddr_seg *seg = (struct mlx5_wqe_raddr_seg *)at;

	seg->raddr = htobe64(raddr);
	hwq_put_pair(&seg->rkey, htobe32(rkey), 0);
}

/** Data segment. */
static HWQ_INLINE void
hwq_put_data(void *at, uint32_t lkey, uint64_t addr, uint32_t len)
{
	struct mlx5_wqe_data_seg *seg = (struct mlx5_wqe_data_seg *)at;

	seg->byte_count = htobe32(len);
	seg->lkey = htobe32(lkey);
	seg->addr = htobe64(addr);
}

/** Data segments of a list, without those of length 0. @return DS units written. */
static HWQ_INLINE unsigned int
hwq_put_data_list(void *at, const struct hwq_sge *sge, unsigned int n_sge)
{
	struct mlx5_wqe_data_seg *seg = (struct mlx5_wqe_data_seg *)at;
	unsigned int i, n = 0;

	for (i = 0; i < n_sge; i++) {
		if (sge[i].len == 0)
			continue;
		hwq_put_data(&seg[n++], sge[i].lkey, sge[i].addr, sge[i].len);
	}
	return n;
}

/** DS units of an inline segment of @p len bytes; none for none. */
static HWQ_INLINE unsigned int
hwq_inline_ds(size_t len)
{
	return len == 0 ? 0
			: (unsigned int)((len + HWQ_INLINE_HDR_LEN + HWQ_DS_LEN - 1) / HWQ_DS_LEN);
}

/* Header and zeroed padding of an inline segment of len > 0 bytes, which the caller fills in. */
static HWQ_INLINE uint8_t *
hwq_put_inline_hdr(void *at, size_t len)
{
	struct hwq_wire_inline_seg *seg = (struct hwq_wire_inline_seg *)at;

	/* The padding lies in the last DS: clear that whole, data comes after. */
	memset((uint8_t *)at + (hwq_inline_ds(len) - 1) * HWQ_DS_LEN, 0, HWQ_DS_LEN);
	seg->byte_count = htobe32((uint32_t)len | MLX5_INLINE_SEG);
	return seg->data;
}

/** Inline segment; nothing for length 0. @return DS units written. */
static HWQ_INLINE unsigned int
hwq_put_inline(void *at, const void *data, size_t len)
{
	if (len == 0)
		return 0;
	memcpy(hwq_put_inline_hdr(at, len), data, len);
	return hwq_inline_ds(len);
}

/** One inline segment of a list of buffers whose lengths add up to @p len. @return DS units. */
static HWQ_INLINE unsigned int
hwq_put_inline_list(void *at, const struct hwq_buf *buf, unsigned int n_buf, size_t len)
{
	uint8_t *to;
	unsigned int i;

	if (len == 0)
		return 0;
	to = hwq_put_inline_hdr(at, len);
	for (i = 0; i < n_buf; i++) {
		if (buf[i].len != 0)
			memcpy(to, buf[i].addr, buf[i].len);
		to += buf[i].len;
	}
	return hwq_inline_ds(len);
}

/** MMO segment: the queue's own opaque buffer, where the device keeps what it must. */
static HWQ_INLINE void
hwq_put_mmo(void *at, const struct hwq_sq *sq)
{
	memcpy(at, &sq->mmo, sizeof(sq->mmo));
}

/* The byte count of a memcpy's data segments. False: no length that one may have. */
static HWQ_INLINE bool
hwq_memcpy_count(const struct hwq_sq *sq, uint64_t len, uint32_t *byte_count)
{
	*byte_count = (uint32_t)len;
	/* Length 0 wraps to the largest there is. */
	if (__builtin_expect(len - 1 < sq->easy_memcpy_len, 1))
		return true;
	if (len == 0 || len > sq->max_memcpy_len)
		return false;
	/* 2 GiB, the most there can be, is encoded 0: the top bit would say "inline". */
	*byte_count = (uint32_t)len & ~MLX5_INLINE_SEG;
	return true;
}

static HWQ_INLINE void *
hwq_at_ds(void *wqe, unsigned int ds)
{
	return (uint8_t *)wqe + (size_t)ds * HWQ_DS_LEN;
}

/* ------------------------------------------------------------------ whole WQEs */

/** A NOP: does nothing, in order. One WQEBB. */
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
 * Copies len bytes by the device's DMA engine (mlx5dv_wr_memcpy()). One WQEBB.
 * -EINVAL: len is 0 or more than sq->max_memcpy_len, or the QP was not created with mmo.
 */
static HWQ_INLINE int
hwq_wqe_memcpy(struct hwq_sq *sq, uint32_t dst_lkey, uint64_t dst, uint32_t src_lkey, uint64_t src,
	uint64_t len, unsigned int flags)
{
	/* 2 GiB, the most there can be, is encoded 0: the top bit would say "inline". */
	uint32_t byte_count = (uint32_t)len & ~MLX5_INLINE_SEG;
	void *wqe;

	if (__builtin_expect(len == 0 || len > sq->max_memcpy_len, 0))
		return -EINVAL;
	wqe = hwq_sq_reserve(sq, 1);
	if (wqe == NULL)
		return 0;
	hwq_put_ctrl(sq, wqe, sq->pi, HWQ_OPMOD_MMO_DMA, MLX5_OPCODE_MMO, 4, flags, 0);
	hwq_put_mmo(hwq_at_ds(wqe, 1), sq);
	hwq_put_data(hwq_at_ds(wqe, 2), src_lkey, src, byte_count);
	hwq_put_data(hwq_at_ds(wqe, 3), dst_lkey, dst, byte_count);
	hwq_sq_commit(sq, 1);
	return 1;
}

/* Segments ahead of the data: control, and for RDMA the remote address. */
static HWQ_INLINE unsigned int
hwq_wqe_head_ds(uint8_t opcode)
{
	return opcode == MLX5_OPCODE_SEND ? 1 : 2;
}

static HWQ_INLINE void
hwq_put_head(struct hwq_sq *sq, void *wqe, uint8_t opcode, unsigned int ds, uint32_t rkey,
	uint64_t raddr, unsigned int flags)
{
	hwq_put_ctrl(sq, wqe, sq->pi, 0, opcode, ds, flags, 0);
	if (opcode != MLX5_OPCODE_SEND)
		hwq_put_raddr(hwq_at_ds(wqe, 1), raddr, rkey);
}

/** SEND, RDMA write or read of one piece of memory; length 0 is a message without data. */
static HWQ_INLINE int
hwq_wqe_one(struct hwq_sq *sq, uint8_t opcode, uint32_t rkey, uint64_t raddr, uint32_t lkey,
	uint64_t addr, uint32_t len, unsigned int flags)
{
	unsigned int head = hwq_wqe_head_ds(opcode);
	void *wqe = hwq_sq_reserve(sq, 1);

	if (wqe == NULL)
		return 0;
	hwq_put_head(sq, wqe, opcode, head + (len != 0), rkey, raddr, flags);
	if (__builtin_expect(len != 0, 1))
		hwq_put_data(hwq_at_ds(wqe, head), lkey, addr, len);
	hwq_sq_commit(sq, 1);
	return 1;
}

/** The same of a list. -ENOMEM: n_sge, empty ones included, is more than the QP was made for. */
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
	hwq_put_head(sq, wqe, opcode, ds, rkey, raddr, flags);
	hwq_put_data_list(hwq_at_ds(wqe, head), sge, n_sge);
	hwq_sq_commit(sq, hwq_ds_to_bb(ds));
	return (int)hwq_ds_to_bb(ds);
}

/** SEND or RDMA write of bytes copied into the WQE. -ENOMEM: more than sq->max_inline. */
static HWQ_INLINE int
hwq_wqe_inline(struct hwq_sq *sq, uint8_t opcode, uint32_t rkey, uint64_t raddr, const void *data,
	size_t len, unsigned int flags)
{
	unsigned int head = hwq_wqe_head_ds(opcode);
	unsigned int ds = head + hwq_inline_ds(len);
	void *wqe;

	if (__builtin_expect(len > sq->max_inline, 0))
		return -ENOMEM;
	wqe = hwq_sq_reserve(sq, hwq_ds_to_bb(ds));
	if (wqe == NULL)
		return 0;
	hwq_put_head(sq, wqe, opcode, ds, rkey, raddr, flags);
	hwq_put_inline(hwq_at_ds(wqe, head), data, len);
	hwq_sq_commit(sq, hwq_ds_to_bb(ds));
	return (int)hwq_ds_to_bb(ds);
}

/** The same of a list of buffers, which become one inline segment. */
static HWQ_INLINE int
hwq_wqe_inline_list(struct hwq_sq *sq, uint8_t opcode, uint32_t rkey, uint64_t raddr,
	const struct hwq_buf *buf, unsigned int n_buf, unsigned int flags)
{
	unsigned int head = hwq_wqe_head_ds(opcode);
	unsigned int i, ds;
	size_t len = 0;
	void *wqe;

	for (i = 0; i < n_buf; i++) {
		/* Sums of huge lengths must not wrap back into range. */
		if (__builtin_expect(buf[i].len > sq->max_inline - len, 0))
			return -ENOMEM;
		len += buf[i].len;
	}
	ds = head + hwq_inline_ds(len);
	wqe = hwq_sq_reserve(sq, hwq_ds_to_bb(ds));
	if (wqe == NULL)
		return 0;
	hwq_put_head(sq, wqe, opcode, ds, rkey, raddr, flags);
	hwq_put_inline_list(hwq_at_ds(wqe, head), buf, n_buf, len);
	hwq_sq_commit(sq, hwq_ds_to_bb(ds));
	return (int)hwq_ds_to_bb(ds);
}

/** RDMA write (ibv_wr_rdma_write() and ibv_wr_set_sge()). */
static HWQ_INLINE int
hwq_wqe_rdma_write(struct hwq_sq *sq, uint32_t rkey, uint64_t raddr, uint32_t lkey, uint64_t addr,
	uint32_t len, unsigned int flags)
{
	return hwq_wqe_one(sq, MLX5_OPCODE_RDMA_WRITE, rkey, raddr, lkey, addr, len, flags);
}

static HWQ_INLINE int
hwq_wqe_rdma_write_list(struct hwq_sq *sq, uint32_t rkey, uint64_t raddr, const struct hwq_sge *sge,
	unsigned int n_sge, unsigned int flags)
{
	return hwq_wqe_list(sq, MLX5_OPCODE_RDMA_WRITE, rkey, raddr, sge, n_sge, flags);
}

static HWQ_INLINE int
hwq_wqe_rdma_write_inline(struct hwq_sq *sq, uint32_t rkey, uint64_t raddr, const void *data,
	size_t len, unsigned int flags)
{
	return hwq_wqe_inline(sq, MLX5_OPCODE_RDMA_WRITE, rkey, raddr, data, len, flags);
}

static HWQ_INLINE int
hwq_wqe_rdma_write_inline_list(struct hwq_sq *sq, uint32_t rkey, uint64_t raddr,
	const struct hwq_buf *buf, unsigned int n_buf, unsigned int flags)
{
	return hwq_wqe_inline_list(sq, MLX5_OPCODE_RDMA_WRITE, rkey, raddr, buf, n_buf, flags);
}

/** RDMA read (ibv_wr_rdma_read() and ibv_wr_set_sge()): from raddr into local memory. */
static HWQ_INLINE int
hwq_wqe_rdma_read(struct hwq_sq *sq, uint32_t rkey, uint64_t raddr, uint32_t lkey, uint64_t addr,
	uint32_t len, unsigned int flags)
{
	return hwq_wqe_one(sq, MLX5_OPCODE_RDMA_READ, rkey, raddr, lkey, addr, len, flags);
}

static HWQ_INLINE int
hwq_wqe_rdma_read_list(struct hwq_sq *sq, uint32_t rkey, uint64_t raddr, const struct hwq_sge *sge,
	unsigned int n_sge, unsigned int flags)
{
	return hwq_wqe_list(sq, MLX5_OPCODE_RDMA_READ, rkey, raddr, sge, n_sge, flags);
}

/** SEND (ibv_wr_send() and ibv_wr_set_sge()). */
static HWQ_INLINE int
hwq_wqe_send(struct hwq_sq *sq, uint32_t lkey, uint64_t addr, uint32_t len, unsigned int flags)
{
	return hwq_wqe_one(sq, MLX5_OPCODE_SEND, 0, 0, lkey, addr, len, flags);
}

static HWQ_INLINE int
hwq_wqe_send_list(struct hwq_sq *sq, const struct hwq_sge *sge, unsigned int n_sge,
	unsigned int flags)
{
	return hwq_wqe_list(sq, MLX5_OPCODE_SEND, 0, 0, sge, n_sge, flags);
}

static HWQ_INLINE int
hwq_wqe_send_inline(struct hwq_sq *sq, const void *data, size_t len, unsigned int flags)
{
	return hwq_wqe_inline(sq, MLX5_OPCODE_SEND, 0, 0, data, len, flags);
}

static HWQ_INLINE int
hwq_wqe_send_inline_list(struct hwq_sq *sq, const struct hwq_buf *buf, unsigned int n_buf,
	unsigned int flags)
{
	return hwq_wqe_inline_list(sq, MLX5_OPCODE_SEND, 0, 0, buf, n_buf, flags);
}

#endif
