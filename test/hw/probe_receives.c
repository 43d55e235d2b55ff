/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assumptions about receive queues: their doorbell record, an SRQ's limit, receives that are too
 * short.
 */
#include "probe_work.h"

#define BEYOND 1000 /* more receives than the receive queue holds */

/*
 * Makes the doorbell record of the server's receive queue announce more receives than the queue
 * holds, and posts a SEND, which needs a receive.
 */
static void
overrun_record(struct pair *p)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	pair_init(p, &(struct pair_opts){PROBE_SHORT_RETRIES, .rnr_retry = 1});
	sge = (struct ibv_sge){(uintptr_t)p->client.buf, PROBE_LEN, p->client.mr->lkey};
	__atomic_store_n(&p->server.dbrec[MLX5_RCV_DBR], htobe32(BEYOND), __ATOMIC_RELEASE);
	pair_publish(&p->client);
	CHECK_EQ(ibv_post_send(p->client.qp, &wr, &bad), 0);
}

static void
rq_record_fatal(struct probe_answer *a)
{
	struct pair p;
	bool came;

	overrun_record(&p);
	came = probe_event_comes(p.ctx, IBV_EVENT_QP_FATAL, PROBE_PATIENCE_MS);
	probe_saw(a, came && pair_state(p.server.qp) == IBV_QPS_ERR, "%s, state %d",
		came ? "the event came" : "no such event", pair_state(p.server.qp));
}

static void
rq_record_sender(struct probe_answer *a)
{
	struct pair p;

	overrun_record(&p);
	probe_saw_status(a, pair_wait(&p.client).status, IBV_WC_RETRY_EXC_ERR);
}

static void
srq_limit_at_once(struct probe_answer *a)
{
	struct node n = node_open(255);
	struct ibv_srq_attr attr = {.srq_limit = 5};
	struct ibv_async_event event;
	int type;

	CHECK_EQ(ibv_modify_srq(n.srq, &attr, IBV_SRQ_LIMIT), 0);
	type = node_event(&n, &event, PROBE_PATIENCE_MS);
	probe_saw(a, type == IBV_EVENT_SRQ_LIMIT_REACHED, "%s", probe_event_text(type));
}

/* Sends a message of 64 bytes to a receive of recv_len bytes. */
static void
short_receive(struct probe_answer *a, enum kind kind, uint32_t recv_len)
{
	struct node n = node_open(255);
	struct ibv_qp *from = node_qp(&n, kind), *at = node_qp(&n, kind);
	struct ibv_qp_attr attr = node_attr(&n, 0);
	struct node_to to = {.ah = ibv_create_ah(n.pd, &attr.ah_attr), .qpn = at->qp_num};
	struct ibv_wc wc;

	CHECK(to.ah != NULL);
	node_connect(kind, &n, from, &n, at);
	node_recv_to(at, NULL, (struct ibv_sge){(uintptr_t)n.buf, recv_len, n.mr->lkey}, 0);
	node_send(&n, from, kind, &to, false);
	if (!node_try_wait(n.rcq, &wc, PROBE_PATIENCE_MS)) {
		probe_saw(a, false, "no completion of the receive");
		return;
	}
	/* The completion may be written before the QP's state changes. */
	for (uint64_t end = pair_now_ms() + PROBE_PATIENCE_MS;
		pair_state(at) != IBV_QPS_ERR && pair_now_ms() < end;)
		usleep(1000);
	probe_saw(a, wc.status == IBV_WC_LOC_LEN_ERR && pair_state(at) == IBV_QPS_ERR,
		"%s, state %d", ibv_wc_status_str(wc.status), pair_state(at));
}

static void
short_receive_uc(struct probe_answer *a)
{
	short_receive(a, K_UC, 16);
}

static void
short_receive_ud(struct probe_answer *a)
{
	short_receive(a, K_UD, 40 + 16);
}

const struct probe probe_receives[] = {
	{"rq-record-fatal",
		"If a receive queue's record counts more WQEs than the queue holds, the next "
		"message that needs a receive puts the queue pair in error with "
		"IBV_EVENT_QP_FATAL.",
		"Gantry never counts more than its ring holds; only a program with wrong doorbell records meets another failure.",
		rq_record_fatal},
	{"rq-record-sender",
		"The sender of the message of `rq-record-fatal` retries until it has no retry left.",
		"Gantry never counts more than its ring holds; only the peer of a program with wrong doorbell records sees another status.",
		rq_record_sender},
	{"srq-limit-at-once",
		"If an SRQ's limit is armed above the number of posted WQEs, its event is sent at "
		"once.",
		"Gantry's engine arms no limit; a program that arms one late waits for an event that does not come.",
		srq_limit_at_once},
	{"send-stops-midway",
		"The sender of a SEND may stop midway. No other SEND then uses the receive that this "
		"SEND took from an SRQ. The receive is flushed with the responder's queue pair.",
		"If a peer dies in the middle of a SEND, Gantry may get the SEND's receive back "
		"at another time, or another SEND may fill it.",
		NULL, "a program cannot stop a card between two packets."},
	{"short-receive-uc",
		"A receive that is too short for a UC message fails with a length error, and so "
		"does its queue pair.",
		"Gantry's engine uses no UC; a program's queue pair may fail on the device and go "
		"on on softhca, or the other way round.",
		short_receive_uc},
	{"short-receive-ud",
		"A receive that is too short for a UD message fails with a length error, and so "
		"does its queue pair.",
		"Gantry's engine uses no UD; a program's queue pair may fail on the device and go "
		"on on softhca, or the other way round.",
		short_receive_ud},
	{NULL},
};
