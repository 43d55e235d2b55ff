/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Shared receive queues (SRQs): the messages of many queue pairs use entries of one queue.
 *
 *     head                                 tail
 *      |                                    |
 *      e0 -> e1 -> e2 -> ... -> ... -> ... en      free entries; each has the next entry's index
 *
 *     hwq_srq_create                      or hwq_obj_srq() for the caller's own SRQ
 *       hwq_qp_create with conf.srq       any number of queue pairs
 *       hwq_srq_post_list                 fills the entry at head; head becomes the next free entry
 *       hwq_srq_ring                      tells the device how many entries were ever posted
 *          ... a message uses an entry; its CQE has the entry's index ...
 *       hwq_srq_poll                      frees the entry: it becomes the tail
 *     hwq_srq_destroy                     after its queue pairs
 *
 * The last free entry is never filled: a queue of n entries accepts n - 1. Links, counter and bytes
 * are those of libmlx5's ibv_post_srq_recv(3). As in libmlx5, a piece of length 0 is written, and
 * the device reads its length as 2 GiB: do not pass such pieces. The caller owns the memory to
 * which an entry refers; the device may write this memory until the entry has completed.
 *
 * A receive of a basic SRQ completes in the CQ of the queue pair that received. A receive of an XRC
 * SRQ completes in the CQ with which the SRQ was created. Entries complete in any order.
 *
 * Thread: the SRQ, all queue pairs that receive from it, and their CQs have one owner thread. Only
 * this thread calls the functions of this file.
 */
#ifndef HWQ_SRQ_H
#define HWQ_SRQ_H

#include "hwq_atomic.h"
#include "hwq_rq.h"

struct ibv_srq;
struct ibv_xrcd;

/** A shared receive queue. Only hwq writes this struct. */
struct hwq_srq {
	uint8_t *buf;     /**< the entries */
	uint32_t stride;  /**< bytes of an entry */
	uint32_t mask;    /**< number of entries - 1 */
	uint32_t head;    /**< index of the first free entry */
	uint32_t tail;    /**< index of the last free entry */
	uint32_t counter; /**< number of entries that were ever posted */
	uint16_t max_sge; /**< most data segments of an entry */
	uint64_t *wr_ids; /**< wr_id of each entry */
	__be32 *dbrec;    /**< doorbell record, which contains the counter */

	/* Fields of the control path. */
	/** number of the SRQ; for an XRC SRQ, peers pass it to hwq_wr_set_xrc_srqn() */
	uint32_t srqn;
	struct hwq_dev *dev;    /**< device of the SRQ; NULL: the caller's own SRQ (hwq_obj.h) */
	struct ibv_srq *srq;    /**< the verbs object */
	struct hwq_cq *xrc_cq;  /**< CQ of an XRC SRQ; NULL: a basic SRQ */
	struct hwq_cq *on_cq;   /**< the CQ in which room for the SRQ's receives is reserved */
	unsigned int on_cq_qps; /**< number of QPs of on_cq that receive from the SRQ */
	unsigned int refs;      /**< number of QPs that receive from the SRQ */
};

/** Configuration of an SRQ. */
struct hwq_srq_conf {
	uint32_t n_wr;         /**< number of entries that the SRQ must hold at once, at least 1 */
	uint32_t max_sge;      /**< most data segments of an entry; 0 means 1 */
	struct ibv_xrcd *xrcd; /**< XRC domain of an XRC SRQ; NULL: a basic SRQ */
	/** CQ of an XRC SRQ, preferably a CQ without other receives; otherwise NULL */
	struct hwq_cq *cq;
};

/**
 * Creates an SRQ (ibv_create_srq_ex(3)). The caller destroys it by hwq_srq_destroy(), before the
 * device and before conf->cq.
 *
 * @param dev
 *   The device.
 * @param conf
 *   The configuration; read during the call.
 * @param srq
 *   Written on success only.
 * @return
 *   0 on success. Otherwise a log line says what the caller can do:
 * @retval -EINVAL
 *   The sizes are beyond the device's limits, or conf has an XRC domain without a CQ.
 * @retval -ENOSPC
 *   conf->cq has fewer free entries than the SRQ has entries: create a larger CQ.
 * @retval -EOPNOTSUPP
 *   The environment variable MLX5_SRQ_SIGNATURE is set: unset it.
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of ibv_create_srq_ex(3) or mlx5dv_init_obj(3).
 */
HWQ_API int hwq_srq_create(struct hwq_dev *dev, const struct hwq_srq_conf *conf,
	struct hwq_srq **srq);

/**
 * Destroys an SRQ. Posted entries are lost. If no other queue uses the CQ of an XRC SRQ, the SRQ's
 * completions are dropped from the CQ.
 *
 * @param srq
 *   The SRQ.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY
 *   QPs receive from the SRQ: destroy them first.
 * @retval -EINVAL
 *   It is the caller's own SRQ: call hwq_obj_srq_release().
 * @retval -errno
 *   The error of ibv_destroy_srq(3): the SRQ still exists, call again.
 */
HWQ_API int hwq_srq_destroy(struct hwq_srq *srq);

/**
 * Requests one event IBV_EVENT_SRQ_LIMIT_REACHED when fewer than limit posted entries are left
 * (ibv_modify_srq(3)). ibv_get_async_event(3) returns the event. Call this again for the next
 * event.
 *
 * @param srq
 *   The SRQ.
 * @param limit
 *   Number of entries; 0: no event.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   limit is more than hwq_srq_size().
 * @retval -errno
 *   The error of ibv_modify_srq(3): nothing has changed.
 */
HWQ_API int hwq_srq_arm_limit(struct hwq_srq *srq, uint32_t limit);

/* Returns the entry with this index. */
static inline struct mlx5_wqe_srq_next_seg *
hwq_srq_entry(const struct hwq_srq *srq, uint32_t index)
{
	return (struct mlx5_wqe_srq_next_seg *)(srq->buf + (size_t)index * srq->stride);
}

/**
 * Starts an empty queue over memory that the caller provides. hwq_srq_create() and hwq_obj_srq()
 * call it. The caller owns all memory.
 * @param srq Written.
 * @param buf n entries of stride bytes, linked in order as libmlx5 leaves them: entry 0 is the
 *   first free entry, entry n - 1 the last.
 * @param n Number of entries, a power of two.
 * @param stride Bytes of an entry: 16 for the link, and 16 for each piece of memory.
 * @param dbrec The doorbell record: one word.
 * @param wr_ids Room for n numbers.
 */
static inline void
hwq_srq_init(struct hwq_srq *srq, void *buf, uint32_t n, uint32_t stride, __be32 *dbrec,
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

/**
 * Returns how many entries the SRQ can hold at once.
 * @param srq The SRQ.
 * @return The number of entries.
 */
static inline uint32_t
hwq_srq_size(const struct hwq_srq *srq)
{
	return srq->mask;
}

/**
 * Posts an entry that receives into pieces of memory, in order (ibv_post_srq_recv(3)). The device
 * sees it after hwq_srq_ring(). After an error nothing is written.
 *
 * @param srq
 *   The SRQ.
 * @param wr_id
 *   A number that hwq_srq_poll() returns with the completion.
 * @param sge
 *   The pieces, read during the call. Their memory needs HWQ_ACCESS_LOCAL_WRITE.
 * @param n_sge
 *   Number of pieces.
 * @return
 *   0 on success, otherwise:
 * @retval -EINVAL
 *   n_sge is more than srq->max_sge.
 * @retval -ENOMEM
 *   The queue is full: poll, then post again.
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

/**
 * Announces all entries posted so far. Call it once a burst. It does not publish a CQ's consumer
 * index; hwq_srq_poll() and hwq_cq_poll() publish it.
 * @param srq The SRQ.
 */
static inline void
hwq_srq_ring(struct hwq_srq *srq)
{
	hwq_fence_wqe_before_dbrec();
	hwq_store_release(srq->dbrec, htobe32(srq->counter));
}

/**
 * Frees an entry, for callers that take completions by hwq_cq_peek() or hwq_cq_poll().
 * hwq_srq_poll() frees entries itself.
 * @param srq The SRQ.
 * @param wqe_counter The entry's index: hwq_cqe.wqe_counter of its receive.
 * @return The entry's wr_id.
 */
static inline uint64_t
hwq_srq_complete(struct hwq_srq *srq, uint16_t wqe_counter)
{
	uint32_t index = wqe_counter & srq->mask;

	hwq_srq_entry(srq, srq->tail)->next_wqe_index = htobe16((uint16_t)index);
	srq->tail = index;
	return srq->wr_ids[index];
}

/**
 * Takes completed receives from a CQ, oldest first. It frees their entries and publishes the CQ's
 * consumer index. It stops at the first CQE that is not of a receive: take such a CQE by
 * hwq_cq_poll().
 *
 * All receives on the CQ must belong to this SRQ. If other receive queues use the CQ, take
 * completions by hwq_cq_peek(), compare their qpn, and call hwq_srq_complete() for the receives of
 * this SRQ.
 * @param srq The SRQ.
 * @param cq The CQ.
 * @param rec Room for n records. rec[i].qpn is the QP that received. rec[i].syndrome is 0 if data
 *   arrived, otherwise an enum hwq_syndrome; rec[i].byte_cnt is the length in bytes.
 * @param wr_id Room for n numbers: the wr_id of each record's entry.
 * @param n Largest number of receives.
 * @return Number of receives in rec and wr_id, at most n.
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
