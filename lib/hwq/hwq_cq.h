/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The completion queue's data path: peek, advance, publish; and the only receive fence.
 *
 *     device writes CQE n, its owner bit last
 *          |
 *     hwq_cq_peek      is entry ci ours? decode it into a plain record
 *     hwq_cq_advance   ci + 1, in our memory alone
 *     hwq_cq_publish   tell the device, once a burst: these entries may be written again
 *
 * hwq_cq_poll() does all three for a burst. hwq_sq_ring() publishes too, so that the device learns
 * of room for completions before it learns of the WQEs that will complete.
 *
 * A WQE that fails or is flushed makes a CQE whether it asked for one or not. hwq_qp_create() thus
 * refuses a QP whose WQEs could overrun the CQ.
 *
 * Thread: the owner of the CQ's domain, alone.
 */
#ifndef HWQ_CQ_H
#define HWQ_CQ_H

#include <stdatomic.h>
#include <stdbool.h>

#include "hwq_dev.h"
#include "hwq_wire.h"

struct ibv_cq;
struct hwq_domain;

/** One completion, decoded. */
struct hwq_cqe {
	uint32_t qpn;         /**< the queue pair it belongs to */
	uint16_t wqe_counter; /**< ring index of its WQE, as hwq_sq_complete() takes it */
	uint8_t opcode;       /**< MLX5_CQE_*: REQ, RESP_*, REQ_ERR, RESP_ERR, SIG_ERR */
	uint8_t wqe_opcode;   /**< MLX5_OPCODE_* of the WQE; requester CQEs only */
	uint8_t syndrome;     /**< 0, or MLX5_CQE_SYNDROME_* of an error CQE */
	uint8_t vendor_err;   /**< of an error CQE */
	uint8_t solicited;    /**< the sender asked for an event */
	uint8_t reserved;
	uint32_t byte_cnt; /**< bytes moved; 0 in an error CQE */
	__be32 imm_inval;  /**< immediate data, or the key that was invalidated; responder CQEs */
};

struct hwq_cq {
	uint8_t *buf;           /**< entries of 64 bytes */
	_Atomic(__be32) *dbrec; /**< [0] consumer index, [1] arm word */
	uint32_t mask;          /**< entries - 1 */
	uint32_t log_n;         /**< log2 of entries */
	uint32_t ci;            /**< next entry to look at; free-running */
	uint32_t published;     /**< ci, as the device knows it */

	/* Control path. */
	uint32_t n_cqe;    /**< entries */
	uint32_t reserved; /**< entries that the QPs on it may need at once */
	uint32_t cqn;
	struct ibv_cq *cq;
	struct hwq_domain *domain;
};

/**
 * The device wrote the entry before its owner bit; without this fence the CPU might read the rest
 * of the entry, or the data that it announces, before the bit. Closes: stale CQE or payload.
 */
static inline void
hwq_fence_owner_before_cqe(void)
{
#if defined(__x86_64__)
	/* Loads are not reordered with loads from write-back memory. */
	__asm__ volatile("" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dmb oshld" ::: "memory");
#else
	__sync_synchronize();
#endif
}

static inline const struct mlx5_cqe64 *
hwq_cq_entry(const struct hwq_cq *cq, uint32_t index)
{
	return (const struct mlx5_cqe64 *)(cq->buf +
					   (size_t)(index & cq->mask) * sizeof(struct mlx5_cqe64));
}

/** True if the device wrote entry @p index in its current lap: opcode set, owner bit of the lap. */
static inline bool
hwq_cq_is_ours(const struct hwq_cq *cq, uint32_t index)
{
	const struct mlx5_cqe64 *e = hwq_cq_entry(cq, index);
	uint8_t op_own = atomic_load_explicit((_Atomic(uint8_t) *)(uintptr_t)&e->op_own,
		memory_order_acquire);
	uint8_t lap = (index >> cq->log_n) & MLX5_CQE_OWNER_MASK;

	return (op_own & MLX5_CQE_OWNER_MASK) == lap && op_own >> 4 != MLX5_CQE_INVALID;
}

/** True if entry @p index is ours and tells of a work request that went well: opcode 0, the owner
 *  bit of the lap, whatever the format and solicited bits between them. */
static inline bool
hwq_cq_is_good_send(const struct hwq_cq *cq, uint32_t index)
{
	const struct mlx5_cqe64 *e = hwq_cq_entry(cq, index);
	uint8_t op_own = atomic_load_explicit((_Atomic(uint8_t) *)(uintptr_t)&e->op_own,
		memory_order_acquire);

	return (op_own & 0xf1) == ((index >> cq->log_n) & MLX5_CQE_OWNER_MASK);
}

/** A CQE's 64 bytes as a record. */
static inline void
hwq_cqe_decode(const struct mlx5_cqe64 *e, struct hwq_cqe *out)
{
	uint32_t sop_qpn = be32toh(e->sop_drop_qpn);
	uint8_t opcode = e->op_own >> 4;
	bool err = opcode == MLX5_CQE_REQ_ERR || opcode == MLX5_CQE_RESP_ERR;
	const struct mlx5_err_cqe *bad = (const struct mlx5_err_cqe *)e;

	out->qpn = sop_qpn & 0xffffff;
	out->wqe_counter = be16toh(e->wqe_counter);
	out->opcode = opcode;
	out->wqe_opcode = (uint8_t)(sop_qpn >> 24);
	out->syndrome = err ? bad->syndrome : 0;
	out->vendor_err = err ? bad->vendor_err_synd : 0;
	out->solicited = (e->op_own >> 1) & 1;
	out->reserved = 0;
	out->byte_cnt = err ? 0 : be32toh(e->byte_cnt);
	out->imm_inval = err ? 0 : e->imm_inval_pkey;
}

/** @return true and the next completion in *out, or false: none yet. Consumes nothing. */
static inline bool
hwq_cq_peek(const struct hwq_cq *cq, struct hwq_cqe *out)
{
	if (!hwq_cq_is_ours(cq, cq->ci))
		return false;
	hwq_fence_owner_before_cqe();
	hwq_cqe_decode(hwq_cq_entry(cq, cq->ci), out);
	return true;
}

/** Consumes the entry that hwq_cq_peek() showed. The device learns it from hwq_cq_publish(). */
static inline void
hwq_cq_advance(struct hwq_cq *cq)
{
	cq->ci++;
}

/** Writes the consumer index to the doorbell record, if it moved since the last time. */
static inline void
hwq_cq_publish(struct hwq_cq *cq)
{
	if (cq->ci == cq->published)
		return;
	cq->published = cq->ci;
	/* Release: what we read from the entries is read before the device may write them again. */
	atomic_store_explicit(&cq->dbrec[HWQ_CQ_DBR_CI], htobe32(cq->ci & HWQ_CQ_CI_MASK),
		memory_order_release);
}

/** Consumes up to n completions, in order, and publishes. @return how many are in out. */
static inline unsigned int
hwq_cq_poll(struct hwq_cq *cq, struct hwq_cqe *out, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n && hwq_cq_peek(cq, &out[i]); i++)
		hwq_cq_advance(cq);
	hwq_cq_publish(cq);
	return i;
}

/** A plain word for a MLX5_CQE_SYNDROME_*; "unknown syndrome" for the rest. Never NULL. */
HWQ_API const char *hwq_syndrome_str(uint8_t syndrome);

#endif
