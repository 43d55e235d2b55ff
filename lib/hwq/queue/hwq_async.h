/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Asynchronous events: the device reports failures and changes of queues, of ports and of itself
 * (ibv_get_async_event(3)).
 *
 *     fcntl(hwq_async_fd(dev), F_SETFL, O_NONBLOCK)
 *     poll(2) on the descriptor                          readable while an event waits
 *       while (hwq_async_get(dev, &event) == 0) {
 *           ... event.what, event.qp or event.cq ...     the object exists until hwq_async_ack()
 *           hwq_async_ack(&event);
 *       }
 *
 * hwq_qp_destroy() and hwq_cq_destroy() wait until all events that were taken for the object are
 * acknowledged. So between taking and acknowledging an event, a thread other than the object's
 * owner may use the pointer of hwq_qp_set_user() or hwq_cq_set_user(). Only the owner may use other
 * fields of the object.
 *
 * Threads: one thread takes the events of a device. These functions are only for a device whose
 * context has no queues that the caller made by verbs.
 */
#ifndef HWQ_ASYNC_H
#define HWQ_ASYNC_H

#include "hwq_qp.h"

/** The kind of an event; in brackets, the name after IBV_EVENT_ of ibv_get_async_event(3). */
enum hwq_async_what {
	HWQ_ASYNC_OTHER,      /**< an event that needs no action */
	HWQ_ASYNC_QP_FAILED,  /**< qp is in ERR (QP_FATAL, QP_REQ_ERR, QP_ACCESS_ERR) */
	HWQ_ASYNC_SQ_DRAINED, /**< qp is in SQD and idle: call hwq_qp_resume() (SQ_DRAINED) */
	HWQ_ASYNC_CQ_FAILED,  /**< cq has overrun, and gets no more completions (CQ_ERR) */
	HWQ_ASYNC_PORT_UP,    /**< the port is active (PORT_ACTIVE) */
	HWQ_ASYNC_PORT_DOWN,  /**< the port is down (PORT_ERR) */
	/** the device no longer works; objects can only be destroyed (DEVICE_FATAL) */
	HWQ_ASYNC_DEVICE_FAILED,
};

/** An event. */
struct hwq_async {
	enum hwq_async_what what; /**< kind of the event */
	/** Name of the verbs event, for logs; a string that is never freed. */
	const char *name;
	struct hwq_qp *qp;            /**< QP_FAILED and SQ_DRAINED: the QP; otherwise NULL */
	struct hwq_cq *cq;            /**< CQ_FAILED: the CQ; otherwise NULL */
	unsigned int port;            /**< PORT_UP and PORT_DOWN: the port, from 1; otherwise 0 */
	struct hwq_dev *dev;          /**< the device */
	struct ibv_async_event event; /**< private: for hwq_async_ack() */
};

/**
 * Returns the file descriptor that is readable while an event waits.
 *
 * @param dev
 *   The device.
 * @return
 *   The descriptor. It belongs to the device: the caller must not close it.
 */
HWQ_API int hwq_async_fd(const struct hwq_dev *dev);

/**
 * Takes the next event, or waits for it (ibv_get_async_event(3)). Acknowledge each event by
 * hwq_async_ack().
 *
 * @param dev
 *   The device.
 * @param event
 *   Written on success only.
 * @return
 *   0 on success, otherwise:
 * @retval -EAGAIN
 *   There is no event, and the descriptor is O_NONBLOCK: wait by poll(2).
 * @retval -EINTR
 *   A signal interrupted the call: call again.
 * @retval -errno
 *   The error of ibv_get_async_event(3): the device reports no more events.
 */
HWQ_API int hwq_async_get(struct hwq_dev *dev, struct hwq_async *event);

/**
 * Acknowledges an event (ibv_ack_async_event(3)). From then on, its QP or CQ may be destroyed.
 *
 * @param event
 *   An event of hwq_async_get().
 */
HWQ_API void hwq_async_ack(struct hwq_async *event);

#endif
