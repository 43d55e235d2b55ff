/* SPDX-License-Identifier: BSD-3-Clause */
/* Assumptions about connections: DC, XRC, and the event of a connection's first message. */
#include "probe_work.h"

/* ---- DC and XRC */

static void
dct_wrong_key(struct probe_answer *a)
{
	struct ends e;
	struct ibv_sge sge;

	ends_open(&e, K_DCI, IBV_QPS_RTR, 255);
	sge = (struct ibv_sge){(uintptr_t)e.a.buf, PROBE_LEN, e.a.mr->lkey};
	node_recv_of(&e.b, e.at, K_DCT, 0);
	node_dc_send(e.from, &e.to, NODE_DC ^ 1, sge);
	probe_saw_status(a, node_wait(e.a.scq).status, IBV_WC_RETRY_EXC_ERR);
}

static void
dct_no_event(struct probe_answer *a)
{
	struct ends e;
	struct ibv_qp_ex *qpx;
	struct ibv_async_event event;
	int type;

	ends_open(&e, K_DCI, IBV_QPS_RTR, 255);
	qpx = ibv_qp_to_qp_ex(e.from);
	pair_publish_to(e.from, NULL);
	ibv_wr_start(qpx);
	qpx->wr_flags = IBV_SEND_SIGNALED;
	/* The variant (the lowest byte) of the key is wrong, so the DCT refuses the write. */
	ibv_wr_rdma_write(qpx, e.b.mr->rkey ^ 1, (uintptr_t)e.b.buf);
	mlx5dv_wr_set_dc_addr(mlx5dv_qp_ex_from_ibv_qp_ex(qpx), e.to.ah, e.to.qpn, NODE_DC);
	ibv_wr_set_sge(qpx, e.a.mr->lkey, (uintptr_t)e.a.buf, PROBE_LEN);
	CHECK_EQ(ibv_wr_complete(qpx), 0);
	CHECK(node_wait(e.a.scq).status != IBV_WC_SUCCESS);
	type = node_event(&e.b, &event, PROBE_NOTHING_MS);
	probe_saw(a, type < 0, "%s", probe_event_text(type));
}

static void
xrc_no_srq(struct probe_answer *a)
{
	struct ends e;

	ends_open(&e, K_XRC_SEND, IBV_QPS_RTS, 255);
	e.to.srqn = 0xfffffe;
	node_send(&e.a, e.from, K_XRC_SEND, &e.to, false);
	probe_saw_status(a, node_wait(e.a.scq).status, IBV_WC_REM_INV_REQ_ERR);
}

/* ---- COMM_EST */

/* Sends a message to a QP in RTR. Returns the event that the QP raises, or -1. */
static int
first_message(struct ends *e, enum kind kind, unsigned int ms)
{
	struct ibv_async_event event;

	ends_open(e, kind, IBV_QPS_RTR, 255);
	node_recv_of(&e->b, e->at, node_partner(kind), 0);
	node_send(&e->a, e->from, kind, &e->to, false);
	CHECK_EQ(node_wait(e->b.rcq).status, IBV_WC_SUCCESS);
	return node_event(&e->b, &event, ms);
}

static void
comm_est(struct probe_answer *a, enum kind kind)
{
	struct ends e;
	int event = first_message(&e, kind, PROBE_PATIENCE_MS);

	probe_saw(a, event == IBV_EVENT_COMM_EST, "%s", probe_event_text(event));
}

static void
comm_est_rc(struct probe_answer *a)
{
	comm_est(a, K_RC);
}

static void
comm_est_uc(struct probe_answer *a)
{
	comm_est(a, K_UC);
}

static void
comm_est_xrc(struct probe_answer *a)
{
	comm_est(a, K_XRC_SEND);
}

static void
comm_est_once(struct probe_answer *a)
{
	struct ends e;
	struct ibv_async_event event;
	int first = first_message(&e, K_RC, PROBE_PATIENCE_MS), second;

	node_recv_of(&e.b, e.at, K_RC, 0);
	node_send(&e.a, e.from, K_RC, &e.to, false);
	CHECK_EQ(node_wait(e.b.rcq).status, IBV_WC_SUCCESS);
	second = node_event(&e.b, &event, PROBE_NOTHING_MS);
	probe_saw(a, first == IBV_EVENT_COMM_EST && second < 0, "first %s, then %s",
		probe_event_text(first), probe_event_text(second));
}

static void
comm_est_not_ud(struct probe_answer *a)
{
	struct ends e;
	int event = first_message(&e, K_UD, PROBE_NOTHING_MS);

	probe_saw(a, event < 0, "%s", probe_event_text(event));
}

const struct probe probe_connections[] = {
	{"dct-wrong-key",
		"A DCT does not answer an initiator with a wrong DC key: the initiator's retries "
		"end.",
		"A descriptor to a DC target with another key ends with another status than GANTRY_UNREACHABLE.",
		dct_wrong_key},
	{"dct-no-event", "A DCT sends no event for a request that it refuses.",
		"A DC target of Gantry may count as failed after a request that it refused, and is then to be closed and opened again.",
		dct_no_event},
	{"xrc-no-srq",
		"An XRC request that names no SRQ of the responder's domain is refused as an "
		"invalid request.",
		"Gantry uses no XRC; a program's sender sees another status.", xrc_no_srq},
	{"comm-est-rc", "The first message to an RC QP in RTR raises IBV_EVENT_COMM_EST.",
		"Gantry does not wait for this event; a program that moves an RC queue pair to RTS by it needs another sign.",
		comm_est_rc},
	{"comm-est-uc", "The first message to a UC QP in RTR raises IBV_EVENT_COMM_EST.",
		"Gantry does not wait for this event; a program that moves a UC queue pair to RTS by it needs another sign.",
		comm_est_uc},
	{"comm-est-xrc", "The first message to an XRC target in RTR raises IBV_EVENT_COMM_EST.",
		"Gantry does not wait for this event; a program that moves an XRC target to RTS by it needs another sign.",
		comm_est_xrc},
	{"comm-est-once", "A QP raises IBV_EVENT_COMM_EST once, and again only after it was reset.",
		"Gantry does not count these events; a program that counts connections by them counts wrong.",
		comm_est_once},
	{"comm-est-not-ud", "A datagram to a UD QP in RTR raises no IBV_EVENT_COMM_EST.",
		"Gantry ignores this event; a program must not take each of them for a new connection.",
		comm_est_not_ud},
	{"dc-header", "The header that only DC has takes 16 bytes of each packet.",
		"Figures of softhca's timing model for DC are wrong by a few bytes a packet; nothing else depends on it.",
		NULL, "the port's counters also count what other programs send."},
	{NULL},
};
