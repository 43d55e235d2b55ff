/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Announces WQEs to the device: doorbell record, doorbell, BlueFlame. Contains the only fences for
 * writing.
 *
 *     WQEs in the ring
 *        hwq_fence_wqe_before_dbrec
 *     doorbell record = pi              decides what the device may run
 *        hwq_fence_dbrec_before_doorbell
 *     doorbell = 8 bytes of the last WQE, or BlueFlame = all of the only WQE
 *        hwq_fence_doorbell_flush
 *
 * With BlueFlame the device need not read the WQE from memory. BlueFlame is used if exactly one WQE
 * is pending and the WQE is not longer than the register. It is not used if MLX5_SHUT_UP_BF is set,
 * if the register is shared, or if the register is too short for a WQE.
 *
 * Thread: only the owner of the queue's domain, because all send queues of a domain share the
 * register's state (which half is next).
 */
#ifndef HWQ_DB_H
#define HWQ_DB_H

#include "hwq_atomic.h"
#include "hwq_cq.h"
#include "hwq_sq.h"

/**
 * Orders the stores of WQEs before the store of the doorbell record. Without this fence, the device
 * could see the new producer index, but read a WQE that is not written yet.
 */
static inline void
hwq_fence_wqe_before_dbrec(void)
{
#if defined(__x86_64__)
	/* The CPU does not reorder stores to write-back memory. */
	__asm__ volatile("" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dmb oshst" ::: "memory");
#else
	__sync_synchronize();
#endif
}

/**
 * Orders the store of the doorbell record before the doorbell. Without this fence, the doorbell
 * could arrive before the record is written, and the device would find no new WQE. The register is
 * write-combining memory, which even x86 does not order with other memory.
 */
static inline void
hwq_fence_dbrec_before_doorbell(void)
{
#if defined(__x86_64__)
	__asm__ volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dsb st" ::: "memory");
#else
	__sync_synchronize();
#endif
}

/**
 * Flushes the doorbell to the device. Without this fence, the doorbell could stay in a
 * write-combining buffer, or merge with the next doorbell.
 */
static inline void
hwq_fence_doorbell_flush(void)
{
	hwq_fence_dbrec_before_doorbell();
}

/* One store of eight bytes is atomic, so several threads may write the register. */
static inline void
hwq_mmio_write64(void *reg, uint64_t raw)
{
	hwq_store_relaxed((volatile uint64_t *)reg, raw);
}

/* Writes the first eight bytes of a WQE to the register. */
static inline void
hwq_bf_copy_8(uint8_t *reg, const uint8_t *wqe)
{
	uint64_t raw;

	memcpy(&raw, wqe, sizeof(raw));
	hwq_mmio_write64(reg, raw);
}

/** Sixteen bytes of a WQE, which a CPU with vectors loads and stores at once. */
typedef uint64_t hwq_16_bytes __attribute__((vector_size(16), may_alias));

/* Stores sixteen bytes of a WQE, which were loaded before, into the register. */
static inline void
hwq_bf_put_16(uint8_t *reg, hwq_16_bytes raw)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	*(volatile hwq_16_bytes *)reg = raw;
#else
	hwq_mmio_write64(reg, raw[0]);
	hwq_mmio_write64(reg + 8, raw[1]);
#endif
}

static inline void
hwq_bf_copy_16(uint8_t *reg, const uint8_t *wqe)
{
	hwq_bf_put_16(reg, *(const hwq_16_bytes *)wqe);
}

/*
 * Copies one WQEBB in ascending order, at least eight bytes at a time; memcpy() promises neither.
 * The loop is unrolled by hand, because counting would take longer than the stores.
 */
static inline void
hwq_bf_copy_bb(uint8_t *reg, const uint8_t *wqe)
{
	hwq_bf_copy_16(reg, wqe);
	hwq_bf_copy_16(reg + 16, wqe + 16);
	hwq_bf_copy_16(reg + 32, wqe + 32);
	hwq_bf_copy_16(reg + 48, wqe + 48);
}

static inline void
hwq_bf_copy(uint8_t *reg, const void *wqe, unsigned int n_bb)
{
	const uint8_t *src = (const uint8_t *)wqe;
	unsigned int i;

	for (i = 0; i < n_bb; i++)
		hwq_bf_copy_bb(reg + i * HWQ_BB_LEN, src + i * HWQ_BB_LEN);
}

/* Writes pi to the doorbell record. A doorbell may follow. */
static inline void
hwq_sq_record(struct hwq_sq *sq, uint16_t pi)
{
	sq->rung = pi;
	hwq_fence_wqe_before_dbrec();
	hwq_store_release(&sq->dbrec[HWQ_SND_DBR], htobe32(pi));
	hwq_fence_dbrec_before_doorbell();
}

/* Rings a doorbell. wqe: the last WQE, of ds units. reg: the register's half for this doorbell. */
static inline void
hwq_bf_write(const struct hwq_bf *bf, uint8_t *reg, const uint8_t *wqe, unsigned int ds,
	bool only_one)
{
	/* A WQE of one DS is never sent by BlueFlame, as in libmlx5. */
	if (!only_one || ds <= 1 || ds > bf->max_ds)
		hwq_bf_copy_8(reg, wqe);
	else if (__builtin_expect(ds <= HWQ_DS_PER_BB, 1))
		hwq_bf_copy_bb(reg, wqe);
	else
		hwq_bf_copy(reg, wqe, hwq_ds_to_bb(ds));
}

/*
 * Writes doorbell record and doorbell for the pending WQEs up to pi. wqe: the last WQE, of ds
 * units. publish: a constant; if false, the caller publishes the CQ's consumer index when it polls.
 */
static inline void
hwq_sq_announce(struct hwq_sq *sq, uint16_t pi, const uint8_t *wqe, unsigned int ds, bool only_one,
	const bool publish)
{
	struct hwq_bf *bf = sq->bf;
	uint8_t *reg = bf->reg + bf->offset;

	if (publish)
		hwq_cq_publish(sq->cq);
	hwq_sq_record(sq, pi);
	hwq_bf_write(bf, reg, wqe, ds, only_one);
	hwq_fence_doorbell_flush();
	bf->offset ^= bf->toggle;
}

/* A UMR is never sent by BlueFlame, as in libmlx5. It has at least two WQEBBs. */
static inline bool
hwq_is_umr(const struct mlx5_wqe_ctrl_seg *ctrl, unsigned int ds)
{
	return __builtin_expect(ds > HWQ_DS_PER_BB, 0) &&
	       (be32toh(ctrl->opmod_idx_opcode) & 0xff) == MLX5_OPCODE_UMR;
}

/* Returns true if exactly one WQE is pending, `last`, and BlueFlame may send it. */
static inline bool
hwq_sq_is_only_one(const struct hwq_sq *sq, const struct mlx5_wqe_ctrl_seg *last, unsigned int ds)
{
	return sq->last == sq->rung && !hwq_is_umr(last, ds);
}

/* Announces all WQEs up to pi; at least one is pending. publish: as for hwq_sq_announce(). */
static inline void
hwq_sq_ring_last(struct hwq_sq *sq, const struct mlx5_wqe_ctrl_seg *last, const bool publish)
{
	unsigned int ds = be32toh(last->qpn_ds) & HWQ_DS_MAX;

	hwq_sq_announce(sq, sq->pi, (const uint8_t *)last, ds, hwq_sq_is_only_one(sq, last, ds),
		publish);
}

/**
 * Announces all WQEs that were committed since the last call. Call it once a burst. It does nothing
 * if there is no such WQE. It publishes the CQ's consumer index first: see hwq_cq.h.
 * @param sq The send queue.
 */
static inline void
hwq_sq_ring(struct hwq_sq *sq)
{
	if (sq->pi == sq->rung)
		return;
	hwq_sq_ring_last(sq, (const struct mlx5_wqe_ctrl_seg *)hwq_sq_at(sq, sq->last), true);
}

/**
 * As hwq_sq_signal_last(), then hwq_sq_ring(), for a caller that has committed WQEs since the last
 * call. It does not publish the CQ's consumer index: the caller publishes it when it polls.
 * @param sq The send queue.
 */
static inline void
hwq_sq_signal_and_ring(struct hwq_sq *sq)
{
	struct mlx5_wqe_ctrl_seg *last = (struct mlx5_wqe_ctrl_seg *)hwq_sq_at(sq, sq->last);

	last->fm_ce_se |= MLX5_WQE_CTRL_CQ_UPDATE;
	hwq_sq_ring_last(sq, last, false);
}

/* ------------------------------------------------------------------ several queues */

/**
 * Doorbells of several queues, one after the other. Queues of a domain share a register, so the
 * register is read once. The fences of each doorbell also flush the previous doorbell.
 *
 *     struct hwq_bells b = {.bf = NULL};
 *     hwq_bells_signal_and_ring(&b, sq);      for each queue
 *     hwq_bells_end(&b);
 *
 * The fields of struct hwq_bells are private; the struct is on the caller's stack. Between the
 * calls above, no other doorbell may be rung.
 */
struct hwq_bells {
	/** The register of the last doorbell; NULL: no doorbell was rung yet. */
	struct hwq_bf *bf;
	uint8_t *reg;   /**< the register's half for the next doorbell */
	ptrdiff_t step; /**< bytes from reg to the other half of the register */
	/**
	 * A WQE of one WQEBB is sent by BlueFlame if its DS units minus 2 are less than this
	 * number.
	 */
	uint32_t n_easy;
};

/**
 * Ends the doorbells: flushes the last doorbell.
 * @param b The doorbells.
 */
static inline void
hwq_bells_end(struct hwq_bells *b)
{
	if (b->bf == NULL)
		return;
	hwq_fence_doorbell_flush();
	b->bf->offset = (uint32_t)(b->reg - b->bf->reg);
}

/*
 * Flushes the last doorbell of the present register, and continues with the register of another
 * domain.
 */
static inline void
hwq_bells_turn_to(struct hwq_bells *b, struct hwq_bf *bf)
{
	hwq_bells_end(b);
	b->bf = bf;
	b->reg = bf->reg + bf->offset;
	b->step = bf->offset == 0 ? (ptrdiff_t)bf->toggle : -(ptrdiff_t)bf->toggle;
	b->n_easy = bf->max_ds >= HWQ_DS_PER_BB ? HWQ_DS_PER_BB - 1 : 0;
}

/* Returns MLX5_WQE_CTRL_CQ_UPDATE at its position in a control segment. */
static inline hwq_16_bytes
hwq_signal_bits(void)
{
	hwq_16_bytes bits = {0, 0};

	hwq_put_pair((uint8_t *)&bits + HWQ_DS_LEN / 2, hwq_fm_ce_se_word(MLX5_WQE_CTRL_CQ_UPDATE),
		0);
	return bits;
}

/**
 * Rings the doorbell of one queue, and makes its last WQE signalled, as hwq_sq_signal_and_ring().
 * @param b The doorbells.
 * @param sq A send queue with committed WQEs.
 * @return WQEBBs that were announced.
 */
static inline uint32_t
hwq_bells_signal_and_ring(struct hwq_bells *b, struct hwq_sq *sq)
{
	struct mlx5_wqe_ctrl_seg *last = (struct mlx5_wqe_ctrl_seg *)hwq_sq_at(sq, sq->last);
	uint8_t *wqe = (uint8_t *)last;
	unsigned int ds = wqe[7]; /* DS is byte 7, as in hwq_sq_end_of() */
	hwq_16_bytes ctrl;
	uint32_t n_bb = 1;

	if (__builtin_expect(sq->bf != b->bf, 0))
		hwq_bells_turn_to(b, sq->bf);
	/*
	 * Loads and stores the whole control segment. If only one byte were stored, the load for
	 * BlueFlame would wait until that store has reached the cache.
	 */
	ctrl = *(hwq_16_bytes *)wqe | hwq_signal_bits();
	*(hwq_16_bytes *)wqe = ctrl;
	/* The common case: one WQE of one WQEBB. */
	if (__builtin_expect(sq->last == sq->rung && ds - 2 < b->n_easy, 1)) {
		hwq_sq_record(sq, sq->pi);
		hwq_bf_put_16(b->reg, ctrl);
		hwq_bf_copy_16(b->reg + 16, wqe + 16);
		hwq_bf_copy_16(b->reg + 32, wqe + 32);
		hwq_bf_copy_16(b->reg + 48, wqe + 48);
	} else {
		bool only_one = hwq_sq_is_only_one(sq, last, ds);

		n_bb = hwq_sq_pending_bb(sq);
		hwq_sq_record(sq, sq->pi);
		hwq_bf_write(b->bf, b->reg, wqe, ds, only_one);
	}
	b->reg += b->step;
	b->step = -b->step;
	return n_bb;
}

#endif
