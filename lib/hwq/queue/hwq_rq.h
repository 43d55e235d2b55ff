/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A receive queue's data path: post lists of memory, ring, take completions as wr_ids.
 *
 *            ci                          pi
 *     -------+---------------------------+-------------
 *      free  | posted: the device's      | free
 *
 *     hwq_rq_post_list(rq, wr_id, sge, n)     fills one entry; the device does not see it yet
 *     hwq_rq_ring(rq)                         once a burst: the device sees all new entries
 *          ... a peer sends ...
 *     n = hwq_rq_poll(rq, rec, wr_id, N)      completed receives, good and failed, oldest first
 *     hwq_rq_take(rq, &done)                  or one that succeeded, without wr_id and rare fields
 *
 * The ring and the wr_ids belong to a queue pair (hwq_qp.h) or a receive work queue (hwq_obj.h).
 * The caller owns the memory to which an entry refers; the device may write this memory until the
 * entry has completed.
 *
 * Each SEND of the peer, and each of its RDMA writes with immediate data, uses the oldest entry.
 * Entries complete in order. A queue pair in error flushes its entries: each makes a CQE with the
 * syndrome HWQ_SYNDROME_WR_FLUSH.
 *
 * The bytes are those of libmlx5's ibv_post_recv(3): pieces of length 0 are left out. If an entry
 * has room for more pieces, a segment with MLX5_INVALID_LKEY ends the list.
 *
 * Thread: only the owner of the queue's domain calls the functions of this file.
 */
#ifndef HWQ_RQ_H
#define HWQ_RQ_H

#include <errno.h>

#include "hwq_atomic.h"
#include "hwq_db.h"
#include "hwq_seg.h"

/** A receive queue's ring. */
struct hwq_rq {
	uint8_t *buf;     /**< address of the entries */
	uint32_t mask;    /**< number of entries - 1 */
	uint32_t stride;  /**< bytes of an entry */
	uint16_t pi;      /**< index of the next entry to post; runs free at 16 bits */
	uint16_t ci;      /**< index of the oldest posted entry; runs free at 16 bits */
	uint16_t max_sge; /**< most data segments of an entry */
	__be32 qpn_be;    /**< QPN of the queue's completions, in the byte order of CQEs */
	/** Bits of qpn_be to compare. 0: all receives on the CQ belong to this queue. */
	__be32 qpn_mask;
	uint64_t *wr_ids;  /**< wr_id of each entry */
	__be32 *dbrec;     /**< doorbell record; the queue writes word HWQ_RCV_DBR only */
	struct hwq_cq *cq; /**< the CQ of the queue's receives */
};

/**
 * Starts an empty ring over memory that the caller provides. hwq_qp_create() and the functions of
 * hwq_obj.h call it. The caller owns all memory.
 * @param rq Written.
 * @param buf The ring: n entries of stride bytes.
 * @param n Number of entries, a power of two, at most 32768.
 * @param stride Bytes of an entry; 16 for each data segment.
 * @param qpn The QP whose receives belong to the queue; 0: every receive on cq belongs to the
 *   queue.
 * @param dbrec The doorbell record: two words.
 * @param cq The CQ of the queue's receives.
 * @param wr_ids Room for n numbers.
 */
static inline void
hwq_rq_init(struct hwq_rq *rq, void *buf, uint32_t n, uint32_t stride, uint32_t qpn, __be32 *dbrec,
	struct hwq_cq *cq, uint64_t *wr_ids)
{
	memset(rq, 0, sizeof(*rq));
	rq->buf = (uint8_t *)buf;
	rq->mask = n - 1;
	rq->stride = stride;
	rq->max_sge = (uint16_t)(stride / sizeof(struct mlx5_wqe_data_seg));
	rq->qpn_be = htobe32(qpn);
	rq->qpn_mask = qpn != 0 ? htobe32(0xffffff) : 0;
	rq->wr_ids = wr_ids;
	rq->dbrec = dbrec;
	rq->cq = cq;
}

/**
 * Returns how many entries can be posted now.
 * @param rq The receive queue.
 * @return The number of entries.
 */
static inline uint32_t
hwq_rq_free(const struct hwq_rq *rq)
{
	return rq->mask + 1 - (uint16_t)(rq->pi - rq->ci);
}

/**
 * Posts an entry that receives into pieces of memory, in order (ibv_post_recv(3)). The device sees
 * it after hwq_rq_ring(). After an error nothing is written.
 *
 * @param rq
 *   The receive queue.
 * @param wr_id
 *   A number that hwq_rq_poll() returns with the completion.
 * @param sge
 *   The pieces, read during the call. Their memory needs HWQ_ACCESS_LOCAL_WRITE.
 * @param n_sge
 *   Number of pieces.
 * @return
 *   0 on success, otherwise:
 * @retval -ENOMEM
 *   The queue is full: poll, then post again.
 * @retval -EINVAL
 *   n_sge is more than rq->max_sge.
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

/**
 * Posts an entry of one piece of memory, with wr_id 0: a form of hwq_rq_post_list() for callers
 * without wr_ids.
 * @param rq The receive queue.
 * @param lkey The local key of the memory.
 * @param addr The first byte of the memory, a virtual address or an offset in the key.
 * @param len Bytes.
 * @return False if the queue is full; then nothing was written: poll, then post again.
 */
static inline bool
hwq_rq_post(struct hwq_rq *rq, uint32_t lkey, uint64_t addr, uint32_t len)
{
	const struct hwq_sge sge = {addr, len, lkey};

	return hwq_rq_post_list(rq, 0, &sge, 1) == 0;
}

/**
 * Announces all entries posted so far. Call it once a burst. It writes the doorbell record only; a
 * receive queue has no doorbell register. It publishes the CQ's consumer index first: the device
 * must see free CQEs before it sees the entries that need them.
 * @param rq The receive queue.
 */
static inline void
hwq_rq_ring(struct hwq_rq *rq)
{
	hwq_cq_publish(rq->cq);
	hwq_fence_wqe_before_dbrec();
	hwq_store_release(&rq->dbrec[HWQ_RCV_DBR], htobe32(rq->pi));
}

/**
 * Returns the wr_id of an entry, for callers that take completions by hwq_cq_peek() or
 * hwq_cq_poll().
 * @param rq The receive queue.
 * @param wqe_counter The entry's index: hwq_cqe.wqe_counter of its receive.
 * @return The wr_id.
 */
static inline uint64_t
hwq_rq_wr_id(const struct hwq_rq *rq, uint16_t wqe_counter)
{
	return rq->wr_ids[wqe_counter & rq->mask];
}

/**
 * Frees an entry and all entries that were posted before it, for callers that take completions by
 * hwq_cq_peek() or hwq_cq_poll(). hwq_rq_poll() frees entries itself.
 * @param rq The receive queue.
 * @param wqe_counter The entry's index: hwq_cqe.wqe_counter of its receive.
 */
static inline void
hwq_rq_complete(struct hwq_rq *rq, uint16_t wqe_counter)
{
	rq->ci = (uint16_t)(wqe_counter + 1);
}

/* Returns true if the completion is of a receive: good, failed or flushed. */
static inline bool
hwq_cqe_is_recv(uint8_t op_own)
{
	uint8_t opcode = op_own >> 4;

	return (opcode >= MLX5_CQE_RESP_WR_IMM && opcode <= MLX5_CQE_RESP_SEND_INV) ||
	       opcode == MLX5_CQE_RESP_ERR;
}

/*
 * Returns true if the device has written the CQE at cq->next, and the CQE is of a receive of the
 * QPN. Only then may the CQE be decoded.
 */
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

/** A receive that succeeded: the fields of its CQE that do not depend on the transport. */
struct hwq_recv_done {
	uint32_t byte_cnt; /**< bytes that arrived */
	/** immediate data, or the key that was invalidated; otherwise undefined */
	__be32 imm_inval;
	uint8_t opcode; /**< MLX5_CQE_RESP_WR_IMM, _SEND, _SEND_IMM or _SEND_INV */
};

/**
 * Takes the oldest completed receive of the queue if it succeeded, decodes a few fields of its CQE,
 * and frees its entry. The device sees the free CQE after hwq_cq_publish(), which the caller calls
 * once a burst.
 * @param rq The receive queue.
 * @param done Written if the result is true.
 * @return False if there is no completion yet, or if the next CQE is of another kind. hwq_rq_poll()
 *   takes a receive that failed.
 */
static inline bool
hwq_rq_take(struct hwq_rq *rq, struct hwq_recv_done *done)
{
	struct hwq_cq *cq = rq->cq;
	const struct mlx5_cqe64 *e = (const struct mlx5_cqe64 *)cq->next;

	if (!hwq_cq_next_is_recv(cq, rq->qpn_be, rq->qpn_mask) ||
		__builtin_expect(e->op_own >> 4 == MLX5_CQE_RESP_ERR, 0))
		return false;
	done->byte_cnt = be32toh(e->byte_cnt);
	done->imm_inval = e->imm_inval_pkey;
	done->opcode = e->op_own >> 4;
	hwq_cq_advance(cq);
	rq->ci++;
	return true;
}

/**
 * Takes completed receives of the queue, oldest first. It frees their entries and publishes the
 * CQ's consumer index. It stops at the first CQE of another kind or of another queue: take such a
 * CQE by hwq_cq_poll().
 * @param rq The receive queue.
 * @param rec Room for n records. rec[i].syndrome is 0 if data arrived, otherwise an enum
 *   hwq_syndrome; rec[i].byte_cnt is the length in bytes.
 * @param wr_id Room for n numbers: the wr_id of each record's entry.
 * @param n Largest number of receives.
 * @return Number of receives in rec and wr_id, at most n.
 */
static inline unsigned int
hwq_rq_poll(struct hwq_rq *rq, struct hwq_cqe *rec, uint64_t *wr_id, unsigned int n)
{
	struct hwq_cq *cq = rq->cq;
	unsigned int i;

	for (i = 0; i < n && hwq_cq_next_is_recv(cq, rq->qpn_be, rq->qpn_mask); i++) {
		hwq_cqe_decode((const struct mlx5_cqe64 *)cq->next, &rec[i]);
		hwq_cq_advance(cq);
		wr_id[i] = hwq_rq_wr_id(rq, rec[i].wqe_counter);
		rq->ci++;
	}
	hwq_cq_publish(cq);
	return i;
}

#endif
