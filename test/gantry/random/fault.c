/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arms faults of the adapter (doc/softhca-faults.md), and knows the effects that gantry.h
 * allows. Several faults are armed at a time, and each fault may act on any queue. A device without
 * emulated faults (--device) gets failures from the test: it moves queue pairs of inline queues to
 * error, and makes their CQs overrun. Wrong keys and bounds are drawn in both cases.
 */
#include <errno.h>
#include <stdarg.h>

#include <softhca.h>

#include "gantry_queue.h"
#include "random.h"

#define BIT MODEL_BIT

/* The status of a descriptor to a peer, for a syndrome MLX5_CQE_SYNDROME_* of mlx5dv.h. */
static uint32_t
peer_status(uint32_t syndrome)
{
	switch (syndrome) {
	case 0x05: /* flushed, although no earlier WQE failed */
		return BIT(GANTRY_QP_EVENT);
	/* errors that the peer reports: bad response, invalid request, operation error, aborted */
	case 0x10:
	case 0x12:
	case 0x14:
	case 0x22:
		return BIT(GANTRY_REMOTE_ERROR);
	case 0x13:
		return BIT(GANTRY_REMOTE_ACCESS);
	case 0x15: /* retries used up */
	case 0x16:
		return BIT(GANTRY_UNREACHABLE);
	default:
		return BIT(GANTRY_LOCAL_ERROR);
	}
}

static void
allow(uint32_t own, uint32_t peer)
{
	run.hazards.own |= own;
	run.hazards.peer |= peer;
	run.hazards.stops = true;
}

__attribute__((format(printf, 1, 2))) static void
note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(run.armed[run.n_armed++], sizeof(run.armed[0]), format, args);
	va_end(args);
	run.faults++;
}

#define arm(...)                                                                                   \
	do {                                                                                       \
		note(__VA_ARGS__);                                                                 \
		CHECK_EQ(softhca_fault(run.armed[run.n_armed - 1]), 0);                            \
	} while (0)

static uint32_t
any_syndrome(void)
{
	static const uint8_t syndromes[] = {0x01, 0x02, 0x04, 0x05, 0x06, 0x10, 0x11, 0x12, 0x13,
		0x14, 0x15, 0x16, 0x22};

	return syndromes[chance(RTE_DIM(syndromes))];
}

static void
fail_one(unsigned int op)
{
	uint32_t syndrome = any_syndrome();

	allow(BIT(GANTRY_LOCAL_ERROR), peer_status(syndrome));
	arm("complete op=%u syndrome=0x%02x vendor=%u", op, syndrome, (unsigned int)chance(256));
}

static void
fail_receive(unsigned int op)
{
	uint32_t syndrome = any_syndrome();

	run.hazards.recv = true;
	allow(0, BIT(GANTRY_REMOTE_ERROR));
	arm("recv_complete op=%u syndrome=0x%02x", 1 + op % 20, syndrome);
}

/* Refuses a call of the engine's repair of a connection, or a call of the test itself. */
static void
refuse_call(unsigned int op)
{
	static const char *const calls[] = {"modify_qp", "create_qp", "create_cq", "destroy_qp",
		"destroy_cq", "reg_mr", "dereg_mr", "alloc_dm", "reg_dm_mr", "free_dm"};

	run.hazards.refuse = true;
	allow(BIT(GANTRY_NO_RESOURCES), 0);
	arm("refuse call=%s errno=%d op=%u times=%u", calls[chance(RTE_DIM(calls))],
		chance(2) ? ENOMEM : EBUSY, 1 + op % 4, 1 + (unsigned int)chance(2));
}

/* A stuck descriptor ends at its deadline. */
static void
stick(const char *fault, unsigned int op)
{
	allow(BIT(GANTRY_TIMED_OUT), BIT(GANTRY_TIMED_OUT));
	arm("%s op=%u", fault, op);
}

static void
lose_receive(unsigned int op)
{
	run.hazards.lost = true;
	/*
	 * The fault uses up a receive, and the test does not learn of it. So a later message may be
	 * drawn for this receive. The later message finds no receive, and times out.
	 */
	allow(0, BIT(GANTRY_TIMED_OUT));
	arm("recv_drop op=%u", 1 + op % 20);
}

/* ------------------------------------------------------------------ without emulated faults */

static void
fail_own(struct side *s)
{
	struct gantry_conn *own = &s->q->conn[GANTRY_CONN_OWN];

	if (own->state != GANTRY_CONN_READY)
		return;
	allow(0, 0);
	note("%s: its queue pair for copies is told to fail", s->name);
	CHECK_EQ(hwq_qp_fail(own->qp), 0);
}

/* Tells the device that no completion of the CQ was consumed, so that the CQ is full. */
static void
overrun_own(struct side *s)
{
	struct gantry_conn *own = &s->q->conn[GANTRY_CONN_OWN];

	if (own->state != GANTRY_CONN_READY)
		return;
	allow(0, 0);
	note("%s: its CQ for copies overruns", s->name);
	hwq_store_release(&own->cq->dbrec[0], htobe32((own->cq->ci - own->cq->n_cqe) & 0xffffff));
	own->cq->published = own->cq->ci;
}

static void
fail_peer(struct side *s)
{
	struct end *e = s->end[chance(s->n_ends)];
	struct gantry_conn *c;

	if (!e->open || !e->connected || e->target != NULL)
		return;
	c = &s->q->conn[s->q->peer[e->peer].conn];
	if (c->state != GANTRY_CONN_READY)
		return;
	run.hazards.recv = true;
	e->link->hurt = true;
	note("%s: the queue pair of peer %u is told to fail", s->name, e->peer);
	CHECK_EQ(hwq_qp_fail(c->qp), 0);
}

/*
 * Only sides with an inline queue are chosen: the calling thread polls these queues itself.
 */
static void
cause_one(void)
{
	struct side *s = &run.side[chance(2)];

	switch (chance(3)) {
	case 0:
		fail_own(s);
		break;
	case 1:
		overrun_own(s);
		break;
	default:
		fail_peer(s);
		break;
	}
}

void
fault_arm(bool plain)
{
	unsigned int op = 1 + chance(chance(2) ? 10 : 200), kind = plain ? chance(2) : chance(14);

	if (run.n_armed == RTE_DIM(run.armed))
		return;
	if (run.device != NULL) {
		cause_one();
		return;
	}
	/*
	 * With threads, deadlines are long. So a fault whose effect ends only at a deadline is
	 * rarely armed.
	 */
	if (kind == 5 && !run.pumped && chance(8) != 0)
		kind = 6;
	switch (kind) {
	case 0:
	case 2:
	case 3:
		fail_one(op);
		break;
	case 1:
	case 4:
		fail_receive(op);
		break;
	case 5:
		stick("drop", op);
		break;
	case 6: /* the delay is shorter than every deadline */
		arm("late ms=%u op=%u", 1 + (unsigned int)chance(3), op);
		break;
	case 7:
		run.hazards.late = true;
		arm("recv_late ms=%u op=%u", 1 + (unsigned int)chance(3), 1 + op % 20);
		break;
	case 8:
		allow(0, BIT(GANTRY_QP_EVENT));
		arm("qp_fatal op=%u", op);
		break;
	case 9:
		allow(0, BIT(GANTRY_QP_EVENT));
		run.hazards.recv = true;
		arm("cq_overrun op=%u", op);
		break;
	case 10:
		/*
		 * A DC initiator that the device stopped cannot be resumed, so its descriptors
		 * fail.
		 */
		run.hazards.dc |= BIT(GANTRY_QP_EVENT);
		arm("sq_drained op=%u", op);
		break;
	case 11:
		allow(BIT(GANTRY_LOCAL_ERROR), BIT(GANTRY_UNREACHABLE));
		arm("port_down ms=%u op=%u", 1 + (unsigned int)chance(10), op);
		break;
	case 12:
		refuse_call(op);
		break;
	default:
		lose_receive(op);
		break;
	}
}

void
fault_lose_device(void)
{
	run.hazards.fatal = true;
	/*
	 * Until the engine has received the event, objects that a first FILL or layout needs cannot
	 * be created.
	 */
	allow(BIT(GANTRY_DEVICE_LOST) | BIT(GANTRY_NO_RESOURCES),
		BIT(GANTRY_DEVICE_LOST) | BIT(GANTRY_NO_RESOURCES));
	arm("device_fatal op=%u", 1 + (unsigned int)chance(200));
}

void
fault_deadline_passed(void)
{
	allow(BIT(GANTRY_TIMED_OUT), BIT(GANTRY_TIMED_OUT));
}

void
fault_clear(void)
{
	run.hazards = (struct hazards){0};
	run.n_armed = 0;
}
