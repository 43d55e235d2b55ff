/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles a send queue that stands still: checks the keys, cancels good responses, and lets the
 * send queue continue.
 */
#include "gantry_trace.h" /* included before all other headers */

#include "gantry_txn_stop.h"

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include <hwq_cancel.h>

#include "gantry_engine.h"
#include "gantry_log_rate.h"
#include "gantry_queue.h"
#include "gantry_txn_state.h"

/*
 * A step that the device refused is tried again TRIES times. Each pause is twice as long as the
 * pause before: 1, 2, 4, ... 128 ms.
 */
#define TRIES           8
#define PAUSES_A_SECOND 1000

/*
 * Changes the state. A connection that is not in state RUNS adds 1 to gantry_queue::outstanding, so
 * that gantry_poll() polls it.
 */
static void
become(struct gantry_queue *q, struct gantry_txn_line *line, enum gantry_txn_stop stop)
{
	q->outstanding += stop != GANTRY_TXN_RUNS;
	q->outstanding -= line->stop != GANTRY_TXN_RUNS;
	q->txns.n_stopped += stop != GANTRY_TXN_RUNS;
	q->txns.n_stopped -= line->stop != GANTRY_TXN_RUNS;
	line->stop = stop;
}

void
gantry_txn_stop_expect(struct gantry_queue *q, struct gantry_conn *c)
{
	if (c->txns->mode == GANTRY_TXN_PIPELINED && c->txns->stop == GANTRY_TXN_RUNS)
		become(q, c->txns, GANTRY_TXN_STOPPING);
}

bool
gantry_txn_stop_has_come(struct gantry_queue *q, struct gantry_conn *c)
{
	struct gantry_txn_line *line = c->txns;
	uint32_t events = atomic_load_explicit(&c->events, memory_order_relaxed);

	if ((events & GANTRY_CONN_EVENT_DRAINED) == 0 || c->state != GANTRY_CONN_TXN)
		return false;
	/*
	 * Pairs with the release in handle_queue() of gantry_event.c: from here on, the CQEs that
	 * the device wrote before the event are visible.
	 */
	atomic_fetch_and_explicit(&c->events, ~GANTRY_CONN_EVENT_DRAINED, memory_order_acquire);
	become(q, line, GANTRY_TXN_STOPPED);
	line->tries = 0;
	line->retry_tsc = 0;
	gantry_counter_add(&q->txns.counts.stops, 1);
	gantry_trace_txn_stop(q->id, c - q->conn);
	return true;
}

/* Plans the next try of the step. Returns false if it was tried TRIES times. */
static bool
pause(const struct gantry_queue *q, struct gantry_txn_line *line, const char *step, int ret)
{
	if (line->tries == TRIES) {
		LOG_RATED(gantry_log_rate_others(), ERR,
			"%s: %s a send queue that stands still: %s. The connection is given up",
			q->g->info.device, step, strerror(-ret));
		return false;
	}
	line->retry_tsc =
		rte_get_tsc_cycles() + (rte_get_tsc_hz() / PAUSES_A_SECOND << line->tries);
	line->tries++;
	return true;
}

/* The good responses that must be cancelled: those of transactions with a wrong signature. */
struct wrong {
	uint32_t n;
	uint16_t index[GANTRY_MAX_TXNS];
	bool cancelled[GANTRY_MAX_TXNS];
};

/*
 * Carries out step 2 for each open transaction. Also finds a transaction whose signature is already
 * known to be wrong, and whose good response is still in the ring.
 */
static void
find_wrong(struct gantry_conn *c, struct wrong *w)
{
	struct gantry_txn_open *t;

	w->n = 0;
	TAILQ_FOREACH(t, &c->txns->open, next) {
		if (t->state == GANTRY_TXN_POSTED)
			gantry_txn_check_key(t);
		if (t->state != GANTRY_TXN_POSTED && t->status == GANTRY_SIG_ERROR &&
			t->has_answer && t->last >= c->done)
			w->index[w->n++] = gantry_conn_ring_index(c, t->last);
	}
}

/*
 * Cancels the good responses of transactions with a wrong signature (step 3 of the list in
 * gantry_txn_stop.h). Returns 0 or the device's error. After an error nothing was cancelled.
 */
static int
cancel_wrong(struct gantry_queue *q, struct gantry_conn *c)
{
	struct gantry_txn_open *t;
	struct wrong w;
	uint32_t i;
	int ret;

	find_wrong(c, &w);
	if (w.n == 0)
		return 0;
	ret = hwq_qp_cancel_wqes(c->qp, w.index, w.n, w.cancelled);
	if (ret < 0)
		return ret;
	gantry_counter_add(&q->txns.counts.cancelled, ret);
	for (i = 0; i < w.n; i++)
		if (!w.cancelled[i])
			LOG_RATED(gantry_log_rate_others(), CRIT,
				"%s: the device sent a good response although a signature of its "
				"transaction was wrong",
				q->g->info.device);
	TAILQ_FOREACH(t, &c->txns->open, next)
		if (t->status == GANTRY_SIG_ERROR)
			t->has_answer = false;
	return 0;
}

__rte_cold bool
gantry_txn_stop_handle(struct gantry_queue *q, struct gantry_conn *c)
{
	struct gantry_txn_line *line = c->txns;
	int ret;

	if (rte_get_tsc_cycles() < line->retry_tsc)
		return true;
	if (line->stop == GANTRY_TXN_STOPPED) {
		ret = cancel_wrong(q, c);
		if (ret != 0)
			return pause(q, line, "cancelling in", ret);
		become(q, line, GANTRY_TXN_RESUMING);
		line->tries = 0;
	}
	ret = hwq_qp_resume(c->qp);
	if (ret != 0)
		return pause(q, line, "resuming", ret);
	become(q, line, GANTRY_TXN_RUNS);
	return true;
}

__rte_cold void
gantry_txn_stop_forget(struct gantry_queue *q, struct gantry_conn *c)
{
	become(q, c->txns, GANTRY_TXN_RUNS);
}
