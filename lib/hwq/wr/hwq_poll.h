/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Polls for good completions of a queue to which hwq_wr.h posts. It returns only wr_ids, and
 * decodes no CQE.
 *
 * Thread: only the owner of the queue's domain calls the functions of this file.
 */
#ifndef HWQ_POLL_H
#define HWQ_POLL_H

#include "hwq_cq.h"
#include "hwq_sq.h"

/*
 * @return true if the CQE is a good completion of this QPN: its opcode is 0 (REQ), and its owner
 * bit is that of the current lap. The format and solicited bits, which are between opcode and owner
 * bit, are ignored.
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

/*
 * Takes the good completion at `next`, and up to n - 1 good completions after it. n is at least 1.
 */
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
 * earlier WQEs. It stops at the first CQE of another kind: of a failed or flushed WQE, of a
 * receive, or of another QP on the CQ. Take such a CQE by hwq_cq_poll(): hwq_sq_wr_id() returns its
 * wr_id, and hwq_sq_complete() frees its WQE. In a flush, each NOP that fills the ring's end makes
 * a CQE too; its wr_id is that of the next request.
 *
 * This call does not publish the CQ's consumer index; hwq_sq_ring() and hwq_wr_complete() publish
 * it. Until then the CQ has room for all CQEs that can come.
 * @param sq The send queue.
 * @param wr_id Room for n numbers.
 * @param n Largest number of wr_ids.
 * @return How many wr_ids were written, at most n. If 0, the next CQE may be of another kind: check
 *   it by hwq_cq_peek(). If hwq_cq_peek() finds a good completion, which has come in the meantime,
 *   leave it to the next call.
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
	 * n == 1 needs no loop. Without this line the compiler merges the common part of both
	 * bodies, and moves this part before the branch.
	 */
	__asm__("" : "+r"(next));
	return hwq_poll_from(sq, cq, next, wr_id, 1);
}

#endif
