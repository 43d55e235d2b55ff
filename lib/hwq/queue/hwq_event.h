/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Sleeping until a WQE completes: channels, arming, events.
 *
 *     hwq_channel_create                      one for the device, or one for each sleeping thread
 *       hwq_cq_create_on                      a CQ whose events come to the channel
 *         hwq_cq_arm                          asks for one event
 *         hwq_channel_get_event               waits for the event; it has disarmed the CQ
 *         hwq_cq_ack_events
 *       hwq_cq_destroy
 *     hwq_channel_destroy
 *
 * An armed CQ makes one event at the next completion, which disarms it (ibv_req_notify_cq(3)). A
 * completion that comes before the arming makes no event. So poll once more after arming:
 *
 *     hwq_cq_arm(cq, false);
 *     while (running) {
 *         while ((n = hwq_cq_poll(cq, rec, N)) != 0)       takes earlier completions too
 *             ...
 *         hwq_channel_get_event(ch, &cq);                  sleeps; or poll(2) on ch->fd first
 *         hwq_cq_ack_events(cq, 1);
 *         hwq_cq_arm(cq, false);
 *     }
 *
 * Arming tells the device hwq's consumer index, and a sequence number that counts events. In
 * libmlx5 both numbers are out of date, so do not call ibv_req_notify_cq(3) on these CQs.
 *
 * Threads: any thread may create and destroy a channel, but not two threads at once on one device.
 * Only the owner of a CQ's domain calls the other functions. If another thread waits for events,
 * the two threads must synchronize: only one of them uses the CQ at a time.
 */
#ifndef HWQ_EVENT_H
#define HWQ_EVENT_H

#include "hwq_atomic.h"
#include "hwq_cq.h"
#include "hwq_db.h"
#include "hwq_dev.h"

struct ibv_comp_channel;

/**
 * A completion channel, to which the events of any number of CQs of one device go. Only hwq writes
 * this struct.
 */
struct hwq_channel {
	int fd; /**< readable while an event waits (poll(2)); fcntl(2) may make it O_NONBLOCK */
	struct ibv_comp_channel *channel; /**< the verbs object */
	struct hwq_dev *dev;              /**< the device */
	struct hwq_count refs;            /**< number of CQs whose events go to this channel */
};

/**
 * Creates a completion channel. The caller destroys it before the device.
 *
 * @param dev
 *   The device.
 * @param channel
 *   Written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -ENOMEM
 *   There is not enough memory.
 * @retval -errno
 *   The error of ibv_create_comp_channel(3).
 */
HWQ_API int hwq_channel_create(struct hwq_dev *dev, struct hwq_channel **channel);

/**
 * Destroys a channel.
 *
 * @param channel
 *   The channel.
 * @return
 *   0 on success, otherwise:
 * @retval -EBUSY The events of CQs go to this channel: destroy the CQs first.
 * @retval -errno
 *   The error of ibv_destroy_comp_channel(3): the channel still exists, call again.
 */
HWQ_API int hwq_channel_destroy(struct hwq_channel *channel);

/**
 * Creates a CQ as hwq_cq_create() does, with events. hwq_cq_destroy() waits until each event of the
 * CQ that hwq_channel_get_event() returned is acknowledged.
 *
 * @param domain
 *   The domain, whose owner thread will own the new object.
 * @param n_cqe
 *   As for hwq_cq_create().
 * @param channel The channel for the CQ's events, which must outlive the CQ. NULL: the CQ has no
 *   events.
 * @param cq
 *   Written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -errno
 *   An error of hwq_cq_create().
 */
HWQ_API int hwq_cq_create_on(struct hwq_domain *domain, uint32_t n_cqe, struct hwq_channel *channel,
	struct hwq_cq **cq);

/**
 * Waits for an event (ibv_get_cq_event(3)). Acknowledge each event by hwq_cq_ack_events().
 *
 * @param channel
 *   The channel.
 * @param cq The CQ of the event, now disarmed; written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -EAGAIN
 *   There is no event, and fd is O_NONBLOCK: wait by poll(2).
 * @retval -EINTR
 *   A signal interrupted the call: call again.
 * @retval -errno
 *   The error of ibv_get_cq_event(3).
 */
HWQ_API int hwq_channel_get_event(struct hwq_channel *channel, struct hwq_cq **cq);

/**
 * Acknowledges events of a CQ that hwq_channel_get_event() returned (ibv_ack_cq_events(3)). One
 * call for many events is cheaper than many calls.
 *
 * @param cq
 *   The CQ.
 * @param n
 *   Number of events.
 */
HWQ_API void hwq_cq_ack_events(struct hwq_cq *cq, unsigned int n);

/**
 * Counts an event of a caller's own CQ (hwq_obj.h). Call it after each ibv_get_cq_event(3) that
 * returned an event of the CQ, and before hwq_cq_arm(). For CQs of hwq this call is not needed,
 * because hwq_channel_get_event() counts their events.
 * @param cq The CQ.
 */
static inline void
hwq_cq_event(struct hwq_cq *cq)
{
	cq->arm_sn++;
}

/**
 * Requests one event at the next completion, and publishes the CQ's consumer index. Then poll once
 * more: a completion that came earlier makes no event.
 * @param cq The CQ.
 * @param solicited_only True: only a failed completion makes the event, or a receive whose sender
 *   asked for an event (HWQ_WQE_SOLICITED).
 */
static inline void
hwq_cq_arm(struct hwq_cq *cq, bool solicited_only)
{
	uint32_t cmd = solicited_only ? MLX5_CQ_DB_REQ_NOT_SOL : MLX5_CQ_DB_REQ_NOT;
	uint32_t word = (cq->arm_sn & 3) << 28 | cmd | (cq->ci & HWQ_CQ_CI_MASK);

	hwq_cq_publish(cq);
	hwq_store_release(&cq->dbrec[HWQ_CQ_DBR_ARM], htobe32(word));
	hwq_fence_dbrec_before_doorbell();
	hwq_mmio_write64(cq->uar + MLX5_CQ_DOORBELL, htobe64((uint64_t)word << 32 | cq->cqn));
	hwq_fence_doorbell_flush();
}

#endif
