/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection in error: the status of its descriptors, and its repair. */
#include "gantry_trace.h" /* included before all other headers */

#include "gantry_recover.h"

#include <stdio.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>

#include <hwq_dump.h>
#include <hwq_sq_save.h>

#include "gantry_engine.h"
#include "gantry_finish.h"
#include "gantry_log.h"
#include "gantry_recv_ring.h"
#include "gantry_replay.h"
#include "gantry_txn_state.h"
#include "gantry_txn_stop.h"

#define DUMP_TEXT_LEN 512
/*
 * A repair that failed is tried again REPAIR_TRIES times. Each pause is twice as long as the pause
 * before: 1, 2, 4, ... 128 ms.
 */
#define REPAIR_TRIES           8
#define REPAIR_PAUSES_A_SECOND 1000

/* Returns the status that a syndrome means. The table is in doc/engine.md, from ibv_poll_cq(3). */
static enum gantry_status
status_of_syndrome(uint8_t syndrome)
{
	switch (syndrome) {
	case HWQ_SYNDROME_WR_FLUSH:
		return GANTRY_FLUSHED;
	case HWQ_SYNDROME_REMOTE_ACCESS:
		return GANTRY_REMOTE_ACCESS;
	case HWQ_SYNDROME_BAD_RESP:
	case HWQ_SYNDROME_REMOTE_INVAL_REQ:
	case HWQ_SYNDROME_REMOTE_OP:
	case HWQ_SYNDROME_REMOTE_ABORTED:
		return GANTRY_REMOTE_ERROR;
	case HWQ_SYNDROME_TRANSPORT_RETRY_EXC:
	case HWQ_SYNDROME_RNR_RETRY_EXC:
		return GANTRY_UNREACHABLE;
	default:
		return GANTRY_LOCAL_ERROR;
	}
}

/* What happens to the descriptors that a connection in error has not completed. */
struct verdict {
	enum gantry_status first;  /* status of the descriptor that owns the oldest WQE */
	enum gantry_status others; /* status of the descriptors behind it */
	/* If set, a descriptor that may run twice is replayed and gets no status. */
	bool replay_first;
	bool replay_others;
};

/* The verdict after an event which says that the QP or its CQ failed. No WQE failed. */
static const struct verdict of_event = {GANTRY_QP_EVENT, GANTRY_QP_EVENT, true, true};
/*
 * The verdict for a connection that makes no CQEs, even after the engine has moved the QP to error.
 * Nothing is replayed, because a replay may get stuck in the same way.
 */
static const struct verdict of_silence = {GANTRY_TIMED_OUT, GANTRY_TIMED_OUT, false, false};
static const struct verdict of_lost_device = {GANTRY_DEVICE_LOST, GANTRY_DEVICE_LOST, false, false};

/* Returns the verdict for the first error CQE of a connection. */
static struct verdict
verdict_of(const struct gantry_queue *q, const struct gantry_conn *c, uint8_t syndrome)
{
	enum gantry_status status = status_of_syndrome(syndrome);

	if (status == GANTRY_FLUSHED) {
		/*
		 * A WQE was flushed, and no earlier CQE had an error. So the QP failed by an event,
		 * or the engine has moved a stuck QP to error.
		 */
		if (c->state != GANTRY_CONN_FAILING)
			return of_event;
		status = GANTRY_TIMED_OUT;
	} else if (c == &q->conn[GANTRY_CONN_OWN] || c == &q->conn[GANTRY_CONN_TXN_OWN]) {
		/*
		 * Both ends of these connections are on this host, so the remote memory of RDMA is
		 * local memory.
		 */
		status = GANTRY_LOCAL_ERROR;
	}
	return (struct verdict){status, GANTRY_FLUSHED, false, true};
}

/* Changes the state of a connection, and shows the change to other threads. */
static void
become(struct gantry_queue *q, struct gantry_conn *c, enum gantry_conn_state state)
{
	gantry_shown_set(&c->state, state);
	gantry_queue_note_usual(q);
	gantry_trace_conn_state(q->id, c - q->conn, state);
}

/* Returns the connection's name for the log. buf: storage for the name. */
static const char *
conn_name(const struct gantry_queue *q, const struct gantry_conn *c, char *buf, size_t len)
{
	if (c == &q->conn[GANTRY_CONN_OWN])
		return "own connection";
	if (c == &q->conn[GANTRY_CONN_DCI])
		return "DC initiator";
	if (c == &q->conn[GANTRY_CONN_TXN_OWN])
		return "connection for local transactions";
	snprintf(buf, len, "peer %d", (int)(c - &q->conn[GANTRY_CONN_PEER]));
	return buf;
}

/* Logs the WQE that failed. */
static __rte_cold void
log_failed_wqe(struct gantry_queue *q, const struct gantry_conn *c, const struct hwq_cqe *cqe)
{
	char text[DUMP_TEXT_LEN], name[16];

	if (!gantry_log_rate_take(&q->lines.failed))
		return;
	hwq_dump_sq_wqe(c->sq, cqe->wqe_counter, text, sizeof(text));
	LOG(WARNING, "%s: %s (syndrome 0x%02x, vendor 0x%02x)%s\n%s",
		conn_name(q, c, name, sizeof(name)), hwq_syndrome_str(cqe->syndrome), cqe->syndrome,
		cqe->vendor_err, gantry_log_rate_note(&q->lines.failed), text);
}

/*
 * Stores the failure of connection c for telemetry. failed: the completion of the failed
 * descriptor, or NULL. index: the index of the failed WQE, or of the oldest outstanding WQE. cqe:
 * the CQE with the reason, or NULL.
 */
static __rte_cold void
note_failure(struct gantry_queue *q, const struct gantry_conn *c, const struct gantry_comp *failed,
	enum gantry_status status, uint64_t index, const struct hwq_cqe *cqe)
{
	struct gantry_failure e = {.queue = q->id, .conn = c - q->conn, .status = status};

	if (failed != NULL) {
		e.op = failed->op;
		e.cookie = failed->cookie;
	}
	if (cqe != NULL && cqe->syndrome != HWQ_SYNDROME_WR_FLUSH) {
		e.syndrome = cqe->syndrome;
		e.vendor_syndrome = cqe->vendor_err;
	}
	if (index < c->posted)
		hwq_dump_sq_wqe(c->sq, gantry_conn_ring_index(c, index), e.wqe, sizeof(e.wqe));
	gantry_trace_conn_failure(q->id, e.conn, status, e.syndrome);
	gantry_failures_note(&q->g->failures, &e);
}

/*
 * Returns the side (source or destination) whose memory made the WQE at `index` fail. op: the
 * operation of its descriptor. This function gets a remote syndrome only of the own connection,
 * whose remote end is local memory.
 */
static enum gantry_side
side_of(const struct gantry_conn *c, uint64_t index, uint8_t op, uint8_t syndrome)
{
	const bool remote = syndrome == HWQ_SYNDROME_REMOTE_ACCESS;

	if (op == GANTRY_OP_RAW || (!remote && syndrome != HWQ_SYNDROME_LOCAL_PROT))
		return GANTRY_SIDE_UNKNOWN;
	/* The source of a fill is memory of the engine, so the destination has failed. */
	if (op == GANTRY_OP_FILL)
		return GANTRY_SIDE_DST;
	switch (hwq_sq_opcode_at(c->sq, gantry_conn_ring_index(c, index))) {
	case MLX5_OPCODE_RDMA_READ:
		return remote ? GANTRY_SIDE_SRC : GANTRY_SIDE_DST;
	case MLX5_OPCODE_RDMA_WRITE:
	case MLX5_OPCODE_RDMA_WRITE_IMM:
	case MLX5_OPCODE_SEND:
	case MLX5_OPCODE_SEND_IMM:
	case MLX5_OPCODE_SEND_INVAL:
		return remote ? GANTRY_SIDE_DST : GANTRY_SIDE_SRC;
	default:
		return GANTRY_SIDE_UNKNOWN;
	}
}

static void
note_side(struct gantry_comp *comp, const struct gantry_conn *c, uint64_t index, uint8_t syndrome)
{
	/*
	 * `result` of an atomic is needed until gantry_finish(): it is the address of the atomic's
	 * cell.
	 */
	if ((comp->zero & GANTRY_FINISH_ATOMIC) == 0)
		comp->result = side_of(c, index, comp->op, syndrome);
}

/* Writes the status of a failed descriptor. cqe: the CQE with the reason, or NULL. */
static void
slot_fail(struct gantry_comp *comp, enum gantry_status status, const struct hwq_cqe *cqe)
{
	comp->status = status;
	if (cqe == NULL || cqe->syndrome == HWQ_SYNDROME_WR_FLUSH)
		return;
	comp->syndrome = cqe->syndrome;
	comp->vendor_syndrome = cqe->vendor_err;
}

/*
 * Skips UMRs for the DC initiator, which belong to no slot, from WQEBB `index` of connection c on.
 * Returns the index of the first WQE that belongs to a slot. *first is true if the WQE at `index`
 * is the failed WQE. If this failed WQE is a skipped UMR, the descriptor that waits for the UMR
 * fails, and *first becomes false.
 */
static uint64_t
pass_unowned(struct gantry_queue *q, const struct gantry_conn *c, uint64_t index,
	const struct verdict *v, bool *first)
{
	const struct gantry_key *k;

	while (c == &q->conn[GANTRY_CONN_OWN] &&
		(k = gantry_keys_find_unowned(&q->keys, index)) != NULL) {
		if (*first && !v->replay_first) {
			q->keys.failed = k->seq + 1;
			q->keys.failed_status = v->first;
		}
		*first = false;
		index += hwq_sq_bb_at(c->sq, gantry_conn_ring_index(c, index));
	}
	return index;
}

/*
 * Decides about every descriptor whose last WQE on connection c is at `index` or later. If a WQE
 * failed, it is a WQE of the first of these descriptors; the device flushes the WQEs of the other
 * descriptors. Descriptors that may run again are held for a replay. But a descriptor that uses a
 * key whose UMR will not run is not held, because the key does not have the right layout.
 *
 * Called with the first error CQE, or with NULL if there is no CQE. So no slot is searched for
 * later CQEs of flushed WQEs.
 */
static void
fail_from(struct gantry_queue *q, struct gantry_conn *c, uint64_t index, const struct verdict *v,
	const struct hwq_cqe *cqe)
{
	const bool own = c == &q->conn[GANTRY_CONN_OWN];
	struct gantry_stream *s = c->stream;
	uint64_t seq = gantry_counter_get(&s->tail);
	uint64_t end = s->issue + s->splitting, begin = index;
	const struct gantry_comp *failed = NULL;
	bool first = true, key_lost = false;

	if (c->txns != NULL) {
		failed = gantry_txn_fail(c, index, v->first, v->others, cqe);
		end = seq;
	}
	gantry_row_end(&s->row);
	gantry_keys_fail(&q->keys, c - q->conn, index);
	index = pass_unowned(q, c, index, v, &first);
	for (; seq != end; seq++) {
		uint32_t slot = seq & s->mask;
		uint64_t w = s->where[slot], next;

		if (gantry_where_conn(w) != c - q->conn || gantry_where_index(w) < index)
			continue;
		/*
		 * `next` becomes the index behind the slot's last WQE, where the next slot's WQEs
		 * begin.
		 */
		next = gantry_where_index(w);
		next += hwq_sq_bb_at(c->sq, gantry_conn_ring_index(c, next));
		if (!own || !(first ? v->replay_first : v->replay_others) ||
			(key_lost && (s->comp[slot].zero & GANTRY_FINISH_BORROWS) != 0) ||
			!gantry_replay_save(q, c, slot, index, next)) {
			key_lost |= gantry_replay_loses_key(q, c, index, next);
			slot_fail(&s->comp[slot], first ? v->first : v->others, first ? cqe : NULL);
			if (first)
				failed = &s->comp[slot];
			if (first && cqe != NULL && v->first == GANTRY_LOCAL_ERROR)
				note_side(&s->comp[slot], c, begin, cqe->syndrome);
			if (seq == s->issue) {
				/*
				 * The descriptor is issued in part, and its other WQEs are not
				 * posted. It is done when its last posted WQE is done.
				 */
				s->splitting = false;
				s->issue++;
			}
		}
		first = false;
		index = pass_unowned(q, c, next, v, &first);
	}
	if (v != &of_lost_device)
		note_failure(q, c, failed, v->first, begin, cqe);
}

/*
 * Called when a connection cannot be repaired. From then on its descriptors are refused. All other
 * connections still work.
 */
static void
give_repair_up(struct gantry_queue *q, struct gantry_conn *c, int ret)
{
	char name[16];

	LOG(CRIT,
		"%s cannot be set up again: %s. Its descriptors complete with \"%s\": destroy the "
		"queue.",
		conn_name(q, c, name, sizeof(name)), strerror(-ret),
		gantry_status_name(GANTRY_DEVICE_LOST));
	become(q, c, GANTRY_CONN_DOWN);
	q->outstanding--;
	if (c == &q->conn[GANTRY_CONN_OWN])
		gantry_replay_drop(q, c, GANTRY_DEVICE_LOST);
}

/* Plans the next try of a repair. Returns false if it was tried REPAIR_TRIES times. */
static bool
pause_repair(struct gantry_conn *c)
{
	if (c->repair_tries == REPAIR_TRIES)
		return false;
	c->repair_tsc = rte_get_tsc_cycles() +
			(rte_get_tsc_hz() / REPAIR_PAUSES_A_SECOND << c->repair_tries);
	c->repair_tries++;
	return true;
}

/* The settings with which the queue sets up a connection again. */
struct mending {
	const struct hwq_qp_conf *conf;
	/* Address of the connection itself; NULL: a DC initiator, which is not connected. */
	struct hwq_addr *to;
	uint8_t state; /* enum gantry_conn_state of the repaired connection */
};

static struct mending
mending_of(struct gantry_queue *q, const struct gantry_conn *c)
{
	if (c == &q->conn[GANTRY_CONN_OWN])
		return (struct mending){&q->own_conf, &q->own_addr, GANTRY_CONN_READY};
	if (c == &q->conn[GANTRY_CONN_TXN_OWN])
		return (struct mending){&q->txns.own_conf, &q->txns.own_addr, GANTRY_CONN_TXN};
	return (struct mending){&q->dci.conf, NULL, GANTRY_CONN_READY};
}

/* Resets the QP, or creates QP and CQ again. */
static int
repair_reset(struct gantry_queue *q, struct gantry_conn *c, const struct mending *m)
{
	int ret;

	if (!c->renew)
		return hwq_qp_reset(c->qp);
	ret = gantry_conn_renew(c, q->domain, m->conf);
	if (ret != 0)
		return ret;
	c->renew = false;
	if (m->to != NULL)
		hwq_qp_addr(c->qp, m->to);
	return 0;
}

/* Sets a broken connection up again. If the device refuses, plans another try. */
static void
repair(struct gantry_queue *q, struct gantry_conn *c)
{
	const struct mending m = mending_of(q, c);
	char name[16];
	int ret;

	ret = repair_reset(q, c, &m);
	if (ret == 0)
		ret = m.to != NULL ? hwq_qp_connect(c->qp, m.to) : hwq_qp_ready(c->qp);
	if (ret != 0) {
		if (!pause_repair(c))
			give_repair_up(q, c, ret);
		return;
	}
	/*
	 * Events before this point belong to the time before the reset. Later events belong to the
	 * repaired QP.
	 */
	atomic_fetch_and_explicit(&c->events, ~(GANTRY_CONN_EVENT_QP | GANTRY_CONN_EVENT_DRAINED),
		memory_order_relaxed);
	become(q, c, m.state);
	q->outstanding--;
	gantry_counter_add(&q->rare.recoveries, 1);
	LOG_RATED(&q->lines.repaired, NOTICE, "%s is set up again",
		conn_name(q, c, name, sizeof(name)));
	if (c == &q->conn[GANTRY_CONN_OWN])
		gantry_replay_post(q, c);
}

/*
 * Called when all CQEs of a connection in error have arrived, so that none can arrive after the
 * repair.
 */
static void
drained(struct gantry_queue *q, struct gantry_conn *c)
{
	char name[16];

	if (c->txns != NULL) {
		/*
		 * Ends the transactions that wait for their response and have no outstanding WQE.
		 */
		gantry_txn_fail(c, c->posted, GANTRY_FLUSHED, GANTRY_FLUSHED, NULL);
		gantry_txn_advance(q, c);
	}
	c->silent = false;
	if (gantry_queue_repairs(c - q->conn)) {
		become(q, c, GANTRY_CONN_BROKEN);
		c->repair_tries = 0;
		q->outstanding++;
		if (c != &q->conn[GANTRY_CONN_OWN])
			gantry_conn_set_add(&q->active, c - q->conn);
		repair(q, c);
		return;
	}
	become(q, c, GANTRY_CONN_DOWN);
	LOG_RATED(&q->lines.down, WARNING, "%s is down: close it and open it anew, at both ends",
		conn_name(q, c, name, sizeof(name)));
}

/* Changes state READY or FAILING to DRAINING, so that the connection takes no new WQE. */
static void
begin_draining(struct gantry_queue *q, struct gantry_conn *c)
{
	if (c->state == GANTRY_CONN_FAILING)
		q->outstanding--;
	if (c->txns != NULL)
		gantry_txn_stop_forget(q, c);
	become(q, c, GANTRY_CONN_DRAINING);
}

__rte_cold void
gantry_recover_stuck(struct gantry_queue *q, struct gantry_conn *c)
{
	char name[16];

	LOG_RATED(&q->lines.down, WARNING, "%s is stuck: the device is told to flush its work",
		conn_name(q, c, name, sizeof(name)));
	if (hwq_qp_fail(c->qp) != 0) {
		gantry_recover_silent(q, c);
		return;
	}
	become(q, c, GANTRY_CONN_FAILING);
	q->outstanding++;
}

__rte_cold void
gantry_recover_cqe(struct gantry_queue *q, struct gantry_conn *c, const struct hwq_cqe *cqe)
{
	uint32_t bb;

	if (gantry_conn_works(c) || c->state == GANTRY_CONN_FAILING) {
		uint64_t index = c->done + hwq_sq_ahead_bb(c->sq, cqe->wqe_counter);
		struct verdict v = verdict_of(q, c, cqe->syndrome);

		begin_draining(q, c);
		log_failed_wqe(q, c, cqe);
		fail_from(q, c, index, &v, cqe);
	}
	bb = hwq_sq_complete(c->sq, cqe->wqe_counter);
	c->done += bb;
	q->outstanding -= bb;
	if (c->done == c->posted)
		drained(q, c);
}

/* Counts all WQEs of the connection as done, because none of them will make a CQE. */
static void
forget_outstanding(struct gantry_queue *q, struct gantry_conn *c)
{
	q->outstanding -= c->posted - c->done;
	c->done = c->posted;
	gantry_conn_set_remove(&q->active, c - q->conn);
}

__rte_cold void
gantry_recover_silent(struct gantry_queue *q, struct gantry_conn *c)
{
	uint32_t events = atomic_load_explicit(&c->events, memory_order_relaxed);
	char name[16];
	int ret = 0;

	if (!c->silent) {
		c->silent = true;
		c->repair_tries = 0;
		c->repair_tsc = 0;
		/*
		 * In state DRAINING, the status of all descriptors was decided at the first error
		 * CQE.
		 */
		if (c->state != GANTRY_CONN_DRAINING) {
			begin_draining(q, c);
			fail_from(q, c, c->done, events != 0 ? &of_event : &of_silence, NULL);
		}
	}
	if (rte_get_tsc_cycles() < c->repair_tsc)
		return;
	if (c->recv != NULL) {
		/*
		 * A QP in error accepts no message. So after this call there is a CQE for each
		 * message whose sender got a completion without an error.
		 */
		ret = hwq_qp_fail(c->qp);
		gantry_recv_ring_take(c->recv);
	}
	/*
	 * Descriptors may complete only after the reset: from then on the QP moves no data and
	 * makes no CQE.
	 */
	if (ret == 0)
		ret = hwq_qp_reset(c->qp);
	if (ret != 0) {
		if (pause_repair(c))
			return;
		LOG(CRIT,
			"%s cannot be reset: %s. The device may still carry out work that completes now.",
			conn_name(q, c, name, sizeof(name)), strerror(-ret));
	}
	c->renew = (events & GANTRY_CONN_EVENT_CQ) != 0;
	if (c->recv != NULL)
		gantry_recv_ring_settle(c->recv, GANTRY_FLUSHED);
	forget_outstanding(q, c);
	drained(q, c);
}

/* Ends a connection of a lost device. */
static void
conn_lose(struct gantry_queue *q, struct gantry_conn *c)
{
	switch (c->state) {
	case GANTRY_CONN_READY:
	case GANTRY_CONN_TXN:
	case GANTRY_CONN_FAILING:
		begin_draining(q, c);
		fail_from(q, c, c->done, &of_lost_device, NULL);
		break;
	case GANTRY_CONN_BROKEN:
		q->outstanding--;
		break;
	case GANTRY_CONN_DRAINING:
		break;
	case GANTRY_CONN_OPEN:
	case GANTRY_CONN_DOWN:
	case GANTRY_CONN_TARGET:
		/*
		 * Connections in these states have no outstanding WQE, but a DC target may have
		 * receives.
		 */
		break;
	default:
		return;
	}
	become(q, c, GANTRY_CONN_DOWN);
	c->silent = false;
	forget_outstanding(q, c);
	if (c->txns != NULL) {
		gantry_txn_fail(c, c->posted, GANTRY_DEVICE_LOST, GANTRY_DEVICE_LOST, NULL);
		gantry_txn_advance(q, c);
	}
	if (c->recv != NULL) {
		gantry_recv_ring_leave(c->recv);
		gantry_recv_ring_settle(c->recv, GANTRY_DEVICE_LOST);
	}
}

__rte_cold void
gantry_recover_lose(struct gantry_queue *q)
{
	const struct gantry_failure lost = {
		.queue = q->id,
		.conn = GANTRY_CONN_OWN,
		.status = GANTRY_DEVICE_LOST,
	};
	struct gantry_conn *own = &q->conn[GANTRY_CONN_OWN];
	uint32_t i;

	if (!q->device_lost)
		gantry_failures_note(&q->g->failures, &lost);
	q->device_lost = true;
	conn_lose(q, own);
	gantry_replay_drop(q, own, GANTRY_DEVICE_LOST);
	if (q->dci.ready)
		conn_lose(q, &q->conn[GANTRY_CONN_DCI]);
	conn_lose(q, &q->conn[GANTRY_CONN_TXN_OWN]);
	/* A connection that belongs to no peer belongs to the control thread. */
	for (i = 0; i < q->max_peers; i++)
		if (q->peer[i].conn != GANTRY_CONN_NONE)
			conn_lose(q, &q->conn[q->peer[i].conn]);
}

__rte_cold bool
gantry_recover_again(struct gantry_queue *q, struct gantry_conn *c)
{
	if (c->state == GANTRY_CONN_FAILING) {
		/* All WQEs had completed before the flush, so the flush makes no CQE. */
		begin_draining(q, c);
		drained(q, c);
	} else if (c->state == GANTRY_CONN_BROKEN && rte_get_tsc_cycles() >= c->repair_tsc) {
		repair(q, c);
	}
	return c->state == GANTRY_CONN_BROKEN;
}
