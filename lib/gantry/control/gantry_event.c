/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the device's events in a thread of its own. */
#include "gantry_event.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_bitops.h>

#include <hwq_async.h>

#include "gantry_conn.h"
#include "gantry_dpdk.h"
#include "gantry_engine.h"
#include "gantry_log.h"

/* The most lines about QPs and CQs in a second. */
#define LINES_A_SECOND 4

/*
 * Logs an event of a QP or CQ, and sets its bit in gantry_conn::events. If the connection is still
 * being created, the event is dropped: the first WQE of the connection will fail.
 */
static void
handle_queue(struct gantry *g, const struct hwq_async *event)
{
	const bool of_cq = event->what == HWQ_ASYNC_CQ_FAILED;
	struct gantry_conn *c = of_cq ? hwq_cq_user(event->cq) : hwq_qp_user(event->qp);
	uint32_t events = of_cq                                ? GANTRY_CONN_EVENT_CQ
			  : event->what == HWQ_ASYNC_QP_FAILED ? GANTRY_CONN_EVENT_QP
							       : GANTRY_CONN_EVENT_DRAINED;

	if (c == NULL)
		return;
	/*
	 * Each wrong signature drains a send queue, which can happen thousands of times a second.
	 * So this event is logged with level DEBUG.
	 */
	if (event->what == HWQ_ASYNC_SQ_DRAINED)
		LOG(DEBUG, "%s: QP 0x%06x: %s", g->info.device, event->qp->qpn, event->name);
	else
		LOG_RATED(&g->event.lines, WARNING, "%s: %s 0x%06x: %s", g->info.device,
			of_cq ? "CQ" : "QP", of_cq ? event->cq->cqn : event->qp->qpn, event->name);
	/* Pairs with the acquire in gantry_watch(). */
	atomic_fetch_or_explicit(&c->events, events, memory_order_release);
}

/*
 * When a port loses its link, no connection is changed: descriptors to its peers time out, and
 * succeed again when the link is back.
 */
static void
handle_port(struct gantry *g, const struct hwq_async *event)
{
	const uint32_t bit = event->port - 1 < 32 ? RTE_BIT32(event->port - 1) : 0;

	LOG(WARNING, "%s port %u: %s", g->info.device, event->port, event->name);
	if (event->what == HWQ_ASYNC_PORT_DOWN)
		atomic_fetch_or_explicit(&g->ports_down, bit, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&g->ports_down, ~bit, memory_order_relaxed);
}

static void
handle(struct gantry *g, const struct hwq_async *event)
{
	switch (event->what) {
	case HWQ_ASYNC_QP_FAILED:
	case HWQ_ASYNC_SQ_DRAINED:
	case HWQ_ASYNC_CQ_FAILED:
		handle_queue(g, event);
		break;
	case HWQ_ASYNC_PORT_UP:
	case HWQ_ASYNC_PORT_DOWN:
		handle_port(g, event);
		break;
	case HWQ_ASYNC_DEVICE_FAILED:
		LOG(CRIT,
			"%s: %s. All work completes with \"%s\": destroy the queues and the engine.",
			g->info.device, event->name, gantry_status_name(GANTRY_DEVICE_LOST));
		/* Pairs with the acquire in gantry_watch(). */
		atomic_store_explicit(&g->device_lost, true, memory_order_release);
		break;
	default:
		LOG(INFO, "%s: %s", g->info.device, event->name);
		break;
	}
}

/*
 * Handles all events that can be read now. Returns 0, or the negative errno with which reading
 * failed.
 */
static int
handle_all(struct gantry *g)
{
	struct hwq_async event;
	int ret;

	do {
		ret = hwq_async_get(g->dev, &event);
		if (ret == 0) {
			handle(g, &event);
			hwq_async_ack(&event);
		}
	} while (ret == 0 || ret == -EINTR);
	return ret == -EAGAIN ? 0 : ret;
}

static GANTRY_CTRL_RESULT
thread_main(void *arg)
{
	struct gantry *g = arg;
	struct pollfd fds[2] = {{.fd = g->event.stop_fd, .events = POLLIN},
		{.fd = hwq_async_fd(g->dev), .events = POLLIN}};
	sigset_t all;
	int ret;

	/*
	 * Signals are blocked here, because the application handles its signals in its own threads.
	 */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents != 0)
			return 0;
		ret = fds[1].revents == 0 ? 0 : handle_all(g);
		if (ret != 0 ||
			(fds[1].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL)) > POLLIN) {
			LOG(ERR,
				"%s: cannot read more events: %s. From now on only deadlines find "
				"failures.",
				g->info.device, strerror(-ret));
			fds[1].fd = -1;
		}
	}
}

int
gantry_event_start(struct gantry *g)
{
	int fd = hwq_async_fd(g->dev), flags, ret;

	/* If the caller opened the device, it reads the events itself. */
	if (!g->dev->own_ctx)
		return 0;
	g->event.lines =
		(struct gantry_log_rate){.about = "events of QPs and CQs", .max = LINES_A_SECOND};
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
		return -errno;
	g->event.stop_fd = eventfd(0, EFD_CLOEXEC);
	if (g->event.stop_fd < 0)
		return -errno;
	ret = rte_thread_create_control(&g->event.thread, "gantry-event", thread_main, g);
	if (ret != 0) {
		close(g->event.stop_fd);
		return ret > 0 ? -ret : ret;
	}
	g->event.running = true;
	return 0;
}

void
gantry_event_stop(struct gantry *g)
{
	if (!g->event.running)
		return;
	eventfd_write(g->event.stop_fd, 1);
	rte_thread_join(g->event.thread, NULL);
	close(g->event.stop_fd);
	gantry_log_rate_end(&g->event.lines);
	g->event.running = false;
}
