/* SPDX-License-Identifier: BSD-3-Clause */
/* A connection in error: the status of its descriptors, and what becomes of it. */
#include "gantry_recover.h"

#include <stdio.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>

#include <hwq_dump.h>
#include <hwq_sq_save.h>

#include "gantry_finish.h"
#include "gantry_log.h"
#include "gantry_replay.h"

/* How many failed WQEs of one queue are logged in a second. */
#define DUMPS_A_SECOND 4
#define DUMP_TEXT_LEN  512
/*
 * How often a repair that failed is tried again. The first pause is a part of a second, and each one
 * is twice as long as that before: 1, 2, 4, ... 128 ms.
 */
#define REPAIR_TRIES           8
#define REPAIR_PAUSES_A_SECOND 1000

/* The status that a syndrome means: the table in doc/engine.md; ibv_poll_cq(3). */
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

static enum gantry_status
status_of(const struct gantry_queue *q, const struct gantry_conn *c, uint8_t syndrome)
{
	enum gantry_status status = status_of_syndrome(syndrome);

	/* Both ends of the own connection are here: what RDMA calls remote is local memory. */
	if (c == &q->conn[GANTRY_CONN_OWN] && status != GANTRY_FLUSHED)
		return GANTRY_LOCAL_ERROR;
	return status;
}

/* The connection's name in the log. buf: storage for it. */
static const char *
conn_name(const struct gantry_queue *q, const struct gantry_conn *c, char *buf, size_t len)
{
	if (c == &q->conn[GANTRY_CONN_OWN])
		return "own connection";
	snprintf(buf, len, "peer %d", (int)(c - &q->conn[GANTRY_CONN_PEER]));
	return buf;
}

/* Logs the WQE that failed, unless DUMPS_A_SECOND were logged: errors can come by the thousand. */
static __rte_cold void
log_failed_wqe(struct gantry_queue *q, const struct gantry_conn *c, const struct hwq_cqe *cqe)
{
	uint64_t now = rte_get_tsc_cycles();
	char text[DUMP_TEXT_LEN], name[16];

	if (now >= q->dump_tsc) {
		q->dump_tsc = now + rte_get_tsc_hz();
		q->dump_left = DUMPS_A_SECOND;
	}
	if (q->dump_left == 0)
		return;
	q->dump_left--;
	hwq_dump_sq_wqe(c->sq, cqe->wqe_counter, text, sizeof(text));
	LOG(WARNING, "%s: %s (syndrome 0x%02x, vendor 0x%02x)%s\n%s",
		conn_name(q, c, name, sizeof(name)), hwq_syndrome_str(cqe->syndrome), cqe->syndrome,
		cqe->vendor_err, q->dump_left == 0 ? "; no more this second" : "", text);
}

/* Writes the status of a descriptor that failed. */
static void
slot_fail(struct gantry_comp *comp, enum gantry_status status, const struct hwq_cqe *cqe)
{
	comp->status = status;
	if (status == GANTRY_FLUSHED)
		return;
	comp->syndrome = cqe->syndrome;
	comp->vendor_syndrome = cqe->vendor_err;
}

/*
 * Decides about every descriptor whose last WQE on the connection is `index` or later. The first of
 * them owns the WQE that failed and gets `status`; the device flushes the others. What may run again
 * is held for a replay. Called with the first error CQE, so the CQEs of flushed WQEs need not search
 * for their slots. What uses a key of a UMR that will not run is not held: the key leads elsewhere.
 */
static void
fail_from(struct gantry_queue *q, struct gantry_conn *c, uint64_t index, enum gantry_status status,
	const struct hwq_cqe *cqe)
{
	struct gantry_stream *s = c->stream;
	uint64_t seq = gantry_counter_get(&s->tail);
	uint64_t end = s->issue + s->splitting;
	bool first = true, key_lost = false;

	gantry_keys_fail(q, c - q->conn, index);
	for (; seq != end; seq++) {
		uint32_t slot = seq & s->mask;
		uint64_t w = s->where[slot], next;

		if (gantry_where_conn(w) != c - q->conn || gantry_where_index(w) < index)
			continue;
		/* Behind the slot's last WQE; the next slot's begin there. */
		next = gantry_where_index(w);
		next += hwq_sq_bb_at(c->sq, gantry_conn_ring_index(c, next));
		if (first || c != &q->conn[GANTRY_CONN_OWN] ||
			(key_lost && (s->comp[slot].zero & GANTRY_FINISH_BORROWS) != 0) ||
			!gantry_replay_save(q, c, slot, index, next)) {
			key_lost |= gantry_replay_loses_key(c, index, next);
			slot_fail(&s->comp[slot], status, cqe);
			if (seq == s->issue) {
				/* It is being split: post no more. It is done when its last WQE is.
				 */
				s->splitting = false;
				s->issue++;
			}
		}
		status = GANTRY_FLUSHED;
		first = false;
		index = next;
	}
}

/* No repair is left to try: copies are refused from now on. Peers go on. */
static void
own_lose(struct gantry_queue *q, struct gantry_conn *c, int ret)
{
	LOG(CRIT,
		"own connection cannot be set up again: %s. Copies complete with \"%s\": destroy the "
		"queue.",
		strerror(-ret), gantry_status_name(GANTRY_DEVICE_LOST));
	c->state = GANTRY_CONN_DOWN;
	q->outstanding--;
	q->lost = true;
	gantry_replay_drop(q, c, GANTRY_DEVICE_LOST);
}

/* Resets and connects the own connection, which is broken. If that is refused: later again. */
static void
own_repair(struct gantry_queue *q, struct gantry_conn *c)
{
	int ret = hwq_qp_reset(c->qp);

	if (ret == 0)
		ret = hwq_qp_connect(c->qp, &q->own_addr);
	if (ret != 0) {
		if (c->repair_tries == REPAIR_TRIES) {
			own_lose(q, c, ret);
			return;
		}
		c->repair_tsc = rte_get_tsc_cycles() +
				(rte_get_tsc_hz() / REPAIR_PAUSES_A_SECOND << c->repair_tries);
		c->repair_tries++;
		return;
	}
	c->state = GANTRY_CONN_READY;
	q->outstanding--;
	gantry_counter_add(&q->stats.recoveries, 1);
	LOG(NOTICE, "own connection is set up again");
	gantry_replay_post(q, c);
}

/* All CQEs of a connection in error have come: no stale CQE can follow. */
static void
drained(struct gantry_queue *q, struct gantry_conn *c)
{
	char name[16];

	if (c == &q->conn[GANTRY_CONN_OWN]) {
		c->state = GANTRY_CONN_BROKEN;
		c->repair_tries = 0;
		q->outstanding++;
		own_repair(q, c);
		return;
	}
	c->state = GANTRY_CONN_DOWN;
	LOG(WARNING, "%s is down: close it and open it anew, at both ends",
		conn_name(q, c, name, sizeof(name)));
}

__rte_cold void
gantry_recover_cqe(struct gantry_queue *q, struct gantry_conn *c, const struct hwq_cqe *cqe)
{
	uint32_t bb;

	if (c->state == GANTRY_CONN_READY) {
		uint64_t index = c->done + hwq_sq_ahead_bb(c->sq, cqe->wqe_counter);

		c->state = GANTRY_CONN_DRAINING;
		log_failed_wqe(q, c, cqe);
		fail_from(q, c, index, status_of(q, c, cqe->syndrome), cqe);
	}
	bb = hwq_sq_complete(c->sq, cqe->wqe_counter);
	c->done += bb;
	q->outstanding -= bb;
	if (c->done == c->posted)
		drained(q, c);
}

__rte_cold void
gantry_recover_again(struct gantry_queue *q, struct gantry_conn *c)
{
	if (rte_get_tsc_cycles() >= c->repair_tsc)
		own_repair(q, c);
}
