/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A batch of work requests: start, room for its WQEs, complete, abort. Call order, errors and the
 * thread rule are those of hwq_wr.h.
 */
#ifndef HWQ_WR_BATCH_H
#define HWQ_WR_BATCH_H

#include <errno.h>

#include "hwq_db.h"
#include "hwq_seg.h"

struct hwq_mkey;

/** Setters that the open WQE still needs (bit mask). 0: no WQE is open. */
enum hwq_wr_open {
	HWQ_WR_CLOSED = 0, /**< no WQE is open */
	HWQ_WR_DATA = 1,   /**< a data setter */
	HWQ_WR_ADDR = 2,   /**< an address setter */
	HWQ_WR_KEY = 4,    /**< hwq_wr.setters_left setters of hwq_wr_mkey.h must be called next */
};

/**
 * A batch of work requests, on the caller's stack. The caller sets wr_id and wr_flags only.
 */
struct hwq_wr {
	uint64_t wr_id;        /**< wr_id of the next builder */
	unsigned int wr_flags; /**< flags of the next builder: enum hwq_wqe_flags */

	/*
	 * Private. Copies of fields of *sq: after each store to a WQE the compiler would read *sq
	 * again.
	 */
	struct hwq_sq *sq;  /**< the send queue */
	uint8_t *at;        /**< address at which the next WQE starts; NULL: the batch has failed */
	uint8_t *end;       /**< a builder that starts at this address calls hwq_wr_rare() first */
	uint64_t index_qpn; /**< hwq_index_qpn() of the next WQE */
	uint8_t transport;  /**< enum hwq_transport; inlining makes it a constant */
	uint8_t fm_cache;   /**< the fence that a WQE of the batch requires for the next WQE */
	/**
	 * the fence that the next WQE must have if it is a UMR; at first the fence that an earlier
	 * batch requires
	 */
	uint8_t umr_fence;
	bool is_umr; /**< the last WQE is a UMR */
	/** Modifier of the open WQE. */
	uint8_t opmod, opcode; /**< opcode of the open WQE */
	uint8_t open;          /**< enum hwq_wr_open */
	uint8_t setters_left;  /**< with HWQ_WR_KEY: number of setters that are still missing */
	unsigned int ds;       /**< DS units of the last WQE; if a WQE is open, its units so far */
	uint8_t *wqe;          /**< address of the open WQE, or of the last WQE */
	struct hwq_mkey *mkey; /**< with HWQ_WR_KEY: the key that the open WQE configures */
	int err;               /**< 0, or the first error */
};

/* @return the queue's pi after the WQEs of the batch. */
static HWQ_INLINE uint16_t
hwq_wr_pi(const struct hwq_wr *wr)
{
	return (uint16_t)(wr->index_qpn >> HWQ_INDEX_SHIFT);
}

/*
 * Moves the batch to index pi. Its free WQEBBs end at the ring's end, or where the ring is full.
 * sq->wr.at is out of date until the batch is posted.
 */
static HWQ_INLINE void
hwq_wr_seek(struct hwq_wr *wr, uint16_t pi)
{
	struct hwq_sq *sq = wr->sq;

	wr->at = (uint8_t *)hwq_sq_at(sq, pi);
	wr->end = wr->at + (size_t)hwq_sq_room_bb(sq, pi) * HWQ_BB_LEN;
	sq->wr.limit = wr->end;
	sq->wr.moved = true;
	wr->index_qpn = hwq_index_qpn(pi, sq->qpn_shifted);
}

/*
 * Stores the first error. After it, each builder calls hwq_wr_rare(), or finds no room. The next
 * batch computes its room again.
 */
static HWQ_INLINE void
hwq_wr_fail(struct hwq_wr *wr, int err)
{
	if (wr->err == 0)
		wr->err = err;
	wr->at = NULL;
	wr->end = NULL;
	wr->sq->wr.limit = NULL;
	wr->sq->wr.moved = true;
	wr->open = HWQ_WR_CLOSED;
}

static HWQ_INLINE void
hwq_wr_start_as(struct hwq_wr *wr, struct hwq_sq *sq, enum hwq_transport transport)
{
	wr->wr_id = 0;
	wr->wr_flags = 0;
	wr->sq = sq;
	/*
	 * Start at the end of the last batch. Since then, the number of free WQEBBs after it can
	 * only have grown.
	 */
	wr->at = sq->wr.at;
	wr->end = sq->wr.limit;
	wr->index_qpn = sq->wr.index_qpn;
	wr->transport = (uint8_t)transport;
	wr->fm_cache = 0;
	wr->umr_fence = sq->wr.fm_cache;
	wr->is_umr = false;
	wr->opmod = 0;
	wr->opcode = 0;
	wr->open = HWQ_WR_CLOSED;
	wr->setters_left = 0;
	wr->ds = 0;
	wr->wqe = NULL;
	wr->mkey = NULL;
	wr->err = 0;
	if (__builtin_expect(sq->wr.start != HWQ_SQ_START(transport, 0), 0)) {
		if (__builtin_expect((sq->wr.start & ~HWQ_SQ_START(0, 0xff)) !=
					     HWQ_SQ_START(transport, 0),
			    0)) {
			if (sq->wr.moved) {
				hwq_wr_seek(wr, sq->pi);
				sq->wr.at = sq->pi == sq->rung ? wr->at : NULL;
			}
			if (sq->wr.not_rts || sq->wr.transport != transport)
				hwq_wr_fail(wr, -EINVAL);
		}
		wr->end = wr->at;
	}
}

/**
 * Begins a batch of an RC or UC queue (ibv_wr_start(3)). End it by hwq_wr_complete() or
 * hwq_wr_abort(). Each start function sets wr_id and wr_flags to 0. If the queue has another type,
 * or is not in RTS, hwq_wr_complete() returns -EINVAL.
 * @param wr The batch.
 * @param sq The send queue.
 */
static HWQ_INLINE void
hwq_wr_start(struct hwq_wr *wr, struct hwq_sq *sq)
{
	hwq_wr_start_as(wr, sq, HWQ_TRANSPORT_NONE);
}

/**
 * Begins a batch of a UD queue (ibv_wr_start(3)). Every work request needs hwq_wr_set_ud_addr().
 * @param wr The batch.
 * @param sq The send queue.
 */
static HWQ_INLINE void
hwq_wr_start_ud(struct hwq_wr *wr, struct hwq_sq *sq)
{
	hwq_wr_start_as(wr, sq, HWQ_TRANSPORT_UD);
}

/**
 * Begins a batch of an XRC_SEND queue (ibv_wr_start(3)). Work requests that take data need
 * hwq_wr_set_xrc_srqn().
 * @param wr The batch.
 * @param sq The send queue.
 */
static HWQ_INLINE void
hwq_wr_start_xrc(struct hwq_wr *wr, struct hwq_sq *sq)
{
	hwq_wr_start_as(wr, sq, HWQ_TRANSPORT_XRC);
}

/**
 * Begins a batch of a DCI (ibv_wr_start(3)). Work requests that take data need hwq_wr_set_dc_addr()
 * or hwq_wr_set_dc_addr_stream().
 * @param wr The batch.
 * @param sq The send queue.
 */
static HWQ_INLINE void
hwq_wr_start_dc(struct hwq_wr *wr, struct hwq_sq *sq)
{
	hwq_wr_start_as(wr, sq, HWQ_TRANSPORT_DC);
}

/**
 * Begins a batch of a RAW_PACKET queue (ibv_wr_start(3)), whose builders are hwq_wr_send(),
 * hwq_wr_send_tso(), hwq_wr_nop() and hwq_wr_raw_wqe().
 * @param wr The batch.
 * @param sq The send queue.
 */
static HWQ_INLINE void
hwq_wr_start_raw(struct hwq_wr *wr, struct hwq_sq *sq)
{
	hwq_wr_start_as(wr, sq, HWQ_TRANSPORT_ETH);
}

/* ------------------------------------------------------------------ room and heads */

/*
 * Sets the fence of the next WQE. UMRs always read their fence from a separate field. So in a batch
 * without UMRs, the field for other WQEs is a constant for the compiler.
 */
static HWQ_INLINE void
hwq_wr_set_fence(struct hwq_wr *wr, uint8_t fence)
{
	wr->fm_cache = fence;
	wr->umr_fence = fence;
}

/* Makes the next WQE wait for this WQE. */
static HWQ_INLINE void
hwq_wr_leave_fence(struct hwq_wr *wr)
{
	hwq_wr_set_fence(wr, MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE);
	wr->end = wr->at;
}

/*
 * A builder calls this when it has reached wr->end. There are four reasons: an earlier error, a
 * full ring, the ring's end, or a fence that an earlier WQE requires (HWQ_WQE_FENCE replaces that
 * fence). @return false if the batch has failed.
 */
static HWQ_INLINE bool
hwq_wr_rare(struct hwq_wr *wr, uint32_t *fm_ce_se)
{
	uint16_t pi = hwq_wr_pi(wr);

	if (wr->at != NULL && pi == wr->sq->full)
		hwq_wr_fail(wr, -ENOMEM);
	if (wr->at == NULL)
		return false;
	if ((*fm_ce_se & HWQ_WQE_FENCE) == 0)
		*fm_ce_se |= pi == wr->sq->pi ? wr->sq->wr.fm_cache : wr->fm_cache;
	wr->end = wr->sq->wr.limit;
	if (wr->at == wr->end)
		hwq_wr_seek(wr, pi);
	return true;
}

/* Fills the ring's end with NOPs. The device sees them when the batch is posted. */
static HWQ_INLINE void
hwq_wr_fill(struct hwq_wr *wr, uint32_t tail_bb)
{
	uint16_t pi = hwq_wr_pi(wr);

	hwq_sq_put_fill(wr->sq, pi, tail_bb);
	hwq_wr_seek(wr, (uint16_t)(pi + tail_bb));
}

/* @return the address of the wr_id of the WQE that starts at wqe. */
static HWQ_INLINE uint64_t *
hwq_wr_id_of(const struct hwq_wr *wr, const uint8_t *wqe)
{
	return (uint64_t *)(wr->sq->wr.wr_id_bias + (uintptr_t)wqe / 8);
}

/*
 * Moves the open WQE, which has n_bb WQEBBs so far, to the ring's start, which is free. NOPs fill
 * the WQE's old WQEBBs up to the ring's end, tail_bb WQEBBs in all.
 */
static HWQ_INLINE void
hwq_wr_move(struct hwq_wr *wr, uint32_t tail_bb, unsigned int n_bb)
{
	uint8_t *from = wr->wqe, *to = wr->sq->buf;

	/* Copy the WQE first, because the NOPs overwrite it. */
	memcpy(to, from, (size_t)n_bb * HWQ_BB_LEN);
	*hwq_wr_id_of(wr, to) = *hwq_wr_id_of(wr, from);
	hwq_wr_fill(wr, tail_bb);
	wr->wqe = to;
}

/*
 * Makes n_bb WQEBBs of contiguous room; one WQEBB is free already. An open WQE, which has open_bb
 * WQEBBs so far, moves into that room; open_bb 0: no WQE is open. If the known room is too short,
 * reads how many WQEBBs are free now. @return false if the ring is full; then the batch has failed.
 */
static HWQ_INLINE bool
hwq_wr_make_room(struct hwq_wr *wr, unsigned int n_bb, unsigned int open_bb)
{
	uint32_t fill;
	uint16_t pi;

	if (__builtin_expect((uintptr_t)wr->at + (size_t)n_bb * HWQ_BB_LEN <=
				     (uintptr_t)wr->sq->wr.limit,
		    1))
		return true;
	pi = hwq_wr_pi(wr);
	if (wr->at != NULL)
		hwq_wr_seek(wr, pi);
	if (__builtin_expect(wr->at == NULL || !hwq_sq_has_room(wr->sq, pi, n_bb, &fill), 0)) {
		hwq_wr_fail(wr, -ENOMEM);
		return false;
	}
	if (__builtin_expect(fill != 0, 0)) {
		if (open_bb != 0)
			hwq_wr_move(wr, fill, open_bb);
		else
			hwq_wr_fill(wr, fill);
	}
	return true;
}

/* Starts the next WQE at wr->at, and stores its wr_id. */
static HWQ_INLINE void
hwq_wr_place(struct hwq_wr *wr)
{
	wr->wqe = wr->at;
	wr->is_umr = false;
	*hwq_wr_id_of(wr, wr->at) = wr->wr_id;
}

/*
 * Opens a WQE of at least n_bb WQEBBs, and writes its control segment without the first word, which
 * contains the length. @return false if the batch has failed.
 */
static HWQ_INLINE bool
hwq_wr_begin(struct hwq_wr *wr, uint8_t opmod, uint8_t opcode, __be32 imm, unsigned int n_bb)
{
	uint32_t fm_ce_se = wr->wr_flags | wr->sq->sig_bits;

	if (__builtin_expect(wr->open != HWQ_WR_CLOSED, 0))
		hwq_wr_fail(wr, -EINVAL);
	if (__builtin_expect(wr->at == wr->end, 0) && !hwq_wr_rare(wr, &fm_ce_se))
		return false;
	hwq_wr_set_fence(wr, 0);
	if (n_bb > 1 && !hwq_wr_make_room(wr, n_bb, 0))
		return false;
	hwq_wr_place(wr);
	hwq_put_ctrl_rest(wr->wqe, fm_ce_se, imm);
	wr->opmod = opmod;
	wr->opcode = opcode;
	wr->open = HWQ_WR_DATA;
	return true;
}

/* Moves the batch past a WQE of ds units. */
static HWQ_INLINE void
hwq_wr_pass(struct hwq_wr *wr, unsigned int ds)
{
	wr->at += (size_t)hwq_ds_to_bb(ds) * HWQ_BB_LEN;
	wr->index_qpn += hwq_ds_to_bb(ds) * HWQ_INDEX_STEP;
	wr->ds = ds;
	wr->open = HWQ_WR_CLOSED;
}

/* Closes the open WQE: the batch now contains it. */
static HWQ_INLINE void
hwq_wr_end(struct hwq_wr *wr, unsigned int ds)
{
	hwq_put_ctrl_first(wr->wqe, wr->index_qpn, wr->opmod, wr->opcode, ds);
	hwq_wr_pass(wr, ds);
}

/*
 * Called by a setter of the open WQE, which has ds units so far. Closes the WQE if no setter is
 * missing.
 */
static HWQ_INLINE void
hwq_wr_done(struct hwq_wr *wr, unsigned int setter, unsigned int ds)
{
	if (wr->transport == HWQ_TRANSPORT_NONE || wr->transport == HWQ_TRANSPORT_ETH ||
		wr->open == setter) {
		hwq_wr_end(wr, ds);
	} else {
		wr->open &= (uint8_t)~setter;
		wr->ds = ds;
	}
}

/*
 * Makes room for the open WQE to grow to ds units. If it cannot grow at its address, it moves to
 * the ring's start. @return false if there is no room, or if a WQE cannot have that many units;
 * then the batch has failed.
 */
static HWQ_INLINE bool
hwq_wr_grow(struct hwq_wr *wr, unsigned int ds)
{
	unsigned int head_bb = hwq_ds_to_bb(wr->ds);

	/*
	 * The first segments of these transports fit into one WQEBB, so open_bb is a constant for
	 * the compiler.
	 */
	if (wr->transport == HWQ_TRANSPORT_NONE || wr->transport == HWQ_TRANSPORT_XRC ||
		wr->transport == HWQ_TRANSPORT_UD)
		head_bb = 1;
	if (ds <= head_bb * HWQ_DS_PER_BB)
		return true;
	if (__builtin_expect(ds > HWQ_DS_MAX, 0)) {
		hwq_wr_fail(wr, -ENOMEM);
		return false;
	}
	return hwq_wr_make_room(wr, hwq_ds_to_bb(ds), head_bb);
}

/* ------------------------------------------------------------------ complete and abort */

/**
 * Posts the batch with one doorbell (ibv_wr_complete(3)). A batch without WQEs rings no doorbell.
 * After an error nothing is posted, and the queue is as it was at hwq_wr_start().
 *
 * @param wr
 *   The batch.
 * @return
 *   0 on success, otherwise:
 * @retval -ENOMEM The ring is full: poll, then post the batch again. Or a setter got more data
 *   segments or inline bytes than the QP was created for.
 * @retval -errno
 *   The first error of the batch's builders and setters, as hwq_wr.h lists them.
 */
static HWQ_INLINE int
hwq_wr_complete(struct hwq_wr *wr)
{
	struct hwq_sq *sq = wr->sq;
	uint16_t pi = hwq_wr_pi(wr);
	size_t bb_len;
	uint8_t *last;
	bool only_one;

	if (__builtin_expect(wr->open != HWQ_WR_CLOSED, 0))
		hwq_wr_fail(wr, -EINVAL);
	if (__builtin_expect(wr->at == NULL, 0))
		return wr->err;
	if (__builtin_expect(wr->ds == 0, 0))
		return 0;
	/*
	 * The start of the last WQE is computed from its end. If its length is a constant, the
	 * compiler need not keep wr->wqe.
	 */
	bb_len = (size_t)hwq_ds_to_bb(wr->ds) * HWQ_BB_LEN;
	only_one = !wr->is_umr && wr->at == sq->wr.at + bb_len;
	last = wr->is_umr ? wr->wqe : wr->at - bb_len;
	sq->pi = pi;
	sq->wr.at = wr->at;
	sq->wr.index_qpn = wr->index_qpn;
	sq->wr.start = HWQ_SQ_START(wr->transport, wr->fm_cache);
	hwq_sq_announce(sq, pi, last, wr->ds, only_one, true);
	return 0;
}

/**
 * Discards the batch (ibv_wr_abort(3)): the queue is as it was at hwq_wr_start().
 * @param wr The batch.
 */
static HWQ_INLINE void
hwq_wr_abort(struct hwq_wr *wr)
{
	hwq_wr_start_as(wr, wr->sq, (enum hwq_transport)wr->transport);
}

#endif
