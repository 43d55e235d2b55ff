/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The receive queue's data path: post and ring.
 *
 * A SEND of the peer takes the oldest entry and makes a CQE (MLX5_CQE_RESP_SEND*), whose
 * wqe_counter counts entries. Thread: the owner of the queue's domain, alone.
 */
#ifndef HWQ_RQ_H
#define HWQ_RQ_H

#include "hwq_db.h"
#include "hwq_qp.h"

/** Entries that can be posted now. */
static inline uint32_t
hwq_rq_free(const struct hwq_rq *rq)
{
	return rq->mask + 1 - (uint16_t)(rq->pi - rq->ci);
}

/** Posts one piece of memory to receive into. @return false: full, nothing was written. */
static inline bool
hwq_rq_post(struct hwq_rq *rq, uint32_t lkey, uint64_t addr, uint32_t len)
{
	struct mlx5_wqe_data_seg *seg;

	if (hwq_rq_free(rq) == 0)
		return false;
	seg = (struct mlx5_wqe_data_seg *)(rq->buf + (size_t)(rq->pi & rq->mask) * rq->stride);
	seg->byte_count = htobe32(len);
	seg->lkey = htobe32(lkey);
	seg->addr = htobe64(addr);
	if (rq->stride > sizeof(*seg)) {
		/* Ends the list, where the entry has room for more segments (ibv_post_recv(3)). */
		seg[1].byte_count = 0;
		seg[1].lkey = htobe32(MLX5_INVALID_LKEY);
		seg[1].addr = 0;
	}
	rq->pi++;
	return true;
}

/** Announces what was posted. The receive queue has no doorbell register: the record is enough. */
static inline void
hwq_rq_ring(struct hwq_rq *rq)
{
	hwq_fence_wqe_before_dbrec();
	atomic_store_explicit(&rq->dbrec[HWQ_RCV_DBR], htobe32(rq->pi), memory_order_release);
}

/** Frees the entry that a responder CQE names. Entries complete in order. */
static inline void
hwq_rq_complete(struct hwq_rq *rq, uint16_t wqe_counter)
{
	rq->ci = (uint16_t)(wqe_counter + 1);
}

#endif
