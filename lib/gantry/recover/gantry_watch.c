/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds stuck connections: by events of the device, or because no WQE completes for too long. */
#include "gantry_watch.h"

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include <hwq_cancel.h>

#include "gantry_engine.h"
#include "gantry_log.h"
#include "gantry_recover.h"
#include "gantry_txn_run.h"

/*
 * A deadline needs at least this number of calls: one call counts at most 1/LEAST_CALLS of it. So
 * if the process was stopped, or the owner did not poll for long, the device still gets time to
 * complete WQEs.
 */
#define LEAST_CALLS 4
/* The pause before the next try to resume a drained send queue is 1/RESUMES_A_SECOND seconds. */
#define RESUMES_A_SECOND 1000

/*
 * Resumes a send queue that stands still. If the device refuses, the call is tried again after a
 * pause, until the deadline. A DC initiator cannot be resumed: Linux allows no change from SQD to
 * RTS for it (modify_dci_qp_is_ok() in mlx5_ib). So the engine moves the QP of a DC initiator to
 * error, and handles this as a failure by an event.
 */
static void
resume(struct gantry_queue *q, struct gantry_conn *c, uint64_t now)
{
	int ret;

	if (now < c->repair_tsc)
		return;
	ret = hwq_qp_resume(c->qp);
	if (ret == -EINVAL && c == &q->conn[GANTRY_CONN_DCI])
		ret = hwq_qp_fail(c->qp) == 0 ? -EINVAL : -EAGAIN;
	if (ret != 0 && ret != -EINVAL) {
		c->repair_tsc = now + rte_get_tsc_hz() / RESUMES_A_SECOND;
		return;
	}
	/* -EINVAL means that the QP does not stand still, because it was reset meanwhile. */
	atomic_fetch_and_explicit(&c->events, ~GANTRY_CONN_EVENT_DRAINED, memory_order_relaxed);
	if (ret == 0)
		LOG_RATED(&q->lines.repaired, NOTICE, "%s: the send queue of QP 0x%06x goes on",
			q->g->info.device, c->qp->qpn);
}

/*
 * Called when no WQE has completed until the deadline. The first call tells the QP to flush, the
 * second call resets the QP.
 */
static void
give_up(struct gantry_queue *q, struct gantry_conn *c)
{
	c->still_tsc = 0;
	if (gantry_conn_works(c))
		gantry_recover_stuck(q, c);
	else
		gantry_recover_silent(q, c);
}

static void
watch(struct gantry_queue *q, struct gantry_conn *c, uint64_t now, uint64_t elapsed)
{
	/* Pairs with the release in handle_queue() of gantry_event.c. */
	uint32_t events = atomic_load_explicit(&c->events, memory_order_acquire);

	if (c->silent || (events & GANTRY_CONN_EVENT_CQ) != 0) {
		gantry_recover_silent(q, c);
		return;
	}
	if ((events & GANTRY_CONN_EVENT_DRAINED) != 0 && c->state == GANTRY_CONN_READY)
		resume(q, c, now);
	if (c->watched != c->done + 1) {
		c->watched = c->done + 1;
		c->still_tsc = 0;
		return;
	}
	/*
	 * `done` has not changed, so no WQE has completed since the last call, and the same WQEs
	 * are outstanding.
	 */
	c->still_tsc += elapsed;
	if (c->still_tsc >= q->deadline_tsc)
		give_up(q, c);
}

__rte_cold void
gantry_watch(struct gantry_queue *q)
{
	struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];
	uint64_t now = rte_get_tsc_cycles();
	uint64_t elapsed = RTE_MIN(now - q->watch_tsc, q->deadline_tsc / LEAST_CALLS);
	uint32_t i;

	q->watch_tsc = now;
	/* Pairs with the release in handle() of gantry_event.c. */
	if (atomic_load_explicit(&q->g->device_lost, memory_order_acquire)) {
		/*
		 * A peer may have been connected after the loss was handled, so outstanding WQEs
		 * are handled again.
		 */
		if (!q->device_lost || q->outstanding != 0)
			gantry_recover_lose(q);
		return;
	}
	if (own->done != own->posted)
		watch(q, own, now, elapsed);
	for (i = gantry_conn_set_next(&q->active, 0); i != GANTRY_CONN_SET_MAX;
		i = gantry_conn_set_next(&q->active, i + 1))
		if (q->conn[i].done != q->conn[i].posted || gantry_txn_is_busy(&q->conn[i]))
			watch(q, &q->conn[i], now, elapsed);
}
