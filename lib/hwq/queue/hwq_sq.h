/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The send queue's ring: reserve and commit, and all index arithmetic.
 *
 *            ci                 rung            pi                       full
 *     -------+------------------+---------------+------------------------+
 *      free  | device may run   | committed,    | free                   | ci, one lap
 *            | these            | not announced |                        | further
 *
 * The indices count WQEBBs and run free at 16 bits, like wqe_index on the wire. Only the helpers of
 * this file subtract or mask them.
 *
 * hwq_sq_reserve() returns contiguous room or none. If a WQE would cross the end of the ring, an
 * unsignalled NOP takes the WQEBBs up to the end, and the WQE starts at the ring's beginning. So no
 * builder wraps. The function finds out that the ring is full before anything is written.
 *
 * ## When is it full? If no WQE has more than w WQEBBs, a ring of N WQEBBs holds WQEs of N - (w -
 * 1) WQEBBs together, because NOPs may take up to w - 1 WQEBBs at the ring's end. WQEs of one WQEBB
 * need no NOPs. hwq_qp_create() makes N at least 2w, so that an empty ring always has room for a
 * WQE.
 *
 * hwq_sq_complete() frees WQEBBs: a CQE frees its WQE and all earlier WQEs. Post a signalled WQE
 * (HWQ_WQE_SIGNALED) before unsignalled WQEs have filled the ring.
 *
 * Thread: only the owner of the queue's domain calls the functions of this file.
 */
#ifndef HWQ_SQ_H
#define HWQ_SQ_H

#include <stdbool.h>
#include <string.h>

#include "hwq_seg.h"
#include "hwq_sq_wr.h"

struct hwq_cq;

/** A doorbell register, which all send queues of one domain share. */
struct hwq_bf {
	uint8_t *reg;    /**< address of the register */
	uint32_t offset; /**< offset of the half for the next doorbell: 0 or toggle */
	/**
	 * Bytes of a half of the register. 0: other code writes the register too, so every doorbell
	 * is written to the register's start.
	 */
	uint32_t toggle;
	/** DS units of the longest WQE for which BlueFlame is used; 0: no BlueFlame */
	uint32_t max_ds;
};

/** A send queue's ring. Only hwq writes this struct. */
struct hwq_sq {
	uint8_t *buf;         /**< n_bb WQEBBs, 64-byte aligned */
	uint32_t mask;        /**< n_bb - 1 */
	uint32_t qpn_shifted; /**< QPN << 8, as in the control segment */
	uint16_t pi;          /**< index of the next WQEBB to reserve */
	uint16_t full;        /**< pi at which no WQEBB is free: ci + n_bb */
	uint16_t rung;        /**< pi at the last doorbell */
	uint16_t last;        /**< index at which the last WQE of hwq_sq_commit() starts */
	uint32_t sig_bits;    /**< MLX5_WQE_CTRL_CQ_UPDATE if every WQE is signalled, otherwise 0 */
	__be32 qpn_be;        /**< QPN, in the byte order of CQEs */
	struct hwq_bf *bf;    /**< the doorbell register */
	__be32 *dbrec;        /**< doorbell record; the queue writes word HWQ_SND_DBR only */
	struct hwq_cq *cq;    /**< the CQ of the queue's WQEs */

	/** For hwq_wr.h only; each function that moves pi sets wr.moved. */
	struct hwq_sq_wr wr;

	uint32_t max_inline; /**< bytes of inline data of one WQE */
	uint8_t max_sge;     /**< most data segments of one WQE */

	/** For memcpy WQEs: the device's scratch memory. */
	union {
		struct hwq_wire_mmo_seg mmo; /**< the segment that each memcpy WQE contains */
		__extension__ struct {
			__be32 mmo_control; /**< first word of the segment */
			__be32 mmo_lkey;    /**< the key of the device's scratch memory */
			__be64 mmo_addr;    /**< the address of the device's scratch memory */
		};
	};
	/** bytes of the longest memcpy; 0: the queue was not created for memcpy */
	uint64_t max_memcpy_len;
	/** Bytes of the longest memcpy whose byte count in the WQE equals its length. */
	uint64_t easy_memcpy_len;
};

static_assert(offsetof(struct hwq_sq, wr) + offsetof(struct hwq_sq_wr, at) == 64,
	"what a plain ring touches, wr.moved too, is one cache line");
static_assert(sizeof(struct hwq_sq_wr) <= 64, "a batch's state is at most 64 bytes");

/**
 * Returns the length of the ring.
 * @param sq The send queue.
 * @return The number of WQEBBs.
 */
static inline uint32_t
hwq_sq_n_bb(const struct hwq_sq *sq)
{
	return sq->mask + 1;
}

/**
 * Empties the ring.
 * @param sq The send queue.
 * @param pi The ring index at which the device expects the next WQE.
 */
static inline void
hwq_sq_start_at(struct hwq_sq *sq, uint16_t pi)
{
	sq->pi = sq->rung = sq->last = pi;
	sq->full = (uint16_t)(pi + hwq_sq_n_bb(sq));
	sq->wr.fm_cache = 0;
	sq->wr.moved = true;
}

/**
 * Empties the ring of a QP in RESET, where the device's index is 0.
 * @param sq The send queue.
 */
static inline void
hwq_sq_restart(struct hwq_sq *sq)
{
	hwq_sq_start_at(sq, 0);
}

/**
 * Starts an empty ring over memory that the caller provides. hwq_qp_create() and hwq_obj_qp() call
 * it. The caller owns all memory.
 * @param sq Written.
 * @param buf n_bb WQEBBs of 64 bytes, 64-byte aligned.
 * @param n_bb A power of two, at most HWQ_SQ_MAX_BB.
 * @param qpn The QP's number.
 * @param dbrec The doorbell record: two words.
 * @param bf State of the doorbell register, which all queues of the register share.
 * @param cq The CQ of the queue's WQEs.
 */
static inline void
hwq_sq_init(struct hwq_sq *sq, void *buf, uint32_t n_bb, uint32_t qpn, __be32 *dbrec,
	struct hwq_bf *bf, struct hwq_cq *cq)
{
	memset(sq, 0, sizeof(*sq));
	sq->buf = (uint8_t *)buf;
	sq->mask = n_bb - 1;
	sq->qpn_shifted = qpn << 8;
	sq->qpn_be = htobe32(qpn);
	sq->dbrec = dbrec;
	sq->bf = bf;
	sq->cq = cq;
	hwq_sq_start_at(sq, 0);
}

/**
 * Gives the queue memory for the wr_ids of hwq_wr.h.
 * @param sq The send queue.
 * @param wr_ids One number for each WQEBB of the ring. The caller owns the memory.
 */
static inline void
hwq_sq_set_wr_ids(struct hwq_sq *sq, uint64_t *wr_ids)
{
	sq->wr.wr_ids = wr_ids;
	sq->wr.wr_id_bias = (uintptr_t)wr_ids - (uintptr_t)sq->buf / (HWQ_BB_LEN / sizeof(*wr_ids));
}

/**
 * Allows memcpy. The device may write HWQ_MMO_OPAQUE_LEN bytes at addr for its own use. The caller
 * owns these bytes, and no other queue may use them.
 * @param sq The send queue.
 * @param lkey The local key of these bytes.
 * @param addr The address of these bytes.
 * @param max_len Bytes of the longest memcpy; more than 2 GiB count as 2 GiB.
 */
static inline void
hwq_sq_set_memcpy(struct hwq_sq *sq, uint32_t lkey, uint64_t addr, uint64_t max_len)
{
	sq->mmo_lkey = htobe32(lkey);
	sq->mmo_addr = htobe64(addr);
	sq->max_memcpy_len = max_len < HWQ_MMO_LEN_MAX ? max_len : HWQ_MMO_LEN_MAX;
	sq->easy_memcpy_len = max_len < HWQ_MMO_LEN_MAX ? max_len : HWQ_MMO_LEN_MAX - 1;
}

/**
 * Converts the length of a WQE.
 * @param ds 16-byte units.
 * @return The number of WQEBBs.
 */
static inline unsigned int
hwq_ds_to_bb(unsigned int ds)
{
	return (ds + HWQ_DS_PER_BB - 1) / HWQ_DS_PER_BB;
}

/**
 * Returns the consumer index: the first index that is not known to be complete.
 * @param sq The send queue.
 * @return The ring index.
 */
static inline uint16_t
hwq_sq_ci(const struct hwq_sq *sq)
{
	return (uint16_t)(sq->full - hwq_sq_n_bb(sq));
}

/*
 * Sets the consumer index to ci: all earlier WQEs are complete. Returns how many WQEBBs become
 * free.
 */
static inline uint32_t
hwq_sq_set_ci(struct hwq_sq *sq, uint16_t ci)
{
	uint16_t full = (uint16_t)(ci + hwq_sq_n_bb(sq)), freed = (uint16_t)(full - sq->full);

	sq->full = full;
	return freed;
}

/**
 * Returns how many WQEBBs are free. A WQE of n WQEBBs may need up to n - 1 WQEBBs more, for NOPs
 * at the ring's end.
 * @param sq The send queue.
 * @return The number of WQEBBs.
 */
static inline uint32_t
hwq_sq_free_bb(const struct hwq_sq *sq)
{
	return (uint16_t)(sq->full - sq->pi);
}

/**
 * Tells whether the ring is full.
 * @param sq The send queue.
 * @return True if no WQEBB is free.
 */
static inline bool
hwq_sq_is_full(const struct hwq_sq *sq)
{
	return sq->pi == sq->full;
}

/**
 * Returns how many WQEBBs are in use: by NOPs at the ring's end, and by committed WQEs that are not
 * known to be complete.
 * @param sq The send queue.
 * @return The number of WQEBBs.
 */
static inline uint32_t
hwq_sq_used_bb(const struct hwq_sq *sq)
{
	return hwq_sq_n_bb(sq) - hwq_sq_free_bb(sq);
}

/**
 * Returns how many WQEBBs were committed since the last doorbell.
 * @param sq The send queue.
 * @return The number of WQEBBs.
 */
static inline uint32_t
hwq_sq_pending_bb(const struct hwq_sq *sq)
{
	return (uint16_t)(sq->pi - sq->rung);
}

/**
 * Returns the address of a WQEBB.
 * @param sq The send queue.
 * @param index Ring index, free-running.
 * @return The address.
 */
static inline void *
hwq_sq_at(const struct hwq_sq *sq, uint16_t index)
{
	return sq->buf + (size_t)(index & sq->mask) * HWQ_BB_LEN;
}

/**
 * Returns the distance to the end of the ring's memory.
 * @param sq The send queue.
 * @param index Ring index, free-running.
 * @return WQEBBs from index to the end.
 */
static inline uint32_t
hwq_sq_tail_bb(const struct hwq_sq *sq, uint16_t index)
{
	return hwq_sq_n_bb(sq) - (index & sq->mask);
}

/*
 * Returns how many free WQEBBs are contiguous from index pi on. pi is the queue's pi, or follows
 * WQEs that are not committed yet.
 */
static inline uint32_t
hwq_sq_room_bb(const struct hwq_sq *sq, uint16_t pi)
{
	uint32_t free_bb = (uint16_t)(sq->full - pi), tail = hwq_sq_tail_bb(sq, pi);

	return free_bb < tail ? free_bb : tail;
}

/*
 * Finds contiguous room for n_bb WQEBBs, at index pi or after NOPs that fill the ring's end. *fill:
 * WQEBBs of these NOPs, or 0. @return false if the ring is full.
 *
 * Three functions call it, and each commits the NOPs in its own way:
 *     hwq_sq_reserve()      for each WQE; the NOPs are committed at once
 *     hwq_burst_reserve()   once for several WQEs; the NOPs are committed with the WQEs, or never
 *     hwq_wr_make_room()    at the end of a batch's known room; abort discards NOPs and WQEs
 * hwq_burst_start() uses only the room before the ring's end, hwq_sq_room_bb(), and needs no NOPs.
 */
static inline bool
hwq_sq_has_room(const struct hwq_sq *sq, uint16_t pi, unsigned int n_bb, uint32_t *fill)
{
	uint32_t tail = hwq_sq_tail_bb(sq, pi);

	/* The ring has at least one WQEBB before its end. */
	if (__builtin_constant_p(n_bb) && n_bb == 1) {
		*fill = 0;
		return __builtin_expect(pi != sq->full, 1);
	}
	*fill = __builtin_expect(tail < n_bb, 0) ? tail : 0;
	return __builtin_expect((uint16_t)(sq->full - pi) >= *fill + n_bb, 1);
}

/**
 * Commits the WQEBBs at pi, which now hold one WQE. The device sees the WQE after hwq_sq_ring().
 * @param sq The send queue.
 * @param n_bb WQEBBs: at most as many as hwq_sq_reserve() has reserved.
 */
static inline void
hwq_sq_commit(struct hwq_sq *sq, unsigned int n_bb)
{
	sq->last = sq->pi;
	sq->pi = (uint16_t)(sq->pi + n_bb);
	sq->wr.moved = true;
}

/**
 * Makes the last committed WQE signalled, for callers that know only at the end of a burst which
 * WQE is the last. Call it before hwq_sq_ring().
 * @param sq The send queue.
 */
static inline void
hwq_sq_signal_last(struct hwq_sq *sq)
{
	struct mlx5_wqe_ctrl_seg *ctrl = (struct mlx5_wqe_ctrl_seg *)hwq_sq_at(sq, sq->last);

	ctrl->fm_ce_se |= MLX5_WQE_CTRL_CQ_UPDATE;
}

/**
 * Returns the distance of a WQE from the consumer index.
 * @param sq The send queue.
 * @param wqe_counter hwq_cqe.wqe_counter of the completion.
 * @return WQEBBs from hwq_sq_ci() to wqe_counter.
 */
static inline uint32_t
hwq_sq_ahead_bb(const struct hwq_sq *sq, uint16_t wqe_counter)
{
	return (uint16_t)(wqe_counter - hwq_sq_ci(sq));
}

/* Writes a NOP from index pi to the ring's end, unsignalled. MLX5_OPCODE_NOP is 0. */
static inline void
hwq_sq_put_fill(const struct hwq_sq *sq, uint16_t pi, uint32_t tail_bb)
{
	void *wqe = hwq_sq_at(sq, pi);

	hwq_put_ctrl_first(wqe, hwq_index_qpn(pi, sq->qpn_shifted), 0, MLX5_OPCODE_NOP,
		tail_bb * HWQ_DS_PER_BB);
	hwq_put_ctrl_rest(wqe, 0, 0);
}

/**
 * Tells whether a WQE looks like a NOP that fills the ring's end: an unsignalled NOP up to the end.
 * @param sq The send queue.
 * @param index Ring index of the WQE's first WQEBB; it runs free at 16 bits.
 * @return True if the WQE looks like such a NOP.
 */
static inline bool
hwq_sq_is_fill(const struct hwq_sq *sq, uint16_t index)
{
	const struct mlx5_wqe_ctrl_seg *ctrl =
		(const struct mlx5_wqe_ctrl_seg *)hwq_sq_at(sq, index);
	uint32_t tail_bb = hwq_sq_tail_bb(sq, index);

	return ctrl->fm_ce_se == 0 &&
	       ctrl->opmod_idx_opcode == htobe32((uint32_t)index << 8 | MLX5_OPCODE_NOP) &&
	       ctrl->qpn_ds == htobe32(sq->qpn_shifted | tail_bb * HWQ_DS_PER_BB);
}

/* Fills the ring from pi to its end with one NOP, and commits the NOP. */
static inline void
hwq_sq_fill(struct hwq_sq *sq, uint32_t tail_bb)
{
	hwq_sq_put_fill(sq, sq->pi, tail_bb);
	hwq_sq_commit(sq, tail_bb);
}

#define HWQ_FILL_MAX_BB (HWQ_DS_MAX / HWQ_DS_PER_BB) /**< WQEBBs of the longest NOP */

/*
 * As hwq_sq_fill(), if one NOP cannot take all tail_bb WQEBBs. This is rare, so the function is not
 * inlined.
 */
static __attribute__((noinline, unused)) void
hwq_sq_fill_long(struct hwq_sq *sq, uint32_t tail_bb)
{
	for (; tail_bb > HWQ_FILL_MAX_BB; tail_bb -= HWQ_FILL_MAX_BB)
		hwq_sq_fill(sq, HWQ_FILL_MAX_BB);
	hwq_sq_fill(sq, tail_bb);
}

/**
 * Reserves contiguous room for one WQE, which then starts at sq->pi. If the WQE would cross the end
 * of the ring, a NOP fills the end. This NOP is committed at once, even if the WQE is never
 * committed.
 * @param sq The send queue.
 * @param n_bb WQEBBs, from 1 to HWQ_WQE_MAX_BB.
 * @return The address of the room: the caller writes all of the WQE's DS units, then calls
 *   hwq_sq_commit(). NULL if the ring is full; then nothing was written: poll, call
 *   hwq_sq_complete(), try again.
 */
static inline void *
hwq_sq_reserve(struct hwq_sq *sq, unsigned int n_bb)
{
	uint32_t fill;

	if (!hwq_sq_has_room(sq, sq->pi, n_bb, &fill))
		return NULL;
	if (__builtin_expect(fill != 0, 0))
		hwq_sq_fill(sq, fill);
	return hwq_sq_at(sq, sq->pi);
}

/**
 * Returns the wr_id of a work request that hwq_wr.h posted and whose WQE is not freed yet.
 * @param sq The send queue.
 * @param wqe_counter The index at which its WQE starts: hwq_cqe.wqe_counter of its completion.
 * @return The wr_id.
 */
static inline uint64_t
hwq_sq_wr_id(const struct hwq_sq *sq, uint16_t wqe_counter)
{
	return sq->wr.wr_ids[wqe_counter & sq->mask];
}

/*
 * Returns the index that follows the WQE which starts at index `counter`. `at` is the WQE's first
 * WQEBB in the ring. The WQE's length is its DS, which is byte 7. Most WQEs have one WQEBB.
 */
static inline uint16_t
hwq_sq_end_of(const struct hwq_sq *sq, uint32_t counter, uint32_t at)
{
	const uint8_t *wqe = sq->buf + (size_t)at * HWQ_BB_LEN;

	/*
	 * wqe[7] is read twice, so that the comparison, which is enough for most WQEs, can have a
	 * memory operand.
	 */
	if (__builtin_expect(wqe[7] > HWQ_DS_PER_BB, 0))
		counter += hwq_ds_to_bb(((const volatile uint8_t *)wqe)[7] & HWQ_DS_MAX) - 1;
	return (uint16_t)(counter + 1);
}

/**
 * Frees the WQE that starts at wqe_counter, and all WQEs before it. Call it for each CQE of the
 * queue that hwq_cq_poll() returned: good, failed or flushed.
 * @param sq The send queue.
 * @param wqe_counter hwq_cqe.wqe_counter.
 * @return How many WQEBBs were freed, including those of NOPs that fill the ring's end.
 */
static inline uint32_t
hwq_sq_complete(struct hwq_sq *sq, uint16_t wqe_counter)
{
	return hwq_sq_set_ci(sq, hwq_sq_end_of(sq, wqe_counter, wqe_counter & sq->mask));
}

/**
 * As hwq_sq_complete(), for the common case that wqe_counter is the last committed WQE, so that all
 * WQEs are complete. Not for queues to which hwq_wr.h posts.
 * @param sq The send queue.
 * @param wqe_counter hwq_cqe.wqe_counter of the completion.
 * @return False if it is not the last WQE; then nothing was freed.
 */
static inline bool
hwq_sq_complete_last(struct hwq_sq *sq, uint16_t wqe_counter)
{
	if (__builtin_expect(wqe_counter != sq->last, 0))
		return false;
	hwq_sq_set_ci(sq, sq->pi);
	return true;
}

#endif
