/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A receive queue's data path: post lists of memory, ring, take completions as wr_ids.
 *
 *     hwq_rq_post_list(rq, wr_id, sge, n)     an entry; the device does not know of it yet
 *     hwq_rq_ring(rq)                         once a burst: all of them
 *          ... a peer sends ...
 *     n = hwq_rq_poll(rq, rec, wr_id, N)      receives, good and failed, oldest first
 *
 * Each SEND, and each RDMA write with immediate data, of the peer takes the oldest entry. Entries
 * complete in order. A queue pair in error flushes them: a record each, with syndrome
 * MLX5_CQE_SYNDROME_WR_FLUSH_ERR.
 *
 * The bytes are those of libmlx5's ibv_post_recv(3): pieces of length 0 are left out, and where an
 * entry has room for more pieces, a segment with MLX5_INVALID_LKEY ends the list.
 *
 * Thread: the owner of the queue's domain, and no other.
 */
#ifndef HWQ_RQ_H
#define HWQ_RQ_H

#include <errno.h>

#include "hwq_db.h"
#include "hwq_seg.h"

/** A receive queue's ring. */
struct hwq_rq {
	uint8_t *buf;
	uint32_t mask;          /**< entries - 1 */
	uint32_t stride;        /**< bytes of an entry */
	uint16_t pi, ci;        /**< free-running */
	uint16_t max_sge;       /**< pieces of memory of an entry */
	__be32 qpn_be;          /**< whose completions are its, as CQEs have it */
	__be32 qpn_mask;        /**< bits of qpn_be that count; 0: every receive on its CQ is its */
	uint64_t *wr_ids;       /**< of each entry */
	_Atomic(__be32) *dbrec; /**< HWQ_RCV_DBR is ours */
	struct hwq_cq *cq;
};

/** Starts a ring over memory and a doorbell record that the caller provides. n entries, a power of
 *  two; qpn 0: every receive on cq is its. */
static inline void
hwq_rq_init(struct hwq_rq *rq, void *buf, uint32_t n, uint32_t stride, uint32_t qpn,
	_Atomic(__be32) *dbrec, struct hwq_cq *cq, uint64_t *wr_ids)
{
	*rq = (struct hwq_rq){
		.buf = (uint8_t *)buf,
		.mask = n - 1,
		.stride = stride,
		.max_sge = (uint16_t)(stride / sizeof(struct mlx5_wqe_data_seg)),
		.qpn_be = htobe32(qpn),
		.qpn_mask = qpn != 0 ? htobe32(0xffffff) : 0,
		.wr_ids = wr_ids,
		.dbrec = dbrec,
		.cq = cq,
	};
}

/** Entries that can be posted now. */
static inline uint32_t
hwq_rq_free(const struct hwq_rq *rq)
{
	return rq->mask + 1 - (uint16_t)(rq->pi - rq->ci);
}

/**
 * Posts an entry that receives into the pieces of memory, in order.
 * @return 0; -ENOMEM the queue is full: take completions; -EINVAL more pieces than rq->max_sge.
 *   Nothing was written then.
 */
static inline int
hwq_rq_post_list(struct hwq_rq *rq, uint64_t wr_id, const struct hwq_sge *sge, unsigned int n_sge)
{
	size_t at = rq->pi & rq->mask;
	struct mlx5_wqe_data_seg *seg = (struct mlx5_wqe_data_seg *)(rq->buf + at * rq->stride);

	if (__builtin_expect(hwq_rq_free(rq) == 0, 0))
		return -ENOMEM;
	if (__builtin_expect(n_sge > rq->max_sge, 0))
		return -EINVAL;
	hwq_put_recv_end(seg, hwq_put_data_list(seg, sge, n_sge), rq->max_sge);
	rq->wr_ids[at] = wr_id;
	rq->pi++;
	return 0;
}

/** Posts one piece of memory to receive into, with wr_id 0. @return false: full. */
static inline bool
hwq_rq_post(struct hwq_rq *rq, uint32_t lkey, uint64_t addr, uint32_t len)
{
	const struct hwq_sge sge = {addr, len, lkey};

	return hwq_rq_post_list(rq, 0, &sge, 1) == 0;
}

/** Announces what was posted. A receive queue has no doorbell register: the record is enough. The
 *  CQ's consumer index goes first, so that the device knows of room for what will complete. */
static inline void
hwq_rq_ring(struct hwq_rq *rq)
{
	hwq_cq_publish(rq->cq);
	hwq_fence_wqe_before_dbrec();
	atomic_store_explicit(&rq->dbrec[HWQ_RCV_DBR], htobe32(rq->pi), memory_order_release);
}

/** wr_id of the oldest entry: of the completion that hwq_cq_peek() shows, if it is this queue's. */
static inline uint64_t
hwq_rq_wr_id(const struct hwq_rq *rq)
{
	return rq->wr_ids[rq->ci & rq->mask];
}

/** Frees the entry that a responder CQE names. Entries complete in order. */
static inline void
hwq_rq_complete(struct hwq_rq *rq, uint16_t wqe_counter)
{
	rq->ci = (uint16_t)(wqe_counter + 1);
}

/* A receive that went well, failed, or was flushed. */
static inline bool
hwq_cqe_is_recv(uint8_t op_own)
{
	uint8_t opcode = op_own >> 4;

	return (opcode >= MLX5_CQE_RESP_WR_IMM && opcode <= MLX5_CQE_RESP_SEND_INV) ||
	       opcode == MLX5_CQE_RESP_ERR;
}

/* The entry at cq->next is a receive of the QPN; it may be decoded then. */
static inline bool
hwq_cq_next_is_recv(const struct hwq_cq *cq, __be32 qpn_be, __be32 qpn_mask)
{
	const struct mlx5_cqe64 *e = (const struct mlx5_cqe64 *)cq->next;
	uint8_t op_own = hwq_cqe_op_own(cq->next);

	if ((op_own & MLX5_CQE_OWNER_MASK) != cq->lap || !hwq_cqe_is_recv(op_own))
		return false;
	hwq_fence_owner_before_cqe();
	return ((e->sop_drop_qpn ^ qpn_be) & qpn_mask) == 0;
}

/**
 * Takes receives of the queue, oldest first, frees their entries, publishes. Stops at the first CQE
 * of another kind or queue, which hwq_cq_poll() shows. rec[i].syndrome is 0 where data came.
 * @return how many are in rec and wr_id, at most n.
 */
static inline unsigned int
hwq_rq_poll(struct hwq_rq *rq, struct hwq_cqe *rec, uint64_t *wr_id, unsigned int n)
{
	struct hwq_cq *cq = rq->cq;
	unsigned int i;

	for (i = 0; i < n && hwq_cq_next_is_recv(cq, rq->qpn_be, rq->qpn_mask); i++) {
		hwq_cqe_decode((const struct mlx5_cqe64 *)cq->next, &rec[i]);
		hwq_cq_advance(cq);
		wr_id[i] = hwq_rq_wr_id(rq);
		rq->ci++;
	}
	hwq_cq_publish(cq);
	return i;
}

#endif
