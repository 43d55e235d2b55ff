/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Polling for good completions: their wr_ids, without decoding each CQE. For queues that are posted
 * to by hwq_wr.h.
 *
 * Thread: only the owner of the queue's domain calls the functions of this file.
 */
#ifndef HWQ_POLL_H
#define HWQ_POLL_H

#include "hwq_cq.h"
#include "hwq_sq.h"

/*
 * True if the entry is a good completion of this QPN: opcode 0 (REQ), and the owner bit of the lap.
 * The format and solicited bits between the two do not matter.
 */
static HWQ_INLINE bool
hwq_poll_is_ours(const struct hwq_cq *cq, const uint8_t *entry, __be32 qpn)
{
	const struct mlx5_cqe64 *e = (const struct mlx5_cqe64 *)entry;

	if ((hwq_cqe_op_own(entry) & 0xf1) != cq->lap)
		return false;
	hwq_fence_owner_before_cqe();
	return __builtin_expect(((e->sop_drop_qpn ^ qpn) & htobe32(0xffffff)) == 0, 1);
}

/* The good completion at next, and up to n - 1 behind it; n is 1 at least. */
static HWQ_INLINE unsigned int
hwq_poll_from(struct hwq_sq *sq, struct hwq_cq *cq, const uint8_t *next, uint64_t *wr_id,
	unsigned int n)
{
	const uint64_t *wr_ids = sq->wr.wr_ids;
	size_t i = 0, mask = sq->mask, counter, at;
	__be32 qpn = sq->qpn_be;

	do {
		counter = be16toh(((const struct mlx5_cqe64 *)next)->wqe_counter);
		at = counter & mask;
		wr_id[i++] = wr_ids[at];
		next += sizeof(struct mlx5_cqe64);
		if (__builtin_expect(next == cq->end, 0)) {
			next = cq->buf;
			cq->lap ^= MLX5_CQE_OWNER_MASK;
		}
	} while (i != n && hwq_poll_is_ours(cq, next, qpn));
	cq->next = next;
	cq->ci += (uint32_t)i;
	hwq_sq_set_ci(sq, hwq_sq_end_of(sq, (uint32_t)counter, (uint32_t)at));
	return (unsigned int)i;
}

/**
 * Takes good completions of the queue's work requests, oldest first. It frees their WQEs and all
 * WQEs before them. It stops at the first CQE of another kind: a failed or flushed WQE, a receive,
 * or another QP on the CQ. Take that CQE by hwq_cq_poll(): hwq_sq_wr_id() gives its wr_id, and
 * hwq_sq_complete() frees its WQE. A flush makes a CQE for every NOP that fills the ring's end too;
 * its wr_id is that of the next request.
 *
 * It does not publish the CQ's consumer index: hwq_sq_ring() and hwq_wr_complete() do. Until then
 * no more CQEs can come than the CQ has room for.
 * @param sq The send queue.
 * @param wr_id Room for n numbers.
 * @param n How many.
 * @return How many are in wr_id, at most n; 0: look whether a CQE of another kind is next, by
 *   hwq_cq_peek(): a good one that came meanwhile stays for the next call.
 */
static HWQ_INLINE unsigned int
hwq_wr_poll(struct hwq_sq *sq, uint64_t *wr_id, unsigned int n)
{
	struct hwq_cq *cq = sq->cq;
	const uint8_t *next = cq->next;

	if (n == 0 || !hwq_poll_is_ours(cq, next, sq->qpn_be))
		return 0;
	if (n != 1)
		return hwq_poll_from(sq, cq, next, wr_id, n);
	/*
	 * One needs no loop. This line keeps the compiler from moving what both bodies share in
	 * front of the branch.
	 */
	__asm__("" : "+r"(next));
	return hwq_poll_from(sq, cq, next, wr_id, 1);
}

#endif
