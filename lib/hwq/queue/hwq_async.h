/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Asynchronous events: what the device tells of queues, ports and itself, without being asked
 * (ibv_get_async_event(3)).
 *
 *     fcntl(hwq_async_fd(dev), F_SETFL, O_NONBLOCK)
 *     poll(2) on the descriptor                          readable while an event waits
 *       while (hwq_async_get(dev, &event) == 0) {
 *           ... event.what, event.qp or event.cq ...     the object exists until the event is acknowledged
 *           hwq_async_ack(&event);
 *       }
 *
 * hwq_qp_destroy() and hwq_cq_destroy() wait until each event that was taken for the object is
 * acknowledged. So what hwq_qp_set_user() or hwq_cq_set_user() named may be used from take to
 * acknowledgement, by another thread than the owner of the object; all else of the object belongs to its
 * owner.
 *
 * Threads: one thread takes the events of a device. Only for a device whose context has no queues that the
 * caller made by verbs.
 */
#ifndef HWQ_ASYNC_H
#define HWQ_ASYNC_H

#include "hwq_qp.h"

/** What happened; in brackets, IBV_EVENT_ of ibv_get_async_event(3). */
enum hwq_async_what {
	HWQ_ASYNC_OTHER,         /**< nothing that a queue's owner has to act on */
	HWQ_ASYNC_QP_FAILED,     /**< qp is in ERR (QP_FATAL, QP_REQ_ERR, QP_ACCESS_ERR) */
	HWQ_ASYNC_SQ_DRAINED,    /**< qp is in SQD and runs nothing: hwq_qp_resume() (SQ_DRAINED) */
	HWQ_ASYNC_CQ_FAILED,     /**< cq has overrun, and gets no more completions (CQ_ERR) */
	HWQ_ASYNC_PORT_UP,       /**< port (PORT_ACTIVE) */
	HWQ_ASYNC_PORT_DOWN,     /**< port (PORT_ERR) */
	HWQ_ASYNC_DEVICE_FAILED, /**< nothing works any more but destroying (DEVICE_FATAL) */
};

/** An event. */
struct hwq_async {
	enum hwq_async_what what;
	const char *name;  /**< of the verbs event, for logs; a string that is never freed */
	struct hwq_qp *qp; /**< of QP_FAILED and SQ_DRAINED; else NULL */
	struct hwq_cq *cq; /**< of CQ_FAILED; else NULL */
	unsigned int port; /**< of PORT_UP and PORT_DOWN: from 1; else 0 */
	struct hwq_dev *dev;
	struct ibv_async_event event; /**< for hwq_async_ack() */
};

/** @return the descriptor that is readable while an event waits. It is the device's: do not close it. */
HWQ_API int hwq_async_fd(const struct hwq_dev *dev);

/**
 * Takes the next event, or waits for it (ibv_get_async_event(3)). hwq_async_ack() follows each one.
 * @param event written on success only.
 * @return 0; -EAGAIN there is none and the descriptor is O_NONBLOCK: wait by poll(2); -EINTR a signal came:
 *   call again; or another errno of ibv_get_async_event(3): the device tells nothing any more.
 */
HWQ_API int hwq_async_get(struct hwq_dev *dev, struct hwq_async *event);

/** Acknowledges an event (ibv_ack_async_event(3)). Its qp or cq may be destroyed from then on. */
HWQ_API void hwq_async_ack(struct hwq_async *event);

#endif
