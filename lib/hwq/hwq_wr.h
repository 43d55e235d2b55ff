/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Work requests in batches, by the names and the meaning of ibv_wr_post(3) and mlx5dv_wr_post(3).
 *
 *     struct hwq_wr wr;
 *
 *     hwq_wr_start(&wr, sq);
 *     wr.wr_id = 1;                                 of the next builder; comes back with its CQE
 *     wr.wr_flags = HWQ_WQE_SIGNALED;
 *     hwq_wr_rdma_write(&wr, rkey, raddr);          a builder, then
 *     hwq_wr_set_sge(&wr, lkey, addr, len);         the data setter, where it takes data
 *     ...
 *     ret = hwq_wr_complete(&wr);                   0: all of it is posted, one doorbell
 *                                                   -errno: nothing of it is
 *
 *     n = hwq_wr_poll(sq, wr_id, N)                 good completions; see there for the others
 *
 * Builders and setters return nothing. The first error sticks, and comes out of hwq_wr_complete():
 *   -ENOMEM  the ring is full: poll, complete, post the batch again. Or a setter got more data
 *            segments or inline bytes than the QP was created for.
 *   -EINVAL  the length of a memcpy, or the QP is not in RTS yet; as with libmlx5. Also what
 *            libmlx5 does not notice: a builder without its data setter, a setter without builder,
 *            a raw WQE whose DS is 0.
 *
 * Until then everything is the handle's: the queue's indices, its doorbell record and the device
 * see nothing of the batch. hwq_wr_abort() forgets it, and so does an error. Between start and
 * complete or abort no other builder of the queue may run, hwq_wqe.h's included.
 *
 * Meant to be inlined whole: a handle on the caller's stack then lives in registers. Keep its
 * address to yourself.
 *
 * An operation that the QP was not created for is refused at creation: see hwq_qp_conf.send_ops.
 *
 * Thread: the owner of the queue's domain, alone.
 */
#ifndef HWQ_WR_H
#define HWQ_WR_H

#include "hwq_db.h"
#include "hwq_poll.h"
#include "hwq_wqe.h"

struct hwq_mkey;

/* What the WQE that was begun last waits for. */
enum hwq_wr_open {
	HWQ_WR_CLOSED,
	HWQ_WR_DATA, /* its data setter */
	HWQ_WR_KEY,  /* setters of hwq_wr_mkey.h */
};

/** A batch: one critical region. */
struct hwq_wr {
	uint64_t wr_id;        /**< of the next builder */
	unsigned int wr_flags; /**< of the next builder: enum hwq_wqe_flags */

	/* Private. What the loop of a batch needs is here, so that no store to a WQE makes the
	 * compiler read it again. */
	struct hwq_sq *sq;
	uint8_t *buf;
	uint64_t *wr_ids;
	uint32_t mask;
	uint32_t qpn_shifted;
	uint32_t sig_bits;
	uint16_t pi;           /* where the next WQE starts: sq->pi and what the batch added */
	uint16_t full;         /* pi of a full ring; pi itself behind an error */
	uint16_t end;          /* the pi at which hwq_wr_rare() must look: full, or pi itself */
	uint8_t fm_cache;      /* fence that the next WQE carries unless it has one of its own */
	uint8_t opmod, opcode; /* of the WQE that was begun last */
	uint8_t open;          /* enum hwq_wr_open */
	uint8_t setters_left;  /* HWQ_WR_KEY: so many */
	unsigned int ds;       /* its length, or of its head while it is open */
	uint8_t *wqe;
	struct hwq_mkey *mkey; /* HWQ_WR_KEY: the key */
	int err;               /* the first error, or 0 */
};

/** Begins a batch (ibv_wr_start(3)). wr_id and wr_flags start as 0. */
static HWQ_INLINE void
hwq_wr_start(struct hwq_wr *wr, struct hwq_sq *sq)
{
	wr->wr_id = 0;
	wr->wr_flags = 0;
	wr->sq = sq;
	wr->buf = sq->buf;
	wr->wr_ids = sq->wr_ids;
	wr->mask = sq->mask;
	wr->qpn_shifted = sq->qpn_shifted;
	wr->sig_bits = sq->sig_bits;
	wr->pi = sq->pi;
	wr->full = hwq_sq_full_pi(sq);
	wr->end = wr->full;
	wr->fm_cache = 0;
	wr->opmod = 0;
	wr->opcode = 0;
	wr->open = HWQ_WR_CLOSED;
	wr->setters_left = 0;
	wr->ds = 0;
	wr->wqe = NULL;
	wr->mkey = NULL;
	wr->err = 0;
	if (__builtin_expect(sq->fm_cache != 0 || sq->not_rts, 0)) {
		wr->fm_cache = sq->fm_cache;
		wr->err = sq->not_rts ? -EINVAL : 0;
		wr->end = wr->pi;
		if (wr->err != 0)
			wr->full = wr->pi;
	}
}

/* The first error stays; every later builder goes to hwq_wr_rare(), or finds no room. */
static HWQ_INLINE void
hwq_wr_fail(struct hwq_wr *wr, int err)
{
	if (wr->err == 0)
		wr->err = err;
	wr->end = wr->pi;
	wr->full = wr->pi;
	wr->open = HWQ_WR_CLOSED;
}

/* ------------------------------------------------------------------ room and heads */

/* The WQE behind must wait for this one. */
static HWQ_INLINE void
hwq_wr_leave_fence(struct hwq_wr *wr)
{
	wr->fm_cache = MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE;
	wr->end = wr->pi;
}

/*
 * What a builder meets at wr->end: an error before it, a full ring, or the fence that a WQE before
 * it left, which it takes unless it has one of its own. False: there is no WQE.
 */
static HWQ_INLINE bool
hwq_wr_rare(struct hwq_wr *wr, uint32_t *fm_ce_se)
{
	if (wr->err == 0 && wr->pi == wr->full)
		wr->err = -ENOMEM;
	if (wr->err != 0)
		return false;
	if ((*fm_ce_se & HWQ_WQE_FENCE) == 0)
		*fm_ce_se |= wr->fm_cache;
	wr->fm_cache = 0;
	wr->end = wr->full;
	return true;
}

/*
 * Contiguous room for n_bb WQEBBs, of which there is at least one: fills the ring's end if need be,
 * in memory that is free until the batch is posted. False: full.
 */
static HWQ_INLINE bool
hwq_wr_contiguous(struct hwq_wr *wr, unsigned int n_bb)
{
	uint32_t tail = wr->mask + 1 - (wr->pi & wr->mask);
	uint32_t need = tail >= n_bb ? n_bb : tail + n_bb;

	if (__builtin_expect((uint16_t)(wr->full - wr->pi) < need, 0)) {
		hwq_wr_fail(wr, -ENOMEM);
		return false;
	}
	if (__builtin_expect(tail < n_bb, 0)) {
		hwq_sq_put_fill(wr->sq, wr->pi, tail);
		wr->pi = (uint16_t)(wr->pi + tail);
	}
	return true;
}

/* Where the next WQE starts, and that wr_id goes with it. */
static HWQ_INLINE void
hwq_wr_place(struct hwq_wr *wr)
{
	size_t at = wr->pi & wr->mask;

	wr->wqe = wr->buf + at * HWQ_BB_LEN;
	wr->wr_ids[at] = wr->wr_id;
}

/* Opens a WQE that starts with n_bb WQEBBs: all of its control segment that its length leaves. */
static HWQ_INLINE bool
hwq_wr_begin(struct hwq_wr *wr, uint8_t opmod, uint8_t opcode, __be32 imm, unsigned int n_bb)
{
	uint32_t fm_ce_se = wr->wr_flags | wr->sig_bits;

	if (__builtin_expect(wr->open, 0))
		hwq_wr_fail(wr, -EINVAL);
	if (__builtin_expect(wr->pi == wr->end, 0) && !hwq_wr_rare(wr, &fm_ce_se))
		return false;
	if (n_bb > 1 && !hwq_wr_contiguous(wr, n_bb))
		return false;
	hwq_wr_place(wr);
	/* The word of signature, DC stream and fm_ce_se; and imm. */
	hwq_put_pair(wr->wqe + offsetof(struct mlx5_wqe_ctrl_seg, signature),
		hwq_fm_ce_se_word(fm_ce_se), imm);
	wr->opmod = opmod;
	wr->opcode = opcode;
	wr->open = HWQ_WR_DATA;
	return true;
}

/* Closes it: from here on it is part of the batch. */
static HWQ_INLINE void
hwq_wr_end(struct hwq_wr *wr, unsigned int ds)
{
	uint64_t first = (uint64_t)wr->opmod << 56 | (uint64_t)wr->opcode << 32;
	__be64 word = htobe64((uint64_t)wr->pi << 40 | (first | wr->qpn_shifted | ds));

	memcpy(wr->wqe, &word, sizeof(word));
	wr->pi = (uint16_t)(wr->pi + hwq_ds_to_bb(ds));
	wr->ds = ds;
	wr->open = HWQ_WR_CLOSED;
}

/* ------------------------------------------------------------------ builders */

static HWQ_INLINE void
hwq_wr_send_op(struct hwq_wr *wr, uint8_t opcode, __be32 imm)
{
	if (hwq_wr_begin(wr, 0, opcode, imm, 1))
		wr->ds = 1;
}

/** SEND; a data setter follows, as with all builders up to the atomics (ibv_wr_send(3)). */
static HWQ_INLINE void
hwq_wr_send(struct hwq_wr *wr)
{
	hwq_wr_send_op(wr, MLX5_OPCODE_SEND, 0);
}

/** SEND with immediate data. */
static HWQ_INLINE void
hwq_wr_send_imm(struct hwq_wr *wr, __be32 imm_data)
{
	hwq_wr_send_op(wr, MLX5_OPCODE_SEND_IMM, imm_data);
}

/** SEND that invalidates a key of the receiver. */
static HWQ_INLINE void
hwq_wr_send_inv(struct hwq_wr *wr, uint32_t invalidate_rkey)
{
	hwq_wr_send_op(wr, MLX5_OPCODE_SEND_INVAL, htobe32(invalidate_rkey));
}

static HWQ_INLINE void
hwq_wr_rdma_op(struct hwq_wr *wr, uint8_t opcode, uint32_t rkey, uint64_t remote_addr, __be32 imm)
{
	if (!hwq_wr_begin(wr, 0, opcode, imm, 1))
		return;
	hwq_put_raddr(hwq_at_ds(wr->wqe, 1), remote_addr, rkey);
	wr->ds = 2;
}

/** RDMA write (ibv_wr_rdma_write(3)). */
static HWQ_INLINE void
hwq_wr_rdma_write(struct hwq_wr *wr, uint32_t rkey, uint64_t remote_addr)
{
	hwq_wr_rdma_op(wr, MLX5_OPCODE_RDMA_WRITE, rkey, remote_addr, 0);
}

/** RDMA write with immediate data, which takes a receive of the peer. */
static HWQ_INLINE void
hwq_wr_rdma_write_imm(struct hwq_wr *wr, uint32_t rkey, uint64_t remote_addr, __be32 imm_data)
{
	hwq_wr_rdma_op(wr, MLX5_OPCODE_RDMA_WRITE_IMM, rkey, remote_addr, imm_data);
}

/** RDMA read, into what the data setter names. */
static HWQ_INLINE void
hwq_wr_rdma_read(struct hwq_wr *wr, uint32_t rkey, uint64_t remote_addr)
{
	hwq_wr_rdma_op(wr, MLX5_OPCODE_RDMA_READ, rkey, remote_addr, 0);
}

static HWQ_INLINE void
hwq_wr_atomic_op(struct hwq_wr *wr, uint8_t opcode, uint32_t rkey, uint64_t remote_addr,
	uint64_t swap_add, uint64_t compare)
{
	struct mlx5_wqe_atomic_seg *seg;

	if (!hwq_wr_begin(wr, 0, opcode, 0, 1))
		return;
	hwq_put_raddr(hwq_at_ds(wr->wqe, 1), remote_addr, rkey);
	seg = (struct mlx5_wqe_atomic_seg *)hwq_at_ds(wr->wqe, 2);
	seg->swap_add = htobe64(swap_add);
	seg->compare = htobe64(compare);
	wr->ds = 3;
}

/** Eight bytes become swap if they are compare; the setter names where the old value goes. */
static HWQ_INLINE void
hwq_wr_atomic_cmp_swp(struct hwq_wr *wr, uint32_t rkey, uint64_t remote_addr, uint64_t compare,
	uint64_t swap)
{
	hwq_wr_atomic_op(wr, MLX5_OPCODE_ATOMIC_CS, rkey, remote_addr, swap, compare);
}

/** Adds to eight bytes; the setter names where the old value goes. */
static HWQ_INLINE void
hwq_wr_atomic_fetch_add(struct hwq_wr *wr, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	hwq_wr_atomic_op(wr, MLX5_OPCODE_ATOMIC_FA, rkey, remote_addr, add, 0);
}

/** Copies by the DMA engine (mlx5dv_wr_memcpy(3)); takes no setter. */
static HWQ_INLINE void
hwq_wr_memcpy(struct hwq_wr *wr, uint32_t dest_lkey, uint64_t dest_addr, uint32_t src_lkey,
	uint64_t src_addr, uint64_t length)
{
	uint32_t byte_count;

	if (__builtin_expect(!hwq_memcpy_count(wr->sq, length, &byte_count), 0)) {
		hwq_wr_fail(wr, -EINVAL);
		return;
	}
	if (!hwq_wr_begin(wr, HWQ_OPMOD_MMO_DMA, MLX5_OPCODE_MMO, 0, 1))
		return;
	hwq_put_mmo(hwq_at_ds(wr->wqe, 1), wr->sq);
	hwq_put_data(hwq_at_ds(wr->wqe, 2), src_lkey, src_addr, byte_count);
	hwq_put_data(hwq_at_ds(wr->wqe, 3), dest_lkey, dest_addr, byte_count);
	hwq_wr_end(wr, 4);
}

/** Invalidates a memory window of type 2 (ibv_wr_local_inv(3)); takes no setter. The WQE behind it
 *  carries a fence that makes it wait for this one. */
static HWQ_INLINE void
hwq_wr_local_inv(struct hwq_wr *wr, uint32_t invalidate_rkey)
{
	struct mlx5_wqe_umr_ctrl_seg *umr;
	struct mlx5_wqe_mkey_context_seg *mkey;

	if (!hwq_wr_begin(wr, 0, MLX5_OPCODE_UMR, htobe32(invalidate_rkey), 2))
		return;
	umr = (struct mlx5_wqe_umr_ctrl_seg *)hwq_at_ds(wr->wqe, 1);
	mkey = (struct mlx5_wqe_mkey_context_seg *)(umr + 1);
	memset(umr, 0, sizeof(*umr) + sizeof(*mkey));
	umr->flags = MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET | MLX5_WQE_UMR_CTRL_FLAG_INLINE |
		     MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN;
	umr->mkey_mask =
		htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE | MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY |
			MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN);
	mkey->free = MLX5_WQE_MKEY_CONTEXT_FREE;
	mkey->qpn_mkey = htobe32(0xffffff00);
	hwq_wr_end(wr, HWQ_UMR_HEAD_DS);
	hwq_wr_leave_fence(wr);
}

/** Does nothing, in order; takes no setter. libmlx5 has none: as its mlx5dv_wr_raw_wqe(3) of a NOP,
 *  this one drops the fence that a WQE before it left. */
static HWQ_INLINE void
hwq_wr_nop(struct hwq_wr *wr)
{
	wr->fm_cache = 0;
	if (hwq_wr_begin(wr, 0, MLX5_OPCODE_NOP, 0, 1))
		hwq_wr_end(wr, 1);
}

/**
 * A WQE of the caller's, as it is but for its wqe_index (mlx5dv_wr_raw_wqe(3)): wr_flags, sq_sig_all
 * and the fence that a WQE before it left do not touch it. Not longer than what the QP was created
 * for, or the ring may never have room for it.
 */
static HWQ_INLINE void
hwq_wr_raw_wqe(struct hwq_wr *wr, const void *wqe)
{
	const struct mlx5_wqe_ctrl_seg *from = (const struct mlx5_wqe_ctrl_seg *)wqe;
	unsigned int ds = be32toh(from->qpn_ds) & HWQ_DS_MAX;
	uint32_t word = be32toh(from->opmod_idx_opcode) & 0xff0000ff;
	uint32_t ignored = 0;
	__be32 first;

	if (__builtin_expect(wr->open || ds == 0, 0))
		hwq_wr_fail(wr, -EINVAL);
	if (__builtin_expect(wr->pi == wr->end, 0) && !hwq_wr_rare(wr, &ignored))
		return;
	if (!hwq_wr_contiguous(wr, hwq_ds_to_bb(ds)))
		return;
	hwq_wr_place(wr);
	memcpy(wr->wqe, wqe, (size_t)ds * HWQ_DS_LEN);
	first = htobe32(word | (uint32_t)wr->pi << 8);
	memcpy(wr->wqe, &first, sizeof(first));
	wr->pi = (uint16_t)(wr->pi + hwq_ds_to_bb(ds));
	wr->ds = ds;
}

/* ------------------------------------------------------------------ data setters */

/*
 * Room for the open WQE to become one of ds units. Its head is in one WQEBB: where it cannot grow
 * in place, it moves to the ring's start. False: no room, or more than a WQE can have.
 */
static HWQ_INLINE bool
hwq_wr_grow(struct hwq_wr *wr, unsigned int ds)
{
	uint8_t head[HWQ_BB_LEN];
	uint16_t from = wr->pi;
	uint64_t wr_id;

	if (__builtin_expect(wr->open != HWQ_WR_DATA, 0)) {
		hwq_wr_fail(wr, -EINVAL);
		return false;
	}
	if (ds <= HWQ_DS_PER_BB)
		return true;
	if (__builtin_expect(ds > HWQ_DS_MAX, 0)) {
		hwq_wr_fail(wr, -ENOMEM);
		return false;
	}
	/* A fill would be written over it. */
	memcpy(head, wr->wqe, sizeof(head));
	wr_id = wr->wr_ids[from & wr->mask];
	if (!hwq_wr_contiguous(wr, hwq_ds_to_bb(ds)))
		return false;
	if (__builtin_expect(wr->pi != from, 0)) {
		wr->wqe = wr->buf;
		wr->wr_ids[0] = wr_id;
		memcpy(wr->wqe, head, sizeof(head));
	}
	return true;
}

/** One piece of memory (ibv_wr_set_sge(3)); of length 0: no data. */
static HWQ_INLINE void
hwq_wr_set_sge(struct hwq_wr *wr, uint32_t lkey, uint64_t addr, uint32_t length)
{
	if (__builtin_expect(wr->open != HWQ_WR_DATA, 0)) {
		hwq_wr_fail(wr, -EINVAL);
		return;
	}
	if (__builtin_expect(length != 0, 1)) {
		hwq_put_data(hwq_at_ds(wr->wqe, wr->ds), lkey, addr, length);
		hwq_wr_end(wr, wr->ds + 1);
	} else {
		hwq_wr_end(wr, wr->ds);
	}
}

/** A list of pieces (ibv_wr_set_sge_list(3)). -ENOMEM: more of them, empty ones included, than the
 *  QP was created for. */
static HWQ_INLINE void
hwq_wr_set_sge_list(struct hwq_wr *wr, size_t num_sge, const struct hwq_sge *sg_list)
{
	unsigned int ds = wr->ds;
	size_t i;

	if (__builtin_expect(num_sge > wr->sq->max_sge, 0)) {
		hwq_wr_fail(wr, wr->open ? -ENOMEM : -EINVAL);
		return;
	}
	for (i = 0; i < num_sge; i++)
		ds += sg_list[i].len != 0;
	if (!hwq_wr_grow(wr, ds))
		return;
	hwq_put_data_list(hwq_at_ds(wr->wqe, wr->ds), sg_list, (unsigned int)num_sge);
	hwq_wr_end(wr, ds);
}

/** Bytes copied into the WQE (ibv_wr_set_inline_data(3)): the caller's buffer is free at once. For
 *  SEND and RDMA write. -ENOMEM: more than the QP was created for. */
static HWQ_INLINE void
hwq_wr_set_inline_data(struct hwq_wr *wr, const void *addr, size_t length)
{
	unsigned int ds;

	if (__builtin_expect(length > wr->sq->max_inline, 0)) {
		hwq_wr_fail(wr, wr->open ? -ENOMEM : -EINVAL);
		return;
	}
	ds = wr->ds + hwq_inline_ds(length);
	if (!hwq_wr_grow(wr, ds))
		return;
	hwq_put_inline(hwq_at_ds(wr->wqe, wr->ds), addr, length);
	hwq_wr_end(wr, ds);
}

/** The same of a list of buffers (ibv_wr_set_inline_data_list(3)). */
static HWQ_INLINE void
hwq_wr_set_inline_data_list(struct hwq_wr *wr, size_t num_buf, const struct hwq_buf *buf_list)
{
	size_t i, len = 0;
	unsigned int ds;

	for (i = 0; i < num_buf; i++) {
		/* Sums of huge lengths must not wrap back into range. */
		if (__builtin_expect(buf_list[i].len > wr->sq->max_inline - len, 0)) {
			hwq_wr_fail(wr, wr->open ? -ENOMEM : -EINVAL);
			return;
		}
		len += buf_list[i].len;
	}
	ds = wr->ds + hwq_inline_ds(len);
	if (!hwq_wr_grow(wr, ds))
		return;
	hwq_put_inline_list(hwq_at_ds(wr->wqe, wr->ds), buf_list, (unsigned int)num_buf, len);
	hwq_wr_end(wr, ds);
}

/* ------------------------------------------------------------------ the region's end */

/**
 * Posts the batch with one doorbell (ibv_wr_complete(3)); an empty one does nothing.
 * @return 0; or the batch's first error, as a negative errno: nothing of it was posted, and the
 *   queue is as it was at hwq_wr_start().
 */
static HWQ_INLINE int
hwq_wr_complete(struct hwq_wr *wr)
{
	struct hwq_sq *sq = wr->sq;

	if (__builtin_expect(wr->open, 0))
		hwq_wr_fail(wr, -EINVAL);
	if (__builtin_expect(wr->err != 0, 0))
		return wr->err;
	if (__builtin_expect(wr->wqe == NULL, 0))
		return 0;
	sq->pi = wr->pi;
	sq->last = (uint16_t)(wr->pi - hwq_ds_to_bb(wr->ds));
	sq->fm_cache = wr->fm_cache;
	hwq_sq_announce(sq, wr->pi, wr->wqe, wr->ds);
	return 0;
}

/** Discards the batch (ibv_wr_abort(3)): the queue is as it was at hwq_wr_start(). */
static HWQ_INLINE void
hwq_wr_abort(struct hwq_wr *wr)
{
	hwq_wr_start(wr, wr->sq);
}

#endif
