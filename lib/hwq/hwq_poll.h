/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Good completions of work requests as wr_ids: what most polls are for. See hwq_wr.h.
 */
#ifndef HWQ_POLL_H
#define HWQ_POLL_H

#include "hwq_cq.h"
#include "hwq_sq.h"

/* True if the entry is a good completion of this QPN: opcode 0 (REQ), and the owner bit of the lap. The
 * format and solicited bits between the two do not matter. */
static HWQ_INLINE bool
hwq_poll_is_ours(const struct hwq_cq *cq, const uint8_t *entry, __be32 qpn)
{
	const struct mlx5_cqe64 *e = (const struct mlx5_cqe64 *)entry;

	if ((hwq_cqe_op_own(entry) & 0xf1) != cq->lap)
		return false;
	hwq_fence_owner_before_cqe();
	return __builtin_expect(((e->sop_drop_qpn ^ qpn) & htobe32(0xffffff)) == 0, 1);
}

/**
 * Takes good completions of the queue's work requests, oldest first, and frees their WQEs and all
 * before them. Stops at the first CQE of another kind: a failed or flushed WQE, a receive, another
 * QP on the CQ; hwq_cq_poll() shows what it is, hwq_sq_wr_id() whose, and hwq_sq_complete() frees
 * it. A flush makes a CQE for every fill too, a NOP of the wr_id of the request behind it.
 *
 * Does not publish: that is hwq_sq_ring()'s and hwq_wr_complete()'s, and no more CQEs can come than
 * there is room for until they ring.
 * @return how many wr_ids are in wr_id, at most n.
 */
static HWQ_INLINE unsigned int
hwq_wr_poll(struct hwq_sq *sq, uint64_t *wr_id, unsigned int n)
{
	struct hwq_cq *cq = sq->cq;
	const uint64_t *wr_ids = sq->wr.wr_ids;
	const uint8_t *next = cq->next;
	uint32_t mask = sq->mask, counter = 0, at = 0;
	__be32 qpn = sq->qpn_be;
	unsigned int i;

	for (i = 0; i < n; i++) {
		const struct mlx5_cqe64 *e = (const struct mlx5_cqe64 *)next;

		if (__builtin_expect(!hwq_poll_is_ours(cq, next, qpn), 0))
			break;
		memcpy(&counter, &e->wqe_counter, sizeof(counter));
		counter = be32toh(counter) >> 16;
		at = counter & mask;
		wr_id[i] = wr_ids[at];
		next += sizeof(*e);
		if (__builtin_expect(next == cq->end, 0)) {
			next = cq->buf;
			cq->lap ^= MLX5_CQE_OWNER_MASK;
		}
	}
	if (i != 0) {
		cq->next = next;
		cq->ci += i;
		sq->ci = hwq_sq_end_of(sq, counter, at);
	}
	return i;
}

#endif
