/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Shared receive queues: entries that the messages of many queue pairs take.
 *
 *     head                                 tail
 *      |                                    |
 *      e0 -> e1 -> e2 -> ... -> ... -> ... en      free entries, each naming the next
 *
 *     hwq_srq_post_list   fills the entry at head; head moves to the one that it names
 *     hwq_srq_ring        the record: how many were posted, ever
 *          ... a message takes an entry; its CQE names it ...
 *     hwq_srq_poll        the entry goes behind tail, which moves to it
 *
 * The last free entry is never filled: a queue of n entries takes n - 1. Links, counter and bytes are
 * those of libmlx5's ibv_post_srq_recv(3). A piece of length 0 is written, as libmlx5 does,
 * and the device reads it as 2 GiB: leave it out.
 *
 * Completions of a basic SRQ come in the CQ of the queue pair that received; those of an XRC SRQ in
 * the CQ that it was created with. Entries complete in any order.
 *
 * Thread: one owner thread, of all queue pairs that use it and of their CQs too.
 */
#ifndef HWQ_SRQ_H
#define HWQ_SRQ_H

#include "hwq_rq.h"

struct ibv_srq;
struct ibv_xrcd;

struct hwq_srq {
	uint8_t *buf;
	uint32_t stride;  /**< bytes of an entry */
	uint32_t mask;    /**< entries - 1 */
	uint32_t head;    /**< first free entry */
	uint32_t tail;    /**< last free entry */
	uint32_t counter; /**< entries posted so far */
	uint16_t max_sge; /**< pieces of memory of an entry */
	uint64_t *wr_ids; /**< of each entry */
	_Atomic(__be32) *dbrec;

	/* Control path. */
	uint32_t srqn;       /**< number: hwq_wr_set_xrc_srqn() takes that of an XRC SRQ */
	struct hwq_dev *dev; /**< NULL: the caller's own SRQ (hwq_obj.h) */
	struct ibv_srq *srq;
	struct hwq_cq *xrc_cq;  /**< of an XRC SRQ */
	struct hwq_cq *on_cq;   /**< the CQ that has room for its entries reserved */
	unsigned int on_cq_qps; /**< QPs of on_cq that receive from it */
	unsigned int refs;      /**< QPs that receive from it */
};

/** What an SRQ is for. */
struct hwq_srq_conf {
	uint32_t n_wr;         /**< entries it must hold at once, from 1 */
	uint32_t max_sge;      /**< pieces of memory of an entry; 0: 1 */
	struct ibv_xrcd *xrcd; /**< of an XRC SRQ; NULL: a basic one */
	struct hwq_cq *cq;     /**< of an XRC SRQ; best it has no other receives */
};

/**
 * Creates one.
 * @return 0; -EINVAL beyond what the device can, or an XRC domain without a CQ; -ENOSPC the CQ of an
 *   XRC SRQ has no room for a CQE of each entry: make it larger; -EOPNOTSUPP MLX5_SRQ_SIGNATURE is
 *   set; -ENOMEM; or the errno of the verbs call.
 */
HWQ_API int hwq_srq_create(struct hwq_dev *dev, const struct hwq_srq_conf *conf,
	struct hwq_srq **srq);

/** Destroys it, with what is posted. If nothing else uses its XRC CQ, unread completions are dropped
 *  from that. @return 0; -EBUSY QPs use it; -EINVAL it is the caller's own: hwq_obj_srq_release(); or the
 *  errno of ibv_destroy_srq(3): it is still there. */
HWQ_API int hwq_srq_destroy(struct hwq_srq *srq);

/**
 * Asks for one IBV_EVENT_SRQ_LIMIT_REACHED, by ibv_get_async_event(3), once fewer than limit posted
 * entries are left (ibv_modify_srq(3)); 0: for none.
 * @return 0; -EINVAL limit is beyond what it holds; or the errno of ibv_modify_srq(3).
 */
HWQ_API int hwq_srq_arm_limit(struct hwq_srq *srq, uint32_t limit);

static inline struct mlx5_wqe_srq_next_seg *
hwq_srq_entry(const struct hwq_srq *srq, uint32_t index)
{
	return (struct mlx5_wqe_srq_next_seg *)(srq->buf + (size_t)index * srq->stride);
}

/** Starts a queue over memory whose entries are linked already, as libmlx5 leaves them. n entries, a
 *  power of two: 0 is the first free one, n - 1 the last. */
static inline void
hwq_srq_init(struct hwq_srq *srq, void *buf, uint32_t n, uint32_t stride, _Atomic(__be32) *dbrec,
	uint64_t *wr_ids)
{
	srq->buf = (uint8_t *)buf;
	srq->stride = stride;
	srq->mask = n - 1;
	srq->head = 0;
	srq->tail = n - 1;
	srq->counter = 0;
	srq->max_sge = (uint16_t)((stride - sizeof(struct mlx5_wqe_srq_next_seg)) /
				  sizeof(struct mlx5_wqe_data_seg));
	srq->dbrec = dbrec;
	srq->wr_ids = wr_ids;
}

/** Entries that it holds at once. */
static inline uint32_t
hwq_srq_size(const struct hwq_srq *srq)
{
	return srq->mask;
}

/**
 * Posts an entry that receives into the pieces of memory, in order.
 * @return 0; -EINVAL more pieces than srq->max_sge; -ENOMEM the queue is full: take completions.
 *   Nothing was written then.
 */
static inline int
hwq_srq_post_list(struct hwq_srq *srq, uint64_t wr_id, const struct hwq_sge *sge,
	unsigned int n_sge)
{
	struct mlx5_wqe_srq_next_seg *next = hwq_srq_entry(srq, srq->head);
	struct mlx5_wqe_data_seg *seg = (struct mlx5_wqe_data_seg *)(next + 1);
	unsigned int i;

	if (__builtin_expect(n_sge > srq->max_sge, 0))
		return -EINVAL;
	if (__builtin_expect(srq->head == srq->tail, 0))
		return -ENOMEM;
	for (i = 0; i < n_sge; i++)
		hwq_put_data(&seg[i], sge[i].lkey, sge[i].addr, sge[i].len);
	hwq_put_recv_end(seg, n_sge, srq->max_sge);
	srq->wr_ids[srq->head] = wr_id;
	srq->head = be16toh(next->next_wqe_index);
	srq->counter++;
	return 0;
}

/** Announces what was posted. Whoever polls the CQs publishes them: hwq_srq_poll(), hwq_cq_poll(). */
static inline void
hwq_srq_ring(struct hwq_srq *srq)
{
	hwq_fence_wqe_before_dbrec();
	atomic_store_explicit(srq->dbrec, htobe32(srq->counter), memory_order_release);
}

/** Frees the entry that a responder CQE names. @return its wr_id. */
static inline uint64_t
hwq_srq_complete(struct hwq_srq *srq, uint16_t wqe_counter)
{
	uint32_t index = wqe_counter & srq->mask;

	hwq_srq_entry(srq, srq->tail)->next_wqe_index = htobe16((uint16_t)index);
	srq->tail = index;
	return srq->wr_ids[index];
}

/**
 * Takes receives from a CQ whose receives are all of this SRQ, oldest first, frees their entries,
 * publishes. rec[i].qpn says which QP received, rec[i].syndrome is 0 where data came. Stops at the
 * first CQE that is no receive. On a CQ that other receive queues use too, hwq_cq_peek() and
 * rec.qpn tell whose a receive is, and hwq_srq_complete() frees it.
 * @return how many are in rec and wr_id, at most n.
 */
static inline unsigned int
hwq_srq_poll(struct hwq_srq *srq, struct hwq_cq *cq, struct hwq_cqe *rec, uint64_t *wr_id,
	unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n && hwq_cq_next_is_recv(cq, 0, 0); i++) {
		hwq_cqe_decode((const struct mlx5_cqe64 *)cq->next, &rec[i]);
		hwq_cq_advance(cq);
		wr_id[i] = hwq_srq_complete(srq, rec[i].wqe_counter);
	}
	hwq_cq_publish(cq);
	return i;
}

#endif
