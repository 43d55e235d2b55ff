/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Sleeping until something completes: channels, arming, events.
 *
 * An armed CQ makes one event at the next completion, and is disarmed by it
 * (ibv_req_notify_cq(3)). A completion may come between the last poll and the arming, so:
 *
 *     hwq_cq_arm(cq, false);
 *     while (running) {
 *         while ((n = hwq_cq_poll(cq, rec, N)) != 0)       poll again after arming: what came
 *             ...                                          before makes no event
 *         poll(2) or hwq_channel_get_event(ch, &cq);       sleep: nothing can have been missed
 *         hwq_cq_ack_events(cq, 1);
 *         hwq_cq_arm(cq, false);
 *     }
 *
 * The arming carries hwq's own consumer index, and a sequence number that counts the events taken:
 * libmlx5's own (ibv_req_notify_cq(3)) are stale.
 *
 * Thread: the owner of the CQ's domain. Who gets events elsewhere hands the CQ over, as any other
 * object, before it is armed again.
 */
#ifndef HWQ_EVENT_H
#define HWQ_EVENT_H

#include "hwq_cq.h"
#include "hwq_db.h"
#include "hwq_dev.h"

struct ibv_comp_channel;

/** A completion channel: where the events of any number of CQs of a device come. */
struct hwq_channel {
	int fd; /**< readable when there is an event; for poll(2), and O_NONBLOCK by fcntl(2) */
	struct ibv_comp_channel *channel;
	struct hwq_dev *dev;
	unsigned int refs; /**< CQs on it */
};

/** @return 0; -ENOMEM; or the errno of ibv_create_comp_channel(3). */
HWQ_API int hwq_channel_create(struct hwq_dev *dev, struct hwq_channel **channel);
/** @return 0; -EBUSY CQs are on it; or -errno: it is still there. */
HWQ_API int hwq_channel_destroy(struct hwq_channel *channel);

/** hwq_cq_create() of a CQ whose events come on the channel; NULL: of one without events. Its
 *  hwq_cq_destroy() waits until every event of it that was got is acknowledged. */
HWQ_API int hwq_cq_create_on(struct hwq_domain *domain, uint32_t n_cqe, struct hwq_channel *channel,
	struct hwq_cq **cq);

/**
 * Waits for an event, whose CQ is disarmed. Each is to be acknowledged (ibv_get_cq_event(3)).
 * @return 0; -EAGAIN none is there and the fd is non-blocking; -EINTR; or another errno.
 */
HWQ_API int hwq_channel_get_event(struct hwq_channel *channel, struct hwq_cq **cq);

/** Acknowledges n events of the CQ; many at once are cheaper. */
HWQ_API void hwq_cq_ack_events(struct hwq_cq *cq, unsigned int n);

/** For a CQ that is the caller's own (hwq_obj.h), after ibv_get_cq_event(3) showed an event of it. */
static inline void
hwq_cq_event(struct hwq_cq *cq)
{
	cq->arm_sn++;
}

/** Asks for an event at the next completion; at the next that is solicited or failed, if
 *  solicited_only. Publishes. */
static inline void
hwq_cq_arm(struct hwq_cq *cq, bool solicited_only)
{
	uint32_t cmd = solicited_only ? MLX5_CQ_DB_REQ_NOT_SOL : MLX5_CQ_DB_REQ_NOT;
	uint32_t word = (cq->arm_sn & 3) << 28 | cmd | (cq->ci & HWQ_CQ_CI_MASK);

	hwq_cq_publish(cq);
	atomic_store_explicit(&cq->dbrec[HWQ_CQ_DBR_ARM], htobe32(word), memory_order_release);
	hwq_fence_dbrec_before_doorbell();
	hwq_mmio_write64(cq->uar + MLX5_CQ_DOORBELL, htobe64((uint64_t)word << 32 | cq->cqn));
	hwq_fence_doorbell_flush();
}

#endif
