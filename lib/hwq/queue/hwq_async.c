/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes asynchronous events: finds the object and the meaning of each event. */
#include "hwq_async.h"

#include <string.h>

#include "hwq_verbs_async.h"

static enum hwq_async_what
what_of(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		return HWQ_ASYNC_QP_FAILED;
	case IBV_EVENT_SQ_DRAINED:
		return HWQ_ASYNC_SQ_DRAINED;
	case IBV_EVENT_CQ_ERR:
		return HWQ_ASYNC_CQ_FAILED;
	case IBV_EVENT_PORT_ACTIVE:
		return HWQ_ASYNC_PORT_UP;
	case IBV_EVENT_PORT_ERR:
		return HWQ_ASYNC_PORT_DOWN;
	case IBV_EVENT_DEVICE_FATAL:
		return HWQ_ASYNC_DEVICE_FAILED;
	default:
		return HWQ_ASYNC_OTHER;
	}
}

int
hwq_async_fd(const struct hwq_dev *dev)
{
	return dev->ctx->async_fd;
}

int
hwq_async_get(struct hwq_dev *dev, struct hwq_async *out)
{
	struct hwq_async event = {.dev = dev};
	int ret;

	ret = hwq_verbs_async_get(dev->ctx, &event.event);
	if (ret != 0)
		return ret;
	/*
	 * The next lines read the QP or CQ of the event. The thread that created the object wrote
	 * it before the device knew the object, and so before the event. ThreadSanitizer sees no
	 * order in system calls, and would report a race with calloc() in libmlx5. config/tsan.supp
	 * tells ThreadSanitizer that libmlx5 is not built for it.
	 */
	event.what = what_of(event.event.event_type);
	event.name = ibv_event_type_str(event.event.event_type);
	switch (event.what) {
	case HWQ_ASYNC_QP_FAILED:
	case HWQ_ASYNC_SQ_DRAINED:
		event.qp = (struct hwq_qp *)event.event.element.qp->qp_context;
		/* The QP of a DC target has no struct hwq_qp, so its qp_context is NULL. */
		if (event.qp == NULL)
			event.what = HWQ_ASYNC_OTHER;
		break;
	case HWQ_ASYNC_CQ_FAILED:
		event.cq = (struct hwq_cq *)event.event.element.cq->cq_context;
		break;
	case HWQ_ASYNC_PORT_UP:
	case HWQ_ASYNC_PORT_DOWN:
		event.port = (unsigned int)event.event.element.port_num;
		break;
	default:
		break;
	}
	*out = event;
	return 0;
}

void
hwq_async_ack(struct hwq_async *event)
{
	/*
	 * Pairs with the acquire in hwq_qp_destroy() and hwq_cq_destroy(). libibverbs keeps the
	 * same order by a lock, which ThreadSanitizer does not see.
	 */
	hwq_count_add(&event->dev->n_acked, 1);
	ibv_ack_async_event(&event->event);
}
